"""The catalogue: every metric that the product shows, in display order.

A new metric is one entry in one of these modules and one kernel in ``queries.metrics.kernels``. The leaderboard, the JSON, the
command line and the pages all read this list. A metric that is not a function of sums and has its own analysis and page is an
``AnalysisMetric``.
"""

from clueline.queries.metrics.catalogue.bins import BIN_METRICS
from clueline.queries.metrics.catalogue.buzzing import BUZZING
from clueline.queries.metrics.catalogue.calibration_tests import CALIBRATION_TESTS
from clueline.queries.metrics.catalogue.distributions import VOTES
from clueline.queries.metrics.catalogue.ece_variants import VARIANTS
from clueline.queries.metrics.catalogue.item_totals import ITEMS
from clueline.queries.metrics.catalogue.paper_contradictions import NOTES
from clueline.queries.metrics.catalogue.per_question import QUESTIONS
from clueline.queries.metrics.catalogue.selective import SELECTIVE
from clueline.queries.metrics.catalogue.sorted_items import PAIRS
from clueline.queries.metrics.metric import Metric, MetricFacts

__all__ = ["CATALOGUE", "FAMILIES", "METRICS", "NOTES", "VARIANTS", "VOTES"]

# Key of each family: its title, what its metrics are computed from, and the metrics, in display order.
FAMILIES: dict[str, tuple[str, str, tuple[MetricFacts, ...]]] = {
    "items": ("Items", "From sums over all items", ITEMS),
    "bins": ("Bins", "From items in bins of confidence", BIN_METRICS),
    "questions": ("Questions", "Computed per question, then averaged over questions or fitted to them", QUESTIONS),
    "pairs": ("Pairs", "From the confidence and correctness of each item, in order of confidence", PAIRS),
    "selective": ("Selective prediction", "What if only the most confident items are answered", SELECTIVE),
    "variants": ("Variants of ECE", "As other projects compute it; on the page Which ECE, elsewhere on request", VARIANTS),
    "votes": ("Votes", "From whole distributions, against the right class or human votes", VOTES),
    "tests": ("Tests of calibration", "Is E[y | c] = c plausible? On the page Reliability, not in rankings", CALIBRATION_TESTS),
    "buzzing": ("Buzzing", "From when a run buzzes at a threshold; on the page Buzz, not in rankings", BUZZING),
}
CATALOGUE = {entry.key: entry for _, _, entries in FAMILIES.values() for entry in entries if isinstance(entry, Metric)}
METRICS = tuple(metric for metric in CATALOGUE.values() if not metric.variant)
