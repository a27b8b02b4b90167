"""Small multiples of runs: of few runs all, of many those in colour, unless the reader wants all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeVar

from dash import html

from dashboard.components.html_attributes import data
from dashboard.components.run_names_and_colours import RunColours
from queries.selection.parameter_kinds import Choice

MAX_PANELS = 16  # that are looked at together
Panels = Annotated[
    Literal["", "all"],
    Choice("`all`: a panel of every run; by default, of more than 16 runs, the best eight or those pinned", ("all",), blank=True),
]
T = TypeVar("T")


def with_panels(runs: Sequence[T], colours: RunColours, panels: str, run_id: Callable[[T], str]) -> list[T]:
    """The runs that have a panel.

    Args:
        runs: in order.
        colours: run id to colour, of those in colour.
        panels: see ``Panels``.
        run_id: of an element of ``runs``.
    """
    if len(runs) <= MAX_PANELS or panels == "all":
        return list(runs)
    return [run for run in runs if run_id(run) in colours] or list(runs)


def panels_note(runs: int, shown: int) -> html.P | None:
    """How many runs have a panel, and a button for the others; None where there are few runs."""
    if runs <= MAX_PANELS:
        return None
    more = shown < runs
    words = f"Diagrams of {shown} of {runs} runs: those in colour, which are the best eight or pinned. " if more else ""
    button = f"Show all {runs}" if more else "Show only runs in colour"
    return html.P(
        [words, html.Button(button, className="quiet", **data(set=f"panels={'all' if more else ''}"))], className="note"
    )
