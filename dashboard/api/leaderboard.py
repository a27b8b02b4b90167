"""Metrics of every run of a selection."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from dashboard.shared_parameters import IntervalsParameters, Margin
from data.store.answer_states import OTHER_STATES
from queries.engine.equivalence import Equivalence
from queries.engine.ranked_metric_rows import MetricCell
from queries.leaderboard import Leaderboard, leaderboard
from queries.selection import Request

PLAIN = ("value", "rank")
WITH_INTERVALS = ("value", "low", "high", "rank", "rank_low", "rank_high", "may_be_best")
BOUNDS = ("bound_low", "bound_high")
MARGIN_FIELDS = Equivalence.__struct_fields__


class LeaderboardParameters(IntervalsParameters, frozen=True):
    """Which metrics are computed, whether with intervals, and which differences do not matter."""

    margin: Margin = None


def _leaderboard(query: Request[LeaderboardParameters]) -> Leaderboard:
    parameters = query.parameters
    return service().ask(leaderboard, query.selection, parameters.metrics, parameters.intervals, parameters.margin)


@get_selected("/api/v1/leaderboard", LeaderboardParameters)
def get_leaderboard(query: Request[LeaderboardParameters]) -> Response:
    """Metrics and ranks of each run. With intervals, also intervals of the ranks, which runs `may_be_best`, and letters: runs
    that share a letter are not shown to differ. These are adjusted for all pairs of runs and, except for the `primary` metric,
    for all `other_metrics`. With a `margin`, each run is compared with the first one: `equal`, `different` or `undecided`.
    `gradings` has the share of answers on which the gradings of their run differ and, if it is over 5 %, the leader under each
    grading. `shares` of a row are the shares of its responses that are not answers with a confidence. Where answers
    lack a confidence, `bound_low` and `bound_high` are what any confidences of theirs could give.
    """
    return json_response(_leaderboard(query))


@get_selected("/api/v1/leaderboard.csv", LeaderboardParameters)
def get_leaderboard_csv(query: Request[LeaderboardParameters]) -> Response:
    """The same as CSV, a row per run with the value and rank of each metric, and bounds if answers lack a confidence."""
    metrics, parts = query.parameters.metrics, WITH_INTERVALS if query.parameters.intervals else PLAIN
    margin = MARGIN_FIELDS if query.parameters.margin is not None else ()
    board = _leaderboard(query).rows
    facts = [
        "run",
        "model",
        "elicitation",
        "questions",
        "items",
        *OTHER_STATES,
        "answered",
        "answered_clues",
        "ranked",
        "unranked",
    ]
    bounded = [metric for metric in metrics if any(row.metrics[metric.key].bound_low is not None for row in board)]
    header = [*facts]
    for metric in metrics:
        header += [metric.key if part == "value" else f"{metric.key}_{part}" for part in parts]
        header += [f"{metric.key}_margin_{field}" for field in margin]
    header += [f"{metric.key}_{end}" for metric in bounded for end in BOUNDS]
    rows = [
        [getattr(row, fact) for fact in facts]
        + [value for metric in metrics for value in _values(row.metrics[metric.key], parts, margin)]
        + [getattr(row.metrics[metric.key], end) for metric in bounded for end in BOUNDS]
        for row in board
    ]
    return csv_response(header, rows, "leaderboard")


def _values(cell: MetricCell, parts: Sequence[str], margin: Sequence[str]) -> list[object]:
    return [getattr(cell, part) for part in parts] + [getattr(cell.margin, field, None) for field in margin]
