"""The statistics behind a selection, as arrays: what every metric is computed from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.statistics import BIN_COLUMNS, BINS_USED, select_sql
from data.store import Snapshot
from data.sums import spread
from queries import distributions
from queries.metrics import Conventions, Metric
from queries.metrics.kernels.bins import mass_bins
from queries.metrics.metric import Sums, as_they_are
from queries.resampling import (
    REPLICATES,
    clusters,
    draw,
    drawn_from,
    mass_bins_replicates,
    pairs_replicates,
)
from queries.selection import Selection

Floats = NDArray[np.float64]
DRAWN_AT_ONCE = 20_000_000  # numbers of replicates held in memory at a time, where there are parts


@dataclass(frozen=True)
class Run:
    """A run as results name it."""

    run: str
    model: str
    elicitation: str


@dataclass(frozen=True)
class Evidence:
    """Per (run, question) statistics of a selection, sorted by run and, within one, by the dataset's order of questions.

    Attributes:
        runs: the runs of the selection that answered any of its questions, in order of import.
        starts: index of each run's first row, shape (runs,).
        questions: question id of each row.
        places: place of each row's question among those of the selection, from 0.
        selected: questions of the selection, answered or not.
        sums: the statistics, each of shape (rows,) or (rows, ...).
        item_pairs: where equal-mass bins or a metric ask for them, confidence and correctness of each item, in the order of
            the rows and of their clues, each of shape (items,): what is no sum is computed anew for whatever is looked at.
        conventions: under which it was gathered.
    """

    runs: tuple[Run, ...]
    starts: NDArray[np.int64]
    questions: NDArray[Any]
    places: NDArray[np.int64]
    selected: int
    sums: dict[str, Floats]
    item_pairs: tuple[Floats, Floats] | None
    conventions: Conventions
    _resampled: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ends(self) -> NDArray[np.int64]:
        """Index past each run's last row, shape (runs,)."""
        return np.append(self.starts, len(self.questions))[1:]

    def totals(self, contributions: Sums) -> dict[str, Floats]:
        """Sums over each run's questions, shape (runs,) or (runs, ...)."""
        if not self.runs:
            return {name: np.zeros((0, *values.shape[1:])) for name, values in contributions.items()}
        return {name: np.add.reduceat(values, self.starts, axis=0) for name, values in contributions.items()}

    def values(self, metric: Metric) -> Floats:
        """The metric of each run, shape (runs,), NaN where undefined."""
        if metric.pairs is not None:
            return self._from_pairs(metric, self.starts)
        totals = self.totals(self._contributions(metric))
        return metric.value(totals | self._mass(metric, self.starts), self.conventions)

    def per_question(self, metric: Metric) -> Floats:
        """The metric of each (run, question) by itself, shape (rows,), NaN where undefined."""
        if metric.pairs is not None:
            return self._from_pairs(metric, np.arange(len(self.questions)))
        each = dict(self._contributions(metric))
        return metric.value(each | self._mass(metric, np.arange(len(self.questions))), self.conventions)

    def replicates(self, metric: Metric) -> Floats:
        """The metric of each run in each bootstrap replicate, shape (REPLICATES, runs), NaN where undefined.

        Questions are drawn from the whole selection, so that all runs, and the same selection of other runs, share replicates.
        """
        if metric.pairs is not None:
            return self._by_run(lambda run: pairs_replicates(metric, *run))
        contributions = self._contributions(metric)
        mass = self._mass_drawn(self.conventions.mass_bins) if metric.binned and self.conventions.mass_bins else {}
        plain = metric.contributions is as_they_are
        totals = {
            name: self._drawn(values, name if plain else None) for name, values in contributions.items() if name not in mass
        }
        totals |= mass
        return metric.value(totals, self.conventions)

    def in_parts(self, metric: Metric, parts: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """The metric of each run in parts of the evidence, and its replicates: as of what ``keep`` leaves, but at once.

        Args:
            metric: any that it was gathered for.
            parts: which rows are in each part, shape (parts, rows).

        Returns:
            values of shape (parts, runs), and replicates of shape (parts, REPLICATES, runs); NaN where a run has no row.
        """
        values = np.full((len(parts), len(self.runs)), np.nan)
        replicates = np.full((len(parts), REPLICATES, len(self.runs)), np.nan)
        if metric.pairs is not None or self._mass(metric, self.starts):
            place = {run: index for index, run in enumerate(self.runs)}
            for index, rows in enumerate(parts):
                part = self.keep(rows)
                if part.runs:
                    there = [place[run] for run in part.runs]
                    values[index, there] = part.values(metric)
                    replicates[index][:, there] = part.replicates(metric)
            return values, replicates
        contributions = self._contributions(metric)
        width = sum(math.prod(column.shape[1:]) for column in contributions.values())
        at_once = max(1, DRAWN_AT_ONCE // max(1, REPLICATES * len(self.runs) * width))
        for start in range(0, len(parts), at_once):
            chosen = slice(start, start + at_once)
            # Rows outside a part add 0 to it; parts are one more axis of every column.
            inside = {name: np.einsum("r...,pr->rp...", column, parts[chosen]) for name, column in contributions.items()}
            values[chosen] = metric.value(self.totals(inside), self.conventions).T
            drawn = {name: self._drawn(column, None) for name, column in inside.items()}
            replicates[chosen] = np.moveaxis(metric.value(drawn, self.conventions), 2, 0)
        empty = self.totals({"rows": parts.T.astype(float)})["rows"].T == 0
        values[empty] = np.nan
        replicates[np.broadcast_to(empty[:, None, :], replicates.shape)] = np.nan
        return values, replicates

    def items_of(self, run: int) -> tuple[Floats, Floats]:
        """Confidence and correctness of each item of one run, in the order of questions and clues, shape (items,) each."""
        confidence, correct = self._pairs()
        start, end = self._cuts(self.starts)[run : run + 2]
        return confidence[start:end], correct[start:end]

    def questions_with(self, metric: Metric) -> NDArray[np.int64]:
        """Questions of each run that the metric could use, shape (runs,)."""
        each = self._contributions(metric).get("questions", np.ones(len(self.questions)))
        return self.totals({"questions": each})["questions"].astype(int)

    def keep(self, rows: NDArray[np.bool_]) -> Evidence:
        """Only some rows, from the same selection; runs that have none of them are left out."""
        run = np.repeat(np.arange(len(self.runs)), self.ends - self.starts)[rows]
        left, starts = np.unique(run, return_index=True)
        pairs = self.item_pairs
        if pairs is not None:
            items = np.repeat(rows, self.sums["items"].astype(np.int64))
            pairs = pairs[0][items], pairs[1][items]
        return Evidence(
            runs=tuple(self.runs[index] for index in left),
            starts=starts.astype(np.int64),
            questions=self.questions[rows],
            places=self.places[rows],
            selected=self.selected,
            sums={name: values[rows] for name, values in self.sums.items()},
            item_pairs=pairs,
            conventions=self.conventions,
        )

    def _contributions(self, metric: Metric) -> Sums:
        return metric.contributions({name: self.sums[name] for name in metric.reads(self.conventions)}, self.conventions)

    def _drawn(self, values: Floats, name: str | None) -> Floats:
        """Totals per replicate and run of a column of shape (rows, ...): shape (REPLICATES, runs, ...).

        Args:
            values: the column.
            name: under which it is kept for the next metric that needs it; None where it is the metric's own.
        """
        if name is None or name not in self._resampled:
            drawn = draw(self._clusters(), self._run_of_rows(), len(self.runs), self._drawn_from(), values)
            if name is None:
                return drawn
            self._resampled[name] = drawn
        return self._resampled[name]

    def _mass_drawn(self, count: int) -> dict[str, Floats]:
        """Totals per equal-mass bin in each replicate, shape (REPLICATES, runs, bins)."""
        if BIN_COLUMNS[0] not in self._resampled:
            bins = np.moveaxis(self._by_run(lambda run: mass_bins_replicates(*run, count), 3, count), 2, 0)
            self._resampled.update(zip(BIN_COLUMNS, bins, strict=True))
        return {name: self._resampled[name] for name in BIN_COLUMNS}

    def _by_run(self, replicates: Callable[[tuple[Floats, Floats, NDArray[np.int64], int]], Floats], *shape: int) -> Floats:
        """Replicates, each of a shape, of what needs the items of one run after the other, stacked along the second axis."""
        confidence, correct = self._pairs()
        cuts = self._cuts(self.starts).tolist()
        cluster = np.repeat(self._clusters(), self.sums["items"].astype(np.int64))
        runs = [replicates((confidence[a:b], correct[a:b], cluster[a:b], self._drawn_from())) for a, b in pairwise(cuts)]
        return np.stack(runs, axis=1) if runs else np.zeros((REPLICATES, 0, *shape))

    def _clusters(self) -> NDArray[np.int64]:
        return clusters(self.selected)[self.places]

    def _drawn_from(self) -> int:
        """Number of clusters that replicates draw from."""
        return drawn_from(self.selected)

    def _run_of_rows(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.runs)), self.ends - self.starts)

    def _mass(self, metric: Metric, firsts: NDArray[np.int64]) -> dict[str, Floats]:
        """Totals per equal-mass bin of the rows from each of ``firsts`` to the next, shape (firsts, bins)."""
        count = self.conventions.mass_bins
        if not metric.binned or count is None:
            return {}
        bins = mass_bins(*self._pairs(), count, np.diff(self._cuts(firsts)))
        return dict(zip(BIN_COLUMNS, bins, strict=True))

    def _from_pairs(self, metric: Metric, firsts: NDArray[np.int64]) -> Floats:
        """A metric of pairs over the rows from each of ``firsts`` to the next, shape (firsts,)."""
        confidence, correct = self._pairs()
        cuts = self._cuts(firsts).tolist()
        return np.array([metric.of_pairs(confidence[a:b], correct[a:b]) for a, b in pairwise(cuts)], dtype=float)

    def _pairs(self) -> tuple[Floats, Floats]:
        assert self.item_pairs is not None, "gathered for metrics that need no pairs"
        return self.item_pairs

    def _cuts(self, firsts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Index of the first item of each of the rows ``firsts``, and the number of items, shape (firsts + 1,)."""
        before = np.append(0.0, np.cumsum(self.sums["items"])).astype(np.int64)
        return before[np.append(firsts, len(self.questions)).astype(np.int64)]


def gather(snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric], responses: str | None = None) -> Evidence:
    """Read what the metrics need for a selection.

    Whole questions come from the statistics kept at ingest; where clues are filtered, the same statistics are computed from the
    responses that remain. An equal-mass binning needs the responses themselves.

    Args:
        snapshot: the store.
        selection: what is looked at.
        metrics: what will be asked of the evidence.
        responses: table to read in place of the store's responses, and then of the statistics kept of them.
    """
    reads = {name for metric in metrics for name in metric.reads(selection.conventions)}
    whole = reads & {*distributions.COLUMNS}
    needed = sorted(reads - whole - {"difficulty"} | {"items"})
    binned = [BINS_USED] if reads & {*BIN_COLUMNS} else []
    kept = ", ".join(f"s.{name}" for name in [*needed, *binned])
    with_clauses, parameters = chosen(selection)
    asked = snapshot.frame(f"{with_clauses} select question_id, difficulty from chosen_questions order by place", parameters)
    runs = snapshot.frame(f"{with_clauses} select run, model, elicitation from chosen_runs order by place", parameters)
    anew = bool(selection.revealed or responses)
    source = f"({select_sql(kept_responses(selection, parameters, responses))})" if anew else "statistics"
    rows = snapshot.frame(
        f"""{with_clauses}
        select r.place as run, q.place, {kept}
        from chosen_runs r join {source} s on s.run = r.run join chosen_questions q on q.question_id = s.question_id
        order by r.place, q.place""",
        parameters,
    )
    places, run = rows["place"].to_numpy().astype(np.int64), rows["run"].to_numpy()
    starts = np.flatnonzero(np.diff(run, prepend=-1))
    answered = runs[run[starts]]
    by_mass = selection.conventions.mass_bins and any(metric.binned for metric in metrics)
    pairs = by_mass or any(metric.pairs is not None for metric in metrics)
    sums = {name: _numbers(rows[name]) for name in needed if name not in BIN_COLUMNS}
    sums["difficulty"] = _numbers(asked["difficulty"])[places]
    if binned:
        used = rows[BINS_USED].to_numpy()
        sums |= {name: spread(used, rows[name].explode().to_numpy()) for name in BIN_COLUMNS if name in reads}
    if whole:
        answers = distributions.Source(with_clauses, kept_responses(selection, parameters), parameters)
        named = pl.DataFrame({"run": runs["run"].gather(run), "question_id": asked["question_id"].gather(places)})
        sums |= distributions.columns(snapshot, selection.dataset, answers, named, whole, selection.conventions)
    return Evidence(
        runs=tuple(Run(*row) for row in answered.iter_rows()),
        starts=starts.astype(np.int64),
        questions=asked["question_id"].to_numpy()[places],
        places=places,
        selected=len(asked),
        sums=sums,
        item_pairs=_item_pairs(snapshot, selection, responses) if pairs else None,
        conventions=selection.conventions,
    )


def chosen(selection: Selection) -> tuple[str, dict[str, Any]]:
    """``with`` clauses for the runs and questions of a selection, and their parameters."""
    runs, run_parameters = selection.run_filter()
    questions, question_parameters = selection.question_filter()
    clauses = f"""with chosen_runs as (
            select run, model, elicitation, position, row_number() over (order by position) - 1 as place from runs r where {runs}
        ),
        chosen_questions as (
            select question_id, position, difficulty, row_number() over (order by position) - 1 as place
            from questions q where {questions}
        )"""
    return clauses, run_parameters | question_parameters


def kept_responses(selection: Selection, parameters: dict[str, Any], responses: str | None = None) -> str:
    """SQL for the responses to the clues of a selection, after the clauses of ``chosen``; adds to the parameters."""
    kept = f"""select * from {responses or "responses"}
        where run in (select run from chosen_runs) and question_id in (select question_id from chosen_questions)"""
    if not selection.revealed:
        return kept
    parameters |= {"s_from": selection.revealed[0], "s_to": selection.revealed[1]}
    return f"""select * from ({kept}) semi join
        (select * from clues where revealed between $s_from and $s_to) using (dataset, question_id, clue)"""


def _item_pairs(snapshot: Snapshot, selection: Selection, responses: str | None) -> tuple[Floats, Floats]:
    """Confidence and correctness of each item of a selection, by run, question and clue."""
    with_clauses, parameters = chosen(selection)
    found = snapshot.frame(
        f"""{with_clauses}
        select p.confidence, p.correct from ({kept_responses(selection, parameters, responses)}) p
        join chosen_runs r using (run) join chosen_questions q using (question_id) order by r.position, q.position, p.clue""",
        parameters,
    )
    return _numbers(found["confidence"]), _numbers(found["correct"])


def _numbers(column: pl.Series) -> Floats:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
