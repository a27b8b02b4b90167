"""Uploads over HTTP: what is taken, what is refused with which message, and that nothing is stored where it should not be."""

import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import pytest

from clueline.dashboard.uploads import import_process
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.scratch_folders import PREFIX
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import METRICS
from clueline.queries.selection import Selection
from tests.helpers.json_api import error, get
from tests.helpers.paths import ROOT
from tests.helpers.serving import run_cli, start_server
from tests.helpers.uploads import ADDRESS, post, upload_client

RUN = {"run", "model", "elicitation", "items", "questions", "missing_questions", "sha256"}


@pytest.fixture
def upload(copied):
    return upload_client(copied)


@pytest.fixture(scope="module")
def shared(seeded, tmp_path_factory):
    """An upload client that tests share, mostly for files that are refused and leave the store as it is."""
    return upload_client(shutil.copytree(seeded, tmp_path_factory.mktemp("standing") / "store"))


@pytest.fixture(scope="session")
def prompts(client):
    """The prompts of Pyramid as rows, and the header."""
    text = client.get("/api/v1/datasets/pyramid/prompts.csv").get_data(as_text=True)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def filled(rows, guess="Frankenstein", confidence=0.25):
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(row | {"guess": guess, "confidence": confidence} for row in rows)
    return out.getvalue().encode()


def refused(upload, content, status, query="dataset=pyramid&model=m", **more):
    version = upload.service.store.version()
    answer = post(upload, content, status, query, **more)
    assert set(answer) == {"error"} and {"code", "message", "field", "allowed", "rows"} <= set(answer["error"])
    assert upload.service.store.version() == version
    return answer["error"]


def test_a_filled_in_csv_of_prompts_uploads_as_it_is(upload, prompts):
    query = "dataset=pyramid&model=m&elicitation=e&filename=answers.csv"
    answer = post(upload, gzip.compress(filled(prompts)), 201, query)
    (uploaded,) = answer["runs"]
    assert set(uploaded) >= RUN and answer["warnings"] == []
    stated = ("model", "elicitation", "items", "questions", "missing_questions")
    assert [uploaded[key] for key in stated] == ["m", "e", 339, 60, 0]
    facts = get(upload.client, f"{ADDRESS}/{uploaded['run']}")
    assert (facts["imported_by"], facts["file_name"], facts["sha256"]) == ("ann", "answers.csv", uploaded["sha256"])
    assert facts["withdrawn_at"] is None and facts["decisions"] == []
    # The row of the leaderboard is there at once.
    board = get(upload.client, "/api/v1/leaderboard?dataset=pyramid&metrics=brier")
    (row,) = [row for row in board["rows"] if row["run"] == uploaded["run"]]
    # By hand: Frankenstein is the answer of one question of six clues at most, right with 0.25 there.
    items = get(upload.client, f"/api/v1/items?dataset=pyramid&run={uploaded['run']}&limit=1000")["items"]
    assert len(items) == 339
    assert sum(item["correct"] for item in items) in (0, 5, 6)
    assert row["metrics"]["brier"]["value"] is not None
    # The same file again gives the existing run, also on the command line.
    version = upload.service.store.version()
    (again,) = post(upload, filled(prompts), 200, query)["runs"]
    assert (again["run"], again["already_stored"], again["stored"]) == (uploaded["run"], True, True)
    path = upload.store.parent / "again.csv"
    path.write_bytes(filled(prompts))
    options = ImportOptions(dataset="pyramid", model="m", elicitation="e")
    assert import_paths(upload.service.store, [path], options).runs == [uploaded["run"]]
    assert upload.service.store.version() == version


def test_json_lines_of_prompts_upload_with_two_added_keys(shared, client):
    lines = client.get("/api/v1/datasets/pyramid/prompts.jsonl").get_data(as_text=True).splitlines()
    rows = [json.loads(line) | {"guess": "x", "confidence": 0.5} for line in lines]
    answer = post(shared, "".join(json.dumps(row) + "\n" for row in rows).encode(), 201, "dataset=pyramid&model=lines")
    assert answer["runs"][0]["items"] == 339


