"""How a run is named and coloured, the same on every page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from dash import html

from dashboard.components.attributes import aria
from dashboard.figures.style import INK, OTHERS
from queries.facets import Facets

COLOURS = 8  # beyond eight runs, colours would no longer be told apart


def run_colours(facets: Facets, selected: Sequence[str]) -> dict[str, str]:
    """Colour of each run of a dataset, as a CSS variable.

    With at most eight runs each has its own, by order of import. With more, all are grey until filters leave at most eight,
    which then have one each, by order of import among them.

    Args:
        facets: of the dataset.
        selected: runs that the filters leave, in order of import.
    """
    runs = [run for run, _, _ in facets.runs] if len(facets.runs) <= COLOURS else selected
    if len(runs) > COLOURS:
        return {}
    return {run: f"var(--run-{index + 1})" for index, run in enumerate(runs)}


class Named(Protocol):
    """Any struct with a run's id, model and elicitation."""

    @property
    def run(self) -> str: ...  # noqa: D102
    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def elicitation(self) -> str: ...  # noqa: D102


def run_names(runs: Iterable[Named]) -> dict[str, str]:
    """Run id to what it is called on a page: its model, with its elicitation where there are several."""
    runs = list(runs)
    several = len({run.elicitation for run in runs}) > 1
    return {run.run: f"{run.model} · {run.elicitation}" if several else run.model for run in runs}


def named(colour: str | None, name: str) -> list[html.Span]:
    """A run's name behind its colour."""
    return [swatch(colour), html.Span(name, className="name")]


def run_cell(name: str, colour: str | None) -> html.Th:
    """The head of a table's row: a run's name behind its colour."""
    return html.Th(named(colour, name), scope="row")


def legend(runs: Iterable[str], names: Mapping[str, str], colours: Mapping[str, str], people: str = "") -> html.Ul | None:
    """Which colour is which run, or why all are grey; None where there is nothing to say.

    Args:
        runs: those that are drawn.
        names: run id to what it is called.
        colours: run id to colour.
        people: what is drawn of them in the colour of the text, if anything.
    """
    runs = list(runs)
    parts = [html.Li(named(colours[run], names[run])) for run in runs if run in colours]
    if runs and not parts:
        parts = [html.Li(named(None, f"{len(runs)} runs; with at most {COLOURS} chosen in the filters, each has a colour"))]
    if people:
        parts.append(html.Li(named(INK, people)))
    return html.Ul(parts, className="legend") if parts else None


def swatch(colour: str | None) -> html.Span:
    """A dot in the colour of a run."""
    return html.Span(className="swatch", style={"background": colour or OTHERS}, **aria(hidden="true"))
