"""Tokens: created once, stored as a hash, found again, revoked."""

import contextlib
import hashlib
import itertools
import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clueline.data.store.audit import Audit
from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import TokenError, Tokens


@pytest.fixture
def tokens(tmp_path):
    return Tokens(FolderRegister(tmp_path / "store"))


def test_a_token_is_found_only_by_itself_and_never_stored(tokens):
    made = {name: tokens.create(name) for name in ("ann", "bob")}
    for name, token in made.items():
        assert tokens.record().find(token).name == name
        assert tokens.record().find(token).digest == hashlib.sha256(token.encode()).hexdigest()
        for wrong in (token[:-1], token + "x", token.upper(), "", "\ud800", "é" * 10_000):
            assert tokens.record().find(wrong) is None
    kept = b"".join(path.read_bytes() for path in tokens.register.folder.iterdir())
    assert not any(token.encode() in kept or token.removeprefix("clueline_").encode() in kept for token in made.values())
    assert all(len(token) >= 9 + 43 for token in made.values())  # 256 bits take 43 characters of 6 bits
    assert stat.S_IMODE((tokens.register.folder / "tokens.json").stat().st_mode) == 0o600


def made_private(tokens):
    return [event.dataset for event in Audit(tokens.register).page(9) if event.action == "made_private"]


def test_a_clock_that_jumps_moves_no_end(tokens, monkeypatch):
    end = datetime.now(UTC) + timedelta(days=1)
    token = tokens.create("ann", until=end)
    ended = []
    for days in (0, 2, -2, 0, 2):
        clock = type(
            "Clock", (datetime,), {"now": classmethod(lambda cls, zone, days=days: datetime.now(zone) + timedelta(days))}
        )
        monkeypatch.setattr("clueline.data.store.tokens_and_readers.datetime", clock)
        ended.append(bool(tokens.record().find(token).ended_at()))
        tokens.make_private(f"day {days}", ["ann"])
    assert ended == [False, True, False, False, True]
    assert len(made_private(tokens)) == 5


class Killed(BaseException):
    """Ends a writer at one of its steps on the disk, as a kill does."""


@pytest.mark.parametrize("step", range(1, 11))
def test_the_audit_has_a_change_if_and_only_if_it_happened(tokens, monkeypatch, step):
    tokens.create("ann")
    steps = itertools.count(1)

    def dying(call):
        def act(first, *arguments, **options):
            if "lock" not in str(first) and next(steps) == step:  # the system frees locks
                raise Killed
            return call(first, *arguments, **options)

        return act

    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        for owner, name in ((os, "fsync"), (os, "write"), (Path, "replace"), (Path, "unlink")):
            patch.setattr(owner, name, dying(getattr(owner, name)))
        tokens.make_private("toy", ["ann"])
    happened = "toy" in tokens.record().private
    assert made_private(tokens) == ["toy"] * happened
    tokens.make_private("next", [])
    assert made_private(tokens) == ["next", *["toy"] * happened]
    assert [path.name for path in tokens.register.folder.glob("audit.tokens*")] == []


def test_other_objects_see_a_revocation_at_once(tokens):
    token = tokens.create("ann")
    other = Tokens(tokens.register)
    assert other.record().find(token).revoked_at is None
    tokens.revoke("ann")
    assert other.record().find(token).revoked_at
    assert [(token.name, bool(token.revoked_at)) for token in other.all()] == [("ann", True)]


def test_a_name_belongs_to_one_token_for_good(tokens):
    tokens.create("ann")
    with pytest.raises(TokenError, match="'ann' already"):
        tokens.create("ann")
    tokens.revoke("ann")
    with pytest.raises(TokenError, match="'ann' that was revoked"):
        tokens.create("ann")
    with pytest.raises(TokenError, match="was revoked at"):
        tokens.revoke("ann")
    tokens.create("bob")
    with pytest.raises(TokenError, match="no token 'carl'; there are: bob"):
        tokens.revoke("carl")


def test_a_bad_name_is_refused(tokens):
    for name in ("", " ", "a b", "-a", ".a", "a\n", "a/b", "é", "x" * 65, "open"):
        with pytest.raises(TokenError, match="cannot be a token's name"):
            tokens.create(name)
    assert tokens.all() == []


def test_a_damaged_file_is_reported_and_left_unchanged(tokens):
    tokens.create("ann")
    path = tokens.register.folder / "tokens.json"
    path.write_text("[{}]")
    for ask in (tokens.all, lambda: tokens.record().find("x"), lambda: tokens.create("bob")):
        with pytest.raises(TokenError, match="cannot be read"):
            ask()
    assert path.read_text() == "[{}]"


def test_tokens_of_versions_before_rights_are_kept(tokens):
    """Their file is read as it is, and rewritten at the first change."""
    secret = tokens.create("ann")
    path = tokens.register.folder / "tokens.json"
    (ann,) = tokens.all()
    fields = {name: getattr(ann, name) for name in ("name", "digest", "made_at", "revoked_at")}
    path.write_text(json.dumps([fields]))
    before = path.read_bytes()
    assert tokens.record().find(secret) == ann and ann.right == "upload"
    assert path.read_bytes() == before
    tokens.create("bob", "read")
    assert tokens.record().find(secret) == ann and json.loads(path.read_bytes())["format"] == 2
