"""The table of a page, for papers: which view gives it, which columns are printed, and what its intervals are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from dashboard.registry.views import View
from queries.engine.bootstrap import REPLICATES, SEED
from queries.engine.inference import FEW_OUTCOMES, SMALL_SAMPLE
from queries.metrics import Metric
from queries.selection.view_parameters_base import P

RESAMPLED = (
    f"Brackets are 95 % intervals: percentiles of {REPLICATES:,} bootstrap replicates that resample whole questions "
    f"(seed {SEED})."
)
METRIC_INTERVALS = (
    f"{RESAMPLED} With fewer than {SMALL_SAMPLE} questions, or fewer than {FEW_OUTCOMES} with an error or with a right answer, "
    "they come from the Bayesian bootstrap with an extra question as extreme as any (Gaffke 2005; for shares, the interval "
    "of Clopper and Pearson) or, for slopes and metrics of votes, from the jackknife. Intervals of distances from calibration, "
    "such as ECE, contain 0 unless a test shows otherwise."
)
WILSON = "Brackets are 95 % Wilson intervals, computed with the effective number of independent items in each bin."


def paired(primary: Metric) -> str:
    """Say what the intervals and p-values of a comparison of two runs are, where ``primary`` is the primary metric."""
    return (
        f"Differences are paired by question. {METRIC_INTERVALS} p-values are two-sided and, except for {primary.name}, the "
        "primary metric, adjusted for all other metrics by which runs of this dataset can be compared (Bonferroni)."
    )


@dataclass(frozen=True)
class Cited(Generic[P]):
    """The table of a page that papers cite, and how they print it.

    Attributes:
        columns: keys of the printed columns, in order; those that the table lacks are left out.
        interval: a sentence that says what the intervals are.
        references: further papers, by their keys in ``queries.metrics.bibliography``.
    """

    view: View[P, Any]
    parameters: P
    columns: tuple[str, ...]
    metrics: tuple[Metric, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    interval: str = ""
    references: tuple[str, ...] = ()
