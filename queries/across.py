"""A metric of models on all datasets, and means over the runs with a tag."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.queries.engine import inference
from clueline.queries.engine.bootstrap import DIGITS, percentile_interval
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.ranked_metric_rows import MetricCell
from clueline.queries.engine.reliability_diagrams import ReliabilityBin
from clueline.queries.leaderboard import Leaderboard, leaderboard
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.selection import Answer, Selection, head, number
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import BadRequest

OVERCONFIDENCE = CATALOGUE["overconfidence"]
Rows = Literal["models", "runs"]
ROWS: tuple[Rows, ...] = ("models", "runs")
ModelOf = Mapping[tuple[str, str], str]  # the model of each dataset and name that runs have
Sign = Literal["overconfident", "underconfident", "neither", "unknown"]


class AcrossCell(msgspec.Struct):
    """A model on one dataset. ``missing`` says why it has no value. Intervals have 95 %.

    Attributes:
        rank: among the ranked runs shown here, from 1; ties share the mean rank. None where not ranked or without a value.
        place: the rank rescaled from 0 for the best to 1 for the last; None without a rank, or where fewer than two are ranked.
        overconfidence: mean confidence minus accuracy, in [-1, 1].
        sign: ``overconfident`` where the interval of ``overconfidence`` lies above 0, ``underconfident`` where below, ``neither``
            where it contains 0, ``unknown`` without an interval and of forecasts, where ``overconfidence`` is a bias towards yes.
    """

    run: str
    value: float | None
    missing: str | None
    low: float | None
    high: float | None
    questions: int
    ranked: bool
    rank: float | None
    place: float | None
    overconfidence: float | None
    overconfidence_low: float | None
    overconfidence_high: float | None
    sign: Sign


class CollectionMean(msgspec.Struct):
    """The mean over the datasets of a collection, with equal weights.

    It is None unless there is a value on each of them. Its 95 % interval is made of theirs (``inference.interval_of_mean``); it
    is None if one lacks, and for distances from calibration: noise increases each of them, and their mean no less.
    """

    value: float | None
    low: float | None
    high: float | None


class AcrossRow(msgspec.Struct):
    """A model on all datasets; those without a run of it are left out.

    A model that has several elicitations on one dataset has a row for each. Elsewhere, a run with another elicitation is in the
    row of the one that most datasets have. ``elicitation`` lists all of the row.
    ``mean_place``, in [0, 1], is over the ``ranked_on`` datasets on which the model has a rank, and None without any.
    ``win_rate`` is the share of comparisons with other rows that it wins, ties as one half, and ``mean_rank`` its mean rank among
    these rows: both over the datasets that count (see ``Across``), and None for a row that is not ranked on all of them.
    ``means`` are those over collections, by name.
    """

    model: str
    elicitation: str
    cells: dict[str, AcrossCell]
    ranked_on: int
    mean_rank: float | None
    mean_place: float | None
    win_rate: float | None = None
    means: dict[str, CollectionMean] = {}


class AcrossDataset(msgspec.Struct):
    """A dataset of the table.

    ``common`` counts questions that every ranked run answered, if only these count, else None. ``cluster`` is the unit of
    intervals, the default of the dataset. ``collection`` is that of a benchmark in several parts; see ``collections_of``.
    """

    dataset: str
    title: str
    simulated: bool
    runs: int
    ranked: int
    questions: int
    common: int | None
    disputed: float
    cluster: str
    collection: str = ""


class AcrossGroup(msgspec.Struct):
    """The runs of one value of a tag, by dataset."""

    value: str
    cells: dict[str, RunGroup]


class Across(msgspec.Struct):
    """Answer of ``/api/v1/across``; rows best first by ``mean_place``, those without one last; groups only with a ``tag``.

    ``counting`` are the datasets of mean ranks and win rates: of the sets of datasets on which rows are ranked, the one that most
    rows have, and of several the largest.
    """

    data_version: str
    metric: str
    datasets: list[AcrossDataset]
    rows: list[AcrossRow]
    tag: str = ""
    groups: list[AcrossGroup] = []
    counting: list[str] = []


class AcrossDiagram(msgspec.Struct):
    """The bins of one run, as in the reliability diagram of its dataset."""

    dataset: str
    run: str
    model: str
    elicitation: str
    bins: list[ReliabilityBin]


class AcrossDiagrams(msgspec.Struct):
    """Answer of ``/api/v1/across/diagrams``: the runs that the table shows, by dataset."""

    data_version: str
    binning: str
    diagrams: list[AcrossDiagram]


def shown_runs(facets: Facets, rows: Rows, model_of: ModelOf) -> tuple[str, ...]:
    """Return the ids of a dataset's runs shown: all, or the latest of each model and elicitation, by the days of runs."""
    if rows == "runs":
        return tuple(run for run, _, _ in facets.runs)
    dataset, of_run = facets.dataset, {run: (name, way) for run, name, way in facets.runs}
    latest = {}
    for run in facets.by_day or of_run:
        name, way = of_run[run]
        latest[model_of.get((dataset, name), name), way] = run
    return tuple(run for run in of_run if run in latest.values())


