"""How often what the page Decide says is wrong, on simulated calibrated runs; the studies are like those of ``simulation``.

Confidences are spread over all of [0, 1], or high, so that wrong answers are rare. The clues of a question depend on each other.
"""

from itertools import product

import numpy as np

from clueline.data.recalibration_maps import FOLDS, folds_of_questions
from clueline.queries.decide import cross_fitted_rewards, rewards
from clueline.queries.engine import inference
from clueline.queries.engine.bootstrap import LEVEL, SIGNIFICANCE, resampling_weights
from clueline.queries.metrics.kernels.decisions import THRESHOLDS, best_thresholds, cell_totals, wrong_answer_costs
from tests.helpers.simulation import Measurement, Study

RANGES = {"0 to 1": (0.0, 1.0), ".8 to .99": (0.8, 0.99), ".95 to .99": (0.95, 0.99)}  # of the confidences
PLACES = np.array([50, 90, 97])  # thresholds that are looked at, in percent
COSTS = wrong_answer_costs()
RUNS = 8


def uniform(chance, questions, clues):
    """Return uniform numbers, shape (questions, clues), of which most are the same for all clues of a question."""
    shared = chance.random((questions, 1))
    return np.where(chance.random((questions, clues)) < 0.6, shared, chance.random((questions, clues)))


def calibrated(chance, stated, questions, clues):
    """Return confidence and correctness of a calibrated run, each of shape (questions, clues)."""
    low, high = RANGES[stated]
    confidence = low + (high - low) * uniform(chance, questions, clues)
    return confidence, (uniform(chance, questions, clues) < confidence).astype(float)


def above(confidence, correct):
    """Return sums of y and of 1 - y above each threshold by question, each of shape (questions, CELLS)."""
    group = np.repeat(np.arange(len(confidence)), confidence.shape[1])
    parts = (correct, 1 - correct)
    return tuple(cell_totals(part.ravel(), confidence.ravel(), group, len(confidence)) for part in parts)


def true_scores(stated):
    """Return the expected net score of a calibrated run at each cost if it answers above each threshold, (STEPS, CELLS)."""
    low, high = RANGES[stated]
    first, costs = np.clip(THRESHOLDS, low, high), COSTS[:, None]

    def integral(c):
        return c * c / 2 * (1 + costs) - costs * c

    return (integral(high) - integral(first)) / (high - low)


def intervals(earned, clues):
    """Return intervals at ``PLACES`` from rewards by question, shape (questions, STEPS), as the page Decide computes them."""
    items = np.full(len(earned), float(clues))
    return inference.bounded_mean_interval(earned[:, PLACES], items, -COSTS[PLACES], np.ones(len(PLACES)), clues)


def _each_setting(seed, sizes, clues):
    """Yield each setting in words, a random generator, and the arguments of ``calibrated`` and ``sharp_and_vague`` after it."""
    for stated, questions, count in product(RANGES, sizes, clues):
        name = f"{questions} questions, {count} clue{'s' * (count > 1)}, confidence {stated}"
        yield name, np.random.default_rng((seed, questions, count)), (stated, questions, count)


def net_score_intervals(boards, seed, sizes=(20, 60, 200), clues=(1, 5)):
    """Measure how often intervals of the net score contain the true value, and how wide they are in the mean."""
    for name, chance, setting in _each_setting(seed, sizes, clues):
        truth = np.diagonal(true_scores(setting[0]))[PLACES]
        covered, width = np.zeros((2, len(PLACES)))
        for _ in range(boards):
            low, high = intervals(rewards(*above(*calibrated(chance, *setting))), setting[2])
            covered += (low <= truth + 1e-12) & (truth - 1e-12 <= high)
            width += high - low
        for place, share, mean in zip(PLACES, covered / boards, width / boards, strict=True):
            words = f"t = {place / 100:g}, {name} (mean width {mean:.2f})"
            yield Measurement("interval of the net score", words, LEVEL, share, boards)


def own_threshold_intervals(boards, seed, sizes=(20, 60, 200), clues=(1, 5)):
    """Measure intervals of the net score at a run's own threshold: coverage, and how often they lie above the best there is.

    The true value is that of the thresholds that were chosen, each for its part of the questions. No threshold is better than the
    best one for the population.
    """
    for name, chance, setting in _each_setting(seed, sizes, clues):
        scores = true_scores(setting[0])
        best = scores.max(axis=1)[PLACES]
        covered, above_best = np.zeros((2, len(PLACES)))
        for _ in range(boards):
            right, wrong = above(*calibrated(chance, *setting))
            fold = folds_of_questions(len(right))
            others = (fold != np.arange(FOLDS)[:, None]).astype(float)
            chosen = best_thresholds(others @ right, others @ wrong)[:, fold]
            truth = np.take_along_axis(scores, chosen, axis=1).mean(axis=1)[PLACES]
            low, high = intervals(cross_fitted_rewards(right, wrong), setting[2])
            covered += (low <= truth + 1e-12) & (truth - 1e-12 <= high)
            above_best += low > best + 1e-12
        for place, share, wrongly in zip(PLACES, covered / boards, above_best / boards, strict=True):
            words = f"t = {place / 100:g}, {name}"
            yield Measurement("interval of the net score at the own threshold", words, LEVEL, share, boards)
            yield Measurement("lower end above the best net score there is", words, (1 - LEVEL) / 2, wrongly, boards, "test")


