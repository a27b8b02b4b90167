"""Overconfidence where questions are hard, by radius and by category; accuracy as a question is revealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.figures.name_labels import end_labels, label_margin, run_labels, run_line
from dashboard.figures.panels import panel_axes, panels
from dashboard.figures.style import FAINT, INK, MUTED, OTHERS, PlotlyJson, axis, layout, plain
from queries.breakdown import Breakdown, BreakdownPart
from queries.buzzing import FractionAccuracy
from queries.hard_easy_effect import HardEasyFit
from queries.metrics import CATALOGUE

Names = Mapping[str, str]
ROW = 17  # pixels per run of a part
AXIS = 60  # pixels below and above the axis of accuracy


def hard_easy_figure(runs: Sequence[HardEasyFit], names: Names, colours: Names, link: str) -> PlotlyJson:
    """A panel per run: a dot per question, the fitted line and its interval.

    Args:
        link: address of a question, with ``ID`` in place of its id, that a press on its dot opens.
    """
    data: list[PlotlyJson] = []
    for place, run in enumerate(runs):
        axes, colour = panel_axes(place), colours.get(run.run, OTHERS)
        x = [at.difficulty for at in run.line]
        data.append({
            "type": "scatter", "mode": "markers", "meta": {"run": run.run, "link": link}, **axes,
            "x": [point.difficulty for point in run.points], "y": [point.overconfidence for point in run.points],
            "marker": {"size": 4, "color": colour, "opacity": 0.35}, "customdata": [point.question_id for point in run.points],
            "text": [plain(point.question_id) for point in run.points],
            "hovertemplate": "%{text}<br>difficulty %{x:.3f}<br>overconfidence %{y:.3f}<extra></extra>",
        })  # fmt: skip
        edge = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip", "line": {"width": 0, "color": FAINT}, **axes}
        data.append({**edge, "y": [at.low for at in run.line]})
        data.append({**edge, "y": [at.high for at in run.line], "fill": "tonexty", "fillcolor": "var(--band)"})
        data.append({
            "type": "scatter", "mode": "lines", "x": x, "y": [at.overconfidence for at in run.line], **axes,
            "line": {"color": INK, "width": 2}, "hovertemplate": "line at %{x:.2f}: %{y:.3f}<extra></extra>",
        })  # fmt: skip
    return panels(
        data,
        [names[run.run] for run in runs],
        x={"title": "difficulty", "range": [0, 1], "dtick": 0.25, "tickformat": ".2~f"},
        y={
            "title": "overconfidence",
            "range": [-1.05, 1.05],
            "dtick": 0.5,
            "tickformat": ".2~f",
            "zeroline": True,
            "zerolinecolor": FAINT,
        },
    )


def parts_figure(breakdown: Breakdown, metric: str, names: Names, colours: Names) -> PlotlyJson:
    """A panel per part: the metric of each run with its 95 % interval, 0 as a line. Runs in grey share the lowest row.

    Args:
        breakdown: with intervals.
        metric: its key.
        names: run id to what it is called.
        colours: run id to colour.
    """
    runs = list(dict.fromkeys(row.run for part in breakdown.parts for row in part.rows))
    rows = {run: index for index, run in enumerate(run for run in runs if run in colours)}
    lowest = len(rows)
    data = [
        _dots(part, metric, place, names, colours, {run: rows.get(run, lowest) for run in runs})
        for place, part in enumerate(breakdown.parts)
    ]
    lines = lowest + (len(rows) < len(runs))
    return panels(
        data,
        [f"{part.value or 'not stated'} · {part.questions:,}" for part in breakdown.parts],
        x={
            "title": CATALOGUE[metric].name,
            "range": _range(breakdown, metric),
            "zeroline": True,
            "zerolinecolor": MUTED,
            "tickformat": ".2~f",
            "nticks": 5,
        },
        y={"title": "", "range": [lines - 0.4, -0.6], "showticklabels": False, "showgrid": False},
        height=ROW * lines + 30,
    )


def _dots(part: BreakdownPart, metric: str, place: int, names: Names, colours: Names, rows: Mapping[str, int]) -> PlotlyJson:
    cells = [(index, row, row.metrics[metric]) for index, row in enumerate(part.rows) if row.metrics[metric].value is not None]
    values = [cell.value or 0.0 for _, _, cell in cells]
    highs = [cell.high if cell.high is not None else value for value, (_, _, cell) in zip(values, cells, strict=True)]
    lows = [cell.low if cell.low is not None else value for value, (_, _, cell) in zip(values, cells, strict=True)]
    shown = [row.run for _, row, _ in cells]
    shades = [colours.get(run, OTHERS) for run in shown]
    intervals = [f"[{low:.3f}, {high:.3f}]" for low, high in zip(lows, highs, strict=True)]
    spans: dict[str, list[float]] = {
        "array": [high - value if run in colours else 0 for run, high, value in zip(shown, highs, values, strict=True)],
        "arrayminus": [value - low if run in colours else 0 for run, low, value in zip(shown, lows, values, strict=True)],
    }
    return {
        "type": "scatter", "mode": "markers", "x": values, "y": [rows[row.run] for _, row, _ in cells], **panel_axes(place),
        "meta": {"runs": [row.run for _, row, _ in cells]},
        "marker": {"size": [8 if row.run in colours else 5 for _, row, _ in cells], "color": shades},
        "error_x": {"type": "data", "symmetric": False, "thickness": 1.2, "width": 0, "color": MUTED, **spans},
        "customdata": [[plain(names[row.run]), interval] for (_, row, _), interval in zip(cells, intervals, strict=True)],
        "hovertemplate": "%{customdata[0]}<br>%{x:.3f} %{customdata[1]}<extra></extra>", "cliponaxis": False,
    }  # fmt: skip


def _range(breakdown: Breakdown, metric: str) -> list[float]:
    cells = [row.metrics[metric] for part in breakdown.parts for row in part.rows]
    ends = [end for cell in cells for end in (cell.low, cell.high, cell.value) if end is not None] or [0.0]
    low, high = min([*ends, 0.0]), max([*ends, 0.0])
    margin = 0.05 * (high - low or 1)
    return [low - margin, high + margin]


def revealed_figure(accuracies: FractionAccuracy, names: Names, colours: Names) -> PlotlyJson:
    """Accuracy at 20, 40, 60, 80 and 100 % of the question: a line per run, people in the colour of the text.

    Args:
        accuracies: of runs and people.
        names: run id to what it is called.
        colours: run id to colour.
    """
    data = [
        {
            "type": "scatter", "mode": "lines+markers", "name": plain(names[run.run]), "meta": run.run,
            "x": [at.revealed for at in run.fractions], "y": [at.accuracy for at in run.fractions],
            "line": run_line(colours, run.run), "marker": {"size": 7 if run.run in colours else 3},
            "showlegend": run.run in colours,
            "customdata": [at.questions for at in run.fractions],
            "hovertemplate": "%{fullData.name}<br>accuracy %{y:.3f} at %{x:.0%}, %{customdata:,} questions<extra></extra>",
        }
        for run in sorted(accuracies.runs, key=lambda run: run.run in colours)
    ]  # fmt: skip
    for teams in accuracies.teams:
        if teams.kind != "human":
            continue
        guessing = any(at.accuracy is not None for at in teams.fractions)  # of a human collection, at every clue
        data.append({
            "type": "scatter", "mode": "lines+markers",
            "name": "People" if guessing else "Human teams that have answered correctly",
            "x": [at.revealed for at in teams.fractions],
            "y": [at.accuracy if guessing else at.right for at in teams.fractions],
            "line": {"color": INK, "width": 2.5}, "marker": {"size": 7, "symbol": "diamond"},
            "hovertemplate": ("people: accuracy" if guessing else "human teams right") + " by %{x:.0%}: %{y:.3f}<extra></extra>",
        })  # fmt: skip
    ends = [(run.run, run.fractions[-1].accuracy) for run in accuracies.runs if run.run in colours and run.fractions]
    labels = run_labels(names, [run for run, _ in ends])
    last = [(labels[run], value, colours[run]) for run, value in ends if value is not None]
    return {
        "data": data,
        "layout": layout(
            320,
            margin=label_margin(list(labels.values())),
            annotations=end_labels(last, 0, 1.02, 320 - AXIS),
            xaxis=axis("share of the question revealed", range=[0.15, 1.04], tickvals=[0.2, 0.4, 0.6, 0.8, 1], tickformat=".0%"),
            yaxis=axis("accuracy", range=[0, 1.02], dtick=0.25, tickformat=".2~f"),
        ),
    }
