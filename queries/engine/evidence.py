"""Evidence: what runs answered to the questions of a selection, from which every metric is computed.

Values, replicates and pseudo-values of most metrics are computed from the same totals by cluster of questions and run. Rows
(statistics by run and question) and items are only read where a metric or a view needs them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from itertools import pairwise
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from clueline.data.store.run_cache import kept_property
from clueline.data.sufficient_statistics import BIN_COLUMNS, SIDES_RIGHT
from clueline.queries.engine.bootstrap import (
    MAX_CLUSTERS,
    REPLICATES,
    SEED,
    Draws,
    PooledItems,
    can_be_pooled,
    item_replicates,
    items_without_each,
    mass_bins_replicates,
    pooled_items,
    resample_clusters,
)
from clueline.queries.engine.rows import Rows, SortedItems
from clueline.queries.engine.run_columns import Floats, ItemColumn, SparseColumn, dense, sparse, sum_by_place
from clueline.queries.engine.units import Units
from clueline.queries.metrics import Conventions, Metric
from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Ints
from clueline.queries.metrics.kernels.bins import FOLDS, fold_bins, mass_bins, mass_bins_of_sorted, question_folds
from clueline.queries.metrics.metric import Level, unchanged_sums
from clueline.queries.query_time_limit import check_time_limit

PERCENTS = 101  # cells of confidence for a metric without bins
WIDTHS = 10  # cells of confidence for a metric without bins whose distance is a sum of absolute values
NUMBERS_AT_ONCE = 20_000_000  # numbers in memory at a time, for totals without each question
IN_CACHE = 1_000_000  # numbers that approximately fit in the processor's cache, for replicates of some runs at a time

Column = Floats | SparseColumn
Summand = Column | ItemColumn
V = TypeVar("V")
P = ParamSpec("P")


class Run(NamedTuple):
    """A run as it is named in results."""

    run: str
    model: str
    elicitation: str


class Respondents(Protocol):
    """The answers of a run that contains the answers of many people, see ``queries.engine.runs_of_many_respondents``."""

    def can_draw(self, metric: Metric) -> bool:
        """Check whether it has the statistics that a metric needs."""

    def replicates(self, metric: Metric, step: float) -> Floats:
        """Compute the metric in each replicate, shape (REPLICATES,); see ``Evidence.replicates``."""

    def of_questions(self, places: Ints) -> Respondents:
        """Select the answers to some questions, by their places in the selection."""


@dataclass(frozen=True)
class Sums:
    """Columns of shape (rows, ...) that are summed together, and the statistics that they are computed from.

    ``key`` names them and does not depend on the selection. Those of a single metric, which can be wide, are not ``kept``.
    """

    key: str
    reads: Collection[str] = field(compare=False)
    columns: Callable[[Evidence], Mapping[str, Summand]] = field(compare=False)
    kept: bool = True


class _UnitParts(NamedTuple):
    """The parts of runs that are in one unit, sorted by run, shape (parts,), and the part of each row, shape (rows,)."""

    run: Ints
    unit: Ints
    of_rows: Ints


def _once(method: Callable[Concatenate[Evidence, P], V]) -> Callable[Concatenate[Evidence, P], V]:
    """Compute what a method returns for the same arguments only once."""

    @wraps(method)
    def kept(self: Evidence, *args: P.args, **kwargs: P.kwargs) -> V:
        return self.once((method.__name__, args, *kwargs.items()), lambda: method(self, *args, **kwargs))

    return kept


@dataclass(frozen=True, eq=False)
class Evidence:
    """What runs answered to the questions of a selection.

    Attributes:
        selected_questions: ids of the questions of the selection, answered or not, in the dataset's order.
        source: the rows, or a function that reads those of runs, given by id. Each of the runs has rows.
        clustered: None where single questions are the units of inference.
        respondents: by run id, the answers of runs that contain the answers of many people.
        smooth: whether replicates give each question a random weight (the Bayesian bootstrap) instead of drawing questions.
        selected_by_answers: whether a filter on difficulties that come from runs selects the questions, so that tests and bands
            would mislead; see ``queries.engine.question_difficulties``.
        stored: function that returns the totals of ``by_cluster`` without reading rows; None if there are none.
        expected: which of the selected questions the runs were expected to answer, where some of them did not; None where all
            answered the same, or the runs are not compared. See ``queries.engine.shared_answers``.
        shared: if runs answered different clues of a question, a function from the level of metrics to the evidence whose rows
            are the same for all runs that have them; else None.
    """

    runs: tuple[Run, ...]
    selected_questions: NDArray[Any]
    conventions: Conventions
    source: Rows | Callable[[Sequence[str]], Rows] = field(repr=False)
    clustered: Units | None = None
    respondents: Mapping[str, Respondents] = field(default_factory=dict)
    smooth: bool = False
    selected_by_answers: bool = False
    stored: Callable[[Sums], Mapping[str, Floats]] | None = field(default=None, repr=False)
    expected: NDArray[np.bool_] | None = field(default=None, repr=False)
    shared: Callable[[Level], Evidence] | None = field(default=None, repr=False)
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, key: Hashable, compute: Callable[[], V]) -> V:
        """Return what a function computes from this evidence, which it does only the first time that the key is used."""
        if key not in self._kept:
            self._kept[key] = compute()
        result: V = self._kept[key]
        return result

    # -- runs and rows -------------------------------------------------------------------------------------------------

    @kept_property
    def rows(self) -> Rows:
        return self.source if isinstance(self.source, Rows) else self.source([run.run for run in self.runs])

    @property
    def places(self) -> Ints:
        """Index of each row's question in ``selected_questions``, shape (rows,). Rows are sorted by run and question."""
        return self.rows.places

    @property
    def sums(self) -> dict[str, Floats]:
        return self.rows.sums

    @kept_property
    def statistics(self) -> dict[str, Column]:
        """All statistics of the rows. Equal-mass bins are those of all items of a run."""
        by_mass = self.conventions.mass_bins is not None and self.rows.items is not None
        return {**self.sums, **self.rows.binned, **(self.mass_columns() if by_mass else {})}

    @property
    def run_of_rows(self) -> Ints:
        return self.rows.run

    @kept_property
    def starts(self) -> Ints:
        """Index of each run's first row, shape (runs,)."""
        return np.searchsorted(self.run_of_rows, np.arange(len(self.runs)))

    @property
    def ends(self) -> Ints:
        """Index past each run's last row, shape (runs,)."""
        return np.append(self.starts, len(self.places))[1:]

    @property
    def selected(self) -> int:
        """Number of questions of the selection, answered or not."""
        return len(self.selected_questions)

    @kept_property
    def questions(self) -> NDArray[Any]:
        """Question id of each row, shape (rows,)."""
        return self.selected_questions[self.places]

    def run_facts(self, run: int) -> dict[str, Any]:
        """Return the fields that results state about a run, given its index: names and numbers of questions and items here."""
        return self.runs[run]._asdict() | {name: int(self.total(OUTLINE)[name][run]) for name in ("questions", "items")}

    @property
    def same_questions(self) -> bool:
        checksums = self.by_cluster(OUTLINE)["checksum"]
        return bool((checksums == checksums[:, :1]).all())

    def of_runs(self, chosen: NDArray[np.bool_]) -> Evidence:
        """Select the runs for which ``chosen``, shape (runs,), is true."""
        return self if chosen.all() else self._of_runs(tuple(np.flatnonzero(chosen).tolist()))

    @_once
    def _of_runs(self, runs: tuple[int, ...]) -> Evidence:
        shared = None if self.shared is None else partial(self._shared_of_runs, runs)
        if self.stored is None or "rows" in vars(self):
            return replace(self.select_rows(np.isin(self.run_of_rows, runs)), expected=self.expected, shared=shared)
        stored = self.by_cluster
        return replace(
            self,
            runs=tuple(self.runs[run] for run in runs),
            stored=lambda sums: {name: column[:, runs] for name, column in stored(sums).items()},
            shared=shared,
        )

    def paired(self, metric: Metric) -> Evidence:
        """Return the evidence in each of whose rows runs answered the same clues, or nothing."""
        if self.shared is None or not metric.of_items:
            return self
        return self._shared(metric.level)

    @_once
    def _shared(self, level: Level) -> Evidence:
        assert self.shared is not None
        return self.shared(level)

    def _shared_of_runs(self, runs: tuple[int, ...], level: Level) -> Evidence:
        evidence, names = self._shared(level), {self.runs[run].run for run in runs}
        return evidence.of_runs(np.array([run.run in names for run in evidence.runs], dtype=bool))

    def _shared_in_rows(self, rows: NDArray[np.bool_], level: Level) -> Evidence:
        """Return what runs share in some of the rows. Places of clues are those of their questions, in the same order."""
        evidence, run_of = self._shared(level), {run.run: place for place, run in enumerate(self.runs)}
        place_of = {question: place for place, question in enumerate(self.selected_questions.tolist())}
        kept = np.zeros((self.selected, len(self.runs)), dtype=bool)
        kept[self.places[rows], self.run_of_rows[rows]] = True
        questions = np.array([place_of[question] for question in evidence.selected_questions.tolist()], dtype=np.int64)
        runs = np.array([run_of[run.run] for run in evidence.runs], dtype=np.int64)
        return evidence.select_rows(kept[questions[evidence.places], runs[evidence.run_of_rows]])

    def by_question(self) -> Evidence:
        """Return the same evidence with single questions as units."""
        return self if self.clustered is None else replace(self, clustered=None, source=self.rows, stored=None)

    def select_rows(self, rows: NDArray[np.bool_]) -> Evidence:
        """Select the rows for which ``rows``, shape (rows,), is true. Runs without any of them are left out.

        Questions without any are no longer expected.
        """
        left, run = np.unique(self.run_of_rows[rows], return_inverse=True)
        places = np.arange(self.selected)
        return replace(
            self,
            runs=tuple(self.runs[index] for index in left),
            source=replace(self.rows.select(rows), run=run),
            stored=None,
            expected=self.expected if self.expected is None else self.expected & np.isin(places, self.places[rows]),
            shared=None if self.shared is None else partial(self._shared_in_rows, rows),
            respondents={
                run: part.of_questions(self.places[rows & (self.run_of_rows == index)])
                for index in left
                if (part := self.respondents.get(run := self.runs[index].run))
            },
        )

    # -- units ---------------------------------------------------------------------------------------------------------

    @kept_property
    def units(self) -> Units:
        """The units of inference: what is drawn, left out and flipped."""
        return self.clustered or Units.single(self.selected_questions)

    @property
    def in_one_cluster(self) -> bool:
        """Whether all questions are in one cluster, so that there are no intervals, tests and bands."""
        return self.clustered is not None and self.clustered.count < 2

    @property
    def drawn_from(self) -> int:
        return self.units.drawn_from

    @kept_property
    def unit_of_rows(self) -> Ints:
        return self.units.of_questions[self.places]

    @kept_property
    def clusters(self) -> Ints:
        """Group of units that each row's question is drawn with, shape (rows,)."""
        return self.units.drawn[self.places]

    @kept_property
    def _parts(self) -> _UnitParts:
        """The parts of runs that are in one unit: rows, where units are questions."""
        if self.units.are_questions:
            return _UnitParts(self.run_of_rows, self.unit_of_rows, np.arange(len(self.places)))
        parts, of_rows = np.unique(self.run_of_rows * self.units.count + self.unit_of_rows, return_inverse=True)
        return _UnitParts(*np.divmod(parts, self.units.count), of_rows)

    @overload
    def by_unit(self, column: Floats) -> Floats: ...
    @overload
    def by_unit(self, column: Column) -> Column: ...
    def by_unit(self, column: Column) -> Column:
        """Sum a column of shape (rows, ...) over the rows of each run and unit, shape (parts, ...)."""
        if self.units.are_questions:
            return column
        return sum_by_place(column, self._parts.of_rows, len(self._parts.run))

    def _in_first_row(self, of_parts: Floats | NDArray[np.bool_]) -> Floats:
        """Return a column with a value of each run and unit, shape (parts,), in its first row, and 0 in its others."""
        if self.units.are_questions:
            return of_parts.astype(float)
        column = np.zeros(len(self.places))
        column[np.unique(self._parts.of_rows, return_index=True)[1]] = of_parts
        return column

    # -- totals --------------------------------------------------------------------------------------------------------

    @property
    def outline(self) -> dict[str, Floats]:
        """Columns of questions, items and units, of squared items of units, and of a number that identifies the question."""
        items, ones = self.by_unit(self.sums["items"]), np.ones(len(self.places))
        numbers = np.random.default_rng(SEED).random(len(self.selected_questions))
        return {
            "questions": ones,
            "items": self.sums["items"],
            "units": self._in_first_row(np.ones(len(items))),
            "squares": self._in_first_row(items**2),
            "checksum": numbers[self.places],
        }

    def counts(self, metric: Metric) -> dict[str, Floats]:
        """Return columns that count the questions, and the units, of which a metric can use something."""
        contributions = {} if shares_sums(metric) else self.contributions(metric)
        usable = (
            dense(contributions["questions"]) if "questions" in contributions else (self.sums[metric.counts] > 0).astype(float)
        )
        return {"usable questions": usable, "usable units": self._in_first_row(self.by_unit(usable) > 0)}

    def outcomes(self, name: str) -> dict[str, Floats]:
        """Return columns that count the units with a right answer, and those with an error, by a statistic of right items."""
        items, correct = self.by_unit(self.sums["items"]), self.by_unit(self.sums[name])
        right, wrong = correct > 0, correct < items - ROUNDING_TOLERANCE * items
        return {"right": self._in_first_row(right), "wrong": self._in_first_row(wrong)}

    def by_cluster(self, sums: Sums) -> Mapping[str, Floats]:
        """Sum columns by cluster of questions and run, shape (clusters, runs, ...) each."""
        return self.once(("by cluster", sums), lambda: self._by_cluster(sums)) if sums.kept else self._by_cluster(sums)

    def _by_cluster(self, sums: Sums) -> Mapping[str, Floats]:
        if self.stored is not None and "rows" not in vars(self):
            return self.stored(sums)
        shape = self.drawn_from, len(self.runs)
        place = self.clusters * len(self.runs) + self.run_of_rows
        totals = {name: sum_by_place(column, place, math.prod(shape)) for name, column in sums.columns(self).items()}
        return {name: column.reshape(*shape, *column.shape[1:]) for name, column in totals.items()}

    @_once
    def total(self, sums: Sums) -> dict[str, Floats]:
        """Sum columns by run, so that digits do not depend on other runs, shape (runs, ...) each."""
        if self.selected <= MAX_CLUSTERS:  # a few rows can be a small part of all clusters and runs
            return {name: self._of_run(column) for name, column in sums.columns(self).items()}
        totals = {}
        for name, column in self.by_cluster(sums).items():
            totals[name] = np.empty(column.shape[1:])
            for run in range(len(self.runs)):
                totals[name][run] = np.ascontiguousarray(column[:, run]).sum(axis=0)
        return totals

    def _of_run(self, column: Summand) -> Floats:
        if isinstance(column, SparseColumn | ItemColumn):
            return sum_by_place(column, self.run_of_rows, len(self.runs))
        return np.add.reduceat(column, self.starts, axis=0) if self.runs else np.zeros((0, *column.shape[1:]))

    def columns(self, metric: Metric) -> dict[str, Floats]:
        """Return the totals by cluster and run that a metric is computed from, shape (clusters, runs, ...) each."""
        return {name: column for sums in sums_of(metric, self.conventions) for name, column in self.by_cluster(sums).items()}

    def totals(self, metric: Metric) -> dict[str, Floats]:
        """Return the totals by run that a metric is computed from, shape (runs, ...) each."""
        return {name: column for sums in sums_of(metric, self.conventions) for name, column in self.total(sums).items()}

    def questions_with(self, metric: Metric) -> Ints:
        """Count the questions of each run that the metric can use, shape (runs,)."""
        return self.total(counts_of(metric, self.conventions))["usable questions"].astype(np.int64)

    def units_with(self, metric: Metric) -> Ints:
        """Count the units of each run of which the metric can use a question, shape (runs,)."""
        return self.total(counts_of(metric, self.conventions))["usable units"].astype(np.int64)

    @property
    def units_answered(self) -> Ints:
        return self.total(OUTLINE)["units"].astype(np.int64)

    def rarer_outcomes(self, metric: Metric) -> Ints:
        """Count units of each run with an error, or with a right answer as the metric sees it, whichever are fewer."""
        outcomes = self.total(outcomes_of(metric, self.conventions))
        rarer: Ints = np.minimum(outcomes["right"], outcomes["wrong"]).astype(np.int64)
        return rarer

    @property
    def largest_clusters(self) -> Floats:
        """Number of items of a unit that can depend on each other, averaged over the items of each run, shape (runs,)."""
        return self.total(OUTLINE)["squares"] / self.total(OUTLINE)["items"]

    @property
    def effective_units(self) -> Floats:
        """Number of units of equal size that vary as much as those of each run, shape (runs,). Kish 1965."""
        return self.total(OUTLINE)["items"] / self.largest_clusters

    @kept_property
    def largest_shares(self) -> Floats:
        """Share of the items of each run that are in its largest unit, or group of units, shape (runs,)."""
        items = self.by_cluster(OUTLINE)["items"]
        shares: Floats = items.max(axis=0, initial=0.0) / np.maximum(items.sum(axis=0), 1)
        return shares

    # -- values, replicates and pseudo-values --------------------------------------------------------------------------

    def contributions(self, metric: Metric) -> dict[str, Column]:
        """Return the columns whose totals over questions a metric is computed from, each of shape (rows,) or (rows, ...)."""
        if metric.cross_fitted:
            return {**self._by_fold}
        statistics = self.statistics
        read = {name: statistics[name] for name in metric.reads(self.conventions)}
        if metric.contributions is unchanged_sums:
            return read
        contributions = metric.contributions({name: dense(values) for name, values in read.items()}, self.conventions)
        if self.rows.samples is None or not metric.by_sample:
            return {**contributions}
        of_samples = {name: self.rows.samples.sums[name] for name in read}
        return {**self.rows.samples.means(metric.contributions(of_samples, self.conventions), contributions)}

    @kept_property
    def _by_fold(self) -> dict[str, Column]:
        """Each row's sums, placed at the fold of its unit: the columns that ``kernels.bins.fold_totals`` sums."""
        items, confidence, correct = (sparse(self.statistics[name]) for name in BIN_COLUMNS)
        fold, width = question_folds(self.units.keys)[self.unit_of_rows], items.width
        places = np.repeat(fold * width, np.diff(items.first)) + items.bin
        rows = np.arange(len(self.places) + 1)
        return {
            "gaps_by_fold": SparseColumn(items.first, places, confidence.values - correct.values, FOLDS * width),
            "items_by_fold": SparseColumn(rows, fold, self.sums["items"], FOLDS),
            "correct": self.sums["correct"],
            "correct_sq": self.sums["correct_sq"],
        }

    @_once
    def values(self, metric: Metric) -> Floats:
        """The metric of each run, shape (runs,), NaN where undefined."""
        check_time_limit()
        if metric.pairs is not None:
            return metric.select_part(self._of_pairs(metric))
        return metric.value(self.totals(metric), self.conventions)

    def per_question(self, metric: Metric) -> Floats:
        """Compute the metric of each (run, question) separately, shape (rows,), NaN where undefined."""
        check_time_limit()
        if metric.pairs is not None:
            return metric.select_part(self._pairs_by_row(metric))
        if metric.cross_fitted:  # one question has no halves
            return np.full(len(self.places), np.nan)
        columns = {name: dense(values) for name, values in self.contributions(metric).items()}
        if metric.needs_items(self.conventions):
            items = self._by_row(metric)
            bins = mass_bins(items.confidence, items.correct, self.conventions.mass_bins or 0, np.diff(self._items_before))
            columns |= zip(BIN_COLUMNS, bins, strict=True)
        return metric.value(columns, self.conventions)

    @_once
    def replicates(self, metric: Metric, step: float = 1.0) -> Floats:
        """Compute the metric of each run in each bootstrap replicate, shape (REPLICATES, runs), NaN where undefined.

        Units are drawn from the whole selection, so all runs, and the same selection of other runs, share replicates. In a run
        with respondents, the respondents are drawn as well. ``step`` multiplies the weights' distance from the data, for the
        numerical derivative bootstrap. Equal-mass bins are cut again in each replicate and only support 1.
        """
        check_time_limit()
        values = self._replicates_of_totals(metric, step) if metric.pairs is None else self._replicates_of_pairs(metric, step)
        for index, run in enumerate(self.runs):
            if run.run in self.respondents and self.respondents[run.run].can_draw(metric):
                values[:, index] = self.respondents[run.run].replicates(metric, step)
        return values

    def _replicates_of_pairs(self, metric: Metric, step: float) -> Floats:
        def compute() -> Floats:
            pooled = [self._pooled(run, metric) for run in range(len(self.runs))]
            if not pooled or None in pooled:
                return self._by_run(partial(item_replicates, metric, step=step), metric)
            values = np.stack([items.replicates(metric, step) for items in pooled if items is not None], axis=-1)
            of_data = np.stack([items.values(metric) for items in pooled if items is not None], axis=-1)
            # Pooled items have a slightly different value. What matters is how it varies.
            return values + np.nan_to_num(self._of_pairs(metric) - of_data)[..., None, :]

        values = metric.select_part(self.once(("replicates", metric.pairs, step), compute))
        return np.clip(values, metric.low, metric.high)

    def _pooled(self, run: int, metric: Metric) -> PooledItems | None:
        """Return the items of one run as ``metric`` reads them, pooled; None if it needs them one by one."""
        items = self.sorted_items(run, metric)
        if not can_be_pooled(metric, items.correct):
            return None
        return self.once(("pooled", run, self._sided(metric)), lambda: pooled_items(items, self._draws(run)))

    def _replicates_of_totals(self, metric: Metric, step: float) -> Floats:
        shared, mass = shares_sums(metric), self._mass_drawn if metric.needs_items(self.conventions) else {}
        groups = [sums for sums in sums_of(metric, self.conventions) if sums.key not in mass]
        columns = {} if shared else self.columns(metric)
        width = sum(math.prod(column.shape[2:]) for column in columns.values())
        at_once = max(1, len(self.runs) if shared else IN_CACHE // max(1, width * REPLICATES))
        batches = []
        for first in range(0, max(1, len(self.runs)), at_once):
            runs, drawn = slice(first, first + at_once), dict(mass)
            for sums in groups if shared else ():
                drawn |= self._drawn(sums)
            drawn |= {name: self._draw(column[:, runs]) for name, column in columns.items()}
            if step != 1:
                drawn = stepped_totals(drawn, {name: column[runs] for name, column in self.totals(metric).items()}, step)
            batches.append(metric.value(drawn, self.conventions))
        return np.concatenate(batches, axis=1)

    @_once
    def _drawn(self, sums: Sums) -> dict[str, Floats]:
        return {name: self._draw(column) for name, column in self.by_cluster(sums).items()}

    def _draw(self, column: Floats) -> Floats:
        """Compute totals of runs in each replicate, shape (REPLICATES, runs, ...), from those by cluster and run."""
        check_time_limit()
        by_cluster = column.reshape(math.prod(column.shape[:2]), *column.shape[2:])
        return resample_clusters(by_cluster, self.drawn_from, self.smooth)

    def pseudo_values(self, metric: Metric, by_cluster: bool = False) -> Floats:
        """Compute the jackknife pseudo-values of each run, shape (units, runs), or (clusters, runs) if ``by_cluster``.

        These are Q theta - (Q - 1) theta without unit q, over the run's Q usable units; NaN for the other units. Clusters, which
        only metrics of totals have, are left out in place of units (the delete-a-group jackknife of Kott 2001). For other metrics
        and runs with more than ``MAX_CLUSTERS`` units, clusters are left out, too; the units of a cluster then share its value.
        """
        check_time_limit()
        values = self.values(metric)
        if metric.needs_items(self.conventions):
            result = np.full((self.units.count, len(self.runs)), np.nan)
            for index, units in enumerate(self.units_answered):
                rows = slice(self.starts[index], self.ends[index])
                group = np.unique((self.unit_of_rows if units <= MAX_CLUSTERS else self.clusters)[rows], return_inverse=True)[1]
                groups = int(group.max()) + 1
                without = self._without_groups(metric, index, group, groups)
                result[self.unit_of_rows[rows], index] = (groups * values[index] - (groups - 1) * without)[group]
            return result
        if by_cluster:
            shape = self.drawn_from, len(self.runs)
            place, run = np.divmod(np.arange(math.prod(shape)), max(1, len(self.runs)))
            usable = self.by_cluster(counts_of(metric, self.conventions))["usable questions"].ravel() > 0
            columns: Mapping[str, Column] = {
                name: column.reshape(len(run), *column.shape[2:]) for name, column in self.columns(metric).items()
            }
        else:
            (run, place, _), shape = self._parts, (self.units.count, len(self.runs))
            usable = self.by_unit(self.counts(metric)["usable questions"]) > 0
            columns = {name: self.by_unit(column) for name, column in self.contributions(metric).items()}
        groups_of_run = np.bincount(run, usable, len(self.runs))[run]
        without = _values_without(metric, self.conventions, self.totals(metric), columns, run)
        result = np.full(shape, np.nan)  # a unit that lacks what the metric needs carries no information
        result[place, run] = np.where(usable, groups_of_run * values[run] - (groups_of_run - 1) * without, np.nan)
        return result

    def _without_groups(self, metric: Metric, run: int, group: Ints, groups: int) -> Floats:
        """Compute a metric of pairs or bins for one run, leaving out each group of its rows in turn, shape (groups,)."""
        check_time_limit()
        items, rows = self.sorted_items(run, metric), slice(self.starts[run], self.ends[run])
        group_of_items = group[items.row]
        if metric.pairs is not None:
            return items_without_each(metric, items, group_of_items, groups)
        left = {
            name: total[run] - sum_by_place(self.contributions(metric)[name][rows], group, groups)
            for name, total in self.totals(metric).items()
        }
        count = self.conventions.mass_bins or 0
        others = (group_of_items != index for index in range(groups))
        bins = [mass_bins(items.confidence[kept], items.correct[kept], count) for kept in others]
        return metric.value(left | dict(zip(BIN_COLUMNS, map(np.array, zip(*bins, strict=True)), strict=True)), self.conventions)

    # -- items ---------------------------------------------------------------------------------------------------------

    @property
    def _items(self) -> SortedItems:
        assert self.rows.items is not None, "gathered for metrics that need no items"
        return self.rows.items

    @kept_property
    def _items_before(self) -> Ints:
        """Number of items before each row and, last, of all items, shape (rows + 1,)."""
        return np.append(0.0, np.cumsum(self.sums["items"])).astype(np.int64)

    @kept_property
    def item_cuts(self) -> Ints:
        """Index of each run's first item and, last, the number of items, shape (runs + 1,)."""
        cuts: Ints = self._items_before[np.append(self.starts, len(self.places))]
        return cuts

    def _sided(self, metric: Metric | None) -> bool:
        """Whether a metric reads the likelier side of forecasts, whose order by confidence is another one."""
        return metric is not None and self.conventions.forecasts and metric.of_likelier_side

    def sorted_items(self, run: int, metric: Metric | None = None) -> SortedItems:
        """Return a run's items as a metric reads them, else as stored. Rows count from the first one of the run."""

        def compute() -> SortedItems:
            first, end = self.item_cuts[run : run + 2]
            row, confidence, correct = (part[first:end] for part in vars(self._items).values())
            row = row - self.starts[run]
            if metric is None or not self._sided(metric):
                return SortedItems(row, confidence, correct)
            confidence, correct = metric.side(confidence, correct, self.conventions)
            order = np.lexsort((row, confidence))
            return SortedItems(row[order], confidence[order], correct[order])

        return self.once(("items", run, self._sided(metric)), compute)

    def items_of(self, run: int, metric: Metric | None = None) -> tuple[Floats, Floats]:
        """Return confidence, ascending, and correctness of a run's items as a metric reads them, else as stored."""
        items = self.sorted_items(run, metric)
        return items.confidence, items.correct

    def unit_of_items(self, run: int) -> Ints:
        """Return the unit of each item of one run, in the order of ``items_of``, shape (items,)."""
        units: Ints = self.unit_of_rows[self.sorted_items(run).row + self.starts[run]]
        return units

    def cluster_of_items(self, run: int, metric: Metric | None = None) -> Ints:
        """Return the group of units that each item of one run is drawn with, in the order of ``items_of``, shape (items,)."""
        clusters: Ints = self.clusters[self.sorted_items(run, metric).row + self.starts[run]]
        return clusters

    def _by_row(self, metric: Metric | None = None) -> SortedItems:
        """Return the items of all runs, as a metric reads them, by row."""

        def compute() -> SortedItems:
            items = self._items
            order = np.argsort(items.row, kind="stable")
            confidence, correct = items.confidence[order], items.correct[order]
            if metric is not None:
                confidence, correct = metric.side(confidence, correct, self.conventions)
            return SortedItems(items.row[order], confidence, correct)

        return self.once(("items by row", self._sided(metric)), compute)

    def _of_pairs(self, metric: Metric) -> Floats:
        """Compute the kernel of a metric of pairs for each run, shape (runs,) or (metrics, runs)."""
        groups = (self.items_of(run, metric) for run in range(len(self.runs)))
        return self.once(("pairs", metric.pairs), lambda: values_of_groups(metric, groups))

    def _pairs_by_row(self, metric: Metric) -> Floats:
        """Compute the kernel of a metric of pairs for each row, shape (rows,) or (metrics, rows)."""
        items, cuts = self._by_row(metric), pairwise(self._items_before.tolist())
        groups = ((items.confidence[first:end], items.correct[first:end]) for first, end in cuts)
        return self.once(("pairs by row", metric.pairs), lambda: values_of_groups(metric, groups))

    @kept_property
    def _mass_drawn(self) -> dict[str, Floats]:
        count = self.conventions.mass_bins or 0
        bins = self._by_run(partial(mass_bins_replicates, count=count), None)  # (3, bins, REPLICATES, runs)
        return dict(zip(BIN_COLUMNS, np.moveaxis(bins, 1, -1), strict=True))

    def _draws(self, run: int) -> Draws:
        cluster = self.clusters[self.starts[run] : self.ends[run]]
        return Draws("weights" if self.smooth else "questions", cluster, self.drawn_from)

    def _by_run(self, replicates: Callable[[SortedItems, Draws], Floats], metric: Metric | None) -> Floats:
        """Compute replicates of shape (..., REPLICATES, runs) from the items of one run after another."""
        if not self.runs:  # a call without items gives the shape of the replicates
            nothing = SortedItems.concatenate([])
            return np.zeros((*replicates(nothing, Draws("questions", nothing.row, self.drawn_from)).shape, 0))
        return np.stack([replicates(self.sorted_items(run, metric), self._draws(run)) for run in range(len(self.runs))], axis=-1)

    # -- cells of confidence -------------------------------------------------------------------------------------------

    def residuals(self, metric: Metric) -> tuple[Floats, Floats]:
        """Sum the residuals c - y by cluster of questions, run and cell of confidence, shape (clusters, runs, cells).

        Returns also numbers of items, shape (runs, cells); 1 everywhere if the metric does not read them. Cells are the bins of
        the metric. For a metric of pairs they are ten equal widths if its distance is a sum, otherwise whole percents.
        """
        if metric.gaps is not None and not metric.needs_items(self.conventions):
            gaps, items = metric.gaps(self.columns(metric), self.conventions), self.totals(metric).get(BIN_COLUMNS[0])
            return gaps, np.ones(gaps.shape[1:]) if items is None else fold_bins(items, self.conventions.binning)
        cells = self._cells(metric)
        columns = self.by_cluster(cells)
        return columns[BIN_COLUMNS[1]] - columns[BIN_COLUMNS[2]], self.total(cells)[BIN_COLUMNS[0]]

    def confidence_in_cells(self, metric: Metric) -> Floats:
        """Sum the confidence of the items of each run in each cell of ``residuals``, shape (runs, cells)."""
        if metric.gaps is not None and not metric.needs_items(self.conventions):
            return fold_bins(self.totals(metric)[BIN_COLUMNS[1]], self.conventions.binning)
        return self.total(self._cells(metric))[BIN_COLUMNS[1]]

    def cells_of(self, metric: Metric) -> Hashable:
        """Return what the residuals of a metric depend on: metrics for which it is the same have the same ``residuals``."""
        needs_items = metric.needs_items(self.conventions)
        return (metric.key if metric.gaps is not None and not needs_items else self._cells(metric).key), needs_items

    def _cells(self, metric: Metric) -> Sums:
        cut = "mass" if metric.pairs is None else metric.distance == "sum"
        return Sums(f"cells by {cut}", (), lambda evidence: evidence.cell_columns(metric))

    def cell_columns(self, metric: Metric) -> Mapping[str, Summand]:
        """Return number, confidence and correctness of items by row and cell of ``residuals``, as ``BIN_COLUMNS``."""
        if metric.pairs is None:
            return self.mass_columns()
        items = self._items
        if metric.distance == "sum":
            # With few items per cell, sign flips understate how much chance adds to sums of absolute values.
            cell, count = np.minimum((items.confidence * WIDTHS).astype(np.int64), WIDTHS - 1), WIDTHS
        else:
            cell, count = np.rint(items.confidence * (PERCENTS - 1)).astype(np.int64), PERCENTS
        weights = (np.ones(len(cell)), items.confidence, items.correct)
        return {name: ItemColumn(items.row, cell, column, count) for name, column in zip(BIN_COLUMNS, weights, strict=True)}

    def mass_columns(self) -> dict[str, SparseColumn]:
        """Return the same for the equal-mass bins of each run."""
        count, items = self.conventions.mass_bins or 0, self._items
        bins = mass_bins_of_sorted(np.diff(self.item_cuts), count)
        cells, entry = np.unique(items.row * count + bins, return_inverse=True)
        row, place = np.divmod(cells, max(1, count))
        first = np.searchsorted(row, np.arange(len(self.places) + 1))
        return {
            name: SparseColumn(first, place, np.bincount(entry, weights, len(cells)).astype(float), count)
            for name, weights in zip(BIN_COLUMNS, (None, items.confidence, items.correct), strict=True)
        }

    def bins_of_units(self) -> tuple[Ints, Ints, Floats, Floats]:
        """Return run, bin, items and sum of correctness of the non-empty bins of runs and units, shape (entries,) each."""
        items, correct = (sparse(self.by_unit(self.statistics[name])) for name in (BIN_COLUMNS[0], BIN_COLUMNS[2]))
        folds = self.conventions.mass_bins is None and self.conventions.binning != "width10+1"
        place = np.minimum(items.bin, items.width - 2 if folds else items.width).astype(np.int64)  # as ``fold_bins``
        part = np.repeat(np.arange(len(items)), np.diff(items.first))
        firsts = np.flatnonzero((np.diff(part, prepend=-1) != 0) | (np.diff(place, prepend=-1) != 0))
        if not len(firsts):
            return (*np.zeros((2, 0), np.int64), *np.zeros((2, 0)))
        of_items, of_correct = (np.add.reduceat(column.values, firsts) for column in (items, correct))
        filled = of_items > 0
        firsts = firsts[filled]
        return self._parts.run[part[firsts]], place[firsts], of_items[filled], of_correct[filled]


OUTLINE = Sums("outline", ("items",), lambda evidence: evidence.outline)


def shares_sums(metric: Metric) -> bool:
    """Check whether the contributions of a metric are the statistics themselves, which other metrics also use."""
    return metric.contributions is unchanged_sums and not metric.cross_fitted


def sums_of(metric: Metric, conventions: Conventions) -> list[Sums]:
    """Return the columns whose totals a metric is computed from."""
    names = metric.reads(conventions)
    if shares_sums(metric):
        return [Sums(name, (name,), partial(_statistic, name)) for name in names]
    reads = {*names, metric.counts}
    return [Sums(f"{metric.key} under {conventions}", reads, lambda evidence: evidence.contributions(metric), kept=False)]


def _statistic(name: str, evidence: Evidence) -> dict[str, Column]:
    return {name: evidence.statistics[name]}


def counts_of(metric: Metric, conventions: Conventions) -> Sums:
    """Return columns that count the questions and units of which a metric can use something."""
    if shares_sums(metric):
        return Sums(f"counts of {metric.counts}", (metric.counts,), lambda evidence: evidence.counts(metric))
    reads = {*metric.reads(conventions), metric.counts}
    return Sums(f"counts of {metric.key} under {conventions}", reads, lambda evidence: evidence.counts(metric))


def outcomes_of(metric: Metric, conventions: Conventions) -> Sums:
    """Return columns that count the units with a right answer, and those with an error, as a metric sees them."""
    name = SIDES_RIGHT if conventions.forecasts and metric.of_likelier_side else "correct"
    return Sums(f"outcomes by {name}", ("items", name), lambda evidence: evidence.outcomes(name))


def values_of_groups(metric: Metric, groups: Iterable[tuple[Floats, Floats]]) -> Floats:
    """Compute the kernel of a metric of pairs for groups of items, given by confidence and correctness, equal ones only once.

    Returns shape (groups,), or (metrics, groups), from which ``Metric.select_part`` picks one.
    """
    known: dict[tuple[bytes, bytes], Floats] = {}
    values = []
    for group in groups:
        key = group[0].tobytes(), group[1].tobytes()
        if key not in known:
            check_time_limit()
            known[key] = metric.kernel_values(*group)
        values.append(known[key])
    if not values:  # a call without items gives the shape
        return metric.kernel_values(*np.zeros((2, 0)))[..., None][..., :0]
    return np.stack(values, axis=-1)


def stepped_totals(drawn: Mapping[str, Floats], whole: Mapping[str, Floats], step: float) -> dict[str, Floats]:
    """Multiply the distance of drawn totals, shape (REPLICATES, ...), from those of the data, shape (...,), by ``step``.

    Numbers of items per bin stay those of the data.
    """
    totals = {name: whole[name] + step * (column - whole[name]) for name, column in drawn.items()}
    return totals | {name: whole[name][None] for name in totals if name == BIN_COLUMNS[0]}  # a number of items cannot be negative


def _values_without(
    metric: Metric, conventions: Conventions, totals: Mapping[str, Floats], columns: Mapping[str, Column], run: Ints
) -> Floats:
    """Compute a metric of totals for each row's run with the row left out, shape (rows,), NaN where undefined."""
    without = np.empty(len(run))
    width = sum(math.prod(total.shape[1:]) for total in totals.values())
    for first in range(0, len(run), at_once := max(1, NUMBERS_AT_ONCE // max(1, width))):
        check_time_limit()
        rows = slice(first, first + at_once)
        left = {name: totals[name][run[rows]] - dense(column[rows]) for name, column in columns.items()}
        without[rows] = metric.value(left, conventions)
    return without
