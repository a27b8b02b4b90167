"""Reliability diagrams, and what is shown next to them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.queries.engine.bootstrap import SEED
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.gather import gather_in_batches
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.engine.question_difficulties import SELECTED_BY_ANSWERS
from clueline.queries.engine.ranked_metric_rows import NO_INTERVAL
from clueline.queries.engine.reliability_diagrams import (
    DEFAULT_BAND,
    DIAGRAM_METRICS,
    BandKind,
    ReliabilityDiagram,
    reliability_diagrams,
)
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.units import too_few_units
from clueline.queries.metrics import CATALOGUE
from clueline.queries.metrics.kernels.arrays import Floats
from clueline.queries.metrics.kernels.calibration_tests import calibration_line, calibration_tests
from clueline.queries.metrics.kernels.decisions import THRESHOLDS, murphy_curve
from clueline.queries.metrics.kernels.ece_variants import smooth_curve
from clueline.queries.metrics.kernels.isotonic_regression import confidence_levels, corp_curve
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.selection import Answer, Selection, head, number


class Reliability(Answer):
    """Answer of ``/api/v1/reliability``."""

    binning: str
    runs: list[ReliabilityDiagram]


def reliability(
    snapshot: Snapshot, selection: Selection, band: BandKind = DEFAULT_BAND, shown: Sequence[str] = ()
) -> Reliability:
    """Return the reliability diagram of every run of a selection, or of those ``shown``, under its binning.

    Which questions count does not depend on what is shown.
    """
    batches = gather_in_batches(snapshot, _counted(snapshot, selection, shown), DIAGRAM_METRICS)
    return Reliability(
        *head(snapshot, selection),
        binning=selection.conventions.binning,
        runs=[diagram for evidence in batches for diagram in reliability_diagrams(evidence, band)],
    )


def _counted(snapshot: Snapshot, selection: Selection, shown: Sequence[str]) -> Selection:
    """Return the common questions of a selection, and of its runs those shown, or all if none are."""
    counted = count_answers(snapshot, selection).selection
    return counted.on_runs([run for run in counted.run or shown if run in shown] or counted.run) if shown else counted


VALUES = {"brier": "brier", "mcb": "corp_mcb", "dsc": "corp_dsc", "unc": "corp_unc", "auroc": "auroc", "smooth_ece": "smooth_ece"}
SCORE_METRICS = tuple(CATALOGUE[key] for key in VALUES.values())
NO_SLOPE = "its answers are all right, or all wrong, or confidence separates right from wrong completely"
NO_INTERCEPT = "its answers are all right, or all wrong"
BINS = 20  # bins of confidence in the histograms of right and wrong answers
Point = tuple[float, float]


class SmoothDiagram(msgspec.Struct):
    """Accuracy by confidence, smoothed by a kernel of width smECE, only where there are enough items; all in [0, 1]."""

    confidence: list[float]
    accuracy: list[float]


class RunTriptych(RunName):
    """One run.

    Attributes:
        brier: the Brier score, equal to ``mcb`` - ``dsc`` + ``unc``: miscalibration, discrimination and uncertainty. ``mcb`` and
            ``dsc`` are biased upwards, as they are fitted to these answers.
        murphy: mean elementary score at each of ``thresholds``, in [0, 2]; lower is better.
        roc: points of the share of wrong answers and the share of right answers above each confidence; empty without either kind.
        hull: concave hull of ``roc``: the curve after isotonic recalibration fitted to these answers, the best with hindsight.
        right, wrong: share of the right, and of the wrong, answers in each twentieth of confidence.
        mcb_low, mcb_high, dsc_low, dsc_high: 95 % intervals of ``mcb`` and ``dsc``.
        p_spiegelhalter, p_kuiper, p_ks: p-values of tests of calibration.
        missing: the reason for each number that is None, by name.
        calibration_slope, calibration_intercept: of logistic regressions of correctness on the log-odds of confidence, with 95 %
            intervals.
    """

    questions: int
    items: int
    brier: float | None
    mcb: float | None
    dsc: float | None
    unc: float | None
    auroc: float | None
    smooth_ece: float | None
    murphy: list[float | None]
    roc: list[Point]
    hull: list[Point]
    smooth: SmoothDiagram
    right: list[float]
    wrong: list[float]
    p_spiegelhalter: float | None
    p_kuiper: float | None
    p_ks: float | None
    calibration_slope: float | None
    calibration_slope_low: float | None
    calibration_slope_high: float | None
    calibration_intercept: float | None
    calibration_intercept_low: float | None
    calibration_intercept_high: float | None
    mcb_low: float | None
    mcb_high: float | None
    dsc_low: float | None
    dsc_high: float | None
    missing: dict[str, str]


class Triptych(Answer):
    """Answer of ``/api/v1/triptych``; runs in order of import."""

    thresholds: list[float]
    runs: list[RunTriptych]


def triptych(snapshot: Snapshot, selection: Selection, shown: Sequence[str] = ()) -> Triptych:
    """Return discrimination, overall score, smooth diagram and tests of calibration of the runs, as ``reliability`` does.

    The selection's ``common`` is 1 by default. Dimitriadis, Gneiting, Jordan & Vogel 2024 (the triptych).
    """
    batches = gather_in_batches(snapshot, _counted(snapshot, selection, shown), SCORE_METRICS)
    runs = [run for evidence in batches if evidence.runs for run in _runs(evidence)]
    return Triptych(*head(snapshot, selection), THRESHOLDS.tolist(), runs)


def _runs(evidence: Evidence) -> list[RunTriptych]:
    values = {field: evidence.values(CATALOGUE[key]) for field, key in VALUES.items()}
    for field in ("mcb", "dsc"):
        intervals = metric_intervals(evidence, CATALOGUE[VALUES[field]])
        values |= {f"{field}_low": intervals.low, f"{field}_high": intervals.high}
    return [_run(evidence, index, {key: row[index] for key, row in values.items()}) for index in range(len(evidence.runs))]


def _run(evidence: Evidence, run: int, values: dict[str, float]) -> RunTriptych:
    """Return the row of a run, given its index and ``values`` of its fields, to which those of tests are added."""
    check_time_limit()
    confidence, correct = evidence.items_of(run)
    clusters = evidence.cluster_of_items(run)
    tests = calibration_tests(confidence, correct, clusters, evidence.drawn_from, SEED)
    line = calibration_line(confidence, correct, clusters, evidence.drawn_from)
    levels = confidence_levels(confidence, correct)
    blocks = corp_curve(*levels)
    smooth = smooth_curve(confidence, correct, values["smooth_ece"])
    values |= {f"calibration_{name}": value for name, value in line._asdict().items()}
    values |= {f"p_{name}": np.nan if evidence.selected_by_answers else value for name, value in tests._asdict().items()}
    result = RunTriptych(
        **evidence.run_facts(run) | {field: number(value) for field, value in values.items()},
        murphy=[number(value) for value in murphy_curve(THRESHOLDS, confidence, correct)],
        roc=_roc(levels[1], levels[2]),
        hull=_roc(
            np.array([float(items) for *_, items, _ in blocks]), np.array([right * items for _, _, right, items, _ in blocks])
        ),
        smooth=SmoothDiagram(smooth[0].tolist(), smooth[1].tolist()),
        right=_histogram(confidence, correct),
        wrong=_histogram(confidence, 1 - correct),
        missing={},
    )
    reasons = _reasons(evidence, run)
    result.missing = {name: reason for name, reason in reasons.items() if getattr(result, name) is None}
    return result


def _reasons(evidence: Evidence, run: int) -> dict[str, str]:
    """Say why each number of a run would be None, by name."""
    few = too_few_units(int(evidence.units_answered[run]), evidence.run_facts(run)["questions"])
    untested = SELECTED_BY_ANSWERS if evidence.selected_by_answers else few
    reasons = {field: CATALOGUE[key].undefined for field, key in VALUES.items()}
    reasons |= {"calibration_slope": NO_SLOPE, "calibration_intercept": NO_INTERCEPT}
    reasons |= dict.fromkeys(("p_spiegelhalter", "p_kuiper", "p_ks"), untested or NO_INTERVAL)
    for name in ("calibration_slope", "calibration_intercept"):
        reasons |= {f"{name}_{end}": few or reasons[name] for end in ("low", "high")}
    for name in ("mcb", "dsc"):
        reasons |= {f"{name}_{end}": few or NO_INTERVAL for end in ("low", "high")}
    return reasons


def _roc(items: Floats, right: Floats) -> list[Point]:
    """Return shares of wrong and of right answers above each confidence, from (0, 0) to (1, 1); empty without either kind.

    ``items`` and ``right`` are the number of items and the sum of correctness by confidence, ascending, shape (k,).
    """
    wrong = items - right
    if not (right.sum() > 0 and wrong.sum() > 0):
        return []
    x, y = (np.append(0.0, np.cumsum(part[::-1])) / part.sum() for part in (wrong, right))
    return list(zip(np.minimum(x, 1.0).tolist(), np.minimum(y, 1.0).tolist(), strict=True))


def _histogram(confidence: Floats, weight: Floats) -> list[float]:
    """Return the share of the weight in each twentieth of confidence, the last one closed; all 0 without any weight."""
    place = np.minimum((confidence * BINS + 1e-9).astype(np.int64), BINS - 1)
    counts = np.bincount(place, weight, BINS)
    total = counts.sum()
    shares: list[float] = (counts / total if total > 0 else counts).tolist()
    return shares
