"""What says which answers are right, and on which scale confidences are: no other figure in silence, but a question."""

import json
import math
import shlex

import pytest

from clueline.data.importing.report import Refused
from clueline.data.readers.table.names import roles_of
from clueline.data.store import open_store
from tests.helpers.bundle_factory import put, table

ROWS = range(40)
RIGHT, SKIPPED = [n % 8 < 5 for n in ROWS], [n % 10 == 7 for n in ROWS]  # no answer that is skipped is right


def rows_of(**columns):
    """Return a row for each of ``ROWS``. A column is a function of its number."""
    return [{"id": f"q{n}"} | {name: cell(n) for name, cell in columns.items()} for n in ROWS]


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = {".csv": table, ".json": json.dumps, ".jsonl": lambda rows: "\n".join(map(json.dumps, rows))}[path.suffix](rows)
    path.write_text(text, encoding="utf-8")
    return path


def answers(reading):
    rows = reading.rows("select question_id, confidence, correct, state from responses_read")
    return sorted(rows, key=lambda row: int(row[0].removeprefix("q")))


def right(reading):
    return [row[2] for row in answers(reading)]


def mean_confidence(reading):
    shares = [row[1] for row in answers(reading)]
    return sum(shares) / len(shares)


def asked(read, path, **options):
    """Return the problems for which a file is refused."""
    with pytest.raises(Refused) as refused:
        read(path, **options)
    return refused.value.problems


def choices(problems):
    return [problem.choices for problem in problems]


def confidence(n):
    return n / 50


def free_text(n):
    return f"I think that it is number {n if RIGHT[n] else n + 1}."


# -- flags with a negation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("is_not_attempted", "abstained"), ("not_attempted", "abstained"), ("isNotAttempted", "abstained"),
        ("not_answered", "abstained"), ("unanswered", "abstained"), ("no_answer", "abstained"), ("is_idk", "abstained"),
        ("did_not_attempt", "abstained"), ("didn't_answer", "abstained"), ("attempted", "answered"), ("not_refused", "answered"),
        ("incorrect", "wrong"), ("not_correct", "wrong"), ("is_wrong", "wrong"), ("no_match", "wrong"), ("not_wrong", "correct"),
        ("not_incorrect", "correct"), ("is_not_unanswered", "answered"),
        ("unparsed", "unparsed"), ("invalid_format", "unparsed"), ("parse_error", "unparsed"), ("correct_format", "parsed"),
        ("not_failed", "succeeded"), ("no_error", "succeeded"), ("call_failed", "failed"),
    ],
)  # fmt: skip
def test_names_are_read_with_their_negation(name, role):
    assert next(iter(roles_of(name))) == role


@pytest.mark.parametrize("name", ["not_graded", "ungraded", "no_score", "index", "instance", "notes", "unsure", "input"])
def test_other_words_are_no_negated_flags(name):
    assert not {"wrong", "abstained", "unparsed", "succeeded"} & roles_of(name).keys()


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("is_not_attempted", lambda n: SKIPPED[n]), ("not_attempted", lambda n: int(SKIPPED[n])),
        ("unanswered", lambda n: "yes" if SKIPPED[n] else "no"), ("did_not_attempt", lambda n: SKIPPED[n]),
        ("no_answer", lambda n: int(SKIPPED[n])), ("is_idk", lambda n: SKIPPED[n]), ("is_attempted", lambda n: not SKIPPED[n]),
    ],
)  # fmt: skip
def test_what_was_not_attempted_is_an_abstention(read, tmp_path, name, cell):
    flags = {"is_correct": lambda n: RIGHT[n] and not SKIPPED[n], "is_incorrect": lambda n: not RIGHT[n] and not SKIPPED[n]}
    rows = rows_of(response=free_text, confidence=confidence, **flags, **{name: cell})
    reading = read(write(tmp_path / "in.jsonl", rows), model="m")
    assert [row[3] == "abstained" for row in answers(reading)] == SKIPPED
    assert [row[2] for row in answers(reading) if row[3] is None] == [RIGHT[n] for n in ROWS if not SKIPPED[n]]


def test_any_of_several_flags_says_that_nothing_was_answered(read, tmp_path):
    rows = rows_of(confidence=confidence, correct=lambda n: RIGHT[n], refused=lambda n: n < 3, is_idk=lambda n: n > 36)
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert [row[3] == "abstained" for row in answers(reading)] == [n < 3 or n > 36 for n in ROWS]


@pytest.mark.parametrize("name", ["incorrect", "not_correct", "is_wrong", "inaccurate"])
def test_what_says_wrong_is_turned_round(read, tmp_path, name):
    rows = rows_of(confidence=confidence, **{name: lambda n: int(not RIGHT[n])})
    assert right(read(write(tmp_path / "in.csv", rows), model="m")) == RIGHT


def test_a_blank_answer_that_a_flag_names_is_unparsed(read, tmp_path):
    rows = rows_of(prediction=lambda n: "" if n < 4 else free_text(n), correct=lambda n: int(RIGHT[n] and n > 3),
        unparsed=lambda n: n < 4, confidence=confidence)  # fmt: skip
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert [row[3] == "unparsed" for row in answers(reading)] == [n < 4 for n in ROWS]


