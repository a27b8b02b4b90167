"""Gradings: how far graders agree on each run, the guesses on which they differ, and correction of grades by keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component

from dashboard.registry.cited import Cited
from dashboard.registry.keys import GUESSES, known_run
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.controls import menu
from dashboard.ui.filters import filter_keys
from dashboard.ui.html import data, page_link, question_path, run_path
from dashboard.views.gradings.addresses import GRADINGS
from dashboard.views.gradings.sections import agreement_table, draw_button, gradings_list, guesses_table, review_section
from data.plurals import counted
from data.store.gradings import REVIEWED
from queries.gradings import SHOWN, GradedGuesses, Gradings, Show, graded_guesses, gradings
from queries.reviewed_samples import review_sample, reviewed_runs
from queries.selection.view_parameters_base import NoParameters

PATH = "/gradings"
MAX_LISTED = 100  # guesses
SHOW_NAMES = {
    "": "gradings differ", "uncertain": "rules are uncertain", "corrected": "corrected", "drawn": "drawn, waiting for review",
    "all": "all",
}  # fmt: skip
OFF = "This server accepts no corrections (CLUELINE_UPLOADS=off); its operator makes them on the command line."
KEYS = (
    "Keys in the table: y right, n wrong, u undo, arrows to move. Each correction is stored with your name and the time and is "
    "never overwritten; it covers every clue at which the run gave this guess. Together they form the grading "
)


class GradingsPage(PageParameters, frozen=True):
    """The run whose guesses are listed, and which of them."""

    graded_run: Annotated[
        str, known_run("the run whose guesses are listed; by default, the one whose gradings differ most", blank=True)
    ] = ""
    show: Annotated[Show, GUESSES] = "differ"


def draw(request: PageRequest[GradingsPage]) -> Sequence[Component | None]:
    """Draw the agreement of gradings, and the guesses of one run."""
    compared = service().ask(gradings, request.selection)
    run = request.parameters.graded_run or _default_run(request, compared)
    heading = html.Div([html.H1("Gradings"), html.P(_lead(request, compared), className="lead")], className="heading")
    if not run:
        empty = [html.H2("No runs yet"), html.P("A run is graded when it is imported.")]
        return [heading, html.Section(empty, className="panel empty")]

    def link(name: str) -> str:
        return request.link(PATH, graded_run=name)

    return [
        heading,
        agreement_table(compared.runs, link) if compared.runs else None,
        _guesses(request, compared, run),
    ]


def _lead(request: PageRequest[GradingsPage], compared: Gradings) -> str:
    several, single = counted(compared.total, "run"), counted(compared.single, "run")
    if not compared.total:
        return f"{request.facets.title}: {single}, each with one grading. Corrections add a second one."
    return f"{request.facets.title}: {several} with several gradings, {single} with one. Where graders differ, a person decides."


def _default_run(request: PageRequest[GradingsPage], compared: Gradings) -> str:
    if compared.runs:
        return max(compared.runs, key=lambda run: run.differing).run
    return next((run for run, _, _ in request.facets.runs), "")


def _guesses(request: PageRequest[GradingsPage], compared: Gradings, run: str) -> html.Section:
    show = request.parameters.show or "differ"
    result = service().ask(graded_guesses, request.selection, run, show, MAX_LISTED)
    names = {name: f"{model} · {elicitation}" for name, model, elicitation in request.facets.runs}
    options = {graded.run: f"{graded.model} · {graded.elicitation}" for graded in compared.runs}
    options |= {run: names.get(run, run)}
    default = _default_run(request, compared)
    listed = {"" if name == default else name: label for name, label in options.items()}
    facts = next((graded.gradings for graded in compared.runs if graded.run == run), None)
    mode = service().access.page_mode()
    return html.Section(
        [
            html.Div(
                [
                    html.H2("Guesses and their grades"),
                    menu("graded_run", "Run", listed, "" if run == default else run),
                    menu("show", "Where", {value: SHOW_NAMES[value] for value in SHOW_NAMES}, "" if show == SHOWN[0] else show),
                ],
                className="heading",
            ),
            gradings_list(facts) if facts else None,
            *review_section(
                service().ask(review_sample, run),
                next(iter(service().ask(reviewed_runs, request.selection.on_runs([run])).runs), None),
                request.link(PATH, graded_run=run, show="drawn"),
            ),
            None if mode == "off" else draw_button(run),
            html.P(_counted(result, show), className="note"),
            html.P([page_link("The run", href=request.link(run_path(run), dataset=None)), " · ",
                    page_link(f"Leaderboard by the grading “{REVIEWED}”", href=request.link("/", grading=REVIEWED))
                    if REVIEWED in result.gradings else "none of its grades has been corrected yet"], className="note"),
            html.P(OFF, className="note") if mode == "off" else html.Div(className="api-token", **data(mode=mode)),
            None if mode == "off" else html.P([KEYS, html.Code(REVIEWED), "."], className="note"),
            None if mode == "off" else html.Div(className="grade-note"),
            html.P(className="status-message", role="status", id="grades-message"),
            guesses_table(
                result,
                lambda question: request.link(question_path(request.selection.dataset, question), dataset=None),
                quizbowl=request.facets.quizbowl,
                writable=mode != "off",
            )
            if result.guesses
            else None,
        ],
        className="section",
    )  # fmt: skip


def _counted(result: GradedGuesses, show: Show) -> str:
    what = {
        "differ": "on which the gradings differ", "uncertain": "about which Clueline's rules are uncertain",
        "corrected": "that were corrected", "drawn": "that were drawn for review and wait for it", "all": "in all",
    }[show]  # fmt: skip
    listed = f"; the first {len(result.guesses):,} are listed" if result.total > len(result.guesses) else ""
    return f"{counted(result.total, 'guess', 'guesses')} {what}{listed}."


def _table(request: PageRequest[GradingsPage]) -> Cited[Any]:
    return Cited(GRADINGS, NoParameters(), ("model", "elicitation", "answers", "a", "b", "agreement", "kappa"))


PAGE = register(
    Page(
        name="gradings", path=PATH, title="Gradings", draw=draw, table=_table, parameters=GradingsPage,
        filters=("q", *filter_keys("questions")),
    )
)  # fmt: skip
