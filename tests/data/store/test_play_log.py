"""The log of people's play sessions in a file: open connections never hide what happened to the file."""

import gc

import pytest

from data.store import StoreError
from data.store.play_log import folder_log


@pytest.fixture
def log(tmp_path):
    made = folder_log(tmp_path)
    made.add_session("s", "{}")
    made.join("s", "p", 10)
    return made


def test_a_file_put_in_place_of_another_is_used(log, tmp_path):
    other = folder_log(tmp_path / "other")
    other.add_session("t", "[]")
    del other
    gc.collect()
    for path in tmp_path.glob("people.sqlite-*"):
        path.unlink()
    (tmp_path / "other" / "people.sqlite").replace(tmp_path / "people.sqlite")
    assert log.session("s") is None and log.session("t") == "[]"


def test_an_answer_is_seen_by_whoever_opens_the_file_next(log, tmp_path):
    assert not log.has_answer("s", "p", 3)
    log.add_answer("s", "p", 3, "first")
    assert folder_log(tmp_path).has_answer("s", "p", 3)
    assert folder_log(tmp_path).answers("s", "p") == [(0, 3, "first")]


def test_a_statement_that_fails_leaves_the_log_usable(log):
    with pytest.raises(StoreError):
        log.add_session("s", "[]")
    assert log.session("s") == "{}"


def test_a_log_that_nobody_uses_leaves_no_file_behind(tmp_path):
    log = folder_log(tmp_path)
    log.add_session("s", "{}")
    del log
    gc.collect()
    assert [path.name for path in tmp_path.iterdir()] == ["people.sqlite"]