# -- constants, counts, files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [lambda n: False, lambda n: "C"])
def test_no_constant_is_proven_by_texts_that_never_agree(read, tmp_path, constant):
    """``C`` would also mean correct."""
    rows = rows_of(
        gold=lambda n: n % 10, output=lambda n: f"The answer is {n % 10}", truncated=constant, zeta=lambda n: int(RIGHT[n])
    )
    (problem,) = asked(read, write(tmp_path / "in.csv", rows))
    assert problem.choices == ("correct=zeta",)
    assert right(read(tmp_path / "in.csv", columns=(("correct", "zeta"),), model="m")) == RIGHT


def test_a_reward_of_0_and_1_grades(read, tmp_path):
    rows = rows_of(
        gold=lambda n: n % 10, output=lambda n: f"It is {n % 10}", truncated=lambda n: False, reward=lambda n: float(RIGHT[n])
    )
    assert right(read(write(tmp_path / "in.csv", rows), model="m")) == RIGHT


@pytest.mark.parametrize(("grade", "count"), [(1, 40), (0, 0)])
def test_a_constant_grade_that_texts_contradict_is_asked_about(read, tmp_path, grade, count):
    texts = {"gold": lambda n: f"Lake {n}", "prediction": lambda n: f"Lake {n}" if RIGHT[n] else "a river"}
    rows = rows_of(**texts, correct=lambda n: grade, confidence=confidence)
    (problem,) = asked(read, write(tmp_path / "in.csv", rows))
    assert problem.choices == ("correct=correct", "attribute=correct")
    assert f"{count} of 40 right" in problem.reason and f"{sum(RIGHT)} of 40 right" in problem.reason
    assert right(read(tmp_path / "in.csv", columns=(("correct", "correct"),), model="m")) == [grade] * 40


@pytest.mark.parametrize("grade", [1, 0])
def test_a_constant_grade_that_nothing_contradicts_counts(read, tmp_path, grade):
    rows = rows_of(
        gold=lambda n: f"Lake {n}", prediction=lambda n: f"the lake {n} or so", correct=lambda n: grade, confidence=confidence
    )
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert right(reading) == [grade] * 40
    assert any("says the same of all answers" in warning for warning in reading.report.warnings)


LABELLED = {"gold": lambda n: "AB"[n % 2], "prediction": lambda n: "AB"[(n + (not RIGHT[n])) % 2]}
NAMED = {"gold": lambda n: f"Lake {n}", "prediction": lambda n: f"Lake {n if RIGHT[n] else n + 1}"}


@pytest.mark.parametrize("name", ["correct", "score", "is_wrong", "verdict"])
@pytest.mark.parametrize("texts", [LABELLED, NAMED])
def test_grades_that_texts_refute_are_asked_about(read, tmp_path, texts, name):
    """Some of the grades are those of other rows."""
    mixed = [RIGHT[(n * 7) % 40] for n in ROWS]
    words = {True: "Correct", False: "Incorrect"} if name == "verdict" else {True: 1, False: 0}
    rows = rows_of(**texts, **{name: lambda n: words[mixed[n] is (name != "is_wrong")]}, confidence=confidence)
    (problem,) = asked(read, write(tmp_path / "in.csv", rows))
    role = "wrong" if name == "is_wrong" else "correct"
    assert problem.choices == (f"{role}={name}", f"attribute={name}")
    assert "contradict each other in" in problem.reason
    assert right(read(tmp_path / "in.csv", columns=((role, name),), model="m")) == mixed
    if texts is LABELLED:
        assert right(read(tmp_path / "in.csv", columns=(("attribute", name),), model="m")) == RIGHT


@pytest.mark.parametrize("texts", [LABELLED, NAMED])
def test_a_grade_or_two_may_differ_from_the_texts(read, tmp_path, texts):
    """Graders and those who type references err. The same holds where answers are free text that fits no reference."""
    graded = [not right if n == 3 else right for n, right in enumerate(RIGHT)]
    rows = rows_of(**texts, correct=lambda n: int(graded[n]), confidence=confidence)
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert right(reading) == graded
    assert any("contradict" in warning for warning in reading.report.warnings)


def test_free_text_refutes_no_grade_that_calls_it_right(read, tmp_path):
    rows = rows_of(gold=lambda n: n % 10, prediction=free_text, correct=lambda n: int(RIGHT[n]), confidence=confidence)
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert right(reading) == RIGHT and not any("contradict" in warning for warning in reading.report.warnings)


@pytest.mark.parametrize("stated", [0.625, 62.5, "62.5 %", 0.63])
def test_a_stated_accuracy_that_answers_have_is_no_question(read, tmp_path, stated):
    rows = rows_of(correct=lambda n: int(RIGHT[n]), confidence=confidence, accuracy=lambda n: stated)
    assert right(read(write(tmp_path / "in.csv", rows), model="m")) == RIGHT


