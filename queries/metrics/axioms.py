"""Sakai's axioms for confidence measures, and the value of a metric over a few items, to check the axioms with.

Each axiom compares a system with a worse copy of itself. Items are graded right or wrong, with at least one of each: if an item's
correctness is a probability, its confidence has no wrong direction to move in. A metric that is not ranked calls no system
superior, so the axioms do not apply to it.

U and O tolerate ties: the worse system must not be superior. Accuracy ignores confidence and therefore satisfies both, and so
does AUROC, which depends only on the order. UO is strict: the worse system must be inferior. R_O ignores correct items, but UO
also raises an incorrect one, so R_O falls; likewise R_U.

HMR satisfies UO everywhere: a reward is 0 only if every incorrect item has confidence 1, or every correct one has 0. There is
then nothing left to raise or to lower.

CalScore gives no weight to a clue that all people have solved (h_t = 1). It satisfies U and O everywhere, and UO at other clues.

CalScore squared satisfies U and O: a correct clue earns at least as much as any later clue can, so lowering its confidence never
helps, and an incorrect clue earns nothing. It ties if the change is at a last clue, whose confidence counts as 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clueline.data.human_curves import CURVES
from clueline.data.sufficient_statistics import BIN_COLUMNS, STATISTICS, Items, bin_sums, sums
from clueline.queries.metrics.kernels.bins import FOLDS, assign_mass_bins, fold_totals
from clueline.queries.metrics.kernels.item_totals import net_reward
from clueline.queries.metrics.metric import ATTEMPTED_ITEMS, NET_REWARD, Axiom, Conventions, ItemPair, Metric

AXIOMS: dict[Axiom, str] = {
    "U": "Underconfidence: lower the confidence of one correct item. The new system should not be considered superior.",
    "O": "Overconfidence: raise the confidence of one incorrect item. The new system should not be considered superior.",
    "UO": "Both at once: lower the confidence of a correct item and raise that of an incorrect one. The new system is strictly "
    "inferior.",
}
READING = (
    "After Sakai, for items that are graded right or wrong, at least one of each. U and O tolerate ties: a metric that does not "
    "change satisfies them. UO does not tolerate ties."
)


def value_of_items(metric: Metric, items: Sequence[ItemPair], conventions: Conventions | None = None) -> float:
    """Compute a metric that reads confidence and correctness over some items; NaN where undefined.

    Each is a question with a single clue that nobody has solved. Difficulty rises evenly from 0 for the first item to 1 for the
    last.
    """
    conventions = conventions or Conventions()
    confidence, correct = np.array(items, float).reshape(-1, 2).T
    if metric.pairs is not None:
        return metric.of_pairs(confidence, correct)
    curves = dict.fromkeys(CURVES, np.zeros(len(items)))
    singles = Items(confidence, correct, np.arange(len(items) + 1), curves)
    reads = metric.reads(conventions)
    totals = sums(singles, {"items", "correct", "correct_sq", *reads} & STATISTICS.keys())
    totals |= bin_sums(singles, conventions.closed).dense()
    if conventions.mass_bins:
        order, place = assign_mass_bins(confidence, np.array([len(items)]), conventions.mass_bins)
        inside = np.zeros((len(items), conventions.mass_bins))
        inside[order, place] = 1
        totals |= zip(BIN_COLUMNS, (inside, inside * confidence[:, None], inside * correct[:, None]), strict=True)
    totals[ATTEMPTED_ITEMS] = totals["items"]
    totals[NET_REWARD] = net_reward(confidence, correct, conventions.t)
    totals["difficulty"] = np.linspace(0, 1, len(items))
    if metric.cross_fitted:
        gaps = totals["bin_confidence"] - totals["bin_correct"]
        folds = np.arange(len(items)) % FOLDS
        by_fold = fold_totals(gaps, totals["items"], totals["correct"], totals["correct_sq"], folds)
        return float(metric.value(by_fold, conventions))
    contributions = metric.contributions({name: totals[name] for name in reads}, conventions)
    return float(metric.value({name: part.sum(axis=0) for name, part in contributions.items()}, conventions))
