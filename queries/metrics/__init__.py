"""The metric catalogue and its kernels: pure functions of arrays. Definitions follow the papers named in each entry."""

from queries.metrics.catalogue import CATALOGUE, FAMILIES, METRICS, NOTES, Note
from queries.metrics.metric import HUMAN, Conventions, Counterexample, Measure, Metric

__all__ = ["CATALOGUE", "FAMILIES", "HUMAN", "METRICS", "NOTES", "Conventions", "Counterexample", "Measure", "Metric", "Note"]
