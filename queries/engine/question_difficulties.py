"""Difficulties of questions, as runs are judged by them.

A difficulty that is stated or comes from people is the same for every run. One that comes from runs is, for each run, made of the
others: the runs of other models with other answers. If it were made of the run's own answers too, every question that the run got
wrong would count as harder, and calibrated runs would seem overconfident on hard questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clueline.data.store import Snapshot
from clueline.data.store.run_cache import kept_property
from clueline.data.sufficient_statistics import LIKELIER
from clueline.queries.engine import run_columns
from clueline.queries.engine.run_columns import ResponseOrder, float_array, response_values, rows_of_questions
from clueline.queries.metrics.kernels.arrays import Floats, Ints
from clueline.queries.selection import Selection, has_forecasts

FROM_RUNS = "runs"  # the value of ``questions.difficulty_source``
MIN_OTHER_MODELS = 2  # so at least three models
UNITS = 2**44  # per share of right answers: sums of whole numbers are the same in any order
DECIMALS = 12
ROWS_AT_ONCE = 1_000_000  # rows of statistics that are read together
QUESTIONS_COMPARED = 1_000  # whose guesses say whether two runs have the same answers
FIRST_COMPARED = 64  # clues that most pairs of runs differ on
SELECTED_BY_ANSWERS = "a filter on difficulty selects the questions by whether runs answered them correctly"
UNTESTED = (
    "Difficulty comes from the answers of runs here, so this filter selects questions by whether they were answered correctly. "
    "No tests, bands or slopes are given: they would call calibrated runs miscalibrated."
)


class RunShares(NamedTuple):
    """The questions that a run answered, and the share of right answers to each in ``UNITS``, each of shape (rows,)."""

    questions: Ints
    shares: Ints


class _Sums(NamedTuple):
    """Sums over some runs for each question: of shares of right answers, runs and models, each of shape (questions,)."""

    shares: Ints
    runs: Ints
    models: Ints


@dataclass(frozen=True)
class OtherRuns:
    """The difficulty of questions for each run, from the others: runs of other models with other answers.

    Of the ``counted`` runs, which are not withdrawn, ``alike`` are those of other models with the same answers, by run id.
    """

    questions: int
    models: Mapping[str, str]
    counted: Sequence[str]
    alike: Mapping[str, Sequence[str]]
    read: Callable[[Sequence[str]], Iterable[RunShares]]
    _difficulties: dict[tuple[str, ...], Floats] = field(default_factory=dict, repr=False, compare=False)

    def difficulties(self, run: str) -> Floats:
        """Return 1 - the mean share of right answers of a run's others; NaN with fewer than ``MIN_OTHER_MODELS`` models."""
        alike = self.alike.get(run, ())
        no_others = tuple(other for other in self.counted if self.models[other] == self.models[run] or other in alike)
        if no_others not in self._difficulties:
            left_out = self._sums(no_others)
            shares, runs, models = (total - part for total, part in zip(self._of_all, left_out, strict=True))
            for model in {self.models[other] for other in no_others}:  # some of whose runs may be others
                of_model = [other for other in self.counted if self.models[other] == model]
                out, rest = ([other for other in of_model if (other in no_others) == is_out] for is_out in (True, False))
                if rest:
                    models += (self._sums(out).runs > 0) & (self._sums(rest).runs > 0)
            mean = shares / (UNITS * np.maximum(runs, 1))
            self._difficulties[no_others] = np.where(models >= MIN_OTHER_MODELS, np.round(1 - mean, DECIMALS), np.nan)
        return self._difficulties[no_others]

    @kept_property
    def _of_all(self) -> _Sums:
        return self._sums(self.counted)

    def _sums(self, runs: Sequence[str]) -> _Sums:
        by_model = sorted(runs, key=self.models.__getitem__)
        shares, of_runs, of_models = np.zeros((3, self.questions), np.int64)
        model, answered = None, np.zeros(self.questions, bool)
        for run, part in zip(by_model, self.read(by_model), strict=True):
            if self.models[run] != model:
                of_models += answered
                model, answered = self.models[run], np.zeros(self.questions, bool)
            shares[part.questions] += part.shares
            of_runs[part.questions] += 1
            answered[part.questions] = True
        return _Sums(shares, of_runs, of_models + answered)


@dataclass(frozen=True)
class QuestionDifficulties:
    """Difficulties of the questions of a selection as pages show them, NaN where unknown, and whether each comes from runs.

    No run is judged by those from runs if a filter on them selects the questions (``selected_by_answers``).
    """

    shown: Floats
    from_runs: NDArray[np.bool_]
    selected_by_answers: bool
    others: OtherRuns | None

    def of_run(self, run: str) -> Floats:
        """Return the difficulties by which a run is judged, shape (questions,); NaN where there is none."""
        if self.selected_by_answers:
            return np.full(len(self.shown), np.nan)
        return self.shown if self.others is None else np.where(self.from_runs, self.others.difficulties(run), self.shown)


def selects_by_answers(snapshot: Snapshot, selection: Selection) -> bool:
    """Check whether a selection has a filter on difficulties that come from runs."""
    return selection.difficulty is not None and has_difficulties_from_runs(snapshot, selection.dataset)


