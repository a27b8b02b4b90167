"""The addresses of runs: where each came from, and its responses in a form that can be imported again."""

import csv
import io
import json
import re
import shutil
from datetime import UTC, datetime
from urllib.parse import quote

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.importing import ingest
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.models import merge
from clueline.data.store.run_tags import change_tags
from clueline.data.store.run_withdrawal import withdraw
from tests.helpers.bundle_factory import write
from tests.helpers.examples import examples
from tests.helpers.json_api import error, get, table

FORMS = {"csv": "text/csv", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}
CLASSES = ["yes", "no", 'it, "depends"']
HOSTILE = [
    '=HYPERLINK("http://x","y")', "+1", "-1", "@x", "a,b", "a\nb", "a\r\nb", "a\rb", "\r", "\n", '"', '""', "'", " lead",
    "trail ", " ", "\t", "null", "NULL", "None", "nan", "true", "1.50", "1e5", "é", "e\u0301", "日本", "🙂", "\u202eabc",
    "\ufeffx", "\u2028", "\x1f\x1e", "\x85", "\x01", "<script>alert(1)</script>", '{"a":1}', "[1,2]", "\\n", "\\", "#x", ";",
    "a;b\tc", "$x", "%s", "𝒳" * 50,
]  # fmt: skip
NAMES = list(dict.fromkeys(name for name in [*HOSTILE, *(f"q{index}" for index in range(20))] if name.strip()))


