"""Forms in which studies release answers: what a row, an option or a file of a folder is, comes from more than one cell."""

import csv
import json

import numpy as np
import pytest

from data.importing.report import Refused
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


def stored(store, report, columns="question_id, confidence, correct, state"):
    snapshot = store.snapshot()
    rows = snapshot.rows(f"select {columns} from {snapshot.responses(report.runs)}")
    return sorted(rows, key=lambda row: int(row[0].removeprefix("q")))


def grades(store, report):
    return [row[2] for row in stored(store, report)]


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
def test_numbers_and_texts_of_options_are_their_letters(store, tmp_path, answer, guess, choices):
    offered = {}
    if choices == "list":
        offered = {"choices": lambda n: json.dumps(texts_of_options(n))}
    elif choices == "columns":
        offered = {f"option_{k + 1}": lambda n, k=k: texts_of_options(n)[k] for k in range(len(TEXTS))}
    rows = rows_of(answer=answer, prediction=guess, confidence=confidence, **offered)
    report = put(store, write(tmp_path / "in.csv", rows), model="m")
    assert grades(store, report) == [float(is_right(n)) for n in ROWS]
    assert [row[1] for row in stored(store, report)] == [confidence(n) for n in ROWS]


def test_a_list_of_references_accepts_each_of_them(store, tmp_path):
    rows = rows_of(
        gt_answers=lambda n: [f"Lake {n}", f"the water [{n}]"],
        prediction=lambda n: [f"lake {n}", f"water {n}", "a river"][n % 3],
        confidence=confidence,
    )
    report = put(store, write(tmp_path / "in.json", rows), model="m")
    assert grades(store, report) == [1, 1, 0] * 4


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
def test_logits_of_options_become_probabilities(store, tmp_path, columns):
    rows = rows_of(gold=lambda n: LETTERS[n % 3], **columns)
    report = put(store, write(tmp_path / "in.json", rows), model="m")
    for n, (_, share, right, _) in enumerate(stored(store, report)):
        best = 0 if n > 2 else 1
        assert share == pytest.approx(np.exp(logits(n)[best]) / np.exp(logits(n)).sum())
        assert right == float(best == n % 3)


def test_a_row_for_each_cell_becomes_a_row_for_each_answer(store, tmp_path):
    wide = rows_of(confidence=confidence, correct=lambda n: int(is_right(n)))
    long = [
        {"id": row["id"], "model": model, "variable": name, "value": row[name]}
        for name in ("confidence", "correct") for model in ("m1", "m2") for row in wide
    ]  # fmt: skip
    report = put(store, write(tmp_path / "in.csv", long))
    assert len(report.runs) == 2
    first = put(store, write(tmp_path / "wide.csv", wide), model="m1", dataset="wide")
    for run in report.runs:
        snapshot = store.snapshot()
        own = snapshot.rows(f"select question_id, confidence, correct from {snapshot.responses([run])} order by 1")
        other = snapshot.rows(f"select question_id, confidence, correct from {snapshot.responses(first.runs)} order by 1")
        assert own == other


def test_columns_as_pandas_writes_them_are_a_table(store, tmp_path):
    frame = rows_of(confidence=confidence, correct=is_right)
    columns = {name: {str(n): row[name] for n, row in enumerate(frame)} for name in frame[0]}
    report = put(store, write(tmp_path / "in.json", columns), model="m")
    assert [row[1:3] for row in stored(store, report)] == [(confidence(n), float(is_right(n))) for n in ROWS]


def test_records_of_a_log_that_are_no_answers_are_left_out(store, tmp_path):
    answers = [{"type": "match", "sample_id": f"q{n}", "data": {"correct": is_right(n), "picked": "x"}} for n in ROWS]
    others = [{"type": "sampling", "sample_id": f"q{n}", "data": {"prompt": "?"}} for n in ROWS]
    lines = [{"spec": {"eval": "e"}}, *answers, *others, {"final_report": {"accuracy": 0.5}}]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    report = put(store, path, model="m")
    assert grades(store, report) == [float(is_right(n)) for n in ROWS]
    assert any(w.endswith("were left out: 2 of type none, 12 of type sampling") for w in report.warnings)


