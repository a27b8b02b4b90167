"""A lab's nights: many models on four datasets, night after night, by writers that name and date things in their own ways."""

import json
import re

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from clueline.queries.changes import pinned_version
from clueline.queries.selection import Selection
from tests.helpers import bundle_factory as bundles
from tests.helpers import evaluation_logs as logs
from tests.helpers.drawn_pages import everything
from tests.helpers.json_api import get

MODELS = [f"lab/model-{n}" for n in range(20)]
NIGHTS = ["2026-05-01", "2026-05-02", "2026-05-03"]
QUESTIONS = range(4)
DATASETS = {"maths", "rivers", "towns", "trivia"}


def share(model, night, question):
    """Return a confidence that no two runs have on all questions."""
    return round(0.2 + 0.03 * MODELS.index(model) + 0.01 * NIGHTS.index(night) + 0.002 * question, 4)


def write_inspect(folder, model, night):
    samples = [
        logs.inspect_sample(f"t{n}", {"match": logs.inspect_score("C" if n % 2 else "I", confidence=share(model, night, n))})
        for n in QUESTIONS
    ]
    log = logs.inspect_log(samples, task="towns", model=model, created=f"{night}T23:50:05+00:00")
    logs.write_eval(folder / f"{night}_{model.replace('/', '_')}.eval", log)


def write_lm_eval(folder, model, night):
    samples = [logs.lm_eval_sample(n, (-1.0, -1.0 - share(model, night, n))) for n in QUESTIONS]
    name = f"samples_rivers_{night}T23-50-00.123456.jsonl"
    path = folder / model.replace("/", "__")
    logs.write_lines(path / name, samples)
    results = {"model_name": model, "results": {}, "lm_eval_version": "0.4.9", "git_hash": "abc"}
    (path / f"results_{night}T23-50-00.123456.json").write_text(json.dumps(results), encoding="utf-8")


def rows(night, confidence, time):
    """Return the rows of a table with all models, with a time for each answer."""
    return [
        {"id": f"q{n}", "question": f"Which is {n}?", "gold": "yes", "prediction": ("no", "yes")[n % 2], "correct": n % 2,
         confidence: share(model, night, n), "model": model, time: f"{night}T22:{n:02}:{MODELS.index(model):02}Z"}
        for model in MODELS for n in QUESTIONS
    ]  # fmt: skip


