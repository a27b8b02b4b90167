"""Gradings survive the export and import of a dataset."""

import pytest

from data.store import open_store
from data.store.gradings import Correction, correct_grades
from data.store.query_to_file import export
from queries.datasets import bundle
from tests.helpers.bundle_factory import put, rows, write

STATED = """question_id,clue,guess,confidence,correct,correct.second-reader
q1,0,Rome,0.25,1,1
q1,1,Paris,0.5,1,1
q1,2,paris,1,0,
q2,0,,0,0,0
q2,1,Nile,0.75,1,0
"""


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_gradings_make_the_round_trip(tmp_path, form):
    first, second = (open_store(tmp_path / name, threads=1) for name in ("first", "second"))
    put(first, write(tmp_path / "toy", responses=STATED), model="alpha")
    ((run,),) = rows(first, "select run from runs")
    correct_grades(first, run, [Correction("q1", "Rome", 1.0, note="so be it")], "ann")
    folder = tmp_path / "exported"
    (folder / "responses").mkdir(parents=True)
    (folder / "dataset.json").write_text('{"dataset": "toy", "kind": "incremental"}')
    parts = bundle(first.snapshot(), "toy", form)
    for name, table in parts.tables.items():
        with export(first, table, form) as file:
            (folder / f"{name}.{form}").write_bytes(file.read())
    put(second, folder)
    ((again,),) = rows(second, "select run from runs")
    assert again == run
    for grading in ("", "graded", "second-reader", "reviewed"):
        before, after = (store.snapshot().with_grading(grading) for store in (first, second))
        columns = "question_id, clue, correct, graded"
        sql = [f"select {columns} from {side.responses([run])}" for side in (before, after)]
        assert before.rows(sql[0]) == after.rows(sql[1]), grading
    log = "select * from corrections"
    assert rows(first, log) == rows(second, log)
    third = open_store(tmp_path / "third", threads=1)
    put(third, folder, by="eve")
    assert rows(third, "select corrected_by from corrections") == [("ann, as uploaded by eve",)]
