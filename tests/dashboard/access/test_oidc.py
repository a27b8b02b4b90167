"""People log in through an identity provider, a real one in another thread."""

import time
from http.cookies import SimpleCookie
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec
import pytest
import requests
from oidc_provider_mock import User, run_server_in_thread

from clueline.dashboard.access.providers.oidc import COOKIE, LOGIN_COOKIE, OidcUser, asymmetric, rights_of_groups
from clueline.dashboard.app import create_app
from clueline.dashboard.settings import BadSetting, Settings, read_settings
from clueline.data.store import open_store
from clueline.data.store.tokens_and_readers import Tokens

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib")  # of the provider
RIGHTS = ("Staff=admin", "lab=upload", "guests=read")
PEOPLE = {"ann": ["Staff", "guests"], "bo": ["lab"], "cy": "guests", "di": ["others"]}
NO_GROUPS = {"null": None, "number": 7, "true": True, "object": {"Staff": True}, "list": [None, True, 1.5]}
NAMES = {"blank-after": "ann ", "blank-before": " ann", "control": "an\tn", "unseen": "ann\u200b"}


@pytest.fixture(scope="module")
def issuer():
    users = [User(sub=f"id-{name}", claims={"preferred_username": name, "groups": groups}) for name, groups in PEOPLE.items()]
    users += [User(sub=f"no-{kind}", claims={"preferred_username": kind, "groups": value}) for kind, value in NO_GROUPS.items()]
    users += [User(sub=kind, claims={"preferred_username": name, "groups": ["Staff"]}) for kind, name in NAMES.items()]
    users.append(User(sub="nameless", claims={}))
    with run_server_in_thread(user_claims=users, require_nonce=True) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def app(copied, issuer):
    return create_app(
        Settings(
            store=str(copied), workers=1, read="token", url="http://localhost", oidc_issuer=issuer, oidc_client="clueline",
            oidc_secret="secret", oidc_rights=RIGHTS,
        )
    )  # fmt: skip


def begin(client, target="/runs"):
    """Send a browser to the provider; return the provider's address."""
    answer = client.post("/login/oidc", data={"next": target})
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def at_provider(url, subject):
    """Log in at the provider; return the address on this server to which it sends the browser."""
    answer = httpx.post(url, data={"sub": subject})
    assert answer.status_code == 302, answer.text
    back = urlsplit(answer.headers["Location"])
    return f"{back.path}?{back.query}"


def log_in(app, subject):
    client = app.test_client()
    return client, client.get(at_provider(begin(client), subject))


@pytest.mark.parametrize(("name", "right"), [("ann", "admin"), ("bo", "upload"), ("cy", "read")])
def test_groups_give_rights(app, name, right):
    client, answer = log_in(app, f"id-{name}")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/runs")
    kept = SimpleCookie("; ".join(answer.headers.getlist("Set-Cookie")))[COOKIE]
    assert kept["httponly"] and kept["samesite"] == "Lax" and 0 < int(kept["max-age"]) <= 12 * 3600
    assert client.get("/api/v1/runs").status_code == 200
    changed, decided = client.post("/api/v1/models/split", json={"name": "BM25"}), client.put("/api/v1/datasets/x/readers")
    assert (changed.status_code, decided.status_code) == (200 if right != "read" else 403, 200 if right == "admin" else 403)
    if right != "read":
        assert client.get("/api/v1/audit").json["events"][0]["by"] == f"user:{name}"
    page = client.get("/login").text
    assert f"user:{name}" in page and right in page and "Log out" in page
    client.post("/logout")
    assert client.get("/api/v1/runs").status_code == 401


def test_readers_of_private_datasets_are_the_same_users(app, copied):
    tokens = Tokens(app.extensions["clueline"].store.register)
    tokens.make_private("pyramid", ("user:bo",), "operator")
    shown = {name: log_in(app, f"id-{name}")[0].get("/api/v1/questions?dataset=pyramid").status_code for name in ("bo", "cy")}
    assert shown == {"bo": 200, "cy": 400}, "unknown dataset"


def test_other_sites_cannot_use_the_login(app):
    client, _ = log_in(app, "id-ann")
    answer = client.post("/api/v1/models/split", json={"name": "BM25"}, headers={"Origin": "https://evil.example"})
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "cross_site")


