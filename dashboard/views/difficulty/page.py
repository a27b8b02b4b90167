"""Difficulty: where runs are overconfident, and how accuracy grows as a question is revealed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.registry.cited import RESAMPLED, Cited
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.filters import filter_keys
from dashboard.ui.html import question_path
from dashboard.ui.messages import nothing_selected
from dashboard.ui.runs import Panels, highlighted_runs, run_colours, run_names
from dashboard.views.difficulty.sections import GAP, fraction_accuracy, hard_easy, overconfidence_by_part
from dashboard.views.difficulty.view import DIFFICULTY
from data.plurals import counted
from queries.breakdown import breakdown
from queries.buzzing import accuracy_by_fraction
from queries.hard_easy_effect import difficulty
from queries.metrics import CATALOGUE
from queries.selection.view_parameters_base import NoParameters

PATH = "/difficulty"


class DifficultyPage(PageParameters, frozen=True):
    """The runs that have a panel."""

    panels: Panels = ""


def draw(request: PageRequest[DifficultyPage]) -> Sequence[Component | None]:
    """Draw the hard-easy effect, overconfidence by radius and category, and accuracy by fraction revealed."""
    result = service().ask(difficulty, request.selection)
    if not result.runs:
        return [nothing_selected(PATH, request.selection, "answers", request.facets, "Difficulty")]
    gap = GAP.worded(request.facets.forecasts)
    colours = run_colours(request.facets, highlighted_runs(request, gap))
    names = run_names(result.runs)
    return [
        html.Div(
            [
                html.H1("Difficulty"),
                html.P(
                    f"{request.facets.title}: whether confidence falls as questions get harder; "
                    f"{counted(len(result.runs), 'run')}",
                    className="lead",
                ),
            ],
            className="heading",
        ),
        *hard_easy(
            result,
            names,
            colours,
            request.link(question_path(request.selection.dataset, "ID"), dataset=None),
            request.parameters.panels,
            forecasts=request.facets.forecasts,
        ),
        *(
            overconfidence_by_part(by, service().ask(breakdown, request.selection, by, [gap], True), names, colours, gap)
            for by, values in (("radius", request.facets.radii), ("category", request.facets.categories))
            if len(values) > 1
        ),
        fraction_accuracy(service().ask(accuracy_by_fraction, request.selection.on_common_questions()), names, colours)
        if request.facets.longest > 1
        else None,
    ]


def _table(request: PageRequest[DifficultyPage]) -> Cited[Any]:
    metrics = (CATALOGUE["hard_easy_slope"], CATALOGUE["overconfidence"])
    columns = ("model", "elicitation", "questions", "slope")
    return Cited(DIFFICULTY, NoParameters(), columns, metrics, interval=RESAMPLED)


PAGE = register(
    Page(
        name="difficulty", path=PATH, title="Difficulty", place=30, draw=draw, table=_table, parameters=DifficultyPage,
        filters=(*filter_keys(), "people", "cluster", "failed", "grading"), common=True,
    )
)  # fmt: skip
