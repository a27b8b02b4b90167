"""Answer or abstain: the slider for the cost of a wrong answer, the table that follows it, and the verdict on two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import MATCH, ClientsideFunction, Input, clientside_callback, dcc, html

from dashboard.ui.controls import control, labelled
from dashboard.ui.html import data
from dashboard.ui.numbers import short
from dashboard.ui.runs import RunColours, run_cell
from dashboard.ui.table import Cell, table
from dashboard.views.decide.figures import nearest
from queries.decide import (
    DECIDE_METRICS,
    CurveDifference,
    Decisions,
    MetricValue,
    PeopleDecisions,
    RunDecisions,
    Stretch,
)
from queries.metrics import Conventions

KEY = "t"
DEFAULT_THRESHOLD = str(Conventions().t)
MAX_STRETCHES = 4  # of thresholds that are listed in a sentence on measured curves
MARKS = (0.1, 0.25, 0.5, 0.75, 0.9)  # thresholds in the tables of figures
FOLLOWING = ("net_score", "best_threshold", "best_score")  # columns that follow the slider
# Without an interval: a best threshold is the place of a maximum, whose bootstrap intervals do not cover.
POINTS = ("best_threshold",)
DIGITS = 4  # decimals of the values that the browser shows
SLIDER = control(KEY, "choice", default=DEFAULT_THRESHOLD)
STATE = {"role": "state", "name": "decide", "run": ""}


def cost_slider(t: float) -> html.Div:
    """Return the slider of t with its meaning in words; ``assets/decide.js`` updates all figures and the table with it."""
    slider = dcc.Slider(
        min=0, max=0.99, step=0.01, value=t, id=SLIDER, marks=None, allow_direct_input=False, updatemode="mouseup",
        included=False, className="slider single",
    )  # fmt: skip
    return html.Div(
        [labelled("What a wrong answer costs", slider, KEY), html.P(cost_words(t), className="cost")], className="decide-cost"
    )


def cost_words(t: float) -> str:
    """Say what a threshold means; ``assets/decide.js`` writes the same words."""
    return f"t = {short(t, 2)}: a wrong answer costs {short(t / (1 - t), 2)} right ones; answer where the confidence is above t"


def state(decisions: Decisions) -> dcc.Store:
    """Return the data that the browser needs to follow the slider."""
    runs = {
        run.run: {
            **{name: _columns(run, name) for name in FOLLOWING},
            "answered": _rounded(run.answered),
            "risk": _rounded(run.risk),
        }
        for run in decisions.runs
    }
    people = {"": {"net_score": _columns(decisions.people, "net_score")}} if decisions.people else {}
    return dcc.Store(id=STATE, data={"runs": runs | people})


def _columns(row: RunDecisions | PeopleDecisions, part: str) -> list[list[float | None]]:
    """Return the values of a column that follows the slider and, if it has intervals, their ends."""
    curve = getattr(row, part)
    return [_rounded(curve)] if part in POINTS else [_rounded(curve.values), _rounded(curve.low), _rounded(curve.high)]


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.{DIGITS}f}") for value in values]


def decisions_table(
    decisions: Decisions, names: Mapping[str, str], colours: RunColours, t: float, *, forecasts: bool
) -> html.Div:
    """Return a row per run: net score at t, own best threshold at that cost, and selective-prediction metrics, with intervals."""
    place, metrics = nearest(t), [metric.worded(forecasts) for metric in DECIDE_METRICS]
    rows = [
        html.Tr(
            [
                run_cell(names[run.run], colours.get(run.run)),
                *(html.Td(_at(run, part, place), className="number", **data(part=part)) for part in FOLLOWING),
                *(_metric_cell(run, metric.key) for metric in DECIDE_METRICS),
            ],
            **data(run=run.run),
        )
        for run in decisions.runs
    ]
    if decisions.people:
        dashes = [html.Td("\u2013", className="number") for _ in range(len(FOLLOWING) - 1 + len(DECIDE_METRICS))]
        net = html.Td(_at(decisions.people, "net_score", place), className="number", **data(part="net_score"))
        rows.append(html.Tr([html.Th("People", scope="row"), net, *dashes], **data(run="")))
    head: list[Cell] = [
        "Run",
        html.Span("Net score at t", title="Score per item if the run answers above t. Higher is better"),
        html.Span(
            "Own best threshold",
            title="With hindsight, answering above it would have earned the most at this cost. For a calibrated run it is near t",
        ),
        html.Span(
            "Net score at own threshold",
            title="Score per item above a best threshold, which for each fifth of the questions was chosen on the other four",
        ),
        *(html.Span(metric.label, title=f"{metric.name}. {metric.words}") for metric in metrics),
    ]
    return table(head, rows, "What answers are worth", "decide")


def _at(row: RunDecisions | PeopleDecisions, part: str, place: int) -> str:
    """A column's value with its interval; ``assets/decide.js`` writes the same text."""
    return _with_interval(*(values[place] for values in _columns(row, part)))


