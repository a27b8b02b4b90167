"""Reads the statistics that metrics need for a selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from data.statistics import BIN_COLUMNS, Bins, Items, bin_sums
from data.store import Snapshot
from queries.engine import distributions, select
from queries.engine.evidence import Evidence, Run
from queries.engine.run_columns import Floats, bin_columns, float_array
from queries.metrics import Metric
from queries.metrics.kernels.items import net_reward
from queries.metrics.metric import NET_REWARD
from queries.selection import Selection, dataset_conventions


def gather(
    snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric], responses: Mapping[str, select.Responses] | None = None
) -> Evidence:
    """Read what the metrics need for a selection.

    The statistics of whole questions are stored. They are computed from items where clues are filtered, or failed calls count. An
    equal-mass binning, and bins that are closed on the right, need the items themselves.

    Args:
        snapshot: the store.
        selection: filters and conventions.
        metrics: what will be asked of the evidence.
        responses: by run, what to use in place of the stored responses; a run that is not there has none.
    """
    selection = selection.replace(conventions=dataset_conventions(snapshot, selection))
    reads = {name for metric in metrics for name in metric.reads(selection.conventions)} | {"items"}
    with_clauses, parameters = select.selection_clauses(selection)
    selected_questions = snapshot.frame(
        f"{with_clauses} select question_id, position, difficulty from chosen_questions order by place", parameters
    )
    runs = snapshot.frame(f"{with_clauses} select run, model, elicitation, failed from chosen_runs order by place", parameters)
    failed = selection.failed and bool((runs["failed"] > 0).any())
    by_mass = selection.conventions.mass_bins and any(metric.binned for metric in metrics)
    rebinned = selection.conventions.closed == "right" and bool(reads & {*BIN_COLUMNS})
    pairs = bool(by_mass or rebinned or NET_REWARD in reads or any(metric.pairs is not None for metric in metrics))
    whole = reads & {*distributions.COLUMNS}
    needed = reads - whole - {"difficulty", NET_REWARD} - ({*BIN_COLUMNS} if rebinned else set())
    if selection.filters_clues or failed or responses is not None:
        rows = select.computed_rows(snapshot, selection, runs, selected_questions, needed, pairs, responses)
    else:
        rows = select.stored_rows(snapshot, selection.dataset, runs, selected_questions, needed, pairs)
    sums, starts = rows.sums, np.flatnonzero(np.diff(rows.run, prepend=-1))
    if NET_REWARD in reads:
        sums[NET_REWARD] = _net_rewards(rows, selection.conventions.t)
    if "difficulty" in reads:
        sums["difficulty"] = float_array(selected_questions["difficulty"])[rows.places]
    bins = _right_closed(rows) if rebinned else rows.bins
    binned = {} if bins is None else bin_columns(bins)
    if whole:
        names, positions = runs["run"].to_list(), selected_questions["position"].cast(pl.Int64).to_numpy()
        columns, of_bins = distributions.distribution_sums(snapshot, selection, names, positions, (rows.run, rows.places), whole)
        sums, binned = sums | columns, binned | of_bins
    return Evidence(
        runs=tuple(Run(*row) for row in runs[rows.run[starts]].select("run", "model", "elicitation").iter_rows()),
        starts=starts.astype(np.int64),
        selected_questions=selected_questions["question_id"].to_numpy(),
        places=rows.places,
        sums=sums,
        binned=binned,
        item_arrays=rows.pairs,
        conventions=selection.conventions,
    )


def _right_closed(rows: select.StatisticRows) -> Bins:
    """Bins that are closed on the right, from the items: the store has those that are closed on the left."""
    return bin_sums(_items(rows), "right")


def _net_rewards(rows: select.StatisticRows, threshold: float) -> Floats:
    """Sum of the net rewards of the items of each row, shape (rows,)."""
    items = _items(rows)
    return items.total(net_reward(items.confidence, items.correct, threshold))


def _items(rows: select.StatisticRows) -> Items:
    assert rows.pairs is not None
    return Items(*rows.pairs, np.append(0, np.cumsum(rows.sums["items"])).astype(np.int64))
