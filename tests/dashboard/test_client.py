"""The client module against a live server, and the examples in its document."""

import json
import shutil
import sys
import urllib.request
from operator import methodcaller
from types import SimpleNamespace

import polars as pl
import pytest

from clueline.dashboard.client import LEADERBOARD, QUESTIONS, Client, ClientError
from tests.helpers.invented_tables import draw_tables
from tests.helpers.notebooks import run_notebook
from tests.helpers.paths import ROOT
from tests.helpers.serving import free_port, serving
from tests.helpers.study_tables import FIGURES, same_figures, words_of
from tests.helpers.uploads import upload_client

NOTEBOOK = methodcaller("_repr_html_")  # what notebooks ask an object for


@pytest.fixture(scope="module")
def open_server(first_start, tmp_path_factory):
    """The address of a server on a copy of the store of a first start that takes uploads without a token."""
    store = tmp_path_factory.mktemp("client") / "store"
    shutil.copytree(first_start, store, ignore=shutil.ignore_patterns("cache"))
    with serving(upload_client(store, uploads="open").app) as address:
        yield address


@pytest.fixture(scope="module")
def client(open_server):
    with Client(open_server) as client:
        yield client


def test_examples_of_the_document_print_what_it_states(open_server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
    stated = "http://127.0.0.1:8050"
    pairs = run_notebook(text, "client.md", {stated: open_server})
    assert len(pairs) > 8
    for printed, expected in pairs:
        assert printed == expected.replace(stated, open_server)
    assert (tmp_path / "my-model.csv").read_text(encoding="utf-8").count("Frankenstein") == 339


def test_a_selection_too_long_for_an_address_is_stored(client):
    runs = client.runs("tone")["run"].to_list()
    for many in (runs[1:], runs[1:] * 200):
        assert set(client.leaderboard(["ece"], dataset="tone", run=many)["run"]) == set(runs[1:])
        question = client.question("tone", client.prompts("tone")["question_id"][0], run=many)
        assert set(question.responses["run"]) == set(runs[1:])
    with pytest.raises(ClientError, match="has no run 'nobody'"):
        client.leaderboard(["ece"], dataset="tone", run=[*runs * 200, "nobody"])


def test_a_frame_has_the_digits_of_the_server(open_server, client):
    address = f"{open_server}/api/v1/leaderboard?dataset=tone&metrics=ece,calscore&intervals=1"
    with urllib.request.urlopen(address) as answer:
        rows = json.load(answer)["rows"]
    frame = client.leaderboard(["ece", "calscore"], intervals=True, dataset="tone")
    assert frame.height == 2 * len(rows) == 12
    for row in frame.to_dicts():
        (cell,) = (other["metrics"][row["metric"]] for other in rows if other["run"] == row["run"])
        assert {name: row[name] for name in ("value", "low", "high", "rank", "missing")} == {
            name: cell[name] for name in ("value", "low", "high", "rank", "missing")
        }
    assert frame.filter(pl.col("metric") == "calscore")["missing"].null_count() == 0  # nobody played tone


def test_a_notebook_shows_a_view_in_a_frame(client, open_server):
    view = client.show('/reliability?dataset=pyramid&q=a"b', height=400)
    html = NOTEBOOK(view)
    assert view.address.startswith(f"{open_server}/reliability?dataset=pyramid")
    assert 'height="400"' in html and "&amp;embed=1" in html and 'a"b' not in html
    assert "?embed=1" in NOTEBOOK(client.show("/people"))


def test_a_frame_can_be_one_of_pandas(client, monkeypatch):
    class PandasFrame(dict):
        pass

    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=PandasFrame))
    frame = client.frame("/leaderboard.csv?dataset=tone&metrics=ece", kind="pandas", category=["Travel", "Work"])
    polars = client.table("/api/v1/leaderboard", dataset="tone", metrics="ece", category=["Travel", "Work"])
    assert type(frame) is PandasFrame and frame == polars.to_dict(as_series=False)


def test_questions_come_page_by_page(client):
    run = client.runs("pyramid").item(0, "run")
    whole = client.questions(["brier"], sort=f"-brier:{run}", dataset="pyramid", run=run)
    assert whole.height == 60 and whole["value"].is_sorted(descending=True)
    assert client.questions(["brier"], sort=f"-brier:{run}", dataset="pyramid", run=run, limit=25).equals(whole)


def test_nothing_selected_is_a_frame_without_rows(client):
    assert client.questions(dataset="pyramid", q="no question says this").schema == QUESTIONS
    nothing = client.leaderboard(["ece"], dataset="pyramid", q="no question says this")
    assert nothing.schema == LEADERBOARD and nothing.is_empty()


