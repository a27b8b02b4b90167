"""Evidence: the statistics of a selection as arrays, from which every metric is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from data.sufficient_statistics import BIN_COLUMNS, SIDES_RIGHT
from queries.engine.bootstrap import (
    MAX_CLUSTERS,
    Draws,
    item_replicates,
    items_without_each,
    mass_bins_replicates,
    question_clusters,
)
from queries.engine.cluster_totals import ClusterTotals, shares_sums, values_without
from queries.engine.grouped_item_kernels import kernel_by_group
from queries.engine.repeated_samples import Samples
from queries.engine.run_columns import Floats, SparseColumn, dense, sparse, sum_by_place
from queries.engine.units import Units
from queries.metrics import Conventions, Metric
from queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Ints
from queries.metrics.kernels.bins import FOLDS, assign_mass_bins, fold_bins, mass_bins, question_folds
from queries.metrics.metric import ItemKernel, unchanged_sums
from queries.query_time_limit import check_time_limit

PERCENTS = 101  # cells of confidence for a metric without bins
WIDTHS = 10  # cells of confidence for a metric without bins whose distance is a sum of absolute values


def correct_column(metric: Metric, conventions: Conventions) -> str:
    """Return the statistic that says how many items are right as a metric sees it."""
    return SIDES_RIGHT if conventions.forecasts and metric.of_likelier_side else "correct"


@dataclass(frozen=True)
class Run:
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


class _UnitParts(NamedTuple):
    """The parts of runs that are in one unit, sorted by run, shape (parts,), and the part of each row, shape (rows,)."""

    run: Ints
    unit: Ints
    of_rows: Ints


@dataclass(frozen=True)
class Evidence:
    """Statistics of a selection per run and question. Rows are sorted by run and then by the dataset's order of questions.

    Attributes:
        starts: index of each run's first row, shape (runs,).
        selected_questions: ids of the questions of the selection, answered or not, in the dataset's order.
        places: index of each row's question in ``selected_questions``, shape (rows,).
        sums: plain statistics by name, each of shape (rows,) or (rows, ...).
        binned: statistics of bins by name, mostly 0, each of shape (rows, width).
        item_arrays: stored confidence and correctness of each item, in the order of the rows and of their clues, each of shape
            (items,). Metrics that are not functions of sums are computed from them. None if no metric or binning needs them.
        clustered, samples: None where single questions are the units of inference, and where no question has several samples.
        respondents: by run id, the answers of runs that contain the answers of many people.
        smooth: whether replicates give each question a random weight (the Bayesian bootstrap) instead of drawing questions.
        selected_by_answers: whether a filter on difficulties that come from runs selects the questions, so that tests and bands
            would mislead; see ``queries.engine.question_difficulties``.
    """

    runs: tuple[Run, ...]
    starts: NDArray[np.int64]
    selected_questions: NDArray[Any]
    places: NDArray[np.int64]
    sums: dict[str, Floats]
    binned: dict[str, SparseColumn]
    item_arrays: tuple[Floats, Floats] | None
    conventions: Conventions
    clustered: Units | None = None
    samples: Samples | None = None
    respondents: Mapping[str, Respondents] = field(default_factory=dict)
    smooth: bool = False
    with_extra_question: dict[tuple[bool, ...], Evidence] = field(default_factory=dict, repr=False, compare=False)
    selected_by_answers: bool = False
    _totals: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)
    _by_cluster: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)
    _mass_bins: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)
    _of_kernels: dict[tuple[ItemKernel, float], Floats] = field(default_factory=dict, repr=False, compare=False)
    _of_pairs: dict[tuple[ItemKernel, bytes], Floats] = field(default_factory=dict, repr=False, compare=False)
    _replicates: dict[tuple[Metric, float], Floats] = field(default_factory=dict, repr=False, compare=False)
    _of_runs: dict[bytes, Evidence] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ends(self) -> NDArray[np.int64]:
        """Index past each run's last row, shape (runs,)."""
        return np.append(self.starts, len(self.places))[1:]

    def run_facts(self, run: int) -> dict[str, Any]:
        """Return the fields that results state about a run, given its index: names and numbers of questions and items here."""
        rows = slice(self.starts[run], self.ends[run])
        questions, items = rows.stop - rows.start, int(self.sums["items"][rows].sum())
        return asdict(self.runs[run]) | {"questions": int(questions), "items": items}

    def places_of_runs(self) -> list[NDArray[np.int64]]:
        """Return the places of the questions that each run answered, ascending."""
        return np.split(self.places, self.starts[1:])

    @property
    def same_questions(self) -> bool:
        first, *others = self.places_of_runs()
        return all(np.array_equal(first, places) for places in others)

    @property
    def selected(self) -> int:
        """Number of questions of the selection, answered or not."""
        return len(self.selected_questions)

    @cached_property
    def questions(self) -> NDArray[Any]:
        """Question id of each row, shape (rows,)."""
        return self.selected_questions[self.places]

    def totals(self, contributions: Mapping[str, Floats | SparseColumn]) -> dict[str, Floats]:
        """Sum columns over each run's questions, shape (runs,) or (runs, ...) each."""
        return {name: self._total(values) for name, values in contributions.items()}

    def _total(self, values: Floats | SparseColumn) -> Floats:
        if isinstance(values, SparseColumn):
            return sum_by_place(values, self.run_of_rows, len(self.runs))
        return np.add.reduceat(values, self.starts, axis=0) if self.runs else np.zeros((0, *values.shape[1:]))

    def values(self, metric: Metric) -> Floats:
        """The metric of each run, shape (runs,), NaN where undefined."""
        check_time_limit()
        if metric.pairs is not None:
            return self._from_pairs(metric, self.starts)
        if self.is_function_of_totals(metric) and self.selected > MAX_CLUSTERS:
            return self.cluster_totals.values(metric)
        totals = self._metric_totals(metric, self.contributions(metric))
        return metric.value(totals | self._mass(metric, self.starts), self.conventions)

    def _metric_totals(self, metric: Metric, contributions: Mapping[str, Floats | SparseColumn]) -> dict[str, Floats]:
        """Return the totals of a metric's contributions, cached if other metrics use the same sums."""
        if not shares_sums(metric):
            return self.totals(contributions)
        for name in contributions.keys() - self._totals.keys():
            self._totals[name] = self._total(contributions[name])
        return {name: self._totals[name] for name in contributions}

    @cached_property
    def cluster_totals(self) -> ClusterTotals:
        columns, usable = self._columns_by_cluster, self.usable_by_cluster
        return ClusterTotals(len(self.runs), self.drawn_from, self.conventions, columns, usable, self.smooth)

    def _columns_by_cluster(self, metric: Metric, runs: slice) -> dict[str, Floats]:
        shared = shares_sums(metric)
        columns = {}
        for name, column in self.contributions(metric).items():
            if shared and name not in self._by_cluster:
                self._by_cluster[name] = self.sum_by_cluster(column)
            columns[name] = (self._by_cluster[name] if shared else self.sum_by_cluster(column))[:, runs]
        return columns

    def usable_by_cluster(self, metric: Metric) -> Floats:
        """Count the questions of each cluster and run that have what a metric needs, shape (clusters, runs)."""
        return self.sum_by_cluster(self._usable(metric, self.contributions(metric)))

    def units_by_cluster(self, metric: Metric) -> Floats:
        """Count the units of each cluster and run of which the metric can use a question, shape (clusters, runs)."""
        usable = self.by_unit(self._usable(metric, self.contributions(metric))) > 0
        place = question_clusters(self.units.count)[self._parts.unit] * len(self.runs) + self._parts.run
        shape = self.drawn_from, len(self.runs)
        return np.bincount(place, usable, self.drawn_from * len(self.runs)).reshape(shape).astype(float)

    def sum_by_cluster(self, column: Floats | SparseColumn) -> Floats:
        """Sum a column of shape (rows, ...) by cluster of questions and run, shape (clusters, runs, ...)."""
        clusters, runs = self.drawn_from, len(self.runs)
        totals = sum_by_place(column, self._cluster_and_run, clusters * runs)
        return totals.reshape(clusters, runs, *totals.shape[1:])

    def per_question(self, metric: Metric) -> Floats:
        """Compute the metric of each (run, question) separately, shape (rows,), NaN where undefined."""
        check_time_limit()
        if metric.pairs is not None:
            return self._from_pairs(metric, np.arange(len(self.places)))
        if metric.cross_fitted:  # one question has no halves
            return np.full(len(self.places), np.nan)
        columns = {name: dense(values) for name, values in self.contributions(metric).items()}
        return metric.value(columns | self._mass(metric, np.arange(len(self.places))), self.conventions)

    def replicates(self, metric: Metric, step: float = 1.0) -> Floats:
        """Compute the metric of each run in each bootstrap replicate, shape (REPLICATES, runs), NaN where undefined.

        Units are drawn from the whole selection, so all runs, and the same selection of other runs, share replicates. In a run
        with respondents, the respondents are drawn as well. ``step`` multiplies the weights' distance from the data, for the
        numerical derivative bootstrap; 1 is the ordinary bootstrap. Equal-mass bins are cut again in each replicate and only
        support 1.
        """
        if (metric, step) not in self._replicates:
            check_time_limit()
            values = self._computed_replicates(metric, step)
            for index, run in enumerate(self.runs):
                if run.run in self.respondents and self.respondents[run.run].can_draw(metric):
                    values[:, index] = self.respondents[run.run].replicates(metric, step)
            self._replicates[metric, step] = values
        return self._replicates[metric, step]

    def _computed_replicates(self, metric: Metric, step: float) -> Floats:
        if metric.pairs is not None:
            if (metric.pairs, step) not in self._of_kernels:
                self._of_kernels[metric.pairs, step] = self._by_run(partial(item_replicates, metric, step=step), metric)
            return metric.select_part(self._of_kernels[metric.pairs, step])
        if self.is_function_of_totals(metric):
            return self.cluster_totals.replicates(metric, step)
        assert self.conventions.mass_bins is not None
        mass = self._mass_drawn(self.conventions.mass_bins)
        return metric.value(self.cluster_totals.drawn(metric, without=BIN_COLUMNS) | mass, self.conventions)

    def pseudo_values(self, metric: Metric) -> Floats:
        """Compute the jackknife pseudo-values of each run, shape (units, runs).

        These are Q theta - (Q - 1) theta without unit q, over the run's Q usable units; NaN for the other units. For metrics that
        are not functions of totals and runs with more than ``MAX_CLUSTERS`` units, groups of units are left out instead; the
        units of a group then share its value.
        """
        result = np.full((self.units.count, len(self.runs)), np.nan)
        values, counts = self.values(metric), self.units_answered
        if self.is_function_of_totals(metric):
            contributions = self.contributions(metric)
            totals = self._metric_totals(metric, contributions)
            usable = self.by_unit(self._usable(metric, contributions)) > 0
            part_run, part_unit, _ = self._parts
            counts = np.bincount(part_run, usable, len(self.runs))[part_run]
            columns = {name: self.by_unit(column) for name, column in contributions.items()}
            without = values_without(metric, self.conventions, totals, columns, part_run)
            pseudo_values = counts * values[part_run] - (counts - 1) * without
            pseudo_values[~usable] = np.nan  # a unit that lacks what the metric needs carries no information
            result[part_unit, part_run] = pseudo_values
            return result
        for run in range(len(self.runs)):
            check_time_limit()
            rows = slice(self.starts[run], self.ends[run])
            few = counts[run] <= MAX_CLUSTERS
            group = np.unique((self.unit_of_rows if few else self.clusters)[rows], return_inverse=True)[1]
            groups = int(group.max()) + 1
            without = self._without_groups(metric, run, group, groups)
            result[self.unit_of_rows[rows], run] = (groups * values[run] - (groups - 1) * without)[group]
        return result

    def _without_groups(self, metric: Metric, run: int, group: NDArray[np.int64], groups: int) -> Floats:
        """Compute a metric of pairs or bins for one run, leaving out each group of its rows in turn, shape (groups,)."""
        items = np.repeat(group, self.sums["items"][self.starts[run] : self.ends[run]].astype(np.int64))
        confidence, correct = self.items_of(run, metric)
        if metric.pairs is not None:
            return items_without_each(metric, confidence, correct, items, groups)
        count = self.conventions.mass_bins
        assert count is not None
        totals = {}
        for name, column in self.contributions(metric).items():
            part = column[self.starts[run] : self.ends[run]]
            totals[name] = sum_by_place(part, np.zeros(len(part), np.int64), 1) - sum_by_place(part, group, groups)
        bins = [mass_bins(confidence[items != index], correct[items != index], count) for index in range(groups)]
        totals |= dict(zip(BIN_COLUMNS, map(np.array, zip(*bins, strict=True)), strict=True))
        return metric.value(totals, self.conventions)

    def residuals(self, metric: Metric) -> tuple[Floats, Floats]:
        """Sum the residuals c - y by cluster of questions, run and cell of confidence, shape (clusters, runs, cells).

        Returns also numbers of items, shape (runs, cells). Cells are the bins of the metric. For a metric of pairs they are ten
        equal widths if its distance is a sum, otherwise whole percents.
        """
        if metric.gaps is not None and self.is_function_of_totals(metric):
            return self.cluster_totals.residuals(metric)
        place = self._cluster_and_run
        many, shape = self.drawn_from * len(self.runs), (self.drawn_from, len(self.runs), -1)
        confidence, correct = self._pairs()
        cells, cell = self._cells_of_items(metric)
        at = np.repeat(place, self.sums["items"].astype(np.int64)) * cells + cell
        residual = np.bincount(at, confidence - correct, many * cells).astype(float).reshape(shape)
        return residual, np.bincount(at, minlength=many * cells).reshape(shape).sum(axis=0).astype(float)

    def bins_of_units(self) -> tuple[Ints, Ints, Floats, Floats]:
        """Return run, bin, items and sum of correctness of the non-empty bins of runs and units, shape (entries,) each."""
        names = (BIN_COLUMNS[0], BIN_COLUMNS[2])
        if self.conventions.mass_bins:
            columns = self._mass_columns()
            items, correct = (sparse(self.by_unit(columns[name])) for name in names)
            part, filled = np.repeat(np.arange(len(items)), np.diff(items.first)), items.values > 0
            run, place = self._parts.run[part[filled]], items.bin[filled].astype(np.int64)
            return run, place, items.values[filled], correct.values[filled]
        dense_columns = (dense(self.by_unit(self.statistics[name])) for name in names)
        in_bins, right = (fold_bins(column, self.conventions.binning) for column in dense_columns)
        part, place = np.nonzero(in_bins)
        return self._parts.run[part], place, in_bins[part, place], right[part, place]

    def _mass_columns(self) -> dict[str, SparseColumn]:
        confidence, correct = self._pairs()
        count, bins = self._mass_bins_of_items()
        rows = np.repeat(np.arange(len(self.places)), self.sums["items"].astype(np.int64))
        cells, entry = np.unique(rows * count + bins, return_inverse=True)
        row, place = np.divmod(cells, count)
        first = np.searchsorted(row, np.arange(len(self.places) + 1))
        summed = (None, confidence, correct)
        return {
            name: SparseColumn(first, place, np.bincount(entry, weights, len(cells)).astype(float), count)
            for name, weights in zip(BIN_COLUMNS, summed, strict=True)
        }

    def confidence_in_cells(self, metric: Metric) -> Floats:
        """Sum the confidence of the items of each run in each cell of ``residuals``, shape (runs, cells)."""
        if metric.gaps is not None and self.is_function_of_totals(metric):
            return fold_bins(self.cluster_totals.totals(metric)[BIN_COLUMNS[1]], self.conventions.binning)
        confidence, _ = self._pairs()
        cells, cell = self._cells_of_items(metric)
        run = np.repeat(self.run_of_rows, self.sums["items"].astype(np.int64))
        shape = len(self.runs), cells
        return np.bincount(run * cells + cell, confidence, len(self.runs) * cells).astype(float).reshape(shape)

    def _cells_of_items(self, metric: Metric) -> tuple[int, NDArray[np.int64]]:
        """Return the number of cells of confidence for ``residuals``, and the cell of each item, shape (items,)."""
        if metric.pairs is None and self.conventions.mass_bins is not None:
            return self._mass_bins_of_items()
        confidence, _ = self._pairs()
        if metric.distance == "sum":
            # With few items per cell, sign flips understate how much chance adds to sums of absolute values.
            return WIDTHS, np.minimum((confidence * WIDTHS).astype(np.int64), WIDTHS - 1)
        return PERCENTS, np.rint(confidence * (PERCENTS - 1)).astype(np.int64)

    def _mass_bins_of_items(self) -> tuple[int, NDArray[np.int64]]:
        """Return the number of equal-mass bins, and the bin of each item within its run, shape (items,)."""
        confidence, _ = self._pairs()
        count = self.conventions.mass_bins
        assert count is not None
        order, bins = assign_mass_bins(confidence, np.diff(self._cuts(self.starts)), count)
        cell = np.empty(len(order), np.int64)
        cell[order] = bins
        return count, cell

    def items_of(self, run: int, metric: Metric | None = None) -> tuple[Floats, Floats]:
        """Return confidence and correctness of a run's items, by question and clue, as a metric reads them, else as stored."""
        confidence, correct = self._pairs(metric)
        start, end = self._cuts(self.starts)[run : run + 2]
        return confidence[start:end], correct[start:end]

    def unit_of_items(self, run: int) -> Ints:
        """Return the unit of each item of one run, in the order of ``items_of``, shape (items,)."""
        rows = slice(self.starts[run], self.ends[run])
        return np.repeat(self.unit_of_rows[rows], self.sums["items"][rows].astype(np.int64))

    def questions_with(self, metric: Metric) -> NDArray[np.int64]:
        """Count the questions of each run that the metric can use, shape (runs,)."""
        return self._total(self._usable(metric, self.contributions(metric))).astype(int)

    def units_with(self, metric: Metric) -> Ints:
        """Count the units of each run of which the metric can use a question, shape (runs,)."""
        usable = self.by_unit(self._usable(metric, self.contributions(metric))) > 0
        return np.bincount(self._parts.run, usable, len(self.runs)).astype(np.int64)

    def rarer_outcomes(self, metric: Metric) -> Ints:
        """Count units of each run with an error, or with a right answer as the metric sees it, whichever are fewer."""
        items = self.by_unit(self.sums["items"])
        correct = self.by_unit(self.sums[correct_column(metric, self.conventions)])
        outcomes = (correct > 0, correct < items - ROUNDING_TOLERANCE * items)
        fewer: Ints = np.min([np.bincount(self._parts.run, part, len(self.runs)) for part in outcomes], axis=0).astype(np.int64)
        return fewer

    @cached_property
    def largest_clusters(self) -> Floats:
        """Number of items of a unit that can depend on each other, averaged over the items of each run, shape (runs,)."""
        items, run = self.by_unit(self.sums["items"]), self._parts.run
        return np.bincount(run, items**2, len(self.runs)) / np.bincount(run, items, len(self.runs))

    def _usable(self, metric: Metric, contributions: Mapping[str, Floats | SparseColumn]) -> Floats:
        """Return 1 where the question of a row has what the metric needs, else 0."""
        if "questions" in contributions:
            return dense(contributions["questions"])
        return (self.sums[metric.counts] > 0).astype(float)

    def of_runs(self, chosen: NDArray[np.bool_]) -> Evidence:
        """Select the runs for which ``chosen``, shape (runs,), is true."""
        if chosen.all():
            return self
        if chosen.tobytes() not in self._of_runs:
            self._of_runs[chosen.tobytes()] = self.select_rows(chosen[self.run_of_rows])
        return self._of_runs[chosen.tobytes()]

    def by_question(self) -> Evidence:
        """Return the same evidence with single questions as units."""
        return self if self.clustered is None else replace(self.select_rows(np.ones(len(self.places), bool)), clustered=None)

    def select_rows(self, rows: NDArray[np.bool_]) -> Evidence:
        """Select the rows for which ``rows``, shape (rows,), is true. Runs without any of them are left out."""
        left, starts = np.unique(self.run_of_rows[rows], return_index=True)
        pairs = self.item_arrays
        if pairs is not None:
            items = np.repeat(rows, self.sums["items"].astype(np.int64))
            pairs = pairs[0][items], pairs[1][items]
        return Evidence(
            runs=tuple(self.runs[index] for index in left),
            starts=starts.astype(np.int64),
            selected_questions=self.selected_questions,
            places=self.places[rows],
            sums={name: values[rows] for name, values in self.sums.items()},
            binned={name: column[rows] for name, column in self.binned.items()},
            item_arrays=pairs,
            conventions=self.conventions,
            clustered=self.clustered,
            samples=None if self.samples is None else self.samples.of_rows(rows),
            respondents={
                run: part.of_questions(self.places[rows & (self.run_of_rows == index)])
                for index in left
                if (part := self.respondents.get(run := self.runs[index].run))
            },
            selected_by_answers=self.selected_by_answers,
        )

    @property
    def statistics(self) -> dict[str, Floats | SparseColumn]:
        return {**self.sums, **self.binned}

    def is_function_of_totals(self, metric: Metric) -> bool:
        """Check whether a metric is a function of totals over questions: not one of pairs or of bins cut for the selection."""
        return metric.pairs is None and (metric.cross_fitted or not (metric.binned and self.conventions.mass_bins is not None))

    def contributions(self, metric: Metric) -> dict[str, Floats | SparseColumn]:
        """Return the columns whose totals over questions a metric is computed from, each of shape (rows,) or (rows, ...)."""
        if metric.cross_fitted:
            return {**self._by_fold}
        read = {name: self.statistics[name] for name in metric.reads(self.conventions)}
        if metric.contributions is unchanged_sums:
            return read
        contributions = metric.contributions({name: dense(values) for name, values in read.items()}, self.conventions)
        if self.samples is None or not metric.by_sample:
            return {**contributions}
        of_samples = {name: self.samples.sums[name] for name in metric.reads(self.conventions)}
        return {**self.samples.means(metric.contributions(of_samples, self.conventions), contributions)}

    @cached_property
    def _by_fold(self) -> dict[str, Floats | SparseColumn]:
        """Each row's sums, placed at the fold of its unit: the columns that ``kernels.bins.fold_totals`` sums."""
        by_mass = self.conventions.mass_bins is not None
        columns = self._mass_columns() if by_mass else {name: self.statistics[name] for name in BIN_COLUMNS}
        items, confidence, correct = (sparse(columns[name]) for name in BIN_COLUMNS)
        fold, width = self._folds[self.unit_of_rows], items.width
        places = np.repeat(fold * width, np.diff(items.first)) + items.bin
        rows = np.arange(len(self.places) + 1)
        return {
            "gaps_by_fold": SparseColumn(items.first, places, confidence.values - correct.values, FOLDS * width),
            "items_by_fold": SparseColumn(rows, fold, self.sums["items"], FOLDS),
            "correct": self.sums["correct"],
            "correct_sq": self.sums["correct_sq"],
        }

    @cached_property
    def _folds(self) -> Ints:
        """The fold of each unit, shape (units,)."""
        return question_folds(self.units.keys)

    def _mass_drawn(self, count: int) -> dict[str, Floats]:
        if not self._mass_bins:
            bins = self._by_run(partial(mass_bins_replicates, count=count), None)  # (3, bins, REPLICATES, runs)
            self._mass_bins.update(zip(BIN_COLUMNS, np.moveaxis(bins, 1, -1), strict=True))
        return self._mass_bins

    def _by_run(self, replicates: Callable[[Floats, Floats, Ints, Draws], Floats], metric: Metric | None) -> Floats:
        """Compute replicates of shape (..., REPLICATES, runs) from the items of one run after another; see ``items_of``."""
        if not self.runs:  # a call without items gives the shape of the replicates
            nothing = np.zeros(0, np.int64)
            empty = replicates(np.zeros(0), np.zeros(0), nothing, Draws("questions", nothing, self.drawn_from))
            return np.zeros((*empty.shape, 0))
        return np.stack([self._replicates_of(run, replicates, metric) for run in range(len(self.runs))], axis=-1)

    def _replicates_of(
        self, run: int, replicates: Callable[[Floats, Floats, Ints, Draws], Floats], metric: Metric | None
    ) -> Floats:
        rows = slice(self.starts[run], self.ends[run])
        sizes = self.sums["items"][rows].astype(np.int64)
        draws = Draws("weights" if self.smooth else "questions", self.clusters[rows], self.drawn_from)
        return replicates(*self.items_of(run, metric), np.repeat(np.arange(len(sizes)), sizes), draws)

    @cached_property
    def units(self) -> Units:
        """The units of inference: what is drawn, left out and flipped."""
        return self.clustered or Units.single(self.selected_questions)

    @property
    def in_one_cluster(self) -> bool:
        """Whether all questions are in one cluster, so that there are no intervals, tests and bands."""
        return self.clustered is not None and self.clustered.count < 2

    @cached_property
    def unit_of_rows(self) -> Ints:
        return self.units.of_questions[self.places]

    @cached_property
    def _parts(self) -> _UnitParts:
        """The parts of runs that are in one unit: rows, where units are questions."""
        if self.units.are_questions:
            return _UnitParts(self.run_of_rows, self.unit_of_rows, np.arange(len(self.places)))
        parts, of_rows = np.unique(self.run_of_rows * self.units.count + self.unit_of_rows, return_inverse=True)
        return _UnitParts(*np.divmod(parts, self.units.count), of_rows)

    @overload
    def by_unit(self, column: Floats) -> Floats: ...
    @overload
    def by_unit(self, column: Floats | SparseColumn) -> Floats | SparseColumn: ...
    def by_unit(self, column: Floats | SparseColumn) -> Floats | SparseColumn:
        """Sum a column of shape (rows, ...) over the rows of each run and unit, shape (parts, ...)."""
        if self.units.are_questions:
            return column
        return sum_by_place(column, self._parts.of_rows, len(self._parts.run))

    @cached_property
    def units_answered(self) -> Ints:
        return np.bincount(self._parts.run, minlength=len(self.runs)).astype(np.int64)

    @cached_property
    def clusters(self) -> NDArray[np.int64]:
        """Group of units that each row's question is drawn with, shape (rows,)."""
        return self.units.drawn[self.places]

    @cached_property
    def _cluster_and_run(self) -> NDArray[np.int64]:
        return self.clusters * len(self.runs) + self.run_of_rows

    @property
    def drawn_from(self) -> int:
        return self.units.drawn_from

    @cached_property
    def run_of_rows(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.runs)), self.ends - self.starts)

    def _mass(self, metric: Metric, firsts: NDArray[np.int64]) -> dict[str, Floats]:
        """Compute totals per equal-mass bin of the rows from each of ``firsts`` to the next, shape (firsts, bins)."""
        count = self.conventions.mass_bins
        if self.is_function_of_totals(metric) or count is None:
            return {}
        bins = mass_bins(*self._pairs(), count, np.diff(self._cuts(firsts)))
        return dict(zip(BIN_COLUMNS, bins, strict=True))

    def _from_pairs(self, metric: Metric, firsts: NDArray[np.int64]) -> Floats:
        """Compute a metric of pairs over the rows from each of ``firsts`` to the next, shape (firsts,)."""
        if not len(firsts):
            return np.zeros(0)
        assert metric.pairs is not None
        key = metric.pairs, firsts.tobytes()  # several metrics can share a kernel
        if key not in self._of_pairs:
            self._of_pairs[key] = kernel_by_group(metric, *self._pairs(metric), self._cuts(firsts).tolist())
        return metric.select_part(self._of_pairs[key]).copy()

    def _pairs(self, metric: Metric | None = None) -> tuple[Floats, Floats]:
        assert self.item_arrays is not None, "gathered for metrics that need no pairs"
        return self.item_arrays if metric is None else metric.side(*self.item_arrays, self.conventions)

    def _cuts(self, firsts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the first item of each of the rows ``firsts``, then the number of items, shape (firsts + 1,)."""
        return self._items_before[np.append(firsts, len(self.places)).astype(np.int64)]

    @cached_property
    def _items_before(self) -> NDArray[np.int64]:
        """Number of items before each row and, last, of all items, shape (rows + 1,)."""
        return np.append(0.0, np.cumsum(self.sums["items"])).astype(np.int64)
