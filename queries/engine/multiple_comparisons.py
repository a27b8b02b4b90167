"""Many comparisons at once: letters of runs that are not shown to differ, and tests that hold their level over all of them.

The unit is the question, as in ``inference``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from queries.engine.bootstrap import SEED, TIED
from queries.engine.inference import FLIPS, Bools
from queries.metrics.metric import Floats


def compact_letters(different: Bools, order: Sequence[int]) -> list[list[int]]:
    """Letters such that two runs share one exactly if they are not shown to differ (insert and absorb, Piepho 2004).

    Args:
        different: whether each two runs are shown to differ, symmetric, shape (runs, runs).
        order: indices of the runs that take part, best first; letters are numbered in this order.

    Returns:
        For each run its letters, 1 for "a"; none for a run that does not take part.

    Example:
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
    """p-values of many tests, each by itself and adjusted for all of them by the distribution of their maximum.

    Args:
        observed: test statistics, larger for more evidence, shape (tests,); NaN for a test that cannot be made.
        null: the same under each flip or permutation, shape (flips, tests).

    Returns:
        Raw and adjusted p-values, each of shape (tests,), in (0, 1]; NaN where ``observed`` is.

    Source:
        Westfall & Young 1993, algorithm 2.8 (single step); one is added to both counts (Phipson & Smyth 2010).
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
    scores: Floats, parts: Bools, testable: Bools, seed: int = SEED, flips: int = FLIPS
) -> tuple[Floats, Floats]:
    """Whether scores inside a part of the questions differ from those over all of them, for many parts and runs at once.

    The labels of the parts are permuted over the questions, for all parts and runs jointly, so that the p-values hold
    whatever the parts overlap and however alike the runs are.

    Args:
        scores: of each question and run, such as jackknife pseudo-values of a loss, shape (questions, runs); NaN for none.
        parts: which questions are in each part, shape (parts, questions).
        testable: which runs are tested in which part, shape (parts, runs).
        seed: of the permutations.
        flips: how many permutations.

    Returns:
        Raw and adjusted two-sided p-values, each of shape (parts, runs); NaN where nothing is tested.
    """
    questions = len(scores)
    inside = parts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nan_to_num(scores).sum(axis=0) / np.maximum(np.isfinite(scores).sum(axis=0), 1)
        centred = np.nan_to_num(scores - mean)
        spread = np.sqrt((centred**2).sum(axis=0) / max(questions - 1, 1))
        unit = np.where(spread > TIED, centred / spread, 0.0)
        # Of the sum over a part under permutation: sampling without replacement.
        deviation = np.sqrt(inside * (questions - inside) / questions)
        weights = np.where(deviation > 0, 1 / deviation, 0.0)[:, None] * parts
    random = np.random.default_rng((seed, questions))
    null = (np.abs(weights @ unit[random.permutation(questions)])[testable] for _ in range(flips))
    return _spread_out(testable, max_t(np.abs(weights @ unit)[testable], np.array([*null])))


def sign_flips_test(scores: Floats, parts: Bools, testable: Bools, seed: int = SEED, flips: int = FLIPS) -> tuple[Floats, Floats]:
    """Whether paired differences inside a part of the questions are 0 on average, for many parts and runs at once.

    Args:
        scores: paired difference of each question and run, shape (questions, runs); NaN for none.
        parts: which questions are in each part, shape (parts, questions).
        testable: which runs are tested in which part, shape (parts, runs).
        seed: of the flips.
        flips: how many.

    Returns:
        Raw and adjusted two-sided p-values, each of shape (parts, runs); NaN where nothing is tested.
    """
    inside, scores = parts.astype(float), np.nan_to_num(scores)
    size = np.sqrt(inside @ scores**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(size > TIED, 1 / size, 0.0)
    random = np.random.default_rng((seed, len(scores)))
    signs = (random.choice([-1.0, 1.0], (len(scores), 1)) for _ in range(flips))
    null = (np.abs(scale * (inside @ (sign * scores)))[testable] for sign in signs)
    return _spread_out(testable, max_t(np.abs(scale * (inside @ scores))[testable], np.array([*null])))


def _spread_out(testable: Bools, p_values: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Raw and adjusted p-values in the place of their tests, NaN elsewhere."""
    raw, adjusted = np.full(testable.shape, np.nan), np.full(testable.shape, np.nan)
    raw[testable], adjusted[testable] = p_values
    return raw, adjusted


def flips_within(work: int, most: int = FLIPS) -> int:
    """How many flips or permutations a test may take, so that its time stays within a second or two.

    Args:
        work: multiplications of one of them.
        most: the number where time does not matter.
    """
    return int(np.clip(4_000_000_000 // max(work, 1), 199, most - 1))
