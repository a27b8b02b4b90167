"""Prediction-powered inference: the mean of a grade that people gave to few answers, and an erring judge to all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit  # of a t distribution; scipy.stats is slow to load

from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE, Floats, Ints


class PredictionPowered(NamedTuple):
    """An estimate with its interval. ``tuning`` is the weight of the judge, from 0 (only people count) to 1."""

    value: float
    low: float
    high: float
    tuning: float


def prediction_powered_mean(
    judged: Floats,
    items: Floats,
    drawn: Ints,
    graded: Floats,
    judged_drawn: Floats,
    items_drawn: Floats,
    one_error: float,
    level: float,
    never_right: Floats | float = 0.0,
) -> PredictionPowered:
    """Estimate a mean over items, of which a random sample was graded by people, and all by a judge that errs.

    The judge's mean is corrected by the mean error on the sample. The weight of the judge makes the variance smallest, and is
    limited to [0, 1]: it is near 0 where the judge says nothing. Questions are the clusters, both in the sample and beyond it.
    The variance counts one more error of the judge than the sample has, because few errors show too little of it.

    Args:
        judged: sum over the items of each question of the value by the judge's grades, shape (questions,).
        items: number of items of each question, shape (questions,).
        drawn: indices of the questions of which one item was drawn at random, shape (n,), at least two.
        graded: value of the drawn item by people's grade, multiplied by the number of items from which it was drawn, shape (n,);
            0 where the mean leaves the drawn item out.
        judged_drawn: the same by the judge's grade, shape (n,).
        items_drawn: the number of items from which it was drawn, 0 where the mean leaves the drawn item out, shape (n,).
        one_error: by how much an error of the judge typically changes ``graded``, at least 0; see ``typical_error``.
        level: nominal coverage, in (0, 1).
        never_right: number of further items of each question with value 0, on which no judge errs, shape (questions,).

    Source: Angelopoulos et al. 2023 (prediction-powered inference); Angelopoulos, Duchi & Zrnic 2023 (PPI++), sec. 6, for the
    tuning. The questions that were not drawn are the unlabelled data. ``tests/statistics`` simulates the coverage.
    """
    questions, sample = len(judged), len(drawn)
    others, share = questions - sample, sample / questions
    rest = np.ones(questions, dtype=bool)
    rest[drawn] = False
    # Relative to people's mean on the sample, the number of items of a question hardly matters.
    centre = float(graded.sum() / items_drawn.sum())
    judged, graded, judged_drawn = (
        values - centre * count for values, count in ((judged, items), (graded, items_drawn), (judged_drawn, items_drawn))
    )

    def variance(values: Floats) -> float:
        return float(values.var(ddof=1)) if len(values) > 1 else 0.0

    # The estimate is a mean over the sample plus a sum over the other questions, which are independent.
    contrast = judged_drawn - share * judged[drawn]
    spread = variance(contrast) + sample * others / questions**2 * variance(judged[rest])
    tuning = float(np.clip(np.cov(graded, contrast)[0, 1] / spread, 0.0, 1.0)) if spread > ROUNDING_TOLERANCE else 0.0
    below = centre * (never_right + np.zeros(questions))  # by how much these items are below the centre
    per_question = float((items + never_right).mean())
    change = (float((tuning * judged - below).mean()) + float((graded - tuning * judged_drawn).mean())) / per_question
    of_all = tuning * judged - below - change * (items + never_right)
    of_sample = graded - tuning * judged_drawn + share * of_all[drawn]
    squares = variance(of_sample) * (sample - 1) + one_error**2
    error = np.sqrt(squares / (sample - 1) / sample + others / questions**2 * variance(of_all[rest])) / per_question
    # Drawn items of questions with many stand for many items: few of these among many others are as if few were drawn.
    effective = float(items_drawn.sum() ** 2 / (items_drawn**2).sum())
    margin = float(stdtrit(max(effective - 1, 1.0), (1 + level) / 2)) * float(error)
    mean = centre + change
    return PredictionPowered(mean, mean - margin, mean + margin, tuning)


def typical_error(per_error: Floats, items_drawn: Floats) -> float:
    """Return by how much an error of the judge on a typical answer changes what ``prediction_powered_mean`` calls ``graded``.

    A typical answer is one of all, so it is in a question with many. ``per_error`` is the change by an error on each drawn item,
    multiplied by ``items_drawn``, the number of items from which it was drawn, shape (n,) each.

    >>> typical_error(np.array([1.0, 1.0, 1.0, 9.0]), np.array([1.0, 1.0, 1.0, 9.0]))
    7.0
    """
    return float(np.sqrt((per_error**2).sum() * (items_drawn**2).sum()) / items_drawn.sum())


def with_questions_of_zeros(estimate: PredictionPowered, items: Floats, zeros: Floats, level: float) -> PredictionPowered:
    """Extend an estimate to further questions of which every item has value 0, whoever grades it.

    Args:
        estimate: over the other questions.
        items: number of items of each of the other questions, shape (questions,).
        zeros: number of items of each further question, shape (further,).
        level: nominal coverage, in (0, 1).

    Returns:
        The mean over the items of all questions. Its variance adds that of the share of the other questions (delta method).
    """
    if not zeros.any():
        return estimate
    total, questions = items.sum() + zeros.sum(), len(items) + len(zeros)
    share = items.sum() / total
    influence = np.append((1 - share) * items, -share * zeros)
    error = np.sqrt(questions * influence.var(ddof=1)) / total
    margin = float(stdtrit(questions - 1, (1 + level) / 2) * error * abs(estimate.value))
    value = float(share * estimate.value)
    low, high = (float(np.hypot(share * (end - estimate.value), margin)) for end in (estimate.low, estimate.high))
    return PredictionPowered(value, value - low, value + high, estimate.tuning)
