# ruff: noqa: E501
"""Refused imports: each problem names the file, line, column, value and reason that a person needs, and nothing changes."""

import gzip
import io
import json
import unicodedata
import zipfile

import duckdb
import polars as pl
import pytest

from clueline.data.importing import report
from clueline.data.importing.report import Problem, Refused
from clueline.data.importing.table_contract import trimmed_text
from clueline.data.importing.table_files import OPEN_QUOTE, zstd
from clueline.data.readers import readers
from clueline.data.readers.responses import NOT_MADE
from clueline.data.store import open_store
from tests.helpers import bundle_factory as bundles

KEYS = ", ".join(sorted(readers()))
TOO_HIGH = "must lie in [0, 1]"
NOT_FINITE = "must be a finite number: infinities are not accepted"
NEEDED = "one of confidence, token_logprobs and options is required, unless there is a guess without a confidence"
DUPLICATE = "this run has an answer to this question and clue already"
REQUIRED = "a value is required here"
HEADER = "question_id,clue,guess,confidence\n"
VOTED = {"dataset": "voted", "kind": "votes", "classes": ["yes", "no"]}
SPANS = {"dataset": "spans", "kind": "lifeeval"}


@pytest.fixture(scope="module")
def toy_store(tmp_path_factory):
    """A store and its version. No test of this module changes its content, which is checked at the end."""
    root = tmp_path_factory.mktemp("toy_store")
    store = open_store(root / "store", threads=1)
    people = {
        "exposures": "question_id,match_id,team,heard_words\nq1,m1,Ash,\n",
        "buzzes": "question_id,match_id,team,word,correct\nq1,m1,Ash,3,true\n",
    }
    voted = {"facts": VOTED, "questions": "question_id\nv1\n", "clues": None, "votes": "question_id,class,votes\nv1,yes,3\n"}
    spans = {"facts": SPANS, "questions": "question_id,sex,minimum_age,radius\n1,male,30,1\n", "clues": None}
    bare = {"facts": {"dataset": "bare", "kind": "single"}, "questions": "question_id\nb1\n", "clues": None}
    bundles.put(store, bundles.write(root / "toy", responses=bundles.RESPONSES, **people), model="m")
    for name, bundle in {"voted": voted, "spans": spans, "bare": bare}.items():
        bundles.put(store, bundles.write(root / name, **bundle))
    version, content = store.version(), bundles.content(store)
    yield store, version
    assert bundles.content(store) == content


def refusal(toy_store, *paths, **options) -> Refused:
    """Return the refusal of an import, and check that it left the store unchanged."""
    store, version = toy_store
    with pytest.raises(Refused) as refused:
        bundles.put(store, *paths, **options)
    assert store.version() == version
    return refused.value


def reported(toy_store, *paths, **options):
    """Return the problems of a refusal as tuples without the file, and check that they name the imported files."""
    problems = refusal(toy_store, *paths, **options).problems
    assert {problem.file for problem in problems} == {path.name for path in paths}
    return [(p.line, p.column, p.value, p.reason) for p in problems]


def csv(text, **files):
    return {"run.csv": text if isinstance(text, bytes) else text.encode()} | files


def parquet(**columns):
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


GOOD = HEADER + "q1,0,Rome,0.5\n"
PARQUET = parquet(question_id=["q1"], clue=[0], confidence=[0.5])
LONG = ("q1,0,Rome,0.5\n" * 20_000).encode()  # more than one block of a compressor

