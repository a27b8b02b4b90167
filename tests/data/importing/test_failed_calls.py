"""Failed calls: how files mark them, how they are stored, and how older stores get them."""

from tests.helpers import bundle_factory
from tests.helpers.bundle_factory import put, put_answers, rows, write

HEAD = "question_id,clue,guess,confidence"
ANSWERS = "q1,0,Rome,0.25\nq1,1,Paris,0.5\nq2,1,Nile,0.75\n"
FAILED = f"{HEAD},failed\n{ANSWERS.replace(chr(10), ',false' + chr(10))}q1,2,,,true\nq2,0,,,1\n"
COLUMNS = "question_id, clue, guess, confidence, correct, failed, graded"


def test_a_guess_of_error_is_a_failed_call(toy, tmp_path):
    report = put_answers(toy, tmp_path, f"{HEAD}\n{ANSWERS}q1,2, error ,0\nq2,0,ERROR,0\n")
    assert rows(toy, f"select {COLUMNS} from responses order by question_id, clue") == [
        ("q1", 0, "Rome", 0.25, 0.0, False, "answer"),
        ("q1", 1, "Paris", 0.5, 1.0, False, "answer"),
        ("q1", 2, None, 0.0, 0.0, True, "failed"),
        ("q2", 0, None, 0.0, 0.0, True, "failed"),
        ("q2", 1, "Nile", 0.75, 1.0, False, "answer"),
    ]
    assert rows(toy, "select items, questions, missing_questions, failed from runs") == [(3, 2, 0, 2)]
    assert rows(toy, "select question_id, items, correct from statistics order by 1") == [("q1", 2, 1), ("q2", 1, 1)]
    assert report.lines[-1].endswith("3 items of 2 questions imported; 2 failed calls") and not report.warnings
    for ending in ("csv", "jsonl", "parquet"):  # the same content, marked by a column
        again = put_answers(toy, tmp_path, bundle_factory.in_format(FAILED, ending), f"again.{ending}")
        assert again.stored == report.runs, ending


def test_ids_of_runs_without_failures_are_unchanged(toy, tmp_path):
    """The ids are those given by version 0.1.0."""
    plain = put_answers(toy, tmp_path, f"{HEAD}\n{ANSWERS}")
    assert plain.runs == ["9e119436cfa4e844"]
    assert put_answers(toy, tmp_path, f"{HEAD}\n{ANSWERS}q1,2,ERROR,0\n", "error.csv").runs == ["80da599ca5d141a9"]
    none_failed = f"{HEAD},failed\n{ANSWERS.replace(chr(10), ',no' + chr(10))}"
    assert put_answers(toy, tmp_path, none_failed, "none.csv").stored == plain.runs


# Files of several forms, by model: columns and rows.
FILES = {
    "failed": (HEAD, "q1,0,ERROR,0\nq1,1,Paris,1\n"),
    "blank": (HEAD, "q1,0,,0\nq1,1,Paris,1\n"),  # no answer, but no failed call
    "values": (f"{HEAD},correct,failed", "q1,0,Paris,0.9,1,true\nq1,1,Paris,0.5,1,false\nq2,0,,,,true\n"),
    "class": (f"{HEAD},options", 'q1,0,error,,"{""error"": 0.75, ""fine"": 0.25}"\n'),  # a class can have that name
    "stated": (f"{HEAD},correct", "q1,0,error,0.5,1\n"),  # and a file can state that such a guess is correct
    "tokens": ("question_id,clue,guess,token_logprobs,failed", 'q1,0,Rome,"[-0.1, -0.2]",\nq1,1,,,true\n'),
    "all": ("question_id,clue,failed", "q1,0,true\nq1,1,true\n"),
}
# The elicitation of each run, and its numbers of items, questions, missing questions and failed calls.
RUNS = {
    "failed": ("verbalized", 1, 1, 1, 1), "blank": ("verbalized", 2, 1, 1, 0), "values": ("verbalized", 1, 1, 1, 2),
    "class": ("verbalized", 1, 1, 1, 0), "stated": ("verbalized", 1, 1, 1, 0), "tokens": ("token", 1, 1, 1, 1),
    "all": ("verbalized", 0, 0, 2, 2),
}  # fmt: skip


def test_failed_calls_in_files_of_several_forms(toy, tmp_path):
    for model, (columns, lines) in FILES.items():
        (tmp_path / f"{model}.csv").write_text(f"{columns},model\n" + lines.replace("\n", f",{model}\n"))
    report = put(toy, *(tmp_path / f"{model}.csv" for model in FILES), dataset="toy")
    assert report.warnings == ["1 failed call states a guess, a confidence or a correctness; these values were left out"]
    facts = rows(toy, "select model, elicitation, items, questions, missing_questions, failed from runs")
    assert {model: counts for model, *counts in facts} == {model: [*counts] for model, counts in RUNS.items()}
    of_model = "from responses r join runs using (run) where model = '{}'"
    columns = "question_id, guess, confidence, correct, graded"
    assert rows(toy, f"select {columns} {of_model.format('values')} and r.failed order by 1") == [
        ("q1", None, 0.0, 0.0, "file"), ("q2", None, 0.0, 0.0, "failed"),
    ]  # fmt: skip
    for model in ("class", "stated"):
        assert rows(toy, f"select guess, r.failed {of_model.format(model)}") == [("error", False)]
    assert rows(toy, "select count(*) from statistics join runs using (run) where model = 'all'") == [(0,)]


def test_replaced_questions_leave_failed_calls_unchanged(toy, tmp_path):
    put_answers(toy, tmp_path, FAILED)
    put(toy, write(tmp_path / "toy", questions=bundle_factory.QUESTIONS.replace("Nile", "Danube")), replace=True)
    assert rows(toy, "select question_id, clue, correct, failed from responses where graded = 'failed' order by all") == [
        ("q1", 2, 0.0, True),
        ("q2", 0, 0.0, True),
    ]
    assert rows(toy, "select withdrawn_at, items, failed, missing_questions from runs") == [(None, 3, 2, 0)]


def test_a_second_try_counts(store, tmp_path):
    """Rows of LifeEval that could not be parsed are left out if the model answered in another row."""
    (tmp_path / "q.csv").write_text("Question Prompt,Question ID\nHow old?,0\nHow old?,1\nHow old?,2\n")
    (tmp_path / "a.csv").write_text("Answer,Confidence,Question ID\nold,0.5,0\n80,0.5,0\n80,high,1\n80,7,1\n80,0.25,2\n")
    put(store, tmp_path / "q.csv")
    report = put(store, tmp_path / "a.csv", model="m")
    assert rows(store, "select question_id, guess, confidence, state from responses order by 1") == [
        ("0", "80", 0.5, None),
        ("1", "80", None, "no_confidence"),
        ("2", "80", 0.25, None),
    ]
    assert rows(store, "select items, no_confidence, failed, missing_questions from runs") == [(2, 1, 0, 0)]
    reasons = ("answer is not a number", "confidence is not a number", "confidence outside [0, 1]")
    assert report.lines[-1].endswith(f"; 1 answer without a confidence ({'; '.join(f'1 row: {reason}' for reason in reasons)})")