@pytest.mark.parametrize("models", [1, 2])
def test_an_accuracy_that_answers_do_not_have_is_asked_about(read, tmp_path, models):
    rows = rows_of(model=lambda n: f"m{n % models}", correct=lambda n: int(RIGHT[n]), confidence=confidence,
        overall_accuracy=lambda n: [0.71, 0.66][n % models])  # fmt: skip
    path = write(tmp_path / "in.csv", rows)
    (problem,) = asked(read, path)
    assert problem.choices == ("attribute=overall_accuracy",)
    assert "0.71" in problem.reason
    assert len(right(read(path, columns=(("attribute", "overall_accuracy"),)))) == 40


def test_the_accuracy_of_a_document_is_that_of_its_answers(read, tmp_path):
    rows = rows_of(gold=lambda n: "AB"[n % 2], prediction=lambda n: "AB"[(n + (not RIGHT[n])) % 2], confidence=confidence)
    path = write(tmp_path / "in.json", {"accuracy": 0.625, "results": rows})
    assert right(read(path, model="m")) == RIGHT
    (problem,) = asked(read, write(tmp_path / "in.json", {"accuracy": 0.3, "results": rows}))
    assert problem.choices == ("attribute=accuracy",)


def rollout(n):
    """A row as environments of reinforcement learning write it."""
    turns = [{"role": "assistant", "content": free_text(n)}]
    return {
        "example_id": n, "prompt": [{"role": "user", "content": f"Which number is {n}?"}], "completion": turns, "answer": str(n),
        "reward": float(RIGHT[n]), "is_completed": True, "is_truncated": False, "info": {},
        "metrics": {"correct_answer": float(RIGHT[n]), "num_turns": 1.0}, "token_usage": {"input_tokens": 5, "output_tokens": 9},
    }  # fmt: skip


def detail(n):
    """A row of a harness that keeps the metric beside the document and what the model wrote."""
    doc = {
        "query": f"Which number is {n}?",
        "choices": ["A", "B"],
        "gold_index": [n % 2],
        "num_asked_few_shots": 0,
        "generation_size": 256,
    }
    return {
        "doc": doc | {"id": str(n)},
        "metric": {"extractive_match": int(RIGHT[n])},
        "model_response": {"text": [free_text(n)]},
    }


@pytest.mark.parametrize("row", [rollout, detail])
def test_counts_of_tokens_are_no_answers(read, tmp_path, row):
    reading = read(write(tmp_path / "in.jsonl", [row(n) for n in ROWS]), model="m")
    assert right(reading) == RIGHT
    assert {str(guess) for (guess,) in reading.rows("select guess from responses_read")} & {"9", "256", "0", "1"} == set()
    assert reading.rows("select count(distinct text) from questions_read") == [(40,)]


def test_names_of_files_are_no_questions_or_answers(read, tmp_path):
    names = {"prompt_file": lambda n: f"{n}.txt", "input": lambda n: f"img/{n}.png", "output_file": lambda n: f"out/{n}.json"}
    rows = rows_of(**names, correct=lambda n: RIGHT[n], confidence=confidence)
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert reading.rows("select distinct text from questions_read") == [(None,)]
    assert reading.rows("select distinct guess from responses_read") == [(None,)]


# -- several columns that grade ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "offered"),
    [
        ({"exact_match": lambda n: int(n % 4 == 0)}, "correct=exact_match"),
        ({"verdict": lambda n: "yes" if n % 4 == 0 else "no"}, "correct=verdict"),
        ({"is_incorrect": lambda n: n % 4 > 0}, "wrong=is_incorrect"),
    ],
)
def test_columns_that_grade_differently_are_asked_about(read, tmp_path, other, offered):
    rows = rows_of(confidence=confidence, is_correct=lambda n: RIGHT[n], **other)
    (problem,) = asked(read, write(tmp_path / "in.csv", rows))
    assert {*problem.choices} == {"correct=is_correct", offered}
    assert "25 of 40 right" in problem.reason and "10 of 40 right" in problem.reason
    chosen = tuple(offered.split("="))
    assert right(read(tmp_path / "in.csv", columns=(chosen,), model="m")) == [n % 4 == 0 for n in ROWS]


def test_columns_that_grade_alike_are_not_asked_about(read, tmp_path):
    rows = rows_of(confidence=confidence, is_correct=lambda n: RIGHT[n], em=lambda n: int(RIGHT[n]), wrong=lambda n: not RIGHT[n],
        success=lambda n: True, hallucinated=lambda n: n == 1)  # fmt: skip
    assert right(read(write(tmp_path / "in.csv", rows), model="m")) == RIGHT


@pytest.mark.parametrize("name", ["error_q20", "err_7", "miss_2"])
def test_a_column_of_errors_is_offered_as_such(read, tmp_path, name):
    rows = rows_of(confidence=confidence, **{name: lambda n: int(not RIGHT[n])})
    problems = [p for p in asked(read, write(tmp_path / "in.csv", rows)) if f"wrong={name}" in p.choices]
    assert problems and not any(f"correct={name}" in problem.choices for problem in problems)
    assert right(read(tmp_path / "in.csv", columns=(("wrong", name),), model="m")) == RIGHT


