"""Answer or abstain: what the answers of each run are worth, at every cost of a wrong one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter

from dash import MATCH, ClientsideFunction, Input, clientside_callback, dcc, html
from dash.development.base_component import Component

from clueline.dashboard.registry.keys import FirstCurve, SecondCurve
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import Table, parts
from clueline.dashboard.registry.views import CONVENTION_KEYS, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.controls import control, filter_keys, labelled, menu
from clueline.dashboard.ui.figure import Names, PlotlyJson, figure
from clueline.dashboard.ui.html import (
    controls,
    data,
    heading,
    items_link,
    items_query,
    note,
    section,
    side_by_side,
)
from clueline.dashboard.ui.messages import nothing_selected
from clueline.dashboard.ui.runs import RunStyle, focus_menu, highlighted_runs, run_names, run_style
from clueline.dashboard.ui.table import Cell, Content, PageColumn, bracketed, html_table
from clueline.dashboard.ui.text import percent, short
from clueline.dashboard.views.leaderboard.view import cited_leaderboard
from clueline.data.plurals import counted
from clueline.queries.decide import (
    DECIDE_METRICS,
    CurveDifference,
    Decisions,
    MetricValue,
    PeopleDecisions,
    RunDecisions,
    Stretch,
    decide,
)
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.selection.view_parameters_base import Parameters


class DecideKeys(Parameters, frozen=True):
    """Which two runs are compared."""

    a: FirstCurve = ""
    b: SecondCurve = ""


def _rows(answer: Decisions) -> Iterator[tuple[object, ...]]:
    for run in answer.runs:
        curves = (
            run.murphy, run.answered, run.risk, run.best_threshold, run.net_score.values, run.net_score.low, run.net_score.high,
            run.best_score.values, run.best_score.low, run.best_score.high,
        )  # fmt: skip
        for t, *values in zip(answer.thresholds[:-1], *(curve[: len(answer.thresholds) - 1] for curve in curves), strict=True):
            yield run.run, run.model, run.elicitation, t, *values
    if answer.people:
        net = answer.people.net_score
        for t, *earned in zip(answer.thresholds[:-1], net.values, net.low, net.high, strict=False):
            yield None, "people", None, t, *[None] * 4, *earned, *[None] * 3


DECIDE = serve(
    "decide",
    decide,
    DecideKeys,
    """Answer or abstain, at each t from 0 to 1: Murphy curves and net scores, the share answered and its risk, risk by
        coverage, the best threshold, and what thresholds chosen so on other questions earn; AURC, AUGRC, PRR and accuracy
        at coverage; the difference of two runs with a simultaneous band over all t; and people's net scores.""",
    Table(
                "The curves as CSV, a row per run and t below 1. Rows for people have a blank `run`.",
                rows=_rows,
                columns=parts(
                    "run", "model", "elicitation", "t", "murphy", "answered", "risk", "best_threshold", "net_score",
                    "net_score_low", "net_score_high", "best_score", "best_score_low", "best_score_high",
                ),
            ),
    unused=(*CONVENTION_KEYS, "undisputed", "primary"),
)  # fmt: skip


KEY = "t"
DEFAULT_THRESHOLD = str(Conventions().t)
MAX_STRETCHES = 4  # of thresholds that are listed in a sentence on measured curves
MARKS = (0.1, 0.25, 0.5, 0.75, 0.9)  # thresholds in the tables of figures
AT_T = {mark: f"t = {mark:g}" for mark in MARKS}
AT_COVERAGE = {mark: f"{mark:.0%}" for mark in (*MARKS, 1.0)}
# Without an interval: a best threshold is the place of a maximum, whose bootstrap intervals do not cover.
POINTS = ("best_threshold",)
DECIMALS = 4  # decimals of the values that the browser shows
SLIDER = control(KEY, "choice", default=DEFAULT_THRESHOLD)
STATE = {"role": "state", "name": "decide", "run": ""}


def cost_slider(t: float) -> html.Div:
    """Return the slider of t with its meaning in words; ``assets/decide.js`` updates figures and table, and writes the words."""
    slider = dcc.Slider(
        min=0, max=0.99, step=0.01, value=t, id=SLIDER, marks=None, allow_direct_input=False, updatemode="mouseup",
        included=False, className="slider single",
    )  # fmt: skip
    words = f"t = {short(t, 2)}: a wrong answer costs {short(t / (1 - t), 2)} right ones; answer where the confidence is above t"
    return html.Div(
        [labelled("What a wrong answer costs", slider, KEY), html.P(words, className="cost")], className="decide-cost"
    )


