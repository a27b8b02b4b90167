"""Reliability: what each run's confidence is worth, bin by bin, and what recalibration would change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from dash.development.base_component import Component

from dashboard.registry.keys import BAND, MetricsParameters
from dashboard.registry.pages import PageParameters, PageRequest, page
from dashboard.registry.tables import RUN_FIRST, Table, column, columns, fields, reasons, with_interval
from dashboard.registry.views import WILSON, Cited, serve
from dashboard.service import service
from dashboard.ui.controls import filter_keys, menu
from dashboard.ui.messages import nothing_selected
from dashboard.ui.runs import MAX_PANELS, Panels, highlighted_runs, panels_note, run_style
from dashboard.ui.section import heading, tabs
from dashboard.views.reliability.diagrams import (
    MEASURED,
    METHOD_NAMES,
    SPLIT,
    recalibration_section,
    reliability_diagrams,
    split_table,
)
from dashboard.views.reliability.triptych import calibration_tests, triptych_section
from data.plurals import counted
from data.recalibration_maps import METHODS
from queries.engine.common_questions import coverage
from queries.engine.reliability_diagrams import DEFAULT_BAND, BandKind, ReliabilityBin
from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE
from queries.recalibration import recalibration
from queries.reliability import reliability, triptych
from queries.selection import Selection
from queries.selection.facets import Facets
from queries.selection.parameter_kinds import Choice
from queries.selection.view_parameters_base import NoParameters, Parameters


class ReliabilityKeys(Parameters, frozen=True):
    """Which consistency band is drawn."""

    band: Annotated[BandKind, BAND] = DEFAULT_BAND


RELIABILITY = serve(
    "reliability",
    reliability,
    ReliabilityKeys,
    """Reliability diagrams: bins with intervals of their accuracy, the CORP curve with its consistency band, and how often
        each confidence was stated.""",
    Table(
        "The bins as CSV, a row per run and bin.",
        rows=lambda answer: [(run, part) for run in answer.runs for part in run.bins],
        columns=(*RUN_FIRST, *with_interval(fields(ReliabilityBin, at=1), "accuracy"), *columns("no_interval", at=0)),
    ),
)
TRIPTYCH = serve(
    "triptych",
    triptych,
    NoParameters,
    """Figures next to the reliability diagrams: ROC with its concave hull, confidence of right and of wrong answers,
        Murphy curve, CORP parts of the Brier score, the smooth diagram, and p-values of calibration tests that are
        clustered by question.""",
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
)  # fmt: skip


class RecalibrationKeys(MetricsParameters, frozen=True):
    """How confidences are recalibrated."""

    method: Annotated[str, Choice(f"method: {', '.join(f'`{key}`' for key in METHODS)}", (*METHODS,))] = next(iter(METHODS))


RECALIBRATION = serve(
    "recalibration",
    recalibration,
    RecalibrationKeys,
    """Every metric before and after recalibration, cross-fitted by question or cluster, and its effect on single items.
        `fitted_to` says whether a run's map was fitted to its confidence or to its whole distributions.""",
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
)


TABS = {"": "Diagrams", "decomposition": "Decomposition", "tests": "Tests"}
BAND_NAMES: dict[str, str] = {DEFAULT_BAND: "Simultaneous", "pointwise": "Pointwise"}


class ReliabilityPage(PageParameters, frozen=True):
    """Recalibration, kind of band, panels, and the part of the page."""

    method: Annotated[
        str, Choice("how confidences are recalibrated", (*METHODS,), "There is no recalibration {value!r}.", blank=True)
    ] = ""
    band: Annotated[BandKind, BAND] = DEFAULT_BAND
    panels: Panels = ""
    tab: Annotated[
        str, Choice(f"the part of the page: {', '.join(f'`{key}`' for key in TABS if key)}; the diagrams by default", (*TABS,))
    ] = ""


