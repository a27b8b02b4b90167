"""Reliability diagrams, what is drawn next to them, what recalibration would change, and the answers behind a dot."""

from __future__ import annotations

from typing import Annotated

from dashboard.registry.keys import BAND, Confidence, MetricsParameters
from dashboard.registry.tables import RUN_FIRST, Table, column, columns, fields, reasons, with_interval
from dashboard.registry.views import View, register
from queries.engine.reliability_diagrams import DEFAULT_BAND, BandKind, ReliabilityBin
from queries.metrics.kernels.recalibration import METHODS
from queries.recalibration import recalibration
from queries.reliability import MAX_ITEMS, Item, items, reliability, triptych
from queries.selection.parameter_kinds import Choice, Whole
from queries.selection.view_parameters_base import NoParameters, Parameters


class ReliabilityKeys(Parameters, frozen=True):
    """Which consistency band is drawn."""

    band: Annotated[BandKind, BAND] = DEFAULT_BAND


RELIABILITY = register(
    View(
        "reliability",
        reliability,
        ReliabilityKeys,
        """Reliability diagrams: bins with intervals of their accuracy, the CORP curve with its consistency band, and how often
        each confidence was stated.""",
        (
            Table(
                "The bins as CSV, a row per run and bin.",
                rows=lambda answer: [(run, part) for run in answer.runs for part in run.bins],
                columns=(*RUN_FIRST, *with_interval(fields(ReliabilityBin, at=1), "accuracy"), *columns("no_interval", at=0)),
            ),
        ),
    )
)
TRIPTYCH = register(
    View(
        "triptych",
        triptych,
        NoParameters,
        """Figures next to the reliability diagrams: ROC with its concave hull, confidence of right and of wrong answers,
        Murphy curve, CORP parts of the Brier score, the smooth diagram, and p-values of calibration tests that are
        clustered by question.""",
        (
            Table(
                "The numbers as CSV, a row per run. `missing` says why cells are blank.",
                rows=lambda answer: answer.runs,
                columns=(*columns(
                    "run", "model", "elicitation", "questions", "items", "brier", "mcb", "dsc", "unc", "auroc", "smooth_ece",
                    "p_spiegelhalter", "p_kuiper", "p_ks", "calibration_slope", "calibration_slope_low",
                    "calibration_slope_high", "calibration_intercept", "calibration_intercept_low",
                    "calibration_intercept_high", "mcb_low", "mcb_high", "dsc_low", "dsc_high",
                ), column("missing", lambda run: reasons(run.missing))),
            ),
        ),
    )
)  # fmt: skip


class RecalibrationKeys(MetricsParameters, frozen=True):
    """How confidences are recalibrated."""

    method: Annotated[str, Choice(f"method: {', '.join(f'`{key}`' for key in METHODS)}", (*METHODS,))] = next(iter(METHODS))


RECALIBRATION = register(
    View(
        "recalibration",
        recalibration,
        RecalibrationKeys,
        """Every metric before and after recalibration, cross-fitted by question or cluster, and its effect on single items.
        `fitted_to` says whether a run's map was fitted to its confidence or to its whole distributions.""",
        (
            Table(
                "The metrics before and after as CSV, a row per run and metric.",
                rows=lambda answer: [(run, answer, *metric) for run in answer.runs for metric in run.metrics.items()],
                columns=(
                    *RUN_FIRST,
                    *columns("method", at=1),
                    column("metric", lambda row: row[2]),
                    *columns("before", "after", "missing", at=3),
                ),
            ),
        ),
    )
)


class ItemsKeys(Parameters, frozen=True):
    """Which answers are listed, and how many."""

    confidence: Confidence = None
    limit: Annotated[int, Whole(f"how many answers: 100; at most {MAX_ITEMS}", MAX_ITEMS)] = 100


ITEMS = register(
    View(
        "items",
        items,
        ItemsKeys,
        "Single answers with a confidence in a range, furthest off first. `disputed`: the gradings of the run differ on it.",
        (Table("The same as CSV.", lambda answer: answer.items, fields(Item)),),
    )
)
