"""Isotonic regression of correctness on confidence: the CORP decomposition, its curve and its consistency band.

Confidence and correctness are in [0, 1], shape (n,).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.sparse import csr_array, diags_array
from scipy.special import ndtr, ndtri

from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Floats, Ints, distinct, first_of_ties, ratio
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights

MAX_LEVELS = 1000  # distinct confidences of a consistency band; if there are more, they are rounded to 1 / FINE
FINE = 100
CURVES = 300  # simulated curves of a consistency band
LARGE_SAMPLE = 5_000  # items; above this, numbers of right items are drawn per confidence, not item by item
MIN_SPREAD = 0.1  # lower limit of each standard deviation of the curves, relative to the largest one
NODES = 64  # nodes of the Gauss-Hermite quadrature
MAX_CORRELATION = 0.95  # of two items of a question
BISECTIONS = 8  # steps in the search for it, after which it is known to 0.002
TOGETHER = 64  # rows fitted in one call: one call is faster, but loses more digits the more rows it has


def corp(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute miscalibration and discrimination of the Brier score: brier = mcb - dsc + uncertainty.

    The reference is the isotonic (PAV) recalibration p of the confidences. Within a block, p is the mean of y, so
    brier(mean y) - brier(p) is the mean of (p - mean y)^2. For a single weighting, brier(c) - brier(p) is also computed from
    distances, because they do not cancel as the scores do. For several weightings, it is computed from sums over blocks, which
    is accurate to about 1e-15.

    Items are sorted by confidence. Returns shape (2, k), NaN without items: miscalibration in [0, 1], 0 is best; then
    discrimination in [0, 1/4], higher is better. Source: Dimitriadis, Gneiting & Jordan, PNAS 2021 (CORP).

    >>> corp(np.array([0.2, 0.6]), np.array([0.0, 1.0]), ItemWeights.equal(2)).round(4).tolist()
    [[0.1], [0.25]]
    """
    if weights.count > 1:
        return _corp_of_blocks(confidence, correct, weights)
    firsts = first_of_ties(confidence)
    stated = confidence[firsts]
    right, items = (weights.totals(values, firsts)[:, 0] for values in (correct, np.ones_like(correct)))
    p = isotonic(right, items)
    off = stated - p
    count = items.sum()
    miscalibration = ratio((items * off**2 + 2 * off * (items * p - right)).sum(), count)
    discrimination = ratio((items * (p - ratio(right.sum(), count)) ** 2).sum(), count)
    return np.array([[np.maximum(miscalibration, 0.0)], [discrimination]])


