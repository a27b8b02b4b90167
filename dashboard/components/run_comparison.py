"""Two runs side by side: their metrics, their questions, and which run wins in which category."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.figure import figure
from dashboard.components.links import page_link
from dashboard.components.numbers import DASH, p_value_text, short
from dashboard.components.run_names_and_colours import name_text, named
from dashboard.components.table import dash, row, table
from dashboard.figures.compare import differences_figure, forest_figure, scatter_figure
from dashboard.figures.style import OTHERS
from data.plurals import counted
from queries.compare import Comparison, Difference, SingleComparison
from queries.engine.bootstrap import SIGNIFICANCE
from queries.metrics import CATALOGUE, Metric
from queries.question_differences import CategoryWins, QuestionDifferences

MAX_QUESTIONS = 200  # rows of the table of questions
Pair = tuple[str, str]  # a value of the first run and one of the second


def questions_section(
    result: QuestionDifferences, metric: Metric, names: Pair, tones: Pair, link: Callable[[str], str]
) -> html.Div | html.P:
    """Return every question as a dot, next to a histogram of the differences; a sentence if there are no questions.

    Args:
        result: differences by question.
        metric: metric by which questions are compared.
        names, tones: display names and colours of the two runs.
        link: function from a question id to its address.
    """
    if not result.questions:
        return html.P(f"No question has {metric.name} for both runs.", className="note")
    return html.Div(
        [
            figure(
                "scatter", scatter_figure(result.dots, metric, link("ID"), names, tones), _scatter_title(metric, result),
                questions_table(result, names, link),
            ),
            figure(
                "differences", differences_figure(result, metric, tones),
                f"Differences of {metric.name} over {counted(result.questions, 'question')}",
            ),
        ],
        className="side-by-side",
    )  # fmt: skip


def furthest_apart(metric: Metric, names: Pair, first_above: str, second_above: str) -> html.P:
    """Return links to the list of questions, sorted by the difference of both runs from either end.

    Args:
        metric: metric of the difference.
        names: display names of the two runs.
        first_above, second_above: addresses of the list that starts with the questions where the first run, or the second, has
            the higher value.
    """
    return html.P(
        [
            page_link("Questions where they differ most", href=first_above),
            f" by {metric.name}: {names[0]} above {names[1]}, or ",
            page_link("the other way round", href=second_above),
        ],
        className="note",
    )


def metric_differences(result: Comparison, shown: Sequence[Metric], names: Pair, tones: Pair) -> html.Figure:
    """Return the difference in each metric, with its interval.

    Args:
        result: comparison by the metrics ``shown``.
        shown: metrics, one per row.
        names, tones: display names and colours of the two runs.
    """
    return figure(
        "forest",
        forest_figure(result, shown, names, tones),
        "Difference in each metric with its 95 % interval, in units of half its width, towards the run that it favours",
    )


def differences_table(result: SingleComparison, shown: Sequence[Metric], names: Pair, tones: Pair) -> html.Div:
    """Return each metric of both runs, their difference, and which run is better.

    Args:
        result: comparison by the metrics ``shown``.
        shown: metrics, one per row.
        names, tones: display names and colours of the two runs.
    """

    def better(metric: Metric, difference: Difference) -> Component:
        if metric.direction == "zero":
            return html.Span(DASH, title="0 is best: a difference does not say which run is nearer to 0")
        if difference.better is None or difference.p_holm is None:
            return html.Span(DASH)
        if difference.p_holm >= SIGNIFICANCE:
            return html.Span("not clear", title="Another set of questions could reverse the difference")
        place = 0 if difference.better == result.a.run else 1
        return html.Span(named(tones[place], names[place]))

    rows = [
        row(
            metric.name,
            short(difference.a),
            short(difference.b),
            short(difference.difference),
            f"{short(difference.low)} to {short(difference.high)}"
            if difference.low is not None
            else dash(difference.no_interval),
            p_value_text(difference.p_holm),
            better(metric, difference),
        )
        for metric in shown
        for difference in [result.metrics[metric.key]]
        if difference.difference is not None
    ]
    left_out = [metric.name for metric in shown if result.metrics[metric.key].difference is None]
    return html.Div(
        [
            table(
                ["Metric", *map(name_text, names), "Difference", "95 % interval", "Adjusted p", "Better"], rows, "Metrics of both"
            ),
            html.P(f"Missing for one or both: {', '.join(left_out)}.", className="note") if left_out else None,
            html.P(
                f"Over the common questions; p-values are two-sided and, except by {CATALOGUE[result.primary].name}, the primary "
                f"metric here, adjusted for all {counted(result.other_metrics, 'other metric')} of this dataset. "
                "Intervals are not adjusted: one can leave out 0 although the difference is not clear.",
                className="note",
            ),
        ],
        className="section",
    )


def questions_table(result: QuestionDifferences, names: Pair, link: Callable[[str], str]) -> html.Div:
    """Return the first dots of the scatter plot as a table.

    Args:
        result: differences by question, with the dots.
        names: display names of the two runs.
        link: function from a question id to its address.
    """
    rows = [
        row(page_link(dot.question_id, link(dot.question_id)), short(dot.a), short(dot.b)) for dot in result.dots[:MAX_QUESTIONS]
    ]
    if len(rows) < result.questions:
        rows.append(row(f"and {result.questions - len(rows):,} more: /api/v1/compare has them all", "", ""))
    return table(["Question", *map(name_text, names)], rows, "Question by question")


def wins_table(wins: Sequence[CategoryWins], metric: Metric, names: Pair, tones: Pair) -> Component | None:
    """Return the number of questions in each category on which either run is better; None if there are no categories.

    Args:
        wins: wins by category.
        metric: metric by which a run wins a question.
        names, tones: display names and colours of the two runs.
    """
    if not wins:
        return None
    parts = [(win.category or "not stated", win.a, win.b, win.ties) for win in wins]
    rows = []
    for part, first, second, ties in [*parts, ("all", *(sum(counts) for counts in list(zip(*parts, strict=True))[1:]))]:
        total = first + second + ties
        bar = html.Div(
            [
                html.Span(className="share", style={"width": f"{100 * number / total:.2f}%", "background": tone})
                for number, tone in ((first, tones[0]), (ties, OTHERS), (second, tones[1]))
            ],
            className="shares",
        )
        rows.append(row(part, f"{first:,}", f"{ties:,}", f"{second:,}", bar))
    better = [html.Span([name_text(name), " better"]) for name in names]
    head: list[str | Component] = ["Category", better[0], "alike", better[1], "Shares"]
    return html.Div([html.H2(f"Who wins where, by {metric.name}"), table(head, rows, "Wins by category")], className="section")


def _scatter_title(metric: Metric, result: QuestionDifferences) -> str:
    best = {"lower": "below it the second run", "higher": "above it the second run"}.get(metric.direction)
    part = f" (one in {-(-result.questions // len(result.dots))})" if len(result.dots) < result.questions else ""
    return f"{metric.name}, question by question{part}; on the diagonal both are equal" + (f", {best} is better" if best else "")
