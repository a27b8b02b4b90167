"""Curves, hulls, score parts and calibration tests shown next to the reliability diagrams."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from clueline.queries.engine.gather import gather
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics.kernels import calibration_tests as kernel
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from clueline.queries.metrics.kernels.calibration_tests import calibration_line, calibration_tests
from clueline.queries.metrics.kernels.ece_variants import smooth_curve, smooth_ece
from clueline.queries.reliability import SCORE_METRICS, triptych
from clueline.queries.selection import Selection
from tests.helpers import calibration_simulation

PYRAMID = Selection("pyramid")


@pytest.fixture(scope="module")
def result(bundled):
    return triptych(bundled, PYRAMID)


@pytest.fixture(scope="module")
def items(bundled):
    evidence = gather(bundled, PYRAMID, SCORE_METRICS)
    return [evidence.items_of(index) for index in range(len(evidence.runs))]


def test_the_parts_are_those_of_the_leaderboard(bundled, result):
    assert triptych(bundled, PYRAMID.replace(q="zzzz")).runs == []
    board = leaderboard(bundled, PYRAMID, SCORE_METRICS, True)
    for row, run in zip(board.rows, result.runs, strict=True):
        values = [row.metrics[metric.key].value for metric in SCORE_METRICS]
        assert values == [run.brier, run.mcb, run.dsc, run.unc, run.auroc, run.smooth_ece]
        assert run.brier == pytest.approx(run.mcb - run.dsc + run.unc, abs=1e-12)
        assert np.mean(run.murphy) == pytest.approx(run.brier, abs=0.01)  # on a grid; test_decisions tests it exactly
        for key in ("mcb", "dsc"):
            part = row.metrics[f"corp_{key}"]
            assert [part.low, part.high] == [getattr(run, f"{key}_low"), getattr(run, f"{key}_high")]
            assert part.low <= part.value <= part.high and part.low < part.high


def test_roc_curves_count_what_is_above_each_confidence(result, items):
    for run, (confidence, correct) in zip(result.runs, items, strict=True):
        expected = [(0.0, 0.0)]
        for least in np.unique(confidence)[::-1]:
            expected.append((np.mean(confidence[correct == 0] >= least), np.mean(confidence[correct == 1] >= least)))
        assert np.array(run.roc) == pytest.approx(np.array(expected), abs=1e-12)
        area = np.trapezoid(*np.array(run.roc).T[::-1])
        assert area == pytest.approx(run.auroc, abs=1e-12)


def test_hulls_are_those_of_scipy(result):
    for run in result.runs:
        points = np.array([*run.roc, (1.0, 0.0)])
        corners = {tuple(point) for point in points[ConvexHull(points).vertices].round(9).tolist()} - {(1.0, 0.0)}
        hull = {tuple(point) for point in np.array(run.hull).round(9).tolist()}
        assert corners <= hull
        x, y = np.array(run.hull).T
        slopes = np.diff(y) / np.where(np.diff(x) > 0, np.diff(x), 1e-12)
        assert (np.diff(slopes) <= 1e-9 * np.abs(slopes[:-1])).all()


def test_histograms_are_shares(result, items):
    for run, (confidence, correct) in zip(result.runs, items, strict=True):
        assert sum(run.right) == pytest.approx(1) and sum(run.wrong) == pytest.approx(1)
        sure = confidence >= 0.5
        assert sum(run.right[10:]) == pytest.approx(correct[sure].sum() / correct.sum())


def test_the_smooth_diagram_is_near_what_was_drawn():
    chance = np.random.default_rng(2)
    confidence = np.sort(chance.random(20_000))
    correct = (chance.random(20_000) < confidence**2).astype(float)
    (width,) = smooth_ece(confidence, correct, ItemWeights.equal(20_000))
    stated, accuracy, density = smooth_curve(confidence, correct, width)
    inside = (stated > 0.2) & (stated < 0.8)
    assert inside.sum() > 50 and np.abs(accuracy - stated**2)[inside].max() < 0.05
    assert density[inside] == pytest.approx(1, abs=0.1)


# -- tests of calibration ----------------------------------------------------------------------------------------------


def test_spiegelhalter_is_near_the_textbook():
    chance = np.random.default_rng(3)
    confidence = chance.random(2000)
    correct = (chance.random(2000) < np.clip(confidence + 0.02, 0, 1)).astype(float)
    ours = calibration_tests(confidence, correct, np.arange(2000), 2000, 1).spiegelhalter
    slope = 1 - 2 * confidence
    z = ((correct - confidence) * slope).sum() / np.sqrt((slope**2 * confidence * (1 - confidence)).sum())
    assert ours == pytest.approx(2 * norm.sf(abs(z)), abs=0.02)


def statistics_of(confidence, residual):
    """Return Spiegelhalter's, Kuiper's and the Kolmogorov-Smirnov statistic, written out."""
    walk = [0.0, *(residual[confidence <= edge].sum() for edge in np.unique(confidence))]
    return abs((residual * (1 - 2 * confidence)).sum()), max(walk) - min(walk), max(abs(step) for step in walk)


def test_p_values_are_shares_of_calibrated_runs():
    """By enumeration of all outcomes of six independent items."""
    confidence, correct = np.array([0.2, 0.2, 0.6, 0.7, 0.9, 0.9]), np.array([0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    observed, chances = statistics_of(confidence, correct - confidence), np.zeros(3)
    for outcome in np.array(list(product([0.0, 1.0], repeat=6))):
        reached = np.array(statistics_of(confidence, outcome - confidence)) >= np.array(observed) - 1e-9
        chances += reached * np.where(outcome == 1, confidence, 1 - confidence).prod()
    assert calibration_tests(confidence, correct, np.arange(6), 6, 7) == pytest.approx(tuple(chances), abs=0.05)


@pytest.mark.parametrize("items", [2_001, 20_000])
def test_many_items_have_the_p_values_of_simulated_items(items, monkeypatch):
    chance = np.random.default_rng(items)
    confidence = chance.random(items)
    correct = (chance.random(items) < confidence + 0.01).astype(float)
    drawn = calibration_tests(confidence, correct, np.arange(items), items, 7)
    monkeypatch.setattr(kernel, "ITEM_BY_ITEM", items)
    assert drawn == pytest.approx(calibration_tests(confidence, correct, np.arange(items), items, 8), abs=0.06)


def test_graded_answers_have_sign_flips_of_questions():
    confidence = np.array([0.2, 0.2, 0.6, 0.9, 0.9])
    correct, question = np.array([0.0, 0.5, 0.0, 0.0, 1.0]), np.array([0, 1, 0, 1, 2])
    observed = statistics_of(confidence, correct - confidence)
    flips = np.array(list(product([-1.0, 1.0], repeat=3)))
    flipped = [statistics_of(confidence, (correct - confidence) * signs[question]) for signs in flips]
    expected = (np.array(flipped) >= np.array(observed) - 1e-12).mean(axis=0)
    assert calibration_tests(confidence, correct, question, 3, 7) == pytest.approx(tuple(expected), abs=0.05)


@pytest.mark.parametrize("clues", [1, 5])
def test_a_calibrated_run_without_errors_is_not_rejected(clues):
    confidence, question = np.full(30 * clues, 0.97), np.repeat(np.arange(30), clues)
    assert min(calibration_tests(confidence, np.ones(30 * clues), question, 30, 1)) > 0.05
    wrong = np.where(np.arange(30) < 20, 1.0, 0.0)[question]
    assert max(calibration_tests(confidence, wrong, question, 30, 1)) < 0.01


def test_repeats_of_an_answer_say_nothing_new():
    chance = np.random.default_rng(5)
    confidence = chance.uniform(0.5, 1.0, 60).round(2)
    correct = (chance.random(60) < confidence - 0.15).astype(float)
    once = calibration_tests(confidence, correct, np.arange(60), 60, 1)
    repeated = calibration_tests(np.repeat(confidence, 8), np.repeat(correct, 8), np.repeat(np.arange(60), 8), 60, 1)
    assert repeated == pytest.approx(once, abs=0.05) and once.ks < 0.1


def test_impossible_answers_are_rejected():
    stated = np.array([0.0, 1.0])
    assert calibration_tests(stated, np.array([0.0, 1.0]), np.arange(2), 2, 1) == (1.0, 1.0, 1.0)
    assert max(calibration_tests(stated, np.array([1.0, 0.0]), np.arange(2), 2, 1)) < 0.002


def test_calibrated_runs_with_rare_errors_are_seldom_rejected():
    name = "0.95 to 0.99"
    ranges = {name: calibration_simulation.RANGES[name]}
    for measurement in calibration_simulation.false_alarms(400, 3, sizes=(30,), ranges=ranges):
        assert measurement.measured <= 0.06 + measurement.noise, measurement


def test_an_uncalibrated_run_is_detected(result):
    worst = max(result.runs, key=lambda run: run.mcb)
    assert worst.p_kuiper < 0.01 and worst.p_ks < 0.01
    alone = calibration_tests(np.array([0.5, 0.6]), np.array([1.0, 0.0]), np.zeros(2, int), 1, 1)
    assert np.isnan(alone).all()


def test_the_calibration_line_is_that_of_scikit_learn():
    chance = np.random.default_rng(6)
    confidence = chance.random(3000).clip(0.001, 0.999)
    correct = (chance.random(3000) < expit(0.7 * logit(confidence) - 0.4)).astype(float)
    line = calibration_line(confidence, correct, np.arange(3000), 3000)
    fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(logit(confidence)[:, None], correct)
    assert line.slope == pytest.approx(fit.coef_[0, 0], abs=1e-5)
    # With a slope of 1, the expected number of right answers is the observed one.
    assert expit(logit(confidence) + line.intercept).sum() == pytest.approx(correct.sum(), abs=1e-6)
    assert line.slope_low < 0.7 < line.slope_high and line.intercept_high < 0
    # For independent items, the sandwich estimate is close to the inverse of the curvature.
    p = fit.predict_proba(logit(confidence)[:, None])[:, 1]
    x = np.column_stack([logit(confidence), np.ones(3000)])
    error = np.sqrt(np.linalg.inv(x.T @ (x * (p * (1 - p))[:, None]))[0, 0])
    assert (line.slope_high - line.slope_low) / 3.92 == pytest.approx(error, rel=0.1)


def test_copies_of_a_question_add_no_information():
    chance = np.random.default_rng(8)
    confidence = chance.random(80)
    correct = (chance.random(80) < confidence).astype(float)
    once = calibration_line(confidence, correct, np.arange(80), 80)
    thrice = calibration_line(np.tile(confidence, 3), np.tile(correct, 3), np.tile(np.arange(80), 3), 80)
    assert thrice == pytest.approx(once, abs=1e-7)


def test_there_is_no_interval_without_width():
    """Where confidences are the chances of being right, as the optimum's of LifeEval, nothing varies between questions.

    Where confidence separates the answers, there is no slope either.
    """
    separated = calibration_line(np.array([0.2, 0.3, 0.8]), np.array([0.0, 0.0, 1.0]), np.arange(3), 3)
    assert np.isnan(separated.slope) and np.isfinite(separated.intercept)
    assert np.isnan(calibration_line(np.array([0.2, 0.8]), np.ones(2), np.arange(2), 2)).all()
    chance = np.linspace(0.1, 0.9, 40)
    line = calibration_line(chance.round(4), chance, np.arange(40), 40)
    assert (line.slope, line.intercept) == pytest.approx((1, 0), abs=1e-3)
    assert np.isnan([line.slope_low, line.slope_high, line.intercept_low, line.intercept_high]).all()
