"""A one-time link signs in the first browser that opens it, and no other."""

from data.store.tokens_and_readers import Tokens, new_code


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
