"""Attempts by unauthorised clients: each is refused with the common error envelope, and nothing changes."""

import csv
import gzip
import io
import json
import os
import re
import select
import shutil
import socket
import time
import urllib.request
import zipfile
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import polars as pl
import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.http.slow_clients import MAX_BODY, TOO_SLOW, BodyRefused
from clueline.dashboard.service import MAX_UPLOADS_OF_CLIENT
from clueline.dashboard.settings import Settings
from clueline.dashboard.uploads.bodies import clean_name
from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens, new_code
from tests.helpers.serving import start_server
from tests.helpers.uploads import ADDRESS, post, upload_client
from tests.helpers.waiting import wait_until

ROW = b"question_id,clue,guess,confidence\nlit-01,0,x,0.5\n"
WRITING = [
    ("POST", ADDRESS), ("DELETE", f"{ADDRESS}/RUN"), ("POST", f"{ADDRESS}/RUN/restore"), ("POST", f"{ADDRESS}/RUN/grades"),
    ("POST", f"{ADDRESS}/RUN/review"), ("POST", "/api/v1/models/split"), ("POST", "/api/v1/sessions"),
]  # fmt: skip


@pytest.fixture(scope="module")
def standing(seeded, tmp_path_factory):
    return upload_client(shutil.copytree(seeded, tmp_path_factory.mktemp("standing") / "store"))


@pytest.fixture(scope="module")
def open_client(seeded, tmp_path_factory):
    return upload_client(shutil.copytree(seeded, tmp_path_factory.mktemp("open") / "store"), uploads="open")


@pytest.fixture(scope="module")
def small(seeded, tmp_path_factory):
    return upload_client(shutil.copytree(seeded, tmp_path_factory.mktemp("small") / "store"), max_upload_mb=1)


def attempt(upload, method, path, status, headers=(), **more):
    run = upload.service.snapshot().rows("select run from runs order by position limit 1")[0][0]
    version = upload.service.store.version()
    answer = upload.client.open(path.replace("RUN", run), method=method, headers=dict(headers), **({"data": ROW} | more))
    assert answer.status_code == status, answer.text
    assert upload.service.store.version() == version
    assert set(answer.json["error"]) >= {"code", "message", "field", "allowed", "rows"}
    return answer


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_without_a_right_token_nobody_writes(standing, method, path):
    tokens = Tokens(FolderRegister(standing.store))
    name = f"gone-{method}-{path[8:].replace('/', '-')}"
    revoked = tokens.create(name)
    tokens.revoke(name)
    right = standing.auth["Authorization"]
    answer = attempt(standing, method, path, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer") and answer.json["error"]["code"] == "no_token"
    wrong = ["Bearer x", "Bearer", "Bearer  ", right[:-1], right + "x", right.replace("Bearer", "Basic"), "x"]
    for header in wrong:
        answer = attempt(standing, method, path, 401, {"Authorization": header})
        assert answer.headers["WWW-Authenticate"].startswith("Bearer") and answer.json["error"]["code"] == "wrong_token"
    answer = attempt(standing, method, path, 403, {"Authorization": f"Bearer {revoked}"})
    assert answer.json["error"]["code"] == "revoked_token"
    # The stored digest, which somebody may have read, is not a token. A token in the address or in a cookie does not count.
    attempt(standing, method, path, 401, {"Authorization": f"Bearer {tokens.all()[0].digest}"})
    attempt(standing, method, f"{path}?token={right.split()[1]}", 401)
    attempt(standing, method, path, 401, {"Cookie": f"token={right.split()[1]}"})


def test_wrong_tokens_lock_nobody_out(standing):
    """A token is 256 random bits: there is no guessing to slow down, and a right token always works."""
    for _ in range(30):
        attempt(standing, "POST", ADDRESS, 401, {"Authorization": "Bearer x"})
    attempt(standing, "POST", ADDRESS, 422, standing.auth)
    attempt(standing, "POST", ADDRESS, 401, {"Authorization": "Bearer x"}, environ_overrides={"REMOTE_ADDR": "10.0.0.9"})


def test_each_refused_attempt_is_one_log_line(standing, caplog):
    """The line has the address of the client and the reason, but never the token."""
    wrong = "clueline_" + "w" * 43
    attempt(standing, "DELETE", f"{ADDRESS}/RUN", 401, {"Authorization": f"Bearer {wrong}"})
    attempt(standing, "POST", ADDRESS, 401)
    attempt(standing, "POST", ADDRESS, 422, standing.auth)
    lines = [record.getMessage() for record in caplog.records if record.name == "clueline.dashboard.access.rights"]
    assert len(lines) == 2
    assert "refused DELETE" in lines[0] and "127.0.0.1" in lines[0] and lines[0].endswith("wrong_token")
    assert "refused POST" in lines[1] and lines[1].endswith("no_token")
    assert not any(secret in caplog.text for secret in (wrong, standing.auth["Authorization"].split()[1]))


def test_what_concerns_people_is_listed_for_holders_of_tokens(standing):
    for address in ("/api/v1/sessions", "/api/v1/audit", "/api/v1/datasets/pyramid/readers"):
        assert attempt(standing, "GET", address, 401).json["error"]["code"] == "no_token", address


def test_with_uploads_off_nobody_writes(copied):
    upload = upload_client(copied, uploads="off")
    for method, path in WRITING:
        for headers in ({}, upload.auth, {"Authorization": "Bearer x"}):
            assert attempt(upload, method, path, 403, headers).json["error"]["code"] == "uploads_off"


CROSS = [
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost:81"}, {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"}, {"Origin": ""},
    {"Origin": "http://localhost.evil.example"}, {"Origin": "http://evil.example/localhost"},
]  # fmt: skip