def _table(request: PageRequest[ReliabilityPage]) -> Cited[Any]:
    return Cited(
        RELIABILITY, ReliabilityKeys(request.parameters.band or DEFAULT_BAND),
        ("model", "elicitation", "lower", "upper", "items", "mean_confidence", "accuracy"), (CATALOGUE["ece"],),
        interval=WILSON, references=("dimitriadis2021stable",),
    )  # fmt: skip


@page(
    "/reliability", "Reliability", ReliabilityPage, place="Calibration", order=1, table=_table,
    filters=(*filter_keys(), "binning", "cluster", "failed", "grading", "undisputed"), common=True,
)  # fmt: skip
def draw(request: PageRequest[ReliabilityPage]) -> Sequence[Component | None]:
    """Draw the diagrams with what-if recalibration, or another part of the page."""
    tab, runs = request.parameters.tab, _measured(request.selection)
    highlighted = highlighted_runs(request, SPLIT[0])
    # Only what is drawn is computed. Tests and recalibration are tables of all runs.
    every = runs <= MAX_PANELS or request.parameters.panels or request.parameters.method or tab == "tests"
    drawn = () if every else highlighted
    title = f"{request.facets.title}: {_meaning(request.facets)}"
    parts = [(name, request.link(request.path, tab=key or None), key == tab) for key, name in TABS.items()]
    if tab:
        result = service().ask(triptych, request.selection, drawn)
        if not result.runs:
            return [nothing_selected(request.path, request.selection, "answers", request.facets, "Reliability")]
        style = run_style(request.facets, result.runs, highlighted)
        shown = style.with_panels(result.runs, request.parameters.panels)
        count = runs if drawn else len(result.runs)
        top = [heading("Reliability", f"{title}; {counted(count, 'run')}"), tabs("Parts of this page", parts)]
        forecasts = request.facets.forecasts
        if tab == "tests":
            split = service().ask(leaderboard, request.selection, SPLIT, False)
            return [*top, calibration_tests(result, style), split_table(split, style, forecasts=forecasts)]
        return [
            *top,
            panels_note(count, len(shown)),
            triptych_section(result, style, {run.run for run in shown}, forecasts=forecasts),
        ]
    band = request.parameters.band or DEFAULT_BAND
    answer = service().ask(reliability, request.selection, band, drawn)
    if not answer.runs:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "Reliability")]
    style = run_style(request.facets, answer.runs, highlighted)
    in_panels = style.with_panels(answer.runs, request.parameters.panels)
    count = runs if drawn else len(answer.runs)
    method, listed = request.parameters.method, request.parameters.items
    what_if = service().ask(recalibration, request.selection, method, MEASURED) if method else None
    after = {run.run: run.after for run in what_if.runs if run.after} if what_if else {}
    return [
        heading(
            "Reliability",
            f"{title}; {counted(count, 'run')}",
            menu("band", "Grey band", BAND_NAMES, band, default=DEFAULT_BAND),
            menu("method", "What if recalibrated", {"": "As stated", **METHOD_NAMES}, method or ""),
        ),
        tabs("Parts of this page", parts),
        panels_note(count, len(in_panels)),
        reliability_diagrams(
            in_panels, style, after, listed.confidence if listed else None, band, forecasts=request.facets.forecasts
        ),
        recalibration_section(what_if, style) if what_if else None,
    ]


def _measured(selection: Selection) -> int:
    """Count the runs that have a diagram: those that take part or, without common questions, those that answered any."""
    counts = service().ask(coverage, selection)
    common = counts.differs and selection.common is not False and (counts.taking_part or not counts.lacking)
    return len(counts.taking_part) if common else sum(answered > 0 for answered in counts.answered.values())


def _meaning(facets: Facets) -> str:
    """What the diagrams show."""
    if facets.forecasts:
        return "how often yes comes true at the probability that each run states"
    return "how often each run is right at the confidence it states"
