"""Kernels against plain definitions, against scikit-learn and at the ends of their range."""

import itertools
import math
from itertools import pairwise
from statistics import linear_regression

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import linregress, rankdata
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, roc_auc_score

from data import sufficient_statistics
from data.human_curves import CURVES
from data.sufficient_statistics import BIN_COLUMNS, bin_of, pooled
from queries.engine.ranked_metric_rows import ranks
from queries.metrics import CATALOGUE, METRICS, Conventions
from queries.metrics.kernels import bins, item_totals, per_question, sorted_items
from queries.metrics.kernels import isotonic_regression as isotonic
from queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from queries.metrics.metric import ATTEMPTED_ITEMS, NET_REWARD
from tests.helpers import reference_metrics as reference
from tests.helpers.examples import TIMES, examples

MANY = examples(60)
SOME = examples(30)  # in tests that run this many examples on every metric
STANDARD = Conventions()
# Metrics of confidence and correctness. Those of whole distributions are tested in engine/test_distribution_statistics.py.
ITEM_METRICS = [metric for metric in METRICS if metric.level == "item" and "whole distribution" not in metric.needs]
BINNINGS = ["width10", "width10r", "width10+1", "mass3", "mass15"]

CONFIDENCE = st.sampled_from([0.0, 0.05, 0.1, 0.15, 0.3, 0.1 + 0.2, 0.35, 0.7, 0.9, 1.0]) | st.floats(0, 1)
# Values nearer to 1 are left out: the sum of 1 - y is a difference of sums and would be lost in rounding.
CORRECT = st.sampled_from([0.0, 1.0]) | st.floats(0, 0.99, allow_subnormal=False)
PAIRS = st.lists(st.tuples(CONFIDENCE, CORRECT), min_size=1, max_size=40)
CONVENTIONS = st.builds(
    Conventions,
    binning=st.sampled_from(BINNINGS),
    beta=st.just(1.0) | st.floats(0.01, 100),
    t=st.sampled_from([0.0, 0.3, 0.5, 0.9]),
)
OF_FIRST_ITEMS = {"aurc", "e_aurc", "augrc", "prr"}  # each is a mean over the first k of N items, which depends a little on N
EACH_ITEM_METRIC = pytest.mark.parametrize("metric", ITEM_METRICS, ids=lambda metric: metric.key)


def value(metric, pairs, conventions=STANDARD):
    confidence, correct = np.array(pairs, float).reshape(-1, 2).T
    if metric.pairs:
        return metric.of_pairs(confidence, correct)
    if metric.cross_fitted:
        return cross_fitted(metric, confidence, correct, conventions)
    sums = pooled(confidence, correct, conventions.closed)
    sums[ATTEMPTED_ITEMS] = sums["items"]
    sums[NET_REWARD] = item_totals.net_reward(confidence, correct, conventions.t).sum()
    if conventions.mass_bins:
        sums |= dict(zip(BIN_COLUMNS, bins.mass_bins(confidence, correct, conventions.mass_bins), strict=True))
    return float(metric.value(sums, conventions))


def as_one_question(pairs):
    return [reference.Answered([(c, y, None) for c, y in pairs])]


def cross_fitted(metric, confidence, correct, conventions):
    """Value of a cross-fitted metric, with every item as a question of its own."""
    if conventions.mass_bins:
        order, place = bins.assign_mass_bins(confidence, np.array([len(confidence)]), conventions.mass_bins)
        gaps = np.zeros((len(confidence), conventions.mass_bins))
        gaps[order, place] = (confidence - correct)[order]
    else:
        gaps = np.zeros((len(confidence), 11))
        gaps[np.arange(len(confidence)), bin_of(confidence, closed=conventions.closed)] = confidence - correct
    folds = np.arange(len(gaps)) % bins.FOLDS
    return float(metric.value(bins.fold_totals(gaps, np.ones(len(gaps)), correct, correct**2, folds), conventions))


def as_questions(pairs):
    """Every item as a question of its own."""
    return [reference.Answered([(c, y, None)], fold=index % bins.FOLDS) for index, (c, y) in enumerate(pairs)]


def by_definition(metric, pairs, conventions=STANDARD):
    questions = as_questions(pairs) if metric.cross_fitted else as_one_question(pairs)
    return reference.METRICS[metric.key](questions, conventions)


# -- items and bins ----------------------------------------------------------------------------------------------------


@EACH_ITEM_METRIC
@SOME
@given(pairs=PAIRS, conventions=CONVENTIONS)
def test_a_metric_is_what_its_definition_says(metric, pairs, conventions):
    expected = by_definition(metric, pairs, conventions)
    assert value(metric, pairs, conventions) == pytest.approx(expected, abs=1e-11, nan_ok=True)


@EACH_ITEM_METRIC
@SOME
@given(pairs=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40), conventions=CONVENTIONS)
def test_a_metric_keeps_its_range(metric, pairs, conventions):
    number = value(metric, pairs, conventions)
    assert metric.low <= number <= metric.high or math.isnan(number)


@EACH_ITEM_METRIC
def test_a_metric_keeps_its_range_where_sums_nearly_cancel(metric):
    pairs = [(0.9, 1 - 2**-50), *((0.1 * index % 1, 1.0) for index in range(20))]
    assert metric.low <= value(metric, pairs) <= metric.high


@EACH_ITEM_METRIC
@SOME
@given(pairs=PAIRS, chance=st.randoms(use_true_random=False), binning=st.sampled_from(["width10", "width10+1"]))
def test_order_and_repetition_of_items_change_nothing(metric, pairs, chance, binning):
    conventions = Conventions(binning=binning)
    shuffled = chance.sample(pairs, len(pairs))
    expected = pytest.approx(value(metric, pairs, conventions), abs=1e-12, nan_ok=True)
    if metric.key != "ks_sequential" and not metric.cross_fitted:  # in the cross-fitted ones, other questions would share a half
        assert value(metric, shuffled, conventions) == expected
        # A graded item is paired with its copies, though not with itself.
        paired_with_copies = metric.key == "auroc" and any(0 < y < 1 for _, y in pairs)
        if metric.key not in OF_FIRST_ITEMS and not paired_with_copies:
            assert value(metric, pairs * 3, conventions) == expected


@pytest.mark.parametrize("seed", range(5))
def test_scikit_learn_agrees(seed):
    chance = np.random.default_rng(seed)
    confidence = chance.random(500)  # none at an edge: scikit-learn's bins include their upper edge
    correct = (chance.random(500) < confidence**2).astype(float)
    metrics = {metric.key: value(metric, np.column_stack([confidence, correct])) for metric in ITEM_METRICS}
    accuracy, mean_confidence = calibration_curve(correct, confidence, n_bins=10)
    count = np.histogram(confidence, bins=10, range=(0, 1))[0]
    gaps = np.abs(accuracy - mean_confidence)
    assert metrics["brier"] == pytest.approx(brier_score_loss(correct, confidence), abs=1e-12)
    assert metrics["ece"] == pytest.approx((gaps * count[count > 0]).sum() / 500, abs=1e-12)
    assert metrics["max_ce"] == pytest.approx(gaps.max(), abs=1e-12)


