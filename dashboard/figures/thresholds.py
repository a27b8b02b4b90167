"""What a threshold is worth: expected wins over the threshold, and wins and losses against people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.figures.run_labels_and_lines import MAX_ROW_LABEL_LENGTH, end_labels, label_margin, run_labels, run_line
from dashboard.figures.style import GRID, INK, OTHERS, PlotlyJson, axis, downwards, layout, padded, plain
from queries.buzzing.results import RunThresholds

AXES = {"confidence": "threshold of confidence", "logprob": "threshold of the sum of token log-probabilities"}
ROW = 26  # pixels per run
DIGITS = 5  # significant digits of what is drawn
HEIGHT, AXIS = 330, 60  # pixels of the figure of wins, and of the space below and above its axis


def wins_figure(
    runs: Sequence[RunThresholds],
    names: Mapping[str, str],
    colours: Mapping[str, str],
    scale: str,
    ends: tuple[float, float],
    dots: bool,
) -> PlotlyJson:
    """Draw expected wins of each run over the threshold, as steps; a diamond at the optimum, a dot at the threshold in use.

    Names are right of the lines, at the height of the optimum, because the lines all end at 0.

    The dots are shapes of the layout, named after their runs; ``assets/threshold_explorer.js`` moves them.

    Args:
        runs: runs that have expected wins.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        scale: scale of the thresholds, a key of ``AXES``.
        ends: ends of the axis.
        dots: whether thresholds in use are shown.
    """
    data: list[PlotlyJson] = []
    runs = sorted(runs, key=lambda run: run.run in colours)  # lines in colour above those in grey
    for run in runs:
        curve = run.curve
        assert curve is not None and curve.expected_wins is not None
        x, y = curve.thresholds, [float(f"{value:.{DIGITS}g}") for value in curve.expected_wins]
        data.append({
            "type": "scatter", "mode": "lines", "name": plain(names[run.run]), "meta": run.run,
            "line": {**run_line(colours, run.run), "shape": "hv"}, "showlegend": run.run in colours,
            "x": [*x, max(x[-1], ends[1])], "y": [*y, y[-1]],
            "hovertemplate": "%{fullData.name}<br>above %{x:.4~f}: %{y:.3f} expected wins<extra></extra>",
        })  # fmt: skip
    for run in runs:
        if run.optimum is None or run.run not in colours:
            continue
        best, colour = run.optimum, colours[run.run]
        until = "" if best.until is None else f" to {best.until:.4g}"
        data.append({
            "type": "scatter", "mode": "markers", "name": f"best of {plain(names[run.run])}", "meta": run.run,
            "x": [best.threshold], "y": [best.expected_wins], "cliponaxis": False, "showlegend": False,
            "marker": {"symbol": "diamond-open", "size": 13, "color": colour, "line": {"width": 2, "color": colour}},
            "hovertemplate": f"{plain(names[run.run])}<br>best at {best.threshold:.4g}{until}: %{{y:.3f}}<extra></extra>",
        })  # fmt: skip
    wins = [value for trace in data for value in trace["y"]]
    used = [run for run in runs if dots and run.outcome.threshold is not None]
    peaks = {run.run: run.optimum.expected_wins for run in runs if run.optimum and run.run in colours}
    labels = run_labels(names, [*peaks])
    bottom, top = padded(wins, zero=True)
    return {
        "data": data,
        "layout": layout(
            HEIGHT,
            xaxis=axis(AXES[scale], range=[ends[0] - 0.01 * (ends[1] - ends[0]), ends[1] + 0.01 * (ends[1] - ends[0])]),
            yaxis=axis("expected wins per question", range=[bottom, top]),
            margin=label_margin(list(labels.values())),
            annotations=end_labels(
                [(labels[run], peak, colours[run]) for run, peak in peaks.items()], bottom, top, HEIGHT - AXIS
            ),
            shapes=[
                {
                    "type": "circle", "name": run.run, "xref": "x", "yref": "y", "xsizemode": "pixel", "ysizemode": "pixel",
                    "xanchor": run.outcome.threshold, "yanchor": run.outcome.expected_wins, "x0": -5.5, "x1": 5.5, "y0": -5.5,
                    "y1": 5.5, "fillcolor": colours.get(run.run, OTHERS), "line": {"color": "var(--paper)", "width": 1.5},
                }
                for run in used
            ],
        ),
    }  # fmt: skip


def _interval(run: RunThresholds, name: str) -> str:
    """The interval of a share in brackets; blank if there is none."""
    ends = run.intervals.get(name)
    return "" if ends is None else f" ({ends.low:.1%} to {ends.high:.1%})"


def outcomes_figure(runs: Sequence[RunThresholds], names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    """Draw the share of questions that each run wins against a human team (hatched: uncertain), that nobody wins, and it loses.

    Args:
        runs: runs with a win probability.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    labels = [plain(names[run.run]) for run in runs]
    shades = [colours.get(run.run, OTHERS) for run in runs]
    won = [run.outcome.win or 0.0 for run in runs]
    unsure = [run.outcome.unsure or 0.0 for run in runs]
    lost = [run.outcome.loss or 0.0 for run in runs]
    neither = [1 - win - loss for win, loss in zip(won, lost, strict=True)]
    bar: PlotlyJson = {"type": "bar", "orientation": "h", "y": labels, "width": 0.62, "meta": [run.run for run in runs]}
    hatched = {"shape": "/", "fillmode": "overlay", "size": 6, "solidity": 0.45, "fgcolor": "var(--paper)"}
    no_box = "<extra></extra>"
    return {
        "data": [
            {
                **bar, "name": "wins", "x": [max(win - part, 0) for win, part in zip(won, unsure, strict=True)],
                "marker": {"color": shades},
                "customdata": [[win, _interval(run, "win")] for win, run in zip(won, runs, strict=True)],
                "hovertemplate": f"%{{y}}<br>wins %{{customdata[0]:.1%}}%{{customdata[1]}}, of these certain %{{x:.1%}}{no_box}",
            },
            {
                **bar, "name": "unsure", "x": unsure, "marker": {"color": shades, "pattern": hatched}, "customdata": won,
                "hovertemplate": (
                    "%{y}<br>%{x:.1%} of the %{customdata:.1%} won is uncertain:<br>"
                    f"others had ended the question for the team{no_box}"
                ),
            },
            {
                **bar, "name": "neither", "x": neither, "marker": {"color": GRID},
                "hovertemplate": f"%{{y}}<br>neither %{{x:.1%}}{no_box}",
            },
            {
                **bar, "name": "loses", "x": lost, "marker": {"color": INK},
                "customdata": [_interval(run, "loss") for run in runs],
                "hovertemplate": f"%{{y}}<br>people win %{{x:.1%}}%{{customdata}}{no_box}",
            },
        ],
        "layout": layout(
            ROW * len(runs) + 58,
            barmode="stack",
            xaxis=axis("share of questions", range=[0, 1], tickformat=".0%", dtick=0.25),
            yaxis=axis(
                range=downwards(len(runs), 0), showgrid=False, type="category", tickfont={"size": 12, "color": INK},
                tickvals=labels, ticktext=list(run_labels(names, [run.run for run in runs], MAX_ROW_LABEL_LENGTH).values()),
            ),
        ),
    }  # fmt: skip
