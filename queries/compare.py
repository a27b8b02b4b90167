"""Two runs compared by metric and question by question, and every pair of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from clueline.data.store import Snapshot
from clueline.queries.engine.bootstrap import TIED
from clueline.queries.engine.common_questions import shared_selections
from clueline.queries.engine.counted import count_groups
from clueline.queries.engine.equivalence import Equivalence, equivalences
from clueline.queries.engine.intervals_and_difference_tests import difference_interval, difference_tests
from clueline.queries.engine.multiple_comparisons import holm
from clueline.queries.engine.plays_of_people import with_second_values
from clueline.queries.engine.primary_metric import RankedMetrics, ranked_metrics
from clueline.queries.engine.question_difficulties import SELECTED_BY_ANSWERS
from clueline.queries.engine.ranked_metric_rows import NO_INTERVAL
from clueline.queries.engine.run_pairs import RunName, RunPair, measure_pair, measure_runs, pair_runs, runs_by_id
from clueline.queries.engine.units import ONE_CLUSTER
from clueline.queries.metrics import Metric
from clueline.queries.metrics.kernels.arrays import Floats
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.selection import Answer, Selection, head, number, selection_keys


class Difference(msgspec.Struct):
    """One metric of two runs on their common questions.

    ``low`` to ``replicates`` are None where the difference comes from a single question, or where there is no interval.

    Attributes:
        a, b: values of both runs; None where undefined.
        difference: a - b; None where ``missing`` says why.
        better: id of the run with the better value; None where they tie, or where the metric does not measure quality.
        low, high: 95 % interval of the difference.
        p_value: two-sided.
        p_holm: the same, adjusted for all comparisons in the answer by Holm's method and, unless this is the primary metric of
            the dataset, for all other metrics by which its runs can be compared.
        replicates: number of bootstrap replicates behind the interval, 0 for the jackknife.
        no_interval: why there is a difference of several questions without an interval; else None.
        margin: whether the difference is smaller than a margin; None unless one is stated.
        second: values without plays of people whose end nobody stated, if they differ; see ``plays_of_people``.
    """

    SECOND: ClassVar = ("a", "b", "difference")

    a: float | None
    b: float | None
    difference: float | None
    missing: str | None
    better: str | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    replicates: int | None = None
    no_interval: str | None = None
    margin: Equivalence | None = None
    second: dict[str, float] = {}


class QuestionPair(msgspec.Struct):
    """Both runs on one question: value by metric, None where the metric is undefined on this question alone.

    It is None, too, for metrics that are no function of sums, where the runs share more than ``MAX_SINGLE`` questions.
    """

    question_id: str
    a: dict[str, float | None]
    b: dict[str, float | None]


class Comparison(msgspec.Struct):
    """Two runs on the questions that both answered; ``questions`` is how many these are.

    An answer without a confidence is among them if one of the metrics counts it.
    """

    a: RunName
    b: RunName
    questions: int
    metrics: dict[str, Difference]


class SingleComparison(Comparison):
    """Two runs, and the key of the primary metric of the dataset, by which p-values are not adjusted for other metrics.

    ``other_metrics`` is the number of other metrics by which runs can be compared here, shown or not.
    """

    primary: str
    other_metrics: int


class DetailedComparison(SingleComparison):
    """Answer of ``/api/v1/compare``; ``pairs`` are the common questions, in the dataset's order."""

    data_version: str
    selection: dict[str, list[str]]
    pairs: list[QuestionPair]


class Comparisons(Answer):
    """Answer of ``/api/v1/pairs``; see ``SingleComparison``."""

    comparisons: list[Comparison]
    primary: str
    other_metrics: int


