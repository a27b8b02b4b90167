"""A backup that is killed leaves nothing for long."""

import os
import signal
import subprocess
import sys
import time

from clueline.data.scratch_folders import GRACE
from clueline.data.store import open_store
from clueline.data.store.backup import back_up
from tests.helpers.paths import ROOT

KILLED = """
import os, signal, sys
from pathlib import Path
from clueline.data.store import open_store, store
from clueline.data.store.backup import back_up
store.carry_access = lambda *given, **options: os.kill(os.getpid(), signal.SIGKILL)  # the lock is held, and nothing in force
back_up(open_store(sys.argv[1]), Path(sys.argv[2]))
"""


def test_what_a_killed_backup_left_is_removed_by_the_next(toy, tmp_path):
    saved = tmp_path / "saved"
    killed = subprocess.run([sys.executable, "-c", KILLED, toy.place, saved / "monday"], cwd=ROOT, timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = saved.iterdir()
    assert [path.name for path in left.rglob("LOCK.held")] == ["LOCK.held"]
    back_up(toy, saved / "tuesday")
    assert left.exists(), "its process may be about to lock it"
    os.utime(left, (time.time() - GRACE - 1,) * 2)
    back_up(toy, saved / "wednesday")  # of another name, as backups have each day
    assert sorted(path.name for path in saved.iterdir()) == ["tuesday", "wednesday"]
    assert open_store(saved / "wednesday").version() != "0" and not (saved / "wednesday" / "LOCK.held").exists()
