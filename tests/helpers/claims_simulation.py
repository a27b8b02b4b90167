"""Claims about simulated runs by the engine: letters over many metrics, runs that may be best, and equality within a margin."""

from itertools import product

import numpy as np

from clueline.queries.engine.bootstrap import LEVEL, SIGNIFICANCE
from clueline.queries.engine.intervals_and_difference_tests import difference_tests, equivalence_tests
from clueline.queries.engine.multiple_comparisons import pairs_that_differ
from clueline.queries.engine.primary_metric import RankedMetrics
from clueline.queries.engine.ranked_metric_rows import metric_cells
from clueline.queries.metrics import CATALOGUE, METRICS
from tests.helpers.few_errors_simulation import CONFIDENCES, PAIRS_TOGETHER, TRUTH, simulated_runs
from tests.helpers.simulated_evidence import evidence_of
from tests.helpers.simulation import Measurement, board

RUNS = 8
BOARDS_TOGETHER = 4  # the engine compares all runs of one evidence with each other, also of different boards
FAMILY = [metric for metric in METRICS if metric.ranks and metric.of_items] + [CATALOGUE["hard_easy_slope"]]
CLAIMED = RankedMetrics(CATALOGUE["calscore"], len(FAMILY) - 1)
# Noise that is added to the confidence of each of eight runs, on the scale of log-odds: the more, the worse the run.
QUALITIES = {
    "8 equal runs": np.zeros(RUNS),
    "4 equal runs and 4 worse ones": np.repeat([0.0, 1.0], RUNS // 2),
    "8 unequal runs": np.linspace(0, 1.4, RUNS),
    "1 run and 7 worse ones": np.repeat([0.0, 0.8], [1, RUNS - 1]),
}
MEASURED_BY = ("brier", "net_score", "auroc")
EQUALITY_BY = ("accuracy", "brier", "net_score", "auroc")
CALLED_EQUAL, CALLED_DIFFERENT = "runs that differ by the margin: called equal", "equal runs: called different"
WORSE = 1.0  # noise of the worse run of a pair


def _with_noise(random, confidence, noise):
    logit = np.log(confidence / (1 - confidence)) + noise * random.normal(size=confidence.shape)
    return 1 / (1 + np.exp(-logit))


def _clues(count):
    return f"{count} clue{'s' * (count > 1)}"


def letters_over_metrics(boards, seed, settings=((60, 1), (60, 5), (200, 1)), confidences=CONFIDENCES[:1]):
    """Measure how often two of eight equal runs share no letter: by the primary metric, and by any of the others.

    Args:
        settings: questions and clues of each setting.
        confidences: how confident the runs are.
    """
    for stated, (questions, clues) in product(confidences, settings):
        random = np.random.default_rng((seed, questions, clues))
        apart = {"the primary metric": 0, f"any of {CLAIMED.others} other metrics": 0, "any metric, each on its own": 0}
        primary, others, alone = apart
        for _ in range(boards // BOARDS_TOGETHER):
            runs = [simulated_runs(random, RUNS, questions, clues, stated, together=RUNS) for _ in range(BOARDS_TOGETHER)]
            evidence = evidence_of(tuple(np.concatenate(part) for part in zip(*runs, strict=True)))
            tests = {metric: difference_tests(evidence, metric) for metric in FAMILY}
            for first in range(0, BOARDS_TOGETHER * RUNS, RUNS):
                board = slice(first, first + RUNS)
                p_values = {metric: of_all[board, board] for metric, of_all in tests.items()}
                different = {metric: pairs_that_differ(p_values[metric], CLAIMED.adjusted_for(metric)).any() for metric in FAMILY}
                apart[primary] += different.pop(CLAIMED.primary)
                apart[others] += any(different.values())
                apart[alone] += any(pairs_that_differ(of_board).any() for of_board in p_values.values())
        for by, count in apart.items():
            study = "(letters adjusted for pairs only)" if by == alone else "8 equal runs: two share no letter by a metric"
            setting = f"{by}, {questions} questions, {_clues(clues)}, {stated.name}"
            yield Measurement(study, setting, SIGNIFICANCE, count / boards, boards, "family of tests")


def best_runs(boards, seed, sizes=(30, 60, 200), keys=MEASURED_BY):
    """Measure how often all runs that are truly best are among those that may be best."""
    for (name, noise), questions in product(QUALITIES.items(), sizes):
        random = np.random.default_rng((seed, questions))
        best, covered = noise == noise.min(), dict.fromkeys(keys, 0)
        for _ in range(boards):
            confidence, correct = board(random, RUNS, questions, 3)
            evidence = evidence_of((_with_noise(random, confidence, noise[:, None, None]), correct, np.zeros_like(correct)))
            for key in keys:
                metric = CATALOGUE[key]
                cells = metric_cells(metric, evidence, True, RankedMetrics(metric, 0))
                covered[key] += all(cells[run].may_be_best for run in np.flatnonzero(best))
        for key, count in covered.items():
            yield Measurement(
                "all of the best runs may be best", f"{key}, {questions} questions, {name}", LEVEL, count / boards, boards
            )


def equality_within_a_margin(boards, seed, sizes=(20, 60, 200), clues=(1, 5), keys=EQUALITY_BY):
    """Measure how often two runs that differ by exactly the margin are called equal, and two equal ones different.

    Verdicts that are undefined claim neither.
    """
    first = np.arange(0, 2 * PAIRS_TOGETHER, 2)
    for stated, count in product(CONFIDENCES[:2], clues):

        def pairs(random, runs, questions, noise, stated=stated, count=count):
            confidence, correct, human = simulated_runs(random, runs, questions, count, stated, together=2)
            confidence[1::2] = _with_noise(random, confidence[1::2], noise)
            if noise:  # the worse run is also right less often
                correct[1::2] *= random.random(correct[1::2].shape) < 0.9
            return evidence_of((confidence, correct, human))

        many = pairs(np.random.default_rng((seed, 1)), 2, TRUTH // count, WORSE)
        margins = {key: abs(float(np.subtract(*many.values(CATALOGUE[key])))) for key in keys}
        for questions in sizes:
            random = np.random.default_rng((seed, questions, count))
            equal, different = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
            for _ in range(boards // PAIRS_TOGETHER):
                apart, alike = (pairs(random, 2 * PAIRS_TOGETHER, questions, noise) for noise in (WORSE, 0.0))
                for key in keys:
                    tests = equivalence_tests(apart, CATALOGUE[key], margins[key])
                    claimed = (tests.p_values < SIGNIFICANCE) & np.isfinite(tests.low)
                    equal[key] += int(claimed[first, first + 1].sum())
                    different[key] += int((difference_tests(alike, CATALOGUE[key])[first, first + 1] < SIGNIFICANCE).sum())
            for key in keys:
                setting = f"{key}, {questions} questions, {_clues(count)}, {stated.name}"
                for study, times in ((CALLED_EQUAL, equal[key]), (CALLED_DIFFERENT, different[key])):
                    yield Measurement(study, setting, SIGNIFICANCE, times / boards, boards, "test")
