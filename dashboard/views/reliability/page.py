"""Reliability: what each run's confidence is worth, bin by bin, and what recalibration would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.composed import selected_runs
from clueline.dashboard.registry.keys import BAND, MetricsParameters
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.registry.tables import RUN_FIRST, Table, column, columns, fields, reasons, with_interval
from clueline.dashboard.registry.views import CONVENTION_KEYS, WILSON, Cited, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.controls import filter_keys, menu
from clueline.dashboard.ui.figure import PlotlyJson
from clueline.dashboard.ui.html import heading, items_link, items_query, section, tabs
from clueline.dashboard.ui.messages import nothing_selected
from clueline.dashboard.ui.runs import MAX_PANELS, Panels, RunStyle, focus_menu, highlighted_runs, panels_note, run_style
from clueline.dashboard.ui.table import Cell, PageColumn, html_table, interval, span
from clueline.dashboard.ui.text import CALIBRATION_COLUMNS, brackets, short
from clueline.dashboard.views.items import ITEMS
from clueline.dashboard.views.reliability.triptych import calibration_tests, triptych_section
from clueline.data.plurals import counted
from clueline.data.recalibration_maps import METHODS
from clueline.queries.engine.common_questions import coverage
from clueline.queries.engine.reliability_diagrams import DEFAULT_BAND, BandKind, ReliabilityBin, ReliabilityDiagram
from clueline.queries.leaderboard import Leaderboard, LeaderboardRow, leaderboard
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.recalibration import RecalibratedRun, Recalibration, recalibration
from clueline.queries.reliability import Triptych, reliability, triptych
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import Choice, Range
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters


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
    unused=("human", "beta", "t", "failed", "undisputed", "primary"),
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
    unused=(*CONVENTION_KEYS, "failed", "undisputed", "primary"),
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
    unused=("undisputed", "primary"),
)


SPLIT = tuple(CATALOGUE[key] for key in ("ece", "overconfidence", "r_over", "r_under", "hmr", "pct_rounded"))
FLOOR = 0.16  # share of a panel's height below 0 that the histogram of confidence takes
BAND_WORDS: dict[BandKind, str] = {
    "simultaneous": "simultaneous: 90 % of simulated curves over the whole range",
    "pointwise": "pointwise: 90 % of simulated curves at each confidence separately; nearly every whole curve leaves it",
}


def reliability_diagrams(
    diagrams: Sequence[ReliabilityDiagram],
    style: RunStyle,
    after: Mapping[str, ReliabilityDiagram],
    chosen: Range | None,
    band_kind: BandKind,
    *,
    forecasts: bool = False,
) -> html.Figure:
    """Return a panel per run: bins as dots with the interval of their accuracy, the isotonic (CORP) curve with its consistency
    band, and the diagonal. Bars below 0 show how often each confidence was stated, with multiples of 5 % darker.

    ``after`` has diagrams after recalibration, by run id, drawn as open dots. The ``chosen`` range of confidence, whose items are
    listed, is shaded in every panel; ``assets/range_brush.js`` lets the user drag it.
    """
    stated, right = fig.CALIBRATION_AXES[forecasts]

    def traces(diagram: ReliabilityDiagram) -> list[PlotlyJson]:
        colour, around = style.colour(diagram.run), diagram.band
        edges = fig.band(around.confidence, around.low, around.high) if around else []
        shown = [*edges, fig.diagonal(), *_histogram(diagram), _corp(diagram, colour), _bins(diagram, colour, open_dots=False)]
        return [*shown, *([_bins(after[diagram.run], colour, open_dots=True)] if diagram.run in after else [])]

    drawn = fig.panels(
        [traces(diagram) for diagram in diagrams],
        [style.names[diagram.run] for diagram in diagrams],
        x={"title": stated, **fig.UNIT},
        y={"title": right, **fig.QUARTERS, "range": [-FLOOR, 1.03]},
        barmode="overlay",
        bargap=0,
        clickanywhere=True,  # a click away from all points clears the range
        shapes=[_brush(number, chosen) for number in range(len(diagrams))],
    )
    brushes = [items_query(focus=diagram.run) for diagram in diagrams]
    drawn["layout"]["meta"] |= {"brush": brushes, "range": list(chosen or (0.0, 1.0))}
    return fig.figure(
        "reliability",
        drawn,
        f"Dots: bins, with the 95 % interval of their {CALIBRATION_COLUMNS[forecasts][1].lower()}. Line: isotonic (CORP) curve"
        f"{_about_band(diagrams, band_kind)}. Below: how often each confidence was stated, multiples of 5 % darker",
        bins_table(diagrams, style, forecasts=forecasts),
        hint="Click a dot to list its answers, or drag sideways over a range of confidence",
    )


def _about_band(diagrams: Sequence[ReliabilityDiagram], kind: BandKind) -> str:
    """Say what the grey bands show, or why there are none."""
    if any(diagram.band for diagram in diagrams):
        return f"; grey: where it would lie if the run were calibrated ({BAND_WORDS[kind]})"
    reasons = [diagram.no_band for diagram in diagrams if diagram.no_band]
    return f", without a grey band: {reasons[0]}" if reasons else ""


def bins_table(runs: Sequence[ReliabilityDiagram], style: RunStyle, *, forecasts: bool = False) -> html.Div:
    """Return a row per run and non-empty bin."""
    stated, right = CALIBRATION_COLUMNS[forecasts]
    columns = [
        style.column(itemgetter(0)),
        PageColumn("Bin", lambda row: span(row[1].lower, row[1].upper, "{:g}".format)),
        PageColumn("Items", lambda row: items_link(f"{row[1].items:,}", _behind(row[0], row[1])), number=True),
        PageColumn(stated, lambda row: row[1].mean_confidence),
        PageColumn(right, lambda row: row[1].accuracy),
        interval(lambda row: row[1].low, lambda row: row[1].high, lambda row: row[0].no_interval),
    ]
    return html_table(columns, [(run, bin_) for run in runs for bin_ in run.bins if bin_.items], "Bins")


def _behind(run: ReliabilityDiagram, bin_: ReliabilityBin) -> str:
    """Return what the drawer lists for a bin."""
    return items_query(focus=run.run, bin=run.bins.index(bin_) + 1)


def split_table(board: Leaderboard, style: RunStyle, *, forecasts: bool) -> html.Section:
    """Return how far each ranked run is over- and underconfident. The board needs the metrics ``SPLIT``."""

    def value(key: str, row: LeaderboardRow) -> Cell:
        return Cell(row.metrics[key].value, row.metrics[key].missing)

    columns = [
        PageColumn(metric.label, partial(value, metric.key), about=f"{metric.name}. {metric.words}")
        for metric in (metric.worded(forecasts) for metric in SPLIT)
    ]
    ranked = [row for row in board.rows if row.ranked]
    title = "Over- and underconfidence"
    return section(title, html_table([style.column(), *columns], ranked, title), class_name="section split")


def _brush(number: int, chosen: tuple[float, float] | None) -> PlotlyJson:
    """The chosen range in one panel."""
    axes = fig.panel_axes(number)
    low, high = chosen or (0.0, 1.0)
    return {
        "type": "rect", "name": "brush", "xref": axes["xaxis"], "yref": f"{axes['yaxis']} domain", "x0": low, "x1": high, "y0": 0,
        "y1": 1, "layer": "below", "fillcolor": "var(--accent-soft)", "line": {"color": "var(--accent)", "width": 1},
        "visible": chosen is not None and (low, high) != (0.0, 1.0),
    }  # fmt: skip


def _bins(diagram: ReliabilityDiagram, colour: str, *, open_dots: bool) -> PlotlyJson:
    filled = [bin_ for bin_ in diagram.bins if bin_.items]
    lows, highs = [bin_.low for bin_ in filled], [bin_.high for bin_ in filled]
    most = max((bin_.items for bin_ in filled), default=1)
    accuracy = [bin_.accuracy or 0.0 for bin_ in filled]
    known = None not in (*lows, *highs) and not open_dots
    return fig.dots(
        [bin_.mean_confidence for bin_ in filled], accuracy,
        "stated %{x:.3f} (bin %{customdata[0]})<br>true %{y:.3f} %{customdata[2]}<br>%{customdata[1]:,} items",
        fig.CLEAR if open_dots else colour, [5 + 7 * (bin_.items / most) ** 0.5 for bin_ in filled],
        {"line": {"color": colour, "width": 1.5 if open_dots else 0}}, name="after recalibration" if open_dots else "bins",
        meta={"run": diagram.run, "items": None if open_dots else [_behind(diagram, bin_) for bin_ in filled]},
        error_y=fig.whiskers(accuracy, lows, highs, colour, thickness=1.2, visible=known), cliponaxis=False,
        customdata=[[f"{bin_.lower:g} to {bin_.upper:g}", bin_.items, brackets(bin_.low, bin_.high)] for bin_ in filled],
    )  # fmt: skip


def _corp(diagram: ReliabilityDiagram, colour: str) -> PlotlyJson:
    x = [end for block in diagram.corp for end in (block.lower, block.upper)]
    y = [block.calibrated for block in diagram.corp for _ in (0, 1)]
    hover, line = "isotonic: stated %{x:.3f} → %{y:.3f}", {"color": colour, "width": 1.5}
    return fig.lines(x, y, hover, name="CORP", line=line, opacity=0.75)


def _histogram(diagram: ReliabilityDiagram) -> list[PlotlyJson]:
    scale = (FLOOR - 0.02) / (max(diagram.histogram, default=0) or 1)

    def drawn(colour: str, counts: Sequence[int], what: str) -> PlotlyJson:
        stated = {percent / 100: count for percent, count in enumerate(counts) if count}
        marker = {"color": colour, "line": {"width": 0, "color": fig.INK}}
        heights, hover = [-count * scale for count in stated.values()], f"stated %{{x:.0%}}: %{{customdata:,}} {what}"
        return fig.bars([*stated], heights, hover, marker, width=0.009, customdata=[*stated.values()])

    return [drawn(fig.FAINT, diagram.histogram, "items"), drawn(fig.MUTED, diagram.rounded, "items at a multiple of 5 %")]


METHOD_NAMES = {"temperature": "Temperature", "platt": "Platt", "isotonic": "Isotonic"}

KEYS = ("ece", "overconfidence", "brier", "corp_mcb", "hmr", "r_over", "r_under", "auroc", "calscore")
MEASURED = tuple(CATALOGUE[key] for key in KEYS)


FITTED = "Fitted to all items"
TERMS: dict[str, tuple[tuple[str, Callable[[RecalibratedRun], Cell]], ...]] = {  # by method
    "temperature": (("T", lambda run: Cell(1 / run.slope if run.slope else None, FITTED)),),
    "platt": (("Slope", lambda run: Cell(run.slope, FITTED)), ("Intercept", lambda run: Cell(run.intercept, FITTED))),
}
SACRIFICED = "Items within 0.1 of their correctness before, but not after"


def recalibration_section(result: Recalibration, style: RunStyle) -> html.Section:
    """Return each metric before and after, and how much nearer items come to their correctness, as a table and a figure."""
    columns = [
        style.column(),
        PageColumn("Fitted to", "fitted_to"),
        *(PageColumn(name, value, number=True) for name, value in TERMS.get(result.method, ())),
        *(
            PageColumn(f"{metric.label} before → after", partial(_change, metric), number=True)
            for metric in MEASURED
            if any(run.metrics[metric.key].after is not None for run in result.runs)
        ),
        PageColumn("Nearer", "improved"),
        PageColumn("Further", "worsened"),
        PageColumn("Sacrificed", lambda run: Cell(f"{run.sacrificed:,} of {run.well_calibrated:,}", SACRIFICED), number=True),
    ]
    return section(
        f"{METHOD_NAMES[result.method]} recalibration, cross-fitted in {result.folds} folds of questions",
        html_table(columns, result.runs, "Metrics before and after"),
        fig.figure(
            "changes",
            changes_figure(result, style),
            "Change in each item's distance from its correctness: left of 0 it comes nearer, right of 0 it moves away",
        ),
        class_name="what-if",
    )


def _change(metric: Metric, run: RecalibratedRun) -> Cell:
    change = run.metrics[metric.key]
    before = change.before if change.within is None else change.within
    shown = f"{short(before)} → {short(change.after)}" if change.after is not None else None
    of_folds = f"{metric.name}: averages within the folds. Over all items it was {short(change.before)}"
    return Cell(shown, change.missing or (metric.name if change.within is None else of_folds))


def changes_figure(recalibration: Recalibration, style: RunStyle) -> PlotlyJson:
    """Draw a panel per run: how many items come nearer to their correctness (left of 0) and how many move away (right of 0)."""
    shown = [run for run in recalibration.runs if run.missing is None]
    data = [
        fig.bars(
            [(low + high) / 2 for low, high in pairwise(run.edges)], [count / (sum(run.changes) or 1) for count in run.changes],
            "change %{x:.3f}: %{customdata:,} items (%{y:.1%})",
            {"color": style.colour(run.run), "line": {"color": fig.FAINT, "width": 0}},
            width=run.edges[1] - run.edges[0], customdata=run.changes,
        )
        for run in shown
    ]  # fmt: skip
    return fig.panels(
        [[trace] for trace in data],
        [style.names[run.run] for run in shown],
        x={"title": "change of distance", "range": [-1, 1], "dtick": 0.5, "tickformat": ".2~f"},
        y={"title": "share of items", "tickformat": ".0%"},
        height=150,
        ranges=[fig.padded(trace["y"], zero=True) for trace in data],
        bargap=0,
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
    views=(RELIABILITY, TRIPTYCH, RECALIBRATION, ITEMS),
    filters=(*filter_keys(), "binning", "cluster", "failed", "grading", "undisputed"), common=True,
)  # fmt: skip
def draw(request: PageRequest[ReliabilityPage]) -> Sequence[Component | None]:
    """Draw the diagrams with what-if recalibration, or another part of the page."""
    tab, runs = request.parameters.tab, _measured(request.selection)
    highlighted = highlighted_runs(request, SPLIT[0])
    # Only what is drawn is computed. Tests and recalibration are tables of all runs.
    every = runs <= MAX_PANELS or request.parameters.panels or request.parameters.method or tab == "tests"
    drawn = () if every else highlighted
    band, panels, forecasts = request.parameters.band or DEFAULT_BAND, request.parameters.panels, request.facets.forecasts
    selection = request.selection
    answer = service().ask(triptych, selection, drawn) if tab else service().ask(reliability, selection, band, drawn)
    if not answer.runs:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "Reliability")]
    style, count = run_style(request.facets, answer.runs, highlighted), runs if drawn else len(answer.runs)
    parts = [(name, request.link(request.path, tab=key or None), key == tab) for key, name in TABS.items()]
    method, listed = request.parameters.method, request.parameters.items
    menus = [
        menu("band", "Grey band", BAND_NAMES, band, default=DEFAULT_BAND),
        menu("method", "What if recalibrated", {"": "As stated", **METHOD_NAMES}, method or ""),
        focus_menu(request, names_of(selected_runs(request.selection))),
    ]
    meaning = "how often each run is right at the confidence it states"
    if forecasts:
        meaning = "how often yes comes true at the probability that each run states"
    lead = f"{request.facets.title}: {meaning}; {counted(count, 'run')}"
    top = [heading("Reliability", lead, *([] if tab else menus)), tabs("Parts of this page", parts)]
    if isinstance(answer, Triptych):
        if tab == "tests":
            split = service().ask(leaderboard, request.selection, SPLIT, False)
            return [*top, calibration_tests(answer, style), split_table(split, style, forecasts=forecasts)]
        shown = {run.run for run in style.with_panels(answer.runs, panels)}
        return [*top, panels_note(count, len(shown)), triptych_section(answer, style, shown, forecasts=forecasts)]
    in_panels = style.with_panels(answer.runs, panels)
    what_if = service().ask(recalibration, request.selection, method, MEASURED) if method else None
    after = {run.run: run.after for run in what_if.runs if run.after} if what_if else {}
    return [
        *top,
        panels_note(count, len(in_panels)),
        reliability_diagrams(in_panels, style, after, listed.confidence if listed else None, band, forecasts=forecasts),
        recalibration_section(what_if, style) if what_if else None,
    ]


def _measured(selection: Selection) -> int:
    """Count the runs that have a diagram: those that take part or, without common questions, those that answered any."""
    counts = service().ask(coverage, selection)
    common = counts.differs and selection.common is not False and (counts.taking_part or not counts.lacking)
    return len(counts.taking_part) if common else sum(answered > 0 for answered in counts.answered.values())
