"""What a metric is: facts about it, and how it comes from the statistics that the store keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from data.human_curves import CURVES, TEAM_CURVES
from data.sufficient_statistics import Closed
from queries.metrics.kernels.replicate_weights import ItemWeights

Floats = NDArray[np.float64]
# Sums of ``kernels.items.net_reward``: the one at the usual threshold is stored, others are computed from the items.
HALF_REWARD, NET_REWARD = "half_reward", "net_reward"
Sums = Mapping[str, Floats]
Direction = Literal["lower", "higher", "zero", "none"]  # which values are best: low, high, near 0; none: says nothing of quality
Need = Literal["correctness", "confidence", "human buzzes", "difficulty", "whole distribution", "votes"]
# How a distance from calibration, 0 for a calibrated run, is made of residuals c - y; see queries.engine.inference.
Distance = Literal["sum", "maximum", "square", "walk", "curve"]
Axiom = Literal["U", "O", "UO"]  # see queries.metrics.axioms
ItemPair = tuple[float, float]  # confidence, correctness
HUMAN_CURVES = CURVES


@dataclass(frozen=True)
class Conventions:
    """What an analyst may choose about how metrics are computed.

    Attributes:
        binning: ``width10``, ``width10r``, ``width10+1`` or ``massB``.
        human: estimator of the human curve; None for each metric's own default.
        beta: weight of R_U against R_O in HMR, above 0.
        t: confidence above which an answer is given, in the net score; in [0, 1).
        head_to_head: whether the dataset's teams played head to head, so that ``survival`` is the curve of teams unless another
            one is chosen. Known from the dataset, no choice.
    """

    binning: str = "width10"
    human: str | None = None
    beta: float = 1.0
    t: float = 0.5
    head_to_head: bool = False

    @property
    def reward(self) -> str:
        """The column of the net reward at the threshold ``t``."""
        return HALF_REWARD if self.t == 0.5 else NET_REWARD

    @property
    def mass_bins(self) -> int | None:
        """B of an equal-mass binning, None for one of equal width."""
        return int(self.binning[4:]) if self.binning.startswith("mass") else None

    @property
    def closed(self) -> Closed:
        """Which end of a bin of equal width belongs to it. The store has bins that are closed on the left."""
        return "right" if self.binning == "width10r" else "left"

    @property
    def team_curve(self) -> str:
        """The human curve of teams in use: the one chosen, if it is of teams, else that of the dataset."""
        if self.human in TEAM_CURVES:
            return self.human
        return "survival" if self.head_to_head else "team_share"

    @property
    def early_curve(self) -> str:
        """The human curve by which questions are judged where people may not know yet."""
        return self.human or "buzz_share"


Contributions = Callable[[Sums, Conventions], Sums]
Value = Callable[[Sums, Conventions], Floats]
ItemKernel = Callable[[Floats, Floats, ItemWeights], Floats]
Reads = Callable[[Conventions], tuple[str, ...]]


def unchanged_sums(sums: Sums, conventions: Conventions) -> Sums:
    """Contributions of an item-level metric: the sums over each question's items, which add up."""
    return sums


@dataclass(frozen=True)
class Counterexample:
    """Items that get worse confidences, though the metric does not say so.

    Attributes:
        items: before.
        changes: index and new confidence of the items that change. A correct item loses confidence (U), an incorrect one
            gains some (O), or one of each changes (UO).
    """

    items: tuple[ItemPair, ...]
    changes: tuple[tuple[int, float], ...]

    @property
    def axiom(self) -> Axiom:
        """The axiom that it refutes."""
        if len(self.changes) == 2:
            return "UO"
        ((index, _),) = self.changes
        return "U" if self.items[index][1] == 1 else "O"

    @property
    def after(self) -> tuple[ItemPair, ...]:
        """The items with the changes."""
        changed = dict(self.changes)
        return tuple((changed.get(index, c), y) for index, (c, y) in enumerate(self.items))


@dataclass(frozen=True, kw_only=True)
class MetricFacts:
    """What every entry of the catalogue states.

    Attributes:
        key: name in addresses and files.
        name: as shown.
        label: the same for a narrow column.
        symbol: short mathematical symbol, in LaTeX.
        direction: which values are best.
        low, high: range, inclusive; infinite where there is none.
        formula: LaTeX.
        words: the formula in a sentence.
        source: paper and equation.
        needs: what the data must have.
        caveat: what a reader must know before trusting it.
        undefined: the reason shown where there is no value.
        level: ``item`` pools all items, ``question`` averages over questions.
    """

    key: str
    name: str
    label: str
    symbol: str
    direction: Direction
    low: float
    high: float
    formula: str
    words: str
    source: str
    needs: tuple[Need, ...]
    caveat: str = ""
    undefined: str = "no items are selected"
    level: Literal["item", "question"] = "item"


