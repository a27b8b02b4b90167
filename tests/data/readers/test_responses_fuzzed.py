"""Responses with arbitrary content: each file is imported correctly or refused with reasons, never anything else."""

import csv
import io
import json
import math
import re

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clueline.data.importing.report import Refused, Report
from clueline.data.importing.table_contract import responses_columns, stage
from clueline.data.importing.table_files import TableFile
from tests.helpers import bundle_factory as bundles
from tests.helpers.examples import fixed_examples
from tests.helpers.run_tables import with_runs

NAMES = [column.name for column in responses_columns(percent=False)]

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
odd = st.sampled_from(
    ["", " ", "NaN", "-inf", "1e999", "1e-999", "0x1p3", "1_0", "1,5", "80%", "\u0663", "\u00a01", "0.5\n", "\t1", "+1", "--1",
     ".5", "5.", "true", "NULL", "[]", "[0]", "[-0.1, -1]", "[-1,", "{}", '{"a": 1}', '{"a": 0.2, "b": 0.9}', '{"a": [1]}',
     '[{"a": 1}]', '"', '""', "'", "\\", "\0", "\r", "\ufeff", "a\r\nb"]
)  # fmt: skip
number = st.one_of(st.floats().map(repr), st.floats(0, 1).map(repr), st.integers().map(str), st.integers(0, 3).map(str))
likely = {
    "question_id": st.sampled_from(["q1", "q2"]), "clue": st.integers(0, 2).map(str), "confidence": st.floats(0, 1).map(repr),
    "correct": st.sampled_from(["0", "1", ""]), "model": st.sampled_from(["m", "n"]),
}  # fmt: skip


def cell(name):
    return st.one_of(likely.get(name, text), likely.get(name, text), text, odd, number)


@st.composite
def tables(draw, most=5):
    names = draw(st.permutations(NAMES)) if draw(st.booleans()) else NAMES
    names = [name for name in names if name in ("question_id", "clue") or draw(st.integers(0, 3))]
    return names, draw(st.lists(st.tuples(*map(cell, names)), min_size=1, max_size=most))


def written(names, rows, quoting=csv.QUOTE_ALL, ends="\n"):
    out = io.StringIO()
    writer = csv.writer(out, quoting=quoting, lineterminator=ends)
    writer.writerows([names, *rows])
    return out.getvalue().encode()


def plain_number(text):
    """Return whether a text is what anybody calls a number."""
    return re.fullmatch(r" *[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)? *", text, re.ASCII) is not None


def as_float(text):
    try:
        return float(text)
    except ValueError:
        return None


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return duckdb.connect(config={"threads": 1}), tmp_path_factory.mktemp("scratch")


def starts(names, rows):
    """Return the physical line on which each row of a CSV begins, counted from 1."""
    return [1 + len(re.findall(b"\r\n|\r|\n", written(names, rows[:count]))) for count in range(len(rows))]


@fixed_examples(150)
@example((["question_id", "confidence"], [("a\r\nb", "0.5"), ("\r", "1"), ("x", "2\n"), ("y", "3")]), False)
@example((["question_id", "clue", "confidence"], [("\0", "1.0", "5e-324"), ("\ufeff", "-0", "0.1")]), True)
@given(tables(), st.booleans())
def test_cells_are_read_correctly_or_reported(scratch, table, as_json):
    connection, folder = scratch
    names, rows = table
    path = folder / "run"
    if as_json:
        path.write_text(
            "\n".join(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=len(rows) > 1) for row in rows),
            encoding="utf-8",
        )
    else:
        path.write_bytes(written(names, rows))
    report = Report()
    assert stage(connection, TableFile(path, folder), responses_columns(percent=False), "loaded", report) == [
        n for n in NAMES if n in names
    ]
    loaded = connection.execute("select * exclude (ordinal) from loaded order by ordinal").fetchall()
    lines = range(1, len(rows) + 1) if as_json else starts(names, rows)
    bad = {(problem.line, problem.column) for problem in report.problems}
    assert {line for line, _ in bad} <= {*lines, 1}
    for line, row, typed in zip(lines, rows, loaded, strict=True):
        for name, text in zip(names, row, strict=True):
            value, reported = typed[NAMES.index(name)], (line, name) in bad
            if name in ("question_id", "guess", "model", "elicitation"):
                assert value == (text or None)
                assert reported == (name == "question_id" and not text.strip(" "))
            elif name in ("clue", "confidence"):
                # A confidence of NaN was not stated.
                stated = "" if name == "confidence" and text.strip(" ").lower() == "nan" else text
                number, high = as_float(stated), 1 if name == "confidence" else 2**31 - 1
                fits = number is not None and 0 <= number <= high and (name == "confidence" or number == int(number))
                if reported:
                    assert not (fits and plain_number(stated))
                else:
                    assert value == (number if stated.strip(" ") else None)
                    assert fits or not stated.strip(" ")


@fixed_examples(25)
@given(tables(most=1))
def test_files_are_imported_correctly_or_refused(memory_store, table):
    store, folder = memory_store
    names, rows = table
    (folder / "run.csv").write_bytes(written(names, rows))
    version = store.version()
    try:
        report = bundles.put(store, folder / "run.csv", form="responses", dataset="toy", model="somebody")
    except Refused as refused:
        assert all(problem.reason and problem.file == "run.csv" for problem in refused.problems)
        assert store.version() == version
        return
    stored = with_runs(store.snapshot()).rows(
        "select question_id, clue, confidence, guess, correct, token_logprobs from responses where run = $run",
        {"run": report.runs[0]},
    )
    texts = dict.fromkeys(NAMES, "") | dict(zip(names, rows[0], strict=True))
    assert len(stored) == 1
    question, clue, confidence, guess, correct, logprobs = stored[0]
    assert (question, clue) == (texts["question_id"], float(texts["clue"]))
    assert 0 <= confidence <= 1 and 0 <= correct <= 1
    if texts["confidence"].strip(" "):
        assert confidence == float(texts["confidence"])
    elif logprobs is not None:
        assert confidence == pytest.approx(sum(map(math.exp, json.loads(texts["token_logprobs"]))) / len(logprobs))
    assert guess == texts["guess"] or not texts["guess"]
    assert plain_number(texts["correct"]) is False or correct == float(texts["correct"])
