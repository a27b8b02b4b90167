"""Reads the statistics that metrics need for a selection, as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

import numpy as np
import polars as pl

from data.store import Snapshot
from data.sufficient_statistics import BIN_COLUMNS, SIDES_RIGHT, Bins, Items, bin_sums
from queries.engine import distribution_statistics, stored_or_computed_rows
from queries.engine.distribution_columns import RunDistributions
from queries.engine.evidence import Evidence, Run
from queries.engine.question_difficulties import QuestionDifficulties, read_difficulties, selects_by_answers
from queries.engine.repeated_samples import Samples
from queries.engine.run_columns import Floats, SparseColumn, bin_columns
from queries.engine.runs_of_many_respondents import RespondentCells
from queries.engine.units import read_units
from queries.metrics import CATALOGUE, Conventions, Metric
from queries.metrics.kernels.item_totals import net_reward
from queries.metrics.metric import ATTEMPTED_ITEMS, NET_REWARD
from queries.selection import Selection, dataset_conventions

NET_SCORE = CATALOGUE["net_score"]
ALWAYS_READ = ("items", "confidence", "correct")  # the methods of intervals depend on them, whatever the metric


def gather(
    snapshot: Snapshot,
    selection: Selection,
    metrics: Sequence[Metric],
    responses: Mapping[str, stored_or_computed_rows.Responses] | None = None,
    distributions: Mapping[str, RunDistributions] | None = None,
) -> Evidence:
    """Read what the metrics need for a selection.

    The statistics of whole questions are stored. Statistics are computed from items instead if clues or responses are filtered,
    or if answers without a confidence count. Equal-mass bins and bins closed on the right need the items themselves.
    ``responses`` and ``distributions``, by run, are used instead of the stored ones; runs without an entry have no responses.
    """
    snapshot = snapshot.with_grading(selection.grading_in_force)
    selection = selection.replace(conventions=dataset_conventions(snapshot, selection))
    reads = {name for metric in metrics for name in metric.reads(selection.conventions)} | {*ALWAYS_READ}
    if selection.conventions.forecasts:
        reads.add(SIDES_RIGHT)
    with_clauses, parameters = stored_or_computed_rows.selection_clauses(selection)
    selected_questions = snapshot.frame(
        f"{with_clauses} select question_id, position, difficulty, difficulty_source from chosen_questions order by place",
        parameters,
    )
    runs = snapshot.frame(f"{with_clauses} select * from chosen_runs order by place", parameters)
    further = stored_or_computed_rows.has_other_states(runs, selection.items)
    by_mass = selection.conventions.mass_bins and any(metric.binned for metric in metrics)
    difficulties = read_difficulties(snapshot, selection, selected_questions) if "difficulty" in reads else None
    rebinned = selection.conventions.closed == "right" and bool(reads & {*BIN_COLUMNS})
    pairs = bool(by_mass or rebinned or NET_REWARD in reads or any(metric.pairs is not None for metric in metrics))
    whole = reads & {*distribution_statistics.COLUMNS}
    needed = reads - whole - {"difficulty", NET_REWARD, ATTEMPTED_ITEMS} - ({*BIN_COLUMNS} if rebinned else set())
    attempts = selection.items.attempts and (selection.filters_items or further)
    if selection.filters_items or further or responses is not None:
        rows = stored_or_computed_rows.computed_rows(snapshot, selection, runs, selected_questions, needed, pairs, responses)
    else:
        rows = stored_or_computed_rows.stored_rows(snapshot, selection.dataset, runs, selected_questions, needed, pairs)
    starts = np.flatnonzero(np.diff(rows.run, prepend=-1))
    names = runs["run"].to_list()
    sums, binned = columns_of_rows(rows, selection.conventions, reads, names, difficulties, rebinned, attempts)
    if whole:
        positions = selected_questions["position"].cast(pl.Int64).to_numpy()
        columns, of_bins = distribution_statistics.distribution_sums(
            snapshot, selection, names, positions, (rows.run, rows.places), whole, distributions or {}
        )
        sums, binned = sums | columns, binned | of_bins
    question_ids = selected_questions["question_id"].to_numpy()
    units = read_units(snapshot, selection, question_ids)
    clustered = None if units.are_questions else units

    def rows_of_samples(chosen: pl.Series, reads: set[str], pairs: bool) -> stored_or_computed_rows.StatisticRows:
        of_samples = stored_or_computed_rows.computed_rows(
            snapshot, selection, runs.filter(chosen), selected_questions, reads, pairs, responses, by_sample=True
        )
        return replace(of_samples, run=np.flatnonzero(chosen.to_numpy())[of_samples.run])

    by_sample = {name for metric in metrics if metric.by_sample for name in metric.reads(selection.conventions)}
    samples = None
    if by_sample and (runs["samples"] > 1).any():
        of_samples = rows_of_samples(runs["samples"] > 1, by_sample, False)
        width = len(selected_questions)
        cell = np.searchsorted(rows.run * width + rows.places, of_samples.run * width + of_samples.places)
        samples = Samples(cell, of_samples.sums)
    respondents = {}
    for index in np.flatnonzero((runs["respondents"] & (runs["samples"] > 1)).to_numpy()):
        of_people = rows_of_samples(pl.Series(np.arange(len(runs)) == index), needed, pairs)
        if len(of_people.places):
            columns, of_bins = columns_of_rows(
                of_people, selection.conventions, reads, names, difficulties, rebinned, selection.items.attempts
            )
            run = Run(*runs.select("run", "model", "elicitation").row(int(index)))
            cells = Evidence(
                runs=(run,),
                starts=np.zeros(1, np.int64),
                selected_questions=question_ids,
                places=of_people.places,
                sums=columns,
                binned=of_bins,
                item_arrays=of_people.pairs,
                conventions=selection.conventions,
                clustered=clustered,
            )
            respondents[run.run] = RespondentCells(cells, np.unique(of_people.sample, return_inverse=True)[1])
    return Evidence(
        runs=tuple(Run(*row) for row in runs[rows.run[starts]].select("run", "model", "elicitation").iter_rows()),
        starts=starts.astype(np.int64),
        selected_questions=question_ids,
        places=rows.places,
        sums=sums,
        binned=binned,
        item_arrays=rows.pairs,
        conventions=selection.conventions,
        clustered=clustered,
        samples=samples,
        respondents=respondents,
        selected_by_answers=selects_by_answers(snapshot, selection),
    )


def columns_of_rows(
    rows: stored_or_computed_rows.StatisticRows,
    conventions: Conventions,
    reads: Set[str],
    runs: Sequence[str],
    difficulties: QuestionDifficulties | None,
    rebinned: bool,
    attempts: bool = False,
) -> tuple[dict[str, Floats], dict[str, SparseColumn]]:
    """Return the statistics of rows, except those of whole distributions: plain ones, and those of bins, shape (rows, width).

    ``sums`` of the rows is extended in place. ``rebinned`` bins are computed from the items. With ``attempts``, items count as
    correct where they are no abstentions.
    """
    sums = rows.sums
    if NET_REWARD in reads:
        sums[NET_REWARD] = _net_rewards(rows, conventions)
    if ATTEMPTED_ITEMS in reads:
        sums[ATTEMPTED_ITEMS] = sums["correct" if attempts else "items"]
    if difficulties is not None:
        sums["difficulty"] = difficulties.of_rows(runs, rows.run, rows.places)
    bins = _right_closed(rows) if rebinned else rows.bins
    return sums, {} if bins is None else bin_columns(bins)


def _right_closed(rows: stored_or_computed_rows.StatisticRows) -> Bins:
    """Compute bins that are closed on the right from the items; the stored bins are closed on the left."""
    return bin_sums(_items(rows), "right")


def _net_rewards(rows: stored_or_computed_rows.StatisticRows, conventions: Conventions) -> Floats:
    items = _items(rows)
    return items.total(net_reward(*NET_SCORE.side(items.confidence, items.correct, conventions), conventions.t))


def _items(rows: stored_or_computed_rows.StatisticRows) -> Items:
    assert rows.pairs is not None
    return Items(*rows.pairs, np.append(0, np.cumsum(rows.sums["items"])).astype(np.int64))
