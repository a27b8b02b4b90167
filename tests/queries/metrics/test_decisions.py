"""Decision curves against their definitions, a library and the Brier score that they add up to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_diagnostics.scoring import ElementaryScore

from clueline.queries.metrics.kernels.decisions import (
    THRESHOLDS,
    answered,
    best_thresholds,
    cell_totals,
    murphy_curve,
    wrong_answer_costs,
)
from clueline.queries.metrics.kernels.selective import risk_at
from tests.helpers.examples import examples

CONFIDENCE = st.integers(0, 100).map(lambda k: k / 100) | st.floats(0, 1)
ITEMS = st.lists(st.tuples(CONFIDENCE, st.sampled_from([0.0, 1.0, 0.25])), min_size=1, max_size=30)


def by_confidence(items):
    return np.array(sorted(items), float).T


@examples(60)
@given(items=ITEMS)
def test_the_area_below_a_murphy_curve_is_the_brier_score(items):
    confidence, correct = by_confidence(items)
    edges = np.unique([0.0, *confidence, 1.0])
    # The curve is straight between confidences, so the area there is the width times the value in the middle.
    area = np.diff(edges) @ murphy_curve((edges[1:] + edges[:-1]) / 2, confidence, correct)
    assert area == pytest.approx(((confidence - correct) ** 2 + correct * (1 - correct)).mean(), abs=1e-12)


def test_model_diagnostics_has_the_same_elementary_score():
    chance = np.random.default_rng(4)
    confidence = np.sort(chance.random(300).round(2))
    correct = (chance.random(300) < confidence).astype(float)
    thresholds = THRESHOLDS[:-1] + 0.005  # between confidences: the library counts a confidence equal to t as an answer
    expected = [2 * ElementaryScore(t, functional="mean")(correct, confidence) for t in thresholds]
    assert murphy_curve(thresholds, confidence, correct) == pytest.approx(expected, abs=1e-12)


@examples(60)
@given(items=ITEMS)
def test_cells_add_up_to_what_is_answered(items):
    confidence, correct = by_confidence(items)
    group = np.arange(len(confidence)) % 3
    for values, expected in zip((correct, 1 - correct), answered(THRESHOLDS, confidence, correct), strict=True):
        cells = cell_totals(values, confidence, group, 3)
        assert cells.sum(axis=0) == pytest.approx(expected, abs=1e-12)
        by_hand = [[values[(group == g) & (confidence > t)].sum() for t in THRESHOLDS] for g in range(3)]
        assert cells == pytest.approx(np.array(by_hand), abs=1e-12)


def test_a_calibrated_run_does_best_at_t_itself():
    stated = np.repeat(np.arange(101) / 100, 100)
    right = np.concatenate([np.arange(100) < percent for percent in range(101)]).astype(float)
    above = answered(THRESHOLDS, stated, right)
    best = best_thresholds(*above)
    # At t, answers of confidence t earn nothing and cost nothing.
    at_t = [
        np.where(stated > t, right - cost * (1 - right), 0).sum()
        for t, cost in zip(THRESHOLDS, wrong_answer_costs(), strict=False)
    ]
    earned = above[0][best] - wrong_answer_costs() * above[1][best]
    assert earned == pytest.approx(at_t, abs=1e-6)
    assert np.abs(THRESHOLDS[best] - THRESHOLDS[:-1]).max() <= 0.01 + 1e-12


@examples(60)
@given(items=ITEMS)
def test_risk_at_full_coverage_is_the_error(items):
    confidence, correct = by_confidence(items)
    half, whole = risk_at(np.array([0.5, 1.0]), confidence, correct)
    assert whole == pytest.approx(1 - correct.mean(), abs=1e-12)
    tied = np.array([(1 - correct[confidence == c]).mean() for c in confidence])[::-1]  # the mean over orders of a tie
    taken = np.clip(len(items) / 2 - np.arange(len(items)), 0, 1)
    assert half == pytest.approx(tied @ taken / taken.sum(), abs=1e-12)
