"""Kernels of confidence and correctness item by item, for metrics that are no function of sums.

Each takes items sorted by confidence, ascending, with the weights of many replicates at once: ``confidence`` and ``correct`` of
shape (n,), ``weights`` of shape (..., n), how often each item counts, ones for the data themselves. They give shape (...,), NaN
where a metric is undefined. Items with the same confidence and correctness may come as one of more weight.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtri

from queries.metrics.kernels.arrays import FLAT, Floats, Ints, distinct, ratio

MANY = 1000  # confidences told apart in a band; where there are more, they are rounded to so many parts:
FINE = 100
CURVES = 300  # simulated for a consistency band, fewer where that takes more than so many normal draws:
NORMALS = 6_000_000
TOGETHER = 64  # rows fitted at once: as one they are faster, and the more of them, the more digits they lose


def ks(confidence: Floats, correct: Floats, weights: Floats) -> Floats:
    """Kolmogorov-Smirnov calibration error: max over j of abs(cumsum(c - y)_j) / N. Gupta et al. 2021; Sakai eq. 4.

    Items of equal confidence are taken together, so that their order does not matter.

    Args:
        confidence, correct: in [0, 1], shape (n,), sorted by confidence.
        weights: how often each item counts, shape (..., n).

    Returns:
        In [0, 1], 0 is best; shape (...,), NaN without items.

    >>> float(ks(np.array([0.2, 0.6, 0.6]), np.array([0.0, 1.0, 0.0]), np.ones(3)).round(4))  # (0.2 + 1.2 - 1) / 3
    0.1333
    """
    return _largest(_walk(confidence, correct, weights)[..., _last_of_ties(confidence)], weights)


def ks_sequential(confidence: Floats, correct: Floats, weights: Floats) -> Floats:
    """``ks`` item by item, those of equal confidence in the order given, as the paper's example does. Sakai eq. 4.

    Args:
        confidence, correct: in [0, 1], shape (n,), sorted by confidence.
        weights: how often each item counts, shape (..., n).

    Returns:
        In [0, 1], 0 is best; shape (...,), NaN without items.
    """
    return _largest(_walk(confidence, correct, weights), weights)


def auroc(confidence: Floats, correct: Floats, weights: Floats) -> Floats:
    """Area under the ROC curve: the chance that a correct item has a higher confidence than an incorrect one, ties 1/2.

    Where y is a probability, an item counts as correct with weight y and as incorrect with 1 - y.

    Args:
        confidence, correct: in [0, 1], shape (n,), sorted by confidence.
        weights: how often each item counts, shape (..., n).

    Returns:
        In [0, 1], 1 is best; shape (...,), NaN where nothing is correct or nothing is incorrect.

    >>> float(auroc(np.array([0.2, 0.6, 0.6]), np.array([0.0, 1.0, 0.0]), np.ones(3)))
    0.75
    """
    right, wrong = _by_confidence(confidence, weights * correct, weights * (1 - correct))
    below = np.cumsum(wrong, axis=-1) - wrong
    pairs = right.sum(axis=-1) * wrong.sum(axis=-1)
    return np.minimum(ratio((right * (below + wrong / 2)).sum(axis=-1), pairs), 1.0)


def correlation(confidence: Floats, correct: Floats, weights: Floats) -> Floats:
    """Pearson's correlation of confidence and correctness. LifeEval table 2.

    It is computed from the items, since sums of squares cancel where the confidences of a model are close together. Centring on
    all items first leaves little to cancel in a replicate.

    Args:
        confidence, correct: in [0, 1], shape (n,), sorted by confidence.
        weights: how often each item counts, shape (..., n).

    Returns:
        In [-1, 1], shape (...,), NaN where either does not vary.
    """
    x, y = _centred(confidence), _centred(correct)
    moments = weights @ np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)
    items, of_x, of_y, of_xx, of_yy, of_xy = np.moveaxis(moments, -1, 0)
    mean_x, mean_y = ratio(of_x, items), ratio(of_y, items)
    spread_x, spread_y = _spread(of_xx, items, mean_x), _spread(of_yy, items, mean_y)
    scale = np.sqrt(spread_x) * np.sqrt(spread_y)
    return np.clip(ratio(of_xy - items * mean_x * mean_y, scale), -1.0, 1.0)


def corp(confidence: Floats, correct: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Miscalibration and discrimination of the Brier score: brier = mcb - dsc + uncertainty. Dimitriadis et al. 2021.

    The reference is the isotonic (PAV) recalibration p of the confidences. Within a block, p is the mean of y, so that
    brier(mean y) - brier(p) is the mean of (p - mean y)^2. brier(c) - brier(p) is written with distances as well, since these do
    not cancel as the scores do. Source: Dimitriadis, Gneiting & Jordan, PNAS 2021 (CORP).

    Args:
        confidence, correct: in [0, 1], shape (n,), sorted by confidence.
        weights: how often each item counts, shape (..., n).

    Returns:
        Miscalibration in [0, 1], 0 is best, and discrimination in [0, 1/4], higher is better. Shape (...,) each, NaN without
        items.

    >>> [float(part.round(4)) for part in corp(np.array([0.2, 0.6]), np.array([0.0, 1.0]), np.ones(2))]
    [0.1, 0.25]
    """
    stated = confidence[_first_of_ties(confidence)]
    right, items = _by_confidence(confidence, weights * correct, weights * np.ones_like(correct))
    p = isotonic(right, items)
    off = stated - p
    count = items.sum(axis=-1)
    miscalibration = ratio((items * off**2 + 2 * off * (items * p - right)).sum(axis=-1), count)
    base = ratio(right.sum(axis=-1), count)
    discrimination = ratio((items * (p - base[..., None]) ** 2).sum(axis=-1), count)
    return np.maximum(miscalibration, 0.0), discrimination


