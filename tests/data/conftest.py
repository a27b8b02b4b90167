"""Stores without the bundled datasets, which would make every test slow."""

import shutil

import pytest

from data.store import Store, open_store
from data.store.register import EMPTY

# What a run's statistics and items are computed from, and the files that hold them: columns of a table, or all of them.
BASE = {
    "questions": ("question_id", "position", "clues"), "clues": ("question_id", "clue", "word_end", "revealed"),
    "curves": (), "objects": (),
}  # fmt: skip


def bases(content, runs):
    """What the store holds of a dataset, but for other runs than these and what may be said of it without touching them."""
    parts = {name: content.get(name, []) for name in BASE}
    # What is read of a further grading is kept by the name of its file.
    parts["objects"] = [row for row in parts["objects"] if row["run"] in runs and "." not in row["kind"]]
    return {name: sorted(repr([row[key] for key in BASE[name] or row]) for row in rows) for name, rows in parts.items()}


def datasets(snapshot):
    """What the store holds of each dataset: the rows of each table, in an order that depends on nothing but them."""
    tables = snapshot.rows("select table_name from duckdb_tables() where not internal order by 1")
    contents = {}
    for (name,) in tables:
        # Not one query over all tables, nor hashes: for a few rows, planning it takes DuckDB three times as long.
        result = snapshot.connection.execute(f"from {name}")
        columns = [column for column, *_ in result.description]
        if "dataset" in columns and name != "revisions":
            for values in sorted(result.fetchall(), key=repr):
                row = dict(zip(columns, values, strict=True))
                contents.setdefault(row["dataset"], {}).setdefault(name, []).append(row)
    return contents


@pytest.fixture(autouse=True)
def revisions_follow_changes(monkeypatch):
    """Checks each write of every test: a dataset has a new revision if and only if it has changed."""
    write, contents = Store.write, {}

    def read(store):
        """The states of the datasets, and what the store holds of each; an empty store need not be opened for that."""
        if store.latest().version == EMPTY.version:
            return {}, {}
        snapshot = store.snapshot()
        if snapshot.version not in contents:
            contents[snapshot.version] = datasets(snapshot)
        return snapshot.states, contents[snapshot.version]

    def watched(store, change, **expect):
        states, before = read(store)
        result = write(store, change, **expect)
        new_states, after = read(store)
        for name in before | after:
            if repr(before.get(name)) != repr(after.get(name)):  # NaN is itself, too
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
    """Where a test writes its bundle."""
    return tmp_path / "toy"


@pytest.fixture(scope="session")
def templates():
    """Folders that were filled once, by the function that filled them."""
    return {}


@pytest.fixture
def prefilled(store, tmp_path, templates, tmp_path_factory):
    """Fills the store as ``fill(store, folder)`` does, which is called once per process; later tests get copies.

    What it writes to the folder is in ``tmp_path``.
    """

    def copied(fill):
        if fill not in templates:
            folder = tmp_path_factory.mktemp(fill.__name__)
            filled = open_store(folder / "store", threads=1)
            fill(filled, folder)
            filled.close()
            templates[fill] = folder
        shutil.copytree(templates[fill], tmp_path, dirs_exist_ok=True)
        return store

    return copied
