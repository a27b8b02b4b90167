"""What entries of the catalogue have in common."""

from __future__ import annotations

import numpy as np

from queries.metrics.kernels.arrays import ratio
from queries.metrics.metric import Conventions, Direction, Floats, Reads, Sums

Part = tuple[str, str, str, str, Direction, str, str]  # key, name, label, symbol, direction, formula, words


def columns(*names: str) -> Reads:
    """Reads these statistics, whatever the conventions."""
    return lambda conventions: names


def mean_over_questions(values: Floats) -> Sums:
    """Contributions of a metric that is averaged over the questions that have it."""
    defined = np.isfinite(values)
    return {"value": np.where(defined, values, 0.0), "questions": defined.astype(float)}


def mean(totals: Sums, conventions: Conventions) -> Floats:
    """Mean over the questions that have the metric, from the totals of ``mean_over_questions``."""
    return ratio(totals["value"], totals["questions"])
