"""Kernels of totals over items. Arguments are sums over items, and ``items`` their number; arrays have one shape (...,).

Values are NaN without items. 1 is best, except for ``brier`` and ``macro_ce``, where 0 is.
"""

from __future__ import annotations

import numpy as np

from clueline.queries.metrics.kernels.arrays import Floats, clip, ratio


def brier(items: Floats, confidence_sq: Floats, confidence_correct: Floats, correct: Floats) -> Floats:
    """Compute the Brier score: the mean of (c - y)^2 + y (1 - y) = c^2 - 2 c y + y, in [0, 1]. Brier 1950; GRACE app. G.

    For y in {0, 1} the second term is 0, and this is the usual Brier score. If y is a probability, it is the expected score.

    >>> c, y = np.array([0.9, 0.6]), np.array([1.0, 0.0])
    >>> float(brier(np.array(2.0), (c * c).sum(), (c * y).sum(), y.sum()).round(4))  # (0.1^2 + 0.6^2) / 2
    0.185
    """
    return clip(ratio(confidence_sq - 2 * confidence_correct + correct, items))


def brier_skill(items: Floats, confidence_sq: Floats, confidence_correct: Floats, correct: Floats, incorrect: Floats) -> Floats:
    """Compute the Brier skill score: 1 - brier / (brier of always stating the accuracy), at most 1. Murphy 1973.

    It is NaN where everything is correct or nothing is.
    """
    always = ratio(correct, items) * ratio(incorrect, items)
    return 1 - ratio(brier(items, confidence_sq, confidence_correct, correct), always)


def net_reward(confidence: Floats, correct: Floats, threshold: float) -> Floats:
    """Compute what each item earns if wrong answers are penalised: where c > t, 1 if right and -t / (1 - t) if wrong; else 0.

    A correctness between 0 and 1 earns its share of both. A player who knows the probability of being right earns most by
    answering exactly where it is above t, in [0, 1). Source: Kalai, Nachum, Vempala & Zhang 2025, sec. 4.2.

    >>> net_reward(np.array([0.9, 0.8, 0.5]), np.array([1.0, 0.0, 1.0]), 0.5)
    array([ 1., -1.,  0.])
    """
    return np.where(confidence > threshold, correct - (1 - correct) * (threshold / (1 - threshold)), 0.0)


def reward_over(items: Floats, incorrect: Floats, confidence_incorrect: Floats) -> Floats:
    """Compute the overconfidence reward R_O = 1 - sum (1 - y) c / sum (1 - y), in [0, 1]; 1 if nothing is wrong. Sakai eq. 6."""
    return np.where(items > 0, clip(1 - np.nan_to_num(ratio(confidence_incorrect, incorrect))), np.nan)


def reward_under(items: Floats, correct: Floats, confidence_correct: Floats) -> Floats:
    """Compute the underconfidence reward R_U = 1 - sum y (1 - c) / sum y, in [0, 1]; 1 if nothing is right. Sakai eq. 7."""
    return np.where(items > 0, clip(1 - np.nan_to_num(ratio(correct - confidence_correct, correct))), np.nan)


def hmr(over: Floats, under: Floats, beta: float = 1.0) -> Floats:
    """Compute the harmonic mean of rewards (beta^2 + 1) R_O R_U / (beta^2 R_O + R_U). Sakai eq. 8 and its footnote.

    Beta, above 0, is the weight of R_U relative to R_O. The mean is in [0, 1], 1 is best; 0 where both rewards are 0.

    >>> hmr(np.array([0.5, 0.0]), np.array([1.0, 0.0])).round(4)
    array([0.6667, 0.    ])
    """
    weighted = beta**2 * over + under
    return np.where(weighted == 0, 0.0, ratio((beta**2 + 1) * over * under, weighted))


def macro_ce(correct: Floats, confidence_correct: Floats, incorrect: Floats, confidence_incorrect: Floats) -> Floats:
    """Compute the macro-average calibration error: the average of mean 1 - c over correct items and mean c over incorrect items.

    If y is a probability, the item counts as correct with weight y and as incorrect with weight 1 - y. The value is in [0, 1], 0
    is best; NaN where nothing is correct or nothing is incorrect. Source: Si et al. 2022, in GRACE app. N.

    >>> float(macro_ce(np.array(1.0), np.array(0.9), np.array(1.0), np.array(0.6)).round(4))  # (0.1 + 0.6) / 2
    0.35
    """
    return clip((ratio(correct - confidence_correct, correct) + ratio(confidence_incorrect, incorrect)) / 2)
