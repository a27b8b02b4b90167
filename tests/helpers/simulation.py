"""Boards of simulated runs, and how often conclusions from them are wrong.

Each study yields ``Measurement`` rows: what was claimed, over how many simulated boards, and how often it held. The tests run a
short form; ``benchmarks/inference.py`` runs the long one and writes the table.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal, NamedTuple

import numpy as np

from clueline.queries.engine import bootstrap, inference
from clueline.queries.engine.bootstrap import LEVEL, SIGNIFICANCE
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.engine.multiple_comparisons import compact_letters, holm
from clueline.queries.metrics import VARIANTS
from clueline.queries.metrics.kernels.bins import FOLDS, ece, ece_cross_fitted
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from clueline.queries.metrics.kernels.ece_variants import SCRIPT_BIN
from clueline.queries.metrics.kernels.isotonic_regression import confidence_levels, consistency_band, isotonic
from tests.helpers.simulated_evidence import evidence_of

BINS = 10
REPLICATES = 400
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
TRUTH = 200_000  # number of questions from which a run's true values are computed


Kind = Literal["coverage", "test", "family of tests"]


@dataclass(frozen=True)
class Measurement:
    """One claim, measured.

    Attributes:
        study: what was simulated; in brackets if it is a rule that is not used, for comparison.
        setting: questions, clues and the like.
        nominal: the claimed level.
        measured: the share of boards in which the claim held.
        boards: number of simulated boards.
        kind: what is claimed: that intervals contain the truth at least this often, that a test rejects at most this often what
            is true, or that any of several tests does.
    """

    study: str
    setting: str
    nominal: float
    measured: float
    boards: int
    kind: Kind = "coverage"

    @property
    def limit(self):
        """Return the worst share that is good enough.

        It is 2 points below nominal for intervals, .06 for a test at .05, and .07 for several tests at .05.
        """
        if self.kind == "coverage":
            return round(self.nominal - 0.02, 6)
        return round(min(self.nominal + 0.01, 1.2 * self.nominal) if self.kind == "test" else 1.4 * self.nominal, 6)

    @property
    def missed(self):
        """Whether the share is worse than the limit; beyond two standard errors, unless it is of several tests."""
        beyond = 2 * np.sqrt(self.limit * (1 - self.limit) / self.boards)
        if self.kind == "coverage":
            return self.measured < self.limit - beyond
        return self.measured > self.limit + (beyond if self.kind == "test" else 0.0)

    @property
    def noise(self):
        """Return half the width of a 99.9 % interval of a share whose true value is ``nominal``."""
        return 3.3 * np.sqrt(self.nominal * (1 - self.nominal) / self.boards)


class Study(NamedTuple):
    """What ``benchmarks/inference.py`` measures.

    Attributes:
        simulate: function of a number of boards, or of runs, and a seed.
        number: of boards, or of runs, of each setting.
        about: one or more sentences.
    """

    simulate: Callable[[int, int], Iterable[Measurement]]
    number: int
    about: str


def board(random, runs, questions, clues, shift=0.0):
    """Return confidence and correctness of equally good runs, each of shape (runs, questions, clues).

    The runs share the ease of each question, and whoever knows one clue mostly knows the next. Confidence is calibrated if
    ``shift`` is 0; otherwise it is too high by ``shift`` on the log-odds scale.
    """
    ease = 1.2 * random.normal(size=(1, questions, 1)) + 0.6 * random.normal(size=(runs, questions, 1))
    revealed = np.linspace(-1, 1, clues) if clues > 1 else np.zeros(1)
    logit = ease + revealed + 0.4 * random.normal(size=(runs, questions, clues))
    shared = random.random((runs, questions, 1))
    threshold = np.where(random.random(logit.shape) < 0.6, shared, random.random(logit.shape))
    correct = (threshold < 1 / (1 + np.exp(-logit))).astype(float)
    return 1 / (1 + np.exp(-(logit + shift))), correct


def words(questions, clues, *more, first=()):
    """Return a setting in words."""
    return ", ".join([*first, f"{questions} questions", f"{clues} clue{'s' * (clues > 1)}", *more])


def bins_of(confidence):
    return np.minimum((confidence * BINS).astype(int), BINS - 1)


def binned(confidence, correct, cells=BINS):
    """Return residual c - y and number of items of each question and bin, each of shape (questions, cells)."""
    questions = len(confidence)
    bins = np.minimum((confidence * cells).astype(int), cells - 1)
    place = (np.arange(questions)[:, None] * cells + bins).ravel()
    residual = np.bincount(place, (confidence - correct).ravel(), questions * cells)
    return residual.reshape(questions, cells), np.bincount(place, minlength=questions * cells).reshape(questions, cells)


def hmr(items, confidence, correct, both):
    """Return the harmonic mean reward, computed from sums."""
    wrong, right = items - correct, correct
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.where(wrong > 0, 1 - (confidence - both) / wrong, 1.0)
        under = np.where(right > 0, 1 - (correct - both) / right, 1.0)
        return np.where(over + under > 0, 2 * over * under / (over + under), 0.0)


def sums(confidence, correct):
    """Return the sums per question from which ``hmr`` and others are computed, shape (4, ..., questions)."""
    return np.stack([np.ones_like(confidence), confidence, correct, confidence * correct]).sum(axis=-1)


def pseudo_values_of_hmr(columns):
    """Return jackknife pseudo-values, shape (questions, ...), of columns of shape (4, ..., questions)."""
    questions = columns.shape[-1]
    without = np.moveaxis(columns.sum(axis=-1)[..., None] - columns, -1, 1)
    return questions * hmr(*columns.sum(axis=-1)) - (questions - 1) * hmr(*without)


METRICS = {
    "Brier": lambda c, y: (((c - y) ** 2).mean(axis=-1), None),
    "accuracy": lambda c, y: (y.mean(axis=-1), None),
    "HMR": lambda c, y: (None, sums(c, y)),
}


def jackknife_t_test(estimate, pseudo_values):
    """Return the p-value of a difference; ``metric_intervals.difference_tests`` does the same for many pairs at once."""
    questions = np.isfinite(pseudo_values).sum(axis=0)
    return inference.t_test(estimate, inference.standard_error(pseudo_values), questions)


def equal_run_p_values(boards, seed, questions, clues):
    """Return p-values of two equal runs by each metric, each of shape (boards,)."""
    random = np.random.default_rng((seed, questions, clues))
    p_values = {name: np.empty(boards) for name in METRICS}
    for index in range(boards):
        c, y = board(random, 2, questions, clues)
        for name, metric in METRICS.items():
            means, columns = metric(c, y)
            if columns is None:
                difference = means[0] - means[1]
                estimate = difference.mean()
            else:
                values, pseudo_values = hmr(*columns.sum(axis=-1)), pseudo_values_of_hmr(columns)
                estimate, difference = values[0] - values[1], pseudo_values[:, 0] - pseudo_values[:, 1]
            p_values[name][index] = jackknife_t_test(np.asarray(estimate), difference)
    return p_values


def pair_p_values(boards, seed, sizes=(3, 8, 20, 60), clues=(1, 5)):
    """Measure how often p < .05 and p < .01 for two equal runs."""
    for questions, count in product(sizes, clues):
        for name, values in equal_run_p_values(boards, seed, questions, count).items():
            for level in (0.05, 0.01):
                share, claim = (values < level).mean(), f"two equal runs: p < {level:.2f}".replace("0.", ".")
                yield Measurement(claim, words(questions, count, first=[name]), level, share, boards, "test")


def uniform_p_values(boards, seed, questions=200, clues=(1, 5)):
    """Measure how often the p-value of two equal runs is below each of several levels. If it is uniform, these shares agree."""
    for count in clues:
        for name, values in equal_run_p_values(boards, seed, questions, count).items():
            for level in LEVELS:
                claim, setting = f"p-values are uniform: p < {level:g}", words(questions, count, first=[name])
                yield Measurement(claim, setting, level, (values < level).mean(), boards, "test")


def _intervals_of_brier_and_hmr(claim, boards, seed, sizes, clues, method):
    """Measure how often intervals contain the true values. ``method(questions)`` returns what computes them of one run."""
    for count in clues:
        c, y = board(np.random.default_rng((seed, 1)), 1, TRUTH, count, 0.4)
        true = {"Brier": ((c - y) ** 2).mean(), "HMR": hmr(*sums(c, y).sum(axis=-1))[0]}
        for questions in sizes:
            random, hits = np.random.default_rng((seed, questions, count)), dict.fromkeys(true, 0)
            intervals = method(questions)
            for _ in range(boards):
                c, y = board(random, 1, questions, count, 0.4)
                for name, (low, high) in intervals(((c - y) ** 2).mean(axis=-1)[0], sums(c, y)[:, 0]).items():
                    hits[name] += bool(low <= true[name] <= high)
            for name, hit in hits.items():
                yield Measurement(claim, words(questions, count, first=[name]), 0.95, hit / boards, boards)


def bootstrap_intervals(boards, seed, sizes=(60, 200), clues=(1, 5)):
    """Measure how often a 95 % percentile interval of the bootstrap contains the true value."""

    def method(questions):
        weights = bootstrap.resampling_weights(questions).astype(float)

        def intervals(brier, columns):
            replicates = {"Brier": weights @ brier / questions, "HMR": hmr(*(weights @ columns.T).T)}
            ends = {name: bootstrap.percentile_interval(values[:, None])[:2] for name, values in replicates.items()}
            return {name: (low[0], high[0]) for name, (low, high) in ends.items()}

        return intervals

    return _intervals_of_brier_and_hmr("bootstrap interval", boards, seed, sizes, clues, method)


def jackknife_intervals(boards, seed, sizes=(30, 60, 200), clues=(1, 5)):
    """Measure how often a 95 % jackknife-t interval contains the true value."""

    def intervals(brier, columns):
        return {
            "Brier": inference.jackknife_t_interval(np.asarray(brier.mean()), brier),
            "HMR": inference.jackknife_t_interval(np.asarray(hmr(*columns.sum(axis=-1))), pseudo_values_of_hmr(columns)),
        }

    return _intervals_of_brier_and_hmr("jackknife-t interval", boards, seed, sizes, clues, lambda questions: intervals)


def distances(residual, items):
    """Return ECE and reliability from totals per bin, shape (..., bins)."""
    count = items.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.where(items > 0, residual**2 / items, 0.0).sum(axis=-1)
    return {"sum": np.abs(residual).sum(axis=-1) / count, "square": squares / count}


def calibration_intervals(boards, seed, sizes=(30, 60, 200), clues=(1, 5), shifts=(0.0, 0.2, 0.7)):
    """Measure how often the intervals of ECE and reliability contain the true value, for calibrated runs and others."""
    names = {"sum": "ECE", "square": "reliability"}
    for count in clues:
        for shift in shifts:
            c, y = board(np.random.default_rng((seed, 1)), 1, TRUTH, count, shift)
            residual, items = binned(c[0], y[0])
            true = distances(residual.sum(axis=0), items.sum(axis=0)) if shift else {"sum": 0.0, "square": 0.0}
            for questions in sizes:
                random = np.random.default_rng((seed, questions, count, int(10 * shift)))
                hits = dict.fromkeys(names, 0)
                for _ in range(boards):
                    c, y = board(random, 1, questions, count, shift)
                    residual, items = binned(c[0], y[0])
                    total, filled = residual.sum(axis=0), items.sum(axis=0)
                    weights = random.multinomial(questions, [1 / questions] * questions, size=REPLICATES)
                    drawn, drawn_items = weights @ residual, weights @ items
                    estimate, replicates = distances(total, filled), distances(drawn, drawn_items)
                    for kind in names:
                        step = inference.step_length(questions, kind)
                        longer = distances(total + step * (drawn - total), filled if step > 1 else drawn_items)[kind]
                        p_value = inference.calibration_test(residual[:, None], filled[None], kind, flips=400)
                        low, high = inference.distance_interval(
                            np.atleast_1d(estimate[kind]), replicates[kind][:, None], longer[:, None], step, p_value
                        )
                        hits[kind] += bool(low[0] <= true[kind] <= high[0])
                for kind, name in names.items():
                    setting = words(questions, count, f"true value {true[kind]:.3f}", first=[name])
                    yield Measurement("interval of a distance from calibration", setting, 0.95, hits[kind] / boards, boards)


def reliability_bins(boards, seed, sizes=(30, 60, 200), clues=(1, 5)):
    """Measure how often the interval of a bin's accuracy contains the true one, over all bins with items."""
    for count in clues:
        c, y = board(np.random.default_rng((seed, 1)), 1, TRUTH, count, 0.4)
        bins = bins_of(c)
        true = np.array([y[bins == k].mean() for k in range(BINS)])
        for questions in sizes:
            random = np.random.default_rng((seed, questions, count))
            hit = filled = flat = 0
            for _ in range(boards):
                c, y = (part[0] for part in board(random, 1, questions, count, 0.4))
                bins = bins_of(c)
                for k in np.unique(bins):
                    inside = bins == k
                    items, accuracy = float(inside.sum()), y[inside].mean()
                    heard = inside.any(axis=1).sum()
                    spread = ((inside * (y - accuracy)).sum(axis=1) ** 2).sum() / items**2 * heard / max(heard - 1, 1)
                    effective = inference.effective_items(*map(np.asarray, (items, accuracy * items, spread, float(heard))))
                    low, high = inference.wilson_interval(np.asarray(accuracy), effective)
                    hit, filled, flat = hit + (low <= true[k] <= high), filled + 1, flat + (high - low < 1e-6)
            assert flat == 0, "an interval has no width"
            setting = words(questions, count)
            yield Measurement("interval of a bin of a reliability diagram", setting, 0.95, hit / filled, filled)


