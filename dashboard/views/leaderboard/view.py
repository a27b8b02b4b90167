"""Metrics of every run of a selection, over release dates, and how far rankings agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

from clueline.dashboard.registry.keys import IntervalsParameters, Margin, MetricsParameters
from clueline.dashboard.registry.tables import HEADINGS, RUN, Column, Table, column, columns, fields
from clueline.dashboard.registry.views import METRIC_INTERVALS, Cited, serve
from clueline.data.store.answer_states import OTHER_STATES
from clueline.queries.engine.equivalence import Equivalence
from clueline.queries.leaderboard import Leaderboard, LeaderboardRow, leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Metric
from clueline.queries.rankings import DatedRun, RankCorrelation, agreement, release_dates
from clueline.queries.selection.parameter_kinds import MetricChoice
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters
from clueline.queries.which_h import CurveCell, which_h

PLAIN = ("value", "rank")
WITH_INTERVALS = ("value", "low", "high", "rank", "rank_low", "rank_high", "may_be_best")
ADJUSTED = ("adjusted", "adjusted_low", "adjusted_high")
REST = ("rest_low", "rest_high")
BOUNDS = ("bound_low", "bound_high")


class LeaderboardKeys(IntervalsParameters, frozen=True):
    """Which metrics are computed, whether with intervals, and which differences do not matter."""

    margin: Margin = None


def cell_parts(keys: IntervalsParameters) -> tuple[str, ...]:
    """Return the attributes of a metric's cell that tables show."""
    return WITH_INTERVALS if keys.intervals else PLAIN


def _columns(board: Leaderboard, keys: LeaderboardKeys) -> list[Column]:
    shown = [*RUN, *columns("questions", "items", *OTHER_STATES, "answered", "answered_clues", "ranked", "unranked")]
    for metric in keys.metrics:
        for part in cell_parts(keys):
            key = metric.key if part == "value" else f"{metric.key}_{part}"
            cell = column(key, _in_cell(metric, part), HEADINGS.get(key, metric.label))
            shown.append(replace(cell, questions=_questions(metric), second=_second(metric)) if part == "value" else cell)
        if keys.margin is not None:
            margin = Equivalence.__struct_fields__
            shown += [column(f"{metric.key}_margin_{name}", _in_margin(metric, name)) for name in margin]
    for parts in (ADJUSTED if keys.intervals else ADJUSTED[:1], REST, BOUNDS):
        for metric in keys.metrics:
            if any(getattr(row.metrics[metric.key], parts[0]) is not None for row in board.rows):
                shown += [column(f"{metric.key}_{part}", _in_cell(metric, part)) for part in parts]
    values = {value.key: value for value in shown}
    of_others = [metric for metric in keys.metrics if any(values[metric.key].other_questions(row) for row in board.rows)]
    shown += [column(f"{metric.key}_questions", _questions(metric)) for metric in of_others]
    for metric in keys.metrics:
        for part, key in (("value", f"{metric.key}_second"), ("questions", f"{metric.key}_second_questions")):
            if any(part in row.metrics[metric.key].second for row in board.rows):
                shown.append(column(key, _second(metric, part)))
    return shown


def _in_cell(metric: Metric, part: str) -> Callable[[LeaderboardRow], object]:
    return lambda row: getattr(row.metrics[metric.key], part)


def _questions(metric: Metric) -> Callable[[LeaderboardRow], int]:
    return lambda row: row.metrics[metric.key].questions


def _second(metric: Metric, part: str = "value") -> Callable[[LeaderboardRow], float | None]:
    return lambda row: row.metrics[metric.key].second.get(part)


def _in_margin(metric: Metric, part: str) -> Callable[[LeaderboardRow], object]:
    return lambda row: getattr(row.metrics[metric.key].margin, part, None)


LEADERBOARD = serve(
    "leaderboard",
    leaderboard,
    LeaderboardKeys,
    """Metrics and ranks of each run. With intervals, also intervals of the ranks, which runs `may_be_best`, and letters:
        runs that share a letter are not shown to differ. These are adjusted for all pairs of runs and, except for the
        `primary` metric, for all `other_metrics`. With a `margin`, each run is compared with the first one: `equal`,
        `different` or `undecided`. `gradings` has the share of answers on which the gradings of their run differ and, if it
        is over 5 %, the leader under each grading. `shares` of a row are the shares of its responses that are not answers
        with a confidence. Where the ranked runs answered different questions, `value` is of what a run answered, and
        means are ranked by `adjusted`, which is adjusted for the questions that each skipped; `rest_low` and `rest_high`
        are what the mean would be with any answers in place of those that do not count, and `contradictions` counts the
        pairs of runs that are in the other order on what both answered. Where answers lack a confidence, `bound_low` and
        `bound_high` are what any confidences of theirs could give. If the end of some `plays` of people is not stated,
        `second` has values that differ without them.""",
    Table(
        "The same as CSV, a row per run with the value and rank of each metric; adjusted means and bounds if runs answered "
        "different questions, bounds if answers lack a confidence, the number of questions of a metric that is over others "
        "than the row, and `METRIC_second` where values differ without plays of people whose end nobody stated.",
        rows=lambda board: board.rows,
        columns=_columns,
    ),
    unused=("undisputed",),
)


class ReleaseDatesKeys(Parameters, frozen=True):
    """Which metric is shown."""

    metric: Annotated[Metric, MetricChoice("which metric; `brier` by default", METRICS)] = CATALOGUE["brier"]


RELEASE_DATES = serve(
    "release-dates",
    release_dates,
    ReleaseDatesKeys,
    """A metric of each ranked run with the tag `released` (`2024`, `2024-05` or `2024-05-13`), by date, with its interval;
        which runs were the best up to their date; and the runs without a date.""",
    Table("The same as CSV, a row per run with a date.", lambda answer: answer.runs, fields(DatedRun)),
    unused=("undisputed", "primary"),
)
AGREEMENT = serve(
    "agreement",
    agreement,
    MetricsParameters,
    "Kendall's tau-b between the rankings by each pair of metrics.",
    Table("The same as CSV, a row per pair of metrics.", lambda answer: answer.pairs, fields(RankCorrelation)),
    unused=("undisputed", "primary"),
)


WHICH_H = serve(
    "which-h",
    which_h,
    NoParameters,
    "CalScore and rank of each run by each human curve, and which runs are first by each: whether the choice of h decides.",
    Table(
        "The same as CSV, a row per curve and run. `second` has what differs without plays of people whose end nobody stated.",
        lambda answer: answer.cells,
        fields(CurveCell),
    ),
    unused=("binning", "beta", "t", "failed", "undisputed", "cluster", "primary"),
)


def cited_leaderboard(metrics: Sequence[Metric]) -> Cited[LeaderboardKeys]:
    """Return the table of runs by metric, with intervals, as papers cite it."""
    columns = ("model", "elicitation", "questions", *(metric.key for metric in metrics))
    return Cited(LEADERBOARD, LeaderboardKeys(tuple(metrics), True), columns, tuple(metrics), interval=METRIC_INTERVALS)
