"""Gradings: how far graders agree on each run, the guesses on which they differ, and correction of grades by keyboard."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component

from dashboard.http.paths import run_path
from dashboard.registry.keys import GUESSES, known_run
from dashboard.registry.pages import PageParameters, PageRequest, page
from dashboard.registry.run_names import names_of
from dashboard.registry.views import Cited
from dashboard.service import service
from dashboard.ui.controls import filter_keys, menu
from dashboard.ui.html import aria, data, page_link
from dashboard.ui.notices import judge_error
from dashboard.ui.quizbowl import draw_text
from dashboard.ui.runs import run_names
from dashboard.ui.section import heading, note, panel, section
from dashboard.ui.table import Cell, PageColumn, columns_by, html_table, interval
from dashboard.ui.text import DASH, minute, percent, short
from dashboard.views.gradings.addresses import GRADINGS
from data.plurals import counted
from data.store.gradings import REVIEWED
from queries.gradings import (
    SHOWN,
    GradeCorrection,
    GradedGuess,
    GradedGuesses,
    GradedRun,
    GradingAgreement,
    Gradings,
    RunGrading,
    Show,
    graded_guesses,
    gradings,
)
from queries.metrics import CATALOGUE
from queries.reviewed_samples import ReviewedRun, ReviewSample, review_sample, reviewed_runs
from queries.selection.view_parameters_base import NoParameters

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
    names = run_names(runs)

    def name(row: tuple[GradedRun, GradingAgreement]) -> list[Component | str]:
        run, pair = row
        parts: list[Component | str] = [page_link(names[run.run], href=link(run.run), class_name="name")]
        if pair is run.agreements[0]:
            parts.append(html.Div(f"differ on {run.differing:,} of {counted(run.answers, 'answer')}", className="by"))
        return parts

    def accuracy(row: tuple[GradedRun, GradingAgreement], side: str) -> float | None:
        return {grading.name: grading.accuracy for grading in row[0].gradings}[getattr(row[1], side)]

    columns = [
        PageColumn("Run", name),
        PageColumn("Grading", "a"),
        PageColumn("Accuracy", partial(accuracy, side="a"), number=True),
        PageColumn("Other grading", "b"),
        PageColumn("Accuracy", partial(accuracy, side="b"), number=True),
        PageColumn("Agree", "agreement", percent, number=True),
        PageColumn("Cohen's κ", "kappa", number=True),
    ]
    rows = [(run, pair) for run in runs for pair in run.agreements]
    return html.Div(html_table(columns, rows, "Agreement of gradings", declared=GRADINGS.tables[0]), className="runs")


def _origin(grading: RunGrading) -> list[Component | str]:
    words = SOURCES.get(grading.source, grading.source)
    if grading.source == "review":
        corrections = counted(grading.corrections, "correction")
        words += f": {corrections}, the last one by {grading.by} on {minute(grading.at)}"
    if grading.source == "added":
        words += f", by {grading.by or 'the command line'} on {minute(grading.at)}"
    return [html.Strong(grading.name), f", {words}; accuracy {short(grading.accuracy)}"]


def guesses_table(result: GradedGuesses, link: Callable[[str], str], *, quizbowl: bool, writable: bool) -> html.Div:
    """Return a row for each guess. The script ``assets/gradings.js`` moves through the rows and sends corrections.

    There must be at least one guess. ``link`` maps a question id to its address.
    """
    names = [name for name in result.gradings if name != REVIEWED] + [REVIEWED]
    buttons = [
        html.Button(label, type="button", className="quiet", tabIndex="-1", **data(grade=value), **aria(keyshortcuts=key))
        for label, value, key in CHOICES
    ]

    def answer_line(guess: GradedGuess) -> Cell:
        answer = guess.answer or DASH
        return Cell(draw_text(answer) if quizbowl else answer, kind="answer")

    columns = [
        PageColumn("Guess", partial(_guess, link)),
        PageColumn("Answer line", answer_line),
        *columns_by({name: name for name in names}, _grade),
        PageColumn(
            "What the rules say",
            lambda guess: [
                guess.rule or DASH,
                html.Ul([html.Li(_history(entry)) for entry in guess.corrections], className="history"),
            ],
        ),
        PageColumn("Correct it", lambda guess: html.Span(buttons, className="choose")) if writable else None,
    ]

    def of_row(guess: GradedGuess) -> dict[str, Any]:
        # Tab leads to the first row, arrows to the others.
        return _row(result.run, guess, "0" if guess is result.guesses[0] else "-1") if writable else {}

    return html.Div(
        html_table(columns, result.guesses, "Guesses and their grades", "graded-guesses", of_row=of_row), className="runs"
    )


def _guess(link: Callable[[str], str], guess: GradedGuess) -> list[Component]:
    question = page_link(guess.question_id, href=link(guess.question_id))
    return [
        html.Span(guess.guess or "no guess", className="guess" if guess.guess else "missing"),
        html.Div([question, f", {_clues(guess.clues)}"], className="by"),
    ]


def _row(run: str, guess: GradedGuess, tab: str) -> dict[str, Any]:
    """The attributes of a row that the script reads."""
    given = json.dumps({"question_id": guess.question_id, "guess": guess.guess})
    name = f"{guess.guess or 'no guess'} for question {guess.question_id}"
    return {"tabIndex": tab, **data(run=run, graded=given), **aria(label=name)}


def _grade(name: str, guess: GradedGuess) -> Cell:
    """A grade as a mark; a probability as a number."""
    value, role = guess.grades.get(name), data(cell=REVIEWED) if name == REVIEWED else {}
    if value is None or value not in (0.0, 1.0):
        return Cell(value, kind="number mark", attributes=role)
    text, colour = ("✓ right", "right") if value else ("✗ wrong", "wrong")
    return Cell(text, kind=f"number mark {colour}", attributes=role)


def _history(entry: GradeCorrection) -> str:
    verdict = {0.0: "wrong", 1.0: "right", None: "undone"}.get(entry.correct, f"{entry.correct} right")
    where = "" if entry.clue is None else f" at {_clues([entry.clue])}"
    note = f": {entry.note}" if entry.note else ""
    return f"{verdict}{where} by {entry.by}, {minute(entry.at)}{note}"


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


NOTE = (
    "Estimated from all answers, graded by the judge, and the drawn ones, graded by a person (prediction-powered inference). "
    "Corrections of other answers count only for themselves."
)


def review_section(sample: ReviewSample, run: ReviewedRun | None, waiting: str) -> list[Component | None]:
    """Return what is known from a random sample of a run's answers: how far its review is, and the estimates.

    ``run`` is None without a sample. ``waiting`` is the address of the list of answers that wait for review.
    """
    if run is None or sample.questions is None or sample.at is None:
        return []
    drawn = (
        f"{counted(sample.size, 'answer')} of {counted(sample.questions, 'question')} drawn at random for review by {sample.by}, "
        f"{minute(sample.at)}, with seed {sample.seed}; {sample.reviewed:,} reviewed. "
    )
    left = sample.size - sample.reviewed
    progress = note([drawn, page_link(f"Review {left:,} more", href=waiting)] if left else [drawn])
    if run.missing:
        return [progress, note(f"No estimates yet: {run.missing}.")]
    columns = [
        PageColumn("Metric", lambda row: CATALOGUE[row[0]].name),
        PageColumn("By the judge alone", lambda row: row[1].judged),
        PageColumn("Estimate", lambda row: row[1].value),
        interval(lambda row: row[1].low, lambda row: row[1].high),
    ]
    return [
        progress,
        note([html.Strong(f"Graded by a judge that {judge_error(run)}. "), NOTE]),
        html_table(columns, run.means.items(), "Means estimated from a reviewed sample"),
    ]


MAX_LISTED = 100  # guesses
CITED = ("model", "elicitation", "answers", "a", "b", "agreement", "kappa")
SHOW_NAMES = {
    "differ": "gradings differ", "uncertain": "rules are uncertain", "corrected": "corrected",
    "drawn": "drawn, waiting for review", "all": "all",
}  # fmt: skip
OFF = "This server accepts no corrections (CLUELINE_UPLOADS=off); its operator makes them on the command line."
KEYS = (
    "Keys: y right, n wrong, u undo, arrows to move. A correction covers every clue at which the run gave this guess, and is "
    "stored with your name and the time. Together they are the grading "
)


class GradingsPage(PageParameters, frozen=True):
    """The run whose guesses are listed, and which of them."""

    graded_run: Annotated[
        str, known_run("the run whose guesses are listed; by default, the one whose gradings differ most", blank=True)
    ] = ""
    show: Annotated[Show, GUESSES] = "differ"


@page(
    "/gradings", "Gradings", GradingsPage, place="Data", order=3, table=lambda request: Cited(GRADINGS, NoParameters(), CITED),
    filters=("q", *filter_keys("questions")),
)  # fmt: skip
def draw(request: PageRequest[GradingsPage]) -> Sequence[Component | None]:
    """Draw the agreement of gradings, and the guesses of one run."""
    compared = service().ask(gradings, request.selection)
    run = request.parameters.graded_run or _default_run(request, compared)
    top = heading("Gradings", _lead(request, compared))
    if not run:
        return [top, panel("No runs yet", "A run is graded when it is imported.")]

    def link(name: str) -> str:
        return request.link(request.path, graded_run=name)

    return [top, agreement_table(compared.runs, link) if compared.runs else None, _guesses(request, compared, run)]


def _lead(request: PageRequest[GradingsPage], compared: Gradings) -> str:
    several, single = counted(compared.total, "run"), counted(compared.single, "run")
    if not compared.total:
        return f"{request.facets.title}: {single}, each with one grading. Corrections add a second one."
    return f"{request.facets.title}: {several} with several gradings, {single} with one. Where graders differ, a person decides."


def _default_run(request: PageRequest[GradingsPage], compared: Gradings) -> str:
    if compared.runs:
        return max(compared.runs, key=lambda run: run.differing).run
    return next((run for run, _, _ in request.facets.runs), "")


def _guesses(request: PageRequest[GradingsPage], compared: Gradings, run: str) -> html.Section:
    show = request.parameters.show or "differ"
    result = service().ask(graded_guesses, request.selection, run, show, MAX_LISTED)
    names = names_of(request.facets.all_runs)
    options = {graded.run: names[graded.run] for graded in compared.runs}
    options |= {run: names.get(run, run)}
    facts = next((graded.gradings for graded in compared.runs if graded.run == run), None)
    review = next(iter(service().ask(reviewed_runs, request.selection.on_runs([run])).runs), None)
    waiting, mode = request.link(request.path, graded_run=run, show="drawn"), service().access.page_mode()
    top = [
        html.H2("Guesses and their grades"),
        menu("graded_run", "Run", options, run, default=_default_run(request, compared)),
        menu("show", "Where", SHOW_NAMES, show, default=SHOWN[0]),
    ]
    leaderboard = page_link(f"Leaderboard by the grading “{REVIEWED}”", href=request.link("/", grading=REVIEWED))
    corrected = leaderboard if REVIEWED in result.gradings else "none of its grades has been corrected yet"
    return section(
        html.Div(top, className="heading"),
        html.Ul([html.Li(_origin(grading)) for grading in facts], className="note") if facts else None,
        *review_section(service().ask(review_sample, run), review, waiting),
        # Here assets/gradings.js puts the controls that draw answers for review.
        None if mode == "off" else html.Div(className="review-draw grade-note", **data(run=run)),
        _counted(result, show),
        note([page_link("The run", href=request.link(run_path(run), dataset=None)), " · ", corrected]),
        OFF if mode == "off" else html.Div(className="api-token", **data(mode=mode)),
        None if mode == "off" else note([KEYS, html.Code(REVIEWED), "."]),
        None if mode == "off" else html.Div(className="grade-note"),
        html.P(className="status-message", role="status", id="grades-message"),
        guesses_table(result, request.question_link, quizbowl=request.facets.quizbowl, writable=mode != "off")
        if result.guesses
        else None,
    )


def _counted(result: GradedGuesses, show: Show) -> str:
    what = {
        "differ": "on which the gradings differ", "uncertain": "about which Clueline's rules are uncertain",
        "corrected": "that were corrected", "drawn": "that were drawn for review and wait for it", "all": "in all",
    }[show]  # fmt: skip
    listed = f"; the first {len(result.guesses):,} are listed" if result.total > len(result.guesses) else ""
    return f"{counted(result.total, 'guess', 'guesses')} {what}{listed}."