@dataclass(frozen=True)
class Estimates:
    """Calibration errors of many simulated runs.

    Attributes:
        questions, clues: numbers of questions and clues of each run.
        truth: the error of a run with infinitely many questions.
        totals: number of items, sum of confidence and sum of correctness by fold and bin, shape (3, boards, FOLDS, BINS).
        plain, debiased: plain and cross-fitted ECE, shape (boards,).
    """

    questions: int
    clues: int
    truth: float
    totals: np.ndarray
    plain: np.ndarray
    debiased: np.ndarray


def calibration_errors(boards, seed, shift, sizes=(30, 60, 200), clues=(1, 5)):
    """Compute ECE and its cross-fitted form for single runs that are too confident by ``shift`` on the log-odds scale."""
    for count in clues:
        c, y = board(np.random.default_rng((seed, 1)), 1, TRUTH, count, shift)
        bins = bins_of(c).ravel()
        truth = np.abs(np.bincount(bins, (c - y).ravel())).sum() / c.size if shift else 0.0
        for questions in sizes:
            random = np.random.default_rng((seed, questions, count))
            totals = np.zeros((3, boards, FOLDS, BINS))
            fold = np.arange(questions) % FOLDS
            for index in range(boards):
                c, y = (part[0] for part in board(random, 1, questions, count, shift))
                place = (fold[:, None] * BINS + bins_of(c)).ravel()
                for total, values in zip(totals, (np.ones_like(c), c, y), strict=True):
                    total[index] = np.bincount(place, values.ravel(), FOLDS * BINS).reshape(FOLDS, BINS)
            items, confidence, correct = totals
            plain = ece(*totals.sum(axis=2))
            yield Estimates(questions, count, truth, totals, plain, ece_cross_fitted(confidence - correct, items.sum(axis=-1)))


