"""Runs against the votes of people, in numbers: metrics, histograms of items, and the reliability of each class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from dash import html

from dashboard.components.coverage import answered
from dashboard.components.numbers import DASH, short
from dashboard.components.run_names import named
from dashboard.components.table import row, table
from queries.human_votes import Histograms, People
from queries.leaderboard import Leaderboard
from queries.metrics.catalogue import VOTES


def vote_metrics_table(board: Leaderboard, names: Mapping[str, str], colours: Mapping[str, str]) -> html.Div:
    """The metrics against votes of each ranked run.

    Args:
        board: with the metrics ``VOTES``.
        names: run id to what it is called.
        colours: run id to colour.
    """
    ranked = [run for run in board.rows if run.ranked]
    shown = [metric for metric in VOTES if any(run.metrics[metric.key].value is not None for run in ranked)]
    rows = []
    for run in ranked:
        cells = [html.Td(answered(run.answered, board.questions), className="number")]
        for metric in shown:
            cell = run.metrics[metric.key]
            interval = f"{short(cell.low)} to {short(cell.high)}" if cell.low is not None else cell.missing or ""
            cells.append(html.Td(short(cell.value), className="number", title=f"{metric.name}: {interval}"))
        rows.append(html.Tr([html.Th(named(colours.get(run.run), names[run.run]), scope="row"), *cells]))
    return table(["Run", "Answered", *(metric.label for metric in shown)], rows, "Metrics against human votes")


def histogram_table(
    result: People, names: Mapping[str, str], edges: Sequence[float], counts: Callable[[Histograms], Sequence[int]], label: str
) -> html.Div:
    """A row per run and bin that holds items, beside the human reference.

    Args:
        result: with the histograms.
        names: run id to what it is called.
        edges: of the bins, shape (bins + 1,).
        counts: which counts of a run's histograms, shape (bins,).
        label: what the table holds.
    """
    rows = []
    for run in result.rows:
        if run.histograms is None:
            continue
        beside = counts(run.reference) if run.reference else None
        for place, ((low, high), items) in enumerate(zip(pairwise(edges), counts(run.histograms), strict=True)):
            if items or (beside and beside[place]):
                reference = f"{beside[place]:,}" if beside else DASH
                rows.append(row(f"{names[run.run]}: {low:.2f} to {high:.2f}", f"{items:,}", reference))
    return table(["Run and bin", "Items", "Reference"], rows, label)


def class_table(result: People, names: Mapping[str, str]) -> html.Div:
    """A row per run, class and bin that holds items; ``names``: run id to what it is called."""
    rows = [
        row(f"{names[run.run]}, {class_.name}", short(part.mean_share), short(part.chosen), f"{part.items:,}")
        for run in result.rows
        for class_ in run.classes
        for part in class_.bins
        if part.items
    ]
    return table(["Run and class", "Mean share", "Chosen by most", "Items"], rows, "Reliability of each class")
