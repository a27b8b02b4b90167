"""Confidence and correctness of each run, clue by clue: the figure of a question as a table."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.numbers import short
from dashboard.components.table import row, table
from data.store.answer_states import LABELS
from queries.question import ClueResponse, Question


def confidence_table(question: Question, names: Mapping[str, str]) -> html.Div:
    """Return a row per run and one for people, a column per clue.

    Args:
        question: the question with its clues and the answers of runs.
        names: display name of each run, by run id.
    """
    rows = []
    if question.human:
        curve = getattr(question.human, question.drawn_curve)
        rows.append(row("People, h", *map(short, curve)))
    for run in question.runs:
        answers = {answer.clue: answer for answer in run.one_per_clue()}
        buzz = run.buzzpoint.clue if run.buzzpoint else None
        cells = [_cell(answers.get(clue.clue), clue.clue == buzz) for clue in question.clues]
        rows.append(html.Tr([html.Th(names[run.run], scope="row"), *cells]))
    return table(["", *(f"Clue {clue.clue + 1}" for clue in question.clues)], rows, "Confidence by clue")


def _cell(answer: ClueResponse | None, buzzes: bool) -> html.Td:
    """The cell of the answer at a clue; ``buzzes`` says whether the run buzzes there."""
    if answer is None:
        text, title = "–", "not answered"
    else:
        mark = "✓" if answer.correct >= 0.5 else "✗"
        text = f"{short(answer.confidence)} {mark}" if answer.answered else LABELS[answer.state]
        title = answer.guess or "no answer"
    return html.Td(f"{text} ◇" if buzzes else text, className="number", title=title)
