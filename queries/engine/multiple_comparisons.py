"""Multiple comparisons: letters for runs that are not shown to differ, and tests that control the family-wise error rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri  # of a normal distribution; scipy.stats is slow to load

from clueline.queries.engine.bootstrap import SEED, SIGNIFICANCE
from clueline.queries.engine.inference import Bools
from clueline.queries.metrics.metric import Floats

DRAWS = 2000  # of the smallest p-value of many tests
TESTS_AT_ONCE = 500  # whose sums are in memory at a time


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


def adjusted_for_all(p_values: Floats, influences: Floats, seed: int = SEED, draws: int = DRAWS) -> Floats:
    """Adjust two-sided p-values of many tests for all of them together, by the distribution of the smallest one.

    Where all null hypotheses are true, the tests are taken to be as correlated as the sums of their influences. All tests share
    the draws, in which units get random normal weights, so that any overlap of parts and any similarity of runs counts. No result
    is below the unadjusted p-value, nor below 1 / (1 + ``draws``).

    ``p_values`` have shape (tests,), NaN for a test that cannot be performed. ``influences`` of units on the estimates of tests,
    shape (units, tests), are as in ``inference.influences``. Source: Westfall & Young 1993 (single step); Hothorn, Bretz &
    Westfall 2008; Chernozhukov, Chetverikov & Kato 2013 (the multiplier bootstrap).
    """
    adjusted = np.full_like(p_values, np.nan)
    known = np.flatnonzero(np.isfinite(p_values))
    weights = np.random.default_rng((seed, len(influences))).standard_normal((draws, len(influences)), dtype=np.float32)
    largest = np.zeros(draws)
    for first in range(0, len(known), TESTS_AT_ONCE):
        part = influences[:, known[first : first + TESTS_AT_ONCE]]
        size = np.sqrt((part**2).sum(axis=0))
        scaled = np.divide(part, size, out=np.zeros_like(part), where=size > 0).astype(np.float32)
        largest = np.maximum(largest, np.abs(weights @ scaled).max(axis=1))
    reached = -ndtri(p_values[known] / 2)
    above = draws - np.searchsorted(np.sort(largest), reached, side="left")
    adjusted[known] = np.maximum((1 + above) / (1 + draws), p_values[known])
    return adjusted


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
