"""Figures: the frame with caption and table, the style, traces, small panels, lines and labels of runs.

A figure is a plain dict of Plotly. Colours are CSS variables of ``assets/clueline.css``, such as ``var(--ink)``; the browser
replaces them with their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dash import ALL, MATCH, ClientsideFunction, Input, State, clientside_callback, dcc, html
from dash.development.base_component import Component

from clueline.dashboard.ui.html import data
from clueline.dashboard.ui.text import brackets, distinct_short_names, short
from clueline.queries.metrics import Metric
from clueline.queries.rankings import RankCorrelation

CONFIG: Any = {
    "displaylogo": False,
    "displayModeBar": "hover",
    "doubleClick": "reset",
    "showAxisDragHandles": False,  # a drag zooms inside the axes; handles at them would be eight more elements in each panel
    "showSendToCloud": False,  # Plotly's own button would upload the chart to Plotly
    # "Save figure" has more to offer than Plotly's picture.
    "modeBarButtonsToRemove": ["toImage", "select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
}
AT_ONCE: Any = {"mode": "immediate", "transition": {"duration": 0}, "frame": {"duration": 0, "redraw": False}}


def figure(
    name: str, spec: PlotlyJson, title: str, text: Component | None = None, legend: Component | None = None, hint: str = ""
) -> html.Figure:
    """Return a figure and its text equivalent.

    Args:
        spec: Plotly figure whose colours can be ``var(--name)``; ``assets/figure_colours_and_size.js`` sets its colours and its
            width.
        legend: which colour is what. It is placed above the figure, where it has room on any screen. Plotly's own legend, which
            takes room from the figure, is drawn only into downloaded files.
        hint: what the user can do with it on the screen, shown after the title. Downloaded files leave it out.
    """
    spec["layout"].setdefault("meta", {}).update(figure=name, legend=legend is not None)
    graph = dcc.Graph(
        id={"role": "figure", "figure": name},
        figure=spec,
        config=CONFIG,
        responsive=False,
        animation_options=AT_ONCE,
        clear_on_unhover=True,
    )
    frame = html.Div(graph, className="frame", **data(figure=name))
    return html.Figure(
        [
            html.Figcaption([title, html.Span(f". {hint}", className="hint")] if hint else title),
            legend,
            frame,
            html.Div(
                [
                    html.Details([html.Summary("As a table"), text], className="text-equivalent") if text is not None else None,
                    html.Button("Save figure", type="button", className="downloads", **data(download=name)),
                ],
                className="figure-foot",
            ),
        ],
        className=f"figure figure-{name}",
    )


clientside_callback(ClientsideFunction("clueline", "openDot"), Input({"role": "figure", "figure": ALL}, "clickData"))
clientside_callback(
    ClientsideFunction("clueline", "hoverRun"), Input({"role": "figure", "figure": ALL}, "hoverData"), prevent_initial_call=True
)
clientside_callback(
    ClientsideFunction("clueline", "clearRange"),
    Input({"role": "figure", "figure": MATCH}, "clickData"),
    State({"role": "figure", "figure": MATCH}, "id"),
    prevent_initial_call=True,
)
clientside_callback(
    ClientsideFunction("clueline", "hoverClue"),
    Input({"role": "figure", "figure": "clues"}, "hoverData"),
    prevent_initial_call=True,
)


INK, MUTED, FAINT, GRID, PAPER = "var(--ink)", "var(--muted)", "var(--faint)", "var(--grid)", "var(--paper)"
PlotlyJson = dict[str, Any]  # a part of a figure, in Plotly's schema
OTHERS = "var(--run-other)"  # runs without a colour of their own
FONT = "Inter, system-ui, sans-serif"

# The legend in downloaded files; pages have their own, see ``figure``.
LEGEND: PlotlyJson = {
    "orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "font": {"size": 12, "color": MUTED},
}  # fmt: skip


def plain(text: str) -> str:
    """Escape text for Plotly, which treats tags in labels and names as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis(title: str = "", **more: Any) -> PlotlyJson:
    """Return an axis with faint lines and no zero line."""
    return {
        "title": {"text": title, "font": {"size": 12, "color": MUTED}, "standoff": 8},
        "tickfont": {"size": 11, "color": MUTED},
        "gridcolor": GRID, "linecolor": FAINT, "zeroline": False, "automargin": True, "fixedrange": True,
        "exponentformat": "none",
    } | more  # fmt: skip


