"""``clueline doctor`` names what is wrong and what to do, and changes nothing."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from clueline.dashboard.cli import doctor
from clueline.dashboard.settings import Settings
from clueline.data.store.audit import Audit
from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.serving import serving
from tests.helpers.stores import file_times


def findings(check, **settings):
    """Return what a check finds, as (text, remedy, fault)."""
    return [tuple(finding) for finding in check(Settings(**{"store": "/nowhere", **settings}))]


def test_a_store_that_is_well(cli, copied):
    before = file_times(copied)
    result = cli("doctor", store=copied)
    assert result.returncode == 0 and "can be read: " in result.stdout and "FAULT" not in result.stdout
    assert file_times(copied) == before


def test_a_damaged_store(cli, copied):
    Tokens(FolderRegister(copied)).create("ann")
    for path in (copied / "tokens.json", *copied.glob("*.duckdb")):
        path.write_bytes(b"x")
    result = cli("doctor", store=copied)
    assert result.returncode == 1 and "clueline verify" in result.stdout and "Restore tokens.json" in result.stdout


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_tokens_that_others_can_read(copied, mode):
    Tokens(FolderRegister(copied)).create("ann")
    (copied / "tokens.json").chmod(mode)
    assert any("chmod 600" in remedy for _, remedy, _ in findings(doctor.disk, store=str(copied))) == (mode == 0o644)


@pytest.mark.parametrize("kind", ["CURRENT", "LOCK", "*.duckdb", "objects", "objects/*/*/*/*", "people.sqlite", "audit.jsonl"])
def test_any_stored_file_that_others_can_read(copied, kind):
    Tokens(FolderRegister(copied)).create("ann")
    FolderRegister(copied).play_log().add_session("s", "{}")
    assert not any("chmod" in remedy for _, remedy, _ in findings(doctor.disk, store=str(copied)))
    path = next(copied.glob(kind))
    path.chmod(path.stat().st_mode | 0o044)
    (text,) = [text for text, remedy, _ in findings(doctor.disk, store=str(copied)) if remedy == f"chmod -R go= {copied}"]
    assert text == f"The group or other users may read 1 file or folder of {copied}, such as {path.relative_to(copied)}."


def test_a_shared_store_is_for_its_group(copied):
    for path in [copied, *copied.rglob("*")]:
        path.chmod(0o2770 if path.is_dir() else 0o660)
    assert not any("chmod" in remedy for _, remedy, _ in findings(doctor.disk, store=str(copied)))
    (copied / "CURRENT").chmod(0o664)
    assert any(remedy == f"chmod -R o= {copied}" for _, remedy, _ in findings(doctor.disk, store=str(copied)))


@pytest.mark.parametrize(("free", "fault", "remedy"), [(2**40, False, False), (2**30, False, True), (2**20, True, True)])
def test_little_space(copied, monkeypatch, free, fault, remedy):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": free}))
    (space,) = [finding for finding in findings(doctor.disk, store=str(copied)) if "GiB free" in finding[0]]
    assert (space[2], bool(space[1])) == (fault, remedy)


def test_a_clock_that_was_set_back(copied):
    Audit(FolderRegister(copied)).record("migrated", None)
    assert not any("The clock says" in text for text, *_ in findings(doctor.store, store=str(copied)))
    (path,) = copied.glob("audit*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[-1]["at"] = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert any("The clock says" in text and "NTP" in remedy for text, remedy, _ in findings(doctor.store, store=str(copied)))


def test_settings_that_are_dangerous_or_too_large():
    open_to_all = [remedy for _, remedy, _ in findings(doctor.exposure, host="0.0.0.0", uploads="open")]
    assert any("CLUELINE_UPLOADS=token" in remedy for remedy in open_to_all) and any("TLS" in remedy for remedy in open_to_all)
    assert [remedy for _, remedy, _ in findings(doctor.exposure)] == [""]
    assert (
        findings(doctor.memory, workers=64, memory_mb=1_000_000)[0][1]
        and not findings(doctor.memory, workers=1, memory_mb=1)[0][1]
    )


def test_what_does_not_answer():
    (redis,) = findings(doctor.cache, cache="redis://127.0.0.1:9/0")
    assert "CLUELINE_CACHE" in redis[1] and not findings(doctor.cache)
    (provider,) = findings(doctor.identity_provider, oidc_issuer="http://localhost:9", oidc_client="x", url="http://localhost:9")
    assert "CLUELINE_OIDC_ISSUER" in provider[1]
    local, public = findings(doctor.reached, port=9, url="http://localhost:9")
    assert "No server answers" in local[0] and not local[2] and public[2], "nothing need run yet, but people have the address"


def test_a_server_is_reached_by_names_that_it_knows(app):
    with serving(app) as address:
        port = int(address.rpartition(":")[2])
        known = findings(doctor.reached, port=port, url=f"http://localhost:{port}")
    assert [finding[1:] for finding in known] == [("", False)] * 2
    unknown = f"http://127.0.0.1.nip.example:{port}"
    assert findings(doctor.reached, port=port, url=unknown)[-1][2], "a name that leads nowhere"
