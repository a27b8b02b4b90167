"""Answer or abstain: the slider for the cost of a wrong answer, the table that follows it, and the verdict on two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import MATCH, ClientsideFunction, Input, clientside_callback, dcc, html

from dashboard.components.controls import control, labelled
from dashboard.components.html_attributes import data
from dashboard.components.numbers import short
from dashboard.components.run_names_and_colours import RunColours, run_cell
from dashboard.components.table import Cell, table
from dashboard.figures.decide import nearest
from queries.decide import DECIDE_METRICS, Curve, CurveDifference, Decisions, MetricValue, RunDecisions, Stretch
from queries.metrics import Conventions

KEY = "t"
DEFAULT_THRESHOLD = str(Conventions().t)
MARKS = (0.1, 0.25, 0.5, 0.75, 0.9)  # thresholds in the tables of figures
FOLLOWING = ("net_score", "best_threshold", "best_score")  # columns that follow the slider
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
            **{name: _rounded_curve(getattr(run, name)) for name in FOLLOWING},
            "answered": _rounded(run.answered),
            "risk": _rounded(run.risk),
        }
        for run in decisions.runs
    }
    people = {"": {"net_score": _rounded_curve(decisions.people.net_score)}} if decisions.people else {}
    return dcc.Store(id=STATE, data={"runs": runs | people})


def _rounded_curve(curve: Curve) -> list[list[float | None]]:
    return [_rounded(curve.values), _rounded(curve.low), _rounded(curve.high)]


def _rounded(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.{DIGITS}f}") for value in values]


def decisions_table(decisions: Decisions, names: Mapping[str, str], colours: RunColours, t: float) -> html.Div:
    """Return a row per run: net score at t, own best threshold at that cost, and selective-prediction metrics, with intervals."""
    place = nearest(t)
    rows = [
        html.Tr(
            [
                run_cell(names[run.run], colours.get(run.run)),
                *(html.Td(_at(getattr(run, part), place), className="number", **data(part=part)) for part in FOLLOWING),
                *(_metric_cell(run, metric.key) for metric in DECIDE_METRICS),
            ],
            **data(run=run.run),
        )
        for run in decisions.runs
    ]
    if decisions.people:
        dashes = [html.Td("\u2013", className="number") for _ in range(len(FOLLOWING) - 1 + len(DECIDE_METRICS))]
        net = html.Td(_at(decisions.people.net_score, place), className="number", **data(part="net_score"))
        rows.append(html.Tr([html.Th("People", scope="row"), net, *dashes], **data(run="")))
    head: list[Cell] = [
        "Run",
        html.Span("Net score at t", title="Score per item if the run answers above t. Higher is better"),
        html.Span("Own best threshold", title="Answering above it earns the most at this cost. For a calibrated run it is t"),
        html.Span("Net score there", title="Score per item at the run's own best threshold, chosen with hindsight"),
        *(html.Span(metric.label, title=f"{metric.name}. {metric.words}") for metric in DECIDE_METRICS),
    ]
    return table(head, rows, "What answers are worth", "decide")


def _at(curve: Curve, place: int) -> str:
    """A curve's value with its interval; ``assets/decide.js`` writes the same text."""
    return _with_interval(*(_rounded([part[place]])[0] for part in (curve.values, curve.low, curve.high)))


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    return short(value) if value is None or low is None or high is None else f"{short(value)} [{short(low)}, {short(high)}]"


def _metric_cell(run: RunDecisions, key: str) -> html.Td:
    cell: MetricValue = run.metrics[key]
    return html.Td(_with_interval(cell.value, cell.low, cell.high), className="number", title=cell.missing or "")


def verdict(difference: CurveDifference, names: Mapping[str, str]) -> html.P:
    """Say which of two runs is better at which t: as measured, and where the band excludes 0."""
    measured = _measured([stretch for stretch in difference.stretches if stretch.better is not None], names)
    shown = "; ".join(_ranges(run, difference.shown, names) for run in dict.fromkeys(s.better for s in difference.shown) if run)
    dominant = names[difference.dominant] if difference.dominant else "none"
    return html.P(
        f"{measured} With 95 % confidence for all t at once: {shown or 'neither is better at any t'}. "
        f"Better at every t with 95 % confidence: {dominant}.",
        className="verdict",
    )


def _measured(stretches: Sequence[Stretch], names: Mapping[str, str]) -> str:
    """A sentence on the measured curves, with the thresholds at which the better run changes."""
    merged: list[Stretch] = []
    for stretch in stretches:
        if merged and merged[-1].better == stretch.better:
            merged[-1] = Stretch(merged[-1].start, stretch.end, stretch.better)
        else:
            merged.append(stretch)
    runs = [names[stretch.better] for stretch in merged if stretch.better]
    if not runs:
        return "The two runs have the same curve."
    if len(runs) == 1:
        return f"As measured, {runs[0]} is better at every t."
    if len(runs) == 2:
        return f"Below t = {short(merged[1].start, 2)} {runs[0]} is better, above it {runs[1]}."
    parts = [_ranges(run, merged, names) for run in dict.fromkeys(stretch.better for stretch in merged) if run]
    return f"As measured, {'; '.join(parts)}."


def _ranges(run: str, stretches: Sequence[Stretch], names: Mapping[str, str]) -> str:
    ranges = [
        short(part.start, 2) if part.start == part.end else f"{short(part.start, 2)} to {short(part.end, 2)}"
        for part in stretches
        if part.better == run
    ]
    return f"{names[run]} is better at t = {', '.join(ranges)}"


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
