"""The bootstrap with an extra question, against closed formulas and on awkward data."""

import numpy as np
import pytest
from scipy.stats import beta

from clueline.queries.engine.extra_question import extra_question_interval
from clueline.queries.engine.gather import gather
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.selection import Selection
from tests.helpers.simulated_evidence import evidence_of, simulated

OF_ITEMS = [metric for metric in METRICS if metric.of_items and not metric.no_interval]
# Whatever the extra question is, these can stay what they are: 0 where all confidences in a bin are equal.
CAN_BE_FLAT = ("residual", "corp_dsc")


def one_clue(confidence, correct):
    """Return evidence of one run with one clue per question."""
    confidence, correct = (np.asarray(part, float)[None, :, None] for part in (confidence, correct))
    return evidence_of((confidence, correct, np.zeros_like(confidence)))


@pytest.mark.parametrize(("right", "questions"), [(0, 20), (1, 20), (10, 20), (19, 20), (20, 20), (58, 60), (200, 200)])
def test_the_interval_of_a_share_is_that_of_clopper_and_pearson(right, questions):
    chance = np.random.default_rng(right)
    evidence = one_clue(chance.random(questions), np.arange(questions) < right)
    low, high = extra_question_interval(evidence, CATALOGUE["accuracy"])[:, 0]
    wrong = questions - right
    assert low == pytest.approx(beta.ppf(0.025, right, wrong + 1) if right else 0, abs=0.02)
    assert high == pytest.approx(beta.ppf(0.975, right + 1, wrong) if wrong else 1, abs=0.02)


def test_it_is_near_the_bootstrap_if_there_is_much_data():
    evidence = evidence_of(simulated(1, 900, seed=1))
    for key in ("brier", "accuracy", "hmr", "auroc", "calscore", "aurc"):  # the worst log score there is, 13.8, is far from any
        low, high = extra_question_interval(evidence, CATALOGUE[key])[:, 0]
        expected = metric_intervals(evidence, CATALOGUE[key])
        assert expected.methods == ("bootstrap",)
        width = expected.high[0] - expected.low[0]
        assert (low, high) == pytest.approx((expected.low[0], expected.high[0]), abs=0.15 * width), key


CHANCE = np.random.default_rng(7)
AWKWARD = {
    "all right": (0.5 + 0.5 * CHANCE.random(30), np.ones(30)),
    "all wrong": (CHANCE.random(30), np.zeros(30)),
    "one error": (0.9 + 0.1 * CHANCE.random(100), np.arange(100) > 0),
    "one confidence, all right": (np.full(20, 0.9), np.ones(20)),
    "one confidence, half right": (np.full(200, 0.9), np.arange(200) % 2),
    "certain and right": (np.ones(20), np.ones(20)),
    "certain and wrong": (np.ones(20), np.zeros(20)),
    "never confident": (0.4 * CHANCE.random(200), np.arange(200) % 2),
    "two questions": (np.array([0.6, 0.6]), np.array([1.0, 1.0])),
    "probabilities": (CHANCE.random(30), np.full(30, 0.7)),
}


@pytest.mark.parametrize("binning", ["width10", "width10r", "mass3"])
@pytest.mark.parametrize("name", AWKWARD)
def test_every_value_of_awkward_data_has_an_interval_with_width(name, binning):
    conventions = Conventions(binning)
    confidence, correct = (np.asarray(part, float)[None, :, None] for part in AWKWARD[name])
    evidence = evidence_of((confidence, correct, np.zeros_like(confidence)), conventions)
    for metric in OF_ITEMS:
        (value,), intervals = evidence.values(metric), metric_intervals(evidence, metric)
        low, high = intervals.low[0], intervals.high[0]
        if np.isnan(value) or (metric.key in CAN_BE_FLAT and np.isnan([low, high]).all()):
            continue
        assert metric.low - 1e-9 <= low < high <= metric.high + 1e-9, (metric.key, low, high)
        if not metric.interval_of:
            assert low - 1e-9 <= value <= high + 1e-9, metric.key


def test_a_metric_without_variation_has_no_interval():
    confidence, correct = np.full((1, 100, 1), 0.5), np.ones((1, 100, 1))
    metric, evidence = CATALOGUE["hard_easy_slope"], evidence_of((confidence, correct, correct))
    intervals = metric_intervals(evidence, metric)
    assert evidence.values(metric) == pytest.approx([0])
    assert np.isnan([intervals.low[0], intervals.high[0]]).all() and intervals.replicates.tolist() == [0]


def test_rows_of_stored_runs_can_be_extended(snapshot):
    """Evidence with unequal clues, samples, human curves and bins of the store."""
    evidence = gather(snapshot, Selection("relay", common=False), METRICS)
    for metric in OF_ITEMS:
        values, intervals = evidence.values(metric), metric_intervals(evidence, metric)
        for value, low, high, questions in zip(
            values, intervals.low, intervals.high, evidence.questions_with(metric), strict=True
        ):
            if np.isfinite(value) and questions > 1 and metric.key != "residual":
                assert low < high, metric.key
