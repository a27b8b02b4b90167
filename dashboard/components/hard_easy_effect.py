"""The hard-easy effect: overconfidence against difficulty, as a figure and a table of slopes."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html
from dash.development.base_component import Component

from dashboard.components.figure import figure
from dashboard.components.numbers import DIFFICULTY_SOURCES, short
from dashboard.components.run_names_and_colours import RunColours, named
from dashboard.components.table import dash, row, table
from dashboard.components.which_runs_get_panels import panels_note, with_panels
from dashboard.figures.hard_easy_effect import hard_easy_figure
from data.plurals import counted
from queries.hard_easy_effect import Difficulty
from queries.metrics import CATALOGUE

RISING = "A rising line is the hard-easy effect; a calibrated run that cannot tell hard questions from easy ones has one, too"


def hard_easy(
    result: Difficulty, names: Mapping[str, str], colours: RunColours, link: str, panels: str = "", *, forecasts: bool
) -> list[Component | None]:
    """Return the figure, the source of difficulty, and the slopes; a sentence if no question has a difficulty.

    Args:
        result: hard-easy effect of each run.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        link: address of a question, with ``ID`` in place of its id.
        panels: which runs have a panel; see ``Panels``.
        forecasts: whether answers are forecasts.
    """
    gap = CATALOGUE["overconfidence"].worded(forecasts)
    if result.untested:  # the page says why
        return []
    if not any(run.points for run in result.runs):
        return [html.P("No question in this selection has a difficulty.", className="note")]
    slopes = [
        row(
            named(colours.get(run.run), names[run.run]),
            dash(run.missing) if run.slope is None else short(run.slope),
            dash(run.no_interval or run.missing) if run.low is None else f"{short(run.low)} to {short(run.high)}",
            f"{run.questions:,}",
        )
        for run in result.runs
    ]
    missing = counted(result.without, "question") if result.without else None
    shown = with_panels(result.runs, colours, panels, lambda run: run.run)
    thinned = max((round(run.questions / len(run.points)) for run in shown if run.points), default=1)
    return [
        panels_note(len(result.runs), len(shown)),
        figure(
            "hard-easy",
            hard_easy_figure(shown, names, colours, link, gap.name.lower()),
            f"{gap.name} ({'probability − outcome' if forecasts else 'confidence − accuracy'}) of each question against its "
            "difficulty, with the least-squares line and its 95 % interval"
            + ("" if forecasts else f". {RISING}")
            + (f"; dots show one question in {thinned}" if thinned > 1 else ""),
            hint="Click a dot to open its question",
        ),
        html.P(_sources(result.sources), className="note"),
        html.P(f"Left out: {missing} without a difficulty.", className="note") if missing else None,
        table(["Run", "Slope", "95 % interval", "Questions used"], slopes, "Hard-easy slopes"),
    ]


def _sources(sources: dict[str, int]) -> str:
    """Where difficulty comes from, with the number of questions if there are several sources."""
    named = [(DIFFICULTY_SOURCES[source], counted(questions, "question")) for source, questions in sources.items()]
    if len(named) == 1:
        return f"Difficulty: {named[0][0]}."
    return f"Difficulty: {'; '.join(f'{questions}: {source}' for source, questions in named)}."