@pytest.mark.parametrize("models", [1, 2])
def test_a_figure_of_the_whole_file_is_offered_for_nothing(read, tmp_path, models):
    rows = rows_of(model=lambda n: f"m{n % models}", confidence=confidence, accuracy=lambda n: [0.475, 0.6][n % models])
    assert not any(
        "accuracy" in choice for problem in asked(read, write(tmp_path / "in.csv", rows)) for choice in problem.choices
    )


def test_no_answer_is_proposed_where_nothing_says_what_is_right(read, tmp_path):
    rows = rows_of(
        statement=lambda n: f"Statement {n % 10}", rho=lambda n: n / 41, response=lambda n: n * 7 % 97, person=lambda n: n // 10
    )
    (problem,) = asked(read, write(tmp_path / "in.csv", [{k: v for k, v in row.items() if k != "id"} for row in rows]))
    assert (problem.choices, "right" in problem.reason) == ((), True)


@pytest.mark.parametrize(
    "columns", [{"model": lambda n: "m", "bet": lambda n: n}, {"question": lambda n: f"Who {n}?", "label": lambda n: n % 2}]
)
def test_a_table_without_grades_is_told_so(read, tmp_path, columns):
    (problem,) = asked(read, write(tmp_path / "in.csv", rows_of(**columns)))
    assert "to say whether answers are right" in problem.reason


# -- grades in lists -----------------------------------------------------------------------------------------------------


def every_other(n):
    return "A" if n % 2 else "B"


def graded_in_a_list(answered=every_other, **entry):
    return rows_of(
        output=lambda n: {"answer": answered(n), "confidence": 0.5}, expected=lambda n: {"answer": "A"},
        annotations=lambda n: [{key: cell(n) for key, cell in entry.items()}],
    )  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "entry",
    [
        {"name": lambda n: "correct", "score": lambda n: int(RIGHT[n])},
        {"name": lambda n: "correctness", "value": lambda n: int(RIGHT[n]), "dataType": lambda n: "BOOLEAN"},
        {"name": lambda n: "correct", "result": lambda n: {"label": "right" if RIGHT[n] else "wrong", "score": int(RIGHT[n])}},
        {"key": lambda n: "is_correct", "score": lambda n: RIGHT[n], "comment": lambda n: "because"},
    ],
)
def test_grades_in_a_list_are_used(read, tmp_path, entry, ending):
    rows = graded_in_a_list(free_text, **entry)
    if ending == "csv":
        rows = [{name: json.dumps(cell) if name != "id" else cell for name, cell in row.items()} for row in rows]
    assert right(read(write(tmp_path / f"in.{ending}", rows), model="m")) == RIGHT


@pytest.mark.parametrize(
    ("entry", "offered"),
    [
        ({"name": lambda n: "correct", "score": lambda n: 1}, ("correct=annotations.correct", "attribute=annotations.correct")),
        ({"name": lambda n: "quality", "score": lambda n: 1}, ("correct=annotations.quality", "attribute=annotations.quality")),
    ],
)
def test_grades_in_a_list_that_texts_contradict_are_asked_about(read, tmp_path, entry, offered):
    path = write(tmp_path / "in.jsonl", graded_in_a_list(**entry))
    (problem,) = asked(read, path)
    assert problem.choices == offered
    assert "40 of 40 right" in problem.reason and "20 of 40 right" in problem.reason
    by_grade, by_text = (read(path, columns=(tuple(choice.split("=")),), model="m") for choice in offered)
    assert (sum(right(by_grade)), sum(right(by_text))) == (40, 20)


def test_lists_of_several_opinions_are_asked_about(read, tmp_path):
    rows = graded_in_a_list(name=lambda n: "correct", score=lambda n: 1)
    rows = [row | {"annotations": [*row["annotations"], {"name": "correct", "score": 0}]} for row in rows]
    (problem,) = asked(read, write(tmp_path / "in.jsonl", rows))
    assert (problem.column, problem.choices) == ("annotations", ("attribute=annotations",))
    assert "20 of 40 right" in problem.reason


# -- one JSON list, options, files of one answer -------------------------------------------------------------------------


def harness(n):
    likelihoods = [[f"-{1.5 if option == (n % 4 if RIGHT[n] else (n + 1) % 4) else 3}", "False"] for option in range(4)]
    doc = {
        "question": f"Which {n}?",
        "options": [f"{letter}{n}" for letter in "abcd"],
        "answer": "ABCD"[n % 4],
        "answer_index": n % 4,
    }
    arguments = {f"gen_args_{k}": {"arg_0": f"Which {n}?", "arg_1": f" {'ABCD'[k]}"} for k in range(4)}
    responses = {"filtered_resps": likelihoods, "resps": [[pair] for pair in likelihoods]}
    return {"doc_id": n, "doc": doc, "target": "ABCD"[n % 4], "arguments": arguments, "acc": float(RIGHT[n])} | responses