UNREADABLE = {
    "no confidence of any kind": (csv("question_id,clue,guess\nq1,0,Rome\n"), [
        (1, "confidence", None, "one of confidence, token_logprobs and options is required; the file has: question_id, clue, guess"),
    ]),
    "a column that stands twice": (csv("question_id,clue,clue,confidence\nq1,0,0,1\n"), [(1, "clue", None, "this column is in the header twice")]),
    "an empty file": (csv(""), [(None, None, None, "the file is empty")]),
    "a header only": (csv(HEADER), [(None, None, None, "there are no rows below the header")]),
    "a blank first line": (csv("\n" + GOOD), [(1, None, None, "the first line is blank; it must name the columns")]),
    "a header that does not close its quotes": (csv('question_id,"clue\n"'), [
        (1, None, 'question_id,"clue\n', "the first line must name the columns; this one does not end, or leaves a quote open"),
    ]),
    "too few and too many fields": (csv(GOOD + "q1,1\nq1,2,Rome,0.5,extra\n"), [
        (3, None, "q1,1", "2 fields where the header has 4"), (4, None, "q1,2,Rome,0.5,extra", "5 fields where the header has 4"),
    ]),
    "white space for a row": (csv(GOOD + "  \n"), [(3, None, "  ", "1 field where the header has 4")]),
    "line breaks in quotes before a short row": (csv(HEADER + 'q1,0,"Ro\n\nme",0.5\nq1\n'), [(5, None, "q1", "1 field where the header has 4")]),
    "CR LF before a short row": (csv(GOOD.replace("\n", "\r\n") + "q1\r\n"), [(3, None, "q1", "1 field where the header has 4")]),
    "a quote that is not closed": (csv(GOOD + 'q1,1,"Rome,0.5\nq1,2,Rome,0.5\n'), [(3, None, 'q1,1,"Rome,0.5\nq1,2,Rome,0.5', OPEN_QUOTE)]),
    "text behind a quote": (csv(GOOD + 'q1,1,"Ro"me,0.5\n'), [(3, None, 'q1,1,"Ro"me,0.5', OPEN_QUOTE)]),
    "mixed line ends and a short row": (csv(HEADER + "q1,0,Rome,0.5\r\nq1\n"), [(3, None, "q1", "1 field where the header has 4")]),
    "mixed line ends and an open quote": (csv(HEADER + 'q1,0,Rome,0.5\r\nq1,1,"Ro"me,0.5\r\n'), [(3, None, 'q1,1,"Ro"me,0.5', OPEN_QUOTE)]),
    "Latin-1": (csv((GOOD + "q1,1,Orl\xe9ans,0.5\n").encode("latin-1")), [(3, None, r"q1,1,Orl\xe9ans,0.5\n", "the text is not UTF-8; save the file as UTF-8")]),
    "Latin-1 in the header": (csv("question_id,clue,confidence,pr\xe9nom\n".encode("latin-1")), [
        (1, None, r"fidence,pr\xe9nom\n", "the text is not UTF-8; save the file as UTF-8"),
    ]),
    "UTF-16": (csv(GOOD.encode("utf-16")), [(1, None, r"\xff\xfeq\x00u\x00e\x00s\x00t", "the text is not UTF-8; save the file as UTF-8")]),
    "truncated gzip": ({"run.csv.gz": gzip.compress(HEADER.encode() + LONG)[:-200]}, [
        (None, None, None, "the gzip data is damaged or cut short (Compressed file ended before the end-of-stream marker was reached); create or download the file again"),
    ]),
    "damaged gzip": ({"run.csv.gz": gzip.compress(LONG, mtime=0)[:300] + b"\0" * 50}, "the gzip data is damaged or cut short"),
    "truncated zstd": ({"run.csv.zst": zstd.compress(LONG)[:-10]}, "the zstd data is damaged or cut short"),
    "damaged zstd": ({"run.csv.zst": zstd.compress(LONG)[:20] + b"\xff" * 30}, "the zstd data is damaged or cut short"),
    "gzip of nothing": ({"run.csv.gz": gzip.compress(b"")}, [(None, None, None, "the gzip file holds nothing")]),
    "a Parquet file that is none": ({"run.parquet": GOOD.encode()}, [
        (None, None, None, "this is not a Parquet file: it does not begin with the bytes PAR1"),
    ]),
    "a truncated Parquet file": ({"run.parquet": PARQUET[:-40]}, "this Parquet file is damaged or cut short; write or download it again"),
    "a Parquet file whose middle is gone": ({"run.parquet": PARQUET[:4] + b"\0" * 60 + PARQUET[64:]}, "this Parquet file is damaged or cut short; write or download it again"),
    "Latin-1 in JSON": ({"run.jsonl": b'{"question_id": "q1", "clue": 0, "confidence": 0.5}\n{"question_id": "q\xe9"}\n'}, [
        (2, None, r'on_id": "q\xe9"}\n', "the text is not UTF-8; save the file as UTF-8"),
    ]),
    "one list of JSON": ({"run.json": b'[{"question_id": "q1", "clue": 0, "confidence": 0.5}]'}, [
        (1, None, None, "this is one JSON list; write JSON Lines, an object on each line"),
    ]),
}  # fmt: skip
RESPONSES = {
    "a missing column": (csv("question,clue,confidence\nq1,0,0.5\n"), [(1, "question_id", None, "this column is missing; is 'question' meant? The file has: question, clue, confidence")]),
    "a confidence in percent": (csv(HEADER + "q1,0,Rome,0.5\nq1,1,Rome,80\n"), [(3, "confidence", "80", TOO_HIGH)]),
    "a negative confidence": (csv(HEADER + "q1,0,Rome,-0.1\n"), [(2, "confidence", "-0.1", "must lie in [0, 1]")]),
    "NaN without a guess": (csv(HEADER + "q1,0,,NaN\n"), [(2, "confidence", None, NEEDED)]),
    "a correctness of NaN": (csv("question_id,clue,guess,confidence,correct\nq1,0,Rome,0.5,NaN\n"), [
        (2, "correct", "NaN", "must be a finite number: NaN and infinities are not accepted"),
    ]),
    "a state that is none": (csv("question_id,clue,guess,confidence,state\nq1,0,Rome,0.5,Answered\n"), [
        (2, "state", "Answered", "must be one of: answered, scored, no_confidence, unparsed, abstained, failed"),
    ]),
    "a state that needs a confidence": (csv("question_id,clue,guess,confidence,state\nq1,0,Rome,,answered\n"), [
        (2, "confidence", None, NEEDED),
    ]),
    "infinities": (csv(HEADER + "q1,0,Rome,inf\nq1,1,Rome,-Infinity\nq1,2,Rome,1e999\n"), [
        (2, "confidence", "inf", NOT_FINITE), (3, "confidence", "-Infinity", NOT_FINITE), (4, "confidence", "1e999", NOT_FINITE),
    ]),
    "text for a number": (csv(HEADER + 'q1,0,Rome,high\nq1,1,Rome,"0,5"\nq1,2,Rome,80%\nq2,0,Rome,0_5\n'), [
        (2, "confidence", "high", "must be a number"), (3, "confidence", "0,5", "must be a number"),
        (4, "confidence", "80%", "must be a number without a percent sign; 85% is written as 0.85"), (5, "confidence", "0_5", "must be a number"),
    ]),
    "neither a guess nor a confidence": (csv(HEADER + "q1,0,,\n"), [(2, "confidence", None, NEEDED)]),
    "an unknown question": (csv(HEADER + "q1,0,Rome,0.5\nq9,0,Rome,0.5\n"), [(3, "question_id", "q9", "no such question in dataset toy")]),
    "no question": (csv(HEADER + " ,0,Rome,0.5\n"), [(2, "question_id", None, REQUIRED)]),
    "an unknown clue": (csv(HEADER + "q1,3,Rome,0.5\nq2,-1,Rome,0.5\n"), [
        (2, "clue", "3", "no such clue: the question has clues 0 to 2"), (3, "clue", "-1", "must be at least 0"),
    ]),
    "no clue": (csv("question_id,confidence\nq1,0.5\n"), [(2, "clue", None, "which clue? The question has 3")]),
    "a clue that is no whole number": (csv(HEADER + "q1,1.5,Rome,0.5\nq1,first,Rome,0.5\nq1,99999999999,Rome,0.5\n"), [
        (2, "clue", "1.5", "must be a whole number"), (3, "clue", "first", "must be a whole number"),
        (4, "clue", "99999999999", "must be at most 2147483647"),
    ]),
    "rows that stand twice": (csv(HEADER + "q1,0,Rome,0.5\nq2,0,Nile,1\nq1,0,Paris,0.6\nq1,0,Rome,0.5\n"), [
        (4, "question_id", "q1", DUPLICATE), (5, "question_id", "q1", DUPLICATE),
    ]),
    "a correctness that is none": (csv("question_id,clue,confidence,correct\nq1,0,1,perhaps\nq1,1,1,2\nq1,2,1,nan\n"), [
        (2, "correct", "perhaps", "must be true, false or a number"), (3, "correct", "2", "must lie in [0, 1]"),
        (4, "correct", "nan", "must be a finite number: NaN and infinities are not accepted"),
    ]),
    "log-probabilities that are none": (
        csv('question_id,clue,token_logprobs\nq1,0,"[-0.1, 0.5]"\nq1,1,"[-0.1, x]"\nq1,2,-0.1\nq2,0,[]\nq2,1,"[-1, nan]"\n'), [
        (2, "token_logprobs", "[-0.1, 0.5]", "must be at most 0"), (3, "token_logprobs", "[-0.1, x]", "must be a list of finite numbers"),
        (4, "token_logprobs", "-0.1", "must be a list of finite numbers"), (5, "token_logprobs", "[]", "must be a list of finite numbers"),
        (6, "token_logprobs", "[-1, nan]", "must be a list of finite numbers"),
    ]),
    "a column of near name": (csv("questionId,clue,guess,confidence\nq1,0,Nile,0.5\n"), [
        (1, "question_id", None, "this column is missing; is 'questionId' meant? The file has: questionId, clue, guess, confidence"),
    ]),
    "a column of no near name": (csv("qid,clue,guess,confidence\nq1,0,Nile,0.5\n"), [
        (1, "question_id", None, "this column is missing; the file has: qid, clue, guess, confidence"),
    ]),
    "a further grade": (csv("question_id,clue,guess,confidence,correct,correct.second\nq1,0,Rome,0.25,1,7\n"), [(2, "correct.second", "7", "must lie in [0, 1]")]),
    "a mark of failed calls that is none": (
        csv("question_id,clue,guess,confidence,failed\nq1,0,Rome,0.5,0.5\nq1,1,Rome,0.5,maybe\nq1,2,Rome,0.5,2\nq2,0,Rome,0.5,nan\n"),
        [(line, "failed", value, "must be true or false") for line, value in enumerate(("0.5", "maybe", "2", "nan"), 2)],
    ),
    "a call that did not fail, with nothing": (csv("question_id,clue,guess,failed\nq1,0,,false\nq1,1,,true\n"), [(2, "confidence", None, NEEDED)]),
    "several faults in one row, one to a cell": (csv(HEADER + "q9,x,Rome,80\n"), [
        (2, "clue", "x", "must be a whole number"), (2, "confidence", "80", TOO_HIGH), (2, "question_id", "q9", "no such question in dataset toy"),
    ]),
    "blank lines before a bad row": (csv(HEADER + "\n\nq1,0,Rome,0.5\n\nq1,1,Rome,2\n"), [(6, "confidence", "2", TOO_HIGH)]),
    "line breaks in quotes before a bad row": (csv(HEADER + 'q1,0,"Ro\n\nme",0.5\nq1,1,"a\r\nb",2\nq1,2,"a\n""b",x\n'), [
        (5, "confidence", "2", TOO_HIGH), (7, "confidence", "x", "must be a number"),
    ]),
    "mixed line ends and a bad cell": (csv(HEADER + 'q1,0,"Ro\nme",0.5\r\nq1,1,Rome,2\n'), [(4, "confidence", "2", TOO_HIGH)]),
    "a bad row of a Parquet file": ({"run.parquet": parquet(question_id=["q1", "q1"], clue=[0, 1], confidence=[0.5, float("inf")])}, [
        (2, "confidence", "inf", NOT_FINITE),
    ]),
    "Parquet columns of the wrong types": (
        {"run.parquet": parquet(question_id=["q1"], clue=[[0]], confidence=[True], correct=[{"a": 1}], token_logprobs=[["x"]], options=[1.5])}, [
        (1, "clue", "[0]", "must be a whole number"), (1, "confidence", "true", "must be a number"),
        (1, "token_logprobs", "[x]", "must be a list of finite numbers"), (1, "correct", "{'a': 1}", "must be true, false or a number"),
    ]),
    "a bad line of JSON": ({"run.jsonl": b'{"question_id": "q1", "clue": 0, "confidence": 0.5}\n\n{"question_id": "q1"\n[1]\nnull\n'}, [
        (3, None, '{"question_id": "q1"', "this line is not a JSON object"), (4, None, "[1]", "this line is not a JSON object"),
        (5, None, "null", "this line is not a JSON object"),
    ]),
    "NaN in JSON": ({"run.jsonl": b'{"question_id": "q1", "clue": 0, "confidence": NaN}\n{"question_id": "q1", "clue": 1, "confidence": Infinity}\n'}, [
        (1, "confidence", None, NEEDED), (2, "confidence", "Infinity", NOT_FINITE),
    ]),
    "nests in JSON": ({"run.jsonl": b'{"question_id": "q1", "clue": {}, "confidence": [0.5]}\n'}, [
        (1, "clue", "{}", "must be a whole number"), (1, "confidence", "[0.5]", "must be a number"),
    ]),
    "blank lines before a bad line of JSON": ({"run.jsonl": b'{"question_id": "q1", "clue": 0, "confidence": 0.5}\r\n\r\n  \r\n{"question_id": "q2", "clue": 0, "confidence": 5}\r\n'}, [
        (4, "confidence", "5", TOO_HIGH),
    ]),
    "a missing key of JSON": ({"run.jsonl": b'{"clue": 0, "confidence": 0.5}\n'}, [(1, "question_id", None, "this column is missing; the file has: clue, confidence")]),
}  # fmt: skip


