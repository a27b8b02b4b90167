"""Kernels of the decision to answer (confidence above t) or to abstain. A wrong answer costs t / (1 - t) right answers.

Thresholds are in [0, 1], shape (m,); confidence and correctness in [0, 1], shape (n,).
"""

from __future__ import annotations

import numpy as np

from clueline.queries.metrics.kernels.arrays import Floats, Ints, ratio

STEPS = 100
THRESHOLDS: Floats = np.arange(STEPS + 1) / STEPS  # thresholds t of the curves
CELLS = STEPS + 1  # cells of confidence between the thresholds; the last holds confidences above the second-last threshold


def answered(thresholds: Floats, confidence: Floats, correct: Floats) -> tuple[Floats, Floats]:
    """Return the sums of y and of 1 - y over the items, sorted by confidence, with c > t, each of shape (m,)."""
    first = np.searchsorted(confidence, thresholds, side="right")
    right, wrong = (np.append(np.cumsum(part[::-1])[::-1], 0.0) for part in (correct, 1 - correct))
    return right[first], wrong[first]


def murphy_curve(thresholds: Floats, confidence: Floats, correct: Floats) -> Floats:
    """Compute the mean elementary score at each threshold: 2 (t 1[c > t] (1 - y) + (1 - t) 1[c <= t] y).

    Its integral over t in [0, 1] is the Brier score. A run whose curve is below another's at all thresholds is better under every
    proper score. Items are sorted by confidence. Values are in [0, 2], 0 is best; shape (m,), NaN without items. Source: Ehm,
    Gneiting, Jordan & Krueger 2016.

    >>> murphy_curve(np.array([0.25, 0.5]), np.array([0.4, 0.8]), np.array([0.0, 1.0])).tolist()
    [0.25, 0.0]
    """
    _, wrong_above = answered(thresholds, confidence, correct)
    right_below = np.append(0.0, np.cumsum(correct))[np.searchsorted(confidence, thresholds, side="right")]
    losses = 2 * (thresholds * wrong_above + (1 - thresholds) * right_below)
    return ratio(losses, np.asarray(float(len(confidence))))


def cell_totals(values: Floats, confidence: Floats, group: Ints, groups: int) -> Floats:
    """Sum values over the items of each group, from 0, with a confidence above each of ``THRESHOLDS``, shape (groups, CELLS)."""
    cell = np.searchsorted(THRESHOLDS, confidence, side="left")  # thresholds below c
    totals = np.bincount(group * CELLS + np.minimum(cell, STEPS), values, groups * CELLS).reshape(groups, CELLS)
    above: Floats = np.zeros_like(totals)
    above[:, :-1] = np.cumsum(totals[:, :0:-1], axis=1)[:, ::-1]
    return above


def wrong_answer_costs() -> Floats:
    """Return the cost of a wrong answer at each threshold below 1, in right answers: t / (1 - t), shape (STEPS,)."""
    below = THRESHOLDS[:-1]
    return below / (1 - below)


def best_thresholds(right: Floats, wrong: Floats) -> Ints:
    """Find the best threshold for each of ``wrong_answer_costs``: that above which answering earns most.

    For a calibrated run it is t itself. Of several equally good thresholds, the lowest is returned. ``right`` and ``wrong`` are
    sums of y and of 1 - y above each of ``THRESHOLDS``, shape (..., CELLS). Returns indices of thresholds, shape (STEPS, ...).
    """
    best = np.empty((STEPS, *right.shape[:-1]), np.int64)
    for place, cost in enumerate(wrong_answer_costs()):
        best[place] = (right - cost * wrong).argmax(axis=-1)
    return best
