"""Inspect AI: logs as .eval and JSON, stated and token confidences, scorers, edits, and samples without a score."""

import json
import shutil

import pytest

from clueline.data.readers.inspect_ai import log_status
from clueline.data.store import open_store
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import reasons, rows
from tests.helpers.evaluation_logs import inspect_log as log
from tests.helpers.evaluation_logs import inspect_sample as sample
from tests.helpers.evaluation_logs import inspect_score as score
from tests.helpers.evaluation_logs import inspect_tokens as tokens
from tests.helpers.evaluation_logs import output, write_chunked_eval, write_eval, zipfile

ANSWERS = """select elicitation, question_id, guess, confidence, r.correct from responses r join runs using (run)
    order by model, elicitation, question_id"""
CHOICES = {"choices": ["in the north", "in the south"], "target": "A"}


def put(tried, folder, samples, **about):
    return tried(write_eval(folder / "log.eval", log(samples, **about)))


@pytest.mark.parametrize("form", ["zstd", "deflated", "unfinished", "json", "folder"])
def test_a_log_makes_a_dataset_and_a_run(tried, tmp_path, form):
    samples = [sample("x", {"judge": score("C", confidence=0.8)}), sample(7, {"judge": score("I", "Rome", Confidence="0.25")})]
    made = log(samples)
    if form == "json":
        path = tmp_path / "log.json"
        path.write_text(json.dumps(made, indent=1))
    else:
        packing = zipfile.ZIP_DEFLATED if form == "deflated" else zipfile.ZIP_ZSTANDARD
        path = write_eval(tmp_path / "logs" / "log.eval", made, None if form == "unfinished" else "header.json", packing)
    tried(path.parent if form == "folder" else path)
    assert tried.rows("select dataset, title, kind, source, classes from datasets") == [
        ("towns", "towns", "single", "Inspect AI, task towns", None)
    ]
    assert tried.rows("select question_id, text, answer from questions order by 1") == [
        ("7", "Where is 7?", "Paris"), ("x", "Where is x?", "Paris"),
    ]  # fmt: skip
    assert tried.rows("select model from runs") == [("openai/gpt",)]
    assert tried.rows(ANSWERS) == [("verbalized", "7", "Rome", 0.25, 0.0), ("verbalized", "x", "Paris", 0.8, 1.0)]


def test_letters_of_choices_have_whole_distributions(tried, tmp_path):
    put(tried, tmp_path, [
        sample("x", {"choice": score("C", "A")}, **CHOICES, output=tokens({"A": 0.6, "B": 0.2}, "A")),
        sample("y", {"choice": score("I", "B")}, **CHOICES, output=tokens({"B": 0.5}, "B")),
        sample("z", {"choice": score("I", "")}, **CHOICES, output=output("I do not know")),
    ])  # fmt: skip
    assert tried.rows("select classes from datasets") == [(["A", "B"],)]
    assert tried.rows("select text, answer from questions where question_id = 'x'") == [
        ("Where is x?\nA. in the north\nB. in the south", "A")
    ]
    assert [(*row[:3], pytest.approx(row[3]), row[4]) for row in tried.rows(ANSWERS)] == [
        ("token", "x", "A", 0.75, 1.0), ("token", "y", "B", 0.5, 0.0), ("token", "z", None, None, 0.0),
    ]  # fmt: skip
    assert tried.rows("select options from responses order by question_id")[0][0] == pytest.approx([0.75, 0.25])
    assert tried.rows("select unparsed, failed, skipped from runs") == [(1, 0, None)]


def test_tokens_of_free_text_give_its_confidence(tried, tmp_path):
    content = [{"token": "Pa", "logprob": 0.0}, {"token": "ris", "logprob": -0.6931471805599453}]
    put(tried, tmp_path, [sample("x", {"match": {"value": 1, "answer": None}}, output=output("Paris", content))])
    assert tried.rows(ANSWERS) == [("token", "x", "Paris", pytest.approx(0.75), 1.0)]


def test_each_kind_of_confidence_is_a_run(tried, tmp_path):
    both = sample("x", {"choice": score("C", "A", confidence=0.9)}, **CHOICES, output=tokens({"A": 0.6, "B": 0.4}, "A"))
    put(tried, tmp_path, [both])
    assert [row[0] for row in tried.rows(ANSWERS)] == ["token", "verbalized"]


