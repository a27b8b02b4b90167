"""Importing stored answers with other grades adds a grading to their run; other answers under the same name become a new run."""

from functools import partial

import pytest

from clueline.data.importing import distributed_import
from clueline.data.importing.ingest import open_dry_run, read_and_check
from clueline.data.importing.staging import Decision, ImportOptions, open_staging
from clueline.data.importing.unpublished_catalogue import make_unpublished_catalogue
from clueline.data.store import StoreMoved
from clueline.data.store.audit import Audit
from clueline.data.store.gradings import Correction, correct_grades
from clueline.data.store.run_files import all_objects
from clueline.data.store.run_withdrawal import withdraw
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import content, in_format, rows, write

ANSWERS = ("q1,0,Rome,0.25", "q1,1,Paris,0.5", "q2,0,,0", "q2,1,Nile,0.75")
FIRST, SECOND, THIRD = "0101", "1101", "0001"  # grades by three readers; the first are also those of the rules
GRADINGS = "select name, position, source from gradings order by position"


def graded(grades=None, answers=ANSWERS, **columns):
    """Return a file of these answers with their grades, one digit per answer, and a column for each further grading."""
    given = ({"correct": grades} if grades else {}) | {f"correct.{name}": digits for name, digits in columns.items()}
    header = ",".join(["question_id,clue,guess,confidence", *given])
    lines = (",".join([answer, *digits]) for answer, *digits in zip(answers, *given.values(), strict=True))
    return "\n".join([header, *lines]) + "\n"


def put_first(store, folder):
    bundles.put_bundle(store, folder)
    bundles.put_file(store, folder / "first.csv", graded(FIRST), dataset="toy", model="m")


@pytest.fixture
def put(prefilled, tmp_path):
    """Import a file of responses with this name and text, into a store that has the run ``put.run`` of the first reader."""
    store = prefilled(put_first)

    def put(name, text, **options):
        return bundles.put_file(store, tmp_path / name, text, **{"dataset": "toy", "model": "m"} | options)

    put.store = store
    ((put.run,),) = store.snapshot().rows("select run from runs")
    return put


def grades(put, *gradings, run=None):
    """Return the grades that gradings give the answers of a run, by default the one of the first reader."""
    return ["".join(f"{correct:g}" for correct in bundles.grades(put.store, run or put.run, name)) for name in gradings]


def test_later_grades_are_a_further_grading(put):
    run = put.run
    report = put("Second reader.csv", graded(SECOND), by="ann")
    assert (report.runs, report.stored, report.gradings) == ([run], [run], [(run, "second-reader")])
    assert report.warnings == [f"run {run} has these answers already: the grades are added to it as 'second-reader'"]
    assert report.lines[-1].endswith("4 items of 2 questions, already there, gets the grading 'second-reader'")
    assert rows(put.store, GRADINGS) == [
        ("imported", 0, "import"), ("graded", 1, "rules"), ("second-reader", 2, "added"),
    ]  # fmt: skip
    assert grades(put, "", "imported", "second-reader") == [FIRST, FIRST, SECOND]
    by = "select added_by, added_at > imported_at from gradings join runs using (run) where source = 'added'"
    assert rows(put.store, by) == [("ann", True)]
    event = Audit(put.store.register).page(1)[0]
    assert (event.action, event.run, event.grading, event.by) == ("added_grading", run, "second-reader", "ann")


def test_each_reader_has_a_grading_of_its_own(put):
    put("reader.csv", graded(SECOND))
    before, version = content(put.store), put.store.version()
    for name, text, known in (
        ("reader.csv", graded(SECOND), "already there, with 'reader'"), ("first.csv", graded(FIRST), "already there"),
        ("copy.csv", graded(SECOND), "already there, with the grades of 'copy' as 'reader'"),
    ):  # fmt: skip
        report = put(name, text)
        assert report.lines[-1].endswith(known) and report.warnings == report.gradings == [], name
        assert report.runs == report.stored == [put.run]
    assert (content(put.store), put.store.version()) == (before, version), "the same grades again change nothing"
    report = put("reader.csv", graded(THIRD))
    assert "added to it as 'reader-2', because it has different grades called 'reader'" in report.warnings[0]
    assert grades(put, "", "reader", "reader-2") == [FIRST, SECOND, THIRD]


