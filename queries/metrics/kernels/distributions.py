"""Kernels that compare whole distributions with human votes: one item per row, one class per column.

``shares`` is the model's distribution f, shape (..., classes), non-negative, summing to 1; ``votes`` are counts of the same
shape. Columns are in class order, which also breaks ties. Values of items have shape (...,).
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from clueline.queries.metrics.kernels.arrays import Floats, ratio

Counts = NDArray[np.int64]
ERROR_BINS = 30  # bins of a histogram of distances on [0, 1], the last one closed
REFERENCE_VOTES = 20  # votes from which the human reference classifier estimates the vote shares
DIGITS = 12  # decimals of a distance that count; the rest is rounding error, and 0.1 must fall into the bin that starts there


def vote_shares(votes: Counts) -> Floats:
    """Compute the share pi of each class in the votes, shape (..., classes), NaN where there are no votes."""
    counts = votes.astype(float)
    return ratio(counts, counts.sum(axis=-1, keepdims=True))


def total_variation(first: Floats, second: Floats) -> Floats:
    """Compute the total variation distance of two distributions: half the sum over classes of abs(first - second).

    This is the DistCE of an item in Baan et al. 2022, sec. 4, clipped to 1, because sums of distributions are 1 only up to
    rounding.

    >>> float(total_variation(np.array([0.5, 0.5]), np.array([0.75, 0.25])))
    0.25
    """
    distance: Floats = np.minimum(np.abs(first - second).sum(axis=-1) / 2, 1.0)
    return distance


def entropy(shares: Floats) -> Floats:
    """Compute the entropy -sum p ln p in nats, with 0 ln 0 = 0; in [0, ln classes].

    >>> float(entropy(np.array([0.5, 0.5])).round(4))
    0.6931
    """
    positive = shares > 0
    # abs: a one-class distribution has entropy 0, not -0.
    nats: Floats = np.abs((shares * np.log(np.where(positive, shares, 1.0))).sum(axis=-1))
    return nats


def ranking(values: Floats | Counts) -> NDArray[np.int64]:
    """Sort the classes by ascending value, tied classes in class order, so that the later one ranks higher, as Baan et al. do."""
    return np.argsort(values, axis=-1, kind="stable")


def same_ranking(shares: Floats, votes: Counts) -> NDArray[np.bool_]:
    """Check whether the model ranks all classes as people do, ties broken by class order. RankCS of Baan et al. 2022."""
    same: NDArray[np.bool_] = (ranking(shares) == ranking(votes)).all(axis=-1)
    return same


def compatible_ranking(shares: Floats, votes: Counts) -> NDArray[np.bool_]:
    """Check whether some strict order of the classes is consistent with both rankings, with ties in any order.

    Such an order exists if and only if no two classes are ordered strictly one way by the model and strictly the other way by
    people. To check this, the classes are sorted by share and, among equal shares, by votes: a conflicting pair exists if and
    only if the votes then fall somewhere.
    """
    order = np.lexsort((votes, shares), axis=-1)
    falls = np.diff(np.take_along_axis(votes, order, axis=-1), axis=-1) < 0
    compatible: NDArray[np.bool_] = np.equal(falls.sum(axis=-1), 0)
    return compatible


def pairs_in_another_order(shares: Floats, votes: Counts) -> NDArray[np.int64]:
    """Count the pairs of classes that the model and people rank in opposite order, ties broken by class order.

    This is Kendall's distance between the two rankings: from 0, where ``same_ranking`` holds, to C (C - 1) / 2 for C classes.
    """
    place = np.argsort(ranking(shares), axis=-1)  # place of each class in the model's ranking
    ordered = np.take_along_axis(place, ranking(votes), axis=-1)
    inversions = np.zeros(shares.shape[:-1], dtype=np.int64)
    for k in range(shares.shape[-1] - 1):
        inversions += (ordered[..., k + 1 :] < ordered[..., k, None]).sum(axis=-1)
    return inversions


def quadratic_score(shares: Floats, gold: Counts) -> Floats:
    """Compute the sum over classes of (p - gold)^2 / classes of each item; its mean is the normalised Brier score. Sakai eq. 2.

    ``gold`` is the index of the right class, shape (n,). Values are in [0, 1]; 0 is best.
    """
    distance = shares.copy()
    distance[np.arange(len(shares)), gold] -= 1
    score: Floats = (distance**2).mean(axis=-1)
    return score


def error_bin(distance: Floats) -> Counts:
    """Return the bin of each distance in [0, 1] among the 30 bins [k/30, (k+1)/30), the last one closed."""
    # Rounded so that 0.1, the lower edge of the fourth bin, falls into it however it was computed.
    return np.minimum(np.floor(np.round(distance * ERROR_BINS, DIGITS)).astype(np.int64), ERROR_BINS - 1)


def draw_key(dataset: str, question: str) -> int:
    """Return the seed of the reference's draw from a question's votes. It depends only on the dataset and the question id."""
    return int.from_bytes(hashlib.blake2b(f"{dataset}\n{question}".encode(), digest_size=8).digest(), "little")


def draw_votes(votes: Counts, keys: NDArray[np.uint64], count: int = REFERENCE_VOTES) -> Counts:
    """Draw votes without replacement, each remaining vote with equal probability.

    The i-th draw, i = 1, 2, ..., takes vote number (i-th output of splitmix64 seeded with the row's key) mod (remaining votes),
    with votes numbered through the classes in order. In a row with fewer than ``count`` votes, none are drawn.
    """
    enough = votes.sum(axis=-1) >= count
    left = votes[enough].astype(np.int64)
    state = keys[enough].astype(np.uint64)
    rows = np.arange(len(left))
    for _ in range(count if len(left) else 0):
        state = state + np.uint64(0x9E3779B97F4A7C15)  # wraps around, as intended
        bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
        upto = np.cumsum(left, axis=-1)
        number = (bits % upto[:, -1].astype(np.uint64)).astype(np.int64)
        left[rows, (upto <= number[:, None]).sum(axis=-1)] -= 1
    drawn = np.zeros(votes.shape, dtype=np.int64)
    drawn[enough] = votes[enough] - left
    return drawn


def reference_distance(drawn: Counts, votes: Counts) -> Floats:
    """Compute the total variation distance between the shares of the drawn votes and those of all votes, NaN without drawn votes.

    It is computed from whole numbers with a single division, so that a distance of exactly 0.15 is the float 0.15.
    """
    drawn_total, total = drawn.sum(axis=-1), votes.sum(axis=-1)
    return ratio(np.abs(drawn * total[..., None] - votes * drawn_total[..., None]).sum(axis=-1), 2 * drawn_total * total)


def kl_divergence(reference: Floats, run: Floats) -> Floats:
    """Compute the Kullback-Leibler divergence sum p ln (p / q) in nats over the bins that are non-empty in both histograms.

    Bins that are empty in either histogram are left out, as in the code of Baan et al. 2022, table 2, so the value can be
    slightly below 0, at least -1/e. Histograms are counts, shape (..., bins); NaN where no bin is non-empty in both.

    >>> float(kl_divergence(np.array([3.0, 1.0, 0.0]), np.array([1.0, 1.0, 2.0])).round(4))  # 3/4 ln 3 + 1/4 ln 1
    0.824
    """
    p, q = (ratio(counts, counts.sum(axis=-1, keepdims=True)) for counts in (reference, run))
    both = (p > 0) & (q > 0)
    terms = np.where(both, p * np.log(np.where(both, p, 1.0) / np.where(both, q, 1.0)), 0.0)
    return np.where(both.any(axis=-1), terms.sum(axis=-1), np.nan)


def histogram_distance(reference: Floats, run: Floats) -> Floats:
    """Compute the total variation distance of two histograms, counts of shape (..., bins); NaN where either is empty."""
    return total_variation(ratio(reference, reference.sum(axis=-1, keepdims=True)), ratio(run, run.sum(axis=-1, keepdims=True)))


def classwise_ece(gaps: Floats, items: Floats) -> Floats:
    """Compute the classwise ECE: the mean over classes of the sum over bins of abs(sum p_k - items of class k) / N.

    Source: Baan et al. 2022; Kull et al. 2019. ``gaps`` are sums of p_k - [gold = k] over the items of each bin of p_k, shape
    (..., classes, bins). The value is in [0, 1], 0 is best; NaN without items.
    """
    classes = max(gaps.shape[-2], 1)
    return ratio(np.abs(gaps).sum(axis=(-2, -1)) / classes, items)
