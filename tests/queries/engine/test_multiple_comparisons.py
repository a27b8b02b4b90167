"""Letters and tests of many comparisons, against definitions and hand-worked values; ``tests/statistics`` simulates them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.queries.engine.multiple_comparisons import compact_letters, permuted_labels_test, sign_flips_test
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


# -- flips and permutations --------------------------------------------------------------------------------------------


def test_permutations_find_a_part_that_differs():
    random = np.random.default_rng(3)
    scores = random.normal(size=(90, 3))
    parts = np.array([np.arange(90) < 30, np.arange(90) % 2 == 0])
    scores[:30, 1] += 1.5
    testable = np.ones((2, 3), bool)
    testable[1, 2] = False
    raw, adjusted = permuted_labels_test(scores, parts, testable, flips=999)
    assert (raw[0, 1], adjusted[0, 1]) == (1 / 1080, 1 / 1080)  # 12 orders of 90 questions
    assert math.isnan(raw[1, 2]) and math.isnan(adjusted[1, 2])
    assert (adjusted[testable] >= raw[testable]).all()
    assert adjusted[1].max(initial=0, where=testable[1]) > 0.05


def overlapping_parts(random, questions):
    """Return masks of questions: categories, levels, both together, all questions and none."""
    category, level = random.integers(4, size=questions), random.integers(3, size=questions)
    parts = [category == k for k in range(4)] + [level == k for k in range(3)]
    return np.array([*parts, *(parts[0] & other for other in parts[4:]), np.ones(questions, bool), np.zeros(questions, bool)])


@pytest.mark.parametrize(("flips", "block", "shifts"), [(99, 1, 61), (9, 6, 10)])
def test_sums_over_parts_are_those_of_single_questions(flips, block, shifts):
    """Shifts are correlated by Fourier transforms, signs are those of Walsh functions; here each part adds up its questions."""
    random = np.random.default_rng(8)
    parts, scores = overlapping_parts(random, 61), random.normal(size=(61, 5))
    scores[random.random(scores.shape) < 0.1] = np.nan
    testable = np.ones((len(parts), 5), bool)
    testable[[-1, -2]] = False

    def p_values(statistics):
        reached = statistics[1:] >= statistics[0] - 1e-9
        largest = np.where(testable, statistics, -np.inf)[1:].max(axis=(1, 2))
        adjusted = (1 + (largest[:, None, None] >= statistics[0] - 1e-9).sum(axis=0)) / len(statistics)
        return [np.where(testable, values, np.nan) for values in ((1 + reached.sum(axis=0)) / len(statistics), adjusted)]

    mean = np.nanmean(scores, axis=0)
    centred = np.nan_to_num(scores - mean)
    unit = centred / np.sqrt((centred**2).sum(axis=0) / 60)
    inside = parts.sum(axis=1)
    with np.errstate(divide="ignore"):
        scale = np.where(inside * (61 - inside) > 0, 1 / np.sqrt(inside * (61 - inside) / 61), 0)
    chance = np.random.default_rng((5, 61))
    whole = chance.permutation(61)
    first, fixed = whole[: block * shifts], whole[block * shifts :]
    moved = [first] if flips < 61 else [first, chance.permutation(first)]
    shifted = [np.roll(order, -shift * block) for order in moved for shift in range(shifts)]
    orders = [np.append(order, fixed)[np.argsort(whole)] for order in shifted]
    assert (orders[0] == np.arange(61)).all() and len(orders) > flips
    weighted = list(zip(scale, parts, strict=True))
    permuted = np.array([[f * np.abs(unit[order][part].sum(axis=0)) for f, part in weighted] for order in orders])
    assert np.allclose(permuted_labels_test(scores, parts, testable, 5, flips), p_values(permuted), equal_nan=True)

    chance = np.random.default_rng((5, 61))
    known = np.nan_to_num(scores)
    function = chance.integers(128, size=61)
    signs = [np.array([(-1.0) ** (pattern & own).bit_count() for own in function.tolist()]) for pattern in range(128)]
    size = [np.sqrt((known[part] ** 2).sum(axis=0)) for part in parts]
    flipped = np.array([[abs((sign[part, None] * known[part]).sum(axis=0)) / np.where(f > 0, f, np.inf)
                         for f, part in zip(size, parts, strict=True)] for sign in signs])  # fmt: skip
    assert np.allclose(sign_flips_test(scores, parts, testable, 5, 99), p_values(flipped), equal_nan=True)


def test_nothing_to_test_has_no_p_values():
    raw, adjusted = permuted_labels_test(np.zeros((10, 2)), np.ones((1, 10), bool), np.zeros((1, 2), bool), flips=20)
    assert np.isnan(raw).all() and np.isnan(adjusted).all()
