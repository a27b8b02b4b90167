"""By clue: confidence against accuracy and people as questions are revealed, and where a run is surer than right too early."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import (
    RUN_FIRST,
    Table,
    column,
    columns,
    fields,
    parts,
    reasons,
    second_values,
    with_interval,
)
from clueline.dashboard.registry.views import METRIC_INTERVALS, Cited, serve
from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.controls import filter_keys, menu
from clueline.dashboard.ui.figure import PlotlyJson
from clueline.dashboard.ui.html import aria, controls, data, heading, items_link, items_query, note, section, side_by_side
from clueline.dashboard.ui.messages import nothing_selected
from clueline.dashboard.ui.runs import Panels, RunStyle, highlighted_runs, named, panels_note, run_style
from clueline.dashboard.ui.table import Cell, PageColumn, html_table, interval, second_note, with_second
from clueline.dashboard.ui.text import CURVE_LABELS, CURVE_NAMES, brackets, percent, short
from clueline.data.plurals import counted
from clueline.queries.by_clue import ACCURACY, CONFIDENCE, GAP, ByClue, CluePoint, Overconfident, RunByClue, by_clue, people_know
from clueline.queries.deferring import STEPS, THRESHOLDS, Deferring, DeferringToRun, Share, deferring
from clueline.queries.engine.parts_of_questions import BY, By, offered_parts
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import Choice
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters


def _default(facets: Facets) -> str:
    return offered_parts(facets.longest or 1)[0]


Parts = Annotated[
    By,
    Choice(
        "what divides the questions: `clue` (the number of the clue) or `revealed` (fifths of the question); by default clues, "
        "unless a question has more than 50",
        lambda facets: offered_parts(facets.longest or 1),
        "The questions of {dataset!r} cannot be divided by {value!r}.",
        dataset_default=_default,
    ),
]


class ByClueKeys(Parameters, frozen=True):
    """What divides the questions."""

    by: Parts = BY[0]


POINTS = Table(
    "The same as CSV, a row per run and part of the questions.",
    rows=lambda answer: [(run, point) for run in answer.runs for point in run.points],
    columns=(
        *RUN_FIRST,
        *fields(CluePoint, at=1, without=("missing", "no_interval")),
        column("missing", lambda row: reasons(row[1].missing)),
        column("no_interval", lambda row: reasons(row[1].no_interval)),
    ),
)
BY_CLUE = serve(
    "by-clue",
    by_clue,
    ByClueKeys,
    """Mean confidence, accuracy and the human curve at each clue, or each fifth of the question, with intervals; and where a
        run is surer than right while people do not know yet, the worst run first.""",
    POINTS,
    unused=("binning", "beta", "t", "failed", "undisputed", "primary"),
)


WITH_INTERVAL = ("value", "low", "high", "no_interval")
DEFERRING = serve(
    "deferring",
    deferring,
    NoParameters,
    """What people would gain from the confidence of each run: shares of right answers of people alone, of the run alone, of
        people who take the run's answer where its confidence is above a threshold, and of the better of both.""",
    Table(
        "The same as CSV, a row per run and way to answer.",
        rows=lambda answer: [
            (run, who, threshold, share)
            for run in answer.runs
            for who, threshold, share in (
                ("people", None, run.people),
                ("run", None, run.run_alone),
                ("oracle", None, run.oracle),
                *(("deferring", *pair) for pair in zip(answer.thresholds, run.deferring, strict=True)),
            )
        ],
        columns=(
            *RUN_FIRST,
            *columns("questions", "items", at=0),
            *parts("who", "threshold", start=1),
            *with_interval(columns(*WITH_INTERVAL, at=3), "value"),
            column("second", second_values(3)),
        ),
    ),
    unused=("binning", "beta", "t", "failed", "undisputed", "primary"),
)


class ByCluePage(PageParameters, frozen=True):
    """What divides the questions, and which runs have a panel."""

    by: Parts = BY[0]
    panels: Panels = ""


def _table(request: PageRequest[ByCluePage]) -> Cited[ByClueKeys]:
    columns = ("model", "elicitation", "part", "items", "mean_confidence", "accuracy_scored", "overconfidence", "people")
    return Cited(
        BY_CLUE,
        ByClueKeys(request.parameters.by),
        columns,
        (CONFIDENCE, ACCURACY, GAP),
        interval=METRIC_INTERVALS,
        headings={"Part": PART_NAMES[request.parameters.by], "People right": "People"},
    )


