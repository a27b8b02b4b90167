"""Models of names as three tools write them: listed, merged by one confirmation each, and shown on all datasets."""

import json

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from tests.helpers.bundle_factory import put_file
from tests.helpers.drawn_pages import drawn, words
from tests.helpers.json_api import error, get, table
from tests.helpers.model_families import MODELS, MONTHS, QUESTIONS, TOOLS, fill

API = "/api/v1/"


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    """An app that takes uploads, on eight models, three benchmarks and two months."""
    folder = tmp_path_factory.mktemp("families")
    fill(open_store(folder / "store", threads=1), folder / "files")
    return create_app(Settings(store=str(folder / "store"), workers=1, uploads="open"))


@pytest.fixture(scope="module")
def merged(families):
    """The same after each proposal was accepted."""
    client = families.test_client()
    before = get(client, f"{API}runs")["runs"]
    proposals = get(client, f"{API}models")["proposals"]
    assert len(proposals) == len(MODELS)
    for group in proposals:
        answer = client.post(f"{API}models/merge", json={"models": group, "into": min(group, key=len)})
        assert answer.status_code == 200, answer.text
    assert get(client, f"{API}runs")["runs"] == before
    return families


def test_each_model_is_listed_once(merged):
    listed = get(merged.test_client(), f"{API}models")
    assert len(listed["models"]) == len(MODELS) and listed["proposals"] == []
    assert all((len(row["names"]), row["runs"], len(row["datasets"])) == (3, 6, 3) for row in listed["models"])
    assert len(table(merged.test_client(), f"{API}models.csv")) == len(MODELS)
    assert f"{len(MODELS)} models" in words(drawn(merged, "models"))


def test_across_has_a_row_per_model(merged):
    across = get(merged.test_client(), f"{API}across")
    assert [sorted(row["cells"]) for row in across["rows"]] == [sorted(TOOLS)] * len(MODELS)
    text = words(drawn(merged, "across"))
    assert all(row["model"] in text for row in across["rows"])


def test_a_name_selects_the_runs_that_it_did(merged):
    name = TOOLS["towns"](MODELS[0])
    rows = get(merged.test_client(), f"{API}leaderboard?dataset=towns&model={name}&nights=1")["rows"]
    assert [row["model"] for row in rows] == [name, name]


def test_a_model_is_found_by_each_of_its_names(merged):
    client = merged.test_client()
    pages = [get(client, f"{API}models/{name(MODELS[3])}") for name in TOOLS.values()]
    assert pages[0] == pages[1] == pages[2] and len(pages[0]["runs"]) == 6
    board = {row["run"]: row for row in get(client, f"{API}leaderboard?dataset=peaks&metrics=overconfidence&intervals=1")["rows"]}
    peaks = [run["cell"] for run in pages[0]["runs"] if run["dataset"] == "peaks"]
    assert peaks and all(cell["overconfidence"] == board[cell["run"]]["metrics"]["overconfidence"]["value"] for cell in peaks)
    assert error(client, f"{API}models/nobody", 404)["code"] == "unknown_model"
    text = words(drawn(merged, "model", "", None, pages[0]["about"]["model"]))
    assert "Over- and underconfidence" in text and "rivers" in text


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("merge", {"models": ["nobody"], "into": "x"}, 404), ("split", {"name": "nobody"}, 404),
        ("rename", {"model": "Openai Pro 4", "name": "Openai Pro 3"}, 422),
        ("describe", {"model": "Openai Pro 4", "released": "soon"}, 422), ("describe", {"colour": "red"}, 400),
    ],
)  # fmt: skip
def test_a_change_that_cannot_be_made_is_refused(merged, path, body, status):
    answer = merged.test_client().post(f"{API}models/{path}", json=body)
    assert answer.status_code == status, answer.text


