"""Teams: what people did. The page also works for a dataset without runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from dash import html
from dash.development.base_component import Component
from flask import Response

from clueline.dashboard.registry.addresses import get
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import Column, Table, column, columns, fields
from clueline.dashboard.registry.views import CONVENTION_KEYS, RUN_KEYS, Cited, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import filter_keys
from clueline.dashboard.ui.figure import (
    INK,
    MAX_ROW_LABEL_LENGTH,
    MUTED,
    PlotlyJson,
    axis,
    dots,
    drawn,
    figure,
    plain,
    row_axis,
    segments,
)
from clueline.dashboard.ui.html import folded, heading, note, page_link, panel, rest_as_file, section
from clueline.dashboard.ui.messages import dataset_links, nothing_selected
from clueline.dashboard.ui.quizbowl import main_answer, question_column
from clueline.dashboard.ui.table import Columns, PageColumn, html_table
from clueline.dashboard.ui.text import distinct_short_names, enumerated, percent
from clueline.data.plurals import counted
from clueline.queries.selection import Request
from clueline.queries.selection.parameter_kinds import Choice, Text
from clueline.queries.selection.view_parameters_base import Parameters
from clueline.queries.teams import CategoryBuzzing, QuestionBuzzing, RoomRow, TeamBuzz, TeamRow, Teams, human_teams


class TeamsKeys(Parameters, frozen=True):
    """Which team's or room's buzzes are listed."""

    team: Annotated[str | None, Text("the team whose buzzes are listed; none by default")] = None
    room: Annotated[str | None, Text("the room whose buzzes are listed; none by default")] = None


def _columns(struct: type[msgspec.Struct]) -> tuple[Column, ...]:
    def quartile(place: int, name: str) -> Column:
        return column(f"correct_at_{name}", lambda row: row.correct_at_quartiles[place] if row.correct_at_quartiles else None)

    quartiles = [quartile(*named) for named in enumerate(("lower_quartile", "median", "upper_quartile"))]
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
        (
            *fields(RoomRow, without=("teams",)),
            column("teams", lambda room: "; ".join(f"{one.team} {one.correct}:{one.incorrect}" for one in room.teams)),
        ),
        file="rooms",
    ),
    "buzzes": Table("", lambda answer: answer.buzzes, _columns(TeamBuzz), file="buzzes"),
}
TEAMS = serve(
    "teams",
    human_teams,
    TeamsKeys,
    "Human teams: what they heard, where they buzzed and how often they were right; also by category, question and room.",
    *tuple(TABLES.values()),
    csv=False,
    unused=(*RUN_KEYS, *CONVENTION_KEYS, "revealed", "failed", "grading", "undisputed", "cluster", "common", "primary"),
)


class TeamsTableKeys(TeamsKeys, frozen=True):
    """Which table."""

    table: Annotated[
        str, Choice("`teams`, `categories`, `questions`, `rooms` or `buzzes`; `teams` by default", tuple(TABLES))
    ] = "teams"


@get("/api/v1/teams.csv", TeamsTableKeys, selection=True)
def get_teams_csv(request: Request[TeamsTableKeys]) -> Response:
    """One of these tables as CSV. Quartiles fill three columns; the teams of a room share one cell."""
    return TEAMS.csv(TABLES[request.parameters.table], request)


MAX_ROWS = 40  # rows in a table of questions, rooms or buzzes
UNFOLDED = 8  # rows of a table of teams, questions or rooms; the others are folded away
MAX_TEAMS_OF_A_ROOM = 4  # teams that the row of a room names

TERMS = (
    "Heard: once per team and room. Conversion: share of rooms in which a team was right. Precision: share of buzzes that were "
    "right. Correct at: mean share of the question that had been read. First at: the same for the earliest correct buzz of each "
    "question. First: questions on which no team was right earlier, in any room."
)
POWERS = " Powers: correct buzzes before the power mark of the question."


SHARES = {"correct_share": "Correct share", "precision": "Precision", "conversion": "Conversion", "correct_at": "Correct at",
          "first_at": "First at"}  # fmt: skip


def _shown(rows: Sequence[Any], *keys: str) -> list[PageColumn | str]:
    """Return columns by their keys; that of powers only if a question has a power mark."""
    marked = any(row.powers is not None for row in rows)
    return [
        PageColumn(SHARES[key], key, percent, number=True) if key in SHARES else key for key in keys if marked or key != "powers"
    ]


def _unfolded(rows: Sequence[Any], table: Callable[[Sequence[Any]], html.Div]) -> list[Component]:
    """Return a table of the first rows, and one of the others behind a title."""
    first, rest = rows[:UNFOLDED], rows[UNFOLDED:]
    return [table(first), folded(f"{len(rest):,} more", table(rest))] if rest else [table(first)]


BUZZING = ("heard", "correct", "powers", "incorrect", "conversion", "correct_at", "first_at")


def teams_section(teams: Sequence[TeamRow], link: Callable[[str], str]) -> html.Section:
    """Return where each team buzzes, and how often it is right. ``link`` maps a team to the address that lists its buzzes."""
    right = [team for team in teams if team.correct][:MAX_TEAMS]
    left_out = len(teams) - len(right)
    title = "Where teams are right: median and quartiles of their correct buzzes"
    if left_out:
        title += f". Not drawn: {counted(left_out, 'team that was', 'teams that were')} right less often"
    columns: Columns = [
        PageColumn("Team", lambda team: page_link(team.team, link(team.team), "Show its buzzes")),
        *_shown(teams, "rooms", "heard", "correct", "powers", "incorrect", "correct_share", "precision", "correct_at", "first"),
    ]
    return section(
        "Teams",
        figure("teams", teams_figure(right, link("ID")), title, hint="Click a dot to list the buzzes of the team")
        if right
        else None,
        *_unfolded(teams, lambda rows: html_table(columns, rows, "Teams", declared=TABLES["teams"])),
        TERMS + (POWERS if any(team.powers is not None for team in teams) else ""),
    )


def categories_section(categories: Sequence[CategoryBuzzing], link: Callable[[str], str]) -> html.Section | None:
    """Return the results by category; None if questions have no categories."""
    if not any(part.category for part in categories):
        return None

    def name(part: CategoryBuzzing) -> Component | str:
        return page_link(part.category, link(part.category), "Show its questions") if part.category else "not stated"

    columns: Columns = [PageColumn("Category", name), "questions", *_shown(categories, *BUZZING)]
    return section("Categories", html_table(columns, categories, "Categories", declared=TABLES["categories"]))


def questions_section(
    questions: Sequence[QuestionBuzzing], link: Callable[[str], str], whole: str, *, quizbowl: bool
) -> html.Section:
    """Return the results by question, the hardest first; ``whole`` is the address of the CSV file with all of them."""
    hardest = sorted(questions, key=lambda part: (part.conversion, -(part.correct_at or 1.0)))[:MAX_ROWS]
    columns: Columns = [question_column(link, quizbowl, titled=False), "category", *_shown(questions, *BUZZING), "first_team"]
    return section(
        "Questions, hardest first",
        *_unfolded(hardest, lambda rows: html_table(columns, rows, "Questions", declared=TABLES["questions"])),
        rest_as_file(len(questions) - len(hardest), whole),
    )


def rooms_section(rooms: Sequence[RoomRow], link: Callable[[str], str], whole: str) -> html.Section | None:
    """Return which teams met, and their results; None if no two teams shared a room. ``whole`` is as in ``questions_section``."""
    if not rooms:
        return None

    def names(room: RoomRow) -> str:
        return enumerated([f"{one.team} {one.correct}\u202f:\u202f{one.incorrect}" for one in room.teams], MAX_TEAMS_OF_A_ROOM)

    columns: Columns = [
        PageColumn("Room", lambda room: page_link(room.room, link(room.room), "Show its buzzes")),
        PageColumn("Teams, with correct : incorrect buzzes", names),
        "questions",
        PageColumn("Answered correctly", "converted"),
        *_shown(rooms, "powers"),
    ]
    return section(
        "Rooms",
        *_unfolded(rooms[:MAX_ROWS], lambda rows: html_table(columns, rows, "Rooms", declared=TABLES["rooms"])),
        rest_as_file(len(rooms) - MAX_ROWS, whole),
    )


def buzzes_section(
    whose: str, buzzes: Sequence[TeamBuzz], link: Callable[[str], str], back: str, *, quizbowl: bool
) -> html.Section:
    """Return every buzz of one team, or in one room.

    ``whose`` completes the heading "Buzzes ...". ``link`` maps a question id, or the placeholder ``ID``, to its address. ``back``
    is the address of the page without a team or room.
    """
    labels = [main_answer(buzz.answer, quizbowl=quizbowl) or buzz.question_id for buzz in buzzes]
    marked = any(buzz.power is not None for buzz in buzzes)
    columns: Columns = [
        question_column(link, quizbowl, titled=False),
        "category",
        "room",
        "team",
        PageColumn("Word", lambda buzz: buzz.word + 1),
        PageColumn("Read", "at", percent),
        PageColumn(
            "Correct", lambda buzz: html.Span("✓" if buzz.correct else "✗", title="correct" if buzz.correct else "incorrect")
        ),
        PageColumn("Powers", "power", lambda power: "power" if power else "") if marked else None,
        PageColumn("Place", lambda buzz: f"{buzz.place} of {buzz.places}" if buzz.place else None, number=True),
        PageColumn("Answer given", lambda buzz: buzz.guess or None),
    ]
    more = len(buzzes) - MAX_ROWS
    shown = figure(
        "team",
        team_figure(buzzes, labels, link("ID")),
        "Where in the question: ○ correct, × incorrect",
        hint="Click a buzz to open its question",
    )
    return section(
        html.Div([html.H2(f"Buzzes {whose}"), page_link("All teams", back)], className="heading"),
        shown if buzzes else "No buzz on these questions.",
        html_table(columns, buzzes[:MAX_ROWS], f"Buzzes {whose}", declared=TABLES["buzzes"]) if buzzes else None,
        "Place: rank among the correct buzzes on the question in all rooms, earliest first.",
        f"{more:,} more are in /api/v1/teams.csv?table=buzzes" if more > 0 else None,
    )


ROW = 20  # pixels per team
MAX_TEAMS = 40  # rows of the figure
SHARE: PlotlyJson = {"range": [0, 1.01], "tickformat": ".0%", "dtick": 0.25}


def teams_figure(teams: Sequence[TeamRow], link: str) -> PlotlyJson:
    """Draw a row per team: a dot at the median of its correct buzzes, a bar from the lower to the upper quartile.

    There must be at most ``MAX_TEAMS`` teams, each with a correct buzz. ``link`` is the address of the buzzes of the team ``ID``.
    """
    quartiles = [team.correct_at_quartiles or [] for team in teams]
    names = [team.team for team in teams]
    medians = dots(
        [middle for _, middle, _ in quartiles], [*range(len(teams))], "%{text}<br>median at %{x:.0%} of the question", INK, 9,
        customdata=names, meta={"link": link}, cliponaxis=False,
        text=[f"{plain(team.team)}: {team.correct:,} correct of {team.heard:,} heard" for team in teams],
    )  # fmt: skip
    return drawn(
        [segments(((place, low, high) for place, (low, _, high) in enumerate(quartiles)), 4), medians],
        ROW * len(teams) + 58,
        axis("share of the question read at a correct buzz", **SHARE),
        row_axis([plain(text) for text in distinct_short_names(names, MAX_ROW_LABEL_LENGTH)]),
    )


def team_figure(buzzes: Sequence[TeamBuzz], labels: Sequence[str], link: str) -> PlotlyJson:
    """Draw every buzz of one team: a row per category, where in the question it came, and whether it was right.

    ``labels`` names the question of each buzz. ``link`` is the address of a question, with ``ID`` in place of its id; a click on
    a mark opens it.
    """
    categories = sorted({_category(buzz) for buzz in buzzes})
    place = {category: number for number, category in enumerate(categories)}

    def marks(name: str, symbol: str, colour: str, *, correct: bool) -> PlotlyJson:
        rows = [(buzz, label) for buzz, label in zip(buzzes, labels, strict=True) if buzz.correct == correct]
        return dots(
            [buzz.at for buzz, _ in rows], [place[_category(buzz)] for buzz, _ in rows],
            f"%{{text}}<br>{name} at %{{x:.0%}} of the question", colour, 9,
            {"symbol": symbol, "line": {"width": 1.6, "color": colour}}, name=name, meta={"link": link}, cliponaxis=False,
            customdata=[buzz.question_id for buzz, _ in rows], text=[plain(label) for _, label in rows],
        )  # fmt: skip

    right = marks("correct", "circle-open", "var(--good)", correct=True)
    wrong = marks("incorrect", "x-thin-open", "var(--bad)", correct=False)
    names = [plain(text) for text in distinct_short_names(categories, MAX_ROW_LABEL_LENGTH)]
    rows = row_axis(names, showgrid=True, tickfont={"size": 12, "color": MUTED})
    return drawn([right, wrong], (ROW + 6) * len(categories) + 58, axis("share of the question read", **SHARE), rows)


def _category(buzz: TeamBuzz) -> str:
    return buzz.category or "not stated"


CITED = ("team", "rooms", "heard", "correct", "powers", "incorrect", "correct_share", "precision", "correct_at", "first")


class TeamsPage(PageParameters, frozen=True):
    """The team and the room whose buzzes are listed."""

    team: Annotated[str, Text("the team whose buzzes are listed; none by default")] = ""
    room: Annotated[str, Text("the room whose buzzes are listed; none by default")] = ""


@page(
    "/teams", "Teams", TeamsPage, place="People", order=2, offered=attrgetter("has_teams"),
    table=lambda request: Cited(TEAMS, TeamsKeys(), CITED), views=(TEAMS,),
    filters=(*filter_keys("questions"), "q", "people"),
)  # fmt: skip
def draw(request: PageRequest[TeamsPage]) -> Sequence[Component | None]:
    """Draw where teams buzz, results by category, question and room, and the buzzes of a team or room in the address."""
    if not request.facets.human_teams:
        links = dataset_links(
            request.path, lambda dataset: dataset.human_teams > 0, "Datasets that teams have heard:",
            "No dataset in this store has human buzzes.",
        )  # fmt: skip
        return [_heading(request, "when people know the answer"), panel("No team has heard these questions", *links)]
    team, room = request.parameters.team, request.parameters.room
    result: Teams = service().ask(human_teams, request.selection, team or None, room or None)
    if result.missing:
        return [nothing_selected(request.path, request.selection, "human buzzes", request.facets, "Teams")]

    lead = f"when people know the answer; {counted(len(result.teams), 'team')} heard {counted(len(result.questions), 'question')}"
    quizbowl = request.facets.quizbowl
    whose = " ".join([f"of {team}"] * bool(team) + [f"in room {room}"] * bool(room))

    def file(table: str) -> str:
        return service().access.address_of_view("/api/v1/teams.csv", [*request.selection.pairs(), ("table", table)])

    return [
        _heading(request, lead),
        buzzes_section(whose, result.buzzes, request.question_link, request.link(request.path), quizbowl=quizbowl)
        if whose
        else None,
        teams_section(result.teams, lambda name: request.link(request.path, team=name)),
        categories_section(result.categories, lambda name: request.link("/questions", category=name)),
        questions_section(result.questions, request.question_link, file("questions"), quizbowl=quizbowl),
        rooms_section(result.rooms, lambda name: request.link(request.path, room=name), file("rooms")),
    ]


def _heading(request: PageRequest[TeamsPage], lead: str) -> html.Div:
    facets = request.facets
    return heading("Teams", f"{facets.title}: {lead}", note(facets.note) if facets.note and not facets.simulated else None)
