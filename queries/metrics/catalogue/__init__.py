"""The catalogue: every metric that the product shows, in the order in which it shows them.

A new metric is one entry in one of these modules and one kernel in ``queries.metrics.kernels``; leaderboard, JSON, command
line and pages read this list. What is no function of sums, and has an analysis and a page of its own, is a ``AnalysisMetric``.
"""

from queries.metrics.catalogue.bins import BIN_METRICS
from queries.metrics.catalogue.buzzing import BUZZING
from queries.metrics.catalogue.calibration_tests import CALIBRATION_TESTS
from queries.metrics.catalogue.distributions import VOTES
from queries.metrics.catalogue.ece_variants import VARIANTS
from queries.metrics.catalogue.item_totals import ITEMS
from queries.metrics.catalogue.paper_contradictions import NOTES, Note
from queries.metrics.catalogue.per_question import QUESTIONS
from queries.metrics.catalogue.selective import SELECTIVE
from queries.metrics.catalogue.sorted_items import PAIRS
from queries.metrics.metric import Metric, MetricFacts

__all__ = ["CATALOGUE", "FAMILIES", "METRICS", "NOTES", "VARIANTS", "VOTES", "Note"]

# Every family with what its metrics are computed from, in the order in which they are shown.
FAMILIES: dict[str, tuple[str, str, tuple[MetricFacts, ...]]] = {
    "items": ("Items", "From sums over all items", ITEMS),
    "bins": ("Bins", "From items in bins of confidence", BIN_METRICS),
    "questions": ("Questions", "Per question, then averaged over questions or fitted to them", QUESTIONS),
    "pairs": ("Pairs", "From confidence and correctness item by item, in order of confidence", PAIRS),
    "selective": ("Selective prediction", "From the most confident items on: what if only these are answered", SELECTIVE),
    "variants": ("Variants of ECE", "As other projects compute it: on the page Which ECE, elsewhere where asked for", VARIANTS),
    "votes": ("Votes", "From whole distributions, and from the votes of people", VOTES),
    "tests": ("Tests of calibration", "Whether E[y | c] = c can be; on the page Reliability, not in rankings", CALIBRATION_TESTS),
    "buzzing": ("Buzzing", "From when a run buzzes at a threshold: on the page Buzz, not in rankings", BUZZING),
}
CATALOGUE = {entry.key: entry for _, _, entries in FAMILIES.values() for entry in entries if isinstance(entry, Metric)}
METRICS = tuple(metric for metric in CATALOGUE.values() if not metric.variant)
