"""Reliability: what each run's confidence is worth, bin by bin, and what recalibration would make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dash import html
from dash.development.base_component import Component

from dashboard.components.controls import between, menu
from dashboard.components.figure import figure
from dashboard.components.filters import filter_keys
from dashboard.components.links import page_link
from dashboard.components.messages import nothing_selected
from dashboard.components.numbers import DASH, count, short
from dashboard.components.run_names import colours, named, run_names
from dashboard.components.table import table
from dashboard.figures.recalibration import changes_figure
from dashboard.figures.reliability import reliability_figure
from dashboard.parameters import BAND, Confidence
from dashboard.service import service
from dashboard.view import PageParameters, PageRequest, View, question_path, register
from queries.engine.reliability_diagrams import BandKind, ReliabilityDiagram
from queries.items import Item, Items, items
from queries.leaderboard import Leaderboard, leaderboard
from queries.metrics import CATALOGUE
from queries.metrics.kernels.recalibration import METHODS
from queries.parameters import BadRequest, Choice
from queries.recalibration import Recalibration, recalibration
from queries.reliability import reliability

PATH = "/reliability"
ITEMS_SHOWN = 40
METHOD_NAMES = {"temperature": "Temperature", "platt": "Platt", "isotonic": "Isotonic"}
BAND_NAMES = {"": "Pointwise", "simultaneous": "Simultaneous"}
BAND_WORDS: dict[BandKind, str] = {
    "pointwise": "pointwise: 90 % of simulated curves at each confidence by itself",
    "simultaneous": "simultaneous: 90 % of simulated curves throughout",
}
SPLIT = tuple(CATALOGUE[key] for key in ("ece", "overconfidence", "r_over", "r_under", "hmr", "pct_rounded"))
MEASURED = tuple(CATALOGUE[key] for key in ("ece", "brier", "corp_mcb", "hmr", "r_over", "r_under", "auroc", "calscore"))


class ReliabilityPage(PageParameters, frozen=True):
    """Recalibration, and whose answers are listed."""

    method: Annotated[
        str, Choice("how confidences are recalibrated", (*METHODS,), "There is no recalibration {value!r}.", blank=True)
    ] = ""
    band: Annotated[BandKind, BAND] = "pointwise"
    focus: Annotated[
        str,
        Choice(
            "the run whose answers are listed; the first one by default",
            lambda facets: facets.all_runs,
            "There is no run {value!r} in this selection.",
            blank=True,
        ),
    ] = ""
    confidence: Confidence = None


def draw(request: PageRequest[ReliabilityPage]) -> Sequence[Component | None]:
    """Diagrams, the split into over- and underconfidence, what-if recalibration, and the items of a range of confidence."""
    band = request.parameters.band or "pointwise"
    result = service().ask(reliability, request.selection, band)
    if not result.runs:
        return [nothing_selected(PATH, request.selection, "answers")]
    shades = colours(request.facets, request.selection)
    names = run_names(result.runs)
    method = request.parameters.method
    what_if = service().ask(recalibration, request.selection, method, MEASURED) if method else None
    after = {run.run: run.after for run in what_if.runs if run.after} if what_if else {}
    return [
        html.Div(
            [
                html.H1("Reliability"),
                html.P(
                    f"{request.facets.title}: accuracy against confidence, {count(len(result.runs), 'run')}", className="lead"
                ),
                menu("band", "Grey band", BAND_NAMES, "" if band == "pointwise" else band),
                menu("method", "What if recalibrated", {"": "As stated", **METHOD_NAMES}, method or ""),
            ],
            className="heading",
        ),
        figure(
            "reliability",
            reliability_figure(result.runs, names, shades, after, request.parameters.confidence),
            "Dots: bins, with the 95 % interval of their accuracy. Line: isotonic (CORP) curve; grey: where it would lie if the "
            f"run were calibrated, {BAND_WORDS[band]}. Below: how often each confidence was stated, multiples of 5 % darker. "
            "Drag sideways over a diagram to list the items of a range of confidence",
            _bins_table(result.runs, names),
        ),
        _split(service().ask(leaderboard, request.selection, SPLIT, False), names, shades),
        _what_if(what_if, names, shades) if what_if else None,
        _items(request, result.runs, names),
    ]


def _focus(request: PageRequest[ReliabilityPage], runs: Sequence[str]) -> str:
    """The run whose items are listed: the one that the address names, else the first."""
    focus = request.parameters.focus
    if focus and focus not in runs:
        raise BadRequest("unknown_value", f"There is no run {focus!r} in this selection.", "focus", runs)
    return focus or (runs[0] if runs else "")


def _choices(runs: Sequence[ReliabilityDiagram], names: dict[str, str]) -> dict[str, str]:
    """Value to name of each run; the first one is what an address without the key means."""
    return {"" if index == 0 else run.run: names[run.run] for index, run in enumerate(runs)}


def _bins_table(runs: Sequence[ReliabilityDiagram], names: dict[str, str]) -> Component:
    head = ["Run", "Bin", "Items", "Mean confidence", "Accuracy", "95 % interval"]
    rows = [
        html.Tr(
            [
                html.Th(names[run.run], scope="row"),
                html.Td(f"{bin_.lower:g} to {bin_.upper:g}"),
                html.Td(f"{bin_.items:,}", className="number"),
                html.Td(short(bin_.mean_confidence), className="number"),
                html.Td(short(bin_.accuracy), className="number"),
                html.Td(f"{short(bin_.low)} to {short(bin_.high)}" if bin_.low is not None else DASH, className="number"),
            ]
        )
        for run in runs
        for bin_ in run.bins
        if bin_.items
    ]
    return table(head, rows, "Bins")


def _split(board: Leaderboard, names: dict[str, str], shades: dict[str, str]) -> Component:
    """How far each run is off, and on which side."""
    rows = []
    for row in (row for row in board.rows if row.ranked):
        cells = [row.metrics[metric.key] for metric in SPLIT]
        values = [html.Td(short(cell.value), className="number", title=cell.missing or "") for cell in cells]
        rows.append(html.Tr([html.Th(named(shades.get(row.run), names[row.run]), scope="row"), *values]))
    heads = [html.Span(metric.label, title=f"{metric.name}. {metric.words}") for metric in SPLIT]
    return html.Div(table(["Run", *heads], rows, "Over- and underconfidence"), className="split")


def _what_if(result: Recalibration, names: dict[str, str], shades: dict[str, str]) -> html.Section:
    """Before and after of each metric, and the distribution of what items gain and lose."""
    shown = [metric for metric in MEASURED if any(run.metrics[metric.key].after is not None for run in result.runs)]
    head = ["Run", *(f"{metric.label} before → after" for metric in shown), "Nearer", "Further", "Sacrificed"]
    rows = []
    for run in result.runs:
        cells: list[Component] = [html.Th(named(shades.get(run.run), names[run.run]), scope="row")]
        for metric in shown:
            change = run.metrics[metric.key]
            values = f"{short(change.before)} → {short(change.after)}" if change.after is not None else DASH
            cells.append(html.Td(values, className="number", title=change.missing or metric.name))
        cells += [html.Td(f"{run.improved:,}", className="number"), html.Td(f"{run.worsened:,}", className="number")]
        sacrificed = f"{run.sacrificed:,} of {run.well_calibrated:,}"
        cells.append(html.Td(sacrificed, className="number", title="Items within 0.1 of their correctness that no longer are"))
        rows.append(html.Tr(cells))
    return html.Section(
        [
            html.H2(f"{METHOD_NAMES[result.method]} recalibration, cross-fitted by question in {result.folds} folds"),
            table(head, rows, "Metrics before and after"),
            figure(
                "changes",
                changes_figure(result, names, shades),
                "Change of each item's distance from its correctness: left of 0 it comes nearer, right of 0 it goes further",
            ),
        ],
        className="what-if",
    )


def _items(request: PageRequest[ReliabilityPage], runs: Sequence[ReliabilityDiagram], names: dict[str, str]) -> html.Section:
    """The items of one run in a range of confidence, furthest off first."""
    focus = _focus(request, [run.run for run in runs])
    chosen = request.parameters.confidence
    result: Items = service().ask(items, request.selection.on_common_questions(), chosen, ITEMS_SHOWN, focus)
    low, high = chosen or (0.0, 1.0)

    def link(item: Item) -> html.A:
        path = question_path(request.selection.dataset, item.question_id)
        return page_link(item.question_id, href=request.link(path, clue=str(item.clue), dataset=None))

    listed = [
        html.Tr(
            [
                html.Th(link(item), scope="row"),
                html.Td(item.clue + 1, className="number"),
                html.Td(item.guess or "no answer", className="guess"),
                html.Td((item.answer or DASH).partition(" [")[0], className="guess", title=item.answer or ""),
                html.Td(short(item.confidence), className="number"),
                html.Td(short(item.correct, 2), className="number"),
            ]
        )
        for item in result.items
    ]
    return html.Section(
        [
            html.Div(
                [
                    html.H2("Items, furthest off first"),
                    menu("focus", "Run", _choices(runs, names), "" if focus == runs[0].run else focus),
                    between("confidence", "Confidence", chosen),
                ],
                className="heading",
            ),
            html.P(
                f"{count(result.total, 'item')} of {names[focus]} with a confidence from {low:g} to {high:g}"
                + (f", the first {len(result.items)} of them" if result.total > len(result.items) else ""),
                className="note",
            ),
            table(["Question", "Clue", "Guess", "Answer", "Confidence", "Correct"], listed, "Items"),
        ],
        className="items",
    )


VIEW = register(
    View(
        name="reliability", path=PATH, title="Reliability", place=20, draw=draw, parameters=ReliabilityPage,
        filters=(*filter_keys(), "binning", "failed"), common=True,
    )
)  # fmt: skip