def test_grades_of_stored_answers_become_another_grading(upload, prompts):
    header, *lines = filled(prompts[:3]).decode().splitlines()

    def with_grades(digits):
        return "\n".join([header + ",correct", *map(",".join, zip(lines, digits, strict=True))]).encode()

    (first,) = post(upload, with_grades("010"), 201)["runs"]
    query = "dataset=pyramid&model=m&filename=Second+reader.csv"
    trial = post(upload, with_grades("110"), 200, f"{query}&dry_run=1")
    answer = post(upload, with_grades("110"), 201, query)
    for (run,) in (trial["runs"], answer["runs"]):
        assert (run["run"], run["stored"], run["gradings"]) == (first["run"], True, ["second-reader"])
    assert answer["warnings"] == [*trial["warnings"], "m (verbalized) is not ranked among the runs of pyramid: answered 3 of 339"]
    assert answer["remedies"] == []
    (compared,) = get(upload.client, f"/api/v1/gradings?dataset=pyramid&run={first['run']}")["runs"]
    (added,) = [grading for grading in compared["gradings"] if grading["name"] == "second-reader"]
    assert (added["source"], added["by"], added["accuracy"]) == ("added", "ann", pytest.approx(2 / 3))
    assert post(upload, with_grades("110"), 200, query)["runs"][0]["gradings"] == []


def test_other_answers_under_a_used_name_get_a_warning(upload, prompts):
    post(upload, filled(prompts[:3]), 201)
    answer = post(upload, filled(prompts[3:]), 201)
    assert "answers only other questions or clues. Nothing says when it was evaluated" in answer["warnings"][0]
    (remedy,) = answer["remedies"]
    assert remedy["hint"] == "one_run" and "in one zip" in remedy["remedy"] and "--" not in remedy["remedy"]


def test_a_form_carries_the_file_and_the_keys(shared, prompts):
    form = {
        "file": (io.BytesIO(filled(prompts)), "..\\..\\C:\\a/b/\x00my\u202e run.csv"),
        "dataset": "pyramid",
        "elicitation": "",
    }
    answer = post(shared, form, 201, "model=form")
    facts = get(shared.client, f"{ADDRESS}/{answer['runs'][0]['run']}")
    assert (facts["model"], facts["file_name"]) == ("form", "my run.csv")


def test_tags_come_with_an_upload(shared, prompts):
    form = {"file": (io.BytesIO(filled(prompts)), "f.csv"), "tag.size": "7B"}
    (uploaded,) = post(shared, form, 201, "dataset=pyramid&model=tagged&tag.reasoning=yes")["runs"]
    assert get(shared.client, f"{ADDRESS}/{uploaded['run']}")["tags"] == {"reasoning": "yes", "size": "7B"}
    rows = get(shared.client, "/api/v1/leaderboard?dataset=pyramid&metrics=brier&tag.size=7B")["rows"]
    assert [row["run"] for row in rows] == [uploaded["run"]]


def test_several_runs_in_one_file_and_percent(shared):
    content = (
        b"question_id,clue,guess,confidence,model,elicitation\nlit-01,0,x,50,a,verbalized\n"
        b"lit-01,0,x,75,b,verbalized\nlit-02,0,x,100,a,verbalized\n"
    )
    answer = post(shared, content, 201, "dataset=pyramid&confidence_scale=percent")
    assert [(run["model"], run["items"], run["missing_questions"]) for run in answer["runs"]] == [("a", 2, 58), ("b", 1, 59)]


def test_other_formats_are_recognised_or_named(shared):
    content = b"Reasoning,Answer,Confidence,Question ID\nr,80,0.5,0\nr,unsure,0.5,1\n"
    (uploaded,) = post(shared, content, 201, "model=gpt")["runs"]
    assert (uploaded["items"], sum(uploaded["skipped"].values())) == (1, 1)
    (same,) = post(shared, content, 200, "model=gpt&format=lifeeval")["runs"]
    assert same["run"] == uploaded["run"]