@pytest.mark.parametrize("headers", CROSS)
@pytest.mark.parametrize(("method", "path"), WRITING)
def test_without_tokens_pages_of_other_sites_may_not_write(open_client, method, path, headers):
    assert attempt(open_client, method, path, 403, headers).json["error"]["code"] == "cross_site"


def test_without_tokens_own_pages_and_programs_may_write(open_client):
    for name, headers in {"curl": {}, "page": {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}}.items():
        open_client.auth = {}
        result = post(open_client, ROW, 201, f"dataset=pyramid&model={name}", headers=headers)
        assert open_client.client.get(f"{ADDRESS}/{result['runs'][0]['run']}").json["imported_by"] == "open"


HOSTS = (
    "evil.example", "evil.example:8050", "127.0.0.1.evil.example", "localhost.evil.example", "[::2]", "2130706433", "", "a b",
)  # fmt: skip
READING = [("GET", ADDRESS), ("GET", "/"), ("GET", "/assets/before_first_paint.js"), ("POST", "/_dash-update-component")]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("which", ["standing", "open_client"])
def test_an_unknown_host_name_is_refused_everywhere(request, which, host):
    """A page whose host name was pointed at this server (DNS rebinding) must neither write nor read."""
    upload = request.getfixturevalue(which)
    for method, path in [*WRITING, *READING]:
        answer = upload.client.open(path, method=method, headers={"Host": host} | upload.auth, data=b"")
        assert answer.status_code in (400, 403), (path, answer.status_code)


def test_a_browser_gets_a_page_about_an_unknown_name(standing):
    answer = standing.client.get("/", headers={"Host": "lab.example", "Accept": "text/html,*/*;q=0.8"})
    assert (answer.status_code, answer.mimetype) == (403, "text/html")
    assert "CLUELINE_HOSTS" in answer.text and "lab.example" in answer.text
    assert standing.client.get("/api/v1/datasets", headers={"Host": "lab.example"}).json["error"]["code"] == "unknown_host"


LOOPBACK = ("localhost", "localhost:8050", "127.0.0.1:1", "127.1.2.3", "[::1]:8050", "LOCALHOST", "a.localhost")
EVERYWHERE = {"host": "0.0.0.0"}


@pytest.mark.parametrize(("settings", "accepted", "refused"), [
    ({}, LOOPBACK, ("10.0.0.5", "lab.example")),
    (EVERYWHERE, ("10.0.0.5:8050", "[fd00::1]:80", "localhost"), ("evil.example", "10.0.0.5.evil.example", "fd00::1")),
    (EVERYWHERE | {"hosts": ("lab.example",)}, ("lab.example:80",), ("other.example", "10.0.0.5")),
])  # fmt: skip
def test_a_server_answers_to_its_own_names(seeded, settings, accepted, refused):
    """No page elsewhere can have an IP address as its host name, so only names must be listed."""
    client = create_app(Settings(store=str(seeded), workers=1, **settings)).test_client()
    statuses = {host: client.get("/healthz", headers={"Host": host}).status_code for host in (*accepted, *refused)}
    assert statuses == dict.fromkeys(accepted, 200) | dict.fromkeys(refused, 403)


