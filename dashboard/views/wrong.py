"""Confidently wrong: the answers of all runs that are wrong although the run was sure, and how often that happens to each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from dash import html
from dash.development.base_component import Component

from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.registry.tables import RUN, Table, columns, fields
from dashboard.registry.views import Cited, serve
from dashboard.ui.controls import filter_keys, menu
from dashboard.ui.html import page_link
from dashboard.ui.messages import nothing_selected
from dashboard.ui.notices import disputed_mark
from dashboard.ui.quizbowl import answer_text
from dashboard.ui.runs import RunColours, highlighted_runs, named, run_colours, run_column, run_names
from dashboard.ui.section import heading, note, section
from dashboard.ui.table import Cell, PageColumn, html_table
from dashboard.ui.text import percent
from data.plurals import counted
from queries.confidently_wrong import MAX_LISTED, SURE, confidently_wrong
from queries.metrics import CATALOGUE
from queries.reliability import Item
from queries.selection.parameter_kinds import Number, format_number
from queries.selection.view_parameters_base import Parameters

PATH = "/wrong"
OFFERED = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
Least = Annotated[float, Number(f"the confidence from which an answer is sure: {SURE} by default", 1, zero=True)]


class WrongKeys(Parameters, frozen=True):
    """From which confidence on an answer is sure."""

    least: Least = SURE


RUNS = Table(
    "How often each run is sure, and wrong then, as CSV.",
    rows=lambda answer: answer.runs,
    columns=(*RUN, *columns("answers", "sure", "wrong", "share")),
)
ANSWERS = Table("The answers as CSV.", rows=lambda answer: answer.items, columns=fields(Item), name="answers")
WRONG = serve(
    "confidently-wrong",
    confidently_wrong,
    WrongKeys,
    """Answers that are wrong although the run was sure, across all runs, the surest first, and how often each run is sure and
        wrong. `disputed`: the gradings of the run differ on it.""",
    RUNS,
    ANSWERS,
)


class WrongPage(PageParameters, frozen=True):
    """From which confidence on an answer is sure."""

    least: Least = SURE


def draw(request: PageRequest[WrongPage]) -> Sequence[Component | None]:
    """Draw a row per run, then a row per answer."""
    result, least = WRONG.ask(request), request.parameters.least
    if not result.runs:
        return [nothing_selected(PATH, request.selection, "answers", request.facets, "Confidently wrong")]
    names, colours = run_names(result.runs), run_colours(request.facets, highlighted_runs(request, CATALOGUE["brier"]))
    options = {format_number(value): f"at least {percent(value, 0)}" for value in sorted({*OFFERED, least})}
    one = len(request.selection.run) == 1
    show = "All runs" if one else "Only this run"
    return [
        heading(
            "Confidently wrong",
            f"{request.facets.title}: answers that are wrong although the run was at least {percent(least, 0)} sure",
            menu("least", "Sure", options, format_number(least), default=format_number(SURE)),
        ),
        html_table(
            [
                run_column(names, colours),
                PageColumn("Answers", "answers"),
                PageColumn("Sure", "sure"),
                PageColumn("Sure and wrong", "wrong"),
                PageColumn("Share of sure ones", "share", percent, number=True),
                PageColumn("Show", lambda run: page_link(show, _only(request, run.run, one=one))),
            ],
            result.runs,
            "Runs",
            declared=RUNS,
        ),
        _answers(request, result.items, result.total, names, colours),
    ]


def _guess(item: Item) -> Cell:
    return Cell([item.guess or "no answer", disputed_mark() if item.disputed else None], kind="guess")


def _only(request: PageRequest[WrongPage], run: str, *, one: bool) -> str:
    return request.link(PATH, run=None if one else run, least=request.written("least") or None)


def _answers(
    request: PageRequest[WrongPage], listed: Sequence[Item], total: int, names: Mapping[str, str], colours: RunColours
) -> html.Section:
    def link(item: Item) -> Component:
        clue = str(item.clue) if request.facets.longest > 1 else None
        return page_link(item.question_id, href=request.question_link(item.question_id, clue=clue))

    shown = [
        PageColumn("Question", link),
        PageColumn("Clue", lambda item: item.clue + 1) if request.facets.longest > 1 else None,
        PageColumn("Run", lambda item: named(colours.get(item.run), names[item.run])),
        PageColumn("Confidence", "confidence", percent, number=True),
        PageColumn("Guess", _guess),
        PageColumn("Answer", lambda item: answer_text(item.answer, quizbowl=request.facets.quizbowl)),
    ]
    more = f", the surest {MAX_LISTED} shown" if total > len(listed) else ""
    return section(
        "Answers",
        f"{counted(total, 'answer')}, the surest first{more}."
        + (" A run can be sure and wrong at several clues of a question." if request.facets.longest > 1 else ""),
        html_table(shown, listed, "Confidently wrong answers", declared=ANSWERS) if listed else note("None."),
    )


PAGE = register(
    Page(
        name="wrong", path=PATH, title="Confidently wrong", place="Questions", order=2, draw=draw,
        offered=lambda facets: not facets.forecasts,  # there, a low probability can be wrong, too
        parameters=WrongPage,
        table=lambda request: Cited(
            WRONG, WrongKeys(request.parameters.least), ("model", "elicitation", "answers", "sure", "wrong", "share")
        ),
        filters=("run", *filter_keys(), "failed", "grading", "undisputed"), common=False,
    )
)  # fmt: skip
