"""A selection that is too long for an address has a short id, which pages, JSON and CSV read like its keys."""

import json
import os
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from clueline.dashboard.access import rights
from clueline.dashboard.access.signed_links import read_end, sign
from clueline.dashboard.app import create_app
from clueline.dashboard.http import paths
from clueline.dashboard.settings import Settings
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.callback_body import callback_body
from tests.helpers.json_api import error

ADDRESS = "/api/v1/selections"


@pytest.fixture
def runs(fresh):
    return [run["run"] for run in fresh.client.get("/api/v1/runs?dataset=tone").json["runs"]]


def store(client, *pairs, status=201):
    answer = client.post(ADDRESS, data=urlencode(pairs))
    assert answer.status_code == status, answer.text
    return answer.json["selection"]


def drawn(client, path, query):
    answer = client.post("/_dash-update-component", json=callback_body(path, query))
    return json.loads(answer.json["response"]["answer"]["data"])


def test_every_view_reads_it_like_its_keys(fresh, runs):
    client = fresh.client
    pairs = [("dataset", "tone"), ("run", runs[0]), ("run", runs[1])]
    identity = store(client, *pairs)
    assert store(client, *pairs[::-1], status=200) == identity
    told = client.get(f"{ADDRESS}/{identity}").json
    assert told == {"selection": identity, "dataset": "tone", "keys": {"dataset": ["tone"], "run": sorted(runs[:2])}}
    for path in ("/api/v1/leaderboard", "/api/v1/leaderboard.csv", "/api/v1/reliability", "/api/v1/decide.csv"):
        assert client.get(f"{path}?selection={identity}").data == client.get(f"{path}?{urlencode(pairs)}").data, path
    one = client.get(f"/api/v1/leaderboard?selection={identity}&run={runs[2]}").json
    assert [row["run"] for row in one["rows"]] == [runs[2]], "keys of the address come first"
    assert client.get(f"/?selection={identity}").status_code == 200
    page = drawn(client, "/", f"selection={identity}&theme=dark")
    assert parse_qs(page["stands"]["query"]) == {"dataset": ["tone"], "run": sorted(runs[:2]), "theme": ["dark"]}


