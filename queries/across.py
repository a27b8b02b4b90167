"""A metric of each model on many datasets, combined from the leaderboards of these datasets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

import msgspec

from queries.engine.ranked_metric_rows import MetricCell
from queries.engine.reliability_diagrams import ReliabilityBin
from queries.leaderboard import Leaderboard
from queries.metrics import CATALOGUE, Metric
from queries.run_groups import RunGroup, RunGroups
from queries.selection.facets import Facets

OVERCONFIDENCE = CATALOGUE["overconfidence"]
Rows = Literal["models", "runs"]
ROWS: tuple[Rows, ...] = ("models", "runs")
Sign = Literal["overconfident", "underconfident", "neither", "unknown"]


class AcrossCell(msgspec.Struct):
    """A model on one dataset.

    Attributes:
        run: id of the run.
        value: of the metric; None where ``missing`` says why.
        low, high: 95 % interval of ``value``; None where there is none.
        questions: number of questions that the value is computed from.
        ranked: whether the run is ranked by the metric on the leaderboard of the dataset.
        rank: among the ranked runs shown here, from 1; ties share the mean rank. None where not ranked or without a value.
        place: the rank rescaled from 0 for the best to 1 for the last; None without a rank, or where fewer than two are ranked.
        overconfidence: mean confidence minus accuracy, in [-1, 1], with its 95 % interval ``overconfidence_low`` to
            ``overconfidence_high``.
        sign: ``overconfident`` where this interval lies above 0, ``underconfident`` where it lies below, ``neither`` where it
            contains 0, ``unknown`` without an interval and of forecasts, where ``overconfidence`` is a bias towards yes.
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


class AcrossRow(msgspec.Struct):
    """A model and an elicitation on all datasets.

    Attributes:
        cells: by dataset; a dataset without a run of the model is left out.
        ranked_on: number of datasets on which the model has a rank.
        mean_rank: mean over these datasets, None without any.
        mean_place: mean of ``place`` over the datasets that have one, in [0, 1], None without any. Unlike the mean rank, it can
            be compared between datasets with different numbers of runs.
    """

    model: str
    elicitation: str
    cells: dict[str, AcrossCell]
    ranked_on: int
    mean_rank: float | None
    mean_place: float | None


class AcrossDataset(msgspec.Struct):
    """A dataset of the table.

    Attributes:
        runs: number of runs shown.
        ranked: number of runs that are ranked.
        questions: number of questions of the dataset.
        common: number of questions that every ranked run answered, if metrics are computed from these only; else None.
        disputed: share of the answers on which the gradings of their run differ, in [0, 1].
        cluster: the unit of intervals, as in ``Selection.cluster``: the default of the dataset.
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


class AcrossGroup(msgspec.Struct):
    """The runs of one value of a tag, by dataset."""

    value: str
    cells: dict[str, RunGroup]


class Across(msgspec.Struct):
    """Answer of ``/api/v1/across``; rows best first by ``mean_place``, those without one last.

    ``groups`` are the runs of the rows by their value of ``tag``, sorted by value; empty where no tag is asked for.
    """

    data_version: str
    metric: str
    datasets: list[AcrossDataset]
    rows: list[AcrossRow]
    tag: str = ""
    groups: list[AcrossGroup] = []


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


def shown_runs(facets: Facets, rows: Rows) -> tuple[str, ...]:
    """Return the ids of a dataset's runs that the table shows.

    Args:
        facets: of the dataset.
        rows: ``models`` for the latest import of each model and elicitation, ``runs`` for every run.
    """
    if rows == "runs":
        return tuple(run for run, _, _ in facets.runs)
    return tuple({(model, elicitation): run for run, model, elicitation in facets.runs}.values())


def across(
    facets: Sequence[Facets],
    boards: Mapping[str, Leaderboard],
    metric: Metric,
    rows: Rows,
    version: str,
    tag: str = "",
    pooled: Mapping[str, RunGroups] | None = None,
) -> Across:
    """Combine the leaderboards of datasets into one table.

    Args:
        facets: of the datasets, in the order of the columns.
        boards: leaderboards by dataset, each of ``shown_runs``, with the metric, overconfidence and the intervals of both.
        metric: to show.
        rows: ``models`` for a row per model and elicitation, ``runs`` for a row per run.
        version: of the data.
        tag: by which runs are pooled; blank for none.
        pooled: groups of the same runs and metric, by dataset; only for datasets in which some run has the tag.
    """
    table: dict[tuple[str, ...], AcrossRow] = {}
    columns = []
    for facet in facets:
        board = boards[facet.dataset]
        cells = _cells(board, metric, facet.forecasts)
        columns.append(
            AcrossDataset(
                facet.dataset,
                facet.title,
                facet.simulated,
                len(board.rows),
                sum(cell.ranked for cell in cells.values()),
                board.questions,
                board.common,
                board.gradings.share,
                facet.clusters[0],
            )
        )
        for name, cell in cells.items():
            model, elicitation, run = name
            key = (model, elicitation) if rows == "models" else (model, elicitation, run)
            table.setdefault(key, AcrossRow(model, elicitation, {}, 0, None, None)).cells[facet.dataset] = cell
    for row in table.values():
        placed = [cell for cell in row.cells.values() if cell.rank is not None]
        places = [cell.place for cell in placed if cell.place is not None]
        row.ranked_on = len(placed)
        row.mean_rank = fmean(cell.rank for cell in placed if cell.rank is not None) if placed else None
        row.mean_place = fmean(places) if places else None
    ordered = sorted(table.values(), key=lambda row: math.inf if row.mean_place is None else row.mean_place)
    groups: dict[str, AcrossGroup] = {}
    for dataset, result in (pooled or {}).items():
        for group in result.groups:
            groups.setdefault(group.value, AcrossGroup(group.value, {})).cells[dataset] = group
    return Across(version, metric.key, columns, ordered, tag, [groups[value] for value in sorted(groups)])


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
            ranked=row.ranked or rank is not None,  # a run can be ranked by this metric alone
            rank=rank,
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
