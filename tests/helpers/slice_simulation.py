"""Parts of the questions against the whole, or against another run: whether their intervals hold, by simulation."""

from itertools import product

import numpy as np

from clueline.queries.engine.bootstrap import LEVEL, SIGNIFICANCE
from clueline.queries.metrics import CATALOGUE
from clueline.queries.slices import MIN_QUESTIONS, adjusted_p_values, measure_parts
from tests.helpers.few_errors_simulation import CONFIDENCES, simulated_runs
from tests.helpers.simulated_evidence import evidence_of
from tests.helpers.simulation import Measurement, board, words

ELSEWHERE, IN_SLICE = 0.2, 0.8  # overconfidence of a run, on the log-odds scale
TOGETHER = 40  # simulated boards of two runs at a time
REPLICATES = 400
TRUTH = 100_000  # questions from which true values are computed
KEYS = ("accuracy", "brier", "overconfidence")
AGAINST = ("the whole", "another run")


SURER_REST = ((100, 10), (300, 30), (1000, 50))  # questions, and how many of these are in the part
IN_PART, IN_REST = (0.6, 0.8), 0.97  # confidences


def slices(boards, seed, sizes=(60, 120), clues=(1, 5), runs=8):
    """Measure how often any part of any run is called different, for equal runs and arbitrary parts."""
    for questions, count in product(sizes, clues):
        random = np.random.default_rng((seed, questions, count))
        hits = dict.fromkeys((True, False), 0)
        for _ in range(boards):
            confidence, correct = board(random, runs, questions, count)
            category, third = random.integers(0, 6, questions), random.integers(0, 3, questions)
            parts = [category == k for k in range(6)] + [third == k for k in range(3)]
            parts += [(category == k) & (third == j) for k in range(6) for j in range(3)]
            large = [part[:, None] for part in parts if part.sum() >= MIN_QUESTIONS]
            evidence = evidence_of((confidence, correct, np.zeros_like(correct)))
            for whole in hits:
                against = None if whole else np.zeros(runs, dtype=int)
                measured = measure_parts(evidence, CATALOGUE["brier"], large, against)
                hits[whole] += bool((adjusted_p_values(measured) < SIGNIFICANCE).any())
        setting = words(questions, count, f"{len(large)} parts", f"{runs} runs")
        for whole, other in ((True, "the whole"), (False, "another run's")):
            claim = f"slices: any part differs from {other}"
            yield Measurement(claim, setting, SIGNIFICANCE, hits[whole] / boards, boards, "family of tests")


def surer_rest(boards, seed, settings=SURER_REST, key="overconfidence"):
    """Measure how often a part of a calibrated run differs from the whole with p < .05, where the rest varies much less."""
    for questions, part in settings:
        random = np.random.default_rng((seed, questions))
        confidence = np.full((boards, questions), IN_REST)
        confidence[:, :part] = random.uniform(*IN_PART, (boards, part))
        correct = (random.random(confidence.shape) < confidence).astype(float)
        evidence = evidence_of(tuple(array[..., None] for array in (confidence, correct, np.zeros_like(correct))))
        measured = measure_parts(evidence, CATALOGUE[key], [(np.arange(questions) < part)[:, None]], None)
        share = float((measured.p_values[measured.testable] < SIGNIFICANCE).mean())
        setting = f"{key}, {part} of {questions} questions at .6 to .8, the rest at .97"
        yield Measurement("slices: a part of a calibrated run, p < .05", setting, SIGNIFICANCE, share, boards, "test")


def five_categories(boards, seed, questions=300, runs=4):
    """Measure how often any of five categories of any calibrated run is called different."""
    random, hits = np.random.default_rng(seed), 0
    for _ in range(boards):
        confidence = random.beta(4, 1.5, (runs, questions))
        correct = (random.random(confidence.shape) < confidence).astype(float)
        category = random.integers(0, 5, questions)
        evidence = evidence_of(tuple(array[..., None] for array in (confidence, correct, np.zeros_like(correct))))
        masks = [(category == k)[:, None] for k in range(5)]
        measured = measure_parts(evidence, CATALOGUE["overconfidence"], masks, None)
        hits += bool((adjusted_p_values(measured) < SIGNIFICANCE).any())
    setting = f"overconfidence, five categories, {questions} questions, {runs} calibrated runs"
    yield Measurement("slices: any part differs from the whole", setting, SIGNIFICANCE, hits / boards, boards, "family of tests")


def _surer(random, questions, clues):
    """Return confidence and correctness, (2, questions, clues), of runs of which only the first is surer in the slice."""

    def part(count, shift):
        confidence, correct = board(random, 2, count, clues, shift)
        odds = confidence[1] / (1 - confidence[1]) * np.exp(ELSEWHERE - shift)
        confidence[1] = odds / (1 + odds)
        return confidence, correct

    return part(questions[0], IN_SLICE), part(questions[1], ELSEWHERE)