def compare(
    snapshot: Snapshot, selection: Selection, a: str, b: str, metrics: Sequence[Metric], margin: float | None = None
) -> DetailedComparison:
    """Compare two runs of the selection's dataset; its filters on questions and clues apply, those on runs do not.

    ``margin`` is the difference below which they are equal, at least 0, in the units of each metric; None where none is stated.
    Raises ``BadRequest`` if there is no such run in the dataset, or a run is compared with itself.
    """
    single, pairs = _single(snapshot, selection, a, b, metrics, margin)
    return DetailedComparison(
        **msgspec.structs.asdict(_with_second(snapshot, selection, single, metrics)),
        data_version=snapshot.version,
        selection=selection_keys(selection),
        pairs=_questions(snapshot, selection.dataset, pairs, metrics),
    )


def comparison(
    snapshot: Snapshot, selection: Selection, a: str, b: str, metrics: Sequence[Metric], margin: float | None = None
) -> SingleComparison:
    """Compare two runs like ``compare``, but without the values of single questions."""
    return _with_second(snapshot, selection, _single(snapshot, selection, a, b, metrics, margin)[0], metrics)


def _with_second(
    snapshot: Snapshot, selection: Selection, compared: SingleComparison, metrics: Sequence[Metric]
) -> SingleComparison:
    """Set the second values of a comparison: those without plays of people whose end nobody stated."""
    of_people = [metric for metric in metrics if metric.rests_on_people]
    if not of_people:
        return compared
    a, b = compared.a.run, compared.b.run
    return with_second_values(snapshot, selection, compared, lambda other, same: _single(other, same, a, b, of_people, None)[0])


def comparisons(snapshot: Snapshot, selection: Selection, a: str | None, metrics: Sequence[Metric]) -> Comparisons:
    """Compare runs two by two, with p-values adjusted over all pairs and, unless the metric is the primary one, other metrics.

    The run ``a`` is compared with every other run of the selection; None compares every pair of runs. Raises ``BadRequest`` if
    there is no run ``a`` in the dataset.
    """
    names = runs_by_id(snapshot, selection, a=a)
    groups = count_groups(snapshot, selection, metrics, () if a is None else (a,), compared=False)
    answering = {run.run for group in groups for run in group.with_metrics([]).evidence.runs}
    selected = [run for run in names if run in answering]
    pairs = [*combinations(selected, 2)] if a is None else [(a, run) for run in selected if run != a]
    # Run a is measured even if the selection's filters on runs leave it out.
    compared = dict.fromkeys(run for pair in pairs for run in pair)
    measured: dict[tuple[str, str], dict[str, RunPair | None]] = {pair: {} for pair in pairs}
    for counts in groups:
        counted, group = counts.selection, counts.metrics
        together, shared = measure_runs(snapshot, counted, tuple(compared), group), shared_selections(snapshot, counted, pairs)
        for pair in pairs:
            check_time_limit()
            paired = pair_runs(measure_runs(snapshot, shared[pair], pair, group) if pair in shared else together, *pair)
            measured[pair] |= dict.fromkeys((metric.key for metric in group), paired)
    results = [_comparison(names[pair[0]], names[pair[1]], measured[pair], metrics) for pair in pairs]
    ranked = ranked_metrics(snapshot, selection)
    _adjust(results, metrics, ranked)
    return Comparisons(*head(snapshot, selection), results, ranked.primary.key, ranked.others)


def _single(
    snapshot: Snapshot, selection: Selection, a: str, b: str, metrics: Sequence[Metric], margin: float | None
) -> tuple[SingleComparison, dict[str, RunPair | None]]:
    """Return the comparison of two runs, and what it was measured from; see ``measure_pair``."""
    runs = runs_by_id(snapshot, selection, a=a, b=b)
    pairs = measure_pair(snapshot, selection, a, b, metrics)
    ranked = ranked_metrics(snapshot, selection)
    result = _comparison(runs[a], runs[b], pairs, metrics)
    _adjust([result], metrics, ranked)
    if margin is not None:
        for metric in metrics:
            pair, difference = pairs[metric.key], result.metrics[metric.key]
            if pair is None:
                difference.margin = Equivalence(b, undefined=difference.missing)
            else:
                compared = equivalences(pair.evidence, metric, margin, pair.b, ranked.adjusted_for(metric))
                difference.margin = compared[pair.a]
    single = SingleComparison(**msgspec.structs.asdict(result), primary=ranked.primary.key, other_metrics=ranked.others)
    return single, pairs