def has_difficulties_from_runs(snapshot: Snapshot, dataset: str) -> bool:
    """Check whether any difficulty of a dataset comes from runs."""
    sql = "select 1 from questions where dataset = $d and difficulty_source = $s limit 1"
    return bool(snapshot.rows(sql, {"d": dataset, "s": FROM_RUNS}))


def read_difficulties(snapshot: Snapshot, selection: Selection, questions: pl.DataFrame) -> QuestionDifficulties:
    """Read the difficulties of the questions of a selection.

    Those from runs are made of first gradings, of all runs that are not withdrawn, whatever runs are selected.
    """
    from_runs = (questions["difficulty_source"] == FROM_RUNS).fill_null(False).to_numpy()
    by_answers = selects_by_answers(snapshot, selection)
    needed = bool(from_runs.any()) and not by_answers
    return QuestionDifficulties(
        shown=float_array(questions["difficulty"]),
        from_runs=from_runs,
        selected_by_answers=by_answers,
        others=_other_runs(snapshot.with_grading(""), selection.dataset, questions) if needed else None,
    )


def _other_runs(snapshot: Snapshot, dataset: str, questions: pl.DataFrame) -> OtherRuns:
    rows = snapshot.rows("select run, model, withdrawn_at is null from runs where dataset = $d order by position", {"d": dataset})
    models = {run: model for run, model, _ in rows}
    positions = questions["position"].cast(pl.Int64).to_numpy()
    source = snapshot.for_reading(3 * 8 * len(rows) * len(questions))
    right = f"{LIKELIER}correct" if has_forecasts(snapshot, dataset) else "correct"
    at_once = max(1, ROWS_AT_ONCE // max(len(questions), 1))

    def read(runs: Sequence[str]) -> Iterator[RunShares]:
        for names in (runs[start : start + at_once] for start in range(0, len(runs), at_once)):
            columns = run_columns.statistic_columns(source, dataset, names, ["items", right])
            rows, places = rows_of_questions(run_columns.row_positions(source, dataset, names), positions)
            for row, place, items, correct in zip(rows, places, columns["items"], columns[right], strict=True):
                yield RunShares(place, np.rint(correct[row] / items[row] * UNITS).astype(np.int64))

    return OtherRuns(len(questions), models, [run for run, _, counts in rows if counts], _alike(snapshot, dataset, models), read)


def _alike(snapshot: Snapshot, dataset: str, models: Mapping[str, str]) -> dict[str, list[str]]:
    """Return, for each run, the runs of other models that gave the same guess at every clue that both answered."""
    names = [*models]
    columns = _guesses(snapshot, dataset, names)
    clues = np.unique(np.concatenate([np.empty(0, np.uint64), *(column[0] for column in columns)]))
    guesses = np.zeros((len(names), len(clues)), np.uint64)  # 0 where there is none
    for row, (clue, guess) in zip(guesses, columns, strict=True):
        row[np.searchsorted(clues, clue)] = guess
    alike: dict[str, list[str]] = {}
    for index, run in enumerate(names):
        candidates = np.arange(index + 1, len(names))
        for some in (slice(0, FIRST_COMPARED), slice(FIRST_COMPARED, None)):
            mine, theirs = guesses[index, some], guesses[candidates, some]
            candidates = candidates[~((mine != theirs) & (mine > 0) & (theirs > 0)).any(axis=1)]
        for other in candidates:
            both = (guesses[index] > 0) & (guesses[other] > 0)
            if both.any() and models[names[other]] != models[run]:
                alike.setdefault(run, []).append(names[other])
                alike.setdefault(names[other], []).append(run)
    return alike


def _guesses(snapshot: Snapshot, dataset: str, runs: Sequence[str]) -> list[NDArray[np.uint64]]:
    """Return clues of evenly spread questions and a hash of the guess at each, above 0, shape (2, clues) for each run.

    Case and surrounding spaces do not matter. Without a guess, the correctness stands for it; for a forecast, its likelier side.
    """
    guess = "sign(confidence - 0.5)" if has_forecasts(snapshot, dataset) else "coalesce(lower(trim(guess)), correct::varchar)"
    first = run_columns.clues(snapshot, dataset).first
    step = -(-len(first) // QUESTIONS_COMPARED) or 1

    def convert(order: ResponseOrder, table: pl.DataFrame) -> NDArray[np.uint64]:
        position = np.repeat(order.positions, np.diff(order.first))
        chosen = np.flatnonzero(position % step == 0)
        rows = order.rows[chosen]
        clue = first[position[chosen]] + table["clue"].to_numpy()[rows]
        clues, place = np.unique(clue, return_inverse=True)
        sums = np.zeros(len(clues), np.uint64)
        np.add.at(sums, place, table["guess"].cast(pl.UInt64).to_numpy()[rows])  # of all samples of a clue, modulo 2^64
        return np.stack([clues.astype(np.uint64), np.maximum(sums, 1)])

    return response_values(snapshot, dataset, runs, "guesses", ("clue", f"hash({guess}) as guess"), convert)
