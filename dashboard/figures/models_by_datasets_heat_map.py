"""A metric of each model on each dataset, as a heat map."""

from __future__ import annotations

from dashboard.components.numbers import short
from dashboard.figures.style import INK, PlotlyJson, axis, downwards, layout, plain
from dashboard.name_shortening import distinct_short_names
from queries.across import Across, AcrossCell
from queries.metrics import Metric

ROW_HEIGHT = 26  # pixels
NAMED = 12  # columns; with more, numbers in the fields would be too small and slanted names would overlap
MAX_NAME_LENGTH, UPRIGHT = 30, 20  # characters of a name, and of a vertical name
BELOW = 150  # pixels for the column names


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
    models = [f"{row.model} · {row.elicitation}" for row in result.rows]
    down, across = models, [column.title for column in result.datasets]
    if len(across) > max(NAMED, len(down)):
        cells = [list(line) for line in zip(*cells, strict=True)]
        down, across = across, down
    many = len(across) > NAMED
    columns = [plain(name) for name in distinct_short_names(across, UPRIGHT if many else MAX_NAME_LENGTH)]
    rows = [plain(name) for name in distinct_short_names(down, MAX_NAME_LENGTH)]
    return {
        "data": [
            {
                "type": "heatmap", "z": [[shade(cell) for cell in line] for line in cells],
                "x": list(range(len(columns))), "y": list(range(len(rows))),
                "zmin": -1.5, "zmax": 1.5, "showscale": False, "xgap": 1, "ygap": 1,
                "colorscale": [[0, "var(--run-2)"], [0.5, "var(--ground)"], [1, "var(--run-1)"]],
                "text": [["" if cell is None else short(cell.value) for cell in line] for line in cells],
                "texttemplate": "" if many else "%{text}", "textfont": {"size": 11, "color": INK},
                "customdata": [[f"{row}<br>{column}" for column in columns] for row in rows],
                "hovertemplate": "%{customdata}: %{text}<extra></extra>", "hoverongaps": False,
            }
        ],
        "layout": layout(
            ROW_HEIGHT * max(len(rows), 2) + BELOW,
            xaxis=axis(
                showgrid=False, range=[-0.5, len(columns) - 0.5], tickfont={"size": 11, "color": INK},
                tickangle=-90 if many else -40, tickvals=list(range(len(columns))), ticktext=columns,
            ),
            yaxis=axis(
                showgrid=False, range=downwards(len(rows), 0), tickfont={"size": 11, "color": INK},
                tickvals=list(range(len(rows))), ticktext=rows,
            ),
        ),
    }  # fmt: skip
