"""Human teams: what they heard, where they buzzed, and whether they were right."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Response

from dashboard.registry.addresses import get_selected
from dashboard.registry.tables import Column, Table, column, columns, fields
from dashboard.registry.views import View, register
from queries.selection import Request
from queries.selection.parameter_kinds import Choice, Text
from queries.selection.view_parameters_base import Parameters
from queries.teams import CategoryBuzzing, QuestionBuzzing, RoomRow, TeamBuzz, TeamRow, human_teams


class TeamsKeys(Parameters, frozen=True):
    """Which team's or room's buzzes are listed."""

    team: Annotated[str | None, Text("the team whose buzzes are listed; none by default")] = None
    room: Annotated[str | None, Text("the room whose buzzes are listed; none by default")] = None


def _quartile(name: str, place: int) -> Column:
    return column(f"correct_at_{name}", lambda row: row.correct_at_quartiles[place] if row.correct_at_quartiles else None)


def _scores(room: RoomRow) -> str:
    return "; ".join(f"{team.team} {team.correct}:{team.incorrect}" for team in room.teams)


def _columns(struct: type[msgspec.Struct]) -> tuple[Column, ...]:
    quartiles = [_quartile(name, place) for place, name in enumerate(("lower_quartile", "median", "upper_quartile"))]
    shown: list[Column] = []
    for name in struct.__struct_fields__:
        shown += quartiles if name == "correct_at_quartiles" else columns(name)
    return tuple(shown)


TABLES = {
    "teams": Table("", lambda answer: answer.teams, _columns(TeamRow), file="teams"),
    "categories": Table("", lambda answer: answer.categories, _columns(CategoryBuzzing), file="categories"),
    "questions": Table("", lambda answer: answer.questions, _columns(QuestionBuzzing), file="questions"),
    "rooms": Table(
        "",
        lambda answer: answer.rooms,
        (*fields(RoomRow, without=("teams",)), column("teams", _scores)),
        file="rooms",
    ),
    "buzzes": Table("", lambda answer: answer.buzzes, _columns(TeamBuzz), file="buzzes"),
}
TEAMS = register(
    View(
        "teams",
        human_teams,
        TeamsKeys,
        "Human teams: what they heard, where they buzzed and how often they were right; also by category, question and room.",
        tuple(TABLES.values()),
    ),
    csv=False,
)


class TeamsTableKeys(TeamsKeys, frozen=True):
    """Which table."""

    table: Annotated[
        str, Choice("`teams`, `categories`, `questions`, `rooms` or `buzzes`; `teams` by default", tuple(TABLES))
    ] = "teams"


@get_selected("/api/v1/teams.csv", TeamsTableKeys)
def get_teams_csv(request: Request[TeamsTableKeys]) -> Response:
    """One of these tables as CSV. Quartiles fill three columns; the teams of a room share one cell."""
    return TEAMS.csv(TABLES[request.parameters.table], request)
