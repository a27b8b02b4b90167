"""The clues of a selection's questions, and what teams did at each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.duckdb_and_polars import SqlParameters
from data.store import Snapshot
from queries.engine.left_out_plays import left_out_plays
from queries.engine.stored_or_computed_rows import selection_clauses
from queries.metrics.kernels.arrays import Floats
from queries.metrics.kernels.team_buzzes import Opponents, opponent_probabilities
from queries.selection import Selection, dataset_conventions

Ints = NDArray[np.int64]


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

    @cached_property
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
        revealed=numbers(clues["revealed"]),
        human=numbers(clues["human"]),
        selected=clues["selected"].to_numpy(),
        words=word_end[ends - 1],
        clues=(ends - first).astype(np.int64),
        teams=teams.drop("position").with_columns(pl.Series("question", team_question.astype(np.int64))),
        left_out_plays=left_out_plays(snapshot, selection),
        guesses=_guesses(snapshot, with_clauses, parameters, positions) if snapshot.people else None,
    )
    return clue_table, positions


def _guesses(snapshot: Snapshot, with_clauses: str, parameters: SqlParameters, positions: Ints) -> pl.DataFrame | None:
    """Return the guesses of a human collection by player, question and clue; None if there are only guesses at buzzes."""
    responses = snapshot.with_grading("").responses([snapshot.people])
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


def numbers(column: pl.Series) -> Floats:
    """Return a column of n rows as floats, shape (n,), NaN for null."""
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def whole(column: pl.Series) -> Ints:
    """Return a column of n whole numbers as int64, shape (n,)."""
    return column.cast(pl.Int64).to_numpy()