NAMES = ["../../../etc/passwd", "..\\..\\x.csv", "a\x00b", "\u202egnp.csv", "x" * 5000]


def test_a_file_name_is_never_used_as_a_path(open_client):
    open_client.auth = {}
    for name in NAMES:
        kept = clean_name(name)
        assert "/" not in kept and "\\" not in kept and "\x00" not in kept and len(kept) <= 200 and kept.isprintable()
    before = {path for path in open_client.store.parent.rglob("*") if "cache" not in path.parts}
    form = {"file": (io.BytesIO(ROW), NAMES[0]), "dataset": "pyramid", "model": "named"}
    result = post(open_client, form, 201, "")
    assert open_client.client.get(f"{ADDRESS}/{result['runs'][0]['run']}").json["file_name"] == "passwd"
    after = {path for path in open_client.store.parent.rglob("*") if "cache" not in path.parts}
    known = r"(gen-.*|incoming|LOCK|CURRENT|SWEPT|objects|statistics|responses|dataset=pyramid|(run=)?[0-9a-f]{16}(\.parquet)?)$"
    assert {path.name for path in after - before if not re.match(known, path.name)} == set()


def leading_out():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../../evil", "x")
    return out.getvalue()


FILES = {
    "a gzip bomb": (gzip.compress(bytes(12 * 2**20)), "unpacks to more than 10 MiB"),
    "a path that leads out": (leading_out(), "leads out of it"),
    "a hundred thousand lists": (b'{"question_id": ' + b"[" * 100_000, "nests too deeply"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_hostile_file_is_refused_with_a_reason(small, case):
    """A few of those in tests/helpers/hostile_files.py, through the whole upload."""
    content, reason = FILES[case]
    version = small.service.store.version()
    result = post(small, content[: 2**20], 422)["error"]
    assert small.service.store.version() == version
    assert any(reason in row["reason"] for row in result["rows"]), result
    assert not any(str(small.store) in row["reason"] or "clueline-scratch" in row["reason"] for row in result["rows"])


def test_text_that_looks_like_html_is_sent_as_a_file(open_client):
    """Guesses are returned as they were uploaded, and no browser shows them as anything but text."""
    guesses = ["<script>alert(1)</script>", '=HYPERLINK("http://evil.example")', "\u202egnp", "+1", "@x", "🙂", "-1"]
    rows = [{"question_id": "lit-01", "clue": clue, "guess": guess, "confidence": 0.5} for clue, guess in enumerate(guesses[:5])]
    rows += [{"question_id": "lit-02", "clue": clue, "guess": guess, "confidence": 0.5} for clue, guess in enumerate(guesses[5:])]
    open_client.auth = {}
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    result = post(open_client, content, 201, "dataset=pyramid&model=<b>page</b>&filename=<img src=x>.jsonl".replace(" ", "%20"))
    run = result["runs"][0]["run"]
    for form, kind in (("csv", "text/csv"), ("jsonl", "application/x-ndjson"), ("parquet", "application/")):
        answer = open_client.client.get(f"{ADDRESS}/{run}/responses.{form}")
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
        assert not set(answer.headers["Content-Disposition"]) & set("<>\r\n/")
        assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.mimetype.startswith(kind)
        if form == "csv":
            texts = [row["guess"] for row in csv.DictReader(io.StringIO(answer.get_data(as_text=True), newline=""))]
        elif form == "jsonl":
            texts = [json.loads(line)["guess"] for line in answer.get_data(as_text=True).splitlines()]
        else:
            texts = pl.read_parquet(io.BytesIO(answer.data))["guess"].to_list()
        assert texts == guesses
    for path in (f"{ADDRESS}/{run}", ADDRESS, "/api/v1/questions/pyramid/lit-01"):
        answer = open_client.client.get(path)
        assert answer.mimetype == "application/json" and answer.headers["X-Content-Type-Options"] == "nosniff"


RUNS = ["../../x", "%2e%2e%2fx", "x'; drop table runs; --", "\x00", "a" * 3000, "é", ".", "*"]


@pytest.mark.parametrize("run", RUNS)
def test_a_hostile_run_id_is_only_a_value(standing, run):
    for method, path in (("DELETE", f"{ADDRESS}/{quote(run, safe='')}"), ("POST", f"{ADDRESS}/{quote(run, safe='')}/restore")):
        answer = standing.client.open(path, method=method, headers=standing.auth)
        assert answer.status_code in (404, 308), answer.text
    assert standing.client.get(ADDRESS).status_code == 200


def test_queries_and_bodies_have_a_maximum_size(standing):
    assert attempt(standing, "GET", f"{ADDRESS}?q={'x' * 8000}", 414).json["error"]["code"] == "too_long"
    large = bytes(MAX_BODY + 1)
    assert standing.client.post("/_dash-update-component", data=large).status_code == 413
    refused = attempt(standing, "DELETE", f"{ADDRESS}/RUN", 413, standing.auth, data=large)
    assert refused.json["error"]["message"] == "The body is larger than 8 MiB, the limit for all but uploads."


@pytest.mark.parametrize("path", ["/api/v1/play", "/login", "/_dash-update-component", "/nothing"])
def test_a_late_body_is_answered_with_the_reason(standing, path):
    class LateBody(io.BytesIO):
        def readinto(self, buffer):
            raise BodyRefused(*TOO_SLOW)

    environ = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    answer = standing.client.post(path, input_stream=LateBody(), environ_overrides=environ)
    assert answer.status_code == 408
    assert answer.json["error"]["code"] == "too_slow" and "30 seconds" in answer.json["error"]["message"]


def test_no_folder_is_listed_and_nothing_else_is_served(standing):
    """Where there is no file, Dash serves its empty page."""
    for path in ("assets/", "assets/../README.md", "assets/%2e%2e/README.md", "store/tokens.json", "tokens.json", "assets/fonts"):
        answer = standing.client.get(f"/{path}")
        assert answer.status_code in (400, 404) or answer.mimetype == "text/html", path
        assert not any(word in answer.data for word in (b"digest", b"inter.woff2", b"# Clueline")), path


def test_oversized_headers_are_refused(network):
    for headers in ({"X-Long": "x" * 9000}, {f"X-{index}": "x" for index in range(80)}):
        assert httpx.get(f"{network.address}/healthz", headers=headers, timeout=300).status_code in (400, 431)
    assert httpx.get(f"{network.address}/healthz?{'x' * 9000}", timeout=300).status_code in (400, 414)


CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n"
REFUSED_BODIES = {
    "a length that is too large": (b"Content-Length: %d\r\n\r\n" % (MAX_BODY + 1) + bytes(MAX_BODY + 1), 413, "too_large"),
    "chunks that are too large": (CHUNKS + b"100000\r\n%s\r\n" % bytes(2**20) * 9, 413, "too_large"),
    "a body that ends early": (b"Content-Length: 99\r\n\r\n{}", 400, "broken_off"),
    "chunks that end early": (CHUNKS + b"99\r\n{}", 400, "broken_off"),
    "a bad size of a chunk": (CHUNKS + b"Z\r\n{}\r\n0\r\n\r\n", 400, "broken_off"),
    "a chunk without its end": (CHUNKS + b"1\r\n{}\r\n0\r\n\r\n", 400, "broken_off"),
    "a bad trailer": (CHUNKS + b"2\r\n{}\r\n0\r\nHost: evil.example\r\n\r\n", 400, "broken_off"),
}


UPLOAD = f"{ADDRESS}?dataset=pyramid&model=bad"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (path, name)
        for path in ("/api/v1/play", "/_dash-update-component", UPLOAD)
        for name in REFUSED_BODIES
        if not (path == UPLOAD and "too large" in name)  # uploads have another limit
    ],
)
def test_refused_bodies_are_answered_with_the_reason(network, path, name):
    sent, status, code = REFUSED_BODIES[name]
    place = urlsplit(network.address)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {network.token}\r\n".encode()
    with socket.create_connection((place.hostname, place.port), timeout=300) as sock:
        sock.sendall(head + sent)
        sock.shutdown(socket.SHUT_WR)
        answer = b""
        while part := sock.recv(65_536):
            answer += part
    assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer[:300]
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == code
    assert "Traceback" not in network.log.read_text(encoding="utf-8")