def test_what_is_not_there_is_refused_with_a_reason(fresh, runs):
    client = fresh.client
    for address in ("/api/v1/leaderboard", "/api/v1/leaderboard.csv"):
        problem = error(client, f"{address}?selection={'a' * 20}", 400)
        assert (problem["code"], problem["field"]) == ("unknown_value", "selection")
    assert error(client, f"{ADDRESS}/nothing", 404)["field"] == "selection"
    assert client.get(f"/?selection={'a' * 20}").status_code == 400
    assert drawn(client, "/", f"selection={'a' * 20}")["stands"] is None
    identity = store(client, ("dataset", "tone"))
    assert error(client, f"/api/v1/leaderboard?selection={identity}&selection={identity}", 400)["code"] == "repeated_key"
    for body, status in (
        (b"dataset=nowhere", 400),
        (b"colour=red", 400),
        (b"q=%ff", 400),
        (b"\xff", 400),
        (b"q=" + b"x" * 200_000, 413),
    ):
        assert client.post(ADDRESS, data=body).status_code == status, body[:20]
    assert client.post(ADDRESS, data="dataset=tone", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_a_link_with_an_ended_selection_shows_the_dataset(fresh, runs):
    client, store_of_server = fresh.client, fresh.service.store
    identity = store(client, ("dataset", "tone"), ("run", runs[0]))
    link = f"dataset=tone&selection={identity}"
    before = drawn(client, "/", link)
    assert "has ended" not in json.dumps(before)
    path = store_of_server.files.root / "selections" / f"{identity}.json"
    ended = path.stat().st_mtime - 366 * 86_400
    os.utime(path, (ended, ended))
    for address in (f"/api/v1/leaderboard?{link}", f"/api/v1/leaderboard.csv?{link}"):
        assert "One ends when nobody uses it for 365 days." in error(client, address, 400)["message"], "no figure of others"
    assert client.get(f"/?{link}").status_code == 200
    page = drawn(client, "/", link)
    assert "The selection of this link has ended." in json.dumps(page["fragments"] | {"": page["content"]})
    assert all(run in json.dumps(page) for run in runs[:3]) and page["stands"] is None
    store(client, ("dataset", "tone"), ("run", runs[0]))
    assert "has ended" not in json.dumps(drawn(client, "/", link))
    elsewhere = drawn(client, "/", f"dataset=nowhere&selection={'a' * 20}")
    assert "has ended" not in json.dumps(elsewhere)


def test_storing_removes_what_was_not_used_for_long(fresh, runs):
    files = fresh.service.store.files
    identity = store(fresh.client, ("dataset", "tone"), ("run", runs[0]))
    path = files.root / "selections" / f"{identity}.json"
    os.utime(path, (0, 0))
    started_again = create_app(Settings(store=str(fresh.store), workers=1)).test_client()
    store(started_again, ("dataset", "tone"), ("run", runs[1]))
    assert not path.exists()


def test_it_needs_the_rights_of_its_dataset(fresh, runs):
    client, tokens = fresh.client, Tokens(fresh.service.store.register)
    identity = store(client, ("dataset", "tone"), ("run", runs[0]))
    secret = {"Authorization": f"Bearer {tokens.create('ann', 'read')}"}
    tokens.make_private("tone", ["ann"])
    for address in (f"{ADDRESS}/{identity}", f"/api/v1/leaderboard?selection={identity}", f"/?selection={identity}"):
        assert client.get(address, headers=secret).status_code == 200
        told = client.get(address)
        assert told.status_code in (400, 404) and "tone" not in told.text.replace(identity, "").partition("allowed")[0]
        assert told.status_code == client.get(address.replace(identity, "a" * 20)).status_code, "as if there were none"
    assert client.post(ADDRESS, data=urlencode({"dataset": "tone", "run": runs[0]})).status_code == 400
    key = tokens.new_link_key()
    signed = sign(key, "/", [("selection", identity)], "tone", read_end("2999-01-01"))
    assert client.get(f"/?selection={identity}&signed={signed}").status_code == 200
    link_only = client.post(f"{ADDRESS}?signed={sign(key, ADDRESS, [], 'tone', read_end('2999-01-01'))}", data="dataset=tone")
    assert link_only.status_code == 403


def test_it_is_limited_in_rate(fresh, monkeypatch):
    monkeypatch.setattr(fresh.service.access, "storing_readers", rights.RequestRate(0.001, 2))
    for text in ("a", "b"):
        store(fresh.client, ("dataset", "tone"), ("q", text))
    refused = fresh.client.post(ADDRESS, data="dataset=tone&q=c")
    assert refused.status_code == 429 and refused.headers["Retry-After"]
    store(fresh.client, ("dataset", "tone"), ("q", "a"), status=200)  # costs nothing


def test_pages_and_citations_store_what_is_too_long(fresh, runs, monkeypatch):
    monkeypatch.setattr(paths, "MAX_SHARED_QUERY", 90)
    monkeypatch.setattr("clueline.dashboard.service.MAX_VALUE_LENGTH", 40)
    with fresh.app.app_context():
        category = fresh.service.facets("tone").values["category"][0]
    query = urlencode([("dataset", "tone"), *(("run", run) for run in runs[:5]), ("category", category)])
    page = drawn(fresh.client, "/", query)
    stands = page["stands"]
    short = parse_qs(stands["query"])
    assert sorted(short) == ["category", "dataset", "selection"] and stands["asked"] == query
    assert sorted(value for key, value in stands["keys"] if key == "run") == sorted(runs[:5])
    assert runs[4] not in page["page"]["header"] and f"selection={stands['selection']}" in json.dumps(page["fragments"])
    again = drawn(fresh.client, "/", stands["query"])
    assert again["stands"]["query"] == stands["query"]
    cited = fresh.client.get("/api/v1/cite", query_string={"view": f"/?{stands['query']}"}).json
    for address in (cited["permalink"], cited["csv"]):
        parts = urlsplit(address)
        assert "run" not in parse_qs(parts.query) and stands["selection"] in parts.query
        assert fresh.client.get(f"{parts.path}?{parts.query}").status_code == 200
    assert stands["selection"] in cited["script"] and runs[4] not in cited["script"]
    assert len(cited["rows"]) == 5
    monkeypatch.setattr(fresh.service.access, "storing_readers", rights.RequestRate(0.001, 1))
    fresh.service.access.storing_readers.takes("127.0.0.1")
    other = urlencode([("dataset", "tone"), *(("run", run) for run in runs[1:6])])
    assert drawn(fresh.client, "/", other)["stands"] is None, "the page is drawn all the same"