def padded(values: Iterable[float | None], zero: bool = False) -> list[float]:
    """Return the range of an axis that shows these values, with 5 % of the span beyond both ends. None is ignored.

    If ``zero``, the axis also shows 0, and ends there if all values are on one side of it. Every axis gets its range from here,
    because Plotly's own range depends on what the figure showed before.
    """
    numbers = [value for value in values if value is not None] + ([0.0] if zero else [])
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    room = 0.05 * (high - low) or 1.0
    return [low if zero and low == 0 else low - room, high if zero and high == 0 and low < 0 else high + room]


def downwards(rows: int, room: float = 0.1) -> list[float]:
    """Return the range of an axis that counts rows from the top, with ``room``, in rows, above the first and below the last."""
    return [rows - 0.5 + room, -0.5 - room]


def row_axis(labels: Sequence[str], room: float = 0.1, **more: Any) -> PlotlyJson:
    """Return the y axis of rows with labels; see ``downwards``."""
    places = list(range(len(labels)))
    named: PlotlyJson = {"tickvals": places, "ticktext": [*labels], "tickfont": {"size": 12, "color": INK}, "showgrid": False}
    return axis(range=downwards(len(labels), room), **(named | more))


def whiskers(
    values: Sequence[float | None], lows: Iterable[float | None], highs: Iterable[float | None], colour: str = INK, **more: Any
) -> PlotlyJson:
    """Return error bars from the ends of intervals; without length where there is no interval."""

    def reach(ends: Iterable[float | None], sign: int) -> list[float]:
        return [sign * (end - (value or 0.0)) if end is not None else 0.0 for value, end in zip(values, ends, strict=True)]

    shared = {"type": "data", "symmetric": False, "color": colour, "thickness": 1, "width": 0}
    return shared | {"array": reach(highs, 1), "arrayminus": reach(lows, -1)} | more


def diagonal() -> PlotlyJson:
    """Return the line on which both axes have the same value."""
    line = {"type": "scatter", "mode": "lines", "x": [0, 1], "y": [0, 1], "hoverinfo": "skip", "showlegend": False}
    return {**line, "line": {"color": FAINT, "width": 1}}


def straight(x: object = None, y: object = None, colour: str = MUTED, **line: Any) -> PlotlyJson:
    """Return a shape: a straight line across the plot at an x or a y, in whose style are ``line``."""
    at = {"x0": 0, "x1": 1, "y0": y, "y1": y} if x is None else {"x0": x, "x1": x, "y0": 0, "y1": 1}
    refs = {"xref": "paper", "yref": "y"} if x is None else {"xref": "x", "yref": "paper"}
    return {"type": "line", **refs, **at, "line": {"color": colour, "width": 1} | line}


def circle(name: str, x: float | None, y: float | None, colour: str) -> PlotlyJson:
    """Return a shape: a dot that the scripts of the browser find by its name and move; hidden without a y."""
    return {
        "type": "circle", "name": name, "xref": "x", "yref": "y", "xsizemode": "pixel", "ysizemode": "pixel", "xanchor": x,
        "yanchor": y or 0, "x0": -5, "x1": 5, "y0": -5, "y1": 5, "fillcolor": colour, "visible": y is not None,
        "line": {"color": PAPER, "width": 1.5},
    }  # fmt: skip


def interval_rows(
    names: Sequence[str], cells: Sequence[tuple[float | None, float | None, float | None]], title: str, colours: Sequence[str],
    items: Sequence[str], longest: int = 60,
) -> PlotlyJson:  # fmt: skip
    """Draw a row per name: a dot at its value with the interval of a cell, (value, low, high), and 0 as a line.

    A click on a dot opens what ``items`` has for it. Names are shortened to ``longest`` characters.
    """
    values, lows, highs = ([cell[place] for cell in cells] for place in range(3))
    ends = [brackets(low, high) for _, low, high in cells]
    marks = dots(
        values, list(range(len(cells))), "%{customdata[0]}<br>%{x:.3f} %{customdata[1]}", [*colours], 10, cliponaxis=False,
        meta={"items": [*items]}, error_x=whiskers(values, lows, highs, MUTED, thickness=1.5),
        customdata=[[plain(name), end] for name, end in zip(names, ends, strict=True)],
    )  # fmt: skip
    return drawn(
        [marks],
        26 * max(len(cells), 2) + 64,
        axis(plain(title), range=padded([*values, *lows, *highs], zero=True), zeroline=True, zerolinecolor=MUTED),
        row_axis([plain(name) for name in distinct_short_names(names, longest)]),
    )


def rounded(values: Iterable[float | None], digits: int = 5) -> list[float | None]:
    """Return values with as many significant digits as are drawn."""
    return [None if value is None else float(f"{value:.{digits}g}") for value in values]