def test_a_downloaded_file_uploads_as_the_same_run(client, tmp_path):
    facts = client.runs("pyramid").row(0, named=True)
    path = client.download(facts["run"], tmp_path / "run.jsonl", "jsonl")
    upload = client.upload(path, "pyramid", facts["model"], facts["elicitation"])
    assert not upload.new and upload.runs["run"].to_list() == [facts["run"]]


def test_an_upload_can_have_tags(client):
    answers = client.prompts("pyramid").select("question_id", "clue", guess=pl.lit("nobody"), confidence=pl.lit(0.125))
    upload = client.upload(answers, "pyramid", "tagged", "stated", tags={"reasoning": "yes", "a = b": "ü"})
    assert upload.new
    (run,) = (row for row in client.runs("pyramid").to_dicts() if row["model"] == "tagged")
    assert run["run"] == upload.runs.item(0, "run")
    assert client.leaderboard(["brier"], dataset="pyramid", **{"tag.reasoning": "yes"})["run"].unique().to_list() == [run["run"]]


def test_a_frame_of_another_project_makes_its_dataset(client):
    """Names of columns that say nothing are asked for, with the complete key to state."""
    frame = pl.DataFrame({"prompt": ["a?", "b?", "c?"], "p_true": [0.9, None, 0.2], "hit": [True, False, False]})
    upload = client.upload(frame, dataset="letters", model="m")
    assert upload.runs.select("elicitation", "items").rows() == [("p_true", 2)]
    assert client.questions(dataset="letters")["text"].unique(maintain_order=True).to_list() == ["a?", "b?", "c?"]
    unnamed = frame.rename({"p_true": "x1", "hit": "x2"}).fill_null(0.25)
    with pytest.raises(ClientError) as refusal:
        client.upload(unnamed, dataset="others", model="m")
    assert [row["choices"] for row in refusal.value.rows] == [["correct=x2"], ["confidence=x1"]]
    assert refusal.value.rows[0]["remedy"] == "add column.correct=x2"
    keys = {"column.correct": "x2", "column.confidence": "x1"}
    assert client.upload(unnamed, dataset="others", model="m", **keys).new


@pytest.mark.parametrize("name", ["workbook.xlsx", "stated_in_words.csv"])
def test_tables_of_studies_upload_as_they_are(client, tmp_path, name):
    """One call: dataset, runs and columns are found, and the figures are those of numpy. Only words have to be stated.

    The other tables: ``tests/data/readers/table/test_study_tables.py``.
    """
    expected = draw_tables(tmp_path, 1)[name]
    options = {"words": ",".join(f"{word}={value}" for word, value in words_of(name))} if words_of(name) else {}
    dataset = f"study-{name.partition('.')[0].replace('_', '-')}"
    upload = client.upload(tmp_path / name, dataset, **options)
    assert upload.new
    assert same_figures(figures_of(client, dataset, upload.runs["run"]), expected)


def figures_of(client, dataset, runs):
    """Return the figures of runs on the leaderboard, each by its metric."""
    cells = client.leaderboard(FIGURES, dataset=dataset, common=0).filter(pl.col("run").is_in(runs.to_list()))
    return [dict(zip(run["metric"], run["value"], strict=True)) for _, run in cells.group_by("run")]


def test_a_token_that_is_not_valid_is_refused(open_server):
    with Client(open_server, token="wrong") as client, pytest.raises(ClientError) as refusal:
        client.upload(pl.DataFrame({"question_id": ["art-01"]}), "pyramid", "m")
    assert (refusal.value.code, refusal.value.status) == ("wrong_token", 401)


def test_no_answer_or_another_server_is_an_error(open_server):
    with Client(f"http://127.0.0.1:{free_port()}") as client, pytest.raises(ClientError) as silence:
        client.datasets()
    assert (silence.value.code, silence.value.status) == ("unreachable", 0)
    with Client(f"{open_server}/assets") as client, pytest.raises(ClientError, match="404") as foreign:
        client.datasets()
    assert foreign.value.code == "not_clueline"


