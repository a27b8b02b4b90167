"""Histograms of items by how far runs are from the votes of people, beside a human reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import DASH
from dashboard.components.run_names_and_colours import RunColours
from dashboard.components.table import row, table
from dashboard.figures.human_votes import distance_figure, entropy_figure, ranking_figure
from queries.human_votes import Histograms, People

Names = Mapping[str, str]


def distance_histograms(result: People, names: Names, colours: RunColours) -> html.Figure:
    """Items by DistCE.

    Args:
        result: with histograms.
        names: run id to what it is called.
        colours: run id to colour.
    """
    reference = f"the outline is a human reference: the shares of {result.reference_votes} of its votes, drawn at random"
    return figure(
        "distance",
        distance_figure(result, names, colours),
        f"Items by their distance from people (DistCE, total variation): 0 is agreement; {reference}",
        _table(result, names, result.distance_edges, lambda histograms: histograms.distance, "Items by DistCE"),
    )


def entropy_histograms(result: People, names: Names, colours: RunColours, absolute: bool) -> html.Figure:
    """Items by EntCE, or by its absolute value. See ``distance_histograms``."""
    signed = "its absolute value" if absolute else "right of 0, the run is less certain than people are"
    return figure(
        "entropy",
        entropy_figure(result, names, colours, absolute),
        f"Items by entropy, run minus people (EntCE, nats): {signed}; outline: the human reference",
        _table(result, names, result.entropy_edges, lambda histograms: histograms.entropy, "Items by EntCE"),
    )


def ranking_histograms(result: People, names: Names, colours: RunColours) -> html.Figure | None:
    """Items by the pairs of classes that a run ranks otherwise; None where classes are very many. See ``distance_histograms``."""
    most = max((len(run.histograms.ranking) for run in result.rows if run.histograms), default=0)
    if not most:
        return None
    return figure(
        "ranking",
        ranking_figure(result, names, colours),
        "Items by how many pairs of classes the run ranks differently from people: 0 is the same order; outline: the reference",
        _table(result, names, [*range(1 + most)], lambda histograms: histograms.ranking, "Items by pairs ranked otherwise"),
    )


def _table(
    result: People, names: Names, edges: Sequence[float], counts: Callable[[Histograms], Sequence[int]], label: str
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
