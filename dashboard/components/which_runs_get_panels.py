"""Which runs have a panel in small multiples: all if they are few; otherwise those in colour, unless the reader wants all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeVar

from dash import html

from dashboard.components.html_attributes import data
from dashboard.components.run_names_and_colours import RunColours
from queries.selection.parameter_kinds import Choice

MAX_PANELS = 16  # with more runs, only those in colour have a panel
Panels = Annotated[
    Literal["", "all"],
    Choice(
        "`all`: a panel for every run; by default, of more than 16 runs only the best eight or the pinned ones",
        ("all",),
        blank=True,
    ),
]
T = TypeVar("T")


def with_panels(runs: Sequence[T], colours: RunColours, panels: str, run_id: Callable[[T], str]) -> list[T]:
    """Return the runs that have a panel.

    Args:
        runs: runs in order.
        colours: colour of each highlighted run, by run id.
        panels: see ``Panels``.
        run_id: function from an element of ``runs`` to its run id.
    """
    if len(runs) <= MAX_PANELS or panels == "all":
        return list(runs)
    return [run for run in runs if run_id(run) in colours] or list(runs)


def panels_note(runs: int, shown: int) -> html.P | None:
    """Say how many runs have a panel, with a button to change it; None if there are few runs."""
    if runs <= MAX_PANELS:
        return None
    more = shown < runs
    words = f"Diagrams of {shown} of {runs} runs: those in colour (the best eight or the pinned ones). " if more else ""
    button = f"Show all {runs}" if more else "Show only runs in colour"
    return html.P(
        [words, html.Button(button, className="quiet", **data(set=f"panels={'all' if more else ''}"))], className="note"
    )
