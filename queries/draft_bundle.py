"""A bundle of questions that a writer has drafted: a dataset ready for import, with runs of the bundled guessers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Annotated
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec

from queries.question_draft import ELICITATIONS, DraftText, QuestionDraft, question_draft
from queries.selection.parameter_kinds import BadRequest

MAX_QUESTIONS = 100
MAX_WORDS = 20_000  # of all questions together
MAX_NAME_LENGTH = 200  # characters of an id, a title or a category

Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME_LENGTH)]


class WrittenQuestion(DraftText, frozen=True):
    """A question and its category."""

    category: Name = ""
    subcategory: Name = ""


class WrittenDataset(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The body of ``POST /api/v1/write/bundle``."""

    dataset: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]+$", max_length=MAX_NAME_LENGTH)]
    questions: Annotated[tuple[WrittenQuestion, ...], msgspec.Meta(min_length=1, max_length=MAX_QUESTIONS)]
    title: Name = ""


def draft_bundle(written: WrittenDataset) -> bytes:
    """Return the bundle of questions ``q1``, ``q2``, ... as a zip file. Raises ``BadRequest`` for missing or too long texts."""
    numbered = [(f"q{number}", question) for number, question in enumerate(written.questions, start=1)]
    drafts = [(question_id, _draft(question_id, question)) for question_id, question in numbered]
    words = sum(draft.words for _, draft in drafts)
    if words > MAX_WORDS:
        message = f"The questions have {words:,} words; together they can have {MAX_WORDS:,}. Save some as another dataset."
        raise BadRequest("too_long", message, "questions")
    facts = {"dataset": written.dataset, "title": written.title.strip() or written.dataset, "kind": "incremental",
             "note": "Written at the writer's desk."}  # fmt: skip
    questions = [
        [question_id, " ".join(clue.text for clue in draft.clues), question.answer.strip(), question.category.strip(),
         question.subcategory.strip()]
        for (question_id, question), (_, draft) in zip(numbered, drafts, strict=True)
    ]  # fmt: skip
    clues = [[question_id, clue.clue, clue.text, clue.word_end] for question_id, draft in drafts for clue in draft.clues]
    guesses = [
        [question_id, guess.clue, guess.guess, guess.confidence, guesser.model, guesser.elicitation]
        for question_id, draft in drafts
        for guesser in draft.guessers
        for guess in guesser.guesses
    ]
    content = io.BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as bundle:
        bundle.writestr("dataset.json", json.dumps(facts, ensure_ascii=False, indent=2))
        bundle.writestr("questions.csv", _csv(["question_id", "text", "answer", "category", "subcategory"], questions))
        bundle.writestr("clues.csv", _csv(["question_id", "clue", "text", "word_end"], clues))
        header = ["question_id", "clue", "guess", "confidence", "model", "elicitation"]
        bundle.writestr("responses/guessers.csv", _csv(header, guesses))
    return content.getvalue()


def _draft(question_id: str, question: WrittenQuestion) -> QuestionDraft:
    number = question_id.removeprefix("q")
    try:
        draft = question_draft(question, ELICITATIONS)
    except BadRequest as error:
        raise BadRequest(error.code, f"Question {number}: {error.message}", error.field) from None
    if not draft.clues or not question.answer.strip():
        lacking = "text" if not draft.clues else "answer line"
        raise BadRequest("incomplete", f"Question {number} has no {lacking}.", "questions")
    return draft


def _csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows([header, *rows])
    return written.getvalue()
