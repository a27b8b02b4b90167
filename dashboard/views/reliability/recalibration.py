"""What recalibration would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from dash import html
from dash.development.base_component import Component

from dashboard.ui.figure import FAINT, OTHERS, PlotlyJson, figure, padded, panel_axes, panels
from dashboard.ui.numbers import DASH, short
from dashboard.ui.runs import RunColours, named
from dashboard.ui.table import table
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
    """Return each metric before and after, and how much nearer items come to their correctness, as a table and a figure."""
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


def changes_figure(recalibration: Recalibration, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    """Draw a panel per run: how many items come nearer to their correctness (left of 0) and how many move away (right of 0)."""
    shown = [run for run in recalibration.runs if run.missing is None]
    data: list[PlotlyJson] = []
    for number, run in enumerate(shown):
        total = sum(run.changes) or 1
        data.append({
            "type": "bar", "x": [(low + high) / 2 for low, high in pairwise(run.edges)], "width": run.edges[1] - run.edges[0],
            "y": [count / total for count in run.changes], "customdata": run.changes, **panel_axes(number),
            "marker": {"color": colours.get(run.run, OTHERS), "line": {"color": FAINT, "width": 0}},
            "hovertemplate": "change %{x:.3f}: %{customdata:,} items (%{y:.1%})<extra></extra>",
        })  # fmt: skip
    return panels(
        data,
        [names[run.run] for run in shown],
        x={"title": "change of distance", "range": [-1, 1], "dtick": 0.5, "tickformat": ".2~f"},
        y={"title": "share of items", "tickformat": ".0%"},
        height=150,
        ranges=[padded(trace["y"], zero=True) for trace in data],
        bargap=0,
    )
