"""Hints on how to fix a bad row, worded for the command line, the JSON addresses and the page."""

from typing import get_args

import pytest

from dashboard.cli import progress as progress_and_refusals
from dashboard.uploads import import_process
from data.importing.report import Hint


@pytest.fixture(scope="module")
def page_hints(app):
    """The hints of the upload page. Pages can be imported only once there is an app."""
    from dashboard.views import upload

    return upload.HINTS


def test_every_hint_has_a_text(page_hints):
    for words in (progress_and_refusals.HINTS, import_process.REMEDIES, page_hints):
        assert {*words} == {*get_args(Hint)}
        assert all(words.values())


def test_only_the_command_line_names_flags(page_hints):
    # A password in a flag would stay in the shell's history.
    assert {hint for hint, text in progress_and_refusals.HINTS.items() if "--" not in text} == {"dataset_upload", "password"}
    assert not any("--" in text for words in (import_process.REMEDIES, page_hints) for text in words.values())