def write_tables(folder, night):
    table = rows(night, "Stated confidence", "timestamp")
    lines = [",".join(table[0]), *(",".join(map(str, row.values())) for row in table)]
    (folder / f"trivia_{night}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = "\n".join(json.dumps(row | {"question": f"How much is {row['id']}?"}) for row in rows(night, "conf", "created"))
    (folder / f"maths-{night}.jsonl").write_text(text + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    for name in ("inspect", "lm-eval", "tables"):
        (folder / name).mkdir()
    for night in NIGHTS:
        for model in MODELS:
            write_inspect(folder / "inspect", model, night)
            write_lm_eval(folder / "lm-eval", model, night)
        write_tables(folder / "tables", night)
    return folder


@pytest.fixture(scope="module")
def client(lab):
    store = open_store(lab / "store")
    bundles.put(store, lab / "inspect")
    bundles.put(store, lab / "lm-eval")
    for path in sorted((lab / "tables").iterdir()):
        bundles.put(store, path)
    return create_app(Settings(store=str(lab / "store"), workers=1)).test_client()


def test_every_night_is_a_run_with_its_day(client):
    runs = get(client, "/api/v1/runs?limit=1000")["runs"]
    assert {run["dataset"] for run in runs} == DATASETS
    assert len(runs) == len(MODELS) * len(DATASETS) * len(NIGHTS)
    assert sorted({run["tags"]["date"] for run in runs}) == NIGHTS == sorted({run["evaluated_at"][:10] for run in runs})
    assert {run["elicitation"] for run in runs} == {"verbalized", "likelihood"}
    assert all(run["attributes"] == {} for run in runs)


def test_a_model_is_one_row_without_an_empty_cell(client):
    answer = get(client, "/api/v1/across?metric=brier")
    assert sorted(row["model"] for row in answer["rows"]) == sorted(MODELS)
    assert all(row["cells"].keys() == DATASETS for row in answer["rows"])
    last = {run["run"] for run in get(client, "/api/v1/runs?limit=1000")["runs"] if run["tags"]["date"] == NIGHTS[-1]}
    assert {cell["run"] for row in answer["rows"] for cell in row["cells"].values()} == last


def test_three_nights_are_in_the_trend_of_a_model(client):
    answer = get(client, "/api/v1/versions/lab/model-0?on=trivia&metric=brier")
    assert [run["day"] for run in answer["runs"]] == NIGHTS and answer["dated_by"] == "tag date"


def test_a_night_that_is_imported_later_is_no_later_night(lab, client, tmp_path):
    """A backfill: the latest run of a model is by its day, not by its import."""
    store = open_store(tmp_path / "store")
    for night in (NIGHTS[2], NIGHTS[0]):
        bundles.put(store, lab / "tables" / f"trivia_{night}.csv")
    backfilled = create_app(Settings(store=store.url, workers=1)).test_client()
    shown = {cell["run"] for row in get(backfilled, "/api/v1/across")["rows"] for cell in row["cells"].values()}
    dates = {run["tags"]["date"] for run in get(backfilled, "/api/v1/runs?limit=1000")["runs"] if run["run"] in shown}
    assert dates == {NIGHTS[2]}


def board(client, query=""):
    return [(row["model"], row["run"]) for row in get(client, f"/api/v1/leaderboard?dataset=trivia{query}")["rows"]]


def test_a_board_has_the_latest_night_of_each_model(lab, client):
    by_night = {night: {pair for pair in board(client, f"&tag.date={night}")} for night in NIGHTS}
    assert {len(pairs) for pairs in by_night.values()} == {len(MODELS)}
    assert {*board(client)} == by_night[NIGHTS[-1]]
    assert len(board(client, "&nights=1")) == len(MODELS) * len(NIGHTS)
    (model, run) = min(by_night[NIGHTS[0]])
    assert board(client, f"&run={run}") == [(model, run)], "a saved link to an earlier night"
    version = pinned_version(open_store(lab / "store").snapshot(), Selection("trivia"))
    before = re.sub(r"-r\d+$", "-r8", version)
    refused = get(client, f"/api/v1/leaderboard?dataset=trivia&version={before}", 409)
    assert "nights=1" in refused["error"]["message"], "a citation from before says what has changed"
    get(client, f"/api/v1/leaderboard?dataset=trivia&nights=1&version={before}")


def test_a_night_that_broke_off_stands_for_no_other(lab, tmp_path):
    """Both are on the board, where the later one says that it is not ranked, and why."""
    store = open_store(tmp_path / "store")
    bundles.put(store, lab / "tables" / f"trivia_{NIGHTS[0]}.csv")
    lines = (lab / "tables" / f"trivia_{NIGHTS[1]}.csv").read_text(encoding="utf-8").splitlines()
    header, own = lines[0], [line for line in lines if f"{MODELS[0]}," in line]
    bundles.put_file(store, tmp_path / f"trivia_{NIGHTS[1]}.csv", "\n".join([header, *own[:2]]) + "\n", dataset="trivia")
    rows = get(create_app(Settings(store=store.url, workers=1)).test_client(), "/api/v1/leaderboard?dataset=trivia")["rows"]
    both = [(row["questions"], row["ranked"]) for row in rows if row["model"] == MODELS[0]]
    assert sorted(both) == [(2, False), (4, True)] and len(rows) == len(MODELS) + 1


@pytest.mark.parametrize("page", ["/", "/reliability", "/slices"])
def test_pages_offer_every_night(client, page):
    assert "every night" in everything(client.application, page, "dataset=towns")


def test_one_night_offers_no_choice(app):
    assert "every night" not in everything(app, "/", "dataset=pyramid")
