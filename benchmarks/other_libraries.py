"""Metrics of other libraries that compute the same as Clueline's. ``benchmarks/metrics.py`` times both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def scikit_learn() -> dict[str, Callable[[Floats, Floats], float]]:
    """Return functions by metric that compute it for one run with scikit-learn."""
    from sklearn.calibration import calibration_curve
    from sklearn.feature_selection import r_regression
    from sklearn.isotonic import IsotonicRegression
    from sklearn.metrics import accuracy_score, brier_score_loss, mean_absolute_error, roc_auc_score
    from sklearn.utils.class_weight import compute_sample_weight

    def ece(confidence: Floats, correct: Floats) -> float:
        accuracy, stated = calibration_curve(correct, confidence, n_bins=10)
        count = np.histogram(confidence, bins=10, range=(0, 1))[0]
        return float((np.abs(accuracy - stated) * count[count > 0]).sum() / len(confidence))

    def max_ce(confidence: Floats, correct: Floats) -> float:
        accuracy, stated = calibration_curve(correct, confidence, n_bins=10)
        return float(np.abs(accuracy - stated).max())

    def fit(confidence: Floats, correct: Floats) -> Floats:
        fitted: Floats = IsotonicRegression().fit(confidence, correct).predict(confidence)
        return fitted

    return {
        "accuracy": lambda c, y: accuracy_score(y, np.ones(len(y))),
        "brier": lambda c, y: brier_score_loss(y, c),
        "ece": ece,
        "max_ce": max_ce,
        "macro_ce": lambda c, y: mean_absolute_error(y, c, sample_weight=compute_sample_weight("balanced", y)),
        "r_over": lambda c, y: 1 - mean_absolute_error(y, c, sample_weight=y == 0),
        "r_under": lambda c, y: 1 - mean_absolute_error(y, c, sample_weight=y == 1),
        "auroc": lambda c, y: roc_auc_score(y, c),
        "correlation": lambda c, y: r_regression(c[:, None], y)[0],
        "corp_mcb": lambda c, y: brier_score_loss(y, c) - brier_score_loss(y, fit(c, y)),
        "corp_dsc": lambda c, y: y.var() - brier_score_loss(y, fit(c, y)),
    }


def netcal() -> dict[str, Callable[[Floats, Floats], float]]:
    """Return functions by metric that compute it for one run with netcal."""
    from netcal.metrics import ECE, MCE

    return {
        "ece": lambda c, y: ECE(10).measure(c, y),
        "max_ce": lambda c, y: MCE(10).measure(c, y),
        "ece, mass15": lambda c, y: ECE(15, equal_intervals=False).measure(c, y),
    }


def torchmetrics() -> dict[str, Callable[[Floats, Floats], float]]:
    """Return functions by metric that compute it for one run with torchmetrics.

    Arrays become tensors without a copy, except labels, whose type is changed.
    """
    import torch
    from torchmetrics.functional import classification as of_classes
    from torchmetrics.functional import regression

    def tensors(confidence: Floats, correct: Floats) -> tuple[Any, Any]:
        return torch.from_numpy(confidence), torch.from_numpy(correct.astype(np.int64))

    def error(norm: str) -> Callable[[Floats, Floats], float]:
        return lambda c, y: float(of_classes.binary_calibration_error(*tensors(c, y), n_bins=10, norm=norm))

    return {
        "accuracy": lambda c, y: float(of_classes.binary_accuracy(torch.ones(len(y)), tensors(c, y)[1])),
        "brier": lambda c, y: float(regression.mean_squared_error(torch.from_numpy(c), torch.from_numpy(y))),
        "ece": error("l1"),
        "max_ce": error("max"),
        "reliability": lambda c, y: error("l2")(c, y) ** 2,
        "auroc": lambda c, y: float(of_classes.binary_auroc(*tensors(c, y))),
        "correlation": lambda c, y: float(regression.pearson_corrcoef(torch.from_numpy(c), torch.from_numpy(y))),
    }


def relplot() -> dict[str, Callable[[Floats, Floats], float]]:
    """Return functions by metric that compute it for one run with relplot."""
    from relplot import smECE

    return {"smooth_ece": lambda c, y: float(smECE(c, y))}


def model_diagnostics() -> dict[str, Callable[[Floats, Floats], float]]:
    """Return functions by metric that compute it for one run with model-diagnostics.

    The library always computes all three parts of a score at once.
    """
    from model_diagnostics.scoring import SquaredError, decompose

    def part(name: str) -> Callable[[Floats, Floats], float]:
        return lambda c, y: float(decompose(y, c, scoring_function=SquaredError())[name][0])

    return {
        "brier": lambda c, y: float(SquaredError()(y, c)),
        "corp_mcb": part("miscalibration"),
        "corp_dsc": part("discrimination"),
        "corp_unc": part("uncertainty"),
    }


LIBRARIES = {
    "scikit-learn": scikit_learn,
    "netcal": netcal,
    "torchmetrics": torchmetrics,
    "relplot": relplot,
    "model-diagnostics": model_diagnostics,
}
# The module of each library that is loaded before anything is timed.
MODULES = ("sklearn.metrics", "netcal.metrics", "torchmetrics", "relplot", "model_diagnostics.scoring")
# Tolerances other than 1e-9. torchmetrics computes these two in single precision. netcal's bounds of bins of equal mass are
# quantiles, so an item or two, and whole groups of equal confidences, fall into another bin than ours. relplot searches for the
# width of its kernel to 0.001, and puts items onto other points.
APART = {
    ("torchmetrics", "auroc"): 1e-6,
    ("torchmetrics", "accuracy"): 1e-6,
    ("netcal", "ece, mass15"): 0.02,
    ("relplot", "smooth_ece"): 0.002,
}