def curve_in_band(confidence, correct, sizes, seed, simultaneous):
    """Return whether a run's isotonic curve is within its consistency band, at each confidence that the band has."""
    stated, items, right = confidence_levels(confidence, correct)
    shown, low, high = consistency_band(confidence, correct, sizes, seed, simultaneous=simultaneous)
    values = isotonic(right, items)[np.searchsorted(stated, shown)]
    return (values >= low - 1e-9) & (values <= high + 1e-9)


def bands(boards, seed, sizes=(30, 60, 200), clues=(1, 5)):
    """Measure how often a calibrated run's isotonic curve is within its consistency band, at one confidence and everywhere."""
    for questions, count in product(sizes, clues):
        random = np.random.default_rng((seed, questions, count))
        at_a_point, throughout = [], []
        for index in range(boards):
            c, y = (part[0].ravel() for part in board(random, 1, questions, count))
            at_a_point.append(curve_in_band(c, y, np.full(questions, count), index, False).mean())
            throughout.append(curve_in_band(c, y, np.full(questions, count), index, True).all())
        for claim, inside in (("pointwise", at_a_point), ("simultaneous", throughout)):
            yield Measurement(f"{claim} consistency band", words(questions, count), 0.9, np.mean(inside), boards)


def letters(boards, seed, sizes=(8, 30, 120), runs=8):
    """Measure how often any two of several equal runs share no letter."""
    for questions in sizes:
        random = np.random.default_rng((seed, questions))
        apart = 0
        for _ in range(boards):
            c, y = board(random, runs, questions, 3)
            brier = ((c - y) ** 2).mean(axis=-1)
            pairs = list(combinations(range(runs), 2))
            errors, counts = inference.difference_errors(brier.T)
            means = brier.mean(axis=1)
            p_values = inference.t_test(means[:, None] - means, errors, counts)
            different = np.zeros((runs, runs), bool)
            for (a, b), p in zip(pairs, holm(np.array([p_values[pair] for pair in pairs])), strict=True):
                different[a, b] = different[b, a] = p < SIGNIFICANCE
            shared = [set(letter) for letter in compact_letters(different, np.argsort(brier.mean(axis=1)).tolist())]
            assert all(bool(shared[a] & shared[b]) != different[a, b] for a, b in pairs), "letters contradict the tests"
            apart += bool(different.any())
        yield Measurement(
            "8 equal runs: two share no letter", f"{questions} questions", 0.05, apart / boards, boards, "family of tests"
        )