def across(
    facets: Sequence[Facets],
    boards: Mapping[str, Leaderboard],
    metric: Metric,
    rows: Rows,
    version: str,
    model_of: ModelOf,
    tag: str = "",
    pooled: Mapping[str, RunGroups] | None = None,
) -> Across:
    """Combine the leaderboards of datasets into one table.

    ``boards`` hold the ``shown_runs`` of each dataset, with the metric, overconfidence and the intervals of both. ``pooled``
    groups the same runs by the tag; only of datasets in which some run has it.
    """
    table: dict[tuple[str, ...], AcrossRow] = {}
    columns = []
    ways = _divided(boards, model_of) if rows == "models" else {}
    collections = collections_of([facet.dataset for facet in facets])
    together = [*dict.fromkeys(collections.get(facet.dataset, facet.dataset) for facet in facets)]
    for facet in sorted(facets, key=lambda facet: together.index(collections.get(facet.dataset, facet.dataset))):
        board = boards[facet.dataset]
        cells = _cells(board, metric, facet.forecasts)
        ranked = sum(cell.ranked for cell in cells.values())
        columns.append(
            AcrossDataset(
                facet.dataset,
                facet.title,
                facet.simulated,
                len(board.rows),
                ranked,
                board.questions,
                board.common,
                board.gradings.share,
                facet.clusters[0],
                collections.get(facet.dataset, ""),
            )
        )
        for name, cell in cells.items():
            stated, elicitation, run = name
            model = model_of.get((facet.dataset, stated), stated) if rows == "models" else stated
            if rows == "runs":
                key: tuple[str, ...] = (model, elicitation, run)
            else:
                own = ways.get(model, [""])
                key = (model, elicitation if elicitation in own else own[0])
            row = table.setdefault(key, AcrossRow(model, elicitation, {}, 0, None, None))
            if elicitation not in row.elicitation.split(", "):
                row.elicitation += f", {elicitation}"
            row.cells[facet.dataset] = cell
    for row in table.values():
        placed = [cell for cell in row.cells.values() if cell.rank is not None]
        places = [cell.place for cell in placed if cell.place is not None]
        row.ranked_on = len(placed)
        row.mean_place = fmean(places) if places else None
        row.means = {
            name: _mean([row.cells.get(dataset) for dataset, collection in collections.items() if collection == name], metric)
            for name in dict.fromkeys(collections.values())
        }
    ordered = sorted(table.values(), key=lambda row: math.inf if row.mean_place is None else row.mean_place)
    counting = _rank_together(ordered)
    groups: dict[str, AcrossGroup] = {}
    for dataset, result in (pooled or {}).items():
        for group in result.groups:
            groups.setdefault(group.value, AcrossGroup(group.value, {})).cells[dataset] = group
    return Across(version, metric.key, columns, ordered, tag, [groups[value] for value in sorted(groups)], counting)


