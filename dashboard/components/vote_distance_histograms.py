"""Histograms of items by how far runs are from people's votes, compared with a human reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import DASH
from dashboard.components.run_names_and_colours import RunColours
from dashboard.components.table import row, table
from dashboard.figures.human_votes import distance_figure, entropy_figure, ranking_figure
from dashboard.figures.run_labels_and_lines import Names
from queries.human_votes import Histograms, People


def distance_histograms(result: People, names: Names, colours: RunColours) -> html.Figure:
    """Return a histogram of items by DistCE.

    Args:
        result: comparison with people, with histograms.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    reference = f"the outline is a human reference, the shares of {result.reference_votes} of the item's votes drawn at random"
    return figure(
        "distance",
        distance_figure(result, names, colours),
        f"Items by their distance from people (DistCE, total variation): 0 is agreement; {reference}",
        _table(result, names, result.distance_edges, lambda histograms: histograms.distance, "Items by DistCE"),
    )


def entropy_histograms(result: People, names: Names, colours: RunColours, absolute: bool) -> html.Figure:
    """Return a histogram of items by EntCE, or by its absolute value. See ``distance_histograms``."""
    signed = "its absolute value" if absolute else "right of 0, the run is less certain than people are"
    return figure(
        "entropy",
        entropy_figure(result, names, colours, absolute),
        f"Items by entropy, run minus people (EntCE, nats): {signed}; outline: the human reference",
        _table(result, names, result.entropy_edges, lambda histograms: histograms.entropy, "Items by EntCE"),
    )


def ranking_histograms(result: People, names: Names, colours: RunColours) -> html.Figure | None:
    """Return a histogram of items by the number of pairs of classes that a run ranks differently from people.

    None if there are too many classes. See ``distance_histograms``.
    """
    most = max((len(run.histograms.ranking) for run in result.rows if run.histograms), default=0)
    if not most:
        return None
    return figure(
        "ranking",
        ranking_figure(result, names, colours),
        "Items by how many pairs of classes the run ranks differently from people: 0 is the same order; outline: the reference",
        _table(result, names, [*range(1 + most)], lambda histograms: histograms.ranking, "Items by pairs ranked differently"),
    )


def _table(
    result: People, names: Names, edges: Sequence[float], counts: Callable[[Histograms], Sequence[int]], label: str
) -> html.Div:
    """Return a row per run and non-empty bin, with the count of the human reference.

    Args:
        result: comparison with people, with histograms.
        names: display name of each run, by run id.
        edges: edges of the bins, shape (bins + 1,).
        counts: function from histograms to the counts to show, shape (bins,).
        label: what the table holds.
    """
    rows = []
    for run in result.rows:
        if run.histograms is None:
            continue
        human = counts(run.reference) if run.reference else None
        for place, ((low, high), items) in enumerate(zip(pairwise(edges), counts(run.histograms), strict=True)):
            if items or (human and human[place]):
                reference = f"{human[place]:,}" if human else DASH
                rows.append(row(f"{names[run.run]}: {low:.2f} to {high:.2f}", f"{items:,}", reference))
    return table(["Run and bin", "Items", "Reference"], rows, label)
