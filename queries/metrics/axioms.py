"""Axioms of what a measure of confidence should do, and what a metric does about them.

Sakai asks of a measure that it punish underconfidence (U), overconfidence (O), or both (UO). His wording was not at hand when
this was written; what follows is our reading of these names, and the Metrics page says so.

Domain. Items are graded right or wrong: correctness is 0 or 1, at least one item of each. "Everything else equal" means that
one confidence changes and nothing else does. An item whose correctness is a probability has no side to which its confidence
should move, and the axioms say nothing of it. A metric that ranks nothing (``direction`` none) or that reads no confidence
(accuracy) calls no confidence better, so that the axioms cannot be asked of it.

Strict, not weak. Better means better: a metric that stays as it is has not noticed. Under the weak form, a constant would satisfy
all three. So R_O satisfies O and not U (it never looks at correct items), R_U the other way round, and AUROC, which never gets
worse by such a change, satisfies neither (it only sees the order).

Where strictness stops:
- HMR is 0 as long as one of its rewards is 0, whatever the other one is. A reward is 0 only where every incorrect item has
  confidence 1, or every correct one 0. HMR satisfies U and O where neither is; elsewhere it is never worse, and strictly better
  where both kinds of change are made.
- CalScore gives a clue that all people have solved (h_t = 1) no weight. It satisfies U and O at every other clue.
- MacroCE and the rewards are means over one kind of item: they need items of that kind, which the domain grants.

UO is U and O together. What follows from it is the point: no perfection in one half makes up for the other, and the best value is
reached only where every correct item has confidence 1 and every incorrect one 0. R_O = 1 is reached by never being confident.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data.human_curves import CURVES
from data.statistics import Items, bin_sums, sums
from queries.metrics.metric import Axiom, Conventions, ItemPair, Metric

AXIOMS: dict[Axiom, str] = {
    "U": "Underconfidence costs: raising the confidence of a correct item, everything else equal, makes the measure strictly "
    "better.",
    "O": "Overconfidence costs: lowering the confidence of an incorrect item, everything else equal, makes the measure strictly "
    "better.",
    "UO": "Both cost: U and O together, so that the best value is reached only with confidence 1 in everything correct and 0 in "
    "everything incorrect.",
}
READING = (
    "The names U, O and UO are those of Sakai's axioms; the wording is our reading of them, for items that are graded right or "
    "wrong, at least one of each. A metric that merely stays as it is does not satisfy an axiom."
)


def value_of_items(metric: Metric, items: Sequence[ItemPair], conventions: Conventions | None = None) -> float:
    """The metric over some items, each a question of its own with one clue that nobody has solved; difficulty runs from 0 up.

    Args:
        metric: an entry of the catalogue that reads confidence and correctness.
        items: confidence and correctness of each, in order.
        conventions: the default ones where None.

    Returns:
        The value, NaN where undefined.
    """
    conventions = conventions or Conventions()
    confidence, correct = np.array(items, float).reshape(-1, 2).T
    if metric.pairs is not None:
        return metric.of_pairs(confidence, correct)
    curves = dict.fromkeys(CURVES, np.zeros(len(items)))
    singles = Items(confidence, correct, np.arange(len(items) + 1), curves)
    totals = sums(singles) | bin_sums(singles, conventions.closed).dense()
    totals["difficulty"] = np.linspace(0, 1, len(items))
    contributions = metric.contributions({name: totals[name] for name in metric.reads(conventions)}, conventions)
    return float(metric.value({name: part.sum(axis=0) for name, part in contributions.items()}, conventions))
