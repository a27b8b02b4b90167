"""Questions that no run answered correctly."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dash import html

from dashboard.components.disputed_answers import disputed_mark
from dashboard.components.links import page_link
from dashboard.components.numbers import DASH, percent, short
from dashboard.components.quizbowl_markup import main_answer
from dashboard.components.run_names_and_colours import RunColours, named
from dashboard.components.table import row, table
from data.plurals import counted
from queries.unsolved_questions import MIN_RUNS, Unsolved

MAX_ROWS = 20


def unsolved_section(
    result: Unsolved, names: Mapping[str, str], colours: RunColours, link: Callable[[str], str], whole: str, *, quizbowl: bool
) -> html.Section:
    """Return their number by category, and a list.

    Args:
        result: unsolved questions of the selection.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        link: function from a question id to its address.
        whole: address of the CSV file with all of them.
        quizbowl: whether answer lines can contain quizbowl markup.
    """
    heading = html.H2("Questions that no run answered correctly")
    if not result.answered:
        note = f"No question was answered by {MIN_RUNS} runs or more."
        return html.Section([heading, html.P(note, className="note")], className="section")
    failed = len(result.questions)
    note = f"{failed:,} of {counted(result.answered, 'question')} answered by at least {MIN_RUNS} runs. "
    if not failed:
        return html.Section([heading, html.P(note, className="note")], className="section")
    if result.categories.keys() - {""}:
        parts = [
            f"{name or 'not stated'} {failures} of {total}" for name, (total, failures) in result.categories.items() if failures
        ]
        note += f"By category: {', '.join(parts)}. "
    if any(question.people is not None for question in result.questions):
        note += "Sorted by how many people were right, then by the highest confidence of a run."
    else:
        note += "Sorted by the highest confidence of a run."
    rows = [
        row(
            [
                page_link(
                    main_answer(question.answer, quizbowl=quizbowl) or question.question_id,
                    href=link(question.question_id),
                    title=question.question_id,
                )
            ],
            html.Span(question.category or DASH),
            percent(question.people),
            f"{question.heard:,}",
            html.Span([f"{question.runs:,}", disputed_mark() if question.disputed else None]),
            short(question.mean_confidence),
            short(question.highest_confidence),
            html.Span(named(colours.get(surest), names.get(surest, surest)) if (surest := question.surest) else "–"),
        )
        for question in result.questions[:MAX_ROWS]
    ]
    head = ["Question", "Category", "People right", "Heard", "Runs", "Mean confidence", "Highest", "Surest run"]
    more = failed - len(rows)
    return html.Section(
        [
            heading,
            html.P(note, className="note"),
            table(head, rows, "Questions that no run answered correctly"),
            html.P([f"{more:,} more are in the file: " if more else "As a file: ", html.A("CSV", href=whole)], className="note"),
        ],
        className="section",
    )
