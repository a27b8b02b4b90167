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


class AcrossRow(msgspec.Struct):
    """A model and an elicitation on all datasets; those without a run of the model are left out.

    Means are over the ``ranked_on`` datasets on which the model has a rank, and None without any. Unlike ``mean_rank``,
    ``mean_place``, in [0, 1], can be compared between datasets with different numbers of runs.
    """

    model: str
    elicitation: str
    cells: dict[str, AcrossCell]
    ranked_on: int
    mean_rank: float | None
    mean_place: float | None


class AcrossDataset(msgspec.Struct):
    """A dataset of the table.

    ``common`` counts questions that every ranked run answered, if only these count, else None. ``cluster`` is the unit of
    intervals, the default of the dataset.
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
    """Answer of ``/api/v1/across``; rows best first by ``mean_place``, those without one last; groups only with a ``tag``."""

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
    """Return the ids of a dataset's runs that the table shows: all, or the latest import of each model and elicitation."""
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

    ``boards`` hold ``shown_runs`` of each dataset, with the metric, overconfidence and the intervals of both. ``pooled`` groups
    the same runs by the tag; only of datasets in which some run has it.
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
