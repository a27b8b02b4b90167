"""Kernels of selective prediction: how good the answers are if only the most confident ones are given.

Items are sorted by ascending confidence, with ``ItemWeights`` as in ``sorted_items``; weights are whole numbers. Tied items have
no order: an error among them counts as if it were spread evenly over the tie, which gives the mean over all orders.
"""

from __future__ import annotations

import math

import numpy as np

from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Floats, Ints, first_of_ties, ratio
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights, cumulate

COVERAGES = (0.5, 0.8, 0.9)  # shares of the items for which the accuracy is a separate metric
PARTS = ("aurc", "e_aurc", "augrc", "prr", *(f"accuracy_at_{coverage * 100:.0f}" for coverage in COVERAGES))
MIN_PROBABILITY = 1e-6  # confidences are clipped to [MIN_PROBABILITY, 1 - MIN_PROBABILITY] before taking logarithms


def selective(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute the metrics ``PARTS`` of selective prediction, in one pass from the most to the least confident item.

    With the items in descending order of confidence, risk(j) is the mean of 1 - y over the first j of N items.

    The values, shape (7, k), NaN without items, are the mean of risk(j) over j (AURC, Geifman & El-Yaniv 2017); its excess over
    the AURC of an oracle order (E-AURC, Geifman et al. 2019); the mean over j of the number of errors among the first j, divided
    by N (AUGRC, Traub et al. 2024); the share of the possible gain in AURC over a random order (PRR, Malinin & Gales 2021), NaN
    where all items are equally correct; and the accuracy of the most confident 50, 80 and 90 % of the items.

    >>> selective(np.array([0.2, 0.6, 0.9]), np.array([0.0, 1.0, 1.0]), ItemWeights.equal(3)).round(4)[:4, 0].tolist()
    [0.1111, 0.0, 0.1111, 1.0]
    """
    order = np.arange(len(confidence))[::-1]
    aurc, augrc, *accuracies = _walk(-confidence[order], correct[order], weights.sorted(order))
    best = np.argsort(-correct, kind="stable")
    oracle, *_ = _walk(-correct[best], correct[best], weights.sorted(best))
    error = ratio(*weights.sums(1 - correct, np.ones_like(correct)))
    possible = np.where(error - oracle > ROUNDING_TOLERANCE * error, error - oracle, 0.0)
    return np.stack([aurc, np.maximum(aurc - oracle, 0.0), augrc, np.minimum(ratio(error - aurc, possible), 1.0), *accuracies])


def _walk(key: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute AURC, AUGRC and the accuracies at ``COVERAGES`` of items by ascending key, (5, k), NaN without items."""
    items = weights.sums(np.ones_like(correct))[0]
    harmonic = np.append(0.0, np.cumsum(1 / np.arange(1.0, items.max(initial=0.0) + 1)))
    before, wrong_before, risk, generalized = np.zeros((4, weights.count))
    wanted = np.outer(COVERAGES, items)
    right_within = np.zeros_like(wanted)
    for size, wrong in weights.totals_in_parts(first_of_ties(key), np.ones_like(correct), 1 - correct):
        rate = np.divide(wrong, size, out=np.zeros_like(size), where=size > 0)
        after, wrong_after = size.copy(), wrong.copy()
        before, wrong_before = cumulate(after, before), cumulate(wrong_after, wrong_before)
        start, wrong_start = after - size, wrong_after - wrong
        harmonic_sum = harmonic[np.rint(after).astype(np.int64)] - harmonic[np.rint(start).astype(np.int64)]
        # The sum of (wrong_start + rate j) / (start + j) over j = 1..size, and of its numerator.
        risk += (wrong + (wrong_start - rate * start) * harmonic_sum).sum(axis=0)
        generalized += (size * wrong_start + wrong * (size + 1) / 2).sum(axis=0)
        right_within += [((1 - rate) * np.clip(edge - start, 0.0, size)).sum(axis=0) for edge in wanted]
    parts = [ratio(risk, items), ratio(generalized, items**2), *ratio(right_within, wanted)]
    clipped: Floats = np.clip(np.stack(parts), 0.0, 1.0)
    return clipped


def log_score_of_items(confidence: Floats, correct: Floats) -> Floats:
    """Compute -(y ln c + (1 - y) ln(1 - c)) of each item, c clipped to [1e-6, 1 - 1e-6], shape (n,)."""
    right, wrong = (np.log(np.clip(chance, MIN_PROBABILITY, 1 - MIN_PROBABILITY)) for chance in (confidence, 1 - confidence))
    return -(correct * right + (1 - correct) * wrong)


def log_scores(confidence: Floats, correct: Floats, weights: ItemWeights) -> Floats:
    """Compute the logarithmic score, and the share of items with a score that would be infinite without clipping. Good 1952.

    Returns shape (2, k), NaN without items: the mean of ``log_score_of_items``, in [0, 13.82]; and the share of items with c = 0
    and y > 0, or c = 1 and y < 1. 0 is best in both.

    >>> log_scores(np.array([0.5, 1.0]), np.array([1.0, 0.0]), ItemWeights.equal(2)).round(4).tolist()
    [[7.2543], [0.5]]
    """
    score = log_score_of_items(confidence, correct)
    infinite = ((confidence == 0) & (correct > 0)) | ((confidence == 1) & (correct < 1))
    items, scores, infinites = weights.sums(np.ones_like(score), score, infinite.astype(float))
    return np.clip(np.stack([ratio(scores, items), ratio(infinites, items)]), 0.0, [[-math.log(MIN_PROBABILITY)], [1.0]])


def log_score_extremes(correct: Floats) -> tuple[Floats, Floats]:
    """Return the least and the greatest logarithmic score of items over all confidences, shape (n,) each.

    >>> [extreme.round(4).tolist() for extreme in log_score_extremes(np.array([1.0, 0.5]))]
    [[0.0, 0.6931], [13.8155, 6.9078]]
    """
    zero, one = (log_score_of_items(np.full_like(correct, end), correct) for end in (0.0, 1.0))
    return log_score_of_items(correct, correct), np.maximum(zero, one)


def risk_at(coverage: Floats, confidence: Floats, correct: Floats) -> Floats:
    """Compute the risk, the mean of 1 - y, of the most confident shares, in (0, 1], shape (m,), of items sorted by confidence.

    A tie at the cut-off counts in part. NaN without items.

    >>> risk_at(np.array([0.5, 1.0]), np.array([0.2, 0.9]), np.array([0.0, 1.0]))
    array([0. , 0.5])
    """
    if not len(confidence):
        return np.full(len(coverage), np.nan)
    descending, wrong = -confidence[::-1], 1 - correct[::-1]
    firsts: Ints = first_of_ties(descending)
    ends = np.append(firsts, len(descending)).astype(float)
    errors = np.append(0.0, np.cumsum(np.add.reduceat(wrong, firsts)))
    reached = coverage * len(descending)
    risks: Floats = np.clip(np.interp(reached, ends, errors) / reached, 0.0, 1.0)
    return risks
