"""What the views of buzzing read: clues, buzzes of teams, and answers of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clueline.data.duckdb_and_polars import SqlParameters
from clueline.data.store import Snapshot
from clueline.data.store.run_cache import kept_property
from clueline.queries.buzzing.parameters import Rules
from clueline.queries.engine import run_columns
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.evidence import Run
from clueline.queries.engine.selected_answers import attribute_masks, left_out_plays, selection_clauses
from clueline.queries.metrics.counted_answers import BUZZED
from clueline.queries.metrics.kernels.arrays import Floats, Ints
from clueline.queries.metrics.kernels.buzzing import (
    Buzzpoints,
    StepFunction,
    ThresholdInterval,
    best_thresholds,
    buzzpoints_at,
    chance_unanswered,
    possible_buzzpoints,
    totals_by_threshold,
)
from clueline.queries.metrics.kernels.team_buzzes import Opponents, expected_points, opponent_probabilities
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.selection import Selection, dataset_conventions

FLOOR = {"confidence": 0.0, "logprob": -np.inf}  # the lowest threshold
NO_PEOPLE = "no human team heard any of these questions"
NO_LOGPROBS = "this run has no token log-probabilities"
NOT_INCREMENTAL = "only datasets of kind incremental, whose questions are read clue by clue, have buzzes"


@dataclass(frozen=True)
class RunBuzzing:
    """The responses of one run, sorted by question and clue, and the buzzes that follow.

    If a question has several samples, only the first one counts: a system buzzes once. Arrays have shape (items,): ``question``
    and ``at`` are the number of each item's question and the row of its clue in the clue table, ``score`` what is compared with
    the threshold, on the scale of the rules, NaN where unknown.
    """

    run: Run
    clue_table: ClueTable
    rules: Rules
    question: Ints
    at: Ints
    score: Floats
    correct: Floats

    @kept_property
    def questions(self) -> Ints:
        """The questions that the run answered, ascending, shape (questions,)."""
        return self.question[np.flatnonzero(np.diff(self.question, prepend=-1))]

    @kept_property
    def passing(self) -> Buzzpoints:
        """The items at which some threshold makes the run buzz."""
        return possible_buzzpoints(self.question, self.score)

    @kept_property
    def heard(self) -> NDArray[np.bool_]:
        """Whether a human team heard each of the run's questions, shape (questions,)."""
        return np.isfinite(self.clue_table.opponents.first[self.clue_table.first[self.questions]])

    @kept_property
    def wins(self) -> Floats:
        """What a buzz at each item adds to expected wins: pi(f) y, shape (items,). NaN where pi is unknown."""
        pi = (
            chance_unanswered(self.clue_table.revealed[self.at])
            if self.rules.curve == "polynomial"
            else 1 - self.clue_table.human[self.at]
        )
        return pi * self.correct

    @kept_property
    def counted(self) -> int:
        """Number of questions over which expected wins are averaged."""
        return len(self.questions) if self.rules.curve == "polynomial" else int(self.heard.sum())

    @kept_property
    def steps(self) -> StepFunction:
        """Totals of expected wins, system score and wins against people by threshold, shape (thresholds, 3)."""
        rows = self.passing.rows
        at, correct = self.at[rows], self.correct[rows]
        opponents = self.clue_table.opponents
        worth = np.stack([self.wins[rows], expected_points(opponents, correct, at), correct * opponents.first[at]], axis=-1)
        return totals_by_threshold(self.passing, np.nan_to_num(worth), FLOOR[self.rules.scale])

    @kept_property
    def optimum(self) -> ThresholdInterval | None:
        """The thresholds with the highest expected wins; None where expected wins cannot be computed or there are no scores."""
        if not self.counted or not self.scored:
            return None
        return best_thresholds(self.steps.thresholds, self.steps.totals[:, 0] / self.counted)

    @property
    def scored(self) -> bool:
        """Whether the run has any score on the scale."""
        return bool(np.isfinite(self.score).any())

    @property
    def threshold(self) -> float | None:
        """The threshold in use: the one asked for, else one of the best ones; None where there is neither, or no scores."""
        if not self.scored:
            return None
        requested = self.rules.threshold_of(self.run.run)
        if requested is not None or self.optimum is None:
            return requested
        return representative_threshold(self.optimum)

    @kept_property
    def buzzes(self) -> Ints | None:
        """Indices of the items at which the run buzzes, at the threshold in use, shape (buzzes,); None without a threshold."""
        return None if self.threshold is None else buzzpoints_at(self.passing, self.threshold)


