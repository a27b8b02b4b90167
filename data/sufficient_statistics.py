"""Sufficient statistics per (run, question): sums over the items of a question, from which most metrics are computed.

They are defined only here, as functions of arrays. An import stores them, and a filter on clues recomputes them from the clues
that remain. A new statistic needs an entry in ``ITEM_SUMS`` or ``CURVE_SUMS``, which creates its column, and the next
``EDITION``. Those in ``UNSTORED_SUMS`` are computed from the items when a metric reads them.

Notation, as in GRACE: an item has a confidence c and a correctness y, both in [0, 1]; h is a human curve at its clue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from clueline.data.human_curves import CURVES, TEAM_CURVES
from clueline.data.ragged_arrays import Floats, Ints, entries_of

# Of the stored statistics: whoever adds one, or changes what one is, raises it. Those of earlier editions are computed again when
# they are read, until the store is migrated or repaired.
EDITION = 4
BINS = 11  # ten half-open bins of width 0.1, and one for confidence 1
Closed = Literal["left", "right"]  # which end of a bin belongs to it
BINS_USED = "bins"  # bit k is set if bin k holds items
BIN_COLUMNS = ("bin_items", "bin_confidence", "bin_correct")  # lists over the bins that hold items, lowest bin first
SIDE_DECIMALS = 15  # of 1 - p: as floats, 1 - 0.07 is not 0.93, which would break ties
ROUNDING = 1e-9  # how close a confidence must be to a multiple of 5 %: as floats, 0.15 and 0.35 are not multiples of 0.05


@dataclass(frozen=True)
class Items:
    """Items grouped by question. Within a question, they are in the order of clues, or of samples and then clues.

    A forecast is an item, too: its confidence is the probability of yes, and its correctness is the outcome.
    """

    confidence: Floats  # in [0, 1], shape (items,)
    correct: Floats  # the same
    first: Ints  # index of the first item of each question, which has one, and, last, the number of items; shape (questions + 1,)
    # h of each of ``CURVES``, in [0, 1], shape (items,); NaN for a question that no human team heard. None if none heard any.
    curves: dict[str, Floats] | None = None
    sequences: Ints | None = None  # if there are several samples of a question, like ``first``, for each sample
    words: Floats | None = None  # of each item's clue, shape (items,); None if each clue counts as one

    @property
    def clue_sequences(self) -> Ints:
        """Index of the first item of each sequence of clues and, last, the number of items."""
        return self.first if self.sequences is None else self.sequences

    def total(self, values: Floats) -> Floats:
        """Sum ``values``, shape (items,), over each question, in the order of items: sums are the same on every machine."""
        return np.add.reduceat(values, self.first[:-1])

    @cached_property
    def likelier_side(self) -> Items:
        confidence, correct = likelier_side(self.confidence, self.correct)
        return replace(self, confidence=confidence, correct=correct)

    @cached_property
    def sign_confidence(self) -> Floats:
        """The product g c with g = 2y - 1, shape (items,). GRACE sec. 4.2."""
        return (2 * self.correct - 1) * self.confidence

    @cached_property
    def buzzed_right(self) -> Floats:
        """Probability that the model has buzzed correctly by each item, shape (items,): the sum of b_e y_e over e <= t.

        The model buzzes at item t with probability b_t = c_t prod (1 - c_e, e < t). The last c counts as 1, so that b adds
        up to 1. GRACE eq. 2, app. M.
        """
        sizes = np.diff(self.clue_sequences)
        longest_first = np.argsort(-sizes, kind="stable")  # the sequences that have a t-th item come first
        first, sizes = self.clue_sequences[:-1][longest_first], sizes[longest_first]
        silent, right = np.ones(len(sizes)), np.zeros(len(sizes))
        result = np.empty_like(self.confidence)
        for step in range(int(sizes.max(initial=0))):
            count = int(np.searchsorted(-sizes, -step))
            rows = first[:count] + step
            confidence = np.where(step == sizes[:count] - 1, 1.0, self.confidence[rows])
            right[:count] += confidence * silent[:count] * self.correct[rows]
            silent[:count] *= 1 - self.confidence[rows]
            result[rows] = right[:count]
        return result

    def total_of_pairs(self, x: Floats, y: Floats) -> Floats:
        """Sum sign(x_j - x_i) sign(y_j - y_i) over the pairs of items i before j of a sequence of clues, for each question.

        x and y have shape (items,); a pair with a NaN adds 0. If y is x, the sum is the number of pairs that differ in x.
        """
        sizes = np.diff(self.clue_sequences)
        longest_first = np.argsort(-sizes, kind="stable")  # so that items with a later one at some distance come first
        _, rows = entries_of(self.clue_sequences, longest_first)
        sizes = sizes[longest_first]
        ends = np.cumsum(sizes)
        remaining = np.repeat(ends, sizes) - np.arange(len(rows))  # items up to the end of the sequence
        totals = np.zeros(len(rows))
        columns = [x[rows]] if y is x else [x[rows], y[rows]]
        for distance in range(1, int(sizes.max(initial=0))):
            end = int(ends[np.searchsorted(-sizes, -distance) - 1])  # of the sequences that are longer
            signs = [_signs(column[:end], distance) for column in columns]
            totals[: end - distance] += signs[0] * signs[-1] * (remaining[: end - distance] > distance)
        of_items = np.empty_like(totals)
        of_items[rows] = totals
        return self.total(of_items)

    def curve(self, name: str) -> Floats:
        """Return a human curve, shape (items,), NaN where there is none."""
        return np.full(len(self.confidence), np.nan) if self.curves is None else self.curves[name]


def likelier_side(probability: Floats, outcome: Floats) -> tuple[Floats, Floats]:
    """Turn forecasts into answers: the likelier one of yes and no. All arrays have shape (items,).

    ``probability`` is p of yes, in [0, 1]; ``outcome`` is 1 for yes, 0 for no, or a share in between. Returns the confidence
    max(p, 1 - p), and the correctness, which is 1/2 where p is 1/2.

    >>> likelier_side(np.array([0.8, 0.07, 0.5]), np.array([0.0, 0.0, 1.0]))
    (array([0.8 , 0.93, 0.5 ]), array([0. , 1. , 0.5]))
    """
    opposite = np.round(1 - probability, SIDE_DECIMALS)
    confidence = np.where(probability < 0.5, opposite, probability)
    return confidence, np.select([probability > 0.5, probability < 0.5], [outcome, 1 - outcome], 0.5)


def _signs(values: Floats, distance: int) -> NDArray[np.int8]:
    """Return the sign of each value's difference from the one so many places before, 0 for NaN, shape (n - distance,)."""
    earlier, later = values[:-distance], values[distance:]
    return (later > earlier).astype(np.int8) - (later < earlier)


