"""Runs: provenance and downloads, who may change what, tags, and what is shown of a run that was withdrawn or deleted."""

import json
import re
import shutil
from urllib.parse import urlencode

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.data.store.audit import Audit
from clueline.data.store.run_files import all_objects
from clueline.data.store.run_withdrawal import withdraw
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.drawn_pages import drawn, everything, hrefs, plain, walk, words
from tests.helpers.json_api import get


def buttons(content):
    """Return run -> what its button does."""
    buttons = [part["props"] for part in walk(plain(content)) if part.get("type") == "Button"]
    return {
        button["data-run"]: button["data-change"] for button in buttons if button.get("data-change") in ("withdraw", "restore")
    }


def test_provenance_is_that_of_the_api(app, client):
    content = drawn(app, "runs", "dataset=pyramid")
    runs = client.get("/api/v1/runs?dataset=pyramid").get_json()["runs"]
    text = json.dumps(plain(content), ensure_ascii=False)
    assert len(runs) > 1
    for run in runs:
        assert f"{run['model']} · {run['elicitation']}" in text and run["run"] in text and run["file_name"] in text
        assert run["sha256"] in text and f"{run['items']:,} answers" in text
        assert f"{run['imported_at'][:10]} {run['imported_at'][11:16]} UTC" in text


def test_every_link_leads_somewhere(app, client):
    links = hrefs(drawn(app, "runs", "dataset=pyramid"))
    assert len([link for link in links if re.search(r"responses\.(csv|jsonl|parquet)$", link)]) >= 6
    for link in links:
        assert client.get(link).status_code == 200, link


def test_runs_of_every_dataset_are_listed_if_wanted(app, client):
    every = {run["run"] for run in client.get("/api/v1/runs").get_json()["runs"]}
    own = {run["run"] for run in client.get("/api/v1/runs?dataset=pyramid").get_json()["runs"]}
    assert own < every
    assert set(buttons(drawn(app, "runs", "dataset=pyramid"))) == own
    assert set(buttons(drawn(app, "runs", "dataset=pyramid&show=all"))) == every
    assert client.get("/runs?show=some").status_code == 400


@pytest.mark.parametrize(("mode", "asks"), [("token", True), ("open", True), ("off", False)])
def test_buttons_depend_on_the_mode_of_uploads(app_taking_uploads, mode, asks):
    content = drawn(app_taking_uploads(mode), "runs", "dataset=pyramid")
    assert bool(buttons(content)) == asks
    assert ("CLUELINE_UPLOADS=off" in words(content)) != asks
    modes = [part["props"]["data-mode"] for part in walk(plain(content)) if "data-mode" in part.get("props", {})]
    assert modes == ([mode] if asks else [])  # tests/browser checks in which mode the field for a token is asked for


def test_withdrawn_runs_are_apart_and_can_be_restored(app_taking_uploads):
    app = app_taking_uploads("open")
    store = app.extensions["clueline"].store
    first, second = (row[0] for row in store.snapshot().rows(
        "select run from runs where dataset = 'pyramid' order by position limit 2"))  # fmt: skip
    withdraw(store, second, "ann")
    content = drawn(app, "runs", "dataset=pyramid")
    assert buttons(content)[first] == "withdraw" and buttons(content)[second] == "restore"
    *_, apart = [part for part in content if getattr(part, "className", "") == "section withdrawn"]
    assert set(buttons(apart)) == {second} and " by ann" in json.dumps(plain(apart))
    assert f"/?dataset=pyramid&run={second}" in hrefs(apart)
    for (run,) in store.snapshot().rows("select run from runs where dataset = 'pyramid'"):
        withdraw(store, run, None)
    content = drawn(app, "runs", "dataset=pyramid")
    assert "No runs yet" in words(content) and "withdraw" not in buttons(content).values()


def test_many_runs_are_shown_in_pages(app, client, monkeypatch):
    monkeypatch.setattr("clueline.dashboard.views.runs.MAX_SHOWN", 5)
    every = [run["run"] for run in get(client, "/api/v1/runs?newest=1")["runs"]]
    address, seen = "show=all", []
    while address:
        content = drawn(app, "runs", address)
        seen += [list(buttons(content))]
        links = [link for link in hrefs(content) if "after=" in link]
        address = links[0].partition("?")[2] if links else ""
    assert [sorted(page) for page in seen] == [sorted(every[start : start + 5]) for start in range(0, len(every), 5)]


