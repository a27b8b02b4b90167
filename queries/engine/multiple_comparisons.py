"""Many comparisons at once: letters of runs that are not shown to differ, and tests that hold their level over all of them.

The unit is the question, as in ``inference``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

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
        weights = np.where(deviation > 0, 1 / deviation, 0.0)[:, None]
    random = np.random.default_rng((seed, questions))
    cells = _Cells.divided(parts)

    def statistic(order: NDArray[np.int64]) -> Floats:
        return np.asarray(np.abs(weights * cells.sums(unit, order))[testable])

    null = np.array([statistic(random.permutation(questions)) for _ in range(flips)])
    return _spread_out(testable, max_t(statistic(np.arange(questions)), null))


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
    cells, scores = _Cells.divided(parts), np.nan_to_num(scores)
    questions = np.arange(len(scores))
    size = np.sqrt(cells.sums(scores**2, questions))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(size > TIED, 1 / size, 0.0)
    random = np.random.default_rng((seed, len(scores)))

    def statistic(signs: Floats) -> Floats:
        return np.asarray(np.abs(scale * cells.sums(scores, questions, signs))[testable])

    null = np.array([statistic(random.choice([-1.0, 1.0], len(scores))) for _ in range(flips)])
    return _spread_out(testable, max_t(statistic(np.ones(len(scores))), null))


class _Cells(NamedTuple):
    """Parts of the questions, divided into cells: questions that are in the same parts. Few cells make many overlapping parts,
    so a sum over every part reads each question once.

    Attributes:
        members: which cells are in each part, 1 or 0, shape (parts, cells).
        places: questions in the order of their cells, shape (questions,).
        ends: where cells begin and end in ``places``, shape (cells + 1,).
    """

    members: Floats
    places: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def divided(cls, parts: Bools) -> _Cells:
        """The cells of parts, shape (parts, questions)."""
        _, first, cell = np.unique(np.packbits(parts, axis=0), axis=1, return_index=True, return_inverse=True)
        ends = np.concatenate([[0], np.cumsum(np.bincount(cell.ravel()))])
        return cls(parts[:, first].astype(float), np.argsort(cell.ravel(), kind="stable"), ends)

    def sums(self, scores: Floats, order: NDArray[np.int64], factors: Floats | None = None) -> Floats:
        """Sums of scores over each part, as if question k stood in the place of ``order[k]``.

        Args:
            scores: shape (questions, runs).
            order: of the questions, shape (questions,).
            factors: by which the scores of each question are multiplied, shape (questions,); 1 by default.

        Returns:
            Shape (parts, runs).
        """
        taken = order[self.places]
        values = np.ones(len(taken)) if factors is None else factors[taken]
        shape = (len(self.ends) - 1, len(scores))
        return np.asarray(self.members @ (csr_array((values, taken, self.ends), shape) @ scores))


def _spread_out(testable: Bools, p_values: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Raw and adjusted p-values in the place of their tests, NaN elsewhere."""
    raw, adjusted = np.full(testable.shape, np.nan), np.full(testable.shape, np.nan)
    raw[testable], adjusted[testable] = p_values
    return raw, adjusted


def flips_within(additions: int, most: int = FLIPS) -> int:
    """How many flips or permutations a test may take, so that its time stays within a second or two.

    Args:
        additions: of one of them: questions times runs.
        most: the number where time does not matter.
    """
    return int(np.clip(1_000_000_000 // max(additions, 1), 199, most - 1))


def holm(p_values: Floats) -> Floats:
    """Holm's step-down adjustment of the p-values of one family, shape (k,) in and out; NaN stays and counts for nothing.

    Source: Holm 1979.
    """
    adjusted = np.full_like(p_values, np.nan)
    defined = np.flatnonzero(np.isfinite(p_values))
    order = defined[np.argsort(p_values[defined], kind="stable")]
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1)), 1.0)
    return adjusted
