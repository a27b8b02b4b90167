"""Tests of calibration: p-values of the hypothesis that a run is calibrated. ``queries.reliability`` computes them."""

from __future__ import annotations

import math
from functools import partial

from clueline.queries.metrics.metric import AnalysisMetric

TOO_FEW_QUESTIONS = "the run answered fewer than two questions"
COMPARED = (
    "It is the share of 1,000 simulated calibrated runs that are at least as far off. The items of a question are taken to "
    "depend on each other as much as they seem to, and more where few errors were to be expected. If correctness is graded, the "
    "signs of whole questions are flipped instead. A large p-value does not show that a run is calibrated: there may be too few "
    "questions to tell."
)
CUMULATED = r"C_j = \sum_{i \le j} (y_i - c_i)"

_test = partial(AnalysisMetric, direction="none", address="/api/v1/triptych", level="item", undefined=TOO_FEW_QUESTIONS)
_line = partial(
    AnalysisMetric,
    low=-math.inf,
    high=math.inf,
    source="Cox 1958",
    address="/api/v1/triptych",
    caveat="Confidences of 0 and 1 are replaced by 0.000001 and 0.999999, and have a large influence.",
    level="item",
)

CALIBRATION_TESTS = (
    _test(
        key="p_spiegelhalter",
        name="p-value of Spiegelhalter's test",
        label="p Spiegelhalter",
        symbol=r"p_Z",
        formula=r"\lvert \sum_i (y_i - c_i)(1 - 2 c_i) \rvert",
        words="Tests whether the Brier score is the one that the run's confidences imply.",
        caveat="Detects errors on either side of 1/2 that raise or lower the score; errors in opposite directions can cancel "
        f"out. {COMPARED}",
        source="Spiegelhalter 1986",
        fields=("runs.p_spiegelhalter",),
    ),
    _test(
        key="p_kuiper",
        name="p-value of Kuiper's test",
        label="p Kuiper",
        symbol=r"p_V",
        formula=rf"\max_j C_j - \min_j C_j,\quad {CUMULATED}",
        words="Tests whether overconfidence or underconfidence in any range of confidence exceeds what chance produces.",
        caveat="Uses the range of the cumulative residuals, so it detects a miscalibrated range of confidence wherever it lies. "
        f"{COMPARED}",
        source="Kuiper 1960; Arrieta-Ibarra et al. 2022",
        fields=("runs.p_kuiper",),
    ),
    _test(
        key="p_ks",
        name="p-value of the Kolmogorov-Smirnov test",
        label="p KS",
        symbol=r"p_{\mathrm{KS}}",
        formula=rf"\max_j \lvert C_j \rvert,\quad {CUMULATED}",
        words="Tests whether the residuals, added up from the lowest confidence, go further from 0 than chance takes them.",
        caveat=f"Most sensitive to miscalibration that extends from one end of the range of confidence. {COMPARED}",
        source="Kolmogorov 1933; Gupta et al. 2021",
        fields=("runs.p_ks",),
    ),
    _line(
        key="calibration_slope",
        name="Calibration slope",
        label="Cal. slope",
        symbol=r"\hat\beta",
        direction="none",
        formula=r"\operatorname{logit} P(y = 1) = \alpha + \beta \operatorname{logit} c",
        words="Slope of a logistic regression of correctness on the log-odds of confidence: 1 is calibrated, below 1 is too "
        "extreme.",
        undefined="confidence separates right from wrong completely, or everything is correct, or nothing is",
        fields=("runs.calibration_slope",),
    ),
    _line(
        key="calibration_intercept",
        name="Calibration intercept",
        label="Cal. intercept",
        symbol=r"\hat\alpha",
        direction="zero",
        formula=r"\operatorname{logit} P(y = 1) = \alpha + \operatorname{logit} c",
        words="Calibration in the large, the intercept of the same regression with the slope fixed at 1: 0 is calibrated, above "
        "0 is too modest.",
        undefined="everything is correct, or nothing is",
        fields=("runs.calibration_intercept",),
    ),
)
