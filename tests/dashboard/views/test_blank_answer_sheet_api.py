"""The questions that a model has to answer, as a file: it is filled in and imports as it is."""

import csv
import io
import json
import re
from pathlib import Path

from clueline.queries import datasets as query
from tests.helpers.bundle_factory import put, write
from tests.helpers.json_api import get
from tests.helpers.paths import ROOT
from tests.helpers.serving import run_cli

GUIDE = ROOT / "docs" / "importing.md"
SAMPLE = ROOT / "data" / "sample"
HEADER = ["question_id", "clue", "text", "guess", "confidence"]


def prompts(client, address):
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "text/csv"
    rows = list(csv.reader(io.StringIO(answer.get_data(as_text=True), newline="")))
    assert rows[0] == HEADER
    return [dict(zip(HEADER, row, strict=True)) for row in rows[1:]]


def written():
    """Return the prompts of the bundled Pyramid, derived from its files."""
    prefixes, so_far = [], {}
    with (SAMPLE / "pyramid" / "clues.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            so_far[row["question_id"]] = [*so_far.get(row["question_id"], []), row["text"]]
            prefixes.append((row["question_id"], int(row["clue"]), " ".join(so_far[row["question_id"]])))
    return prefixes


def test_each_clue_comes_with_the_text_so_far(client):
    rows = prompts(client, "/api/v1/datasets/pyramid/prompts.csv")
    assert [(row["question_id"], int(row["clue"]), row["text"]) for row in rows] == written()
    assert {(row["guess"], row["confidence"]) for row in rows} == {("", "")}
    # The last clue shows the whole question.
    whole = {
        question["question_id"]: question["text"] for question in get(client, "/api/v1/questions?dataset=pyramid")["questions"]
    }
    assert {row["question_id"]: row["text"] for row in rows} == whole


def test_json_lines_have_the_same_rows(client):
    answer = client.get("/api/v1/datasets/pyramid/prompts.jsonl")
    assert answer.mimetype == "application/x-ndjson"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="pyramid-prompts.jsonl"'
    rows = [json.loads(line) for line in answer.get_data(as_text=True).splitlines()]
    assert [tuple(row.items()) for row in rows] == [
        (("question_id", name), ("clue", clue), ("text", text)) for name, clue, text in written()
    ]


def test_reading_questions_in_parts_changes_nothing(client, monkeypatch):
    monkeypatch.setattr(query, "AT_ONCE", 7)
    assert [row["text"] for row in prompts(client, "/api/v1/datasets/pyramid/prompts.csv")] == [text for _, _, text in written()]


def test_the_selection_keeps_questions_and_clues(client):
    everything = prompts(client, "/api/v1/datasets/pyramid/prompts.csv")
    history = {
        question["question_id"] for question in get(client, "/api/v1/questions?dataset=pyramid&category=History")["questions"]
    }
    rows = prompts(client, "/api/v1/datasets/pyramid/prompts.csv?category=History")
    assert rows == [row for row in everything if row["question_id"] in history] and rows
    rows = prompts(client, "/api/v1/datasets/pyramid/prompts.csv?category=History&revealed=0.9..1")
    last = {row["question_id"]: row for row in everything if row["question_id"] in history}
    assert rows == list(last.values())
    assert prompts(client, "/api/v1/datasets/pyramid/prompts.csv?q=zzzz") == []


def test_a_single_question_is_one_clue(client):
    rows = prompts(client, "/api/v1/datasets/lifeeval/prompts.csv")
    assert len(rows) == 808 and {row["clue"] for row in rows} == {"0"}
    with (SAMPLE / "lifeeval" / "questions.csv").open(newline="", encoding="utf-8") as file:
        assert [(row["question_id"], row["text"]) for row in rows] == [
            (row["question_id"], row["text"]) for row in csv.DictReader(file)
        ]


def test_texts_are_not_altered(fresh, tmp_path):
    """What a spreadsheet treats as a formula stays, as do line ends, spaces and quotes: the model must read what people read."""
    texts = ["=1+1", "+1", "@a", ' "q" ', "a\r\nb", "a\nb\r", "\ufeffx", "é\u0301", "🙂\u202e", "a  b", "\t"]
    names = ['q,"1"\r\n', "=q2"]
    questions = [{"question_id": name, "answer": "x"} for name in names]
    clues = [
        {"question_id": name, "clue": clue, "text": text, "word_end": clue + 1}
        for name in names
        for clue, text in enumerate(texts)
    ]
    lines = {"questions__jsonl": questions, "clues__jsonl": clues}
    tables = {name: "".join(json.dumps(row) + "\n" for row in rows) for name, rows in lines.items()}
    facts = {"dataset": "odd", "title": "Odd", "kind": "incremental"}
    put(fresh.service.store, write(tmp_path / "odd", facts, questions=None, clues=None, **tables))
    rows = prompts(fresh.client, "/api/v1/datasets/odd/prompts.csv")
    expected = [(name, str(clue), " ".join(texts[: clue + 1])) for name in names for clue in range(len(texts))]
    assert [(row["question_id"], row["clue"], row["text"]) for row in rows] == expected
    lines = fresh.client.get("/api/v1/datasets/odd/prompts.jsonl").get_data(as_text=True).split("\n")[:-1]
    assert [tuple(map(str, json.loads(line).values())) for line in lines] == expected
    check_filled(fresh, "odd", tmp_path, len(expected))


def check_filled(fresh, dataset, tmp_path, items):
    answer = fresh.client.get(f"/api/v1/datasets/{dataset}/prompts.csv").get_data(as_text=True)
    path = tmp_path / "filled.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, HEADER)
        writer.writeheader()
        for index, row in enumerate(csv.DictReader(io.StringIO(answer, newline=""))):
            writer.writerow(row | {"guess": str(index % 90), "confidence": index / 1000})
    (run,) = put(fresh.service.store, path, dataset=dataset, model="me").runs
    facts = get(fresh.client, f"/api/v1/runs/{run}")
    assert (facts["items"], facts["missing_questions"]) == (items, 0)


def test_a_blank_sheet_is_refused_row_by_row(client, tmp_path, copied):
    path = tmp_path / "prompts.csv"
    path.write_bytes(client.get("/api/v1/datasets/pyramid/prompts.csv").data)
    done = run_cli("import", path, "--dataset", "pyramid", "--model", "me", store=copied)
    assert done.returncode == 1
    assert "339 problems" in done.stderr and "one of confidence, token_logprobs and options is required" in done.stderr
    Path(done.stderr.strip().splitlines()[-1].split(": ")[-1]).unlink()  # the whole report


def test_the_code_of_the_guide_works(server, copied, tmp_path, monkeypatch):
    """The code of the guide runs as printed there against a server, and then its two commands."""
    text = GUIDE.read_text(encoding="utf-8")
    section = text[text.index("## Questions out, answers in") :]
    code, commands = re.findall(r"```(?:python|sh)\n(.*?)```", section, re.DOTALL)[:2]
    assert len(code.splitlines()) < 20
    assert "http://127.0.0.1:8050" in code
    monkeypatch.chdir(tmp_path)
    exec(compile(code.replace("http://127.0.0.1:8050", server.address), "importing.md", "exec"), {})
    with Path("answers.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 339
    lines = commands.replace("\\\n", " ").splitlines()
    assert [line.split()[1] for line in lines] == ["score", "import"]
    for line in lines:
        arguments = line.split()
        assert arguments[0] == ".venv/bin/clueline"
        done = run_cli(
            *(tmp_path / argument if argument == "answers.csv" else argument for argument in arguments[1:]), store=copied
        )
        assert done.returncode == 0, done.stderr
        assert "my-model" in done.stdout and "339 items of 60 questions" in done.stdout