@dataclass(frozen=True, kw_only=True)
class AnalysisMetric(MetricFacts):
    """A metric that an analysis of its own computes, because it is no function of sums over questions.

    Attributes:
        fields: where the answer of ``address`` has it, in dots: a list stands for each of its elements.
        address: of the JSON that gives it.
    """

    fields: tuple[str, ...]
    address: str
    level: Literal["item", "question"] = "question"


@dataclass(frozen=True, kw_only=True)
class Metric(MetricFacts):
    """A metric that is computed from the statistics of questions.

    A metric is additive: ``contributions`` turns the per-question statistics, arrays of shape (questions,) or (questions, bins),
    into columns that are summed over questions; ``value`` turns the totals, of shape (...,) or (..., bins), into the metric, NaN
    where it is undefined. So the same two functions serve one selection and a thousand bootstrap replicates of it.

    Attributes:
        reads: statistics that it is computed from, under given conventions.
        value: the metric, from totals.
        contributions: the columns to be summed, from statistics. One that is called ``questions`` is 1 where a question has what
            the metric needs, else 0.
        counts: without such a column, the statistic that counts the items that the metric can use.
        human: its default human curve, None where no human curve enters.
        binned: computed from bins, so that the binning matters.
        cross_fitted: computed from totals by fold of questions and bin, see ``kernels.bins.fold_totals``, in place of
            contributions. Bins of equal mass are then those of the data in every replicate.
        thresholded: depends on the confidence above which an answer is given.
        floor: values below it rank as if they were it.
        pairs: for a metric that is no function of sums: its kernel of confidence, correctness and weights of items, sorted by
            confidence. ``value`` is then not called.
        part: where the kernel gives several metrics at once, shape (metrics, k), the place of this one.
        ordered: it depends on the order of items of equal confidence, that of questions and clues.
        of_teams: needs a human curve of teams: ``Conventions.team_curve``, also under a curve of buzzes.
        single: whether a single question can have it; False for what compares questions.
        distance: what kind of distance from calibration it is, None if it is none. Its interval needs care near 0.
        gaps: of a distance that is made of bins: their sums of c - y, shape (..., bins), from the totals.
        recut: its bins are cut anew in each replicate, so that weights must be whole numbers.
        variant: a calibration error as another project computes it: in rankings only where it is asked for.
        interval_of: key of the metric that has the same true value, whose interval is this one's, too.
        axioms: which axioms it satisfies, () for none; None where nothing is stated. See ``queries.metrics.axioms``.
        axioms_where: under which condition it satisfies them, where there is one.
        counterexamples: one for each axiom that it does not satisfy, under the default conventions.
    """

    reads: Reads
    value: Value
    contributions: Contributions = unchanged_sums
    counts: str = "items"
    human: str | None = None
    binned: bool = False
    cross_fitted: bool = False
    thresholded: bool = False
    floor: float = -np.inf
    pairs: ItemKernel | None = None
    part: int | None = None
    ordered: bool = False
    of_teams: bool = False
    single: bool = True
    distance: Distance | None = None
    gaps: Value | None = None
    recut: bool = False
    variant: bool = False
    interval_of: str | None = None
    axioms: tuple[Axiom, ...] | None = None
    axioms_where: str = ""
    counterexamples: tuple[Counterexample, ...] = ()

    @property
    def by_sample(self) -> bool:
        """Whether it is computed for each of several samples of a question, and averaged within the question first."""
        return self.level == "question" and self.single

    @property
    def ranks(self) -> bool:
        """Whether it calls values better or worse, so that an axiom about what is superior applies to it."""
        return self.direction != "none"

    def human_curve(self, conventions: Conventions) -> str | None:
        """The human curve in use, None where none enters."""
        if self.of_teams:
            return conventions.team_curve
        return self.human and (conventions.human or self.human)

    def of_pairs(self, confidence: Floats, correct: Floats) -> float:
        """Its value over items in the order of questions and clues, shape (n,) each, for a metric of pairs."""
        return float(self.own_part(self.of_kernel(confidence, correct)))

    def of_kernel(self, confidence: Floats, correct: Floats) -> Floats:
        """What the kernel of a metric of pairs gives for such items, for all metrics of this kernel, shape () or (parts,)."""
        assert self.pairs is not None
        order = np.argsort(confidence, kind="stable")
        return self.pairs(confidence[order], correct[order], ItemWeights.equal(len(order)))[..., 0]

    def own_part(self, values: Floats) -> Floats:
        """The values of this metric among those that its kernel gives, which may be several."""
        return values if self.part is None else values[self.part]

    def loss(self, values: Floats) -> Floats:
        """Values as numbers of the same shape that are smaller where the metric is better, for ranking."""
        values = np.maximum(values, self.floor)
        return {"lower": values, "higher": -values, "zero": np.abs(values), "none": np.full_like(values, np.nan)}[self.direction]
