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


def test_a_failed_call_differs_from_no_answer(toy, tmp_path):
    lines = "".join(f"q1,0,{guess},0,{model}\nq1,1,Paris,1,{model}\n" for guess, model in (("ERROR", "failed"), ("", "blank")))
    put_answers(toy, tmp_path, f"{HEAD},model\n{lines}", model=None)
    assert rows(toy, "select model, items, failed from runs order by 1") == [("blank", 2, 0), ("failed", 1, 1)]


def test_other_values_of_a_failed_call_are_left_out(toy, tmp_path):
    report = put_answers(toy, tmp_path, f"{HEAD},correct,failed\nq1,0,Paris,0.9,1,true\nq1,1,Paris,0.5,1,false\nq2,0,,,,true\n")
    assert rows(toy, f"select {COLUMNS} from responses where failed order by all") == [
        ("q1", 0, None, 0.0, 0.0, True, "file"),
        ("q2", 0, None, 0.0, 0.0, True, "failed"),
    ]
    assert report.warnings == ["1 failed call states a guess, a confidence or a correctness; these values were left out"]


def test_error_can_be_an_answer(toy, tmp_path):
    """A class can have that name, and a file can state that such a guess is correct."""
    lines = 'q1,0,error,,,class,"{""error"": 0.75, ""fine"": 0.25}"\nq1,0,error,0.5,1,stated,\n'
    put_answers(toy, tmp_path, f"{HEAD},correct,model,options\n{lines}", model=None)
    assert rows(toy, "select guess, failed from responses") == [("error", False)] * 2


def test_failed_calls_belong_to_the_run_of_the_others(toy, tmp_path):
    report = put_answers(toy, tmp_path, 'question_id,clue,guess,token_logprobs,failed\nq1,0,Rome,"[-0.1, -0.2]",\nq1,1,,,true\n')
    assert len(report.runs) == 1
    assert rows(toy, "select elicitation, items, failed from runs") == [("token", 1, 1)]


def test_all_calls_of_a_run_can_fail(toy, tmp_path):
    put_answers(toy, tmp_path, "question_id,clue,failed\nq1,0,true\nq1,1,true\n")
    assert rows(toy, "select items, questions, missing_questions, failed from runs") == [(0, 0, 2, 2)]
    assert rows(toy, "select count(*) from statistics") == [(0,)]


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
