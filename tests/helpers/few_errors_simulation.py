"""Runs with few questions, few errors or few right answers: whether intervals and tests by the engine hold, by simulation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from clueline.queries.engine.bootstrap import LEVEL, SIGNIFICANCE
from clueline.queries.engine.intervals_and_difference_tests import difference_tests, metric_intervals
from clueline.queries.metrics import CATALOGUE, Metric
from tests.helpers.simulated_evidence import evidence_of
from tests.helpers.simulation import Measurement

TRUTH = 150_000  # items from which a run's true values are computed
TOGETHER = 50  # simulated runs at a time
PAIRS_TOGETHER = 10  # the engine compares all runs with each other
KEYS = (
    "accuracy", "brier", "overconfidence", "net_score", "hmr", "macro_ce", "auroc", "log_score", "aurc", "correlation",
    "calscore", "uncertainty", "resolution", "ece",
    "prr", "corp_dsc", "ks",  # take as much time as all others together
)  # fmt: skip
PAIRED = ("accuracy", "brier", "overconfidence", "hmr", "auroc", "ece", "reliability", "ks", "corp_mcb")


@dataclass(frozen=True)
class Confidences:
    """How confident simulated runs are, and how much more than they are right.

    Attributes:
        key: for the names of studies.
        name: for tables.
        low, high: confidences are uniform between these; None for runs of all confidences.
        excess: overconfidence; on the log-odds scale for runs of all confidences.
    """

    key: str
    name: str
    low: float | None
    high: float | None
    excess: float

    @property
    def calibrated(self) -> bool:
        return not self.excess


CONFIDENCES = (
    Confidences("all", "confidences of all sizes", None, None, 0.0),
    Confidences("80_to_99", "confidences .8 to .99", 0.8, 0.99, 0.0),
    Confidences("95_to_99", "confidences .95 to .99", 0.95, 0.99, 0.0),
    Confidences("accuracy_93", "confidences .95 to .99, accuracy .93", 0.95, 0.99, 0.04),
)
DEPENDENCE = {False: "", True: " that depend on each other"}


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of one metric contain its true value.

    Attributes:
        key: the metric.
        covered: share of the runs with an interval whose interval contains the true value.
        width: mean width of the intervals.
        without: share of the runs without an interval, because the metric is undefined or the questions do not show how much it
            varies.
        runs: number of runs with an interval.
    """

    key: str
    covered: float
    width: float
    without: float
    runs: int

    @property
    def noise(self) -> float:
        """Two standard errors of a share that is 2 points below nominal."""
        return float(2 * np.sqrt((LEVEL - 0.02) * (1.02 - LEVEL) / max(self.runs, 1)))


