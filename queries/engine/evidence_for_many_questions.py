"""Runs over very many questions, as totals by cluster of questions: their rows are read, summed and released.

Metrics of sums, their replicates, intervals and letters need only these totals. The totals take the same memory for any number of
questions, and are cached by run and by selected questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.store import Snapshot
from data.sufficient_statistics import BIN_COLUMNS
from queries.engine import distribution_statistics, stored_or_computed_rows
from queries.engine.bootstrap import MAX_CLUSTERS
from queries.engine.cluster_totals import ClusterTotals, shares_sums
from queries.engine.evidence import Evidence, Respondents, Run, correct_column
from queries.engine.gather_evidence import columns_of_rows, gather
from queries.engine.question_difficulties import QuestionDifficulties, read_difficulties, selects_by_answers
from queries.engine.run_columns import Floats, float_array
from queries.engine.units import Units, read_units
from queries.metrics import CATALOGUE, Conventions, Metric
from queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Ints
from queries.metrics.metric import ATTEMPTED_ITEMS, NET_REWARD
from queries.query_time_limit import check_time_limit
from queries.selection import Selection, dataset_conventions

ROWS_AT_ONCE = 1_000_000  # rows of statistics that are read and summed together
ALWAYS_READ = CATALOGUE["accuracy"], CATALOGUE["uncertainty"]  # the methods of intervals depend on how rare errors are
BIN_NUMBERS = 12  # approximate number of values that the bins of a row take in memory


@dataclass(frozen=True)
class RunTotals:
    """Some totals of one run by cluster of questions, by name, each of shape (clusters, ...)."""

    columns: Mapping[str, NDArray[Any]]

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns.values())


@dataclass(frozen=True)
class SummedRuns:
    """Metrics of sums of a selection's runs, with the interface of ``Evidence``, from totals by cluster of questions.

    ``parts`` are the totals of each run, by name of the part. Rows are read again from ``snapshot`` if they are needed.
    """

    runs: tuple[Run, ...]
    units: Units
    conventions: Conventions
    parts: Mapping[str, Sequence[RunTotals]]
    metrics: Sequence[Metric]
    snapshot: Snapshot
    selection: Selection
    respondents: Mapping[str, Respondents] = field(default_factory=dict)
    selected_by_answers: bool = False
    _replicates: dict[tuple[Metric, float], Floats] = field(default_factory=dict, repr=False, compare=False)
    _stacked: dict[tuple[str, str], Floats] = field(default_factory=dict, repr=False, compare=False)
    _of_runs: dict[bytes, Evidence] = field(default_factory=dict, repr=False, compare=False)

    def run_facts(self, run: int) -> dict[str, Any]:
        outline = self.parts[OUTLINE][run].columns
        return asdict(self.runs[run]) | {"questions": int(outline["questions"][0]), "items": int(outline["items"][0])}

    @property
    def same_questions(self) -> bool:
        """Whether all runs answered the same questions, by checksum."""
        return len({part.columns["answered"].tobytes() for part in self.parts[OUTLINE]}) <= 1

    @cached_property
    def cluster_totals(self) -> ClusterTotals:
        return ClusterTotals(len(self.runs), self.units.drawn_from, self.conventions, self._columns, self._usable)

    def values(self, metric: Metric) -> Floats:
        check_time_limit()
        return self.cluster_totals.values(metric)

    def questions_with(self, metric: Metric) -> Ints:
        return self.cluster_totals.questions_with(metric)

    def units_with(self, metric: Metric) -> Ints:
        if self.units.are_questions:
            return self.questions_with(metric)
        units: Ints = self._count(metric, UNITS).sum(axis=0).astype(np.int64)
        return units

    def rarer_outcomes(self, metric: Metric) -> Ints:
        """Count as ``Evidence.rarer_outcomes``, but groups of units instead of units."""
        items, correct = (self._column(_sum_part(name)) for name in ("items", correct_column(metric, self.conventions)))
        outcomes = np.stack([correct > 0, correct < items - ROUNDING_TOLERANCE * items])
        fewer: Ints = outcomes.sum(axis=1).min(axis=0).astype(np.int64)
        return fewer

    def replicates(self, metric: Metric, step: float = 1.0) -> Floats:
        if (metric, step) not in self._replicates:
            check_time_limit()
            self._replicates[metric, step] = self.cluster_totals.replicates(metric, step)
        return self._replicates[metric, step]

    def residuals(self, metric: Metric) -> tuple[Floats, Floats]:
        return self.cluster_totals.residuals(metric)

    def of_runs(self, chosen: NDArray[np.bool_]) -> Evidence:
        """Read the rows of some runs again, which runs with few questions for a metric need."""
        if chosen.tobytes() not in self._of_runs:
            names = [run.run for run, is_chosen in zip(self.runs, chosen, strict=True) if is_chosen]
            self._of_runs[chosen.tobytes()] = gather(self.snapshot, self.selection.on_runs(names), self.metrics)
        return self._of_runs[chosen.tobytes()]

    def _columns(self, metric: Metric, runs: slice) -> dict[str, Floats]:
        if shares_sums(metric):
            return {name: self._column(_sum_part(name))[:, runs] for name in metric.reads(self.conventions)}
        parts = [part.columns for part in self.parts[_own_part(metric, self.conventions)][runs]]
        return {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0] if name not in COUNTS}

    def _usable(self, metric: Metric) -> Floats:
        return self._count(metric, USABLE)

    def _count(self, metric: Metric, name: str) -> Floats:
        return self._column(_count_part(metric) if shares_sums(metric) else _own_part(metric, self.conventions), name)

    def _column(self, part: str, name: str = "") -> Floats:
        if (part, name) not in self._stacked:
            self._stacked[part, name] = np.stack([run.columns[name] for run in self.parts[part]], axis=1)
        return self._stacked[part, name]


RunEvidence = Evidence | SummedRuns


def measured_runs(snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric]) -> RunEvidence:
    """Read totals of runs where they suffice for metrics and there are over ``MAX_CLUSTERS`` questions; otherwise rows."""
    graded = snapshot.with_grading(selection.grading_in_force)
    conventions = dataset_conventions(graded, selection)
    clauses, parameters = stored_or_computed_rows.selection_clauses(selection)
    questions = graded.frame(
        f"{clauses} select question_id, position, difficulty, difficulty_source from chosen_questions order by place", parameters
    )
    runs = graded.frame(f"{clauses} select * from chosen_runs order by place", parameters)
    if len(questions) <= MAX_CLUSTERS or not len(runs) or not _can_be_summed(selection, conventions, metrics, runs):
        return gather(snapshot, selection, metrics)
    units = read_units(graded, selection, questions["question_id"].to_numpy())
    parts = _Reader(graded, selection, conventions, questions, units, runs, [*metrics, *ALWAYS_READ]).parts()
    answered = [index for index, outline in enumerate(parts[OUTLINE]) if outline.columns["questions"][0]]
    if not answered:
        return gather(snapshot, selection, metrics)
    return SummedRuns(
        runs=tuple(Run(*row) for row in runs[answered].select("run", "model", "elicitation").iter_rows()),
        units=units,
        conventions=conventions,
        parts={name: [of_runs[index] for index in answered] for name, of_runs in parts.items()},
        metrics=metrics,
        snapshot=snapshot,
        selection=selection,
        selected_by_answers=selects_by_answers(snapshot, selection),
    )


def _can_be_summed(selection: Selection, conventions: Conventions, metrics: Sequence[Metric], runs: pl.DataFrame) -> bool:
    """Check whether the metrics can be computed from totals of the stored statistics of whole questions."""
    reads = {name for metric in metrics for name in metric.reads(conventions)}
    items = (
        any(metric.pairs is not None or (metric.binned and conventions.mass_bins) for metric in metrics)
        or (conventions.closed == "right" and bool(reads & {*BIN_COLUMNS}))
        or NET_REWARD in reads
        or selection.filters_items
        or stored_or_computed_rows.has_other_states(runs, selection.items)
    )
    return not items and not reads & {*distribution_statistics.COLUMNS} and not (runs["samples"] > 1).any()


# The totals of a run are cached in parts, so that another metric only needs the parts it adds.
OUTLINE = "outline"  # numbers of questions and items, and a checksum of which questions were answered
# Columns with the number of questions that a metric can use and, if units are clusters, of units with such a question.
COUNTS = USABLE, UNITS = "usable", "units"


def _sum_part(statistic: str) -> str:
    return f"sum of {statistic}"


def _count_part(metric: Metric) -> str:
    return f"questions with {metric.counts}"


def _own_part(metric: Metric, conventions: Conventions) -> str:
    return f"{metric.key} under {conventions}"


@dataclass(frozen=True)
class _Reader:
    """Reads the totals of runs, from the cache if possible."""

    snapshot: Snapshot
    selection: Selection
    conventions: Conventions
    questions: pl.DataFrame
    units: Units
    runs: pl.DataFrame
    metrics: Sequence[Metric]

    def parts(self) -> dict[str, list[RunTotals]]:
        """Return every part that the metrics need, by name, with one entry per run in the order of the runs."""
        names = self.runs["run"].to_list()
        keys = {part: self._key(part) for part in self._metrics_of_parts}
        missing = {part: set(self.snapshot.not_cached(self.selection.dataset, key, names)) for part, key in keys.items()}
        fresh: dict[str, dict[str, RunTotals]] = {}  # parts that were read along with another part of the same run

        def read(part: str, wanted: list[str]) -> dict[str, RunTotals]:
            unread = [run for run in wanted if part not in fresh.get(run, {})]
            needed = [name for name in keys if name == part or missing[name].intersection(unread)]
            for run, totals in self._read(unread, needed):
                fresh.setdefault(run, {}).update(totals)
            return {run: fresh[run].pop(part) for run in wanted}

        return {part: self.snapshot.cached(self.selection.dataset, key, names, partial(read, part)) for part, key in keys.items()}

    @cached_property
    def _metrics_of_parts(self) -> dict[str, list[Metric]]:
        parts: dict[str, list[Metric]] = {OUTLINE: []}
        for metric in self.metrics:
            names = [_own_part(metric, self.conventions)]
            if shares_sums(metric):
                names = [_count_part(metric), *map(_sum_part, metric.reads(self.conventions))]
            for name in names:
                parts.setdefault(name, []).append(metric)
        return parts

    def _reads(self, parts: Iterable[str]) -> set[str]:
        metrics = {metric.key: metric for part in parts for metric in self._metrics_of_parts[part]}.values()
        return {"items"}.union(*({*metric.reads(self.conventions), metric.counts} for metric in metrics))

    def _key(self, part: str) -> str:
        """Return the cache key of a part: its name and a checksum of the selected questions and their units."""
        digest = sha256(self.questions["position"].to_numpy().tobytes())
        if not self.units.are_questions:
            digest.update(repr((self.units.name, self.units.keys.tolist())).encode())
        if "difficulty" in self._reads([part]):
            digest.update(float_array(self.questions["difficulty"]).tobytes())
            digest.update(repr((self.selection.difficulty, self._runs_of_difficulties)).encode())
        return f"{part}, {digest.hexdigest()}"

    @cached_property
    def _runs_of_difficulties(self) -> list[tuple[Any, ...]]:
        sql = "select run, model from runs where dataset = $d and withdrawn_at is null order by position"
        return self.snapshot.rows(sql, {"d": self.selection.dataset})

    @cached_property
    def _difficulties(self) -> QuestionDifficulties:
        return read_difficulties(self.snapshot, self.selection, self.questions)

    def _read(self, runs: Sequence[str], parts: Sequence[str]) -> Iterator[tuple[str, dict[str, RunTotals]]]:
        """Compute some parts of some runs from their rows, some runs at a time; yield each run with its parts."""
        reads = self._reads(parts)
        numbers = len(reads) + (BIN_NUMBERS if reads & {*BIN_COLUMNS} else 0)
        source = self.snapshot.for_reading(8 * numbers * len(self.questions) * len(self.runs))
        at_once = max(1, ROWS_AT_ONCE // len(self.questions))
        for first in range(0, len(runs), at_once):
            check_time_limit()
            names = runs[first : first + at_once]
            evidence = self._evidence(source, names, reads)
            columns = {part: self._columns_of(part, evidence) for part in parts if part != OUTLINE}
            index_of = {run.run: index for index, run in enumerate(evidence.runs)}
            for run in names:
                totals = {part: _of_run(index_of.get(run), part_columns) for part, part_columns in columns.items()}
                yield run, totals | {OUTLINE: _outline(index_of.get(run), evidence)}

    def _evidence(self, source: Snapshot, names: Sequence[str], reads: set[str]) -> Evidence:
        runs = self.runs.filter(pl.col("run").is_in(names))
        rows = stored_or_computed_rows.stored_rows(
            source, self.selection.dataset, runs, self.questions, reads - {"difficulty", ATTEMPTED_ITEMS}, False
        )
        difficulties = self._difficulties if "difficulty" in reads else None
        sums, binned = columns_of_rows(rows, self.conventions, reads, runs["run"].to_list(), difficulties, rebinned=False)
        starts = np.flatnonzero(np.diff(rows.run, prepend=-1))
        return Evidence(
            runs=tuple(Run(*row) for row in runs[rows.run[starts]].select("run", "model", "elicitation").iter_rows()),
            starts=starts.astype(np.int64),
            selected_questions=self.questions["question_id"].to_numpy(),
            places=rows.places,
            sums=sums,
            binned=binned,
            item_arrays=None,
            conventions=self.conventions,
            clustered=None if self.units.are_questions else self.units,
        )

    def _columns_of(self, part: str, evidence: Evidence) -> dict[str, Floats]:
        """Compute the columns of a part, each of shape (clusters, runs, ...)."""
        metric = self._metrics_of_parts[part][0]
        if part == _own_part(metric, self.conventions):
            columns = evidence.contributions(metric)
            return _counts(evidence, metric) | {name: evidence.sum_by_cluster(column) for name, column in columns.items()}
        if part == _count_part(metric):
            return _counts(evidence, metric)
        (name,) = (name for name in metric.reads(self.conventions) if part == _sum_part(name))
        return {"": evidence.sum_by_cluster(evidence.statistics[name])}


def _counts(evidence: Evidence, metric: Metric) -> dict[str, Floats]:
    counts = {USABLE: evidence.usable_by_cluster(metric)}
    return counts if evidence.clustered is None else counts | {UNITS: evidence.units_by_cluster(metric)}


def _of_run(index: int | None, columns: Mapping[str, Floats]) -> RunTotals:
    """Return the totals of one run; 0 for a run that answered none of the questions (``index`` None)."""
    if index is None:
        return RunTotals({name: np.zeros((len(column), *column.shape[2:])) for name, column in columns.items()})
    return RunTotals({name: np.ascontiguousarray(column[:, index]) for name, column in columns.items()})


def _outline(index: int | None, evidence: Evidence) -> RunTotals:
    if index is None:
        return RunTotals({"questions": np.zeros(1, np.int64), "items": np.zeros(1, np.int64), "answered": np.zeros(0, np.uint8)})
    facts = evidence.run_facts(index)
    answered = sha256(evidence.places_of_runs()[index].tobytes()).digest()
    return RunTotals(
        {name: np.array([facts[name]]) for name in ("questions", "items")} | {"answered": np.frombuffer(answered, np.uint8)}
    )
