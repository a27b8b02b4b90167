"""The catalogue: every metric that the product shows, in the order in which it shows them.

A new metric is one entry in one of these modules and one kernel in ``queries.metrics.kernels``; leaderboard, JSON, command
line and pages read this list.
"""

from queries.metrics.catalogue.bins import BINS
from queries.metrics.catalogue.items import ITEMS
from queries.metrics.catalogue.pairs import PAIRS
from queries.metrics.catalogue.questions import QUESTIONS

METRICS = (*ITEMS, *BINS, *QUESTIONS, *PAIRS)
CATALOGUE = {metric.key: metric for metric in METRICS}
