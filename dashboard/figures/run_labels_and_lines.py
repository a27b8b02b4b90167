"""Names of runs in figures: labels next to lines and rows, and how lines are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.figures.style import OTHERS, PlotlyJson, plain
from dashboard.name_shortening import MAX_LABEL_LENGTH, distinct_short_names

Names = Mapping[str, str]  # display names or colours, by run id
MAX_ROW_LABEL_LENGTH = 30  # characters of a name next to a row of a figure
CHARACTER = 6.2  # pixels per character of a label
LINE = 14  # pixels between two labels


def run_labels(names: Mapping[str, str], runs: Sequence[str], longest: int = MAX_LABEL_LENGTH) -> dict[str, str]:
    """Return the label of each run in a figure, by run id.

    Args:
        names: display name of each run, by run id.
        runs: runs that are labelled.
        longest: maximum number of characters in a label.
    """
    return dict(zip(runs, map(plain, distinct_short_names([names[run] for run in runs], longest)), strict=True))


def run_line(colours: Mapping[str, str], run: str) -> PlotlyJson:
    """Return the style of a run's line: in its colour, or thin and grey."""
    return {"color": colours[run], "width": 2.2} if run in colours else {"color": OTHERS, "width": 0.8}


def grey_first(runs: Sequence[str], colours: Mapping[str, str]) -> list[str]:
    """Return runs in drawing order, so that lines in colour are above those in grey."""
    return sorted(runs, key=lambda run: run in colours)


def end_labels(
    ends: Sequence[tuple[str, float, str]],
    bottom: float,
    top: float,
    height: float,
    axes: Mapping[str, str] | None = None,
    x: float | None = None,
) -> list[PlotlyJson]:
    """Return annotations at the right ends of lines, moved apart if they would overlap.

    Narrow screens leave them out (``assets/figure_colours_and_size.js``): there the legend names the lines.

    Args:
        ends: label, last value and colour of each line.
        bottom, top: ends of the y axis; ``bottom`` can be the greater one.
        height: height of the axis in pixels.
        axes: axes of a panel; those of the figure by default.
        x: where the labels begin on the x axis; by default right of the plot.
    """
    axes = axes or {"xaxis": "x", "yaxis": "y"}
    pixels = [height * (value - bottom) / (top - bottom) for _, value, _ in ends]  # above the bottom edge
    order = sorted(range(len(ends)), key=lambda index: pixels[index])
    placed: dict[int, float] = {}
    floor = float(-LINE)
    for number, index in enumerate(order):
        ceiling = height - LINE * (len(order) - 1 - number)
        floor = max(floor + LINE, min(pixels[index], ceiling))
        placed[index] = floor
    where = {"xref": f"{axes['xaxis']} domain", "x": 1, "xshift": 6} if x is None else {"xref": axes["xaxis"], "x": x}
    return [
        {
            "name": "end-label", "text": text, **where, "y": bottom + placed[index] / height * (top - bottom),
            "yref": axes["yaxis"], "xanchor": "left", "yanchor": "middle", "showarrow": False,
            "font": {"size": 11, "color": colour},
        }
        for index, (text, _, colour) in enumerate(ends)
    ]  # fmt: skip


def label_margin(labels: Sequence[str]) -> PlotlyJson:
    """Return the margins of a figure, with room for labels on its right."""
    return {"l": 8, "r": 14 + round(CHARACTER * max(map(len, labels), default=0)), "t": 16, "b": 8}
