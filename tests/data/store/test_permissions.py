"""What a store creates is for its owner alone, whatever the umask, unless the setgid bit of its folder shares it with a group."""

import os
import stat

import pytest

from clueline.data.store import open_store
from clueline.data.store.backup import back_up
from clueline.data.store.files import make_folder, open_restricted
from clueline.data.store.stored_selections import keep_selection
from clueline.data.store.tokens_and_readers import Tokens
from clueline.data.store.watch_notes import write_notes
from tests.helpers.bundle_factory import RESPONSES, put, write


@pytest.fixture(autouse=True)
def usual_umask():
    """What most systems set: others may read, the group may not write."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder):
    """Return the permissions of a folder and what is in it, by relative path."""
    paths = [folder, *(path for path in folder.rglob("*") if path.suffix != ".held")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in paths}


def filled(folder, tmp_path):
    """Fill a store with one thing of each kind, and return it."""
    store = open_store(folder, threads=1)
    put(store, write(tmp_path / "toy", responses=RESPONSES), model="opus")
    Tokens(store.register).create("ann")
    store.register.append_audit([b"{}"], refused=True)
    keep_selection(store.files, [("dataset", "toy")])
    write_notes(store.files, "/logs", {"/logs/a.csv": {"mark": "1"}})
    store.register.play_log().add_session("s", "{}")
    return store


def test_a_new_store_is_for_its_owner_alone(tmp_path):
    store = filled(tmp_path / "lab" / "store", tmp_path)
    made = modes(tmp_path / "lab")
    assert {name.rpartition("/")[2] for name in made} > {"store", "CURRENT", "LOCK", "tokens.json", "people.sqlite", "selections"}
    assert any(name.endswith(".parquet") for name in made) and any(name.endswith(".duckdb") for name in made)
    assert {name: oct(mode) for name, mode in made.items() if mode not in (0o600, 0o700)} == {}
    back_up(store, tmp_path / "copy")
    assert {name: oct(mode) for name, mode in modes(tmp_path / "copy").items() if mode & 0o077} == {}


def test_new_files_in_a_folder_that_others_may_enter(tmp_path):
    """An operator's ``mkdir`` says nothing about files: they are for the owner all the same."""
    (tmp_path / "store").mkdir(mode=0o755)
    filled(tmp_path / "store", tmp_path)
    made = modes(tmp_path / "store")
    assert made.pop(".") == 0o755
    assert {name: oct(mode) for name, mode in made.items() if mode & 0o077} == {}


@pytest.mark.parametrize(("folder", "inner", "file"), [(0o2770, 0o2770, 0o660), (0o2750, 0o2750, 0o640), (0o2700, 0o2700, 0o600)])
def test_the_setgid_bit_shares_a_store_with_a_group(tmp_path, folder, inner, file):
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(folder)
    filled(store, tmp_path)
    made = modes(store)
    assert made["CURRENT"] == made["LOCK"] == file
    assert {mode for name, mode in made.items() if name.endswith(".json") and name != "tokens.json"} == {file}
    assert {mode for name, mode in made.items() if name.endswith((".duckdb", ".parquet"))} == {file}
    assert made["objects"] == made["selections"] == made["watched"] == inner
    assert made["tokens.json"] == 0o600
    assert not any(mode & 0o007 for mode in made.values())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_writes_belongs_to_the_owner_of_the_store(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    filled(folder, tmp_path)
    owners = {path.name: path.stat().st_uid for path in folder.rglob("*") if path.suffix in (".duckdb", ".parquet", "", ".json")}
    assert {name for name, owner in owners.items() if owner != 65534} <= {"audit.lock"}


def test_a_file_that_exists_keeps_its_mode(tmp_path):
    make_folder(tmp_path / "a" / "b")
    path = tmp_path / "a" / "b" / "file"
    path.write_text("x")
    path.chmod(0o644)
    with open(path, "a", opener=open_restricted):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    with pytest.raises(FileExistsError):
        make_folder(path)
