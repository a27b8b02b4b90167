"""Writers of what is in no catalogue are killed a hundred times, kind by kind."""

import pytest

from clueline.data.store import open_store
from tests.helpers.killed_writes import WRITES, kill_writers


@pytest.mark.soak
@pytest.mark.parametrize("name", WRITES)
def test_a_hundred_kills_tear_nothing(name, tmp_path):
    assert kill_writers(open_store(tmp_path / "store"), name, kills=100) > 0, "no kill was in the middle of a write"
