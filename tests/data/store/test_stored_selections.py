import pytest

from clueline.data.store import StoreError, open_store, stored_selections
from clueline.data.store.backup import back_up, copy_store, restore_backup
from clueline.data.store.stored_selections import find_selection, keep_selection

PAIRS = [("dataset", "tone"), ("run", "b"), ("run", "a")]


def test_a_selection_is_kept_once_under_its_digest(toy):
    files, folder = toy.files, toy.files.root / "selections"
    identity = keep_selection(files, PAIRS)
    assert keep_selection(files, reversed(PAIRS)) == identity and len(identity) == 20
    assert find_selection(files, identity) == sorted(PAIRS)
    assert [path.name for path in folder.iterdir()] == [f"{identity}.json"]
    assert keep_selection(files, PAIRS[:2]) != identity
    for other in ("x" * 20, "../../tokens", ""):
        assert find_selection(files, other) is None
    (folder / f"{identity}.json").write_text('[["dataset","tone"]]')
    assert find_selection(files, identity) is None, "not what was written"


def test_it_is_limited(toy, monkeypatch):
    files = toy.files
    with pytest.raises(StoreError, match="at most 262,144 bytes"):
        keep_selection(files, [("q", "x" * 300_000)])
    monkeypatch.setattr(stored_selections, "MAX_STORED", 1)
    keep_selection(files, PAIRS)
    assert keep_selection(files, PAIRS), "it is there already"
    with pytest.raises(StoreError, match="as many as it can"):
        keep_selection(files, PAIRS[:2])


def test_backups_and_copies_have_it(toy, tmp_path):
    identity = keep_selection(toy.files, PAIRS)
    back_up(toy, tmp_path / "backup")
    copy_store(toy, open_store(tmp_path / "copy"))
    restore_backup(open_store(tmp_path / "restored"), tmp_path / "backup")
    for name in ("backup", "copy", "restored"):
        assert find_selection(open_store(tmp_path / name).files, identity) == sorted(PAIRS)