def nli(n):
    counts = {"e": 60 + n % 3, "n": 30, "c": 10 - n % 3}
    example = {"uid": f"u{n}", "premise": f"p {n}", "hypothesis": "h", "source": "x"}
    stated = {"label_counter": counts, "label_count": [*counts.values()], "label_dist": [n / 100 for n in counts.values()]}
    return {"uid": f"u{n}", "majority_label": "e", "entropy": 1.0, "example": example} | stated


@pytest.mark.parametrize(("row", "name"), [(harness, "samples_quiz_2024-06-16T19-10-04.1"), (nli, "chaosNLI_snli")])
def test_a_json_list_is_read_like_the_same_lines(read, tmp_path, row, name):
    rows = [row(n) for n in ROWS]
    of_list, of_lines = (write(tmp_path / ending / f"{name}.{ending}", rows) for ending in ("json", "jsonl"))
    first, second = read(of_list, model="m", dataset="d"), read(of_lines, model="m", dataset="d")
    for relation in ("questions_read", "responses_read"):
        columns = "question_id" if relation == "questions_read" else "question_id, confidence, correct"
        assert first.rows(f"select {columns} from {relation}") == second.rows(f"select {columns} from {relation}")


def test_a_folder_of_samples_may_hold_json(store, tmp_path):
    rows = [harness(n) for n in ROWS]
    write(tmp_path / "runs" / "lab__m" / "samples_quiz_2024-06-16T19-10-04.1.json", rows)
    report = put(store, tmp_path / "runs")
    snapshot = store.snapshot()
    assert snapshot.rows(f"select count(*), sum(correct) from {snapshot.responses(report.runs)}") == [(40, sum(RIGHT))]


def perplexities(n, *, answered):
    options = {
        f"label: {letter}": {"testing input": f"Q{n} {letter}", "prompt": f"Q{n} {letter}", "PPL": n + 0.5} for letter in "ABCD"
    }
    return options | ({"prediction": "ABCD"[n % 4 if RIGHT[n] else (n + 1) % 4], "gold": "ABCD"[n % 4]} if answered else {})


def test_options_are_no_questions(read, tmp_path):
    path = tmp_path / "in.json"
    path.write_text(json.dumps({str(n): perplexities(n, answered=True) for n in ROWS}))
    reading = read(path, model="m")
    assert [int(row[0]) for row in reading.rows("select question_id from questions_read")] == [*ROWS]
    assert sum(reading_row[0] for reading_row in reading.rows("select correct from responses_read")) == sum(RIGHT)
    assert reading.runs == [("m", "no confidence")]
    path.write_text(json.dumps({str(n): perplexities(n, answered=False) for n in ROWS}))
    with pytest.raises(Refused):
        read(path, model="m")


@pytest.mark.parametrize("form", [lambda row: row, lambda row: [row]])
def test_a_file_for_each_question_is_a_row_of_one_dataset(store, tmp_path, form):
    for n in ROWS:
        row = {"query": f"Which {n}?", "reference": f"Lake {n}", "answer": free_text(n), "correct": RIGHT[n]}
        row |= {"confidence": confidence(n), "sources": [{"title": "a", "score": 0.5}, {"title": "b", "score": 0.25}]}
        write(tmp_path / "runs" / f"query_{n}.json", form(row))
    write(tmp_path / "runs" / "settings.json", {"temperature": 0, "seed": 1})
    report = put(store, tmp_path / "runs", model="m")
    snapshot = store.snapshot()
    assert (len(report.datasets), len(report.runs)) == (1, 1)
    assert snapshot.rows(f"select count(*), sum(correct) from {snapshot.responses(report.runs)}") == [(40, sum(RIGHT))]


def test_files_of_one_question_each_are_one_table(store, tmp_path):
    for n in range(8):
        rows = [
            {"question": f"Which {n}?", "sample": k, "response": f"x{k}", "correct": k < n % 4, "confidence": 0.5}
            for k in range(3)
        ]
        write(tmp_path / "runs" / f"query_{n}.json", rows)
    report = put(store, tmp_path / "runs", model="m")
    snapshot = store.snapshot()
    assert (len(report.datasets), len(report.runs)) == (1, 1)
    assert snapshot.rows("select count(*) from questions") == [(8,)]
    assert snapshot.rows(f"select count(*), sum(correct) from {snapshot.responses(report.runs)}") == [(24, 12)]


def test_rewards_that_are_no_grades_are_asked_about(read, tmp_path):
    rows = rows_of(completion=lambda n: "AB"[n % 2], answer=lambda n: "A", reward=lambda n: [0, 0.2, 1][n % 3])
    (problem,) = asked(read, write(tmp_path / "in.csv", rows))
    assert problem.choices == ("correct=reward", "attribute=reward")
    assert "20 of 40 right" in problem.reason


# -- scales --------------------------------------------------------------------------------------------------------------


def on_scale(*numbers, name="confidence"):
    return rows_of(correct=lambda n: int(RIGHT[n]), **{name: lambda n: numbers[n % len(numbers)]})