def state(decisions: Decisions) -> dcc.Store:
    """Return the data that the browser needs to follow the slider."""
    runs = {
        run.run: {
            **{name: _columns(run, name) for name in COLUMNS},
            "answered": _in_decimals(run.answered),
            "risk": _in_decimals(run.risk),
        }
        for run in decisions.runs
    }
    people = {"": {"net_score": _columns(decisions.people, "net_score")}} if decisions.people else {}
    return dcc.Store(id=STATE, data={"runs": runs | people})


def _columns(row: RunDecisions | PeopleDecisions, part: str) -> list[list[float | None]]:
    """Return the values of a column that follows the slider and, if it has intervals, their ends."""
    curve = getattr(row, part)
    return [*map(_in_decimals, [curve] if part in POINTS else [curve.values, curve.low, curve.high])]


def _in_decimals(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.{DECIMALS}f}") for value in values]


COLUMNS = {  # that follow the slider: headings and their tooltips
    "net_score": ("Net score at t", "Score per item if the run answers above t. Higher is better"),
    "best_threshold": (
        "Own best threshold",
        "With hindsight, answering above it would have earned the most at this cost. For a calibrated run it is near t",
    ),
    "best_score": (
        "Net score at own threshold",
        "Score per item above a best threshold, which for each fifth of the questions was chosen on the other four",
    ),
}


def decisions_table(decisions: Decisions, style: RunStyle, t: float, *, forecasts: bool) -> html.Div:
    """Return a row per run: net score at t, own best threshold at that cost, and selective-prediction metrics, with intervals.

    Those with the best net score at ``t`` come first.
    """
    best_first = sorted(decisions.runs, key=lambda run: -(run.net_score.values[nearest(t)] or 0.0))

    def name(row: RunDecisions | PeopleDecisions) -> Content:
        return style.dot(row.run) if isinstance(row, RunDecisions) else "People"

    following = [
        PageColumn(heading, partial(_following, part, nearest(t)), about=about, number=True)
        for part, (heading, about) in COLUMNS.items()
    ]
    metrics = [
        PageColumn(metric.label, partial(_metric_cell, metric.key), about=f"{metric.name}. {metric.words}", number=True)
        for metric in (metric.worded(forecasts) for metric in DECIDE_METRICS)
    ]
    return html_table(
        [PageColumn("Run", name), *following, *metrics],
        [*best_first, *([decisions.people] if decisions.people else [])],
        "What answers are worth",
        "decide",
        of_row=lambda row: data(run=row.run if isinstance(row, RunDecisions) else ""),
    )


def _following(part: str, place: int, row: RunDecisions | PeopleDecisions) -> Cell:
    """A column's value with its interval; ``assets/decide.js`` writes the same text."""
    if isinstance(row, PeopleDecisions) and part != "net_score":
        return Cell(None)
    value, low, high = (*(values[place] for values in _columns(row, part)), None, None)[:3]
    return Cell(_behind(row, bracketed(value, low, high)), attributes=data(part=part))


def _behind(row: RunDecisions | PeopleDecisions, text: str) -> Content:
    """A value that opens the list of the run's answers."""
    return items_link(text, items_query(focus=row.run)) if isinstance(row, RunDecisions) else text


def _metric_cell(key: str, row: RunDecisions | PeopleDecisions) -> Cell:
    if isinstance(row, PeopleDecisions):
        return Cell(None)
    cell: MetricValue = row.metrics[key]
    text = bracketed(cell.value, cell.low, cell.high)
    return Cell(text if cell.value is None else _behind(row, text), cell.missing)


def verdict(difference: CurveDifference, names: Mapping[str, str], chosen_here: bool) -> html.P:
    """Say which of two runs is better at which t: as measured, and where the band excludes 0.

    ``chosen_here`` says whether the runs are compared because they have the best Brier scores on these answers.
    """
    shown = _who_is_better(difference.shown, names)
    shown = f"{shown}; elsewhere neither is shown to be better" if shown else "neither is shown to be better"
    chosen = " They are compared because their Brier scores are the best on these same answers." if chosen_here else ""
    return html.P(f"{_measured(difference, names)} With 95 % confidence for all t at once, {shown}.{chosen}", className="verdict")


