"""What entries of the catalogue have in common."""

from __future__ import annotations

import numpy as np

from queries.metrics.kernels.arrays import ratio
from queries.metrics.metric import Conventions, Counterexample, Direction, Floats, Reads, Sums

Part = tuple[str, str, str, str, Direction, str, str]  # key, name, label, symbol, direction, formula, words

# Two items of equal confidence in one bin, one right and one wrong. The right one becomes surer, or the wrong one less sure; what
# compares mean confidence with accuracy finds both further apart than before.
RIGHT_UP = Counterexample(((0.6, 1), (0.6, 0)), 0, 0.68)
WRONG_DOWN = Counterexample(((0.48, 1), (0.48, 0)), 1, 0.4)


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
