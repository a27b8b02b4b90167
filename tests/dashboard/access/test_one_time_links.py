"""A one-time link signs in the first browser that opens it, and no other."""

import os
import urllib.request
from pathlib import Path

from data.store.tokens_and_readers import Tokens, new_code
from tests.helpers.serving import start_server
from tests.helpers.waiting import wait_until


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
