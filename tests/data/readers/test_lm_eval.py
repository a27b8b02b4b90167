"""lm-evaluation-harness: a dataset from the first samples of a task, and runs with probabilities of all options."""

import json
import math

import pytest

from clueline.data.readers.lm_eval import ONE_LIKELIHOOD, UNGRADED
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import reasons, rows
from tests.helpers.evaluation_logs import lm_eval_sample as sample
from tests.helpers.evaluation_logs import write_lines

FILE = "samples_my_Task_2025-01-02T03-04-05.678901.jsonl"
ANSWERS = """select question_id, guess, confidence, r.correct from responses r join runs using (run)
    order by model, elicitation, question_id"""


@pytest.fixture
def samples(tmp_path):
    lines = [sample(0, [-1.0, -3.0]), sample(1, [-2.0, -2.5], target=1, options=("red", "blue"))]
    return write_lines(tmp_path / "org__small" / FILE, lines)


@pytest.mark.parametrize("indent", [None, 2])
def test_one_json_list_of_earlier_versions_is_read(store, tmp_path, indent):
    samples = [sample(0, [-1.0, -3.0]), sample(1, [-2.0, -2.5], target=1)]
    for row in samples:
        row.pop("filter", None)
        row["arguments"] = [[part["arg_0"], part["arg_1"]] for part in row["arguments"].values()]
    write_lines(tmp_path / "lines" / "samples_towns.jsonl", samples)
    bundles.put(store, tmp_path / "lines" / "samples_towns.jsonl", model="m")
    known = rows(store, ANSWERS)
    for path in (tmp_path / "list" / "samples_towns.jsonl", tmp_path / "output_towns.json"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(samples, indent=indent))
    assert bundles.put(store, tmp_path / "list", model="m").stored
    report = bundles.put(store, tmp_path / "output_towns.json", dataset="towns", model="m")
    assert report.stored and rows(store, ANSWERS) == known
    (tmp_path / "bad.json").write_text(json.dumps([samples[0], 7], indent=indent))
    assert reasons(store, tmp_path / "bad.json", dataset="towns", model="n") == ["this sample is not a JSON object"]


def test_samples_make_a_dataset_and_a_run(tried, samples):
    report = tried(samples)
    assert report.lines[0].endswith("read as lm-eval")
    assert tried.rows("select dataset, title, kind, classes from datasets") == [("my-task", "my_Task", "single", None)]
    assert tried.rows("select question_id, text, answer from questions order by 1") == [
        ("0", "Which? (0)\nA. this\nB. that", "this"), ("1", "Which? (1)\nA. red\nB. blue", "blue"),
    ]  # fmt: skip
    assert tried.rows("select model, elicitation from runs") == [("org__small", "likelihood")]
    share = 1 / (1 + math.exp(-2))
    assert [(q, g, pytest.approx(c), y) for q, g, c, y in tried.rows(ANSWERS)] == [
        ("0", "this", share, 1.0), ("1", "red", 1 / (1 + math.exp(-0.5)), 0.0),
    ]  # fmt: skip
    names, shares = tried.rows("select option_names, options from responses where question_id = '0'")[0]
    assert dict(zip(names, shares, strict=True)) == pytest.approx({"this": share, "that": 1 - share})


def test_another_model_attaches_to_the_same_questions(store, samples, tmp_path):
    bundles.put(store, samples)
    lines = [sample(0, [-5.0, -3.0]), sample(1, [-9.0, -2.5], target=1, options=("red", "blue"))]
    report = bundles.put(store, write_lines(tmp_path / "large" / FILE, lines))
    assert [line for line in report.lines if "dataset" in line] == []
    assert rows(store, "select model, questions from runs order by 1") == [("large", 2), ("org__small", 2)]
    version = store.version()
    assert bundles.put(store, samples).stored
    assert store.version() == version


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (sample(0, [-1.0, -2.0], question="Whom?"), "question 0 has a different text in dataset 'my-task'"),
        (sample(0, [-1.0, -2.0], target=1), "question 0 has a different answer in dataset 'my-task'"),
        (
            sample(7, [-1.0, -2.0]),
            "no such question in dataset 'my-task'; logs that are imported together share their questions",
        ),
    ],
)
def test_other_questions_do_not_attach(store, samples, tmp_path, row, reason):
    bundles.put(store, samples)
    assert reasons(store, write_lines(tmp_path / "b" / FILE, [row])) == [reason]


