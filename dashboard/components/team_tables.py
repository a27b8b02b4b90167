"""Human teams: who they are, where they buzz, and how categories and questions went."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.figure import figure
from dashboard.components.links import page_link
from dashboard.components.numbers import DASH, count, percent
from dashboard.components.quizbowl_markup import main_answer
from dashboard.components.table import row, table
from dashboard.figures.teams import MOST_TEAMS, team_figure, teams_figure
from queries.teams import Buzzing, CategoryBuzzing, QuestionBuzzing, TeamBuzz, TeamRow

MOST_ROWS = 40  # of a table of questions or buzzes
BUZZING_HEAD = ("Heard", "Correct", "Incorrect", "Conversion", "Correct at", "First at")
TEAM_HEAD = ("Team", "Rooms", "Heard", "Correct", "Incorrect", "Correct share", "Precision", "Correct at", "First")
TERMS = (
    "Heard: teams that heard a question, once per room. Conversion: share of rooms in which a team was right. "
    "Precision: share of buzzes that were right. Correct at: mean share of the question that had been read. "
    "First at: the same for the earliest correct buzz of each question. First: questions on which no team was right earlier, "
    "in any room."
)


def teams_section(teams: Sequence[TeamRow], link: Callable[[str], str]) -> html.Section:
    """Where each team buzzes, and what came of it.

    Args:
        teams: in order.
        link: address that lists a team's buzzes.
    """
    right = [team for team in teams if team.correct][:MOST_TEAMS]
    left_out = len(teams) - len(right)
    title = "Where teams are right: median and quartiles of their correct buzzes"
    if left_out:
        title += f". Not drawn: {count(left_out, 'team')}, which were right less often"
    rows = [
        row(
            page_link(team.team, link(team.team), "Show its buzzes"),
            *(f"{number:,}" for number in (team.rooms, team.heard, team.correct, team.incorrect)),
            *(percent(share) for share in (team.correct_share, team.precision, team.correct_at)),
            f"{team.first:,}",
        )
        for team in teams
    ]
    return html.Section(
        [
            html.H2("Teams"),
            figure("teams", teams_figure(right), title) if right else None,
            table(TEAM_HEAD, rows, "Teams"),
            html.P(TERMS, className="note"),
        ],
        className="section",
    )


def categories_section(categories: Sequence[CategoryBuzzing], link: Callable[[str], str]) -> html.Section | None:
    """How each category went; None where questions have no categories.

    Args:
        categories: in order.
        link: address of the list of a category's questions.
    """
    if not any(part.category for part in categories):
        return None
    rows = [
        row(
            page_link(part.category, link(part.category), "Show its questions") if part.category else "not stated",
            f"{part.questions:,}",
            *_cells(part),
        )
        for part in categories
    ]
    return html.Section(
        [html.H2("Categories"), table(("Category", "Questions", *BUZZING_HEAD), rows, "Categories")], className="section"
    )


def questions_section(
    questions: Sequence[QuestionBuzzing], link: Callable[[str], str], whole: str, *, quizbowl: bool
) -> html.Section:
    """How each question went, the hardest first.

    Args:
        questions: in any order.
        link: question id to address.
        whole: address of all of them as CSV.
        quizbowl: whether answer lines may have the markup of quizbowl.
    """
    hardest = sorted(questions, key=lambda part: (part.conversion, -(part.correct_at or 1.0)))
    rows = [
        row(
            [page_link(main_answer(part.answer, quizbowl=quizbowl) or part.question_id, link(part.question_id))],
            html.Span(part.category or DASH),
            *_cells(part),
            html.Span(part.first_team or DASH),
        )
        for part in hardest[:MOST_ROWS]
    ]
    more = len(questions) - len(rows)
    return html.Section(
        [
            html.H2("Questions, hardest first"),
            table(("Question", "Category", *BUZZING_HEAD, "First team"), rows, "Questions"),
            html.P([f"{more:,} more are in the file: " if more else "As a file: ", html.A("CSV", href=whole)], className="note"),
        ],
        className="section",
    )


def buzzes_section(
    team: str, buzzes: Sequence[TeamBuzz], link: Callable[[str], str], back: str, *, quizbowl: bool
) -> html.Section:
    """Every buzz of one team.

    Args:
        team: its name.
        buzzes: in order.
        link: question id to address; ``ID`` stands for any.
        back: address of the page without a team.
        quizbowl: whether answer lines may have the markup of quizbowl.
    """
    labels = [main_answer(buzz.answer, quizbowl=quizbowl) or buzz.question_id for buzz in buzzes]
    rows = [
        row(
            [page_link(label, link(buzz.question_id))],
            html.Span(buzz.category or DASH),
            html.Span(buzz.room),
            f"{buzz.word + 1:,}",
            percent(buzz.at),
            html.Span("✓" if buzz.correct else "✗", title="correct" if buzz.correct else "incorrect"),
            f"{buzz.place} of {buzz.places}" if buzz.place else DASH,
            html.Span(buzz.guess or DASH),
        )
        for buzz, label in zip(buzzes[:MOST_ROWS], labels, strict=False)
    ]
    head = ("Question", "Category", "Room", "Word", "Read", "Correct", "Place", "Answer given")
    more = len(buzzes) - len(rows)
    parts: list[Component | None] = [
        html.Div([html.H2(f"Buzzes of {team}"), page_link("All teams", back)], className="heading"),
        figure(
            "team",
            team_figure(buzzes, labels, link("ID")),
            "Where it buzzed: ○ correct, × incorrect",
            hint="Click a buzz to open its question",
        )
        if buzzes
        else html.P("It never buzzed on these questions.", className="note"),
        table(head, rows, f"Buzzes of {team}") if buzzes else None,
        html.P("Place: among the correct buzzes on the question in all rooms, the earliest first.", className="note"),
        html.P(f"{more:,} more are in /api/v1/teams.csv?table=buzzes", className="note") if more else None,
    ]
    return html.Section(parts, className="section")


def _cells(part: Buzzing) -> list[str]:
    return [
        *(f"{number:,}" for number in (part.heard, part.correct, part.incorrect)),
        *(percent(share) for share in (part.conversion, part.correct_at, part.first_at)),
    ]
