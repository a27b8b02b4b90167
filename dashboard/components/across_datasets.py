"""Models by datasets: a metric as a table and a heat map, and where each model is over- or underconfident."""

from __future__ import annotations

from dash import html

from dashboard.components.figure import figure
from dashboard.components.links import address, page_link, run_path
from dashboard.components.numbers import DASH, short
from dashboard.components.table import Cell, row, table
from dashboard.figures.models_by_datasets_heat_map import across_figure
from dashboard.name_shortening import distinct_short_names
from data.plurals import counted
from queries.across import Across, AcrossCell, AcrossDataset, AcrossGroup, AcrossRow, Sign
from queries.metrics import Metric
from queries.run_groups import RunGroup

SIGNS: dict[Sign, str] = {
    "overconfident": "Overconfident on",
    "underconfident": "Underconfident on",
    "neither": "Interval contains 0 on",
    "unknown": "No interval, because there are too few questions, on",
}
UNRANKED = "No interval, because it is not ranked, on"
FORECASTS = "Forecasts, which have a bias towards yes instead, on"
MAX_HEAD_LENGTH, MAX_IN_TEXT_LENGTH = 22, 32  # characters of a dataset's title
MAX_NAMED = 5  # datasets of one kind named in a sentence, those furthest from 0
MEAN_RANK = (
    "Mean rank over the datasets on which the model is ranked. Rows are sorted by mean relative rank, from 0 (best) to 1 (last)"
)


def across_table(result: Across, metric: Metric) -> html.Div:
    """Return the table: a row per model, a column per dataset, with value, interval and rank. Each value links to its run."""
    head: list[Cell] = ["Model"]
    if metric.ranks:
        head.append(html.Th("Mean rank", scope="col", className="number", title=MEAN_RANK))
    titles = distinct_short_names([column.title for column in result.datasets], MAX_HEAD_LENGTH)
    head += [_dataset_head(column, title) for column, title in zip(result.datasets, titles, strict=True)]
    rows = [
        html.Tr(
            [
                html.Th(
                    [html.Span(line.model, className="name"), html.Span(line.elicitation, className="row-note")], scope="row"
                ),
                *([_mean_rank(line)] if metric.ranks else []),
                *(_cell(line.cells.get(column.dataset), column.ranked) for column in result.datasets),
            ]
        )
        for line in result.rows
    ]
    rows += [_group_row(group, result, metric) for group in result.groups]
    return table(head, rows, f"{metric.name} by model and dataset", "board across")


def _group_row(group: AcrossGroup, result: Across, metric: Metric) -> html.Tr:
    """The row of the runs that share one value of a tag: their means."""
    name = [html.Span(f"{result.tag}: {group.value}", className="name"), html.Span("mean over runs", className="row-note")]
    cells = [_mean(group.cells.get(column.dataset)) for column in result.datasets]
    return html.Tr([html.Th(name, scope="row"), *([html.Td("")] if metric.ranks else []), *cells], className="group")


def _mean(group: RunGroup | None) -> html.Td:
    if group is None:
        return html.Td("", className="number", title="No ranked run with this tag")
    if group.mean is None:
        return html.Td(DASH, className="number missing", title="The metric is undefined for every run")
    interval = f"[{short(group.low)}, {short(group.high)}]" if group.low is not None else ""
    notes = [html.Span(note, className="row-note") for note in (interval, counted(len(group.runs), "run")) if note]
    return html.Td([short(group.mean), *notes], className="number")


def _dataset_head(column: AcrossDataset, title: str) -> html.Th:
    link = page_link(title, href=address("/", [("dataset", column.dataset)]), title=f"Leaderboard of {column.title}")
    note = counted(column.questions, "question") + (", simulated people" if column.simulated else "")
    return html.Th([link, html.Span(note, className="row-note")], scope="col", className="number")


def _mean_rank(line: AcrossRow) -> html.Td:
    if line.mean_rank is None:
        return html.Td(DASH, className="number")
    on = html.Span(f"on {counted(line.ranked_on, 'dataset')}", className="row-note")
    return html.Td([short(line.mean_rank, 1), on], className="number")


