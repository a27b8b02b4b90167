"""Intervals of metrics, and tests of the differences between runs, from evidence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queries.engine import inference
from queries.engine.bootstrap import DIGITS, MAX_CLUSTERS, percentile_interval
from queries.engine.evidence import Evidence
from queries.engine.evidence_for_many_questions import RunEvidence, SummedRuns
from queries.metrics import CATALOGUE, Metric
from queries.metrics.metric import Floats


class Intervals(NamedTuple):
    """95 % intervals of a metric of each run.

    Attributes:
        low, high: both ends, shape (runs,), NaN for a run with fewer than two questions.
        replicates: number of bootstrap replicates in which the metric is defined, shape (runs,); 0 where the jackknife was used
            and for a run with fewer than two questions.
    """

    low: Floats
    high: Floats
    replicates: NDArray[np.int64]


def metric_intervals(evidence: RunEvidence, metric: Metric) -> Intervals:
    """Compute the 95 % interval of a metric of each run, by the method with the best coverage for this metric and sample size.

    The interval of a distance from calibration contains 0 unless a test shows otherwise. All other metrics use bootstrap
    percentiles or, for runs with fewer than 60 questions, the jackknife-t interval clipped to the metric's range. Runs with
    respondents use percentiles of the bootstrap of questions and respondents.

    Args:
        evidence: evidence gathered for the metric and the metric of ``Metric.interval_of``.
        metric: the metric.
    """
    source = CATALOGUE[metric.interval_of] if metric.interval_of else metric
    counts = evidence.questions_with(source)
    replicates = evidence.replicates(source)
    low, high, defined = percentile_interval(replicates)
    if source.distance:
        low, high = _of_distance(evidence, source, replicates)
    elif (counts < inference.SMALL_SAMPLE).any():
        few = (counts < inference.SMALL_SAMPLE) & np.array([run.run not in evidence.respondents for run in evidence.runs])
        ends = _jackknife_ends(evidence, source, few)
        low = np.where(few, np.maximum(ends[0], source.low), low).astype(np.float64)
        high = np.where(few, np.minimum(ends[1], source.high), high).astype(np.float64)
        defined = np.where(few, 0, defined)
    alone = counts < 2
    return Intervals(_rounded(low, alone), _rounded(high, alone), np.where(alone, 0, defined))


def _jackknife_ends(evidence: RunEvidence, metric: Metric, few: NDArray[np.bool_]) -> Floats:
    """Compute jackknife-t intervals of the runs with few questions, shape (2, runs); NaN for the others."""
    ends = np.full((2, len(few)), np.nan)
    if few.any():
        part = evidence.of_runs(few)
        ends[:, few] = inference.jackknife_t_interval(part.values(metric), part.pseudo_values(metric))
    return ends


def _rounded(ends: Floats, left_out: NDArray[np.bool_]) -> Floats:
    return np.where(left_out, np.nan, np.round(ends, DIGITS) + 0.0).astype(np.float64)  # no -0


def _of_distance(evidence: RunEvidence, metric: Metric, replicates: Floats) -> tuple[Floats, Floats]:
    assert metric.distance is not None
    residuals, items = evidence.residuals(metric)
    by_mass = metric.pairs is None and evidence.conventions.mass_bins
    step = 1.0 if by_mass or metric.recut else inference.step_length(evidence.selected, metric.distance)
    stepped = replicates if step == 1 else evidence.replicates(metric, step)
    p_calibrated = inference.calibration_test(residuals, items, metric.distance)
    return inference.distance_interval(evidence.values(metric), replicates, stepped, step, p_calibrated)


def difference_tests(evidence: RunEvidence, metric: Metric) -> Floats:
    """Compute two-sided, unadjusted p-values of the differences between all pairs of runs.

    Args:
        evidence: evidence of runs that answered the same questions, for example after ``Evidence.select_rows``.
        metric: the metric to compare.

    Returns:
        p-values in (0, 1], shape (runs, runs); NaN if a pair has fewer than two questions with the metric, on the diagonal, and
        everywhere if the questions were selected by whether runs answered them correctly.
    """
    if evidence.selected_by_answers:
        return np.full((len(evidence.runs), len(evidence.runs)), np.nan)
    values = evidence.values(metric)
    errors, counts = difference_errors(evidence, metric)
    p_values = inference.t_test(values[:, None] - values[None, :], errors, counts)
    np.fill_diagonal(p_values, np.nan)
    return p_values


def difference_errors(evidence: RunEvidence, metric: Metric) -> tuple[Floats, Floats]:
    """Compute standard errors of the differences between all pairs of runs.

    With more than ``MAX_CLUSTERS`` questions, the jackknife leaves out clusters of questions instead of single questions. The
    errors then differ by a few percent, which is within their own noise, and cost the same for any selection.

    Args:
        evidence: evidence of runs that answered the same questions.
        metric: the metric to compare.

    Returns:
        The errors and the number of questions of each pair, each of shape (runs, runs).
    """
    counts = evidence.questions_with(metric).astype(float)
    if isinstance(evidence, SummedRuns) or (evidence.is_function_of_totals(metric) and evidence.selected > MAX_CLUSTERS):
        errors, _ = inference.difference_errors(evidence.cluster_totals.pseudo_values(metric))
        return errors, np.minimum(counts[:, None], counts[None, :])
    if evidence.is_function_of_totals(metric) or evidence.selected < inference.SMALL_SAMPLE:
        return inference.difference_errors(evidence.pseudo_values(metric))
    return inference.replicated_errors(evidence.replicates(metric)), np.minimum(counts[:, None], counts[None, :])


def difference_interval(evidence: Evidence, metric: Metric, a: int, b: int) -> tuple[float, float, int]:
    """Compute the 95 % interval of the difference between two runs: the first run's value minus the second's.

    Args:
        evidence: evidence of runs that answered the same questions.
        metric: the metric to compare.
        a, b: indices of the runs.

    Returns:
        Lower end, upper end, and the number of bootstrap replicates behind them, 0 for the jackknife.
    """
    if evidence.questions_with(metric)[[a, b]].min() < inference.SMALL_SAMPLE:
        pseudo_values = evidence.pseudo_values(metric)[:, [a, b]]
        values = evidence.values(metric)
        low, high = inference.jackknife_t_interval(values[a] - values[b], pseudo_values[:, 0] - pseudo_values[:, 1])
        count = 0
    else:
        replicates = evidence.replicates(metric)
        (low,), (high,), (count,) = percentile_interval((replicates[:, a] - replicates[:, b])[:, None])
    return float(np.round(low, DIGITS) + 0.0), float(np.round(high, DIGITS) + 0.0), int(count)
