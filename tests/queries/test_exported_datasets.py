"""All that is stored about a dataset survives its export and import."""

import json

import pytest

from clueline.data.store import open_store
from clueline.data.store.gradings import Correction, correct_grades, draw_for_review
from clueline.data.store.query_to_file import export
from clueline.data.store.run_tags import change_tags
from clueline.queries.datasets import bundle, responses
from clueline.queries.reviewed_samples import review_sample
from tests.helpers.bundle_factory import PEOPLE, content, put, rows, write

ODD = "cost in $dataset, it's/~net"
TABLES = {
    **PEOPLE,
    "questions": f'question_id,answer,category,language,"{ODD}",year\nq1,Paris,Places,fr,12.5,9\nq2,Nile,Places,ar,,10\n',
    "left_out_plays": "question_id,match_id,reason,plays\nq1,m3,this curve has no such play,2\nq2,m3,no curve,1\n",
    "votes": "question_id,class,votes\nq1,yes,3\nq1,no,1\n",
    "tags": "model,elicitation,tag,value\na,stated,reasoning,yes\nb,stated,reasoning,no\nb,stated,a = b,ü\n",
    "responses": f"""model,question_id,clue,guess,confidence,state,correct,correct.second-reader,prompt,"kept {ODD}"
a,q1,0,Rome,0.25,answered,1,1,terse,12.5
a,q1,1,Paris,0.5,answered,1,1,terse,
a,q1,2,paris,1,answered,0,,verbose,3.25
a,q2,0,,,abstained,,,terse,4.5
a,q2,1,Nile,0.75,answered,1,0,,
b,q1,0,Lyon,0.5,answered,0,,,
b,q1,1,Paris,,no_confidence,1,,,
b,q1,2,,,failed,,,,
b,q2,0,Nile,,unparsed,,,,
""",
}


FACTS = {"dataset": "toy", "kind": "incremental", "title": "Toy", "classes": ["yes", "no"]}


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A store with everything that can be exported, and its runs."""
    folder = tmp_path_factory.mktemp("first")
    store = open_store(folder / "store", threads=1)
    runs = put(store, write(folder / "toy", FACTS, **TABLES), elicitation="stated").runs
    correct_grades(store, runs[0], [Correction("q1", "Rome", 1.0, note="so be it")], "ann")
    draw_for_review(store, runs[0], 2, 7, "ann")
    change_tags(store, runs[0], {"released": "2026-05"}, "ann")
    return store, runs


@pytest.mark.parametrize(("form", "by", "corrected_by"), [("csv", None, "ann"), ("jsonl", "eve", "ann, as uploaded by eve")])
def test_a_dataset_makes_the_round_trip(first, tmp_path, form, by, corrected_by):
    first, runs = first
    second = open_store(tmp_path / "second", threads=1)
    parts = bundle(first.snapshot(), "toy", form)
    tables = {f"{name}__{form}": export(first, part, form).read() for name, part in parts.tables.items()}
    again = write(tmp_path / "again", json.dumps(parts.facts), questions=None, clues=None, **tables)
    assert put(second, again, by=by).runs == runs
    assert set(rows(second, "select corrected_by from corrections")) == {(corrected_by,)}
    before, after = content(first), content(second)
    for name in before.keys() - {"runs", "corrections"}:
        assert after[name] == before[name], name
    for sql in (
        "select * exclude (imported_at, imported_by, file_name) from runs order by all",
        "select * exclude corrected_by from corrections order by all",
        "from response_attributes order by all",
    ):
        assert rows(second, sql) == rows(first, sql)
    assert review_sample(second.snapshot(), runs[0]).answers == review_sample(first.snapshot(), runs[0]).answers
    for grading in ("", "graded", "second-reader", "reviewed"):
        sides = [store.snapshot().with_grading(grading) for store in (first, second)]
        graded = [side.rows(f"select * from {side.responses(runs)} order by all") for side in sides]
        assert graded[0] == graded[1], grading


def test_runs_make_the_round_trip_on_their_own(first, tmp_path):
    first, runs = first
    paths = [tmp_path / "first.csv", tmp_path / "second.parquet"]
    for run, path in zip(runs, paths, strict=True):
        form = path.suffix[1:]
        path.write_bytes(export(first, responses(first.snapshot(), run, form), form).read())
    second = open_store(tmp_path / "store", threads=1)
    questions = write(tmp_path / "questions", FACTS, **TABLES | {"responses": None, "tags": None})
    assert put(second, questions, *paths, dataset="toy").runs == runs
