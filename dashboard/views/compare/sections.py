"""Two runs question by question, the difference in each metric, wins by category, and power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any
from urllib.parse import quote

import numpy as np
from dash import html
from dash.development.base_component import Component

from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.controls import difference_menu
from clueline.dashboard.ui.figure import PlotlyJson
from clueline.dashboard.ui.html import controls, items_link, note, page_link, section, side_by_side
from clueline.dashboard.ui.runs import RunName, name_text, named
from clueline.dashboard.ui.table import PageColumn, html_table, interval, with_second
from clueline.dashboard.ui.text import DASH, brackets, distinct_short_names, p_value_text, short
from clueline.data.plurals import counted
from clueline.queries.compare import CategoryWins, Comparison, Difference, QuestionDifferences, QuestionDot, SingleComparison
from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.engine.equivalence import Equivalence
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.power import MAX_QUESTIONS, MetricPower

MAX_LISTED = 200  # rows of the table of questions
Pair = tuple[str, str]  # a value of the first run and one of the second
FEW = 5  # questions in a bar, for which an axis would have ticks between whole numbers
MAX_HEADING = 28  # characters of a run's name, so that tables and figures fit on a small screen
PART = " · "  # between the parts of a name


def headed(a: str, b: str) -> tuple[RunName, RunName]:
    """Return the names of both runs with labels: without the parts that they share, if one is long, and shortened after that.

    >>> [name.label for name in headed("organisation/a-long-name · 2025-10", "organisation/a-long-name · 2025-11")]
    ['2025-10', '2025-11']
    """
    labels = [a, b]
    if max(len(a), len(b)) > MAX_HEADING:
        parts = [label.split(PART) for label in labels]
        own = [PART.join(part for part in mine if part not in other) for mine, other in (parts, parts[::-1])]
        labels = own if all(own) else labels
    first, second = distinct_short_names(labels, MAX_HEADING)
    return RunName(a, first), RunName(b, second)


def questions_section(
    result: QuestionDifferences, metric: Metric, names: Pair, tones: Pair, behind: str
) -> html.Div | html.P | None:
    """Return every question as a dot, next to a histogram of the differences; a sentence if there are no questions.

    ``behind`` is what the drawer lists for a dot, with ``ID`` in place of the id of its question.
    """
    if not result.questions:
        return note(f"No question has {metric.name} for both runs.")
    scatter = scatter_figure(result.dots, metric, behind, names, tones)
    best = {"lower": "below it the second run", "higher": "above it the second run"}.get(metric.direction)
    part = f" (one in {-(-result.questions // len(result.dots))})" if len(result.dots) < result.questions else ""
    above = f"{metric.name}, question by question{part}; on the diagonal both are equal" + (f", {best} is better" if best else "")
    title = f"Differences of {metric.name} over {counted(result.questions, 'question')}"
    return side_by_side(
        fig.figure("scatter", scatter, above, questions_table(result, names, behind)),
        fig.figure("differences", differences_figure(result, metric, tones), title),
    )


def furthest_apart(metric: Metric, names: Pair, first_above: str, second_above: str) -> html.P | None:
    """Return links to the questions by the difference of both runs: ``first_above`` starts where the first run is higher."""
    first, second = page_link("Questions where they differ most", first_above), page_link("the other way round", second_above)
    return note([first, f" by {metric.name}: ", name_text(names[0]), " above ", name_text(names[1]), ", or ", second])


def differences_table(result: SingleComparison, shown: Sequence[Metric], names: Pair, tones: Pair) -> html.Div:
    """Return each metric of both runs, their difference, and which run is better."""

    def better(row: tuple[Metric, Difference]) -> Component:
        metric, difference = row
        if metric.direction == "zero":
            return html.Span(DASH, title="0 is best: a difference does not say which run is nearer to 0")
        if difference.better is None or difference.p_holm is None:
            return html.Span(DASH)
        if difference.p_holm >= SIGNIFICANCE:
            return html.Span("not clear", title="Another set of questions could reverse the difference")
        place = 0 if difference.better == result.a.run else 1
        return html.Span(named(tones[place], names[place]))

    measured = [(metric, result.metrics[metric.key]) for metric in shown]
    columns = [
        PageColumn("Metric", lambda row: row[0].name),
        *(
            PageColumn(title, partial(_in_difference, key), number=True)
            for key, title in (("a", name_text(names[0])), ("b", name_text(names[1])), ("difference", "Difference"))
        ),
        interval(lambda row: row[1].low, lambda row: row[1].high, lambda row: row[1].no_interval),
        PageColumn("p", lambda row: row[1].p_value, p_value_text, number=True),
        PageColumn("Adjusted p", lambda row: row[1].p_holm, p_value_text, number=True),
        PageColumn("Better", better),
    ]
    undefined = [(metric, difference) for metric, difference in measured if difference.difference is None]
    left_out = [metric.name for metric, difference in undefined if difference.a is not None or difference.b is not None]
    return html.Div(
        [
            html_table(columns, [row for row in measured if row[1].difference is not None], "Metrics of both"),
            note(f"Missing for one of them: {', '.join(left_out)}.") if left_out else None,
            note(
                "p-values are two-sided. p is that of the interval beside it: below 0.05 exactly where that leaves out 0. "
                f"Adjusted p is, except by {CATALOGUE[result.primary].name}, adjusted for all "
                f"{counted(result.other_metrics, 'other metric')}, and says which run is better."
            ),
        ],
        className="section",
    )


def _in_difference(key: str, row: tuple[Metric, Difference]) -> object:
    return with_second(getattr(row[1], key), row[1].second.get(key))


def questions_table(result: QuestionDifferences, names: Pair, behind: str) -> html.Div:
    """Return the first dots of the scatter plot as a table; ``behind`` is as in ``questions_section``."""
    rows: list[QuestionDot | None] = [*result.dots[:MAX_LISTED]]
    more = f"and {result.questions - len(rows):,} more: /api/v1/compare has them all"
    if len(rows) < result.questions:
        rows.append(None)

    def question(dot: QuestionDot | None) -> Component | str:
        return items_link(dot.question_id, behind.replace("ID", quote(dot.question_id, safe=""))) if dot else more

    columns = [
        PageColumn("Question", question),
        PageColumn(name_text(names[0]), lambda dot: "" if dot is None else dot.a),
        PageColumn(name_text(names[1]), lambda dot: "" if dot is None else dot.b),
    ]
    return html_table(columns, rows, "Question by question")


def wins_table(wins: Sequence[CategoryWins], metric: Metric, names: Pair, tones: Pair) -> Component | None:
    """Return the number of questions in each category on which either run is better; None if there are no categories."""
    if not wins:
        return None
    parts = [(win.category or "not stated", win.a, win.ties, win.b) for win in wins]
    parts.append(("all", sum(win.a for win in wins), sum(win.ties for win in wins), sum(win.b for win in wins)))

    def bar(part: tuple[str, int, int, int]) -> Component:
        widths = [
            {"width": f"{100 * number / sum(part[1:]):.2f}%", "background": tone}
            for number, tone in zip(part[1:], (tones[0], fig.OTHERS, tones[1]), strict=True)
        ]
        return html.Div([html.Span(className="share", style=width) for width in widths], className="shares")

    heads: list[Any] = ["Category", [name_text(names[0]), " better"], "alike", [name_text(names[1]), " better"]]
    columns = [PageColumn(head, itemgetter(place)) for place, head in enumerate(heads)]
    table = html_table([*columns, PageColumn("Shares", bar)], parts, "Wins by category")
    return html.Div([html.H2(f"Who wins where, by {metric.name}"), table], className="section")


WIDE = 44  # characters of an axis title that fit on one line of a small screen


def scatter_figure(questions: Sequence[QuestionDot], metric: Metric, behind: str, names: Pair, colours: Pair) -> PlotlyJson:
    """Draw a dot per question: the metric of ``a`` across, that of ``b`` up, in the colour of the better run.

    ``behind`` is as in ``questions_section``.
    """
    a, b = np.array([dot.a for dot in questions]), np.array([dot.b for dot in questions])
    better = metric.loss(b) - metric.loss(a)  # above 0: a is better
    shades = np.where(better > 0, colours[0], np.where(better < 0, colours[1], fig.OTHERS))
    both = np.concatenate([a, b])
    ends = [float(both.min(initial=np.inf)), float(both.max(initial=-np.inf))]
    margin = 0.05 * (ends[1] - ends[0]) or 0.05
    span = [ends[0] - margin, ends[1] + margin]
    shown = fig.dots(
        a.tolist(), b.tolist(), "%{text}<br>across %{x:.3f}, up %{y:.3f}", shades.tolist(), 7, {"opacity": 0.7},
        meta={"items": behind}, customdata=[dot.question_id for dot in questions],
        text=[fig.plain(dot.question_id) for dot in questions],
    )  # fmt: skip
    axes = (fig.axis(f"{metric.label} of {fig.plain(name.label)}", range=span) for name in headed(*names))
    return fig.drawn([fig.lines(span, span, line={"color": fig.FAINT, "width": 1}), shown], 420, *axes)


def differences_figure(sides: QuestionDifferences, metric: Metric, colours: Pair) -> PlotlyJson:
    """Draw a histogram of a - b over questions; bars have the colour of the better run, the one around 0 has neither."""
    edges = np.linspace(-sides.widest, sides.widest, len(sides.differences) + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    most = max(sides.differences, default=0)
    falls = {"lower": -1, "higher": 1, "zero": 0, "none": 0}[metric.direction]
    shades = [colours[0] if falls * x > 1e-12 else colours[1] if falls * x < -1e-12 else fig.OTHERS for x in middles]
    hover, width = "difference of %{customdata}: %{y:,} questions", float(edges[1] - edges[0])
    spans = [f"{low:.3f} to {high:.3f}" for low, high in pairwise(edges.tolist())]
    span = {"range": [-sides.widest, sides.widest], "zeroline": True, "zerolinecolor": fig.MUTED}
    return fig.drawn(
        [fig.bars(middles.tolist(), sides.differences, hover, {"color": shades}, width=width, customdata=spans)],
        420,
        fig.axis(f"difference of {metric.label}, first − second", **span),
        fig.axis("questions", range=fig.padded(sides.differences, zero=True), **({"dtick": 1} if most <= FEW else {})),
        bargap=0,
    )


def metric_differences(comparison: Comparison, metrics: Sequence[Metric], names: Pair, colours: Pair) -> html.Figure:
    """Return the difference in each metric, divided by the part of its interval towards 0: so all fit on one axis.

    Beyond 1 and -1, the interval leaves out 0. Metrics whose best value is 0 are left out: the sign of a difference does not say
    which run is better.
    """
    ordered = [metric for metric in metrics if metric.direction in ("lower", "higher")]
    shown = [(metric, comparison.metrics[metric.key]) for metric in ordered if comparison.metrics[metric.key].low is not None]
    turns = [-1.0 if metric.direction == "higher" else 1.0 for metric, _ in shown]  # below 0, the first run is better
    values = [turn * _in_reaches(difference) for turn, (_, difference) in zip(turns, shown, strict=True)]
    labels = [fig.plain(metric.label) for metric, _ in shown]
    most = 1.08 * max([1.5, *map(abs, values)])
    favours = [f"{fig.plain(name.label)} better" for name in headed(*names)]
    gap = "    " if sum(map(len, favours)) <= WIDE else "<br>"
    tones = {comparison.a.run: colours[0], comparison.b.run: colours[1]}
    shades = [tones.get(difference.better or "", fig.OTHERS) for _, difference in shown]
    words = [
        f"{one.difference:.4f} [{one.low:.4f}, {one.high:.4f}]"
        + ("" if one.p_holm is None else f", adjusted p = {one.p_holm:.3g}")
        for _, one in shown
    ]
    from_zero = fig.whiskers(values, [min(value, 0.0) for value in values], [max(value, 0.0) for value in values], thickness=2)
    unclear = {"type": "rect", "xref": "x", "yref": "paper", "x0": -1, "x1": 1, "y0": 0, "y1": 1, "layer": "below"}
    spec = fig.drawn(
        [fig.dots(values, labels, "%{y}: %{customdata}", shades, 9, cliponaxis=False, error_x=from_zero, customdata=words)],
        22 * len(values) + 80,
        fig.axis(
            f"← {favours[0]}{gap}{favours[1]} →", range=[-most, most], zeroline=True, zerolinecolor=fig.MUTED,
            tickvals=[0, *(sign * 2**power for power in range(1 + int(math.log2(most))) for sign in (-1, 1))],
        ),
        fig.axis(range=fig.downwards(len(values)), type="category", showgrid=False, tickfont={"size": 12, "color": fig.INK}),
        shapes=[unclear | {"fillcolor": "var(--band)", "line": {"width": 0}}],
    )  # fmt: skip
    title = (
        "How clear the difference in each metric is: the difference divided by the reach of its 95 % interval towards 0. "
        "In the grey band, the interval includes 0; at 2, the difference is twice as large as it had to be"
    )
    return fig.figure("forest", spec, title)


def _in_reaches(difference: Difference) -> float:
    """Return a difference divided by the distance to the end of its interval on the side of 0."""
    value = difference.difference or 0.0
    end = difference.low if value > 0 else difference.high
    reach = abs(value - (end or 0.0))
    return value / reach if reach else value


def power_section(result: MetricPower, metric: Metric, equivalence: Equivalence | None) -> html.Section | None:
    """Return the detectable difference in words and as a curve, and whether the runs are equal within a margin.

    If the metric has no standard error, only the reason is left why nothing can be said of the margin; None without a margin.
    ``equivalence`` is None where no margin is stated.
    """
    if result.error is None:
        return html.Section(note(equality_sentence(result, equivalence))) if equivalence else None
    columns = [PageColumn("Questions", itemgetter(0)), PageColumn("Difference", itemgetter(1), difference_text)]
    return section(
        f"How many questions does it take, by {metric.name}?",
        html.P(power_sentence(result)),
        controls(
            difference_menu("d", "Difference that matters to you", result.target),
            difference_menu("margin", "Equal if they differ by less than", result.margin),
        ),
        html.P(equality_sentence(result, equivalence)) if equivalence else None,
        fig.figure(
            "power",
            power_figure(result),
            "Smallest difference detected with 80 % power, by the number of questions. Dot: these questions"
            + ("" if result.target is None else "; dotted: the difference that matters to you"),
            html_table(columns, result.curve, "Detectable difference by number of questions"),
        ),
        "Two-sided t-test at 5 %. State the difference before you look at the measured one: its power only repeats its p-value.",
    )


def power_sentence(result: MetricPower) -> str:
    """Say which difference the questions could have shown, and how many questions the difference needs that the reader states."""
    questions = counted(result.questions, "question")
    if result.units != result.questions:
        questions += f" in {counted(result.units, 'cluster')}"
    if result.detectable is None:
        first = f"With {questions}, no difference can be detected, however large."
    else:
        first = (
            f"With {questions}, a difference of {difference_text(result.detectable)} would have been detected with 80 % power."
        )
    if result.target is None:
        return first
    return f"{first} Detecting {difference_text(result.target)} takes {_needed(result.needed)}."


def equality_sentence(result: MetricPower, equivalence: Equivalence) -> str:
    """Say whether the runs are equal within the margin, and how many questions it takes to show that, or the contrary."""
    margin = difference_text(result.margin or 0.0)
    if equivalence.verdict is None:
        verdict = f"Whether they are equal within {margin} is undefined, because {equivalence.undefined}."
    else:
        interval = brackets(equivalence.low, equivalence.high, difference_text)
        verdict = f"With a margin of {margin}: {equivalence.verdict} (90 % interval of the difference {interval})."
    if result.error is None:
        return verdict
    if not result.margin:
        return f"{verdict} No number of questions shows that two runs do not differ at all."
    return (
        f"{verdict} Showing that equal runs differ by less takes {_needed(result.needed_equal)}, and showing a difference of "
        f"{margin} takes {_needed(result.needed_different)}."
    )


def _needed(questions: int | None) -> str:
    return f"more than {MAX_QUESTIONS:,} questions" if questions is None else counted(questions, "question")


def difference_text(value: float) -> str:
    """Return a difference with three decimals or, if it is smaller than that shows, with two digits.

    >>> difference_text(0.0312), difference_text(-0.0000178), difference_text(0.0)
    ('0.031', '−0.000018', '0.000')
    """
    return short(value, 3 if value == 0 else min(max(3, 1 - math.floor(math.log10(abs(value)))), 12))


TICKS = (10, 30, 100, 300, 1000, 3000, 10000)


def power_figure(result: MetricPower) -> PlotlyJson:
    """Draw a falling curve over a logarithmic axis, a dot at the present number of questions, a line at the stated difference."""
    questions, differences = [size for size, _ in result.curve], [difference for _, difference in result.curve]
    present = [result.questions] if result.detectable is not None else []
    ends = [math.log10(min([*questions, *present])), math.log10(max([*questions, *present]))]
    wanted = [] if result.target is None else [result.target]
    hover, colour = "%{x:,} questions detect %{y:.3f}", "var(--run-1)"
    detected, rim = [result.detectable] if present else [], {"line": {"color": fig.INK, "width": 1}}
    return fig.drawn(
        [
            fig.lines(questions, differences, hover, line={"color": colour, "width": 2}),
            fig.dots(present, detected, f"these {hover}", colour, 10, rim),
        ],
        260,
        fig.axis("Questions", type="log", range=[ends[0] - 0.05, ends[1] + 0.05], tickvals=list(TICKS)),
        fig.axis("Detectable difference", range=fig.padded([*differences, *wanted, result.detectable], zero=True)),
        shapes=[fig.straight(y=target, dash="dot") for target in wanted],
    )