@pytest.mark.parametrize(
    ("columns", "keys", "elicitation", "confidences"),
    [
        ({"entropy": [0.1, 0.2, 0.9, 1.5]}, {}, "entropy", [None] * 4),
        ({"entropy": [0.1, 0.2, 0.9, 1.5]}, {"map": "isotonic"}, "entropy, isotonic map", [5 / 6, 0.6, 0.6, 0.6]),
        ({"output": [f"x. Confidence: {n}5%" for n in range(4)]}, {"confidence_pattern": "Confidence: {percent}"}, "verbalized",
         [0.05, 0.15, 0.25, 0.35]),
    ],
)  # fmt: skip
def test_answers_without_a_probability(client, columns, keys, elicitation, confidences):
    dataset = "-".join(["unsure", *keys]).replace("_", "-")
    frame = pl.DataFrame({"id": [f"q{n}" for n in range(4)], "correct": [0, 1, 1, 1], **columns})
    upload = client.upload(frame, dataset, "m", **keys)
    assert upload.runs["elicitation"].to_list() == [elicitation]
    stored = client.responses(upload.runs.item(0, "run"))["confidence"].to_list()
    assert stored == pytest.approx(confidences)


def test_a_mapping_is_kept_offered_and_named(client):
    """Later files with the same columns are read by it if it is named; nobody replaces it by accident."""
    frame = pl.DataFrame({"item": ["a?", "b?"], "x1": [0.9, 0.2], "x2": [True, False]})
    stated = {"column.confidence": "x1", "column.correct": "x2"}
    assert client.upload(frame, dataset="mapped", model="m", save_mapping="lab-harness", **stated).mapping == "lab-harness"
    with pytest.raises(ClientError) as refused:
        client.upload(frame.with_columns(x1=pl.lit(0.5)), dataset="mapped", model="n")
    offer = "the mapping lab-harness of open fits these columns, and was not used; name it to use it."
    assert f"answers.parquet: {offer}" in str(refused.value)
    later = client.upload(frame.with_columns(x1=pl.lit(0.5)), dataset="mapped", model="n", mapping="lab-harness")
    assert (later.new, later.mapping) == (True, "lab-harness")
    wider = frame.with_columns(x1=pl.lit(0.25), note=pl.lit("x"))
    assert client.upload(wider, dataset="mapped", model="o", mapping="lab-harness").mapping == "lab-harness"
    with pytest.raises(ClientError) as unknown:
        client.upload(frame, dataset="mapped", model="p", mapping="other")
    assert unknown.value.code == "unknown_value" and unknown.value.allowed == ["lab-harness"]
    again = client.upload(wider, dataset="mapped", model="q", save_mapping="lab-harness", **stated)
    assert again.new and any("another one is called 'lab-harness'" in warning for warning in again.warnings)


def test_samples_agree_over_http(client):
    samples = pl.DataFrame({
        "id": ["q1"] * 3 + ["q2"] * 3, "trial": [1, 2, 3] * 2, "answer": ["Nile"] * 6,
        "prediction": ["Nile", "nile", "Po", "Po", "Nile", "Po"],
    })  # fmt: skip
    assert any("how many agree can be one" in warning for warning in client.upload(samples, "rivers", "m", dry_run=True).warnings)
    upload = client.upload(samples, "rivers", "m", agreement=True)
    assert client.responses(upload.runs.item(0, "run")).select("guess", "confidence").rows() == [("Nile", 2 / 3), ("Po", 2 / 3)]


def test_the_client_changes_runs_and_models(client):
    rows = client.responses("5666c918c1e9e4dd").select("question_id", "clue", "guess", "confidence").head(4)
    for model in ("first-name", "lab/first-name"):
        answers = rows.with_columns(model=pl.lit(model), correct=pl.lit(True), **{"correct.strict": pl.lit(False)})
        (run,) = client.upload(answers, "pyramid").runs["run"]
    assert client.tag(run, {"reasoning": "yes", "size": "7b"}) == {"reasoning": "yes", "size": "7b"}
    assert client.tag(run, {"size": None}) == {"reasoning": "yes"}

    def accuracy():
        return client.leaderboard(["accuracy"], dataset="pyramid", run=run)["value"].item()

    assert accuracy() == 1
    client.adopt(run, "strict")
    assert accuracy() == 0
    client.adopt(run, "imported")
    assert accuracy() == 1
    question, clue, guess, _ = rows.row(0)
    client.correct(run, [{"question_id": question, "clue": clue, "guess": guess, "correct": False}])
    assert 0 < accuracy() < 1
    client.merge(["first-name", "lab/first-name"], "First Name")
    assert client.table("/api/v1/models")["model"].to_list().count("First Name") == 1
    client.withdraw(run)
    withdrawn = client.runs("pyramid").filter(pl.col("run") == run)["withdrawn_at"].item()
    client.restore(run)
    assert withdrawn is not None and client.runs("pyramid").filter(pl.col("run") == run)["withdrawn_at"].item() is None
    with pytest.raises(ClientError, match="has no grading 'nobodys'") as refused:
        client.adopt(run, "nobodys")
    assert refused.value.field == "grading"