@pytest.mark.parametrize(
    "confidence, place",
    [(0.0, 0), (0.1, 1), (0.3, 3), (0.1 + 0.2, 3), (math.nextafter(0.3, 0), 2), (0.6, 6), (0.7, 7), (0.9, 9), (1.0, 10)],
)  # fmt: skip
def test_an_edge_belongs_to_the_bin_above_it(confidence, place):
    assert bin_of([confidence])[0] == place


@pytest.mark.parametrize("binning, last", [("width10", [5.0]), ("width10+1", [2.0, 3.0])])
def test_bin_of_confidence_1_depends_on_the_binning(binning, last):
    folded = bins.fold_bins(pooled([0.95, 0.9, 1, 1, 1, 0.2], [1] * 6)["bin_items"], binning)
    assert folded.tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0, *last]


@pytest.mark.parametrize(
    "items, count, sizes",
    [(9, 3, [3, 3, 3]), (10, 3, [4, 3, 3]), (11, 3, [4, 4, 3]), (2, 3, [1, 1, 0]), (0, 2, [0, 0]), (31, 15, [3] + [2] * 14)],
)
def test_bins_of_equal_mass_differ_by_one_at_most(items, count, sizes):
    confidence = np.linspace(1, 0, items)
    size, total, right = bins.mass_bins(confidence, np.ones(items), count)
    ends = np.cumsum([0, *sizes])
    assert size.tolist() == sizes
    assert right.tolist() == sizes
    assert total == pytest.approx([confidence[::-1][a:b].sum() for a, b in pairwise(ends)])


@SOME
@given(parts=st.lists(st.lists(st.tuples(CONFIDENCE, CORRECT), max_size=9), max_size=6), count=st.integers(1, 12))
def test_bins_of_equal_mass_of_several_parts_are_those_of_each(parts, count):
    confidence, correct = np.array([pair for part in parts for pair in part], float).reshape(-1, 2).T
    edges = bins.mass_bins(confidence, correct, count, [len(part) for part in parts])
    for name, totals in zip(BIN_COLUMNS, edges, strict=True):
        assert totals.shape == (len(parts), count), name
    for index, part in enumerate(parts):
        alone = bins.mass_bins(*np.array(part, float).reshape(-1, 2).T, count)
        assert [totals[index].tolist() for totals in edges] == [totals.tolist() for totals in alone]


def test_equal_mass_bins_keep_the_order_of_ties():
    _, _, right = bins.mass_bins(np.array([0.5, 0.5, 0.5, 0.5]), np.array([1.0, 1.0, 0.0, 0.0]), 2)
    assert right.tolist() == [2, 0]


def plain(kernel, confidence, correct):
    """Apply a kernel of (confidence, correctness) pairs to items in any order, each with weight 1."""
    order = np.argsort(confidence, kind="stable")
    return kernel(confidence[order], correct[order], ItemWeights.equal(len(order)))[..., 0]


def wrong_or_right_only(score):
    """Values of metrics where everything is correct or nothing is; ``score`` is the Brier score."""
    return {
        "macro_ce": math.nan, "auroc": math.nan, "correlation": math.nan, "reliability": score, "resolution": 0, "uncertainty": 0,
        "residual": 0, "corp_mcb": score, "corp_dsc": 0, "corp_unc": 0,
    }  # fmt: skip


DEGENERATE = {
    "nothing": ([], {metric.key: math.nan for metric in ITEM_METRICS}),
    "one item": (
        [(0.7, 1)],
        {"net_score": 1,
         "brier": 0.09, "ece": 0.3, "ece_debiased": math.nan, "max_ce": 0.3, "ks": 0.3, "ks_sequential": 0.3, "r_over": 1,
         "r_under": 0.7, "hmr": 1.4 / 1.7, "accuracy": 1, "mean_confidence": 0.7, "overconfidence": -0.3, "pct_rounded": 1,
         **wrong_or_right_only(0.09)},
    ),
    "one item over and over": (
        [(0.7, 0)] * 7,
        {"net_score": -1,
         "brier": 0.49, "ece": 0.7, "ece_debiased": 0.7, "max_ce": 0.7, "ks": 0.7, "ks_sequential": 0.7, "r_over": 0.3,
         "r_under": 1, "hmr": 0.6 / 1.3, "accuracy": 0, "mean_confidence": 0.7, "overconfidence": 0.7, "pct_rounded": 1,
         **wrong_or_right_only(0.49)},
    ),
    "all correct": (
        [(0.2, 1), (0.62, 1)],
        {"net_score": 0.5,
         "brier": (0.64 + 0.1444) / 2, "ece": 0.59,
         "ece_debiased": 0.59, "max_ce": 0.8, "ks": 0.59, "ks_sequential": 0.59,
         "r_over": 1, "r_under": 0.41, "hmr": 0.82 / 1.41, "accuracy": 1, "mean_confidence": 0.41, "overconfidence": -0.59,
         "pct_rounded": 0.5, **wrong_or_right_only((0.64 + 0.1444) / 2)},
    ),
    "none correct": (
        [(0.2, 0), (0.62, 0)],
        {"net_score": -0.5,
         "brier": (0.04 + 0.3844) / 2, "ece": 0.41,
         "ece_debiased": 0.41, "max_ce": 0.62, "ks": 0.41, "ks_sequential": 0.41,
         "r_over": 0.59, "r_under": 1, "hmr": 1.18 / 1.59, "accuracy": 0, "mean_confidence": 0.41, "overconfidence": 0.41,
         "pct_rounded": 0.5, **wrong_or_right_only((0.04 + 0.3844) / 2)},
    ),
    "one confidence throughout": (
        # c - y is -0.7, 0.3, 0.3, 0.3. Halves have one and three items or two each, always with opposite signs.
        [(0.3, 1), (0.3, 0), (0.3, 0), (0.3, 0)],
        {"net_score": 0,
         "brier": (0.49 + 3 * 0.09) / 4, "ece": 0.05, "ece_debiased": -0.25,
         "max_ce": 0.05, "ks": 0.05, "ks_sequential": 0.7 / 4, "r_over": 0.7, "r_under": 0.3, "hmr": 0.42, "accuracy": 0.25,
         "mean_confidence": 0.3, "overconfidence": 0.05, "pct_rounded": 1, "macro_ce": 0.5, "auroc": 0.5,
         "correlation": math.nan, "reliability": 0.0025, "resolution": 0, "uncertainty": 0.1875, "residual": 0,
         "corp_mcb": 0.0025, "corp_dsc": 0, "corp_unc": 0.1875},
    ),
    "confidence 0 throughout": (
        [(0, 1), (0, 0)],
        {"net_score": 0,
         "brier": 0.5, "ece": 0.5, "ece_debiased": 0, "max_ce": 0.5, "ks": 0.5, "ks_sequential": 0.5, "r_over": 1,
         "r_under": 0, "hmr": 0, "accuracy": 0.5, "mean_confidence": 0, "overconfidence": -0.5, "pct_rounded": 1,
         "macro_ce": 0.5, "auroc": 0.5, "correlation": math.nan, "reliability": 0.25, "resolution": 0, "uncertainty": 0.25,
         "residual": 0, "corp_mcb": 0.25, "corp_dsc": 0, "corp_unc": 0.25},
    ),
    "confidence 1 throughout": (
        [(1, 1), (1, 0)],
        {"net_score": 0,
         "brier": 0.5, "ece": 0.5, "ece_debiased": 0, "max_ce": 0.5, "ks": 0.5, "ks_sequential": 0.5, "r_over": 0,
         "r_under": 1, "hmr": 0, "accuracy": 0.5, "mean_confidence": 1, "overconfidence": 0.5, "pct_rounded": 1,
         "macro_ce": 0.5, "auroc": 0.5, "correlation": math.nan, "reliability": 0.25, "resolution": 0, "uncertainty": 0.25,
         "residual": 0, "corp_mcb": 0.25, "corp_dsc": 0, "corp_unc": 0.25},
    ),
    "sure of the wrong ones only": (
        [(1, 0), (0, 1)],
        {"net_score": -0.5,
         "brier": 1, "ece": 1, "ece_debiased": -1, "max_ce": 1, "ks": 0.5, "ks_sequential": 0.5, "r_over": 0, "r_under": 0,
         "hmr": 0, "accuracy": 0.5, "mean_confidence": 0.5, "overconfidence": 0, "pct_rounded": 1, "macro_ce": 1, "auroc": 0,
         "correlation": -1, "reliability": 1, "resolution": 0.25, "uncertainty": 0.25, "residual": 0, "corp_mcb": 0.75,
         "corp_dsc": 0, "corp_unc": 0.25},
    ),
    "perfect": (
        [(1, 1), (0, 0)],
        {"net_score": 0.5,
         "brier": 0, "ece": 0, "ece_debiased": 0, "max_ce": 0, "ks": 0, "ks_sequential": 0, "r_over": 1, "r_under": 1, "hmr": 1,
         "accuracy": 0.5, "mean_confidence": 0.5, "overconfidence": 0, "pct_rounded": 1, "macro_ce": 0, "auroc": 1,
         "correlation": 1, "reliability": 0, "resolution": 0.25, "uncertainty": 0.25, "residual": 0, "corp_mcb": 0,
         "corp_dsc": 0.25, "corp_unc": 0.25},
    ),
    "probabilities met exactly": (
        # auroc: the two pairs weigh 3/4 * 3/4, which is won, and 1/4 * 1/4, which is lost.
        [(0.25, 0.25), (0.75, 0.75)],
        {"net_score": 0.25,
         "brier": 0.1875, "ece": 0, "ece_debiased": math.nan, "max_ce": 0, "ks": 0, "ks_sequential": 0,
         "r_over": 0.625, "r_under": 0.625, "hmr": 0.625, "accuracy": 0.5, "mean_confidence": 0.5, "overconfidence": 0,
         "pct_rounded": 1, "macro_ce": 0.375, "auroc": 0.9, "correlation": 1, "reliability": 0, "resolution": 0.0625,
         "uncertainty": 0.25, "residual": 0, "corp_mcb": 0, "corp_dsc": 0.0625, "corp_unc": 0.25},
    ),
}  # fmt: skip