def simulated_runs(random, runs, questions, clues, stated, dependent=True, together=1):
    """Return confidence, correctness and human curve of independent runs, each of shape (runs, questions, clues).

    Each ``together`` neighbours answer the same questions, and are right together more often than not.
    """

    def shared(draw):
        return np.repeat(draw(runs // together), together, axis=0)

    shape = (runs, questions, clues)
    if stated.low is None:
        ease = shared(lambda count: 1.2 * random.normal(size=(count, questions, 1)))
        ease = ease + 0.6 * random.normal(size=(runs, questions, 1))
        revealed = np.linspace(-1, 1, clues) if clues > 1 else np.zeros(1)
        logit = ease + revealed + 0.4 * random.normal(size=shape)
        confidence, right = 1 / (1 + np.exp(-logit - stated.excess)), 1 / (1 + np.exp(-logit))
    else:
        own = shared(lambda count: random.random((count, questions, 1)))
        mixed = np.where(random.random(shape) < 0.5, own, random.random(shape)) if clues > 1 or together > 1 else own
        confidence = np.round(stated.low + (stated.high - stated.low) * mixed, 2)
        right = np.clip(confidence - stated.excess, 0, 1)
    common = shared(lambda count: random.random((count, questions, 1)))
    threshold = np.where(random.random(shape) < (0.6 if dependent else 0.0), common, random.random(shape))
    human = shared(lambda count: np.sort(random.random((count, questions, clues)), axis=-1)) * 0.7
    return confidence, (threshold < right).astype(float), human


def coverage(
    runs: int, seed: int, questions: int, clues: int, stated: Confidences, dependent: bool = True, keys: Sequence[str] = KEYS
) -> list[Coverage]:
    """Measure how often the intervals of metrics contain the true values, by ``metric_intervals``."""
    random = np.random.default_rng((seed, questions, clues, CONFIDENCES.index(stated)))
    metrics = [CATALOGUE[key] for key in keys]
    true = _true_values(seed, clues, stated, dependent, metrics)
    held, widths, intervals = (dict.fromkeys(keys, 0.0) for _ in range(3))
    for _ in range(runs // TOGETHER):
        evidence = evidence_of(simulated_runs(random, TOGETHER, questions, clues, stated, dependent))
        for metric in metrics:
            ends = metric_intervals(evidence, metric)
            known = np.isfinite(evidence.values(metric)) & np.isfinite(ends.low)
            low, high = ends.low[known], ends.high[known]
            held[metric.key] += ((low - 1e-9 <= true[metric.key]) & (true[metric.key] <= high + 1e-9)).sum()
            widths[metric.key] += (high - low).sum()
            intervals[metric.key] += known.sum()
    total = runs // TOGETHER * TOGETHER
    return [
        Coverage(key, held[key] / count, widths[key] / count, 1 - intervals[key] / total, int(count))
        for key in keys
        for count in [max(intervals[key], 1)]
    ]


def _true_values(seed: int, clues: int, stated: Confidences, dependent: bool, metrics: Sequence[Metric]) -> dict[str, float]:
    arrays = simulated_runs(np.random.default_rng((seed, 1)), 1, TRUTH // clues, clues, stated, dependent)
    evidence = evidence_of(arrays)
    return {metric.key: 0.0 if metric.distance and stated.calibrated else float(evidence.values(metric)[0]) for metric in metrics}


def settings(
    sizes: Sequence[int] = (20, 30, 60, 200), confidences: Sequence[Confidences] = CONFIDENCES
) -> Iterator[tuple[Confidences, int, int, bool, str]]:
    """Yield confidences, number of questions and of clues, whether clues depend on each other, and the setting in words."""
    for stated, questions, (clues, dependent) in product(confidences, sizes, ((1, False), (5, False), (5, True))):
        words = f"{questions} questions, {clues} clue{'s' * (clues > 1)}{DEPENDENCE[dependent]}, {stated.name}"
        yield stated, questions, clues, dependent, words


def equal_pairs(
    boards: int,
    seed: int,
    sizes: Sequence[int] = (20, 60, 200),
    clues: Sequence[int] = (1, 5),
    keys: Sequence[str] = PAIRED,
    confidences: Sequence[Confidences] = CONFIDENCES,
) -> Iterator[Measurement]:
    """Measure how often p < .05 for two equal runs, by ``difference_tests``; undefined p-values do not reject."""
    for stated, questions, count in product(confidences, sizes, clues):
        random = np.random.default_rng((seed, questions, count))
        rejected = dict.fromkeys(keys, 0)
        for _ in range(boards // PAIRS_TOGETHER):
            evidence = evidence_of(simulated_runs(random, 2 * PAIRS_TOGETHER, questions, count, stated, together=2))
            first = np.arange(0, 2 * PAIRS_TOGETHER, 2)
            for key in keys:
                rejected[key] += int((difference_tests(evidence, CATALOGUE[key])[first, first + 1] < SIGNIFICANCE).sum())
        for key, times in rejected.items():
            setting = f"{key}, {questions} questions, {count} clue{'s' * (count > 1)}, {stated.name}"
            yield Measurement("two equal runs by the engine: p < .05", setting, SIGNIFICANCE, times / boards, boards, "test")
