"""Two runs, or one run and all others, on the questions that both answered: paired differences and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from data.store.generations import Snapshot
from queries.engine.bootstrap import TIED, holm, p_value, percentile_interval
from queries.engine.evidence import Evidence, gather
from queries.metrics import Metric
from queries.metrics.metric import Floats
from queries.parameters import BadRequest
from queries.selection import Selection, number, selection_keys


class RunName(msgspec.Struct):
    """A run, by what it is called."""

    run: str
    model: str
    elicitation: str


class Difference(msgspec.Struct):
    """One metric of two runs on their common questions; values are None where ``missing`` says why.

    ``difference`` is a - b, with its 95 % percentile interval and two-sided p-value over ``replicates`` of the bootstrap, None
    where it comes from a single question; ``p_holm`` is adjusted for all comparisons of this metric in the answer. ``better``
    is the run with the better value, None where they tie or where the metric says nothing of quality.
    """

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


class QuestionPair(msgspec.Struct):
    """Both runs on one question: metric -> value, None where one question by itself has none."""

    question_id: str
    a: dict[str, float | None]
    b: dict[str, float | None]


class Comparison(msgspec.Struct):
    """Two runs on the ``questions`` that both answered."""

    a: RunName
    b: RunName
    questions: int
    metrics: dict[str, Difference]


class DetailedComparison(Comparison):
    """Answer of ``/api/v1/compare``; ``pairs`` are the common questions, in the dataset's order."""

    data_version: str
    selection: dict[str, list[str]]
    pairs: list[QuestionPair]


class Comparisons(msgspec.Struct):
    """Answer of ``/api/v1/pairs``."""

    data_version: str
    selection: dict[str, list[str]]
    comparisons: list[Comparison]


def compare(snapshot: Snapshot, selection: Selection, a: str, b: str, metrics: Sequence[Metric]) -> DetailedComparison:
    """Compare two runs of the selection's dataset; its filters on questions and clues apply, those on runs do not.

    Raises:
        BadRequest: there is no such run in the dataset, or a run is compared with itself.
    """
    names, couple = measured_pair(snapshot, selection, a, b, metrics)
    return DetailedComparison(
        **msgspec.structs.asdict(_comparison(names[a], names[b], couple, metrics)),
        data_version=snapshot.version,
        selection=selection_keys(selection),
        pairs=_questions(couple, metrics) if couple else [],
    )


def comparison(snapshot: Snapshot, selection: Selection, a: str, b: str, metrics: Sequence[Metric]) -> Comparison:
    """The same without the questions."""
    names, couple = measured_pair(snapshot, selection, a, b, metrics)
    return _comparison(names[a], names[b], couple, metrics)


def measured_pair(
    snapshot: Snapshot, selection: Selection, a: str, b: str, metrics: Sequence[Metric]
) -> tuple[dict[str, RunName], RunPair | None]:
    """The runs of the dataset by name, and two of them on the questions of a selection that both answered, None without any.

    Raises:
        BadRequest: there is no such run in the dataset, or a run is compared with itself.
    """
    names = _names(snapshot, selection, {"a": a, "b": b})
    measured = MeasuredRuns(gather(snapshot, selection.replace(run=(a, b), model=(), elicitation=()), metrics))
    return names, _couple(measured, a, b)


def comparisons(snapshot: Snapshot, selection: Selection, a: str | None, metrics: Sequence[Metric]) -> Comparisons:
    """Compare run ``a`` with every other run of the selection or, where it is None, every two runs, with Holm's adjustment.

    Raises:
        BadRequest: there is no such run in the dataset.
    """
    names = _names(snapshot, selection, {"a": a})
    runs = [run.run for run in gather(snapshot, selection, []).runs]
    couples = [*combinations(runs, 2)] if a is None else [(a, run) for run in runs if run != a]
    # Whatever the selection's filters on runs say, a is one of them.
    named = tuple({run: None for couple in couples for run in couple})
    measured = MeasuredRuns(gather(snapshot, selection.replace(run=named, model=(), elicitation=()), metrics))
    found = [_comparison(names[one], names[other], _couple(measured, one, other), metrics) for one, other in couples]
    for metric in metrics:
        _adjust([comparison.metrics[metric.key] for comparison in found])
    return Comparisons(snapshot.version, selection_keys(selection), found)