def _divided(boards: Mapping[str, Leaderboard], model_of: ModelOf) -> dict[str, list[str]]:
    """Return the elicitations that have a row of their own, by model: those on a dataset with several, the most common first."""
    datasets: dict[str, Counter[str]] = defaultdict(Counter)
    several: dict[str, set[str]] = defaultdict(set)
    for dataset, board in boards.items():
        on_dataset: dict[str, set[str]] = defaultdict(set)
        for row in board.rows:
            on_dataset[model_of.get((dataset, row.model), row.model)].add(row.elicitation)
        for model, ways in on_dataset.items():
            datasets[model].update(ways)
            several[model] |= ways if len(ways) > 1 else set()
    return {model: sorted(ways, key=lambda way: (-datasets[model][way], way)) for model, ways in several.items() if ways}


def collections_of(datasets: Sequence[str]) -> dict[str, str]:
    """Return the collection of each dataset that is in one: several whose ids share what stands before the first ``-_.:/``.

    If that is itself a dataset, the others are not its parts.

    >>> collections_of(["mmlu-law", "gpqa", "mmlu-physics", "mmlupro", "sat", "sat-maths", "sat-english"])
    {'mmlu-law': 'mmlu', 'mmlu-physics': 'mmlu'}
    """
    words = {dataset: re.split(r"[-_.:/]", dataset)[0] for dataset in datasets}
    parts = Counter(words.values())
    return {dataset: word for dataset, word in words.items() if parts[word] > 1 and word not in words}


def _mean(cells: Sequence[AcrossCell | None], metric: Metric) -> CollectionMean:
    values = [cell.value for cell in cells if cell and cell.value is not None]
    if len(values) < len(cells):
        return CollectionMean(None, None, None)
    ends = [(cell.low, cell.high) for cell in cells if cell and cell.low is not None and cell.high is not None]
    if metric.distance or len(ends) < len(cells):
        return CollectionMean(fmean(values), None, None)
    return CollectionMean(fmean(values), *inference.interval_of_mean(values, *zip(*ends, strict=True)))


def _rank_together(rows: Sequence[AcrossRow]) -> list[str]:
    """Set mean ranks and win rates of the rows that are ranked on the same datasets, and return these datasets."""
    ranks = [{dataset: cell.rank for dataset, cell in row.cells.items() if cell.rank is not None} for row in rows]
    sets = Counter(frozenset(own) for own in ranks if own)
    counting = sorted(max(sets, key=lambda shared: (sets[shared], len(shared), sorted(shared)), default=()))
    taking_part = [(row, own) for row, own in zip(rows, ranks, strict=True) if own and {*own} >= {*counting}]
    for row, own in taking_part:
        wins = [
            1.0 if own[dataset] < other[dataset] else 0.5 if own[dataset] == other[dataset] else 0.0
            for rival, other in taking_part
            for dataset in counting
            if rival is not row
        ]
        if wins:
            row.win_rate = fmean(wins)
            row.mean_rank = 1 + (len(taking_part) - 1) * (1 - row.win_rate)
    return counting


def _cells(board: Leaderboard, metric: Metric, forecasts: bool) -> dict[tuple[str, str, str], AcrossCell]:
    """Return the cells of one dataset by model, elicitation and run."""
    ranked = sum(row.metrics[metric.key].rank is not None for row in board.rows)
    cells = {}
    for row in board.rows:
        cell, confidence = row.metrics[metric.key], row.metrics[OVERCONFIDENCE.key]
        rank = cell.rank
        cells[row.model, row.elicitation, row.run] = AcrossCell(
            run=row.run,
            value=cell.value,
            missing=cell.missing,
            low=cell.low,
            high=cell.high,
            questions=cell.questions,
            rank=rank,
            ranked=row.ranked or rank is not None,  # a run can be ranked by this metric alone
            place=(rank - 1) / (ranked - 1) if rank is not None and ranked > 1 else None,
            overconfidence=confidence.value,
            overconfidence_low=confidence.low,
            overconfidence_high=confidence.high,
            sign="unknown" if forecasts else _sign(confidence),  # forecasts have a bias towards yes instead
        )
    return cells