def confidence_levels(confidence: Floats, correct: Floats) -> tuple[Floats, Floats, Floats]:
    """Every confidence that is stated, with its items.

    Args:
        confidence, correct: in [0, 1], shape (n,), in any order.

    Returns:
        The different confidences, ascending, the number of items that state each, and their sum of correctness, shape (k,) each.
    """
    stated, number = distinct(confidence)
    items, right = (np.bincount(number, weights, len(stated)).astype(float) for weights in (None, correct))
    return stated, items, right


def corp_curve(stated: Floats, items: Floats, right: Floats) -> list[tuple[float, float, float, int, float]]:
    """The isotonic recalibration as blocks of confidences that are put to the same accuracy.

    Args:
        stated, items, right: as ``confidence_levels`` returns them, shape (k,) each.

    Returns:
        For each block, ascending: lowest and highest confidence, accuracy, number of items and mean confidence.
    """
    p = isotonic(right, items)
    firsts = _first_of_ties(p)
    lasts = np.append(firsts, len(p))[1:] - 1
    count, total = (np.add.reduceat(column, firsts) if len(p) else column for column in (items, items * stated))
    columns = (stated[firsts], stated[lasts], p[firsts])
    return list(zip(*(column.tolist() for column in columns), count.astype(int).tolist(), (total / count).tolist(), strict=True))