def in_order(aurc, oracle, augrc, prr, *accuracies):
    """Values of the metrics of selective prediction."""
    names = ("aurc", "e_aurc", "augrc", "prr", "accuracy_at_50", "accuracy_at_80", "accuracy_at_90")
    return dict(zip(names, (aurc, aurc - oracle, augrc, prr, *accuracies), strict=True))


def logs(score, infinite=0):
    return {"log_score": score, "log_infinite": infinite}


NEVER, SURE = -math.log(1e-6), -math.log(1 - 1e-6)  # a clipped log score where the confidence in the outcome was 0 and 1
ALIKE = math.nan  # undefined where all items are equally correct
PROPER = {
    "one item": {"brier_skill": ALIKE, **logs(-math.log(0.7)), **in_order(0, 0, 0, ALIKE, 1, 1, 1)},
    "one item over and over": {"brier_skill": ALIKE, **logs(-math.log(0.3)), **in_order(1, 1, 4 / 7, ALIKE, 0, 0, 0)},
    "all correct": {"brier_skill": ALIKE, **logs(-math.log(0.2 * 0.62) / 2), **in_order(0, 0, 0, ALIKE, 1, 1, 1)},
    "none correct": {"brier_skill": ALIKE, **logs(-math.log(0.8 * 0.38) / 2), **in_order(1, 1, 0.75, ALIKE, 0, 0, 0)},
    "one confidence throughout": {
        # An oracle has 0, 1/2, 2/3 and 3/4 wrong among its first one to four items; in random order it is 3/4 throughout.
        "brier_skill": 1 - 0.19 / 0.1875, **logs(-math.log(0.3 * 0.7**3) / 4),
        **in_order(0.75, (1 / 2 + 2 / 3 + 3 / 4) / 4, 0.75 * (1 + 2 + 3 + 4) / 16, 0, 0.25, 0.25, 0.25),
    },
    "confidence 0 throughout": {
        "brier_skill": -1, **logs((NEVER + SURE) / 2, 0.5), **in_order(0.5, 0.25, 0.375, 0, 0.5, 0.5, 0.5),
    },
    "confidence 1 throughout": {
        "brier_skill": -1, **logs((NEVER + SURE) / 2, 0.5), **in_order(0.5, 0.25, 0.375, 0, 0.5, 0.5, 0.5),
    },
    "sure of the wrong ones only": {
        "brier_skill": -3, **logs(NEVER, 1), **in_order(0.75, 0.25, 0.5, -1, 0, 0.375, 0.8 / 1.8),
    },
    "perfect": {"brier_skill": 1, **logs(SURE), **in_order(0.25, 0.25, 0.25, 1, 1, 0.625, 1 / 1.8)},
    "probabilities met exactly": {
        # Errors 1/4 and 3/4, in the order of an oracle.
        "brier_skill": 0.25, **logs(-(math.log(0.75) * 0.75 + math.log(0.25) * 0.25)),
        **in_order(0.375, 0.375, 0.3125, 1, 0.75, (0.75 + 0.6 * 0.25) / 1.6, (0.75 + 0.8 * 0.25) / 1.8),
    },
}  # fmt: skip
for name, expected_values in PROPER.items():
    DEGENERATE[name][1].update(expected_values)
for pairs, expected in DEGENERATE.values():  # without abstentions
    expected.update(attempted=1 if pairs else math.nan, accuracy_attempted=expected["accuracy"])


@pytest.mark.parametrize("case", DEGENERATE)
@EACH_ITEM_METRIC
def test_degenerate_items(metric, case):
    pairs, expected = DEGENERATE[case]
    assert value(metric, pairs) == pytest.approx(expected[metric.key], abs=1e-15, nan_ok=True)


