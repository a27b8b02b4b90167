"""Questions that somebody is writing: what the bundled guessers answer, and the bundle that the questions become.

The guessers are those of the bundled dataset Pyramid: they search its knowledge base. They do not use the store.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from threading import Lock
from typing import Annotated, Literal
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec

from clueline.data.quizbowl.answer_lines import parse_answer_line
from clueline.data.quizbowl.guess_grading import AnswerLine, Verdict
from clueline.data.quizbowl.question_words import count_words, plain_text, sentences
from clueline.data.retrieval_guessers import GUESSERS, Search, best_match, margin_confidence, softmax_confidence
from clueline.data.sample.pyramid_toml_files import read_entries
from clueline.queries.selection.parameter_kinds import BadRequest

Elicitation = Literal["softmax", "margin"]
ELICITATIONS: tuple[Elicitation, ...] = ("softmax", "margin")
MAX_WORDS, MAX_SENTENCES = 2000, 100  # of a question
MAX_TEXT_LENGTH, MAX_ANSWER_LENGTH = 20_000, 2000  # characters of a question, and of an answer line
EARLY = 0.5  # a right buzz within this share of the words is too early
# The best threshold of each run of Pyramid, as /buzz computes it from the questions and people of Pyramid.
THRESHOLDS: dict[tuple[str, Elicitation], float] = {
    ("TF-IDF words", "softmax"): 0.752657, ("TF-IDF words", "margin"): 0.311222,
    ("TF-IDF characters", "softmax"): 0.671581, ("TF-IDF characters", "margin"): 0.240672,
    ("BM25", "softmax"): 0.633106, ("BM25", "margin"): 0.184311,
    ("LSA 64", "softmax"): 0.302288, ("LSA 64", "margin"): 0.129989,
}  # fmt: skip


class DraftText(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What somebody has typed: the text of a question, and its answer line, which can be blank."""

    text: str = ""
    answer: str = ""


class DraftClue(msgspec.Struct):
    """A sentence of the text, and the number of words up to its end."""

    clue: int
    text: str
    word_end: int


class DraftGuess(msgspec.Struct):
    """What a guesser answers after a clue; None where it knows no word of the text so far.

    ``verdict`` and its reason, ``rule``, are None without an answer line or a guess.
    """

    clue: int
    guess: str | None
    confidence: float
    verdict: Verdict | None
    rule: str | None


class GuesserOnDraft(msgspec.Struct):
    """A guesser on the whole text. ``buzz`` is the first clue with a confidence above ``threshold``; None where there is none."""

    model: str
    elicitation: Elicitation
    threshold: float
    buzz: int | None
    guesses: list[DraftGuess]


class DraftWarning(msgspec.Struct):
    """Something that a writer may want to change.

    ``kind`` is ``early`` if the guesser buzzes at ``clue`` and is right, at the first clue or within the first half of the words.
    It is ``wrong`` if the guesser's confidence in a wrong ``guess`` is above its threshold at ``clue``. Each guess of a guesser
    has at most one warning, for the first such clue.
    """

    kind: Literal["early", "wrong"]
    model: str
    clue: int
    guess: str
    confidence: float


class QuestionDraft(msgspec.Struct):
    """Answer of ``POST /api/v1/write/guesses``; ``known`` entries of the knowledge base are accepted by the answer line."""

    words: int
    clues: list[DraftClue]
    entries: int
    known: list[str]
    guessers: list[GuesserOnDraft]
    warnings: list[DraftWarning]


_entries = cache(read_entries)
_building = Lock()


def searches() -> list[Search]:
    """Return the searches of the guessers, in their order. They are built once per process; see benchmarks/writers_desk.md."""
    with _building:
        return _searches()


@cache
def _searches() -> list[Search]:
    documents = [entry.document for entry in _entries()]
    return [guesser.build(documents) for guesser in GUESSERS]