def _with_few_errors(stated):
    """Return the same of runs that are seldom wrong; the other one is as sure as the first, but also right 4 % less often."""

    def simulate(random, questions, clues):
        parts = []
        for count in questions:
            confidence, correct, _ = simulated_runs(random, 2, count, clues, stated, together=2)
            correct[1] *= random.random(correct[1].shape) < 0.96
            parts.append((confidence, correct))
        return parts

    return simulate


RUNS = {
    CONFIDENCES[0].name: _surer,
    CONFIDENCES[1].name: _with_few_errors(CONFIDENCES[1]),
    CONFIDENCES[2].name: _with_few_errors(CONFIDENCES[2]),
}


def _evidence(boards):
    """Return evidence of boards of two parts, whose runs are neighbours."""
    confidence, correct = (
        np.concatenate([np.concatenate([part[column] for part in parts], axis=1) for parts in boards]) for column in (0, 1)
    )
    return evidence_of((confidence, correct, np.zeros_like(correct)))


def _differences(evidence, key, inside):
    """Return what ``measure_parts`` says of a part, against the whole and against the neighbour, by name."""
    neighbour = np.arange(len(evidence.runs)) ^ 1
    return {
        name: measure_parts(evidence, CATALOGUE[key], [inside[:, None]], against)
        for name, against in zip(AGAINST, (None, neighbour), strict=True)
    }


def slice_intervals(boards, seed, sizes=(8, 20), outside=60, clues=(1, 5), runs=tuple(RUNS), keys=KEYS):
    """Measure how often intervals of the difference between a slice and the whole, or another run there, contain the true one.

    Undefined intervals claim nothing. That of bootstrap percentiles, which is too narrow for few questions, is measured for
    comparison, by the Brier score.
    """
    for name in runs:
        simulate = RUNS[name]
        for count in clues:
            for questions in sizes:
                share = questions / (questions + outside)
                truth = _truth(simulate, np.random.default_rng((seed, 2)), share, count, keys)
                random = np.random.default_rng((seed, questions, count))
                held, width, known = (dict.fromkeys(truth, 0.0) for _ in range(3))
                by_percentiles = dict.fromkeys(AGAINST, 0)
                inside = np.arange(questions + outside) < questions
                for _ in range(boards // TOGETHER):
                    simulated = [simulate(random, (questions, outside), count) for _ in range(TOGETHER)]
                    evidence = _evidence(simulated)
                    for key in keys:
                        for against, measured in _differences(evidence, key, inside).items():
                            low, high = measured.low[0, ::2], measured.high[0, ::2]  # of the first run of each board
                            defined, true = measured.testable[0, ::2], truth[key, against]
                            held[key, against] += ((low - 1e-9 <= true) & (true <= high + 1e-9))[defined].sum()
                            width[key, against] += (high - low)[defined].sum()
                            known[key, against] += defined.sum()
                    for parts in simulated:
                        for against, (low, high) in _percentiles(random, parts).items():
                            by_percentiles[against] += bool(low <= truth["brier", against] <= high)
                total = boards // TOGETHER * TOGETHER
                for (key, against), defined in known.items():
                    setting = f"{key} against {against}, {questions} questions, {count} clue{'s' * (count > 1)}, {name}"
                    mean = f"mean width {width[key, against] / defined:.2f}"
                    if defined < total:
                        mean += f", {1 - defined / total:.0%} without"
                    covered = held[key, against] / defined
                    yield Measurement("interval of a slice", f"{setting} ({mean})", LEVEL, covered, int(defined))
                    if key == "brier":
                        share_held = by_percentiles[against] / total
                        yield Measurement("(by bootstrap percentiles)", setting, LEVEL, share_held, total)


def _truth(simulate, random, share, clues, keys):
    """Return the true differences by metric and what the slice is compared with, if it has a share of the questions."""
    sizes = round(share * TRUTH), TRUTH - round(share * TRUTH)
    evidence = _evidence([simulate(random, sizes, clues)])
    inside = evidence.select_rows(evidence.places < sizes[0])
    truth = {}
    for key in keys:
        metric = CATALOGUE[key]
        (first, second), whole = inside.values(metric), evidence.values(metric)[0]
        turn = -1 if metric.direction == "higher" else 1
        truth |= {(key, "the whole"): turn * (first - whole), (key, "another run"): turn * (first - second)}
    return truth


def _percentiles(random, parts):
    """Return percentile intervals of the differences in the Brier score by the bootstrap, by what the slice is compared with."""
    scores = np.concatenate([((confidence - correct) ** 2).mean(axis=-1) for confidence, correct in parts], axis=1).T
    questions, total = parts[0][0].shape[1], len(scores)
    weights = random.multinomial(total, [1 / total] * total, size=REPLICATES).astype(float)
    drawn = weights[:, :questions] @ scores[:questions] / np.maximum(weights[:, :questions].sum(axis=1), 1)[:, None]
    replicates = {AGAINST[0]: (drawn - weights @ scores / total)[:, 0], AGAINST[1]: drawn[:, 0] - drawn[:, 1]}
    return {against: np.quantile(values, [0.025, 0.975]) for against, values in replicates.items()}