def _sign(cell: MetricCell) -> Sign:
    if cell.low is None or cell.high is None:
        return "unknown"
    if cell.low > 0:
        return "overconfident"
    return "underconfident" if cell.high < 0 else "neither"


class RunGroup(msgspec.Struct):
    """The ranked runs that have one value of a tag.

    ``mean`` is that of the metric over the runs on which it is defined, with equal weights; None without any. Its 95 % interval
    is for other questions asked of the same models. It is None with a single question or cluster, and for distances from
    calibration, because no interval here is known to cover their means.
    """

    value: str
    runs: list[str]
    mean: float | None
    low: float | None
    high: float | None
    questions: int


class RunGroups(Answer):
    """The groups of one dataset, sorted by value. ``untagged`` is the number of ranked runs without such a tag."""

    tag: str
    metric: str
    groups: list[RunGroup]
    untagged: int


def run_groups(snapshot: Snapshot, selection: Selection, tag: str, metric: Metric) -> RunGroups:
    """Return the mean of a metric over the runs of each value of a tag, or raise ``BadRequest`` if no run has the tag."""
    stored = snapshot.rows("select tag, run, value from tags where dataset = $d order by 1", {"d": selection.dataset})
    value_of = {run: value for name, run, value in stored if name == tag}
    if not value_of:
        known = [*dict.fromkeys(name for name, _, _ in stored)]
        raise BadRequest("unknown_value", f"No run of dataset {selection.dataset!r} has a tag {tag!r}.", "tag", known)
    ranked = [row.run for row in leaderboard(snapshot, selection, [metric]).rows if row.ranked]
    groups: list[RunGroup] = []
    if ranked:
        evidence = count_answers(snapshot, selection.on_runs(ranked), [metric]).evidence
        tags = np.array([value_of.get(run.run, "") for run in evidence.runs], dtype=object)
        groups = [_group(evidence.of_runs(tags == value), metric, value) for value in sorted({*tags} - {""})]
    return RunGroups(
        *head(snapshot, selection), tag=tag, metric=metric.key, groups=groups, untagged=sum(run not in value_of for run in ranked)
    )


def _group(evidence: Evidence, metric: Metric, value: str) -> RunGroup:
    """Return the mean of a metric over all runs of some evidence, which share a value of the tag."""
    known = np.isfinite(evidence.values(metric))
    runs = [run.run for run, here in zip(evidence.runs, known, strict=True) if here]
    if not runs:
        return RunGroup(value, [], None, None, None, 0)
    part = evidence.of_runs(known)
    low, high = mean_interval(part, metric)
    mean = float(part.values(metric).mean())
    return RunGroup(value, runs, mean, number(low), number(high), int(part.questions_with(metric).max()))


def mean_interval(evidence: Evidence, metric: Metric) -> tuple[float, float]:
    """Return the 95 % interval of the mean of a metric over runs, by the methods of the leaderboard's intervals.

    Replicates draw the same questions for all runs, so that what runs have in common on a question counts once. The ends are NaN
    for a distance from calibration, and where a run has fewer than two units.
    """
    units = evidence.units_with(metric)
    if metric.distance or metric.interval_of or units.min() < 2:
        return float("nan"), float("nan")
    if units.min() < inference.SMALL_SAMPLE:
        pseudo_values, values = evidence.pseudo_values(metric), evidence.values(metric)
        influence = inference.influences(values, pseudo_values).mean(axis=1, keepdims=True)
        answered = np.asarray(np.isfinite(pseudo_values).any(axis=1)).reshape(-1, 1)
        (low,), (high,) = inference.influence_interval(
            values.mean(keepdims=True), [inference.Moments.within(influence, answered)]
        )
        ends = np.array([max(float(low), metric.low), min(float(high), metric.high)])
    else:
        (low,), (high,), _ = percentile_interval(evidence.replicates(metric).mean(axis=1, keepdims=True))
        ends = np.array([low, high])
    low, high = (np.round(ends, DIGITS) + 0.0).tolist()
    return low, high
