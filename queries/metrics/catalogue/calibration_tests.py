"""Tests of calibration: p-values of the hypothesis that a run is calibrated. ``queries.reliability`` computes them."""

from __future__ import annotations

import math

from queries.metrics.metric import AnalysisMetric, Direction

TOO_FEW_QUESTIONS = "the run answered fewer than two questions"
COMPARED = (
    "It is the share of 1,000 simulated calibrated runs that are at least as far off. The items of a question are taken to "
    "depend on each other as much as they seem to, and more where few errors were to be expected. If correctness is graded, the "
    "signs of whole questions are flipped instead. A large p-value does not show that a run is calibrated: there may be too few "
    "questions to tell."
)
CUMULATED = r"C_j = \sum_{i \le j} (y_i - c_i)"

# Key, name, label, symbol, formula, words, source and caveat of each.
TEXTS: tuple[tuple[str, str, str, str, str, str, str, str], ...] = (
    (
        "p_spiegelhalter", "p-value of Spiegelhalter's test", "p Spiegelhalter", r"p_Z",
        r"\lvert \sum_i (y_i - c_i)(1 - 2 c_i) \rvert",
        "Tests whether the Brier score is the one that the run's confidences imply.", "Spiegelhalter 1986",
        "Detects errors on either side of 1/2 that raise or lower the score; errors in opposite directions can cancel out.",
    ),
    (
        "p_kuiper", "p-value of Kuiper's test", "p Kuiper", r"p_V", rf"\max_j C_j - \min_j C_j,\quad {CUMULATED}",
        "Tests whether overconfidence or underconfidence in any range of confidence exceeds what chance produces.",
        "Kuiper 1960; Arrieta-Ibarra et al. 2022",
        "Uses the range of the cumulative residuals, so it detects a miscalibrated range of confidence wherever it lies.",
    ),
    (
        "p_ks", "p-value of the Kolmogorov-Smirnov test", "p KS", r"p_{\mathrm{KS}}",
        rf"\max_j \lvert C_j \rvert,\quad {CUMULATED}",
        "Tests whether the residuals, added up from the lowest confidence, go further from 0 than chance takes them.",
        "Kolmogorov 1933; Gupta et al. 2021",
        "Most sensitive to miscalibration that extends from one end of the range of confidence.",
    ),
)  # fmt: skip

# Key, name, label, symbol, direction, formula, words and undefined case of each.
LINE_TEXTS: tuple[tuple[str, str, str, str, Direction, str, str, str], ...] = (
    (
        "calibration_slope", "Calibration slope", "Cal. slope", r"\hat\beta", "none",
        r"\operatorname{logit} P(y = 1) = \alpha + \beta \operatorname{logit} c",
        "Slope of a logistic regression of correctness on the log-odds of confidence: 1 is calibrated, below 1 is too extreme.",
        "confidence separates right from wrong completely, or everything is correct, or nothing is",
    ),
    (
        "calibration_intercept", "Calibration intercept", "Cal. intercept", r"\hat\alpha", "zero",
        r"\operatorname{logit} P(y = 1) = \alpha + \operatorname{logit} c",
        "Calibration in the large, the intercept of the same regression with the slope fixed at 1: 0 is calibrated, above 0 is "
        "too modest.",
        "everything is correct, or nothing is",
    ),
)  # fmt: skip

CALIBRATION_TESTS = tuple(
    AnalysisMetric(
        key=key,
        name=name,
        label=label,
        symbol=symbol,
        direction="none",
        formula=formula,
        words=words,
        source=source,
        address="/api/v1/triptych",
        fields=(f"runs.{key}",),
        caveat=f"{caveat} {COMPARED}",
        undefined=TOO_FEW_QUESTIONS,
        level="item",
    )
    for key, name, label, symbol, formula, words, source, caveat in TEXTS
) + tuple(
    AnalysisMetric(
        key=key,
        name=name,
        label=label,
        symbol=symbol,
        direction=direction,
        low=-math.inf,
        high=math.inf,
        formula=formula,
        words=words,
        source="Cox 1958",
        address="/api/v1/triptych",
        fields=(f"runs.{key}",),
        caveat="Confidences of 0 and 1 are replaced by 0.000001 and 0.999999, and have a large influence.",
        undefined=undefined,
        level="item",
    )
    for key, name, label, symbol, direction, formula, words, undefined in LINE_TEXTS
)