def test_columns_of_a_table_get_roles(upload):
    rows = b"".join(b"0.%d,%s,%d\n" % (n, b"sure" if n % 2 else b"unsure", n % 3 == 0) for n in range(1, 9))
    asked = refused(upload, b"x1,way,hit\n" + rows, 422, "model=m&filename=t.csv")
    assert [row["remedy"] for row in asked["rows"]] == ["add column.confidence=x1"]
    words = refused(upload, b"x1,way,hit\n" + rows, 422, "model=m&column.confidence=way&column.attribute=x1")
    assert [row["remedy"] for row in words["rows"]] == [
        "add words=sure=?,unsure=?, with a share from 0 to 1, or none, for each question mark"
    ]
    keys = "column.confidence=way&column.confidence=x1&words=sure=.9,unsure=.4&model=m&filename=t.csv"
    answer = post(upload, b"x1,way,hit\n" + rows, 201, keys, address="/api/v1/datasets")
    assert [(run["elicitation"], run["items"]) for run in answer["runs"]] == [("way", 8), ("x1", 8)]
    assert refused(upload, rows, 400, "column.oracle=x1")["code"] == "unknown_value"


def test_offered_answers_are_said_with_their_figures(shared):
    rows = "".join(f"q{n},{n / 4:g},{n % 2}\n" for n in range(1, 41))
    asked = refused(shared, f"id,conf,err\n{rows}".encode(), 422, "model=m&filename=t.csv")
    assert asked["advice"][0] == (
        "t.csv: wrong=err and confidence_of_10=conf gives 40 questions, accuracy 50 %, mean confidence 51.2 %."
    )


def test_rows_of_one_question_are_what_the_upload_says(upload):
    content = b"question_id,clue,guess,confidence,correct\nlit-01,0,x,0.5,1\nlit-01,0,x,0.5,0\n"
    (row,) = refused(upload, content, 422, "dataset=pyramid&model=m")["rows"]
    assert row["hint"] == "repeats" and "repeats=samples" in row["remedy"]
    for repeats, items in (("samples", 2), ("gradings", 1)):
        (run,) = post(upload, content, 201, f"dataset=pyramid&model=m&repeats={repeats}")["runs"]
        assert run["items"] == items
    assert refused(upload, content, 400, "repeats=twice")["allowed"] == ["samples", "gradings"]


BAD = b"question_id,clue,guess,confidence\nlit-01,0,x,0.5\nlit-01,0,x,0.5\nnowhere,0,x,0.5\nlit-02,0,x,50\nlit-03,99,x,inf\n"


@pytest.mark.parametrize("dry", ["", "&dry_run=1"])
def test_bad_rows_are_listed_with_line_column_and_reason(shared, dry):
    problem = refused(shared, BAD, 422, f"dataset=pyramid&model=m&filename=f.csv{dry}")
    assert (problem["code"], problem["total"]) == ("bad_rows", 5)
    bad_rows = sorted((row["line"], row["column"], row["value"]) for row in problem["rows"])
    assert bad_rows == [
        (3, "question_id", "lit-01"), (4, "question_id", "nowhere"), (5, "confidence", "50"), (6, "clue", "99"),
        (6, "confidence", "inf"),
    ]  # fmt: skip
    assert all(row["file"] == "f.csv" and row["reason"] for row in problem["rows"])
    hinted = problem["rows"][2]
    assert (hinted["hint"], hinted["remedy"]) == ("percent", "if the file has percentages, add confidence_scale=percent")
    assert "--" not in json.dumps(problem)


def test_at_most_a_hundred_bad_rows_are_listed_by_default(shared):
    content = b"question_id,clue,guess,confidence\n" + b"nowhere,0,x,0.5\n" * 700
    problem = refused(shared, content, 422)
    assert (len(problem["rows"]), problem["total"]) == (100, 700)
    assert len(refused(shared, content, 422, "dataset=pyramid&model=m&rows=650")["rows"]) == 650


