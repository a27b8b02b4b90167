"""What is private in a store or in its backup is private wherever its data are put in force."""

import msgspec
import pytest

from clueline.data.store import StoreError, open_store
from clueline.data.store.backup import back_up, copy_store, restore_backup
from clueline.data.store.cache_validity_tokens import renew_revisions
from clueline.data.store.tokens_and_readers import AccessRecord, Token, Tokens
from tests.helpers.bundle_factory import FACTS, RESPONSES, put, refusal, write
from tests.helpers.store_notes import note


def new_store(folder, *datasets):
    """Return a store with datasets without questions."""
    store = open_store(folder / "store", threads=1)
    for dataset in datasets:
        store.write(lambda connection, name=dataset: note(name)(connection) or renew_revisions(connection, [name]))
    return store


def fill(store, folder):
    bundles = [write(folder / name, FACTS | {"dataset": name}, responses=RESPONSES) for name in ("toy", "secret")]
    put(store, *bundles, model="m")
    tokens = Tokens(store.register)
    for name in ("ann", "bob"):
        tokens.create(name)
    tokens.make_private("secret", ["ann", "bob", "user:kim"])
    back_up(store, folder / "saved")


@pytest.fixture
def lab(prefilled):
    """A store with a dataset that is private to two tokens and a user of the proxy."""
    return prefilled(fill)


@pytest.fixture
def saved(lab, tmp_path):
    """A backup of it."""
    return tmp_path / "saved"


def private(store):
    return Tokens(store.register).record().private


def test_a_new_store_gets_tokens_and_readers(lab, saved, tmp_path):
    restored = new_store(tmp_path / "new")
    restore_backup(restored, saved)
    assert Tokens(restored.register).record() == Tokens(lab.register).record()


def test_a_store_with_its_own_tokens_gets_private_datasets(saved, tmp_path):
    other = new_store(tmp_path / "other", "toy")
    tokens = Tokens(other.register)
    tokens.create("ann")  # somebody else's
    tokens.make_private("draft", ["ann"])
    restore_backup(other, saved)
    assert private(other) == {"draft": ("ann",), "secret": ("user:kim",)}
    assert [token.name for token in tokens.all()] == ["ann"]


def test_what_was_made_public_since_is_private_again(lab, saved):
    Tokens(lab.register).make_public("secret")
    restore_backup(lab, saved)
    assert private(lab) == {"secret": ("ann", "bob", "user:kim")}


def test_what_was_changed_since_stays(lab, saved):
    tokens = Tokens(lab.register)
    tokens.revoke("bob")
    tokens.make_private("secret", ["ann"])
    tokens.make_private("toy", [])
    restore_backup(lab, saved)
    assert private(lab) == {"secret": ("ann",), "toy": ()}
    assert [bool(token.revoked_at) for token in tokens.all()] == [False, True]


def test_a_copy_that_was_killed_is_completed(lab, tmp_path):
    """What a killed process had copied is older than the source now."""
    copy = new_store(tmp_path / "copy")
    early = Tokens(lab.register).record()
    Tokens(copy.register).change(lambda record: early)
    tokens = Tokens(lab.register)
    tokens.revoke("bob")
    tokens.create("carl")
    tokens.make_private("secret", ["ann"])
    copy_store(lab, copy)
    assert Tokens(copy.register).record() == tokens.record() != early


@pytest.mark.parametrize("store", ["target", "backup"])
def test_without_the_list_of_readers_nothing_is_restored(lab, saved, tmp_path, store):
    other = new_store(tmp_path / "other", "toy")
    Tokens(other.register).create("eve")
    folder = saved if store == "backup" else tmp_path / "other" / "store"
    (folder / "tokens.json").unlink()
    before = other.pointer()
    with pytest.raises(StoreError, match=r"not known which datasets are private: the tokens cannot be .*gone"):
        restore_backup(other, saved)
    assert other.pointer() == before


def test_the_data_are_in_force_only_after_the_list_is_written(saved, tmp_path, monkeypatch):
    other = new_store(tmp_path / "other", "toy")
    before, register = other.pointer(), type(other.register)
    change, asked = register.change_tokens, []

    def recording(self, replace):
        asked.append(self.read())
        return change(self, replace)

    monkeypatch.setattr(register, "change_tokens", recording)
    restore_backup(other, saved)
    assert asked == [before] and other.pointer() != before


class TestBundles:
    @pytest.fixture
    def bundle(self, tmp_path):
        return write(tmp_path / "bundle", FACTS | {"private": True})

    @pytest.mark.parametrize(("readers", "names"), [((), ""), (("user:kim",), "user:kim, ")])
    def test_a_private_bundle_becomes_a_private_dataset(self, bundle, tmp_path, readers, names):
        store = new_store(tmp_path)
        report = put(store, bundle, readers=readers)
        assert private(store) == {"toy": readers}
        warning = f"dataset toy: private, as its bundle says; its readers: {names}tokens with the right admin"
        assert warning in report.warnings

    def test_it_is_private_before_it_is_published(self, bundle, tmp_path, monkeypatch):
        store = new_store(tmp_path)
        published = []
        monkeypatch.setattr(type(store), "write", lambda self, change, events: published.append(private(self)))
        put(store, bundle)
        assert published == [{"toy": ()}]

    def test_readers_who_are_named_already_stay(self, bundle, tmp_path):
        store = new_store(tmp_path)
        Tokens(store.register).make_private("toy", ["user:ann"])
        put(store, bundle, readers=("user:kim",))
        assert private(store) == {"toy": ("user:ann",)}

    def test_it_does_not_join_a_public_dataset(self, bundle, toy):
        (problem,) = refusal(toy, bundle).problems
        assert problem.reason.startswith("everybody can read dataset 'toy' of the store; make it private first")
        assert Tokens(toy.register).record() == AccessRecord()


@pytest.mark.parametrize("name", ["tokens.json", "CURRENT", "objects"])
def test_a_backup_with_a_link_in_it_is_not_restored(saved, tmp_path, name):
    (saved / name).rename(tmp_path / "elsewhere")
    (saved / name).symlink_to(tmp_path / "elsewhere")
    target = open_store(tmp_path / "restored")
    with pytest.raises(StoreError, match=f"{name} is a link"):
        restore_backup(target, saved)
    assert target.catalogue() is None and Tokens(target.register).all() == []


def test_tokens_without_a_checksum_are_not_restored(saved, tmp_path):
    token = msgspec.json.encode([Token("ann", "0" * 64, "2024-01-01T00:00:00.000000Z", right="admin")])
    (saved / "tokens.json").write_bytes(token)
    target = open_store(tmp_path / "restored")
    with pytest.raises(StoreError, match=r"tokens\.json has no checksum"):
        restore_backup(target, saved)
    assert target.catalogue() is None and Tokens(target.register).all() == []
    Tokens(target.register).create("bob")  # then the store's own tokens stay
    restore_backup(target, saved)
    assert [token.name for token in Tokens(target.register).all()] == ["bob"]


@pytest.mark.parametrize("inside", ["x", "objects/x"])
def test_a_backup_is_not_written_into_its_store(lab, inside):
    with pytest.raises(StoreError, match="where only the store itself writes"):
        back_up(lab, lab.files.root / inside)
    assert not (lab.files.root / inside).exists()