def consistency_band(
    confidence: Floats, correct: Floats, sizes: Ints, seed: int, simultaneous: bool = False, level: float = 0.9
) -> tuple[Floats, Floats, Floats]:
    """Where the isotonic curve of a calibrated run with the same confidences would be.

    Correctness is drawn question by question, with the stated confidences as chances, and fitted. The items of a question hang
    together as those of the run do (``question_correlation``): a normal draw of the question and one of the item are added up,
    and the item is right where the sum is below the quantile of its confidence. If more than 1,000 different confidences are
    stated, each is rounded to a percent.

    Args:
        confidence, correct: in [0, 1], question by question, shape (n,).
        sizes: number of items of each question, shape (questions,).
        seed: of the draws.
        simultaneous: whether the share ``level`` of the curves is within the band throughout; else at each confidence alone.
        level: that share.

    Returns:
        At most 201 of the stated confidences, and the lower and upper end of the band there, in [0, 1], shape (k,) each.

    Source:
        Dimitriadis, Gneiting & Jordan 2021 (consistency bands); Emrich & Piedmonte 1991 (draws that hang together). The
        simultaneous band is the mean of the curves and so many of their standard deviations that the largest is within it.
    """
    if len(np.unique(confidence)) > MANY:
        confidence = np.rint(confidence * FINE) / FINE
    stated, number = distinct(confidence)
    count = np.bincount(number, minlength=len(stated))
    shown = np.unique(np.linspace(0, len(stated) - 1, min(len(stated), 201)).round().astype(np.int64))
    random = np.random.default_rng(seed)
    replicates = int(np.clip(NORMALS // max(len(confidence), 1), 100, CURVES))
    shared = math.sin(math.pi / 2 * question_correlation(confidence, correct, sizes))
    if shared > 0:
        order = np.argsort(number, kind="stable")
        question, quantile = np.repeat(np.arange(len(sizes)), sizes)[order], ndtri(confidence)[order]
        drawn = np.empty((replicates, len(stated)))
        for row in drawn:
            normal = math.sqrt(shared) * random.normal(size=len(sizes))[question]
            normal += math.sqrt(1 - shared) * random.normal(size=len(order))
            row[:] = np.add.reduceat(normal < quantile, np.cumsum(count) - count, dtype=float)
    else:
        drawn = random.binomial(count, stated, size=(replicates, len(stated))).astype(float)
    curves = isotonic(drawn, np.broadcast_to(count.astype(float), drawn.shape))[:, shown]
    if not simultaneous:
        low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return stated[shown], low, high
    mean, spread = curves.mean(axis=0), curves.std(axis=0)
    largest = np.where(spread > FLAT, np.abs(curves - mean) / np.where(spread > FLAT, spread, 1.0), 0.0).max(axis=-1)
    reach = np.quantile(largest, level) * spread
    # No curve falls, so that what it passes at one confidence holds it at the next.
    low, high = np.maximum.accumulate(mean - reach), np.minimum.accumulate((mean + reach)[::-1])[::-1]
    return stated[shown], np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def question_correlation(confidence: Floats, correct: Floats, sizes: Ints) -> float:
    """How much the items of a question hang together: the correlation of two of their standardised residuals.

    Residuals are less their mean, so that a run that is too confident throughout does not seem to have items that hang together.

    Args:
        confidence, correct: in [0, 1], question by question, shape (n,).
        sizes: number of items of each question, shape (questions,).

    Returns:
        In [0, 0.95]; 0 where no question has two items whose confidence is neither 0 nor 1.
    """
    open_ended = (confidence > 0) & (confidence < 1)
    scale = np.sqrt(np.where(open_ended, confidence * (1 - confidence), 1.0))
    residual = np.where(open_ended, (correct - confidence) / scale, 0.0)
    residual = np.where(open_ended, residual - residual.sum() / max(open_ended.sum(), 1), 0.0)
    question = np.repeat(np.arange(len(sizes)), sizes)
    total, squares, items = (np.bincount(question, values, len(sizes)) for values in (residual, residual**2, open_ended))
    pairs, variance = (items * (items - 1)).sum(), squares.sum() / max(items.sum(), 1)
    return float(np.clip((total**2 - squares).sum() / pairs / variance, 0.0, 0.95)) if pairs and variance > FLAT else 0.0


def isotonic(totals: Floats, weights: Floats) -> Floats:
    """Weighted least-squares fits to totals / weights that never decrease, by pool-adjacent-violators.

    Args:
        totals, weights: shape (..., n). Places of weight 0 take no part.

    Returns:
        shape (..., n). A place of weight 0 has the value of the place before it, 0 if there is none.

    >>> isotonic(np.array([1.0, 0.0, 3.0]), np.array([1.0, 1.0, 3.0]))
    array([0.5, 0.5, 1. ])
    """
    if totals.ndim == 1:
        weighted = weights > 0
        return np.append(0.0, _fit(totals[weighted], weights[weighted]))[np.cumsum(weighted)]
    places = totals.shape[-1]
    rows, weighed = (column.reshape(math.prod(totals.shape[:-1]), places) for column in (totals, weights))
    parts = [_fits(rows[at : at + TOGETHER], weighed[at : at + TOGETHER]) for at in range(0, len(rows), TOGETHER)]
    return np.concatenate([np.empty((0, places)), *parts]).reshape(totals.shape)


def _fit(totals: Floats, weights: Floats) -> Floats:
    return np.asarray(isotonic_regression(totals / weights, weights=weights).x if len(totals) else totals)


def _fits(totals: Floats, weights: Floats) -> Floats:
    """``isotonic`` of several rows, shape (rows, n), as one fit: each row stands above all of the one before it."""
    weighted = weights > 0
    sums, sizes = totals[weighted], weights[weighted]
    if not len(sums):
        return np.zeros_like(totals)
    means = sums / sizes
    row = np.nonzero(weighted)[0]
    fit = isotonic_regression(means + row * (2 * np.abs(means).max() + 1), weights=sizes)
    firsts = fit.blocks[:-1]
    values = np.repeat(np.add.reduceat(sums, firsts) / np.add.reduceat(sizes, firsts), np.diff(fit.blocks))
    # The value at each place is that of the last place up to it that takes part, and 0 before the first one of its row.
    before = np.cumsum(weighted, axis=-1)
    return np.where(before > 0, np.append(0.0, values)[np.cumsum(weighted).reshape(weighted.shape)], 0.0)


def _walk(confidence: Floats, correct: Floats, weights: Floats) -> Floats:
    return np.abs(np.cumsum(weights * (confidence - correct), axis=-1))


def _largest(walked: Floats, weights: Floats) -> Floats:
    return ratio(walked.max(axis=-1, initial=0.0), weights.sum(axis=-1))


def _centred(values: Floats) -> Floats:
    """Values less their mean, in units of their range: exactly 0 where all are the same."""
    above = values - values.min(initial=1.0)
    widest = above.max(initial=0.0)
    above = above / widest if widest > 0 else np.zeros_like(above)
    centred: Floats = above - above.mean() if len(above) else above
    return centred


def _spread(squares: Floats, items: Floats, mean: Floats) -> Floats:
    """Sum of squared distances from the mean, exactly 0 where it is rounding: a replicate may hold one value only."""
    spread = squares - items * mean * mean
    return np.where(spread > FLAT * squares, spread, 0.0)


def _first_of_ties(ascending: Floats) -> NDArray[np.int64]:
    """Index of the first of each run of equal values."""
    return np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)])


def _last_of_ties(ascending: Floats) -> NDArray[np.int64]:
    """Index of the last of each run of equal values."""
    return np.flatnonzero(np.append(ascending[1:] != ascending[:-1], True)[: len(ascending)])


def _by_confidence(ascending: Floats, *values: Floats) -> tuple[Floats, ...]:
    """The sum of each of ``values``, shape (..., n), over the items of each distinct confidence."""
    firsts = _first_of_ties(ascending)
    if len(firsts) == len(ascending):
        return values
    return tuple(np.add.reduceat(column, firsts, axis=-1) for column in values)
