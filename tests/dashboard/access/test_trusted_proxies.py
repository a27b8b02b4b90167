"""Addresses and user names from headers count only if a listed proxy sends them."""

import logging
import shutil

import httpx
import pytest
from flask import Flask, request

from clueline.dashboard.access import trusted_proxies
from clueline.dashboard.settings import BadSetting, read_settings
from tests.helpers.nginx import PROGRAM, naming_proxy
from tests.helpers.serving import serving
from tests.helpers.uploads import ADDRESS, post, upload_client

ANSWERS = b"question_id,clue,guess,confidence\nlit-01,0,x,0.5\n"
PROXY, STRANGER = "10.1.2.3", "192.0.2.9"
HEADER = "X-Remote-User"


def upload_behind(store, networks=("10.0.0.0/8", "::1"), uploads="token"):
    return upload_client(store, uploads=uploads, trusted_proxies=networks, user_header=HEADER)


@pytest.fixture(scope="module")
def behind(seeded, tmp_path_factory):
    return upload_behind(shutil.copytree(seeded, tmp_path_factory.mktemp("behind") / "store"))


@pytest.fixture(scope="module")
def echo():
    """A server that answers with where a request seems to come from."""
    server = Flask("echo")
    trusted_proxies.install(server, ("10.0.0.0/8", "::1"))

    @server.get("/")
    def seen():
        return {"address": request.remote_addr, "scheme": request.scheme, "host": request.host}

    return server.test_client()


def sent_by(peer):
    return {"environ_overrides": {"REMOTE_ADDR": peer}}


FORWARDED = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "lab.localhost"}


@pytest.mark.parametrize("peer", [PROXY, "::1", "::ffff:10.1.2.3"])
def test_a_trusted_proxy_says_where_requests_come_from(echo, peer):
    seen = echo.get("/", headers=FORWARDED, **sent_by(peer)).json
    assert seen == {"address": "203.0.113.7", "scheme": "https", "host": "lab.localhost"}
    chain = FORWARDED | {"X-Forwarded-For": "1.1.1.1, 203.0.113.7"}  # the client wrote the first one
    assert echo.get("/", headers=chain, **sent_by(peer)).json["address"] == "203.0.113.7"


@pytest.mark.parametrize("peer", [STRANGER, "127.0.0.1", "11.0.0.1", "::2", "", "not an address"])
def test_nobody_else_says_where_requests_come_from(echo, peer):
    seen = echo.get("/", headers=FORWARDED, **sent_by(peer)).json
    assert seen == {"address": peer, "scheme": "http", "host": "localhost"}


def test_an_unknown_host_from_a_proxy_is_refused_too(behind):
    headers = FORWARDED | {"X-Forwarded-Host": "evil.example"}
    answer = behind.client.get("/api/v1/runs", headers=headers, **sent_by(PROXY))
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "unknown_host")


@pytest.mark.parametrize("scheme", ["javascript", "ftp", "https://evil.example/?", "https, javascript"])
def test_a_scheme_that_no_link_can_have_is_refused(behind, scheme):
    answer = behind.client.get("/login", headers=FORWARDED | {"X-Forwarded-Proto": scheme}, **sent_by(PROXY))
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "bad_scheme")
    assert behind.client.get("/login", headers={"X-Forwarded-Proto": scheme}, **sent_by(STRANGER)).status_code == 200


@pytest.mark.parametrize("scheme", ["https", "HTTPS", "javascript, https"])
def test_the_last_proxy_names_the_scheme(echo, behind, scheme):
    headers = FORWARDED | {"X-Forwarded-Proto": scheme}
    assert echo.get("/", headers=headers, **sent_by(PROXY)).json["scheme"] == "https"
    assert behind.client.get("/login", headers=headers, **sent_by(PROXY)).status_code == 200


@pytest.mark.parametrize(("host", "code"), [
    ("lab.localhost:65536", "bad_host"), ("lab.localhost:" + "9" * 5000, "bad_host"), ("lab.localhost:80:80", "unknown_host"),
    ("user@lab.localhost", "unknown_host"), ("lab.localhost/x", "unknown_host"), ("lab.localhost:8o", "unknown_host"),
])  # fmt: skip
def test_a_host_that_no_link_can_have_is_refused(behind, host, code):
    answer = behind.client.get("/api/v1/runs", headers=FORWARDED | {"X-Forwarded-Host": host}, **sent_by(PROXY))
    assert answer.json["error"]["code"] == code


def test_uploads_carry_the_name_of_a_proxys_user(copied):
    upload = upload_behind(copied)
    upload.auth = {}
    result = post(upload, ANSWERS, 201, headers={HEADER: "ann@lab.example"}, **sent_by(PROXY))
    run = result["runs"][0]["run"]
    assert upload.client.get(f"{ADDRESS}/{run}").json["imported_by"] == "ann@lab.example"
    withdrawn = upload.client.delete(f"{ADDRESS}/{run}", headers={HEADER: "bob"}, **sent_by(PROXY))
    assert (withdrawn.status_code, withdrawn.json["withdrawn_by"]) == (200, "bob")