@dataclass(frozen=True)
class Statistic:
    """One column of the table: a value for each question, shape (questions,). ``meaning`` is the formula, for readers."""

    name: str
    meaning: str
    compute: Callable[[Items], Floats]


def _by_name(*statistics: Statistic) -> dict[str, Statistic]:
    return {statistic.name: statistic for statistic in statistics}


def _rounded(items: Items) -> Floats:
    c = items.confidence
    return items.total((np.abs(c - np.rint(c * 20) / 20) <= ROUNDING).astype(float))


def _half_reward(items: Items) -> Floats:
    return items.total(np.where(items.confidence > 0.5, 2 * items.correct - 1, 0.0))


ITEM_SUMS = _by_name(
    Statistic("items", "number of items", lambda i: np.diff(i.first).astype(float)),
    Statistic("confidence", "sum c", lambda i: i.total(i.confidence)),
    Statistic("correct", "sum y", lambda i: i.total(i.correct)),
    # Not items - correct, which loses digits where y is a probability near 1.
    Statistic("incorrect", "sum (1 - y)", lambda i: i.total(1 - i.correct)),
    Statistic("confidence_sq", "sum c^2", lambda i: i.total(i.confidence * i.confidence)),
    Statistic("correct_sq", "sum y^2", lambda i: i.total(i.correct * i.correct)),
    Statistic("confidence_correct", "sum c y", lambda i: i.total(i.confidence * i.correct)),
    Statistic("confidence_incorrect", "sum c (1 - y)", lambda i: i.total(i.confidence * (1 - i.correct))),
    Statistic("rounded", "number of items whose c is a multiple of 5 %", _rounded),
    Statistic("sign_confidence", "sum g c, g = 2y - 1", lambda i: i.total(i.sign_confidence)),
    # The net reward at its usual threshold. Other thresholds need the items.
    Statistic("half_reward", "sum g over items with c > 1/2", _half_reward),
)


def _weight(curve: str) -> Statistic:
    return Statistic(f"{curve}_weight", f"sum (1 - h), h = {curve}", lambda i: i.total(1 - i.curve(curve)))


def _weighted(curve: str) -> Statistic:
    meaning = f"sum (1 - h) g c, h = {curve}: GRACE eq. 1"
    return Statistic(f"{curve}_sign_confidence", meaning, lambda i: i.total((1 - i.curve(curve)) * i.sign_confidence))


