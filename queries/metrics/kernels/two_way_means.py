"""Least squares means of a table of runs and questions of which some cells are missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clueline.queries.metrics.kernels.arrays import Floats, ratio

SINGULAR = 1e-9  # share of the largest eigenvalue up to which one counts as 0


class TwoWayMeans(NamedTuple):
    """Means of runs, adjusted for the questions that each lacks, and what each question contributes to their error.

    Attributes:
        values: shape (runs,), NaN for a run without cells.
        influence: first-order change of each value with the weight of each question, shape (questions, runs). The columns sum to
            0 where the expected questions are those of the table.
    """

    values: Floats
    influence: Floats


def two_way_means(values: Floats, weights: Floats, expected: Floats) -> TwoWayMeans:
    """Fit value[question, run] = a[run] + b[question] by weighted least squares, and return a + the mean of b.

    Args:
        values, weights: shape (questions, runs); a weight of 0 is a missing cell, of which the value does not matter.
        expected: 1 for the questions over which b is averaged, by the largest weight of their cells, else 0; shape (questions,).

    The runs must be connected: any two must share questions, or each with others that do. Where no cell is missing, values are
    plain weighted means. Source: Searle 1987, ch. 4 (the additive two-way model).

    >>> harder = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])  # the second run lacks the last, an easy one
    >>> answered = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> two_way_means(harder, answered, np.ones(4)).values.round(4).tolist()
    [0.75, 0.4167]
    """
    total = weights.sum(axis=1)
    share = np.nan_to_num(ratio(weights, total[:, None]))  # of each run in the mean of a question
    mean = (share * values).sum(axis=1)
    # Only differences of effects are determined: one eigenvalue is 0 but for rounding, which must not be inverted.
    normal = np.diag(weights.sum(axis=0)) - weights.T @ share
    inverse = np.linalg.pinv(normal, rcond=SINGULAR, hermitian=True)
    runs = inverse @ (weights * (values - mean[:, None])).sum(axis=0)
    questions = mean - share @ runs
    target = weights.max(axis=1, initial=0.0) * expected
    target = target / max(float(target.sum()), np.finfo(float).tiny)
    centre = target @ questions
    # The weight of a question changes the effects of runs, through these every b, and the mean of b itself.
    changes = weights * (values - runs - questions[:, None]) @ inverse
    influence = changes - (changes @ (target @ share))[:, None] + (target * (questions - centre))[:, None]
    return TwoWayMeans(np.where(weights.any(axis=0), runs + centre, np.nan), influence)
