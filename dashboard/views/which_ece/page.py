"""Which ECE: the calibration error in many definitions, and how far the ranking of the runs depends on the choice."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.registry.cited import Cited
from dashboard.registry.keys import BinnedRun, Intervals
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.ui.controls import menu
from dashboard.ui.filters import filter_keys
from dashboard.ui.messages import nothing_selected
from dashboard.ui.runs import highlighted_runs, run_colours, run_names
from dashboard.views.which_ece.sections import agreement_section, bins_section, definitions_section, review_text, variants_table
from dashboard.views.which_ece.view import WHICH_ECE, WhichEceKeys
from data.plurals import counted
from queries.metrics import CATALOGUE
from queries.which_ece import WHICH_METRICS

PATH = "/which-ece"


class WhichEcePage(PageParameters, frozen=True):
    """The run whose bins are drawn, and whether errors have intervals."""

    focus: BinnedRun = ""
    intervals: Intervals = False


def draw(request: PageRequest[WhichEcePage]) -> Sequence[Component | None]:
    """Draw every variant of every run, the bins of one run, the agreement of rankings, a text for a review, and definitions."""
    result = WHICH_ECE.ask(request)
    if not result.runs:
        return [nothing_selected(PATH, request.selection, "answers", request.facets, "Which ECE is this?")]
    names = run_names(result.runs)
    colours = run_colours(request.facets, highlighted_runs(request, CATALOGUE["ece"]))
    first = result.runs[0].run
    options = {"" if run.run == first else run.run: names[run.run] for run in result.runs}
    return [
        html.Div(
            [
                html.H1("Which ECE is this?"),
                html.P(
                    f"{request.facets.title}: the calibration error by {len(result.variants)} definitions; "
                    f"{counted(len(result.runs), 'run')}, each with its rank next to the value",
                    className="lead",
                ),
                menu("focus", "Run", options, "" if result.focus == first else result.focus or ""),
                menu("intervals", "95 % intervals", {"": "Hidden", "1": "Shown"}, "1" if request.parameters.intervals else ""),
            ],
            className="heading",
        ),
        variants_table(result, names, colours),
        bins_section(result, names, colours, forecasts=request.facets.forecasts),
        agreement_section(result),
        review_text(result, names, request.facets.title),
        definitions_section(result),
    ]


def _cited(request: PageRequest[WhichEcePage]) -> Cited[WhichEceKeys]:
    columns = ("variant", "model", "elicitation", "value", "rank", "left_out")
    return Cited(WHICH_ECE, WhichEceKeys(), columns, WHICH_METRICS)


PAGE = register(
    Page(
        name="which-ece", path=PATH, title="Which ECE", place=25, draw=draw, table=_cited, parameters=WhichEcePage,
        check=WHICH_ECE.ask,
        filters=("run", *filter_keys(), "cluster", "failed", "grading"), common=True,
    )
)  # fmt: skip
