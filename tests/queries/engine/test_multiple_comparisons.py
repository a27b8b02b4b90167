"""Letters and tests of many comparisons, against definitions and by hand; ``tests/statistics`` simulates them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.engine.inference import FLIPS
from queries.engine.multiple_comparisons import compact_letters, flips_within, permuted_labels_test, sign_flips_test
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


def test_letters_need_not_be_contiguous_in_rank():
    # The second differs from both neighbours, which do not differ from each other.
    different = np.array([[False, True, False], [True, False, True], [False, True, False]])
    assert compact_letters(different, [0, 1, 2]) == [[1], [2], [1]]


# -- flips and permutations --------------------------------------------------------------------------------------------


def test_permutations_find_a_part_that_differs():
    random = np.random.default_rng(3)
    scores = random.normal(size=(90, 3))
    parts = np.array([np.arange(90) < 30, np.arange(90) % 2 == 0])
    scores[:30, 1] += 1.5
    testable = np.ones((2, 3), bool)
    testable[1, 2] = False
    raw, adjusted = permuted_labels_test(scores, parts, testable, flips=999)
    assert (raw[0, 1], adjusted[0, 1]) == (0.001, 0.001)
    assert math.isnan(raw[1, 2]) and math.isnan(adjusted[1, 2])
    assert (adjusted[testable] >= raw[testable]).all()
    assert adjusted[1].max(initial=0, where=testable[1]) > 0.05


def test_sign_flips_of_all_signs():
    """With few questions, the share of all sign patterns is known."""
    scores = np.array([[0.3], [0.2], [0.4], [0.1]])
    raw, adjusted = sign_flips_test(scores, np.ones((1, 4), bool), np.ones((1, 1), bool), flips=4999)
    assert raw[0, 0] == adjusted[0, 0] == pytest.approx(2 / 16, abs=0.02)


def test_nothing_to_test_has_no_p_values():
    raw, adjusted = permuted_labels_test(np.zeros((10, 2)), np.ones((1, 10), bool), np.zeros((1, 2), bool), flips=20)
    assert np.isnan(raw).all() and np.isnan(adjusted).all()


@pytest.mark.parametrize("work", [1, 10**6, 10**9, 10**13])
def test_flips_are_bounded_by_their_work(work):
    assert 199 <= flips_within(work) <= FLIPS - 1
    assert flips_within(work) == 199 or work * flips_within(work) <= 4_000_000_000
