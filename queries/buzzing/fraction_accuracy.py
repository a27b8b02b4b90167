"""Accuracy of runs and people by the fraction of the question revealed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from data.store import Snapshot
from queries.buzzing.buzz_inputs import NO_PEOPLE, BuzzingData, RunBuzzing, stream_buzzing
from queries.buzzing.buzz_parameters import Rules
from queries.buzzing.clues_and_team_buzzes import ClueTable
from queries.buzzing.cumulative_curves import revealed_at
from queries.buzzing.results import AtFraction, FractionAccuracy, PeopleAtFraction, RunAccuracy, TeamsAccuracy
from queries.metrics.kernels.buzzing import latest_responses
from queries.selection import Selection

MARKS = [k / 5 for k in range(1, 6)]


def accuracy_by_fraction(snapshot: Snapshot, selection: Selection) -> FractionAccuracy:
    """Return the accuracy at the last clue that ends by 20, 40, 60, 80 and 100 % of the question.

    For a run, it is the last clue that the run answered and the selection keeps: an answer stands until there is another one.
    Questions without such a clue are left out and counted. Teams do not guess at every clue. Their counterpart is the share of
    teams that have answered correctly by then, on the questions that a team heard. Players of a human collection do guess at
    every clue: they also have an accuracy like that of runs, averaged over the players of each question.
    """
    return _accuracy_of(*stream_buzzing(snapshot, selection, Rules()))


def accuracy_of(data: BuzzingData) -> FractionAccuracy:
    """Return the accuracy of data that has been read."""
    return _accuracy_of(data, data.runs)


def _accuracy_of(data: BuzzingData, runs: Iterable[RunBuzzing]) -> FractionAccuracy:
    if data.missing:
        return FractionAccuracy(data.missing, [], [])
    teams = data.clue_table.teams
    models = teams.filter(team_kind="model").partition_by("team", as_dict=True)
    groups = [("people", "human", teams.filter(team_kind="human"))]
    groups += [(str(name), "model", models[(name,)]) for (name,) in sorted(models)]
    return FractionAccuracy(
        None,
        [RunAccuracy(player.run.run, player.run.model, player.run.elicitation, _run(player)) for player in runs],
        [TeamsAccuracy(name, kind, _teams(data.clue_table, part, kind == "human")) for name, kind, part in groups],
    )


def _run(player: RunBuzzing) -> list[AtFraction]:
    revealed = player.clue_table.revealed[player.at]
    marks = []
    for mark in MARKS:
        rows = latest_responses(player.question, revealed, mark)
        accuracy = float(player.correct[rows].mean()) if len(rows) else None
        reason = None if len(rows) else "no answered clue of these questions ends by then"
        marks.append(AtFraction(mark, accuracy, len(rows), len(player.questions) - len(rows), reason))
    return marks


def _accuracy(clue_table: ClueTable, mark: float) -> float | None:
    """Return the mean over questions of the share of players whose latest guess by then is correct; None without guesses."""
    guesses = clue_table.guesses
    if guesses is None or guesses.is_empty():
        return None
    question = guesses["question"].to_numpy()
    player = guesses["team"].rle_id().cast(pl.Int64).to_numpy()
    revealed = clue_table.revealed[clue_table.first[question] + guesses["clue"].to_numpy()]
    rows = latest_responses(player * len(clue_table.first) + question, revealed, mark)
    if not len(rows):
        return None
    right = np.bincount(question[rows], guesses["correct"].to_numpy()[rows], len(clue_table.first))
    players = np.bincount(question[rows], minlength=len(clue_table.first))
    return float((right[players > 0] / players[players > 0]).mean())


def _teams(clue_table: ClueTable, teams: pl.DataFrame, is_human: bool) -> list[PeopleAtFraction]:
    buzzes = teams.filter(pl.col("word").is_not_null())
    question, at = buzzes["question"].to_numpy(), revealed_at(clue_table, buzzes)
    correct = buzzes["correct"].to_numpy().astype(float)
    heard = np.bincount(teams["question"].to_numpy(), minlength=len(clue_table.first))
    was_heard = heard > 0
    marks = []
    for mark in MARKS:
        by_then = at <= mark
        right = np.bincount(question[by_then], correct[by_then], len(clue_table.first))
        count = int(by_then.sum())
        marks.append(
            PeopleAtFraction(
                revealed=mark,
                right=float((right[was_heard] / heard[was_heard]).mean()) if was_heard.any() else None,
                questions=int(was_heard.sum()),
                left_out=int((~was_heard).sum()),
                buzz_accuracy=float(correct[by_then].mean()) if count else None,
                buzzes=count,
                accuracy=_accuracy(clue_table, mark) if is_human else None,
                missing=({} if was_heard.any() else {"right": NO_PEOPLE})
                | ({} if count else {"buzz_accuracy": "nobody has buzzed by then"}),
            )
        )
    return marks
