"""What missing answers do to ranks, by simulation: under the rule of the leaderboard, and under the rule before it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from clueline.queries.engine.common_questions import taking_part
from clueline.queries.metrics.kernels.two_way_means import two_way_means

QUESTIONS = 200
SKIPPERS = 8  # runs of a board on which one skips
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
FAILED = (0.0, 0.01, 0.03, 0.1)
BINS = 10


class Board(NamedTuple):
    """A simulated board; arrays have shape (runs, questions).

    ``ability``, shape (runs,), is on the scale of log-odds, ``overconfidence``, shape (runs,), is added to the log-odds that a
    run states, and ``ease``, shape (questions,), is that of questions.
    """

    ability: np.ndarray
    ease: np.ndarray
    overconfidence: np.ndarray
    right: np.ndarray
    confidence: np.ndarray


def simulate_board(random, runs):
    """Draw a board on which abilities, and how overconfident runs are, are evenly spread and independent."""
    ability, overconfidence = np.linspace(-0.5, 0.5, runs), random.permutation(np.linspace(0, 1.5, runs))
    ease = random.normal(0, 1.5, QUESTIONS)
    odds = ease + ability[:, None]
    right = (random.random((runs, QUESTIONS)) < 1 / (1 + np.exp(-odds))).astype(float)
    seen = odds + random.normal(0, 1, odds.shape)  # a run sees how hard a question is, with noise
    return Board(ability, ease, overconfidence, right, 1 / (1 + np.exp(-seen - overconfidence[:, None])))


# -- the metrics, of a run on the questions that it answered -----------------------------------------------------------


def ece(confidence, right):
    """Return the expected calibration error over ten bins."""
    cell = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return np.abs(np.bincount(cell, confidence - right, BINS)).sum() / len(cell)


def auroc(confidence, right):
    """Return the share of pairs of a right and a wrong answer of which the right one has more confidence."""
    places = np.argsort(np.argsort(confidence)) + 1.0
    wins, losses = right.sum(), (1 - right).sum()
    return (places[right > 0].sum() - wins * (wins + 1) / 2) / (wins * losses)


def losses_of(metric, board, answered):
    """Return the loss of each run on the questions that it answered, by its own value."""
    rows = zip(board.confidence, board.right, answered, strict=True)
    if metric == "accuracy":
        return np.array([-right[kept].mean() for _, right, kept in rows])
    if metric == "ECE":
        return np.array([ece(confidence[kept], right[kept]) for confidence, right, kept in rows])
    return np.array([-auroc(confidence[kept], right[kept]) for confidence, right, kept in rows])


METRICS = ("accuracy", "ECE", "AUROC")


# -- the rules ---------------------------------------------------------------------------------------------------------


def rule_before(metric, board, answered):
    """Measure runs on the questions that all who take part answered; while these are few, whoever keeps most out leaves."""
    part, expected = taking_part(answered)
    size = expected.sum()
    while part.sum() > 1 and answered[part].all(axis=0).sum() < 0.5 * size:
        gains = [
            answered[part & (np.arange(len(part)) != run)].all(axis=0).sum() if part[run] else -1 for run in range(len(part))
        ]
        part[max(range(len(part)), key=lambda run: (gains[run], run))] = False
    common = np.broadcast_to(answered[part].all(axis=0), answered.shape)
    return part, losses_of(metric, board, common)


def rule_now(metric, board, answered):
    """Measure each run on all that it answered; adjust means for what each lacks."""
    part, expected = taking_part(answered)
    if metric != "accuracy":
        return part, losses_of(metric, board, answered)
    fitted = two_way_means(board.right[part].T, answered[part].T.astype(float), expected.astype(float))
    losses = np.full(len(part), np.nan)
    losses[part] = -np.round(fitted.values, 9)  # equal means tie, as plain ones do
    return part, losses


RULES = {"before": rule_before, "now": rule_now}


def ranks(losses):
    """Rank from 0 by ascending loss; ties by order, which has no meaning here."""
    return np.argsort(np.argsort(losses, kind="stable"), kind="stable")


# -- what is measured --------------------------------------------------------------------------------------------------


class FailureEffect(NamedTuple):
    """What happens if every run loses some of its answers at random.

    ``ranked`` is the share of runs that are, and ``error`` by how many places these are off among themselves, on average, from
    where they would be with endless questions (accuracy), or with all answers (other metrics).
    """

    rule: str
    metric: str
    runs: int
    share: float
    ranked: float
    error: float


def failures(boards, seed, sizes=(8, 20, 60), shares=FAILED, metrics=METRICS) -> Iterator[FailureEffect]:
    """Yield the effects of random failures, for each size of the board, share, metric and rule."""
    for runs in sizes:
        for share in shares:
            random = np.random.default_rng((seed, runs, round(100 * share)))
            effects = {(rule, metric): [] for metric in metrics for rule in RULES}
            for _ in range(boards):
                board = simulate_board(random, runs)
                answered = random.random(board.right.shape) >= share
                everything = np.ones_like(answered)
                for metric in metrics:
                    truth = -board.ability if metric == "accuracy" else losses_of(metric, board, everything)
                    for rule, measure in RULES.items():
                        part, losses = measure(metric, board, answered)
                        moved = np.abs(ranks(losses[part]) - ranks(truth[part])).mean()
                        effects[rule, metric].append((part.mean(), moved))
            for (rule, metric), rows in effects.items():
                yield FailureEffect(rule, metric, runs, share, *np.mean(rows, axis=0).tolist())


def lead(random, board, run):
    """Return by how much a run is ahead of the others on each question; ties are broken at random."""
    others = np.delete(board.right, run, axis=0).mean(axis=0)
    return board.right[run] - others + 1e-6 * random.random(QUESTIONS)


# What a run skips first: the questions where this is least.
CHOICES = {
    "at random": lambda random, board, run: random.random(QUESTIONS),
    "the hardest": lambda random, board, run: board.ease,
    "where unsure": lambda random, board, run: board.confidence[run],
    "its worst": lead,
}


class SkippingEffect(NamedTuple):
    """What happens if one of eight runs skips some questions.

    Attributes:
        rule, metric: as in ``FailureEffect``.
        choice: which questions it skips: ``at random``, ``the hardest``, ``where unsure`` (its least confident answers), or ``its
            worst``: those where it loses most to the others, known in hindsight.
        share: of the questions that it skips.
        ranked: how often it is ranked.
        gain: by how many places it rises where it is ranked; NaN if it never is.
        error: by how many places each other run moves among the others, on average.
    """

    rule: str
    metric: str
    choice: str
    share: float
    ranked: float
    gain: float
    error: float


def skipping(boards, seed, shares=SHARES, metrics=METRICS) -> Iterator[SkippingEffect]:
    """Yield the effects of skipping, for each metric, choice, share and rule."""
    for choice, order_of_skipping in CHOICES.items():
        for share in shares:
            random = np.random.default_rng((seed, round(100 * share)))
            effects = {(metric, rule): [] for metric in metrics for rule in RULES}
            for _ in range(boards):
                board = simulate_board(random, SKIPPERS)
                run = random.integers(SKIPPERS)
                answered = np.ones(board.right.shape, dtype=bool)
                answered[run, np.argsort(order_of_skipping(random, board, run))[: round(share * QUESTIONS)]] = False
                for (metric, rule), rows in effects.items():
                    rows.append(_effect(metric, board, answered, run, RULES[rule]))
            for (metric, rule), rows in effects.items():
                ranked, gain, error = np.array(rows).T
                rises = gain[ranked > 0].mean() if ranked.any() else np.nan
                yield SkippingEffect(rule, metric, choice, share, ranked.mean(), rises, error.mean())


def _effect(metric, board, answered, run, measure):
    """Return whether a run is ranked, by how many places it rises, and by how many the others move among themselves."""
    part, losses = measure(metric, board, answered)
    before = losses_of(metric, board, np.ones_like(answered))
    others = np.arange(SKIPPERS) != run
    moved = np.abs(ranks(losses[others]) - ranks(before[others])).mean()
    return part[run], (ranks(before)[run] - ranks(losses)[run]) if part[run] else np.nan, moved
