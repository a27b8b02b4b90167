"""Kernels of buzzing: at which clue a player buzzes at a given confidence threshold, and what the buzz is worth.

Answers are rows sorted by question and clue, shape (n,); ``question`` is the number of each row's question, non-decreasing.
At threshold tau a player buzzes at the first clue with a score strictly above tau. The score is a confidence in [0, 1] or the
sum of the guess's token log-probabilities, at most 0 (thresholds in GRACE app. E.3: -0.03 for GPT, -0.05 for Mistral).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clueline.queries.metrics.kernels.arrays import Floats, Ints, distinct, ratio

TIED = 1e-12  # values within this of the maximum are equal to it up to rounding


def chance_unanswered(revealed: ArrayLike) -> Floats:
    """Compute the probability that the opponent has not answered yet: pi(t) = 1 + 0.0775 t - 1.278 t^2 + 0.588 t^3.

    Source: GRACE app. E.3, which leaves out the constant 1. As printed, the polynomial is negative. t, in [0, 1], is the fraction
    of the question revealed; pi is 1 at t = 0 and 0.3875 at t = 1.

    >>> chance_unanswered([0.0, 0.5, 1.0])
    array([1.     , 0.79275, 0.3875 ])
    """
    t = np.asarray(revealed, float)
    return 1 + t * (0.0775 + t * (-1.278 + t * 0.588))


class Buzzpoints(NamedTuple):
    """Rows at which a player buzzes for some threshold: at ``rows[i]`` if and only if low[i] <= tau < high[i].

    ``low`` is -inf where no score precedes the row in its question. The intervals of a question never overlap. ``rows`` are
    ascending, shape (n,). ``scores`` are -inf and then all distinct scores, ascending, shape (m,), to which ``below`` and ``at``
    point.
    """

    rows: Ints
    scores: Floats
    below: Ints
    at: Ints

    @property
    def low(self) -> Floats:
        """The lowest threshold at which the player buzzes at each row, shape (n,)."""
        return self.scores[self.below]

    @property
    def high(self) -> Floats:
        """The score of each row, shape (n,): at this threshold and above, the player no longer buzzes there."""
        return self.scores[self.at]


def possible_buzzpoints(question: Ints, score: Floats) -> Buzzpoints:
    """Find every row at which a player buzzes for some threshold: its score, not NaN, is above all before in its question."""
    scored = ~np.isnan(score)
    values, ranks = distinct(score[scored])
    rank = np.zeros(len(score), np.int64)  # from 1; 0 for no score
    rank[scored] = ranks + 1
    # Ranks of a question are stacked above those of the question before, so that one running maximum serves all questions.
    base = question * (len(values) + 1)
    before = np.concatenate([[0], np.maximum.accumulate(base + rank)[:-1]]) if len(rank) else rank
    highest = np.maximum(before - base, 0)  # highest rank before each row in its question, 0 for none
    rows = np.flatnonzero(rank > highest)
    return Buzzpoints(rows, np.concatenate([[-np.inf], values]), highest[rows], rank[rows])


def buzzpoints_at(possible: Buzzpoints, threshold: float) -> Ints:
    """Return the rows at which a player buzzes at a given threshold, ascending, at most one per question.

    >>> possible = possible_buzzpoints(np.array([0, 0, 0]), np.array([0.2, 0.7, 0.9]))
    >>> buzzpoints_at(possible, 0.5)
    array([1])
    """
    return possible.rows[(possible.low <= threshold) & (threshold < possible.high)]


class StepFunction(NamedTuple):
    """Totals as a function of the threshold: ``totals[i]`` for thresholds[i] <= tau < thresholds[i + 1].

    The last total holds for all thresholds above. ``thresholds`` is ascending, shape (m,); ``totals`` has shape (m, ...).
    """

    thresholds: Floats
    totals: Floats

    def at(self, threshold: float) -> Floats:
        """Return the totals at a threshold, which must not be below the first one."""
        totals: Floats = self.totals[np.searchsorted(self.thresholds, threshold, side="right") - 1]
        return totals


def totals_by_threshold(possible: Buzzpoints, worth: Floats, floor: float) -> StepFunction:
    """Compute the total worth, shape (n,) or (n, kinds), of all buzzes by threshold, from ``floor``, which can be -inf, up."""
    count = len(possible.scores)
    kinds = worth.reshape(len(worth), math.prod(worth.shape[1:])).T
    change = [np.bincount(possible.at, kind, count) - np.bincount(possible.below, kind, count) for kind in kinds]
    changes = np.flatnonzero((np.bincount(possible.at, minlength=count) > 0) & (possible.scores > floor))
    # Summed from the highest threshold, where nobody buzzes, so that the total there is exactly 0.
    above = np.cumsum(np.stack(change, axis=-1)[changes[::-1]], axis=0)[::-1]
    totals = np.concatenate([above, np.zeros((1, len(change)))])
    return StepFunction(np.append(floor, possible.scores[changes]), totals.reshape(-1, *worth.shape[1:]))


class ThresholdInterval(NamedTuple):
    """Thresholds low <= tau < high at which a value is maximal; the lowest interval if there are several."""

    low: float
    high: float  # inf if unbounded


def best_thresholds(thresholds: Floats, values: Floats) -> ThresholdInterval:
    """Find the lowest interval of best thresholds of a step function, exactly; values within ``TIED`` of the maximum are equal to
    it.
    """
    ahead = values >= values.max() - TIED
    first = int(np.argmax(ahead))
    worse = np.flatnonzero(~ahead[first:])
    return ThresholdInterval(float(thresholds[first]), float(thresholds[first + worse[0]]) if len(worse) else np.inf)


class ConditionalBuzzes(NamedTuple):
    """Numbers of clues with a correct and an incorrect guess, up to and including the first buzz, and of buzzes on them."""

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
    """Count how often a player buzzes when its guess is correct and when it is incorrect. GRACE sec. 5.1, fig. 6.

    Guesses after the buzz do not count. In a question without a buzz, all clues count. A correctness between 0 and 1 counts as
    the probability of being correct.
    """
    last = np.full(int(question[-1]) + 1 if len(question) else 0, len(question))
    last[question[buzzes]] = buzzes
    seen = correct[np.arange(len(question)) <= last[question]]
    at_buzz = correct[buzzes]
    return ConditionalBuzzes(float(seen.sum()), float((1 - seen).sum()), float(at_buzz.sum()), float((1 - at_buzz).sum()))


def survey_score(seen: ArrayLike, correct: ArrayLike) -> Floats:
    """Compute the survey score of buzzes: 20 - 20 (share of the clues seen) if correct, -5 if incorrect. GRACE app. F.3.

    Of any shape; seen is in (0, 1], correct in [0, 1]. Points are in [-5, 20).

    >>> survey_score([0.25, 0.25], [1.0, 0.0])
    array([15., -5.])
    """
    y = np.asarray(correct, float)
    score: Floats = y * (20 - 20 * np.asarray(seen, float)) - 5 * (1 - y)
    return score


def latest_responses(question: Ints, revealed: Floats, mark: float) -> Ints:
    """Return the last row of each question, if any, whose clue ends by a fraction of the question. GRACE fig. 5, table 2."""
    by_then = np.flatnonzero(revealed <= mark)
    return by_then[np.flatnonzero(np.diff(question[by_then], append=-1))]
