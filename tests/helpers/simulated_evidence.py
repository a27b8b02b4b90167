"""Evidence built from arrays, without a store, for tests that need hundreds of data sets."""

import numpy as np

from data import sufficient_statistics
from data.human_curves import CURVES
from data.sufficient_statistics import BIN_COLUMNS, UNSTORED_SUMS, Items
from queries.engine.evidence import Evidence, Run
from queries.engine.rows import Rows, SortedItems
from queries.engine.run_columns import dense
from queries.metrics import Conventions

MAX_CLUES = 6
STANDARD = Conventions()


def simulated(runs, questions, seed, shift=0.0):
    """Return random answers with correlated clues: confidence, correctness and human curve, each (runs, questions, clues).

    Each question has one to six clues; values beyond them are NaN. Its ease shifts correctness, confidence and people at all its
    clues, and whoever knows one clue mostly knows the next. ``shift`` moves the probability of a correct answer on the log-odds
    scale.
    """
    chance = np.random.default_rng(seed)
    shape = (runs, questions, MAX_CLUES)
    ease = 1.2 * chance.normal(size=(runs, questions, 1))
    revealed = np.arange(MAX_CLUES) / MAX_CLUES
    answered = np.arange(MAX_CLUES) < chance.integers(1, MAX_CLUES + 1, (runs, questions, 1))

    def logistic(x):
        return 1 / (1 + np.exp(-x))

    confidence = logistic(0.4 + 0.7 * ease + revealed + 0.6 * chance.normal(size=shape))
    threshold = np.where(chance.random(shape) < 0.7, chance.random((runs, questions, 1)), chance.random(shape))
    correct = (threshold < logistic(-0.5 + ease + 2 * revealed + shift)).astype(float)
    human = np.maximum.accumulate(chance.random(shape) * logistic(ease - 2 + 3 * revealed), axis=-1)
    return tuple(np.where(answered, part, np.nan) for part in (confidence, correct, human))


def evidence_of(arrays, conventions=STANDARD, period=60):
    """Return evidence of runs that all answered all questions, with one human curve in place of all three.

    The difficulty of questions rises from 0 to 1 and starts again after each ``period``.
    """
    answered = ~np.isnan(arrays[0])
    runs, questions, _ = answered.shape
    c, y, h = (np.nan_to_num(part) for part in arrays)
    sign = 2 * y - 1
    sums = {
        "items": answered, "confidence": c, "correct": y, "incorrect": (1 - y) * answered, "confidence_sq": c * c,
        "correct_sq": y * y, "confidence_correct": c * y, "confidence_incorrect": c * (1 - y),
        "sign_confidence": sign * c * answered, "rounded": (np.abs(c - np.round(c * 20) / 20) <= 1e-9) & answered,
        "attempted_items": y,
    }  # fmt: skip
    sums[conventions.reward] = np.where(c > conventions.t, y - (1 - y) * conventions.t / (1 - conventions.t), 0.0)
    for curve in ("buzz_share", "release_share", "team_share", "survival"):
        sums[f"{curve}_weight"], sums[f"{curve}_sign_confidence"] = (1 - h) * answered, (1 - h) * sign * c * answered
    sums = {name: values.sum(axis=-1, dtype=float).reshape(-1) for name, values in sums.items()}
    # GRACE eq. 2, with the last clue's confidence set to 1.
    last = answered & ~np.append(answered[..., 1:], np.zeros((runs, questions, 1), bool), axis=-1)
    stated = np.where(last, 1.0, c)
    before = np.append(np.ones((runs, questions, 1)), np.cumprod(1 - stated, axis=-1)[..., :-1], axis=-1)
    right = np.cumsum(np.where(answered, before * stated * y, 0), axis=-1)
    steps = np.diff(np.where(answered, h, 0), axis=-1, prepend=0) * answered
    reward = (steps * right).sum(axis=-1) + (1 - steps.sum(axis=-1)) * right[..., -1]
    sums |= {f"{curve}_reward": reward.reshape(-1) for curve in ("team_share", "survival")}
    edges = np.arange(1, 11) / 10
    row = np.broadcast_to(np.arange(runs * questions).reshape(runs, questions, 1), c.shape)[answered]
    place = row * 11 + np.searchsorted(edges, c[answered], side="right")
    for name, values in zip(BIN_COLUMNS, (np.ones_like(c), c, y), strict=True):
        sums[name] = np.bincount(place, values[answered], runs * questions * 11).reshape(-1, 11)
    if answered.any(axis=-1).all():
        first = np.append(0, np.cumsum(answered.sum(axis=-1).reshape(-1)))
        items = Items(c[answered], y[answered], first, dict.fromkeys(CURVES, h[answered]))
        sums |= sufficient_statistics.sums(items, UNSTORED_SUMS)
    order = np.lexsort((c[answered], row // questions))
    sums["difficulty"] = np.tile(np.arange(questions) % period / period, runs)
    return Evidence(
        runs=tuple(Run(f"run{index}", f"model {index}", "verbalized") for index in range(runs)),
        selected_questions=np.array([f"q{index}" for index in range(questions)], dtype=object),
        conventions=conventions,
        source=Rows(
            run=np.repeat(np.arange(runs), questions),
            places=np.tile(np.arange(questions), runs),
            sums=sums,
            items=SortedItems(row[order], c[answered][order], y[answered][order]),
        ),
    )


def repeated(evidence, copies):
    """Return evidence in which each row, and each of its items, is repeated ``copies`` times.

    Copies of an item are next to each other. Runs with no rows left are left out.
    """
    run = np.repeat(np.repeat(np.arange(len(evidence.runs)), evidence.ends - evidence.starts), copies)
    left, run = np.unique(run, return_inverse=True)
    items = evidence.rows.items
    of_items, first = copies[items.row], (np.cumsum(copies) - copies)[items.row]
    copy = np.arange(of_items.sum()) - np.repeat(np.cumsum(of_items) - of_items, of_items)
    return Evidence(
        runs=tuple(evidence.runs[index] for index in left),
        selected_questions=evidence.selected_questions,
        conventions=evidence.conventions,
        source=Rows(
            run=run,
            places=np.repeat(evidence.places, copies),
            sums={name: np.repeat(dense(values), copies, axis=0) for name, values in evidence.statistics.items()},
            items=SortedItems(
                np.repeat(first, of_items) + copy, np.repeat(items.confidence, of_items), np.repeat(items.correct, of_items)
            ),
        ),
    )