def test_logs_of_one_import_share_a_dataset(tried, samples, tmp_path):
    other = write_lines(tmp_path / "b" / FILE, [sample(0, [-1.0, -3.0]), sample(2, [-1.0, -2.0])])
    tried(samples, other)
    assert tried.rows("select question_id from questions order by 1") == [("0",), ("1",), ("2",)]
    assert tried.rows("select model, questions from runs order by 1") == [("b", 2), ("org__small", 2)]


def test_options_that_all_questions_share_are_classes(tried, tmp_path):
    lines = [sample(index, [-1.0, -2.0 * index], options=("no", "yes"), target=index % 2) for index in range(3)]
    tried(write_lines(tmp_path / "m" / FILE, lines))
    assert tried.rows("select classes from datasets") == [(["no", "yes"],)]
    assert tried.rows("select distinct len(options), option_names from responses") == [(2, None)]


def test_letters_are_shown_with_the_choices(tried, tmp_path):
    doc = {"question": "Which?", "choices": ["Paris", "Rome"], "subject": "places"}
    tried(write_lines(tmp_path / "m" / FILE, [sample(0, [-1.0, -2.0], options=("A", "B"), doc=doc)]))
    assert tried.rows("select text, answer, category from questions") == [("Which?\nA. Paris\nB. Rome", "A", "places")]


def test_a_folder_names_models_by_its_results(tried, tmp_path):
    root = tmp_path / "out"
    date = FILE.rpartition("_")[2].removesuffix(".jsonl")
    write_lines(root / "a" / FILE, [sample(0, [-1.0, -2.0])])
    (root / "a" / f"results_{date}.json").write_text(json.dumps({"model_name": "org/a", "results": {}}))
    for name in (FILE, FILE.replace("my_Task", "other")):
        write_lines(root / "b" / name, [sample(0, [-1.0, -2.0])])
    tried(root)
    assert tried.rows("select dataset, model from runs order by 1, 2") == [
        ("my-task", "b"), ("my-task", "org/a"), ("other", "b"),
    ]  # fmt: skip


def test_each_file_of_samples_is_a_run(tried, tmp_path):
    write_lines(tmp_path / "out" / "a" / FILE, [sample(0, [-1.0, -2.0])])
    write_lines(tmp_path / "out" / "a" / FILE.replace("2025", "2026"), [sample(0, [-3.0, -2.0])])
    report = tried(tmp_path / "out")
    assert report.warnings == []
    assert tried.rows("select guess from responses") == [("this",), ("that",)]
    assert [year for (year,) in tried.rows("select year(evaluated_at) from runs order by 1")] == [2025, 2026]


def test_each_filter_is_a_run(tried, tmp_path):
    lines = [sample(0, [-1.0, -2.0]), sample(0, [-3.0, -2.0], filter="debiased")]
    tried(write_lines(tmp_path / "m" / FILE, lines))
    assert tried.rows("select elicitation from runs order by 1") == [("likelihood (debiased)",), ("likelihood (none)",)]
    assert [row[1] for row in tried.rows(ANSWERS)] == ["that", "this"]


def test_older_and_other_forms_of_a_line_are_read(tried, tmp_path):
    lines = [
        sample(0, [-1.0, -2.0], filtered_resps=[[-1.0, False], [-2.0, True]], arguments=[["Q", " this"], ["Q", " that"]]),
        sample(1, [-1.0, -2.0], filtered_resps=[[["-1.0", "False"]], [["-inf", "False"]]]),
        sample(2, [-1.0, -2.0], target=" that", acc=...),
        sample(3, [-1.0, -2.0], doc={"sentence": "Who _ it?"}, arguments={
            "gen_args_0": {"arg_0": "It was Ann", "arg_1": " who did it"},
            "gen_args_1": {"arg_0": "It was Bob", "arg_1": " who did it"}}),
        sample(4, [-1.0, -2.0, -3.0], options=("same", "same", "other")),
        sample(5, [float("nan"), -2.0]),
    ]  # fmt: skip
    report = tried(write_lines(tmp_path / "m" / FILE, lines))
    assert [(q, g, y) for q, g, _, y in tried.rows(ANSWERS)] == [
        ("0", "this", 1.0), ("1", "this", 1.0), ("2", "this", 0.0), ("3", "Ann", 1.0), ("4", "same", 1.0), ("5", None, 0.0),
    ]  # fmt: skip
    assert tried.rows("select confidence from responses where question_id = '1'") == [(1.0,)]
    assert tried.rows("select failed from runs") == [(1,)]
    assert report.repaired == {"questions with two options of the same text, which were numbered": 1}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([sample(0, [-1.0], filtered_resps=["Paris"], acc=..., acc_norm=...)], UNGRADED),
        ([sample(0, [-1.0], options=("Paris",))], ONE_LIKELIHOOD),
        ([sample(0, [-1.0, -2.0], filtered_resps=...)] * 2, None),
        ([sample(None, [-1.0, -2.0])], "this key is missing"),
        ([sample(0, [-1.0, -2.0]), sample(1, [-1.0], filtered_resps=["x"])],
         "no pairs of a log-likelihood and whether it is the greedy choice"),
        ([sample(0, [-1.0, -2.0], filtered_resps=[["-1", "False"]] * 3)],
         "there are 3 log-likelihoods for the 2 options of `arguments`"),
        ([sample(0, [-1.0, -2.0], acc=..., target="what")], "neither `acc` nor `target` says which option is right"),
        ([sample(0, [-1.0, -2.0]), sample(0, [-1.0, -2.0], target=1, filter="b")],
         "question '0' has a different answer at line 1"),
        ([sample(0, [-1.0, -2.0])] * 2, "this run has an answer to this question and clue already"),
        ([sample(0, [float("nan")] * 2)],
         "there is no answer in this log; 1 time: a log-likelihood is not a number"),
    ],
)  # fmt: skip
def test_samples_that_cannot_be_read(store, tmp_path, lines, reason):
    messages = reasons(store, write_lines(tmp_path / "m" / FILE, lines), form="lm-eval")
    assert reason is None or reason in messages