def test_a_dry_run_shows_the_result_and_stores_nothing(upload, prompts):
    some = [row for row in prompts if row["question_id"] not in ("lit-01", "lit-02")]
    version = upload.service.store.version()
    answer = post(upload, filled(some, confidence=0.9), 200, "dataset=pyramid&model=m&dry_run=1")
    assert upload.service.store.version() == version
    (uploaded,) = answer["runs"]
    assert answer["dry_run"] and not uploaded["already_stored"]
    assert (uploaded["questions"], uploaded["missing_questions"]) == (58, 2)
    assert answer["missing"] == [{"run": uploaded["run"], "total": 2, "questions": ["lit-01", "lit-02"]}]
    assert answer["format"] == "responses" and answer["columns"] == ["question_id", "clue", "guess", "confidence"]
    assert [row["clue"] for row in answer["first"]][:3] == [0, 1, 2] and len(answer["first"]) == 10
    error(upload.client, f"{ADDRESS}/{uploaded['run']}", 404)
    # The ranks that it shows come true.
    (row,) = answer["leaderboard"]["rows"]
    assert post(upload, filled(some, confidence=0.9), 201)["runs"][0]["run"] == uploaded["run"]
    board = leaderboard(upload.service.snapshot(), Selection("pyramid"), METRICS)
    (true,) = [row for row in board.rows if row.run == uploaded["run"]]
    assert answer["ranked"] == len(board.rows)
    for key, cell in row["metrics"].items():
        assert (cell["value"], cell["rank"]) == (pytest.approx(true.metrics[key].value, nan_ok=True), true.metrics[key].rank), key


def test_uncertain_grades_are_listed_and_decisions_kept(upload):
    answer = get(upload.client, "/api/v1/questions/pyramid/lit-01")["answer"]
    head = re.split(r"[\[(]", re.sub(r"<[^>]*>", "", answer))[0].strip()
    near = f"{head} Smith"  # one word more than the right answer
    content = f'question_id,clue,guess,confidence\nlit-01,0,"{near}",0.5\nlit-01,1,"{near}",0.5\nlit-02,0,zzzz,0.5\n'.encode()
    uncertain = post(upload, content, 200, "dataset=pyramid&model=m&dry_run=1")["uncertain"]
    (doubt,) = uncertain["guesses"]
    assert (doubt["question_id"], doubt["clues"], doubt["guess"], doubt["correct"]) == ("lit-01", [0, 1], near, 0)
    assert (
        (uncertain["total"], uncertain["graded"], uncertain["looked_at"]) == (1, 2, 2)
        and doubt["reason"]
        and doubt["answer"] == answer
    )
    grades = [{"question_id": "lit-01", "clue": 1, "guess": near, "correct": True}]
    form = {"file": (io.BytesIO(content), "f.csv"), "grades": json.dumps(grades)}
    (uploaded,) = post(upload, form, 201)["runs"]
    assert get(upload.client, f"{ADDRESS}/{uploaded['run']}")["decisions"] == [grades[0] | {"correct": 1.0}]
    (run,) = get(upload.client, f"/api/v1/questions/pyramid/lit-01?run={uploaded['run']}")["runs"]
    assert [clue["correct"] for clue in run["clues"] if clue["guess"] == near] == [0, 1]
    # The exported file, which now states correctness, comes in as the same run.
    out = upload.client.get(f"{ADDRESS}/{uploaded['run']}/responses.csv").data
    assert post(upload, out, 200)["runs"][0]["run"] == uploaded["run"]


BAD_GRADES = [
    "{", "{}", "[1]", '[{"question_id":"q"}]', '[{"question_id":"q","correct":2}]', '[{"question_id":"q","correct":"x"}]',
    '[{"question_id":"q","correct":1,"by":"me"}]', '[{"question_id":"q","correct":1,"clue":99999999999}]',
]  # fmt: skip


def test_decisions_that_cannot_be_read_are_refused(shared):
    for grades in BAD_GRADES:
        problem = refused(shared, {"file": (io.BytesIO(BAD), "f.csv"), "grades": grades}, 400)
        assert (problem["code"], problem["field"]) == ("bad_value", "grades"), grades


