"""Kept mappings: whose they are, what a name stands for, and what becomes of those of earlier versions and other stores."""

import pytest

from clueline.data.importing.column_mapping import named_mapping
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import kept_mappings, open_store
from clueline.data.store.backup import back_up, copy_store, restore_backup
from clueline.data.store.files import StoreFiles
from clueline.data.store.kept_files import DamagedThing
from clueline.data.store.kept_mappings import (
    EARLIER,
    MAPPINGS,
    KeepingError,
    NoSuchMapping,
    find_entry,
    find_mapping,
    keep_mapping,
    list_mappings,
    remove_mapping,
    take_over_earlier,
)
from clueline.data.store.location import Location
from clueline.data.store.register import FolderRegister
from clueline.data.store.scopes import STORE, Viewer, of_dataset, of_owner
from clueline.data.store.store import Store
from clueline.data.store.tokens_and_readers import Tokens

TOML = 'columns = ["x1", "x2"]\n\n[roles]\nconfidence = ["x1"]\ncorrect = ["x2"]\n'
OTHER = TOML.replace("correct", "wrong")
ANN, BEN, OPERATOR = Viewer("ann"), Viewer("ben", hidden=("secret",)), Viewer("system:kim", admin=True)


@pytest.fixture
def files(tmp_path):
    return StoreFiles(tmp_path / "files")


def shown(files, viewer):
    return [entry.shown for entry in list_mappings(files, viewer)]


def test_a_name_belongs_to_its_scope(files):
    keep_mapping(files, "lab", TOML, of_owner("ann"), "ann")
    keep_mapping(files, "lab", OTHER, of_owner("ben"), "ben")
    assert [find_mapping(files, "lab", viewer).toml for viewer in (ANN, BEN)] == [TOML, OTHER]
    assert shown(files, ANN) == shown(files, BEN) == ["lab"]
    with pytest.raises(KeepingError, match=r"owner:\w+/lab, owner:\w+/lab"):
        find_mapping(files, "lab", OPERATOR)
    assert find_mapping(files, "owner:ben/lab", OPERATOR).toml == OTHER
    for named in ("owner:ben/lab", "nosuch", "owner:nobody/lab", "../lab", ""):
        with pytest.raises(NoSuchMapping, match="there is no mapping"):
            find_mapping(files, named, ANN)


def test_a_name_stands_for_the_nearest_mapping(files):
    for scope, by in ((of_dataset("secret"), "ann"), (of_dataset("open"), "ann"), (STORE, "ann"), (of_owner("ben"), "ben")):
        keep_mapping(files, "lab", TOML, scope, by)
    for expected in (of_owner("ben"), STORE, of_dataset("open")):
        entry = find_entry(files, "lab", BEN)
        assert find_mapping(files, "lab", BEN).scope == expected
        remove_mapping(files, entry)
    assert shown(files, BEN) == [] and shown(files, ANN) == ["lab"], "one of a dataset that ben may not read is left"


def test_another_mapping_is_not_replaced_by_accident(files):
    first = keep_mapping(files, "lab", TOML, of_owner("ann"), "ann")
    assert keep_mapping(files, "lab", TOML, of_owner("ann"), "ann") == first
    with pytest.raises(KeepingError, match="another one is called 'lab'"):
        keep_mapping(files, "lab", OTHER, of_owner("ann"), "ann")
    keep_mapping(files, "lab", OTHER, of_owner("ann"), "ann", replace=True)
    assert find_mapping(files, "lab", ANN).toml == OTHER


def test_one_person_keeps_so_many_and_takes_nothing_from_others(files, monkeypatch):
    monkeypatch.setattr(kept_mappings, "MAX_OF_SCOPE", 2)
    for name in ("a", "b"):
        keep_mapping(files, name, TOML, of_owner("ann"), "ann")
    with pytest.raises(KeepingError, match="as many as can be"):
        keep_mapping(files, "c", TOML, of_owner("ann"), "ann")
    keep_mapping(files, "c", TOML, of_owner("ben"), "ben")


