"""The Dockerfile against the tree and .dockerignore. The image itself is not built here."""

import re

import pytest

from tests.helpers.paths import ROOT

COPIES = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
SOURCES = [source for copy in COPIES for source in copy.split()]


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_copied_is_there_and_not_ignored(source):
    assert (ROOT / source).exists()
    assert f"!{source}" in (ROOT / ".dockerignore").read_text(encoding="utf-8").split()


def test_what_runs_is_copied():
    assert {"assets", "dashboard", "data", "queries", "pyproject.toml", "requirements.lock"} <= set(SOURCES)
