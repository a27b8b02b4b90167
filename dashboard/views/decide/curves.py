"""Net scores and Murphy curves over the threshold, and risk by coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.ui.figure import (
    FAINT,
    INK,
    OTHERS,
    Names,
    PlotlyJson,
    axis,
    end_labels,
    figure,
    grey_first,
    label_margin,
    layout,
    padded,
    plain,
    run_labels,
    run_line,
)
from dashboard.ui.runs import RunColours, legend
from dashboard.views.decide.slider import coverage_table, curve_table, difference_table, verdict
from data.plurals import counted
from queries.decide import CurveDifference, Decisions, PeopleDecisions, RunDecisions


def people_note(people: PeopleDecisions) -> html.P:
    """Say what the line of people is, and how far it can be compared with those of runs."""
    return html.P(
        f"People: {counted(people.teams, 'human team')} that heard a question {people.heard:,} times and buzzed right in "
        f"{people.right:.0%} and wrong in {people.wrong:.0%} of these. People state no confidence. Their line shows what these "
        "same buzzes would earn at each cost; at another cost they might have buzzed differently. A run is asked at every clue, "
        "a team decides once per question, and a question that others ended counts as not answered: the two compare only "
        "roughly.",
        className="note",
    )


def net_section(result: Decisions, names: Names, colours: RunColours, t: float) -> html.Section:
    """Return the net scores of runs and people over t."""
    runs = [run.run for run in result.runs]
    return html.Section(
        [
            html.H2("Net score"),
            figure(
                "net",
                net_figure(result, names, colours, t),
                "Net score per item over t: right answers earn 1, wrong ones cost t/(1 \u2212 t), silence earns 0. Higher is "
                "better",
                curve_table(result, names, "net_score"),
                legend(runs, names, colours, "People, at their buzzes (dotted)" if result.people else ""),
            ),
        ],
        className="section",
    )


def murphy_section(
    result: Decisions, names: Names, menus: Sequence[Component], chosen_here: bool, colours: RunColours, t: float
) -> html.Section:
    """Return the Murphy curves of all runs, and the difference of two with its band.

    ``menus`` choose these two; ``chosen_here`` is as in ``verdict``.
    """
    runs = [run.run for run in result.runs]
    parts: list[Component] = [
        html.H2("Murphy curves"),
        figure(
            "murphy",
            murphy_figure(result, names, colours, t),
            "Mean elementary score over t; lower is better. The area below a line is the run's Brier score. A run whose line is "
            "below another's throughout scored better here, whatever a wrong answer costs",
            curve_table(result, names, "murphy"),
            legend(runs, names, colours),
        ),
    ]
    if result.difference:
        difference = result.difference
        parts += [
            html.Div(list(menus), className="controls"),
            verdict(difference, names, chosen_here),
            figure(
                "murphy-difference",
                difference_figure(difference, result.thresholds, t),
                f"{names[difference.a.run]} minus {names[difference.b.run]}, on the {counted(difference.questions, 'question')} "
                "that both answered: below 0 the first is better. The band covers the whole curve with 95 % confidence. Any two "
                "curves meet near 0 and 1",
                difference_table(difference),
            ),
        ]
    return html.Section(parts, className="section")


def coverage_section(result: Decisions, names: Names, colours: RunColours, t: float, *, forecasts: bool) -> html.Section:
    """Return risk and accuracy over the share of items answered. ``forecasts``: whether answers are forecasts."""
    runs = [run.run for run in result.runs]
    captions = {
        False: "Share of errors among the most confident items (risk), over the share answered. Lower is better",
        True: "Accuracy of the most confident items, over the share answered. Higher is better",
    }
    if forecasts:
        captions = {
            False: "Mean outcome of the less likely side of the surest forecasts (risk), over their share. Lower is better",
            True: "Mean outcome of the likelier side of the surest forecasts, over their share. Higher is better",
        }
    return html.Section(
        [
            html.H2("Coverage"),
            *(
                figure(
                    "accuracy-coverage" if accuracy else "risk-coverage",
                    coverage_figure(result, names, colours, t, accuracy=accuracy, forecasts=forecasts),
                    f"{captions[accuracy]}. \u25cf the share with confidence above t",
                    coverage_table(result, names, accuracy=accuracy),
                    legend(runs, names, colours),
                )
                for accuracy in (False, True)
            ),
        ],
        className="section",
    )


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
    ordered = grey_first([*curves], colours)
    data = [_line(run, decisions.thresholds, curves[run], names, colours, "t = %{x:.2f}: %{y:.3f}") for run in ordered]
    if people:
        data.append({
            "type": "scatter", "mode": "lines", "name": "people",
            "x": decisions.thresholds[:-1], "y": _rounded(people.net_score.values),
            "line": {"color": INK, "width": 2, "dash": "dot"}, "hovertemplate": "people<br>t = %{x:.2f}: %{y:.3f}<extra></extra>",
        })  # fmt: skip
    shown = [value for trace in data for value in trace["y"][: SHOWN_T + 1]]
    bottom, top = padded(shown, zero=zero)
    middle = len(decisions.thresholds) // 2
    ends = [(run, curves[run][middle]) for run in ordered if run in colours]
    labels = run_labels(names, [run for run, _ in ends])
    return {
        "data": data,
        "layout": layout(
            HEIGHT,
            xaxis=axis(T_AXIS, range=[-0.01, 1.01], dtick=0.25, tickformat=".2~f"),
            yaxis=axis(title, range=[bottom, top]),
            margin=label_margin(list(labels.values())),
            annotations=end_labels(
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
        "type": "scatter", "mode": "lines", "x": [*thresholds], "y": values, "line": {"color": INK, "width": 2},
        "name": "difference", "customdata": [[*ends] for ends in zip(low, high, strict=True)],
        "hovertemplate": "t = %{x:.2f}: %{y:.3f}<br>band %{customdata[0]:.3f} to %{customdata[1]:.3f}<extra></extra>",
    }  # fmt: skip
    zero = {"type": "line", "name": "zero", "xref": "x", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "line": {"color": FAINT, "width": 1}}
    return {
        "data": [band, line],
        "layout": layout(
            HEIGHT - 60,
            xaxis=axis(T_AXIS, range=[-0.01, 1.01], dtick=0.25, tickformat=".2~f"),
            yaxis=axis("difference of scores", range=padded([*edges, *values], zero=True)),
            shapes=[_marker(t), zero],
        ),
    }


def coverage_figure(
    decisions: Decisions, names: Names, colours: Mapping[str, str], t: float, *, accuracy: bool, forecasts: bool
) -> PlotlyJson:
    """Draw risk or accuracy of the most confident share of the items. A dot on each line marks the share answered above ``t``.

    Args:
        decisions: decisions with the curves.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        t: the chosen threshold.
        accuracy: whether accuracy is drawn instead of risk.
        forecasts: whether answers are forecasts.
    """

    def risk_or_accuracy(values: Sequence[float | None]) -> list[float | None]:
        return [1 - value if accuracy and value is not None else value for value in values]

    runs = {run.run: run for run in decisions.runs}
    ordered = grey_first([*runs], colours)
    curves = {run: risk_or_accuracy(runs[run].risks) for run in ordered}
    noun, of_answers = ("accuracy", "accuracy of the answers") if accuracy else ("risk", "share of errors among the answers")
    if forecasts:
        noun = of_answers = f"mean outcome of the {'likelier' if accuracy else 'less likely'} side"
    hover = f"most confident %{{x:.0%}}: {noun} %{{y:.3f}}"
    data = [_line(run, decisions.coverages, curves[run], names, colours, hover) for run in ordered]
    bottom, top = padded([value for trace in data for value in trace["y"]])
    ends = [(run, curves[run][-1] or 0.0) for run in ordered if run in colours]
    labels = run_labels(names, [run for run, _ in ends])
    return {
        "data": data,
        "layout": layout(
            HEIGHT,
            xaxis=axis("share of the items answered, most confident first", range=[-0.01, 1.01], dtick=0.25, tickformat=".0%"),
            yaxis=axis(of_answers, range=[bottom, top]),
            margin=label_margin(list(labels.values())),
            annotations=end_labels([(labels[run], value, colours[run]) for run, value in ends], bottom, top, HEIGHT - AXIS),
            shapes=[_dot(runs[run], risk_or_accuracy(runs[run].risk), colours, t) for run in ordered],
        ),
    }


def _line(
    run: str, x: Sequence[float], y: Sequence[float | None], names: Names, colours: Mapping[str, str], hover: str
) -> PlotlyJson:
    return {
        "type": "scatter", "mode": "lines", "name": plain(names[run]), "meta": run, "line": run_line(colours, run),
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
        "x0": -5, "x1": 5, "y0": -5, "y1": 5, "fillcolor": colours.get(run.run, OTHERS),
        "line": {"color": "var(--paper)", "width": 1.5},
    }  # fmt: skip


def nearest(t: float) -> int:
    """Return the index of the curves' threshold nearest to t, at most that of 0.99: the cost t/(1 - t) is infinite at 1."""
    return min(round(100 * t), 99)


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.{DIGITS}g}") for value in values]
