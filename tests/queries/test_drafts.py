"""Questions that are being written: guesses, warnings, and the bundle that the questions become."""

import io
import zipfile

import pytest

from clueline.queries.buzzing import Rules, best_thresholds
from clueline.queries.buzzing.parameters import default_curve
from clueline.queries.drafts import (
    ELICITATIONS,
    THRESHOLDS,
    DraftText,
    WrittenDataset,
    WrittenQuestion,
    draft_bundle,
    question_draft,
)
from clueline.queries.question import question
from clueline.queries.selection import Selection, read_facets
from clueline.queries.selection.parameter_kinds import BadRequest

PYRAMID = Selection("pyramid")
GIVEAWAY = "Name this Gothic novel by Mary Shelley, in which Victor stitches together a giant out of corpses at Ingolstadt."
HARD = "It was written in a wet summer."
FILLER = "Some say that it can hardly be known by anybody who has yet to hear of a few more particulars than these are."


def draft(text, answer="", elicitations=ELICITATIONS[:1]):
    return question_draft(DraftText(text, answer), elicitations)


def test_thresholds_are_the_best_on_pyramid(bundled):
    offered = read_facets(bundled, "pyramid")
    best = best_thresholds(bundled, PYRAMID, Rules(curve=default_curve(offered)))
    assert {(model, elicitation): best[run] for run, model, elicitation in offered.runs} == THRESHOLDS


@pytest.mark.parametrize("question_id", ["lit-02", "sci-05"])
def test_a_question_of_pyramid_is_answered_as_its_runs_are(bundled, question_id):
    stored = question(bundled, PYRAMID, question_id, Rules(curve="dataset"))
    written = draft(" ".join(clue.text for clue in stored.clues), stored.answer, ELICITATIONS)
    assert [(clue.text, clue.word_end) for clue in written.clues] == [(clue.text, clue.word_end) for clue in stored.clues]
    runs = {(run.model, run.elicitation): run.clues for run in stored.runs}
    assert len(written.guessers) == len(runs) == 8
    for guesser in written.guessers:
        answers = runs[guesser.model, guesser.elicitation]
        assert [guess.guess for guess in guesser.guesses] == [answer.guess for answer in answers]
        assert [guess.confidence for guess in guesser.guesses] == pytest.approx([a.confidence for a in answers], abs=1e-6)
        assert [guess.verdict == "accept" for guess in guesser.guesses] == [answer.correct == 1 for answer in answers]
        passing = [answer.clue for answer in answers if answer.confidence > guesser.threshold]
        assert guesser.buzz == (passing[0] if passing else None)


def test_a_guesser_that_is_right_too_early_is_named():
    early = draft(f"{GIVEAWAY} {FILLER} {FILLER}", "Frankenstein").warnings
    assert {(warning.kind, warning.clue, warning.guess) for warning in early} == {("early", 0, "Frankenstein")}
    assert {warning.model for warning in early} >= {"BM25", "LSA 64"}
    late = draft(f"{HARD} {FILLER} {GIVEAWAY}", "Frankenstein")
    assert all(guesser.buzz == 2 for guesser in late.guessers if guesser.model == "BM25") and not late.warnings


def test_a_guesser_that_is_sure_and_wrong_is_named_once():
    warnings = draft(f"{HARD} {GIVEAWAY} {FILLER}", "Dracula").warnings
    assert {(warning.kind, warning.clue, warning.guess) for warning in warnings} == {("wrong", 1, "Frankenstein")}
    assert len(warnings) == len({warning.model for warning in warnings})


def test_a_guess_to_prompt_on_is_no_warning():
    written = draft(GIVEAWAY, "<u>The Modern Prometheus</u> [prompt on Frankenstein]")
    guesses = [guesser.guesses[0] for guesser in written.guessers if guesser.model == "BM25"]
    assert [(guess.verdict, guess.rule) for guess in guesses] == [("prompt", "the answer line says to prompt on this")]
    assert not written.warnings and not written.known


