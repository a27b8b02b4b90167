"""Changes are killed at random moments. Each happens wholly or not at all, and is in the audit if it happened.

``CLUSTER_KILLS=200`` sets the number of kills of each kind of change to 200.
"""

import os

import pytest

from tests.helpers.killed_changes import CHANGES, Killer
from tests.helpers.soak_figures import note
from tests.helpers.store_addresses import new_address

KILLS = int(os.environ.get("CLUSTER_KILLS", "5"))


@pytest.mark.parametrize("kind_of_store", ["folder", "postgres and s3"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_killed_change_is_whole_or_not_at_all(change, kind_of_store, request, tmp_path):
    killer = Killer(new_address(request, kind_of_store, tmp_path), tmp_path, change)
    counts = killer.counts
    for _ in range(2):
        killer.try_change(killed=False)
    while counts["before"] + counts["after"] < KILLS:
        killer.try_change()
        assert counts["acknowledged"] < 20 + 4 * KILLS, "hardly a kill is in time"
    killer.close()
    note(f"{change}, {kind_of_store}", [change, kind_of_store, killer.action, counts["before"], counts["after"]])