def _reward(curve: str) -> Statistic:
    def compute(items: Items) -> Floats:
        h, right = items.curve(curve), items.buzzed_right
        before = np.append(0.0, h)[:-1]
        before[items.clue_sequences[:-1]] = 0.0
        gained = (h - before) * right
        last = items.clue_sequences[1:] - 1
        gained[last] += (1 - h[last]) * right[last]
        return items.total(gained)

    meaning = f"sum m_t r_t + (1 - h_T) r_T, m_t = h_t - h_(t-1), h = {curve}, r = Items.buzzed_right: GRACE eq. 2, app. M"
    return Statistic(f"{curve}_reward", meaning, compute)


# Null if no human team heard the question.
CURVE_SUMS = _by_name(
    *map(_weight, CURVES),
    *map(_weighted, CURVES),
    *map(_reward, TEAM_CURVES),  # eq. 2 takes the curve's increments as probabilities
)
COLUMNS = (*ITEM_SUMS, *CURVE_SUMS)  # those that the store holds


def _words(items: Items) -> Floats:
    return np.ones(len(items.confidence)) if items.words is None else items.words


def _with_people(curve: str) -> list[Statistic]:
    def h(items: Items) -> Floats:
        return items.curve(curve)

    concordance = f"pairs with c and h in the same order - in opposite order, h = {curve}"
    area = f"sum w |c - h|, w = words of the clue, h = {curve}"
    apart = f"number of pairs of clues that differ in h, h = {curve}"
    return [
        Statistic(f"{curve}_apart", apart, lambda i: i.total_of_pairs(h(i), h(i))),
        Statistic(f"{curve}_concordance", concordance, lambda i: i.total_of_pairs(i.confidence, h(i))),
        Statistic(f"{curve}_area", area, lambda i: i.total(_words(i) * np.abs(i.confidence - h(i)))),
    ]


def _sides_right(items: Items) -> Floats:
    graded = (items.correct > 0) & (items.correct < 1)
    return items.total(np.where(graded, np.nan, items.likelier_side.correct))


def _of_likelier_side(statistic: Statistic) -> Statistic:
    meaning = f"{statistic.meaning}, of the likelier side of forecasts"
    return Statistic(LIKELIER + statistic.name, meaning, lambda items: statistic.compute(items.likelier_side))


LIKELIER = "likelier_"  # prefix of the sums of the likelier side
SIDES_RIGHT = "sides_right"  # for the accuracy: if an outcome is a share, neither side is the right one
APART = "number of pairs of clues that differ in c"
UNSTORED_SUMS = _by_name(
    Statistic("words", "sum w, w = words of the clue", lambda i: i.total(_words(i))),
    Statistic("confidence_apart", APART, lambda i: i.total_of_pairs(i.confidence, i.confidence)),
    *chain.from_iterable(map(_with_people, CURVES)),
    *(_of_likelier_side(statistic) for name, statistic in ITEM_SUMS.items() if name != "items"),
    Statistic(SIDES_RIGHT, "sum y of the likelier side, NaN if an outcome is a share", _sides_right),
)
STATISTICS = ITEM_SUMS | CURVE_SUMS | UNSTORED_SUMS


def sums(items: Items, names: Iterable[str] = COLUMNS) -> dict[str, Floats]:
    """Compute statistics of each question: columns of shape (questions,), NaN where a human curve is needed and there is none.

    Items can be only the remaining clues of questions. Then the last clue of eq. 2 is the last one that remains.

    >>> items = Items(np.array([0.5, 1.0, 0.2]), np.array([0.0, 1.0, 1.0]), np.array([0, 2, 3]))
    >>> sums(items, ["items", "confidence_correct"])
    {'items': array([2., 1.]), 'confidence_correct': array([1. , 0.2])}
    """
    return {name: STATISTICS[name].compute(items) for name in names}


