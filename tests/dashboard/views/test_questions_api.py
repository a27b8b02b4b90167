"""The list of questions, and one question, as CSV."""

import csv
import io
import json
import re
from urllib.parse import quote

import pytest

from data.importing import ingest
from data.importing.staging import ImportOptions
from queries.metrics import METRICS
from tests.helpers.json_api import get, table

FACTS = (
    "question_id", "text", "answer", "category", "subcategory", "radius", "difficulty", "heard", "people", "h", "conversion",
)  # fmt: skip


def rows_of(answer, runs, metrics):
    """Return the answer of ``/api/v1/questions`` as rows of text."""
    rows = []
    for question in answer["questions"]:
        row = {name: question[name] for name in FACTS}
        for run in runs:
            row |= {f"{key}:{run}": question["runs"].get(run, {}).get(key) for key in metrics}
        rows.append(row)
    return rows


def plain(row):
    return {key: "" if value is None else value if isinstance(value, str) else float(value) for key, value in row.items()}


def numbers(row, texts=("question_id", "text", "answer", "category", "subcategory")):
    return {key: value if key in texts or value == "" else float(value) for key, value in row.items()}


@pytest.mark.parametrize(
    "query",
    [
        "dataset=pyramid",
        "dataset=pyramid&category=History&metrics=calscore,brier&revealed=0..0.5",
        "dataset=pyramid&sort=-difficulty&elicitation=softmax",
        "dataset=lifeeval&radius=5&sort=question_id&metrics=" + ",".join(metric.key for metric in METRICS),
        "dataset=pyramid&q=zzzz",
    ],
)
def test_the_table_holds_what_the_list_says(client, query):
    answer = get(client, f"/api/v1/questions?{query}&limit=1000")
    without = re.sub(r"&(sort|metrics)=[^&]*", "", query)
    runs = [row["run"] for row in get(client, f"/api/v1/leaderboard?{without}&metrics=brier")["rows"]]
    metrics = re.search(r"metrics=([^&]*)", query)
    expected = rows_of(answer, runs, metrics[1].split(",") if metrics else ["brier"])
    rows = table(client, f"/api/v1/questions.csv?{query}")
    assert [numbers(row) for row in rows] == [plain(row) for row in expected]
    assert len(rows) == answer["total"]
    if expected:
        assert list(rows[0]) == list(expected[0])


def test_pages_follow_their_links(client):
    run = get(client, "/api/v1/leaderboard?dataset=pyramid")["rows"][0]["run"]
    start = f"/api/v1/questions.csv?dataset=pyramid&sort=-calscore:{run}&metrics=calscore,brier&category=Arts&category=History"
    whole = table(client, start)
    rows, address = [], f"{start}&limit=7"
    while address:
        rows += table(client, address)
        link = client.get(address).headers.get("Link")
        address = link and re.fullmatch(r'<(.*)>; rel="next"', link)[1]
    assert rows == whole and len(whole) == 20
    assert table(client, f"{start}&cursor=15") == whole[15:]


FORMULA = "=d\re"  # tables put an apostrophe before it


def test_an_id_that_ends_in_csv_is_a_question(fresh, tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "dataset.json").write_text(json.dumps({"dataset": "odd", "title": "Odd", "kind": "single"}))
    names = ["a", "a.csv", "b/c.csv", FORMULA]
    (folder / "questions.jsonl").write_text("".join(json.dumps({"question_id": name, "answer": "x"}) + "\n" for name in names))
    (folder / "responses").mkdir()
    answers = (json.dumps({"question_id": name, "guess": f"{name}\r!", "confidence": 0.5, "model": "m"}) + "\n" for name in names)
    (folder / "responses" / "run.jsonl").write_text("".join(answers))
    ingest.import_paths(fresh.service.store, [folder], ImportOptions())
    for name in names:
        assert get(fresh.client, f"/api/v1/questions/odd/{quote(name)}")["question_id"] == name
        if name != "a":
            answer = fresh.client.get(f"/api/v1/questions/odd/{quote(name)}.csv")
            assert answer.mimetype == "text/csv"
            (row,) = csv.DictReader(io.StringIO(answer.get_data(as_text=True), newline=""))
            assert row["guess"] == ("'" if name == FORMULA else "") + f"{name}\r!"
    (row,) = csv.DictReader(io.StringIO(fresh.client.get("/api/v1/questions/odd/a.csv.csv").get_data(as_text=True), newline=""))
    assert row["guess"] == "a.csv\r!"
    texts = csv.reader(io.StringIO(fresh.client.get("/api/v1/questions.csv?dataset=odd").get_data(as_text=True), newline=""))
    assert [row[0] for row in texts] == ["question_id", *names[:3], f"'{FORMULA}"]