@pytest.mark.parametrize("kind", NO_GROUPS)
def test_a_claim_that_lists_no_groups_lists_none(app, kind):
    client, answer = log_in(app, f"no-{kind}")
    assert answer.status_code == 403 and "None of your groups" in answer.text
    everybody = create_app(msgspec.structs.replace(app.extensions["clueline"].settings, oidc_rights=("Staff=admin", "*=read")))
    client, answer = log_in(everybody, f"no-{kind}")
    assert answer.status_code == 303 and client.put("/api/v1/datasets/pyramid/readers", json={}).status_code == 403


@pytest.mark.parametrize("kind", NAMES)
def test_a_name_is_never_another_persons(app, kind):
    client, answer = log_in(app, kind)
    assert answer.status_code == 400 and "must not begin or end with a blank" in answer.text
    assert COOKIE not in str(answer.headers) and client.get("/api/v1/runs").status_code == 401


def test_a_login_is_finished_once(app):
    """Also by a browser that still has the cookie, with another code, and at another worker or host with the same store."""
    client = app.test_client()
    url = begin(client)
    cookie = client.get_cookie(LOGIN_COOKIE, path="/").value
    other = create_app(app.extensions["clueline"].settings)
    assert client.get(at_provider(url, "id-ann")).status_code == 303
    for again in (app.test_client(), other.test_client()):
        again.set_cookie(LOGIN_COOKIE, cookie)
        answer = again.get(at_provider(url, "id-ann"))
        assert answer.status_code == 400 and "was finished before" in answer.text and COOKIE not in str(answer.headers)


def test_finished_logins_are_forgotten_when_they_would_end(copied):
    tokens = Tokens(open_store(copied).register)
    assert tokens.take_login("old", int(time.time()) - 1) and tokens.take_login("new", int(time.time()) + 60)
    assert not tokens.take_login("new", int(time.time()) + 60) and len(tokens.record().logins) == 1


@pytest.mark.parametrize(("subject", "reason"), [("id-di", "None of your groups"), ("nameless", "CLUELINE_OIDC_USER")])
def test_who_has_no_right_or_name_is_told_why(app, subject, reason):
    client, answer = log_in(app, subject)
    assert answer.status_code == 403 and reason in answer.text and client.get("/api/v1/runs").status_code == 401


def test_a_login_of_another_browser_is_refused(app):
    attacker, victim = app.test_client(), app.test_client()
    stolen = at_provider(begin(attacker), "id-ann")
    begin(victim)
    assert victim.get(stolen).status_code == 400
    assert app.test_client().get(stolen).status_code == victim.get("/login/oidc/done?state=ü&code=x").status_code == 400


def test_a_login_that_nobody_began_writes_nothing(app, copied):
    """Not even the key that signs logins, which the store does not have yet."""
    assert app.test_client().get("/login/oidc/done?code=1&state=1").status_code == 400
    assert not (copied / "tokens.json").exists()


def test_a_code_of_another_login_is_refused(app):
    """The state is right, but the provider's answer holds the nonce of another login."""
    client, other = app.test_client(), app.test_client()
    state = parse_qs(urlsplit(begin(client)).query)["state"][0]
    code = parse_qs(urlsplit(at_provider(begin(other), "id-ann")).query)["code"][0]
    answer = client.get(f"/login/oidc/done?code={code}&state={state}")
    assert answer.status_code == 401 and "did not confirm" in answer.text and COOKIE not in str(answer.headers)


@pytest.fixture
def provider_says(monkeypatch):
    """Change what the provider says about itself by a function."""

    def changed(change):
        ask = requests.get

        def get(url, **options):
            answer = ask(url, **options)
            facts = change(answer.json())
            answer.json = lambda: facts
            return answer

        monkeypatch.setattr(requests, "get", get)

    return changed


def test_a_key_of_another_provider_proves_nothing(app, provider_says):
    """The provider says who somebody is, but by a key that it does not publish."""
    with run_server_in_thread() as other:
        provider_says(lambda known: known | {"jwks_uri": f"http://localhost:{other.server_port}/jwks"})
        client, answer = log_in(app, "id-ann")
    assert answer.status_code == 401 and client.get("/api/v1/runs").status_code == 401


@pytest.mark.parametrize("missing", ["authorization_endpoint", "jwks_uri"])
def test_a_provider_that_lacks_an_endpoint(app, provider_says, missing):
    provider_says(lambda known: {key: value for key, value in known.items() if key != missing})
    answer = app.test_client().post("/login/oidc")
    assert answer.status_code == 502 and missing in answer.text


