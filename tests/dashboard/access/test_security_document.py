"""docs/security.md states the headers and limits that the server has."""

import re

from clueline.dashboard import cache as result_cache
from clueline.dashboard import service
from clueline.dashboard.access import limits as limits_and_headers
from clueline.dashboard.access import rights
from clueline.dashboard.app import create_app
from clueline.dashboard.http import slow_clients
from clueline.dashboard.process import server as gunicorn_server
from clueline.dashboard.settings import Settings
from clueline.dashboard.uploads import import_process
from clueline.dashboard.views import api, upload
from clueline.data.importing import column_mapping
from clueline.data.play_sessions.session_definition import Session
from clueline.data.store import stored_selections
from tests.helpers.paths import ROOT

TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def rows(heading):
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines[1:]]


def test_the_headers_are_those_of_every_answer(client):
    stated = {name.strip("`"): value.strip("`") for name, value in rows("Headers")}
    policy = stated.pop("Content-Security-Policy")
    assert stated == limits_and_headers.HEADERS
    rules = {rule.rule for rule in client.application.url_map.iter_rules() if not rule.arguments and "GET" in rule.methods}
    assert {"/play", "/healthz", "/_rows", "/api/v1/unsolved", "/api/v1/across"} <= rules
    for address in ("/nothing", "/api/v1/nothing", "/api/v1/play", *sorted(rules)):
        # Pages ignore the key. Addresses refuse it, so that nothing is computed.
        headers = client.head(address, query_string="unknown=1", headers={"Origin": "https://evil.example"}).headers
        assert "Access-Control-Allow-Origin" not in headers
        assert {name: headers[name] for name in stated} == stated
        given = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        assert given["default-src"] == "'self'" and given["frame-ancestors"] == given["object-src"] == "'none'"
        assert "unsafe" not in given["script-src"] and "*" not in headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy


def test_listed_origins_may_frame_only_views(seeded):
    client = create_app(Settings(store=str(seeded), workers=1, embed=("https://wiki.example", "'self'"))).test_client()
    views = ["/?embed=1", "/questions/pyramid/lit-08?embed=1&clue=2"]
    others = ["/", "/?embed=0", "/api/v1/runs?embed=1", *(f"/{page}?embed=1" for page in ("upload", "write", "runs", "login"))]
    for address in views + others:
        headers = client.get(address).headers
        ancestors = headers["Content-Security-Policy"].partition("frame-ancestors ")[2]
        framed = address in views
        assert ancestors == ("https://wiki.example 'self'" if framed else "'none'"), address
        assert ("X-Frame-Options" in headers) != framed


def test_each_promise_has_tests():
    promises = rows("What is promised")
    assert len(promises) >= 11
    for promise, _, named in promises:
        files = re.findall(r"`(tests/[\w/]+\.py)`", named)
        assert files and all("def test_" in (ROOT / file).read_text(encoding="utf-8") for file in files), promise


def test_the_limits_are_those_of_the_code():
    stated = {name: float(value.replace(",", "")) for name, value, _ in rows("Limits")}
    assert stated == {
        "body of a request that is no upload, bytes": slow_clients.MAX_BODY,
        "all requests that arrive in a worker at once, bytes": slow_clients.MAX_RECEIVED,
        "request that is received in any case, bytes": slow_clients.MAX_SMALL,
        "query string, characters": limits_and_headers.MAX_QUERY,
        "time for the headers of a request, seconds": slow_clients.HEADER_TIMEOUT,
        "time for such a body, seconds": slow_clients.BODY_TIMEOUT,
        "time in which a client must read some of its answer, seconds": slow_clients.READ_TIMEOUT,
        "request line and headers, bytes": slow_clients.MAX_HEAD,
        "uploads at once, of a worker": service.MAX_UPLOADS,
        "uploads at once of one client, of a worker": service.MAX_UPLOADS_OF_CLIENT,
        "uploads read at once, of a worker": import_process.AT_ONCE,
        "uploads read at once for one client, of a worker": import_process.AT_ONCE_FOR_CLIENT,
        "memory of the process that reads an upload, MiB": Settings().import_memory_mb,
        "time in which an upload must be read, seconds": import_process.TIME_LIMIT,
        "unpacked size of an upload, times the largest upload": upload.UNPACKED,
        "pattern of a confidence, characters": column_mapping.MAX_PATTERN_LENGTH,
        "threads of a worker for uploads": slow_clients.UPLOAD_THREADS,
        "threads of a worker for everything else": gunicorn_server.THREADS,
        "threads that compute or wait for a result": result_cache.PLACES,
        "results computed at once, of a worker": result_cache.AT_ONCE,
        "results computed at once for one client": result_cache.AT_ONCE_FOR_CLIENT,
        "distinct results that one token or user waits for": result_cache.PLACES_FOR_CLIENT,
        "distinct results that one address waits for, without a token": result_cache.PLACES_FOR_ADDRESS,
        "requests of one player of a session, a second, of a worker": rights.PLAYED,
        "of these at once, after a pause": rights.PLAYED_AT_ONCE,
        "places of a session of 30 that one address can take": Session("", (), 30, "", "", "").places_of_address(),
        "requests of players from one address, a second, of a worker": rights.PLAYED_FROM,
        "of these at once, after a pause, from one address": rights.PLAYED_FROM_AT_ONCE,
        "requests for the words of races from one address, a second, of a worker": rights.READ_FROM,
        "new stored selections of one reader, a second, of a worker": rights.STORED,
        "of these at once, after a pause, of one reader": rights.STORED_AT_ONCE,
        "stored selection, characters": api.MAX_QUERY,
        "stored selections of one reader": stored_selections.MAX_OF_READER,
        "stored selections of a store": stored_selections.MAX_STORED,
        "requests for words at once, after a pause, from one address": rights.READ_FROM_AT_ONCE,
    }


def test_more_threads_than_uploads_refuse_further_uploads():
    assert slow_clients.UPLOAD_THREADS > service.MAX_UPLOADS


def test_the_document_names_only_existing_settings():
    from clueline.dashboard.settings import FIELDS, environment_variable

    assert set(re.findall(r"CLUELINE_[A-Z_]+", TEXT)) <= {environment_variable(name) for name in FIELDS}
