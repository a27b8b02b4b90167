"""Rows: the statistics of some runs by question, stored for whole questions, computed from items where only some are selected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clueline.data.store import Snapshot
from clueline.data.store.run_cache import kept_property
from clueline.data.sufficient_statistics import BIN_COLUMNS, SIDES_RIGHT, STATISTICS, Bins, Items, bin_sums, sums
from clueline.queries.engine import distribution_statistics, run_columns
from clueline.queries.engine.distribution_columns import RunDistributions
from clueline.queries.engine.question_difficulties import QuestionDifficulties, read_difficulties
from clueline.queries.engine.run_columns import Clues, Floats, SparseColumn, bin_columns, joined, rows_of_questions
from clueline.queries.engine.selected_answers import has_other_states, item_filters
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.metrics.kernels.item_totals import net_reward
from clueline.queries.metrics.metric import ATTEMPTED_ITEMS, NET_REWARD
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.selection import Selection

NET_SCORE = CATALOGUE["net_score"]
ALWAYS_READ = ("items", "confidence", "correct")  # the methods of intervals depend on them, whatever the metric


@dataclass(frozen=True)
class Samples:
    """The samples of questions that have several: their statistics by name, and the row of each, shape (samples,)."""

    row: Ints
    sums: dict[str, Floats]

    def of_rows(self, rows: NDArray[np.bool_]) -> Samples:
        """Select the samples of the rows for which ``rows``, shape (rows,), is true, and renumber the rows."""
        kept = rows[self.row]
        number = np.cumsum(rows) - 1
        return Samples(number[self.row[kept]], {name: values[kept] for name, values in self.sums.items()})

    def means(self, columns: Mapping[str, Floats], rows: Mapping[str, Floats]) -> dict[str, Floats]:
        """Replace the value of each row that has samples by the mean over its samples.

        If there is a column ``questions``, which says where a metric is defined, the mean is that over the samples where it is.
        """
        result = {}
        for name, values in rows.items():
            counts = np.bincount(self.row, minlength=len(values))
            sums = np.bincount(self.row, columns[name], len(values))
            result[name] = np.where(counts > 0, sums / np.maximum(counts, 1), values)
        if "questions" in result:
            defined = result["questions"]
            result = {
                name: np.where(defined > 0, values / np.where(defined > 0, defined, 1.0), values)
                for name, values in result.items()
            }
        return result


@dataclass(frozen=True)
class SortedItems:
    """Items, run by run, those of a run by ascending confidence, and equal ones in the order of questions and clues.

    ``row`` is the index of each item's row. All have shape (items,).
    """

    row: Ints
    confidence: Floats
    correct: Floats

    @classmethod
    def concatenate(cls, parts: Sequence[SortedItems]) -> SortedItems:
        columns = (("row", np.int64), ("confidence", float), ("correct", float))
        return cls(*(joined([getattr(part, name) for part in parts], kind) for name, kind in columns))

    def of_rows(self, rows: NDArray[np.bool_]) -> SortedItems:
        """Select the items of the rows for which ``rows``, shape (rows,), is true, and renumber the rows."""
        kept, number = rows[self.row], np.cumsum(rows) - 1
        return SortedItems(number[self.row[kept]], self.confidence[kept], self.correct[kept])


@dataclass(frozen=True)
class Rows:
    """Statistics by run and, within a run, by question in the dataset's order.

    Attributes:
        run: index of each row's run, ascending, shape (rows,).
        places: index of each row's question among the selected questions, shape (rows,).
        sums: plain statistics by name, each of shape (rows,) or (rows, ...).
        binned: statistics of bins by name, mostly 0, each of shape (rows, width).
        items: None if no metric or binning needs them.
        samples: None where no question has several samples.
        sample: the sample of each row, empty unless there is one row per sample.
    """

    run: Ints
    places: Ints
    sums: dict[str, Floats]
    binned: dict[str, SparseColumn] = field(default_factory=dict)
    items: SortedItems | None = None
    samples: Samples | None = None
    sample: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def select(self, kept: NDArray[np.bool_]) -> Rows:
        """Select the rows for which ``kept``, shape (rows,), is true. Runs are numbered as before."""
        at = np.flatnonzero(kept)  # looked for only once
        return Rows(
            self.run[at],
            self.places[at],
            {name: values[at] for name, values in self.sums.items()},
            {name: column[kept] for name, column in self.binned.items()},
            self.items and self.items.of_rows(kept),
            self.samples and self.samples.of_rows(kept),
        )


class Responses(NamedTuple):
    """Items of one run, in the order of questions, samples and clues. ``place`` is that of the chosen question.

    ``order`` are the items by ascending confidence; None if they were not sorted yet.
    """

    place: Ints
    clue: NDArray[np.integer[Any]]
    confidence: Floats
    correct: Floats
    sample: Ints | None = None
    order: NDArray[np.int32] | None = None


class _RunRows(NamedTuple):
    """Rows of one run. ``items`` are None if only stored statistics are needed. ``order`` is as in ``Responses``."""

    run: int
    places: Ints
    sums: dict[str, Floats]
    bins: Bins | None
    items: Items | None
    sample: Ints | None = None
    order: NDArray[np.integer[Any]] | None = None


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of the selected questions and runs, by what metrics need. The selection has the dataset's conventions.

    ``responses`` and ``distributions``, by run, are used instead of the stored ones, and must already be filtered; runs without
    an entry have no responses. With ``by_clue``, there is a row for each clue, and places are those of ``clue_questions``.
    """

    snapshot: Snapshot
    selection: Selection
    metrics: Sequence[Metric]
    questions: pl.DataFrame
    runs: pl.DataFrame
    responses: Mapping[str, Responses] | None = None
    distributions: Mapping[str, RunDistributions] | None = None
    by_clue: bool = False

    @kept_property
    def reads(self) -> set[str]:
        """The statistics that the metrics are computed from."""
        conventions = self.selection.conventions
        reads = {*ALWAYS_READ}.union(*(metric.reads(conventions) for metric in self.metrics))
        cut = {*BIN_COLUMNS} if conventions.mass_bins else set()  # from the items
        return reads - cut | ({SIDES_RIGHT} if conventions.forecasts else set())

    @kept_property
    def with_items(self) -> bool:
        """Whether there is a metric that needs more than the stored statistics of questions."""
        conventions = self.selection.conventions
        rebinned = conventions.closed == "right" and bool(self.reads & {*BIN_COLUMNS})
        by_mass = conventions.mass_bins is not None and any(metric.binned for metric in self.metrics)
        return rebinned or by_mass or NET_REWARD in self.reads or any(metric.pairs is not None for metric in self.metrics)

    @kept_property
    def stored(self) -> bool:
        """Whether the stored statistics can be used: all items of each question, those with a confidence, are selected."""
        other_states = has_other_states(self.runs, self.selection.items)
        return self.responses is None and not self.selection.filters_items and not other_states and not self.by_clue

    @kept_property
    def positions(self) -> Ints:
        return self.questions["position"].cast(pl.Int64).to_numpy()

    @kept_property
    def clue_questions(self) -> Ints:
        """Index of the question of each clue of the selected questions, shape (clues,)."""
        of_clues, _ = run_columns.clues(self.snapshot, self.selection.dataset).numbered()
        sizes = np.bincount(of_clues, minlength=int(self.positions.max(initial=-1)) + 1)[self.positions]
        return np.repeat(np.arange(len(self.positions)), sizes)

    @kept_property
    def difficulties(self) -> QuestionDifficulties:
        return read_difficulties(self.snapshot, self.selection, self.questions)

    def read(self, runs: Sequence[str], reads: Set[str] | None = None, source: Snapshot | None = None) -> Rows:
        """Return the statistics of some runs, by default all that the metrics need along with items, perhaps from ``source``."""
        needed, with_items = (self.reads, self.with_items) if reads is None else (reads, False)
        parts = self._stored(source or self.snapshot, runs, needed, with_items) if self.stored else self._computed(runs, needed)
        rows = self._joined(parts, runs, needed, with_items)
        whole = needed & {*distribution_statistics.COLUMNS}
        if whole:
            of_rows = distribution_statistics.distribution_sums(
                self.snapshot, self.selection, runs, self.positions, (rows.run, rows.places), whole, self.distributions or {}
            )
            rows.sums.update(of_rows[0])
            rows.binned.update(of_rows[1])
        by_sample = {name for metric in self.metrics if metric.by_sample for name in metric.reads(self.selection.conventions)}
        sampled = np.array([self._samples[run] > 1 for run in runs], dtype=bool)
        if not by_sample or not sampled.any():
            return rows
        of_samples, width = self.read_samples([run for run in runs if self._samples[run] > 1], by_sample), len(self.questions)
        run = np.flatnonzero(sampled)[of_samples.run]
        row = np.searchsorted(rows.run * width + rows.places, run * width + of_samples.places)
        return replace(rows, samples=Samples(row, of_samples.sums))

    @kept_property
    def _samples(self) -> dict[str, int]:
        return dict(self.runs.select("run", "samples").iter_rows())

    def read_samples(self, runs: Sequence[str], reads: Set[str], with_items: bool = False) -> Rows:
        """Return rows for each sample of a question. All of the runs must have samples."""
        return self._joined(self._computed(runs, reads, by_sample=True), runs, reads, with_items)

    def _joined(self, parts: Iterable[_RunRows], runs: Sequence[str], reads: Set[str], with_items: bool) -> Rows:
        names = reads - {*BIN_COLUMNS, *distribution_statistics.COLUMNS}
        filled, items, before = [], [], 0
        for part in parts:
            if len(part.places):
                if with_items and part.items is not None:
                    items.append(_sorted_items(part.items, part.order, before))
                completed = part.sums | self._further_sums(part, runs[part.run], reads)
                filled.append(part._replace(sums=completed, items=None, order=None))  # the other items are released
                before += len(part.places)
        bins = [part.bins for part in filled if part.bins is not None]
        return Rows(
            run=np.repeat([part.run for part in filled], [len(part.places) for part in filled]).astype(np.int64),
            places=joined([part.places for part in filled], np.int64),
            sums={name: joined([part.sums[name] for part in filled], float) for name in names},
            binned=bin_columns(Bins.concatenate(bins)) if reads & {*BIN_COLUMNS} else {},
            items=SortedItems.concatenate(items) if with_items else None,
            sample=joined([part.sample for part in filled if part.sample is not None], np.int64),
        )

    def _further_sums(self, part: _RunRows, run: str, reads: Set[str]) -> dict[str, Floats]:
        """Return the statistics that depend on the selection."""
        further, conventions = {}, self.selection.conventions
        if NET_REWARD in reads and part.items is not None:
            sides = NET_SCORE.side(part.items.confidence, part.items.correct, conventions)
            further[NET_REWARD] = part.items.total(net_reward(*sides, conventions.t))
        if ATTEMPTED_ITEMS in reads:  # statistics are stored of runs that attempted every item
            further[ATTEMPTED_ITEMS] = part.sums["correct" if self.selection.items.attempts and not self.stored else "items"]
        if "difficulty" in reads:
            further["difficulty"] = self.difficulties.of_run(run)[part.places]
        return further

    def _stored(self, source: Snapshot, runs: Sequence[str], reads: Set[str], with_items: bool) -> Iterator[_RunRows]:
        """Yield the rows of each run from the statistics that were stored at its import."""
        dataset, closed = self.selection.dataset, self.selection.conventions.closed
        rows, places = rows_of_questions(run_columns.row_positions(source, dataset, runs), self.positions)
        columns = run_columns.statistic_columns(source, dataset, runs, reads & STATISTICS.keys())
        binned = bool(reads & {*BIN_COLUMNS})
        bins = run_columns.run_bins(source, dataset, runs) if binned and closed == "left" else None
        items_of_runs = run_columns.run_items(source, dataset, runs) if with_items else None
        for index, (row, place) in enumerate(zip(rows, places, strict=True)):
            whole = len(row) == len(self.positions) and all(len(column[index]) == len(row) for column in columns.values())
            of_run = {name: column[index] if whole else column[index][row] for name, column in columns.items()}
            items = order = None
            if items_of_runs is not None:
                part = items_of_runs[index]
                chosen, sizes = part.of_rows(row)
                items = Items(part.confidence[chosen], part.correct[chosen], np.append(0, np.cumsum(sizes)))
                order = part.order_of(chosen)
            of_bins = bin_sums(items, closed) if binned and bins is None and items is not None else bins and bins[index].take(row)
            yield _RunRows(index, place, of_run, of_bins or None, items, order=order)

    def _computed(self, runs: Sequence[str], reads: Set[str], by_sample: bool = False) -> Iterator[_RunRows]:
        """Yield the rows of each run, or of each of its samples, from the items that the selection keeps."""
        dataset, binned = self.selection.dataset, bool(reads & {*BIN_COLUMNS})
        clues = run_columns.clues(self.snapshot, dataset)
        for index, part in self._selected(runs, clues):
            at = clues.first[self.positions[part.place]] + part.clue
            if self.by_clue:
                part, at = self._placed_by_clue(part, at)  # noqa: PLW2901
            starts = np.flatnonzero(np.diff(part.place, prepend=-1))
            sequences, sample = None if part.sample is None else run_columns.sequence_starts(part.place, part.sample), None
            if by_sample and sequences is not None and part.sample is not None:
                starts, sequences = sequences[:-1], None
                sample = part.sample[starts]
            first = np.append(starts, len(part.place))
            items = Items(part.confidence, part.correct, first, clues.curves_at(at), sequences, clues.words[at])
            bins = bin_sums(items, self.selection.conventions.closed) if binned and len(starts) else None
            yield _RunRows(index, part.place[starts], sums(items, reads & STATISTICS.keys()), bins, items, sample, part.order)

    def _placed_by_clue(self, part: Responses, at: Ints) -> tuple[Responses, Ints]:
        """Return responses with the place of their clue in ``clue_questions``, and ``at`` in the same order, samples together."""
        firsts = np.searchsorted(self.clue_questions, np.arange(len(self.positions)))
        place = firsts[part.place] + part.clue
        order = np.argsort(place, kind="stable")
        return Responses(place[order], part.clue[order], part.confidence[order], part.correct[order]), at[order]

    def _selected(self, runs: Sequence[str], clues: Clues) -> Iterator[tuple[int, Responses]]:
        """Yield the index and the responses of each run that the selection keeps."""
        if self.responses is not None:
            yield from ((index, self.responses[run]) for index, run in enumerate(runs) if run in self.responses)
            return
        snapshot, dataset = self.snapshot, self.selection.dataset
        for indices in run_columns.batches_of_runs(snapshot, dataset, runs):
            check_time_limit()
            names = [runs[index] for index in indices]
            items_of_runs = run_columns.run_items(snapshot, dataset, names, self.selection.items)
            filters = item_filters(snapshot, self.selection, names, self.positions)
            rows, places = rows_of_questions([items.positions for items in items_of_runs], self.positions)
            for index, items, item_filter, row, question in zip(indices, items_of_runs, filters, rows, places, strict=True):
                entries, sizes = items.of_rows(row)
                place, clue = np.repeat(question, sizes), items.clue[entries]
                if self.selection.filters_items:
                    kept = np.flatnonzero(item_filter.kept(entries, self.positions[place], clue))
                    entries, place, clue = entries[kept], place[kept], clue[kept]
                sample, order = None if items.sample is None else items.sample[entries], items.order_of(entries)
                yield index, Responses(place, clue, items.confidence[entries], items.correct[entries], sample, order)


def _sorted_items(items: Items, order: NDArray[np.integer[Any]] | None, first_row: int) -> SortedItems:
    if order is None:
        order = np.argsort(items.confidence, kind="stable")
    row = np.repeat(np.arange(first_row, first_row + len(items.first) - 1), np.diff(items.first))
    return SortedItems(row[order], items.confidence[order], items.correct[order])
