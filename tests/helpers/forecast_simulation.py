"""Forecasts of a known accuracy: whether what is said of the likelier side holds, by simulation."""

import numpy as np

from clueline.queries.engine.bootstrap import LEVEL
from clueline.queries.engine.intervals_and_difference_tests import MEAN_CORRECTNESS, metric_intervals
from clueline.queries.metrics import CATALOGUE, Conventions
from tests.helpers.simulated_evidence import evidence_of
from tests.helpers.simulation import Measurement

FORECASTS = Conventions(forecasts=True)
ACCURACY = 0.74
LOWEST, HIGHEST = 0.5, 0.98  # confidence in the likelier side, uniform between these
BASE_RATES = (0.453, 0.1)  # share of yes
TOGETHER = 100  # simulated forecasters at a time


def forecasts(random, forecasters, questions, base_rate):
    """Return the probability of yes, shape (forecasters, questions), and the outcomes, of the same shape.

    Each forecaster names the side that came true with probability ``ACCURACY``, as confident when wrong as when right.
    """
    outcome = (random.random((forecasters, questions)) < base_rate).astype(float)
    confidence = random.uniform(LOWEST, HIGHEST, outcome.shape)
    names_yes = (random.random(outcome.shape) < ACCURACY) == (outcome == 1)
    return np.where(names_yes, confidence, 1 - confidence), outcome


def true_values():
    """Return the true value of each metric, from the moments of the confidence; none of them depends on the base rate."""
    mean, second = (LOWEST + HIGHEST) / 2, (HIGHEST**3 - LOWEST**3) / (3 * (HIGHEST - LOWEST))
    return {
        "accuracy": ACCURACY,
        "net_score": ACCURACY - (1 - ACCURACY),  # at t = .5 every likelier side is answered
        "brier": second - 2 * ACCURACY * mean + ACCURACY,
    }


def forecast_intervals(runs, seed, sizes=(20, 30, 60, 200), base_rates=BASE_RATES):
    """Measure how often intervals of forecasts contain the true value, and how far the mean of the values is from it.

    In brackets is the accuracy that counts a forecast as the answer yes.
    """
    true = true_values()
    for base_rate in base_rates:
        for questions in sizes:
            random = np.random.default_rng((seed, questions, round(1000 * base_rate)))
            held, values = dict.fromkeys((*true, "yes"), 0), dict.fromkeys((*true, "yes"), 0.0)
            for _ in range(runs // TOGETHER):
                probability, outcome = forecasts(random, TOGETHER, questions, base_rate)
                arrays = tuple(part[..., None] for part in (probability, outcome, np.zeros_like(outcome)))
                evidence = evidence_of(arrays, FORECASTS)
                for key in held:
                    metric, truth = (MEAN_CORRECTNESS, ACCURACY) if key == "yes" else (CATALOGUE[key], true[key])
                    ends = metric_intervals(evidence, metric)
                    held[key] += int(((ends.low <= truth + 1e-9) & (truth - 1e-9 <= ends.high)).sum())
                    values[key] += evidence.values(metric).sum()
            total = runs // TOGETHER * TOGETHER
            for key, count in held.items():
                claim, name = ("(interval of forecasts)", "accuracy of yes") if key == "yes" else ("interval of forecasts", key)
                truth = true.get(key, ACCURACY)
                setting = f"{name}, {questions} questions, {base_rate:.0%} yes: true {truth:.3f}, mean {values[key] / total:.3f}"
                yield Measurement(claim, setting, LEVEL, count / total, total)