def test_values_of_scores(tried, tmp_path):
    letters, others = {"C": 1.0, "I": 0.0, "P": 0.5, "1": 1.0, "no": 0.0}, [(True, 1.0), (0, 0.0), (0.25, 0.25)]
    values = [*letters.items(), *others, ({"correctness": "C", "confidence": 0.5}, 1.0)]
    put(tried, tmp_path, [sample(n, {"judge": score(value, confidence=0.5)}) for n, (value, _) in enumerate(values)])
    assert [row[3:] for row in tried.rows(ANSWERS)] == [(0.5, correct) for _, correct in values]


def test_declined_and_stopped_answers_are_abstentions(tried, tmp_path):
    stopped = {"choices": [{"message": {"content": "I cannot"}, "stop_reason": "content_filter"}]}
    put(tried, tmp_path, [
        sample("x", {"judge": score("C", confidence=0.5)}),
        sample("y", {"judge": score("N", confidence=0.5)}),
        sample("z", {"judge": score("I", confidence=0.5)}, output=stopped),
    ])  # fmt: skip
    states = "select question_id, confidence, correct, state from responses order by 1"
    assert tried.rows(states) == [("x", 0.5, 1.0, None), ("y", None, 0.0, "abstained"), ("z", None, 0.0, "abstained")]


def test_several_scorers_are_runs_of_one_confidence(tried, tmp_path):
    scores = {"judge": score("C", confidence=0.5), "match": score("I"), "length": score(17), "parts": score({"a": 1, "b": 0})}
    report = put(tried, tmp_path, [sample("x", scores)])
    assert [(row[0], row[3], row[4]) for row in tried.rows(ANSWERS)] == [
        ("verbalized (judge)", 0.5, 1.0), ("verbalized (match)", 0.5, 0.0), ("verbalized (parts.a)", 0.5, 1.0),
        ("verbalized (parts.b)", 0.5, 0.0),
    ]  # fmt: skip
    assert report.warnings == ["log.eval: scorer length was left out: its values, such as 17, do not lie between 0 and 1"]


def test_ids_can_hold_slashes(tried, tmp_path):
    names = ("Human/0", "Human/1", "x")
    put(tried, tmp_path, [sample(name, {"judge": score(confidence=0.5)}, metadata={"subject": "code"}) for name in names])
    assert tried.rows("select question_id, category from questions order by 1") == [(name, "code") for name in names]


def test_samples_can_be_in_chunks(tried, tmp_path):
    """Their folders hold other JSON files, too, and attachments are numbered through all chunks."""
    samples = [
        sample("Human/0", {"judge": score("C", "attachment://1", confidence=0.75)}, metadata={"subject": "code"}),
        sample("x", {"judge": score("I", "Rome", confidence=0.5)}, input="attachment://2"),
    ]
    tried(write_chunked_eval(tmp_path / "log.eval", log(samples), ["no", "Lutetia", "A long question"]))
    assert tried.rows("select question_id, text, category from questions order by 1") == [
        ("Human/0", "Where is Human/0?", "code"), ("x", "A long question", None),
    ]  # fmt: skip
    assert [row[1:] for row in tried.rows(ANSWERS)] == [("Human/0", "Lutetia", 0.75, 1.0), ("x", "Rome", 0.5, 0.0)]


def test_the_last_of_several_files_of_a_sample_counts(tried, tmp_path):
    path = write_eval(tmp_path / "log.eval", log([sample("x", {"judge": score("I", confidence=0.25)})]))
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/x_epoch_1.json", json.dumps(sample("x", {"judge": score("C", confidence=0.75)})))
    tried(path)
    assert tried.rows(ANSWERS) == [("verbalized", "x", "Paris", 0.75, 1.0)]


def test_the_last_edit_of_a_score_counts(tried, tmp_path):
    edits = [{"value": "I", "answer": "Rome"}, {"value": "C", "answer": "UNCHANGED", "metadata": {"confidence": 0.75}}]
    put(tried, tmp_path, [sample("x", {"judge": score("I", "Rome", confidence=0.25) | {"history": edits}})])
    assert tried.rows(ANSWERS) == [("verbalized", "x", "Rome", 0.75, 1.0)]