LONG = "x" * 501
KEYS = [
    ("colour", "red", "unknown_key"), ("dataset", "nowhere", "unknown_value"), ("format", "xls", "unknown_value"),
    ("confidence_scale", "promille", "unknown_value"), ("dry_run", "yes", "unknown_value"), ("rows", "0", "bad_value"),
    ("rows", "99999", "bad_value"), ("rows", "\u0663", "bad_value"), ("model", LONG, "bad_value"), ("tag.", "yes", "unknown_key"),
    ("tag.size", LONG, "bad_value"), ("tag", "yes", "unknown_key"),
]  # fmt: skip


def test_values_of_keys_are_checked_in_address_and_form(shared):
    def file():
        return {"file": (io.BytesIO(b"x"), "f")}

    for key, value, code in KEYS:
        query = urlencode({key: value})
        for problem in (refused(shared, b"x", 400, query), refused(shared, file() | {key: value}, 400, "")):
            assert (problem["code"], problem["field"]) == (code, key), query
            assert problem["allowed"] or code != "unknown_value", query
    twice = (b"x", "dataset=pyramid&dataset=tone"), (file() | {"dataset": "tone"}, "dataset=pyramid")
    assert [refused(shared, body, 400, query)["code"] for body, query in twice] == ["repeated_key"] * 2


def test_anything_but_a_file_of_runs_is_refused(shared, prompts):
    assert refused(shared, b"", 400)["code"] == "empty_file"
    assert refused(shared, {"dataset": "pyramid"}, 400, "", content_type="multipart/form-data")["code"] == "no_file"
    assert refused(shared, {"data": (io.BytesIO(b"x"), "f")}, 400)["code"] == "no_file"
    two = {"file": [(io.BytesIO(b"x"), "f"), (io.BytesIO(b"y"), "g")]}
    assert refused(shared, two, 400)["code"] == "several_files"
    assert refused(shared, b"x", 400, content_type="multipart/form-data")["code"] == "bad_form"
    assert refused(shared, b"x", 400, content_type="multipart/form-data; boundary=a")["code"] in ("bad_form", "no_file")
    assert refused(shared, filled(prompts), 415, content_type="image/png")["code"] == "unsupported_type"
    assert refused(shared, filled(prompts), 415, headers={"Content-Encoding": "br"})["code"] == "unsupported_encoding"
    assert refused(shared, b"\x89PNG\r\n\x1a\n" + bytes(100), 422)["code"] == "bad_rows"
    problem = refused(shared, b"a,b\n1,2\n", 422)
    assert "the format is not recognised" in problem["rows"][0]["reason"] and "format=" in problem["rows"][0]["remedy"]
    assert "dataset=ID" in refused(shared, filled(prompts), 422, "model=m")["rows"][0]["remedy"]
    assert "model=NAME" in refused(shared, filled(prompts), 422, "dataset=pyramid")["rows"][0]["remedy"]


@pytest.fixture
def other_bundle(tmp_path):
    """Return a bundle as a zip: the bundled dataset Tone under another id, with its runs."""
    folder = tmp_path / "other"
    shutil.copytree(ROOT / "data" / "sample" / "tone", folder)
    facts = json.loads((folder / "dataset.json").read_text())
    (folder / "dataset.json").write_text(json.dumps(facts | {"dataset": "other"}))
    return Path(shutil.make_archive(str(tmp_path / "other"), "zip", folder)).read_bytes()


def test_only_runs_are_taken_as_runs(shared, other_bundle):
    row = refused(shared, other_bundle, 422, "")["rows"][0]
    assert "this brings datasets for dataset 'other'" in row["reason"] and "/api/v1/datasets" in row["remedy"]
    datasets = get(shared.client, "/api/v1/datasets")["datasets"]
    assert [dataset["dataset"] for dataset in datasets] == ["pyramid", "lifeeval", "tone"]


