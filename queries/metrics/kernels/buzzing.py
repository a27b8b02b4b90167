"""Kernels of buzzing: at which clue a player whose confidence passes a threshold buzzes, and what that is worth.

Answers come as rows sorted by question and clue; ``question`` is the number of each row's question, never falling.
A threshold tau makes a player buzz at the first clue whose score is above it, strictly; the score is a confidence in [0, 1]
or the sum of the guess's token log-probabilities, at most 0 (GRACE app. E.3: -0.03 for GPT, -0.05 for Mistral).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from queries.metrics.kernels.arrays import Floats, Ints, distinct, ratio

TIED = 1e-12  # values nearer than this to the greatest one are as great, but for rounding


def chance_unanswered(revealed: ArrayLike) -> Floats:
    """pi(t) = 1 + 0.0775 t - 1.278 t^2 + 0.588 t^3: the chance that the opponent has not answered by a fraction of the question.

    Source: GRACE app. E.3, which leaves out the constant 1 and is negative as printed.

    Args:
        revealed: the fraction t in [0, 1], any shape.

    Returns:
        The same shape; 1 at t = 0, 0.3875 at t = 1.

    >>> chance_unanswered([0.0, 0.5, 1.0])
    array([1.     , 0.79275, 0.3875 ])
    """
    t = np.asarray(revealed, float)
    pi: Floats = 1 + t * (0.0775 + t * (-1.278 + t * 0.588))
    return pi


class Buzzpoints(NamedTuple):
    """The rows at which some threshold makes a player buzz: at ``rows[i]`` for low[i] <= tau < high[i], and for no other tau.

    Each of shape (n,); ``low`` is -inf where no score comes before it in its question. Intervals of a question never overlap.

    Attributes:
        rows: ascending.
        scores: -inf and every score that there is, ascending, shape (m,).
        below, at: which of these ``low`` and ``high`` are.
    """

    rows: Ints
    scores: Floats
    below: Ints
    at: Ints

    @property
    def low(self) -> Floats:
        """The lowest threshold that leads to each."""
        return self.scores[self.below]

    @property
    def high(self) -> Floats:
        """Its score: a threshold as high leads to it no more."""
        return self.scores[self.at]


def possible_buzzpoints(question: Ints, score: Floats) -> Buzzpoints:
    """Every row at which some threshold makes a player buzz: its score is above all scores before it in its question.

    Args:
        question: number of each row's question, never falling, shape (n,).
        score: shape (n,); NaN where there is none, which passes no threshold.

    Returns:
        The rows with the thresholds that lead to them.
    """
    scored = ~np.isnan(score)
    values, ranks = distinct(score[scored])
    rank = np.zeros(len(score), np.int64)  # from 1; 0 for none
    rank[scored] = ranks + 1
    # Stacked above the ranks of the question before, so that one running maximum serves all questions.
    base = question * (len(values) + 1)
    before = np.concatenate([[0], np.maximum.accumulate(base + rank)[:-1]]) if len(rank) else rank
    highest = np.maximum(before - base, 0)  # among the rows before it in its question, 0 for none
    rows = np.flatnonzero(rank > highest)
    return Buzzpoints(rows, np.concatenate([[-np.inf], values]), highest[rows], rank[rows])


def buzzpoints_at(possible: Buzzpoints, threshold: float) -> Ints:
    """The rows at which a player buzzes at a threshold.

    Args:
        possible: from ``possible_buzzpoints``.
        threshold: the score must be above it, strictly.

    Returns:
        Rows, ascending, at most one per question.

    >>> possible = possible_buzzpoints(np.array([0, 0, 0]), np.array([0.2, 0.7, 0.9]))
    >>> buzzpoints_at(possible, 0.5)
    array([1])
    """
    return possible.rows[(possible.low <= threshold) & (threshold < possible.high)]


class StepFunction(NamedTuple):
    """Totals as a function of the threshold: ``totals[i]`` for thresholds[i] <= tau < thresholds[i + 1].

    The last one holds for all above. ``thresholds`` ascends, shape (m,); ``totals`` has shape (m, ...).
    """

    thresholds: Floats
    totals: Floats

    def at(self, threshold: float) -> Floats:
        """The totals at a threshold that is not below the first one."""
        totals: Floats = self.totals[np.searchsorted(self.thresholds, threshold, side="right") - 1]
        return totals


def totals_by_threshold(possible: Buzzpoints, worth: Floats, floor: float) -> StepFunction:
    """Total worth of all buzzes as a function of the threshold, from ``floor`` up. It changes at scores only.

    Args:
        possible: possible buzzpoints, n of them.
        worth: what each of them is worth, shape (n,) or (n, kinds).
        floor: the lowest threshold, may be -inf.

    Returns:
        A step function with totals of shape (m,) or (m, kinds).
    """
    count = len(possible.scores)
    kinds = worth.reshape(len(worth), math.prod(worth.shape[1:])).T
    change = [np.bincount(possible.at, kind, count) - np.bincount(possible.below, kind, count) for kind in kinds]
    changes = np.flatnonzero((np.bincount(possible.at, minlength=count) > 0) & (possible.scores > floor))
    # Added up from the top, where nobody buzzes: that end is exactly 0.
    above = np.cumsum(np.stack(change, axis=-1)[changes[::-1]], axis=0)[::-1]
    totals = np.concatenate([above, np.zeros((1, len(change)))])
    return StepFunction(np.append(floor, possible.scores[changes]), totals.reshape(-1, *worth.shape[1:]))


class ThresholdInterval(NamedTuple):
    """The thresholds low <= tau < high at which a value is greatest; if there are several such intervals, the lowest."""

    low: float
    high: float  # inf where there is no end


def best_thresholds(thresholds: Floats, values: Floats) -> ThresholdInterval:
    """The best thresholds of a step function. This is exact, since all steps are known.

    Args:
        thresholds: where each step begins, ascending, shape (m,).
        values: of the steps, shape (m,). Values within 1e-12 of the greatest one are as good.

    Returns:
        The lowest interval of best thresholds.
    """
    ahead = values >= values.max() - TIED
    first = int(np.argmax(ahead))
    worse = np.flatnonzero(~ahead[first:])
    return ThresholdInterval(float(thresholds[first]), float(thresholds[first + worse[0]]) if len(worse) else np.inf)


class ConditionalBuzzes(NamedTuple):
    """Clues seen with a correct and with an incorrect guess, up to the first buzz inclusive, and buzzes on them."""

    seen_correct: float
    seen_incorrect: float
    buzzed_correct: float
    buzzed_incorrect: float

    @property
    def given_correct(self) -> float:
        """P(buzz | correct), NaN without a correct guess."""
        return float(ratio(np.array(self.buzzed_correct), np.array(self.seen_correct)))

    @property
    def given_incorrect(self) -> float:
        """P(buzz | incorrect), NaN without an incorrect guess."""
        return float(ratio(np.array(self.buzzed_incorrect), np.array(self.seen_incorrect)))


def conditional_buzzes(question: Ints, correct: Floats, buzzes: Ints) -> ConditionalBuzzes:
    """How often a player buzzes when its guess is correct, and when not, clue by clue. GRACE sec. 5.1, fig. 6.

    Guesses after the buzz do not count. All clues of a question without a buzz do. A graded correctness counts with its value, as
    the chance of being correct.

    Args:
        question: number of each row's question, never falling, shape (n,).
        correct: in [0, 1], shape (n,).
        buzzes: row of each question's buzz, from ``buzzpoints_at``.

    Returns:
        Totals over all questions.
    """
    last = np.full(int(question[-1]) + 1 if len(question) else 0, len(question))
    last[question[buzzes]] = buzzes
    seen = correct[np.arange(len(question)) <= last[question]]
    at_buzz = correct[buzzes]
    return ConditionalBuzzes(float(seen.sum()), float((1 - seen).sum()), float(at_buzz.sum()), float((1 - at_buzz).sum()))


def survey_score(seen: ArrayLike, correct: ArrayLike) -> Floats:
    """20 - 20 (share of the clues seen) for a correct buzz, -5 for an incorrect one. GRACE app. F.3.

    Args:
        seen: share of the question's clues seen at the buzz, in (0, 1], any shape.
        correct: in [0, 1], the chance of being correct, the same shape.

    Returns:
        In [-5, 20), the same shape.

    >>> survey_score([0.25, 0.25], [1.0, 0.0])
    array([15., -5.])
    """
    y = np.asarray(correct, float)
    score: Floats = y * (20 - 20 * np.asarray(seen, float)) - 5 * (1 - y)
    return score


def latest_responses(question: Ints, revealed: Floats, mark: float) -> Ints:
    """The last row of each question whose clue ends by a fraction of it. GRACE fig. 5, table 2.

    Args:
        question: number of each row's question, never falling, shape (n,).
        revealed: fraction of the question revealed at the end of each row's clue, shape (n,), rising within a question.
        mark: the fraction.

    Returns:
        Rows, one per question that has such a clue.
    """
    by_then = np.flatnonzero(revealed <= mark)
    return by_then[np.flatnonzero(np.diff(question[by_then], append=-1))]
