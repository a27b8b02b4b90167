"""Log lines: one object each, with the request that they belong to, and never a secret."""

import json
import logging
import re
import socket
from datetime import datetime

import httpx
import pytest

from clueline.dashboard.http.logs import LineFormatter, without_secrets
from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.serving import start_server

ANSWERS = b"question_id,clue,guess,confidence\nlit-01,0,x,0.5\n"


def ask(served, path, headers, body=None):
    """Return status and headers of an answer."""
    answer = httpx.request("POST" if body else "GET", f"{served.address}{path}", headers=headers, content=body, timeout=120)
    return answer.status_code, answer.headers


@pytest.mark.parametrize("path", ["/", "/api/v1/nowhere", "/api/v1/leaderboard?dataset=no", "/nothing", "/api/v1/runs"])
def test_a_well_formed_request_id_is_kept(client, path):
    for given in ("req-12345678", "0123456789abcdef", "A.b_c-" * 20):
        assert client.get(path, headers={"X-Request-ID": given}).headers["X-Request-ID"] == given


@pytest.mark.parametrize("given", [None, "", "short", "with space in it", "x" * 129, "käse-käse-käse", "a;b;c;d;e;f;g"])
def test_any_other_request_id_is_replaced(client, given):
    headers = {} if given is None else {"X-Request-ID": given}
    made = [client.get("/healthz", headers=headers).headers["X-Request-ID"] for _ in range(2)]
    assert made[0] != made[1] and all(re.fullmatch("[0-9a-f]{16}", name) for name in made)


def test_each_request_is_one_log_line(client, caplog):
    caplog.set_level(logging.DEBUG, "clueline.dashboard.http.logs")
    client.get("/api/v1/datasets?token=clueline_secret", headers={"X-Request-ID": "mine-1234"})
    client.get("/healthz")
    first, second = (record for record in caplog.records if record.name == "clueline.dashboard.http.logs")
    assert (first.getMessage(), first.levelname, first.status) == ("GET /api/v1/datasets: 400", "INFO", 400)
    assert 0 <= first.seconds < 60 and first.address == "127.0.0.1"
    assert second.levelname == "DEBUG"


def test_an_uploads_lines_share_its_request_id(copied, tmp_path):
    """So do the lines of the process that reads the file. No line holds a token, wherever a client put it."""
    token = Tokens(FolderRegister(copied)).create("lab")
    auth = {"Authorization": f"Bearer {token}"}
    served = start_server(
        copied, tmp_path / "log", workers=1, log_level="debug", log_format="json", cache="redis://me:hush@127.0.0.1:1"
    )
    try:
        path = "/api/v1/runs?dataset=pyramid&model=logged&filename=odd%0Aname.csv"
        status, headers = ask(served, path, auth | {"X-Request-ID": "upload-0001"}, ANSWERS)
        assert (status, headers["X-Request-ID"]) == (201, "upload-0001")
        assert ask(served, path, auth | {"X-Request-ID": "upload-0002"}, b"question_id\nlit-01\n")[0] == 422
        assert ask(served, f"/api/v1/runs/{token}?token={token}", auth)[0] == 400
        assert ask(served, f"/{token}", {"X-Request-ID": token})[0] == 404
        assert ask(served, "/api/v1/runs", {"Authorization": f"Bearer {token}x"}, ANSWERS)[0] == 401
        assert ask(served, "/api/v1/runs", {"Authorization": f"Basic {token}"}, ANSWERS)[0] == 401
        assert ask(served, "/api/v1/leaderboard?dataset=pyramid", auth)[0] == 200
        host, port = served.address.removeprefix("http://").split(":")
        for line in (f"Authorization Bearer {token}", f"Authorization : Bearer {token}", f"{token}"):
            with socket.create_connection((host, int(port)), timeout=30) as connection:
                connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{line}\r\n\r\n".encode())
                assert b" 400 " in connection.recv(4096)
    finally:
        served.stop()
    text = (tmp_path / "log").read_text(encoding="utf-8")
    assert token.removeprefix("clueline_") not in text and "hush" not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert all(datetime.fromisoformat(line["time"]).tzinfo and line["level"] and line["logger"] for line in lines)
    for request, outcome, status in (("upload-0001", "accepted", 201), ("upload-0002", "rejected", 422)):
        mine = [line for line in lines if line["request_id"] == request]
        began, ended = (line for line in mine if line["logger"] == "clueline.dashboard.uploads.import_process")
        (answered,) = (line for line in mine if line["logger"] == "clueline.dashboard.http.logs")
        assert began["writer"] == ended["writer"] == answered["writer"] == "lab"
        assert (ended["outcome"], answered["status"]) == (outcome, status)
        assert began["process"] == ended["process"] != answered["process"]
    assert any(line["logger"] == "gunicorn.error" for line in lines)
    assert any("Clueline is at" in line["message"] for line in lines)
    assert any("the cache failed" in line["message"] for line in lines)
    assert "Invalid" in text  # gunicorn quotes bad headers


def test_an_error_is_one_line_of_json():
    try:
        raise ValueError("bad\nvalue clueline_0123456789abcdef0123")
    except ValueError as error:
        record = logging.LogRecord("dashboard", logging.ERROR, __file__, 1, "it\nfailed: %s", (error,), (ValueError, error, None))
    line = LineFormatter("json").format(record)
    assert "\n" not in line and "0123456789abcdef" not in line
    assert json.loads(line)["message"] == "it\nfailed: bad\nvalue clueline_***" and "ValueError" in json.loads(line)["exc_info"]


SECRETS = [
    "clueline_" + "s3cr3t-_" * 5,
    "Bearer s3cr3t",
    "authorization: basic s3cr3t",
    "redis://s3cr3t@host",
    "postgres://lab:s3cr3t@host/x",
    "host=db user=lab password=s3cr3t dbname=x",
    "create secret s (type s3, key_id 'x', secret 's3cr3t')",
]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_are_left_out(text):
    assert "s3cr3t" not in without_secrets(f"before {text} after") and without_secrets(f"before {text} after").endswith(" after")


@pytest.mark.parametrize("text", ["GET /runs: 200", "http://host/a@b", "clueline_short", "the secret is out", "no password"])
def test_other_text_is_left_alone(text):
    assert without_secrets(text) == text