def test_samples_without_a_score_or_confidence_are_counted(tried, tmp_path):
    report = put(tried, tmp_path, [
        sample("a", {"judge": score("C", confidence=0.5)}),
        sample("b", {"judge": score(float("nan"), confidence=0.5)}),
        sample("c", {}),
        sample("d", {"judge": score("C")}),
        sample("e", {}, error={"message": "timeout"}),
        sample("f", {"judge": score("C", confidence=0.5)}, invalidation={"author": "someone"}),
    ], status="error")  # fmt: skip
    assert [row[1:] for row in tried.rows(ANSWERS)] == [
        ("a", "Paris", 0.5, 1.0), ("d", "Paris", None, 1.0), ("e", None, 0.0, 0.0),
    ]  # fmt: skip
    assert tried.rows("select no_confidence, failed, items from runs") == [(1, 1, 1)]
    assert json.loads(tried.rows("select skipped from runs")[0][0]) == {
        "no confidence is stated": 1, "the sample ended with an error": 1, "the sample is not scored": 2,
    }  # fmt: skip
    assert report.warnings[0].endswith("1 sample left out: invalidated in the log")


def test_epochs_are_samples(tried, tmp_path):
    grades = {("x", 1): ("C", 0.75), ("x", 2): ("I", 0.25), ("y", 1): ("C", 0.5)}
    put(tried, tmp_path, [
        sample(name, {"judge": score(grade, confidence=confidence)}, epoch=epoch)
        for (name, epoch), (grade, confidence) in grades.items()
    ])  # fmt: skip
    assert tried.rows("select question_id, sample, confidence, correct from responses order by 1, 2") == [
        ("x", "1", 0.75, 1.0), ("x", "2", 0.25, 0.0), ("y", "1", 0.5, 1.0),
    ]  # fmt: skip
    assert tried.rows("select items, questions, samples, respondents from runs") == [(3, 2, 2, False)]


def test_messages_attachments_and_early_scores(tried, tmp_path):
    parts = [{"type": "text", "text": "attachment://1"}, {"type": "image", "image": "attachment://2"}]
    put(tried, tmp_path, [
        sample("x", ..., score=score(1, confidence=0.5), input=[{"role": "user", "content": parts}],
               attachments={"1": "What is this?"}, target=["Paris", "Lutetia"]),
        sample("y", score(1, confidence=0.5), input=[
            {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]),
    ])  # fmt: skip
    assert tried.rows("select text, answer from questions order by question_id") == [
        ("What is this?\n[image]", "Paris or Lutetia"), ("system: Be brief.\nuser: Who?", "Paris"),
    ]  # fmt: skip
    assert [row[0] for row in tried.rows(ANSWERS)] == ["verbalized"] * 2


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        ([], "there are no samples in this log; only logs that keep their samples can be read"),
        ([sample("x", {})], "no sample of this log is scored"),
        ([sample("x", {"judge": score("fine", confidence=0.5), "length": score(None)})],
         "no scorer of this log says whether the answers are right; judge: its values, such as \"fine\", do not lie between "
         "0 and 1; length: it scored no sample"),
        ([sample("x", {"judge": score(confidence="high")})], "must be a number"),
    ],
)  # fmt: skip
def test_logs_that_cannot_be_read(store, tmp_path, samples, reason):
    assert reasons(store, write_eval(tmp_path / "log.eval", log(samples))) == [reason]


def test_an_option_says_that_confidences_are_percent(store, tmp_path):
    path = write_eval(tmp_path / "log.eval", log([sample("x", {"judge": score(confidence=85)})]))
    assert [(problem.row, problem.hint) for problem in bundles.refusal(store, path).problems] == [("sample x", "percent")]
    bundles.put(store, path, percent=True)
    assert rows(store, "select confidence from responses") == [(0.85,)]


