"""Gradings that an import gives a run, from its file and from the rules; and corrections that outlive the run's files."""

import pytest

from clueline.data.importing import distributed_import, run_gradings
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions
from clueline.data.store.audit import Audit
from clueline.data.store.gradings import Correction, correct_grades
from clueline.data.store.repair import inspect_version, repair_objects
from clueline.data.store.run_files import all_objects
from tests.helpers.bundle_factory import grades, in_format, put, rows, table, write

STATED = """question_id,clue,guess,confidence,correct,correct.second
q1,0,Rome,0.25,1,0
q1,1,Paris,0.5,1,1
q2,1,Nile,1,1,1
"""
GRADINGS = "select name, position, source from gradings order by position"
HEAD = "model,question_id,clue,guess,confidence"
# Rows of a model, and the gradings of its run. None of these needs objects for a further grading.
FEW = {
    "equal grades": (f"{HEAD},correct\nm,q1,0,Rome,0.25,0\n", [("imported", 0, "import"), ("graded", 1, "rules")]),
    "nothing to grade": (f"{HEAD},correct\nn,q1,0,,0.25,1\n", [("imported", 0, "import")]),
    "graded only by the rules": (f"{HEAD}\no,q1,0,Rome,0.25\n", [("graded", 0, "import")]),
}


def test_the_report_counts_where_rules_and_file_differ(store, folder):
    report = put(store, write(folder, responses=STATED), model="m")
    (line,) = [line for line in report.lines if "rules" in line]
    assert (
        line == f"run {report.runs[0]}: Clueline's rules grade 1 of 3 answers differently from the file; both gradings are kept"
    )
    assert rows(store, GRADINGS) == [("imported", 0, "import"), ("second", 1, "column"), ("graded", 2, "rules")]


def test_some_files_give_one_grading_or_equal_ones(store, folder):
    write(folder)
    for case, (responses, _) in FEW.items():
        (folder / "responses" / f"{case}.csv").write_text(responses)
    put(store, folder)
    of_runs = (
        "select file_name, list((name, g.position, source) order by g.position) from gradings g join runs using (run) group by 1"
    )
    assert dict(rows(store, of_runs)) == {f"toy/responses/{case}.csv": gradings for case, (_, gradings) in FEW.items()}
    assert {part.kind for part in all_objects(store.snapshot().connection)} == {"responses", "statistics"}


def test_the_rules_do_not_grade_very_many_guesses(store, folder, monkeypatch):
    monkeypatch.setattr(run_gradings, "MAX_GRADED", 2)
    report = put(store, write(folder, responses=STATED), model="m")
    assert any("more than 2 different guesses" in line for line in report.lines)
    assert [name for name, _, _ in rows(store, GRADINGS)] == ["imported", "second"]
    assert run_gradings.grade_run(store, report.runs[0], None) == 1
    assert grades(store, report.runs[0], "graded") == [0, 1, 1]


def test_a_bad_name_of_a_grading_is_refused(store, folder):
    for name in ("Second", "graded", "", "a b", "x" * 41):
        text = STATED.replace("correct.second", f"correct.{name}")
        with pytest.raises(Refused, match=r"a further grading is a column `correct\.NAME`"):
            put(store, write(folder, responses=text), model="m")


def test_samples_keep_their_grades(store, folder):
    answers = [
        {"question_id": q, "clue": clue, "sample": sample, "guess": "Rome", "confidence": 0.5, "correct": 0,
         "correct.second": int((q, clue, sample) in {("q1", 1, "a"), ("q2", 0, "b")})}
        for sample in ("b", "a") for q, clue in (("q2", 0), ("q1", 1), ("q1", 0))
    ]  # fmt: skip
    (run,) = put(store, write(folder, responses=table(answers)), model="m").runs
    snapshot = store.snapshot().with_grading("second")
    right = snapshot.rows(f"select question_id, clue, sample from {snapshot.responses([run])} where correct = 1 order by all")
    assert right == [("q1", 1, "a"), ("q2", 0, "b")]
    put(store, write(folder, questions="question_id,answer\nq1,Rome\nq2,Nile\n"), replace=True)
    snapshot = store.snapshot()
    for grading, answers in (("second", right), ("graded", [("q1", c, s) for c in (0, 1) for s in ("a", "b")])):
        read = snapshot.with_grading(grading)
        sql = f"select question_id, clue, sample from {read.responses([run])} where correct = 1 order by all"
        assert read.rows(sql) == answers


def test_runs_of_a_batch_have_the_same_gradings(store, folder, tmp_path):
    put(store, write(folder, responses=None))
    (run,) = put(store, write(tmp_path / "other", responses=STATED), model="m", dataset="other").runs
    (tmp_path / "rows.parquet").write_bytes(in_format(STATED, "parquet"))
    group = distributed_import.Group(None, None, (str(tmp_path / "rows.parquet"),))
    prepared = distributed_import.prepare(store.url, group, ImportOptions(dataset="toy", model="m"))
    (published,) = distributed_import.publish(store, [prepared])
    assert [(event.action, event.run) for event in Audit(store.register).page(1)] == [("published", published)]
    for grading in ("", "graded", "second"):
        assert grades(store, published, grading) == grades(store, run, grading)


def test_corrections_outlive_a_lost_run(store, folder):
    (run,) = put(store, write(folder, responses=STATED), model="m").runs
    correct_grades(store, run, [Correction("q1", "Rome", 1.0)], "ann")
    (part,) = [part for part in all_objects(store.snapshot().connection) if part.kind == "responses"]
    store.objects.path(part.name).write_bytes(b"")
    repair_objects(store, inspect_version(store, store.pointer().name).damaged_objects)
    assert not rows(store, "select * from runs") and not rows(store, "select * from gradings")
    put(store, folder, model="m")
    assert grades(store, run, "reviewed") == [1, 1, 1] and grades(store, run, "graded") == [0, 1, 1]
