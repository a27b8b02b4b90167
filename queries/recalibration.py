"""Recalibrated confidences: every metric before and after recalibration, and its effect on single items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import polars as pl

from clueline.data.recalibration_maps import (
    FOLDS,
    METHODS,
    SURE,
    LogOddsMap,
    Map,
    cross_fitted,
    distribution_temperature,
    fit,
    folds_of_questions,
)
from clueline.data.store import Snapshot
from clueline.data.store.answer_states import among_states
from clueline.queries.engine.bootstrap import DIGITS
from clueline.queries.engine.counted import Counted, count_groups
from clueline.queries.engine.distribution_columns import RunDistributions, tempered_distributions
from clueline.queries.engine.distribution_statistics import selected_distributions
from clueline.queries.engine.gather import gather
from clueline.queries.engine.reliability_diagrams import DIAGRAM_METRICS, ReliabilityDiagram, reliability_diagrams
from clueline.queries.engine.rows import Responses
from clueline.queries.engine.run_columns import sample_numbers
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.selected_answers import chosen, selected_responses, selection_clauses
from clueline.queries.metrics import Metric
from clueline.queries.metrics.counted_answers import ORDERED
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.metrics.metric import Floats
from clueline.queries.selection import Answer, Selection, has_forecasts, head, number

HISTOGRAM = np.arange(-20, 21) / 20
MAX_ITEMS = 20  # listed of the items that lose most


class MetricChange(msgspec.Struct):
    """A metric before and after recalibration; None where ``missing`` says why.

    Attributes:
        within: of a metric for which only the order of confidences counts, its average over the folds before recalibration; None
            for others. ``after`` is such an average, too, because confidences that two maps gave cannot be ordered: a map
            that was fitted without an item says less where this item is right.
    """

    before: float | None
    after: float | None
    missing: str | None
    within: float | None = None


class RecalibratedItem(msgspec.Struct):
    """One item with its correctness, and its confidence before and after; all in [0, 1]."""

    question_id: str
    clue: int
    correct: float
    before: float
    after: float


class RecalibratedRun(RunName):
    """One run; ``missing`` says why it was not recalibrated. An item gains where its confidence comes closer to its correctness.

    Attributes:
        edges: of the bins of ``changes``, from -1 to 1.
        changes: number of items by abs(c' - y) - abs(c - y), where c' is the recalibrated confidence; below 0, an item gains.
        improved, worsened: number of items that gain, and that lose.
        well_calibrated: number of items whose confidence was within 0.1 of their correctness.
        sacrificed: number of these whose confidence no longer is.
        losers: the up to 20 items that lose most.
        fitted_to: what the map is fitted to: the stated confidence or, for the temperature of a run that gives them and takes its
            confidences from them, whole distributions.
        slope, intercept: of the map of log-odds or, for whole distributions, of logarithms of shares, fitted to all items. The
            temperature is 1 / slope. None for isotonic maps.
    """

    missing: str | None
    metrics: dict[str, MetricChange]
    edges: list[float]
    changes: list[int]
    improved: int
    worsened: int
    well_calibrated: int
    sacrificed: int
    losers: list[RecalibratedItem]
    after: ReliabilityDiagram | None
    fitted_to: Literal["confidence", "whole distribution"]
    slope: float | None
    intercept: float | None


class Recalibration(Answer):
    """Answer of ``/api/v1/recalibration``."""

    method: str
    folds: int
    runs: list[RecalibratedRun]


WELL_CALIBRATED = 0.1
ONLY_CONFIDENCE = "only the confidence is recalibrated, not the distribution over options"
NO_PART = "it takes no part by this metric: it answered too few of the same questions"
TOO_FEW = "fitting and judging need at least two questions"
ONE_CLUSTER = "fitting and judging need at least two clusters of questions"
SAME = 1e-9  # a change below this is rounding


def recalibration(snapshot: Snapshot, selection: Selection, method: str, metrics: Sequence[Metric]) -> Recalibration:
    """Recalibrate every run of a selection on its own items, cross-fitted by question, and measure it again.

    Questions, or clusters of questions, are put into five folds at random, the same for all runs. The confidences of a fold are
    recalibrated by a map that was fitted to the other four folds, so that no map is judged on items that it was fitted to.
    Maps are fitted to the stated confidence. The temperature of a run that gives whole distributions is fitted to these, by the
    logarithm of the share of the right class, and its confidences change with their shares.
    """
    assert method in METHODS
    first, *others = count_groups(snapshot, selection, metrics)
    results = _recalibrated_group(first, method)
    for counted in others:
        if counted.selection.counted.need_confidence or has_forecasts(snapshot, selection.dataset):
            further = {run.run: run.metrics for run in _recalibrated_group(counted, method)}
        else:
            further = _unchanged(counted)
        for row in results:
            changes = further.get(row.run, {metric.key: MetricChange(None, None, NO_PART) for metric in counted.metrics})
            too_few = {"after": None, "missing": row.missing} if row.missing else {}
            row.metrics |= {key: msgspec.structs.replace(change, **too_few) for key, change in changes.items()}
    for row in results:
        row.metrics = {metric.key: row.metrics[metric.key] for metric in metrics}
    return Recalibration(*head(snapshot, selection), method, FOLDS, results)


def _unchanged(counted: Counted) -> dict[str, dict[str, MetricChange]]:
    """Return the changes of metrics that do not depend on confidence, by run and key."""
    evidence = counted.evidence
    changes: dict[str, dict[str, MetricChange]] = {run.run: {} for run in evidence.runs}
    for metric in counted.metrics:
        for run, value in zip(evidence.runs, evidence.values(metric), strict=True):
            changes[run.run][metric.key] = _change(metric, value, value, None, whole=False)
    return changes


def _recalibrated_group(answers: Counted, method: str) -> list[RecalibratedRun]:
    """Recalibrate every run, and measure it by metrics that count the same answers."""
    snapshot, counted, metrics, before = answers.snapshot, answers.selection, answers.metrics, answers.evidence
    items = selected_items(snapshot, counted)
    unit = before.units.of_questions[items["place"].to_numpy()]
    folded = items.with_columns(unit=unit, fold=folds_of_questions(before.units.count)[unit])
    others = {run: part for (run,), part in folded.filter(~pl.col("answered")).partition_by("run", as_dict=True).items()}
    parts = {run: part for (run,), part in folded.filter("answered").partition_by("run", as_dict=True).items()}
    too_few = TOO_FEW if before.units.are_questions else ONE_CLUSTER
    stated = _whole_distributions(snapshot, counted, parts) if method == "temperature" else {}
    tempered: dict[str, RunDistributions] = {}
    mapped: dict[str, pl.DataFrame] = {}
    for run, part in parts.items():
        folds = _folds(part)
        if folds is None:
            continue
        if run in stated:
            inverse = stated[run].cross_fitted(folds)
            tempered[run] = tempered_distributions(snapshot, counted.dataset, run, stated[run].distributions, inverse)
            after_map = tempered[run].shares[stated[run].chosen]
        else:
            confidence, correct = part["confidence"].to_numpy(), part["correct"].to_numpy()
            after_map = cross_fitted(method, confidence, correct, folds, int(folds.max()) + 1)
        mapped[run] = part.with_columns(after=pl.Series(after_map), fold=pl.Series(folds))
    recalibrated = {run: _responses(part, others.get(run)) for run, part in mapped.items()}
    values_before = {metric.key: before.values(metric) for metric in metrics}
    ordered = [metric for metric in metrics if metric.counted == ORDERED]
    index_after, values_after, drawn = {}, {}, {}
    if recalibrated:
        after = gather(snapshot, counted, [*metrics, *DIAGRAM_METRICS], recalibrated, tempered)
        index_after = {run.run: index for index, run in enumerate(after.runs)}
        values_after = {metric.key: after.values(metric) for metric in metrics if metric not in ordered}
        drawn = {diagram.run: diagram for diagram in reliability_diagrams(after, band=None)}
    within, moved = (_within_folds(answers, ordered, mapped, column) for column in ("confidence", "after"))
    results = []
    for index, run in enumerate(before.runs):
        missing = None if run.run in mapped else too_few
        items_of_run = mapped.get(run.run, items[:0].with_columns(after="confidence"))
        changes = {}
        for metric in metrics:
            was = values_before[metric.key][index]
            now, in_folds = np.nan, None
            if missing is None and metric in ordered:
                in_folds, now = (values[run.run][metric.key] for values in (within, moved))
            elif missing is None:
                now = values_after[metric.key][index_after[run.run]]
            changes[metric.key] = _change(metric, was, now, missing, run.run in stated, in_folds)
        fitted: Map | None = None
        if missing is None and run.run in stated:
            fitted = LogOddsMap(stated[run.run].fit(), 0.0)
        elif missing is None:
            fitted = fit(method, items_of_run["confidence"].to_numpy(), items_of_run["correct"].to_numpy())
        line = (number(fitted.slope), number(fitted.intercept)) if isinstance(fitted, LogOddsMap) else (None, None)
        results.append(
            RecalibratedRun(
                *run,
                missing=missing,
                metrics=changes,
                **_effects(items_of_run),
                after=drawn.get(run.run),
                fitted_to="whole distribution" if run.run in stated else "confidence",
                slope=line[0],
                intercept=line[1],
            )
        )
    return results


def _within_folds(
    answers: Counted, metrics: Sequence[Metric], parts: dict[str, pl.DataFrame], column: str
) -> dict[str, dict[str, float]]:
    """Return the average of each metric over the folds, weighted by their items, by run and key; nan if no fold has it.

    ``column`` of the items of a run, ``parts``, is the confidence. A fold in which the metric is undefined does not count.
    """
    if not metrics or not parts:
        return {}
    sums = {run: {metric.key: np.zeros(2) for metric in metrics} for run in parts}
    for fold in pl.concat([part["fold"] for part in parts.values()]).unique().sort():
        of_fold = {run: part.filter(pl.col("fold") == fold).with_columns(after=pl.col(column)) for run, part in parts.items()}
        responses = {run: _responses(part, None) for run, part in of_fold.items() if len(part)}
        evidence = gather(answers.snapshot, answers.selection, metrics, responses)
        for metric in metrics:
            for run, value in zip(evidence.runs, evidence.values(metric), strict=True):
                if np.isfinite(value):
                    items = len(of_fold[run.run])
                    sums[run.run][metric.key] += (items * value, items)
    return {
        run: {key: total / items if items else np.nan for key, (total, items) in of_run.items()} for run, of_run in sums.items()
    }


def selected_items(snapshot: Snapshot, selection: Selection) -> pl.DataFrame:
    """Return run, question and its ``place``, clue, sample, confidence and correctness of each item of a selection.

    Items without a confidence have confidence 0, and are not ``answered``; see ``run_columns.run_items``.
    """
    correct = f"(not {among_states(('abstained', 'failed'), 'p')})::double" if selection.items.attempts else "p.correct"
    with_clauses, parameters = selection_clauses(selection)
    return snapshot.frame(
        f"""{with_clauses}
        select p.run, p.question_id, p.clue, p.sample, coalesce(p.confidence, 0) as confidence, {correct} as correct, q.place,
            {among_states(("answered",), "p")} as answered
        from ({selected_responses(snapshot, selection, parameters)}) p join chosen_questions q using (question_id)
        order by p.run, q.place, p.sample, p.clue""",
        parameters,
    )


def _folds(part: pl.DataFrame) -> Ints | None:
    """Return the fold of each item of one run; None where they are all of one unit."""
    fold = part["fold"].to_numpy()
    unit = np.unique(part["unit"].to_numpy(), return_inverse=True)[1]
    if unit.max(initial=0) < 1:
        return None
    # Few units can all be in one fold by chance: each becomes a fold of its own.
    return unit if len(np.unique(fold)) < 2 else fold


class _Whole(NamedTuple):
    """The distributions of all items of a run, and the entry of each item whose share is its confidence, shape (items,)."""

    distributions: RunDistributions
    chosen: Ints

    def fit(self) -> float:
        """Return 1 / T, fitted to the items whose right class is known."""
        part = self.distributions.take(np.flatnonzero(self.distributions.gold >= 0))
        return distribution_temperature(part.shares, part.first[:-1], part.first[:-1] + part.gold)

    def cross_fitted(self, fold: Ints) -> Floats:
        """Return 1 / T of each item, fitted to the items of the other folds, shape (items,)."""
        inverse = np.empty(len(fold))
        for held_out in np.unique(fold):
            others = _Whole(self.distributions.take(np.flatnonzero(fold != held_out)), self.chosen)
            inverse[fold == held_out] = others.fit()
        return inverse


def _whole_distributions(snapshot: Snapshot, selection: Selection, parts: dict[str, pl.DataFrame]) -> dict[str, _Whole]:
    """Return the distributions of the runs that give one with each item, if the right class of any is known.

    Runs whose confidence is not the share of a class are left out, since it would not change with the distribution.
    """
    _, positions = chosen(snapshot, selection)
    results = {}
    for run, whole in zip(parts, selected_distributions(snapshot, selection, [*parts], positions), strict=True):
        place, clue, confidence = (parts[run][name].to_numpy() for name in ("place", "clue", "confidence"))
        if not len(whole) or len(whole) != len(place) or (whole.gold < 0).all():
            continue
        near = np.abs(whole.shares - np.repeat(confidence, whole.class_counts)) <= SURE
        entry = np.minimum.reduceat(np.where(near, np.arange(len(near)), len(near)), whole.first[:-1])
        if (whole.positions == positions[place]).all() and (whole.clues == clue).all() and (entry < len(near)).all():
            results[run] = _Whole(whole, entry)
    return results


def _responses(part: pl.DataFrame, others: pl.DataFrame | None) -> Responses:
    """Return the items of one run with the recalibrated confidence, and the others without one as they are."""
    if others is not None:
        part = pl.concat([part, others.with_columns(after="confidence")]).sort("place", "sample", "clue", nulls_last=True)
    place = part["place"].cast(pl.Int64).to_numpy()
    sample = None if part["sample"].is_null().all() else sample_numbers(part["sample"])
    return Responses(place, part["clue"].to_numpy(), part["after"].to_numpy(), part["correct"].to_numpy(), sample)


def _change(
    metric: Metric, before: float, after: float, too_few: str | None, whole: bool, within: float | None = None
) -> MetricChange:
    if "whole distribution" in metric.needs and np.isfinite(before) and not whole:
        return MetricChange(number(before), None, ONLY_CONFIDENCE)
    undefined = metric.undefined if not (np.isfinite(before) and np.isfinite(after)) else None
    return MetricChange(number(before), number(after), too_few or undefined, None if within is None else number(within))


def _effects(part: pl.DataFrame) -> dict[str, Any]:
    """Return the fields of ``RecalibratedRun`` on single items."""
    off_before, off_after = ((part[column] - part["correct"]).abs().to_numpy() for column in ("confidence", "after"))
    moved = np.round(off_after - off_before, DIGITS)  # so that rounding errors move nothing into the bin below
    well = off_before <= WELL_CALIBRATED + SAME
    listed = part.select("question_id", "clue", "correct", "confidence", "after")
    losers = np.argsort(-moved, kind="stable")[:MAX_ITEMS]
    return {
        "edges": HISTOGRAM.tolist(),
        "changes": np.histogram(np.clip(moved, -1, 1), HISTOGRAM)[0].tolist(),
        "improved": int((moved < -SAME).sum()),
        "worsened": int((moved > SAME).sum()),
        "well_calibrated": int(well.sum()),
        "sacrificed": int((well & (off_after > WELL_CALIBRATED + SAME)).sum()),
        "losers": [RecalibratedItem(*listed.row(row)) for row in losers.tolist() if moved[row] > SAME],
    }
