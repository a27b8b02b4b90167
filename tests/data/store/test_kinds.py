"""What holds for every kind of things in a store follows from its declaration; a new kind cannot forget a rule."""

import os
import re
import time
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime, timedelta

import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.play_sessions.sessions import create_session
from clueline.data.store import StoreError, kinds, open_store
from clueline.data.store.audit import Audit
from clueline.data.store.backup import back_up, copy_store, restore_backup
from clueline.data.store.files import StoreFiles
from clueline.data.store.kept_files import KeptFiles, check_seal, seal
from clueline.data.store.kept_mappings import keep_mapping
from clueline.data.store.kinds import KINDS, Kind, expire_kinds, inspect_kinds, kind_of_files
from clueline.data.store.location import Location
from clueline.data.store.register import FolderRegister
from clueline.data.store.scopes import of_owner
from clueline.data.store.store import Store
from clueline.data.store.stored_selections import keep_selection
from clueline.data.store.tokens_and_readers import Tokens
from clueline.data.store.watch_notes import write_notes
from tests.helpers.paths import ROOT

TOML = 'columns = ["x1", "x2"]\n\n[roles]\nconfidence = ["x1"]\ncorrect = ["x2"]\n'
POEMS = KeptFiles("poems", check_seal)
POEM = kind_of_files(
    "poems",
    POEMS,
    expires=True,
    scope="store",
    seen_by="everybody",
    named_by="everybody",
    changed_by="nobody",
    restored="those that the store lacks",
    ends="when nobody reads it",
)
# By kind, how one comes into a store that has a dataset with a run.
MADE = {
    "datasets": lambda store: None,
    "runs": lambda store: None,
    "models": lambda store: None,
    "tokens": lambda store: Tokens(store.register).create("ann"),
    "events of the audit": lambda store: None,
    "sessions of people": lambda store: create_session(
        store.register.play_log(), store.snapshot(), "toy", 1, 2, datetime.now(UTC) + timedelta(days=1), "yes"
    ),
    "stored selections": lambda store: keep_selection(store.files, [("dataset", "toy"), ("run", "a")], by="ann"),
    "readers who stored selections": lambda store: None,  # with their selections
    "mappings": lambda store: keep_mapping(store.files, "lab", TOML, of_owner("ann"), "ann"),
    "notes on watched files": lambda store: write_notes(store.files, "/logs", {"/logs/a.csv": {"mark": "1"}}),
    "poems": lambda store: POEMS.write(store.files, "rain", seal("It rains")),
}


@pytest.fixture
def with_poems(monkeypatch):
    """One more kind, which no other code knows."""
    monkeypatch.setattr(kinds, "KINDS", (*KINDS, POEM))


@pytest.fixture
def filled(toy, with_poems, tmp_path):
    """A store with things of all kinds."""
    (tmp_path / "run.csv").write_text("question_id,clue,guess,confidence\nq1,0,Oslo,0.5\n")
    import_paths(toy, [tmp_path / "run.csv"], ImportOptions(dataset="toy", model="one"))
    for kind in kinds.KINDS:
        MADE[kind.name](toy)
    return toy


def contents(store):
    """Return what there is of each kind."""
    names = {
        kind.name: {file.name for folder in kind.folders for file in store.files.listed(folder)}
        for kind in kinds.KINDS
        if kind.home == "files"
    }
    snapshot = store.snapshot()
    return names | {
        "datasets": snapshot.rows("select dataset from datasets"),
        "runs": snapshot.rows("select run from runs order by run"),
        "models": snapshot.rows("select * from model_names order by all"),
        "tokens": [token.name for token in Tokens(store.register).all()],
        "events of the audit": [event.id for event in Audit(store.register).page(100) if event.action != "restored_backup"],
        "sessions of people": store.register.play_log().tables(),
    }


def damage(store, kind):
    """Damage one thing of a kind that is kept in small files, and return its path."""
    path = next(iter(sorted((store.files.root / kind.folders[0]).iterdir())))
    path.write_bytes(path.read_bytes()[:-9])
    return path


def test_no_rule_of_a_kind_has_a_default():
    assert [one.name for one in fields(Kind) if one.default is not MISSING or one.default_factory is not MISSING] == ["folders"]
    for kind in KINDS:
        assert kind.home == "catalogue" or (kind.copy and kind.inspect) or kind.name in ("tokens", "events of the audit")
        assert (kind.home == "files") == bool(kind.folders), kind.name


def test_each_kind_is_in_backups_copies_and_restored_stores(filled, tmp_path):
    back_up(filled, tmp_path / "backup")
    copy_store(filled, open_store(tmp_path / "copy"))
    restore_backup(open_store(tmp_path / "restored"), tmp_path / "backup")
    here = contents(filled)
    assert here.keys() == MADE.keys() and all(here.values())
    for name in ("backup", "copy", "restored"):
        assert contents(open_store(tmp_path / name)) == here, name


