"""Difficulty: where runs are overconfident, and how accuracy grows as a question is revealed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import RUN, Table, columns, with_interval
from clueline.dashboard.registry.views import CONVENTION_KEYS, RESAMPLED, Cited, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.controls import filter_keys
from clueline.dashboard.ui.figure import UNIT, PlotlyJson, band, dots, drawn, lines
from clueline.dashboard.ui.html import heading, items_query, note, side_by_side
from clueline.dashboard.ui.messages import nothing_selected
from clueline.dashboard.ui.runs import Panels, RunStyle, focus_menu, highlighted_runs, panels_note, run_style
from clueline.dashboard.ui.table import PageColumn, html_table, interval
from clueline.dashboard.ui.text import DIFFICULTY_SOURCES, STATED, brackets, short
from clueline.data.plurals import counted
from clueline.queries.breakdown import Breakdown, BreakdownPart, breakdown
from clueline.queries.buzzing import FractionAccuracy, accuracy_by_fraction
from clueline.queries.buzzing.curves import TeamsAccuracy
from clueline.queries.hard_easy_effect import Difficulty, HardEasyFit, difficulty
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.selection.view_parameters_base import NoParameters

DIFFICULTY = serve(
    "difficulty",
    difficulty,
    NoParameters,
    "Overconfidence against difficulty: questions, line, slope and intervals.",
    Table(
        "The slopes as CSV, a row per run.",
        rows=lambda answer: answer.runs,
        columns=(*RUN, *with_interval(columns("questions", "slope", "low", "high", "missing", "no_interval"), "slope")),
    ),
    unused=(*CONVENTION_KEYS, "failed", "undisputed", "primary"),
)


RISING = "A rising line is the hard-easy effect; a calibrated run that cannot tell hard questions from easy ones has one, too"


def hard_easy(result: Difficulty, style: RunStyle, panels: str = "", *, forecasts: bool) -> list[Component | None]:
    """Return the figure, the source of difficulty, and the slopes; a sentence if no question has a difficulty.

    For ``panels`` see ``Panels``.
    """
    gap = CATALOGUE["overconfidence"].worded(forecasts)
    if result.untested:  # the page says why
        return []
    if not any(run.points for run in result.runs):
        return [note("No question in this selection has a difficulty.")]
    columns = [
        style.column(),
        PageColumn("Slope", "slope", why=lambda run: run.missing, number=True),
        interval(why=lambda run: run.no_interval or run.missing),
        PageColumn("Questions used", "questions"),
    ]
    several = len(result.sources) > 1
    sources = [
        f"{counted(questions, 'question')}: {DIFFICULTY_SOURCES[source]}" if several else DIFFICULTY_SOURCES[source]
        for source, questions in result.sources.items()
    ]
    shown = style.with_panels(result.runs, panels)
    thinned = max((round(run.questions / len(run.points)) for run in shown if run.points), default=1)
    return [
        panels_note(len(result.runs), len(shown)),
        fig.figure(
            "hard-easy",
            hard_easy_figure(shown, style, gap.name.lower()),
            f"{gap.name} ({'probability − outcome' if forecasts else 'confidence − accuracy'}) of each question against its "
            "difficulty, with the least-squares line and its 95 % interval"
            + ("" if forecasts else f". {RISING}")
            + (f"; dots show one question in {thinned}" if thinned > 1 else ""),
            html_table(columns, result.runs, "Hard-easy slopes"),
            hint="Click a dot to list its answers",
        ),
        note(f"Difficulty: {'; '.join(sources)}."),
        note(f"Left out: {counted(result.without, 'question')} without a difficulty.") if result.without else None,
    ]


def hard_easy_figure(runs: Sequence[HardEasyFit], style: RunStyle, gap: str) -> PlotlyJson:
    """Draw a panel per run: a dot per question, the fitted line and its interval. ``gap`` names the vertical axis."""

    def traces(run: HardEasyFit) -> list[PlotlyJson]:
        points, x = run.points, [at.difficulty for at in run.line]
        questions = dots(
            [point.difficulty for point in points], [point.overconfidence for point in points],
            f"%{{text}}<br>difficulty %{{x:.3f}}<br>{gap} %{{y:.3f}}", style.colour(run.run), 4, {"opacity": 0.35},
            meta={"run": run.run, "items": items_query(focus=run.run, question="ID")},
            customdata=[point.question_id for point in points], text=[fig.plain(point.question_id) for point in points],
        )  # fmt: skip
        fitted = [at.overconfidence for at in run.line]
        line = lines(x, fitted, "line at %{x:.2f}: %{y:.3f}", line={"color": fig.INK, "width": 2})
        return [questions, *band(x, [at.low for at in run.line], [at.high for at in run.line]), line]

    zero = {"zeroline": True, "zerolinecolor": fig.FAINT}
    slopes = [
        {
            "text": f"slope {short(run.slope, 2)} {brackets(run.low, run.high, _two_digits)}", "showarrow": False, "x": 1,
            "y": -0.98, "xref": f"{axes['xaxis']} domain", "yref": axes["yaxis"], "xanchor": "right", "yanchor": "bottom",
            "font": {"size": 11, "color": fig.INK}, "bgcolor": fig.PAPER,
        }
        for axes, run in ((fig.panel_axes(place), run) for place, run in enumerate(runs))
        if run.slope is not None
    ]  # fmt: skip
    return fig.panels(
        [traces(run) for run in runs],
        [style.names[run.run] for run in runs],
        x={"title": "difficulty", **UNIT, "range": [-0.03, 1.03]},
        y={"title": gap, "range": [-1.05, 1.05], "dtick": 0.5, "tickformat": ".2~f", **zero},
        annotations=slopes,
    )


def _two_digits(value: float | None) -> str:
    return short(value, 2)


WITH_TEAM_SHARE = "with the share of human teams that have answered correctly by then"


def fraction_accuracy(result: FractionAccuracy, style: RunStyle) -> html.Figure | None:
    """Return the figure and its table, a row per run and per human team or group of teams; None if there is nothing to draw."""
    if result.missing or not result.runs:
        return None
    people = [teams for teams in result.teams if teams.kind == "human"]
    guessing = any(fraction.accuracy is not None for teams in people for fraction in teams.fractions)
    shown = revealed_figure(result, style)
    marks = {fraction.revealed: f"{fraction.revealed:.0%}" for fraction in result.runs[0].fractions}
    return fig.figure(
        "revealed",
        shown,
        "Accuracy of the current answer by share of the question revealed, "
        + ("for runs and for the players of the human collection" if guessing else WITH_TEAM_SHARE + _right_by_the_end(people)),
        style.table(shown, "Accuracy by fraction revealed", marks),
        style.legend(style.names, ("People" if guessing else "Human teams") if people else ""),
    )


def _right_by_the_end(people: Sequence[TeamsAccuracy]) -> str:
    """Say which share was right by the end, and the second value; blank where nobody heard a question."""
    ends = [teams.fractions[-1] for teams in people if teams.fractions and teams.fractions[-1].right is not None]
    if not ends:
        return ""
    second = ends[0].second.get("right")
    over = ends[0].second.get("questions")
    stated = f"{STATED}, over {counted(int(over), 'question')}" if over else STATED
    stated = "" if second is None else f" ({short(second)} {stated})"
    return f". By the end: {short(ends[0].right)}{stated}, a mean over {counted(ends[0].questions, 'question')} that teams heard"


AXIS = 60  # pixels below and above the axis of accuracy


def revealed_figure(accuracies: FractionAccuracy, style: RunStyle) -> PlotlyJson:
    """Draw accuracy at 20, 40, 60, 80 and 100 % of the question: a line per run, people in the colour of the text."""
    data = [
        style.trace(
            run.run, [at.revealed for at in run.fractions], [at.accuracy for at in run.fractions],
            "accuracy %{y:.3f} at %{x:.0%}, %{customdata:,} questions", mode="lines+markers",
            marker={"size": 7 if run.run in style.colours else 3}, customdata=[at.questions for at in run.fractions],
        )
        for run in style.grey_first(accuracies.runs)
    ]  # fmt: skip
    for teams in accuracies.teams:
        if teams.kind != "human":
            continue
        guessing = any(at.accuracy is not None for at in teams.fractions)  # a human collection, with a guess at every clue
        data.append(lines(
            [at.revealed for at in teams.fractions], [at.accuracy if guessing else at.right for at in teams.fractions],
            ("people: accuracy" if guessing else "human teams right") + " by %{x:.0%}: %{y:.3f}", "lines+markers",
            name="People" if guessing else "Human teams that have answered correctly",
            line={"color": fig.INK, "width": 2.5}, marker={"size": 7, "symbol": "diamond"},
        ))  # fmt: skip
    ends = {run.run: run.fractions[-1].accuracy for run in accuracies.runs if run.run in style.colours and run.fractions}
    marks = {"range": [0.15, 1.04], "tickvals": [0.2, 0.4, 0.6, 0.8, 1], "tickformat": ".0%"}
    return drawn(
        data, 320, fig.axis("share of the question revealed", **marks), fig.axis("accuracy", **UNIT | {"range": [0, 1.02]}),
        **style.ends(ends, 0, 1.02, 320 - AXIS),
    )  # fmt: skip


GAP = CATALOGUE["overconfidence"]


def overconfidence_by_part(by: str, result: Breakdown, style: RunStyle, gap: Metric) -> html.Figure:
    """Return overconfidence by "category" or "radius"."""
    rows = [(part, run, run.metrics[GAP.key]) for part in result.parts for run in part.rows]
    columns = [
        PageColumn("Run", lambda row: style.dot(row[1].run, f", {row[0].value or 'not stated'}")),
        PageColumn(gap.label, lambda row: row[2].value, number=True),
        PageColumn("95 % interval", lambda row: brackets(row[2].low, row[2].high) or None, number=True),
        PageColumn("Questions", lambda row: row[1].questions),
    ]
    return fig.figure(
        f"by-{by}",
        parts_figure(result, gap, style),
        f"{gap.name} by {by}, with 95 % intervals. {gap.words}",
        html_table(columns, rows, f"{gap.name} by {by}"),
        style.legend(style.names),
    )


ROW = 17  # pixels per run of a part


def parts_figure(breakdown: Breakdown, metric: Metric, style: RunStyle) -> PlotlyJson:
    """Draw a panel per part: the metric of each run with its 95 % interval, 0 as a line. Runs in grey share the lowest row."""
    runs = list(dict.fromkeys(row.run for part in breakdown.parts for row in part.rows))
    rows = {run: index for index, run in enumerate(run for run in runs if run in style.colours)}
    lowest = len(rows)

    def shown(part: BreakdownPart) -> PlotlyJson:
        cells = [(row.run, cell) for row in part.rows if (cell := row.metrics[metric.key]).value is not None]
        values = [cell.value or 0.0 for _, cell in cells]
        lows, highs = ([getattr(cell, end) if run in rows else None for run, cell in cells] for end in ("low", "high"))
        ends = [[(cell.value or 0.0) if end is None else end for end in (cell.low, cell.high)] for _, cell in cells]
        return dots(
            values, [rows.get(run, lowest) for run, _ in cells], "%{customdata[0]}<br>%{x:.3f} %{customdata[1]}",
            [style.colour(run) for run, _ in cells], [8 if run in rows else 5 for run, _ in cells],
            meta={"runs": [run for run, _ in cells]}, cliponaxis=False,
            error_x=fig.whiskers(values, lows, highs, fig.MUTED, thickness=1.2),
            customdata=[[style.plain(run), "[{:.3f}, {:.3f}]".format(*end)] for (run, _), end in zip(cells, ends, strict=True)],
        )  # fmt: skip

    height = lowest + (len(rows) < len(runs))
    cells = [row.metrics[metric.key] for part in breakdown.parts for row in part.rows]
    ends = [0.0, *(end for cell in cells for end in (cell.low, cell.high, cell.value) if end is not None)]
    room = 0.05 * (max(ends) - min(ends) or 1)
    values = {"range": [min(ends) - room, max(ends) + room], "tickformat": ".2~f", "nticks": 5}
    return fig.panels(
        [[shown(part)] for part in breakdown.parts],
        [f"{part.value or 'not stated'} · {part.questions:,}" for part in breakdown.parts],
        x={"title": metric.name, **values, "zeroline": True, "zerolinecolor": fig.MUTED},
        y={"title": "", "range": [height - 0.4, -0.6], "showticklabels": False, "showgrid": False},
        height=ROW * height + 30,
    )


class DifficultyPage(PageParameters, frozen=True):
    """The runs that have a panel."""

    panels: Panels = ""


def _table(request: PageRequest[DifficultyPage]) -> Cited[Any]:
    metrics = (CATALOGUE["hard_easy_slope"], CATALOGUE["overconfidence"])
    columns = ("model", "elicitation", "questions", "slope")
    return Cited(DIFFICULTY, NoParameters(), columns, metrics, interval=RESAMPLED)


@page(
    "/difficulty", "Difficulty", DifficultyPage, place="Calibration", order=3, table=_table,
    views=(DIFFICULTY,),
    filters=(*filter_keys(), "people", "cluster", "grading"), common=True,
)  # fmt: skip
def draw(request: PageRequest[DifficultyPage]) -> Sequence[Component | None]:
    """Draw the hard-easy effect, overconfidence by radius and category, and accuracy by fraction revealed."""
    result = service().ask(difficulty, request.selection)
    if not result.runs:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "Difficulty")]
    gap = GAP.worded(request.facets.forecasts)
    style = run_style(request.facets, result.runs, highlighted_runs(request, gap))
    parts: list[Component | None] = [
        overconfidence_by_part(by, service().ask(breakdown, request.selection, by, [gap], True), style, gap)
        for by, values in (("radius", request.facets.radii), ("category", request.facets.texts("category")))
        if len(values) > 1
    ]
    if request.facets.longest > 1:
        of_runs = request.selection.on_runs([run.run for run in result.runs])
        parts.append(fraction_accuracy(service().ask(accuracy_by_fraction, of_runs), style))
    return [
        heading(
            "Difficulty",
            f"{request.facets.title}: whether confidence falls as questions get harder; {counted(len(result.runs), 'run')}",
            focus_menu(request, style.names),
        ),
        *hard_easy(result, style, request.parameters.panels, forecasts=request.facets.forecasts),
        side_by_side(*parts),
    ]
