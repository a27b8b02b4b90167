"""How a run is named and coloured, the same on every page.

A run has the colour of its place in the order of import of its dataset, on every page and under every filter. The style sheet
has 48 colours, so runs share one only beyond that number. A figure of more runs than can be told apart shows a few of them in
their colours, with their names beside them, and all others in grey.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dash import html

from dashboard.components.html_attributes import aria, data
from dashboard.components.numbers import count
from dashboard.figures.style import INK, OTHERS
from dashboard.name_shortening import MAX_NAME_LENGTH, fitting, shortened
from queries.selection.facets import Facets

COLOURS = 48  # variables --run-1 to --run-48 of assets/clueline.css


@dataclass(frozen=True)
class RunColours(Mapping[str, str]):
    """Colour of each highlighted run, as a CSS variable. Other runs are not in the mapping: they are grey.

    Attributes:
        own: colour of every run of the dataset, highlighted or not.
        highlighted: ids of the runs that are shown in their colours.
    """

    own: Mapping[str, str]
    highlighted: tuple[str, ...]

    def __getitem__(self, run: str) -> str:
        if run not in self.highlighted:
            raise KeyError(run)
        return self.own[run]

    def __iter__(self) -> Iterator[str]:
        return iter(self.highlighted)

    def __len__(self) -> int:
        return len(self.highlighted)


def run_colours(facets: Facets, highlighted: Sequence[str]) -> RunColours:
    """Colours of the runs of a dataset.

    Args:
        facets: of the dataset.
        highlighted: ids of the runs to show in their colours.
    """
    own = {run: f"var(--run-{index % COLOURS + 1})" for index, run in enumerate(facets.imported)}
    return RunColours(own, tuple(run for run in own if run in highlighted))


class RunName(str):
    """What a run is called.

    Attributes:
        label: the same, shortened where it is long, and still different from the labels of the other runs.
    """

    label: str

    def __new__(cls, name: str, label: str) -> RunName:
        """A name and its label."""
        made = super().__new__(cls, name)
        made.label = label
        return made


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
    names = [f"{run.model} · {run.elicitation}" if several else run.model for run in runs]
    return {run.run: RunName(name, label) for run, name, label in zip(runs, names, fitting(names), strict=True)}


def name_text(name: str) -> html.Span:
    """A name, shortened in the middle where it is long; then the whole name is shown on hover."""
    text = name.label if isinstance(name, RunName) else shortened(name, MAX_NAME_LENGTH)
    return html.Span(text, className="name", title=name) if text != name else html.Span(name, className="name")


def named(colour: str | None, name: str) -> list[html.Span]:
    """A run's name behind its colour."""
    return [swatch(colour), name_text(name)]


def run_cell(name: str, colour: str | None) -> html.Th:
    """The head of a table's row: a run's name behind its colour."""
    return html.Th(named(colour, name), scope="row")


def legend(runs: Iterable[str], names: Mapping[str, str], colours: RunColours, people: str = "") -> html.Div | None:
    """Which colour is which run; None where there is nothing to say.

    Each name is a button: on hover and focus its line comes forward in the figure, a click pins it
    (``assets/figure_painting.js``). Runs in grey are listed behind a disclosure.

    Args:
        runs: those that are drawn.
        names: run id to what it is called.
        colours: of the runs.
        people: what is drawn of them in the colour of the text, if anything.
    """
    runs = list(runs)
    entries = [html.Li(_pin(run, names[run], colours, grey=False)) for run in runs if run in colours]
    if people:
        entries.append(html.Li(named(INK, people)))
    grey = [run for run in runs if run not in colours]
    if not entries and not grey:
        return None
    others = html.Details(
        [
            html.Summary([swatch(None), html.Span(f"{count(len(grey), 'other run')} in grey")]),
            html.Ul([html.Li(_pin(run, names[run], colours, grey=True)) for run in grey]),
        ],
        className="others",
    )
    return html.Div([html.Ul(entries), others if grey else None], className="legend")


def _pin(run: str, name: str, colours: RunColours, *, grey: bool) -> html.Button:
    """A run's entry in a legend."""
    colour = colours.own.get(run, OTHERS)
    return html.Button(
        named(None if grey else colour, name),
        type="button",
        title=f"{name}. Click to pin or unpin",
        **data(pin=run, colour=colour),
        **aria(pressed="false"),
    )


def swatch(colour: str | None) -> html.Span:
    """A dot in the colour of a run."""
    return html.Span(className="swatch", style={"background": colour or OTHERS}, **aria(hidden="true"))
