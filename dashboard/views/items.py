"""Single answers: the drawer with those behind a mark, and the page of those that were sure and wrong before people knew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.keys import Items, ItemsKeys
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.registry.tables import RUN, Table, columns, fields
from clueline.dashboard.registry.views import CONVENTION_KEYS, RUN_KEYS, Cited, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import filter_keys, menu
from clueline.dashboard.ui.frame import copy_link
from clueline.dashboard.ui.html import aria, controls, data, folded, heading, items_link, items_query, note, page_link, section
from clueline.dashboard.ui.messages import disputed_mark, nothing_selected
from clueline.dashboard.ui.quizbowl import answer_text, without_markup
from clueline.dashboard.ui.runs import RunStyle, highlighted_runs, run_style
from clueline.dashboard.ui.table import Cell, PageColumn, html_table, noted
from clueline.dashboard.ui.text import CURVE_NAMES, percent, tick
from clueline.data.plurals import counted
from clueline.queries.engine.parts_of_questions import FIFTHS
from clueline.queries.items import SURE, ConfidentlyWrong, Item, Order, SureItem, SureRun, confidently_wrong, items
from clueline.queries.metrics import Conventions
from clueline.queries.selection import Request
from clueline.queries.selection.parameter_kinds import Choice, Flag, Number, format_number, format_range
from clueline.queries.selection.view_parameters_base import Parameters

ITEMS = serve(
    "items",
    items,
    ItemsKeys,
    "Single answers, such as those in a bin of a run, furthest off first. `disputed`: the gradings of the run differ on it.",
    Table("The same as CSV.", lambda answer: answer.items, fields(Item)),
    unused=(*RUN_KEYS, *CONVENTION_KEYS, "cluster", "primary"),
)


def drawer(request: PageRequest[Any] | None) -> html.Aside:
    """Return what lists the answers behind a mark of a page; closed if the address names none."""
    keys: ItemsKeys | None = request.parameters.items if request else None
    if request is None or keys is None:
        return html.Aside(hidden=True, id="drawer")
    selection = request.selection
    result = ITEMS.ask(Request(selection, request.facets, keys))
    names = names_of(request.facets.all_runs)
    csv = service().access.address_of_view("/api/v1/items.csv", [*selection.pairs(), *keys.pairs()])
    first = f", the first {len(result.items)} shown" if result.total > len(result.items) else ""
    columns = [
        PageColumn("Answer", lambda item: _answer(request, item, "" if len(keys.focus) == 1 else names[item.run])),
        PageColumn("Confidence", "confidence", percent, number=True),
        PageColumn("Right", lambda item: tick(item.correct)),
    ]
    inside = [
        html.Div(
            [
                html.H2(", ".join(names[run] for run in keys.focus) or "All runs", tabIndex="-1"),
                copy_link(service().settings.url),
                html.Button("×", type="button", className="quiet", title="Close (Esc)", **aria(label="Close"), **data(items="")),
            ],
            className="heading",
        ),
        note("; ".join(_narrowed_by(keys, selection.conventions))),
        note([f"{counted(result.total, 'answer')} with a confidence, ", _order(keys), f"{first} · ", html.A("CSV", href=csv)]),
        html_table(columns, result.items, "Answers behind the mark") if result.items else None,
    ]
    return html.Aside(inside, id="drawer", **aria(label="Answers behind a mark"))


def _narrowed_by(keys: ItemsKeys, conventions: Conventions) -> list[str]:
    """Say which of the answers of the runs are listed."""
    filters, bin_ = keys.within.applied().items() if keys.within else (), keys.bin or 0
    words = f"Confidence from {(bin_ - 1) / 10:g} to {min(bin_ / 10, 1):g}"
    if conventions.mass_bins:
        words = f"Bin {bin_} of {conventions.mass_bins} with equally many answers"
    return [
        *([words] if keys.bin else []),
        *([f"Clue {keys.clue} of each question"] if keys.clue else []),
        *(["Before people knew"] if keys.before else []),
        *([f"From {(keys.fifth - 1) / FIFTHS:.0%} to {keys.fifth / FIFTHS:.0%} of the question revealed"] if keys.fifth else []),
        *([f"Confidence from {keys.confidence[0]:g} to {keys.confidence[1]:g}"] if keys.confidence else []),
        *(kind.sentence(key, keys.within.value(key)) for key, kind in filters if keys.within),
        *([f"Question {', '.join(keys.question)}"] if keys.question else []),
    ]


ORDER_WORDS = {"wrong": "wrong ones first", "off": "furthest off first"}


def _order(keys: ItemsKeys) -> Component:
    """Say how the answers are sorted, with a link to the other order."""
    other: Order = "off" if keys.order == "wrong" else "wrong"
    (query,) = Items("").write(keys.replace(order=other))
    return html.Span([ORDER_WORDS[keys.order], " (", items_link(ORDER_WORDS[other], query), ")"])


def _answer(request: PageRequest[Any], item: Item, run: str) -> list[Any]:
    """Return a guess as a link to its question, above the right answer and where it was given."""
    right = item.answer and item.correct < 1 and f"Answer: {item.answer.partition(' [')[0]}"
    clue = f"clue {item.clue + 1}" if request.facets.longest > 1 else None
    where = " · ".join(part for part in (right, item.question_id, clue, run, "disputed" if item.disputed else None) if part)
    return noted(page_link(item.guess or "no answer", href=_question(request, item)), where)


CITED = ("model", "elicitation", "answers", "sure", "wrong", "share")
OFFERED = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
Least = Annotated[float, Number(f"the confidence from which an answer is sure: {SURE} by default", 1, zero=True)]


class WrongKeys(Parameters, frozen=True):
    """From which confidence on an answer is sure, and at which clues."""

    least: Least = SURE
    before: Annotated[bool, Flag("`1`: only answers before people knew, where the human curve is below 1/2")] = False


RUNS = Table(
    "How often each run is sure, and wrong then, as CSV.",
    rows=lambda answer: answer.runs,
    columns=(*RUN, *columns("answers", "sure", "wrong", "share")),
)
ANSWERS = Table("The answers as CSV.", rows=lambda answer: answer.items, columns=fields(SureItem), name="answers")
WRONG = serve(
    "confidently-wrong",
    confidently_wrong,
    WrongKeys,
    """Answers that are wrong although the run was sure, across all runs, the surest first, and how often each run is sure and
        wrong, with how many people knew by then. `disputed`: the gradings of the run differ on it.""",
    RUNS,
    ANSWERS,
    unused=("binning", "beta", "t", "failed", "cluster", "primary"),
)


class WrongPage(PageParameters, frozen=True):
    """From which confidence on an answer is sure, and at which clues."""

    least: Least = SURE
    before: Annotated[
        str, Choice("`0`: at any clue; by default only before people knew, where people answered", ("0", "1"), blank=True)
    ] = ""


def _keys(request: PageRequest[WrongPage]) -> WrongKeys:
    return WrongKeys(request.parameters.least, before=bool(request.facets.human_teams) and request.parameters.before != "0")


@page(
    "/wrong", "Sure and wrong", WrongPage, place="Questions", order=2, offered=lambda facets: not facets.forecasts,
    table=lambda request: Cited(WRONG, _keys(request), CITED),
    views=(WRONG,),
    filters=("run", *filter_keys(), "people", "human", "grading", "undisputed"), common=False,
)  # fmt: skip
def draw(request: PageRequest[WrongPage]) -> Sequence[Component | None]:
    """Draw a row per answer, the surest first, and a row per run."""
    keys, facets, least = _keys(request), request.facets, request.parameters.least
    result = WRONG.ask(Request(request.selection, facets, keys))
    if not result.runs:
        return [nothing_selected(request.path, request.selection, "answers", facets, "Sure and wrong")]
    style = run_style(facets, result.runs, highlighted_runs(request, ranking=[run.run for run in result.runs]))
    options = {format_number(value): f"at least {percent(value, 0)}" for value in sorted({*OFFERED, least})}
    when = {"1": "Before people knew", "0": "At any clue"}
    return [
        heading(
            f"Sure and wrong{BEFORE if keys.before else ''}",
            f"{facets.title}: {_finding(result, style)}",
            controls(
                menu("least", "Sure", options, format_number(least), default=format_number(SURE)),
                menu("before", "When", when, "1" if keys.before else "0", default="1") if facets.human_teams else None,
            ),
        ),
        _answers(request, result, style),
        _runs(result, style),
    ]


BEFORE = " before people knew"


def _finding(result: ConfidentlyWrong, style: RunStyle) -> str:
    """Say how often runs were sure and wrong, and which run was most often."""
    at_least, when = percent(result.least, 0), BEFORE if result.before else ""
    if not result.total:
        return f"no run was wrong with at least {at_least} confidence{when}."
    worst = result.runs[0]
    return (
        f"{counted(result.total, 'answer was', 'answers were')} wrong with at least {at_least} confidence{when}. "
        f"{style.names[worst.run]} has most of them: {worst.wrong:,} of its {counted(worst.sure, 'sure answer')} "
        f"({percent(worst.share, 0)}) were wrong."
    )


def _runs(result: ConfidentlyWrong, style: RunStyle) -> html.Section:
    """Return how often each run was sure, and wrong then."""

    def wrong(run: SureRun) -> Component | str:
        before = "1" if result.before else None
        query = items_query(focus=run.run, confidence=format_range((result.least, 1.0)), before=before)
        return items_link(f"{run.wrong:,}", query) if run.wrong else "0"

    columns = [
        style.column(),
        PageColumn("Answers", "answers"),
        PageColumn("Sure", "sure"),
        PageColumn("Sure and wrong", wrong, number=True),
        PageColumn("Share of sure ones", "share", percent, number=True),
    ]
    return section("How often each run was", html_table(columns, result.runs, "Runs", declared=RUNS))


def _question(request: PageRequest[Any], item: Item) -> str:
    """Return the address of the question of an answer, at its clue."""
    return request.question_link(item.question_id, clue=str(item.clue) if request.facets.longest > 1 else None)


def _answers(request: PageRequest[WrongPage], result: ConfidentlyWrong, style: RunStyle) -> html.Section:
    facets = request.facets

    def guess(item: SureItem) -> Cell:
        return Cell([item.guess or "no answer", disputed_mark() if item.disputed else None], kind="guess")

    def question(item: SureItem) -> Cell:
        words = without_markup(item.text) if item.text and facets.quizbowl else item.text
        return Cell(page_link(words or item.question_id, href=_question(request, item), title=item.question_id), kind="question")

    shown = [
        PageColumn("Question", question),
        PageColumn("Clue", lambda item: item.clue + 1) if facets.longest > 1 else None,
        PageColumn("Guess", guess),
        PageColumn("Confidence", "confidence", percent, number=True),
        PageColumn("People by then", _people, about=_about_people(result)) if facets.human_teams else None,
        PageColumn("Run", lambda item: style.dot(item.run)),
        PageColumn("Answer", lambda item: answer_text(item.answer, quizbowl=facets.quizbowl)),
    ]

    def table(items: Sequence[SureItem]) -> html.Div:
        return html_table(shown, items, "Confidently wrong answers", "wrong", declared=ANSWERS)

    first, rest = result.items[:UNFOLDED], result.items[UNFOLDED:]
    listed = f", the surest {len(result.items)} listed" if result.total > len(result.items) else ""
    return section(
        "Answers",
        f"{counted(result.total, 'answer')}, the surest first{listed}."
        + (" A run can be sure and wrong at several clues of a question." if facets.longest > 1 else ""),
        table(first) if first else note("None."),
        folded(f"{len(rest)} more", table(rest)) if rest else None,
    )


UNFOLDED = 15  # answers; more would make the page longer than anybody scrolls


def _people(item: SureItem) -> Cell:
    if item.teams is None:
        return Cell(None, "No human team heard this question")
    unstated = f"Nobody stated where {item.unstated} of these plays ended" if item.unstated else None
    return Cell(f"{item.right} of {counted(item.teams, 'team')}", unstated)


def _about_people(result: ConfidentlyWrong) -> str:
    before = f" Before people knew: {CURVE_NAMES[result.human]}, below one half." if result.before else ""
    return f"How many of the teams that heard the question had answered correctly by the end of the clue.{before}"
