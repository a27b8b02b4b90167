"""What entries of the catalogue have in common."""

from __future__ import annotations

import numpy as np

from queries.metrics.kernels.arrays import ratio
from queries.metrics.metric import Conventions, Counterexample, Direction, Floats, Reads, Sums

Part = tuple[str, str, str, str, Direction, str, str]  # key, name, label, symbol, direction, formula, words

# Two items, one right and one wrong. The right one becomes less sure, or the wrong one surer, until both are equally sure. What
# compares mean confidence with accuracy finds them closer together than before.
RIGHT_DOWN = Counterexample(((0.68, 1), (0.6, 0)), ((0, 0.6),))
WRONG_UP = Counterexample(((0.48, 1), (0.4, 0)), ((1, 0.48),))
# Both at once, so that the mean confidence stays.
SWAPPED = Counterexample(((0.51, 1), (0.5, 0)), ((0, 0.5), (1, 0.51)))
NOT_EVEN_U_OR_O = (RIGHT_DOWN, WRONG_UP, SWAPPED)
# The order of the items stays.
SAME_ORDER = Counterexample(((0.8, 1), (0.2, 0)), ((0, 0.7), (1, 0.3)))


def columns(*names: str) -> Reads:
    """Reads these statistics, whatever the conventions."""
    return lambda conventions: names


def mean_over_questions(values: Floats) -> Sums:
    """Contributions of a metric that is averaged over the questions that have it."""
    defined = np.isfinite(values)
    return {"value": np.where(defined, values, 0.0), "questions": defined.astype(float)}


def mean(totals: Sums, conventions: Conventions) -> Floats:
    """Mean over the questions that have the metric, from the totals of ``mean_over_questions``; the shape of the totals."""
    return ratio(totals["value"], totals["questions"])


def no_sums(totals: Sums, conventions: Conventions) -> Floats:
    """The value of a metric that is no function of sums, which nobody asks for: it has ``pairs``."""
    raise TypeError("this metric is no function of sums: it has ``pairs``")
