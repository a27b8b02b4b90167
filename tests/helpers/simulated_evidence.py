"""Evidence built from arrays, without a store, for tests that need hundreds of data sets."""

import numpy as np

from clueline.data.human_curves import CURVES
from clueline.data.sufficient_statistics import STATISTICS, Items, bin_sums, sums
from clueline.queries.engine.evidence import Evidence, Run
from clueline.queries.engine.rows import Rows, SortedItems
from clueline.queries.engine.run_columns import dense
from clueline.queries.metrics import Conventions
from clueline.queries.metrics.kernels.item_totals import net_reward
from clueline.queries.metrics.metric import ATTEMPTED_ITEMS

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
    """Return evidence of runs that all answered all questions, with one human curve in place of all.

    The difficulty of questions rises from 0 to 1 and starts again after each ``period``.
    """
    answered = ~np.isnan(arrays[0])
    runs, questions, _ = answered.shape
    c, y, h = (part[answered] for part in arrays)
    sizes = answered.sum(axis=-1).ravel()
    items = Items(c, y, np.append(0, np.cumsum(sizes)), dict.fromkeys(CURVES, h))
    columns = sums(items, STATISTICS) | bin_sums(items).dense()
    columns |= {ATTEMPTED_ITEMS: columns["correct"], conventions.reward: items.total(net_reward(c, y, conventions.t))}
    columns["difficulty"] = np.tile(np.arange(questions) % period / period, runs)
    row = np.repeat(np.arange(runs * questions), sizes)
    order = np.lexsort((c, row // questions))
    return Evidence(
        runs=tuple(Run(f"run{index}", f"model {index}", "verbalized") for index in range(runs)),
        selected_questions=np.array([f"q{index}" for index in range(questions)], dtype=object),
        conventions=conventions,
        source=Rows(
            run=np.repeat(np.arange(runs), questions),
            places=np.tile(np.arange(questions), runs),
            sums=columns,
            items=SortedItems(row[order], c[order], y[order]),
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
