"""Models by datasets: the table, the heat map, and reliability diagrams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from textwrap import wrap

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.http.paths import address, model_path, run_path
from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.registry.tables import Table
from clueline.dashboard.ui.figure import (
    FAINT,
    GRID,
    INK,
    PlotlyJson,
    axis,
    dots,
    drawn,
    fields,
    figure,
    lines,
    plain,
    row_axis,
    whiskers,
)
from clueline.dashboard.ui.html import page_link, section
from clueline.dashboard.ui.table import Cell, Columns, PageColumn, columns_by, html_table, interval, noted, span
from clueline.dashboard.ui.text import brackets, distinct_short_names, enumerated, short
from clueline.data.plurals import counted
from clueline.queries.across import (
    Across,
    AcrossCell,
    AcrossDataset,
    AcrossDiagram,
    AcrossDiagrams,
    AcrossGroup,
    AcrossRow,
    RunGroup,
    Sign,
)
from clueline.queries.metrics import Metric

UNKNOWN = "too few questions"  # why there is no interval
UNRANKED = "not ranked"
FORECASTS = "forecasts, which have a bias towards yes instead"
MAX_HEAD_LENGTH, MAX_IN_TEXT_LENGTH = 22, 32  # characters of a dataset's title
MAX_NAMED = 6  # datasets in a sentence
MEAN_RANK = "Mean rank among the models that are ranked on the same datasets; the note below names them"
COLLECTION = "Mean over the datasets of this benchmark, with equal weights. Its interval is made of theirs"
WIN_RATE = "Share of comparisons with these models, dataset by dataset, that the model wins; ties count one half"


def across_table(result: Across, metric: Metric) -> html.Div:
    """Return the table: a row per model, a column per dataset, with value, interval and rank. Each value links to its run."""
    titles = distinct_short_names([column.title for column in result.datasets], MAX_HEAD_LENGTH)
    names = row_names(result.rows)
    several = len({row.elicitation for row in result.rows}) > 1

    def about(line: AcrossRow | AcrossGroup) -> str:
        if isinstance(line, AcrossGroup):
            return "mean over runs"
        return line.elicitation if several and not names[id(line)].endswith(f" · {line.elicitation}") else ""

    return html_table(
        [
            PageColumn("Model", lambda line: noted(_name(line, result.tag, names), about(line))),
            *(
                (
                    PageColumn("Mean rank", partial(_over_datasets, "mean_rank", 1), about=MEAN_RANK, number=True),
                    PageColumn("Win rate", partial(_over_datasets, "win_rate", 2), about=WIN_RATE, number=True),
                )
                if metric.ranks
                else ()
            ),
            *(
                part
                for column, title in zip(result.datasets, titles, strict=True)
                for part in (*_collection_column(column, result.datasets), _dataset_column(column, title))
            ),
        ],
        [*result.rows, *result.groups],
        f"{metric.name} by model and dataset",
        "board across",
        of_row=lambda line: {"className": "group"} if isinstance(line, AcrossGroup) else {},
    )


def _name(line: AcrossRow | AcrossGroup, tag: str, names: Mapping[int, str]) -> Component:
    if isinstance(line, AcrossGroup):
        return html.Span(f"{tag}: {line.value}", className="name")
    return page_link(names[id(line)], model_path(line.model), class_name="name")


def _mean(group: RunGroup | None) -> Cell:
    """The mean of the runs that share one value of a tag."""
    if group is None:
        return Cell("", "No ranked run with this tag")
    if group.mean is None:
        return Cell(None, "The metric is undefined for every run", "number missing")
    return Cell(noted(short(group.mean), brackets(group.low, group.high), counted(len(group.runs), "run")))


def _over_datasets(key: str, digits: int, line: AcrossRow | AcrossGroup) -> object:
    """The cell of a mean over datasets."""
    if isinstance(line, AcrossGroup):
        return ""
    value: float | None = getattr(line, key)
    return Cell(None, "Not ranked on the datasets that count") if value is None else short(value, digits)


def counting_words(result: Across, every_run: bool) -> str:
    """Say which datasets count in mean ranks and win rates, and how many rows are ranked on them."""
    titles, apart = ([c.title for c in result.datasets if (c.dataset in result.counting) == counts] for counts in (True, False))
    ranked = sum(row.win_rate is not None for row in result.rows)
    if not ranked:
        return ""
    what = counted(ranked, "run" if every_run else "model")
    others = len(result.rows) - ranked
    left = f"; the other {others} {'is' if others == 1 else 'are'} not ranked on all of them" if others else ""
    where = f"{_datasets(titles, apart)}{left}"
    return f" Mean rank and win rate: among the {what} ranked on {where}. Rows are in order of their mean relative rank."


def _datasets(counting: Sequence[str], others: Sequence[str]) -> str:
    """Name the datasets that count or, if these are many, the others; only their number if both are many."""
    if len(counting) <= MAX_NAMED:
        return ", ".join(counting)
    if len(others) <= MAX_NAMED:
        return f"all {len(counting)} datasets" if not others else f"all datasets but {', '.join(others)}"
    return f"{len(counting)} of {len(counting) + len(others)} datasets"


def _collection_column(column: AcrossDataset, every: Sequence[AcrossDataset]) -> Sequence[PageColumn]:
    """Return a column of means before the first dataset of a collection."""
    parts = [other.dataset for other in every if other.collection == column.collection]
    if not column.collection or parts[0] != column.dataset:
        return []

    def cell(line: AcrossRow | AcrossGroup) -> Cell:
        if isinstance(line, AcrossGroup):
            return Cell("")
        mean = line.means[column.collection]
        if mean.value is None:
            return Cell(None, "There is no value on each of its datasets", "number missing")
        return Cell(noted(short(mean.value), brackets(mean.low, mean.high)))

    return [PageColumn(noted(column.collection, f"mean of {len(parts)}"), cell, about=COLLECTION, number=True)]


def _dataset_column(column: AcrossDataset, title: str) -> PageColumn:
    link = page_link(title, href=address("/", [("dataset", column.dataset)]), title=f"Leaderboard of {column.title}")
    note = ", ".join(
        filter(None, [column.collection, counted(column.questions, "question"), "simulated people" if column.simulated else ""])
    )

    def cell(line: AcrossRow | AcrossGroup) -> Cell:
        if isinstance(line, AcrossGroup):
            return _mean(line.cells.get(column.dataset))
        return _cell(line.cells.get(column.dataset), column.ranked)

    return PageColumn(noted(link, note), cell, number=True)


def _cell(cell: AcrossCell | None, ranked: int) -> Cell:
    if cell is None:
        return Cell("not run", "No run of this model", "number missing")
    if cell.value is None:
        return Cell(None, cell.missing, "number missing")
    rank = f"{cell.rank:g} of {ranked}" if cell.rank is not None else ("" if cell.ranked else "not ranked")
    title = f"Run {cell.run}, measured on {counted(cell.questions, 'question')}"
    return Cell(noted(page_link(short(cell.value), href=run_path(cell.run), title=title), brackets(cell.low, cell.high), rank))


def row_names(rows: Sequence[AcrossRow]) -> dict[int, str]:
    """Return a name of each row that tells it from the others, by the ``id`` of the row.

    An elicitation is part of it only if the model has several rows. Runs of one model are told apart as elsewhere.
    """
    rows_of = Counter(row.model for row in rows)
    names = {id(row): row.model if rows_of[row.model] == 1 else f"{row.model} · {row.elicitation}" for row in rows}
    if len({*names.values()}) == len(rows):
        return names
    runs = {id(row): next(cell.run for cell in row.cells.values()) for row in rows}
    told = names_of(runs.values())
    return {row: told.get(run, names[row]) for row, run in runs.items()}


def across_section(result: Across, metric: Metric) -> html.Section:
    """Return the heat map; its table lists value and rank by dataset."""
    shown = {"zero": "orange above 0, blue below", "none": "orange where low, blue where high"}.get(
        metric.direction, "blue for the best on a dataset, orange for the last"
    )
    places = columns_by({column.dataset: column.title for column in result.datasets}, _place)
    names = row_names(result.rows)
    text = html_table(
        [PageColumn("Model", lambda row: names[id(row)]), *places], result.rows, "Value and rank by model and dataset"
    )
    return section("At a glance", figure("across", across_figure(result, metric), f"{metric.name}: {shown}", text))


def _place(dataset: str, line: AcrossRow) -> str | None:
    cell = line.cells.get(dataset)
    if cell is None or cell.value is None:
        return None
    return short(cell.value) + (f", rank {cell.rank:g}" if cell.rank is not None else "")


def transfer_section(result: Across) -> html.Section:
    """List the datasets on which each model is over- or underconfident: does its calibration hold elsewhere?"""
    short_titles = distinct_short_names([column.title for column in result.datasets], MAX_IN_TEXT_LENGTH)
    titles = {column.dataset: title for column, title in zip(result.datasets, short_titles, strict=True)}
    names = row_names(result.rows)
    signs = [[cell.sign for cell in row.cells.values() if cell.sign != "unknown"] for row in result.rows]
    several = [of_row for of_row in signs if len(of_row) > 1]
    both = sum({"overconfident", "underconfident"} <= {*of_row} for of_row in several)
    told = (
        f"Of {counted(len(several), 'model')} on several datasets, {both or 'none'} {'has' if both == 1 else 'have'} both signs."
    )
    table = html_table(
        [
            PageColumn("Model", lambda row: names[id(row)]),
            PageColumn("Overconfident on", lambda row: signed_datasets(row, titles, "overconfident")),
            PageColumn("Underconfident on", lambda row: signed_datasets(row, titles, "underconfident")),
            PageColumn("Neither shown on", lambda row: signed_datasets(row, titles, "neither", "unknown")),
        ],
        result.rows,
        "Datasets on which each model is over- and underconfident",
        "prose",
    )
    return section(
        "Does calibration carry over?",
        (told if several else "")
        + "Mean confidence minus accuracy; shown if its 95 % interval, each on its own, does not contain 0.",
        table,
    )


def signed_datasets(line: AcrossRow, titles: Mapping[str, str], *signs: Sign) -> str | None:
    """Name the datasets on which the overconfidence of a model has one of some signs, the furthest from 0 first."""
    cells = [(dataset, cell) for dataset, cell in line.cells.items() if cell.sign in signs]
    cells.sort(key=lambda part: -abs(part[1].overconfidence or 0.0))
    named = [
        f"{titles[dataset]} {short(cell.overconfidence)}" + (f" ({reason})" if (reason := _without_sign(cell)) else "")
        for dataset, cell in cells
    ]
    return enumerated(named, MAX_NAMED, ", and ") or None


def _without_sign(cell: AcrossCell) -> str:
    """Say why nothing is known of the sign; blank if it is known or the interval contains 0."""
    if cell.sign != "unknown":
        return ""
    return FORECASTS if cell.overconfidence_low is not None else UNKNOWN if cell.ranked else UNRANKED


ROW_HEIGHT = 26  # pixels
NAMED = 12  # columns; with more, numbers in the fields would be too small and slanted names would overlap
MAX_NAME_LENGTH, UPRIGHT = 30, 20  # characters of a name, and of a vertical name
BELOW = 150  # pixels for the column names
LEVEL_LENGTH = 24  # characters of all column names that fit side by side on a small screen


def across_figure(result: Across, metric: Metric) -> PlotlyJson:
    """Draw a field per model and dataset: blue for the best place on a dataset, orange for the last, blank if there is no run.

    Models are rows, unless there are many datasets: these have more room down the page.
    A metric that is best at 0 is orange above 0 and blue below. A metric that does not rank is orange if low and blue if high.
    """
    values = [cell.value for row in result.rows for cell in row.cells.values() if cell.value is not None]
    low, high = min(values, default=0.0), max(values, default=1.0)
    largest = max(abs(low), abs(high)) or 1.0

    def shade(cell: AcrossCell | None) -> float | None:
        if cell is None or cell.value is None:
            return None
        if metric.direction == "zero":
            return -cell.value / largest
        if metric.direction == "none":
            return 2 * (cell.value - low) / ((high - low) or 1.0) - 1
        return 0.0 if cell.place is None else 1 - 2 * cell.place

    cells = [[row.cells.get(column.dataset) for column in result.datasets] for row in result.rows]
    models = list(row_names(result.rows).values())
    down, across = models, [column.title for column in result.datasets]
    if len(across) > max(NAMED, len(down)):
        cells = [list(line) for line in zip(*cells, strict=True)]
        down, across = across, down
    many = len(across) > NAMED
    columns = [plain(name) for name in distinct_short_names(across, UPRIGHT if many else MAX_NAME_LENGTH)]
    rows = [plain(name) for name in distinct_short_names(down, MAX_NAME_LENGTH)]
    font = {"size": 11, "color": INK}
    return drawn(
        [fields(
            [[shade(cell) for cell in line] for line in cells], list(range(len(columns))), list(range(len(rows))),
            [["" if cell is None else short(cell.value) for cell in line] for line in cells], "%{customdata}: %{text}", 11,
            numbers=not many, customdata=[[f"{row}<br>{column}" for column in columns] for row in rows],
        )],
        ROW_HEIGHT * max(len(rows), 2) + BELOW,
        axis(
            showgrid=False, range=[-0.5, len(columns) - 0.5], tickvals=list(range(len(columns))), ticktext=columns, tickfont=font,
            tickangle=-90 if many else 0 if sum(map(len, columns)) < LEVEL_LENGTH else -40,
        ),
        row_axis(rows, 0, tickfont=font),
    )  # fmt: skip


CAPTION = (
    "Each field is a reliability diagram: confidence from 0 (left) to 1 (right), accuracy from 0 (bottom) to 1 (top). One mark "
    "per bin, larger with more items, with the 95 % interval of its accuracy: ◆ overconfident, ● not. Of forecasts, they show "
    "probability of yes and mean outcome"
)


def diagrams_section(
    result: Across, diagrams: AcrossDiagrams, table: Table, title: str = "Reliability of each model on each dataset"
) -> html.Section:
    """Return the figure and its table, of which ``table`` declares the columns."""
    titles = {column.dataset: column.title for column in result.datasets}
    rows_named = row_names(result.rows)
    names = {cell.run: rows_named[id(row)] for row in result.rows for cell in row.cells.values()}
    columns: Columns = [
        PageColumn("Model", lambda row: names[row[0].run]),
        PageColumn("Dataset", lambda row: titles[row[0].dataset]),
        PageColumn("Bin", lambda row: span(row[1].lower, row[1].upper, "{:g}".format)),
        "items",
        "mean_confidence",
        "accuracy",
        interval(lambda row: row[1].low, lambda row: row[1].high),
    ]
    rows = [row for row in table.rows(diagrams) if row[1].items]
    left_out = ""
    if len(result.datasets) > MAX_DATASETS:
        left_out = f"The first {MAX_DATASETS} of {len(result.datasets)} datasets are drawn. Choose others above."
    return section(
        title,
        left_out,
        figure(
            "across-diagrams",
            across_diagrams_figure(result, diagrams.diagrams),
            CAPTION,
            html_table(columns, rows, "Bins by model and dataset", declared=table),
        ),
    )


COLUMN, ROW = 1.12, 1.32  # distance between fields, in units of confidence and accuracy: each row has a name above it
PANEL_HEIGHT = 100  # pixels
MAX_MODEL_LENGTH, LINE = 46, 12  # characters of a model's name, and of a line of a dataset's name
MAX_DATASETS = 12  # drawn at most; more would have no room
LEVEL = 6  # with more datasets than this, their names are vertical
COLOURS = ("var(--run-1)", "var(--run-2)")  # bins that are under- or well calibrated, and overconfident ones


def across_diagrams_figure(result: Across, diagrams: Sequence[AcrossDiagram]) -> PlotlyJson:
    """Draw a row per model and a column per dataset.

    In each field, confidence runs from 0 on the left to 1 on the right, and accuracy from 0 at the bottom to 1 at the top. Each
    bin is a dot with the interval of its accuracy; its size grows with the share of the run's items in the bin. At most
    ``MAX_DATASETS`` datasets are drawn.
    """
    columns = result.datasets[:MAX_DATASETS]
    by_run = {diagram.run: diagram for diagram in diagrams}
    names = row_names(result.rows)
    fields = [
        (column * COLUMN, -line * ROW, by_run[cell.run], names[id(row)], place.title)
        for line, row in enumerate(result.rows)
        for column, place in enumerate(columns)
        if (cell := row.cells.get(place.dataset)) is not None and cell.run in by_run
    ]
    titles = [column.title for column in columns]
    datasets = ["<br>".join(map(plain, wrap(title, LINE, max_lines=3))) for title in titles]
    if len(titles) > LEVEL:
        datasets = [plain(title) for title in distinct_short_names(titles, UPRIGHT)]
    models = [plain(name) for name in distinct_short_names([*names.values()], MAX_MODEL_LENGTH)]

    def paths(x: Sequence[int], y: Sequence[int], colour: str) -> PlotlyJson:
        """A line through the same points of each field."""
        return lines(
            [end for left, *_ in fields for end in (*(left + one for one in x), None)],
            [end for _, bottom, *_ in fields for end in (*(bottom + one for one in y), None)], line={"color": colour, "width": 1},
        )  # fmt: skip

    frames, diagonals = paths((0, 1, 1, 0, 0), (0, 0, 1, 1, 0), GRID), paths((0, 1), (0, 1), FAINT)
    font = {"size": 11, "color": INK}
    name_at = {"x": 0, "xanchor": "left", "yanchor": "bottom", "showarrow": False, "font": font}
    return drawn(
        [frames, diagonals, *(_bins(fields, over) for over in (False, True))],
        max(220, PANEL_HEIGHT * len(models) + 90),
        axis(
            showgrid=False, range=[-0.04, COLUMN * len(datasets) - 0.06], tickfont=font, side="top",
            tickangle=-90 if len(datasets) > LEVEL else 0,
            tickvals=[COLUMN * place + 0.5 for place in range(len(datasets))], ticktext=datasets,
        ),
        axis(showgrid=False, range=[0.94 - ROW * (len(models) - 1) - 1, ROW], showticklabels=False),
        annotations=[{"text": name, "y": 1 - ROW * place, **name_at} for place, name in enumerate(models)],
    )  # fmt: skip


def _bins(fields: Sequence[tuple[float, float, AcrossDiagram, str, str]], overconfident: bool) -> PlotlyJson:
    """The bins of all fields: either those whose accuracy is below their confidence, or all others."""
    marks = [
        (x, y, bin_, bin_.items / sum(other.items for other in diagram.bins), f"{plain(model)}<br>{plain(title)}")
        for x, y, diagram, model, title in fields
        for bin_ in diagram.bins
        if bin_.items and ((bin_.accuracy or 0.0) < (bin_.mean_confidence or 0.0)) == overconfident
    ]
    colour = COLOURS[overconfident]
    accuracies = [bin_.accuracy or 0.0 for _, _, bin_, *_ in marks]
    return dots(
        [x + (bin_.mean_confidence or 0.0) for x, _, bin_, *_ in marks],
        [y + accuracy for (_, y, *_), accuracy in zip(marks, accuracies, strict=True)],
        "%{customdata[0]}<br>confidence %{customdata[1]:.3f}, accuracy %{customdata[2]:.3f}<br>%{customdata[3]:,} items",
        colour, [4 + 7 * share**0.5 for *_, share, _ in marks],
        {"line": {"width": 0}, "symbol": "diamond" if overconfident else "circle"},
        name="overconfident" if overconfident else "not overconfident",
        error_y=whiskers(accuracies, [bin_.low for _, _, bin_, *_ in marks], [bin_.high for _, _, bin_, *_ in marks], colour),
        customdata=[
            [name, round(bin_.mean_confidence or 0.0, 3), round(bin_.accuracy or 0.0, 3), bin_.items]
            for _, _, bin_, _, name in marks
        ],
    )  # fmt: skip
