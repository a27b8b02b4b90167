"""Fixtures: stores without the bundled datasets, which would make every test slow."""

import shutil
import tempfile
from pathlib import Path

import pytest

from clueline.data.store import Store, open_store
from clueline.data.store.catalogue_schema import OF_MODELS
from clueline.data.store.register import EMPTY
from tests.helpers import bundle_factory as bundles

# Tables from which a run's statistics and items are computed, with their columns (all columns if none is named), and the
# table of the files that hold them.
BASE = {
    "questions": ("question_id", "position", "clues"), "clues": ("question_id", "clue", "word_end", "revealed"),
    "curves": (), "objects": (),
}  # fmt: skip


def bases(content, runs):
    """Return the rows of a dataset on which ``runs`` depend: no other runs, and nothing that can change without touching them."""
    parts = {name: content.get(name, []) for name in BASE}
    # Values of a further grading are cached by the name of its file, so its files are no part of the base.
    parts["objects"] = [row for row in parts["objects"] if row["run"] in runs and "." not in row["kind"]]
    return {name: sorted(repr([row[key] for key in BASE[name] or row]) for row in rows) for name, rows in parts.items()}


def datasets(snapshot):
    """Return the rows of each table for each dataset, in an order that depends only on the rows."""
    tables = snapshot.rows("select table_name from duckdb_tables() where not internal order by 1")
    contents = {}
    for (name,) in tables:
        # A query for each table: one over all tables, or over hashes, takes DuckDB three times as long to plan for a few rows.
        result = snapshot.connection.execute(f"from {name}")
        columns = [column for column, *_ in result.description]
        if "dataset" in columns and name not in ("revisions", *OF_MODELS):  # no result of a dataset depends on its models
            for values in sorted(result.fetchall(), key=repr):
                row = dict(zip(columns, values, strict=True))
                contents.setdefault(row["dataset"], {}).setdefault(name, []).append(row)
    return contents


@pytest.fixture(autouse=True)
def revisions_follow_changes(request, monkeypatch):
    """Check each write of every test: a dataset has a new revision if and only if it has changed.

    Not where ``memory_folder`` is used, because it would check the same import hundreds of times.
    """
    if "memory_folder" in request.fixturenames:
        return
    write, contents = Store.write, {}

    def read(store):
        """Return the states of the datasets and the rows of each. An empty store is not opened for this."""
        if store.latest().version == EMPTY.version:
            return {}, {}
        snapshot = store.snapshot()
        if snapshot.version not in contents:
            contents[snapshot.version] = datasets(snapshot)
        return snapshot.states, contents[snapshot.version]

    def watched(store, change, *events):
        states, before = read(store)
        result = write(store, change, *events)
        new_states, after = read(store)
        for name in before | after:
            if repr(before.get(name)) != repr(after.get(name)):  # as text, so that NaN equals NaN
                assert states.get(name) != new_states.get(name), f"{name} has changed, and its revision has not"
            else:
                assert states.get(name) == new_states.get(name), f"{name} has a new revision, and is what it was"
            if name in before and name in after and states[name].base == new_states[name].base:
                runs = {row["run"] for row in before[name].get("runs", ())}
                assert bases(before[name], runs) == bases(after[name], runs), (
                    f"earlier runs of {name} have changed, its base has not"
                )
        return result

    monkeypatch.setattr(Store, "write", watched)


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", threads=1)


@pytest.fixture
def folder(tmp_path):
    """Folder for the bundle of a test."""
    return tmp_path / "toy"


@pytest.fixture(scope="session")
def templates():
    """Maps each filling function to the folder that it filled."""
    return {}


@pytest.fixture
def prefilled(store, tmp_path, templates, tmp_path_factory):
    """Return a function that fills the store as ``fill(store, folder)`` does.

    ``fill`` is called once per process; later tests get copies. What it writes to ``folder`` is in ``tmp_path``.
    """

    def copied(fill):
        if fill not in templates:
            folder = tmp_path_factory.mktemp(fill.__name__)
            filled = open_store(folder / "store", threads=1)
            fill(filled, folder)
            filled.close()
            del filled  # with which SQLite's connections end, so that it leaves one file
            templates[fill] = folder
        shutil.copytree(templates[fill], tmp_path, dirs_exist_ok=True)
        return store

    return copied


@pytest.fixture
def toy(prefilled):
    """A store with the bundle, without runs."""
    return prefilled(bundles.put_bundle)


@pytest.fixture(scope="module")
def memory_folder():
    """A folder for hundreds of imports and their temporary files, in memory if possible: no such test is about disks."""
    with pytest.MonkeyPatch.context() as patch:
        memory = Path("/dev/shm")
        folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        patch.setattr(tempfile, "tempdir", str(folder))
        (folder / "in").mkdir()
        yield folder
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def memory_store(memory_folder):
    """A store with the bundle ``toy``, and a folder for files; in memory."""
    store = open_store(memory_folder / "store", threads=1, memory_limit="1GB")
    bundles.put(store, bundles.write(memory_folder / "toy"))
    return store, memory_folder / "in"