def test_a_damaged_one_is_refused_by_name_and_can_be_replaced(files):
    keep_mapping(files, "lab", TOML, of_owner("ann"), "ann")
    keep_mapping(files, "fine", TOML, of_owner("ann"), "ann")
    path = next((files.root / MAPPINGS.folder).glob("lab.*"))
    whole = path.read_bytes()
    for torn in (whole[:-1], whole[:40], b"", whole.replace(b"x1", b"x9"), b"\xff"):
        path.write_bytes(torn)
        with pytest.raises(DamagedThing):
            find_mapping(files, "lab", ANN)
        assert find_mapping(files, "fine", ANN).toml == TOML
    keep_mapping(files, "lab", TOML, of_owner("ann"), "ann")
    assert find_mapping(files, "lab", ANN).toml == TOML


def test_two_hosts_read_a_file_alike(toy, tmp_path):
    """A mapping that is kept on one is found on the other, whose local folder is another one."""
    root = toy.files.root
    other = Store(Location(str(root), str(root), FolderRegister(root), StoreFiles(root), tmp_path / "local"), {})
    path = tmp_path / "in.csv"
    path.write_text("id,x1,x2\n" + "".join(f"q{n},0.{n + 5},{int(n < 3)}\n" for n in range(4)))
    keep_mapping(toy.files, "lab", OTHER, STORE, "ann")
    options = ImportOptions(dataset="mapped", model="m", mapping=named_mapping(other.files, "lab", BEN))
    (run,) = import_paths(other, [path], options).runs
    again = ImportOptions(dataset="mapped", model="m", mapping=named_mapping(toy.files, "lab", BEN))
    assert import_paths(toy, [path], again).runs == [run]
    assert [row[0] for row in toy.snapshot().rows(f"select correct from {toy.snapshot().responses([run])} order by all")] == [
        0, 0, 0, 1,
    ]  # fmt: skip


def test_mappings_of_earlier_versions_are_the_operators(toy, tmp_path):
    local = toy.local / "mappings"
    local.mkdir()
    (local / "lab.toml").write_text(TOML)
    (local / "torn.toml").write_text('columns = ["x1"')
    take_over_earlier(toy.local, toy.files)
    kept = find_mapping(toy.files, "lab", OPERATOR)
    assert (kept.toml, kept.by, kept.scope) == (TOML, EARLIER, of_owner(EARLIER))
    assert shown(toy.files, Viewer("lab")) == shown(toy.files, Viewer("earlier")) == []
    assert sorted(path.name for path in local.glob("*.toml")) == ["torn.toml"]
    other_host = tmp_path / "other" / "mappings"
    other_host.mkdir(parents=True)
    (other_host / "lab.toml").write_text(OTHER)  # each host had its own
    take_over_earlier(tmp_path / "other", toy.files)
    assert {entry.name for entry in list_mappings(toy.files, OPERATOR)} == {"lab", "lab-2"}
    assert find_mapping(toy.files, "lab-2", OPERATOR).toml == OTHER


def test_a_backup_has_the_mappings_of_an_earlier_version(toy, tmp_path):
    (toy.local / "mappings").mkdir()
    (toy.local / "mappings" / "lab.toml").write_text(TOML)
    back_up(toy, tmp_path / "backup")
    assert find_mapping(open_store(tmp_path / "backup").files, "lab", OPERATOR).toml == TOML


def test_a_restored_mapping_is_not_that_of_another_token(toy, tmp_path):
    for owner in ("ann", "ben", "user:kim", "system:kim", "open"):
        keep_mapping(toy.files, "lab", OTHER if owner == "ben" else TOML, of_owner(owner), owner)
    keep_mapping(toy.files, "lab", TOML, STORE, "ann")
    tokens = Tokens(toy.register)
    for name in ("ann", "ben"):
        tokens.create(name)
    back_up(toy, tmp_path / "backup")
    copy_store(toy, open_store(tmp_path / "copy"))
    target = open_store(tmp_path / "target")
    Tokens(target.register).create("ann")  # somebody else
    restore_backup(target, tmp_path / "backup")
    of_nobody_else = {"user:kim", "system:kim", "open"}
    for place, owners in (("copy", {"ann", "ben", *of_nobody_else}), ("target", of_nobody_else)):
        files = open_store(tmp_path / place).files
        for owner in ("ann", "ben", "user:kim", "system:kim", "open"):
            scopes = [entry.scope for entry in list_mappings(files, Viewer(owner))]
            assert scopes == (["", STORE] if owner in owners else [STORE]), (place, owner)
    assert {find_mapping(target.files, name, OPERATOR).by for name in ("owner:system:earlier/lab", "lab-2")} == {"ann", "ben"}