def test_millions_of_items():
    # 1000 distinct items, each repeated 1000 times, have the values of the 1000, which exact sums give. Long runs use 10 million.
    confidence = np.random.default_rng(7).permutation(np.arange(1000) / 999)
    correct = (np.random.default_rng(8).random(1000) < 0.8 * confidence).astype(float)
    pairs = np.column_stack([confidence, correct])
    many = np.repeat(pairs, 1000 * TIMES, axis=0)
    sums = pooled(*many.T)
    sums[ATTEMPTED_ITEMS] = sums["items"]
    for metric in ITEM_METRICS:
        if metric.cross_fitted:
            continue  # needs questions: tested below
        expected = reference.METRICS[metric.key](as_one_question(pairs), STANDARD)
        number = value(metric, many) if metric.pairs else float(metric.value(sums, STANDARD))
        assert number == pytest.approx(expected, abs=1e-3 if metric.key in OF_FIRST_ITEMS else 1e-9), metric.key
    by_mass = float(
        CATALOGUE["ece"].value(dict(zip(BIN_COLUMNS, bins.mass_bins(*many.T, 10), strict=True)), Conventions("mass10"))
    )
    assert by_mass == pytest.approx(reference.ece(as_one_question(pairs), Conventions("mass10")), abs=1e-9)


@pytest.mark.parametrize("t, expected", [(0, 0.5), (0.25, (1 + 1 - 1 / 3) / 4), (0.5, 0), (0.6, (1 - 1.5) / 4), (0.9, 0)])
def test_answers_above_t_earn_or_cost(t, expected):
    # Right at 0.9 and 0.5, wrong at 0.7 and 0. A confidence equal to t is not above it.
    rewards = item_totals.net_reward(np.array([0.9, 0.5, 0.7, 0.0]), np.array([1.0, 1.0, 0.0, 0.0]), t)
    assert rewards.mean() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("t", [0.1, 0.5, 0.8])
def test_answering_pays_where_the_chance_is_above_t(t):
    chance = np.linspace(0, 1, 21)
    worth = item_totals.net_reward(np.ones(21), chance, t)  # always answered, at any chance
    clear = np.abs(chance - t) > 1e-9
    assert ((worth > 0) == (chance > t))[clear].all()


@pytest.mark.parametrize("beta, expected", [(1, 0.48), (2, 5 * 0.24 / (1.6 + 0.6)), (0.5, 1.25 * 0.24 / (0.1 + 0.6))])
def test_beta_moves_hmr_towards_r_under(beta, expected):
    assert item_totals.hmr(np.array(0.4), np.array(0.6), beta) == pytest.approx(expected)


def test_metrics_accept_stacked_totals_of_replicates():
    sums = [pooled([0.2, 0.9], [0, 1]), pooled([0.5, 1.0], [1, 0])]
    sums = [totals | {ATTEMPTED_ITEMS: totals["items"]} for totals in sums]
    stacked = {name: np.stack([totals[name] for totals in sums]) for name in sums[0]}
    for metric in (metric for metric in ITEM_METRICS if not (metric.pairs or metric.cross_fitted)):
        one_by_one = [float(metric.value(totals, Conventions())) for totals in sums]
        assert metric.value(stacked, Conventions()) == pytest.approx(one_by_one, nan_ok=True), metric.key


# -- decompositions ----------------------------------------------------------------------------------------------------


@MANY
@given(pairs=PAIRS, conventions=CONVENTIONS)
def test_murphys_parts_add_up_to_the_brier_score(pairs, conventions):
    reliability, resolution, uncertainty, residual, brier = (
        value(CATALOGUE[key], pairs, conventions) for key in ("reliability", "resolution", "uncertainty", "residual", "brier")
    )
    assert reliability - resolution + uncertainty + residual == pytest.approx(brier, abs=1e-12)


@MANY
@given(pairs=PAIRS)
def test_the_parts_of_corp_add_up_to_the_brier_score(pairs):
    brier, mcb, dsc, unc = (value(CATALOGUE[key], pairs) for key in ("brier", "corp_mcb", "corp_dsc", "corp_unc"))
    assert mcb - dsc + unc == pytest.approx(brier, abs=1e-12)
    assert mcb >= 0 and 0 <= dsc <= unc + 1e-15


def test_there_is_no_residual_where_each_bin_has_one_confidence():
    pairs = [(place / 10 + 0.05, correct) for place in range(10) for correct in [0] * (9 - place) + [1] * (place + 1)]
    assert value(CATALOGUE["residual"], pairs) == pytest.approx(0, abs=1e-15)
    assert value(CATALOGUE["residual"], [(0.1, 0), (0.19, 1)]) == pytest.approx(-0.09 * 0.5 + 0.045**2, abs=1e-15)


WEIGHTED = st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=60)


@MANY
@given(weighted=WEIGHTED)
def test_isotonic_is_that_of_scikit_learn(weighted):
    means, weights = np.array(weighted).T
    expected = IsotonicRegression().fit_transform(np.arange(len(means)), means, sample_weight=weights)
    assert isotonic.isotonic(means * weights, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "totals, weights, expected",
    [
        ([], [], []),
        ([0.3], [1], [0.3]),
        ([1, 0], [1, 1], [0.5, 0.5]),
        ([0, 1], [1, 1], [0, 1]),
        ([3, 0, 1], [3, 1, 1], [0.75, 0.75, 1]),  # pools by weight
        ([1, 1, 0, 0], [1, 1, 1, 1], [0.5] * 4),
        ([0.5, 1, 0.25], [1, 2, 0.5], [0.5] * 3),
    ],
)
def test_isotonic(totals, weights, expected):
    assert isotonic.isotonic(np.array(totals, float), np.array(weights, float)).tolist() == expected


def test_correlated_items_widen_the_band():
    random = np.random.default_rng(3)
    confidence, sizes = np.repeat(random.random(60), 5).round(2), np.full(60, 5)
    alone = (random.random(300) < confidence).astype(float)
    together = (np.repeat(random.random(60), 5) < confidence).astype(float)  # all clues of a question right, or none
    assert isotonic.question_correlation(confidence, alone, sizes) < 0.1
    assert isotonic.question_correlation(confidence, together, sizes) > 0.7
    narrow, wide = (isotonic.consistency_band(confidence, correct, sizes, 7) for correct in (alone, together))
    assert (wide[2] - wide[1]).mean() > 1.4 * (narrow[2] - narrow[1]).mean()


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.8, 0.99), (0.95, 0.99)])
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_the_correlation_of_questions_is_that_of_the_draws(low, high, shared):
    """Also where errors are rare, and for a run that is overconfident throughout."""
    random = np.random.default_rng(9)
    sizes, estimates = np.full(300, 5), []
    for _ in range(20):
        confidence = random.uniform(low, high, 1500)
        normal = math.sqrt(shared) * np.repeat(random.normal(size=300), 5) + math.sqrt(1 - shared) * random.normal(size=1500)
        estimates.append(isotonic.question_correlation(confidence, (normal < ndtri(confidence)).astype(float), sizes))
    assert np.mean(estimates) == pytest.approx(shared, abs=0.09)
    correct = (random.random(1500) < confidence - 0.15).astype(float)
    assert isotonic.question_correlation(confidence, correct, sizes) < 0.3


