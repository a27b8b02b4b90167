"""A metric of every run in every part of a selection: a table of runs by categories, as papers print it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dash import html

from dashboard.components.links import page_link
from dashboard.components.numbers import DASH, short
from dashboard.components.run_names_and_colours import RunColours, run_cell
from dashboard.components.table import Cell, table
from data.plurals import counted
from queries.breakdown import Breakdown, BreakdownPart
from queries.engine.ranked_metric_rows import MetricCell
from queries.metrics import Metric
from queries.selection.view_parameters_base import split_key

NOT_STATED = "not stated"


def parts_section(
    result: Breakdown,
    whole: Mapping[str, MetricCell],
    metric: Metric,
    names: Mapping[str, str],
    colours: RunColours,
    link: Callable[[str], str],
) -> html.Section:
    """Return a row per run and one for their mean, a column per part: value, 95 % interval and rank.

    Args:
        result: breakdown of the metric, with intervals.
        whole: the metric on the whole selection, by run id; it sets the order of the rows.
        metric: the metric.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        link: function from the value of a part to the address of its leaderboard.
    """
    head: list[Cell] = ["Run", "All", *(_head(part, link) for part in result.parts)]
    cells = [{row.run: row.metrics[metric.key] for row in part.rows} for part in result.parts]
    rows = [
        html.Tr(
            [run_cell(names[run], colours.get(run)), html.Td(short(cell.value), className="number")]
            + [_cell(part.get(run), len(part)) for part in cells]
        )
        for run, cell in whole.items()
    ]
    rows.append(
        html.Tr(
            [html.Th("Mean of the runs", scope="row"), _mean(whole.values())] + [_mean(part.values()) for part in cells],
            className="summary",
        )
    )
    title = f"{metric.name} by {split_key(result.by)[1] or result.by}"
    return html.Section(
        [
            html.H2(title),
            html.P(
                "Brackets are 95 % intervals; ranks are within the part. Each part links to its leaderboard. The addresses "
                "/api/v1/breakdown and /api/v1/breakdown.csv give the same for several metrics at once.",
                className="note",
            ),
            table(head, rows, title, "board across"),
        ],
        className="section",
    )


def _head(part: BreakdownPart, link: Callable[[str], str]) -> html.Th:
    name = page_link(part.value, href=link(part.value), title="Leaderboard of this part") if part.value else NOT_STATED
    note = html.Span(counted(part.questions, "question"), className="row-note")
    return html.Th([name, note], scope="col", className="number")


def _cell(cell: MetricCell | None, ranked: int) -> html.Td:
    if cell is None:
        return html.Td(DASH, className="number missing", title="This run answered none of these questions")
    if cell.value is None:
        return html.Td(DASH, className="number missing", title=cell.missing)
    interval = f"[{short(cell.low)}, {short(cell.high)}]" if cell.low is not None else ""
    rank = f"{cell.rank:g} of {ranked}" if cell.rank is not None else ""
    notes = [html.Span(note, className="row-note") for note in (interval, rank) if note]
    return html.Td([html.Span(short(cell.value)), *notes], className="number")


def _mean(cells: Iterable[MetricCell]) -> html.Td:
    values = [cell.value for cell in cells if cell.value is not None]
    return html.Td(short(sum(values) / len(values)) if values else DASH, className="number")
