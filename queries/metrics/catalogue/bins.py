"""Metrics computed from bins of confidence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from clueline.data.sufficient_statistics import BIN_COLUMNS, BINS
from clueline.queries.metrics.catalogue.shared import NOT_EVEN_U_OR_O, SWAPPED, columns, uncertainty, uncertainty_columns
from clueline.queries.metrics.kernels import bins, item_totals
from clueline.queries.metrics.kernels.arrays import ROUNDING_TOLERANCE
from clueline.queries.metrics.metric import Conventions, Counterexample, Floats, Metric, Sums, Value


def binned(kernel: Callable[[Floats, Floats, Floats], Floats]) -> Value:
    """Return the ``Metric.value`` of a kernel of items, sum of confidence and sum of correctness per bin, shape (..., bins)."""

    def value(totals: Sums, conventions: Conventions) -> Floats:
        parts = [totals[name] for name in BIN_COLUMNS]
        if not conventions.mass_bins:
            parts = [bins.fold_bins(part, conventions.binning) for part in parts]
        return kernel(*parts)

    return value


def _gaps(totals: Sums, conventions: Conventions) -> Floats:
    """Sums of c - y per bin."""
    _, confidence, correct = (totals[name] for name in BIN_COLUMNS)
    return bins.fold_bins(confidence - correct, conventions.binning)


def _cross_fitted(totals: Sums, conventions: Conventions) -> Floats:
    """Return the debiased ECE from totals by fold, NaN if the correctness of any item is strictly between 0 and 1."""
    gaps, items_by_fold = totals["gaps_by_fold"], totals["items_by_fold"]
    gaps = gaps.reshape(*gaps.shape[:-1], bins.FOLDS, conventions.mass_bins or BINS)
    if not conventions.mass_bins:
        gaps = bins.fold_bins(gaps, conventions.binning)
    graded = totals["correct"] - totals["correct_sq"] <= ROUNDING_TOLERANCE * items_by_fold.sum(axis=-1)
    return np.where(graded, bins.ece_cross_fitted(gaps, items_by_fold), np.nan)


def _murphy_part(part: int) -> Value:
    return binned(lambda items, confidence, correct: bins.murphy(items, confidence, correct)[part])


def _residual(totals: Sums, conventions: Conventions) -> Floats:
    """Return the part of the Brier score that reliability, resolution and uncertainty leave unexplained."""
    reliability, resolution, uncertainty = (_murphy_part(part)(totals, conventions) for part in range(3))
    score = item_totals.brier(totals["items"], totals["confidence_sq"], totals["confidence_correct"], totals["correct"])
    return score - (reliability - resolution + uncertainty)


_distance_of_bins = partial(
    Metric,
    direction="lower",
    reads=columns(*BIN_COLUMNS),
    binned=True,
    axioms=(),
    counterexamples=NOT_EVEN_U_OR_O,
    gaps=_gaps,
)

BIN_METRICS = (
    _distance_of_bins(
        key="ece",
        name="Expected calibration error",
        label="ECE",
        symbol=r"\mathrm{ECE}",
        formula=r"\sum_b \frac{n_b}{N}\,\lvert \bar c_b - \bar y_b \rvert",
        words="Mean absolute difference between confidence and accuracy over bins of confidence, weighted by the items per bin.",
        caveat="Depends on the binning and is biased upwards: noise within bins counts as miscalibration, especially with few "
        "items. Its interval contains 0 unless a test shows that the run is not calibrated.",
        source="Naeini et al. 2015; GRACE app. G; LifeEval eq. 9",
        value=binned(bins.ece),
        distance="sum",
    ),
    Metric(
        key="ece_debiased",
        name="Debiased ECE",
        label="ECE deb.",
        symbol=r"\widehat{\mathrm{ECE}}",
        direction="lower",
        low=-1,
        floor=0,
        formula=r"\frac{1}{N}\sum_b \bigl(\operatorname{sgn}(A_b)\,B_b + \operatorname{sgn}(B_b)\,A_b\bigr),\;"
        r"A_b = \sum_{i \in b,\, i \in \mathcal{A}} (c_i - y_i),\;"
        r"B_b = \sum_{i \in b,\, i \in \mathcal{B}} (c_i - y_i)",
        words="The ECE with the sign of each bin's gap taken from one half of the questions and its size from the other, both "
        "ways round; averaged over 15 ways to halve the questions.",
        caveat="0 on average for a calibrated run, so half of such runs are below 0; ranked by max(0, value). A gap about as "
        "large as its noise is too often treated as noise: with few questions, the value falls short of the true error.",
        undefined="correctness is a probability here, which has no noise to remove, or there are too few questions to halve",
        source="Cross-fitting (Chernozhukov et al. 2018) over balanced half-samples (McCarthy 1969)",
        reads=columns(*BIN_COLUMNS, "correct", "correct_sq"),
        value=_cross_fitted,
        binned=True,
        cross_fitted=True,
        single=False,
        axioms=(),
        interval_of="ece",
        counterexamples=(
            Counterexample(((0.98, 1), (0.9, 0), (0.9, 0), (0.9, 0)), ((0, 0.9),)),
            Counterexample(((0.18, 1), (0.18, 1), (0.18, 1), (0.1, 0)), ((3, 0.18),)),
            SWAPPED,
        ),
    ),
    _distance_of_bins(
        key="max_ce",
        name="Maximum calibration error",
        label="max CE",
        symbol=r"\mathrm{max\,CE}",
        formula=r"\max_b \lvert \bar c_b - \bar y_b \rvert",
        words="Largest absolute difference between confidence and accuracy in any non-empty bin.",
        caveat="Two papers call it MCE, a name that GRACE uses for something else. A bin with a single item can determine it.",
        source="Naeini et al. 2015; Sakai eq. 1",
        value=binned(bins.max_ce),
        distance="maximum",
        no_interval="the largest gap is often in a bin of so few answers that no interval holds it",
    ),
    _distance_of_bins(
        key="reliability",
        name="Reliability",
        label="REL",
        symbol=r"\mathrm{REL}",
        formula=r"\sum_b \frac{n_b}{N} (\bar c_b - \bar y_b)^2",
        words="Mean squared difference between confidence and accuracy over bins, weighted by the items per bin: the calibration "
        "part of the Brier score.",
        caveat="Depends on the binning; the residual shows how much. Biased upwards, like ECE.",
        source="Murphy 1973",
        value=_murphy_part(0),
        distance="square",
    ),
    Metric(
        key="resolution",
        name="Resolution",
        label="RES",
        symbol=r"\mathrm{RES}",
        direction="higher",
        high=0.25,
        formula=r"\sum_b \frac{n_b}{N} (\bar y_b - \bar y)^2",
        words="Mean squared difference between the accuracy of each bin and the overall accuracy, weighted by the items per bin: "
        "how well confidence separates items.",
        caveat="Depends on the binning; the residual shows how much. Biased upwards, because noise makes bins differ. It only "
        "requires that bins differ, not that more confident ones are right more often.",
        source="Murphy 1973",
        reads=columns(*BIN_COLUMNS),
        value=_murphy_part(1),
        binned=True,
        fitted=True,
        axioms=(),
        counterexamples=(
            Counterexample(((0.25, 1), (0.25, 0)), ((0, 0.15),)),
            Counterexample(((0.15, 1), (0.15, 0)), ((1, 0.25),)),
            SWAPPED,
        ),
    ),
    Metric(
        key="uncertainty",
        name="Uncertainty",
        label="UNC",
        symbol=r"\mathrm{UNC}",
        direction="none",
        high=0.25,
        formula=r"\bar y (1 - \bar y)",
        words="The Brier score of always stating the accuracy. It reflects the questions as much as the model.",
        caveat="Neither good nor bad by itself; not ranked. Does not depend on the binning.",
        source="Murphy 1973",
        needs=("correctness",),
        reads=uncertainty_columns,
        value=uncertainty,
        of_accuracy=True,
        axioms=(),
    ),
    Metric(
        key="residual",
        name="Within-bin residual",
        label="Residual",
        symbol=r"\mathrm{RES}_w",
        direction="none",
        low=-0.25,
        high=0.75,
        formula=r"\mathrm{BS} - (\mathrm{REL} - \mathrm{RES} + \mathrm{UNC})",
        words="What the other three parts leave of the Brier score: how confidence and correctness vary within bins.",
        caveat="Reported so that the parts add up to the Brier score exactly; not ranked.",
        source="Stephenson, Coelho & Jolliffe 2008",
        reads=columns(*BIN_COLUMNS, "items", "confidence_sq", "confidence_correct", "correct"),
        value=_residual,
        binned=True,
        fitted=True,
        axioms=(),
    ),
)
