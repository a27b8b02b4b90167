"""The calibration error of runs as different projects compute it, and how much the ranking depends on the choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.intervals_and_difference_tests import difference_tests, metric_intervals
from clueline.queries.engine.ranked_metric_rows import ranks
from clueline.queries.engine.reference_forecasters import divide_references
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
    """One way to compute a calibration error, with the errors of runs and the bins, if any, of the chosen one.

    Attributes:
        first: the run with the smallest error; None if several have it, or none is ranked.
        p_value: of the difference, by this variant, between its first run and the one that most variants put first: two-sided,
            unadjusted. None where they are the same run, or have the metric on a single unit.
    """

    key: str
    name: str
    words: str
    source: str
    runs: list[RunError]
    bins: list[ErrorBin]
    first: str | None = None
    p_value: float | None = None


class WhichEce(Answer):
    """Answer of ``/api/v1/which-ece``; ``focus`` is the chosen run. ``agreement`` is Kendall's tau-b of rankings."""

    runs: list[RunName]
    items: int
    focus: str | None
    variants: list[ErrorVariant]
    agreement: list[RankCorrelation]


def which_ece(snapshot: Snapshot, selection: Selection, focus: str = "", intervals: bool = False) -> WhichEce:
    """Return every variant of the error of every run, whatever the binning, with the bins of the run ``focus`` or the first.

    ``common`` is 1 by default. Reference forecasters come last and have no rank. Raises ``BadRequest`` for an unknown run.
    """
    standard = selection.replace(conventions=replace(selection.conventions, binning="width10"))
    models, references = divide_references(snapshot, standard)
    counted = count_answers(snapshot, models, WHICH_METRICS)
    ranked = counted.evidence
    shown = [(ranked, index) for index in range(len(ranked.runs))]
    if references:
        beside = counted.on_runs(references).evidence
        shown += [(beside, index) for index in range(len(beside.runs))]
    runs = [RunName(*evidence.runs[index]) for evidence, index in shown]
    names = [run.run for run in runs]
    if focus and runs and focus not in names:
        raise BadRequest("unknown_value", f"There is no run {focus!r} in this selection.", "focus", names)
    chosen = names.index(focus) if focus and runs else 0
    values = {metric.key: ranked.values(metric) for metric in WHICH_METRICS} if len(ranked.runs) else {}
    return WhichEce(
        *head(snapshot, selection),
        runs=runs,
        items=len(_items(shown[chosen])[0]) if runs else 0,
        focus=names[chosen] if runs else None,
        variants=_variants(ranked, shown, chosen, intervals) if runs else [],
        agreement=rank_correlations(WHICH_METRICS, values) if values else [],
    )


ShownRun = tuple[Evidence, int]  # and its place among the runs of the evidence


def _items(run: ShownRun) -> tuple[np.ndarray, np.ndarray]:
    evidence, index = run
    return evidence.items_of(index)


def _variants(ranked: Evidence, shown: Sequence[ShownRun], chosen: int, intervals: bool) -> list[ErrorVariant]:
    """Return all variants. ``ranked`` are the runs that can be ranked, and ``chosen`` is the place of the one with bins."""
    variants = [_variant(ranked, shown, metric, chosen, intervals) for metric in WHICH_METRICS]
    firsts = Counter(variant.first for variant in variants if variant.first)
    if not firsts:
        return variants
    places = {run.run: place for place, run in enumerate(ranked.runs)}
    ((usual, _),) = firsts.most_common(1)
    for variant, metric in zip(variants, WHICH_METRICS, strict=True):
        if variant.first in (None, usual):
            continue
        check_time_limit()
        two = ranked.of_runs(np.isin(np.arange(len(places)), [places[usual], places[variant.first]]))
        if two.units_with(metric).min() > 1:
            variant.p_value = number(difference_tests(two, metric)[0, 1])
    return variants


def _variant(ranked: Evidence, shown: Sequence[ShownRun], metric: Metric, chosen: int, intervals: bool) -> ErrorVariant:
    check_time_limit()
    ends = {id(evidence): metric_intervals(evidence, metric) for evidence, _ in shown} if intervals else {}
    order = ranks(metric.loss(ranked.values(metric)))
    rows = []
    for evidence, index in shown:
        value = number(evidence.values(metric)[index])
        left_out = BINNINGS[metric.key].left_out(*evidence.items_of(index)) if metric.key in BINNINGS else 0
        interval = ends.get(id(evidence)) if value is not None else None
        rank = number(order[index]) if evidence is ranked else None
        missing = metric.undefined if value is None else None
        row = RunError(evidence.runs[index].run, value, rank, left_out, missing)
        if interval is not None:
            row.low, row.high = number(interval.low[index]), number(interval.high[index])
        rows.append(row)
    first = next((row.run for row in rows if row.rank == 1), None)
    return ErrorVariant(metric.key, metric.name, metric.words, metric.source, rows, _bins(shown[chosen], metric), first)


def _bins(run: ShownRun, metric: Metric) -> list[ErrorBin]:
    confidence, correct = _items(run)
    if metric.key == "corp_mcb":  # blocks of the isotonic fit
        blocks = corp_curve(*confidence_levels(confidence, correct))
        return [ErrorBin(low, high, items, stated, right, True) for low, high, right, items, stated in blocks]
    key = "ece_width10" if metric.key == "ece_debiased" else metric.key
    return [ErrorBin(*part) for part in BINNINGS[key].bins(confidence, correct)] if key in BINNINGS else []
