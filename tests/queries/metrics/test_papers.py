"""Worked examples.

GRACE is Sung et al. 2025, arXiv 2502.19684. The two examples after it are our own, worked by hand in the comments.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.human_curves import CURVES, human_curves
from data.sufficient_statistics import BIN_COLUMNS, Items, pooled, sums
from queries.metrics import CATALOGUE, Conventions
from queries.metrics.kernels import bins, per_question
from queries.published_values import published_rows
from tests.helpers import reference_metrics as reference
from tests.helpers.examples import examples

# -- GRACE app. L, table 6 ---------------------------------------------------------------------------------------------


def test_grace_table_6_with_the_mean_of_equation_1():
    # The four values (1 - h_t) g_t c_t add up to -0.61; their mean is -0.1525.
    assert per_question.unit_logistic(-0.61 / 4) == pytest.approx(0.4177, abs=5e-5)
    assert per_question.calscore(np.array(-0.61), np.array(4.0)) == pytest.approx(0.5823, abs=5e-5)


def test_grace_table_6_as_printed_takes_r_of_the_sum():
    assert per_question.unit_logistic(-0.61) == pytest.approx(0.1799, abs=5e-5)
    assert round(float(per_question.unit_logistic(-0.61)), 2) == 0.18
    assert round(1 - float(per_question.unit_logistic(-0.61)), 2) == 0.82


# -- GRACE app. M, table 7 ---------------------------------------------------------------------------------------------

# The confidences that b = (0.1, 0.63, 0.216, 0.054) and the reward allow: c_t = b_t / (1 - b_1 - ... - b_{t-1}), with right
# answers from the second clue on. The last confidence is forced to 1, whatever its value.
CONFIDENCE, CORRECT = (0.1, 0.7, 0.8, 0.9), (0, 1, 1, 1)
HUMAN_STEPS = (0.1, 0.1, 0.2, 0.3)


def test_grace_table_7_buzz_mass():
    assert per_question.buzz_mass(CONFIDENCE) == pytest.approx([0.1, 0.63, 0.216, 0.054], abs=1e-12)


def test_grace_table_7_reward():
    curves = dict.fromkeys(CURVES, np.cumsum(HUMAN_STEPS))
    table = Items(np.array(CONFIDENCE), np.array(CORRECT, float), np.array([0, len(CORRECT)]), curves)
    # 0.1 x 0 + 0.1 x 0.63 + 0.2 x 0.846 + 0.3 x 0.9 + (1 - 0.7) x 0.9 = 0.7722
    (reward,) = sums(table, ["team_share_reward"])["team_share_reward"]
    assert reward == pytest.approx(0.7722, abs=1e-12)
    metric = CATALOGUE["calscore2"]
    for human in (None, "buzz_share", "release_share", "team_share"):
        (name,) = metric.reads(Conventions(human=human))
        totals = metric.contributions({name: np.array([reward])}, Conventions(human=human))
        assert metric.value(totals, Conventions(human=human)) == pytest.approx([0.2278], abs=1e-12)


# -- GRACE's released code: h = release_share, g in {0, 1}, no r -------------------------------------------------------


def released(confidence, correct, weight):
    """1 - the mean over clues of (1 - h_t) g_t c_t, or of g_t c_t with a weight of 1."""
    return 1 - np.mean(weight * correct * confidence)


@examples(300)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(0, 1), st.booleans()), min_size=1, max_size=8))
def test_the_released_code_has_calscore_above_mce(clues):
    right, wrong, confidence, correct = (np.array(column, float) for column in zip(*clues, strict=True))
    teams = np.array(right.sum() + wrong.sum() + 1)
    h = human_curves(right, wrong, np.zeros(len(clues)), teams).release_share
    assert (np.diff(h, prepend=0) >= 0).all() and h[-1] <= 1
    assert released(confidence, correct, 1 - h) >= released(confidence, correct, 1.0)


def test_equation_1_need_not_have_calscore_above_mce():
    """With g in {-1, 1}, a model that is wrong once people know falls below its MCE; the released code does not show this."""
    items = Items(np.array([1.0, 1.0]), np.array([1.0, 0.0]), np.array([0, 2]), dict.fromkeys(CURVES, np.array([0.0, 1.0])))
    totals = sums(items, ["items", "sign_confidence", "release_share_sign_confidence"])
    below = per_question.calscore(totals["release_share_sign_confidence"], totals["items"])
    assert below < per_question.grace_mce(totals["sign_confidence"], totals["items"])


def test_printed_calscores_lie_above_printed_mces():
    """In table 1, over 90 % of the models and elicitations with both values have this order, as the released code explains."""
    values = {}
    for row in published_rows("grace-table-1")[1]:
        values[row.model, row.elicitation] = row.values
    both = [(v["calscore"], v["grace_mce"]) for v in values.values() if "calscore" in v and "grace_mce" in v]
    assert len(both) > 10 and sum(score >= mce for score, mce in both) > 0.9 * len(both)


def test_grace_table_7_by_definition():
    curve = np.cumsum(HUMAN_STEPS).tolist()
    items = [(c, y, {"team_share": h}) for c, y, h in zip(CONFIDENCE, CORRECT, curve, strict=True)]
    assert reference.calscore2([reference.Answered(items)], Conventions()) == pytest.approx(0.2278, abs=1e-12)


# -- our own: three bins of equal mass, and the rewards ----------------------------------------------------------------


def metrics_of(pairs, binning):
    confidence, correct = np.array(pairs, float).T
    sums = pooled(confidence, correct) | dict(zip(BIN_COLUMNS, bins.mass_bins(confidence, correct, 3), strict=True))
    return {
        key: float(CATALOGUE[key].value(sums, Conventions(binning)))
        for key in ("hmr", "r_over", "r_under", "ece", "max_ce", "brier")
    }


def test_six_answers_in_three_bins():
    # Sorted by confidence and cut in twos: (.1 wrong, .3 right), (.4 wrong, .6 wrong), (.8 right, .9 right).
    # Bins: mean c .2 .5 .85, mean y .5 0 1, gaps .3 .5 .15; ECE = (.3 + .5 + .15) / 3 = .95 / 3, max CE = .5.
    # R_O = 1 - (.1 + .4 + .6) / 3 = 1.9 / 3; R_U = (.3 + .8 + .9) / 3 = 2 / 3; HMR = 2 x 1.9 x 2 / (3 (1.9 + 2)) = 7.6 / 11.7.
    # Brier = (.01 + .49 + .16 + .36 + .04 + .01) / 6 = 1.07 / 6.
    pairs = [(0.9, 1), (0.4, 0), (0.3, 1), (0.6, 0), (0.1, 0), (0.8, 1)]
    expected = {"hmr": 7.6 / 11.7, "r_over": 1.9 / 3, "r_under": 2 / 3, "ece": 0.95 / 3, "max_ce": 0.5, "brier": 1.07 / 6}
    assert metrics_of(pairs, "mass3") == pytest.approx(expected, abs=1e-12)


def test_seven_answers_in_three_bins_that_cannot_be_equal():
    # Sizes 3, 2, 2: (0 wrong, .2 wrong, .4 right), (.5 right, .5 wrong), (1 right, 1 wrong).
    # Sums of c - y: .6 - 1 = -.4, 1 - 1 = 0, 2 - 1 = 1; ECE = (.4 + 0 + 1) / 7 = .2, max CE = 1 / 2.
    # R_O = 1 - (0 + .2 + .5 + 1) / 4 = .575; R_U = (.4 + .5 + 1) / 3 = 1.9 / 3.
    # Brier = (0 + .04 + .36 + .25 + .25 + 0 + 1) / 7 = 1.9 / 7.
    pairs = [(0, 0), (0.2, 0), (0.4, 1), (0.5, 1), (0.5, 0), (1, 1), (1, 0)]
    over, under = 0.575, 1.9 / 3
    expected = {
        "hmr": 2 * over * under / (over + under),
        "r_over": over,
        "r_under": under,
        "ece": 0.2,
        "max_ce": 0.5,
        "brier": 1.9 / 7,
    }
    assert metrics_of(pairs, "mass3") == pytest.approx(expected, abs=1e-12)
