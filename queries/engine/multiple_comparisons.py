"""Multiple comparisons: letters for runs that are not shown to differ, and tests that control the family-wise error rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.fft import irfft, prev_fast_len, rfft

from clueline.queries.engine.bootstrap import SEED, SIGNIFICANCE, TIED
from clueline.queries.engine.inference import FLIPS, Bools, sign_flips
from clueline.queries.engine.run_columns import sum_by_place
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.metrics.metric import Floats

EXACT = 9  # decimals of a sum by the fast Fourier transform that are sure


def compact_letters(different: Bools, order: Sequence[int]) -> list[list[int]]:
    """Assign letters such that two runs share one if and only if they are not shown to differ (insert-absorb, Piepho 2004).

    ``different`` is symmetric, shape (runs, runs). ``order`` has the participating runs, best first, in which letters are
    numbered: 1 for "a". A run that does not participate has no letters.

    >>> different = np.array([[False, False, True], [False, False, False], [True, False, False]])
    >>> compact_letters(different, [0, 1, 2])
    [[1], [1, 2], [2]]
    """
    columns = [frozenset(order)] if len(order) else []
    for place, first in enumerate(order):
        for second in order[place + 1 :]:
            if not different[first, second]:
                continue
            split = [column for column in columns if first in column and second in column]
            columns = [column for column in columns if not (first in column and second in column)]
            for column in split:
                for part in (column - {second}, column - {first}):
                    if not any(part <= other for other in columns):  # absorb
                        columns = [other for other in columns if not other < part] + [part]
    rank = {run: place for place, run in enumerate(order)}
    columns.sort(key=lambda column: sorted(rank[run] for run in column))
    letters: list[list[int]] = [[] for _ in range(len(different))]
    for number, column in enumerate(columns, start=1):
        for run in column:
            letters[run].append(number)
    return letters


def max_t(observed: Floats, null: Floats) -> tuple[Floats, Floats]:
    """Compute p-values of many tests, raw and adjusted for all of them by the distribution of their maximum.

    ``observed`` has shape (tests,); larger is more evidence, NaN is a test that cannot be performed. ``null`` are the statistics
    under each flip or permutation, shape (flips, tests). P-values are in (0, 1], or NaN. Source: Westfall & Young 1993, algorithm
    2.8 (single step); one is added to both counts (Phipson & Smyth 2010).
    """
    known = np.isfinite(observed)
    raw, adjusted = np.full(observed.shape, np.nan), np.full(observed.shape, np.nan)
    if known.any():
        statistics = np.nan_to_num(null[:, known], nan=-np.inf)
        reached = observed[known] - TIED
        raw[known] = (1 + (statistics >= reached).sum(axis=0)) / (1 + len(null))
        largest = np.sort(statistics.max(axis=1))
        adjusted[known] = (1 + len(largest) - np.searchsorted(largest, reached, side="left")) / (1 + len(null))
    return raw, adjusted


def permuted_labels_test(
    scores: Floats, parts: Bools, testable: Bools, seed: int = SEED, flips: int = FLIPS, own_parts: Bools | None = None
) -> tuple[Floats, Floats]:
    """Test whether scores in a part of the questions differ from those over all questions, for many parts and runs at once.

    The labels of the parts are permuted over the questions jointly for all parts and runs, so the p-values are valid for any
    overlap of the parts and any similarity of the runs.

    There are at least ``flips`` permutations: shifts of the questions in random orders, by blocks of questions where there are
    more than ``flips``; the few that make no whole block stay in their places. Shifts form a group, and orders are drawn at
    random, so the p-values are exact (Hemerik & Goeman 2018). The sums over a part after every shift are one correlation,
    computed by the fast Fourier transform.

    ``scores``, for example jackknife pseudo-values of a loss, have shape (questions, runs); NaN is missing. ``parts`` has shape
    (parts, questions), ``own_parts``, which differ between runs, shape (own parts, questions, runs). ``testable`` and the raw and
    adjusted two-sided p-values have shape (parts + own parts, runs); NaN is not tested.
    """
    questions, runs = scores.shape
    if own_parts is None:
        own_parts = np.zeros((0, questions, runs), dtype=bool)
    random = np.random.default_rng((seed, questions))
    block = max(1, questions // (flips + 1))
    shifts = questions if block == 1 else prev_fast_len(questions // block, real=True)
    moved, fixed = np.split(random.permutation(questions), [shifts * block])
    others = [random.permutation(moved) for _ in range(-(-(flips + 1) // shifts) - 1)]
    orders = np.array([moved, *others]).reshape(-1, shifts, block)
    mean = np.nan_to_num(scores).sum(axis=0) / np.maximum(np.isfinite(scores).sum(axis=0), 1)
    centred = np.nan_to_num(scores - mean)
    spread = np.sqrt((centred**2).sum(axis=0) / max(questions - 1, 1))
    unit = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > TIED).T

    def sums(labels: Bools, values: Floats) -> Floats:
        """Sum values, shape (k, questions), over each part after each permutation, shape (permutations, parts, k)."""
        of_labels = np.conj(rfft(labels[:, orders[0]], axis=1)).transpose(1, 0, 2)
        of_values = rfft(values[:, orders], axis=2).transpose(2, 3, 0, 1)
        products = of_labels @ of_values.reshape(*of_values.shape[:2], -1)
        totals = irfft(products, shifts, axis=0).reshape(shifts, len(labels), len(values), len(orders))
        totals = np.moveaxis(totals, -1, 0).reshape(orders[..., 0].size, len(labels), len(values))
        return np.asarray(totals + labels[:, fixed] @ values[:, fixed].T)

    own = [sums(own_parts[..., run], unit[run : run + 1]) for run in range(runs)]
    inside = np.concatenate([np.tile(parts.sum(axis=1)[:, None], runs), own_parts.sum(axis=1)])
    # Standard deviation of the sum over a part under permutation, which is sampling without replacement.
    deviation = np.sqrt(inside * (questions - inside) / questions)
    weights = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    statistics = np.abs(weights * np.concatenate([sums(parts, unit), np.concatenate(own, axis=2)], axis=1))
    return _p_values(statistics, testable, EXACT)  # the first permutation changes nothing


def sign_flips_test(scores: Floats, parts: Bools, testable: Bools, seed: int = SEED, flips: int = FLIPS) -> tuple[Floats, Floats]:
    """Test whether paired differences in parts of the questions are 0 on average; see ``permuted_labels_test``."""
    scores = np.nan_to_num(scores)
    statistics = np.abs(np.stack([sign_flips(scores * part[:, None], seed, flips) for part in parts], axis=1))
    size = np.sqrt(np.einsum("pq,qr->pr", parts, scores**2))
    return _p_values(np.divide(statistics, size, out=np.zeros_like(statistics), where=size > TIED), testable)


def unit_flips_test(
    scores: Floats,
    parts: Sequence[Bools],
    testable: Bools,
    unit: Ints,
    *,
    against_whole: bool,
    seed: int = SEED,
    flips: int = FLIPS,
) -> tuple[Floats, Floats]:
    """Test parts of the questions where clusters of questions are the units, for many parts and runs at once.

    The questions of a cluster can be in different parts. So labels cannot be permuted over clusters: the signs of all scores of a
    cluster are flipped together. The mean in a part is compared with 0 or, if ``against_whole``, with the mean over all
    questions. Parts have shape (questions, 1), or (questions, runs) if they differ between runs, and ``unit`` is that of each
    question, from 0; the rest is as in ``sign_flips_test``. Source: Cameron, Gelbach & Miller 2008 (the wild cluster bootstrap
    with the null hypothesis imposed).
    """
    known, units = np.isfinite(scores), int(unit.max(initial=-1)) + 1
    scores = np.nan_to_num(scores)
    if against_whole:
        scores = np.where(known, scores - scores.sum(axis=0) / np.maximum(known.sum(axis=0), 1), 0.0)
    whole = sum_by_place(scores, unit, units)
    of_parts = []
    for part in parts:
        sums = sum_by_place(scores * part, unit, units)
        if against_whole:  # the mean over all questions is estimated from the same clusters
            sums = sums - (known & part).sum(axis=0) / np.maximum(known.sum(axis=0), 1) * whole
        size = np.sqrt((sums**2).sum(axis=0))
        of_parts.append(np.divide(sums, size, out=np.zeros_like(sums), where=size > TIED))
    return _p_values(np.abs(sign_flips(np.stack(of_parts, axis=1), seed, flips)), testable)


def _p_values(statistics: Floats, testable: Bools, decimals: int | None = None) -> tuple[Floats, Floats]:
    """Compute ``max_t`` of statistics of the data, first, and of each flip or permutation; NaN where not testable."""
    raw, adjusted = np.full(testable.shape, np.nan), np.full(testable.shape, np.nan)
    tested = statistics[:, testable] if decimals is None else np.round(statistics[:, testable], decimals)
    raw[testable], adjusted[testable] = max_t(tested[0], tested[1:])
    return raw, adjusted


def holm(p_values: Floats, families: int = 1) -> Floats:
    """Adjust the p-values of one family by Holm's step-down method (Holm 1979); NaN stays NaN and does not count.

    With several ``families``, such as the pairs of runs by each of several metrics, each gets an equal part of the level
    (Bonferroni), so the p-values of the others need not be known.
    """
    adjusted = np.full_like(p_values, np.nan)
    defined = np.flatnonzero(np.isfinite(p_values))
    order = defined[np.argsort(p_values[defined], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps) * families, 1.0)
    return adjusted


def pairs_that_differ(p_values: Floats, families: int = 1) -> Bools:
    """Return which pairs of runs are shown to differ, from two-sided unadjusted p-values; symmetric, shape (runs, runs).

    NaN marks a pair that cannot be tested. The runs that are not shown to be worse than another contain all that are truly best
    with 95 % confidence: one of these is left out only if a pair is judged wrongly. Mogstad, Romano, Shaikh & Wilhelm (2024)
    define such sets. Theirs, from maxima over bootstrap replicates, is hardly smaller, covers too seldom with 30 questions, and
    need not agree with the letters.
    """
    return holm_of_pairs(p_values, families) < SIGNIFICANCE


def holm_of_pairs(p_values: Floats, families: int = 1) -> Floats:
    """Adjust the p-values of all pairs of runs by ``holm``; symmetric, shape (runs, runs), NaN where there is no test."""
    pairs = np.triu_indices(len(p_values), 1)
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[pairs] = adjusted.T[pairs] = holm(p_values[pairs], families)
    return adjusted