PART_NAMES: dict[By, str] = {"clue": "Clue", "revealed": "Revealed"}


@page(
    "/by-clue", "By clue", ByCluePage, place="Calibration", order=0, table=_table, common=True,
    offered=lambda facets: facets.longest > 1 and not facets.forecasts,
    views=(BY_CLUE, DEFERRING),
    filters=(*filter_keys(), "people", "human", "cluster", "grading"),
)  # fmt: skip
def draw(request: PageRequest[ByCluePage]) -> Sequence[Component | None]:
    """Draw the finding, the run in focus, the other runs, and where each is surer than right."""
    result: ByClue = BY_CLUE.ask(request)
    if not result.runs:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "By clue")]
    focus = next((run for run in result.runs if run.run == request.parameters.focus), result.runs[0])
    worst_first = [run.run for run in result.runs]
    style = run_style(request.facets, result.runs, highlighted_runs(request, ranking=worst_first, focus=focus.run))
    others = [run for run in result.runs if run is not focus]
    shown = style.with_panels(others, request.parameters.panels)
    offered: dict[str, str] = {by: PART_WORDS[by] for by in offered_parts(request.facets.longest)}
    title, lead = finding_words(focus, result, style.names[focus.run])
    return [
        heading(
            title,
            f"{request.facets.title}: {lead}",
            controls(
                menu("by", "Over", offered, result.by, default=_default(request.facets)) if len(offered) > 1 else None,
                menu("focus", "Run in focus", dict(style.names), focus.run, default=result.runs[0].run),
            ),
        ),
        note(result.untested) if result.untested else None,
        side_by_side(
            curves_figure("by-clue", [focus], result, style, ABOUT_CURVES, (HEIGHT, WIDTH)),
            section(None, worst_table(result, style, focus), f"{ABOUT_GAPS}{ABOUT_SHOWN}"),
        ),
        panels_note(len(others), len(shown)),
        curves_figure("by-clue-others", shown, result, style, "The other runs, the worst first", (PANEL_HEIGHT, fig.WIDTH))
        if shown
        else None,
        note(_about_people(result)),
        deferring_section(DEFERRING.ask(request), focus.run, style) if request.facets.has_teams else None,
    ]


PART_WORDS: dict[By, str] = {"clue": "Clues", "revealed": "Share revealed"}
AXES: dict[By, str] = {"clue": "clue", "revealed": "share of the question revealed"}
ABOUT_CURVES = (
    "Mean confidence, accuracy of the same answers, and people by then, with 95 % intervals. Shaded: surer than right while "
    "people do not know yet"
)
HEIGHT, PANEL_HEIGHT = 300, 180  # pixels of a panel
WIDTH = 460  # pixels of the panel of the run in focus, which is wider if there is room


def part_name(part: str, by: By) -> str:
    """Return the name of a part in a sentence, such as "clue 3" or "20 % to 40 % of the question".

    >>> part_name("3", "clue"), part_name("0.2..0.4", "revealed")
    ('clue 3', '20 % to 40 % of the question')
    """
    if by == "clue":
        return f"clue {part}"
    low, high = map(float, part.split(".."))
    return f"{percent(low, 0)} to {percent(high, 0)} of the question"


def finding_words(run: RunByClue, result: ByClue, name: str) -> tuple[str, str]:
    """Say whether a run is surer than right while people do not know yet: the title of the page, and what it rests on."""
    heard = any(point.people is not None for point in run.points)
    before = " before people know" if heard else ""
    shown = sum(other.worst is not None and other.worst.shown for other in result.runs)
    verb = "is" if shown == 1 or len(result.runs) == 1 else "are"
    of_all = f" {shown} of {counted(len(result.runs), 'run')} {verb} shown to be surer than right{before}."
    worst, first = run.worst, run.first
    if worst is None or first is None:
        return f"{name} is nowhere surer than right{before}", f"{counted(run.items, 'answer')}.{of_all}"
    at = next(point for point in run.points if point.number == worst.number)
    people = "" if at.people is None else f", and people know {percent(at.people, 0)} by then"
    stated, right = percent(at.mean_confidence, 0), percent(at.accuracy_scored, 0)
    words = (
        f"at {part_name(worst.part, result.by)} it states {stated} and is right {right} of "
        f"{counted(worst.items, 'time')}{people}. The gap is {points_of(worst)}."
    )
    if not worst.shown:
        return f"{name} is not shown to be surer than right{before}", f"the largest gap: {words}{of_all}"
    begins = "" if first.number == worst.number else f" It begins at {part_name(first.part, result.by)}."
    return f"{name} is surer than right{before}", f"{words}{begins}{of_all}"


