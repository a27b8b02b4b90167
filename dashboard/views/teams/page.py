"""Teams: what people did. The page also works for a dataset without runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component

from dashboard.registry.cited import Cited
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.filters import filter_keys
from dashboard.ui.html import page_link, question_path
from dashboard.ui.messages import nothing_selected
from dashboard.views.teams.tables import (
    buzzes_section,
    categories_section,
    questions_section,
    rooms_section,
    teams_section,
)
from dashboard.views.teams.view import TEAMS, TeamsKeys
from data.plurals import counted
from queries.selection.parameter_kinds import Text
from queries.teams import Teams, human_teams

PATH = "/teams"


class TeamsPage(PageParameters, frozen=True):
    """The team and the room whose buzzes are listed."""

    team: Annotated[str, Text("the team whose buzzes are listed; none by default")] = ""
    room: Annotated[str, Text("the room whose buzzes are listed; none by default")] = ""


def draw(request: PageRequest[TeamsPage]) -> Sequence[Component | None]:
    """Draw where teams buzz, results by category, question and room, and the buzzes of a team or room in the address."""
    if not request.facets.human_teams:
        return [_heading(request, "when people know the answer"), _without()]
    team, room = request.parameters.team, request.parameters.room
    result: Teams = service().ask(human_teams, request.selection, team or None, room or None)
    if result.missing:
        return [nothing_selected(PATH, request.selection, "human buzzes", request.facets, "Teams")]

    def question(question_id: str) -> str:
        return request.link(question_path(request.selection.dataset, question_id), dataset=None)

    lead = f"when people know the answer; {counted(len(result.teams), 'team')} heard {counted(len(result.questions), 'question')}"
    quizbowl = request.facets.quizbowl
    whose = " ".join([f"of {team}"] * bool(team) + [f"in room {room}"] * bool(room))

    def file(table: str) -> str:
        return service().access.address_of_view("/api/v1/teams.csv", [*request.selection.pairs(), ("table", table)])

    return [
        _heading(request, lead),
        buzzes_section(whose, result.buzzes, question, request.link(PATH), quizbowl=quizbowl) if whose else None,
        teams_section(result.teams, lambda name: request.link(PATH, team=name)),
        categories_section(result.categories, lambda name: request.link("/questions", category=name)),
        questions_section(result.questions, question, file("questions"), quizbowl=quizbowl),
        rooms_section(result.rooms, lambda name: request.link(PATH, room=name), file("rooms")),
    ]


def _heading(request: PageRequest[TeamsPage], lead: str) -> html.Div:
    return html.Div(
        [
            html.H1("Teams"),
            html.P(f"{request.facets.title}: {lead}", className="lead"),
            html.P(request.facets.note, className="note") if request.facets.note and not request.facets.simulated else None,
        ],
        className="heading",
    )


def _without() -> html.Section:
    """A panel that lists the datasets with teams."""
    links = [
        html.Li(page_link(dataset.title, href=f"{PATH}?dataset={dataset.dataset}"))
        for dataset in service().datasets()
        if dataset.human_teams
    ]
    return html.Section(
        [
            html.H2("No team has heard these questions"),
            html.P("Datasets that teams have heard:" if links else "No dataset in this store has human buzzes."),
            html.Ul(links, className="choices") if links else None,
        ],
        className="panel empty",
    )


def _table(request: PageRequest[TeamsPage]) -> Cited[Any]:
    columns = ("team", "rooms", "heard", "correct", "powers", "incorrect", "correct_share", "precision", "correct_at", "first")
    return Cited(TEAMS, TeamsKeys(), columns)


PAGE = register(
    Page(
        name="teams", path=PATH, title="Teams", place=72, draw=draw, table=_table, parameters=TeamsPage,
        filters=(*filter_keys("questions"), "q", "people"),
    )
)  # fmt: skip
