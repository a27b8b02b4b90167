"""The table behind a page, as papers take it: which address gives it, what of it is printed, and what its intervals are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from queries.engine.bootstrap import REPLICATES, SEED
from queries.engine.inference import SMALL_SAMPLE
from queries.metrics import Metric

RESAMPLED = (
    f"Brackets are 95 % intervals: percentiles of {REPLICATES:,} bootstrap replicates that resample whole questions "
    f"(seed {SEED})."
)
METRIC_INTERVALS = (
    f"{RESAMPLED} With fewer than {SMALL_SAMPLE} questions they come from the jackknife; those of distances from calibration, "
    "such as ECE, contain 0 unless a test shows otherwise."
)
WILSON = "Brackets are 95 % Wilson intervals for the number of independent items that a bin is worth."
PAIRED = (
    f"Differences are paired by question. {METRIC_INTERVALS} p-values are two-sided and not adjusted for the number of metrics."
)


@dataclass(frozen=True)
class TableSource:
    """The table behind a page, for papers: which address gives it, and which of its columns are printed.

    Attributes:
        address: of the JSON, as its route declares it; with ``.csv`` behind it, it gives the table.
        pairs: keys and values that it takes beside the selection.
        columns: those that are printed, in order. One ``x`` gets its interval from ``x_low`` and ``x_high``.
        metrics: what is measured.
        parts: of the path, where the address has any.
        interval_of: the column whose interval is ``low`` and ``high``.
        interval: what intervals are, in a sentence.
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
    """The table of runs by metric, with intervals."""
    keys = tuple(metric.key for metric in metrics)
    columns = ("model", "elicitation", "questions", *keys)
    pairs = (("metrics", ",".join(keys)), ("intervals", "1"))
    return TableSource("/api/v1/leaderboard", pairs, columns, tuple(metrics), interval=METRIC_INTERVALS)