def own_threshold_bias(boards, seed, stated, questions, place):
    """Return the mean error of the net score at a run's own threshold against the best there is, if chosen and judged on the same
    questions, and if cross-fitted.
    """
    chance, best = np.random.default_rng((seed, questions)), true_scores(stated)[place].max()
    same, fitted = [], []
    for _ in range(boards):
        right, wrong = above(*calibrated(chance, stated, questions, 1))
        totals = right.sum(axis=0) - COSTS[place] * wrong.sum(axis=0)
        same.append(totals.max() / questions - best)
        fitted.append(cross_fitted_rewards(right, wrong)[:, place].mean() - best)
    return np.mean(same), np.mean(fitted)


# -- two runs ----------------------------------------------------------------------------------------------------------


def losses(confidence, correct):
    """Return elementary scores summed by question, shape (questions, CELLS)."""
    right, wrong = above(confidence, correct)
    return 2 * (THRESHOLDS * wrong + (1 - THRESHOLDS) * (correct.sum(axis=1)[:, None] - right))


def band(difference, clues):
    """Return the band of a difference of losses by question, as the page Decide computes it."""
    questions = len(difference)
    one_question = 2 * np.maximum(THRESHOLDS, 1 - THRESHOLDS) / questions
    draws = resampling_weights(questions).astype(float)
    return inference.simultaneous_band(difference, np.full(questions, float(clues)), draws, one_question)


def sharp_and_vague(chance, stated, questions, clues):
    """Return losses of two runs that are both calibrated and right equally often: one knows its chance, the other the mean."""
    low, high = RANGES[stated]
    true = low + (high - low) * uniform(chance, questions, clues)
    shared = uniform(chance, questions, clues)
    right = [
        (np.where(chance.random((questions, 1)) < 0.5, shared, uniform(chance, questions, clues)) < true).astype(float)
        for _ in range(2)
    ]
    return losses(true, right[0]), losses(np.full(true.shape, (low + high) / 2), right[1])


def true_difference(stated):
    """Return the expected loss of the sharp run minus that of the vague one at each threshold, shape (CELLS,)."""
    low, high = RANGES[stated]
    mean, first = (low + high) / 2, np.clip(THRESHOLDS, low, high)
    wrong = ((high - first) - (high**2 - first**2) / 2) / (high - low)
    missed = (first**2 - low**2) / 2 / (high - low)
    vague = np.where(mean > THRESHOLDS, THRESHOLDS * (1 - mean), (1 - THRESHOLDS) * mean)
    return 2 * (THRESHOLDS * wrong + (1 - THRESHOLDS) * missed - vague)


def verdicts(boards, seed, sizes=(20, 60, 200), clues=(1, 5)):
    """Measure how often a verdict claims anything false, of equal runs, the best two of eight, and a sharp and a vague run."""
    for words, chance, setting in _each_setting(seed, sizes, clues):
        truth = true_difference(setting[0])
        false = dict.fromkeys(("two equal runs", f"the best two of {RUNS} equal runs", "a sharp and a vague run"), 0)
        for _ in range(boards):
            runs = [losses(*calibrated(chance, *setting)) for _ in range(RUNS)]
            best = sorted(runs, key=lambda run: run.sum())  # the area below the curve is the Brier score
            sharp, vague = sharp_and_vague(chance, *setting)
            pairs = ((runs[0] - runs[1], 0.0), (best[0] - best[1], 0.0), (sharp - vague, truth))
            for name, (difference, true) in zip(false, pairs, strict=True):
                low, high = band(difference, setting[2])
                claimed = (low > 1e-12) & (true <= 1e-12) | (high < -1e-12) & (true >= -1e-12)
                false[name] += bool(claimed.any())
        for name, wrong in false.items():
            yield Measurement(f"verdict on {name} is false", words, SIGNIFICANCE, wrong / boards, boards, "family of tests")


def curve_bands(boards, seed, sizes=(20, 60, 200), clues=(1, 5)):
    """Measure how often the band contains the whole true difference of a sharp and a vague run."""
    for words, chance, setting in _each_setting(seed, sizes, clues):
        truth, held = true_difference(setting[0]), 0
        for _ in range(boards):
            sharp, vague = sharp_and_vague(chance, *setting)
            low, high = band(sharp - vague, setting[2])
            held += bool(((low - 1e-9 <= truth) & (truth <= high + 1e-9)).all())
        yield Measurement("band of the difference of two curves", f"sharp and vague, {words}", LEVEL, held / boards, boards)


STUDIES = (
    Study(net_score_intervals, 2000, "Intervals, of calibrated runs. A wrong answer costs t / (1 - t) right ones."),
    Study(own_threshold_intervals, 2000, "Intervals, and tests by their lower ends. The threshold is chosen on other questions."),
    Study(curve_bands, 2000, "Bands, which should contain the whole curve. Both runs are calibrated."),
    Study(verdicts, 1000, "Families of tests: whether the page Decide says anything false of any t. Runs are calibrated."),
)