def test_answers_that_the_rules_graded_get_grades_of_a_file(put):
    (run,) = put("plain.csv", graded(), model="n").runs
    assert put("reader.csv", graded(FIRST), model="n").gradings == [(run, "reader")]  # the same grades, but given by a reader
    of_run = f"select name, position, source from gradings where run = '{run}' order by position"
    assert rows(put.store, of_run) == [("graded", 0, "import"), ("reader", 1, "added")]
    assert put("reader.csv", graded(FIRST), model="n").gradings == []


def test_a_file_without_grades_adds_none(put):
    (run,) = put("first.csv", graded(SECOND), model="n").runs
    report = put("plain.csv", graded(), model="n")
    assert (report.runs, report.stored, report.gradings, report.warnings) == ([run], [run], [], [])
    assert grades(put, "", run=run) == [SECOND] and rows(put.store, f"select count(*) from gradings where run = '{run}'") == [
        (2,)
    ]


def test_columns_of_further_gradings_are_added(put):
    text = graded(FIRST, second=SECOND)
    assert put("run.csv", text).gradings == [(put.run, "second")]
    assert put("run.csv", text).gradings == []
    assert put("run.csv", graded(FIRST, second=THIRD)).gradings == [(put.run, "second-2")]
    assert put("other.csv", graded(None, fourth="1111")).gradings == [(put.run, "fourth")]  # the column names the grading
    assert grades(put, "second", "second-2", "fourth") == [SECOND, THIRD, "1111"]


OTHER_ANSWERS = [
    (("q1,0,Oslo,0.25", *ANSWERS[1:]), "answers 4 of the same questions and clues, 1 of them differently"),
    (("q1,0,Rome,0.3", *ANSWERS[1:]), "answers 4 of the same questions and clues, 1 of them differently"),
    (ANSWERS[:3], "answers 3 of the same questions and clues"),
    ((*ANSWERS[:2], "q2,0,Po,1"), "answers 3 of the same questions and clues, 1 of them differently"),
    (("q1,2,Paris,1",), "answers only other questions or clues"),
]


def test_other_answers_are_a_run_of_their_own(put):
    def of_models(name, files):
        """Import several files as one, in which each has a model of its own."""
        texts = [(number, *text.splitlines()) for number, text in enumerate(files)]
        lines = [f"{line},m{number}" for number, _, *answers in texts for line in answers]
        return put(name, "\n".join([f"{texts[0][1]},model", *lines]), model=None)

    first = of_models("first.csv", [graded(FIRST)] * len(OTHER_ANSWERS))
    report = of_models("second.csv", [graded(SECOND[: len(answers)], answers) for answers, _ in OTHER_ANSWERS])
    assert report.stored == [] and report.gradings == [] and report.hints == ["one_run"]
    assert report.warnings == [
        f"run {second} is a separate run: for the same dataset, model and elicitation, the store has run {run}, which {words}. "
        "Nothing says when it was evaluated: its day is that of the import, unless the tag `date` says it"
        for second, run, (_, words) in zip(report.runs, first.runs, OTHER_ANSWERS, strict=True)
    ]
    assert [grades(put, "", run=run) for run in first.runs] == [[FIRST]] * len(first.runs)
    put("part.csv", graded("1", ("q1,2,Paris,0.5",)))
    assert "the store has 2 runs, the last of them run " in put("other.csv", graded("1", ("q1,2,Paris,0.75",))).warnings[0]
    assert put("first.csv", graded(FIRST)).warnings == []


def test_another_name_is_another_run(put):
    reports = [put("second.csv", graded(SECOND), **other) for other in ({"model": "n"}, {"elicitation": "token"})]
    assert [report.stored for report in reports] == [[], []]
    # Both have the grades of the second file, the first run does not.
    assert [len(report.warnings) for report in reports] == [0, 1] and "exactly the answers" in reports[1].warnings[0]


def test_a_withdrawn_run_gets_no_grades(put):
    withdraw(put.store, put.run, None)
    report = put("second.csv", graded(SECOND))
    assert report.stored == [] and grades(put, "", run=report.runs[0]) == [SECOND]


def test_a_damaged_run_is_not_compared(put):
    (part,) = [part for part in all_objects(put.store.snapshot().connection) if part.kind == "responses"]
    put.store.objects.path(part.name).write_bytes(b"")
    report = put("second.csv", graded(SECOND))
    assert report.stored == [] and report.warnings == []


def test_decisions_of_an_analyst_make_a_new_run(put):
    report = put("first.csv", graded(), decisions=(Decision("q1", 0, "Rome", 1.0),))
    assert report.stored == [] and len(report.warnings) == 1


