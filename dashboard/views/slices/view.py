"""Metrics by part of the questions, parts on which runs do worse, and questions that no run answered correctly."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated

from dashboard.registry.keys import IntervalsParameters, known_run
from dashboard.registry.tables import Column, Table, column, columns, fields, with_interval
from dashboard.registry.views import View, register
from dashboard.views.leaderboard.view import cell_parts
from queries.breakdown import BREAKDOWN_FIELDS, MAX_PARTS, Breakdown, UnsolvedQuestion, breakdown, breakdown_fields, unsolved
from queries.metrics import CATALOGUE, METRICS, Metric
from queries.selection.parameter_kinds import Choice, MetricChoice
from queries.selection.view_parameters_base import NoParameters, Parameters
from queries.slices import SLICE_FIELDS, Slice, Slices, slices

RANKED = tuple(metric for metric in METRICS if metric.direction != "none")


class SlicesKeys(Parameters, frozen=True):
    """By which metric slices are compared, and with which run."""

    metric: Annotated[Metric, MetricChoice("metric to compare; `overconfidence` by default", RANKED)] = CATALOGUE[
        "overconfidence"
    ]
    against: Annotated[str | None, known_run("the run that others are compared with; by default each run with itself")] = None


class BreakdownKeys(IntervalsParameters, frozen=True):
    """How the selection is divided."""

    by: Annotated[
        str,
        Choice(
            f"how the questions are divided: by {', '.join(f'`{key}`' for key in BREAKDOWN_FIELDS)}, or by an attribute with at "
            f"most {MAX_PARTS} values, such as `attr.language`",
            breakdown_fields,
        ),
    ] = BREAKDOWN_FIELDS[0]


def _filter(key: str) -> Column:
    return column(key, lambda part: part.filters.get(key))


def _slice_columns(answer: Slices, keys: SlicesKeys) -> tuple[Column, ...]:
    filters = dict.fromkeys([*SLICE_FIELDS, *sorted({key for part in answer.slices for key in part.filters})])
    return (*map(_filter, filters), *with_interval(fields(Slice, without=("filters",)), "difference"))


def _part_columns(answer: Breakdown, keys: BreakdownKeys) -> tuple[Column, ...]:
    return (
        column(answer.by, lambda row: row[0].value),
        *columns("run", "model", "elicitation", at=1),
        column("metric", itemgetter(2)),
        *columns(*cell_parts(keys), at=3),
    )


SLICES = register(
    View(
        "slices",
        slices,
        SlicesKeys,
        """Where runs do worse: each run on every category, radius and third of difficulty, on every two of these together, and
        on every value of an attribute, compared with itself overall or with another run there. p-values are adjusted for
        all of these.""",
        (Table("The same as CSV, a row per run and slice.", lambda answer: answer.slices, _slice_columns),),
    )
)
BREAKDOWN = register(
    View(
        "breakdown",
        breakdown,
        BreakdownKeys,
        "Metrics of each run within each part of a selection.",
        (
            Table(
                "The same as CSV, a row per part, run and metric.",
                rows=lambda answer: [
                    (part, row, *cell) for part in answer.parts for row in part.rows for cell in row.metrics.items()
                ],
                columns=_part_columns,
            ),
        ),
    )
)
UNSOLVED = register(
    View(
        "unsolved",
        unsolved,
        NoParameters,
        """Questions that at least two runs answered but none correctly, with how people did; and their number by category.
        `disputed` is the number of runs whose gradings differ on an answer to the question.""",
        (Table("The same as CSV, a row per question.", lambda answer: answer.questions, fields(UnsolvedQuestion)),),
    )
)