def _measured(difference: CurveDifference, names: Mapping[str, str]) -> str:
    """A sentence on the measured curves, with the thresholds at which the better run changes."""
    merged: list[Stretch] = []
    for stretch in difference.stretches:
        if stretch.better is None:
            continue
        if merged and merged[-1].better == stretch.better:
            merged[-1] = Stretch(merged[-1].start, stretch.end, stretch.better)
        else:
            merged.append(stretch)
    runs = [names[stretch.better] for stretch in merged if stretch.better]
    if not runs:
        return "As measured, the two runs have the same curve."
    if len(runs) == 1:
        return f"As measured, {runs[0]} is better at every t at which they differ."
    if len(runs) == 2:
        return f"As measured, {runs[0]} is better below t = {short(merged[1].start, 2)}, {runs[1]} from there on."
    if len(runs) > MAX_STRETCHES:
        return f"As measured, the curves cross {len(runs) - 1} times."
    return f"As measured, {_who_is_better(merged, names)}."


def _who_is_better(stretches: Sequence[Stretch], names: Mapping[str, str]) -> str:
    """Name each run with the thresholds at which it is better; blank where there are none."""
    ranges: dict[str, list[str]] = {}
    for part in stretches:
        if part.better:
            ends = dict.fromkeys((short(part.start, 2), short(part.end, 2)))
            ranges.setdefault(part.better, []).append(" to ".join(ends))
    return "; ".join(f"{names[run]} is better at t = {', '.join(parts)}" for run, parts in ranges.items())


def difference_table(difference: CurveDifference) -> html.Div:
    """Return the text equivalent of the figure of the difference."""
    lines: tuple[Sequence[float | None], ...] = (difference.difference, difference.low, difference.high)
    behind = items_query(focus=(difference.a.run, difference.b.run))
    rows = [(items_link(f"{mark:g}", behind), *(values[nearest(mark)] for values in lines)) for mark in MARKS]
    columns = [PageColumn(heading, itemgetter(place)) for place, heading in enumerate(("t", "Difference", "Band from", "to"))]
    return html_table(columns, rows, "Difference of two runs")


clientside_callback(
    ClientsideFunction("clueline", "followCost"),
    Input(control(KEY, "choice", MATCH, default=DEFAULT_THRESHOLD), "drag_value"),  # type: ignore[arg-type]
    Input({"role": "state", "name": "decide", "run": MATCH}, "data"),
    prevent_initial_call=True,
)


HEIGHT, AXIS = 235, 60  # pixels of a figure, and of the space below and above its axis
SHARE = fig.UNIT | {"range": [-0.01, 1.01]}
T_AXIS = "t: a wrong answer costs t/(1 \u2212 t) right ones"
SHOWN_T = 80  # percent; net scores fall without bound as t nears 1, so the axis fits those up to here, and lines leave it below


def figure_over_t(
    decisions: Decisions,
    curves: Mapping[str, Sequence[float | None]],
    style: RunStyle,
    t: float,
    title: str,
    zero: bool = False,
    people: PeopleDecisions | None = None,
) -> PlotlyJson:
    """Draw a curve of each run over t, and the net scores of people dotted. A line marks the chosen ``t``."""
    data = [
        style.trace(run.run, decisions.thresholds[: len(curves[run.run])], fig.rounded(curves[run.run]), "t = %{x:.2f}: %{y:.3f}")
        for run in style.grey_first(decisions.runs)
    ]
    if people:
        earned, dotted = fig.rounded(people.net_score.values), {"color": fig.INK, "width": 2, "dash": "dot"}
        data.append(fig.lines(decisions.thresholds[:-1], earned, "people<br>t = %{x:.2f}: %{y:.3f}", name="people", line=dotted))
    shown = [value for trace in data for value in trace["y"][: SHOWN_T + 1]]
    bottom, top = fig.padded(shown, zero=zero)
    middle = len(decisions.thresholds) // 2
    ends = {run: curves[run][middle] or 0.0 for run in curves if run in style.colours}
    return fig.drawn(
        data,
        HEIGHT,
        fig.axis(T_AXIS, **SHARE),
        fig.axis(title, range=[bottom, top]),
        shapes=[_marker(t)],
        **style.ends(ends, bottom, top, HEIGHT - AXIS),
    )