def client_of(folder):
    return create_app(Settings(store=str(folder), workers=1)).test_client()


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Folder of a store with three datasets and no runs: one with clues, one with classes, one with neither."""
    root = tmp_path_factory.mktemp("bare")
    questions = as_json_lines([{"question_id": name, "answer": "Paris [or City of Light]"} for name in NAMES])
    clues = as_json_lines(
        [{"question_id": name, "clue": clue, "text": f"two words {clue}"} for name in NAMES for clue in range(3)]
    )
    for dataset, facts in {
        "walk": {"kind": "incremental"}, "classed": {"kind": "single", "classes": CLASSES}, "free": {"kind": "single"},
    }.items():  # fmt: skip
        facts |= {"dataset": dataset, "title": dataset}
        tables = {"questions__jsonl": questions, "clues__jsonl": clues if dataset == "walk" else None}
        write(root / dataset, facts, questions=None, clues=None, **tables)
    bundles = [root / name for name in ("walk", "classed", "free")]
    ingest.import_paths(open_store(root / "store", threads=1), bundles, ImportOptions())
    return root / "store"


@pytest.fixture
def two_stores(bare, tmp_path):
    """Two copies of the store without runs."""
    return [shutil.copytree(bare, tmp_path / name) for name in ("one", "other")]


def put(folder, path, content, **options):
    path.write_bytes(content)
    (run,) = ingest.import_paths(open_store(folder, threads=1), [path], ImportOptions(form="responses", **options)).runs
    return run


def as_json_lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def parsed(form, content):
    """Return the rows of an export as another program reads them: without blank cells, and with lists and maps parsed."""
    if form == "jsonl":
        rows = [json.loads(line) for line in content.decode().split("\n")[:-1]]
    elif form == "parquet":
        rows = pl.read_parquet(io.BytesIO(content)).to_dicts()
        for row in rows:
            if isinstance(row.get("options"), list) and row["options"] and isinstance(row["options"][0], dict):
                row["options"] = {entry["key"]: entry["value"] for entry in row["options"]}
    else:
        rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
        for row in rows:
            row["clue"] = int(row["clue"])
            for name in ("confidence", "correct"):
                row[name] = float(row[name]) if row.get(name) else None
            for name in ("token_logprobs", "options"):
                row[name] = json.loads(row[name]) if row.get(name) else None
            row["guess"] = row.get("guess") or None
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def check_round_trip(two_stores, tmp_path, rows, dataset):
    """Import rows, export them in every form, find the rows in each, and import each elsewhere as the same run."""
    source, other = two_stores
    options = {"dataset": dataset, "model": 'a model, "odd"/../name', "elicitation": "v"}
    run = put(source, tmp_path / "in.jsonl", as_json_lines(rows), **options)
    client = client_of(source)
    facts = get(client, f"/api/v1/runs/{run}")
    contents = []
    for form, mimetype in FORMS.items():
        answer = client.get(f"/api/v1/runs/{run}/responses.{form}")
        assert answer.status_code == 200, answer.text
        assert answer.mimetype == mimetype
        assert re.fullmatch(
            rf'attachment; filename="[A-Za-z0-9_-][A-Za-z0-9._-]*{run}\.{form}"', answer.headers["Content-Disposition"]
        )
        assert int(answer.headers["Content-Length"]) == len(answer.data)
        exported = {(row.pop("question_id"), row.pop("clue")): row for row in parsed(form, answer.data)}
        assert {(row["model"], row["elicitation"]) for row in exported.values()} == {(options["model"], "v")}
        given = {(row["question_id"], row.get("clue", 0)): row for row in rows}
        assert list(exported) == sorted(given, key=lambda key: (key[0].encode(), key[1]))
        for key, row in exported.items():
            wanted = {name: value for name, value in given[key].items() if value is not None} | {"model": options["model"]}
            wanted |= {"elicitation": "v"}
            wanted.pop("question_id"), wanted.pop("clue", None)
            for derived in ("confidence", "guess"):  # from options and log-probabilities
                if derived in row and derived not in wanted:
                    assert "options" in wanted or "token_logprobs" in wanted
                    del row[derived]
            assert row == wanted, (form, key)
        contents.append(answer.data)
    for form, content in zip(FORMS, contents, strict=True):
        assert put(other, tmp_path / f"again.{form}", content, dataset=dataset) == run
    assert get(client_of(other), f"/api/v1/runs/{run}")["sha256"] == facts["sha256"]
    assert len(get(client_of(other), "/api/v1/runs")["runs"]) == 1


ROUND_TRIPS = {
    "hostile guesses": ("walk", [
        {"question_id": NAMES[at % len(NAMES)], "clue": at // len(NAMES), "guess": guess, "confidence": (at + 1) / 97}
        for at, guess in enumerate([*HOSTILE, None])
    ]),
    "correctness where stated": ("walk", [
        {"question_id": "q0", "clue": 0, "guess": "Paris", "confidence": 0.1 + 0.2, "correct": 0.0},
        {"question_id": "q0", "clue": 1, "guess": "Paris", "confidence": 1.0},
        {"question_id": "q0", "clue": 2, "guess": "Rome", "confidence": 5e-324, "correct": 1 / 3},
    ]),
    "log-probabilities": ("walk", [
        {"question_id": "q0", "clue": 0, "guess": "x", "token_logprobs": [-0.1, -1e-300, 0.0, -123.456]},
        {"question_id": "q0", "clue": 1, "guess": "y", "token_logprobs": [-0.1 - 0.2], "confidence": 0.5},
        {"question_id": "q1", "clue": 2, "guess": "z", "confidence": 0.5},
    ]),
    "distributions as lists": ("classed", [
        {"question_id": "q0", "options": [0.7, 0.2, 0.1]},
        {"question_id": "q1", "options": [1 / 3, 1 / 3, 1 / 3], "guess": "no"},
        {"question_id": "q2", "options": [1.0, 0.0, 0.0], "guess": "no", "confidence": 0.9, "correct": 1.0},
        {"question_id": "q3", "guess": "no", "confidence": 0.9},
    ]),
    "distributions as maps": ("free", [
        {"question_id": "q0", "options": {"B": 0.75, "A": 0.25}},
        {"question_id": "q1", "options": {"=1+1": 0.1 + 0.2, 'a "b"\n': 0.5, "": 0.2}, "guess": "=1+1"},
        {"question_id": "q3", "guess": "no", "confidence": 0.9},
    ]),
}  # fmt: skip


@pytest.mark.parametrize("what", ROUND_TRIPS)
def test_an_export_imports_as_the_same_run(two_stores, tmp_path, what):
    dataset, rows = ROUND_TRIPS[what]
    check_round_trip(two_stores, tmp_path, rows, dataset)


def test_a_run_without_guesses(two_stores, tmp_path):
    rows = [{"question_id": "q0", "clue": 0, "confidence": 0.25, "correct": 1.0}]
    check_round_trip(two_stores, tmp_path, rows, "walk")
    run = get(client_of(two_stores[0]), "/api/v1/runs")["runs"][0]["run"]
    header = client_of(two_stores[0]).get(f"/api/v1/runs/{run}/responses.csv").text.splitlines()[0]
    assert header == "question_id,clue,confidence,correct,model,elicitation"


# Everything except what UTF-8 cannot hold and NUL, which DuckDB's reader of text files treats as the end of a cell.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)


@examples(3)
@given(guesses=st.lists(TEXTS, min_size=1, max_size=60), confidences=st.lists(st.floats(0, 1), min_size=60, max_size=60))
def test_any_guess_and_confidence_are_exported(bare, tmp_path_factory, guesses, confidences):
    folder = tmp_path_factory.mktemp("any")
    two_stores = [shutil.copytree(bare, folder / name) for name in ("one", "other")]
    rows = [
        {"question_id": f"q{index // 3}", "clue": index % 3, "guess": guess, "confidence": confidences[index]}
        for index, guess in enumerate(guesses)
    ]
    check_round_trip(two_stores, folder, rows, "walk")


def test_the_bundled_runs_import_as_the_same(client, tmp_path, copied):
    """Runs of the sample are exported. A store that has their datasets recognises them as runs that it has."""
    store = open_store(copied)
    before = store.version()
    runs = get(client, "/api/v1/runs")["runs"]
    for dataset, form in zip(dict.fromkeys(run["dataset"] for run in runs), FORMS, strict=True):
        names = [run["run"] for run in runs if run["dataset"] == dataset]
        paths = [tmp_path / f"{name}.{form}" for name in names]
        for name, path in zip(names, paths, strict=True):
            path.write_bytes(client.get(f"/api/v1/runs/{name}/responses.{form}").data)
        assert ingest.import_paths(store, paths, ImportOptions(form="responses", dataset=dataset)).runs == names
    assert store.version() == before


def test_runs_have_their_provenance(client):
    answer = get(client, "/api/v1/runs")
    assert [run["dataset"] for run in answer["runs"]] == ["pyramid"] * 8 + ["lifeeval"] * 5 + ["tone"] * 6
    optimal = answer["runs"][8]
    assert (optimal["items"], optimal["questions"], optimal["missing_questions"]) == (808, 808, 0)
    assert optimal["file_name"] == "lifeeval/responses/1-optimal.csv"
    assert optimal["imported_by"] is None and optimal["withdrawn_at"] is None and optimal["skipped"] == {}
    assert optimal["sha256"].startswith(optimal["run"]) and len(optimal["sha256"]) == 64
    assert optimal["imported_at"].endswith("Z")
    age = datetime.now(UTC) - datetime.fromisoformat(optimal["imported_at"])
    assert 0 <= age.total_seconds() < 3600


@pytest.mark.parametrize("newest", ["0", "1"])
def test_runs_come_in_pages(client, newest):
    every = [run["run"] for run in get(client, "/api/v1/runs")["runs"]][:: -1 if newest == "1" else 1]
    pages, after = [], ""
    while after is not None:
        answer = get(client, f"/api/v1/runs?limit=5&newest={newest}&after={after}")
        assert answer["total"] == len(every)
        pages.append([run["run"] for run in answer["runs"]])
        after = answer["next"]
    assert pages == [every[start : start + 5] for start in range(0, len(every), 5)]
    assert len(table(client, "/api/v1/runs.csv")) == len(every) and len(table(client, "/api/v1/runs.csv?limit=5")) == 5
    assert error(client, "/api/v1/runs?after=nobody", 400)["field"] == "after"


def test_runs_are_searched_and_filtered(fresh):
    """Each filter keeps what the facts of the runs say, alone and together."""
    client, store = fresh.client, fresh.service.store
    every = get(client, "/api/v1/runs")["runs"]
    first, second = every[0], every[9]
    change_tags(store, first["run"], {"reasoning": "yes", "notes": "Looks odd"}, None)
    change_tags(store, second["run"], {"reasoning": "no"}, None)
    withdraw(store, second["run"], None)
    merge(store, [first["model"], second["model"]], "One Model", None)
    day = first["imported_at"][:10]
    one_model = [run["run"] for run in every if run["model"] in (first["model"], second["model"])]
    wanted = {
        "search=LOOKS": [first["run"]], f"search={second['run']}": [second["run"]], "search=one+model": one_model,
        "of_model=One+Model": one_model, f"of_model={quote(first['model'])}&dataset=lifeeval": [],
        "tagged=reasoning": [first["run"], second["run"]], "tagged=reasoning%3Dno": [second["run"]],
        "withdrawn=1": [second["run"]], "tagged=reasoning&withdrawn=0": [first["run"]], "search=%25%25": [],
        f"since={day}": [run["run"] for run in every], "since=2999": [], f"until={day[:7]}": [run["run"] for run in every],
        "until=2001-02": [],
    }  # fmt: skip
    for keys, runs in wanted.items():
        assert [run["run"] for run in get(client, f"/api/v1/runs?{keys}")["runs"]] == runs, keys
        assert [row["run"] for row in table(client, f"/api/v1/runs.csv?{keys}")] == runs, keys
    assert error(client, "/api/v1/runs?since=soon", 400)["field"] == "since"


def test_a_single_run_equals_its_row_in_the_list(client):
    for run in get(client, "/api/v1/runs")["runs"]:
        assert get(client, f"/api/v1/runs/{run['run']}") == run


def test_uploader_skipped_rows_and_withdrawal_of_a_run(fresh, tmp_path):
    path = tmp_path / "answers of a model.csv"
    path.write_text("Answer,Confidence,Question ID\n80,0.5,1\nnone,0.5,2\n70,x,3\n60,y,4\n")
    options = ImportOptions(form="lifeeval", model="m")
    (run,) = ingest.import_paths(fresh.service.store, [path], options, by="lab").runs
    facts = get(fresh.client, f"/api/v1/runs/{run}")
    assert (facts["imported_by"], facts["file_name"], facts["withdrawn_at"]) == ("lab", path.name, None)
    assert (facts["items"], facts["questions"], facts["missing_questions"]) == (1, 4, 804)
    assert (facts["no_confidence"], facts["unparsed"], facts["failed"]) == (2, 1, 0)
    assert facts["skipped"] == {"answer is not a number": 1, "confidence is not a number": 2}
    sql = "update runs set withdrawn_at = timestamp '2026-01-02 03:04:05.678901' where run = $r"
    fresh.service.store.write(lambda connection: connection.execute(sql, {"r": run}))
    gone = get(fresh.client, f"/api/v1/runs/{run}")
    assert gone == facts | {"withdrawn_at": "2026-01-02T03:04:05.678901Z"}
    assert gone in get(fresh.client, "/api/v1/runs?dataset=lifeeval")["runs"]
    assert fresh.client.get(f"/api/v1/runs/{run}/responses.csv").status_code == 200


def test_an_export_leaves_no_file_behind(client, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run = get(client, "/api/v1/runs")["runs"][0]["run"]
    assert client.get(f"/api/v1/runs/{run}/responses.csv").status_code == 200
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_cannot_be_written_is_an_error(client, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    run = get(client, "/api/v1/runs")["runs"][0]["run"]
    assert error(client, f"/api/v1/runs/{run}/responses.csv", 503)["code"] == "store_unavailable"
