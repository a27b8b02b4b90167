"""Every Eval Ever: records of samples as its converters write them, and runs that Clueline exports."""

import json

import pytest

from clueline.data.importing.report import Refused
from clueline.data.store import open_store
from clueline.data.store.query_to_file import exporter
from clueline.queries.runs import every_eval_ever
from tests.helpers.bundle_factory import put, put_file, rows
from tests.helpers.evaluation_logs import evaluation_record as record
from tests.helpers.evaluation_logs import write_lines

ANSWERS = """select model, elicitation, question_id, sample, guess, confidence, correct, state
    from responses r join runs using (run) order by model, elicitation, question_id, sample"""


def test_records_become_a_dataset_and_a_run_of_right_and_wrong(tried, tmp_path):
    chat = [{"turn_idx": 0, "role": "user", "content": "Which?"}, {"turn_idx": 1, "role": "assistant", "content": "The Po"}]
    turns = {"interaction_type": "multi_turn", "output": None, "messages": chat, "answer_attribution": []}
    failed = {"output": {"raw": []}, "answer_attribution": [], "error": "timeout"}
    tried(write_lines(tmp_path / "1_samples.jsonl", [
        record("q1"), record("q2", **turns, evaluation={"score": 0.25, "is_correct": False}), record("q3", False, **failed),
        record("q4", evaluation={"score": 4.0, "is_correct": "True"}, answer_attribution=[]),
    ]))  # fmt: skip
    assert tried.rows("select dataset, kind, source from datasets") == [("rivers", "single", "Every Eval Ever, rivers")]
    assert tried.rows("select question_id, text, answer, category from questions limit 1") == [
        ("q1", "Which river is q1?", "Nile or the Nile", "geography")
    ]
    assert [row[2:] for row in tried.rows(ANSWERS)] == [
        ("q1", None, "Nile", None, 1.0, "no_confidence"), ("q2", None, "The Po", None, 0.25, "no_confidence"),
        ("q3", None, None, 0.0, 0.0, None), ("q4", None, "It is the Nile.", None, 1.0, "no_confidence"),
    ]  # fmt: skip
    assert tried.rows("select elicitation, failed from runs") == [("no confidence", 1)]


def test_confidences_and_epochs_are_in_metadata(tried, tmp_path):
    facts = [("1", "0.5"), ("2", "0.75")]
    tried(write_lines(tmp_path / "1_samples.jsonl", [
        record("q1", epoch == "1", metadata={"epoch": epoch, "confidence": stated}) for epoch, stated in facts
    ]))  # fmt: skip
    assert tried.rows(ANSWERS) == [
        ("org/a", "verbalized", "q1", "1", "Nile", 0.5, 1.0, None), ("org/a", "verbalized", "q1", "2", "Nile", 0.75, 0.0, None),
    ]  # fmt: skip


def test_models_results_and_filters_are_runs(tried, tmp_path):
    results = [record("q1", right, evaluation_result_id=name) for right, name in ((True, "judge"), (False, "match"))]
    facts = {"subject": "geography", "filter": "lenient"}
    lenient = record("q1", False, model_id="org/b", evaluation_name="rivers/lenient", metadata=facts)
    tried(write_lines(tmp_path / "a" / "1_samples.jsonl", [*results, lenient]).parent)
    assert [(row[0], row[1], row[6]) for row in tried.rows(ANSWERS)] == [
        ("org/a", "no confidence (judge)", 1.0), ("org/a", "no confidence (match)", 0.0),
        ("org/b", "no confidence (lenient)", 0.0),
    ]  # fmt: skip


def test_another_accuracy_in_the_results_is_a_warning(store, tmp_path):
    write_lines(tmp_path / "a" / "1_samples.jsonl", [record("q1"), record("q2", False)])
    config = {"metric_id": "accuracy", "metric_unit": "percent", "lower_is_better": False}
    result = {"evaluation_name": "rivers", "metric_config": config, "score_details": {"score": 62.5}}
    aggregate = {"evaluation_id": "rivers/org/a/1767225600", "evaluation_results": [result]}
    (tmp_path / "a" / "1.json").write_text(json.dumps(aggregate))
    with pytest.raises(Refused, match="aggregate results, without answers to single questions"):
        put(store, tmp_path / "a" / "1.json")
    (warning,) = put(store, tmp_path / "a").warnings
    assert warning.endswith("it states an accuracy of 0.625 (no confidence), but its 2 answers imply 0.5")


def test_an_exported_run_is_read_as_the_same_answers(tmp_path):
    """All states of answers, samples and shares of correctness go there and back."""
    store, other = open_store(tmp_path / "store", threads=1), open_store(tmp_path / "other", threads=1)
    put_file(store, tmp_path / "base.csv", "id,question,gold,answer,confidence\nq1,A?,Nile,A,1\nq2,B?,é,B,1\n", model="x")
    (run,) = put_file(store, tmp_path / "run.csv", (
        "question_id,sample,guess,confidence,correct,state,failed\nq1,1,Nile,0.1,1,,\nq1,2,Po,0.7,0.25,,\nq2,1,,,,abstained,\n"
        "q2,2,x,,0,no_confidence,\nq2,3,,,,,true\n"), dataset="base", model="org/m", elicitation="sampled").runs  # fmt: skip
    path = tmp_path / "1_samples.jsonl"
    with exporter(store) as opened:
        aggregate, samples = every_eval_ever(opened.snapshot, run)
        opened.write(samples, "jsonl", path)
    assert aggregate["evaluation_results"][0]["score_details"] == {"score": pytest.approx((0.625 + 0) / 2)}
    written = [json.loads(line) for line in path.read_text().splitlines()]
    required = {"schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id", "interaction_type", "input",
                "answer_attribution", "evaluation", "output"}  # fmt: skip
    assert all(row.keys() >= required and {*map(type, row["metadata"].values())} == {str} for row in written)
    assert written[0]["evaluation"] == {"score": 1.0, "is_correct": True} and written[2]["output"] == {"raw": []}
    put(other, path)
    chosen = ANSWERS.replace("order by", "where model = 'org/m' order by")
    assert rows(other, chosen) == rows(store, chosen)
