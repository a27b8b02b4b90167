"""The table behind a page, for papers: which address gives it, which columns are printed, and what its intervals are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from queries.engine.bootstrap import REPLICATES, SEED
from queries.engine.inference import FEW_OUTCOMES, SMALL_SAMPLE
from queries.metrics import Metric

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
class TableSource:
    """Where the table behind a page comes from, and how papers print it.

    Attributes:
        address: the path of the JSON, as its route declares it; the table is at the same path with ``.csv`` appended.
        pairs: keys and values that the address takes in addition to the selection.
        columns: the printed columns, in order. The interval of a column ``x`` is in ``x_low`` and ``x_high``.
        metrics: the metrics in the table.
        parts: values of the variable parts of the path; empty if it has none.
        interval_of: the column whose interval is in ``low`` and ``high``; blank if there is none.
        interval: a sentence that says what the intervals are.
        references: further papers, by their keys in ``queries.metrics.bibliography``.
    """

    address: str
    pairs: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    metrics: tuple[Metric, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    interval_of: str = ""
    interval: str = ""
    references: tuple[str, ...] = ()


def leaderboard_source(metrics: Sequence[Metric]) -> TableSource:
    """Return the source of the table of runs by metric, with intervals."""
    keys = tuple(metric.key for metric in metrics)
    columns = ("model", "elicitation", "questions", *keys)
    pairs = (("metrics", ",".join(keys)), ("intervals", "1"))
    return TableSource("/api/v1/leaderboard", pairs, columns, tuple(metrics), interval=METRIC_INTERVALS)
