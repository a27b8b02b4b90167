"""What can be changed of a run: its tags, whether it counts, and whether it is there at all."""

import pytest

from data.store.audit import Audit
from data.store.run_files import all_objects
from data.store.tokens_and_readers import Tokens
from tests.helpers.json_api import get

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
