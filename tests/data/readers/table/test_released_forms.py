"""Forms in which studies release answers: what a row, an option or a file of a folder is, comes from more than one cell."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from clueline.data.importing.report import Refused
from tests.helpers.bundle_factory import put, refusal, table

LETTERS = "ABCD"
TEXTS = ["red", "green", "blue", "grey"]
ROWS = range(12)


def rows_of(**columns):
    """Return a row for each of ``ROWS``. A column is a function of its number."""
    return [{"id": f"q{n}"} | {name: cell(n) for name, cell in columns.items()} for n in ROWS]


def confidence(n):
    return n / 20


def is_right(n):
    return n % 3 > 0


def chosen(n):
    """The number of the option that is chosen: that of the reference, n % 4, or the next one."""
    return n % 4 if is_right(n) else (n + 1) % 4


def texts_of_options(n):
    return [f"{text} {n}" for text in TEXTS]


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table(rows) if path.suffix == ".csv" else json.dumps(rows), encoding="utf-8")
    return path


def told(reading, columns="question_id, confidence, correct, state"):
    rows = reading.rows(f"select {columns} from responses_read")
    return sorted(rows, key=lambda row: int(row[0].removeprefix("q")))


def grades(reading):
    return [row[2] for row in told(reading)]


def refused(read, path):
    """Return why a file is refused."""
    with pytest.raises(Refused) as refusal_of_file:
        read(path)
    return refusal_of_file.value.problems


def imported_grades(store, path):
    """Return the grades after the whole import: readers leave those of free text to its rules."""
    runs = put(store, path).runs
    snapshot = store.snapshot()
    graded = snapshot.rows(f"select question_id, correct from {snapshot.responses(runs)}")
    return [correct for _, correct in sorted(graded, key=lambda row: int(row[0].removeprefix("q")))]


@pytest.mark.parametrize(
    ("answer", "guess", "choices"),
    [
        pytest.param(lambda n: n % 4, lambda n: LETTERS[chosen(n)], None, id="numbers-from-0"),
        pytest.param(lambda n: n % 4 + 1, lambda n: LETTERS[chosen(n)], None, id="numbers-from-1"),
        pytest.param(lambda n: LETTERS[n % 4], chosen, None, id="guessed-numbers"),
        pytest.param(lambda n: f"{TEXTS[n % 4]} {n}", lambda n: LETTERS[chosen(n)], "list", id="texts-in-a-list"),
        pytest.param(lambda n: LETTERS[n % 4], lambda n: f"{TEXTS[chosen(n)]} {n}", "columns", id="guessed-texts"),
        pytest.param(lambda n: f"{TEXTS[n % 4]} {n}", lambda n: LETTERS[chosen(n)], "columns", id="texts-in-columns"),
    ],
)
def test_numbers_and_texts_of_options_are_their_letters(read, tmp_path, answer, guess, choices):
    offered = {}
    if choices == "list":
        offered = {"choices": lambda n: json.dumps(texts_of_options(n))}
    elif choices == "columns":
        offered = {f"option_{k + 1}": lambda n, k=k: texts_of_options(n)[k] for k in range(len(TEXTS))}
    rows = rows_of(answer=answer, prediction=guess, confidence=confidence, **offered)
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert grades(reading) == [float(is_right(n)) for n in ROWS]
    assert [row[1] for row in told(reading)] == [confidence(n) for n in ROWS]


def test_a_list_of_references_accepts_each_of_them(store, tmp_path):
    rows = rows_of(
        gt_answers=lambda n: [f"Lake {n}", f"the water [{n}]"],
        prediction=lambda n: [f"lake {n}", f"water {n}", "a river"][n % 3],
        confidence=confidence,
    )
    assert imported_grades(store, write(tmp_path / "in.json", rows)) == [1, 1, 0] * 4


def logits(n):
    return [n / 4, 0.5, -1.0]


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({f"logit_{letter}": lambda n, k=k: logits(n)[k] for k, letter in enumerate("ABC")}, id="columns"),
        pytest.param({"logits": logits}, id="list"),
        pytest.param({"logprobs": lambda n: dict(zip("ABC", logits(n), strict=True))}, id="object"),
    ],
)
def test_logits_of_options_become_probabilities(read, tmp_path, columns):
    rows = rows_of(gold=lambda n: LETTERS[n % 3], **columns)
    reading = read(write(tmp_path / "in.json", rows), model="m")
    for n, (_, share, right, _) in enumerate(told(reading)):
        best = 0 if n > 2 else 1
        assert share == pytest.approx(np.exp(logits(n)[best]) / np.exp(logits(n)).sum())
        assert right == float(best == n % 3)


def test_a_row_for_each_cell_becomes_a_row_for_each_answer(read, tmp_path):
    wide = rows_of(confidence=confidence, correct=lambda n: int(is_right(n)))
    long = [
        {"id": row["id"], "model": model, "variable": name, "value": row[name]}
        for name in ("confidence", "correct") for model in ("m1", "m2") for row in wide
    ]  # fmt: skip
    reading, first = read(write(tmp_path / "in.csv", long)), read(write(tmp_path / "wide.csv", wide), model="m1")
    rows = "select question_id, confidence, correct from responses_read where model = '{}' order by 1"
    assert reading.rows(rows.format("m1")) == reading.rows(rows.format("m2")) == first.rows(rows.format("m1"))


def test_columns_as_pandas_writes_them_are_a_table(read, tmp_path):
    frame = rows_of(confidence=confidence, correct=is_right)
    columns = {name: {str(n): row[name] for n, row in enumerate(frame)} for name in frame[0]}
    reading = read(write(tmp_path / "in.json", columns), model="m")
    assert [row[1:3] for row in told(reading)] == [(confidence(n), float(is_right(n))) for n in ROWS]


def test_records_of_a_log_that_are_no_answers_are_left_out(read, tmp_path):
    answers = [{"type": "match", "sample_id": f"q{n}", "data": {"correct": is_right(n), "picked": "x"}} for n in ROWS]
    others = [{"type": "sampling", "sample_id": f"q{n}", "data": {"prompt": "?"}} for n in ROWS]
    lines = [{"spec": {"eval": "e"}}, *answers, *others, {"final_report": {"accuracy": 0.5}}]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    reading = read(path, model="m")
    assert grades(reading) == [float(is_right(n)) for n in ROWS]
    assert any(w.endswith("were left out: 2 of type none, 12 of type sampling") for w in reading.report.warnings)


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"confidence": lambda n: f"{5 * n}/100"}, id="of-100"),
        pytest.param({"confidence": lambda n: f"{5 * n} out of 100"}, id="out-of-100"),
        pytest.param({"confidence": lambda n: f"high ({5 * n}%)"}, id="in-parentheses"),
        pytest.param({"confidence": lambda n: f"about {5 * n} % sure"}, id="in-a-text"),
        pytest.param({"On a scale from 0 to 100, how confident are you in your answer?": lambda n: 5 * n}, id="sentence"),
        pytest.param({"conf_entropy": confidence, "entropy": lambda n: 3 - n / 10}, id="share-that-a-score-became"),
        pytest.param({"confidence": confidence, "mean logprob": lambda n: -n - 0.5}, id="beside-a-score"),
        pytest.param({"prediction": lambda n: "AB"[n % 3 % 2], "predicted_class_prob": confidence}, id="of-the-predicted-class"),
        pytest.param(
            {"model_conf": confidence, "model_correct": is_right, "human_conf": lambda n: 0.9, "human_correct": lambda n: 1},
            id="beside-that-of-people",
        ),
    ],
)
def test_confidences_are_found(read, tmp_path, columns):
    graded = {} if "model_correct" in columns else {"correct": lambda n: int(is_right(n))}
    reading = read(write(tmp_path / "in.csv", rows_of(**graded, **columns)), model="m")
    assert len(reading.runs) == 1
    assert [row[1:3] for row in told(reading)] == [(pytest.approx(confidence(n)), is_right(n)) for n in ROWS]


def test_a_refusal_in_place_of_a_confidence_is_an_abstention(read, tmp_path):
    rows = rows_of(
        answer=lambda n: "I cannot say" if n % 4 == 0 else "x",
        confidence=lambda n: "refused" if n % 4 == 0 else confidence(n),
        correct=lambda n: "" if n % 4 == 0 else int(is_right(n)),
    )
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert [row[3] for row in told(reading)] == ["abstained", None, None, None] * 3


@pytest.mark.parametrize("layout", ["{model}/{dataset}.csv", "{dataset}/{model}.csv", "out/{model}/{dataset}/predictions.csv"])
def test_paths_of_a_folder_name_datasets_and_models(read, tmp_path, layout):
    for model in ("alpha", "beta"):
        for dataset in ("rivers", "cities"):
            rows = [
                {"question": f"Which of the {dataset}, number {n}?", "gold": f"{dataset} {n}",
                 "prediction": f"{dataset} {n + (n % 2)}", "confidence": confidence(n + (model == "beta"))}
                for n in ROWS
            ]  # fmt: skip
            write(tmp_path / "runs" / layout.format(model=model, dataset=dataset), rows)
    runs = [(dataset, model, 12) for dataset in ("cities", "rivers") for model in ("alpha", "beta")]
    assert with_models(read(tmp_path / "runs")) == runs


def test_equal_answers_of_two_models_are_two_runs(store, tmp_path):
    for model in ("alpha", "beta"):
        write(tmp_path / "runs" / model / "quiz.csv", [whole(n) for n in ROWS])
    report = put(store, tmp_path / "runs")
    assert len(report.runs) == 2
    assert any("has exactly the answers of run" in warning for warning in report.warnings)


def test_a_grade_by_others_is_not_that_of_the_answer(read, tmp_path):
    """Nor is a small score that is low where the model is sure a confidence, and attributes keep what the file says."""
    rows = rows_of(user_answer=lambda n: "correct" if n % 2 else "incorrect", confidence=confidence)
    (problem,) = refused(read, write(tmp_path / "by-users.csv", rows))
    assert "whether answers are right" in problem.reason
    rows = rows_of(correct=lambda n: int(is_right(n)), score=lambda n: 100 * (n % 2), neg_log_prob=lambda n: n / 20)
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert [row[3] for row in told(reading)] == ["scored"] * len(ROWS)
    assert {row[1] for row in told(reading, "question_id, attributes['score']")} == {"0", "100"}


def test_a_zip_is_called_like_its_folder(read, tmp_path):
    for model in ("alpha", "beta"):
        rows = [whole(n) | {"confidence": confidence(n + (model == "beta"))} for n in ROWS]
        write(tmp_path / "files" / f"{model}.csv", rows)
    reading = read(Path(shutil.make_archive(str(tmp_path / "seas"), "zip", tmp_path / "files")))
    assert with_models(reading) == [("seas", "alpha", 12), ("seas", "beta", 12)]
    assert reading.rows("select title from datasets_read") == [("seas",)]


def test_tables_with_other_answers_are_other_datasets(read, tmp_path):
    for name, right in (("a", "x"), ("b", "y")):
        rows = rows_of(question=lambda n: f"Which one is number {n}?", gold=lambda n, right=right: f"{right} {n}",
                       prediction=lambda n: f"{'xy'[n % 2]} {n}", confidence=confidence)  # fmt: skip
        write(tmp_path / "runs" / f"{name}.csv", rows)
    assert read(tmp_path / "runs").rows("select dataset from datasets_read order by 1") == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94.", "a pickle, which is never opened"),
        (b"\xff\xff\xff\xff\x10\x01\0\0", "a stream of Arrow; write it as Parquet"),
        (b"\x93NUMPY\x01\0v\0", "an array of NumPy"),
    ],
)
def test_other_binary_files_are_named(read, tmp_path, start, reason):
    (tmp_path / "in.bin").write_bytes(start)
    with pytest.raises(Refused, match=reason):
        read(tmp_path / "in.bin", model="m")


def test_confidences_alone_say_what_they_lack(read, tmp_path):
    (problem,) = refused(read, write(tmp_path / "in.csv", rows_of(confidence=confidence, note=lambda n: f"note {n}")))
    assert "no column is certain to say whether answers are right" in problem.reason


def test_numbers_that_tell_answers_apart_are_no_models(read, tmp_path):
    once = rows_of(confidence=confidence, correct=lambda n: int(is_right(n)))
    rows = [row | {"turn": turn} for turn in range(3) for row in once]
    (problem,) = refused(read, write(tmp_path / "in.csv", rows))
    assert problem.choices == ("elicitation=turn", "sample=turn", "model=turn")


def test_rows_that_sum_up_a_table_are_no_answers(read, tmp_path):
    rows = rows_of(prediction=lambda n: "x", confidence=confidence, correct=lambda n: int(is_right(n)))
    rows += [{"id": "Mean", "prediction": "", "confidence": 0.3, "correct": 0.67}, {"id": "Total", "confidence": 12}]
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert len(told(reading)) == len(ROWS)
    assert any(warning.endswith("were left out: Mean, Total") for warning in reading.report.warnings)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        pytest.param({"label": lambda n: "correct" if is_right(n) else "incorrect"}, is_right, id="verdicts"),
        pytest.param({"score": lambda n: 100 * is_right(n)}, is_right, id="points"),
        pytest.param({"ok": lambda n: "✓" if is_right(n) else "✗"}, is_right, id="ticks-and-crosses"),
        pytest.param(
            {"correct": lambda n: LETTERS[n % 4], "predicted": lambda n: LETTERS[chosen(n)]}, is_right, id="the-correct-option"
        ),
        pytest.param(
            {"answered": lambda n: int(n % 4 > 0), "correct": lambda n: int(is_right(n)) if n % 4 else ""},
            lambda n: is_right(n) if n % 4 else None, id="answered",
        ),
        pytest.param(
            {"responses": lambda n: ["x", "y"], "correct": lambda n: [int(is_right(n)), 0]}, None, id="lists-of-samples"
        ),
    ],
)  # fmt: skip
def test_other_spellings_of_grades(read, tmp_path, columns, expected):
    reading = read(write(tmp_path / "in.json", rows_of(confidence=confidence, **columns)), model="m")
    if expected is None:
        assert sorted(told(reading)) == sorted(
            (f"q{n}", confidence(n), float(right), None) for n in ROWS for right in (is_right(n), 0)
        )
    else:
        assert grades(reading) == [expected(n) for n in ROWS]


def test_the_probability_of_one_answer_is_turned_to_the_guess(read, tmp_path):
    """Above one half exactly where 1 is guessed, it is no confidence in the guess; otherwise it is one."""
    of_one = [(2 * n + 1) / 24 for n in ROWS]
    rows = rows_of(y_true=lambda n: n % 2, y_pred=lambda n: int(of_one[n] > 0.5), y_proba=lambda n: of_one[n])
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert [row[1] for row in told(reading)] == [pytest.approx(max(p, 1 - p)) for p in of_one]
    assert grades(reading) == [float((p > 0.5) == n % 2) for n, p in enumerate(of_one)]
    rows[0]["y_proba"] = 0.9
    reading = read(write(tmp_path / "own.csv", rows), model="m")
    assert [row[1] for row in told(reading)] == [0.9, *(pytest.approx(p) for p in of_one[1:])]


@pytest.mark.parametrize("classes", [lambda n: ["no", "yes"], lambda n: [f"city {n}", f"town {n}"]], ids=["classes", "top-2"])
def test_the_most_probable_of_listed_answers_is_the_guess(read, tmp_path, classes):
    rows = rows_of(
        predictions=classes, probs=lambda n: [confidence(n), 1 - confidence(n)], reference=lambda n: classes(n)[int(is_right(n))]
    )
    reading = read(write(tmp_path / "in.json", rows), model="m")
    most = [max(confidence(n), 1 - confidence(n)) for n in ROWS]
    assert [row[1] for row in told(reading)] == [pytest.approx(share) for share in most]
    assert [row[1] for row in told(reading, "question_id, guess")] == [classes(n)[int(confidence(n) <= 0.5)] for n in ROWS]


@pytest.mark.parametrize(
    ("columns", "choices"),
    [
        pytest.param(
            {"true_label": lambda n: "pos", "label": lambda n: "pos", "score": confidence}, ("confidence=score",), id="pipeline"
        ),
        pytest.param({"y_true": lambda n: n % 2, "y_score": confidence}, ("outcome=y_true", "correct=y_true"), id="y-score"),
        pytest.param({"target": lambda n: n % 2, "prediction": confidence}, ("confidence=prediction",), id="competition"),
        pytest.param({"confident": lambda n: "yn"[n % 2], "correct": lambda n: n % 2}, ("n=?", "y=?"), id="yes-or-no"),
        pytest.param({"gpt4_verdict": lambda n: ["It is right", "It is not"][n % 2], "confidence": confidence},
                     ("it is not=?", "it is right=?"), id="sentences-of-a-judge"),
        pytest.param({"conf_correct": confidence, "correct": lambda n: n % 2}, ("confidence=conf_correct",), id="of-being-right"),
        pytest.param(
            {"llm": lambda n: "ab"[n % 2], "system": lambda n: "xy"[n // 2 % 2], "confidence": confidence, "correct": is_right},
            ("model=llm", "model=system"), id="two-columns-of-models",
        ),
        pytest.param(
            {"confidence": confidence, "correct": lambda n: n % 2, "failure": lambda n: n % 3 == 0},
            ("failed=failure", "wrong=failure", "attribute=failure"), id="errors",
        ),
        *(
            pytest.param({beside: confidence, "mean_confidence": confidence, "accuracy": lambda n: n / 21},
                         ("correct=accuracy", "attribute=accuracy"), id=f"figures-with-{beside}")
            for beside in ("count", "bin", "ece")
        ),
    ],
)  # fmt: skip
def test_what_a_name_leaves_open_is_asked(read, tmp_path, columns, choices):
    problems = refused(read, write(tmp_path / "in.csv", rows_of(**columns)))
    assert choices in [problem.choices for problem in problems]


def test_people_are_no_questions(read, tmp_path):
    rows = [
        {"Subj_idx": subject, "Stimulus": n % 2, "Response": n % 2, "Accuracy": 1, "Confidence": 60 + n}
        for subject in (1, 2) for n in ROWS
    ]  # fmt: skip
    (problem,) = refused(read, write(tmp_path / "in.csv", rows))
    assert problem.choices == ("model=Subj_idx", "attribute=Subj_idx")


def test_answers_of_people_are_told_apart_by_them(store, tmp_path):
    once = rows_of(confidence=confidence, correct=lambda n: int(is_right(n)))
    rows = [row | {"participant": name} for name in ("ann", "ben") for row in once]
    (problem,) = refusal(store, write(tmp_path / "in.csv", rows)).problems
    assert (problem.hint, problem.choices[0]) == ("respondents", "sample=participant")
    report = put(store, tmp_path / "in.csv", model="people", columns=(("sample", "participant"),), respondents=True)
    assert store.snapshot().rows("select questions, items, respondents from runs") == [(12, 24, True)]
    assert len(report.runs) == 1


def test_rows_of_several_models_without_questions_are_noted(read, tmp_path):
    rows = [{"model": model, "confidence": confidence(n), "correct": int(is_right(n))} for model in "ab" for n in ROWS]
    reading = read(write(tmp_path / "in.csv", rows))
    assert any("no column names the question, so each row is one" in warning for warning in reading.report.warnings)


def whole(n):
    return {
        "question": f"Which is {n}?",
        "gold": f"x {n}",
        "prediction": f"{'x' if is_right(n) else 'y'} {n}",
        "confidence": confidence(n),
    }


def with_models(reading):
    return reading.rows("select dataset, model, count(confidence) from responses_read group by all order by all")


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({m: [whole(n) for n in ROWS] for m in ("gpt-4", "claude-3")}, id="rows-of-models"),
        pytest.param({m: {f"q{n}": whole(n) for n in ROWS} for m in ("gpt-4", "claude-3")}, id="questions-of-models"),
        pytest.param([whole(n) | {"llm": m} for m in ("gpt-4", "claude-3") for n in ROWS], id="rows"),
    ],
)
def test_no_part_of_a_document_is_left_out(read, tmp_path, document):
    reading = read(write(tmp_path / "all.json", document))
    assert with_models(reading) == [("all", "claude-3", 12), ("all", "gpt-4", 12)]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"config": {"model": "gpt-4"}, "metrics": {"ece": 0.1}, "samples": [whole(n) for n in ROWS]}, id="settings"),
        pytest.param({"gpt-4": {"results": [whole(n) for n in ROWS]}}, id="key"),
    ],
)
def test_a_document_names_its_model(read, tmp_path, document):
    assert with_models(read(write(tmp_path / "all.json", document))) == [("all", "gpt-4", 12)]


def test_keys_that_are_no_models_are_asked_about(read, tmp_path):
    rows = {part: [whole(n) for n in ROWS if (n < 6) == (part == "one")] for part in ("one", "two")}
    (problem,) = refused(read, write(tmp_path / "all.json", rows))
    assert problem.choices[0] == "dataset=series of rows"
    again = {part: [whole(n) for n in ROWS] for part in ("one", "two")}
    (problem,) = refused(read, write(tmp_path / "again.json", again))
    assert problem.choices[0] == "model=series of rows"


def test_a_folder_with_a_file_for_each_answer_is_a_table(read, tmp_path):
    for n in ROWS:
        write(tmp_path / "flat" / f"q{n}.json", {"reply": {"answer": "x", "confidence": confidence(n)}, "correct": is_right(n)})
    assert [row[:3] for row in told(read(tmp_path / "flat"))] == [(f"q{n}", confidence(n), float(is_right(n))) for n in ROWS]
    for model in ("alpha", "beta"):
        for n in ROWS:
            write(tmp_path / "runs" / model / f"q{n}.json", whole(n) | {"confidence": confidence(n + (model == "beta"))})
    assert with_models(read(tmp_path / "runs")) == [("runs", "alpha", 12), ("runs", "beta", 12)]


@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```"])
def test_fields_of_an_output_are_columns(read, tmp_path, fence):
    outputs = [json.dumps({"answer": "x" if is_right(n) else "y", "confidence": 5 * n}) for n in ROWS]
    rows = rows_of(gold=lambda n: "x", output=lambda n: "I refuse." if n == 3 else fence.format(outputs[n]))
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert [row[1] for row in told(reading)] == [None if n == 3 else confidence(n) for n in ROWS]
    assert [row[3] for row in told(reading)] == ["unparsed" if n == 3 else None for n in ROWS]
    assert grades(reading) == [None if n == 3 else is_right(n) for n in ROWS]


def test_the_answer_of_an_output_is_the_one_it_names(read, tmp_path):
    rows = rows_of(
        gold=lambda n: LETTERS[n % 4], output=lambda n: f"A river?\nAnswer: **{LETTERS[chosen(n)]}**\nConfidence: {5 * n}%"
    )
    reading = read(write(tmp_path / "in.csv", rows), model="m", confidence_pattern="Confidence: {percent}")
    assert grades(reading) == [float(is_right(n)) for n in ROWS]
    assert [row[1] for row in told(reading)] == [confidence(n) for n in ROWS]


def test_questions_and_answers_of_a_folder_are_joined(store, tmp_path):
    write(tmp_path / "quiz" / "questions_all.csv", rows_of(question=lambda n: f"Which is {n}?", gold=lambda n: f"x {n}"))
    for model in ("alpha", "beta"):
        answers = rows_of(prediction=lambda n: f"{'x' if is_right(n) else 'y'} {n}", confidence=lambda n, m=model: len(m) / 10)
        rows = [{"question_number": row.pop("id"), **row} for row in answers]
        write(tmp_path / "quiz" / f"{model}.csv", rows)
    assert imported_grades(store, tmp_path / "quiz") == [float(is_right(n)) for n in ROWS for _ in "ab"]
    assert store.snapshot().rows("select dataset, model from runs order by 2") == [("quiz", "alpha"), ("quiz", "beta")]
    assert store.snapshot().rows("select text from questions where question_id = 'q3'") == [("Which is 3?",)]