def test_a_model_is_described_renamed_and_split(merged):
    client, (one, *_) = merged.test_client(), get(merged.test_client(), f"{API}models")["models"]

    def post(path, **body):
        answer = client.post(f"{API}models/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return {row["model"]: row for row in json.loads(answer.text)["models"]}

    assert post("describe", model=one["model"], organisation="Lab", released="2025")[one["model"]]["organisation"] == "Lab"
    assert post("describe", model=one["model"], organisation="")[one["model"]]["released"] == "2025"
    assert post("rename", model=one["model"], name="A: new/name?")["A: new/name?"]["names"] == one["names"]
    assert post("split", name=one["names"][1])[one["names"][1]]["runs"] == 2
    assert post("merge", models=[one["names"][1], "A: new/name?"], into=one["model"])[one["model"]]["runs"] == 6


def test_two_months_of_a_model_have_two_names(merged):
    name = TOOLS["towns"](MODELS[0])
    a, b = (row["run"] for row in get(merged.test_client(), f"{API}leaderboard?dataset=towns&model={name}&nights=1")["rows"])
    names = get(merged.test_client(), f"{API}compare?dataset=towns&a={a}&b={b}")["names"]
    assert sorted(names.values()) == [f"{name} · {month}-15" for month in MONTHS]
    text = words(drawn(merged, "compare", f"dataset=towns&a={a}&b={b}"))
    assert all(month in text for month in MONTHS)


@pytest.fixture(scope="module")
def versioned(tmp_path_factory):
    """A client, and the runs of a model on towns by day: all wrong, all right, all wrong, all right."""
    folder = tmp_path_factory.mktemp("versioned")
    store = open_store(folder / "store", threads=1)
    fill(store, folder / "files", MODELS[:1])
    runs, days = [], ("2024-01-01", "2024-02-01", "2024-03", "2025")
    for place, (day, right) in enumerate(zip(days, (0, 1, 0, 1), strict=True)):
        rows = "".join(f"towns-{number},x,{0.9 - 0.01 * number - 0.001 * place},{right}\n" for number in range(QUESTIONS))
        report = put_file(
            store, folder / f"{day}.csv", f"question_id,guess,confidence,correct\n{rows}", dataset="towns", model="opus",
            tags=(("date", day),),
        )  # fmt: skip
        runs += report.runs
    return create_app(Settings(store=str(folder / "store"), workers=1, uploads="open")), runs


def test_versions_are_compared_with_the_first(versioned):
    app, runs = versioned
    client = app.test_client()
    answer = get(client, f"{API}versions/opus")
    assert (answer["dataset"], answer["dated_by"], answer["baseline"]) == ("towns", "tag date", runs[0])
    assert [row["run"] for row in answer["runs"]] == runs
    assert [row["day"] for row in answer["runs"]] == ["2024-01-01", "2024-02-01", "2024-03-16", "2025-07-02"]
    assert [row["verdict"] for row in answer["runs"]] == ["baseline", "better", "not shown to differ", "better"]
    rows = get(client, f"{API}leaderboard?dataset=towns&intervals=1&nights=1")["rows"]
    board = {row["run"]: row["metrics"]["net_score"] for row in rows}
    pairs = get(client, f"{API}pairs?dataset=towns&metrics=net_score&a={runs[0]}&" + "&".join(f"run={run}" for run in runs))
    tests = {pair["b"]["run"]: pair["metrics"]["net_score"] for pair in pairs["comparisons"]}
    for row in answer["runs"]:
        assert [row[key] for key in ("value", "low", "high")] == [board[row["run"]][key] for key in ("value", "low", "high")]
        if row["run"] != runs[0]:
            test = tests[row["run"]]
            assert (row["difference"], row["p_value"]) == (pytest.approx(-test["difference"]), test["p_holm"])
            assert (row["difference_low"], row["difference_high"]) == (-test["high"], -test["low"])


def test_a_baseline_can_be_pinned(versioned):
    app, runs = versioned
    client = app.test_client()
    answer = get(client, f"{API}versions/opus?baseline={runs[1]}")
    assert [row["verdict"] for row in answer["runs"]] == ["worse", "baseline", "worse", "not shown to differ"]
    assert [row["run"] for row in table(client, f"{API}versions/opus.csv?baseline={runs[1]}")] == runs
    text = words(drawn(app, "model", f"baseline={runs[1]}", None, "opus"))
    assert "2025 is not shown to differ from the baseline 2024-02-01" in text and "Over time" in text
    assert "2025 is better than the baseline 2024-01-01" in words(drawn(app, "model", "", None, "opus"))
    assert error(client, f"{API}versions/opus?baseline=nobody", 400)["field"] == "baseline"
    assert error(client, f"{API}versions/opus?on=rivers", 400)["allowed"] == ["towns"]
    assert client.get("/models/opus?baseline=nobody").status_code == 400


def test_a_proposal_is_dismissed(versioned):
    client = versioned[0].test_client()
    (group,) = get(client, f"{API}models")["proposals"]
    assert "Not one" in words(drawn(versioned[0], "models"))
    assert client.post(f"{API}models/dismiss", json={"models": group}).json["proposals"] == []
    assert "Probably one model" not in words(drawn(versioned[0], "models"))
    assert client.post(f"{API}models/dismiss", json={"models": ["nobody"]}).status_code == 404
