"""Outcomes of the thresholds of runs: tables of the page Buzz."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.html_attributes import data
from dashboard.components.numbers import DASH, percent, short
from dashboard.components.run_names_and_colours import RunColours, run_cell
from dashboard.components.table import row, table
from dashboard.figures.run_labels_and_lines import Names
from queries.buzzing import ThresholdExplorer
from queries.buzzing.results import RunThresholds

LISTED = 12  # steps of a run's curve in the table

COLUMNS = (
    ("threshold", "Threshold", "The run buzzes at the first clue above it"),
    (
        "expected_wins",
        "Expected wins",
        "Mean over questions of the chance that nobody has answered yet; 0 if the buzz is not correct",
    ),
    ("best", "Best", "The highest expected wins, and the thresholds that reach them"),
    ("correct", "Correct", "Correct buzzes"),
    ("incorrect", "Incorrect", "Incorrect buzzes"),
    ("no_buzz", "No buzz", "Questions without a buzz"),
    ("revealed", "Revealed", "Mean fraction of the question revealed at the buzz"),
    (
        "score",
        "Points",
        "Points per question against a human team that heard it, with a 95 % interval: 10 for a correct buzz that comes first, "
        "−5 for an incorrect one",
    ),
)


def outcomes_table(explorer: ThresholdExplorer, names: Names, colours: RunColours) -> html.Div:
    """Return a row per run: its threshold and the outcomes at it.

    Args:
        explorer: threshold explorer with the runs.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    rows = []
    for run in explorer.runs:
        cells: list[Component] = [run_cell(names[run.run], colours.get(run.run))]
        for key, _, meaning in COLUMNS:
            title = _missing(run, key) or meaning
            content: list[Component | str] = [_cell(run, key)]
            if key in run.intervals:
                title += f"; 95 % interval {interval_text(run, key, short)}"
            elif key in run.no_interval:
                title += f"; no interval, because {run.no_interval[key]}"
            if key == "score" and key in run.intervals:
                content.append(html.Div(interval_text(run, key, lambda end: short(end, 2)), className="by"))
            cells.append(html.Td(content, className="number", title=title, **data(key=key)))
        rows.append(html.Tr(cells, **data(run=run.run)))
    head = [html.Th(label, scope="col", title=meaning, className="number") for _, label, meaning in COLUMNS]
    return table(["Run", *head], rows, "Outcomes of each threshold", "outcomes")


def _missing(run: RunThresholds, key: str) -> str | None:
    return run.missing.get("optimum" if key == "best" else key)


def _cell(run: RunThresholds, key: str) -> str:
    if key == "best":
        return DASH if run.optimum is None else f"{short(run.optimum.expected_wins)} {_interval(run)}"
    value = getattr(run.outcome, key)
    if value is None:
        return DASH
    if key in ("correct", "incorrect", "no_buzz"):
        return f"{value:,.6g}"
    return short(value, 2 if key == "score" else 3)


def _interval(run: RunThresholds) -> str:
    best = run.optimum
    assert best is not None
    low = short(best.threshold)
    if best.until is None:
        return f"at {low} and above"
    high = short(best.until)
    return f"below {high}" if best.open_below else f"at {low}" if low == high else f"at {low} to {high}"


def curve_table(runs: Sequence[RunThresholds], names: Names) -> html.Div:
    """Return some evenly spaced steps of each run's curve.

    Args:
        runs: runs, each with a curve of expected wins.
        names: display name of each run, by run id.
    """
    rows = []
    for run in runs:
        curve = run.curve
        assert curve is not None and curve.expected_wins is not None
        last = len(curve.thresholds) - 1
        rows += [
            row(
                names[run.run],
                f"{curve.thresholds[step]:.4g}".replace("-", "\u2212"),
                short(curve.expected_wins[step]),
                short(curve.score[step], 2) if curve.score else DASH,
                percent(curve.win[step]) if curve.win else DASH,
            )
            for step in sorted({round(index * last / (LISTED - 1)) for index in range(LISTED)})
        ]
    return table(["Run", "Threshold", "Expected wins", "Points", "Won"], rows, "Expected wins at some thresholds of each run")


def interval_text(run: RunThresholds, key: str, form: Callable[[float], str]) -> str:
    """Return the interval of a run's value in words, each end formatted by ``form``; a dash if there is none."""
    ends = run.intervals.get(key)
    return DASH if ends is None else f"{form(ends.low)} to {form(ends.high)}"
