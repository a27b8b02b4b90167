"""Gradings side by side, and what a reviewed sample says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.ui.html import aria, data, page_link
from dashboard.ui.numbers import DASH, percent, short
from dashboard.ui.quizbowl import draw_text
from dashboard.ui.table import row, table
from data.plurals import counted
from data.store.gradings import REVIEWED
from queries.gradings import GradeCorrection, GradedGuess, GradedGuesses, GradedRun, RunGrading
from queries.metrics import CATALOGUE
from queries.reviewed_samples import MeanEstimate, ReviewedRun, ReviewedRuns, ReviewSample

SOURCES = {
    "import": "the first grading, which came with the run",
    "column": "a column of its file",
    "added": "added by a later import",
    "rules": "by Clueline's rules",
    "review": "with reviewers' corrections",
}
CHOICES = (("Right", "1", "y"), ("Wrong", "0", "n"), ("Undo", "", "u"))  # label, what is sent, key


def agreement_table(runs: Sequence[GradedRun], link: Callable[[str], str]) -> html.Div:
    """Return a row for each pair of gradings of each run. ``link`` maps a run id to the address of its guesses."""
    rows = []
    for run in runs:
        accuracies = {grading.name: grading.accuracy for grading in run.gradings}
        for place, pair in enumerate(run.agreements):
            name: list[Component | str] = [page_link(f"{run.model} · {run.elicitation}", href=link(run.run), class_name="name")]
            if not place:
                name.append(html.Div(f"differ on {run.differing:,} of {counted(run.answers, 'answer')}", className="by"))
            rows.append(
                html.Tr([
                    html.Th(name, scope="row"),
                    html.Td(pair.a), html.Td(short(accuracies[pair.a]), className="number"),
                    html.Td(pair.b), html.Td(short(accuracies[pair.b]), className="number"),
                    html.Td(percent(pair.agreement), className="number"),
                    html.Td(short(pair.kappa), className="number"),
                ])
            )  # fmt: skip
    head = ["Run", "Grading", "Accuracy", "Other grading", "Accuracy", "Agree", "Cohen's κ"]
    return html.Div(table(head, rows, "Agreement of gradings"), className="runs")


def gradings_list(gradings: Sequence[RunGrading]) -> html.Ul:
    """Say where each grading of a run comes from."""
    return html.Ul([html.Li(_origin(grading)) for grading in gradings], className="note")


def _origin(grading: RunGrading) -> list[Component | str]:
    words = SOURCES.get(grading.source, grading.source)
    if grading.source == "review":
        corrections = counted(grading.corrections, "correction")
        words += f": {corrections}, the last one by {grading.by} on {grading.at[:10]} {grading.at[11:16]} UTC"
    if grading.source == "added":
        words += f", by {grading.by or 'the command line'} on {grading.at[:10]} {grading.at[11:16]} UTC"
    return [html.Strong(grading.name), f", {words}; accuracy {short(grading.accuracy)}"]


def guesses_table(result: GradedGuesses, link: Callable[[str], str], *, quizbowl: bool, writable: bool) -> html.Div:
    """Return a row for each guess. The script ``assets/gradings.js`` moves through the rows and sends corrections.

    There must be at least one guess. ``link`` maps a question id to its address.
    """
    names = [name for name in result.gradings if name != REVIEWED] + [REVIEWED]
    head = ["Guess", "Answer line", *names, "What the rules say", *(["Correct it"] if writable else [])]
    drawn = [_cells(guess, names, link, quizbowl) for guess in result.guesses]
    if writable:  # Tab leads to the first row, arrows to the others
        drawn = [[*cells, _buttons()] for cells in drawn]
    rows = [
        html.Tr(cells, **(_row(result.run, guess, "-1" if place else "0") if writable else {}))
        for place, (guess, cells) in enumerate(zip(result.guesses, drawn, strict=True))
    ]
    return html.Div(table(head, rows, "Guesses and their grades", "graded-guesses"), className="runs")


def _cells(guess: GradedGuess, names: Sequence[str], link: Callable[[str], str], quizbowl: bool) -> list[Component]:
    answer = guess.answer or DASH
    question = page_link(guess.question_id, href=link(guess.question_id))
    return [
        html.Th(
            [
                html.Span(guess.guess or "no guess", className="guess" if guess.guess else "missing"),
                html.Div([question, f", {_clues(guess.clues)}"], className="by"),
            ],
            scope="row",
        ),
        html.Td(draw_text(answer) if quizbowl else answer, className="answer"),
        *(_grade(guess.grades.get(name), name) for name in names),
        html.Td([guess.rule or DASH, html.Ul([html.Li(_history(entry)) for entry in guess.corrections], className="history")]),
    ]


def _buttons() -> html.Td:
    buttons = [
        html.Button(label, type="button", className="quiet", tabIndex="-1", **data(grade=value), **aria(keyshortcuts=key))
        for label, value, key in CHOICES
    ]
    return html.Td(html.Span(buttons, className="choose"))


def _row(run: str, guess: GradedGuess, tab: str) -> dict[str, Any]:
    """The attributes of a row that the script reads."""
    given = json.dumps({"question_id": guess.question_id, "guess": guess.guess})
    name = f"{guess.guess or 'no guess'} for question {guess.question_id}"
    return {"tabIndex": tab, **data(run=run, graded=given), **aria(label=name)}


def _grade(value: float | None, name: str) -> html.Td:
    """A grade as a mark; a probability as a number."""
    role = data(cell=REVIEWED) if name == REVIEWED else {}
    if value is None:
        return html.Td(DASH, className="number mark", **role)
    if value not in (0.0, 1.0):
        return html.Td(short(value), className="number mark", **role)
    text, colour = ("✓ right", "right") if value else ("✗ wrong", "wrong")
    return html.Td(text, className=f"number mark {colour}", **role)


def _history(entry: GradeCorrection) -> str:
    verdict = {0.0: "wrong", 1.0: "right", None: "undone"}.get(entry.correct, f"{entry.correct} right")
    where = "" if entry.clue is None else f" at {_clues([entry.clue])}"
    note = f": {entry.note}" if entry.note else ""
    return f"{verdict}{where} by {entry.by}, {entry.at[:10]} {entry.at[11:16]} UTC{note}"


def _clues(clues: Sequence[int]) -> str:
    """Clue numbers as pages show them, counted from 1.

    >>> _clues([0]), _clues([0, 1, 2, 4])
    ('clue 1', 'clues 1 to 3, 5')
    """
    spans: list[list[int]] = [[clues[0], clues[0]]] if clues else []
    for before, clue in pairwise(clues):
        if clue == before + 1:
            spans[-1][1] = clue
        else:
            spans.append([clue, clue])
    texts = [f"{low + 1}" if low == high else f"{low + 1} to {high + 1}" for low, high in spans]
    return f"{'clue' if len(clues) == 1 else 'clues'} {', '.join(texts)}"


MAX_NAMED = 3  # runs that the notice above a page names
NOTE = (
    "Estimated from all answers, graded by the judge, and the drawn ones, graded by a person (prediction-powered inference). "
    "Corrections of other answers count only for themselves."
)


def judge_notice(result: ReviewedRuns, link: str) -> html.Aside | None:
    """Say which runs are graded by a judge that errs, and by how much; None if no sample is reviewed.

    ``link`` is the address of the page of gradings.
    """
    runs = [run for run in result.runs if run.means]
    if not runs:
        return None
    parts = [
        f"{run.model} · {run.elicitation} is graded by a judge that {_error(run)}: {_estimate('accuracy', run.means['accuracy'])}"
        for run in runs
    ]
    more = f"; and {len(parts) - MAX_NAMED} more runs" if len(parts) > MAX_NAMED else ""
    text = f"{'; '.join(parts[:MAX_NAMED])}{more}. Other values on this page are by the grading in force. "
    return html.Aside(
        html.Div([html.Strong("Judges err. "), text, page_link("All estimates", href=link)]),
        className="banner",
        role="note",
    )


def review_section(sample: ReviewSample, run: ReviewedRun | None, waiting: str) -> list[Component]:
    """Return what is known from a random sample of a run's answers: how far its review is, and the estimates.

    ``run`` is None without a sample. ``waiting`` is the address of the list of answers that wait for review.
    """
    if run is None or sample.questions is None or sample.at is None:
        return []
    drawn = (
        f"{counted(sample.size, 'answer')} of {counted(sample.questions, 'question')} drawn at random for review by {sample.by}, "
        f"{sample.at[:10]} {sample.at[11:16]} UTC, with seed {sample.seed}; {sample.reviewed:,} reviewed. "
    )
    left = sample.size - sample.reviewed
    links: Sequence[Component] = [page_link(f"Review {left:,} more", href=waiting)] if left else []
    parts: list[Component] = [html.P([drawn, *links], className="note")]
    if run.missing:
        return [*parts, html.P(f"No estimates yet: {run.missing}.", className="note")]
    rows = [
        row(CATALOGUE[key].name, short(mean.judged), short(mean.value), f"{short(mean.low)} to {short(mean.high)}")
        for key, mean in run.means.items()
    ]
    head = ["Metric", "By the judge alone", "Estimate", "95 % interval"]
    return [
        *parts,
        html.P([html.Strong(f"Graded by a judge that {_error(run)}. "), NOTE], className="note"),
        table(head, rows, "Means estimated from a reviewed sample"),
    ]


def draw_button(run: str) -> html.Div:
    """Return the place where ``assets/gradings.js`` puts the controls that draw answers for review."""
    return html.Div(className="review-draw grade-note", **data(run=run))


def _error(run: ReviewedRun) -> str:
    assert run.judge_error is not None
    return f"errs about {short(100 * run.judge_error, 0)} %" if run.judge_error else "erred on no reviewed answer"


def _estimate(key: str, mean: MeanEstimate) -> str:
    value, low, high, judged = (short(number) for number in (mean.value, mean.low, mean.high, mean.judged))
    return f"{CATALOGUE[key].name.lower()} {value} ({low} to {high}) instead of {judged}"
