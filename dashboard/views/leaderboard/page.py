"""The leaderboard: metrics side by side, run by run, and how their rankings agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component

from dashboard.http.paths import run_path
from dashboard.registry.keys import Margin, default_columns, lead_columns, metric_names
from dashboard.registry.pages import PageParameters, PageRequest, page
from dashboard.registry.views import Cited
from dashboard.service import service
from dashboard.ui.controls import filter_keys, several
from dashboard.ui.html import data
from dashboard.ui.messages import nothing_selected
from dashboard.ui.published_values import published_menu, published_note
from dashboard.ui.runs import RunStyle, highlighted_runs, run_style
from dashboard.ui.section import controls, folded, heading, side_by_side
from dashboard.views.leaderboard.finding import FINDINGS, draws_gap, finding_section
from dashboard.views.leaderboard.sections import (
    ACCURACY_AND_CONFIDENCE,
    board_note,
    confidence_gap,
    margin_menu,
    rank_agreement,
    rankings,
    release_dates_section,
)
from dashboard.views.leaderboard.table import NAMES, board_table, not_shown, sorted_rows
from dashboard.views.leaderboard.view import cited_leaderboard
from data.plurals import counted
from queries.engine.primary_metric import primary_metric
from queries.findings import finding_on, told_metric
from queries.leaderboard import LeaderboardRow, leaderboard
from queries.metrics import CATALOGUE, Metric
from queries.published_values import published
from queries.rankings import TAG, release_dates
from queries.selection.facets import Facets
from queries.selection.parameter_kinds import Choice, Flag, Kind, MetricList, allowed
from queries.selection.view_parameters_base import named_key

# Scores of a run that always states confidence 0.
ZERO_CONFIDENCE_SCORES = {"calscore": "0.5", "calscore_weighted": "0.5", "grace_mce": "0.5", "net_score": "0"}
TABLES = tuple(table.key for table in published().tables)


@dataclass(frozen=True)
class RowOrder(Kind[str]):
    """A metric or a name, with a leading ``-`` for the reverse order."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        """See ``Kind``."""
        allowed(
            key, texts[0].removeprefix("-"), ["", *NAMES, *CATALOGUE], facets, "The leaderboard cannot be sorted by {value!r}."
        )
        return texts[0]


MAX_RUNS = 12  # with more in the table, the figure of ranks is folded away


class LeaderboardPage(PageParameters, frozen=True):
    """Columns, order, shading, and published figures."""

    sort: Annotated[
        str,
        RowOrder(
            "a metric, `model` or `elicitation`, with a leading `-` for the reverse order; by default the first column that ranks"
        ),
    ] = ""
    heat: Annotated[bool, Flag("`0`: better values are not shaded")] = True
    published: Annotated[
        str, Choice("a table of published figures to show", TABLES, "There is no published table {value!r}.", blank=True)
    ] = ""
    metrics: Annotated[
        tuple[Metric, ...], MetricList("the columns; by default four, the primary metric first", dataset_default=lead_columns)
    ] = ()
    margin: Margin = None


def _table(request: PageRequest[LeaderboardPage]) -> Cited[Any]:
    """The table as papers cite it, in the order of the page."""
    metrics = request.parameters.metrics

    def ordered(rows: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
        first = (key for key in (metric.key for metric in metrics if metric.direction != "none") if rows and _has(rows, key))
        sort = request.parameters.sort or next(first, _primary(request).key)
        return [row for at in (True, False) for row in sorted_rows([row for row in rows if row.ranked == at], sort, metrics)]

    return replace(cited_leaderboard(metrics), order=ordered)


@page(
    "/", "Leaderboard", LeaderboardPage, name="leaderboard", place="Overview", order=1, table=_table,
    filters=(*filter_keys(), "people", "human", "binning", "t", "cluster", "failed", "grading"), common=True, lists_unranked=True,
)  # fmt: skip
def draw(request: PageRequest[LeaderboardPage]) -> Sequence[Component | None]:
    """Draw the finding, the table, what is missing from it, ranks across metrics, and their agreement."""
    chosen, sort, margin = request.parameters.metrics, request.parameters.sort, request.parameters.margin
    primary, few, many = _primary(request), lead_columns(request.facets), default_columns(request.facets)
    is_short = tuple(metric.key for metric in chosen) == few
    across = tuple(CATALOGUE[key].worded(request.facets.forecasts) for key in many) if is_short else chosen
    told = told_metric(request.facets.kind)
    needed = (metric.worded(request.facets.forecasts) for metric in (*ACCURACY_AND_CONFIDENCE, primary, told))
    shown_or_told = tuple(dict.fromkeys((*chosen, *needed)))
    metrics = tuple(dict.fromkeys((*shown_or_told, *across)))  # of the others, only ranks are shown
    board = service().ask(leaderboard, request.selection, metrics, shown_or_told, margin)
    if not board.rows:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "Leaderboard")]
    # Without people, the finding is read from this board, so that nothing is computed twice.
    finding = FINDINGS.ask(request).finding if request.facets.human_teams else finding_on(board, request.facets.kind)
    shown = [metric for metric in chosen if _has(board.rows, metric.key)]
    ranked = [metric for metric in across if metric.direction != "none" and _has(board.rows, metric.key)]
    sort = sort or next((metric.key for metric in shown if metric.direction != "none"), primary.key)
    best = highlighted_runs(request, CATALOGUE.get(sort.removeprefix("-"), primary))
    style = run_style(request.facets, board.rows, best)
    board.rows, unranked = (sorted_rows([row for row in board.rows if row.ranked == at], sort, metrics) for at in (True, False))
    crowded = len(board.rows) + len(unranked) > MAX_RUNS
    several_ranks = len(board.rows) > 1 and len(ranked) > 1
    pair = request.link("/", metrics="ID")  # the leaderboard by two metrics

    def link(run: str) -> str:
        return request.link(run_path(run), dataset=None)

    reference, heat = request.parameters.published, request.parameters.heat
    return [
        finding_section(finding, board, style, request),
        heading(
            "Leaderboard",
            f"{request.facets.title}: {counted(len(board.rows), 'run')} over "
            + counted(board.questions if board.common is None else board.common, "question")
            + _meaning(sort, metrics),
            html.Button(
                f"All {len(many)} columns" if is_short else f"Only {len(few)} columns",
                className="quiet columns",
                **data(set=f"metrics={','.join(many) if is_short else ''}"),
            ),
        ),
        board_table(board, unranked, shown, request.selection, sort, style.colours, reference, heat, link),
        html.Div(
            [
                board_note(board, style.names, margin, _zero_confidence_scores(shown)),
                html.Button(
                    "Hide shading" if heat else "Show shading",
                    className="quiet",
                    title="Better values are shaded darker",
                    **data(set=f"heat={'0' if heat else ''}"),
                ),
                html.A("CSV", href=_csv(request, shown), className="quiet", title="This table with its intervals"),
            ],
            className="below",
        ),
        controls(
            several(
                "metrics",
                "Columns",
                metric_names(CATALOGUE.values(), request.facets),
                [metric.key for metric in chosen],
                "Default columns",
                default=few,
            ),
            margin_menu(board, margin),
            published_menu(reference),
        ),
        published_note(reference, shown),
        not_shown(board, [metric for metric in chosen if metric not in shown]) if board.rows else None,
        side_by_side(
            rankings(board, ranked, style) if several_ranks and not crowded else None,
            confidence_gap(board, style) if not (request.facets.forecasts or draws_gap(finding)) else None,
            wide_left=True,
        ),
        folded("Ranks by each metric", rankings(board, ranked, style)) if several_ranks and crowded else None,
        folded("Do the metrics rank the runs alike?", rank_agreement(board, ranked, pair)) if several_ranks else None,
        _by_release_date(request, CATALOGUE.get(sort.removeprefix("-"), primary), style),
    ]


def _primary(request: PageRequest[LeaderboardPage]) -> Metric:
    return primary_metric(request.facets.kind, request.facets.human_teams > 0)


def _by_release_date(request: PageRequest[LeaderboardPage], metric: Metric, style: RunStyle) -> html.Section | None:
    """The metric over release dates; None if no run has a date."""
    if named_key("tag", TAG) not in request.facets.values:
        return None
    return release_dates_section(service().ask(release_dates, request.selection, metric), metric, style)


def _has(rows: Sequence[LeaderboardRow], key: str) -> bool:
    return any(row.metrics[key].value is not None for row in rows)


def _meaning(sort: str, metrics: Sequence[Metric]) -> str:
    """What the metric that sorts the runs says."""
    metric = next((metric for metric in metrics if metric.key == sort.removeprefix("-")), None)
    if metric is None:
        return ""
    sentence = metric.words.partition(". ")[0].rstrip(".")
    if sentence[1:2].islower():  # no acronym, such as ECE
        sentence = sentence[0].lower() + sentence[1:]
    return f", by {metric.name}: {sentence}"


def _zero_confidence_scores(shown: Sequence[Metric]) -> str:
    """The score of a run that never commits itself: a baseline for metrics that penalise bad guesses."""
    scores = [
        f"{ZERO_CONFIDENCE_SCORES[metric.key]} in {metric.name}" for metric in shown if metric.key in ZERO_CONFIDENCE_SCORES
    ]
    return f"A run that always states confidence 0 scores {' and '.join(scores)}, whatever it answers." if scores else ""


def _csv(request: PageRequest[LeaderboardPage], shown: Sequence[Metric]) -> str:
    keys = [("metrics", ",".join(metric.key for metric in shown)), ("intervals", "1")]
    return service().access.address_of_view("/api/v1/leaderboard.csv", [*request.selection.pairs(), *keys])
