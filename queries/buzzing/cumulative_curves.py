"""Cumulative buzzes along the question: of people by quartile, of models that played as teams, and of runs."""

from __future__ import annotations

import numpy as np
import polars as pl

from data.store import Snapshot
from queries.buzzing.buzz_inputs import NO_LOGPROBS, NO_PEOPLE, BuzzingData, RunBuzzing, read_buzzing
from queries.buzzing.buzz_parameters import Rules
from queries.buzzing.clues_and_team_buzzes import ClueTable
from queries.buzzing.results import BuzzCurve, BuzzCurves
from queries.engine.bootstrap import SIGNIFICANCE
from queries.metrics.kernels.arrays import Floats
from queries.metrics.kernels.team_buzzes import cumulative_weight, equal_teams_test, quartiles
from queries.selection import Selection, number

GRID = np.arange(51) / 50  # fractions of the question
NO_TEAM_DIFFERENCE = "no clear difference between the teams in how often they are right: {p}"


def buzz_curves(snapshot: Snapshot, selection: Selection, rules: Rules) -> BuzzCurves:
    """Return correct and incorrect buzzes up to each fraction of the question, per question heard.

    A team's buzz at word w comes when w + 1 words have been heard, and a buzz after the end when all have been heard. A run's
    buzz comes at the end of its clue. Teams of a group are pooled: all their buzzes, divided by the questions that they heard.
    Teams are put into quartiles by their number of correct buzzes on the questions of the selection. Quartiles are missing where
    a test does not show that teams differ (``equal_teams_test``), because quartiles of pure chance would fan out as well.
    """
    return curves_of(read_buzzing(snapshot, selection, rules))


def curves_of(data: BuzzingData) -> BuzzCurves:
    """Return the curves of data that has been read."""
    if data.missing:
        return BuzzCurves(data.missing, None, GRID.tolist(), [], {})
    people = data.clue_table.teams.filter(team_kind="human")
    right = people["correct"].fill_null(False).to_numpy()
    teams_p = equal_teams_test(people["question"].to_numpy(), people["team"].rank("dense").to_numpy() - 1, right)
    curves = [*_people(data.clue_table, teams_p), *_model_teams(data.clue_table), *(_run(player) for player in data.runs)]
    return BuzzCurves(None, number(teams_p), GRID.tolist(), curves, data.clue_table.left_out_plays)


def _people(clue_table: ClueTable, teams_p: float) -> list[BuzzCurve]:
    teams = clue_table.teams.filter(team_kind="human")
    everybody = _teams(clue_table, "people", "human", teams, NO_PEOPLE)
    total = teams.group_by("team").agg(pl.col("correct").cast(pl.Int64).sum()).sort("team")
    group = total.with_columns(pl.Series("quartile", quartiles(total["correct"].to_numpy())))
    quartile = teams.join(group.select("team", "quartile"), on="team", how="left", maintain_order="left")["quartile"]
    parts = {f"Q{part}": teams.filter(quartile == part) for part in (1, 2, 3, 4)}
    if teams.is_empty() or teams_p < SIGNIFICANCE:
        why = NO_PEOPLE if teams.is_empty() else "no team is in this quartile"
        return [everybody, *(_teams(clue_table, name, "human", part, why) for name, part in parts.items())]
    why = NO_TEAM_DIFFERENCE.format(p=f"p = {teams_p:.2f}" if np.isfinite(teams_p) else "too little data to tell")
    empty = (BuzzCurve(name, "human", part["team"].n_unique(), len(part), None, None, why) for name, part in parts.items())
    return [everybody, *empty]


def _model_teams(clue_table: ClueTable) -> list[BuzzCurve]:
    models = clue_table.teams.filter(team_kind="model").partition_by("team", as_dict=True)
    return [_teams(clue_table, str(name), "model", models[(name,)], "") for (name,) in sorted(models)]


def _teams(clue_table: ClueTable, name: str, kind: str, teams: pl.DataFrame, if_none: str) -> BuzzCurve:
    buzzes = teams.filter(pl.col("word").is_not_null())
    right = buzzes["correct"].to_numpy().astype(float)
    return _curve(name, kind, teams["team"].n_unique(), len(teams), revealed_at(clue_table, buzzes), right, if_none)


def revealed_at(clue_table: ClueTable, buzzes: pl.DataFrame) -> Floats:
    """Return the fraction of the question that had been heard at each buzz of a team, in (0, 1], shape (buzzes,)."""
    words = clue_table.words[buzzes["question"].to_numpy()]
    revealed: Floats = np.minimum(buzzes["word"].to_numpy() + 1, words) / words
    return revealed


def _run(player: RunBuzzing) -> BuzzCurve:
    if player.buzzes is None:
        reason = NO_PEOPLE if player.scored else NO_LOGPROBS
        return BuzzCurve(player.run.run, "run", 1, len(player.questions), None, None, f"no threshold: {reason}")
    revealed = player.clue_table.revealed[player.at[player.buzzes]]
    return _curve(player.run.run, "run", 1, len(player.questions), revealed, player.correct[player.buzzes], "")


def _curve(name: str, kind: str, teams: int, heard: int, revealed: Floats, correct: Floats, if_none: str) -> BuzzCurve:
    if not heard:
        return BuzzCurve(name, kind, teams, heard, None, None, if_none)
    right, wrong = cumulative_weight(revealed, correct, GRID) / heard, cumulative_weight(revealed, 1 - correct, GRID) / heard
    return BuzzCurve(name, kind, teams, heard, right.tolist(), wrong.tolist(), None)
