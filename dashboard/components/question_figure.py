"""The figure on a question's page: confidence clue by clue or, for a question about a lifespan, ages at death."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import CURVE_NAMES
from dashboard.components.question_confidence_table import confidence_table
from dashboard.components.run_names_and_colours import RunColours, legend
from dashboard.figures.lifespan_question import lifespan_figure
from dashboard.figures.question_clues import clues_figure
from data.store.answer_states import WORDS
from queries.question import Question


def question_figure(question: Question, names: Mapping[str, str], colours: RunColours, cursor: int) -> html.Figure | None:
    """Return the figure; None for a single clue without people, where the table of answers says everything.

    Args:
        question: the question with its clues, what people did, and the answers of runs.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        cursor: the clue that is marked, from 0.
    """
    if not (question.runs or question.human) or (len(question.clues) == 1 and not question.human and not question.lifespan):
        return None
    if question.lifespan:
        return figure(
            "lifespan",
            lifespan_figure(question, names, colours),
            "When such a person dies, and the span that each run bets on",
        )
    buzzes = ", ◇ where the run buzzes" if any(run.buzzpoint for run in question.runs) else ""
    buzzes += ", △ where the system itself buzzed" if any(run.own_buzz() is not None for run in question.runs) else ""
    states = {answer.state: None for run in question.runs for answer in run.clues if not answer.answered}
    buzzes += f", □ {' or '.join(WORDS[state] for state in states)}" if states else ""
    curve = f"; heavy steps: {CURVE_NAMES[question.drawn_curve]}" if question.human else ""
    if question.human and question.human_curve != question.drawn_curve:
        curve += f". The CalScore share below has another h: {CURVE_NAMES[question.human_curve]}"
    return figure(
        "clues", clues_figure(question, names, colours, cursor),
        f"Confidence clue by clue: ● correct, × incorrect{buzzes}{curve}", confidence_table(question, names),
        legend([run.run for run in question.runs], names, colours, "People" if question.human else ""),
    )  # fmt: skip
