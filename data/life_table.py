"""Death probabilities of the U.S. period life table 2022, and LifeEval's scores from them.

Source of the figures: Social Security Administration, Office of the Chief Actuary, table 4c6 of the 2025 Trustees Report
(public domain), stored in ``facts/life_table_2022.csv``: q_x, the probability that a person aged x dies before x + 1.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

FACTS = Path(__file__).parent / "facts" / "life_table_2022.csv"
SEXES = ("male", "female")
RADII = (1, 5, 10, 20)
LAST_AGE = 119  # its q is 1: nobody in the table reaches 120


@cache
def death_probabilities(sex: str) -> NDArray[np.float64]:
    """Return q_x by age 0..119 for ``male`` or ``female``, shape (120,), each in [0, 1]."""
    if sex not in SEXES:
        raise ValueError(f"sex must be one of {', '.join(SEXES)}, not {sex!r}")
    with FACTS.open(encoding="ascii", newline="") as lines:
        return np.array([float(row[sex]) for row in csv.DictReader(lines)])


@cache
def survivors(sex: str) -> NDArray[np.float64]:
    """Return the share of newborns alive at each birthday 0..120, shape (121,), from 1 down to 0."""
    return np.concatenate([[1.0], np.cumprod(1.0 - death_probabilities(sex))])


def probability_within(
    guess: ArrayLike, radius: ArrayLike, minimum_age: ArrayLike, sex: str, *, closed: bool = False
) -> NDArray[np.float64]:
    """Return the probability that a person dies within ``radius`` years of the age ``guess``: in [0, 1], of the broadcast shape.

    p(k, r | a, s) = sum of S_i(a, s) q_i(s) over the ages i >= a in [k - r, k + r); if k is not an integer, the bounds are
    floor(k - r) and ceil(k + r). LifeEval (arXiv 2605.23909) eq. 3. The paper prints both ends as included, which ``closed=True``
    reproduces, but its published values come from the half-open interval.

    k is the guess and r the radius, in years. a is ``minimum_age``, 0 to 119: the person has reached this birthday.

    >>> round(float(probability_within(85, 10, 60, "female")), 3)
    0.691
    """
    alive = survivors(sex)
    k, r, a = np.broadcast_arrays(np.asarray(guess, float), np.asarray(radius, float), np.asarray(minimum_age, int))
    if a.size and not 0 <= a.min() <= a.max() <= LAST_AGE:
        raise ValueError(f"minimum_age must lie in 0..{LAST_AGE}, not {minimum_age!r}")
    top = len(alive) - 1
    low = np.clip(np.floor(k - r), a, top).astype(int)
    high = np.clip(np.ceil(k + r) + (1 if closed else 0), a, top).astype(int)
    probability: NDArray[np.float64] = (alive[low] - alive[high]) / alive[a]
    return probability


def best_guess(radius: int, minimum_age: int, sex: str) -> tuple[int, float]:
    """Return the integer age with the highest probability and that probability, MAS (LifeEval sec. 3); the youngest if tied."""
    ages = np.arange(LAST_AGE + 2)
    p = probability_within(ages, radius, minimum_age, sex)
    best = int(np.argmax(p))
    return best, float(p[best])