class MeasuredRuns:
    """Metrics of every run of some evidence, each computed once for however many comparisons."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._values: dict[str, Floats] = {}
        self._replicates: dict[str, Floats] = {}
        self._questions: dict[str, NDArray[np.int64]] = {}

    def values(self, metric: Metric) -> Floats:
        """As ``Evidence.values``."""
        if metric.key not in self._values:
            self._values[metric.key] = self.evidence.values(metric)
        return self._values[metric.key]

    def replicates(self, metric: Metric) -> Floats:
        """As ``Evidence.replicates``."""
        if metric.key not in self._replicates:
            self._replicates[metric.key] = self.evidence.replicates(metric)
        return self._replicates[metric.key]

    def questions(self, metric: Metric) -> NDArray[np.int64]:
        """As ``Evidence.questions_with``."""
        if metric.key not in self._questions:
            self._questions[metric.key] = self.evidence.questions_with(metric)
        return self._questions[metric.key]


class RunPair(NamedTuple):
    """Two runs that answered the same questions in what was measured, as indices of its runs."""

    measured: MeasuredRuns
    a: int
    b: int
    questions: int


def _names(snapshot: Snapshot, selection: Selection, named: dict[str, str | None]) -> dict[str, RunName]:
    """The runs of the dataset; refuses those that it does not have."""
    rows = snapshot.rows(
        "select run, model, elicitation from runs where dataset = $d order by position", {"d": selection.dataset}
    )
    known = {row[0]: RunName(*row) for row in rows}
    for key, run in named.items():
        if run is not None and run not in known:
            raise BadRequest("unknown_value", f"Dataset {selection.dataset!r} has no run {run!r}.", key, [*known])
    if len(set(named.values())) < len(named):
        raise BadRequest("bad_value", "A run cannot be compared with itself: name another as b.", "b", [*known])
    return known


def _couple(measured: MeasuredRuns, a: str, b: str) -> RunPair | None:
    """Two runs on their common questions, None where there are none.

    Where both answered the same questions, as runs mostly do, they share with all others what was measured.
    """
    evidence = measured.evidence
    index = {run.run: place for place, run in enumerate(evidence.runs)}
    if a not in index or b not in index:
        return None
    rows = {run: np.arange(evidence.starts[index[run]], evidence.ends[index[run]]) for run in (a, b)}
    of_a, of_b = (evidence.places[rows[run]] for run in (a, b))
    if np.array_equal(of_a, of_b):
        return RunPair(measured, index[a], index[b], len(of_a))
    kept = np.zeros(len(evidence.questions), dtype=bool)
    kept[rows[a]], kept[rows[b]] = np.isin(of_a, of_b), np.isin(of_b, of_a)
    common = evidence.keep(kept)  # in the order of import: a need not come first
    sides = [run.run for run in common.runs]
    return RunPair(MeasuredRuns(common), sides.index(a), sides.index(b), len(common.questions) // 2) if sides else None


def _comparison(a: RunName, b: RunName, couple: RunPair | None, metrics: Sequence[Metric]) -> Comparison:
    if couple is None:
        missing = Difference(None, None, None, "no question of the selection was answered by both")
        return Comparison(a, b, 0, {metric.key: msgspec.structs.replace(missing) for metric in metrics})
    return Comparison(a, b, couple.questions, {metric.key: _difference(couple, metric, a.run, b.run) for metric in metrics})


def _difference(couple: RunPair, metric: Metric, a: str, b: str) -> Difference:
    values = couple.measured.values(metric)[[couple.a, couple.b]]
    found = Difference(number(values[0]), number(values[1]), number(values[0] - values[1]), None)
    if found.difference is None:
        found.missing = metric.undefined
        return found
    ahead = metric.loss(values)[1] - metric.loss(values)[0]
    if abs(ahead) > TIED:
        found.better = a if ahead > 0 else b
    if couple.measured.questions(metric)[[couple.a, couple.b]].min() > 1:
        replicates = couple.measured.replicates(metric)
        differences: Floats = (replicates[:, couple.a] - replicates[:, couple.b])[:, None]
        (low,), (high,), (count,) = percentile_interval(differences)
        found.low, found.high, found.replicates = number(low), number(high), int(count)
        found.p_value = found.p_holm = number(p_value(differences)[0])  # of a family of one, so far
    return found


def _adjust(family: list[Difference]) -> None:
    """Set the adjusted p-values of the comparisons of one metric."""
    p_values = np.array([np.nan if one.p_value is None else one.p_value for one in family])
    for one, adjusted in zip(family, holm(p_values), strict=True):
        one.p_holm = number(adjusted)


def _questions(couple: RunPair, metrics: Sequence[Metric]) -> list[QuestionPair]:
    """Both runs question by question: each has the same questions, in the same order."""
    evidence = couple.measured.evidence
    columns = {metric.key: evidence.per_question(metric) for metric in metrics if metric.single}
    firsts = evidence.starts[couple.a], evidence.starts[couple.b]

    def cells(row: int) -> dict[str, float | None]:
        return {key: number(values[row]) for key, values in columns.items()}

    of_a, of_b = (range(first, first + couple.questions) for first in firsts)
    return [QuestionPair(str(evidence.questions[row]), cells(row), cells(other)) for row, other in zip(of_a, of_b, strict=True)]