def test_a_dataset_is_published_with_its_runs(upload, other_bundle):
    address = "/api/v1/datasets"
    tried = post(upload, other_bundle, 200, "dry_run=1", address=address)
    (described,) = tried["datasets"]
    assert (described["dataset"], described["questions"], described["runs"]) == ("other", 180, len(tried["runs"]))
    assert {row["run"] for row in tried["leaderboard"]["rows"]} == {row["run"] for row in tried["runs"]}
    assert len(get(upload.client, address)["datasets"]) == 3
    report = post(upload, other_bundle, 201, "", address=address)
    assert [dataset["dataset"] for dataset in report["datasets"]] == ["other"] and report["runs"] == tried["runs"]
    assert get(upload.client, address)["datasets"][-1] == described
    assert get(upload.client, f"/api/v1/runs/{report['runs'][0]['run']}")["imported_by"] == "ann"
    again = post(upload, other_bundle, 200, "", address=address)
    assert again["datasets"] == [] and all(row["stored"] for row in again["runs"])


def test_an_upload_changes_no_dataset(shared, tmp_path):
    folder = tmp_path / "tone"
    shutil.copytree(ROOT / "data" / "sample" / "tone", folder)
    votes = folder / "votes.csv"
    votes.write_text(votes.read_text().replace(",1\n", ",2\n", 1))
    content = Path(shutil.make_archive(str(tmp_path / "changed"), "zip", folder)).read_bytes()
    row = refused(shared, content, 422, "", address="/api/v1/datasets")["rows"][0]
    assert "the store holds different values" in row["reason"] and "command line" in row["remedy"]


@pytest.mark.parametrize("address", [ADDRESS, "/api/v1/datasets"])
def test_an_upload_rewords_no_questions(shared, address):
    """On the command line, LifeEval's released questions replace the bundled wording."""
    rows = "".join(f"Another wording {number},,1,{number}\n" for number in range(808))
    content = f"Question Prompt,Confidence Prompt,True Lifespan,Question ID\n{rows}".encode()
    row = refused(shared, content, 422, "", address=address)["rows"][0]
    assert "other questions for dataset 'lifeeval', which is in the store" in row["reason"] and "command line" in row["remedy"]


def test_a_file_that_is_too_large_is_not_taken(copied, prompts):
    upload = upload_client(copied, max_upload_mb=1)
    most = 2**20
    assert refused(upload, bytes(most + 1), 413)["code"] == "too_large"
    # Without a length, as it is read; and inside a form.
    stream = {"input_stream": io.BytesIO(bytes(most + 1)), "environ_overrides": {"wsgi.input_terminated": True}}
    assert refused(upload, None, 413, **stream)["code"] == "too_large"
    assert refused(upload, {"file": (io.BytesIO(bytes(most + 1)), "f")}, 413)["code"] == "too_large"
    assert refused(upload, {"file": (io.BytesIO(bytes(12 * most)), "f")}, 413)["code"] == "too_large"
    assert refused(upload, {"file": (io.BytesIO(b"x"), "f"), "model": "x" * (9 * 2**20)}, 413, "")["code"] == "too_large"
    # A file of exactly that size is read; a compressed bomb is unpacked no further than its limit.
    assert refused(upload, b"a" * most, 422)["code"] == "bad_rows"
    bomb = gzip.compress(b"question_id,clue,guess,confidence\n" + bytes(11 * most))
    assert "unpacks to more than 10 MiB" in refused(upload, bomb, 422)["rows"][0]["reason"]


def test_a_body_that_breaks_off_is_not_taken(shared):
    cut = {"input_stream": io.BytesIO(b"question_id,"), "environ_overrides": {"CONTENT_LENGTH": "1000"}}
    assert refused(shared, None, 400, **cut)["code"] == "broken_off"
    whole = b'--a\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nquestion_id\r\n--a--\r\n'
    for end in range(len(whole) - 4):
        cut = {"input_stream": io.BytesIO(whole[:end]), "environ_overrides": {"CONTENT_LENGTH": str(len(whole))}}
        problem = refused(shared, None, 400, content_type="multipart/form-data; boundary=a", **cut)
        assert problem["code"] in ("broken_off", "bad_form"), end


