"""Metrics that compare confidence with people: whether their intervals hold, by simulation."""

import numpy as np

from clueline.queries.engine.bootstrap import LEVEL
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.metrics import CATALOGUE
from tests.helpers.simulated_evidence import evidence_of, simulated
from tests.helpers.simulation import Measurement

METRICS = [CATALOGUE[key] for key in ("human_tau", "human_area")]
TOGETHER = 100  # simulated runs at a time


def likeness_intervals(runs, seed, sizes=(8, 20, 60, 200)):
    """Measure how often intervals contain the true value, and how wide they are in the mean.

    Of eight questions, some have one clue, and fewer than two may have a correlation: then there is no interval.
    """
    many = evidence_of(simulated(8, 12_000, seed=(seed, 99)))
    truth = {metric.key: float(np.mean(many.values(metric))) for metric in METRICS}
    for questions in sizes:
        held, widths, intervals = (dict.fromkeys(truth, 0.0) for _ in range(3))
        for part in range(runs // TOGETHER):
            evidence = evidence_of(simulated(TOGETHER, questions, seed=(seed, questions, part)))
            for metric in METRICS:
                low, high, *_ = metric_intervals(evidence, metric)
                known = np.isfinite(low)
                assert (low < high)[known].all() and (questions < 20 or known.all())
                held[metric.key] += ((low <= truth[metric.key]) & (truth[metric.key] <= high)).sum()
                widths[metric.key] += (high - low)[known].sum()
                intervals[metric.key] += known.sum()
        for key, count in intervals.items():
            setting = f"{key}, {questions} questions (mean width {widths[key] / count:.3f})"
            yield Measurement("interval of likeness to people", setting, LEVEL, float(held[key] / count), int(count))
