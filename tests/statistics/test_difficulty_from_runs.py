"""Slopes on difficulty that comes from runs: calibrated runs that know hard from easy have none."""

import numpy as np
import pytest
from scipy.stats import linregress

from queries.engine.inference import jackknife_t_interval
from queries.engine.multiple_comparisons import permuted_labels_test
from queries.engine.question_difficulties import UNITS, OtherRuns, RunShares

BOARDS = 300


def board(random, runs, questions):
    """Return confidence and correctness of calibrated runs that differ in ability and sharpness, (runs, questions) each."""
    ability, sharpness = np.linspace(-0.5, 1, runs)[:, None], np.linspace(0.5, 1.5, runs)[:, None]
    logit = ability + sharpness * 1.2 * random.normal(size=questions) + 0.6 * random.normal(size=(runs, questions))
    confidence = 1 / (1 + np.exp(-logit))
    return confidence, (random.random(logit.shape) < confidence).astype(float)


def from_others(correct, run):
    names = [f"r{index}" for index in range(len(correct))]
    places = np.arange(correct.shape[1])
    shares = {name: RunShares(places, (row * UNITS).astype(np.int64)) for name, row in zip(names, correct, strict=True)}
    models = dict(zip(names, names, strict=True))
    others = OtherRuns(len(places), models, names, {}, lambda wanted: [shares[name] for name in wanted])
    return others.difficulties(names[run])


def has_slope(difficulty, gap):
    questions, slope = len(gap), linregress(difficulty, gap).slope
    x, y = difficulty, gap
    n, sx, sy, xx, xy = questions - 1, x.sum() - x, y.sum() - y, x @ x - x * x, x @ y - x * y
    low, high = jackknife_t_interval(slope, questions * slope - n * (n * xy - sx * sy) / (n * xx - sx**2))
    return not low <= 0 <= high


@pytest.mark.parametrize("questions", [60, 200])
@pytest.mark.parametrize("runs", [3, 8, 20])
def test_calibrated_runs_have_no_slope(runs, questions):
    random = np.random.default_rng((runs, questions))
    by_others, own = 0, 0
    for _ in range(BOARDS):
        confidence, correct = board(random, runs, questions)
        run = random.integers(runs)
        gap = confidence[run] - correct[run]
        by_others += has_slope(from_others(correct, run), gap)
        own += has_slope(1 - correct.mean(axis=0), gap)
    noise = 3.3 * np.sqrt(0.06 * 0.94 / BOARDS)
    assert by_others / BOARDS <= 0.06 + noise
    assert own / BOARDS > 0.06 + noise, "made of its own answers too, difficulty gives calibrated runs a slope"


@pytest.mark.parametrize(("runs", "questions"), [(4, 60), (4, 200), (8, 60)])
def test_constant_forecasters_have_no_significant_slice(runs, questions):
    """One run states one confidence and is right by chance; the others find the same questions hard."""
    random, thirds = np.random.default_rng((5, runs, questions)), [(0, 0.33), (0.33, 0.67), (0.67, 1)]
    by_others = own = 0
    for number in range(BOARDS):
        correct = np.vstack([board(random, runs - 1, questions)[1], random.random(questions) < 0.5])
        gap = 0.5 - correct[-1:].T
        for counted, difficulty in ((True, from_others(correct, runs - 1)), (False, 1 - correct.mean(axis=0))):
            parts = np.array([(difficulty >= low) & (difficulty <= high) for low, high in thirds])
            testable = ((parts.sum(axis=1) >= 8) & (questions - parts.sum(axis=1) >= 8))[:, None]
            if testable.any():
                significant = np.nanmin(permuted_labels_test(gap, parts, testable, number, 199)[1]) < 0.05
                by_others, own = by_others + (counted and significant), own + (not counted and significant)
    noise = 3.3 * np.sqrt(0.06 * 0.94 / BOARDS)
    assert by_others / BOARDS <= 0.06 + noise
    assert own / BOARDS > 0.06 + noise, "made of its own answers too, difficulty makes its slices significant"
