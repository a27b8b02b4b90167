"""What is in no catalogue is written as a whole or not at all, wherever a process is killed, and stays once it is acknowledged.

``tests/soak/test_killed_writes.py`` does the same more often.
"""

import os

import pytest

from clueline.data.store.files import DRAFT
from clueline.data.store.kinds import KINDS
from tests.helpers.killed_writes import WRITES, kill_writers, write_mapping


@pytest.mark.parametrize("name", [kind.name for kind in KINDS if kind.home == "files"])
def test_nothing_is_torn_and_nothing_acknowledged_is_lost(name, toy):
    kill_writers(toy, name, kills=5)


def test_every_kind_of_small_files_is_killed():
    assert WRITES.keys() == {kind.name for kind in KINDS if kind.home == "files"}


def test_drafts_that_killed_writers_left_are_removed(toy):
    write_mapping(toy.files, 0)
    old, new = (toy.files.root / "mappings" / f"lab.json-{n}{DRAFT}" for n in range(2))
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (0, 0))
    assert len(toy.files.listed("mappings")) == 1
    assert new.exists() and not old.exists(), "the other one may be being written"
