"""Stores without the bundled datasets, which would make every test slow."""

import pytest

from data import ingest
from data.store import GenerationStore, open_store


@pytest.fixture(autouse=True, scope="module")
def no_samples():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "SAMPLES", ())
        yield


def datasets(snapshot):
    """What the store holds of each dataset."""
    tables = [
        name
        for (name,) in snapshot.rows("select table_name from duckdb_columns() where column_name = 'dataset' and not internal")
        if name != "revisions"
    ]
    held = {}
    for name in sorted(tables):
        for dataset, rows in snapshot.rows(f"select dataset, list(hash(t) order by hash(t)) from {name} t group by 1"):
            held.setdefault(dataset, {})[name] = rows
    return held


@pytest.fixture(autouse=True)
def whoever_changes_a_dataset_says_so(monkeypatch):
    """In every test: what was computed of a dataset is kept by its revision, so that each write that changes it must renew it."""
    write = GenerationStore.write

    def watched(store, change, **expect):
        was = store.snapshot()
        result = write(store, change, **expect)
        now = store.snapshot()
        before, after = datasets(was), datasets(now)
        for name in before | after:
            if before.get(name) != after.get(name):
                assert was.revisions.get(name) != now.revisions.get(name), f"{name} has changed, and its revision has not"
            else:
                assert was.revisions.get(name) == now.revisions.get(name), f"{name} has a new revision, and is what it was"
        return result

    monkeypatch.setattr(GenerationStore, "write", watched)


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store", threads=1)
