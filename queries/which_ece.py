"""The calibration error of runs as different projects compute it, and how much the ranking depends on the choice."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.engine.ranked_metric_rows import ranks
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.metrics import CATALOGUE, VARIANTS, Metric
from clueline.queries.metrics.kernels.ece_variants import BINNINGS
from clueline.queries.metrics.kernels.isotonic_regression import confidence_levels, corp_curve
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.rankings import RankCorrelation, rank_correlations
from clueline.queries.selection import Answer, Selection, head, number
from clueline.queries.selection.parameter_kinds import BadRequest

# Every calibration error of the page; those from other families of the catalogue come last.
WHICH_METRICS: tuple[Metric, ...] = (*VARIANTS, *(CATALOGUE[key] for key in ("ece_debiased", "corp_mcb", "ks")))


class RunError(msgspec.Struct):
    """A run's calibration error by one variant; the smallest has rank 1. ``left_out`` items are in no bin that counts."""

    run: str
    value: float | None
    rank: float | None
    left_out: int
    missing: str | None
    low: float | None = None
    high: float | None = None


class ErrorBin(msgspec.Struct):
    """A bin of the chosen run; ``counted`` says whether it is part of the error. Confidences and accuracy are in [0, 1]."""

    lower: float
    upper: float
    items: int
    mean_confidence: float
    accuracy: float
    counted: bool


class ErrorVariant(msgspec.Struct):
    """One way to compute a calibration error, with the errors of runs and the bins, if any, of the chosen one."""

    key: str
    name: str
    words: str
    source: str
    runs: list[RunError]
    bins: list[ErrorBin]


class WhichEce(Answer):
    """Answer of ``/api/v1/which-ece``; ``focus`` is the chosen run. ``agreement`` is Kendall's tau-b of rankings."""

    runs: list[RunName]
    items: int
    focus: str | None
    variants: list[ErrorVariant]
    agreement: list[RankCorrelation]


def which_ece(snapshot: Snapshot, selection: Selection, focus: str = "", intervals: bool = False) -> WhichEce:
    """Return every variant of the error of every run, whatever the binning, with the bins of the run ``focus`` or the first.

    ``common`` is 1 by default. Raises ``BadRequest`` for an unknown run.
    """
    standard = selection.replace(conventions=replace(selection.conventions, binning="width10"))
    evidence = count_answers(snapshot, standard, WHICH_METRICS).evidence
    runs = [RunName(*run) for run in evidence.runs]
    names = [run.run for run in runs]
    if focus and runs and focus not in names:
        raise BadRequest("unknown_value", f"There is no run {focus!r} in this selection.", "focus", names)
    chosen = names.index(focus) if focus and runs else 0
    values = {metric.key: evidence.values(metric) for metric in WHICH_METRICS} if runs else {}
    return WhichEce(
        *head(snapshot, selection),
        runs=runs,
        items=len(evidence.items_of(chosen)[0]) if runs else 0,
        focus=names[chosen] if runs else None,
        variants=[_variant(evidence, metric, values[metric.key], chosen, intervals) for metric in WHICH_METRICS] if runs else [],
        agreement=rank_correlations(WHICH_METRICS, values) if runs else [],
    )


def _variant(evidence: Evidence, metric: Metric, values: np.ndarray, chosen: int, intervals: bool) -> ErrorVariant:
    check_time_limit()
    ends = metric_intervals(evidence, metric) if intervals else None
    order = ranks(metric.loss(values))
    rows = []
    for index, run in enumerate(evidence.runs):
        value = number(values[index])
        left_out = BINNINGS[metric.key].left_out(*evidence.items_of(index)) if metric.key in BINNINGS else 0
        interval = (number(ends.low[index]), number(ends.high[index])) if ends and value is not None else (None, None)
        missing = metric.undefined if value is None else None
        rows.append(RunError(run.run, value, number(order[index]), left_out, missing, *interval))
    return ErrorVariant(metric.key, metric.name, metric.words, metric.source, rows, _bins(evidence, metric, chosen))


def _bins(evidence: Evidence, metric: Metric, run: int) -> list[ErrorBin]:
    confidence, correct = evidence.items_of(run)
    if metric.key == "corp_mcb":  # blocks of the isotonic fit
        blocks = corp_curve(*confidence_levels(confidence, correct))
        return [ErrorBin(low, high, items, stated, right, True) for low, high, right, items, stated in blocks]
    key = "ece_width10" if metric.key == "ece_debiased" else metric.key
    return [ErrorBin(*part) for part in BINNINGS[key].bins(confidence, correct)] if key in BINNINGS else []
