"""Names and colours of runs, the same on every page: which are highlighted, and which get a panel.

The colour of a run depends on its place in its dataset's order of import, on every page and under every filter. A figure of more
runs than can be distinguished shows a few of them in their colours, with their names next to them, and all others in grey.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Annotated, Any, Literal, Protocol, TypeVar

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.composed import selected_runs
from clueline.dashboard.registry.pages import PageRequest
from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import menu
from clueline.dashboard.ui.figure import INK, OTHERS, PlotlyJson, end_labels, label_margin, plain
from clueline.dashboard.ui.html import aria, data
from clueline.dashboard.ui.table import Content, PageColumn, columns_by, html_table
from clueline.dashboard.ui.text import MAX_LABEL_LENGTH, MAX_NAME_LENGTH, distinct_short_names, shorten_middle
from clueline.data.plurals import counted
from clueline.queries.findings import findings
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import Metric
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import Choice

NEAR = 0.011  # between a mark of a table and the point of a line that it shows
COLOURS = 48  # variables --run-1 to --run-48 of assets/clueline.css


class RunColours(dict[str, str]):
    """Colour of each highlighted run, as a CSS variable, in the order of import. Other runs are not in it: they are grey.

    ``own`` has the colour of every run of the dataset, highlighted or not.
    """

    def __init__(self, own: Mapping[str, str], highlighted: Sequence[str]) -> None:
        super().__init__({run: colour for run, colour in own.items() if run in highlighted})
        self.own = own


def run_colours(facets: Facets, highlighted: Sequence[str]) -> RunColours:
    """Return the colours of a dataset's runs."""
    return RunColours({run: f"var(--run-{index % COLOURS + 1})" for index, run in enumerate(facets.imported)}, highlighted)


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


T = TypeVar("T")
N = TypeVar("N", bound=Named)


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


@dataclass(frozen=True)
class RunStyle:
    """How the runs of a page are written and drawn: their names by run id, and the colours of those that are highlighted."""

    names: Mapping[str, str]
    colours: RunColours

    def plain(self, run: str) -> str:
        """Return the name of a run, escaped for Plotly."""
        return plain(self.names[run])

    def colour(self, run: str) -> str:
        """Return the colour of a run: its own, or grey."""
        return self.colours.get(run, OTHERS)

    def dot(self, run: str, more: str = "") -> list[html.Span]:
        """Return the name of a run after a dot in its colour. ``more`` follows the name."""
        return named(self.colours.get(run), f"{self.names[run]}{more}" if more else self.names.get(run, run))

    def column(self, part: Callable[[Any], Any] = lambda row: row) -> PageColumn:
        """Return the column that names the run of a row; ``part`` returns the part of a row that has the attribute ``run``."""
        return PageColumn("Run", lambda row: self.dot(part(row).run))

    def grey_first(self, runs: Iterable[N]) -> list[N]:
        """Return runs in drawing order, so that those in colour are above those in grey."""
        return sorted(runs, key=lambda run: run.run in self.colours)

    def labels(self, runs: Sequence[str], longest: int = MAX_LABEL_LENGTH) -> dict[str, str]:
        """Return the label of each run in a figure, by run id; at most ``longest`` characters."""
        return dict(zip(runs, map(plain, distinct_short_names([self.names[run] for run in runs], longest)), strict=True))

    def line(self, run: str) -> PlotlyJson:
        """Return the style of a run's line: in its colour, or thin and grey. Every second four of the colours have dashes."""
        if run not in self.colours:
            return {"color": OTHERS, "width": 0.8}
        place = int(self.colours[run].removeprefix("var(--run-").removesuffix(")"))
        return {"color": self.colours[run], "width": 2.2, "dash": "7px,2px" if (place - 1) % 8 >= 4 else "solid"}

    def trace(self, run: str, x: Sequence[Any], y: Sequence[Any], hover: str, **more: Any) -> PlotlyJson:
        """Return the line of a run, with its name before the text on hover; ``more`` is added to the trace."""
        return {
            "type": "scatter", "mode": "lines", "name": self.plain(run), "meta": run, "line": self.line(run), "x": x, "y": y,
            "showlegend": run in self.colours, "hovertemplate": f"%{{fullData.name}}<br>{hover}<extra></extra>",
        } | more  # fmt: skip

    def ends(self, ends: Mapping[str, float | None], bottom: float, top: float, height: float) -> PlotlyJson:
        """Return the parts of a layout that name lines at their right ends; see ``end_labels``. None has a margin only."""
        labels = self.labels([*ends])
        shown = [(labels[run], value, self.colours[run]) for run, value in ends.items() if value is not None]
        return {"margin": label_margin([*labels.values()]), "annotations": end_labels(shown, bottom, top, height)}

    def with_panels(self, runs: Sequence[N], panels: str) -> list[N]:
        """Return the runs that have a panel; see ``Panels``."""
        few = len(runs) <= MAX_PANELS or panels == "all"
        return [*runs] if few else [run for run in runs if run.run in self.colours] or [*runs]

    def table(self, drawn: PlotlyJson, label: str, marks: Mapping[float, str]) -> html.Div:
        """Return the values of a figure's lines at some marks on the x axis, each with its heading, as a table."""

        def value(mark: float, trace: PlotlyJson) -> float | None:
            gap, y = min((abs(x - mark), place) for place, x in enumerate(trace["x"]))
            return trace["y"][y] if gap < NEAR else None

        def name(trace: PlotlyJson) -> Content:
            return self.dot(trace["meta"]) if trace.get("meta") in self.names else unescape(trace["name"])

        lines = [trace for trace in drawn["data"] if "lines" in trace.get("mode", "") and "name" in trace]
        return html_table([PageColumn("Run", name), *columns_by(marks, value)], lines, label)

    def legend(self, runs: Iterable[str], people: str = "") -> html.Div | None:
        """Return a legend of the runs; None if it would be empty.

        Each name is a button: hover or focus brings its line forward in the figure, and a click pins it
        (``assets/figure_colours_and_size.js``). Runs in grey are listed behind a disclosure. ``people`` is the label of what is
        drawn for people in the colour of the text; blank for nothing.
        """
        runs = list(runs)
        entries = [html.Li(self._pin(run)) for run in runs if run in self.colours]
        if people:
            entries.append(html.Li(named(INK, people)))
        grey = [run for run in runs if run not in self.colours]
        if not entries and not grey:
            return None
        count = html.Summary([swatch(None), html.Span(f"{counted(len(grey), 'other run')} in grey")])
        others = html.Details([count, html.Ul([html.Li(self._pin(run)) for run in grey])], className="others")
        return html.Div([html.Ul(entries), others if grey else None], className="legend")

    def _pin(self, run: str) -> html.Button:
        """A run's entry in a legend."""
        marks = data(pin=run, colour=self.colours.own.get(run, OTHERS)) | aria(pressed="false")
        return html.Button(self.dot(run), type="button", title=f"{self.names[run]}. Click to pin or unpin", **marks)