def _with_interval(value: float | None, low: float | None = None, high: float | None = None) -> str:
    return short(value) if value is None or low is None or high is None else f"{short(value)} [{short(low)}, {short(high)}]"


def _metric_cell(run: RunDecisions, key: str) -> html.Td:
    cell: MetricValue = run.metrics[key]
    return html.Td(_with_interval(cell.value, cell.low, cell.high), className="number", title=cell.missing or "")


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


def curve_table(decisions: Decisions, names: Mapping[str, str], part: str) -> html.Div:
    """Return the text equivalent of a figure over t; ``part`` is ``murphy`` or ``net_score``."""
    rows = [
        html.Tr([
            html.Th(names[run.run], scope="row"),
            *(html.Td(short(_values(run, part)[nearest(mark)]), className="number") for mark in MARKS),
        ])
        for run in decisions.runs
    ]  # fmt: skip
    if part == "net_score" and decisions.people:
        net = decisions.people.net_score.values
        cells = [html.Td(short(net[nearest(mark)]), className="number") for mark in MARKS]
        rows.append(html.Tr([html.Th("People", scope="row"), *cells]))
    return table(["Run", *(f"t = {mark:g}" for mark in MARKS)], rows, "By t")


def _values(run: RunDecisions, part: str) -> Sequence[float | None]:
    return run.murphy if part == "murphy" else run.net_score.values


def coverage_table(decisions: Decisions, names: Mapping[str, str], *, accuracy: bool) -> html.Div:
    """Return the text equivalent of a figure over coverage."""
    places = [round(mark * len(decisions.coverages)) - 1 for mark in (*MARKS, 1.0)]
    rows = []
    for run in decisions.runs:
        values = [run.risks[place] for place in places]
        cells = [short(1 - value if accuracy and value is not None else value) for value in values]
        rows.append(html.Tr([html.Th(names[run.run], scope="row"), *(html.Td(cell, className="number") for cell in cells)]))
    return table(["Run", *(f"{mark:.0%}" for mark in (*MARKS, 1.0))], rows, "By share answered")


def difference_table(difference: CurveDifference) -> html.Div:
    """Return the text equivalent of the figure of the difference."""
    rows = [
        html.Tr([
            html.Th(f"{mark:g}", scope="row"),
            *(
                html.Td(short(values[nearest(mark)]), className="number")
                for values in (difference.difference, difference.low, difference.high)
            ),
        ])
        for mark in MARKS
    ]  # fmt: skip
    return table(["t", "Difference", "Band from", "to"], rows, "Difference of two runs")


clientside_callback(
    ClientsideFunction("clueline", "followCost"),
    Input(control(KEY, "choice", MATCH, default=DEFAULT_THRESHOLD), "drag_value"),  # type: ignore[arg-type]
    Input({"role": "state", "name": "decide", "run": MATCH}, "data"),
    prevent_initial_call=True,
)