@dataclass(frozen=True)
class Bins:
    """Sums over the items of each question in each bin of confidence, only for bins that hold items."""

    first: Ints  # index of the first entry of each question and, last, the number of entries; shape (questions + 1,)
    bin: NDArray[np.int8]  # bin of each entry, 0 to 10, ascending within a question; shape (entries,)
    values: dict[str, Floats]  # for each of ``BIN_COLUMNS``, shape (entries,)

    @classmethod
    def from_columns(cls, table: pl.DataFrame) -> Bins:
        used = (table[BINS_USED].to_numpy()[:, None] >> np.arange(BINS)) & 1 == 1
        first = np.append(0, np.cumsum(used.sum(axis=1)))
        values = {name: table[name].explode(empty_as_null=False).to_numpy() for name in BIN_COLUMNS}
        return cls(first, np.nonzero(used)[1].astype(np.int8), values)

    def to_columns(self) -> dict[str, pl.Series]:
        question = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        lists = pl.DataFrame({"question": question} | self.values).set_sorted("question")
        lists = lists.group_by("question", maintain_order=True).agg(BIN_COLUMNS)
        used = np.bitwise_or.reduceat(1 << self.bin.astype(np.int16), self.first[:-1])
        return {BINS_USED: pl.Series(used)} | {name: lists[name] for name in BIN_COLUMNS}

    @property
    def nbytes(self) -> int:
        return self.first.nbytes + self.bin.nbytes + sum(values.nbytes for values in self.values.values())

    def dense(self) -> dict[str, Floats]:
        """Return each of ``BIN_COLUMNS`` including zeros, shape (questions, BINS)."""
        question = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        columns = {name: np.zeros((len(self.first) - 1, BINS)) for name in self.values}
        for name, column in columns.items():
            column[question, self.bin] = self.values[name]
        return columns

    def take(self, rows: Ints) -> Bins:
        """Return the bins of some questions, given by ascending indices."""
        if len(rows) == len(self.first) - 1:
            return self
        first, entries = entries_of(self.first, rows)
        return Bins(first, self.bin[entries], {name: values[entries] for name, values in self.values.items()})

    @classmethod
    def concatenate(cls, parts: Sequence[Bins]) -> Bins:
        """Join the questions of all parts, one part after the other. Without parts, there are no questions."""
        offsets = np.cumsum([0, *(len(part.bin) for part in parts)])
        first = [part.first[:-1] + offset for part, offset in zip(parts, offsets[:-1], strict=True)]
        return cls(
            np.concatenate([*first, offsets[-1:]]),
            np.concatenate([np.empty(0, np.int8), *(part.bin for part in parts)]),
            {name: np.concatenate([np.empty(0), *(part.values[name] for part in parts)]) for name in BIN_COLUMNS},
        )


def bin_of(confidence: ArrayLike, count: int = 10, closed: Closed = "left") -> Ints:
    """Find the bin of each confidence in [0, 1] among ``count`` bins of equal width, from 0; shape (n,).

    Edges are compared as written. Multiplication alone would put some of them one bin too low: 0.3 belongs to [0.3, 0.4). Bins
    closed on the ``left`` are [k/count, (k+1)/count), with confidence 1 in bin ``count``; on the ``right``, they are (k/count,
    (k+1)/count], with confidence 0 in bin 0.

    >>> bin_of([0.0, 0.3, 0.29999, 1.0])
    array([ 0,  3,  2, 10])
    >>> bin_of([0.0, 0.3, 0.30001, 1.0], closed="right")
    array([0, 2, 3, 9])
    """
    values = np.asarray(confidence, float)
    edges = np.arange(1, count + 1) / count
    lower, upper = np.append(-np.inf, edges), np.append(edges, np.inf)
    near: Ints = np.clip(values * count, 0, count).astype(np.int64)  # the right bin, or one next to it
    bins: Ints = near - (values < lower[near]) + (values >= upper[near])
    return bins if closed == "left" else bins - ((values == lower[bins]) & (bins > 0))


def bin_sums(items: Items, closed: Closed = "left") -> Bins:
    """Compute the number of items, sum of confidence and sum of correctness of each question in each bin of width 0.1."""
    question = np.repeat(np.arange(len(items.first) - 1), np.diff(items.first))
    cell = question * BINS + bin_of(items.confidence, closed=closed)
    cells = np.flatnonzero(np.bincount(cell))
    question, place = np.divmod(cells, BINS)
    summed = (None, items.confidence, items.correct)
    values = {name: np.bincount(cell, weights)[cells].astype(float) for name, weights in zip(BIN_COLUMNS, summed, strict=True)}
    return Bins(np.searchsorted(question, np.arange(len(items.first))), place.astype(np.int8), values)


def pooled(confidence: ArrayLike, correct: ArrayLike, closed: Closed = "left") -> dict[str, Floats]:
    """Compute ``ITEM_SUMS``, each of shape (), and ``BIN_COLUMNS``, each of shape (BINS,), over all items together."""
    c, y = np.asarray(confidence, float), np.asarray(correct, float)
    if not len(c):
        return {name: np.zeros(()) for name in ITEM_SUMS} | {name: np.zeros(BINS) for name in BIN_COLUMNS}
    items = Items(c, y, np.array([0, len(c)]))
    return {name: np.asarray(total[0]) for name, total in (sums(items, ITEM_SUMS) | bin_sums(items, closed).dense()).items()}