def test_a_withdrawn_run_leaves_every_list_and_comes_back(upload, prompts):
    (uploaded,) = post(upload, filled(prompts), 201)["runs"]
    name = uploaded["run"]

    def listed():
        boards = get(upload.client, "/api/v1/leaderboard?dataset=pyramid&metrics=brier")["rows"]
        answered = get(upload.client, "/api/v1/questions/pyramid/lit-01")["runs"]
        return [name in [row["run"] for row in rows] for rows in (boards, answered)]

    before = get(upload.client, f"{ADDRESS}/{name}")
    assert listed() == [True, True]
    gone = upload.client.delete(f"{ADDRESS}/{name}", headers=upload.auth)
    assert gone.status_code == 200 and gone.json["withdrawn_at"] and gone.json["withdrawn_by"] == "ann"
    assert upload.client.delete(f"{ADDRESS}/{name}", headers=upload.auth).json == gone.json  # doing it again changes nothing
    assert listed() == [False, False]
    assert [run for run in get(upload.client, ADDRESS)["runs"] if run["run"] == name] == [gone.json]  # listed, with the mark
    (row,) = get(upload.client, f"/api/v1/leaderboard?dataset=pyramid&run={name}&metrics=brier")["rows"]  # where it is named
    assert row["run"] == name
    assert upload.client.get(f"{ADDRESS}/{name}/responses.csv").status_code == 200  # nothing is erased
    again = post(upload, filled(prompts), 200)
    assert "withdrawn" in again["warnings"][0] and listed() == [False, False]
    back = upload.client.post(f"{ADDRESS}/{name}/restore", headers=upload.auth)
    assert back.status_code == 200 and back.json == before and listed() == [True, True]
    for method, address in (("DELETE", f"{ADDRESS}/nowhere"), ("POST", f"{ADDRESS}/nowhere/restore")):
        answer = upload.client.open(address, method=method, headers=upload.auth)
        assert (answer.status_code, answer.json["error"]["code"]) == (404, "unknown_run")


def test_simultaneous_uploads_leave_room_for_readers(upload, prompts):
    with ExitStack() as others:
        for number in range(8):
            assert others.enter_context(upload.service.upload_slots.hold(str(number)))
        answer = upload.client.post(f"{ADDRESS}?dataset=pyramid&model=m", data=filled(prompts), headers=upload.auth)
        assert answer.status_code == 503 and answer.headers["Retry-After"]
    post(upload, filled(prompts), 201)


def test_an_importer_that_dies_or_hangs_is_reported(shared, prompts, monkeypatch):
    shared.service.import_file = import_process.ImportProcesses().run
    monkeypatch.setattr(import_process.sys, "executable", "/bin/false")
    assert post(shared, filled(prompts), 500)["error"]["code"] == "import_failed"
    sleeper = shared.store.parent / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 60\n")
    sleeper.chmod(0o700)
    monkeypatch.setattr(import_process.sys, "executable", str(sleeper))
    monkeypatch.setattr(import_process, "TIME_LIMIT", 0.2)
    shared.service.import_file = import_process.ImportProcesses().run  # without the process that the other has ready
    assert "too long" in post(shared, filled(prompts), 503)["error"]["message"]


def test_files_left_by_a_killed_server_are_removed(upload, prompts):
    old, other = upload.store / "incoming" / f"{PREFIX}old", upload.store / "incoming" / "other"
    for folder in (old, other):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
        os.utime(folder, (0, 0))
    done = upload.client.post(f"{ADDRESS}?dataset=pyramid&model=m", data=filled(prompts), headers=upload.auth)
    assert done.status_code == 201, done.text
    assert [path.name for path in other.parent.iterdir()] == ["other"] and (other / "file").exists()