def difference_figure(difference: CurveDifference, thresholds: Sequence[float], t: float) -> PlotlyJson:
    """Draw the Murphy curve of the first run minus that of the second, with its simultaneous band. A line marks ``t``."""
    low, high = fig.rounded(difference.low), fig.rounded(difference.high)
    edges = [*high, *low[::-1]]
    band = fig.lines(
        [*thresholds, *thresholds[::-1]], edges, fill="toself", fillcolor="var(--accent-soft)", line={"width": 0},
        name="95 % for all t at once",
    )  # fmt: skip
    values = fig.rounded(difference.difference)
    line = fig.lines(
        [*thresholds], values, "t = %{x:.2f}: %{y:.3f}<br>band [%{customdata[0]:.3f}, %{customdata[1]:.3f}]", name="difference",
        line={"color": fig.INK, "width": 2}, customdata=[[*ends] for ends in zip(low, high, strict=True)],
    )  # fmt: skip
    scores = fig.axis("difference of scores", range=fig.padded([*edges, *values], zero=True))
    shapes = [_marker(t), fig.straight(y=0, colour=fig.FAINT) | {"name": "zero"}]
    return fig.drawn([band, line], HEIGHT - 40, fig.axis(T_AXIS, **SHARE), scores, shapes=shapes)


def coverage_figure(decisions: Decisions, style: RunStyle, t: float, *, accuracy: bool, forecasts: bool) -> PlotlyJson:
    """Draw risk or accuracy of the most confident share of the items. A dot on each line marks the share answered above ``t``.

    If ``accuracy`` is False, the risk is drawn.
    """

    def risk_or_accuracy(values: Sequence[float | None]) -> list[float | None]:
        return [1 - value if accuracy and value is not None else value for value in values]

    ordered, at = style.grey_first(decisions.runs), nearest(t)
    curves = {run.run: risk_or_accuracy(run.risks) for run in ordered}
    noun, of_answers = ("accuracy", "accuracy of the answers") if accuracy else ("risk", "share of errors among the answers")
    if forecasts:
        noun = of_answers = f"mean outcome of the {'likelier' if accuracy else 'less likely'} side"
    hover = f"most confident %{{x:.0%}}: {noun} %{{y:.3f}}"
    data = [style.trace(run, decisions.coverages[: len(curve)], fig.rounded(curve), hover) for run, curve in curves.items()]
    bottom, top = fig.padded([value for trace in data for value in trace["y"]])
    ends = {run: curve[-1] or 0.0 for run, curve in curves.items() if run in style.colours}
    # Dots at the chosen threshold, hidden where a run answers nothing; ``assets/decide.js`` moves them.
    shapes = [fig.circle(run.run, run.answered[at], risk_or_accuracy(run.risk)[at], style.colour(run.run)) for run in ordered]
    return fig.drawn(
        data,
        HEIGHT,
        fig.axis("share of the items answered, most confident first", **SHARE | {"tickformat": ".0%"}),
        fig.axis(of_answers, range=[bottom, top]),
        shapes=shapes,
        **style.ends(ends, bottom, top, HEIGHT - AXIS),
    )


def _marker(t: float) -> PlotlyJson:
    """The line at the chosen threshold, which ``assets/decide.js`` moves."""
    return fig.straight(t, colour="var(--accent)", width=1.5) | {"name": "t"}


def nearest(t: float) -> int:
    """Return the index of the curves' threshold nearest to t, at most that of 0.99: the cost t/(1 - t) is infinite at 1."""
    return min(round(100 * t), 99)


def people_note(people: PeopleDecisions) -> html.P | None:
    """Say what the line of people is, and how far it can be compared with those of runs."""
    right, wrong = (f"{round(share * people.heard):,}" for share in (people.right, people.wrong))
    second = [f"{percent(share, 0)} {name}" for name, share in people.second.items()]
    unstated = f"; nobody stated where {people.unstated:,} of these plays ended" if people.unstated else ""
    without = f", without which they were {' and '.join(second)}" if second else ""
    return note(
        f"People: {counted(people.teams, 'human team')} heard a question {people.heard:,} times and buzzed right {right} and "
        f"wrong {wrong} times{unstated}{without}. Their line is what these buzzes would earn. It compares only roughly: a team "
        "decides once per question, and at another cost might have buzzed differently."
    )


def net_section(result: Decisions, style: RunStyle, t: float) -> html.Section:
    """Return the net scores of runs and people over t."""
    curves = {run.run: run.net_score.values for run in result.runs}
    drawn = figure_over_t(result, curves, style, t, "net score per item", people=result.people)
    legend = style.legend([run.run for run in result.runs], "People, at their buzzes (dotted)" if result.people else "")
    title = "Net score per item over t: right answers earn 1, wrong ones cost t/(1 \u2212 t), silence earns 0. Higher is better"
    return section("Net score", figure("net", drawn, title, style.table(drawn, "Net score by t", AT_T), legend))


