"""People: distributions of runs compared with the votes of human annotators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component

from dashboard.registry.cited import Cited
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.controls import menu
from dashboard.ui.filters import filter_keys
from dashboard.ui.html import page_link
from dashboard.ui.messages import nothing_selected
from dashboard.ui.runs import highlighted_runs, run_colours, run_names
from dashboard.views.leaderboard.view import cited_leaderboard
from dashboard.views.people.sections import (
    class_reliability,
    distance_histograms,
    entropy_histograms,
    ranking_histograms,
    vote_metrics_table,
)
from data.plurals import counted
from queries.human_votes import People, people
from queries.leaderboard import Leaderboard, leaderboard
from queries.metrics.catalogue import VOTES
from queries.selection.parameter_kinds import Choice

PATH = "/people"
VIEWS_OF_ENTROPY = {"": "Signed", "absolute": "Absolute"}


class PeoplePage(PageParameters, frozen=True):
    """How entropy differences are shown."""

    entropy: Annotated[
        str,
        Choice("`absolute`: differences without their sign", ("absolute",), "There is no view {value!r} of entropy.", blank=True),
    ] = ""


def draw(request: PageRequest[PeoplePage]) -> Sequence[Component | None]:
    """Draw metrics against votes, then the histograms behind them with the human reference."""
    result: People = service().ask(people, request.selection.on_common_questions())
    if not result.rows:
        return [nothing_selected(PATH, request.selection, "answers", request.facets, "People")]
    question = "is a run unsure where people disagree?"
    if result.missing or not any(run.histograms for run in result.rows):
        heading = _heading(f"{request.facets.title}: {question}")
        return [heading, _without(result, request.selection.dataset, teams=request.facets.human_teams > 0)]
    heading = _heading(f"{request.facets.title}: {counted(len(result.rows), 'run')} compared with human votes: {question}")
    colours = run_colours(request.facets, highlighted_runs(request, VOTES[0]))
    names = run_names(result.rows)
    board: Leaderboard = service().ask(leaderboard, request.selection, VOTES, True)
    absolute = request.parameters.entropy == "absolute"
    return [
        heading,
        vote_metrics_table(board, names, colours),
        distance_histograms(result, names, colours),
        html.Div(menu("entropy", "Entropy", VIEWS_OF_ENTROPY, "absolute" if absolute else ""), className="controls section"),
        entropy_histograms(result, names, colours, absolute),
        ranking_histograms(result, names, colours),
        class_reliability(result, names, colours) if any(run.classes for run in result.rows) else None,
        _left_out(result, names),
    ]


def _heading(lead: str) -> html.Div:
    return html.Div([html.H1("People"), html.P(lead, className="lead")], className="heading")


def _without(result: People, dataset: str, *, teams: bool) -> html.Section:
    """A panel that says why there is nothing to show, and which datasets have human votes."""
    reasons = dict.fromkeys([result.missing, *(run.missing for run in result.rows)])
    others = [dataset for dataset in service().datasets() if dataset.kind == "votes"]
    links = [html.Li(page_link(dataset.title, href=f"{PATH}?dataset={dataset.dataset}")) for dataset in others]
    return html.Section(
        [
            html.H2("Nothing to compare with people here"),
            html.P(f"{'; '.join(reason for reason in reasons if reason).capitalize()}."),
            html.P(["Human teams heard its questions: ", page_link("where they buzzed", href=f"/teams?dataset={dataset}"), "."])
            if teams
            else None,
            html.P("Datasets with human votes:") if links else html.P("No dataset in this store has human votes."),
            html.Ul(links, className="choices") if links else None,
        ],
        className="panel empty",
    )


def _left_out(result: People, names: dict[str, str]) -> html.P | None:
    missing = [f"{names[run.run]}: {run.missing}" for run in result.rows if run.missing]
    return html.P(f"Not shown: {'; '.join(missing)}.", className="note") if missing else None


def _table(request: PageRequest[PeoplePage]) -> Cited[Any]:
    return cited_leaderboard(VOTES)


PAGE = register(
    Page(
        name="people", path=PATH, title="People", place=70, draw=draw, table=_table, parameters=PeoplePage,
        filters=(*filter_keys("runs", "questions"), "q", "binning"), common=True,
    )
)  # fmt: skip
