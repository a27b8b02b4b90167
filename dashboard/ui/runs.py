"""Names and colours of runs, the same on every page: which are highlighted, and which get a panel.

The colour of a run depends on its place in its dataset's order of import, on every page and under every filter. A figure of more
runs than can be distinguished shows a few of them in their colours, with their names next to them, and all others in grey.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, TypeVar

from dash import html

from dashboard.registry.composed import selected_runs
from dashboard.registry.pages import PageRequest
from dashboard.registry.run_names import names_of
from dashboard.service import service
from dashboard.ui.figure import INK, OTHERS
from dashboard.ui.html import aria, data
from dashboard.ui.table import Content, PageColumn
from dashboard.ui.text import MAX_NAME_LENGTH, distinct_short_names, shorten_middle
from data.plurals import counted
from queries.leaderboard import leaderboard
from queries.metrics import Metric
from queries.selection.facets import Facets
from queries.selection.parameter_kinds import Choice

COLOURS = 48  # variables --run-1 to --run-48 of assets/clueline.css


@dataclass(frozen=True)
class RunColours(Mapping[str, str]):
    """Colour of each highlighted run, as a CSS variable. Other runs are not in the mapping: they are grey.

    ``own`` has the colour of every run of the dataset, highlighted or not.
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
    """Return the colours of a dataset's runs."""
    own = {run: f"var(--run-{index % COLOURS + 1})" for index, run in enumerate(facets.imported)}
    return RunColours(own, tuple(run for run in own if run in highlighted))


class RunName(str):
    """Display name of a run. ``label`` is shortened if it is long, and still different from the labels of the other runs."""

    label: str

    def __new__(cls, name: str, label: str) -> RunName:
        """Create a name with its label."""
        instance = super().__new__(cls, name)
        instance.label = label
        return instance


class Named(Protocol):
    """Any struct with a run's id, model and elicitation."""

    @property
    def run(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def elicitation(self) -> str: ...


def run_names(runs: Iterable[Named]) -> dict[str, str]:
    """Return the display name of each run, by run id: its model, and what tells it from the others."""
    stated = {run.run: run.model for run in runs}
    names = stated | names_of(stated)
    labels = distinct_short_names([*names.values()])
    return {run: RunName(name, label) for (run, name), label in zip(names.items(), labels, strict=True)}


def name_text(name: str) -> html.Span:
    """Return a name; a long one is shortened in the middle, with the whole name shown on hover."""
    text = name.label if isinstance(name, RunName) else shorten_middle(name, MAX_NAME_LENGTH)
    return html.Span(text, className="name", title=name) if text != name else html.Span(name, className="name")


def named(colour: str | None, name: str) -> list[html.Span]:
    """Return a run's name after a dot in its colour."""
    return [swatch(colour), name_text(name)]


def run_column(
    names: Mapping[str, str],
    colours: Mapping[str, str] | None = None,
    part: Callable[[Any], Any] = lambda row: row,
    heading: Content = "Run",
) -> PageColumn:
    """Return the column that names the run of a row, after a dot in its colour if there are colours.

    ``part`` returns the part of a row that has the attribute ``run``.
    """

    def name(row: Any) -> Content:
        run = part(row).run
        return names[run] if colours is None else named(colours.get(run), names[run])

    return PageColumn(heading, name)


def legend(runs: Iterable[str], names: Mapping[str, str], colours: RunColours, people: str = "") -> html.Div | None:
    """Return a legend of the runs; None if it would be empty.

    Each name is a button: hover or focus brings its line forward in the figure, and a click pins it
    (``assets/figure_colours_and_size.js``). Runs in grey are listed behind a disclosure. ``people`` is the label of what is drawn
    for people in the colour of the text; blank for nothing.
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
            html.Summary([swatch(None), html.Span(f"{counted(len(grey), 'other run')} in grey")]),
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
    """Return a dot in the colour of a run; grey for None."""
    return html.Span(className="swatch", style={"background": colour or OTHERS}, **aria(hidden="true"))


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
    """Return the runs that have a panel; see ``Panels``. ``run_id`` maps an element of ``runs`` to its run id."""
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


MAX_HIGHLIGHTED = 8  # more lines cannot be distinguished


def highlighted_runs(request: PageRequest[Any], metric: Metric | None = None, *, ranking: Sequence[str] = ()) -> tuple[str, ...]:
    """Return ids of the runs to highlight: those that the address pins, or all if they are few, or the best ones.

    If none is pinned, at most ``MAX_HIGHLIGHTED``. The best are the first of ``ranking`` or, without it, those with the best
    ``metric``. Without either, the runs keep their order.
    """
    if request.parameters.pin:
        return tuple(request.parameters.pin)
    runs = selected_runs(request.selection)
    if len(runs) <= MAX_HIGHLIGHTED:
        return tuple(runs)
    best = list(ranking) or (_best_first(request, metric) if metric else [])
    return tuple(dict.fromkeys([*best, *runs]))[:MAX_HIGHLIGHTED]


def _best_first(request: PageRequest[Any], metric: Metric) -> list[str]:
    """Return ids of the ranked runs, best first by a metric."""
    rows = [row for row in service().ask(leaderboard, request.selection, (metric,)).rows if row.ranked]
    ranks = {row.run: row.metrics[metric.key].rank for row in rows}
    return sorted(ranks, key=lambda run: rank if (rank := ranks[run]) is not None else math.inf)
