"""Letters and tests of many comparisons, against definitions and hand-worked values; ``tests/statistics`` simulates them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.queries.engine.multiple_comparisons import adjusted_for_all, compact_letters
from tests.helpers.examples import examples

# -- letters -----------------------------------------------------------------------------------------------------------


@st.composite
def boards(draw):
    runs = draw(st.integers(0, 9))
    pairs = [*itertools.combinations(range(runs), 2)]
    different = np.zeros((runs, runs), bool)
    for (a, b), apart in zip(pairs, draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs))), strict=True):
        different[a, b] = different[b, a] = apart
    order = draw(st.permutations(range(runs)))
    return different, order[: draw(st.integers(0, runs))]


@examples(200)
@given(boards())
def test_two_runs_share_a_letter_exactly_if_they_do_not_differ(board):
    different, order = board
    letters = compact_letters(different, order)
    for a, b in itertools.combinations(order, 2):
        assert bool({*letters[a]} & {*letters[b]}) != different[a, b]
    assert all(letters[run] for run in order)
    assert all(not letters[run] for run in range(len(different)) if run not in order)
    groups = [{run for run in order if number in letters[run]} for number in {*itertools.chain(*letters)}]
    assert not any(group < other for group, other in itertools.permutations(groups, 2)), "a letter that says nothing"
    if order:
        assert 1 in letters[order[0]], "the best run has the first letter"


# -- many tests at once ------------------------------------------------------------------------------------------------


def test_independent_tests_are_adjusted_as_by_sidak():
    influences = np.eye(40)[:, :8]
    p_values = np.array([0.001, 0.004, 0.01, 0.03, 0.1, 0.3, 0.8, math.nan])
    adjusted = adjusted_for_all(p_values, influences)
    assert adjusted[:7] == pytest.approx(1 - (1 - p_values[:7]) ** 7, abs=0.025)
    assert math.isnan(adjusted[7])


def test_copies_of_a_test_cost_nothing():
    influences = np.repeat(np.random.default_rng(1).normal(size=(200, 1)), 30, axis=1) * np.linspace(-5, 5, 30)
    p_values = np.linspace(0.01, 0.9, 30)
    assert adjusted_for_all(p_values, influences) == pytest.approx(p_values, abs=0.025)


def test_parts_that_overlap_cost_less_than_those_that_do_not():
    units = np.arange(120)
    apart = np.stack([units // 12 == part for part in range(10)], axis=1).astype(float)
    nested = np.stack([units < 60 + part for part in range(10)], axis=1).astype(float)
    smallest = np.full(10, 0.01)
    assert 0.01 <= adjusted_for_all(smallest, nested)[0] < 0.03 < 0.07 < adjusted_for_all(smallest, apart)[0] < 0.12


def test_no_adjusted_p_value_is_below_its_own():
    random = np.random.default_rng(3)
    p_values = random.random(50) ** 4
    adjusted = adjusted_for_all(p_values, random.normal(size=(30, 50)), draws=99)
    assert (adjusted >= p_values).all() and (adjusted <= 1).all() and (adjusted >= 0.01).all()
    assert (np.diff(adjusted[np.argsort(p_values)]) >= 0).all()


def test_nothing_to_test_has_no_p_values():
    assert np.isnan(adjusted_for_all(np.full(3, np.nan), np.zeros((10, 3)))).all()
    assert adjusted_for_all(np.zeros(0), np.zeros((10, 0))).shape == (0,)
