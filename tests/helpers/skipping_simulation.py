"""What skipping questions does to ranks, by simulation: under the rule of ``taking_part``, and under the rule before it."""

from typing import NamedTuple

import numpy as np

from clueline.queries.engine.common_questions import taking_part

RUNS, QUESTIONS = 8, 200
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
ABILITIES = np.linspace(-0.5, 0.5, RUNS)  # on the scale of log-odds


class SkippingEffect(NamedTuple):
    """What happens if one of eight runs skips some questions.

    Attributes:
        rule: ``half`` (took part with half of what any run answered) or ``nine tenths`` (``taking_part``).
        choice: which questions it skips: ``at random``, ``the hardest``, or ``its worst``: those where it loses most to the
            others, known in hindsight.
        share: of the questions that it skips.
        ranked: how often it is ranked.
        gain: by how many places it rises where it is ranked; NaN if it never is.
        error: by how many places each other run moves among the others, on average.
        boards: number of simulated leaderboards.
    """

    rule: str
    choice: str
    share: float
    ranked: float
    gain: float
    error: float
    boards: int


def half(answered):
    """Return who took part under the rule before: whoever answered half of what any run answered."""
    return answered.sum(axis=1) >= 0.5 * answered.any(axis=0).sum()


RULES = {"half": half, "nine tenths": lambda answered: taking_part(answered)[0]}


def lead(random, ease, right, run):
    """Return by how much a run is ahead of the others on each question; ties are broken at random."""
    return right[run] - np.delete(right, run, axis=0).mean(axis=0) + 1e-6 * random.random(QUESTIONS)


# What a run skips first: the questions where this is least.
CHOICES = {
    "at random": lambda random, ease, right, run: random.random(QUESTIONS),
    "the hardest": lambda random, ease, right, run: ease,
    "its worst": lead,
}


def ranks(accuracy):
    """Rank by descending accuracy, ties by chance of order: they are too few to matter."""
    return np.argsort(np.argsort(-accuracy, kind="stable"), kind="stable")


def skipping(boards, seed, shares=SHARES):
    """Yield the effects of skipping, for each rule, choice and share."""
    for choice, order_of_skipping in CHOICES.items():
        for share in shares:
            random = np.random.default_rng((seed, round(100 * share)))
            effects = {rule: [] for rule in RULES}
            for _ in range(boards):
                ease = random.normal(0, 1.5, QUESTIONS)
                right = (random.random((RUNS, QUESTIONS)) < 1 / (1 + np.exp(-ease - ABILITIES[:, None]))).astype(float)
                run = random.integers(RUNS)
                skipped = np.argsort(order_of_skipping(random, ease, right, run))[: round(share * QUESTIONS)]
                answered = np.ones((RUNS, QUESTIONS), dtype=bool)
                answered[run, skipped] = False
                for rule, takes_part in RULES.items():
                    effects[rule].append(effect(right, answered, takes_part(answered), run))
            for rule, rows in effects.items():
                ranked, gain, error = np.array(rows).T
                yield SkippingEffect(
                    rule, choice, share, ranked.mean(), gain[ranked > 0].mean() if ranked.any() else np.nan, error.mean(), boards
                )


def effect(right, answered, part, run):
    """Return whether a run is ranked, by how many places it rises, and by how many the others move among themselves."""
    common = answered[part].all(axis=0)
    before, after = right.mean(axis=1), right[:, common].mean(axis=1)
    others = np.arange(RUNS) != run
    moved = np.abs(ranks(after[others]) - ranks(before[others])).mean()
    return part[run], (ranks(before)[run] - ranks(after)[run]) if part[run] else np.nan, moved