def test_a_damaged_part_is_named(store, tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
        archive.writestr("samples/1_epoch_1.json", '{"id": 1')
    assert str(bundles.refusal(store, path)).startswith("log.eval/1_epoch_1.json: this part of the log is not valid JSON")


NIGHTS = "select model, elicitation, strftime(evaluated_at, '%Y-%m-%d %H') from runs order by evaluated_at nulls last"


def nights(folder):
    """Write two finished logs of one night and one of the next, a copy, one that failed, and one of another model."""
    logs = (
        ("a", "1T00", 0.25, "success"),
        ("b", "1T01", 0.5, "success"),
        ("c", "2T00", 0.75, "error"),
        ("d", "2T01", 0.5, "success"),
    )
    for name, hour, confidence, status in logs:
        made = log([sample("x", {"judge": score(confidence=confidence)})], status, created=f"2025-01-0{hour}:00:00Z")
        write_eval(folder / f"{name}.eval", made)
    shutil.copy(folder / "a.eval", folder / "copy of a.eval")
    write_eval(folder / "e.eval", log([sample("x", {"judge": score()})], model="unsure"))
    return folder


def test_each_finished_log_of_a_folder_is_a_run(tried, tmp_path):
    report = tried(nights(tmp_path / "logs"))
    model = "openai/gpt"
    assert tried.rows(NIGHTS) == [
        (model, "verbalized", "2025-01-01 00"), (model, "verbalized", "2025-01-01 01"), (model, "verbalized", "2025-01-02 01"),
        ("unsure", "no confidence", None),
    ]  # fmt: skip
    assert report.warnings == [
        "logs: 2 logs left out: not finished, or a copy; there is a finished log of the same task and model"
    ]


def test_a_folder_and_its_logs_one_by_one_are_the_same_runs(store, tmp_path):
    folder = nights(tmp_path / "logs")
    bundles.put(store, folder)
    apart = open_store(tmp_path / "apart", threads=1)
    for path in sorted(folder.iterdir()):
        if log_status(path) == "success":
            bundles.put(apart, path)
    runs = "select run, evaluated_at from runs order by run"
    assert rows(apart, runs) == rows(store, runs) and len(rows(store, runs)) == 4


def test_versions_are_tags_and_no_part_of_a_name(tried, tmp_path):
    made = log([sample("x", {"judge": score(confidence=0.5)})], created="2025-01-02T23:00:00-02:00")
    made["eval"] |= {"revision": {"commit": "abc123"}, "packages": {"inspect_ai": "0.3.285"}, "task_version": 2}
    tried(write_eval(tmp_path / "log.eval", made))
    assert tried.rows("select tag, value from tags order by 1") == [
        ("date", "2025-01-03"), ("harness", "inspect_ai 0.3.285"), ("version", "task 2, commit abc123"),
    ]  # fmt: skip
    assert tried.rows("select elicitation from runs") == [("verbalized",)]


def test_outputs_state_a_confidence(tried, tmp_path):
    output = {"choices": [], "completion": "Paris.\n\nI am 80 % confident."}
    samples = [sample("x", {"match": score("C", "Paris")}, output=output), sample("y", {"match": score("I", "Rome")})]
    path = write_eval(tmp_path / "log.eval", log(samples))
    report = tried(path, confidence_pattern="{percent} confident")
    assert tried.rows(ANSWERS) == [("verbalized", "x", "Paris", 0.8, 1.0), ("verbalized", "y", "Rome", None, 0.0)]
    assert "log.eval: 1 output states a confidence" in report.lines and "(1 row" not in report.lines[-1]


@pytest.mark.parametrize(
    ("reducers", "warned"), [(["mode"], True), (["mode", "mean"], False), (["mean"], False), ([None], False)]
)
def test_another_reducer_of_epochs_than_the_mean_is_told(tried, tmp_path, reducers, warned):
    """Three epochs, two of them right: by their mode the accuracy is 1, and by their mean 2/3."""
    samples = [sample("x", {"judge": score("C" if n < 3 else "I", confidence=0.5)}, epoch=n) for n in (1, 2, 3)]
    made = log(samples)
    made["results"] = {"scores": [
        {"name": "judge", "reducer": reducer, "metrics": {"accuracy": {"value": 1.0 if reducer == "mode" else 2 / 3}}}
        for reducer in reducers
    ]}  # fmt: skip
    report = tried(write_eval(tmp_path / "log.eval", made))
    says = "it states an accuracy of 1 (verbalized, by 'mode' of the samples of a question), but its 3 answers imply 0.666667"
    assert [says in warning for warning in report.warnings] == [True] * warned