def check(problems, expected, folder):
    """Check the problems of a file: line, column, value and reason, or only how the reason begins."""
    if isinstance(expected, str):
        ((*place, reason),) = problems
        assert place == [None, None, None] and reason.startswith(expected) and str(folder) not in reason
    else:
        assert problems == expected


def test_unreadable_responses(toy_store, tmp_path):
    """All of them are imported together, so that the problems of one do not hide those of another."""
    cases = {}
    for number, (files, expected) in enumerate(UNREADABLE.values()):
        ((name, content),) = files.items()
        cases[f"{number}-{name}"] = expected
        (tmp_path / f"{number}-{name}").write_bytes(content)
    problems = refusal(toy_store, *map(tmp_path.joinpath, cases), form="responses", dataset="toy", model="new").problems
    assert {problem.file for problem in problems} == {*cases}
    for case, expected in cases.items():
        check([(p.line, p.column, p.value, p.reason) for p in problems if p.file == case], expected, tmp_path)


@pytest.mark.parametrize("case", RESPONSES)
def test_responses(toy_store, tmp_path, case):
    files, expected = RESPONSES[case]
    ((name, content),) = files.items()
    (tmp_path / name).write_bytes(content)
    check(reported(toy_store, tmp_path / name, form="responses", dataset="toy", model="new"), expected, tmp_path)