def layout(height: int, **more: Any) -> PlotlyJson:
    """Return a layout without decoration."""
    return {
        "height": height,
        "margin": {"l": 8, "r": 20, "t": 8, "b": 8},  # right: for half of the last label, such as "100%"
        "minreducedheight": 20,  # of the plot, so that a figure of a single run keeps room for its axis labels
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": INK},
        "showlegend": False, "legend": LEGEND, "hovermode": "closest", "dragmode": False,
        "hoverlabel": {
            "bgcolor": PAPER, "bordercolor": FAINT, "font": {"family": FONT, "size": 12, "color": INK}, "align": "left",
        },
    } | more  # fmt: skip


UNIT: PlotlyJson = {"range": [-0.02, 1.02], "dtick": 0.25, "tickformat": ".2~f"}  # an axis from 0 to 1
QUARTERS: PlotlyJson = {"tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2~f"}  # the ticks of one that goes further
CLEAR = "rgba(0,0,0,0)"  # the colour of open dots


def lines(x: object, y: object, hover: str = "", mode: str = "lines", **more: Any) -> PlotlyJson:
    """Return a line. ``hover`` is shown when it is pointed at; ``more`` is added to the trace."""
    return {"type": "scatter", "mode": mode, "x": x, "y": y, **_pointed_at(hover)} | more


def dots(
    x: object, y: object, hover: str, colour: object, size: object, mark: PlotlyJson | None = None, **more: Any
) -> PlotlyJson:
    """Return dots; ``mark`` is added to the style of each. For ``hover`` and ``more`` see ``lines``."""
    return lines(x, y, hover, **{"mode": "markers", "marker": {"size": size, "color": colour} | (mark or {})} | more)


def bars(x: object, y: object, hover: str, marker: PlotlyJson, **more: Any) -> PlotlyJson:
    """Return bars. For ``hover`` and ``more`` see ``lines``."""
    return {"type": "bar", "x": x, "y": y, "marker": marker, **_pointed_at(hover)} | more


def _pointed_at(hover: str) -> PlotlyJson:
    return {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}


def band(x: object, low: object, high: object) -> list[PlotlyJson]:
    """Return the area between two lines."""
    bottom, top = (lines(x, y, line={"width": 0, "color": FAINT}) for y in (low, high))
    return [bottom, top | {"fill": "tonexty", "fillcolor": "var(--band)"}]


def segments(rows: Iterable[tuple[object, float | None, float | None]], width: float, colour: str = FAINT) -> PlotlyJson:
    """Return a level line for each row: its place on the y axis, and where it starts and ends."""
    listed = [*rows]
    x = [value for _, start, end in listed for value in (start, end, None)]
    y = [value for place, _, _ in listed for value in (place, place, None)]
    return lines(x, y, line={"color": colour, "width": width})


def fields(z: object, x: object, y: object, text: object, hover: str, size: float, *, numbers: bool, **more: Any) -> PlotlyJson:
    """Return fields from -1 (orange) over 0 to 1 (blue); ``numbers``: with their texts, in this ``size``. None is blank.

    The colour scale extends beyond -1 and 1, so that texts are readable on every colour.
    """
    return {
        "type": "heatmap", **more, "z": z, "x": x, "y": y, "zmin": -1.5, "zmax": 1.5, "showscale": False, "xgap": 1, "ygap": 1,
        "colorscale": [[0, "var(--run-2)"], [0.5, "var(--ground)"], [1, "var(--run-1)"]],
        "text": text, "texttemplate": "%{text}" if numbers else "", "textfont": {"size": size, "color": INK},
        **_pointed_at(hover), "hoverongaps": False,
    }  # fmt: skip


def drawn(data: Sequence[PlotlyJson], height: int, x: PlotlyJson, y: PlotlyJson, **more: Any) -> PlotlyJson:
    """Return a figure of traces over two axes; ``more`` are other keys of its layout."""
    return {"data": [*data], "layout": layout(height, xaxis=x, yaxis=y, **more)}


CALIBRATION_AXES = {False: ("confidence", "share right"), True: ("probability of yes", "mean outcome")}  # by: are they forecasts
HEIGHT, WIDTH = 225, 250  # pixels of a panel, which is wider if the columns that fit leave room


def panel_axes(number: int) -> dict[str, str]:
    """Return the axes of a trace in a panel; panels are counted from 0."""
    suffix = "" if number == 0 else str(number + 1)
    return {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}


