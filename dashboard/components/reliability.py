"""Reliability diagrams, their bins, and the over- and underconfidence of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import CALIBRATION_COLUMNS, short
from dashboard.components.run_names_and_colours import RunColours, named
from dashboard.components.table import dash, table
from dashboard.figures.reliability import reliability_figure
from queries.engine.reliability_diagrams import BandKind, ReliabilityDiagram
from queries.leaderboard import Leaderboard
from queries.metrics import CATALOGUE
from queries.selection.parameter_kinds import Range

SPLIT = tuple(CATALOGUE[key] for key in ("ece", "overconfidence", "r_over", "r_under", "hmr", "pct_rounded"))
BAND_WORDS: dict[BandKind, str] = {
    "simultaneous": "simultaneous: 90 % of simulated curves over the whole range",
    "pointwise": "pointwise: 90 % of simulated curves at each confidence separately; nearly every whole curve leaves it",
}


def reliability_diagrams(
    runs: Sequence[ReliabilityDiagram],
    names: Mapping[str, str],
    colours: RunColours,
    recalibrated: Mapping[str, ReliabilityDiagram],
    marked: Range | None,
    band: BandKind,
    *,
    brush: bool = True,
    forecasts: bool = False,
) -> html.Figure:
    """Return a diagram per run, with the bins as a table.

    Args:
        runs: diagrams of the runs.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        recalibrated: diagrams after recalibration, by run id.
        marked: range of confidence whose items are listed; None for no range.
        band: kind of the consistency band.
        brush: whether dragging over a range of confidence lists its items.
        forecasts: whether answers are forecasts.
    """
    return figure(
        "reliability",
        reliability_figure(runs, names, colours, recalibrated, marked, forecasts=forecasts),
        f"Dots: bins, with the 95 % interval of their {CALIBRATION_COLUMNS[forecasts][1].lower()}. Line: isotonic (CORP) curve; "
        f"grey: where it would lie if the run were calibrated ({BAND_WORDS[band]}). Below: how often each confidence was stated, "
        "multiples of 5 % darker",
        bins_table(runs, names, forecasts=forecasts),
        hint="Drag sideways over a diagram to list the items of a range of confidence" if brush else "",
    )


def bins_table(runs: Sequence[ReliabilityDiagram], names: Mapping[str, str], *, forecasts: bool = False) -> html.Div:
    """Return a row per run and non-empty bin; ``names``: display name of each run, by run id."""
    head = ["Run", "Bin", "Items", *CALIBRATION_COLUMNS[forecasts], "95 % interval"]
    rows = [
        html.Tr(
            [
                html.Th(names[run.run], scope="row"),
                html.Td(f"{bin_.lower:g} to {bin_.upper:g}"),
                html.Td(f"{bin_.items:,}", className="number"),
                html.Td(short(bin_.mean_confidence), className="number"),
                html.Td(short(bin_.accuracy), className="number"),
                html.Td(
                    dash(run.no_interval) if bin_.low is None else f"{short(bin_.low)} to {short(bin_.high)}", className="number"
                ),
            ]
        )
        for run in runs
        for bin_ in run.bins
        if bin_.items
    ]
    return table(head, rows, "Bins")


def split_table(board: Leaderboard, names: Mapping[str, str], colours: RunColours, *, forecasts: bool) -> html.Div:
    """Return how far each ranked run is over- and underconfident.

    Args:
        board: leaderboard with the metrics ``SPLIT``.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        forecasts: whether answers are forecasts.
    """
    rows = []
    for row in (row for row in board.rows if row.ranked):
        cells = [row.metrics[metric.key] for metric in SPLIT]
        values = [html.Td(short(cell.value), className="number", title=cell.missing or "") for cell in cells]
        rows.append(html.Tr([html.Th(named(colours.get(row.run), names[row.run]), scope="row"), *values]))
    shown = [metric.worded(forecasts) for metric in SPLIT]
    heads = [html.Span(metric.label, title=f"{metric.name}. {metric.words}") for metric in shown]
    return html.Div(table(["Run", *heads], rows, "Over- and underconfidence"), className="split")
