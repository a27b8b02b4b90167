"""Kernels of confidence and correctness item by item, for metrics that are no function of sums."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from queries.metrics.kernels.arrays import Floats


def ks(confidence: Floats, correct: Floats, *, sequential: bool = False) -> float:
    """max_j abs(cumsum(c - y)_j) / N over the items sorted by confidence. In [0, 1]. Sakai eq. 4.

    Args:
        confidence: shape (n,).
        correct: shape (n,).
        sequential: walk items of equal confidence one by one, in the order given, as the paper does; otherwise they are taken
            together, so that the order does not matter.
    """
    if not len(confidence):
        return math.nan
    order = np.argsort(confidence, kind="stable")
    walked = np.abs(np.cumsum((confidence - correct)[order]))
    if not sequential:
        walked = walked[_last_of_ties(confidence[order])]
    return float(walked.max() / len(confidence))


def auroc(confidence: Floats, correct: Floats) -> float:
    """Probability that a correct item has a higher confidence than an incorrect one, ties 1/2; NaN if either are none.

    Where y is a probability, an item counts as correct with weight y and as incorrect with 1 - y. In [0, 1].
    """
    if not correct.any() or (correct == 1).all():
        return math.nan
    _, right, wrong = _by_confidence(confidence, correct, 1 - correct)
    right, wrong = right / right.sum(), wrong / wrong.sum()
    below = np.append(0.0, np.cumsum(wrong)[:-1])
    return min(float((right * (below + wrong / 2)).sum()), 1.0)


def correlation(confidence: Floats, correct: Floats) -> float:
    """Pearson's correlation; NaN where either does not vary. In [-1, 1].

    From the pairs: sums of squares cancel where the confidences of a model lie close together.
    """
    x, y = _centred(confidence), _centred(correct)
    scale = math.sqrt(x @ x) * math.sqrt(y @ y)
    return float(np.clip(x @ y / scale, -1.0, 1.0)) if scale > 0 else math.nan


def corp(confidence: Floats, correct: Floats) -> tuple[float, float]:
    """Miscalibration and discrimination of the Brier score: brier = mcb - dsc + uncertainty. Each in [0, 1].

    The reference is the isotonic (PAV) recalibration p of the confidences. Dimitriadis, Gneiting & Jordan 2021. Within a
    block, p is the mean of what is right, so that brier(mean y) - brier(p) is the mean of (p - mean y)^2; likewise
    brier(c) - brier(p) is written with distances, which do not cancel as the scores do.
    """
    if not len(confidence):
        return math.nan, math.nan
    stated, right, items = _by_confidence(confidence, correct, np.ones_like(correct))
    p = isotonic(right, items)
    off = stated - p
    miscalibration = (items * off**2 + 2 * off * (items * p - right)).sum() / items.sum()
    discrimination = (items * (p - right.sum() / items.sum()) ** 2).sum() / items.sum()
    return max(float(miscalibration), 0.0), float(discrimination)


def isotonic(totals: Floats, weights: Floats) -> Floats:
    """Weighted least-squares fit to totals / weights that never decreases: pool adjacent violators. Shape (n,) in and out."""
    blocks: list[tuple[float, float, int]] = []  # total, weight and length of each
    for total, weight in zip(totals.tolist(), weights.tolist(), strict=True):
        block = total, weight, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= block[0] / block[1]:
            before = blocks.pop()
            block = before[0] + block[0], before[1] + block[1], before[2] + block[2]
        blocks.append(block)
    return np.repeat([total / weight for total, weight, _ in blocks], [length for _, _, length in blocks])


def _centred(values: Floats) -> Floats:
    """Values less their mean, in units of their range: exactly 0 where all are the same."""
    above = values - values.min(initial=1.0)
    widest = above.max(initial=0.0)
    above = above / widest if widest > 0 else np.zeros_like(above)
    return above - above.mean() if len(above) else above


def _last_of_ties(ascending: Floats) -> NDArray[np.int64]:
    """Index of the last of each run of equal values."""
    return np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True))


def _by_confidence(confidence: Floats, *values: Floats) -> tuple[Floats, ...]:
    """Distinct confidences, ascending, and the sum of each of ``values`` over the items that have them."""
    order = np.argsort(confidence, kind="stable")
    ascending = confidence[order]
    firsts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    return ascending[firsts], *(np.add.reduceat(each[order], firsts) for each in values)
