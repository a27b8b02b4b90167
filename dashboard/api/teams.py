"""Human teams: what they heard, where they buzzed, and whether they were right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from queries.selection import Request
from queries.selection.parameter_kinds import Choice, Text
from queries.selection.view_parameters_base import Parameters
from queries.teams import CategoryBuzzing, QuestionBuzzing, RoomRow, TeamBuzz, TeamRow, Teams, human_teams

TABLES: dict[str, type[msgspec.Struct]] = {
    "teams": TeamRow,
    "categories": CategoryBuzzing,
    "questions": QuestionBuzzing,
    "rooms": RoomRow,
    "buzzes": TeamBuzz,
}

QUARTILES = "correct_at_quartiles"


class TeamsParameters(Parameters, frozen=True):
    """Which team's or room's buzzes are listed."""

    team: Annotated[str | None, Text("the team whose buzzes are listed; none by default")] = None
    room: Annotated[str | None, Text("the room whose buzzes are listed; none by default")] = None


class TeamsTableParameters(TeamsParameters, frozen=True):
    """Which table."""

    table: Annotated[
        str, Choice("`teams`, `categories`, `questions`, `rooms` or `buzzes`; `teams` by default", tuple(TABLES))
    ] = "teams"


@get_selected("/api/v1/teams", TeamsParameters)
def get_teams(query: Request[TeamsParameters]) -> Response:
    """Human teams: what they heard, where they buzzed and how often they were right; also by category, question and room."""
    result: Teams = service().ask(human_teams, query.selection, query.parameters.team, query.parameters.room)
    return json_response(result)


@get_selected("/api/v1/teams.csv", TeamsTableParameters)
def get_teams_csv(query: Request[TeamsTableParameters]) -> Response:
    """One of these tables as CSV. Quartiles fill three columns; the teams of a room share one cell."""
    table = query.parameters.table
    result: Teams = service().ask(human_teams, query.selection, query.parameters.team, query.parameters.room)
    rows: Sequence[msgspec.Struct] = getattr(result, table)
    fields = TABLES[table].__struct_fields__
    header = [name for field in fields for name in _columns(field)]
    return csv_response(header, [[cell for field in fields for cell in _cells(row, field)] for row in rows], table)


def _columns(field: str) -> list[str]:
    return [f"correct_at_{name}" for name in ("lower_quartile", "median", "upper_quartile")] if field == QUARTILES else [field]


def _cells(row: msgspec.Struct, field: str) -> list[object]:
    value = getattr(row, field)
    if isinstance(row, RoomRow) and field == "teams":
        return ["; ".join(f"{team.team} {team.correct}:{team.incorrect}" for team in row.teams)]
    return [value] if field != QUARTILES else value or [None] * 3