def draft_clues(draft: DraftText) -> list[DraftClue]:
    """Return the sentences of a draft as clues. Raises ``BadRequest`` for a draft that is too long."""

    def check(count: int, most: int, unit: str, whole: str = "text", field: str = "text") -> None:
        if count > most:
            raise BadRequest("too_long", f"The {whole} has {count:,} {unit}; it can have {most:,}.", field)

    check(len(draft.text), MAX_TEXT_LENGTH, "characters")
    check(len(draft.answer), MAX_ANSWER_LENGTH, "characters", "answer line", "answer")
    texts = [" ".join(sentence.split()) for sentence in sentences(draft.text)]
    ends = list(accumulate(map(count_words, texts)))
    check(ends[-1] if ends else 0, MAX_WORDS, "words")
    check(len(texts), MAX_SENTENCES, "sentences")
    return [DraftClue(clue, text, end) for clue, (text, end) in enumerate(zip(texts, ends, strict=True))]


def question_draft(draft: DraftText, elicitations: Sequence[Elicitation] = ELICITATIONS[:1]) -> QuestionDraft:
    """Return what each guesser answers after each sentence of a draft, graded by the answer line, with warnings.

    ``elicitations`` say how confidence is computed from the scores of a search, as in the runs of Pyramid: ``softmax`` is the
    share of the best entry in a softmax, ``margin`` its lead over the second. Raises ``BadRequest`` for a draft that is too long.
    """
    clues = draft_clues(draft)
    titles = [entry.title for entry in _entries()]
    line = parse_answer_line(draft.answer) if draft.answer.strip() else None
    guessers = []
    for guesser, search in zip(GUESSERS, searches(), strict=True) if clues else ():
        scores = search([plain_text(clue.text) for clue in clues])
        matches = zip(best_match(scores), (scores != 0).sum(axis=1), strict=True)
        guesses = [titles[best] if count else None for best, count in matches]
        for elicitation in elicitations:
            stated = margin_confidence(scores) if elicitation == "margin" else softmax_confidence(scores, guesser.temperature)
            threshold = THRESHOLDS[guesser.model, elicitation]
            graded = [
                _graded(clue, guess, confidence, line)
                for clue, (guess, confidence) in enumerate(zip(guesses, stated.tolist(), strict=True))
            ]
            buzz = next((guess.clue for guess in graded if guess.guess and guess.confidence > threshold), None)
            guessers.append(GuesserOnDraft(guesser.model, elicitation, threshold, buzz, graded))
    return QuestionDraft(
        words=clues[-1].word_end if clues else 0,
        clues=clues,
        entries=len(titles),
        known=[title for title in titles if line and line.grade(title) == "accept"],
        guessers=guessers,
        warnings=[warning for guesser in guessers for warning in _warnings(guesser, clues)],
    )


def _graded(clue: int, guess: str | None, confidence: float, line: AnswerLine | None) -> DraftGuess:
    if line is None or guess is None:
        return DraftGuess(clue, guess, confidence, None, None)
    return DraftGuess(clue, guess, confidence, line.grade(guess), line.judge(guess).rule)


def _warnings(guesser: GuesserOnDraft, clues: Sequence[DraftClue]) -> list[DraftWarning]:
    warnings = []
    warned: set[str] = set()
    for guess in guesser.guesses:
        if guess.guess is None or guess.confidence <= guesser.threshold or guess.guess in warned:
            continue
        early = guess.clue == 0 or clues[guess.clue].word_end <= EARLY * clues[-1].word_end
        if guess.verdict == "reject" or (guess.verdict == "accept" and guess.clue == guesser.buzz and early):
            kind: Literal["early", "wrong"] = "wrong" if guess.verdict == "reject" else "early"
            warnings.append(DraftWarning(kind, guesser.model, guess.clue, guess.guess, guess.confidence))
            warned.add(guess.guess)
    return warnings


MAX_QUESTIONS = 100
MAX_WORDS_TOGETHER = 20_000  # of all questions together
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
    if words > MAX_WORDS_TOGETHER:
        message = (
            f"The questions have {words:,} words; together they can have {MAX_WORDS_TOGETHER:,}. Save some as another dataset."
        )
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
