"""Types of the metric catalogue: a metric's description, and how it is computed from the stored statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from clueline.data.human_curves import CURVES, TEAM_CURVES
from clueline.data.sufficient_statistics import Closed, likelier_side
from clueline.queries.metrics.counted_answers import CONFIDENT, CountedAnswers
from clueline.queries.metrics.kernels.arrays import Floats
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from clueline.queries.metrics.kernels.bounds import Bounds

# Sums of ``kernels.item_totals.net_reward``: the one at the default threshold is stored, others are computed from the items.
HALF_REWARD, NET_REWARD = "half_reward", "net_reward"
ATTEMPTED_ITEMS = "attempted_items"  # number of items that are no abstentions; computed from the items
Sums = Mapping[str, Floats]
Level = Literal["item", "question"]
Direction = Literal["lower", "higher", "zero", "none"]  # which values are best: low, high or near 0; none: not a quality score
Need = Literal["correctness", "confidence", "human buzzes", "difficulty", "whole distribution", "votes"]
# How residuals c - y are combined into a distance from calibration, 0 for a calibrated run; see queries.engine.inference.
Distance = Literal["sum", "maximum", "square", "walk", "curve"]
Axiom = Literal["U", "O", "UO"]  # see queries.metrics.axioms
ItemPair = tuple[float, float]  # confidence, correctness
HUMAN_CURVES = CURVES


@dataclass(frozen=True)
class Conventions:
    """The analyst's choices about how metrics are computed.

    ``binning`` is ``width10``, ``width10r``, ``width10+1`` or ``massB``. ``beta``, above 0, is the weight of R_U relative to R_O
    in HMR. In the net score, an item is answered where its confidence is above ``t``, in [0, 1). The last two are properties of
    the dataset: if teams played ``head_to_head``, ``survival`` is the team curve unless another one is chosen; of ``forecasts``,
    confidence is the probability of yes, and correctness is the outcome.
    """

    binning: str = "width10"
    human: str | None = None
    beta: float = 1.0
    t: float = 0.5
    head_to_head: bool = False
    forecasts: bool = False

    @property
    def reward(self) -> str:
        """Name of the column that holds the net reward at the threshold ``t``."""
        return HALF_REWARD if self.t == 0.5 else NET_REWARD

    @property
    def mass_bins(self) -> int | None:
        """Number of bins of an equal-mass binning, None for an equal-width one."""
        return int(self.binning[4:]) if self.binning.startswith("mass") else None

    @property
    def closed(self) -> Closed:
        """Which end of an equal-width bin belongs to it. The stored bins are closed on the left."""
        return "right" if self.binning == "width10r" else "left"

    @property
    def team_curve(self) -> str:
        """The team curve in use: the chosen human curve if it is a team curve, else the dataset's default."""
        if self.human in TEAM_CURVES:
            return self.human
        return "survival" if self.head_to_head else "team_share"

    @property
    def human_curve_or_default(self) -> str:
        """The human curve that says whether people already know the answer at a clue: the chosen one, else ``buzz_share``."""
        return self.human or "buzz_share"


Contributions = Callable[[Sums, Conventions], Sums]
Value = Callable[[Sums, Conventions], Floats]
ItemKernel = Callable[[Floats, Floats, ItemWeights], Floats]
Reads = Callable[[Conventions], tuple[str, ...]]
Extremes = Callable[[Floats, Conventions], tuple[Floats, Floats]]


def unchanged_sums(sums: Sums, conventions: Conventions) -> Sums:
    """Return the sums over each question's items unchanged: the contributions of an item-level metric, which simply add up."""
    return sums


def not_from_sums(totals: Sums, conventions: Conventions) -> Floats:
    """Stand in for ``Metric.value`` of a metric that is not a function of sums: raise ``TypeError``."""
    raise TypeError("this metric is not a function of sums: it has ``pairs``")


@dataclass(frozen=True)
class Counterexample:
    """A change for the worse in the confidences of some items that a metric does not penalise.

    ``changes`` are the index and new confidence of each changed item: a correct item loses confidence (U), an incorrect one gains
    confidence (O), or one of each changes (UO).
    """

    items: tuple[ItemPair, ...]
    changes: tuple[tuple[int, float], ...]

    @property
    def axiom(self) -> Axiom:
        if len(self.changes) == 2:
            return "UO"
        ((index, _),) = self.changes
        return "U" if self.items[index][1] == 1 else "O"

    @property
    def after(self) -> tuple[ItemPair, ...]:
        changed = dict(self.changes)
        return tuple((changed.get(index, c), y) for index, (c, y) in enumerate(self.items))


