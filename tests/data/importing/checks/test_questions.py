"""Clues of questions: stated in the bundle, or derived from the text."""

import pytest

from clueline.data.store import open_store
from tests.helpers import bundle_factory as bundles

TEXTS = "question_id,text\nq1,The poet of St. Louis. A friend of D. H. Lawrence. He wrote this.\nq2,   \nq3,\n"
WITHOUT_CLUES = {"questions": "question_id,text\nq1,One. Two.\n", "clues": None}
BUNDLES = {
    "split": {"questions": TEXTS, "clues": None},
    "single": WITHOUT_CLUES | {"facts": {"kind": "single"}},
    "votes": WITHOUT_CLUES | {"facts": {"kind": "votes"}},
    "counted": {"clues": "\n".join(line.rpartition(",")[0] for line in bundles.CLUES.splitlines())},
    "cut": {
        "questions": "question_id,text\nq1,one two  three\tfour five\nq2,six seven\n",
        "clues": "question_id,clue,word_end\nq1,1,4\nq1,0,1\nq1,2,5\nq2,0,9\n",
    },
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A function that returns rows of a dataset, ordered by question and clue."""
    folder = tmp_path_factory.mktemp("questions")
    store = open_store(folder / "store", threads=1)
    facts = {name: bundles.FACTS | bundle.pop("facts", {}) | {"dataset": name} for name, bundle in BUNDLES.items()}
    bundles.put(store, *(bundles.write(folder / name, facts[name], **bundle) for name, bundle in BUNDLES.items()))
    yield lambda columns, name, table="clues": store.snapshot().rows(
        f"select {columns} from {table} where dataset = '{name}' order by question_id{', clue' * (table == 'clues')}"
    )
    store.close()


def test_without_clues_each_sentence_is_a_clue(rows):
    assert rows("question_id, clue, text, word_end, char_end, revealed", "split") == [
        ("q1", 0, "The poet of St. Louis.", 5, 22, 5 / 14),
        ("q1", 1, "A friend of D. H. Lawrence.", 11, 50, 11 / 14),
        ("q1", 2, "He wrote this.", 14, 65, 1.0),
        ("q2", 0, "   ", 1, 3, 1.0),
        ("q3", 0, None, 1, 0, 1.0),
    ]
    assert rows("clues", "split", "questions") == [(3,), (1,), (1,)]


def test_questions_of_other_kinds_are_not_split(rows):
    assert rows("clue, text", "single") == rows("clue, text", "votes") == [(0, "One. Two.")]


def test_words_are_counted_where_word_ends_are_missing(rows):
    counted = rows("word_end, char_end", "counted")
    assert [end for end, _ in counted] == [5, 10, 16, 4, 8]
    (text,) = rows("text", "counted", "questions")[0]
    assert [text[:end].rsplit(" ", 1)[1] for _, end in counted[:3]] == ["tower", "Seine", "France"]


def test_clues_with_only_word_ends_split_the_text(rows):
    assert rows("text, word_end, char_end", "cut") == [
        ("one", 1, 3), ("two three four", 4, 18), ("five", 5, 23), ("six seven", 9, 9),
    ]  # fmt: skip
    assert rows("text", "cut", "questions") == [("one two three four five",), ("six seven",)]