def test_the_guides_upload_works_over_a_network(copied, tmp_path, prompts, monkeypatch, capsys):
    """A server started as usual, which imports in its own process, and the curl line of the guide."""
    served = start_server(copied, tmp_path / "log")
    try:
        token = run_cli("token", "create", "lab", store=copied).stdout.strip()
        text = (ROOT / "docs" / "importing.md").read_text(encoding="utf-8")
        (line,) = re.findall(r"^curl .*--data-binary.*$", text, re.MULTILINE)
        (tmp_path / "answers.csv").write_bytes(filled(prompts))
        line = line.replace("http://127.0.0.1:8050", served.address)
        done = subprocess.run(
            ["sh", "-c", line],
            check=False,
            cwd=tmp_path,
            env=os.environ | {"TOKEN": token},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        (uploaded,) = json.loads(done.stdout)["runs"]
        assert (uploaded["model"], uploaded["items"]) == ("my-model", 339)
        # The program of the guide, as printed there: it reads questions and uploads answers.
        (program,) = (code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Bearer" in code)
        assert len([line for line in program.splitlines() if line]) < 20
        monkeypatch.setenv("TOKEN", token)
        exec(compile(program.replace("http://127.0.0.1:8050", served.address), "importing.md", "exec"), {})
        assert "'model': 'my-program'" in capsys.readouterr().out
        with urllib.request.urlopen(f"{served.address}{ADDRESS}/{uploaded['run']}") as answer:
            assert json.load(answer)["imported_by"] == "lab"
        # A revoked token no longer works, whichever worker answers.
        run_cli("token", "revoke", "lab", store=copied)
        request = urllib.request.Request(
            f"{served.address}{ADDRESS}?dataset=pyramid&model=n", filled(prompts), {"Authorization": f"Bearer {token}"}
        )
        for _ in range(4):
            with pytest.raises(urllib.error.HTTPError) as denied:
                urllib.request.urlopen(request)
            assert denied.value.code == 403
    finally:
        served.stop()


def test_uploads_wait_for_their_turn(shared, prompts):
    """There are more uploads than are imported at once, and none is refused."""
    processes = import_process.ImportProcesses(at_once=1)
    running, most, lock = 0, 0, threading.Lock()

    def run(job):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            return processes.run(job)
        finally:
            with lock:
                running -= 1

    shared.service.import_file = run
    results = []

    def send(number):
        client = shared.app.test_client()
        answer = client.post(f"{ADDRESS}?dataset=pyramid&model=m{number}", data=filled(prompts), headers=shared.auth)
        results.append(answer.status_code)

    senders = [threading.Thread(target=send, args=(number,)) for number in range(2)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert results == [201] * 2
    assert most == 2


def test_a_spare_process_takes_the_next_job(shared, prompts, monkeypatch):
    started = []
    popen = import_process.subprocess.Popen
    monkeypatch.setattr(
        import_process.subprocess, "Popen", lambda *args, **named: started.append(popen(*args, **named)) or started[-1]
    )
    processes = import_process.ImportProcesses()
    shared.service.import_file = processes.run
    post(shared, filled(prompts), 201)
    assert len(started) == 2 and started[1].poll() is None
    post(shared, filled(prompts), 201, query="dataset=pyramid&model=second")
    assert len(started) == 3
    started[2].kill()  # as the system does when it is short of memory
    started[2].wait()
    post(shared, filled(prompts), 201, query="dataset=pyramid&model=third")
    assert len(started) == 5
    spare = started[-1]
    spare.stdin.close()  # the server is gone
    assert spare.wait(120) == 0


def test_a_write_that_fails_names_no_folder(upload, prompts, caplog):
    """For example, the folder of uploads cannot be created, or the disk is full."""
    (upload.store / "incoming").write_text("in the way")
    answer = upload.client.post(f"{ADDRESS}?dataset=pyramid&model=m", data=filled(prompts), headers=upload.auth)
    message = answer.json["error"]["message"]
    assert answer.status_code == 503 and "the store cannot be written" in message
    assert str(upload.store) not in message and "tmp" not in message
    assert str(upload.store) in caplog.text  # for the operator