def test_a_simultaneous_band_contains_the_pointwise_one():
    random = np.random.default_rng(4)
    confidence = random.random(200).round(1)
    correct = (random.random(200) < confidence).astype(float)
    bands = [isotonic.consistency_band(confidence, correct, np.full(100, 2), 7, simultaneous=both) for both in (False, True)]
    (where, low, high), (same, lower, higher) = bands
    assert where.tolist() == same.tolist() and (lower <= low + 0.01).all() and (higher >= high - 0.01).all()
    assert (higher - lower).mean() > 1.2 * (high - low).mean()
    assert (np.diff(lower) >= 0).all() and (np.diff(higher) >= 0).all()


@pytest.mark.parametrize(("items", "digits", "apart"), [(300, 4, 250), (2000, 1, 11), (6000, 4, 1001)])
def test_consistency_band_covers_calibrated_runs(items, digits, apart):
    """Compare with a simulation item by item: where most confidences are distinct, where few are, and where very many are."""
    random = np.random.default_rng(items)
    confidence = np.round(random.beta(2, 1, items), digits)
    assert len(np.unique(confidence)) >= apart or digits == 1
    where, low, high = isotonic.consistency_band(
        confidence, (random.random(items) < confidence).astype(float), np.ones(items, int), 7
    )
    assert len(where) <= 201 and (np.diff(where) > 0).all() and (low <= high).all()
    assert (np.diff(low) >= 0).all() and (np.diff(high) >= 0).all()
    curves = [
        IsotonicRegression(out_of_bounds="clip").fit(confidence, random.random(items) < confidence).predict(where)
        for _ in range(300)
    ]
    expected = np.quantile(curves, [0.05, 0.95], axis=0)
    thick = np.searchsorted(np.sort(confidence), where) > 20  # at the ends, single items decide the curve
    off = np.abs(np.stack([low, high]) - expected)[:, thick]
    assert off.max() < 0.06 and off.mean() < 0.015


@pytest.mark.parametrize(("digits", "simultaneous"), [(1, False), (2, False), (2, True)])
def test_the_large_sample_band_agrees_with_single_items(monkeypatch, digits, simultaneous):
    """Draw right answers by confidence and item by item: both bands are known to about 6 % of their width."""
    random = np.random.default_rng(digits)
    sizes = np.full(1500, 4)
    confidence = np.round(random.random(sizes.sum()), digits)
    normal = math.sqrt(0.5) * (np.repeat(random.normal(size=len(sizes)), 4) + random.normal(size=sizes.sum()))
    correct = (normal < ndtri(confidence)).astype(float)
    bands = []
    for many in (len(confidence) - 1, len(confidence)):
        monkeypatch.setattr(isotonic, "LARGE_SAMPLE", many)
        bands.append(isotonic.consistency_band(confidence, correct, sizes, 7, simultaneous))
    (where, low, high), (same, lower, higher) = bands
    width = (higher - lower).mean()
    assert where.tolist() == same.tolist()
    assert (high - low).mean() / width == pytest.approx(1, abs=0.06)
    assert np.abs(low - lower).mean() < 0.06 * width and np.abs(high - higher).mean() < 0.06 * width