def _comparison(a: RunName, b: RunName, pairs: Mapping[str, RunPair | None], metrics: Sequence[Metric]) -> Comparison:
    differences = {metric.key: _difference(pairs[metric.key], metric, a.run, b.run) for metric in metrics}
    different = {pair for pair in pairs.values() if pair is not None}  # metrics that count the same answers share a pair
    return Comparison(a, b, len({*chain.from_iterable(map(_questions_of, different))}), differences)


def _questions_of(pair: RunPair) -> list[str]:
    """Return the ids of the questions that both runs answered."""
    evidence = pair.evidence
    return [*evidence.questions[evidence.starts[pair.a] :][: pair.questions].tolist()]


def _difference(pair: RunPair | None, metric: Metric, a: str, b: str) -> Difference:
    if pair is None:
        return Difference(None, None, None, "no question of the selection was answered by both")
    values = pair.evidence.values(metric)[[pair.a, pair.b]]
    result = Difference(number(values[0]), number(values[1]), number(values[0] - values[1]), None)
    if result.difference is None:
        result.missing = metric.undefined
        return result
    loss_a, loss_b = metric.loss(values)
    if abs(loss_b - loss_a) > TIED:
        result.better = a if loss_a < loss_b else b
    if pair.evidence.selected_by_answers:
        result.no_interval = SELECTED_BY_ANSWERS
    elif metric.no_interval:
        result.no_interval = metric.no_interval
    elif pair.evidence.units_with(metric)[[pair.a, pair.b]].min() > 1:
        low, high, replicates = difference_interval(pair.evidence, metric, pair.a, pair.b)
        if not math.isfinite(low):
            result.no_interval = NO_INTERVAL
        else:
            result.low, result.high, result.replicates = low, high, replicates
            p_value = difference_tests(pair.evidence, metric)[pair.a, pair.b]
            result.p_value = number(p_value)
    elif pair.evidence.questions_with(metric)[[pair.a, pair.b]].min() > 1:
        result.no_interval = ONE_CLUSTER
    return result


def _adjust(results: Sequence[Comparison], metrics: Sequence[Metric], ranked: RankedMetrics) -> None:
    """Set the adjusted p-values of all comparisons of an answer."""
    for metric in metrics:
        family = [result.metrics[metric.key] for result in results]
        p_values = np.array([np.nan if difference.p_value is None else difference.p_value for difference in family])
        for difference, adjusted in zip(family, holm(p_values, ranked.adjusted_for(metric)), strict=True):
            difference.p_holm = number(adjusted)


def _questions(
    snapshot: Snapshot, dataset: str, pairs: Mapping[str, RunPair | None], metrics: Sequence[Metric]
) -> list[QuestionPair]:
    """Return both runs question by question. The rows of a pair are on the same questions, in the same order."""
    rows: dict[str, QuestionPair] = {}
    shown = [metric.key for metric in metrics if metric.single]
    for metric in metrics:
        pair = pairs[metric.key]
        if pair is None:
            continue
        starts = pair.evidence.starts[[pair.a, pair.b]]
        listed = metric.single and (metric.pairs is None or pair.questions <= MAX_SINGLE)
        values = pair.evidence.per_question(metric) if listed else None
        for index, question in enumerate(_questions_of(pair)):
            if question not in rows:
                rows[question] = QuestionPair(question, dict.fromkeys(shown), dict.fromkeys(shown))
            if values is not None:
                of_a, of_b = (number(value) for value in values[starts + index])
                rows[question].a[metric.key], rows[question].b[metric.key] = of_a, of_b
    order = snapshot.rows("select question_id from questions where dataset = $d order by position", {"d": dataset})
    return [rows[question] for (question,) in order if question in rows]


