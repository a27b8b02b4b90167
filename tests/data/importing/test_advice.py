"""Advice about mistakes that run through a whole file, and counts of problems by kind."""

import pytest

from tests.helpers.bundle_factory import put, refusal, write

HEAD = "question_id,clue,guess,confidence\n"


@pytest.fixture
def relay(store, tmp_path):
    """A store with a dataset of two questions with three clues each."""
    put(store, write(
        tmp_path / "relay",
        facts={"dataset": "relay", "kind": "incremental"},
        questions="question_id,answer\nRiver-1,Nile\nRiver-2,Rhine\n",
        clues="question_id,clue,text,word_end\n" + "".join(
            f"{question},{clue},some words,{end}\n" for question in ("River-1", "River-2") for clue, end in enumerate((7, 15, 30))
        ),
    ))  # fmt: skip
    return store


def refused(store, path, rows, **options):
    path.write_text(HEAD + "".join(rows))
    return refusal(store, path, dataset=options.pop("dataset", "relay"), model="m", **options)


def rows(questions=("River-1", "River-2"), clues=(0, 1, 2), confidence="0.5"):
    return [f"{question},{clue},Nile,{confidence}\n" for question in questions for clue in clues]


WORDS = "The column clue seems to hold positions of words. Here the clues of a question are numbered 0, 1, 2 and so on."
MISTAKES_OF_EVERY_ROW = [
    (rows(clues=(1, 2, 3)), "The clues seem to be counted from 1. Here the first clue of a question is 0."),
    (rows(clues=(7, 15, 30)), WORDS), (rows(clues=(6, 14, 29)), WORDS),
    (rows(("river-1",)),
     "The question ids differ from those of the dataset in upper and lower case: 'river-1' is 'River-1' there."),
    (rows(clues=(0, 1, 9)), None), (rows(("Lake-1", "Lake-2")), None),
]  # fmt: skip


def test_a_mistake_of_every_row_is_explained_in_one_sentence(relay, tmp_path):
    for lines, sentence in MISTAKES_OF_EVERY_ROW:
        assert refused(relay, tmp_path / "answers.csv", lines).advice == ([sentence] if sentence else [])


def test_the_dataset_that_is_meant_is_named(relay, tmp_path):
    put(relay, write(tmp_path / "toy"))
    error = refused(relay, tmp_path / "answers.csv", rows(), dataset="toy")
    assert error.advice == ["The store has these questions in dataset 'relay': does the file answer that one?"]
    assert {(problem.hint, problem.choices) for problem in error.problems} == {("dataset", ("relay",))}


def test_problems_are_counted_by_kind(relay, tmp_path):
    lines = rows([f"Lake-{number}" for number in range(2000)]) + rows(clues=(0, 1), confidence="85%") + ["River-1,2,Nile,7\n"]
    error = refused(relay, tmp_path / "answers.csv", lines)
    counts = {kind.examples[0].reason.partition(";")[0]: kind.count for kind in error.kinds}
    assert counts == {
        "no such question in dataset relay": 6000,
        "must be a number without a percent sign": 4,
        "must lie in [0, 1]": 1,
    }
    assert error.total == 6005 and len(error.problems) < 1100
    unknown = next(kind for kind in error.kinds if kind.count == 6000)
    assert [problem.line for problem in unknown.examples] == [2, 3, 4]