@pytest.mark.parametrize(
    ("numbers", "offered", "share"),
    [
        (("7.0", "9.0", "10.0", "1.0"), ("confidence_of_10", "confidence_of_100", "certainty"), 0.675),
        (("8.56", "9.1", "2.3", "3.5"), ("confidence_of_10", "confidence_of_100", "certainty"), 0.5865),
        (("5.0", "4.5", "1.0", "3.5"), ("confidence_of_5", "confidence_of_10", "confidence_of_100", "certainty"), 0.7),
        (("0.5", "4.5", "6.5", "0.5"), ("confidence_of_7", "confidence_of_10", "confidence_of_100", "certainty"), 3 / 7),
        (("1", "50", "20", "45"), ("confidence_of_50", "confidence_of_100", "certainty"), 0.58),
        (("3", "20", "12", "5"), ("confidence_of_20", "confidence_of_100", "certainty"), 0.5),
    ],
)
def test_a_scale_that_numbers_do_not_show_is_asked(read, tmp_path, numbers, offered, share):
    path = write(tmp_path / "in.csv", on_scale(*numbers))
    (problem,) = asked(read, path)
    assert problem.choices == tuple(f"{role}=confidence" for role in offered)
    assert f"{share:.3g} of" in problem.reason
    reading = read(path, columns=((offered[0], "confidence"),), model="m")
    assert mean_confidence(reading) == pytest.approx(share)
    (mapping,) = reading.report.mappings
    assert mapping.roles[offered[0]] == ("confidence",)  # as it is kept, and read again
    assert mean_confidence(read(path, mapping=mapping, model="m")) == pytest.approx(share)


def test_whole_points_may_be_a_scale_or_mean_something_each(read, tmp_path):
    path = write(tmp_path / "in.csv", on_scale("7", "9", "10", "1"))
    (problem,) = asked(read, path)
    assert (problem.hint, problem.choices) == ("words", ("1=?", "7=?", "9=?", "10=?"))
    assert "confidence_of_10" in problem.reason
    assert mean_confidence(read(path, columns=(("confidence_of_10", "confidence"),), model="m")) == pytest.approx(0.675)


def test_the_command_that_is_proposed_gives_the_figures(cli, tmp_path):
    path = write(tmp_path / "in.csv", on_scale("7.0", "9.0", "10.0", "1.0"))
    refused = cli("import", path, "--model", "m", store=tmp_path / "own")
    assert refused.returncode == 1
    command = next(line for line in refused.stderr.splitlines() if line.startswith("For example: "))
    arguments = shlex.split(command)
    assert arguments[-2:] == ["--column", "confidence_of_10=confidence"]
    assert cli("import", path, "--model", "m", *arguments[-2:], store=tmp_path / "own").returncode == 0
    snapshot = open_store(tmp_path / "own").snapshot()
    (run,) = (run for (run,) in snapshot.rows("select run from runs where model = 'm'"))
    assert snapshot.rows(f"select avg(confidence) from {snapshot.responses([run])}") == [(pytest.approx(0.675),)]


@pytest.mark.parametrize(
    ("numbers", "name", "share"),
    [
        (("85", "40", "5", "100"), "confidence", 0.575), (("30", "40", "5", "45"), "confidence_pct", 0.3),
        (("30%", "40", "5", "45"), "confidence", 0.3), (("0.5", "0.25", "1", "0"), "confidence", 0.4375),
    ],
)  # fmt: skip
def test_a_scale_that_is_shown_is_not_asked(read, tmp_path, numbers, name, share):
    assert mean_confidence(read(write(tmp_path / "in.csv", on_scale(*numbers, name=name)), model="m")) == pytest.approx(share)


def test_two_columns_can_be_on_two_scales(read, tmp_path):
    rows = rows_of(correct=lambda n: int(RIGHT[n]), first=lambda n: 1.5 + n % 5, second=lambda n: 11 + n % 10)
    columns = (("confidence_of_10", "first"), ("confidence_of_50", "second"))
    reading = read(write(tmp_path / "in.csv", rows), columns=columns, model="m")
    of_runs = reading.rows("select elicitation, avg(confidence) from responses_read group by 1 order by 1")
    assert [(name, pytest.approx(mean)) for name, mean in of_runs] == [("first", 0.35), ("second", 0.31)]


def test_mixed_scales_are_asked_about(read, tmp_path):
    path = write(tmp_path / "in.csv", on_scale(".9", "1", "85"))
    (problem,) = asked(read, path)
    assert (problem.hint, problem.choices) == ("percent", ())
    assert "at most 1" in problem.reason and "percent sign" in problem.reason
    reading = read(path, percent=True, model="m")
    assert any("below 1 %: 0.9 was read as 0.9 %" in warning for warning in reading.report.warnings)


@pytest.mark.parametrize(("percent", "written"), [(True, "85"), (False, "0.85")])
def test_the_advice_on_percent_signs_fits_the_scale(store, tmp_path, percent, written):
    put(
        store,
        write(tmp_path / "quiz.csv", rows_of(correct=lambda n: int(RIGHT[n]), confidence=confidence)),
        dataset="quiz",
        model="a",
    )
    rows = [{"question_id": row["id"], "confidence": "85%", "correct": 1, "guess": "x"} for row in rows_of()]
    with pytest.raises(Refused) as refused:
        put(store, write(tmp_path / "in.csv", rows), dataset="quiz", model="m", form="responses", percent=percent)
    assert {problem.reason.rpartition(" ")[2] for problem in refused.value.problems} == {written}


