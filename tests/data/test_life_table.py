"""The life table, and LifeEval's probabilities from it."""

import numpy as np
import pytest

from clueline.data.life_table import LAST_AGE, RADII, SEXES, best_guess, death_probabilities, probability_within, survivors

ANCHORS = [
    ("male", 30, 78, [0.053226, 0.264526, 0.520079, 0.860209]),
    ("female", 65, 86, [0.084682, 0.409616, 0.730001, 0.987851]),
]


@pytest.mark.parametrize(("sex", "age", "guess", "values"), ANCHORS)
def test_probabilities_at_known_points(sex, age, guess, values):
    assert probability_within(guess, RADII, age, sex) == pytest.approx(values, abs=1e-6)


@pytest.mark.parametrize("sex", SEXES)
def test_death_probabilities_and_survivors(sex):
    q, alive = death_probabilities(sex), survivors(sex)
    assert q.shape == (120,) and alive.shape == (121,)
    assert ((q > 0) & (q <= 1)).all() and q[LAST_AGE] == 1
    assert alive[0] == 1 and alive[-1] == 0 and (np.diff(alive) < 0).all()


@pytest.mark.parametrize(
    ("age", "sex", "guess", "radius"),
    [(0, "male", 76, 1), (30, "female", 82.5, 5), (90, "male", 91, 10), (100, "female", 150, 20)],
)
def test_probabilities_are_sums_over_ages(age, sex, guess, radius):
    q = death_probabilities(sex)
    low, high = int(np.floor(guess - radius)), int(np.ceil(guess + radius))
    total, alive = 0.0, 1.0
    for i in range(age, 120):
        total += alive * q[i] if low <= i < high else 0.0
        alive *= 1 - q[i]
    assert probability_within(guess, radius, age, sex) == pytest.approx(total, abs=1e-12)


def test_limits():
    assert probability_within(60, 120, 0, "male") == pytest.approx(1)
    assert probability_within([-50, 500, 1e5], 20, 0, "male") == pytest.approx([0, 0, 0])
    assert probability_within(40, 5, 60, "male") == 0  # they have already lived longer
    closed = probability_within(78, 1, 30, "male", closed=True) - probability_within(78, 1, 30, "male")
    assert closed == pytest.approx(survivors("male")[79] / survivors("male")[30] * death_probabilities("male")[79])
    with pytest.raises(ValueError, match="minimum_age"):
        probability_within(78, 1, 120, "male")
    with pytest.raises(ValueError, match="male, female"):
        death_probabilities("other")


def test_best_guess_is_best_and_the_youngest_where_tied():
    for radius in RADII:
        age, mas = best_guess(radius, 40, "female")
        p = probability_within(np.arange(200), radius, 40, "female")
        assert mas == p.max() and age == int(np.flatnonzero(p == p.max())[0])


def test_mean_of_the_808_questions():
    mas = {radius: [best_guess(radius, age, sex)[1] for sex in SEXES for age in range(101)] for radius in RADII}
    assert [np.mean(mas[radius]) for radius in RADII] == pytest.approx([0.1311, 0.4832, 0.7310, 0.9343], abs=5e-5)
    assert np.mean(list(mas.values())) == pytest.approx(0.5699, abs=5e-5)
