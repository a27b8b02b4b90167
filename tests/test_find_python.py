"""``scripts/find-python``: which Python makes the virtual environment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "find-python"


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="needs a virtual environment")
def test_it_is_not_that_of_an_active_environment():
    """``make`` deletes the environment before it makes a new one."""
    path = f"{Path(sys.prefix, 'bin')}{os.pathsep}{os.environ['PATH']}"
    chosen = subprocess.run([SCRIPT], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True).stdout
    assert chosen.strip() and not chosen.startswith(sys.prefix)
