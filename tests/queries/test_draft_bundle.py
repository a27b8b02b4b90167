"""Bundles of questions from the writer's desk, and what is refused."""

import io
import zipfile

import pytest

from queries.drafts import ELICITATIONS, DraftText, WrittenDataset, WrittenQuestion, draft_bundle, question_draft
from queries.question import question
from queries.selection import Selection
from queries.selection.parameter_kinds import BadRequest

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


def test_a_bundle_without_a_title_has_its_id():
    content = draft_bundle(WrittenDataset("desk", (WrittenQuestion("It is a capital.", "Paris"),), title="  "))
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        assert '"title": "desk"' in bundle.read("dataset.json").decode()


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (WrittenQuestion("", "Paris"), "Question 2 has no text"),
        (WrittenQuestion("It is a capital.", " "), "Question 2 has no answer line"),
        (WrittenQuestion("word " * 2001, "Paris"), "Question 2: The text has 2,001 words"),
    ],
)
def test_unfinished_questions_are_refused(second, reason):
    first = WrittenQuestion("It is a capital.", "Paris")
    with pytest.raises(BadRequest, match=reason):
        draft_bundle(WrittenDataset("desk", (first, second)))


def test_too_many_words_are_refused():
    long = WrittenQuestion("word " * 1990, "Paris")
    with pytest.raises(BadRequest, match=r"have 21,890 words; together they can have 20,000"):
        draft_bundle(WrittenDataset("desk", (long,) * 11))
