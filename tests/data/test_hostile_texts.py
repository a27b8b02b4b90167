"""Cells on which a regular expression could try the same place many times: each takes time in proportion to its length."""

import pytest

from clueline.data.quizbowl.answer_lines import parse_answer_line
from clueline.data.quizbowl.question_words import count_words, plain_text
from clueline.data.readers.table.cells import agree, answer, labelled_answer, number, truth
from clueline.data.readers.table.columns import Table
from clueline.data.readers.table.reshape import reshape
from tests.helpers.linear_time import assert_linear

TEXTS = {
    "spaces": lambda n: "a" + " " * n + "b",
    "white space of several kinds": lambda n: "a" + " \n\t" * n + "b",
    "alternatives without an end": lambda n: "a [or " * n,
    "parentheses": lambda n: "a (" * n,
    "closed parentheses": lambda n: "(a) " * n,
    "digits": lambda n: "1" * n + "x",
    "digits and points": lambda n: "1." * n + "x",
    "answers without a text": lambda n: "answer: " * n,
    "a label and spaces": lambda n: "answer:" + " " * n,
    "a letter and spaces": lambda n: "A)" + " " * n,
    "verdicts": lambda n: "[RESULT]" + " " * n,
    "slashes": lambda n: "a / " * n,
    "quotes in parentheses": lambda n: '("' + '" ' * n,
    "tags": lambda n: "<a " * n,
    "underscores": lambda n: "_a " * n,
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "function",
    [
        lambda cell: agree(cell, "a"), lambda cell: agree("a", cell), answer, labelled_answer, number, truth, count_words,
        plain_text, parse_answer_line.__wrapped__,
    ],
    ids=["guess", "reference", "answer", "label", "number", "truth", "words", "text", "answer line"],
)  # fmt: skip
def test_a_cell_takes_time_in_proportion_to_its_length(function, text):
    assert_linear(function, TEXTS[text])


def test_a_fence_takes_time_in_proportion_to_its_length():
    def read(text):
        reshape(Table("a", {"output": [text]}, ["line 2"]))

    assert_linear(read, lambda n: '```json {"a": "' + " " * n + '" b')