def test_samples_and_attributes_are_part_of_answers(put):
    lines = [f"{place},{guess},0.5,{sample},{prompt}" for place, sample, prompt, guess in (
        ("q1,1", "b", "terse", "Paris"), ("q1,0", "b", "long", "Rome"), ("q1,1", "a", "terse", "Oslo"),
    )]  # fmt: skip

    def text(digits, rows=lines):
        header = "question_id,clue,guess,confidence,sample,prompt,correct"
        return "\n".join([header, *map(",".join, zip(rows, digits, strict=True))])

    (run,) = put("first.csv", text("000"), model="n").runs
    assert put("second.csv", text("100"), model="n").gradings == [(run, "second")]
    snapshot = put.store.snapshot().with_grading("second")
    right = snapshot.rows(f"select clue, sample, guess from {snapshot.responses([run])} where correct = 1")
    assert right == [(1, "b", "Paris")]
    assert put("third.csv", text("010", [line.replace("long", "short") for line in lines]), model="n").stored == []


def test_failed_calls_are_part_of_answers(put):
    failed = ("q1,0,ERROR,0", *ANSWERS[1:])
    report = put("failed.csv", graded(FIRST, failed))
    assert report.stored == []
    assert put("second.csv", graded(SECOND, failed)).gradings == []  # they differ only in the failed call
    assert put("third.csv", graded(THIRD, failed)).gradings == [(report.runs[0], "third")]


def test_corrections_and_added_grades_are_separate_gradings(put):
    correct_grades(put.store, put.run, [Correction("q1", "Rome", 1.0)], "ann")
    put("second.csv", graded(THIRD))
    assert grades(put, "reviewed", "second", "") == ["1101", THIRD, FIRST]
    correct_grades(put.store, put.run, [Correction("q2", "Nile", 0.0)], "ann")
    assert grades(put, "reviewed", "second", "") == ["1100", THIRD, FIRST]


def test_a_bundle_adds_grades_and_replaces_questions(put, tmp_path):
    questions = bundles.QUESTIONS.replace("Nile", "Congo")
    folder = write(tmp_path / "toy", questions=questions, responses=graded(SECOND))
    report = bundles.put(put.store, folder, model="m", replace=True)
    assert report.gradings == [(put.run, "run")]
    assert grades(put, "", "run", "graded") == [FIRST, SECOND, "0100"]


def test_a_dry_run_shows_a_grading_and_stores_nothing(put, tmp_path):
    run, version = put.run, put.store.version()
    (tmp_path / "second.csv").write_text(graded(SECOND))
    with open_dry_run(put.store, [tmp_path / "second.csv"], ImportOptions(dataset="toy", model="m")) as dry_run:
        assert dry_run.stored == {run} and dry_run.report.gradings == [(run, "second")]
        snapshot = dry_run.snapshot.with_grading("second")
        assert snapshot.rows(f"select correct from {snapshot.responses([run])} limit 1") == [(1.0,)]
        assert len(snapshot.read_runs("statistics", [run], ["items"])[run]) == 2
    assert put.store.version() == version


def test_a_batch_adds_grades_to_stored_runs(put, tmp_path):
    (tmp_path / "second.parquet").write_bytes(in_format(graded(SECOND, reader=THIRD), "parquet"))
    group = distributed_import.Group(None, None, (str(tmp_path / "second.parquet"),))
    prepare = partial(distributed_import.prepare, put.store.url, group, ImportOptions(dataset="toy", model="m"))
    prepared = prepare()
    assert prepared.lines[-2].startswith(f"warning: run {put.run} has these answers already")
    assert distributed_import.publish(put.store, [prepared]) == []
    assert grades(put, "", "second", "reader") == [FIRST, SECOND, THIRD]
    assert distributed_import.publish(put.store, [prepare()]) == []


def test_one_of_two_concurrent_imports_starts_again(put, tmp_path):
    (tmp_path / "second.csv").write_text(graded(SECOND))
    with open_staging(put.store) as staging:
        options = ImportOptions(dataset="toy", model="m")
        read_and_check(staging, [tmp_path / "second.csv"], options, None, lambda label, done, total: None)
        unpublished = make_unpublished_catalogue(staging, put.store.new_objects())
        unpublished.close()
        put("second.csv", graded(SECOND))
        with pytest.raises(StoreMoved):
            put.store.write(unpublished.publish)
    assert grades(put, "second") == [SECOND]
