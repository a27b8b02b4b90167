"""Calibrated runs that are judged by a difficulty which comes from runs: slopes and slices that mean nothing, by simulation."""

from itertools import pairwise

import numpy as np

from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.engine.question_difficulties import UNITS, OtherRuns, RunShares
from clueline.queries.metrics import CATALOGUE
from clueline.queries.slices import THIRDS, adjusted_p_values, measure_parts
from tests.helpers.simulated_evidence import evidence_of
from tests.helpers.simulation import Measurement

SIZES, RUNS = (20, 60, 200), (3, 8, 20)
SLOPE = CATALOGUE["hard_easy_slope"]
OF_OTHERS, OF_ALL = "difficulty of other models", "difficulty of all runs, its own answers too"


def board(random, runs, questions):
    """Return confidence and correctness of calibrated runs that differ in ability and sharpness, (runs, questions) each."""
    ability, sharpness = np.linspace(-0.5, 1, runs)[:, None], np.linspace(0.5, 1.5, runs)[:, None]
    logit = ability + sharpness * 1.2 * random.normal(size=questions) + 0.6 * random.normal(size=(runs, questions))
    confidence = 1 / (1 + np.exp(-logit))
    return confidence, (random.random(logit.shape) < confidence).astype(float)


def constant_forecaster(random, runs, questions):
    """Return a board whose last run always states .5 and is right by chance, while the others find the same questions hard."""
    confidence, correct = board(random, runs - 1, questions)
    coin = random.random((1, questions)) < 0.5
    return np.vstack([confidence, np.full(questions, 0.5)]), np.vstack([correct, coin])


def difficulties(correct, run):
    """Return the difficulty of each question for a run, by the engine from other models, and from all runs, (questions,) each.

    Args:
        correct: correctness of each run, all of different models, shape (runs, questions).
        run: index of the run.
    """
    names = [f"r{index}" for index in range(len(correct))]
    places = np.arange(correct.shape[1])
    shares = {name: RunShares(places, (row * UNITS).astype(np.int64)) for name, row in zip(names, correct, strict=True)}
    models = dict(zip(names, names, strict=True))
    others = OtherRuns(len(places), models, names, {}, lambda wanted: [shares[name] for name in wanted])
    return {OF_OTHERS: others.difficulties(names[run]), OF_ALL: 1 - correct.mean(axis=0)}


def _claim(words, difficulty):
    return f"{words}, {difficulty}" if difficulty == OF_OTHERS else f"({words}, {difficulty})"


def difficulty_slopes(boards, seed, sizes=SIZES, runs=RUNS):
    """Measure how often the interval of the hard-easy slope of a calibrated run leaves out 0."""
    for questions in sizes:
        for count in runs:
            random, judged = np.random.default_rng((seed, questions, count)), []
            for _ in range(boards):
                confidence, correct = board(random, count, questions)
                run = random.integers(count)
                judged.append((confidence[run], correct[run], difficulties(correct, run)))
            confidence, correct = (np.array([row[part] for row in judged])[..., None] for part in (0, 1))
            for name in (OF_OTHERS, OF_ALL):
                evidence = evidence_of((confidence, correct, np.zeros_like(correct)))
                evidence.sums["difficulty"] = np.concatenate([row[2][name] for row in judged])
                ends = metric_intervals(evidence, SLOPE)
                share = ((ends.low > 0) | (ends.high < 0)).mean()
                claim = _claim("calibrated run: interval of the slope leaves out 0", name)
                yield Measurement(claim, f"{count} models, {questions} questions", SIGNIFICANCE, share, boards, "test")


def difficulty_slices(boards, seed, sizes=(60, 200), runs=(4, 8)):
    """Measure how often any run of a board has p < .05 on any third of difficulty, by overconfidence; all are calibrated."""
    for who, simulate in (("calibrated runs", board), ("with a constant forecaster", constant_forecaster)):
        for questions in sizes:
            for count in runs:
                random, significant = np.random.default_rng((seed, questions, count)), dict.fromkeys((OF_OTHERS, OF_ALL), 0)
                for _ in range(boards):
                    confidence, correct = simulate(random, count, questions)
                    by_run = [difficulties(correct, run) for run in range(count)]
                    for name in significant:
                        difficulty = np.array([of_run[name] for of_run in by_run]).T
                        significant[name] += _any_third_differs(confidence, correct, difficulty)
                for name, times in significant.items():
                    setting = f"{who}, {count} models, {questions} questions"
                    claim = _claim("slices: any third of difficulty differs", name)
                    yield Measurement(claim, setting, SIGNIFICANCE, times / boards, boards, "family of tests")


def _any_third_differs(confidence, correct, difficulty):
    """Check whether any adjusted p-value is below .05; difficulty has shape (questions, runs), the others the reverse."""
    thirds = [(difficulty >= low) & (difficulty <= high) for low, high in pairwise(THIRDS)]
    evidence = evidence_of(tuple(part[..., None] for part in (confidence, correct, np.zeros_like(correct))))
    adjusted = adjusted_p_values(measure_parts(evidence, CATALOGUE["overconfidence"], thirds, None))
    return bool((adjusted < SIGNIFICANCE).any())
