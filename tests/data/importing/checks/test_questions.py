"""Clues of questions: stated in the bundle, or derived from the text."""

import pytest

from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows


def test_without_clues_each_sentence_is_a_clue(store, folder):
    questions = "question_id,text\nq1,The poet of St. Louis. A friend of D. H. Lawrence. He wrote this.\nq2,   \nq3,\n"
    bundles.put(store, bundles.write(folder, questions=questions, clues=None))
    assert rows(store, "select question_id, clue, text, word_end, char_end, revealed from clues order by all") == [
        ("q1", 0, "The poet of St. Louis.", 5, 22, 5 / 14),
        ("q1", 1, "A friend of D. H. Lawrence.", 11, 50, 11 / 14),
        ("q1", 2, "He wrote this.", 14, 65, 1.0),
        ("q2", 0, "   ", 1, 3, 1.0),
        ("q3", 0, None, 1, 0, 1.0),
    ]
    assert rows(store, "select clues from questions order by position") == [(3,), (1,), (1,)]


@pytest.mark.parametrize("kind", ["single", "votes"])
def test_questions_of_other_kinds_are_not_split(store, folder, kind):
    bundles.put(
        store,
        bundles.write(folder, bundles.FACTS | {"kind": kind}, questions="question_id,text\nq1,One. Two.\n", clues=None),
    )
    assert rows(store, "select clue, text from clues") == [(0, "One. Two.")]


def test_words_are_counted_where_word_ends_are_missing(store, folder):
    clues = "\n".join(line.rpartition(",")[0] for line in bundles.CLUES.splitlines())
    bundles.put(store, bundles.write(folder, clues=clues))
    assert rows(store, "select word_end from clues order by question_id, clue") == [(5,), (10,), (16,), (4,), (8,)]
    (text,) = rows(store, "select text from questions where question_id = 'q1'")[0]
    ends = [end for (end,) in rows(store, "select char_end from clues where question_id = 'q1' order by clue")]
    assert [text[:end].rsplit(" ", 1)[1] for end in ends] == ["tower", "Seine", "France"]


def test_clues_with_only_word_ends_split_the_text(store, folder):
    questions = "question_id,text\nq1,one two  three\tfour five\nq2,six seven\n"
    clues = "question_id,clue,word_end\nq1,1,4\nq1,0,1\nq1,2,5\nq2,0,9\n"
    bundles.put(store, bundles.write(folder, questions=questions, clues=clues))
    assert rows(store, "select text, word_end, char_end from clues order by question_id, clue") == [
        ("one", 1, 3), ("two three four", 4, 18), ("five", 5, 23), ("six seven", 9, 9),
    ]  # fmt: skip
    assert rows(store, "select text from questions order by position") == [("one two three four five",), ("six seven",)]