@pytest.mark.parametrize("rows", [1, 2, 64, 130])
def test_isotonic_fits_of_many_rows_are_those_of_each(rows):
    """Cover places without weight (also at the start of a row), whole rows without weight, and ties."""
    random = np.random.default_rng(rows)
    weights = random.integers(0, 4, (rows, 30)).astype(float)
    weights[random.random(rows) < 0.1] = 0
    totals = np.round(weights * random.random((rows, 30)), 1)
    expected = np.zeros_like(totals)
    for row in range(rows):
        kept = weights[row] > 0
        if kept.any():
            fitted = IsotonicRegression().fit(
                np.flatnonzero(kept), totals[row][kept] / weights[row][kept], sample_weight=weights[row][kept]
            )
            before = np.flatnonzero(kept)[np.maximum(np.cumsum(kept) - 1, 0)]
            expected[row] = np.where(np.cumsum(kept) > 0, fitted.predict(before), 0)
    assert isotonic.isotonic(totals, weights) == pytest.approx(expected, abs=1e-12)
    deep = isotonic.isotonic(np.stack([totals, totals]), np.stack([weights, weights]))
    assert deep.shape == (2, rows, 30)
    assert deep[1] == pytest.approx(expected, abs=1e-12)
    assert isotonic.isotonic(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)
    assert isotonic.isotonic(np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("digits", [1, 2, 15])
def test_corp_recalibrates_like_scikit_learn(seed, digits):
    chance = np.random.default_rng(seed)
    confidence = chance.random(400).round(digits)  # ties, many or none
    correct = (chance.random(400) < confidence**2).astype(float)
    fit = IsotonicRegression().fit(confidence, correct).predict(confidence)
    mcb, dsc = plain(isotonic.corp, confidence, correct)
    assert mcb == pytest.approx(brier_score_loss(correct, confidence) - brier_score_loss(correct, fit), abs=1e-12)
    assert dsc == pytest.approx(correct.var() - brier_score_loss(correct, fit), abs=1e-12)


def test_corp_sees_a_small_miscalibration():
    # 1e-7 off at 0.5. Its square would be lost in the difference of two scores.
    assert plain(isotonic.corp, np.full(4, 0.5 + 1e-7), np.array([0.0, 1, 0, 1]))[0] == pytest.approx(1e-14, rel=1e-6, abs=0)


# -- debiased ECE ------------------------------------------------------------------------------------------------------


def folds_of(gaps):
    """``ece_cross_fitted`` of questions with one item each; ``gaps`` has shape (questions, bins)."""
    gaps = np.asarray(gaps, float)
    totals = bins.fold_totals(gaps, *np.ones((3, len(gaps))), np.arange(len(gaps)) % bins.FOLDS)
    by_fold = totals["gaps_by_fold"].reshape(bins.FOLDS, -1)
    return float(bins.ece_cross_fitted(by_fold, totals["items_by_fold"]))


def test_any_two_folds_are_equally_often_in_opposite_halves():
    apart = (bins.HALVES[:, :, None] != bins.HALVES[:, None, :]).sum(axis=0)
    assert bins.HALVES.shape == (15, 16) and (bins.HALVES.sum(axis=1) == 8).all()
    assert (apart[~np.eye(16, dtype=bool)] == 8).all()


def test_folds_are_random_and_reproducible():
    names = [f"q{index:04}" for index in range(10_000)]
    folds = bins.question_folds(names)
    sizes = np.bincount(folds, minlength=16)
    assert len(sizes) == 16 and ((sizes - 625) ** 2 / 625).sum() < 45  # the 99.99 % point of chi-squared with 15 degrees
    assert bins.question_folds(names[5:7]).tolist() == folds[5:7].tolist()
    assert bins.question_folds(["Paris", "Nile"]).tolist() == [13, 1]


def test_a_gap_that_both_halves_share_is_counted_whole():
    assert folds_of(np.full((64, 1), 0.3)) == pytest.approx(0.3, abs=1e-12)
    assert folds_of(np.tile([[0.3, -0.2]], (64, 1)) / 2) == pytest.approx(0.25, abs=1e-12)


def test_two_questions_that_disagree_have_a_negative_error():
    # The halves have gaps -0.4 and 0.9; each takes the sign of the other.
    assert folds_of([[-0.4], [0.9]]) == pytest.approx(-(0.4 + 0.9) / 2, abs=1e-12)


def test_a_bin_empty_in_one_half_takes_that_halfs_sign():
    # One question in bin 0 and one in bin 1: both halves are overconfident as a whole.
    assert folds_of([[0.4, 0.0], [0.0, 0.9]]) == pytest.approx((0.4 + 0.9) / 2, abs=1e-12)


def test_one_question_has_no_halves():
    assert math.isnan(folds_of([[0.4, 0.1]])) and math.isnan(folds_of(np.zeros((0, 2))))


def test_ten_million_items_of_two_million_questions():
    chance = np.random.default_rng(3)
    confidence = chance.random((2_000_000, 5))
    correct = (chance.random(confidence.shape) < 0.8 * confidence).astype(float)
    place = np.minimum((10 * confidence).astype(int), 9) + 10 * np.arange(len(confidence))[:, None]
    gaps = np.bincount(place.ravel(), (confidence - correct).ravel(), 10 * len(confidence)).reshape(-1, 10)
    # The true error is the mean of 0.2 c; the noise is about 0.0002 here.
    assert folds_of(gaps) / 5 == pytest.approx(0.1, abs=0.001)


# -- pairs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("digits", [1, 2, 15])
def test_auroc_is_that_of_scikit_learn(seed, digits):
    chance = np.random.default_rng(seed)
    confidence = chance.random(300).round(digits)
    correct = (chance.random(300) < confidence).astype(float)
    assert plain(sorted_items.auroc, confidence, correct) == pytest.approx(roc_auc_score(correct, confidence), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_auroc_of_grades_is_that_of_answers_drawn_from_them(seed):
    """The mean over draws of 0 and 1 with the grades as probabilities of the pairs that are won, over that of all pairs."""
    chance = np.random.default_rng(seed)
    confidence, grade = chance.random(8).round(1), chance.random(8).round(2)
    won = pairs = 0.0
    for right in np.array(list(itertools.product([False, True], repeat=8))):
        share = np.where(right, grade, 1 - grade).prod()
        above = confidence[right][:, None] - confidence[~right]
        won, pairs = won + share * ((above > 0) + (above == 0) / 2).sum(), pairs + share * above.size
    assert plain(sorted_items.auroc, confidence, grade) == pytest.approx(won / pairs, abs=1e-12)


def test_one_graded_answer_has_no_auroc():
    assert math.isnan(plain(sorted_items.auroc, np.array([0.3]), np.array([0.3])))


@MANY
@given(pairs=PAIRS)
def test_auroc_is_mirrored_when_confidence_is_reversed(pairs):
    confidence, correct = np.array(pairs).T
    # 1 - c would make distinct values equal; the rank of c keeps their order.
    rank = np.unique(confidence, return_inverse=True)[1].astype(float)
    of_confidence = plain(sorted_items.auroc, confidence, correct)
    assert plain(sorted_items.auroc, rank, correct) == pytest.approx(of_confidence, abs=1e-12, nan_ok=True)
    assert plain(sorted_items.auroc, -rank, correct) == pytest.approx(1 - of_confidence, abs=1e-12, nan_ok=True)


@MANY
@given(pairs=st.lists(st.tuples(CONFIDENCE, CORRECT), max_size=40), chance=st.randoms(use_true_random=False))
def test_ks_ignores_order_and_is_at_most_the_sequential_ks(pairs, chance):
    confidence, correct = np.array(pairs, float).reshape(-1, 2).T
    order = np.array(chance.sample(range(len(pairs)), len(pairs)), int)
    together = pytest.approx(plain(sorted_items.ks, confidence, correct), abs=1e-14, nan_ok=True)
    assert plain(sorted_items.ks, confidence[order], correct[order]) == together
    sequential = plain(sorted_items.ks_sequential, confidence[order], correct[order])
    assert not plain(sorted_items.ks, confidence, correct) > sequential + 1e-14


def test_ks_in_order_keeps_the_order_of_ties():
    confidence = np.full(4, 0.5)
    assert plain(sorted_items.ks_sequential, confidence, np.array([1.0, 1, 0, 0])) == 0.25
    assert plain(sorted_items.ks_sequential, confidence, np.array([1.0, 0, 1, 0])) == 0.125
    assert plain(sorted_items.ks, confidence, np.array([1.0, 1, 0, 0])) == 0


@MANY
@given(pairs=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_correlation_needs_both_to_vary(pairs):
    confidence, correct = np.array(pairs).T
    for constant in (0.0, 1.0, 0.1, 0.7, 1 / 3):
        assert math.isnan(plain(sorted_items.correlation, np.full(len(pairs), constant), correct))
        assert math.isnan(plain(sorted_items.correlation, confidence, np.full(len(pairs), constant)))


@pytest.mark.parametrize("step", [1e-3, 1e-7, 1e-11, 2**-50])
def test_correlation_of_confidences_that_lie_close_together(step):
    confidence = 0.875 + step * np.array([0, 1, 2, 3] * 50)
    correct = np.array([0.0, 1, 0, 1] * 50)
    exact = reference.correlation(
        [reference.Answered([(c, y, None) for c, y in zip(confidence, correct, strict=True)])], STANDARD
    )
    assert plain(sorted_items.correlation, confidence, correct) == pytest.approx(exact, abs=1e-12)
    assert exact == pytest.approx(math.sqrt(0.2), abs=0.3)


@pytest.mark.parametrize("seed", range(5))
def test_correlation_is_that_of_numpy(seed):
    chance = np.random.default_rng(seed)
    confidence, correct = chance.random(200), chance.random(200)
    assert plain(sorted_items.correlation, confidence, correct) == pytest.approx(
        np.corrcoef(confidence, correct)[0, 1], abs=1e-12
    )


# -- questions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x, expected", [(-1, 0), (0, 0.5), (1, 1)])
def test_r_maps_its_ends_exactly(x, expected):
    assert per_question.unit_logistic(x) == expected


@MANY
@given(x=st.floats(-1, 1))
def test_r_is_the_logistic_function_stretched_to_its_ends(x):
    assert per_question.unit_logistic(x) == pytest.approx(reference.r(x), abs=1e-12)


@MANY
@given(clues=st.lists(st.tuples(CONFIDENCE, st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_calscore_and_its_relatives(clues):
    answered = [reference.Answered([(c, y, {"buzz_share": h}) for c, y, h in clues])]
    weighted = np.array(sum((1 - h) * (2 * y - 1) * c for c, y, h in clues))
    weight = np.array(sum(1 - h for _, _, h in clues))
    sign_confidence = np.array(sum((2 * y - 1) * c for c, y, _ in clues))
    items = np.array(float(len(clues)))
    scores = {
        reference.calscore: per_question.calscore(weighted, items),
        reference.calscore_weighted: per_question.calscore_weighted(weighted, weight),
        reference.grace_mce: per_question.grace_mce(sign_confidence, items),
    }
    for definition, score in scores.items():
        if definition == reference.calscore_weighted and weight < 1e-6:
            continue  # people know nearly everything: what remains of 1 - h is rounding
        assert score == pytest.approx(definition(answered, STANDARD), abs=1e-9, nan_ok=True), definition
        assert -1e-15 <= score <= 1 + 1e-15


@pytest.mark.parametrize(
    "weighted, weight, expected",
    [
        (0.0, 0.0, math.nan),
        (math.nan, math.nan, math.nan),  # nobody heard the question
        (1.1e-16, 1.1e-16, math.nan),  # h is 1 except for rounding
        (-2.2e-16, -2.2e-16, math.nan),  # h exceeds 1 by rounding
        (0.0, 0.5, 0.5),
        (0.5, 0.5, 0.0),
        (-0.5, 0.5, 1.0),
        (0.5 + 1e-16, 0.5, 0.0),
        (-1e-6, 1e-6, 1.0),
    ],
)
def test_normalised_calscore_is_missing_without_weights(weighted, weight, expected):
    assert per_question.calscore_weighted(np.array(weighted), np.array(weight)) == pytest.approx(expected, abs=0, nan_ok=True)


@MANY
@given(confidence=st.lists(CONFIDENCE, min_size=1, max_size=12))
def test_buzz_mass_is_the_chance_of_buzzing_first_at_each_clue(confidence):
    mass = per_question.buzz_mass(confidence)
    forced = [*confidence[:-1], 1.0]
    assert mass == pytest.approx([c * math.prod(1 - before for before in forced[:t]) for t, c in enumerate(forced)])
    assert mass.sum() == pytest.approx(1)
    assert (mass >= 0).all()


@MANY
@given(
    points=st.lists(st.tuples(st.integers(0, 100), st.floats(-1, 1)), min_size=2, max_size=30).filter(lambda p: len(dict(p)) > 1)
)
def test_slope_is_that_of_least_squares(points):
    x, y = np.array(points, float).T / [[100], [1]]
    fitted = per_question.slope(np.array(float(len(x))), x.sum(), y.sum(), (x * x).sum(), (x * y).sum())
    assert fitted == pytest.approx(linear_regression(x.tolist(), y.tolist()).slope, abs=1e-9)


def slope_error(x, y):
    metric = CATALOGUE["hard_easy_slope_se"]
    x, y = np.array(x, float), np.array(y, float)
    sums = {"items": np.ones(len(x)), "confidence": y, "correct": np.zeros(len(x)), "difficulty": x}
    totals = {name: part.sum() for name, part in metric.contributions(sums, STANDARD).items()}
    return float(metric.value(totals, STANDARD))


@MANY
@given(points=st.lists(st.tuples(st.integers(0, 100), st.floats(-1, 1)), min_size=3, max_size=30))
def test_the_error_of_the_slope_is_that_of_scipy(points):
    x, y = np.array(points, float).T / [[100], [1]]
    if len(set(x.tolist())) > 1:
        if len(set(y.tolist())) > 1:  # scipy returns no number for a flat line
            assert slope_error(x, y) == pytest.approx(linregress(x, y).stderr, rel=1e-6, abs=1e-5)  # scipy rounds near a line
        assert slope_error(x, y) == pytest.approx(exact_slope_error(x, y), abs=1e-10)


def exact_slope_error(x, y):
    answered = [reference.Answered([(b, 0.0, None)], a) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return reference.hard_easy_slope_se(answered, STANDARD)


@pytest.mark.parametrize("count", [3, 4, 10, 808, 20000])
@pytest.mark.parametrize("slope", [0.3, -0.7, 1.0])
def test_points_on_a_line_leave_no_error(count, slope):
    x = np.random.default_rng(count).random(count)
    assert slope_error(x, 0.2 + slope * x - slope / 3) == pytest.approx(0, abs=1e-10)


def test_the_error_of_a_slope_by_hand():
    # x = 0, 1/2, 1 and y = 0, 1/2, 0: slope 0, level 1/6, residuals -1/6, 1/3, -1/6; RSS = 1/6, S_xx = 1/2, n - 2 = 1.
    assert slope_error([0, 0.5, 1], [0, 0.5, 0]) == pytest.approx(math.sqrt(1 / 3), abs=1e-15)


def test_an_error_needs_three_points_and_some_spread():
    assert math.isnan(slope_error([0.1, 0.9], [0.3, 0.4]))
    assert math.isnan(slope_error([0.3] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]))
    assert math.isnan(slope_error([], []))


@pytest.mark.parametrize("x", [[], [0.3], [0.1, 0.1, 0.1], [0.7] * 50], ids=str)
def test_there_is_no_slope_where_difficulty_does_not_vary(x):
    x = np.array(x, float)
    assert math.isnan(per_question.slope(np.array(float(len(x))), x.sum(), x.sum(), (x * x).sum(), (x * x).sum()))


HEARD, KNOWN = (0.25, 0.75), (1.0, 1.0)  # human curves of two clues
r = reference.r
# Questions as (difficulty, human curve or None, [(confidence, correctness) of each clue]), and the metrics: m are the
# increments of the human curve, b the buzz mass; reward = sum m_t * (sum b y up to t) + (1 - sum m) * (sum b y).
OF_QUESTIONS = {
    "nothing": ([], {"calscore": math.nan, "calscore_weighted": math.nan, "calscore2": math.nan, "grace_mce": math.nan,
                     "hard_easy_slope": math.nan}),
    "one question of one item": (
        [(0.3, HEARD, [(0.7, 1)])],  # b = 1, because the last confidence counts as 1
        {"calscore": 1 - r(0.75 * 0.7), "calscore_weighted": 1 - r(0.7), "calscore2": 0, "grace_mce": 1 - r(0.7),
         "hard_easy_slope": math.nan},
    ),
    "one question": (
        [(0.3, HEARD, [(0.2, 1), (0.6, 0)])],  # b = 0.2, 0.8; m = 0.25, 0.5: reward 0.2
        {"calscore": 1 - r((0.75 * 0.2 - 0.25 * 0.6) / 2), "calscore_weighted": 0.5, "calscore2": 0.8, "grace_mce": 1 - r(-0.2),
         "hard_easy_slope": math.nan},
    ),
    "all correct": (
        [(d, HEARD, [(0.2, 1), (0.6, 1)]) for d in (0.2, 0.8)],  # reward 0.25 * 0.2 + 0.5 * 1 + 0.25 * 1
        {"calscore": 1 - r((0.75 * 0.2 + 0.25 * 0.6) / 2), "calscore_weighted": 1 - r(0.3), "calscore2": 0.2,
         "grace_mce": 1 - r(0.4), "hard_easy_slope": 0},
    ),
    "none correct": (
        [(d, HEARD, [(0.2, 0), (0.6, 0)]) for d in (0.2, 0.8)],
        {"calscore": 1 - r(-0.15), "calscore_weighted": 1 - r(-0.3), "calscore2": 1, "grace_mce": 1 - r(-0.4),
         "hard_easy_slope": 0},
    ),
    "one confidence throughout": (
        [(d, HEARD, [(0.5, 0), (0.5, 1)]) for d in (0.2, 0.8)],  # reward 0.5 * 0.5 + 0.25 * 0.5
        {"calscore": 1 - r((-0.375 + 0.125) / 2), "calscore_weighted": 1 - r(-0.25), "calscore2": 0.625, "grace_mce": 0.5,
         "hard_easy_slope": 0},
    ),
    "confidence 0 throughout": (
        [(d, HEARD, [(0, 0), (0, 1)]) for d in (0.2, 0.8)],  # b = 0, 1: reward 0.5 + 0.25
        {"calscore": 0.5, "calscore_weighted": 0.5, "calscore2": 0.25, "grace_mce": 0.5, "hard_easy_slope": 0},
    ),
    "confidence 1 throughout": (
        [(d, HEARD, [(1, 0), (1, 1)]) for d in (0.2, 0.8)],  # b = 1, 0: buzzes at the first clue, which is wrong
        {"calscore": 1 - r((-0.75 + 0.25) / 2), "calscore_weighted": 1 - r(-0.5), "calscore2": 1, "grace_mce": 0.5,
         "hard_easy_slope": 0},
    ),
    "right on the easy one, wrong on the hard one": (
        [(0.2, HEARD, [(0.2, 1), (0.6, 1)]), (0.8, HEARD, [(0.2, 0), (0.6, 0)])],  # gaps -0.6 and 0.4
        {"calscore": 0.5, "calscore_weighted": 0.5, "calscore2": 0.6, "grace_mce": 0.5, "hard_easy_slope": 1 / 0.6},
    ),
    "people know at once": (
        [(0.2, KNOWN, [(0.2, 1), (0.6, 1)])],  # no weight is left; m = 1, 0: reward b_1
        {"calscore": 0.5, "calscore_weighted": math.nan, "calscore2": 0.8, "grace_mce": 1 - r(0.4), "hard_easy_slope": math.nan},
    ),
    "nobody heard it, nobody knows how hard it is": (
        [(None, None, [(0.2, 1), (0.6, 1)])] * 2,
        {"calscore": math.nan, "calscore_weighted": math.nan, "calscore2": math.nan, "grace_mce": 1 - r(0.4),
         "hard_easy_slope": math.nan},
    ),
}  # fmt: skip
for _, values in OF_QUESTIONS.values():
    values["hard_easy_slope_se"] = math.nan  # a standard error needs three questions
# HEARD rises from 0.25 to 0.75, KNOWN does not change.
LIKE_PEOPLE = {
    "nothing": (math.nan, math.nan), "one question of one item": (math.nan, 0.45), "one question": (1, 0.1),
    "all correct": (1, 0.1),
    "none correct": (1, 0.1), "one confidence throughout": (math.nan, 0.25), "confidence 0 throughout": (math.nan, 0.5),
    "confidence 1 throughout": (math.nan, 0.5), "right on the easy one, wrong on the hard one": (1, 0.1),
    "people know at once": (math.nan, 0.6), "nobody heard it, nobody knows how hard it is": (math.nan, math.nan),
}  # fmt: skip
for case, (tau, area) in LIKE_PEOPLE.items():
    OF_QUESTIONS[case][1].update(human_tau=tau, human_area=area)


def statistics_of(questions):
    """Return the statistics of the questions, as arrays over questions."""
    columns = []
    for _, curve, pairs in questions:
        confidence, correct = np.array(pairs, float).reshape(-1, 2).T
        h = np.array(curve[: len(pairs)] if curve else [math.nan] * len(pairs), float)
        items = sufficient_statistics.Items(confidence, correct, np.array([0, len(pairs)]), dict.fromkeys(CURVES, h))
        columns.append(sufficient_statistics.sums(items, sufficient_statistics.STATISTICS))
    sums = {
        name: np.concatenate([np.empty(0), *(column[name] for column in columns)]) for name in sufficient_statistics.STATISTICS
    }
    return sums | {
        "difficulty": np.array([math.nan if statistics[0] is None else statistics[0] for statistics in questions], float)
    }


@pytest.mark.parametrize("case", OF_QUESTIONS)
@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric.level == "question"], ids=lambda metric: metric.key)
def test_degenerate_questions(metric, case):
    questions, expected = OF_QUESTIONS[case]
    read = {name: column for name, column in statistics_of(questions).items() if name in metric.reads(STANDARD)}
    contributions = metric.contributions(read, STANDARD)
    number = metric.value({name: part.sum(axis=0) for name, part in contributions.items()}, STANDARD)
    assert float(number) == pytest.approx(expected[metric.key], abs=1e-14, nan_ok=True)


def test_the_degenerate_cases_cover_every_metric():
    of_items, of_questions = ({key for _, values in cases.values() for key in values} for cases in (DEGENERATE, OF_QUESTIONS))
    # Metrics of whole distributions have their own cases in test_distribution_statistics.py.
    assert of_items | of_questions == {metric.key for metric in METRICS if "whole distribution" not in metric.needs}
    assert all(values.keys() == of_items for _, values in DEGENERATE.values())
    assert all(values.keys() == of_questions for _, values in OF_QUESTIONS.values())


@pytest.mark.parametrize(
    "loss, expected",
    [
        ([], []),
        ([0.3], [1]),
        ([0.3, 0.1, 0.2], [3, 1, 2]),
        ([0.2, 0.1, 0.2, 0.3], [2.5, 1, 2.5, 4]),
        ([0.5, 0.5, 0.5], [2, 2, 2]),
        ([math.nan, 0.1, math.inf, 0.2], [math.nan, 1, math.nan, 2]),
        ([math.nan, math.nan], [math.nan, math.nan]),
        ([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, 0.1], [2.5, 2.5, 1]),  # the same sum in another order
        ([0.1, 0.1 + 1e-9], [1, 2]),
    ],
)
def test_ranks(loss, expected):
    assert ranks(np.array(loss, float)) == pytest.approx(expected, nan_ok=True)


@MANY
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, math.nan]) | st.floats(0, 1), max_size=12))
def test_ranks_are_those_of_scipy(loss):
    loss = np.round(loss, 9)  # differences that scipy distinguishes and we do not are tested above
    assert ranks(loss) == pytest.approx(rankdata(loss, nan_policy="omit"), nan_ok=True)
