"""One run: where it came from, its metrics and ranks, its reliability, and its worst questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.registry.cited import Cited
from dashboard.registry.composed import question_list
from dashboard.registry.keys import DEFAULT_METRICS, default_metric
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.filters import filter_keys
from dashboard.ui.html import address, page_link, question_path, run_path
from dashboard.ui.messages import nothing_selected, withdrawn_banner
from dashboard.ui.runs import run_colours, run_names
from dashboard.views.leaderboard.view import cited_leaderboard
from dashboard.views.reliability.diagrams import reliability_diagrams
from dashboard.views.run.sections import metrics_and_ranks_table, worst_questions
from dashboard.views.runs.table import provenance
from data.plurals import counted
from queries.engine.reliability_diagrams import DEFAULT_BAND
from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE, METRICS
from queries.reliability import reliability
from queries.runs import RunFacts
from queries.runs import run as run_query

WORST = 12  # questions that are listed
# Metrics over sorted pairs are left out: their intervals take as long as those of all others together.
QUICK = {metric.key: metric for metric in METRICS if metric.direction != "none" and metric.pairs is None}
SHOWN = tuple(QUICK[key] for key in dict.fromkeys([*DEFAULT_METRICS, *QUICK]) if key in QUICK)  # the usual ones first


def draw(request: PageRequest[PageParameters]) -> Sequence[Component | None]:
    """Draw the run's provenance, its metrics and ranks, its reliability diagram and its worst questions."""
    facts = _facts(request)
    everyone = request.selection.without_filters("runs")
    alone = everyone.on_runs((facts.run,))
    board = service().ask(leaderboard, alone if facts.withdrawn_at else everyone, SHOWN, True)
    row = next((row for row in board.rows if row.run == facts.run), None)
    heading = _heading(request, facts)
    if row is None:
        return [*heading, provenance(facts), nothing_selected(run_path(facts.run), request.selection, "answers", request.facets)]
    colours = run_colours(request.facets, [facts.run])
    names = run_names([row])
    diagram = service().ask(reliability, alone, DEFAULT_BAND).runs
    ranked = sum(other.ranked for other in board.rows)
    metric = CATALOGUE[default_metric(request.facets)]
    shown = tuple(metric.worded(request.facets.forecasts) for metric in SHOWN)
    better = "" if metric.direction == "higher" else "-"
    page = question_list(alone, (metric,), f"{better}{metric.key}:{facts.run}", limit=WORST)

    def link(question_id: str) -> str:
        path = question_path(request.selection.dataset, question_id)
        return request.link(path, dataset=None, pin=[facts.run], sort=f"{better}{metric.key}:{facts.run}")

    return [
        *heading,
        provenance(facts),
        html.Div(
            [
                metrics_and_ranks_table(row, shown, ranked),
                reliability_diagrams(
                    diagram, names, colours, {}, None, DEFAULT_BAND, brush=False, forecasts=request.facets.forecasts
                )
                if diagram
                else None,
            ],
            className="side-by-side wide-left",
        ),
        worst_questions(page.questions, metric, facts.run, link, quizbowl=request.facets.quizbowl),
    ]


def _facts(request: PageRequest[PageParameters]) -> RunFacts:
    """Provenance of the run that the path names. Raise ``BadRequest`` if there is none."""
    return service().ask(run_query, request.item or "")


def _heading(request: PageRequest[PageParameters], facts: RunFacts) -> list[Component | None]:
    filters = [pair for pair in request.selection.without_filters("runs").pairs() if pair[0] != "dataset"]
    dataset = ("dataset", facts.dataset)
    links = [
        page_link("Reliability", href=address("/reliability", [dataset, *filters, ("run", facts.run)])),
        page_link("Compare", href=address("/compare", [dataset, *filters, ("a", facts.run)])),
        page_link("Questions", href=address("/questions", [dataset, *filters, ("run", facts.run)])),
        page_link("Grades", href=address("/gradings", [dataset, *filters, ("graded_run", facts.run)])),
    ]
    return [
        withdrawn_banner(facts) if facts.withdrawn_at else None,
        html.Div(
            [
                html.P(
                    [page_link(f"{request.facets.title} leaderboard", href=address("/", [dataset, *filters]))],
                    className="crumbs",
                ),
                html.H1(facts.model),
                html.P(
                    f"Confidence: {facts.elicitation}. "
                    f"{counted(facts.items, 'answer')} to {counted(facts.questions, 'question')} "
                    f"of {request.facets.title}. How good it is, how it ranks, and what it gets most wrong.",
                    className="lead",
                ),
                html.P(links, className="links"),
            ],
            className="heading question-heading",
        ),
    ]


def _table(request: PageRequest[PageParameters]) -> Cited[Any]:
    return cited_leaderboard(SHOWN)


PAGE = register(
    Page(
        name="run", path="/runs", title="Run", draw=draw, table=_table, parameters=PageParameters, check=_facts,
        filters=(
            *filter_keys("questions", "clues"), "people", "human", "binning", "t", "cluster", "failed", "grading", "undisputed",
        ),
    )
)  # fmt: skip
