"""Worked examples of GRACE: Sung et al. 2025, arXiv 2502.19684."""

import numpy as np
import pytest

from clueline.data.human_curves import CURVES
from clueline.data.sufficient_statistics import Items, sums
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.metrics.kernels import per_question

# -- GRACE app. L, table 6 ---------------------------------------------------------------------------------------------


def test_grace_table_6():
    """The four values (1 - h_t) g_t c_t add up to -0.61. Equation 1 has r of their mean; printed is r of their sum."""
    assert per_question.unit_logistic(-0.61 / 4) == pytest.approx(0.4177, abs=5e-5)
    assert per_question.calscore(np.array(-0.61), np.array(4.0)) == pytest.approx(0.5823, abs=5e-5)
    assert per_question.unit_logistic(-0.61) == pytest.approx(0.1799, abs=5e-5)


# -- GRACE app. M, table 7 ---------------------------------------------------------------------------------------------

# The confidences that b = (0.1, 0.63, 0.216, 0.054) and the reward allow: c_t = b_t / (1 - b_1 - ... - b_{t-1}), with right
# answers from the second clue on. The last confidence is forced to 1, whatever its value.
CONFIDENCE, CORRECT = (0.1, 0.7, 0.8, 0.9), (0, 1, 1, 1)
HUMAN_STEPS = (0.1, 0.1, 0.2, 0.3)


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
