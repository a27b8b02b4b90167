"""ROC, confidence distributions, Murphy curve, scores and calibration tests shown next to the reliability diagrams."""

from __future__ import annotations

from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from queries.selection import Request
from queries.selection.view_parameters_base import NoParameters
from queries.triptych import Triptych, triptych

FIELDS = (
    "run", "model", "elicitation", "questions", "items", "brier", "mcb", "dsc", "unc", "auroc", "smooth_ece", "p_spiegelhalter",
    "p_kuiper", "p_ks", "calibration_slope", "calibration_slope_low", "calibration_slope_high", "calibration_intercept",
    "calibration_intercept_low", "calibration_intercept_high", "mcb_low", "mcb_high", "dsc_low", "dsc_high", "missing",
)  # fmt: skip


def _triptych(query: Request[NoParameters]) -> Triptych:
    return service().ask(triptych, query.selection)


@get_selected("/api/v1/triptych", NoParameters)
def get_triptych(query: Request[NoParameters]) -> Response:
    """Figures next to the reliability diagrams: ROC with its concave hull, confidence of right and of wrong answers, Murphy
    curve, CORP parts of the Brier score, the smooth diagram, and p-values of calibration tests that are clustered by question.
    """
    return json_response(_triptych(query))


@get_selected("/api/v1/triptych.csv", NoParameters)
def get_triptych_csv(query: Request[NoParameters]) -> Response:
    """The numbers as CSV, a row per run. `missing` says why cells are blank."""
    rows = []
    for run in _triptych(query).runs:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in run.missing.items())
        rows.append([*(getattr(run, field) for field in FIELDS[:-1]), reasons or None])
    return csv_response(FIELDS, rows, "triptych")
