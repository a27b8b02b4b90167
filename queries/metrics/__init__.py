"""The metric catalogue and its kernels, which are pure functions of arrays. Definitions follow the papers named in each entry."""

from clueline.queries.metrics.catalogue import CATALOGUE, FAMILIES, METRICS, NOTES, VARIANTS
from clueline.queries.metrics.metric import HUMAN_CURVES, AnalysisMetric, Conventions, Counterexample, Metric

__all__ = [
    "CATALOGUE",
    "FAMILIES",
    "HUMAN_CURVES",
    "METRICS",
    "NOTES",
    "VARIANTS",
    "AnalysisMetric",
    "Conventions",
    "Counterexample",
    "Metric",
]