def representative_threshold(best: ThresholdInterval) -> float:
    """Return one threshold of an interval: its lower end or, if that is -inf, 1 below its upper end; 0 if both are infinite."""
    if np.isfinite(best.low):
        return best.low
    return best.high - 1 if np.isfinite(best.high) else 0.0


@dataclass(frozen=True)
class BuzzingData:
    """The part of a selection that buzzing is computed from; ``missing`` says why there is none, and so no runs."""

    missing: str | None
    questions: int
    positions: Ints
    clue_table: ClueTable
    runs: tuple[RunBuzzing, ...]


def read_buzzing(snapshot: Snapshot, selection: Selection, rules: Rules) -> BuzzingData:
    """Read the clues, teams and runs of a selection."""
    data, runs = stream_buzzing(snapshot, selection, rules)
    return replace(data, runs=tuple(runs))


def stream_buzzing(snapshot: Snapshot, selection: Selection, rules: Rules) -> tuple[BuzzingData, Iterator[RunBuzzing]]:
    """Read the same as ``read_buzzing``, but yield the runs one by one: those of a large dataset do not fit into memory."""
    selection = count_answers(snapshot, selection, compared=False).selection
    condition, parameters = selection.question_filter()
    count = snapshot.rows(f"select count(*) from questions q where {condition}", parameters)[0][0]
    kinds = snapshot.rows(
        "select kind, (select max(clues) from questions where dataset = $d) from datasets where dataset = $d",
        {"d": selection.dataset},
    )
    read = [longest for kind, longest in kinds if kind == "incremental" and (longest or 0) > 1]
    missing = None if read and count else NOT_INCREMENTAL if not read else "no questions are selected"
    if missing:
        selection = selection.replace(questions=())
    clue_table, positions = read_clue_table(snapshot, selection)
    runs = _read_runs(snapshot, selection, rules, clue_table, positions)
    return BuzzingData(missing, count, positions, clue_table, ()), runs


def _read_runs(
    snapshot: Snapshot, selection: Selection, rules: Rules, clue_table: ClueTable, positions: Ints
) -> Iterator[RunBuzzing]:
    snapshot = snapshot.with_grading(selection.grading_in_force)
    with_clauses, parameters = selection_clauses(selection)
    # A run of respondents is not a system that buzzes. As a human collection, it provides the people that runs are compared with.
    rows_of_runs = snapshot.rows(
        f"{with_clauses} select run, model, elicitation from chosen_runs where not respondents order by place", parameters
    )
    runs = [Run(*row) for row in rows_of_runs]
    for batch in run_columns.batches_of_runs(snapshot, selection.dataset, [run.run for run in runs]):
        yield from _read_batch(snapshot, selection, rules, clue_table, positions, [runs[index] for index in batch])


def _read_batch(
    snapshot: Snapshot, selection: Selection, rules: Rules, clue_table: ClueTable, positions: Ints, runs: Sequence[Run]
) -> Iterator[RunBuzzing]:
    names, counted = [run.run for run in runs], BUZZED.including_failed() if selection.failed else BUZZED
    items_of_runs = run_columns.run_items(snapshot, selection.dataset, names, counted)
    if rules.scale == "confidence":
        scores = [run_items.confidence for run_items in items_of_runs]
    else:
        scores = run_columns.run_logprobs(snapshot, selection.dataset, names, counted)
    row_indices = run_columns.rows_of_questions([run_items.positions for run_items in items_of_runs], positions)
    masks = attribute_masks(snapshot, selection, names, counted.states)
    for run, run_items, score, mask, rows, places in zip(runs, items_of_runs, scores, masks, *row_indices, strict=True):
        check_time_limit()
        items, item_counts = run_items.of_rows(rows)
        question = np.repeat(places, item_counts)
        at = clue_table.first[question] + run_items.clue[items]
        if selection.filters_items:
            selected = clue_table.selected[at] if mask is None else clue_table.selected[at] & mask[items]
            items, question, at = items[selected], question[selected], at[selected]
        if run_items.sample is not None and len(items):
            first = _first_sample(question, run_items.sample[items])
            items, question, at = items[first], question[first], at[first]
        if len(items):
            yield RunBuzzing(run, clue_table, rules, question, at, score[items], run_items.correct[items])


