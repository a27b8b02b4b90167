"""Gradings: how far graders agree on each run, the guesses on which they differ, and correction of grades by keyboard."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Annotated, Any

import msgspec
from dash import html
from dash.development.base_component import Component
from flask import Response, request

from clueline.dashboard.http.bodies import InvalidJson, decode_json, json_response, read_body
from clueline.dashboard.http.paths import run_path
from clueline.dashboard.registry.addresses import accept, get, refusal, writer
from clueline.dashboard.registry.keys import GUESSES, known_run
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.registry.tables import RUN_FIRST, Column, Table, column, columns
from clueline.dashboard.registry.views import CONVENTION_KEYS, Cited, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import filter_keys, menu, token_field
from clueline.dashboard.ui.html import aria, data, heading, note, page_link, panel, section
from clueline.dashboard.ui.messages import judge_error
from clueline.dashboard.ui.quizbowl import draw_text
from clueline.dashboard.ui.runs import run_names
from clueline.dashboard.ui.table import Cell, PageColumn, columns_by, html_table, interval
from clueline.dashboard.ui.text import DASH, minute, percent, short
from clueline.dashboard.views.runs import changing
from clueline.data.plurals import counted
from clueline.data.store.gradings import (
    DRAWN,
    MAX_NOTE_LENGTH,
    REVIEWED,
    CannotAdopt,
    Correction,
    NoSuchGuess,
    NothingToDraw,
    adopt_grading,
    correct_grades,
    draw_for_review,
)
from clueline.queries.gradings import (
    SHOWN,
    GradeCorrection,
    GradedGuess,
    GradedGuesses,
    GradedRun,
    GradingAgreement,
    Gradings,
    RunGrading,
    Show,
    corrections,
    graded_guesses,
    gradings,
)
from clueline.queries.metrics import CATALOGUE
from clueline.queries.reviewed_samples import MEANS, MeanEstimate, ReviewedRun, ReviewSample, review_sample, reviewed_runs
from clueline.queries.runs import run as run_facts
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest, Whole
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters

GRADINGS = serve(
    "gradings",
    gradings,
    NoParameters,
    """The gradings of each run that has several: where each comes from, the accuracy by it, and how far each two agree on
        the answers of the selection (share of answers, Cohen's kappa).""",
    Table(
        "The agreements as CSV, a row per pair of gradings of a run.",
        rows=lambda answer: [(run, pair) for run in answer.runs for pair in run.agreements],
        columns=(*RUN_FIRST, *columns("answers", at=0), *columns("a", "b", "agreeing", "agreement", "kappa", at=1)),
    ),
    unused=(*CONVENTION_KEYS, "failed", "grading", "undisputed", "cluster", "common", "primary"),
)


def _in_estimate(name: str) -> Column:
    return column(name, lambda row: getattr(row[2], name, None))


serve(
    "gradings/reviewed",
    reviewed_runs,
    NoParameters,
    """The runs of which answers were drawn at random for review: how often the first grading errs, and means over all answers
        (accuracy, net score, Brier score, overconfidence, log score) estimated by prediction-powered inference, with
        intervals.""",
    Table(
        "The estimates as CSV, a row per run and metric. `missing` says why cells are blank.",
        rows=lambda answer: [(run, key, run.means.get(key)) for run in answer.runs for key in MEANS],
        columns=(
            *RUN_FIRST,
            *columns("drawn", "reviewed", "judge_error", at=0),
            column("metric", itemgetter(1)),
            *map(_in_estimate, MeanEstimate.__struct_fields__),
            *columns("missing", at=0),
        ),
        file="reviewed",
    ),
    unused=(*CONVENTION_KEYS, "failed", "grading", "undisputed", "cluster", "common", "primary"),
)


MAX_GRADES = 1000  # grades that one request can correct
MAX_DRAWN = 10_000  # answers of one draw
MAX_SEED = 2**31
MAX_CORRECTED = 100_000  # corrected guesses of a run that are listed


class _Grade(msgspec.Struct, forbid_unknown_fields=True):
    """A correction as a client sends it."""

    question_id: str
    correct: bool | float | None
    guess: str | None = None
    clue: int | None = None
    note: str | None = None


class _Grades(msgspec.Struct, forbid_unknown_fields=True):
    """The body of ``POST /api/v1/runs/<run_id>/grades``."""

    grades: list[_Grade]


class RunCorrections(msgspec.Struct):
    """All corrections of a run, oldest first, and the grades of the guesses just corrected."""

    run: str
    corrections: list[GradeCorrection]
    guesses: list[GradedGuess]


class _Adoption(msgspec.Struct, forbid_unknown_fields=True):
    """The body of ``POST /api/v1/runs/<run_id>/adopt``."""

    grading: str


