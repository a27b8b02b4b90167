"""Stores without the bundled datasets, which would make every test slow."""

import shutil

import pytest

from data.store import Store, open_store

# What a run's statistics and items are computed from, and the files that hold them. What is read of a further grading is kept
# by the name of its file.
BASE = {
    "questions": "question_id, position, clues", "clues": "question_id, clue, word_end, revealed",
    "curves": "*", "objects": "*",
}  # fmt: skip
OF_RUNS = " and list_contains($runs, run) and not contains(kind, '.')"


def bases(snapshot, dataset, runs):
    """What the store holds of a dataset, but for other runs than these and what may be said of it without touching them."""
    parts = (
        f"select '{table}', list(hash(t) order by hash(t)) from (select {columns} from {table} where dataset = $dataset"
        f"{OF_RUNS if table == 'objects' else ''}) t"
        for table, columns in BASE.items()
    )
    return dict(snapshot.rows(" union all ".join(parts), {"dataset": dataset, "runs": runs}))


def datasets(snapshot):
    """What the store holds of each dataset."""
    tables = snapshot.rows("select table_name from duckdb_columns() where column_name = 'dataset' and not internal order by 1")
    parts = [
        f"select dataset, '{name}', list(hash(t) order by hash(t)) from {name} t group by 1"
        for (name,) in tables
        if name != "revisions"
    ]
    contents = {}
    for dataset, name, rows in snapshot.rows(" union all ".join(parts)) if parts else ():
        contents.setdefault(dataset, {})[name] = rows
    return contents


@pytest.fixture(autouse=True)
def revisions_follow_changes(monkeypatch):
    """Checks each write of every test: a dataset has a new revision if and only if it has changed."""
    write, contents = Store.write, {}

    def content(snapshot):
        if snapshot.version not in contents:
            contents[snapshot.version] = datasets(snapshot)
        return contents[snapshot.version]

    def watched(store, change, **expect):
        was = store.snapshot()
        before = content(was)
        result = write(store, change, **expect)
        now = store.snapshot()
        after = content(now)
        for name in before | after:
            if before.get(name) != after.get(name):
                assert was.states.get(name) != now.states.get(name), f"{name} has changed, and its revision has not"
            else:
                assert was.states.get(name) == now.states.get(name), f"{name} has a new revision, and is what it was"
            if name in before and name in after and was.states[name].base == now.states[name].base:
                runs = [run for (run,) in was.rows("select run from runs where dataset = $d", {"d": name})]
                assert bases(was, name, runs) == bases(now, name, runs), f"earlier runs of {name} have changed, its base has not"
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