def _first_sample(question: Ints, sample: Ints) -> NDArray[np.bool_]:
    """Return whether each item belongs to the first sample of its question. Questions are ascending; all have shape (items,)."""
    first = np.flatnonzero(np.diff(question, prepend=-1))
    is_first: NDArray[np.bool_] = sample == np.repeat(sample[first], np.diff(np.append(first, len(question))))
    return is_first


@dataclass(frozen=True)
class ClueTable:
    """The clues of a selection's questions, in the dataset's order; questions are numbered from 0.

    Attributes:
        first: row of each question's first clue, shape (questions,).
        question: number of each clue's question, shape (clues,).
        word_end: words up to the end of each clue, shape (clues,).
        revealed: fraction of the question revealed by the end of each clue, in (0, 1], shape (clues,).
        human: h at each clue, in [0, 1], shape (clues,); NaN where no human team heard the question.
        selected: whether the filter on clues keeps each clue, shape (clues,).
        words, clues: number of words and of clues of each question, shape (questions,).
        teams: a row per team and question heard: ``question``, ``team``, ``team_kind``, ``heard_words`` (null: to the end),
            and ``word``, ``clue`` and ``correct`` of its buzz (null: no buzz).
        left_out_plays: number of plays that ``teams`` lacks, as in ``queries.engine.left_out_plays``.
        guesses: what the players of a human collection guessed at every clue, sorted by ``team``, ``question`` and ``clue``, with
            ``correct``. None for other people, because their guesses before a buzz are not known.
    """

    first: Ints
    question: Ints
    word_end: Ints
    revealed: Floats
    human: Floats
    selected: NDArray[np.bool_]
    words: Ints
    clues: Ints
    teams: pl.DataFrame
    left_out_plays: dict[str, int]
    guesses: pl.DataFrame | None = None

    @kept_property
    def opponents(self) -> Opponents:
        """What a buzz at each clue faces among the human teams."""
        people = self.teams.filter(team_kind="human")
        question = people["question"].to_numpy()
        buzzed = people.filter(pl.col("word").is_not_null())
        at = self.first[buzzed["question"].to_numpy()] + buzzed["clue"].to_numpy()
        right = buzzed["correct"].to_numpy().astype(float)
        late = buzzed["word"].to_numpy() >= self.words[buzzed["question"].to_numpy()]
        silent = people.filter(pl.col("word").is_null() & pl.col("heard_words").is_not_null())
        # The question was ended before the team heard all of it: the team leaves at the first clue that ends after what it heard.
        heard, silent_question = silent["heard_words"].to_numpy(), silent["question"].to_numpy()
        broken = heard < self.words[silent_question]
        gone = self.first_reaching(silent_question[broken], heard[broken] + 1)

        def count(rows: Ints, weight: Floats | None = None) -> Floats:
            return np.bincount(rows, weight, len(self.question)).astype(float)

        return opponent_probabilities(
            self.question, teams=np.bincount(question, minlength=len(self.first)).astype(float)[self.question],
            correct=count(at, right), incorrect=count(at, 1 - right), late=count(at, right * late), left=count(gone),
        )  # fmt: skip

    def groups(self) -> list[tuple[str, str, pl.DataFrame]]:
        """Return name, kind and rows of ``teams`` of all people, and of each model that played as a team, by name."""
        models = self.teams.filter(team_kind="model").partition_by("team", as_dict=True)
        people = ("people", "human", self.teams.filter(team_kind="human"))
        return [people, *((str(name), "model", models[(name,)]) for (name,) in sorted(models))]

    def first_reaching(self, question: Ints, words: Ints) -> Ints:
        """Return the row of the first clue by whose end a number of words, at most all, has been heard. All have shape (n,)."""
        stride = int(self.words.max(initial=0)) + 1
        return np.searchsorted(self.question * stride + self.word_end, question * stride + words)

    def share_heard(self, question: Ints, clue: Ints) -> Floats:
        """Return the share of a question's clues heard up to and including a clue, in (0, 1], shape (n,). Clues count from 0."""
        return (clue + 1) / self.clues[question]