def panels(
    data: Sequence[Iterable[PlotlyJson]],
    titles: Sequence[str],
    x: PlotlyJson,
    y: PlotlyJson,
    height: int = HEIGHT,
    width: int = WIDTH,
    ranges: Sequence[list[float]] | None = None,
    **more: Any,
) -> PlotlyJson:
    """Return a figure with one panel per title.

    Args:
        data: the traces of each panel.
        x, y: axes that all panels share. Their titles are shown once, below and to the left of the first column.
        height, width: pixels of a panel, which is wider if the columns that fit leave room.
        ranges: range of each panel's y axis, if they differ.
        more: other keys of the layout; shapes and annotations can refer to the panels' axes.
    """
    x, y = dict(x), dict(y)
    x_title, y_title = x.pop("title"), y.pop("title")
    axes: PlotlyJson = {}
    annotations: list[PlotlyJson] = []
    for number, (title, name) in enumerate(zip(titles, distinct_short_names(titles, int(width / CHARACTER)), strict=True)):
        suffix = "" if number == 0 else str(number + 1)
        axes[f"xaxis{suffix}"] = axis(**x, anchor=f"y{suffix}", automargin=False)
        own: PlotlyJson = {"range": ranges[number]} if ranges else {}
        axes[f"yaxis{suffix}"] = axis(**y, **own, anchor=f"x{suffix}", automargin=False)
        annotations.append({
            "text": plain(name), "hovertext": plain(title), "showarrow": False, "font": {"size": 12, "color": INK},
            "xref": f"x{suffix} domain", "x": 0, "xanchor": "left",
            "yref": f"y{suffix} domain", "y": 1, "yanchor": "bottom", "yshift": 4,
        })  # fmt: skip
    shared: PlotlyJson = {"showarrow": False, "font": {"size": 12, "color": MUTED}, "name": "axis-title"}
    annotations.append(shared | {
        "text": plain(x_title), "xref": "x domain", "x": 0.5, "xanchor": "center", "yref": "paper", "y": 0, "yanchor": "top",
        "yshift": -20,
    })  # fmt: skip
    if y_title:
        annotations.append(shared | {
            "text": plain(y_title), "textangle": -90, "xref": "paper", "x": 0, "xanchor": "right", "xshift": -34,
            "yref": "y domain", "y": 0.5, "yanchor": "middle",
        })  # fmt: skip
    # With ``meta``, assets/figure_colours_and_size.js sets the panels' domains and the figure's height for the columns that fit.
    return {
        "data": [trace | panel_axes(number) for number, traces in enumerate(data) for trace in traces],
        "layout": layout(
            height,
            margin={"l": 54 if y_title else 34, "r": 10, "t": 26, "b": 44},
            **axes,
            annotations=[*annotations, *more.pop("annotations", [])],
            meta={"panels": len(titles), "width": width, "height": height},
            **more,
        ),
    }


Names = Mapping[str, str]  # display names by run id
MAX_ROW_LABEL_LENGTH = 30  # characters of a name next to a row of a figure
CHARACTER = 6.2  # pixels per character of a label
LINE = 14  # pixels between two labels


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


SIDE = 30  # pixels per metric
NAMED = 14  # metrics; with more, numbers in the fields would be too small


def agreement_figure(correlations: Sequence[RankCorrelation], metrics: Sequence[Metric], link: str) -> PlotlyJson:
    """Draw a field per pair of metrics: tau-b from -1 (orange) over 0 to 1 (blue), with its number; blank if undefined.

    ``link`` is the address of the leaderboard with ``ID`` in place of its columns; a click on a field opens that of its two
    metrics.
    """
    labels = [plain(metric.label) for metric in metrics]
    place = {metric.key: index for index, metric in enumerate(metrics)}
    taus: list[list[float | None]] = [[None] * len(metrics) for _ in metrics]
    for pair in correlations:
        taus[place[pair.a]][place[pair.b]] = taus[place[pair.b]][place[pair.a]] = pair.tau
    text = [["" if tau is None else short(tau, 1) for tau in line] for line in taus]
    keys = [[f"{a.key},{b.key}" for b in metrics] for a in metrics]
    hover, numbers = "%{x}, %{y}: tau-b = %{z:.3f}", len(metrics) <= NAMED
    shared: PlotlyJson = {"showgrid": False, "tickfont": {"size": 11, "color": INK}}
    return drawn(
        [fields(taus, labels, labels, text, hover, 10, numbers=numbers, meta={"link": link}, customdata=keys)],
        max(260, SIDE * len(metrics) + 90),
        axis(**shared, range=[-0.5, len(metrics) - 0.5], tickangle=-40),
        axis(**shared, range=downwards(len(metrics), 0)),
    )