OPTIONS = dict.fromkeys(
    ['{"yes": -0.1, "no": 1.1}', "[0, 0]", '{"yes": 0}', '{"yes": NaN}', '{"yes": 1e999}', '{"yes": "much", "no": 1}',
     '{"yes": {"p": 1}}', "[1, null]", "{}"],
    "probabilities must be at least 0, finite and not all 0",
) | {
    "[0.2, 0.3, 0.5]": "the dataset has 2 classes, and the list has 3",
    "[]": "the dataset has 2 classes, and the list has 0",
    '{"yes": 0.5, "perhaps": 0.5}': "names a class that the dataset does not have; it has yes, no",
    '{"yes": 0.5, "yes": 0.5}': "names an option twice",
} | dict.fromkeys(
    ["yes", "0.5", '"yes"', '{"yes": 0.5', "null"], "must be a map of options to probabilities, or a list of probabilities"
)  # fmt: skip


def test_options(toy_store, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(
        bundles.table([{"question_id": "v1", "options": options, "model": f"m{i}"} for i, options in enumerate(OPTIONS)])
    )
    result = reported(toy_store, path, dataset="voted")
    assert result == [(line, "options", options, reason) for line, (options, reason) in enumerate(OPTIONS.items(), start=2)]


# What is asked for with the file, its content, its problems, and what would fix them.
BY_IDS = "the questions are those of dataset 'toy'"
TOY = {"model": "m", "dataset": "toy"}
ASKED = [
    ({"dataset": "toy"}, GOOD, [(1, "model", None, "which model? The file has no such column")], "model"),
    ({"dataset": "toy"}, "question_id,clue,confidence,model\nq1,0,0.5,a\nq1,1,0.5,\n", [
        (3, "model", None, "which model? This row does not say: fill it in, or leave the column out and name the model when importing"),
    ], "model"),
    ({"model": "m"}, GOOD, [(None, None, None, f"which dataset do these answer? By their ids, {BY_IDS}")], "dataset"),
    ({"model": "m", "dataset": "nowhere"}, GOOD, [(None, None, None, f"there is no dataset 'nowhere'; by their ids, {BY_IDS}")], "dataset"),
    ({"model": "m", "form": "excel"}, GOOD, [(None, None, None, f"unknown format 'excel'; this version reads: {KEYS}")], None),
    ({"dataset": "toy"}, "a,b\n1,2\n", [
        (None, None, None, f"the format is not recognised (its columns: a, b); this version reads: {KEYS}"),
    ], "format"),
    (TOY, HEADER + "q1,0,Rome,50\n", [(2, "confidence", "50", TOO_HIGH)], "percent"),
    (TOY | {"percent": True}, HEADER + "q1,0,Rome,101\nq1,1,Rome,-1\nq1,2,Rome,99\n", [
        (2, "confidence", "101", "must lie in [0, 100]"), (3, "confidence", "-1", "must lie in [0, 100]"),
    ], None),
    (TOY, HEADER + "q9,0,Rome,0.5\n", [(2, "question_id", "q9", "no such question in dataset toy")], None),
    (TOY, 'question_id,clue,options,guess\nq2,0,"[0.5, 0.5]",\nq2,1,"{""yes"": 1}",no\n', [
        (2, "options", "[0.5, 0.5]", "a list of probabilities needs a dataset that names its classes; give a map"),
        (3, "guess", "no", "is not one of the options, so they give no confidence for it; name one of them, or state a confidence"),
    ], None),
    (TOY | {"dataset": "bare"}, "question_id,guess,confidence\nb1,Rome,0.5\n", [
        (2, "correct", "Rome", "the file does not say whether this is correct, and the question has no answer to grade it by"),
    ], None),
    (TOY | {"dataset": "spans"}, "question_id,guess,confidence\n1,76 years,0.5\n", [
        (2, "guess", "76 years", "a LifeEval answer is an age: a number of years, or nothing"),
    ], None),
]  # fmt: skip


@pytest.mark.parametrize(("options", "text", "expected", "hint"), ASKED)
def test_a_problem_hints_at_what_would_fix_it(toy_store, tmp_path, options, text, expected, hint):
    path = tmp_path / "run.csv"
    path.write_text(text)
    problems = refusal(toy_store, path, **options).problems
    fitting = ("toy",) if "'toy'" in problems[0].reason else ()
    assert problems == [Problem("run.csv", *row, hint, choices=fitting) for row in expected]


def test_a_dataset_that_cannot_be_made_says_what_is_missing(toy_store, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("question_id,guess,confidence\nx1,Rome,0.5\nx2,Bonn,0.5\n")
    (problem,) = refusal(toy_store, path, model="m", dataset="capitals").problems
    missing = f"there is no dataset 'capitals' (the store has: bare, spans, toy, voted), and {NOT_MADE}"
    assert problem.reason == f"{missing}; it has question_id, guess and confidence" and problem.hint is None


def test_no_such_path(toy_store, tmp_path):
    problem = refusal(toy_store, tmp_path / "nothing").problems[0]
    assert (problem.file, problem.reason) == (str(tmp_path / "nothing"), "there is no such file or folder")


def zipped(files, **damage):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def spoilt(content):
    """Return a zip whose first member cannot be unpacked."""
    return content[:60] + b"\xff" * 20 + content[80:]


OTHERS = {
    "notes.txt": (b"Dear all,\nhello\n", "the format is not recognised (its columns: Dear all, ); this version reads: "),
    "table.zip": (b"PK\x03\x04 and then nothing", "the zip is damaged or cut short (File is not a zip file)"),
    "photo.csv": (b"\x89PNG\r\n\x1a\n\xff\xfe", "this is a picture, not a table"),
    "book.zip": (zipped({"xl/workbook.xml": "<x/>", "[Content_Types].xml": "<x/>"}), "this workbook cannot be read: "),
    "half.zip": (
        zipped({"questions.csv": "question_id\n"}),
        "the format is not recognised (it has no dataset.json, which makes a bundle; it holds: questions.csv)",
    ),
    "file-and-folder.zip": (zipped({"a": "x", "a/b": "y"}), "the zip is damaged or cut short"),
    "spoilt.zip": (spoilt(zipped({"dataset.json": json.dumps(bundles.FACTS) * 20})), "the zip is damaged or cut short"),
    "short.zip": (zipped({"dataset.json": json.dumps(bundles.FACTS)})[:-30], "the zip is damaged or cut short"),
}  # fmt: skip


def test_files_that_cannot_be_read_are_refused(toy_store, tmp_path):
    for name, (content, _) in OTHERS.items():
        (tmp_path / name).write_bytes(content)
    problems = refusal(toy_store, *(tmp_path / name for name in OTHERS), dataset="toy", model="m").problems
    assert sorted(problem.file for problem in problems) == sorted(OTHERS)
    for problem in problems:
        assert problem.reason.startswith(OTHERS[problem.file][1]), problem


# -- bundles ---------------------------------------------------------------------------------------------------------

NEW = bundles.FACTS | {"dataset": "new"}
KINDS = "must be one of: incremental, single, lifeeval, votes, forecast"
FACTS = {
    "missing": (None, [("", None, None, None, "the format is not recognised (it has no dataset.json, which makes a bundle; it holds: ")]),
    "no JSON": ('{"dataset": "new",\n kind}', [("/dataset.json", 2, None, None, "this is not valid JSON: Expecting property name enclosed in double quotes, at character 2")]),
    "half a character": (r'{"dataset": "new", "kind": "single", "title": "\ud800"}', [("/dataset.json", None, None, None, "a text in it holds half of a character")]),
    "no object": ("[1]", [("/dataset.json", None, None, None, "must be one JSON object")]),
    "nothing said": ("{}", [("/dataset.json", None, "dataset", None, "this is required"), ("/dataset.json", None, "kind", None, "this is required")]),
    "null": ({"dataset": "new", "kind": None}, [("/dataset.json", None, "kind", None, "this is required")]),
    "a bad kind": (NEW | {"kind": "quiz"}, [("/dataset.json", None, "kind", "quiz", KINDS)]),
    "a bad id": (NEW | {"dataset": "New Set"}, [("/dataset.json", None, "dataset", "New Set", "a dataset id is made of a-z, 0-9 and -")]),
    "an empty id": (NEW | {"dataset": ""}, [("/dataset.json", None, "dataset", "", "a dataset id is made of a-z, 0-9 and -")]),
    "wrong types": (NEW | {"title": 5, "simulated": "yes", "private": "yes"}, [
        *(("/dataset.json", None, name, '"yes"', "must be true or false") for name in ("simulated", "private")),
        ("/dataset.json", None, "title", "5", "must be text"),
    ]),
    "bad classes": (NEW | {"classes": ["a", "a"]}, [("/dataset.json", None, "classes", '["a", "a"]', "must be a list of different names")]),
    "no classes": (NEW | {"classes": []}, [("/dataset.json", None, "classes", "[]", "must be a list of different names")]),
    "classes of numbers": (NEW | {"classes": [1, 2]}, [("/dataset.json", None, "classes", "[1, 2]", "must be a list of different names")]),
}  # fmt: skip


def test_dataset_json(toy_store, tmp_path):
    paths = [bundles.write(tmp_path / case, facts) for case, (facts, _) in FACTS.items()]
    result = {(p.file, p.column): (p.line, p.value, p.reason) for p in refusal(toy_store, *paths).problems}
    expected = {(case + file, row[1]): row for case, (_, problems) in FACTS.items() for file, *row in problems}
    assert result.keys() == expected.keys()
    for key, (line, _, value, reason) in expected.items():
        assert result[key][:2] == (line, value) and result[key][2].startswith(reason), key


EXPOSURES = "question_id,match_id,team,team_kind,heard_words\n"
BUZZES = "question_id,match_id,team,word,correct\n"
VOTES = "question_id,class,votes\n"
LAST_WORD = "the question has 16 words, numbered from 0; its end is 16"
BUNDLES = {
    "no questions file": ({"questions": None}, [("questions.csv", None, None, None, "the bundle has no such file")]),
    "two files of a table": ({"questions__jsonl": '{"question_id": "q1"}'}, [("", None, None, None, "there are two tables of questions: questions.csv, questions.jsonl")]),
    "a question twice": ({"questions": bundles.QUESTIONS + "q1,Rome,\n"}, [("questions.csv", 4, "question_id", "q1", "this question is in the file already")]),
    "ids that browsers take out of addresses": ({"questions": "question_id\n..\n.\nok\n", "clues": None}, [
        ("questions.csv", 2, "question_id", "..", "this id cannot be part of an address"), ("questions.csv", 3, "question_id", ".", "this id cannot be part of an address"),
    ]),
    "a difficulty": ({"questions": "question_id,difficulty\nq1,1.5\nq2,-1\n"}, [
        ("questions.csv", 2, "difficulty", "1.5", "must lie in [0, 1]"), ("questions.csv", 3, "difficulty", "-1", "must lie in [0, 1]"),
    ]),
    "a clue twice": ({"clues": bundles.CLUES + "q1,0,again,20\n"}, [("clues.csv", 7, "clue", "0", "this clue of the question is in the file already")]),
    "a clue left out": ({"clues": bundles.CLUES.replace("q1,1,", "q1,4,")}, [
        ("clues.csv", 4, "clue", "2", "clues must be numbered from 0 without gaps; this question has no clue 1"),
    ]),
    "a clue of no question": ({"clues": bundles.CLUES + "q3,0,text,4\n"}, [("clues.csv", 7, "question_id", "q3", "no such question in this bundle")]),
    "LifeEval about nobody": ({"facts": NEW | {"kind": "lifeeval"}, "clues": None, "questions": "question_id,sex,minimum_age,radius\na,,130,5\nb,other,30,0\n"}, [
        ("questions.csv", 2, "sex", None, "a LifeEval question needs this"), ("questions.csv", 2, "minimum_age", "130", "must lie in [0, 119]"),
        ("questions.csv", 3, "sex", "other", "must be one of: male, female"), ("questions.csv", 3, "radius", "0", "must lie in [1, 120]"),
    ]),
    "clues that do not go on": ({"clues": bundles.CLUES.replace(",10\n", ",5\n")}, [
        ("clues.csv", 3, "word_end", "5", "a clue must end after the one before it, which ends at word 5"),
    ]),
    "a clue without words": ({"clues": "question_id,clue,text\nq1,0,One two.\nq1,1,\nq2,0,x\n"}, [
        ("clues.csv", 3, "word_end", None, "this clue adds no words to the one before it"),
    ]),
    "no questions": ({"questions": "question_id\n", "clues": None}, [("dataset.json", None, None, None, "the dataset has no questions")]),
    "a second buzz": ({"buzzes": BUZZES + "q1,m1,Ash,3,true\nq1,m2,Ash,3,true\nq1,m1,Ash,5,false\n"}, [
        ("buzzes.csv", 4, "team", "Ash", "a second buzz of this team on this question in this match"),
    ]),
    "a buzz behind the end": ({"buzzes": BUZZES + "q1,m1,Ash,17,true\nq1,m1,Oak,16,true\n"}, [("buzzes.csv", 2, "word", "17", LAST_WORD)]),
    "a buzz after the question was over": (
        {"exposures": EXPOSURES + "q1,m1,Ash,human,5\nq1,m1,Oak,human,5\n", "buzzes": BUZZES + "q1,m1,Ash,6,true\nq1,m1,Oak,5,true\n"},
        [("buzzes.csv", 2, "word", "6", "this team heard only 5 words of the question")],
    ),
    "a team in another case": (
        {"exposures": EXPOSURES + "q1,m1,Ash,human,\nq1,m1,Oak,human,\n", "buzzes": BUZZES + "q1,m1,ASH,6,true\nq1,M1,Oak,5,true\n"},
        [("buzzes.csv", 2, "team", "ASH", "no exposure of this team in this match; is 'Ash' in 'm1' meant?"),
         ("buzzes.csv", 3, "team", "Oak", "no exposure of this team in this match; is 'Oak' in 'm1' meant?")],
    ),
    "half a correct buzz": ({"buzzes": BUZZES + "q1,m1,Ash,1,0.5\n"}, [("buzzes.csv", 2, "correct", "0.5", "must be true or false")]),
    "a buzz on nothing": ({"buzzes": BUZZES + "q7,m1,Ash,1,yes\n,m1,Ash,1,yes\n"}, [
        ("buzzes.csv", 2, "question_id", "q7", "no such question in this dataset"), ("buzzes.csv", 3, "question_id", None, REQUIRED),
    ]),
    "a buzz of nobody": ({"buzzes": BUZZES + "q1,m1,,x,maybe\n"}, [
        ("buzzes.csv", 2, "team", None, REQUIRED), ("buzzes.csv", 2, "word", "x", "must be a whole number"),
        ("buzzes.csv", 2, "correct", "maybe", "must be true, false or a number"),
    ]),
    "heard twice": ({"exposures": EXPOSURES + "q1,m1,Ash,human,\nq1,m1,Ash,human,5\n"}, [
        ("exposures.csv", 3, "team", "Ash", "this team heard this question in this match already"),
    ]),
    "heard more than there is": ({"exposures": EXPOSURES + "q1,m1,Ash,human,17\n"}, [("exposures.csv", 2, "heard_words", "17", "the question has only 16 words")]),
    "neither man nor machine": ({"exposures": EXPOSURES + "q1,m1,Ash,ghost,\n"}, [("exposures.csv", 2, "team_kind", "ghost", "must be one of: human, model")]),
    "an unknown class": ({"facts": NEW | {"classes": ["yes", "no"]}, "votes": VOTES + "q1,yes,1\nq1,maybe,2\n"}, [
        ("votes.csv", 3, "class", "maybe", "not one of the classes of this dataset: yes, no"),
    ]),
    "negative votes": ({"votes": VOTES + "q1,yes,-1\nq1,no,0.5\n"}, [
        ("votes.csv", 2, "votes", "-1", "must be at least 0"), ("votes.csv", 3, "votes", "0.5", "must be a whole number"),
    ]),
    "votes twice": ({"votes": VOTES + "q1,yes,1\nq1,yes,1\n"}, [("votes.csv", 3, "class", "yes", "votes for this class of the question are in the file already")]),
}  # fmt: skip


@pytest.mark.parametrize("which", [slice(2), slice(2, 9), slice(9, 11), slice(11, None)], ids=("files", "ids", "ends", "people"))
def test_bundles(toy_store, tmp_path, which):
    """Those whose problems are found in the same step are imported together."""
    paths, expected = [], []
    for number, (tables, problems) in enumerate([*BUNDLES.values()][which]):
        facts = tables.get("facts", NEW) | {"dataset": f"new-{number}"}
        paths.append(bundles.write(tmp_path / f"new-{number}", **tables | {"facts": facts}))
        expected += [Problem(f"new-{number}" + ("/" + file if file else ""), *rest) for file, *rest in problems]
    assert sorted(refusal(toy_store, *paths).problems, key=repr) == sorted(expected, key=repr)


def test_all_problems_of_all_files_are_reported_together(toy_store, tmp_path):
    folder = bundles.write(
        tmp_path / "new",
        NEW,
        exposures=EXPOSURES + "q9,m1,Ash,human,\n",
        buzzes=BUZZES + "q1,m1,Ash,99,true\n",
        responses=HEADER + "q1,0,Rome,80\nq9,0,Rome,1\n",
    )
    (folder / "responses" / "second.csv").write_text(HEADER + "q1,0,Rome,x\n")
    result = refusal(toy_store, folder, model="m").problems
    assert [(p.file, p.line, p.column) for p in result] == [
        ("new/buzzes.csv", 2, "word"),
        ("new/exposures.csv", 2, "question_id"),
        ("new/responses/run.csv", 2, "confidence"),
        ("new/responses/run.csv", 3, "question_id"),
        ("new/responses/second.csv", 2, "confidence"),
        ("new/responses/second.csv", 2, "question_id"),  # the same run answers this in the first file
    ]


def test_files_that_cannot_be_read_do_not_hide_each_other(toy_store, tmp_path):
    folder = bundles.write(tmp_path / "new", NEW, clues=b"\xff", responses=HEADER + "q1,0,Rome,80\n")
    (folder / "responses" / "second.csv.gz").write_bytes(b"\x1f\x8b")
    other = tmp_path / "third.parquet"
    other.write_bytes(b"PAR")
    result = refusal(toy_store, folder, other, tmp_path / "none", model="m").problems
    assert [(p.file, p.line) for p in result] == [
        (str(tmp_path / "none"), None), ("new/clues.csv", 1), ("new/responses/run.csv", 2), ("new/responses/second.csv.gz", None), ("third.parquet", None),
    ]  # fmt: skip


def test_people_who_differ_from_the_store_are_refused(toy_store, tmp_path):
    folder = bundles.write(
        tmp_path / "toy", exposures="question_id,match_id,team,heard_words\nq1,m1,Ash,9\n", buzzes=BUZZES + "q1,m1,Ash,4,true\n"
    )
    reason = "the store holds different values for the same question, match, team"
    assert refusal(toy_store, folder).problems == [
        Problem("toy/buzzes.csv", 2, "team", "Ash", reason, "replace_people"),
        Problem("toy/exposures.csv", 2, "team", "Ash", reason, "replace_people"),
    ]


def test_lifeeval_files(toy_store, tmp_path):
    path = tmp_path / "answers.csv"
    cases = {
        "Answer,Question ID\n76,1\n": [(1, "Confidence", None, "this column is missing; the file has: Answer, Question ID")],
        "Answer,Confidence,Question ID\n76,0.5,x\n": [(2, "Question ID", "x", "must be a whole number")],
        "Answer,Confidence,Question ID\nold,0.5,1\n76,80,1\n76,,1\n": [
            (None, None, None, "no row holds an answer with a confidence; 1 time: answer is not a number; "
             "1 time: confidence is not a number; 1 time: confidence outside [0, 1]"),
        ],
    }  # fmt: skip
    for text, expected in cases.items():
        path.write_text(text)
        assert reported(toy_store, path, dataset="spans", model="m") == expected
    assert reported(toy_store, path, dataset="spans")[0][3] == "which model answered?"
    assert (
        reported(toy_store, path, dataset="none")[0][3]
        == "there is no dataset 'none' for these answers; import its questions first"
    )


def test_very_many_problems_are_counted(toy_store, tmp_path, monkeypatch):
    path = tmp_path / "run.csv"
    path.write_text(HEADER + "".join(f"q9,{i},Rome,80\n" for i in range(2500)))
    refused = refusal(toy_store, path, dataset="toy", model="m")
    assert (len(refused.problems), refused.total) == (2 * report.MAX_LISTED_PROBLEMS, 5000)
    assert refused.problems[-1].line == report.MAX_LISTED_PROBLEMS + 1
    path.write_text(HEADER + "q1\n" * 2500)
    refused = refusal(toy_store, path, dataset="toy", model="m")
    assert (len(refused.problems), refused.total) == (report.MAX_LISTED_PROBLEMS, 2500)
    path.write_text("question_id,clue,confidence\n" + "q1,0,80\n" * 1100)
    with_two_reasons = refusal(toy_store, path, dataset="toy", model="m")  # too large, so that there is none
    assert [(kind.examples[0].column, kind.count) for kind in with_two_reasons.kinds] == [
        ("confidence", 1100),
        ("question_id", 1099),
    ]


def test_a_problem_reads_as_a_sentence():
    assert str(Problem("run.csv", 3, "confidence", "80", TOO_HIGH)) == (
        "run.csv, line 3, column confidence, value '80': must lie in [0, 1]"
    )
    assert str(Problem("run.csv", None, None, None, "the file is empty")) == "run.csv: the file is empty"


def test_cells_are_trimmed_of_every_space_of_unicode():
    spaces = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Zs"]
    assert " " in spaces and "\u3000" in spaces and len(spaces) > 10
    cells = ["a", "ab", "a b", "é", "aé", "1.5", "\t", "\ta", "a\t", "\x7f", "\n1"]
    cells += [f"{before}{core}{after}" for space in spaces for core in ("a", "é", "a b", f"a{space}b")
              for before, after in ((space, ""), ("", space), (space, space), (space * 2, ""), ("", f"{space} "))]  # fmt: skip
    cells += ["", *spaces, *(space * 2 for space in spaces)]
    with duckdb.connect() as connection:
        connection.execute("create table t (nth integer, cell varchar)")
        connection.executemany("insert into t values (?, ?)", list(enumerate([*cells, None])))
        trimmed = [row[0] for row in connection.execute(f"select {trimmed_text('cell')} from t order by nth").fetchall()]
    assert trimmed == [*(cell.strip("".join(spaces)) or None for cell in cells), None]
