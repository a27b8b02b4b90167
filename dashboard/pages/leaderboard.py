"""The leaderboard: metrics side by side, run by run, and how their rankings agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from dash import html
from dash.development.base_component import Component

from dashboard.cached_queries import selected_runs
from dashboard.components.confidence_gap import GAP_METRICS, confidence_gap
from dashboard.components.controls import several
from dashboard.components.filters import filter_keys
from dashboard.components.leaderboard_table import NAMES, board_table, not_shown, sorted_rows
from dashboard.components.links import address
from dashboard.components.messages import nothing_selected
from dashboard.components.numbers import count
from dashboard.components.published_values import published_menu, published_note
from dashboard.components.rankings import rankings
from dashboard.components.run_names import run_colours, run_names
from dashboard.page_registry import Page, PageParameters, PageRequest, register
from dashboard.service import service
from queries.leaderboard import leaderboard, leading_metric
from queries.metrics import CATALOGUE, METRICS, Metric
from queries.parameters import Choice, Kind, MetricList, allowed
from queries.published_values import published
from queries.selection import Facets

# What charges for bad guesses comes first, then accuracy, beside which calibration is to be read.
USUAL = (
    "calscore", "net_score", "accuracy", "brier", "ece", "max_ce", "hmr", "r_over", "r_under", "mean_confidence",
    "overconfidence", "hard_easy_slope", "pct_rounded",
)  # fmt: skip
SILENCE = {"calscore": "0.5", "calscore_weighted": "0.5", "grace_mce": "0.5", "net_score": "0"}  # of confidence 0 throughout
NAMED = {metric.key: metric.name for metric in METRICS}
TABLES = tuple(table.key for table in published().tables)


@dataclass(frozen=True)
class RowOrder(Kind[str]):
    """A metric or a name, ``-`` in front for the other way round."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        """See ``Kind``."""
        allowed(
            key, texts[0].removeprefix("-"), ["", *NAMES, *CATALOGUE], facets, "The leaderboard cannot be sorted by {value!r}."
        )
        return texts[0]

    def default(self, facets: Facets) -> str:
        """See ``Kind``."""
        return leading_metric(facets.human_teams > 0).key


class LeaderboardPage(PageParameters, frozen=True):
    """Columns, order, and figures of papers beside them."""

    sort: Annotated[
        str,
        RowOrder(
            "a metric or `model` or `elicitation`, `-` in front for the other way round; by default `calscore` or, where nobody "
            "played, `net_score`"
        ),
    ] = ""
    published: Annotated[
        str,
        Choice(
            "a table of published figures to show",
            TABLES,
            "There is no published table {value!r}.",
            blank=True,
        ),
    ] = ""
    metrics: Annotated[tuple[Metric, ...], MetricList("the columns; the usual ones by default")] = tuple(
        CATALOGUE[key] for key in USUAL
    )


def draw(request: PageRequest[LeaderboardPage]) -> Sequence[Component | None]:
    """The table, what is missing from it and why, ranks across metrics, their agreement, confidence against accuracy."""
    chosen, sort = request.parameters.metrics, request.parameters.sort
    lead = leading_metric(request.facets.human_teams > 0)
    metrics = tuple(dict.fromkeys((*chosen, *GAP_METRICS, lead)))
    sort = sort or lead.key
    board = service().ask(leaderboard, request.selection, metrics, True)
    if not board.rows:
        return [nothing_selected("/", request.selection, "answers")]
    shown = [metric for metric in chosen if any(row.metrics[metric.key].value is not None for row in board.rows)]
    colours = run_colours(request.facets, selected_runs(request.selection))
    names = run_names(board.rows)
    unranked = sorted_rows([row for row in board.rows if not row.ranked], sort, metrics)
    board.rows = sorted_rows([row for row in board.rows if row.ranked], sort, metrics)
    reference = request.parameters.published
    ranked = [metric for metric in shown if metric.direction != "none"]
    return [
        html.Div(
            [
                html.H1("Leaderboard"),
                html.P(
                    f"{request.facets.title}: {count(len(board.rows), 'run')} over "
                    + count(board.questions if board.common is None else board.common, "question"),
                    className="lead",
                ),
                several("metrics", "Columns", NAMED, _named(request), "The usual ones"),
                published_menu(reference),
            ],
            className="heading",
        ),
        board_table(board, unranked, shown, request.selection, sort, colours, reference),
        html.Div(
            [
                html.P(
                    "Beside a value its rank. Runs that share a letter are not shown to differ (p ≥ 0.05, adjusted for all "
                    f"pairs of runs). {_silence(shown)}",
                    className="note",
                ),
                html.A("CSV", href=_csv(request, shown), className="quiet", title="This table with its intervals"),
            ],
            className="below",
        ),
        published_note(reference, shown),
        not_shown(board, [metric for metric in chosen if metric not in shown]) if board.rows else None,
        rankings(board, ranked, names, colours) if len(board.rows) > 1 and len(ranked) > 1 else None,
        confidence_gap(board, names, colours) if board.rows else None,
    ]


def _silence(shown: Sequence[Metric]) -> str:
    """What a run scores that never commits itself: the mark by which to read the metrics that charge for bad guesses."""
    scores = [f"{SILENCE[metric.key]} in {metric.name}" for metric in shown if metric.key in SILENCE]
    return f"A run that always states confidence 0 scores {' and '.join(scores)}, whatever it answers." if scores else ""


def _named(request: PageRequest[LeaderboardPage]) -> list[str]:
    """The columns that the address names."""
    return [metric.key for metric in request.parameters.metrics] if request.texts.get("metrics") else []


def _csv(request: PageRequest[LeaderboardPage], shown: Sequence[Metric]) -> str:
    keys = [("metrics", ",".join(metric.key for metric in shown)), ("intervals", "1")]
    return address("/api/v1/leaderboard.csv", [*request.selection.pairs(), *keys])


PAGE = register(
    Page(
        name="leaderboard", path="/", title="Leaderboard", place=10, draw=draw, parameters=LeaderboardPage,
        filters=(*filter_keys(), "human", "binning", "t", "failed"), common=True,
    )
)  # fmt: skip