@pytest.mark.parametrize("write_confidence", ["{}/100", "{} out of 100", "high ({}%)", "about {} % sure"])
def test_confidences_in_a_text_are_read(store, tmp_path, write_confidence):
    rows = rows_of(confidence=lambda n: write_confidence.format(5 * n), correct=lambda n: int(is_right(n)))
    report = put(store, write(tmp_path / "in.csv", rows), model="m")
    assert [row[1] for row in stored(store, report)] == [pytest.approx(5 * n / 100) for n in ROWS]


def test_a_refusal_in_place_of_a_confidence_is_an_abstention(store, tmp_path):
    rows = rows_of(
        answer=lambda n: "I cannot say" if n % 4 == 0 else "x",
        confidence=lambda n: "refused" if n % 4 == 0 else confidence(n),
        correct=lambda n: "" if n % 4 == 0 else int(is_right(n)),
    )
    report = put(store, write(tmp_path / "in.csv", rows), model="m")
    assert [row[3] for row in stored(store, report)] == ["abstained", None, None, None] * 3


def test_ticks_and_crosses_are_grades(store, tmp_path):
    rows = rows_of(confidence=confidence, ok=lambda n: "✓" if is_right(n) else "✗")
    assert grades(store, put(store, write(tmp_path / "in.csv", rows), model="m")) == [float(is_right(n)) for n in ROWS]


@pytest.mark.parametrize("layout", ["{model}/{dataset}.csv", "{dataset}/{model}.csv", "out/{model}/{dataset}/predictions.csv"])
def test_paths_of_a_folder_name_datasets_and_models(store, tmp_path, layout):
    for model in ("alpha", "beta"):
        for dataset in ("rivers", "cities"):
            rows = [
                {"question": f"Which of the {dataset}, number {n}?", "gold": f"{dataset} {n}",
                 "prediction": f"{dataset} {n + (n % 2)}", "confidence": confidence(n + (model == "beta"))}
                for n in ROWS
            ]  # fmt: skip
            write(tmp_path / "runs" / layout.format(model=model, dataset=dataset), rows)
    put(store, tmp_path / "runs")
    runs = store.snapshot().rows("select dataset, model, items from runs order by 1, 2")
    assert [row[:2] for row in runs] == [(dataset, model) for dataset in ("cities", "rivers") for model in ("alpha", "beta")]


def test_tables_with_other_answers_are_other_datasets(store, tmp_path):
    for name, right in (("a", "x"), ("b", "y")):
        rows = rows_of(question=lambda n: f"Which one is number {n}?", gold=lambda n, right=right: f"{right} {n}",
                       prediction=lambda n: f"{'xy'[n % 2]} {n}", confidence=confidence)  # fmt: skip
        write(tmp_path / "runs" / f"{name}.csv", rows)
    assert sorted(put(store, tmp_path / "runs").datasets) == ["a", "b"]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94.", "a pickle, which is never opened"),
        (b"\xff\xff\xff\xff\x10\x01\0\0", "a stream of Arrow; write it as Parquet"),
        (b"\x93NUMPY\x01\0v\0", "an array of NumPy"),
    ],
)
def test_other_binary_files_are_named(store, tmp_path, start, reason):
    (tmp_path / "in.bin").write_bytes(start)
    with pytest.raises(Refused, match=reason):
        put(store, tmp_path / "in.bin", model="m")


def test_a_table_with_an_id_of_clueline_says_what_it_lacks(store, tmp_path):
    path = tmp_path / "in.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["confidence", "note"], *([confidence(n), f"note {n}"] for n in ROWS)])
    (problem,) = refusal(store, path).problems
    assert "no column is certain to say whether answers are right" in problem.reason


def test_numbers_that_tell_answers_apart_are_no_models(store, tmp_path):
    once = rows_of(confidence=confidence, correct=lambda n: int(is_right(n)))
    rows = [row | {"turn": turn} for turn in range(3) for row in once]
    (problem,) = refusal(store, write(tmp_path / "in.csv", rows)).problems
    assert problem.choices == ("elicitation=turn", "sample=turn", "model=turn")
