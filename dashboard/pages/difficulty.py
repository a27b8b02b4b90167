"""Difficulty: where runs are overconfident, and how accuracy grows as a question is revealed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.figure import figure
from dashboard.components.filters import filter_keys
from dashboard.components.messages import nothing_selected
from dashboard.components.numbers import DASH, DIFFICULTY_SOURCES, count, short
from dashboard.components.run_names import colours, legend, named, run_names
from dashboard.components.table import row, table
from dashboard.figures.difficulty import hard_easy_figure, parts_figure, revealed_figure
from dashboard.service import service
from dashboard.view import PageParameters, PageRequest, View, question_path, register
from queries.breakdown import Breakdown, breakdown
from queries.buzzing import FractionAccuracy, accuracy_by_fraction
from queries.difficulty import Difficulty, difficulty
from queries.metrics import CATALOGUE

PATH = "/difficulty"
GAP = CATALOGUE["overconfidence"]


def draw(request: PageRequest[PageParameters]) -> Sequence[Component | None]:
    """The hard-easy effect, overconfidence by radius and category, accuracy by fraction revealed."""
    result = service().ask(difficulty, request.selection)
    if not result.runs:
        return [nothing_selected(PATH, request.selection, "answers")]
    shades = colours(request.facets, request.selection)
    names = run_names(result.runs)
    return [
        html.Div(
            [
                html.H1("Difficulty"),
                html.P(f"{request.facets.title}: {count(len(result.runs), 'run')}", className="lead"),
            ],
            className="heading",
        ),
        *_hard_easy(result, request, names, shades),
        _by("radius", "radius", request.facets.radii, request, names, shades),
        _by("category", "category", request.facets.categories, request, names, shades),
        _revealed(request, names, shades) if request.facets.longest > 1 else None,
    ]


def _hard_easy(
    result: Difficulty, request: PageRequest[PageParameters], names: dict[str, str], shades: dict[str, str]
) -> list[Component | None]:
    if not any(run.points for run in result.runs):
        return [html.P("No question of this selection has a difficulty.", className="note")]
    slopes = [
        row(
            named(shades.get(run.run), names[run.run]),
            short(run.slope),
            f"{short(run.low)} to {short(run.high)}" if run.low is not None else DASH,
            f"{run.questions:,}",
        )
        for run in result.runs
    ]
    missing = count(result.without, "question") if result.without else None
    link = request.link(question_path(request.selection.dataset, "ID"), dataset=None)
    thinned = max((round(run.questions / len(run.points)) for run in result.runs if run.points), default=1)
    return [
        figure(
            "hard-easy",
            hard_easy_figure(result.runs, names, shades, link),
            "Overconfidence (confidence − accuracy) of each question against its difficulty, with the least-squares line and its "
            "95 % interval. A line that rises is the hard-easy effect. A press on a dot opens its question"
            + (f"; dots are one question in {thinned}" if thinned > 1 else ""),
        ),
        html.P(_sources(result.sources), className="note"),
        html.P(f"{missing} without a difficulty: left out.", className="note") if missing else None,
        table(["Run", "Slope", "95 % interval", "Questions used"], slopes, "Hard-easy slopes"),
    ]


def _sources(sources: dict[str, int]) -> str:
    """Where difficulty comes from, and of how many questions where these differ."""
    named = [(DIFFICULTY_SOURCES[source], count(questions, "question")) for source, questions in sources.items()]
    if len(named) == 1:
        return f"Difficulty: {named[0][0]}."
    return f"Difficulty: {'; '.join(f'{questions}: {source}' for source, questions in named)}."


def _by(
    by: str, name: str, values: Sequence[Any], request: PageRequest[PageParameters], names: dict[str, str], shades: dict[str, str]
) -> Component | None:
    """Overconfidence in each part; None where the dataset has no parts of this kind."""
    if len(values) < 2:
        return None
    result: Breakdown = service().ask(breakdown, request.selection, by, [GAP], True)
    rows = [
        row(
            named(shades.get(each.run), f"{names[each.run]}, {part.value or 'not stated'}"),
            short(each.metrics[GAP.key].value),
            f"{short(each.metrics[GAP.key].low)} to {short(each.metrics[GAP.key].high)}",
            f"{each.questions:,}",
        )
        for part in result.parts
        for each in part.rows
    ]
    return figure(
        f"by-{by}",
        parts_figure(result, GAP.key, names, shades),
        f"Overconfidence by {name}, with 95 % intervals: right of the line, a run is more confident than it is right",
        table(["Run", GAP.label, "95 % interval", "Questions"], rows, f"Overconfidence by {name}"),
        legend(names, names, shades),
    )


def _revealed(request: PageRequest[PageParameters], names: dict[str, str], shades: dict[str, str]) -> Component | None:
    result: FractionAccuracy = service().ask(accuracy_by_fraction, request.selection.on_common_questions())
    if result.missing or not result.runs:
        return None
    marks = [at.revealed for at in result.runs[0].fractions]
    rows = [
        row(
            named(shades.get(run.run), names[run.run]),
            *(short(at.accuracy) for at in run.fractions),
        )
        for run in result.runs
    ]
    rows += [row(teams.name, *(short(at.right) for at in teams.fractions)) for teams in result.teams if teams.kind == "human"]
    return figure(
        "revealed",
        revealed_figure(result, names, shades),
        "Accuracy of the answer that stands when so much of the question is revealed, beside the human teams that have answered "
        "correctly by then",
        table(["Run", *(f"{mark:.0%}" for mark in marks)], rows, "Accuracy by fraction revealed"),
        legend(names, names, shades, "Human teams" if any(teams.kind == "human" for teams in result.teams) else ""),
    )


VIEW = register(
    View(
        name="difficulty", path=PATH, title="Difficulty", place=30, draw=draw, parameters=PageParameters,
        filters=(*filter_keys(), "failed"), common=True,
    )
)  # fmt: skip