def murphy_section(result: Decisions, style: RunStyle, t: float) -> html.Section:
    """Return the Murphy curves of all runs."""
    drawn = figure_over_t(result, {run.run: run.murphy for run in result.runs}, style, t, "mean elementary score", zero=True)
    title = (
        "Mean elementary score over t; lower is better. The area below a line is the Brier score. A line below another "
        "throughout is better whatever a wrong answer costs"
    )
    legend = style.legend([run.run for run in result.runs])
    return section("Murphy curves", figure("murphy", drawn, title, style.table(drawn, "Murphy curves", AT_T), legend))


def difference_section(
    difference: CurveDifference,
    thresholds: Sequence[float],
    menus: Sequence[Component],
    chosen_here: bool,
    names: Names,
    t: float,
) -> html.Section:
    """Return the difference of the Murphy curves of two runs with its band.

    ``menus`` choose these two, and ``names`` are theirs, too; ``chosen_here`` is as in ``verdict``.
    """
    title = (
        f"{names[difference.a.run]} minus {names[difference.b.run]}, on the {counted(difference.questions, 'question')} that "
        "both answered: below 0 the first is better. The band covers the whole curve with 95 % confidence"
    )
    drawn = difference_figure(difference, thresholds, t)
    shown = figure("murphy-difference", drawn, title, difference_table(difference))
    return section("Two runs", controls(*menus), verdict(difference, names, chosen_here), shown)


def coverage_section(result: Decisions, style: RunStyle, t: float, *, forecasts: bool) -> html.Section:
    """Return risk and accuracy over the share of items answered. ``forecasts``: whether answers are forecasts."""
    risk = "Share of errors among the most confident items (risk), over the share answered. Lower is better"
    right = "Accuracy of the most confident items, over the share answered. Higher is better"
    if forecasts:
        risk = "Mean outcome of the less likely side of the surest forecasts (risk), over their share. Lower is better"
        right = "Mean outcome of the likelier side of the surest forecasts, over their share. Higher is better"
    figures = []
    for name, caption, accuracy in (("risk-coverage", risk, False), ("accuracy-coverage", right, True)):
        drawn = coverage_figure(result, style, t, accuracy=accuracy, forecasts=forecasts)
        text = style.table(drawn, f"{'Accuracy' if accuracy else 'Errors'} by share answered", AT_COVERAGE)
        title = f"{caption}. \u25cf the share with confidence above t"
        figures.append(figure(name, drawn, title, text, style.legend([run.run for run in result.runs])))
    return section("Coverage", side_by_side(*figures))


CITED = tuple(CATALOGUE[key] for key in ("net_score", "accuracy", "accuracy_at_80", "aurc", "augrc", "prr"))


class DecidePage(PageParameters, frozen=True):
    """The two runs that are compared."""

    a: FirstCurve = ""
    b: SecondCurve = ""


@page(
    "/decide", "Decide", DecidePage, place="When to answer", order=1, table=lambda request: cited_leaderboard(CITED),
    views=(DECIDE,),
    filters=("run", *filter_keys(), "people", "cluster", "failed", "grading"), common=True,
)  # fmt: skip
def draw(request: PageRequest[DecidePage]) -> Sequence[Component | None]:
    """Draw the slider for the cost, the table that follows it, curves over t and coverage, and two runs compared."""
    a, b = request.parameters.a, request.parameters.b
    # The result has every t, so that moving the slider needs no new request.
    conventions = replace(request.selection.conventions, t=Conventions().t)
    result: Decisions = service().ask(decide, request.selection.replace(conventions=conventions), a, b)
    if not result.runs:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "Answer or abstain")]
    t = request.selection.conventions.t
    style = run_style(request.facets, result.runs, highlighted_runs(request, CATALOGUE["brier"]))
    compared = [result.difference.a, result.difference.b] if result.difference else []
    every = run_names(compared) | dict(style.names)
    first = {"": "Best by Brier"} | {run: name for run, name in every.items() if run != b}
    second = {"": "Next best by Brier"} | {run: name for run, name in every.items() if run != a}
    menus = [menu("a", "First run", first, a), menu("b", "Second run", second, b)]
    return [
        heading(
            "Answer or abstain",
            f"{request.facets.title}: what it is worth to answer only when a run is confident enough; "
            f"{counted(len(result.runs), 'run')}",
            focus_menu(request, style.names),
        ),
        cost_slider(t),
        decisions_table(result, style, t, forecasts=request.facets.forecasts),
        people_note(result.people) if result.people else None,
        side_by_side(net_section(result, style, t), murphy_section(result, style, t)),
        difference_section(result.difference, result.thresholds, menus, not (a and b), every, t) if result.difference else None,
        coverage_section(result, style, t, forecasts=request.facets.forecasts),
        state(result),
    ]
