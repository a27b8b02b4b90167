"""Answer or abstain: what the answers of each run are worth, at every cost of a wrong one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.registry.cited import Cited
from dashboard.registry.keys import FirstCurve, SecondCurve
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.controls import menu
from dashboard.ui.filters import filter_keys
from dashboard.ui.messages import nothing_selected
from dashboard.ui.runs import highlighted_runs, run_colours, run_names
from dashboard.views.decide.curves import coverage_section, murphy_section, net_section, people_note
from dashboard.views.decide.slider import cost_slider, decisions_table, state
from dashboard.views.leaderboard.view import cited_leaderboard
from data.plurals import counted
from queries.decide import Decisions, decide
from queries.metrics import CATALOGUE, Conventions
from queries.selection import Selection

PATH = "/decide"
CITED = ("net_score", "accuracy", "accuracy_at_80", "aurc", "augrc", "prr")


class DecidePage(PageParameters, frozen=True):
    """The two runs that are compared."""

    a: FirstCurve = ""
    b: SecondCurve = ""


def draw(request: PageRequest[DecidePage]) -> Sequence[Component | None]:
    """Draw the slider for the cost, the table that follows it, curves over t and coverage, and two runs compared."""
    a, b = request.parameters.a, request.parameters.b
    result: Decisions = service().ask(decide, _at_any_t(request.selection), a, b)
    if not result.runs:
        return [nothing_selected(PATH, request.selection, "answers", request.facets, "Answer or abstain")]
    t = request.selection.conventions.t
    colours = run_colours(request.facets, highlighted_runs(request, CATALOGUE["brier"]))
    names = run_names(result.runs)
    compared = [result.difference.a, result.difference.b] if result.difference else []
    every = run_names(compared) | names
    return [
        html.Div(
            [
                html.H1("Answer or abstain"),
                html.P(
                    f"{request.facets.title}: what it is worth to answer only when a run is confident enough; "
                    f"{counted(len(result.runs), 'run')}",
                    className="lead",
                ),
            ],
            className="heading",
        ),
        cost_slider(t),
        decisions_table(result, names, colours, t, forecasts=request.facets.forecasts),
        people_note(result.people) if result.people else None,
        net_section(result, names, colours, t),
        murphy_section(result, every, _menus(request, every), not (a and b), colours, t),
        coverage_section(result, names, colours, t, forecasts=request.facets.forecasts),
        state(result),
    ]


def _at_any_t(selection: Selection) -> Selection:
    """The selection without its t: the result has every t, so that moving the slider needs no new request."""
    return selection.replace(conventions=replace(selection.conventions, t=Conventions().t))


def _menus(request: PageRequest[DecidePage], names: dict[str, str]) -> list[Component]:
    a, b = request.parameters.a, request.parameters.b
    first = {"": "Best by Brier", **{run: name for run, name in names.items() if run != b}}
    second = {"": "Next best by Brier", **{run: name for run, name in names.items() if run != a}}
    return [menu("a", "First run", first, a), menu("b", "Second run", second, b)]


def _table(request: PageRequest[DecidePage]) -> Cited[Any]:
    return cited_leaderboard([CATALOGUE[key] for key in CITED])


PAGE = register(
    Page(
        name="decide", path=PATH, title="Decide", place=45, draw=draw, table=_table, parameters=DecidePage,
        filters=("run", *filter_keys(), "people", "cluster", "failed", "grading"), common=True,
    )
)  # fmt: skip
