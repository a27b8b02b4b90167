"""Reliability diagrams of runs: accuracy against confidence by bin, and the isotonic (CORP) curve, which needs no bins."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Literal, get_args

import msgspec
import numpy as np

from clueline.data.sufficient_statistics import ROUNDING
from clueline.queries.engine.bootstrap import SEED
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.inference import effective_items, wilson_interval
from clueline.queries.engine.question_difficulties import SELECTED_BY_ANSWERS
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.units import ONE_CLUSTER, too_few_units
from clueline.queries.metrics import CATALOGUE
from clueline.queries.metrics.catalogue.bins import binned
from clueline.queries.metrics.kernels.arrays import Floats, ratio
from clueline.queries.metrics.kernels.isotonic_regression import confidence_levels, consistency_band, corp_curve
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.selection import number

# The contents of bins, expressed as a metric of sums so that they are summed and resampled like any other metric.
BIN_TOTALS = replace(CATALOGUE["ece"], value=binned(lambda *parts: np.stack(parts, axis=-1)))


BandKind = Literal["simultaneous", "pointwise"]
BANDS: tuple[BandKind, ...] = get_args(BandKind)
# Readers ask whether the curve as a whole leaves the band. Of calibrated runs, it leaves the pointwise band nearly always.
DEFAULT_BAND: BandKind = "simultaneous"


class ReliabilityBin(msgspec.Struct):
    """One bin of confidence [lower, upper); ``mean_confidence`` and ``accuracy`` are None if it is empty.

    ``low`` and ``high`` are the 95 % Wilson interval of the accuracy for the effective number of items in the bin, None if it is
    empty or all questions are in one unit. The edges of an equal-mass bin are the lowest and highest confidence in it.
    """

    lower: float | None
    upper: float | None
    items: int
    mean_confidence: float | None
    accuracy: float | None
    low: float | None
    high: float | None


class IsotonicBlock(msgspec.Struct):
    """Stated confidences from ``lower`` to ``upper`` that isotonic regression maps to one accuracy, ``calibrated``."""

    lower: float
    upper: float
    calibrated: float
    items: int
    mean_confidence: float


class ConsistencyBand(msgspec.Struct):
    """Where the isotonic curve of a calibrated run with the same confidences would lie: 90 % of the simulated curves.

    ``kind`` is pointwise if they are within the band at each confidence separately, simultaneous if at all confidences together.
    """

    kind: BandKind
    confidence: list[float]
    low: list[float]
    high: list[float]


class ReliabilityDiagram(RunName):
    """The reliability diagram of one run.

    ``histogram`` counts items by stated confidence rounded to 0, 1, ... 100 %; ``rounded`` counts those that are a multiple of
    5 %. ``no_interval`` says why the bins have no intervals, and ``no_band`` why there is no band: None where there are any, and
    where none was asked for.
    """

    questions: int
    items: int
    bins: list[ReliabilityBin]
    corp: list[IsotonicBlock]
    band: ConsistencyBand | None
    histogram: list[int]
    rounded: list[int]
    no_interval: str | None = None
    no_band: str | None = None


GRADED = "correctness is a probability here, so there is no binomial noise"
DIAGRAM_METRICS = (BIN_TOTALS, CATALOGUE["corp_mcb"])  # metrics for which the evidence must have been gathered


def reliability_diagrams(evidence: Evidence, band: BandKind | None = DEFAULT_BAND) -> list[ReliabilityDiagram]:
    """Compute diagrams from evidence gathered for ``DIAGRAM_METRICS``; without a ``band``, there are no intervals either."""
    totals = evidence.values(BIN_TOTALS)
    ends = _intervals(evidence, totals, band is not None)
    edges = [_edges(evidence, run) for run in range(len(evidence.runs))]
    return [_diagram(evidence, run, _bins(totals[run], edges[run], ends[:, run]), band) for run in range(len(evidence.runs))]


def _diagram(evidence: Evidence, run: int, bins: list[ReliabilityBin], kind: BandKind | None) -> ReliabilityDiagram:
    check_time_limit()
    confidence, correct = evidence.items_of(run)
    stated, items, right = confidence_levels(confidence, correct)
    percent = np.round(stated * 100).astype(np.int64)
    rounded = np.abs(stated * 20 - np.round(stated * 20)) <= 20 * ROUNDING
    graded = bool(((correct == 0) | (correct == 1)).all())
    band = None
    no_band = (
        SELECTED_BY_ANSWERS if evidence.selected_by_answers
        else ONE_CLUSTER if evidence.in_one_cluster
        else None if graded else GRADED
    )  # fmt: skip
    if kind and len(stated) and no_band is None:
        unit = evidence.unit_of_items(run)
        order, sizes = np.argsort(unit, kind="stable"), np.unique(unit, return_counts=True)[1]
        ends = consistency_band(confidence[order], correct[order], sizes, SEED, simultaneous=kind == "simultaneous")
        band = ConsistencyBand(kind, *(part.tolist() for part in ends))
    return ReliabilityDiagram(
        **evidence.run_facts(run),
        bins=bins,
        corp=[IsotonicBlock(*block) for block in corp_curve(stated, items, right)],
        band=band,
        histogram=np.bincount(percent, items, 101).astype(int).tolist(),
        rounded=np.bincount(percent, items * rounded, 101).astype(int).tolist(),
        no_interval=too_few_units(evidence.units.count, evidence.selected) if kind else None,
        no_band=no_band if kind else None,
    )


def _intervals(evidence: Evidence, totals: Floats, uncertain: bool) -> Floats:
    """Compute the Wilson interval of each bin's accuracy for the effective number of items, shape (2, runs, bins).

    ``totals`` are as in ``BIN_TOTALS``. Ends are NaN unless ``uncertain``, and if fewer than two units are selected.
    """
    if not uncertain or evidence.units.count < 2 or not evidence.runs:
        return np.full((2, *totals.shape[:2]), np.nan)
    items, correct = totals[..., 0], totals[..., 2]
    accuracy = np.nan_to_num(ratio(correct, items))
    run, place, of_unit, right = evidence.bins_of_units()
    cell = run * totals.shape[1] + place
    squares = np.bincount(cell, (right - accuracy[run, place] * of_unit) ** 2, items.size).reshape(items.shape)
    units = np.bincount(cell, minlength=items.size).reshape(items.shape).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = squares / items**2 * units / np.maximum(units - 1, 1)
    return np.stack(wilson_interval(accuracy, effective_items(items, correct, variance, units)))


def _edges(evidence: Evidence, run: int) -> list[tuple[float, float]]:
    """Return the lower and upper edge of each bin, NaN for an empty equal-mass bin."""
    count = evidence.conventions.mass_bins
    if count is None:
        edges = [edge / 10 for edge in range(11)]
        return [*pairwise(edges), *([(1.0, 1.0)] if evidence.conventions.binning == "width10+1" else [])]
    parts = np.array_split(evidence.items_of(run)[0], count)
    return [(part[0], part[-1]) if len(part) else (np.nan, np.nan) for part in parts]


def _bins(totals: Floats, edges: list[tuple[float, float]], ends: Floats) -> list[ReliabilityBin]:
    bins = []
    for (items, confidence, correct), (lower, upper), (low, high) in zip(totals, edges, ends.T, strict=True):
        filled = items > 0
        bins.append(
            ReliabilityBin(
                lower=number(lower),
                upper=number(upper),
                items=int(items),
                mean_confidence=number(confidence / items) if filled else None,
                accuracy=number(correct / items) if filled else None,
                low=number(low) if filled else None,
                high=number(high) if filled else None,
            )
        )
    return bins
