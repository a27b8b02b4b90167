"""The primary metric of a dataset, and how many other metrics its runs can be ranked by.

A claim by the primary metric, named before anybody looks, is adjusted for the runs that are compared. A claim by another metric
is also adjusted for all the others that could have been looked at, whatever is shown.
"""

from __future__ import annotations

from typing import NamedTuple

from clueline.data.dataset_kinds import FORECAST
from clueline.data.store import Snapshot
from clueline.queries.metrics import CATALOGUE, METRICS, Metric
from clueline.queries.selection import Selection
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.reference_people import has_people

PRIMARY = {"votes": "dist_ce", FORECAST: "brier"}  # by kind of dataset


class RankedMetrics(NamedTuple):
    """The metrics by which the runs of a dataset can be ranked, variants of the same metric left out.

    ``primary`` is named before looking; ``others`` counts the rest. Runs are compared in each of ``parts`` of the questions.
    """

    primary: Metric
    others: int
    parts: int = 1

    def adjusted_for(self, metric: Metric) -> int:
        """Return the number of families of comparisons: one per part and, unless this is primary, one per other metric."""
        return self.parts * (1 if metric.key == self.primary.key else self.others)


def ranked_metrics(snapshot: Snapshot, selection: Selection) -> RankedMetrics:
    """Return the primary metric, that of the selection or else of its dataset, and how many others runs can be ranked by."""
    dataset = selection.dataset
    known = snapshot.rows(
        "select kind, exists(from votes v where v.dataset = d.dataset and votes > 0) from datasets d where dataset = $d",
        {"d": dataset},
    )
    kind, voted = known[0] if known else ("", False)  # a dataset that does not exist has no runs
    people = has_people(snapshot, dataset)
    absent = {need for need, present in (("human buzzes", people), ("votes", voted)) if not present}
    primary = CATALOGUE[selection.primary] if selection.primary else primary_metric(kind, people)
    return RankedMetrics(
        primary, sum(metric.ranks and metric.key != primary.key and not absent & {*metric.needs} for metric in METRICS)
    )


def primary_of(selection: Selection, facets: Facets) -> Metric:
    """Return the primary metric that the selection states or else that of its dataset, whose facets are given."""
    return CATALOGUE[selection.primary] if selection.primary else primary_metric(facets.kind, facets.has_teams)


def primary_metric(kind: str, people: bool) -> Metric:
    """Return the primary metric: DistCE for votes, Brier for forecasts, CalScore where people played, else the net score.

    These two penalise bad guesses, which proper scores do not: a wrong guess at confidence 0 has the best possible Brier score.
    """
    return CATALOGUE[PRIMARY.get(kind, "calscore" if people else "net_score")]