def test_each_kind_is_on_every_host(filled, tmp_path):
    """Nothing is in the folder of one host: another host of the same store has another one."""
    root = filled.files.root
    other = Store(Location(str(root), str(root), FolderRegister(root), StoreFiles(root), tmp_path / "local"), {})
    assert contents(other) == contents(filled)
    assert not any((tmp_path / "local").rglob("*.json"))


def test_a_restored_backup_replaces_nothing_that_is_kept(filled, tmp_path):
    back_up(filled, tmp_path / "backup")
    POEMS.write(filled.files, "rain", seal("The sun shines"))
    POEMS.write(filled.files, "snow", seal("It snows"))
    restore_backup(filled, tmp_path / "backup")
    assert POEMS.read(filled.files, "rain").content == seal("The sun shines") and POEMS.names(filled.files) == {"rain", "snow"}


def test_what_nobody_uses_ends_for_each_kind_that_says_so(filled):
    ending = {kind.name for kind in kinds.KINDS if kind.expire is not None}
    assert ending == {"stored selections", "readers who stored selections", "poems"}
    for kind in kinds.KINDS:
        for name in kind.folders:
            for path in (filled.files.root / name).iterdir():
                os.utime(path, (time.time() - 400 * 86_400,) * 2)
    before = contents(filled)
    assert {name for name, gone in expire_kinds(filled, 401).items() if gone} == set()
    assert {name for name, gone in expire_kinds(filled, 399).items() if gone} == ending
    after = contents(filled)
    assert {name for name in before if before[name] and not after[name]} == ending


@pytest.mark.parametrize("name", [kind.name for kind in (*KINDS, POEM) if kind.home == "files"])
def test_damage_of_each_kind_is_found_and_named(filled, cli, tmp_path, name):
    kind = next(kind for kind in kinds.KINDS if kind.name == name)
    assert not any(inspection.damages for _, inspection in inspect_kinds(filled))
    path = damage(filled, kind)
    damages = {kind.name: [one.name for one in inspection.damages] for kind, inspection in inspect_kinds(filled)}
    assert {what: names for what, names in damages.items() if names} == {name: [path.stem]}
    verified = cli("verify", store=filled.place)
    assert verified.returncode == 1 and f"{name}: {path.stem} is damaged" in verified.stdout, verified.stdout
    assert "are damaged. " in verified.stderr and name in verified.stderr.lower()
    looked = cli("doctor", store=filled.place)
    assert f"look   {name}: {path.stem} is damaged" in looked.stdout
    saved = cli("backup", tmp_path / "backup", store=filled.place)
    assert saved.returncode == 0 and f"not copied: {name}: {path.stem} is damaged" in saved.stderr
    assert cli("verify", store=tmp_path / "backup").returncode == 0


def test_a_copy_may_go_on_where_a_killed_one_ended(filled, tmp_path):
    """Its folder then has the folders of small files."""
    target = open_store(tmp_path / "copy")
    POEMS.write(target.files, "rain", seal("It rains"))
    copy_store(filled, target)
    assert contents(open_store(tmp_path / "copy")) == contents(filled)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(StoreError, match="holds other files"):
        copy_store(filled, open_store(tmp_path / "other"))


def test_a_kind_without_a_rule_cannot_be_declared():
    with pytest.raises(TypeError, match="restored"):
        kind_of_files("poems", POEMS, expires=False, scope="", seen_by="", named_by="", changed_by="", ends="")
    assert replace(POEM, name="odes").folders == ("poems",)


def documented(name, heading):
    """Return the rows of the first table below a heading of a document, as lists of cells."""
    section = (ROOT / "docs" / name).read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if line.startswith("| ")]
    return rows[1:]


def test_the_document_says_what_a_backup_has():
    homes = {"catalogue": "the catalogue", "register": "the register", "files": "small files"}
    assert documented("operations.md", "Backups") == [[kind.name, homes[kind.home], kind.restored, kind.ends] for kind in KINDS]


def test_the_document_says_who_sees_names_and_changes_what():
    rows = documented("security.md", "Who sees, names and changes what")
    assert [row[:5] for row in rows] == [[kind.name, kind.scope, kind.seen_by, kind.named_by, kind.changed_by] for kind in KINDS]
    for name, *_, tests in rows:
        files = re.findall(r"`(tests/[\w/]+\.py)`", tests)
        assert files and all("def test_" in (ROOT / file).read_text(encoding="utf-8") for file in files), name
