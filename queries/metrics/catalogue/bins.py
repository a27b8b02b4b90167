"""Metrics of bins of confidence."""

from __future__ import annotations

from collections.abc import Callable

from data.statistics import BIN_COLUMNS
from queries.metrics.catalogue.shared import NOT_EVEN_U_OR_O, SWAPPED, columns
from queries.metrics.kernels import bins, items
from queries.metrics.metric import Conventions, Counterexample, Floats, Metric, Sums, Value


def binned(kernel: Callable[[Floats, Floats, Floats], Floats]) -> Value:
    """The value of a kernel of items, confidence and correctness per bin."""

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


def _murphy_part(part: int) -> Value:
    return binned(lambda items, confidence, correct: bins.murphy(items, confidence, correct)[part])


def _residual(totals: Sums, conventions: Conventions) -> Floats:
    """What is left of the Brier score when the parts over bins are taken away."""
    reliability, resolution, uncertainty = (_murphy_part(part)(totals, conventions) for part in range(3))
    score = items.brier(totals["items"], totals["confidence_sq"], totals["confidence_correct"], totals["correct"])
    return score - (reliability - resolution + uncertainty)


BINS = (
    Metric(
        key="ece",
        name="Expected calibration error",
        label="ECE",
        symbol=r"\mathrm{ECE}",
        direction="lower",
        low=0,
        high=1,
        formula=r"\sum_b \frac{n_b}{N}\,\lvert \bar c_b - \bar y_b \rvert",
        words="Mean distance of confidence and accuracy over bins of confidence, weighted by their items.",
        source="GRACE app. G; LifeEval eq. 9; Sakai eq. 1",
        needs=("correctness", "confidence"),
        reads=columns(*BIN_COLUMNS),
        value=binned(bins.ece),
        binned=True,
        caveat="Depends on the binning and is biased upwards: noise within bins counts as miscalibration, most with few items. "
        "Its interval contains 0 unless a test shows that the run is not calibrated.",
        axioms=(),
        counterexamples=NOT_EVEN_U_OR_O,
        distance="sum",
        gaps=_gaps,
    ),
    Metric(
        key="ece_debiased",
        name="ECE, debiased",
        label="ECE deb.",
        symbol=r"\widehat{\mathrm{ECE}}",
        direction="lower",
        low=-1,
        high=1,
        formula=r"\mathrm{ECE} - \sum_b \frac{n_b}{N}\,\mathbb{E}\lvert\varepsilon_b\rvert"
        r"\frac{w_b(\bar c_b - \bar y_b)}{\mathbb{E}\,w_b(\varepsilon_b)},\;"
        r"w_b(g) = \left(1 - \frac{\lvert g \rvert}{1.5\,\sigma_b}\right)_{\!+},\;"
        r"\varepsilon_b \sim \frac{\mathrm{Bin}(n_b, \bar c_b)}{n_b} - \bar c_b",
        words="ECE minus the bias that binomial noise in the accuracy of each bin gives it: all of it where a gap looks like "
        "noise, none where a gap is more than 1.5 standard deviations of it.",
        source="After Kumar, Liang & Ma 2019, sec. 5, with the noise of a calibrated model",
        needs=("correctness", "confidence"),
        reads=columns(*BIN_COLUMNS),
        value=binned(bins.ece_debiased),
        binned=True,
        caveat="Centres on 0 where a model is calibrated, so that half of the time it is below. A gap of about one standard "
        "deviation of the noise is taken for noise more often than it is: with few items it then falls short of the true "
        "error. Where correctness is a probability, it takes away more than there is.",
        axioms=(),
        counterexamples=NOT_EVEN_U_OR_O,
        interval_of="ece",
    ),
    Metric(
        key="max_ce",
        name="Maximum calibration error",
        label="max CE",
        symbol=r"\mathrm{max\,CE}",
        direction="lower",
        low=0,
        high=1,
        formula=r"\max_b \lvert \bar c_b - \bar y_b \rvert",
        words="The largest distance of confidence and accuracy in any bin that has items.",
        source="Naeini et al. 2015; Sakai eq. 1",
        needs=("correctness", "confidence"),
        reads=columns(*BIN_COLUMNS),
        value=binned(bins.max_ce),
        binned=True,
        caveat="Called MCE in two papers, a name that GRACE uses for something else. One bin with a single item can decide it.",
        axioms=(),
        counterexamples=NOT_EVEN_U_OR_O,
        distance="maximum",
        gaps=_gaps,
    ),
    Metric(
        key="reliability",
        name="Reliability",
        label="REL",
        symbol=r"\mathrm{REL}",
        direction="lower",
        low=0,
        high=1,
        formula=r"\sum_b \frac{n_b}{N} (\bar c_b - \bar y_b)^2",
        words="Mean squared distance of confidence and accuracy over bins: the part of the Brier score that is about "
        "calibration.",
        source="Murphy 1973",
        needs=("correctness", "confidence"),
        reads=columns(*BIN_COLUMNS),
        value=_murphy_part(0),
        binned=True,
        caveat="Depends on the binning, the residual says how much; biased upwards as ECE is.",
        axioms=(),
        counterexamples=NOT_EVEN_U_OR_O,
        distance="square",
        gaps=_gaps,
    ),
    Metric(
        key="resolution",
        name="Resolution",
        label="RES",
        symbol=r"\mathrm{RES}",
        direction="higher",
        low=0,
        high=0.25,
        formula=r"\sum_b \frac{n_b}{N} (\bar y_b - \bar y)^2",
        words="How much the accuracy of bins differs from the accuracy of all: what confidence tells apart.",
        source="Murphy 1973",
        needs=("correctness", "confidence"),
        reads=columns(*BIN_COLUMNS),
        value=_murphy_part(1),
        binned=True,
        caveat="Depends on the binning, the residual says how much; biased upwards, for noise makes bins differ. It asks only "
        "that bins differ, not that the surer ones are right more often.",
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
        low=0,
        high=0.25,
        formula=r"\bar y (1 - \bar y)",
        words="The Brier score of always stating the accuracy: a matter of the questions as much as of the model.",
        source="Murphy 1973",
        needs=("correctness",),
        reads=columns("items", "correct"),
        value=lambda t, _: bins.uncertainty(t["items"], t["correct"]),
        caveat="Neither good nor bad by itself; it is not ranked. No binning enters it.",
        axioms=(),
    ),
    Metric(
        key="residual",
        name="Residual within bins",
        label="Residual",
        symbol=r"\mathrm{RES}_w",
        direction="none",
        low=-0.25,
        high=0.75,
        formula=r"\mathrm{BS} - (\mathrm{REL} - \mathrm{RES} + \mathrm{UNC})",
        words="What the three parts over bins leave of the Brier score: how confidence and correctness vary together "
        "within bins.",
        source="Stephenson, Coelho & Jolliffe 2008",
        needs=("correctness", "confidence"),
        reads=columns(*BIN_COLUMNS, "items", "confidence_sq", "confidence_correct", "correct"),
        value=_residual,
        binned=True,
        caveat="Reported so that the parts add up to the Brier score exactly; it is not ranked.",
        axioms=(),
    ),
)
