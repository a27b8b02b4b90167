"""Curves of what answers are worth, over the threshold t and over the share of items answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.ui import figure as fig
from dashboard.ui.figure import Names, PlotlyJson
from queries.decide import CurveDifference, Decisions, PeopleDecisions, RunDecisions

HEIGHT, AXIS = 320, 60  # pixels of a figure, and of the space below and above its axis
DIGITS = 5  # significant digits of what is drawn
T_AXIS = "t: a wrong answer costs t/(1 \u2212 t) right ones"
SHOWN_T = 80  # percent; net scores fall without bound as t nears 1, so the axis fits those up to here, and lines leave it below


def murphy_figure(decisions: Decisions, names: Names, colours: Mapping[str, str], t: float) -> PlotlyJson:
    """Draw Murphy curves: the mean elementary score over t, lower is better. A line marks the chosen ``t``."""
    curves = {run.run: run.murphy for run in decisions.runs}
    return _over_t(decisions, curves, names, colours, t, "mean elementary score", zero=True)


def net_figure(decisions: Decisions, names: Names, colours: Mapping[str, str], t: float) -> PlotlyJson:
    """Draw net scores over t, that of people dotted. A line marks the chosen ``t``."""
    curves = {run.run: run.net_score.values for run in decisions.runs}
    return _over_t(decisions, curves, names, colours, t, "net score per item", people=decisions.people)


def _over_t(
    decisions: Decisions,
    curves: Mapping[str, Sequence[float | None]],
    names: Names,
    colours: Mapping[str, str],
    t: float,
    title: str,
    zero: bool = False,
    people: PeopleDecisions | None = None,
) -> PlotlyJson:
    ordered = fig.grey_first([*curves], colours)
    data = [_line(run, decisions.thresholds, curves[run], names, colours, "t = %{x:.2f}: %{y:.3f}") for run in ordered]
    if people:
        data.append({
            "type": "scatter", "mode": "lines", "name": "people",
            "x": decisions.thresholds[:-1], "y": _rounded(people.net_score.values),
            "line": {"color": fig.INK, "width": 2, "dash": "dot"},
            "hovertemplate": "people<br>t = %{x:.2f}: %{y:.3f}<extra></extra>",
        })  # fmt: skip
    shown = [value for trace in data for value in trace["y"][: SHOWN_T + 1]]
    bottom, top = fig.padded(shown, zero=zero)
    middle = len(decisions.thresholds) // 2
    ends = [(run, curves[run][middle]) for run in ordered if run in colours]
    labels = fig.run_labels(names, [run for run, _ in ends])
    return {
        "data": data,
        "layout": fig.layout(
            HEIGHT,
            xaxis=fig.axis(T_AXIS, range=[-0.01, 1.01], dtick=0.25, tickformat=".2~f"),
            yaxis=fig.axis(title, range=[bottom, top]),
            margin=fig.label_margin(list(labels.values())),
            annotations=fig.end_labels(
                [(labels[run], value or 0.0, colours[run]) for run, value in ends], bottom, top, HEIGHT - AXIS
            ),
            shapes=[_marker(t)],
        ),
    }


def difference_figure(difference: CurveDifference, thresholds: Sequence[float], t: float) -> PlotlyJson:
    """Draw the Murphy curve of the first run minus that of the second, with its simultaneous band. A line marks ``t``."""
    low, high = _rounded(difference.low), _rounded(difference.high)
    edges = [*high, *low[::-1]]
    band: PlotlyJson = {
        "type": "scatter", "mode": "lines", "x": [*thresholds, *thresholds[::-1]], "y": edges, "fill": "toself",
        "fillcolor": "var(--accent-soft)", "line": {"width": 0}, "hoverinfo": "skip", "name": "95 % for all t at once",
    }  # fmt: skip
    values = _rounded(difference.difference)
    line = {
        "type": "scatter", "mode": "lines", "x": [*thresholds], "y": values, "line": {"color": fig.INK, "width": 2},
        "name": "difference", "customdata": [[*ends] for ends in zip(low, high, strict=True)],
        "hovertemplate": "t = %{x:.2f}: %{y:.3f}<br>band %{customdata[0]:.3f} to %{customdata[1]:.3f}<extra></extra>",
    }  # fmt: skip
    zero = {
        "type": "line",
        "name": "zero",
        "xref": "x",
        "x0": 0,
        "x1": 1,
        "y0": 0,
        "y1": 0,
        "line": {"color": fig.FAINT, "width": 1},
    }
    return {
        "data": [band, line],
        "layout": fig.layout(
            HEIGHT - 60,
            xaxis=fig.axis(T_AXIS, range=[-0.01, 1.01], dtick=0.25, tickformat=".2~f"),
            yaxis=fig.axis("difference of scores", range=fig.padded([*edges, *values], zero=True)),
            shapes=[_marker(t), zero],
        ),
    }


def coverage_figure(
    decisions: Decisions, names: Names, colours: Mapping[str, str], t: float, *, accuracy: bool, forecasts: bool
) -> PlotlyJson:
    """Draw risk or accuracy of the most confident share of the items. A dot on each line marks the share answered above ``t``.

    If ``accuracy`` is False, the risk is drawn.
    """

    def risk_or_accuracy(values: Sequence[float | None]) -> list[float | None]:
        return [1 - value if accuracy and value is not None else value for value in values]

    runs = {run.run: run for run in decisions.runs}
    ordered = fig.grey_first([*runs], colours)
    curves = {run: risk_or_accuracy(runs[run].risks) for run in ordered}
    noun, of_answers = ("accuracy", "accuracy of the answers") if accuracy else ("risk", "share of errors among the answers")
    if forecasts:
        noun = of_answers = f"mean outcome of the {'likelier' if accuracy else 'less likely'} side"
    hover = f"most confident %{{x:.0%}}: {noun} %{{y:.3f}}"
    data = [_line(run, decisions.coverages, curves[run], names, colours, hover) for run in ordered]
    bottom, top = fig.padded([value for trace in data for value in trace["y"]])
    ends = [(run, curves[run][-1] or 0.0) for run in ordered if run in colours]
    labels = fig.run_labels(names, [run for run, _ in ends])
    return {
        "data": data,
        "layout": fig.layout(
            HEIGHT,
            xaxis=fig.axis(
                "share of the items answered, most confident first", range=[-0.01, 1.01], dtick=0.25, tickformat=".0%"
            ),
            yaxis=fig.axis(of_answers, range=[bottom, top]),
            margin=fig.label_margin(list(labels.values())),
            annotations=fig.end_labels([(labels[run], value, colours[run]) for run, value in ends], bottom, top, HEIGHT - AXIS),
            shapes=[_dot(runs[run], risk_or_accuracy(runs[run].risk), colours, t) for run in ordered],
        ),
    }


def _line(
    run: str, x: Sequence[float], y: Sequence[float | None], names: Names, colours: Mapping[str, str], hover: str
) -> PlotlyJson:
    return {
        "type": "scatter", "mode": "lines", "name": fig.plain(names[run]), "meta": run, "line": fig.run_line(colours, run),
        "showlegend": run in colours, "x": [*x][: len(y)], "y": _rounded(y),
        "hovertemplate": f"%{{fullData.name}}<br>{hover}<extra></extra>",
    }  # fmt: skip


def _marker(t: float) -> PlotlyJson:
    """The line at the chosen threshold, which ``assets/decide.js`` moves."""
    return {
        "type": "line", "name": "t", "xref": "x", "yref": "paper", "x0": t, "x1": t, "y0": 0, "y1": 1,
        "line": {"color": "var(--accent)", "width": 1.5},
    }  # fmt: skip


def _dot(run: RunDecisions, at_t: Sequence[float | None], colours: Mapping[str, str], t: float) -> PlotlyJson:
    """A dot on a run's line at the chosen threshold; hidden if it answers nothing. ``assets/decide.js`` moves it."""
    place = nearest(t)
    value = at_t[place]
    return {
        "type": "circle", "name": run.run, "xref": "x", "yref": "y", "xsizemode": "pixel", "ysizemode": "pixel",
        "xanchor": run.answered[place], "yanchor": 0 if value is None else value, "visible": value is not None,
        "x0": -5, "x1": 5, "y0": -5, "y1": 5, "fillcolor": colours.get(run.run, fig.OTHERS),
        "line": {"color": "var(--paper)", "width": 1.5},
    }  # fmt: skip


def nearest(t: float) -> int:
    """Return the index of the curves' threshold nearest to t, at most that of 0.99: the cost t/(1 - t) is infinite at 1."""
    return min(round(100 * t), 99)


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.{DIGITS}g}") for value in values]