# -- forecasts, units, questions -----------------------------------------------------------------------------------------


def test_a_probability_of_true_is_asked_about(read, tmp_path):
    rows = [{"prompt": f"Statement {n}?", "prediction": 0.02 + n / 50, "answer": RIGHT[n], "key": "premise"} for n in ROWS]
    problems = asked(read, write(tmp_path / "in.jsonl", rows))
    assert choices(problems) == [("outcome=answer", "correct=answer"), ("confidence=prediction",)]
    reading = read(tmp_path / "in.jsonl", columns=(("outcome", "answer"), ("confidence", "prediction")), model="m")
    assert reading.rows("select kind from datasets_read") == [("forecast",)]
    assert reading.rows("select answer, count(*) from questions_read group by 1 order by 1") == [("no", 15), ("yes", 25)]


def test_rows_of_a_wide_table_are_questions_of_all_models(read, tmp_path):
    of_alpha = [{"alpha_confidence": confidence(n), "alpha_correctness": int(RIGHT[n])} for n in ROWS]
    rows = [row | {"beta_confidence": 0.5, "beta_correctness": n % 2} for n, row in enumerate(of_alpha)]
    reading = read(write(tmp_path / "in.csv", rows), columns=(("model", "series named by columns"),))
    assert reading.rows("select count(*) from questions_read") == [(40,)]
    assert reading.rows("select model, sum(correct) from responses_read group by 1 order by 1") == [("alpha", 25), ("beta", 20)]


def test_variants_of_a_measure_are_no_models(read, tmp_path):
    rows = rows_of(
        correct=lambda n: int(RIGHT[n]), Phi_Reward=confidence, Phi_Reward_Raw=lambda n: n / 7, entropy=lambda n: n / 9
    )
    assert read(write(tmp_path / "in.csv", rows), model="m").runs == [("m", "entropy")]


def test_columns_parted_by_spaces(read, tmp_path):
    lines = ["grade confidence_level", *(f"{'Correct' if RIGHT[n] else 'Wrong'}  {confidence(n)}" for n in ROWS)]
    (tmp_path / "in.txt").write_text("\n".join(lines))
    (tmp_path / "in.csv").write_text("\n".join(",".join(line.split()) for line in lines))
    by_spaces, by_commas = (read(tmp_path / name, model="m") for name in ("in.txt", "in.csv"))
    rows = "select question_id, confidence, correct from responses_read order by 1"
    assert by_spaces.rows(rows) == by_commas.rows(rows)
    assert len(by_spaces.rows(rows)) == 40


@pytest.mark.parametrize("name", ["items.csv", "questions.csv"])
def test_a_file_of_questions_belongs_to_predictions_beside_it(store, tmp_path, name):
    questions = [{"id": f"q{n}", "question": f"Which {n}?", "answer": f"Town{n}", "passage_id": f"p{n // 5}"} for n in ROWS]
    write(tmp_path / "towns" / name, questions)
    for model, share in (("alpha", 2), ("beta", 4)):
        rows = rows_of(prediction=lambda n, share=share: "Oslo" if n % share else f"Town{n}", confidence=confidence)
        write(tmp_path / "towns" / f"{model}.csv", rows)
    report = put(store, tmp_path / "towns")
    snapshot = store.snapshot()
    assert report.datasets == ["towns"]
    assert snapshot.rows("select model from runs order by 1") == [("alpha",), ("beta",)]
    assert snapshot.rows(f"select sum(correct) from {snapshot.responses(report.runs)} group by run order by 1") == [(10,), (20,)]
    assert snapshot.rows("select count(*), count(distinct value) from attributes where attribute = 'passage_id'") == [(40, 8)]


def test_the_passage_of_a_question_is_an_attribute_of_it(store, tmp_path):
    rows = rows_of(
        passage_id=lambda n: f"p{n // 5}", question=lambda n: f"Which {n}?", correct=lambda n: RIGHT[n], confidence=confidence
    )
    put(store, write(tmp_path / "in.csv", rows), model="m")
    assert store.snapshot().rows("select count(*), count(distinct value) from attributes") == [(40, 8)]


def test_log_probabilities_of_the_options_are_a_distribution(read, tmp_path):
    rows = rows_of(
        query=lambda n: f"Which {n}?", choices=lambda n: ["a", "b"], gold_index=lambda n: [n % 2], acc=lambda n: float(RIGHT[n]),
        logprobs=lambda n: [-0.25, -1.5] if RIGHT[n] == (n % 2 == 0) else [-1.5, -0.25], eq_logits=lambda n: [True, False],
    )  # fmt: skip
    reading = read(write(tmp_path / "in.jsonl", rows), model="m")
    assert reading.runs == [("m", "options")]
    assert right(reading) == RIGHT
    assert {round(row[1], 6) for row in answers(reading)} == {round(1 / (1 + 2.718281828459045**-1.25), 6)}