MAX_SINGLE = 1_000  # questions; each needs a call of each kernel of pairs, and a million calls take minutes
BINS = 41  # bins of the differences; odd, so that one is centred on 0
MIN_SPAN = 1e-9  # smallest span of differences that can be drawn
MAX_DOTS = 2000  # more dots would only be a cloud, and slow


class QuestionDot(msgspec.Struct, array_like=True):
    """One question, with the value of the metric for both runs."""

    question_id: str
    a: float
    b: float


class CategoryWins(msgspec.Struct, array_like=True):
    """On how many questions of a category run ``a`` is better, run ``b`` is better, or both are equal; None is no category."""

    category: str | None
    a: int
    b: int
    ties: int


class QuestionDifferences(msgspec.Struct):
    """One metric of two runs on the questions on which it is defined for both.

    Of more than 2,000 questions, ``dots`` are every n-th, in the dataset's order. ``widest`` is the largest absolute difference
    between a and b, at least 1e-9. ``differences`` counts questions by a - b in 41 bins of equal width from -widest to widest.
    """

    questions: int
    dots: list[QuestionDot]
    widest: float
    differences: list[int]
    wins: list[CategoryWins]


def question_differences(snapshot: Snapshot, selection: Selection, a: str, b: str, metric: Metric) -> QuestionDifferences:
    """Compare two runs by a metric that ranks runs and is defined on single questions, on those that both answered.

    Raises ``BadRequest`` if the dataset has no such run, or a run is compared with itself.
    """
    assert metric.single and metric.direction != "none"
    runs_by_id(snapshot, selection, a=a, b=b)
    pair = measure_pair(snapshot, selection, a, b, [metric])[metric.key]
    if pair is None:
        return QuestionDifferences(0, [], MIN_SPAN, [0] * BINS, [])
    evidence = pair.evidence
    values = evidence.per_question(metric)
    values_a, values_b = (values[evidence.starts[run] :][: pair.questions] for run in (pair.a, pair.b))
    questions = evidence.questions[evidence.starts[pair.a] :][: pair.questions]
    defined = np.isfinite(values_a) & np.isfinite(values_b)
    values_a, values_b, questions = values_a[defined], values_b[defined], questions[defined]
    widest = float(np.abs(values_a - values_b).max(initial=MIN_SPAN))
    shown = slice(None, None, max(1, -(-len(questions) // MAX_DOTS)))
    dots = zip(questions[shown].tolist(), values_a[shown].tolist(), values_b[shown].tolist(), strict=True)
    return QuestionDifferences(
        questions=len(questions),
        dots=[QuestionDot(*dot) for dot in dots],
        widest=widest,
        differences=np.histogram(values_a - values_b, BINS, (-widest, widest))[0].tolist(),
        wins=_wins(snapshot, selection, questions, metric.loss(values_b) - metric.loss(values_a)),
    )


def _wins(snapshot: Snapshot, selection: Selection, questions: NDArray[np.object_], advantage: Floats) -> list[CategoryWins]:
    """Return the wins by category, from how much better ``a`` is on each question, shape (questions,)."""
    rows = snapshot.frame(
        "select question_id, category from questions where dataset = $dataset order by position", {"dataset": selection.dataset}
    )
    category_of = dict(rows.iter_rows())
    category = np.array([category_of[question] or "" for question in questions.tolist()], dtype=object)
    names, place = np.unique(category, return_inverse=True)
    sign = np.where(np.abs(advantage) <= TIED, 0, np.sign(advantage)).astype(np.int64)
    counts = np.bincount(place * 3 + sign + 1, minlength=3 * len(names)).reshape(-1, 3)
    wins = [
        CategoryWins(name or None, int(a), int(b), int(ties)) for name, (b, ties, a) in zip(names.tolist(), counts, strict=True)
    ]
    return sorted(wins, key=lambda row: (row.category is None, row.category))
