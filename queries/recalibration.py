"""Recalibrated confidences: every metric before and after recalibration, and its effect on single items."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from data.store import Snapshot
from queries.engine.bootstrap import DIGITS, SEED
from queries.engine.common_questions import restrict
from queries.engine.evidence import Run
from queries.engine.gather_evidence import gather
from queries.engine.reliability_diagrams import DIAGRAM_METRICS, ReliabilityDiagram, reliability_diagrams
from queries.engine.run_columns import sample_numbers
from queries.engine.stored_or_computed_rows import Responses, selected_responses, selection_clauses
from queries.metrics import Metric
from queries.metrics.kernels.recalibration import METHODS, LogOddsMap, cross_fitted, fit
from queries.metrics.metric import Floats
from queries.selection import Selection, number, selection_keys

FOLDS = 5
HISTOGRAM = np.arange(-20, 21) / 20
MAX_ITEMS = 20  # listed of the items that lose most


class MetricChange(msgspec.Struct):
    """A metric before and after recalibration; None where ``missing`` says why."""

    before: float | None
    after: float | None
    missing: str | None


class RecalibratedItem(msgspec.Struct):
    """One item with its correctness, and its confidence before and after; all in [0, 1]."""

    question_id: str
    clue: int
    correct: float
    before: float
    after: float


class RecalibratedRun(msgspec.Struct):
    """One run.

    Attributes:
        missing: why it was not recalibrated; else None.
        metrics: before and after, by key.
        edges: of the bins of ``changes``, from -1 to 1.
        changes: number of items by abs(c' - y) - abs(c - y), where c' is the recalibrated confidence; below 0, an item gains.
        improved, worsened: number of items that gain, and that lose.
        well_calibrated: number of items whose confidence was within 0.1 of their correctness.
        sacrificed: number of these whose confidence no longer is.
        losers: the up to 20 items that lose most.
        after: the reliability diagram of the recalibrated confidences.
        slope, intercept: of the map of log-odds, fitted to all items. The temperature is 1 / slope. None for isotonic maps.
    """

    run: str
    model: str
    elicitation: str
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
    slope: float | None
    intercept: float | None


class Recalibration(msgspec.Struct):
    """Answer of ``/api/v1/recalibration``."""

    data_version: str
    selection: dict[str, list[str]]
    method: str
    folds: int
    runs: list[RecalibratedRun]


WELL_CALIBRATED = 0.1
ONLY_CONFIDENCE = "only the confidence is recalibrated, not the distribution over options"
TOO_FEW = "fitting and judging need at least two questions"
SAME = 1e-9  # a change below this is rounding


def recalibration(snapshot: Snapshot, selection: Selection, method: str, metrics: Sequence[Metric]) -> Recalibration:
    """Recalibrate every run of a selection on its own items, cross-fitted by question, and measure it again.

    Questions are put into five folds at random, the same for all runs. The confidences of a fold are recalibrated by a map that
    was fitted to the other four folds, so that no map is judged on items that it was fitted to.

    Args:
        snapshot: the store.
        selection: filters and conventions; maps are fitted to nothing else.
        method: temperature, platt or isotonic.
        metrics: to compute before and after.
    """
    assert method in METHODS
    counted, _ = restrict(snapshot, selection, by_default=True)
    before = gather(snapshot, counted, metrics)
    items = selected_items(snapshot, counted)
    fold = folds_of_questions(before.selected)[items["place"].to_numpy()]
    parts = items.with_columns(fold=fold).partition_by("run", as_dict=True)
    mapped = {run: _mapped(part, method) for (run,), part in parts.items()}
    recalibrated = {run: _responses(part) for run, part in mapped.items() if part is not None}
    values_before = {metric.key: before.values(metric) for metric in metrics}
    index_after, values_after, drawn = {}, {}, {}
    if recalibrated:
        after = gather(snapshot, counted, [*metrics, *DIAGRAM_METRICS], recalibrated)
        index_after = {run.run: index for index, run in enumerate(after.runs)}
        values_after = {metric.key: after.values(metric) for metric in metrics}
        drawn = {diagram.run: diagram for diagram in reliability_diagrams(after, band=None)}
    results = []
    for index, run in enumerate(before.runs):
        part, changes = mapped[run.run], {}
        for metric in metrics:
            was = values_before[metric.key][index]
            now = np.nan if part is None else values_after[metric.key][index_after[run.run]]
            changes[metric.key] = _change(metric, was, now, part is None)
        fitted = None if part is None else fit(method, part["confidence"].to_numpy(), part["correct"].to_numpy())
        results.append(_recalibrated(run, changes, part, drawn.get(run.run), fitted if isinstance(fitted, LogOddsMap) else None))
    return Recalibration(snapshot.version, selection_keys(selection), method, FOLDS, results)


def selected_items(snapshot: Snapshot, selection: Selection) -> pl.DataFrame:
    """Return run, question, clue, sample, confidence and correctness of each item of a selection.

    The column ``place`` is the place of the item's question in the selection, from 0.
    """
    with_clauses, parameters = selection_clauses(selection)
    return snapshot.frame(
        f"""{with_clauses}
        select p.run, p.question_id, p.clue, p.sample, p.confidence, p.correct, q.place
        from ({selected_responses(snapshot, selection, parameters)}) p join chosen_questions q using (question_id)
        order by p.run, q.place, p.sample, p.clue""",
        parameters,
    )


def folds_of_questions(questions: int) -> np.ndarray:
    """Return the fold of each question of a selection, from 0, drawn at random, shape (questions,).

    The sizes of two folds differ by at most one. The seed is fixed, so the same number of questions gives the same folds.
    """
    return np.random.default_rng((SEED, questions, FOLDS)).permutation(questions) % FOLDS


def _mapped(part: pl.DataFrame, method: str) -> pl.DataFrame | None:
    """Return the items of one run with their recalibrated confidence ``after``; None where they are all of one question."""
    fold = part["fold"].to_numpy()
    if len(np.unique(part["place"].to_numpy())) < 2:
        return None
    if len(np.unique(fold)) < 2:  # few questions, all in one fold by chance: each becomes a fold of its own
        fold = np.unique(part["place"].to_numpy(), return_inverse=True)[1]
    after = cross_fitted(method, part["confidence"].to_numpy(), part["correct"].to_numpy(), fold, int(fold.max()) + 1)
    return part.with_columns(after=pl.Series(after))


def _responses(part: pl.DataFrame) -> Responses:
    """Return the items of one run with the recalibrated confidence."""
    place = part["place"].cast(pl.Int64).to_numpy()
    sample = None if part["sample"].is_null().all() else sample_numbers(part["sample"])
    return Responses(place, part["clue"].to_numpy(), part["after"].to_numpy(), part["correct"].to_numpy(), sample)


def _change(metric: Metric, before: float, after: float, too_few: bool) -> MetricChange:
    if "whole distribution" in metric.needs and np.isfinite(before):
        return MetricChange(number(before), None, ONLY_CONFIDENCE)
    undefined = metric.undefined if not (np.isfinite(before) and np.isfinite(after)) else None
    return MetricChange(number(before), number(after), TOO_FEW if too_few else undefined)


def _recalibrated(
    run: Run,
    changes: dict[str, MetricChange],
    part: pl.DataFrame | None,
    after: ReliabilityDiagram | None,
    log_odds_map: LogOddsMap | None,
) -> RecalibratedRun:
    off_before, off_after = _off(part, "confidence"), _off(part, "after")
    moved = np.round(off_after - off_before, DIGITS)  # so that rounding errors move nothing into the bin below
    well = off_before <= WELL_CALIBRATED + SAME
    losers = np.argsort(-moved, kind="stable")[:MAX_ITEMS]
    return RecalibratedRun(
        run=run.run,
        model=run.model,
        elicitation=run.elicitation,
        missing=TOO_FEW if part is None else None,
        metrics=changes,
        edges=HISTOGRAM.tolist(),
        changes=np.histogram(np.clip(moved, -1, 1), HISTOGRAM)[0].tolist(),
        improved=int((moved < -SAME).sum()),
        worsened=int((moved > SAME).sum()),
        well_calibrated=int(well.sum()),
        sacrificed=int((well & (off_after > WELL_CALIBRATED + SAME)).sum()),
        losers=[] if part is None else [_item(part, int(row)) for row in losers if moved[row] > SAME],
        after=after,
        slope=None if log_odds_map is None else number(log_odds_map.slope),
        intercept=None if log_odds_map is None else number(log_odds_map.intercept),
    )


def _off(part: pl.DataFrame | None, column: str) -> Floats:
    """Return abs(c - y) of each item, shape (items,); without a part, shape (0,)."""
    return np.zeros(0) if part is None else (part[column] - part["correct"]).abs().to_numpy()


def _item(part: pl.DataFrame, row: int) -> RecalibratedItem:
    question_id, clue, correct, before, after = part.select("question_id", "clue", "correct", "confidence", "after").row(row)
    return RecalibratedItem(question_id, clue, correct, before, after)