def people_curve(snapshot: Snapshot, selection: Selection) -> str:
    """Return the human curve that values a buzz: of teams by default, because pi is the share of teams that have not answered."""
    return selection.conventions.human or dataset_conventions(snapshot, selection).team_curve


def read_clue_table(snapshot: Snapshot, selection: Selection) -> tuple[ClueTable, Ints]:
    """Return the clues of a selection's questions, and the position of each question in the dataset, shape (questions,)."""
    with_clauses, parameters = selection_clauses(selection)
    human = people_curve(snapshot, selection)
    condition, values = selection.clue_filter()
    clues = snapshot.frame(
        f"""{with_clauses}
        select q.position, c.clue, c.word_end, c.revealed, h.{human} as human, coalesce({condition}, false) as selected
        from clues c join chosen_questions q using (question_id) left join curves h using (dataset, question_id, clue)
        where c.dataset = $dataset order by q.position, c.clue""",
        parameters | values,
    )
    teams = snapshot.frame(
        f"""{with_clauses}
        select q.position, e.team, e.team_kind, e.heard_words, b.word, b.clue, b.correct
        from exposures e join chosen_questions q using (question_id)
        left join buzzes b using (dataset, question_id, match_id, team)
        where e.dataset = $dataset order by q.position, e.match_id, e.team""",
        parameters,
    )
    positions, first, question = np.unique(whole(clues["position"]), return_index=True, return_inverse=True)
    ends = np.append(first, len(clues))[1:]
    word_end = whole(clues["word_end"])
    team_question = np.searchsorted(positions, whole(teams["position"]))
    clue_table = ClueTable(
        first=first.astype(np.int64),
        question=question.astype(np.int64),
        word_end=word_end,
        revealed=run_columns.float_array(clues["revealed"]),
        human=run_columns.float_array(clues["human"]),
        selected=clues["selected"].to_numpy(),
        words=word_end[ends - 1],
        clues=(ends - first).astype(np.int64),
        teams=teams.drop("position").with_columns(pl.Series("question", team_question.astype(np.int64))),
        left_out_plays=left_out_plays(snapshot, selection),
        guesses=_guesses(snapshot, with_clauses, parameters, positions) if snapshot.collection else None,
    )
    return clue_table, positions


def _guesses(snapshot: Snapshot, with_clauses: str, parameters: SqlParameters, positions: Ints) -> pl.DataFrame | None:
    """Return the guesses of a human collection by player, question and clue; None if there are only guesses at buzzes."""
    responses = snapshot.with_grading("").responses([snapshot.collection])
    once = f"select 1 from {responses} where not failed group by sample, question_id having count(*) > 1 limit 1"
    if not snapshot.rows(once):
        return None
    guesses = snapshot.frame(
        f"""{with_clauses}
        select p.sample as team, q.position, p.clue, p.correct
        from {responses} p join chosen_questions q using (question_id)
        where not p.failed order by p.sample, q.position, p.clue""",
        parameters,
    )
    question = pl.Series("question", np.searchsorted(positions, whole(guesses["position"])).astype(np.int64))
    return guesses.select("team", question, pl.col("clue").cast(pl.Int64), pl.col("correct").cast(pl.Float64))


def whole(column: pl.Series) -> Ints:
    """Return a column of n whole numbers as int64, shape (n,)."""
    return column.cast(pl.Int64).to_numpy()