def test_a_search_that_finds_nothing_says_so(app):
    content = drawn(app, "runs", "show=all&search=nobody")
    assert "No run matches" in words(content) and not buttons(content)
    assert any("search=nobody" in link and link.startswith("/api/v1/runs.csv") for link in hrefs(content))


API = "/api/v1/runs"


@pytest.fixture
def changing(fresh):
    """A client with the right ``admin``, the id of a run, and the store."""
    store = fresh.service.store
    token = Tokens(store.register).create("ann", "admin")
    fresh.client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    run = get(fresh.client, f"{API}?dataset=pyramid")["runs"][0]
    return fresh.client, run, store


def test_tags_are_set_and_removed(changing):
    client, run, _ = changing
    post = lambda **tags: client.post(f"{API}/{run['run']}/tags", json=tags)  # noqa: E731
    assert post(label=" after RLHF ", kind="x").json["tags"] == {"kind": "x", "label": "after RLHF"}
    assert post(kind="").json["tags"] == {"label": "after RLHF"}
    assert post(**{"x" * 101: "y"}).status_code == 422 and post(label=7).status_code == 400


def test_a_withdrawal_has_a_reason(changing):
    client, run, _ = changing
    answer = client.delete(f"{API}/{run['run']}", json={"reason": "wrong file"})
    assert answer.json["withdrawn_reason"] == "wrong file"
    assert client.post(f"{API}/{run['run']}/restore").json["withdrawn_reason"] is None
    assert client.delete(f"{API}/{run['run']}").json["withdrawn_reason"] is None


def test_a_run_is_deleted_for_good(changing):
    client, run, store = changing
    path = f"{API}/{run['run']}/delete"
    assert client.post(path, json={"name": run["model"]}).status_code == 409, "it counts"
    client.delete(f"{API}/{run['run']}")
    assert client.post(path, json={"name": "another"}).status_code == 422
    others = [row["run"] for row in get(client, f"{API}?dataset=pyramid")["runs"] if row["run"] != run["run"]]
    assert [row["run"] for row in client.post(path, json={"name": run["model"]}).json["runs"]] == others
    get(client, f"{API}/{run['run']}", 404)
    (deleted, *_) = Audit(store.register).page(1)
    assert (deleted.action, deleted.by, deleted.run, deleted.model) == ("deleted", "ann", run["run"], run["model"])
    folder = store.files.root / "objects"
    for number in range(4):  # until no kept version names its files
        client.post(f"{API}/{others[0]}/tags", json={"label": str(number)})
    for _ in range(2):
        store.objects.sweep(lambda: {part.name for part in all_objects(store.snapshot().connection)}, 0)
    assert not [path for path in folder.rglob("*") if run["run"] in str(path) and path.is_file()]


def test_deleting_needs_its_right(fresh):
    run = get(fresh.client, f"{API}?dataset=pyramid")["runs"][0]
    fresh.client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {Tokens(fresh.service.store.register).create('bob')}"
    assert fresh.client.post(f"{API}/{run['run']}/delete", json={"name": run["model"]}).status_code == 403


@pytest.fixture(scope="module")
def gone(seeded, tmp_path_factory):
    """An app whose store has withdrawn the second run of Pyramid, and that run."""
    app = create_app(Settings(store=str(shutil.copytree(seeded, tmp_path_factory.mktemp("gone") / "store")), workers=1))
    store = app.extensions["clueline"].store
    run, model, elicitation = store.snapshot().rows(
        "select run, model, elicitation from runs where dataset = 'pyramid' order by position limit 1 offset 1"
    )[0]
    withdraw(store, run, "ann")
    return app, run, f"{model} ({elicitation}), run {run}, was withdrawn on "


def shown_page(app, name, query):
    path = "/questions/pyramid/lit-01" if name == "question" else PAGES[name].path
    return everything(app, path, urlencode(query if name == "question" else {"dataset": "pyramid"} | query))


def test_it_is_shown_only_where_it_is_named(gone):
    app, run, notice = gone
    names = [name for name, view in PAGES.items() if view.order is not None]
    assert len(names) >= 8
    for name in (*names, "question"):
        assert (run in shown_page(app, name, {})) == (name == "runs"), name
        shown = shown_page(app, name, {"run": run})
        assert notice in shown and " by ann. " in shown, name


def test_the_notice_is_shown_when_other_keys_name_it(gone):
    app, run, notice = gone
    other = app.extensions["clueline"].facets("pyramid").runs[0][0]
    assert notice in shown_page(app, "compare", {"a": other, "b": run})
    assert notice in shown_page(app, "questions", {"sort": f"brier:{run}"})
