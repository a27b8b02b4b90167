"""People's play sessions in backups: they are copied, checked and restored."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from clueline.data.play_sessions.every_clue import Answer
from clueline.data.play_sessions.sessions import add_answer, create_session, digest, join
from clueline.data.store import StoreError, open_store
from clueline.data.store.backup import back_up, restore_backup
from clueline.data.store.play_log import PlayTables
from tests.helpers.bundle_factory import put_bundle

SOON = datetime.now(UTC) + timedelta(days=1)
ANN, BEN = "a" * 32, "b" * 32


def play(store, folder):
    put_bundle(store, folder)
    log = store.register.play_log()
    secret = create_session(log, store.snapshot(), "toy", 20, 2, SOON, "Be kind.")
    for player, steps in ((ANN, 2), (BEN, 1)):
        for step in range(join(log, secret, player).step, steps):
            add_answer(log, secret, player, step, Answer("Paris", 0.5, False))
    (store.files.root / "session").write_text(digest(secret))


@pytest.fixture
def folder(prefilled):
    """The folder of a store with a session in which two people gave three answers."""
    return prefilled(play).files.root


def log_of(folder):
    return open_store(folder).register.play_log()


def test_a_backup_has_the_sessions(folder, tmp_path):
    back_up(open_store(folder), tmp_path / "saved")
    kept = log_of(tmp_path / "saved").tables()
    assert kept == log_of(folder).tables()
    assert tuple(map(len, kept)) == (1, 2, 3)
    assert (tmp_path / "saved" / "people.sqlite").stat().st_mode & 0o077 == 0
    assert not list((tmp_path / "saved").glob("people.sqlite-*"))


def test_a_backup_is_of_one_moment_while_people_play(folder, tmp_path):
    """An open connection holds answers that are not in the file yet."""
    log, session = log_of(folder), (folder / "session").read_text()
    with closing(sqlite3.connect(folder / "people.sqlite")) as playing:
        playing.execute("select 1 from clueline_play_answers").fetchall()
        log.add_answer(session, digest(BEN), 1, 1, '{"guess": "Rome"}')
        assert (folder / "people.sqlite-wal").stat().st_size > 0
        back_up(open_store(folder), tmp_path / "saved")
    assert len(log_of(tmp_path / "saved").tables().answers) == 4


def test_a_player_erased_since_stays_erased(folder, tmp_path):
    back_up(open_store(folder), tmp_path / "saved")
    log, session = log_of(folder), (folder / "session").read_text()
    assert log.erase(session, digest(ANN))
    log.add_answer(session, digest(BEN), 1, 1, '{"guess": "Rome"}')
    log.add_session("another", "{}")
    before = log.tables()
    restore_backup(open_store(folder), tmp_path / "saved")
    assert log.tables() == before and [len(rows) for rows in before] == [2, 2, 2]
    assert [row[1] for row in before.present_players()] == [digest(BEN)]


def test_a_session_that_is_lost_comes_back(folder, tmp_path):
    back_up(open_store(folder), tmp_path / "saved")
    whole = log_of(folder).tables()
    (folder / "people.sqlite").unlink()
    log_of(folder).add_session("another", "{}")
    restore_backup(open_store(folder), tmp_path / "saved")
    assert log_of(folder).tables() == (sorted([*whole.sessions, ("another", "{}")]), *whole[1:])


def test_a_store_without_sessions_gets_no_file(folder, tmp_path):
    (folder / "people.sqlite").unlink()
    back_up(open_store(folder), tmp_path / "saved")
    assert not list(tmp_path.rglob("people.sqlite*"))


@pytest.mark.parametrize("damage", [lambda content: content[:5000], lambda content: b"x" * len(content)])
def test_damaged_sessions_are_named(cli, folder, tmp_path, damage):
    path = folder / "people.sqlite"
    assert "sessions of people: 1, with 2 players and 3 answers" in cli("verify", store=folder).stdout
    path.write_bytes(damage(path.read_bytes()))
    checked = cli("verify", store=folder)
    assert checked.returncode == 1 and "log of sessions of people is damaged" in checked.stderr
    saved = cli("backup", tmp_path / "saved", store=folder)
    assert saved.returncode == 1 and "log of people's sessions cannot be used" in saved.stderr
    assert not (tmp_path / "saved").exists()


def test_a_backup_that_is_only_read_is_restored(folder, tmp_path, monkeypatch):
    """SQLite cannot lock anything there, and needs no lock."""
    import os

    back_up(open_store(folder), tmp_path / "saved")
    saved, access = tmp_path / "saved", os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    before = sorted(path.name for path in saved.iterdir())
    restore_backup(open_store(tmp_path / "new"), saved)
    assert len(log_of(tmp_path / "new").tables().answers) == 3
    assert sorted(path.name for path in saved.iterdir()) == before


def test_a_copy_that_fails_adds_nothing(folder, tmp_path):
    tables = log_of(folder).tables()
    fresh = log_of(tmp_path / "fresh")
    broken = PlayTables(tables.sessions, tables.players, [*tables.answers, tables.answers[0]])  # the same step twice
    with pytest.raises(StoreError):
        fresh.add_missing(broken)
    assert fresh.tables() == ([], [], [])


def test_places_that_are_taken_stay_taken_in_a_copy(folder, tmp_path):
    """Of two places, Ann's is empty. Nobody else gets it in the backup, nor where the backup is restored."""
    log, session = log_of(folder), (folder / "session").read_text()
    assert log.erase(session, digest(ANN))
    back_up(open_store(folder), tmp_path / "saved")
    restore_backup(open_store(tmp_path / "new"), tmp_path / "saved")
    for copy in (log_of(tmp_path / "saved"), log_of(tmp_path / "new")):
        assert copy.tables() == log.tables() and digest(ANN) not in str(copy.tables())
        assert copy.join(session, digest(ANN), 2) is None and copy.join(session, digest(ANN), 3) == 2


def test_players_who_were_erased_are_not_counted(cli, folder):
    assert log_of(folder).erase((folder / "session").read_text(), digest(ANN))
    assert "sessions of people: 1, with 1 player and 1 answer" in cli("verify", store=folder).stdout