def test_a_long_target_is_forgotten(app):
    client = app.test_client()
    answer = client.get(at_provider(begin(client, "/runs?search=" + "x" * 4000), "id-bo"))
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")


def test_a_code_that_the_provider_does_not_know(app):
    client = app.test_client()
    state = parse_qs(urlsplit(begin(client)).query)["state"][0]
    assert client.get(f"/login/oidc/done?code=none&state={state}").status_code == 401
    answer = client.get(f"/login/oidc/done?error=access_denied&error_description=<b>No&state={state}")
    assert answer.status_code == 401 and "&lt;b&gt;No" in answer.text


def test_what_is_asked_of_the_provider(app):
    asked = parse_qs(urlsplit(begin(app.test_client())).query)
    assert asked["response_type"] == ["code"] and asked["redirect_uri"] == ["http://localhost/login/oidc/done"]
    assert asked["code_challenge_method"] == ["S256"] and len(asked["code_challenge"][0]) == 43
    assert {len(asked[key][0]) for key in ("state", "nonce")} == {48}


def test_cookies_end(app, monkeypatch):
    client, _ = log_in(app, "id-bo")
    began = app.test_client()
    back = at_provider(begin(began), "id-bo")
    Tokens(app.extensions["clueline"].store.register).new_link_key()
    assert client.get("/api/v1/runs").status_code == 401 and began.get(back).status_code == 400, "sign --revoke-all"
    client, _ = log_in(app, "id-bo")
    began = app.test_client()
    back = at_provider(begin(began), "id-bo")
    now = time.time()
    monkeypatch.setattr("clueline.dashboard.access.providers.oidc.time.time", lambda: now + 601)
    assert client.get("/api/v1/runs").status_code == 200 and began.get(back).status_code == 400
    monkeypatch.setattr("clueline.dashboard.access.providers.oidc.time.time", lambda: now + 12 * 3600 + 1)
    assert client.get("/api/v1/runs").status_code == 401
    monkeypatch.setattr("clueline.dashboard.access.providers.oidc.time.time", lambda: now - 3600)
    assert client.get("/api/v1/runs").status_code == 401, "made while the clock was ahead, it would last for longer than a login"


def test_forged_cookies(app):
    client, _ = log_in(app, "id-cy")
    begin(client)
    names = {name: client.get_cookie(name, path="/").value for name in (COOKIE, LOGIN_COOKIE)}
    for value in (names[LOGIN_COOKIE], names[COOKIE][:-1], "", "x.y"):
        other = app.test_client()
        other.set_cookie(COOKIE, value)
        assert other.get("/api/v1/runs").status_code == 401


def test_a_provider_that_is_away_or_another(copied, issuer):
    for reason, url in (("cannot be reached", "http://localhost:9"), ("does not call itself", f"{issuer}/")):
        settings = Settings(store=str(copied), workers=1, url="http://localhost", oidc_issuer=url, oidc_client="clueline")
        answer = create_app(settings).test_client().post("/login/oidc")
        assert answer.status_code == 502 and reason in answer.text and "Token" in answer.text


def test_off_unless_set(fresh):
    assert "with your account" not in fresh.client.get("/login").text
    assert fresh.client.post("/login/oidc").status_code == 404


def test_keys_are_those_of_the_provider_only():
    assert asymmetric({"id_token_signing_alg_values_supported": ["HS256", "none", "RS256", "ES256"]}) == ["RS256", "ES256"]
    assert rights_of_groups(("a=b=read",)) == {"a=b": "read"}


def test_settings():
    given = {"CLUELINE_OIDC_ISSUER": "https://login.lab.example", "CLUELINE_OIDC_SECRET": "hidden-text"}
    with pytest.raises(BadSetting, match="CLUELINE_OIDC_CLIENT and CLUELINE_URL"):
        read_settings(given)
    given |= {"CLUELINE_OIDC_CLIENT": "clueline", "CLUELINE_URL": "https://clueline.lab.example"}
    settings = read_settings(given | {"CLUELINE_OIDC_RIGHTS": "Staff=admin, *=read"})
    assert settings.oidc_rights == ("Staff=admin", "*=read") and "hidden-text" not in repr(settings)
    assert OidcUser(settings).settings is settings
    for bad in ({"CLUELINE_OIDC_RIGHTS": "staff=owner"}, {"CLUELINE_OIDC_ISSUER": "http://localhost.evil.example"}):
        with pytest.raises(BadSetting, match=next(iter(bad))):
            read_settings(given | bad)
