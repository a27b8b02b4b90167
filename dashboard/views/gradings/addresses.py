"""Gradings of runs, corrections by reviewers, and random samples of answers for review."""

from __future__ import annotations

import secrets
from typing import Annotated

import msgspec
from flask import Response, request

from dashboard.http.json_bodies import InvalidJson, decode_json, read_body
from dashboard.http.responses import json_response
from dashboard.registry.addresses import accept, get, refusal, writer
from dashboard.registry.keys import GUESSES
from dashboard.registry.tables import RUN_FIRST, Table, columns, parts
from dashboard.registry.views import serve
from dashboard.service import service
from dashboard.views.runs import changing
from data.store.gradings import DRAWN, MAX_NOTE_LENGTH, Correction, NoSuchGuess, NothingToDraw, correct_grades, draw_for_review
from queries.gradings import GradeCorrection, GradedGuess, Show, corrections, graded_guesses, gradings
from queries.reviewed_samples import MEANS, MeanEstimate, ReviewedRun, ReviewSample, review_sample, reviewed_runs
from queries.runs import run as run_facts
from queries.selection import Selection
from queries.selection.parameter_kinds import BadRequest, Whole
from queries.selection.view_parameters_base import NoParameters, Parameters

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
)


def _estimates(run: ReviewedRun, key: str) -> tuple[float | None, ...]:
    return msgspec.structs.astuple(run.means[key]) if key in run.means else (None,) * len(MeanEstimate.__struct_fields__)


serve(
    "gradings/reviewed",
    reviewed_runs,
    NoParameters,
    """The runs of which answers were drawn at random for review: how often the first grading errs, and means over all answers
        (accuracy, net score, Brier score, overconfidence, log score) estimated by prediction-powered inference, with
        intervals.""",
    Table(
        "The estimates as CSV, a row per run and metric. `missing` says why cells are blank.",
        rows=lambda answer: [(run, key, *_estimates(run, key)) for run in answer.runs for key in MEANS],
        columns=(
            *RUN_FIRST,
            *columns("drawn", "reviewed", "judge_error", at=0),
            *parts("metric", *MeanEstimate.__struct_fields__, start=1),
            *columns("missing", at=0),
        ),
        file="reviewed",
    ),
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
