"""The catalogue: every metric that the product shows, in the order in which it shows them.

A new metric is one entry in one of these modules and one kernel in ``queries.metrics.kernels``; leaderboard, JSON, command
line and pages read this list.
"""

from queries.metrics.catalogue.bins import BINS
from queries.metrics.catalogue.items import ITEMS
from queries.metrics.catalogue.notes import NOTES, Note
from queries.metrics.catalogue.pairs import PAIRS
from queries.metrics.catalogue.questions import QUESTIONS
from queries.metrics.catalogue.votes import VOTES

__all__ = ["CATALOGUE", "FAMILIES", "METRICS", "NOTES", "Note"]

# Every family with what its metrics are computed from, in the order in which they are shown.
FAMILIES = {
    "items": ("Items", "From sums over all items", ITEMS),
    "bins": ("Bins", "From items in bins of confidence", BINS),
    "questions": ("Questions", "Per question, then averaged over questions or fitted to them", QUESTIONS),
    "pairs": ("Pairs", "From confidence and correctness item by item, in order of confidence", PAIRS),
    "votes": ("Votes", "From whole distributions, and from the votes of people", VOTES),
}
METRICS = tuple(metric for _, _, metrics in FAMILIES.values() for metric in metrics)
CATALOGUE = {metric.key: metric for metric in METRICS}
