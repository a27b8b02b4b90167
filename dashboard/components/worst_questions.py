"""The questions on which a run does worst."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dash import html

from dashboard.components.disputed_answers import disputed_mark
from dashboard.components.links import page_link
from dashboard.components.numbers import short
from dashboard.components.quizbowl_markup import main_answer, without_markup
from dashboard.components.table import table
from queries.metrics import Metric
from queries.questions import QuestionRow

SNIPPET = 110  # characters of a question


def worst_questions(
    questions: Sequence[QuestionRow], metric: Metric, run: str, link: Callable[[str], str], *, quizbowl: bool
) -> html.Section | None:
    """Return a row per question, the worst first; None if there are none.

    Args:
        questions: questions in order, with the metric of the run.
        metric: metric by which they are ordered.
        run: id of the run.
        link: function from a question id to its address.
        quizbowl: whether texts can contain quizbowl markup.
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
