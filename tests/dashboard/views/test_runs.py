"""The page of runs: provenance, downloads, and who may change what."""

import json
import re

import pytest

from data.store.run_withdrawal import withdraw
from tests.helpers.drawn_pages import drawn, hrefs, plain, walk, words
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


def test_without_runs_the_page_says_so(app_taking_uploads):
    app = app_taking_uploads("open")
    store = app.extensions["clueline"].store
    for (run,) in store.snapshot().rows("select run from runs where dataset = 'pyramid'"):
        withdraw(store, run, None)
    content = drawn(app, "runs", "dataset=pyramid")
    assert "No runs yet" in words(content) and "withdraw" not in buttons(content).values()


def test_many_runs_are_shown_in_pages(app, client, monkeypatch):
    monkeypatch.setattr("dashboard.views.runs.MAX_SHOWN", 5)
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
