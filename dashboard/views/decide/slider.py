"""Answer or abstain: the slider for the cost of a wrong answer, the table that follows it, and the verdict on two runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter

from dash import MATCH, ClientsideFunction, Input, clientside_callback, dcc, html

from dashboard.ui.controls import control, labelled
from dashboard.ui.html import data
from dashboard.ui.numbers import short
from dashboard.ui.runs import RunColours, named
from dashboard.ui.table import Cell, Content, PageColumn, bracketed, html_table
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
            **{name: _columns(run, name) for name in COLUMNS},
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


def decisions_table(
    decisions: Decisions, names: Mapping[str, str], colours: RunColours, t: float, *, forecasts: bool
) -> html.Div:
    """Return a row per run: net score at t, own best threshold at that cost, and selective-prediction metrics, with intervals."""

    def name(row: RunDecisions | PeopleDecisions) -> Content:
        return named(colours.get(row.run), names[row.run]) if isinstance(row, RunDecisions) else "People"

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
        [*decisions.runs, *([decisions.people] if decisions.people else [])],
        "What answers are worth",
        "decide",
        of_row=lambda row: data(run=row.run if isinstance(row, RunDecisions) else ""),
    )


def _following(part: str, place: int, row: RunDecisions | PeopleDecisions) -> Cell:
    """A column's value with its interval; ``assets/decide.js`` writes the same text."""
    if isinstance(row, PeopleDecisions) and part != "net_score":
        return Cell(None)
    value, low, high = (*(values[place] for values in _columns(row, part)), None, None)[:3]
    return Cell(bracketed(value, low, high), attributes=data(part=part))


def _metric_cell(key: str, row: RunDecisions | PeopleDecisions) -> Cell:
    if isinstance(row, PeopleDecisions):
        return Cell(None)
    cell: MetricValue = row.metrics[key]
    return Cell(bracketed(cell.value, cell.low, cell.high), cell.missing)


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
    rows: list[tuple[str, Sequence[float | None]]] = [
        (names[run.run], run.murphy if part == "murphy" else run.net_score.values) for run in decisions.runs
    ]
    if part == "net_score" and decisions.people:
        rows.append(("People", decisions.people.net_score.values))
    return _curves(rows, {f"t = {mark:g}": nearest(mark) for mark in MARKS}, "By t")


def _curves(rows: Sequence[tuple[str, Sequence[float | None]]], places: Mapping[str, int], label: str) -> html.Div:
    """Return a row per name, with its values at some places."""

    def at(place: int) -> Callable[[tuple[str, Sequence[float | None]]], float | None]:
        return lambda row: row[1][place]

    columns = [PageColumn(heading, at(place), number=True) for heading, place in places.items()]
    return html_table([PageColumn("Run", lambda row: row[0]), *columns], rows, label)


def coverage_table(decisions: Decisions, names: Mapping[str, str], *, accuracy: bool) -> html.Div:
    """Return the text equivalent of a figure over coverage."""
    rows = [
        (names[run.run], [1 - risk if accuracy and risk is not None else risk for risk in run.risks]) for run in decisions.runs
    ]
    places = {f"{mark:.0%}": round(mark * len(decisions.coverages)) - 1 for mark in (*MARKS, 1.0)}
    return _curves(rows, places, "By share answered")


def difference_table(difference: CurveDifference) -> html.Div:
    """Return the text equivalent of the figure of the difference."""
    curves: dict[str, Sequence[float | None]] = {
        "Difference": difference.difference,
        "Band from": difference.low,
        "to": difference.high,
    }
    rows = [(f"{mark:g}", *(values[nearest(mark)] for values in curves.values())) for mark in MARKS]
    columns = [PageColumn(heading, itemgetter(place)) for place, heading in enumerate(("t", *curves))]
    return html_table(columns, rows, "Difference of two runs")


clientside_callback(
    ClientsideFunction("clueline", "followCost"),
    Input(control(KEY, "choice", MATCH, default=DEFAULT_THRESHOLD), "drag_value"),  # type: ignore[arg-type]
    Input({"role": "state", "name": "decide", "run": MATCH}, "data"),
    prevent_initial_call=True,
)
