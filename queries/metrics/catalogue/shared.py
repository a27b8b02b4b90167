"""Helpers and counterexamples that entries of the catalogue share."""

from __future__ import annotations

import numpy as np

from queries.metrics.kernels.arrays import ratio
from queries.metrics.metric import Conventions, Counterexample, Direction, Floats, Reads, Sums

Part = tuple[str, str, str, str, Direction, str, str]  # key, name, label, symbol, direction, formula, words

# Two items, one right and one wrong. The right one becomes less confident, or the wrong one more so, until both are equal. A
# metric that compares mean confidence with accuracy finds the two closer than before.
RIGHT_DOWN = Counterexample(((0.68, 1), (0.6, 0)), ((0, 0.6),))
WRONG_UP = Counterexample(((0.48, 1), (0.4, 0)), ((1, 0.48),))
# Both at once, so that the mean confidence does not change.
SWAPPED = Counterexample(((0.51, 1), (0.5, 0)), ((0, 0.5), (1, 0.51)))
NOT_EVEN_U_OR_O = (RIGHT_DOWN, WRONG_UP, SWAPPED)
# The order of the items does not change.
SAME_ORDER = Counterexample(((0.8, 1), (0.2, 0)), ((0, 0.7), (1, 0.3)))


def columns(*names: str) -> Reads:
    """Return a ``Reads`` that names these statistics under all conventions."""
    return lambda conventions: names


def mean_over_questions(values: Floats) -> Sums:
    """Return the contributions of a metric that is averaged over the questions where it is defined.

    Args:
        values: the metric of each question, NaN where undefined, any shape.
    """
    defined = np.isfinite(values)
    return {"value": np.where(defined, values, 0.0), "questions": defined.astype(float)}


def mean(totals: Sums, conventions: Conventions) -> Floats:
    """Return the mean over the questions that have the metric, from totals of ``mean_over_questions``; NaN without any."""
    return ratio(totals["value"], totals["questions"])


def not_from_sums(totals: Sums, conventions: Conventions) -> Floats:
    """Stand in for ``Metric.value`` of a metric that is not a function of sums and must be computed with its ``pairs``.

    Raises:
        TypeError: always.
    """
    raise TypeError("this metric is not a function of sums: it has ``pairs``")