def _cell(cell: AcrossCell | None, ranked: int) -> html.Td:
    if cell is None:
        return html.Td("", className="number", title="No run of this model")
    if cell.value is None:
        return html.Td(DASH, className="number missing", title=cell.missing)
    interval = f"[{short(cell.low)}, {short(cell.high)}]" if cell.low is not None else ""
    rank = f"{cell.rank:g} of {ranked}" if cell.rank is not None else ("" if cell.ranked else "not ranked")
    notes = [html.Span(note, className="row-note") for note in (interval, rank) if note]
    title = f"Run {cell.run}, measured on {counted(cell.questions, 'question')}"
    return html.Td([page_link(short(cell.value), href=run_path(cell.run), title=title), *notes], className="number")


def across_section(result: Across, metric: Metric) -> html.Section:
    """Return the heat map; its table lists value and rank by dataset."""
    rows = [
        row(f"{line.model} · {line.elicitation}", *(_place(line.cells.get(column.dataset)) for column in result.datasets))
        for line in result.rows
    ]
    shown = {
        "zero": "orange above 0, blue below",
        "none": "orange where low, blue where high",
    }.get(metric.direction, "blue for the best on a dataset, orange for the last")
    text = table(["Model", *(column.title for column in result.datasets)], rows, "Value and rank by model and dataset")
    return html.Section(
        [html.H2("At a glance"), figure("across", across_figure(result, metric), f"{metric.name}: {shown}", text)],
        className="section",
    )


def _place(cell: AcrossCell | None) -> str:
    if cell is None or cell.value is None:
        return DASH
    return short(cell.value) + (f", rank {cell.rank:g}" if cell.rank is not None else "")


def transfer_section(result: Across) -> html.Section:
    """List the datasets on which each model is over- or underconfident: does its calibration hold elsewhere?"""
    short_titles = distinct_short_names([column.title for column in result.datasets], MAX_IN_TEXT_LENGTH)
    titles = {column.dataset: title for column, title in zip(result.datasets, short_titles, strict=True)}
    models = [
        html.Li([html.Strong(f"{line.model} · {line.elicitation}: "), html.Span(transfer_sentence(line, titles))])
        for line in result.rows
    ]
    return html.Section(
        [
            html.H2("Does calibration carry over?"),
            html.P(
                "Mean confidence minus accuracy: over- or underconfident if its 95 % interval does not contain 0. Each interval "
                "is on its own: of twenty calibrated results, about one is named by chance.",
                className="note",
            ),
            html.Ul(models, className="transfer"),
        ],
        className="section",
    )


def transfer_sentence(line: AcrossRow, titles: dict[str, str]) -> str:
    """Say in words where a model is over- and underconfident.

    Args:
        line: the model's row.
        titles: titles of the datasets, by id.
    """
    parts = []
    for words in (*SIGNS.values(), UNRANKED, FORECASTS):
        cells = [(dataset, cell.overconfidence) for dataset, cell in line.cells.items() if _finding(cell) == words]
        cells.sort(key=lambda part: -abs(part[1] or 0.0))
        names = [f"{titles[dataset]} ({short(value)})" for dataset, value in cells[:MAX_NAMED]]
        if len(cells) > MAX_NAMED:
            names.append(f"and {len(cells) - MAX_NAMED} more")
        if names:
            parts.append(f"{words} {', '.join(names)}.")
    signs = {cell.sign for cell in line.cells.values()}
    if {"overconfident", "underconfident"} <= signs:
        parts.append("The sign changes between these datasets.")
    return " ".join(parts)


def _finding(cell: AcrossCell) -> str:
    """Say what is known of the sign of a model's overconfidence on a dataset, or why nothing is."""
    if cell.sign == "unknown" and cell.overconfidence_low is not None:
        return FORECASTS
    return UNRANKED if cell.sign == "unknown" and not cell.ranked else SIGNS[cell.sign]
