"""The sums of ``data.statistics`` over many questions at once, as arrays: what ingest stores of each (run, question).

``data.statistics.select_sql`` says the same in SQL, for whatever part of the responses a page looks at; here whole runs are
summed, some ten times as fast. Sums have the same digits as there: they are added up in whole multiples of 2^-80.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
BINS = 11  # ten half-open bins of width 0.1 and one that holds confidence = 1; ten bins are its last two added up
EDGES = np.arange(BINS) / 10
ROUNDING = 1e-9  # a confidence this near to a multiple of 5 % is one: 0.15 and 0.35 are not, as floats
HALF = 2.0**40  # a number is two halves of 40 binary digits behind the point
CURVES = ("buzz_share", "team_share", "survival")


class Exact(NamedTuple):
    """Numbers as whole multiples of 2^-80, ``high`` 2^40 + ``low``, each of shape (n,)."""

    high: Integers
    low: Integers

    @classmethod
    def of(cls, values: Floats) -> Exact:
        """From numbers in [-1, 1], rounded to the nearest multiple."""
        scaled = values * HALF
        high = np.floor(scaled)
        return cls(high.astype(np.int64), np.rint((scaled - high) * HALF).astype(np.int64))

    def total(self, starts: Integers) -> Exact:
        """Sums over the rows from each of ``starts`` to the next; fewer than 2^22 rows each."""
        if len(starts) == len(self.high):
            return self
        return Exact(np.add.reduceat(self.high, starts), np.add.reduceat(self.low, starts))

    def __sub__(self, other: Exact) -> Exact:
        return Exact(self.high - other.high, self.low - other.low)

    def where(self, chosen: NDArray[np.bool_]) -> Exact:
        """0 where a row is not chosen."""
        return Exact(self.high * chosen, self.low * chosen)

    def take(self, rows: NDArray[np.intp]) -> Exact:
        """Some rows."""
        return Exact(self.high[rows], self.low[rows])

    def floats(self) -> Floats:
        """As floats, by the rule by which DuckDB makes a float of a hugeint: both words of 64 digits, added up."""
        if not len(self.high):
            return np.empty(0)
        found = self.high.astype(np.float64) * HALF + self.low.astype(np.float64)
        # Of a multiple of 2^11, both words are floats as they are, as are both halves: only their sum is rounded, here and there.
        large = max(int(self.high.max()), -int(self.high.min())) >= 2**53
        others = np.arange(len(found)) if large else np.flatnonzero(self.low & 0x7FF)
        found[others] = self.take(others)._of_words()
        found /= 2.0**80
        return found

    def _of_words(self) -> Floats:
        """As floats, in multiples of 2^-80, word by word."""
        low = self.low & 0xFF_FFFF_FFFF
        high = self.high + (self.low >> 40)
        lower = ((high.astype(np.uint64) & 0xFF_FFFF) << np.uint64(40)) | low.astype(np.uint64)
        upper = high >> 24
        found = lower.astype(np.float64) + upper.astype(np.float64) * 2.0**64
        # -1 in the upper word is a small negative number, which would lose its digits.
        small = upper == -1
        found[small] = -((~lower[small]).astype(np.float64) + 1)
        return found


class Bins(NamedTuple):
    """The bins that hold items: of most questions only a few do, and what is not kept need not be written.

    Attributes:
        question: index of the question of each bin, ascending; of its bins, the lowest is first.
        used: of each question: bit k is set where bin k holds items; shape (questions,).
        sums: ``BIN_COLUMNS`` of each bin.
    """

    question: Integers
    used: NDArray[np.int16]
    sums: dict[str, Floats]


def item_sums(confidence: Floats, correct: Floats, starts: Integers) -> tuple[dict[str, Floats], Bins]:
    """``ITEM_SUMS`` and the bins of each question.

    Args:
        confidence, correct: of each item, in [0, 1], shape (items,).
        starts: index of each question's first item, ascending, shape (questions,).

    Returns:
        columns of shape (questions,), and the bins.
    """
    items = np.diff(starts, append=len(confidence)).astype(np.float64)
    of_confidence, right = Exact.of(confidence), correct == 1
    # Sums of 0 and 1 are exact as they are.
    of_correct = None if (right | (correct == 0)).all() else Exact.of(correct)
    totals = {"confidence": of_confidence.total(starts), "confidence_sq": Exact.of(confidence * confidence).total(starts)}
    near = np.abs(confidence - np.rint(confidence * 20) / 20) <= ROUNDING
    found = {"items": items, "rounded": np.add.reduceat(near.astype(np.float64), starts)}
    if of_correct is None:
        answered = np.add.reduceat(correct, starts)
        found |= {"correct": answered, "incorrect": items - answered, "correct_sq": answered}
        totals["confidence_correct"] = of_confidence.where(right).total(starts)
        totals["confidence_incorrect"] = totals["confidence"] - totals["confidence_correct"]
        totals["sign_confidence"] = totals["confidence_correct"] - totals["confidence_incorrect"]
    else:
        totals["correct"] = of_correct.total(starts)
        for name, values in {
            "incorrect": 1 - correct, "correct_sq": correct * correct, "confidence_correct": confidence * correct,
            "confidence_incorrect": confidence * (1 - correct), "sign_confidence": (2 * correct - 1) * confidence,
        }.items():  # fmt: skip
            totals[name] = Exact.of(values).total(starts)
    found |= {name: total.floats() for name, total in totals.items()}
    return found, _bins(confidence, correct, of_confidence, of_correct, starts)


def _bins(confidence: Floats, correct: Floats, of_confidence: Exact, of_correct: Exact | None, starts: Integers) -> Bins:
    """Items, confidence and correctness in each bin that holds any; ``of_correct`` is None where all are 0 or 1."""
    question = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(confidence)))
    cell = question * BINS + bin_of(confidence)
    order = np.argsort(cell, kind="stable")
    cell = cell[order]
    first = np.flatnonzero(np.diff(cell, prepend=-1)).astype(np.int64)
    question, place = np.divmod(cell[first], BINS)
    sums = {
        "bin_items": np.diff(first, append=len(cell)).astype(np.float64),
        "bin_confidence": of_confidence.take(order).total(first).floats(),
        "bin_correct": of_correct.take(order).total(first).floats() if of_correct else np.add.reduceat(correct[order], first),
    }
    used = np.bitwise_or.reduceat(np.left_shift(1, place), np.flatnonzero(np.diff(question, prepend=-1))).astype(np.int16)
    return Bins(question, used, sums)


def bin_of(confidence: Floats) -> NDArray[np.int8]:
    """The bin of each confidence, 0 to 10.

    Edges are compared as they are: confidence * 10 alone would put 0.3 into the wrong bin or not by luck, but is next to it.
    """
    found = (confidence * 10).astype(np.int8)
    found -= confidence < EDGES[found]
    found += confidence >= np.append(EDGES[1:], np.inf)[found]
    return found


def curve_sums(confidence: Floats, correct: Floats, starts: Integers, curves: dict[str, Floats]) -> dict[str, Floats]:
    """``CURVE_SUMS`` of each question, NaN where no human team heard it.

    The model buzzes at item t with mass b_t = c_t prod (1 - c_e, e < t), the last confidence counted as 1, and has answered right
    by then with reward_t = sum b_e y_e, e <= t; a human curve h takes m_t = h_t - h_{t-1} of it, and 1 - h_T of what it is at the
    end (GRACE eq. 2, app. M).

    Args:
        confidence, correct, starts: as for ``item_sums``, items in the order of clues.
        curves: each of ``CURVES``, shape (items,), NaN where there is none.
    """
    ends = np.append(starts[1:], len(confidence))
    reward = _rewards(confidence, correct, starts, ends)
    sign = 2 * correct - 1
    found = {}
    for name in CURVES:
        h = curves[name]
        some = np.add.reduceat((~np.isnan(h)).astype(np.int64), starts) > 0
        left = np.nan_to_num(1 - h)
        for key, values in ((f"{name}_weight", left), (f"{name}_sign_confidence", left * sign * confidence)):
            found[key] = np.where(some, Exact.of(values).total(starts).floats(), np.nan)
        if name == "buzz_share":
            continue
        before = np.empty_like(h)
        before[1:] = np.nan_to_num(h[:-1])
        before[starts] = 0
        taken = Exact.of(np.nan_to_num((h - before) * reward)).total(starts).floats()
        found[f"{name}_reward"] = np.where(some, taken + (1 - h[ends - 1]) * reward[ends - 1], np.nan)
    return found


def _rewards(confidence: Floats, correct: Floats, starts: Integers, ends: Integers) -> Floats:
    """reward_t of each item, shape (items,): step by step, all questions that are long enough at once."""
    order = np.argsort(starts - ends, kind="stable")  # long ones first: those with a t-th item stand in front
    first, last = starts[order], ends[order] - 1
    sizes = last - first + 1
    unanswered, so_far = np.ones(len(starts)), np.zeros(len(starts))
    reward = np.empty_like(confidence)
    for step in range(int(sizes[0]) if len(sizes) else 0):
        count = int(np.searchsorted(-sizes, -step, side="left"))
        rows = first[:count] + step
        certain = np.where(rows == last[:count], 1.0, confidence[rows])
        so_far[:count] += certain * unanswered[:count] * correct[rows]
        reward[rows] = so_far[:count]
        unanswered[:count] *= 1 - confidence[rows]
    return reward