class Wording(NamedTuple):
    """What a metric is called, as in ``MetricFacts``."""

    name: str
    label: str
    words: str


OF_LIKELIER_SIDE = "The answer is the likelier side of each forecast, with confidence max(p, 1 − p)."


@dataclass(frozen=True, kw_only=True)
class MetricFacts:
    """The facts that every entry of the catalogue states.

    Attributes:
        key: name in addresses and files.
        label: short name for a narrow column.
        symbol: short mathematical symbol, in LaTeX.
        low, high: range, inclusive; infinite where it is unbounded.
        formula: definition in LaTeX.
        words: the formula in words, one or two sentences.
        caveat: what a reader must know before trusting the metric.
        undefined: the reason shown where there is no value. It completes "missing where ...".
        level: ``item`` pools all items, ``question`` averages over questions.
        of_forecasts: what it is called where items are forecasts; None if the same.
    """

    key: str
    name: str
    label: str
    symbol: str
    direction: Direction
    formula: str
    words: str
    source: str
    low: float = 0
    high: float = 1
    needs: tuple[Need, ...] = ("correctness", "confidence")
    caveat: str = ""
    undefined: str = "no items are selected"
    level: Level = "item"
    of_forecasts: Wording | None = None


@dataclass(frozen=True, kw_only=True)
class AnalysisMetric(MetricFacts):
    """A metric that a separate analysis computes, because it is not a function of sums over questions.

    ``fields`` are dotted paths in the JSON of ``address``; a list on the path stands for each of its elements.
    """

    fields: tuple[str, ...]
    address: str
    level: Level = "question"