def test_a_folder_of_a_moment_is_below_that_of_the_model(store, tmp_path):
    """As a harness writes its details: the model and the task are in the path."""
    for task, model in (("towns", "m7"), ("rivers", "m7"), ("rivers", "m8")):
        rows = rows_of(query=lambda n, task=task: f"{task} {n}?", acc=lambda n: int(RIGHT[n]), text=free_text)
        write(
            tmp_path / "out" / "details" / "lab" / model / "2026-05-01T10-00-00" / f"details_{task}|0_2026-05-01T10-00-00.jsonl",
            rows,
        )
    put(store, tmp_path / "out")
    named = store.snapshot().rows("select dataset, model from runs order by 1, 2")
    assert named == [("rivers-0", "lab/m7"), ("rivers-0", "lab/m8"), ("towns-0", "lab/m7")]


# -- which way confidences run -------------------------------------------------------------------------------------------

SURE = [0.8 + n / 400 if RIGHT[n] else 0.4 + n / 100 for n in ROWS]  # wrong answers are surer now and then


@pytest.mark.parametrize(
    "name", ["p_wrong", "error_probability", "prob_incorrect", "not_confident", "doubt", "unsure", "probability of error"]
)
@pytest.mark.parametrize(("whole", "sign"), [(1, ""), (100, ""), (100, "%")])
def test_a_probability_of_an_error_is_asked_about(read, tmp_path, name, whole, sign):
    rows = rows_of(correct=lambda n: int(RIGHT[n]), **{name: lambda n: f"{whole * (1 - SURE[n]):.6g}{sign}"})
    path = write(tmp_path / "in.csv", rows)
    (problem,) = asked(read, path)
    assert problem.choices[0] == f"error_probability={name}"
    reading = read(path, columns=(("error_probability", name),), model="m")
    assert [row[1] for row in answers(reading)] == pytest.approx(SURE)
    (mapping,) = reading.report.mappings
    assert mapping.roles["error_probability"] == (name,) and "confidence" not in mapping.roles
    assert [row[1] for row in answers(read(path, mapping=mapping, model="m"))] == pytest.approx(SURE)


@pytest.mark.parametrize("name", ["risk", "confidence", "p"])
@pytest.mark.parametrize("grade", [{"correct": lambda n: int(RIGHT[n])}, {"is_wrong": lambda n: not RIGHT[n]}])
def test_confidences_that_run_the_other_way_are_asked_about(read, tmp_path, name, grade):
    path = write(tmp_path / "in.csv", rows_of(**grade, **{name: lambda n: 1 - SURE[n]}))
    (problem,) = asked(read, path)
    assert problem.choices[:2] == (f"error_probability={name}", f"uncertainty={name}")
    assert "wrong answers have higher numbers than right ones" in problem.reason
    assert mean_confidence(read(path, columns=(("confidence", name),), model="m")) == pytest.approx(1 - sum(SURE) / 40)
    write(path, rows_of(**grade, **{name: lambda n: SURE[n]}))
    assert mean_confidence(read(path, model="m")) == pytest.approx(sum(SURE) / 40)


def test_a_name_of_correctness_is_no_confidence(read, tmp_path):
    rows = rows_of(correct=lambda n: int(RIGHT[n]), factual_correctness=lambda n: n / 41)
    assert read(write(tmp_path / "in.csv", rows), model="m").runs == [("m", "no confidence")]


def test_how_many_graded_is_no_grade(read, tmp_path):
    rows = rows_of(outputs=lambda n: {"answer": free_text(n), "confidence": 0.5},
        feedback=lambda n: {"correctness": {"avg": float(RIGHT[n]), "n": 1}})  # fmt: skip
    (problem,) = asked(read, write(tmp_path / "in.jsonl", rows))
    assert problem.choices == ("correct=feedback.correctness.avg",)


def prediction_of_olmes(n):
    best = n % 4 if RIGHT[n] else (n + 1) % 4
    outputs = [
        {"sum_logits": -0.5 if option == best else -2.0, "num_tokens": 2, "is_greedy": option == best} for option in range(4)
    ]
    metrics = {"predicted_index_raw": best, "acc_raw": int(RIGHT[n]), "acc_per_token": int(RIGHT[n])}
    return {"doc_id": n, "native_id": f"x{n}", "metrics": metrics, "model_output": outputs, "label": n % 4,
        "task_hash": "a", "model_hash": "b"}  # fmt: skip


def test_likelihoods_in_a_list_are_confidences(read, tmp_path):
    path = write(tmp_path / "predictions.jsonl", [prediction_of_olmes(n) for n in ROWS])
    reading = read(path, model="m")
    assert (right(reading), reading.runs) == (RIGHT, [("m", "options")])
    share = math.exp(-0.5) / (math.exp(-0.5) + 3 * math.exp(-2.0))
    whole = [json.loads(options) for (options,) in reading.rows("select options from responses_read")]
    assert [max(shares.values()) for shares in whole] == pytest.approx([share] * 40)
    assert reading.rows("select distinct category from questions_read") == [(None,)]
