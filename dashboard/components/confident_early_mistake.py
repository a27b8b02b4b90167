"""A question on which a run was sure and wrong before people knew, shown on the first page of a fresh store."""

from __future__ import annotations

from urllib.parse import urlencode

from dash import html

from dashboard.components.figure import figure
from dashboard.components.links import page_link, question_path
from dashboard.components.numbers import CURVE_NAMES
from dashboard.components.question_confidence_table import confidence_table
from dashboard.components.quizbowl_markup import draw_text
from dashboard.components.run_names_and_colours import RunColours, legend, run_names
from dashboard.figures.question_clues import clues_figure
from queries.confident_early_mistake import EarlyMistake
from queries.question import Question


def early_mistake_story(mistake: EarlyMistake, question: Question, colours: RunColours) -> html.Section:
    """Return the story in words, the figure of the question with the cursor at the mistake, and what to do next.

    Args:
        mistake: the most confident early mistake.
        question: its question, with all runs.
        colours: colour of each run, by run id.
    """
    names = run_names(question.runs)
    path = f"{question_path(question.dataset, question.question_id)}?{urlencode({'clue': mistake.clue})}"
    sure, known = f"{mistake.confidence:.0%}".replace("%", " %"), f"{mistake.known:.0%}".replace("%", " %")
    others = "every run is wrong" if mistake.wrong == mistake.runs else f"{mistake.wrong} of {mistake.runs} runs are wrong"
    return html.Section(
        [
            html.H2(f"{sure} sure, and wrong, before anybody knew"),
            html.Blockquote([part for clue in question.clues[: mistake.clue + 1] for part in (*draw_text(clue.text or ""), " ")]),
            html.P(
                [
                    f"After clue {mistake.clue + 1} of {mistake.clues}, {names[mistake.run]} answers ",
                    html.Q(mistake.guess),
                    f" with {sure} confidence. {others[0].upper()}{others[1:]} here, and no human team has been right yet. ",
                    f"By the end, {known} of the teams are right.",
                ]
            ),
            figure(
                "early-mistake",
                clues_figure(question, names, colours, mistake.clue),
                "Confidence clue by clue: ● correct, × incorrect; heavy steps: " + CURVE_NAMES[question.drawn_curve],
                confidence_table(question, names),
                legend([run.run for run in question.runs], names, colours, "People" if question.human else ""),
            ),
            html.P(
                [
                    page_link("Walk through this question", href=path, class_name="quiet"),
                    " with the arrow keys, or ",
                    page_link("add your model", href=f"/upload?{urlencode({'dataset': question.dataset})}"),
                    " and see where it is sure and wrong.",
                ],
                className="next",
            ),
        ],
        className="story",
    )
