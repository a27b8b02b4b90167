"""What recalibration would do to each run: metrics before and after, and what single items gain and lose."""

from __future__ import annotations

from collections.abc import Callable

from dash import html
from dash.development.base_component import Component

from dashboard.components.figure import figure
from dashboard.components.numbers import DASH, short
from dashboard.components.run_names_and_colours import RunColours, named
from dashboard.components.table import table
from dashboard.figures.items_improved_by_recalibration import changes_figure
from queries.metrics import CATALOGUE
from queries.recalibration import RecalibratedRun, Recalibration

METHOD_NAMES = {"temperature": "Temperature", "platt": "Platt", "isotonic": "Isotonic"}

KEYS = ("ece", "overconfidence", "brier", "corp_mcb", "hmr", "r_over", "r_under", "auroc", "calscore")
MEASURED = tuple(CATALOGUE[key] for key in KEYS)


def _temperature(run: RecalibratedRun) -> float | None:
    return 1 / run.slope if run.slope else None


_TERMS: dict[str, tuple[tuple[str, Callable[[RecalibratedRun], float | None]], ...]] = {
    "temperature": (("T", _temperature),),
    "platt": (("Slope", lambda run: run.slope), ("Intercept", lambda run: run.intercept)),
}


def recalibration_section(result: Recalibration, names: dict[str, str], colours: RunColours) -> html.Section:
    """Return each metric before and after, and how much nearer items come to their correctness, as a table and a figure.

    Args:
        result: recalibration by one method.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    shown = [metric for metric in MEASURED if any(run.metrics[metric.key].after is not None for run in result.runs)]
    terms = _TERMS.get(result.method, ())
    head = [
        "Run",
        "Fitted to",
        *(name for name, _ in terms),
        *(f"{metric.label} before → after" for metric in shown),
        "Nearer",
        "Further",
        "Sacrificed",
    ]
    rows = []
    for run in result.runs:
        cells: list[Component] = [html.Th(named(colours.get(run.run), names[run.run]), scope="row")]
        cells.append(html.Td(run.fitted_to))
        cells += [html.Td(short(value(run)), className="number", title="Fitted to all items") for _, value in terms]
        for metric in shown:
            change = run.metrics[metric.key]
            values = f"{short(change.before)} → {short(change.after)}" if change.after is not None else DASH
            cells.append(html.Td(values, className="number", title=change.missing or metric.name))
        cells += [html.Td(f"{run.improved:,}", className="number"), html.Td(f"{run.worsened:,}", className="number")]
        sacrificed = f"{run.sacrificed:,} of {run.well_calibrated:,}"
        cells.append(html.Td(sacrificed, className="number", title="Items within 0.1 of their correctness before, but not after"))
        rows.append(html.Tr(cells))
    return html.Section(
        [
            html.H2(f"{METHOD_NAMES[result.method]} recalibration, cross-fitted in {result.folds} folds of questions"),
            table(head, rows, "Metrics before and after"),
            figure(
                "changes",
                changes_figure(result, names, colours),
                "Change in each item's distance from its correctness: left of 0 it comes nearer, right of 0 it moves away",
            ),
        ],
        className="what-if",
    )
