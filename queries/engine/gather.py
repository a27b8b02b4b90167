"""Gathers the evidence on a selection that metrics need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from clueline.data.store import Snapshot
from clueline.data.store.run_cache import kept_property
from clueline.data.sufficient_statistics import BIN_COLUMNS
from clueline.queries.engine import distribution_statistics
from clueline.queries.engine.bootstrap import MAX_CLUSTERS
from clueline.queries.engine.distribution_columns import RunDistributions
from clueline.queries.engine.evidence import OUTLINE, Evidence, Run, Sums, counts_of, outcomes_of, sums_of
from clueline.queries.engine.question_difficulties import selects_by_answers
from clueline.queries.engine.rows import Responses, RowReader
from clueline.queries.engine.run_columns import Arrays, Floats, batches_of_runs, float_array
from clueline.queries.engine.runs_of_many_respondents import RespondentCells
from clueline.queries.engine.selected_answers import (
    chosen,
    counting_what_there_is,
    runs_without_confidence,
    selection_clauses,
)
from clueline.queries.engine.units import read_units
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.selection import Selection, dataset_conventions

ROWS_AT_ONCE = 1_000_000  # rows of statistics that are read and summed together
# The methods of intervals depend on how rare errors are, and the lower end of the ECE on overconfidence.
ALWAYS_SUMMED = CATALOGUE["accuracy"], CATALOGUE["uncertainty"], CATALOGUE["overconfidence"]
BIN_NUMBERS = 12  # approximate number of values that the bins of a row take in memory


def gather(
    snapshot: Snapshot,
    selection: Selection,
    metrics: Sequence[Metric],
    responses: Mapping[str, Responses] | None = None,
    distributions: Mapping[str, RunDistributions] | None = None,
    *,
    by_clue: bool = False,
) -> Evidence:
    """Gather the evidence on a selection that the metrics need, with all of its runs that answered any of the questions.

    Over more than ``MAX_CLUSTERS`` questions, if stored statistics suffice, only totals are read, and rows when they are used.
    ``responses`` and ``distributions``, by run, are used instead of the stored ones; runs without an entry have no responses.
    ``by_clue`` gives each clue a row of its own, for metrics of items; units stay the questions, or clusters of these.
    """
    snapshot = snapshot.with_grading(selection.grading_in_force)
    selection = counting_what_there_is(snapshot, selection)
    selection = selection.replace(conventions=dataset_conventions(snapshot, selection))
    clauses, parameters = selection_clauses(selection)
    questions = snapshot.frame(
        f"{clauses} select question_id, position, difficulty, difficulty_source from chosen_questions order by place", parameters
    )
    runs = snapshot.frame(f"{clauses} select * from chosen_runs order by place", parameters)
    if silent := runs_without_confidence(snapshot, selection, runs):
        runs = runs.filter(~runs["run"].is_in(silent))
    reader = RowReader(snapshot, selection, metrics, questions, runs, responses, distributions, by_clue)
    question_ids = questions["question_id"].to_numpy()
    units = read_units(snapshot, selection, question_ids)
    if by_clue:
        question_ids, units = question_ids[reader.clue_questions], units.of_parts(reader.clue_questions)
    evidence = Evidence(
        runs=tuple(Run(*row) for row in runs.select("run", "model", "elicitation").iter_rows()),
        selected_questions=question_ids,
        conventions=selection.conventions,
        source=reader.read,
        clustered=None if units.are_questions else units,
        selected_by_answers=selects_by_answers(snapshot, selection),
    )
    if len(questions) > MAX_CLUSTERS and len(runs) and _totals_suffice(reader):
        totals = _StoredTotals(reader, evidence).read()
        evidence = replace(evidence, stored=lambda sums: _stacked(totals[sums]))
        return evidence.of_runs(evidence.total(OUTLINE)["questions"] > 0)
    rows = evidence.rows
    answered, run = np.unique(rows.run, return_inverse=True)
    evidence = replace(evidence, runs=tuple(evidence.runs[index] for index in answered), source=replace(rows, run=run))
    of_people = {*runs.filter(runs["respondents"] & (runs["samples"] > 1))["run"]}
    respondents = {run.run: _respondents(reader, evidence, run) for run in evidence.runs if run.run in of_people}
    return replace(evidence, respondents=respondents)


def gather_in_batches(snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric]) -> Iterator[Evidence]:
    """Gather as ``gather`` does, for some runs at a time, so that memory need not hold the items of all runs.

    For what does not depend on other runs. Which questions are selected may not depend on the runs either.
    """
    runs, _ = chosen(snapshot, selection)
    for batch in batches_of_runs(snapshot, selection.dataset, runs):
        yield gather(snapshot, selection.on_runs(runs[index] for index in batch), metrics)


def _respondents(reader: RowReader, evidence: Evidence, run: Run) -> RespondentCells:
    reads = reader.reads - {*distribution_statistics.COLUMNS}
    rows = reader.read_samples([run.run], reads, reader.with_items)
    cells = replace(evidence, runs=(run,), source=rows, selected_by_answers=False)
    return RespondentCells(cells, np.unique(rows.sample, return_inverse=True)[1])


def _totals_suffice(reader: RowReader) -> bool:
    """Check whether the metrics can be computed from totals of the stored statistics of whole questions."""
    whole = reader.reads & {*distribution_statistics.COLUMNS}
    return reader.stored and not reader.with_items and not whole and not (reader.runs["samples"] > 1).any()


@dataclass(frozen=True)
class RunTotals(Arrays):
    """Some totals of one run by cluster of questions, by name, each of shape (clusters, ...)."""

    columns: dict[str, Floats]


def _stacked(parts: Sequence[RunTotals]) -> dict[str, Floats]:
    return {name: np.stack([part.columns[name] for part in parts], axis=1) for name in parts[0].columns}


@dataclass(frozen=True)
class _StoredTotals:
    """Totals of runs by cluster of questions, of the same size for any number of questions, kept in the cache.

    Rows are read, summed and released. ``evidence`` has the runs and questions.
    """

    reader: RowReader
    evidence: Evidence

    def read(self) -> dict[Sums, list[RunTotals]]:
        """Return all totals that the metrics need, with one entry per run in the order of the runs."""
        snapshot, dataset = self.reader.snapshot, self.reader.selection.dataset
        runs, keys = [run.run for run in self.evidence.runs], {sums: self._key(sums) for sums in self._needed}
        missing = {sums: set(snapshot.not_cached(dataset, key, runs)) for sums, key in keys.items()}
        fresh: dict[str, dict[Sums, RunTotals]] = {}  # totals that were read along with others of the same run

        def read(sums: Sums, wanted: list[str]) -> dict[str, RunTotals]:
            unread = [run for run in wanted if sums not in fresh.get(run, {})]
            needed = [other for other in keys if other == sums or missing[other].intersection(unread)]
            for run, totals in self._summed(unread, needed):
                fresh.setdefault(run, {}).update(totals)
            return {run: fresh[run].pop(sums) for run in wanted}

        return {sums: snapshot.cached(dataset, key, runs, partial(read, sums)) for sums, key in keys.items()}

    @kept_property
    def _needed(self) -> set[Sums]:
        metrics, conventions = [*self.reader.metrics, *ALWAYS_SUMMED], self.evidence.conventions
        counts = [sums(metric, conventions) for metric in metrics for sums in (counts_of, outcomes_of)]
        return {OUTLINE, *counts}.union(*(sums_of(metric, conventions) for metric in metrics))

    def _key(self, sums: Sums) -> str:
        """Return the cache key of totals: their name and a checksum of the selected questions and their units."""
        questions, selection, units = self.reader.questions, self.reader.selection, self.evidence.units
        digest = sha256(questions["position"].to_numpy().tobytes())
        if not units.are_questions:
            digest.update(repr((units.name, units.keys.tolist())).encode())
        if "difficulty" in sums.reads:
            digest.update(float_array(questions["difficulty"]).tobytes())
            digest.update(repr((selection.difficulty, self._runs_of_difficulties)).encode())
        return f"{sums.key}, {digest.hexdigest()}"

    @kept_property
    def _runs_of_difficulties(self) -> list[tuple[Any, ...]]:
        sql = "select run, model from runs where dataset = $d and withdrawn_at is null order by position"
        return self.reader.snapshot.rows(sql, {"d": self.reader.selection.dataset})

    def _summed(self, runs: Sequence[str], needed: Sequence[Sums]) -> Iterator[tuple[str, dict[Sums, RunTotals]]]:
        """Compute some totals of some runs from their rows, some runs at a time."""
        reads = {"items"}.union(*(sums.reads for sums in needed))
        numbers, questions = len(reads) + (BIN_NUMBERS if reads & {*BIN_COLUMNS} else 0), len(self.reader.questions)
        source = self.reader.snapshot.for_reading(8 * numbers * questions * len(self.evidence.runs))
        at_once = max(1, ROWS_AT_ONCE // questions)
        for names in (runs[first : first + at_once] for first in range(0, len(runs), at_once)):
            check_time_limit()
            rows = self.reader.read(names, reads, source)
            part = replace(self.evidence, runs=tuple(Run(name, "", "") for name in names), source=rows)
            totals = {sums: part.by_cluster(sums) for sums in needed}
            for index, name in enumerate(names):
                yield name, {sums: _of_run(columns, index) for sums, columns in totals.items()}


def _of_run(columns: Mapping[str, Floats], run: int) -> RunTotals:
    return RunTotals({name: np.ascontiguousarray(column[:, run]) for name, column in columns.items()})