@dataclass(frozen=True, kw_only=True)
class Metric(MetricFacts):
    """A metric that is computed from per-question statistics.

    Most are additive: ``contributions`` turns the per-question statistics, shape (questions,) or (questions, bins), into columns
    that are summed over questions; ``value`` turns the totals, of shape (...,) or (..., bins), into the metric, NaN where it is
    undefined. The same two functions therefore serve one selection and a thousand bootstrap replicates of it. A metric with
    ``pairs`` is computed item by item instead.

    Attributes:
        contributions: a column named ``questions`` is 1 where a question has what the metric needs, else 0.
        counts: where there is no ``questions`` column, the statistic that counts the items the metric can use.
        mean: whether it is a mean over items, weighted by ``counts``, or over the questions where it is defined.
        human: the default human curve, None if the metric uses no human curve.
        cross_fitted: whether it is computed from totals by fold of questions and bin (see ``kernels.bins.fold_totals``) instead
            of contributions. Equal-mass bins are then those of the data in every replicate.
        floor: values below the floor rank as if they were equal to it.
        pairs: for a metric that is not a function of sums, its kernel: a function of confidence, correctness and weights of
            items sorted by confidence. ``value`` is then not called.
        large: the kernel of replicates of large samples that needs less time, if ``pairs`` depends on single items.
        part: where the kernel returns several metrics at once, shape (metrics, k), the index of this one.
        ordered: whether the value depends on the order of tied items, which is the order of questions and clues.
        of_teams: whether it needs a team curve: it uses ``Conventions.team_curve`` even if a buzz curve is chosen.
        single: whether it is defined for a single question; False for a metric that compares questions.
        distance: the kind of distance from calibration, None if the metric is not one. Its interval needs care near 0.
        gaps: for a distance computed from bins, a function from totals to the sums of c - y per bin, shape (..., bins).
        recut: whether its bins are cut again in each replicate, so that weights must be whole numbers.
        of_likelier_side: whether forecasts count as answers: the likelier one of yes and no (see
            ``data.sufficient_statistics.likelier_side``). Other metrics compare the probability of yes with the outcome.
        variant: whether it is a calibration error as another project computes it, ranked only on request.
        interval_of: key of the metric with the same true value, whose interval this metric shares.
        of_accuracy: whether it is a function of the accuracy alone, largest at 1/2, whose interval gives that of the metric.
        no_interval: why no interval of it holds what it says, so that it has neither intervals nor tests; empty where some does.
        fitted: whether bins or a curve are fitted to the same answers, so that noise moves it in one direction.
        extremes: for a mean over items, a function from their correctness, shape (n,), to the least and the greatest value that
            an item without a confidence could have.
        bounds: for another metric, its bounds if some answers lack a confidence (``kernels.bounds``); None where none are known.
        axioms: the axioms it satisfies, () for none; None where nothing is stated. See ``queries.metrics.axioms``.
        axioms_where: the condition under which it satisfies them, if any.
        counterexamples: one for each axiom that it does not satisfy, under the default conventions.
    """

    reads: Reads = field(default=lambda conventions: ("items",))
    value: Value = not_from_sums
    contributions: Contributions = unchanged_sums
    counts: str = "items"
    counted: CountedAnswers = CONFIDENT
    mean: bool = False
    human: str | None = None
    binned: bool = False
    cross_fitted: bool = False
    thresholded: bool = False
    floor: float = -np.inf
    pairs: ItemKernel | None = None
    large: ItemKernel | None = None
    part: int | None = None
    ordered: bool = False
    of_teams: bool = False
    single: bool = True
    distance: Distance | None = None
    gaps: Value | None = None
    recut: bool = False
    of_likelier_side: bool = False
    variant: bool = False
    interval_of: str | None = None
    of_accuracy: bool = False
    no_interval: str = ""
    fitted: bool = False
    extremes: Extremes | None = None
    bounds: Callable[[Floats, Floats, Floats], Bounds] | None = None
    axioms: tuple[Axiom, ...] | None = None
    axioms_where: str = ""
    counterexamples: tuple[Counterexample, ...] = ()

    def worded(self, forecasts: bool) -> Metric:
        """Return the metric as it is called where items are forecasts, or where they are not."""
        wording = self.of_forecasts
        if wording is None and self.of_likelier_side:
            wording = Wording(self.name, self.label, f"{self.words} {OF_LIKELIER_SIDE}")
        return replace(self, **wording._asdict(), of_forecasts=wording) if forecasts and wording else self

    def side(self, confidence: Floats, correct: Floats, conventions: Conventions) -> tuple[Floats, Floats]:
        """Return confidence and correctness of items as the metric reads them, from those that are stored, shape (n,) each."""
        if conventions.forecasts and self.of_likelier_side:
            return likelier_side(confidence, correct)
        return confidence, correct

    def needs_items(self, conventions: Conventions) -> bool:
        """Whether it is no function of totals over questions: it is one of pairs, or of bins that are cut for the selection."""
        return self.pairs is not None or (self.binned and conventions.mass_bins is not None and not self.cross_fitted)

    @property
    def by_sample(self) -> bool:
        """Whether it is computed for each sample of a question and averaged within the question first."""
        return self.level == "question" and self.single

    @property
    def mean_of_items(self) -> bool:
        """Whether it is a mean over items of a value between ``low`` and ``high``, or of ``net_reward``, computed from totals."""
        return self.mean and self.level == "item" and self.counts == "items" and self.pairs is None

    @property
    def of_items(self) -> bool:
        """Whether confidence and correctness of items determine it, weighted by human curves or not.

        A metric that compares confidence with people, whatever is right, is not: an extra question would need people.
        """
        compares = "human buzzes" in self.needs and "correctness" not in self.needs
        return not compares and not {"difficulty", "whole distribution", "votes"} & {*self.needs}

    @property
    def rests_on_people(self) -> bool:
        """Whether values can depend on what people did: by a human curve, or by difficulties that come from people."""
        return bool({"human buzzes", "difficulty"} & {*self.needs})

    @property
    def ranks(self) -> bool:
        """Whether its values are better or worse than one another, so that the axioms on superiority apply to it."""
        return self.direction != "none"

    def human_curve(self, conventions: Conventions) -> str | None:
        """The human curve in use, None if the metric uses no human curve."""
        if self.of_teams:
            return conventions.team_curve
        return self.human and (conventions.human or self.human)

    def of_pairs(self, confidence: Floats, correct: Floats) -> float:
        """Compute a metric of pairs over items in the order of questions and clues; NaN where undefined."""
        return float(self.select_part(self.kernel_values(confidence, correct)))

    def kernel_values(self, confidence: Floats, correct: Floats) -> Floats:
        """Return what the kernel of a metric of pairs gives for items as in ``of_pairs``: shape (), or (metrics,) for several."""
        assert self.pairs is not None
        order = np.argsort(confidence, kind="stable")
        return self.pairs(confidence[order], correct[order], ItemWeights.equal(len(order)))[..., 0]

    def select_part(self, values: Floats) -> Floats:
        """Pick the values of this metric from the output of its kernel, which may compute several metrics."""
        return values if self.part is None else values[self.part]

    def loss(self, values: Floats) -> Floats:
        """Turn values into losses for ranking: the same shape, smaller is better, NaN for a metric that is not ranked."""
        values = np.maximum(values, self.floor)
        return {"lower": values, "higher": -values, "zero": np.abs(values), "none": np.full_like(values, np.nan)}[self.direction]
