"""Reliability in numbers: the bins of each run, and how far it is off on either side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html

from dashboard.components.numbers import DASH, short
from dashboard.components.run_names import named
from dashboard.components.table import table
from queries.engine.reliability_diagrams import ReliabilityDiagram
from queries.leaderboard import Leaderboard
from queries.metrics import CATALOGUE

SPLIT = tuple(CATALOGUE[key] for key in ("ece", "overconfidence", "r_over", "r_under", "hmr", "pct_rounded"))


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


def split_table(board: Leaderboard, names: Mapping[str, str], colours: Mapping[str, str]) -> html.Div:
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
