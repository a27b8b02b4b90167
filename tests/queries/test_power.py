"""Stated power: simulated comparisons reject as often as it says."""

import math

import numpy as np
import pytest

from clueline.queries.compare import compare
from clueline.queries.engine.inference import one_sided_t_test, t_test
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.power import MIN_QUESTIONS, POWER, detectable_difference, equality_margin, power, questions_needed
from clueline.queries.selection import Selection

BOARDS = 6000
NOISE = 4 * math.sqrt(POWER * (1 - POWER) / BOARDS)


def differences_of_brier(random, boards, questions):
    """Draw differences of two runs by question, not normal: one run is surer than the other, and a third of answers are wrong."""
    right = random.random((boards, questions)) < 2 / 3
    sure, hesitant = random.beta(8, 2, right.shape), random.beta(3, 2, right.shape)
    return (sure - right) ** 2 - (hesitant - right) ** 2


def normal_differences(random, boards, questions):
    return random.normal(0, 0.2, (boards, questions))


def rejected(sample, shift):
    """Return the share of boards on which a true difference is detected."""
    sample = sample + shift
    estimates, errors = sample.mean(axis=1), sample.std(axis=1, ddof=1) / math.sqrt(sample.shape[1])
    return float((t_test(estimates, errors, np.full(len(sample), sample.shape[1])) < 0.05).mean())


@pytest.mark.parametrize("draw", [normal_differences, differences_of_brier])
@pytest.mark.parametrize("questions", [10, 30, 120])
def test_the_stated_power_holds(draw, questions):
    population = draw(np.random.default_rng(5), 1, 400_000)
    shift = detectable_difference(population.std(), questions) - population.mean()
    share = rejected(draw(np.random.default_rng(questions), BOARDS, questions), shift)
    assert abs(share - POWER) <= 0.03 + NOISE


@pytest.mark.parametrize("draw", [normal_differences, differences_of_brier])
def test_the_questions_that_show_equality_show_it(draw):
    """Two one-sided tests of equal runs are both significant in 80 % of all cases, with the stated number of questions."""
    population = draw(np.random.default_rng(5), 1, 400_000)
    margin = 0.09
    needed = questions_needed(population.std(), margin, equality_margin)
    for questions, share in ((needed, POWER), (needed // 2, 0.5)):
        sample = draw(np.random.default_rng(questions), BOARDS, questions) - population.mean()
        means, errors = sample.mean(axis=1), sample.std(axis=1, ddof=1) / math.sqrt(questions)
        p_values = one_sided_t_test(np.abs(means) - margin, errors, np.full(BOARDS, questions))
        shown = float((p_values < 0.05).mean())
        assert abs(shown - POWER) <= 0.03 + NOISE if share == POWER else shown < share


@pytest.mark.parametrize("difference", [0.9, 0.05, 0.003])
def test_needed_is_the_inverse_of_detectable(difference):
    assert (questions_needed(0.3, 0.0, equality_margin), questions_needed(0.0, 0.02, equality_margin)) == (None, MIN_QUESTIONS)
    needed = questions_needed(0.3, difference)
    assert detectable_difference(0.3, needed) <= difference
    assert needed == MIN_QUESTIONS or detectable_difference(0.3, needed - 1) > difference


def test_the_spread_is_that_of_the_questions(snapshot, offered):
    a, b = [run for run, _, _ in offered["relay"].runs][:2]
    (row,) = power(snapshot, Selection("relay"), a, b, [CATALOGUE["calscore"]]).metrics
    result = compare(snapshot, Selection("relay"), a, b, [CATALOGUE["calscore"]])
    values = [(pair.a["calscore"], pair.b["calscore"]) for pair in result.pairs]
    paired = [a - b for a, b in values if a is not None and b is not None]
    assert row.questions == len(paired) and row.difference == result.metrics["calscore"].difference
    assert row.spread == pytest.approx(np.std(paired, ddof=1), rel=1e-6)


def test_every_metric_has_power_or_a_reason(snapshot, offered):
    a, b = [run for run, _, _ in offered["relay"].runs][:2]
    for row in power(snapshot, Selection("relay"), a, b, METRICS, 0.02).metrics:
        assert (row.error is None) == (row.missing is not None), row.metric
        assert row.error is None or row.target == 0.02