def variant_intervals(boards, seed, settings, runs=10):
    """Measure how often the interval of each calibration error on the page Which ECE contains the true value.

    The true value is 0 for calibrated runs, otherwise that of ``TRUTH`` questions. For the scripts that cut bins of 100 items, it
    is that of the number of equal-mass bins that the run's items fill.

    Args:
        boards: simulated runs of each setting, ten of which share how easy their questions are.
        settings: questions, clues and shift of each setting.
    """
    for questions, clues, shift in settings:
        true = _true_variants(seed, questions * clues, clues, shift)
        hits = dict.fromkeys(true, 0)
        random = np.random.default_rng((seed, questions, clues, int(10 * shift)))
        for _ in range(boards // runs):
            c, y = board(random, runs, questions, clues, shift)
            evidence = evidence_of((c, y, np.zeros_like(c)))
            for metric in VARIANTS:
                ends = metric_intervals(evidence, metric)
                hits[metric.key] += int(((ends.low <= true[metric.key]) & (true[metric.key] <= ends.high)).sum())
        for key, hit in hits.items():
            setting = words(questions, clues, f"true value {true[key]:.3f}", first=[key])
            yield Measurement("interval of a variant of ECE", setting, 0.95, hit / (boards // runs * runs), boards)


def calibrated_variants(boards, seed, settings, runs=10):
    """Measure how often the test behind the lower end of these intervals calls a calibrated run miscalibrated.

    Args:
        boards: simulated runs of each setting, ten of which share how easy their questions are.
        settings: questions and clues of each setting.
    """
    level = (1 - LEVEL) / 2
    for questions, clues in settings:
        rejected = dict.fromkeys((metric.key for metric in VARIANTS), 0)
        random = np.random.default_rng((seed, questions, clues))
        for _ in range(boards // runs):
            c, y = board(random, runs, questions, clues)
            evidence = evidence_of((c, y, np.zeros_like(c)))
            for metric in VARIANTS:
                p_values = inference.calibration_test(*evidence.residuals(metric), metric.distance, flips=400)
                rejected[metric.key] += int((p_values <= level).sum())
        for key, count in rejected.items():
            share, claim = count / (boards // runs * runs), "test of calibration of a variant of ECE"
            yield Measurement(claim, words(questions, clues, first=[key]), level, share, boards, "test")


def _true_variants(seed, items, clues, shift):
    """Return, by key, the calibration error over all possible questions."""
    if not shift:
        return {metric.key: 0.0 for metric in VARIANTS}
    c, y = (part.ravel() for part in board(np.random.default_rng((seed, 1)), 1, TRUTH // clues, clues, shift))
    order = np.argsort(c, kind="stable")
    c, y = c[order], y[order]
    true = {metric.key: float(metric.pairs(c, y, ItemWeights.equal(len(c)))[0]) for metric in VARIANTS}
    parts = [np.array_split(part, items // SCRIPT_BIN) for part in (c, y)]
    squares = np.array([(stated.mean() - right.mean()) ** 2 for stated, right in zip(*parts, strict=True)])
    for key, counted in (("rms_hle", squares[:-1]), ("rms_hle_whole", squares)):
        true[key] = float(np.sqrt(counted.sum() / len(squares)))
    return true
