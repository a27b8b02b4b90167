"""Moving a store from one kind to another and back."""

from clueline.data.store import open_store
from clueline.data.store.audit import Audit
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.metric_digests import metric_digest
from tests.helpers.store_addresses import new_address
from tests.helpers.stores import seed_without_models


def test_a_folder_moves_to_postgres_and_s3_and_back(request, tmp_path, cli):
    folder, back = tmp_path / "store", tmp_path / "back"
    store = open_store(folder, threads=1)
    seed_without_models(store)
    token = Tokens(store.register).create("ann")
    Tokens(store.register).make_private("tone", ["ann"])
    changes = Audit(store.register).page(1000)
    expected = metric_digest(store)
    shared = new_address(request, "postgres and s3", tmp_path)
    done = cli("migrate", "--to", shared, store=folder)
    assert done.returncode == 0 and "3 datasets, 19 runs" in done.stdout, done.stderr
    assert metric_digest(open_store(shared, threads=1)) == expected
    moved = open_store(shared, threads=1)
    assert Tokens(moved.register).latest().private == {"tone": ("ann",)}
    assert Audit(moved.register).page(1000) == changes != []
    Tokens(moved.register).make_public("tone")
    assert Tokens(moved.register).latest().private == {}  # readers see it at once
    again = cli("migrate", "--to", shared, store=folder)
    assert again.returncode == 1 and "already holds data" in again.stderr
    assert cli("migrate", "--to", back, store=shared).returncode == 0
    returned = open_store(back, threads=1)
    assert metric_digest(returned) == expected
    assert Tokens(returned.register).record().find(token).name == "ann"
    assert [event.action for event in Audit(returned.register).page(2)] == ["made_public", "made_private"]


def test_no_message_contains_the_password(tmp_path, cli, postgres):
    folder = tmp_path / "store"
    seed_without_models(open_store(folder, threads=1))
    address = postgres.new_database().replace("clueline@", "clueline:geheim@")
    url = f"{address}?objects={tmp_path / 'objects'}&local={tmp_path / 'local'}"
    for arguments, store in (
        (("migrate", "--to", url), folder),
        (("migrate", "--to", url), folder),
        (("migrate",), url),
        (("repair",), url),
    ):
        done = cli(*arguments, store=store)
        assert "geheim" not in done.stdout + done.stderr
        assert "postgres://clueline@" in done.stdout + done.stderr
