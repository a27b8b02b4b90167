"""Cumulative buzzes of runs and people over the course of the question."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from dashboard.components.figure import figure
from dashboard.components.left_out_plays import left_out_note
from dashboard.components.numbers import short
from dashboard.components.run_names_and_colours import RunColours, legend
from dashboard.components.table import table
from dashboard.figures.buzz_curves_and_rates import curve_name, curves_figure
from dashboard.figures.run_labels_and_lines import Names
from queries.buzzing.results import BuzzCurves

MARKS = (0.2, 0.4, 0.6, 0.8, 1.0)


def buzz_curves(curves: BuzzCurves, names: Names, colours: RunColours) -> html.Section:
    """Return cumulative buzzes over the fraction of the question revealed, as a figure and a table.

    Args:
        curves: curves of runs and people.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    drawn = [curve for curve in curves.curves if curve.correct is not None]
    parts: list[Component | None] = [html.H2("Buzzes along the question")]
    if any(curve.name == "Q1" for curve in drawn):
        note = (
            "People: quartiles of teams by correct buzzes on these questions, each pooled over the questions that its teams "
            "heard. Runs buzz at their thresholds in use."
        )
    else:
        note = "Runs buzz at their thresholds in use."
    gaps: dict[str, list[str]] = {}
    for curve in curves.curves:
        if curve.missing:
            gaps.setdefault(curve.missing, []).append(curve_name(curve, names))
    not_drawn = [f" Not drawn: {', '.join(who)} ({why})." for why, who in gaps.items()]
    parts += [html.P([note, *not_drawn], className="note"), left_out_note(curves.left_out_plays)]
    if drawn:
        parts.append(
            figure(
                "curves",
                curves_figure(curves, names, colours),
                "Cumulative buzzes over the fraction of the question revealed. Solid: correct; dotted: incorrect",
                _curves_table(curves, names),
                legend([curve.name for curve in drawn if curve.kind == "run"], names, colours),
            )
        )
    return html.Section(parts, className="buzz-curves")


def _curves_table(curves: BuzzCurves, names: Names) -> html.Div:
    at = [round(mark * (len(curves.revealed) - 1)) for mark in MARKS]
    rows = []
    for curve in curves.curves:
        for kind in ("correct", "incorrect"):
            values = getattr(curve, kind)
            if values is None:
                continue
            rows.append(
                html.Tr(
                    [
                        html.Th(curve_name(curve, names), scope="row"),
                        html.Td(kind),
                        *(html.Td(short(values[index]), className="number") for index in at),
                        html.Td(f"{curve.teams:,}" if curve.kind == "human" else "", className="number"),
                        html.Td(f"{curve.heard:,}", className="number"),
                    ]
                )
            )
    head = ["Who", "Buzzes", *(f"by {mark:.0%}" for mark in MARKS), "Teams", "Questions heard"]
    return table(head, rows, "Cumulative buzzes per question heard")
