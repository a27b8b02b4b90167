import os
import time

import pytest

from clueline.data.store import StoreError, open_store, stored_selections
from clueline.data.store.backup import back_up, copy_store, restore_backup
from clueline.data.store.kinds import expire_kinds
from clueline.data.store.stored_selections import clear_selections, find_selection, keep_selection, list_selections

DAY = 86_400
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


def used_days_ago(files, identity, days):
    path = files.root / "selections" / f"{identity}.json"
    os.utime(path, (time.time() - days * DAY,) * 2)
    return path


def numbered(n):
    return [("dataset", "tone"), ("q", str(n))]


def test_a_selection_is_not_too_large(toy):
    with pytest.raises(StoreError, match="at most 262,144 bytes"):
        keep_selection(toy.files, [("q", "x" * 300_000)])


def test_the_ones_unused_for_longest_make_room(toy, monkeypatch):
    monkeypatch.setattr(stored_selections, "MAX_STORED", 3)
    ids = [keep_selection(toy.files, numbered(n), by=f"reader-{n}") for n in range(3)]
    for days, identity in enumerate(ids, 1):  # the last one was unused for longest
        used_days_ago(toy.files, identity, days)
    assert keep_selection(toy.files, numbered(0)) == ids[0], "it is there already"
    new = keep_selection(toy.files, numbered(3))
    assert {one.selection for one in list_selections(toy.files)} == {*ids[:2], new}


def test_one_reader_makes_room_only_among_their_own(toy, monkeypatch):
    monkeypatch.setattr(stored_selections, "MAX_OF_READER", 2)
    others = [keep_selection(toy.files, numbered(n), by="ann") for n in range(2)]
    others += [keep_selection(toy.files, numbered(n), address="192.0.2.1") for n in range(2, 4)]
    for identity in others:
        used_days_ago(toy.files, identity, 100)
    flood = [keep_selection(toy.files, numbered(n), address="192.0.2.2") for n in range(10, 30)]
    kept = {one.selection: one for one in list_selections(toy.files)}
    assert kept.keys() == {*others, *flood[-2:]}
    assert [kept[identity].by for identity in others] == ["ann", "ann", "", ""] and kept[others[0]].dataset == "tone"
    assert b"192.0.2" not in b"".join(path.read_bytes() for path in (toy.files.root / "selection-readers").iterdir())


def test_it_ends_when_nobody_uses_it(toy):
    kept, unused = (keep_selection(toy.files, numbered(n)) for n in range(2))
    path = used_days_ago(toy.files, kept, 300)
    assert find_selection(toy.files, kept, days=365) == numbered(0)
    assert time.time() - path.stat().st_mtime < DAY, "a use begins the time anew"
    used_days_ago(toy.files, unused, 366)
    assert find_selection(toy.files, unused, days=365) is None
    assert expire_kinds(toy, 365)["stored selections"] == [unused]
    assert {one.selection for one in list_selections(toy.files)} == {kept}
    assert keep_selection(toy.files, numbered(1)) == unused and find_selection(toy.files, unused) == numbered(1)


def test_a_use_is_noted_once_a_day(toy):
    identity = keep_selection(toy.files, PAIRS)
    path = used_days_ago(toy.files, identity, 0.5)
    before = path.stat().st_mtime
    find_selection(toy.files, identity)
    assert path.stat().st_mtime == before


def test_an_administrator_clears_them(toy):
    first, second = (keep_selection(toy.files, numbered(n)) for n in range(2))
    assert clear_selections(toy.files, [first, "a" * 20]) == [first]
    assert [one.selection for one in list_selections(toy.files)] == [second]


def test_backups_and_copies_have_it(toy, tmp_path):
    identity = keep_selection(toy.files, PAIRS)
    back_up(toy, tmp_path / "backup")
    copy_store(toy, open_store(tmp_path / "copy"))
    restore_backup(open_store(tmp_path / "restored"), tmp_path / "backup")
    for name in ("backup", "copy", "restored"):
        assert find_selection(open_store(tmp_path / name).files, identity) == sorted(PAIRS)
