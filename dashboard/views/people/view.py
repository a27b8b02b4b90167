"""Runs compared with human votes."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.registry.tables import Table, parts
from dashboard.registry.views import View, register
from queries.human_votes import People, people
from queries.selection.view_parameters_base import NoParameters


def _bins(answer: People) -> Iterator[tuple[object, ...]]:
    """Yield the bins of the histograms of each run, with the items of the run and of its human reference."""
    for row in answer.rows:
        if not row.histograms:
            continue
        pairs_of_classes = [float(count) for count in range(len(row.histograms.ranking))]
        edges = {
            "distance": (answer.distance_edges[:-1], answer.distance_edges[1:]),
            "entropy": (answer.entropy_edges[:-1], answer.entropy_edges[1:]),
            "ranking": (pairs_of_classes, pairs_of_classes),
        }
        for name, (lower, upper) in edges.items():
            reference = getattr(row.reference, name) if row.reference else [None] * len(lower)
            for cells in zip(lower, upper, getattr(row.histograms, name), reference, strict=True):
                yield row.run, row.model, row.elicitation, name, *cells


PEOPLE = register(
    View(
        "people",
        people,
        NoParameters,
        """Runs and human votes: histograms of DistCE, EntCE and ranks, also for a human reference, and reliability of each
        class.""",
        (
            Table(
                "The histograms as CSV: a row per run and bin, with the items of the run and of the human reference.",
                rows=_bins,
                columns=parts("run", "model", "elicitation", "histogram", "lower", "upper", "items", "reference_items"),
            ),
        ),
    )
)