def _corp_of_blocks(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute ``corp`` from sums over blocks of equal p only.

    The mean of (c - y)^2 - (p - y)^2 over a block is the mean of c^2 - 2 c y, plus p^2. Consecutive items whose correctness does
    not rise are always in the same block, whatever their weights, so they are summed first. Among equal confidences, the
    most correct item comes first.
    """
    order = np.lexsort((-correct, confidence))
    confidence, correct, weights = confidence[order], correct[order], weights.sorted(order)
    firsts = np.append(0, 1 + np.flatnonzero(correct[1:] > correct[:-1]))[: len(correct)]
    ones = np.ones_like(correct)
    count, total, base_difference = weights.sums(ones, correct, confidence * (confidence - 2 * correct))
    base = ratio(total, count)
    squares, spread = np.zeros((2, weights.count))
    for number, totals in enumerate(weights.totals_in_batches(TOGETHER, firsts, correct, ones)):
        row, in_block, right_in_block = _blocks(*(np.ascontiguousarray(column.T) for column in totals))
        p = right_in_block / in_block
        row += number * TOGETHER
        squares += np.bincount(row, right_in_block * p, weights.count)
        spread += np.bincount(row, in_block * (p - base[row]) ** 2, weights.count)
    return np.stack([np.maximum(ratio(base_difference + squares, count), 0.0), ratio(spread, count)])


def confidence_levels(confidence: Floats, correct: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct confidences, ascending, the number of items at each, and their sum of correctness, (k,) each."""
    stated, number = distinct(confidence)
    items, right = (np.bincount(number, weights, len(stated)).astype(float) for weights in (None, correct))
    return stated, items, right


def corp_curve(stated: Floats, items: Floats, right: Floats) -> list[tuple[float, float, float, int, float]]:
    """Return lowest and highest confidence, accuracy, items and mean confidence of blocks with one recalibrated confidence,
    ascending.
    """
    p = isotonic(right, items)
    firsts = first_of_ties(p)
    lasts = np.append(firsts, len(p))[1:] - 1
    count, total = (np.add.reduceat(column, firsts) if len(p) else column for column in (items, items * stated))
    columns = (stated[firsts], stated[lasts], p[firsts])
    return list(zip(*(column.tolist() for column in columns), count.astype(int).tolist(), (total / count).tolist(), strict=True))


def consistency_band(
    confidence: Floats, correct: Floats, sizes: Ints, seed: int, simultaneous: bool = False, level: float = 0.9
) -> tuple[Floats, Floats, Floats]:
    """Simulate where the isotonic curve would lie if a run with the same confidences were calibrated.

    Correctness is drawn question by question, with the stated confidences as probabilities, and an isotonic curve is fitted to
    each draw. Items of a question are correlated as in the run (``question_correlation``): a normal draw for the question and
    one for the item are added, and the item is right where the sum is below the normal quantile of its confidence. With more
    than 5,000 items, the numbers of right items at each confidence are drawn instead, from the normal distribution with the same
    means and covariances. If there are more than 1,000 distinct confidences, they are rounded to whole percents.

    Items are question by question, ``sizes`` of them in each. If ``simultaneous``, a share ``level`` of the curves lies within
    the band at all confidences together, otherwise at each confidence separately. Returns at most 201 of the stated confidences,
    and the lower and upper end of the band there, shape (k,) each.

    Source: Dimitriadis, Gneiting & Jordan 2021 (consistency bands); Emrich & Piedmonte 1991 (correlated draws). The simultaneous
    band is the mean of the curves plus and minus a multiple of their pointwise standard deviation (``_simultaneous_margin``).
    """
    stated, number = distinct(confidence)
    if len(stated) > MAX_LEVELS:
        confidence = np.rint(confidence * FINE) / FINE
        stated, number = distinct(confidence)
    count = np.bincount(number, minlength=len(stated))
    shown = np.unique(np.linspace(0, len(stated) - 1, min(len(stated), 201)).round().astype(np.int64))
    random = np.random.default_rng(seed)
    shared = question_correlation(confidence, correct, sizes)
    if shared > 0 and len(confidence) > LARGE_SAMPLE:
        drawn = _right_by_confidence(stated, number, sizes, shared, random)
    elif shared > 0:
        order = np.argsort(number, kind="stable")
        question, quantile = np.repeat(np.arange(len(sizes)), sizes)[order], ndtri(confidence)[order]
        drawn = np.empty((CURVES, len(stated)))
        for row in drawn:
            normal = math.sqrt(shared) * random.normal(size=len(sizes))[question]
            normal += math.sqrt(1 - shared) * random.normal(size=len(order))
            row[:] = np.add.reduceat(normal < quantile, np.cumsum(count) - count, dtype=float)
    else:
        drawn = random.binomial(count, stated, size=(CURVES, len(stated))).astype(float)
    curves = isotonic(drawn, np.broadcast_to(count.astype(float), drawn.shape))[:, shown]
    if not simultaneous:
        low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return stated[shown], low, high
    mean, margin = _simultaneous_margin(curves, level)
    # Curves never fall, so a bound at one confidence also holds at the next.
    low, high = np.maximum.accumulate(mean - margin), np.minimum.accumulate((mean + margin)[::-1])[::-1]
    return stated[shown], np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _simultaneous_margin(curves: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the mean of curves, and margins around it that hold a further whole curve with probability ``level``.

    Each curve, shape (k,), is measured by the mean and standard deviation of the others, as a further one would be. Where nearly
    all curves are equal, the standard deviation is not known, so it counts as at least ``MIN_SPREAD`` times the largest one.
    """
    count, mean = len(curves), curves.mean(axis=0)
    off = curves - mean
    squares = (off**2).sum(axis=0)
    least = MIN_SPREAD * np.sqrt(squares.max() / count)
    spread = np.maximum(np.sqrt(squares / count), least)
    of_others = np.sqrt(np.maximum(squares - off**2 * count / (count - 1), 0.0) / (count - 1))
    distance = np.abs(off) * count / (count - 1)
    largest = ratio(distance, np.maximum(of_others, least)).max(axis=-1) if least > 0 else np.zeros(count)
    return mean, np.quantile(largest, level, method="higher") * spread  # the ceil(level (count + 1))th


def _right_by_confidence(stated: Floats, number: Ints, sizes: Ints, shared: float, random: np.random.Generator) -> Floats:
    """Draw the number of right items at each confidence for calibrated runs whose items are correlated within questions.

    The numbers are normal, with the means and covariances of items that are right where the sum of the question's draw and the
    item's own draw is below a quantile. Given the question's draw, its items are independent, so the covariance of two items is
    the covariance of their conditional probabilities.

    ``number`` is the index of each item's confidence in ``stated``, question by question. ``shared`` is the correlation of the
    normal draws of two items of a question. Returns shape (CURVES, k).
    """
    count = np.bincount(number, minlength=len(stated)).astype(float)
    pairs = _pairs(number, sizes, len(stated)).toarray()
    nodes, weights = _normal_nodes()
    chance = _chance(stated, shared, nodes)
    mean = chance @ weights
    covariance = pairs * ((chance * weights) @ chance.T - np.outer(mean, mean)) + np.diag(count * mean * (1 - mean))
    covariance += np.eye(len(stated)) * ROUNDING_TOLERANCE ** (2 / 3) * covariance.max(initial=0.0)  # 0 and 1 do not vary
    drawn: Floats = count * mean + random.normal(size=(CURVES, len(stated))) @ np.linalg.cholesky(covariance).T
    return np.clip(drawn, 0.0, count)


def question_correlation(confidence: Floats, correct: Floats, sizes: Ints) -> float:
    """Estimate how strongly items of a question depend on each other, as the correlation of two normal draws, in [0, 0.95].

    An item is right where its draw is below the normal quantile of its confidence. The estimate is the correlation at which the
    products of the residuals y - c of two items of a question have the observed sum on average; 0 if no question has two items.
    The mean residual is subtracted first, so that uniform overconfidence does not look like correlation, and the sum is corrected
    for what this takes away. Source: Emrich & Piedmonte 1991 (correlated draws).
    """
    question = np.repeat(np.arange(len(sizes)), sizes)
    pairs_of_items = float((sizes * (sizes - 1)).sum())
    if not pairs_of_items or len(sizes) < 2:
        return 0.0
    residual = correct - confidence
    residual = residual - residual.mean()
    totals = np.bincount(question, residual, len(sizes))
    variance_of_mean = (totals**2).sum() / len(residual) ** 2 * len(sizes) / (len(sizes) - 1)
    observed = (totals**2).sum() - (residual**2).sum() + variance_of_mean * pairs_of_items
    stated, number = distinct(confidence)
    pairs = _pairs(number, sizes, len(stated))
    nodes, weights = _normal_nodes()

    def excess(correlation: float) -> float:
        chance = _chance(stated, correlation, nodes)
        mean = chance @ weights
        expected = ((chance * (pairs @ chance)).sum(axis=0) * weights).sum() - mean @ (pairs @ mean)
        return float(expected - observed)

    low, high = 0.0, MAX_CORRELATION
    if observed <= 0 or excess(high) <= 0:
        return low if observed <= 0 else high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return (low + high) / 2


def _pairs(number: Ints, sizes: Ints, levels: int) -> csr_array:
    """Count the ordered pairs of two items of a question by the indices of their confidences, shape (levels, levels)."""
    question = np.repeat(np.arange(len(sizes)), sizes)
    items = csr_array((np.ones(len(number)), (question, number)), shape=(len(sizes), levels))
    return csr_array(items.T @ items - diags_array(np.bincount(number, minlength=levels).astype(float)))


@lru_cache(maxsize=1)
def _normal_nodes() -> tuple[Floats, Floats]:
    """Return nodes and weights of the quadrature over a standard normal number, shape (NODES,) each."""
    nodes, weights = hermegauss(NODES)
    return nodes, weights / weights.sum()


def _chance(stated: Floats, shared: float, nodes: Floats) -> Floats:
    """Return the chance that an item is right, by its confidence and the normal draw of its question, shape (levels, NODES)."""
    chance: Floats = ndtr((ndtri(stated)[:, None] - math.sqrt(shared) * nodes) / math.sqrt(1 - shared))
    return chance


def isotonic(totals: Floats, weights: Floats) -> Floats:
    """Compute non-decreasing weighted least-squares fits to totals / weights by pool-adjacent-violators, shape (..., n).

    A place with weight 0 is ignored, and takes the value of the place before it, or 0 if there is none.

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
    from scipy.optimize import isotonic_regression  # slow to load: takes half as long as loading the whole server

    return np.asarray(isotonic_regression(totals / weights, weights=weights).x if len(totals) else totals)


def _fits(totals: Floats, weights: Floats) -> Floats:
    """Compute ``isotonic`` of several rows, shape (rows, n), in one fit: each row is shifted above all of the one before."""
    weighted = weights > 0
    if not weighted.any():
        return np.zeros_like(totals)
    sums, sizes = totals[weighted], weights[weighted]
    blocks = _block_ends(sums, sizes, np.nonzero(weighted)[0])
    firsts = blocks[:-1]
    values = np.repeat(np.add.reduceat(sums, firsts) / np.add.reduceat(sizes, firsts), np.diff(blocks))
    # Each place takes the value of the last place with weight up to it, and 0 before the first one of its row.
    before = np.cumsum(weighted, axis=-1)
    return np.where(before > 0, np.append(0.0, values)[np.cumsum(weighted).reshape(weighted.shape)], 0.0)


def _blocks(totals: Floats, weights: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the row, weight and total of each block of the isotonic fits of the rows, shape (blocks,) each."""
    weighted = weights > 0
    sums, sizes, row = totals[weighted], weights[weighted], np.nonzero(weighted)[0]
    if not len(sums):
        return row, sizes, sums
    firsts = _block_ends(sums, sizes, row)[:-1]
    return row[firsts], np.add.reduceat(sizes, firsts), np.add.reduceat(sums, firsts)


def _block_ends(sums: Floats, sizes: Floats, row: Ints) -> Ints:
    """Return the start of each block of the fits, and the end of the last one, shape (blocks + 1,), from one call."""
    from scipy.optimize import isotonic_regression

    means = sums / sizes
    fit = isotonic_regression(means + row * (2 * np.abs(means).max() + 1), weights=sizes)
    ends: Ints = fit.blocks
    return ends