class _Draw(msgspec.Struct, forbid_unknown_fields=True):
    """The body of ``POST /api/v1/runs/<run_id>/review``."""

    size: int = 100
    seed: int | None = None


class GuessesParameters(Parameters, frozen=True):
    """Which guesses are listed."""

    show: Annotated[Show, GUESSES] = "differ"
    limit: Annotated[int, Whole("how many guesses: 200; at most 1,000", 1000)] = 200


@get("/api/v1/runs/<run_id>/grades", GuessesParameters)
def get_grades(parameters: GuessesParameters, run_id: str) -> Response:
    """The guesses of a run with the answer line, their grade in each grading, how Clueline's rules grade them and why, and
    reviewers' corrections.
    """
    selection = Selection(service().ask(run_facts, run_id).dataset)
    return json_response(service().ask(graded_guesses, selection, run_id, parameters.show or "differ", parameters.limit))


@accept("POST", "/api/v1/runs/<run_id>/grades")
def post_grades(run_id: str) -> Response:
    """Correct grades of a run: `{"grades": [{"question_id", "guess", "correct", "clue", "note"}]}`. `correct` is true, false, a
    number from 0 to 1, or null to undo earlier corrections. Without `clue`, a correction applies to every clue with this guess.
    Either all corrections are recorded, with the token's name and the time, or none. They form the run's grading `reviewed`;
    nothing else changes. The response lists all corrections of the run, and the grades of these guesses.
    """
    by = writer()
    given = _read()
    with changing(run_id) as facts, refusal(NoSuchGuess, "unknown_guess", "grades"):
        correct_grades(service().store, run_id, given, by)
    snapshot, selection = service().snapshot(), Selection(facts.dataset)
    corrected = {(grade.question_id, grade.guess) for grade in given}
    listed = graded_guesses(snapshot, selection, run_id, "corrected", MAX_CORRECTED).guesses
    guesses = [guess for guess in listed if (guess.question_id, guess.guess) in corrected]
    return json_response(RunCorrections(run_id, corrections(snapshot, run_id), guesses), 201)


def _read() -> list[Correction]:
    """Return the corrections in the body of this request. Raises ``BadRequest``."""
    try:
        grades = decode_json(request.get_data(), _Grades).grades
    except InvalidJson as error:
        message = f'The body must be {{"grades": [{{"question_id", "guess", "correct", "clue", "note"}}]}}: {error}.'
        raise BadRequest("bad_value", message, "grades") from None
    if not 0 < len(grades) <= MAX_GRADES:
        raise BadRequest("bad_value", f"Send 1 to {MAX_GRADES:,} grades at a time.", "grades")
    for grade in grades:
        if grade.correct is not None and not 0 <= grade.correct <= 1:
            raise BadRequest("bad_value", "`correct` must be true, false, null or a number from 0 to 1.", "grades")
        if not 0 <= (grade.clue or 0) < 2**31 or len(grade.note or "") > MAX_NOTE_LENGTH:
            message = f"`clue` counts from 0, and `note` can have at most {MAX_NOTE_LENGTH} characters."
            raise BadRequest("bad_value", message, "grades")
        if (grade.note or "").startswith(DRAWN):
            raise BadRequest("bad_value", f"`note` cannot begin with “{DRAWN.strip()}”: that marks drawn answers.", "grades")
    values = [None if grade.correct is None else float(grade.correct) for grade in grades]
    return [
        Correction(grade.question_id, grade.guess or None, value, grade.clue, grade.note)
        for grade, value in zip(grades, values, strict=True)
    ]


@get("/api/v1/runs/<run_id>/review", NoParameters)
def get_review(parameters: NoParameters, run_id: str) -> Response:
    """The answers of a run that were last drawn at random for review: seed, how likely each was to be drawn, and the reviewer's
    grade.
    """
    return json_response(_sample(run_id))


@accept("POST", "/api/v1/runs/<run_id>/adopt")
def post_adopt(run_id: str) -> Response:
    """Measure a run by one of its gradings from now on: `{"grading": "second-reader"}`. The answers that it grades otherwise than
    the first grading get corrections, whose note names it. `imported` or `graded`, the first grading, is the way back. The
    response lists all corrections of the run.
    """
    by = writer()
    name = read_body(_Adoption).grading
    with changing(run_id), refusal(CannotAdopt, "unknown_value", "grading"):
        adopt_grading(service().store, run_id, name, by)
    return json_response(RunCorrections(run_id, corrections(service().snapshot(), run_id), []), 201)