def test_a_missing_dataset_or_model_is_asked_for(store, tmp_path, monkeypatch):
    path = write_lines(tmp_path / "m" / "log.jsonl", [sample(0, [-1.0, -2.0])])
    refused = bundles.refusal(store, path)
    assert refused.problems[0].hint == "dataset"
    monkeypatch.chdir(path.parent)
    refused = bundles.refusal(store, type(path)("log.jsonl"), dataset="task")
    assert refused.problems[0].hint == "model"
    bundles.put(store, path, dataset="task", model="M", elicitation="softmax")
    assert rows(store, "select dataset, model, elicitation from runs") == [("task", "M", "softmax")]


def test_options_are_in_the_order_of_their_numbers(tried, tmp_path):
    names = [f"option {index}" for index in range(12)]
    row = sample(0, [-9.0] * 10 + [-1.0, -9.0], options=names, target=10)
    row["arguments"] = {key: row["arguments"][key] for key in sorted(row["arguments"])}
    tried(write_lines(tmp_path / "m" / FILE, [row]))
    assert [row[1] for row in tried.rows(ANSWERS)] == ["option 10"]
    assert tried.rows("select answer from questions") == [("option 10",)]


def test_generated_answers_have_no_confidence(tried, tmp_path):
    generated = [sample(n, [-1.0], filtered_resps=[["42", "43"]], acc=..., exact_match=n) for n in (0, 1)]
    write_lines(tmp_path / "out" / "a" / FILE.replace("my_Task", "sums"), generated)
    write_lines(tmp_path / "out" / "a" / FILE, [sample(0, [-1.0, -2.0])])
    tried(tmp_path / "out")
    assert tried.rows("select elicitation from runs order by dataset") == [("likelihood",), ("no confidence",)]
    sums = "select question_id, guess, correct, state from responses where guess = '42' order by 1"
    assert tried.rows(sums) == [("0", "42", 0.0, "no_confidence"), ("1", "42", 1.0, "no_confidence")]


def test_generated_answers_state_a_confidence(store, tmp_path):
    """It is in what was generated, although the filter kept the answer only."""
    texts = ["42. Confidence: 90%", "41. Confidence: 7 percent", "no number"]
    generated = [
        sample(n, [-1.0], filtered_resps=["42"], resps=[[text]], acc=..., exact_match=n == 0) for n, text in enumerate(texts)
    ]
    write_lines(tmp_path / "out" / "a" / FILE, generated)
    report = bundles.put(store, tmp_path / "out")
    assert any("2 of 3 outputs seem to state a confidence, as in 'Confidence: {percent}'" in line for line in report.warnings)
    (run,) = bundles.put(store, tmp_path / "out", confidence_pattern="Confidence: {percent}").runs
    shown = (
        "select elicitation, confidence, correct, state from responses join runs using (run) where run = $r order by question_id"
    )
    assert store.snapshot().rows(shown.replace("responses", store.snapshot().responses([run]) + " x"), {"r": run}) == [
        ("verbalized", 0.9, 1.0, None), ("verbalized", 0.07, 0.0, None), ("verbalized", None, 0.0, "no_confidence")
    ]  # fmt: skip
