"""Reliability diagrams, their bins, and how far each run is off on either side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import DASH, short
from dashboard.components.run_names_and_colours import RunColours, named
from dashboard.components.table import table
from dashboard.figures.reliability import reliability_figure
from queries.engine.reliability_diagrams import BandKind, ReliabilityDiagram
from queries.leaderboard import Leaderboard
from queries.metrics import CATALOGUE
from queries.selection.parameter_kinds import Range

SPLIT = tuple(CATALOGUE[key] for key in ("ece", "overconfidence", "r_over", "r_under", "hmr", "pct_rounded"))
BAND_WORDS: dict[BandKind, str] = {
    "pointwise": "pointwise: 90 % of simulated curves at each confidence by itself",
    "simultaneous": "simultaneous: 90 % of simulated curves throughout",
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
) -> html.Figure:
    """A diagram per run, and their bins as a table.

    Args:
        runs: their diagrams.
        names: run id to what it is called.
        colours: run id to colour.
        recalibrated: run id to its diagram after recalibration.
        marked: the range of confidence whose items are listed.
        band: of the consistency band.
        brush: whether a range of confidence can be dragged, which lists its items.
    """
    return figure(
        "reliability",
        reliability_figure(runs, names, colours, recalibrated, marked),
        "Dots: bins, with the 95 % interval of their accuracy. Line: isotonic (CORP) curve; grey: where it would lie if the "
        f"run were calibrated, {BAND_WORDS[band]}. Below: how often each confidence was stated, multiples of 5 % darker",
        bins_table(runs, names),
        hint="Drag sideways over a diagram to list the items of a range of confidence" if brush else "",
    )


def bins_table(runs: Sequence[ReliabilityDiagram], names: Mapping[str, str]) -> html.Div:
    """A row per run and bin that holds items; ``names``: run id to what it is called."""
    head = ["Run", "Bin", "Items", "Mean confidence", "Accuracy", "95 % interval"]
    rows = [
        html.Tr(
            [
                html.Th(names[run.run], scope="row"),
                html.Td(f"{bin_.lower:g} to {bin_.upper:g}"),
                html.Td(f"{bin_.items:,}", className="number"),
                html.Td(short(bin_.mean_confidence), className="number"),
                html.Td(short(bin_.accuracy), className="number"),
                html.Td(f"{short(bin_.low)} to {short(bin_.high)}" if bin_.low is not None else DASH, className="number"),
            ]
        )
        for run in runs
        for bin_ in run.bins
        if bin_.items
    ]
    return table(head, rows, "Bins")


def split_table(board: Leaderboard, names: Mapping[str, str], colours: RunColours) -> html.Div:
    """How far each ranked run is off, and on which side.

    Args:
        board: with the metrics ``SPLIT``.
        names: run id to what it is called.
        colours: run id to colour.
    """
    rows = []
    for row in (row for row in board.rows if row.ranked):
        cells = [row.metrics[metric.key] for metric in SPLIT]
        values = [html.Td(short(cell.value), className="number", title=cell.missing or "") for cell in cells]
        rows.append(html.Tr([html.Th(named(colours.get(row.run), names[row.run]), scope="row"), *values]))
    heads = [html.Span(metric.label, title=f"{metric.name}. {metric.words}") for metric in SPLIT]
    return html.Div(table(["Run", *heads], rows, "Over- and underconfidence"), className="split")
