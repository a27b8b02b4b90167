"""Bounds of the metrics of runs some of whose answers lack a confidence."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from data.store import Snapshot
from data.store.answer_states import NO_CONFIDENCE, among_states
from queries.engine.ranked_metric_rows import RunRow
from queries.engine.stored_or_computed_rows import selected_responses, selection_clauses
from queries.metrics import Metric
from queries.metrics.kernels.bounds import mean_bounds
from queries.selection import Selection, dataset_conventions, number

NO_BOUNDS = "no bounds"


def set_bounds(snapshot: Snapshot, selection: Selection, rows: Sequence[RunRow], metrics: Sequence[Metric]) -> None:
    """Set the least and the greatest value that any confidences of answers without one, at the selected clues, could give."""
    runs = [row.run for row in rows if row.no_confidence or row.unparsed]
    if not runs or not metrics:
        return
    selection = selection.on_runs(runs)
    clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters, ("answered", *NO_CONFIDENCE))
    answers = snapshot.frame(
        f"{clauses} select run, {among_states(('answered',))} as stated, confidence, correct from ({responses})", parameters
    )
    conventions = dataset_conventions(snapshot, selection)
    for row in rows:
        of_run = answers.filter(pl.col("run") == row.run)
        stated, lacking = of_run.filter("stated"), of_run.filter(~pl.col("stated"))["correct"].to_numpy()
        for metric in metrics if len(lacking) else ():
            cell = row.metrics[metric.key]
            if metric.extremes is not None:
                items = row.items if cell.value is not None else 0
                bounds = mean_bounds(cell.value or 0.0, items, *metric.extremes(lacking, conventions))
            elif metric.bounds is not None:
                bounds = metric.bounds(stated["confidence"].to_numpy(), stated["correct"].to_numpy(), lacking)
            else:
                cell.no_bounds = NO_BOUNDS
                continue
            cell.bound_low, cell.bound_high = map(number, bounds)
