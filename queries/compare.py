"""Two runs, or one run and all others, on the questions that both answered: paired differences and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec
import numpy as np

from data.store import Snapshot
from queries.evidence import Evidence, gather
from queries.metrics import Metric
from queries.metrics.metric import Floats
from queries.plain import number, selection_keys
from queries.resampling import holm, interval, p_value
from queries.selection import BadAddress, Selection


class Named(msgspec.Struct):
    """A run, by what it is called."""

    run: str
    model: str
    elicitation: str


class Difference(msgspec.Struct):
    """One metric of two runs on their common questions; values are None where ``missing`` says why.

    ``difference`` is a - b, with its 95 % percentile interval and two-sided p-value over ``replicates`` of the bootstrap, None
    over a single question; ``p_holm`` is adjusted for all comparisons of this metric in the answer. ``better`` is the run with
    the better value, None where they tie or where the metric says nothing of quality.
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

    a: Named
    b: Named
    questions: int
    metrics: dict[str, Difference]


class Compared(Comparison):
    """Answer of ``/api/v1/compare``; ``pairs`` are the common questions, in the dataset's order."""

    data_version: str
    selection: dict[str, list[str]]
    pairs: list[QuestionPair]


class Comparisons(msgspec.Struct):
    """Answer of ``/api/v1/pairs``."""

    data_version: str
    selection: dict[str, list[str]]
    comparisons: list[Comparison]


def compare(snapshot: Snapshot, selection: Selection, a: str, b: str, metrics: Sequence[Metric]) -> Compared:
    """Compare two runs of the selection's dataset; its filters on questions and clues apply, those on runs do not.

    Raises:
        BadAddress: there is no such run in the dataset, or a run is compared with itself.
    """
    _check(snapshot, selection, {"a": a, "b": b})
    evidence = gather(snapshot, selection.but(run=(a, b), model=(), elicitation=()), metrics)
    pair = _pair(evidence, a, b)
    return Compared(
        **msgspec.structs.asdict(_comparison(snapshot, pair, a, b, metrics)),
        data_version=snapshot.version,
        selection=selection_keys(selection),
        pairs=_questions(pair, metrics),
    )


def comparisons(snapshot: Snapshot, selection: Selection, a: str | None, metrics: Sequence[Metric]) -> Comparisons:
    """Compare run ``a`` with every other run of the selection or, where it is None, every two runs, with Holm's adjustment.

    Raises:
        BadAddress: there is no such run in the dataset.
    """
    _check(snapshot, selection, {"a": a})
    runs = [run.run for run in gather(snapshot, selection, []).runs]
    couples = [*combinations(runs, 2)] if a is None else [(a, run) for run in runs if run != a]
    # Whatever the selection's filters on runs say, a is one of them.
    named = tuple({run: None for couple in couples for run in couple})
    evidence = gather(snapshot, selection.but(run=named, model=(), elicitation=()), metrics)
    found = [_comparison(snapshot, _pair(evidence, *couple), *couple, metrics) for couple in couples]
    for metric in metrics:
        _adjust([comparison.metrics[metric.key] for comparison in found])
    return Comparisons(snapshot.version, selection_keys(selection), found)


def _check(snapshot: Snapshot, selection: Selection, named: dict[str, str | None]) -> None:
    rows = snapshot.rows("select run from runs where dataset = $d order by position", {"d": selection.dataset})
    known = [run for (run,) in rows]
    for key, run in named.items():
        if run is not None and run not in known:
            raise BadAddress("unknown_value", f"Dataset {selection.dataset!r} has no run {run!r}.", key, known)
    if len(set(named.values())) < len(named):
        raise BadAddress("bad_value", "A run cannot be compared with itself: name another as b.", "b", known)


def _pair(evidence: Evidence, a: str, b: str) -> Evidence:
    """Rows of two runs on their common questions: those of ``a`` first; none where nothing is common."""
    index = {run.run: place for place, run in enumerate(evidence.runs)}
    if a not in index or b not in index:
        return evidence.keep(np.zeros(len(evidence.questions), dtype=bool))
    rows = {run: np.arange(evidence.starts[index[run]], evidence.ends[index[run]]) for run in (a, b)}
    common = np.intersect1d(evidence.places[rows[a]], evidence.places[rows[b]])
    kept = np.zeros(len(evidence.questions), dtype=bool)
    for run in (a, b):
        kept[rows[run]] = np.isin(evidence.places[rows[run]], common)
    return evidence.keep(kept)


def _comparison(snapshot: Snapshot, pair: Evidence, a: str, b: str, metrics: Sequence[Metric]) -> Comparison:
    rows = snapshot.rows("select run, model, elicitation from runs where run in ($a, $b)", {"a": a, "b": b})
    named = {run: Named(run, model, elicitation) for run, model, elicitation in rows}
    sides = [run.run for run in pair.runs]
    found = {metric.key: _difference(pair, metric, sides, a, b) for metric in metrics}
    for one in found.values():
        one.p_holm = one.p_value  # of a family of one
    return Comparison(named[a], named[b], len(pair.questions) // 2, found)


def _difference(pair: Evidence, metric: Metric, sides: list[str], a: str, b: str) -> Difference:
    if not sides:
        return Difference(None, None, None, "no question of the selection was answered by both")
    of_a, of_b = sides.index(a), sides.index(b)
    values = pair.values(metric)
    found = Difference(number(values[of_a]), number(values[of_b]), number(values[of_a] - values[of_b]), None)
    if found.difference is None:
        found.missing = metric.undefined
        return found
    badness = metric.badness(values)
    if abs(badness[of_a] - badness[of_b]) > 0:
        found.better = a if badness[of_a] < badness[of_b] else b
    if len(pair.questions) > 2:
        replicates = pair.replicates(metric)
        differences: Floats = (replicates[:, of_a] - replicates[:, of_b])[:, None]
        (low,), (high,), (count,) = interval(differences)
        found.low, found.high, found.replicates = number(low), number(high), int(count)
        found.p_value = number(p_value(differences)[0])
    return found


def _adjust(family: list[Difference]) -> None:
    """Set the adjusted p-values of the comparisons of one metric."""
    p_values = np.array([np.nan if one.p_value is None else one.p_value for one in family])
    for one, adjusted in zip(family, holm(p_values), strict=True):
        one.p_holm = number(adjusted)


def _questions(pair: Evidence, metrics: Sequence[Metric]) -> list[QuestionPair]:
    columns = {metric.key: pair.per_question(metric) for metric in metrics if metric.single}
    count = len(pair.questions) // 2

    def cells(row: int) -> dict[str, float | None]:
        return {key: number(values[row]) for key, values in columns.items()}

    # Both runs have the same questions, in the same order.
    return [QuestionPair(str(pair.questions[row]), cells(row), cells(row + count)) for row in range(count)]