def test_a_token_counts_through_a_proxy(copied):
    """The token's name counts, whoever is logged in. What a proxy passes on of its own login does not matter."""
    upload = upload_behind(copied)
    token = upload.auth
    result = post(upload, ANSWERS, 201, headers={HEADER: "bob"}, **sent_by(PROXY))
    assert upload.client.get(f"{ADDRESS}/{result['runs'][0]['run']}").json["imported_by"] == "ann"
    upload.auth = {"Authorization": "Basic Ym9iOng="}
    post(upload, ANSWERS, 200, headers={HEADER: "bob"}, **sent_by(PROXY))
    upload.auth = {"Authorization": "Bearer wrong"}
    post(upload, ANSWERS, 401, headers={HEADER: "bob"}, **sent_by(PROXY))
    upload.auth = token
    post(upload, ANSWERS, 200, **sent_by(PROXY))


@pytest.mark.parametrize("peer", [STRANGER, "127.0.0.1", ""])
@pytest.mark.parametrize("path", ["/", "/healthz", "/api/v1/runs", "/assets/before_first_paint.js", "/_dash-layout"])
def test_the_header_is_refused_from_elsewhere(behind, peer, path):
    answer = behind.client.get(path, headers={HEADER: "ann", "X-Forwarded-For": PROXY}, **sent_by(peer))
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "untrusted_proxy")
    assert HEADER in answer.json["error"]["message"] and "CLUELINE_TRUSTED_PROXIES" in answer.json["error"]["message"]


def test_the_header_lets_nobody_elsewhere_write(behind):
    version = behind.service.store.version()
    for headers in ({HEADER: "ann"}, {HEADER: "ann"} | behind.auth):
        answer = behind.client.post(f"{ADDRESS}?dataset=pyramid", data=ANSWERS, headers=headers, **sent_by(STRANGER))
        assert (answer.status_code, answer.json["error"]["code"]) == (403, "untrusted_proxy")
    for headers in ({}, {HEADER: ""}, {HEADER: " "}):  # nobody is logged in at the proxy
        answer = behind.client.post(f"{ADDRESS}?dataset=pyramid", data=ANSWERS, headers=headers, **sent_by(PROXY))
        assert (answer.status_code, answer.json["error"]["code"]) == (401, "no_token")
    assert behind.service.store.version() == version


@pytest.mark.parametrize("name", ["open", "x" * 101, "a\tb", "a\x7fb", "ann ", " ann"])
def test_an_invalid_user_name_is_refused(behind, name):
    answer = behind.client.post(f"{ADDRESS}?dataset=pyramid", data=ANSWERS, headers={HEADER: name}, **sent_by(PROXY))
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "bad_user")


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_pages_of_other_sites_do_not_write_as_a_user(behind, headers):
    """A browser sends the login of the proxy's user along with any site's request."""
    answer = behind.client.post(ADDRESS, data=ANSWERS, headers={HEADER: "ann"} | headers, **sent_by(PROXY))
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "cross_site")


def test_a_server_without_the_setting_ignores_the_header(copied):
    upload = upload_client(copied, trusted_proxies=("10.0.0.0/8",))
    upload.auth = {}
    post(upload, ANSWERS, 401, headers={HEADER: "ann"}, **sent_by(PROXY))
    assert upload.client.get("/healthz", headers={HEADER: "ann"}).status_code == 200


def test_a_user_header_needs_trusted_proxies():
    with pytest.raises(BadSetting, match="CLUELINE_USER_HEADER needs CLUELINE_TRUSTED_PROXIES"):
        read_settings({"CLUELINE_USER_HEADER": HEADER})
    settings = read_settings({"CLUELINE_USER_HEADER": HEADER, "CLUELINE_TRUSTED_PROXIES": "10.0.0.0/8, ::1"})
    assert (settings.user_header, settings.trusted_proxies) == (HEADER, ("10.0.0.0/8", "::1"))


@pytest.mark.skipif(PROGRAM is None, reason="there is no nginx here")
def test_a_real_proxy_names_user_and_address(copied, tmp_path, caplog):
    caplog.set_level(logging.INFO, "clueline.dashboard.http.logs")
    upload = upload_behind(copied, ("127.0.0.1",))
    with serving(upload.app) as server:
        proxy = naming_proxy(tmp_path / "nginx", server)
        try:
            # The proxy replaces the user header and extends X-Forwarded-For.
            headers = {"X-Login": "ann", HEADER: "mallory", "X-Forwarded-For": "1.1.1.1"}
            address = f"{proxy.address}{ADDRESS}?dataset=pyramid&model=m"
            answer = httpx.post(address, content=ANSWERS, headers=headers, timeout=120)
        finally:
            proxy.stop()
    assert answer.status_code == 201, answer.text
    assert upload.client.get(f"{ADDRESS}/{answer.json()['runs'][0]['run']}").json["imported_by"] == "ann"
    (line,) = [record for record in caplog.records if getattr(record, "method", "") == "POST"]
    assert (line.writer, line.address) == ("ann", "127.0.0.1")
