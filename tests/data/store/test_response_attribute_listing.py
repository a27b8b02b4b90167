"""Attributes of responses in the store: files of every form, distributed imports, backups and repairs."""

from functools import partial

import pytest

from clueline.data.importing import distributed_import
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.backup import back_up, restore_backup
from clueline.data.store.errors import NeedsMigration
from clueline.data.store.repair import damage_of, inspect_version, repair_objects
from clueline.data.store.run_files import ADDED, TYPES, Objects, copy_rows, stored_objects
from tests.helpers.bundle_factory import in_format, put, put_file, rows, write

RESPONSES = """model,question_id,clue,guess,confidence,prompt,shots
a,q1,0,Rome,0.25,terse,1
a,q1,1,Paris,0.5,verbose,2
b,q2,1,Nile,0.75,terse,
"""
ATTRIBUTES = [({"prompt": "terse", "shots": "1"},), ({"prompt": "verbose", "shots": "2"},), ({"prompt": "terse"},)]
LISTED = "select model, attribute, value, responses from response_attributes join runs using (run) order by all"
IN_LIST = [
    ("a", "prompt", "terse", 1), ("a", "prompt", "verbose", 1), ("a", "shots", "1", 1), ("a", "shots", "2", 1),
    ("b", "prompt", "terse", 1),
]  # fmt: skip


def two_runs(store, folder):
    put(store, write(folder / "toy"))
    put_file(store, folder / "run.csv", RESPONSES, dataset="toy")


@pytest.fixture
def toy(prefilled):
    return prefilled(two_runs)


def kept(store):
    return rows(store, "select attributes from responses")


def test_files_of_every_form_are_read_together(toy):
    part, other = stored_objects(toy.snapshot().connection, "responses")
    with toy.snapshot().connection.cursor() as connection:
        added = Objects(toy.files)
        older = []
        plain = toy.objects.relation("responses", [other])
        sql = f"select * exclude (dataset, run) replace (null as attributes, null as buzz) from {plain}"
        for form in (1, 2, 3):
            copy = partial(copy_rows, connection, "responses", sql, form=form)
            older.append(added.add("responses", "toy", f"run{form}", copy, form))
            written = connection.execute(f"describe from read_parquet('{added.path(older[-1].name)}')").fetchall()
            assert {*TYPES["responses"]} - {name for name, *_ in written} == {*ADDED["responses"][form]}
        for parts in ([older[0]], older[:2], older, [part, *older], [older[1], part]):
            relation = added.relation("responses", parts)
            counts = connection.execute(f"select run, count(*), count(attributes) from {relation} group by 1").fetchall()
            assert {*counts} == {(each.run, each.rows, 2 if each is part else 0) for each in parts}
        copy = partial(copy_rows, connection, "responses", f"from {toy.objects.relation('responses', [part])}", form=2)
        with pytest.raises(NeedsMigration, match="no room for attributes, state"):
            added.add("responses", "toy", "new", copy, 2)
        for name in added.added:
            added.remove(name)


def test_a_distributed_import_stores_attributes(tmp_path):
    store = open_store(tmp_path / "store", threads=1)
    put(store, write(tmp_path / "toy"))
    path = tmp_path / "rows.parquet"
    path.write_bytes(in_format(RESPONSES, "parquet"))
    groups = distributed_import.merge_groups(distributed_import.groups_of_file(path))
    options = ImportOptions(dataset="toy")
    prepared = [distributed_import.prepare(store.url, group, options) for group in groups]
    assert len(distributed_import.publish(store, prepared)) == 2
    assert kept(store) == ATTRIBUTES and store.snapshot().rows(LISTED) == IN_LIST


def test_backups_and_replaced_questions_keep_attributes(toy, tmp_path):
    back_up(toy, tmp_path / "backup")
    restored = open_store(tmp_path / "restored", threads=1)
    restore_backup(restored, tmp_path / "backup")
    assert kept(restored) == ATTRIBUTES and restored.snapshot().rows(LISTED) == IN_LIST
    other = "question_id,answer,category\nq1,Rome,Places\nq2,Nile,Places\n"
    put(toy, write(tmp_path / "other", questions=other), replace=True)
    assert kept(toy) == ATTRIBUTES and toy.snapshot().rows(LISTED) == IN_LIST
    assert rows(toy, "select guess from responses where correct = 1 order by 1") == [("Nile",), ("Rome",)]


def test_a_lost_run_can_be_imported_again(toy, tmp_path):
    part, _ = stored_objects(toy.snapshot().connection, "responses")
    path = toy.objects.path(part.name)
    path.write_bytes(b"x" + path.read_bytes()[1:])
    damaged = open_store(toy.url, threads=1)
    repair_objects(damaged, inspect_version(damaged, damaged.catalogue().name).damaged_objects)
    assert damage_of(damaged) is None and damaged.snapshot().rows(LISTED) == IN_LIST[-1:]
    put(damaged, tmp_path / "run.csv", dataset="toy")
    assert damaged.snapshot().rows(LISTED) == IN_LIST
