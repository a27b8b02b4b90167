"""Judged answers of HLE and BrowseComp."""

import json

import pytest

from clueline.data.readers.shared.evaluation_log import NO_CONFIDENCE
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows
from tests.helpers.evaluation_logs import judged

ANSWERS = "select question_id, guess, confidence, correct from responses order by question_id"


def write(path, answers):
    path.write_text(json.dumps(answers, indent=4))
    return path


def test_judged_answers_make_a_dataset_and_a_run(store, tmp_path):
    answers = {"6a": judged("yes", 85), "6b": judged("no", 100, guess="Rome"), "6c": judged("no", 0, guess="None")}
    report = bundles.put(store, write(tmp_path / "judged_hle_gpt.json", answers))
    assert rows(store, "select dataset, title, kind from datasets") == [("hle", "Humanity's Last Exam", "single")]
    assert rows(store, "select question_id, text, answer from questions order by 1") == [
        ("6a", None, "Paris"), ("6b", None, "Paris"), ("6c", None, "Paris"),
    ]  # fmt: skip
    assert rows(store, "select model, elicitation from runs") == [("gpt", "verbalized")]
    assert rows(store, ANSWERS) == [("6a", "Paris", 0.85, 1.0), ("6b", "Rome", 1.0, 0.0), ("6c", None, 0.0, 0.0)]
    assert report.warnings == [
        "judged_hle_gpt.json: 1 of 3 confidences are 100, which the judge also writes for answers that state none"
    ]


def test_confidences_that_look_like_shares_of_one_are_warned_of(tried, tmp_path):
    report = tried(write(tmp_path / "hle.json", {"6a": judged("yes", 0.85), "6b": judged("no", "1")}))
    assert report.warnings == ["hle.json: no confidence exceeds 1, although 100 means certain; do these run from 0 to 1?"]
    assert [row[2] for row in tried.rows(ANSWERS)] == [0.0085, 0.01]


def test_answers_without_a_verdict_or_confidence_are_counted(tried, tmp_path):
    unjudged = {key: value for key, value in judged("yes", 1).items() if key != "judge_response"}
    answers = {"6a": judged("yes", 85), "6b": unjudged, "6c": judged("yes", None)}
    tried(write(tmp_path / "answers.json", answers), dataset="exam")
    assert tried.rows("select items, no_confidence, failed from runs") == [(1, 1, 0)]
    assert json.loads(tried.rows("select skipped from runs")[0][0]) == {
        "no confidence is stated": 1, "the answer was not judged": 1,
    }  # fmt: skip


def by_judges(**verdicts):
    """Return an answer with a verdict by each of several judges."""
    one = judged("yes", 85)
    return one | {
        "judge_response": {f"lab/{judge}": one["judge_response"] | {"correct": verdict} for judge, verdict in verdicts.items()}
    }


def test_verdicts_of_several_judges_are_gradings_of_one_run(store, tmp_path):
    answers = {f"6{n}": by_judges(first="yes" if n < 3 else "no", second="yes" if n < 2 else "no") for n in range(4)}
    path = write(tmp_path / "hle.json", answers)
    (problem,) = bundles.refusal(store, path).problems
    assert problem.choices == ("correct=lab/first", "correct=lab/second")
    assert "by lab/first, 3 of 4 right; by lab/second, 2 of 4 right" in problem.reason
    report = bundles.put(store, path, columns=(("correct", "lab/second"),))
    assert [right for *_, right in rows(store, ANSWERS)] == [1, 1, 0, 0]
    assert rows(store, "select run, name from gradings where name like 'lab%'") == [(report.runs[0], "lab-first")]
    assert bundles.reasons(store, path, columns=(("correct", "third"),)) == [
        "there is no judge 'third' in this file; it has: lab/first, lab/second"
    ]


def test_judges_that_agree_are_not_asked_about(store, tmp_path):
    answers = {f"6{n}": by_judges(first="yes" if n < 3 else "no", second="yes" if n < 3 else "no") for n in range(4)}
    bundles.put(store, write(tmp_path / "hle.json", answers))
    assert [right for *_, right in rows(store, ANSWERS)] == [1, 1, 1, 0]


def test_the_accuracy_of_the_script_is_said_beside_ours(tried, tmp_path):
    unjudged = {key: value for key, value in judged("yes", 1).items() if key != "judge_response"}
    answers = {"6a": judged("yes", 85), "6b": judged("no", 60), "6c": unjudged, "6d": unjudged}
    report = tried(write(tmp_path / "hle.json", answers))
    how = "the script of the benchmark counts these as wrong, which gives 25.00%; here, the accuracy is 50.00%"
    assert f"hle.json: 2 of 4 answers were not judged; {how}" in report.warnings


@pytest.mark.parametrize(
    ("name", "answers", "reason"),
    [
        ("answers.json", {"6a": judged("yes", 85)}, "which questions do these answer? Neither the file nor its name says"),
        ("hle.json", {"6a": judged("yes", 850)}, "must lie in [0, 100]"),
        ("hle.json", {"6a": judged("yes", "high")}, "must be a number"),
        ("hle.json", {"6a": judged("perhaps", 85)}, "must be true, false or a number"),
        ("hle.json", {"6a": judged(None, 85)}, "a value is required here"),
        ("hle.json", {"6a": judged("yes", None)}, NO_CONFIDENCE),
        ("hle.json", {"6a": judged("yes", 85, model=None)}, "which model answered? The log does not say"),
    ],
)
def test_files_that_cannot_be_read(store, tmp_path, name, answers, reason):
    assert bundles.reasons(store, write(tmp_path / name, answers)) == [reason]