def points_of(place: Overconfident) -> str:
    """Return an overconfidence in points, with its interval."""
    interval = brackets(place.low, place.high, _points)
    return f"{_points(place.overconfidence)} points {interval}".rstrip()


def _points(share: float | None) -> str:
    return short(None if share is None else 100 * share, 0)


def _about_people(result: ByClue) -> str:
    """Say what the line of people is."""
    if not any(point.people is not None for run in result.runs for point in run.points):
        return "No human team heard these questions, so there is no line of people."
    return (
        f"People: {CURVE_NAMES[result.human]}, a mean over the clues of the same answers that people heard. They do not know yet "
        f"where it is below {percent(result.known, 0)}."
    )


def curves_figure(
    name: str, runs: Sequence[RunByClue], result: ByClue, style: RunStyle, title: str, size: tuple[int, int]
) -> html.Figure:  # fmt: skip
    """Return a panel per run, of height and width in pixels, and its table, a row per run and part."""
    numbers = {point.number: point.part for run in result.runs for point in run.points}
    last = max(numbers)
    every = max(1, -(-len(numbers) // MAX_TICKS))
    ticks = {number: part for number, part in sorted(numbers.items()) if (number - 1) % every == 0}
    labels = [part if result.by == "clue" else percent(float(part.split("..")[1]), 0) for part in ticks.values()]
    shapes = [shape for place, run in enumerate(runs) for shape in _shaded(run, fig.panel_axes(place))]
    spec = fig.panels(
        [_traces(run, result.by, style) for run in runs],
        [style.names[run.run] for run in runs],
        x={"title": AXES[result.by], "range": [0.6, last + 0.4], "tickvals": [*ticks], "ticktext": labels, "showgrid": False},
        y={"title": "share", **fig.QUARTERS, "range": [-0.03, 1.03]},
        height=size[0],
        width=size[1],
        shapes=shapes,
    )
    table, legend = points_table(runs, result.by, style), _legend(runs, style, result)
    return fig.figure(name, spec, title, table, legend, hint="Click a mark to list its answers")


MAX_TICKS = 12
APART = 0.07  # between the marks of confidence and of accuracy at a clue, so that their intervals do not cover each other


def _traces(run: RunByClue, by: By, style: RunStyle) -> list[PlotlyJson]:
    behind = [_behind(run, point, by) for point in run.points]
    looks: tuple[tuple[str, str, PlotlyJson, PlotlyJson], ...] = (
        ("people", "people by then", {"color": fig.MUTED, "width": 1.2, "dash": "dot"}, {"symbol": "diamond", "size": 6}),
        ("accuracy_scored", "accuracy", {"color": fig.INK, "width": 1.8}, {"symbol": "square", "size": 6}),
        ("mean_confidence", "mean confidence", {"color": style.colours.own[run.run], "width": 2.4}, {"size": 8}),
    )
    moved = {"people": 0.0, "accuracy_scored": APART, "mean_confidence": -APART}
    drawn = []
    for key, words, line, marker in looks:
        values = [getattr(point, key) for point in run.points]
        if all(value is None for value in values):
            continue
        lows, highs = ([getattr(point, f"{key}_{end}") for point in run.points] for end in ("low", "high"))
        drawn.append(fig.lines(
            [point.number + moved[key] for point in run.points], values,
            f"{words} %{{y:.3f}} %{{customdata[1]}}<br>%{{customdata[0]}}", "lines+markers",
            name=words.capitalize(), line=line, marker=marker | {"color": line["color"]}, cliponaxis=False,
            error_y=fig.whiskers(values, lows, highs, line["color"], thickness=1.1),
            meta={"run": run.run, "items": behind},
            customdata=[
                [f"{part_name(point.part, by)}, {counted(point.items, 'answer')}", brackets(low, high)]
                for point, low, high in zip(run.points, lows, highs, strict=True)
            ],
        ))  # fmt: skip
    return drawn


def _shaded(run: RunByClue, axes: dict[str, str]) -> list[PlotlyJson]:
    """Return a bar from accuracy to confidence at each part where a run is surer than right while people do not know yet."""
    return [
        {
            "type": "rect", "xref": axes["xaxis"], "yref": axes["yaxis"], "layer": "below", "fillcolor": "var(--warn-soft)",
            "line": {"color": "var(--warn)", "width": 0.6}, "x0": point.number - 0.3, "x1": point.number + 0.3,
            "y0": point.accuracy_scored, "y1": point.mean_confidence,
        }
        for point in run.points
        if point.overconfidence is not None and point.overconfidence > 0 and not people_know(point)
    ]  # fmt: skip


def _behind(run: RunByClue, point: CluePoint, by: By) -> str:
    """Return what the drawer lists for a part of a run."""
    return items_query(focus=run.run, **{"clue" if by == "clue" else "fifth": point.number})


def _legend(runs: Sequence[RunByClue], style: RunStyle, result: ByClue) -> html.Div:
    """Return what the lines of a panel are."""
    colour = style.colours.own[runs[0].run] if len(runs) == 1 else None
    entries = [named(colour, "Mean confidence" if colour else "Mean confidence, in the run's colour"), named(fig.INK, "Accuracy")]
    if any(point.people is not None for run in runs for point in run.points):
        entries.append(named(fig.MUTED, f"People (h: {CURVE_LABELS[result.human]}), dotted"))
    return html.Div([html.Ul([html.Li(entry) for entry in entries])], className="legend")


def points_table(runs: Sequence[RunByClue], by: By, style: RunStyle) -> html.Div:
    """Return a row per run and part."""

    def ends(key: str) -> Any:
        return lambda row: brackets(getattr(row[1], f"{key}_low"), getattr(row[1], f"{key}_high")) or None

    def numbers(key: str, heading_: str) -> list[PageColumn]:
        return [
            PageColumn(heading_, lambda row: getattr(row[1], key), why=lambda row: row[1].missing.get(key), number=True),
            PageColumn(f"{heading_}, 95 % interval", ends(key), why=lambda row: row[1].no_interval.get(key), number=True),
        ]

    columns = [
        style.column(lambda row: row[0]),
        PageColumn(PART_NAMES[by], lambda row: part_name(row[1].part, by)),
        PageColumn("Answers", lambda row: items_link(f"{row[1].items:,}", _behind(row[0], row[1], by)), number=True),
        *numbers("mean_confidence", "Confidence"),
        *numbers("accuracy_scored", "Accuracy"),
        *numbers("overconfidence", "Gap"),
        *numbers("people", "People"),
    ]
    return html_table(columns, [(run, point) for run in runs for point in run.points], "Confidence, accuracy and people")


def worst_table(result: ByClue, style: RunStyle, focus: RunByClue) -> html.Div:
    """Return where each run is surer than right while people do not know yet, the worst first; a click sets the focus."""

    def name(run: RunByClue) -> list[Component]:
        pressed = aria(pressed=str(run is focus).lower())
        return [
            html.Button(style.dot(run.run), className="focus", title="Put in focus", **data(set=f"focus={run.run}"), **pressed)
        ]

    def at_worst(run: RunByClue) -> CluePoint | None:
        return next((point for point in run.points if run.worst and point.number == run.worst.number), None)

    def of_worst(key: str) -> Callable[[RunByClue], float | None]:
        return lambda run: getattr(at_worst(run), key, None)

    def gap(run: RunByClue) -> Component | str | None:
        if run.worst is None:
            return None
        points = points_of(run.worst).replace(" points", "")
        return html.B(points, title="Shown to be above 0") if run.worst.shown else points

    def people(run: RunByClue) -> object:
        at = at_worst(run)
        return at and with_second(at.people, at.second.get("people"), _whole_percent)

    def answers(run: RunByClue) -> Component | None:
        at = at_worst(run)
        return None if at is None else items_link(f"{at.items:,}", _behind(run, at, result.by))

    columns = [
        PageColumn("Run", name),
        PageColumn("First at", lambda run: run.first and _short_part(run.first.part, result.by)),
        PageColumn("Most at", lambda run: run.worst and _short_part(run.worst.part, result.by)),
        PageColumn("States", of_worst("mean_confidence"), _whole_percent, number=True),
        PageColumn("Is right", of_worst("accuracy_scored"), _whole_percent, number=True),
        PageColumn("Gap in points", gap, number=True),
        PageColumn("People", people, _whole_percent, number=True),
        PageColumn("Answers", answers, number=True),
    ]
    return html_table(columns, result.runs, "Where each run is surer than right before people know")


def _whole_percent(share: float) -> str:
    return percent(share, 0)


def _short_part(part: str, by: By) -> str:
    return part_name(part, by).removesuffix(" of the question").replace(" % to ", "–")


ABOUT_GAPS = "First at: where confidence first exceeds accuracy while people do not know yet. Most at: where it does so most. "
ABOUT_SHOWN = "A gap in bold is shown: its 95 % interval, which holds for all parts of all runs together, leaves out 0."


SHOWN_AT = (0.5, 0.8)  # thresholds of the table
ABOUT_DEFERRING = "People, who take the run's answer where its confidence is above this"


def deferring_section(result: Deferring, focus: str, style: RunStyle) -> html.Section | None:
    """Return what people would gain from the confidence of the run in focus as a figure, and of each run as a table."""
    runs = {run.run: run for run in result.runs}
    if focus not in runs:
        return None

    def share(part: Share) -> Cell:
        points = f"{_points(part.value)} {brackets(part.low, part.high, _points)}".rstrip()
        return Cell([points, second_note(part.second.get("value"), _points)], part.no_interval)

    def at(threshold: float) -> Callable[[DeferringToRun], Cell]:
        return lambda run: share(run.deferring[round(threshold * STEPS)])

    listed = [
        style.column(),
        PageColumn("People, %", lambda run: share(run.people), number=True),
        PageColumn("Run, %", lambda run: share(run.run_alone), number=True),
        *(PageColumn(f"Above {threshold:g}, %", at(threshold), number=True, about=ABOUT_DEFERRING) for threshold in SHOWN_AT),
        PageColumn("Better, %", lambda run: share(run.oracle), number=True, about="The better of both at each clue"),
    ]
    steps = [
        PageColumn("Above", lambda row: row[0]),
        PageColumn("Right", lambda row: row[1].value),
        interval(lambda row: row[1].low, lambda row: row[1].high, lambda row: row[1].no_interval),
    ]
    return section(
        "What people would gain from its confidence",
        f"People answer themselves, and take the run's answer where its confidence is above t. People: "
        f"{CURVE_NAMES[result.human]}.",
        side_by_side(
            fig.figure(
                "deferring",
                deferring_figure(runs[focus], style),
                f"{style.names[focus]}: share of right answers over t, with its 95 % interval",
                html_table(steps, list(zip(result.thresholds, runs[focus].deferring, strict=True)), "Share right by threshold"),
            ),
            html_table(listed, result.runs, "What people would gain from the confidence of each run"),
        ),
    )


def deferring_figure(run: DeferringToRun, style: RunStyle) -> PlotlyJson:
    """Draw the share of right answers of people who defer above a threshold, between people alone and the better of both."""
    x, colour = [*THRESHOLDS], style.colours.own[run.run]
    levels: tuple[tuple[str, Share, dict[str, Any]], ...] = (
        ("better of both", run.oracle, {"color": fig.MUTED, "width": 1.2, "dash": "dash"}),
        ("run alone", run.run_alone, {"color": colour, "width": 1.2, "dash": "dot"}),
        ("people alone", run.people, {"color": fig.INK, "width": 1.6}),
    )
    level_lines = [
        fig.lines(
            [x[0], x[-1]], [share.value, share.value], f"{words} %{{y:.3f}} {brackets(share.low, share.high)}", line=line,
            name=words.capitalize(),
        )
        for words, share, line in levels
    ]  # fmt: skip
    values = [share.value for share in run.deferring]
    ends = [brackets(share.low, share.high) for share in run.deferring]
    curve = fig.lines(
        x, values, "deferring above %{x:.2f}: %{y:.3f} %{customdata}", line={"color": colour, "width": 2.4}, customdata=ends,
        name="People, deferring",
    )  # fmt: skip
    around = fig.band(x, [share.low for share in run.deferring], [share.high for share in run.deferring])
    named_ends = [(words.capitalize(), share.value or 0.0, line["color"]) for words, share, line in levels]
    highest = max(end for share in (run.oracle, *run.deferring) for end in (share.value, share.high) if end is not None)
    bottom, top = fig.padded([0.0, highest], zero=True)
    labels = fig.end_labels(named_ends, bottom, top, GAIN_HEIGHT - MARGINS)
    return fig.drawn(
        [*around, *level_lines, curve],
        GAIN_HEIGHT,
        fig.axis("t: people defer above this confidence", range=[0, x[-1]], tickformat=".2~f"),
        fig.axis("share right", range=[bottom, top], tickformat=".2~f"),
        margin=fig.label_margin([words for words, _, _ in named_ends]),
        annotations=labels,
    )


GAIN_HEIGHT, MARGINS = 250, 60  # pixels of the figure, and of the space above and below its axis