def run_style(facets: Facets, runs: Iterable[Named], highlighted: Sequence[str]) -> RunStyle:
    """Return the style of a dataset's runs."""
    return RunStyle(run_names(runs), run_colours(facets, highlighted))


def swatch(colour: str | None) -> html.Span:
    """Return a dot in the colour of a run; grey for None."""
    return html.Span(className="swatch", style={"background": colour or OTHERS}, **aria(hidden="true"))


MAX_PANELS = 12  # with more runs, only those in colour have a panel
Panels = Annotated[
    Literal["", "all"],
    Choice(
        "`all`: a panel for every run; by default, of more than 12 runs only the best eight or the pinned ones",
        ("all",),
        blank=True,
    ),
]


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


def highlighted_runs(
    request: PageRequest[Any], metric: Metric | None = None, *, ranking: Sequence[str] = (), focus: str | None = None
) -> tuple[str, ...]:
    """Return ids of the runs to highlight: those that the address pins, or all if they are few, or the best ones.

    The run in ``focus``, by default that of ``run_in_focus``, is always among them. If none is pinned, at most
    ``MAX_HIGHLIGHTED``. The best are the first of ``ranking`` or, without it, those with the best ``metric``. Without either, the
    runs keep their order.
    """
    if request.parameters.pin:
        return tuple(dict.fromkeys([*request.parameters.pin, *filter(None, [request.parameters.focus])]))
    runs = selected_runs(request.selection)
    if len(runs) <= MAX_HIGHLIGHTED:
        return tuple(runs)
    focused = run_in_focus(request) if focus is None else focus
    best = list(ranking) or (_best_first(request, metric) if metric else [])
    return tuple(dict.fromkeys([*filter(None, [focused]), *best, *runs]))[:MAX_HIGHLIGHTED]


def run_in_focus(request: PageRequest[Any]) -> str:
    """Return the run that the address puts in focus, or else that of the finding on its selection; blank if there is none."""
    if request.parameters.focus:
        return str(request.parameters.focus)
    finding = service().ask(findings, request.selection).finding
    return finding.run if finding else ""


def focus_menu(request: PageRequest[Any], names: Mapping[str, str]) -> Component | None:
    """Return a menu of the run in focus, by default that of the finding; None where all runs are in colour."""
    if len(names) <= MAX_HIGHLIGHTED:
        return None
    return menu("focus", "Run in focus", {"": "That of the finding", **names}, request.parameters.focus)


def _best_first(request: PageRequest[Any], metric: Metric) -> list[str]:
    """Return ids of the ranked runs, best first by a metric."""
    rows = [row for row in service().ask(leaderboard, request.selection, (metric,)).rows if row.ranked]
    ranks = {row.run: row.metrics[metric.key].rank for row in rows}
    return sorted(ranks, key=lambda run: rank if (rank := ranks[run]) is not None else math.inf)
