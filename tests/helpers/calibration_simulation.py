"""Simulated calibrated runs, and how often tests and bands say that they are not calibrated."""

from itertools import product

import numpy as np

from clueline.queries.metrics.kernels.calibration_tests import calibration_tests
from tests.helpers.simulation import Measurement, curve_in_band

RANGES = {"spread": (0.0, 1.0), "0.8 to 0.99": (0.8, 0.99), "0.95 to 0.99": (0.95, 0.99)}
SIZES = (20, 30, 60, 200)
IN_CLUSTER = 5  # questions


def calibrated_run(random, questions, clues, low, high, clustered=False):
    """Return confidence and correctness of the items of a calibrated run, shape (questions * clues,) each, and their clusters.

    Confidences between 0 and 1 are those of questions that are easier or harder; in a narrower range they are uniform. They have
    two decimals, as models state them. Whoever knows one clue of a question, or one question of a cluster, mostly knows the next.
    """
    if (low, high) == (0.0, 1.0):
        revealed = np.linspace(-1, 1, clues) if clues > 1 else np.zeros(1)
        logit = 1.3 * random.normal(size=(questions, 1)) + revealed + 0.4 * random.normal(size=(questions, clues))
        stated = 1 / (1 + np.exp(-logit))
    else:
        spread = (high - low) / 5 if clues > 1 else 0.0
        stated = random.uniform(low, high, (questions, 1)) + spread * random.normal(size=(questions, clues))
    confidence = np.clip(stated, low, high).round(2)
    cluster = np.arange(questions) // (IN_CLUSTER if clustered else 1)
    shared = random.random((cluster.max() + 1, 1))[cluster]
    threshold = np.where(random.random(confidence.shape) < 0.6, shared, random.random(confidence.shape))
    correct = (threshold < confidence).astype(float)
    return confidence.ravel(), correct.ravel(), np.repeat(cluster, clues)


def settings(sizes=SIZES, ranges=RANGES):
    """Yield every combination of confidences, questions, clues and clusters, with its name."""
    for name, questions, clues, clustered in product(ranges, sizes, (1, 5), (False, True)):
        words = f"confidence {name}, {questions} questions, {clues} clue{'s' * (clues > 1)}"
        words += f", clusters of {IN_CLUSTER} questions" if clustered else ""
        yield words, (questions, clues, *ranges[name], clustered)


def calibration_p_values(boards, seed, setting):
    """Return the p-values of the three tests for calibrated runs, shape (boards, 3)."""
    random = np.random.default_rng((seed, *(int(100 * value) for value in setting)))
    p_values = []
    for index in range(boards):
        confidence, correct, cluster = calibrated_run(random, *setting)
        p_values.append(calibration_tests(confidence, correct, cluster, int(cluster.max()) + 1, index))
    return np.array(p_values)


def false_alarms(boards, seed, sizes=SIZES, ranges=RANGES):
    """Measure how often the test of calibration that rejects most has p <= .05, by setting."""
    for words, setting in settings(sizes, ranges):
        rejected = (calibration_p_values(boards, seed, setting) <= 0.05).mean(axis=0)
        yield Measurement("calibrated run: p <= .05 in the worst of three tests", words, 0.05, rejected.max(), boards, "test")


def whole_curves(boards, seed, sizes=SIZES, ranges=RANGES):
    """Measure how often the simultaneous consistency band holds the whole isotonic curve of a calibrated run, by setting."""
    for words, setting in settings(sizes, ranges):
        questions, clues, *_, clustered = setting
        if clustered:
            continue  # the band knows questions only
        random = np.random.default_rng((seed, *(int(100 * value) for value in setting)))
        runs = (calibrated_run(random, *setting)[:2] for _ in range(boards))
        inside = [curve_in_band(*run, np.full(questions, clues), index, True).all() for index, run in enumerate(runs)]
        yield Measurement("simultaneous consistency band", words, 0.9, np.mean(inside), boards)
