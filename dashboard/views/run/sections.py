"""A run's metrics with ranks, and its worst questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dash import html

from dashboard.ui.html import page_link
from dashboard.ui.notices import disputed_mark
from dashboard.ui.numbers import DASH, short
from dashboard.ui.quizbowl import main_answer, without_markup
from dashboard.ui.table import table
from queries.leaderboard import LeaderboardRow
from queries.metrics import Metric
from queries.questions import QuestionRow

BETTER = {"lower": "lower is better", "higher": "higher is better", "zero": "0 is best", "none": ""}


def metrics_and_ranks_table(row: LeaderboardRow, metrics: Sequence[Metric], ranked: int) -> html.Section:
    """Return a row per metric that the run has: value, interval, rank.

    The row needs intervals; ``ranked`` is the number of ranked runs.
    """
    rows = []
    for metric in metrics:
        cell = row.metrics[metric.key]
        if cell.value is None:
            continue
        rank = DASH if cell.rank is None else f"{round(cell.rank, 1):g} of {ranked}"
        between = (
            ""
            if cell.rank_low is None or cell.rank_high is None
            else f"{round(cell.rank_low, 1):g} to {round(cell.rank_high, 1):g}"
        )
        rows.append(
            html.Tr(
                [
                    html.Th([page_link(metric.name, href=f"/metrics#{metric.key}")], scope="row", title=metric.words),
                    html.Td(short(cell.value), className="number"),
                    html.Td(
                        DASH if cell.low is None else f"{short(cell.low)} to {short(cell.high)}",
                        className="number",
                        title=f"No interval, because {cell.no_interval}" if cell.no_interval else "",
                    ),
                    html.Td(BETTER[metric.direction]),
                    html.Td(_place(cell.rank, ranked), className="place"),
                    html.Td(rank, className="number"),
                    html.Td(between, className="number"),
                ]
            )
        )
    head = ["Metric", "Value", "95 % interval", "", "Place", "Rank", "95 % of replicates"]
    return html.Section(
        [
            html.H2("Metrics and ranks"),
            html.P(
                "Place: the dot is on the left for the best run, on the right for the last."
                if row.ranked
                else "Not ranked: the run answered too few of the questions.",
                className="note",
            ),
            table(head, rows, "Metrics of the run"),
        ],
        className="section",
    )


def _place(rank: float | None, ranked: int) -> html.Span | None:
    """A mark for where a rank lies between the first and the last."""
    if rank is None or ranked < 2:
        return None
    return html.Span(className="standing", style={"--at": f"{100 * (rank - 1) / (ranked - 1):.0f}%"})


SNIPPET = 110  # characters of a question


def worst_questions(
    questions: Sequence[QuestionRow], metric: Metric, run: str, link: Callable[[str], str], *, quizbowl: bool
) -> html.Section | None:
    """Return a row per question, the worst first; None if there are none.

    The order is that of ``questions``. ``link`` maps a question id to its address.
    """
    plain = without_markup if quizbowl else str
    rows = [
        html.Tr(
            [
                html.Th(page_link(label, href=link(question.question_id), title=question.question_id), scope="row"),
                html.Td(plain(question.text or "")[:SNIPPET], className="guess"),
                html.Td(question.category or ""),
                html.Td(short(question.difficulty, 2), className="number"),
                html.Td(
                    [short(question.runs[run][metric.key]), disputed_mark() if run in question.disputed else None],
                    className="number",
                ),
            ]
        )
        for question in questions
        for label in [main_answer(question.answer, quizbowl=quizbowl) or question.question_id]
        if run in question.runs and question.runs[run][metric.key] is not None
    ]
    if not rows:
        return None
    head = ["Question", "Text", "Category", "Difficulty", metric.label]
    return html.Section(
        [html.H2(f"Worst questions by {metric.name}"), table(head, rows, "Worst questions")], className="section worst"
    )