def test_without_an_answer_line_nothing_is_graded():
    for answer in ("", "  \n"):
        written = draft(f"{HARD} {GIVEAWAY}", answer)
        assert {(guess.verdict, guess.rule) for guesser in written.guessers for guess in guesser.guesses} == {(None, None)}
        assert not written.warnings and any(guesser.buzz == 1 for guesser in written.guessers)


def test_a_text_without_known_words_has_no_guess():
    written = draft("Zzyzx qwrtpl! 🦉 ¿?", "Frankenstein")
    assert written.guessers[0].guesses[0].guess is None
    assert {guesser.buzz for guesser in written.guessers} == {None} and not written.warnings
    for text in ("", " \n ", "[read slowly]"):
        written = draft(text, "Frankenstein")
        assert written.words == 0 and written.known == ["Frankenstein"]


@pytest.mark.parametrize(
    ("text", "answer", "field", "reason"),
    [
        ("word " * 2001, "", "text", "has 2,001 words; it can have 2,000"),
        ("One word. " * 101, "", "text", "has 101 sentences; it can have 100"),
        ("w" * 20_001, "", "text", "has 20,001 characters; it can have 20,000"),
        ("A word.", "x" * 2001, "answer", "has 2,001 characters; it can have 2,000"),
    ],
)
def test_too_long_texts_are_refused(text, answer, field, reason):
    with pytest.raises(BadRequest, match=reason) as refused:
        draft(text, answer)
    assert (refused.value.code, refused.value.field) == ("too_long", field)


def test_the_longest_question_is_answered():
    written = draft("an Arctic monster fled " * 449 + "at last fled. " + "Victor wept. " * 99, "Frankenstein")
    assert (len(written.clues), written.words) == (100, 1997)


# -- the bundle that questions become -----------------------------------------------------------------------------------

TEXT = 'This novel begins with letters, as "Dracula" does.\n\nFor 10 points, name this novel by Mary Shelley, =1+1.'


def test_a_bundle_imports_as_it_is(importing, tmp_path):
    questions = (WrittenQuestion(TEXT, "Frankenstein [accept <u>Modern</u>]", category="Ünïcode, with comma"),
                 WrittenQuestion("It is a capital.", "Paris"))  # fmt: skip
    path = tmp_path / "desk.zip"
    path.write_bytes(draft_bundle(WrittenDataset("desk", questions, title="My, desk")))
    snapshot = importing(tmp_path / "store", path).snapshot()
    assert snapshot.rows("select dataset, title, kind from datasets") == [("desk", "My, desk", "incremental")]
    stored = question(snapshot, Selection("desk"), "q1")
    draft = question_draft(DraftText(TEXT, questions[0].answer), ELICITATIONS)
    assert stored.category == "Ünïcode, with comma" and stored.answer == questions[0].answer
    assert [(clue.text, clue.word_end) for clue in stored.clues] == [(clue.text, clue.word_end) for clue in draft.clues]
    assert stored.text == " ".join(TEXT.split())
    for run, guesser in zip(stored.runs, draft.guessers, strict=True):
        assert (run.model, run.elicitation) == (guesser.model, guesser.elicitation)
        assert [(answer.guess, answer.confidence) for answer in run.clues] == [(g.guess, g.confidence) for g in guesser.guesses]
        assert [answer.correct == 1 for answer in run.clues] == [g.verdict == "accept" for g in guesser.guesses]


def test_unfinished_questions_are_refused():
    first = WrittenQuestion("It is a capital.", "Paris")
    content = draft_bundle(WrittenDataset("desk", (first,), title="  "))
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        assert '"title": "desk"' in bundle.read("dataset.json").decode()
    for others, reason in (
        ([WrittenQuestion("", "Paris")], "Question 2 has no text"),
        ([WrittenQuestion("It is a capital.", " ")], "Question 2 has no answer line"),
        ([WrittenQuestion("word " * 2001, "Paris")], "Question 2: The text has 2,001 words"),
        ([WrittenQuestion("word " * 1990, "Paris")] * 11, "have 21,894 words; together they can have 20,000"),
    ):
        with pytest.raises(BadRequest, match=reason):
            draft_bundle(WrittenDataset("desk", (first, *others)))