@accept("POST", "/api/v1/runs/<run_id>/review")
def post_review(run_id: str) -> Response:
    """Draw answers of a run at random for review: `{"size": 100, "seed": 7}`; without `seed`, one is drawn, too. Questions are
    drawn, and one answer of each. Responds as `GET` does. Reviewers then grade them (`POST /api/v1/runs/<run_id>/grades`), also
    where they agree with the first grading. A later draw replaces this one.
    """
    by = writer()
    draw = read_body(_Draw)
    if not 0 < draw.size <= MAX_DRAWN or not 0 <= (draw.seed or 0) < MAX_SEED:
        message = f"`size` is from 1 to {MAX_DRAWN:,}, and `seed` from 0 to {MAX_SEED - 1:,}."
        raise BadRequest("bad_value", message, "size")
    seed = secrets.randbelow(MAX_SEED) if draw.seed is None else draw.seed
    with changing(run_id):
        try:
            draw_for_review(service().store, run_id, draw.size, seed, by)
        except NothingToDraw:
            raise BadRequest("no_answers", "The run has no answers to draw from.", "size", status=422) from None
    return json_response(_sample(run_id), 201)


def _sample(run_id: str) -> ReviewSample:
    return service().ask(review_sample, service().ask(run_facts, run_id).run)


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
        if not writable:
            return {}
        given = json.dumps({"question_id": guess.question_id, "guess": guess.guess})
        name = f"{guess.guess or 'no guess'} for question {guess.question_id}"
        tab = "0" if guess is result.guesses[0] else "-1"  # Tab leads to the first row, arrows to the others
        return {"tabIndex": tab, **data(run=result.run, graded=given), **aria(label=name)}

    return html.Div(
        html_table(columns, result.guesses, "Guesses and their grades", "graded-guesses", of_row=of_row), className="runs"
    )


def _guess(link: Callable[[str], str], guess: GradedGuess) -> list[Component]:
    question = page_link(guess.question_id, href=link(guess.question_id))
    return [
        html.Span(guess.guess or "no guess", className="guess" if guess.guess else "missing"),
        html.Div([question, f", {_clues(guess.clues)}"], className="by"),
    ]


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
SHOWN_GUESSES = {  # by which are shown: in a menu, and in a sentence
    "differ": ("gradings differ", "on which the gradings differ"),
    "uncertain": ("rules are uncertain", "about which Clueline's rules are uncertain"),
    "corrected": ("corrected", "that were corrected"),
    "drawn": ("drawn, waiting for review", "that were drawn for review and wait for it"),
    "all": ("all", "in all"),
}
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
    views=(GRADINGS,),
    filters=("q", *filter_keys("questions")),
)  # fmt: skip
def draw(request: PageRequest[GradingsPage]) -> Sequence[Component | None]:
    """Draw the agreement of gradings, and the guesses of one run."""
    compared = service().ask(gradings, request.selection)
    run = request.parameters.graded_run or _default_run(request, compared)
    several, single = counted(compared.total, "run"), counted(compared.single, "run")
    lead = f"{several} with several gradings, {single} with one. Where graders differ, a person decides."
    if not compared.total:
        lead = f"{single}, each with one grading. Corrections add a second one."
    top = heading("Gradings", f"{request.facets.title}: {lead}")
    if not run:
        return [top, panel("No runs yet", "A run is graded when it is imported.")]

    agreement = agreement_table(compared.runs, lambda run: request.link(request.path, graded_run=run)) if compared.runs else None
    return [top, agreement, _guesses(request, compared, run)]


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
    waiting, token = request.link(request.path, graded_run=run, show="drawn"), token_field()
    writable = token is not None  # a component without children is false
    top = [
        html.H2("Guesses and their grades"),
        menu("graded_run", "Run", options, run, default=_default_run(request, compared)),
        menu("show", "Where", {key: name for key, (name, _) in SHOWN_GUESSES.items()}, show, default=SHOWN[0]),
    ]
    leaderboard = page_link(f"Leaderboard by the grading “{REVIEWED}”", href=request.link("/", grading=REVIEWED))
    listed = f"; the first {len(result.guesses):,} are listed" if result.total > len(result.guesses) else ""
    corrected = leaderboard if REVIEWED in result.gradings else "none of its grades has been corrected yet"
    return section(
        html.Div(top, className="heading"),
        html.Ul([html.Li(_origin(grading)) for grading in facts], className="note") if facts else None,
        *review_section(service().ask(review_sample, run), review, waiting),
        # Here assets/gradings.js puts the controls that draw answers for review.
        html.Div(className="review-draw grade-note", **data(run=run)) if writable else None,
        f"{counted(result.total, 'guess', 'guesses')} {SHOWN_GUESSES[show][1]}{listed}.",
        note([page_link("The run", href=request.link(run_path(run), dataset=None)), " · ", corrected]),
        *([token, note([KEYS, html.Code(REVIEWED), "."]), html.Div(className="grade-note")] if writable else [OFF]),
        html.P(className="status-message", role="status", id="grades-message"),
        guesses_table(result, request.question_link, quizbowl=request.facets.quizbowl, writable=writable)
        if result.guesses
        else None,
    )