def test_a_refused_body_does_not_block_others(network):
    """A large body without a token is refused before it has arrived, and others are answered meanwhile."""
    place = urlsplit(network.address)
    with socket.create_connection((place.hostname, place.port), timeout=300) as sock:
        sock.sendall(b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nquestion_id")
        assert sock.recv(100).startswith(b"HTTP/1.1 401")
        assert httpx.get(f"{network.address}/healthz", timeout=300).status_code == 200


def test_slow_bodies_block_nobody_and_are_not_stored(network):
    """More slow uploads than one may send at once: the rest get a 503, others are served, half a file is not stored as a run."""
    place = urlsplit(network.address)
    start = (
        "POST /api/v1/runs?dataset=pyramid&model=slow HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {network.token}\r\nContent-Length: 1000\r\n\r\n"
    ).encode() + ROW
    sockets = [socket.create_connection((place.hostname, place.port), timeout=300) for _ in range(11)]
    try:
        for sock in sockets:
            sock.sendall(start)
        waiting, until = set(sockets), time.monotonic() + 300
        while len(waiting) > MAX_UPLOADS_OF_CLIENT and time.monotonic() < until:
            for sock in select.select(waiting, [], [], 1)[0]:
                assert sock.recv(100).startswith(b"HTTP/1.1 503")
                waiting.remove(sock)
        assert len(waiting) == MAX_UPLOADS_OF_CLIENT
        other = {"Authorization": f"Bearer {Tokens(FolderRegister(network.store)).create('other')}"}
        answer = httpx.post(f"{network.address}/api/v1/runs?dataset=pyramid&model=other", headers=other, timeout=300)
        assert answer.json()["error"]["code"] == "empty_file", "received, not refused"
        assert '"slow"' not in httpx.get(f"{network.address}/api/v1/runs", timeout=300).text
        assert not select.select(waiting, [], [], 0)[0], "answered only after the slow ones"
        for sock in waiting:
            sock.shutdown(socket.SHUT_WR)  # then the connection ends early
        for sock in waiting:
            assert sock.recv(100).startswith(b"HTTP/1.1 400")
    finally:
        for sock in sockets:
            sock.close()
    assert '"slow"' not in httpx.get(f"{network.address}/api/v1/runs", timeout=300).text
    quick, token = f"{network.address}/api/v1/runs?dataset=pyramid&model=quick", {"Authorization": f"Bearer {network.token}"}
    assert httpx.post(quick, content=ROW, headers=token, timeout=300).status_code == 201


def test_a_link_signs_one_browser_in(fresh):
    tokens, browser, other = Tokens(fresh.service.store.register), fresh.client, fresh.app.test_client()
    code = new_code(tokens)
    first = browser.get(f"/login?once={code}&next=/runs")
    assert (first.status_code, first.headers["Location"]) == (303, "/runs") and code not in first.headers["Set-Cookie"]
    assert browser.post("/api/v1/models/split", json={"name": "BM25"}).status_code == 200
    assert other.get(f"/login?once={code}").status_code == 401
    assert other.post("/api/v1/models/split", json={"name": "BM25"}).status_code == 401
    name = tokens.all()[-1].name
    assert name.startswith("browser-") and tokens.all()[-1].until
    assert other.get(f"/login?once={tokens.create('ann', 'admin')}").status_code == 401, "a token is no link"
    tokens.revoke(name)
    assert browser.post("/api/v1/models/split", json={"name": "BM25"}).status_code == 401


def test_a_code_writes_nothing(fresh):
    header = {"Authorization": f"Bearer {new_code(Tokens(fresh.service.store.register))}"}
    assert fresh.client.post("/api/v1/models/split", json={"name": "BM25"}, headers=header).status_code == 403


def test_serve_opens_the_link_in_a_browser(tmp_path, copied, monkeypatch):
    """What it opens has signed in nobody yet, and signs this browser in."""
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    ours, theirs = os.openpty()
    server = start_server(copied, Path(os.ttyname(theirs)), workers=1)
    try:
        wait_until(opened.exists)
        with urllib.request.urlopen(opened.read_text().strip()) as page:
            assert page.url.startswith(server.address) and page.status == 200
        assert opened.read_text().strip() in os.read(ours, 10_000).decode()
    finally:
        server.stop()
        os.close(ours)
        os.close(theirs)
