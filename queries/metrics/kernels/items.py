"""Kernels of totals over items: arrays of any shape, so that replicates come along at no cost."""

from __future__ import annotations

import numpy as np

from queries.metrics.kernels.arrays import Floats, clip, ratio


def brier(items: Floats, confidence_sq: Floats, confidence_correct: Floats, correct: Floats) -> Floats:
    """Mean of (c - y)^2 + y (1 - y) = c^2 - 2 c y + y: the expected Brier score where y is a probability. In [0, 1].

    Source: GRACE app. G; for y in {0, 1} the second term is 0.
    """
    return clip(ratio(confidence_sq - 2 * confidence_correct + correct, items))


def reward_over(items: Floats, incorrect: Floats, confidence_incorrect: Floats) -> Floats:
    """R_O = 1 - sum (1 - y) c / sum (1 - y); 1 if there is no incorrect mass. In [0, 1]. Sakai eq. 6."""
    return np.where(items > 0, clip(1 - np.nan_to_num(ratio(confidence_incorrect, incorrect))), np.nan)


def reward_under(items: Floats, correct: Floats, confidence_correct: Floats) -> Floats:
    """R_U = 1 - sum y (1 - c) / sum y; 1 if there is no correct mass. In [0, 1]. Sakai eq. 7."""
    return np.where(items > 0, clip(1 - np.nan_to_num(ratio(correct - confidence_correct, correct))), np.nan)


def hmr(over: Floats, under: Floats, beta: float = 1.0) -> Floats:
    """Harmonic mean of rewards (b^2 + 1) R_O R_U / (b^2 R_O + R_U); 0 if both are 0. In [0, 1]. Sakai eq. 8 and its footnote."""
    weighted = beta**2 * over + under
    return np.where(weighted == 0, 0.0, ratio((beta**2 + 1) * over * under, weighted))


def macro_ce(correct: Floats, confidence_correct: Floats, incorrect: Floats, confidence_incorrect: Floats) -> Floats:
    """(mean of 1 - c over correct items + mean of c over incorrect ones) / 2; NaN if either are none. In [0, 1].

    Source: Si et al. 2022, in GRACE app. N. Where y is a probability, items count as correct with weight y.
    """
    return clip((ratio(correct - confidence_correct, correct) + ratio(confidence_incorrect, incorrect)) / 2)
