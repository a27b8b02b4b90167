"""Each file is recognised by exactly one reader."""

import json

import polars as pl
import pytest

from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.staging import ImportOptions, open_staging
from clueline.data.readers import LAST, RELEASE, reader_for, readers
from tests.helpers import bundle_factory as bundles
from tests.helpers.evaluation_logs import (
    evaluation_record,
    forecasts,
    helm_instance,
    helm_joint,
    inspect_log,
    inspect_sample,
    judged,
    lighteval_detail,
    lm_eval_sample,
    resolutions,
    rollout,
    uqlm_result,
    write_eval,
    write_helm,
    write_lines,
)
from tests.helpers.quizbowl_files import FILES as QUIZBOWL_FILES


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def write_parquet(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(records, strict=False).write_parquet(path)
    return path


# Functions that write a file of a format below a folder and return its path.
FILES = {
    "bundle": [bundles.write],
    "responses": [
        lambda folder: write(folder / "run.csv", bundles.RESPONSES),
        lambda folder: write_lines(folder / "run.jsonl", bundles.records(bundles.RESPONSES)),
    ],
    "chaosnli": [
        lambda folder: write_lines(folder / "items.jsonl", [{"uid": "a", "label_count": [1, 2, 3], "example": {}}]),
        lambda folder: write_lines(folder / "predictions.jsonl", [{"uid": "a", "index": 0, "probs": [0.5, 0.25, 0.25]}]),
    ],
    "lifeeval": [
        lambda folder: write(folder / "questions.csv", "Question Prompt,Confidence Prompt,True Lifespan,Question ID\n"),
        lambda folder: write(folder / "answers.csv", "Reasoning,Answer,Confidence,coerce,content,Question ID\n"),
        lambda folder: write(folder / "pairs.csv", "llm,qset,question_id,stated_confidence,chosen_token_confidence,correct\n"),
        lambda folder: write(folder / "people.csv", "ResponseId,PGuess,PConf,MinAge,Radius_x,SexMale,Question ID\n"),
    ],
    "every-eval-ever": [
        lambda folder: write_lines(folder / "a" / "1_samples.jsonl", [evaluation_record("a")]),
        lambda folder: write_lines(folder / "a" / "1_samples.jsonl", [evaluation_record("a")] * 2).parent,
        lambda folder: write(folder / "1.json", {"evaluation_id": "a", "evaluation_results": []}),
    ],
    "release": [lambda folder: bundles.write(folder / "sets" / "toy").parent],
    "lighteval": [
        lambda folder: write_parquet(folder / "details.parquet", [lighteval_detail(1, metric={"acc": 1.0}, text="B")]),
        lambda folder: (
            write_parquet(
                folder / "m7" / "details_quiz|0_2026-05-01T10-00-00.parquet", [lighteval_detail(1, metric={"acc": 1.0}, text="B")]
            ).parent
        ),
    ],
    "verifiers": [
        lambda folder: write_lines(folder / "rollouts.jsonl", [rollout(n, reward=1.0) for n in range(2)]),
        lambda folder: write_lines(folder / "ab12" / "results.jsonl", [rollout(n, reward=1.0) for n in range(2)]).parent,
    ],
    "forecastbench": [
        lambda folder: write(folder / "set.json", resolutions(("a", "2024-08-01", 1.0, True))),
        lambda folder: write(folder / "set.json", forecasts(("a", "2024-08-01", 1.0))),
        lambda folder: write(folder / "sets" / "set.json", forecasts(("a", "2024-08-01", 1.0))).parent,
    ],
    "forecasts": [lambda folder: write(folder / "forecasts.csv", "question_id,probability,outcome\n")],
    "helm": [
        lambda folder: write_helm(folder / "run", [helm_joint(helm_instance("a"))]),
        lambda folder: write_helm(folder / "runs" / "run", [helm_joint(helm_instance("a"))]).parent,
        lambda folder: write_helm(folder / "run", [helm_joint(helm_instance("a"))]) / "scenario_state.json",
    ],
    "inspect": [
        lambda folder: write_eval(folder / "log.eval", inspect_log([inspect_sample("a", {})])),
        lambda folder: write_eval(folder / "log.eval", inspect_log([inspect_sample("a", {})]), header=None),
        lambda folder: write_eval(folder / "logs" / "log.eval", inspect_log([inspect_sample("a", {})])).parent,
        lambda folder: write(folder / "log.json", inspect_log([inspect_sample("a", {})])),
        lambda folder: write(folder / "log.json", json.dumps(inspect_log([inspect_sample("a", {})]), indent=2)),
    ],
    "judged": [
        lambda folder: write(folder / "hle.json", {"6a": judged("yes", 85)}),
        lambda folder: write(folder / "hle.json", json.dumps({"6a": judged("yes", 85)}, indent=4)),
    ],
    "lm-eval": [
        lambda folder: write_lines(folder / "samples_task_2025.jsonl", [lm_eval_sample(0, [-1.0, -2.0])]),
        lambda folder: write_lines(folder / "m" / "samples_task.jsonl", [lm_eval_sample(0, [-1.0, -2.0])] * 2).parents[1],
    ],
    "metaculus": [lambda folder: write(folder / "forecast_data.csv", "Question ID,Start Time,Probability Yes\n").parent],
    "uqlm": [lambda folder: write(folder / "result.json", uqlm_result(["Which?"], ["this"], avg=[1]))],
} | QUIZBOWL_FILES


@pytest.mark.parametrize(("key", "make"), [(key, make) for key, made in FILES.items() for make in made])
def test_one_reader_recognises_a_file(store, tmp_path, key, make):
    path = make(tmp_path / "in")
    with open_staging(store) as staging:
        incoming = Incoming(path, staging)
        matches = [name for name, reader in readers().items() if name != LAST and reader.recognises(incoming)]
        assert matches == ([] if key == RELEASE else [key])  # a release is what no reader recognises as a whole
        assert reader_for(incoming, None, ImportOptions()).FORMAT.key == key


def test_the_last_reader_takes_what_no_other_recognises(store, tmp_path):
    path = write(tmp_path / "in.csv", "p_max,hit\n0.5,1\n0.75,0\n0.25,1\n")
    with open_staging(store) as staging:
        incoming = Incoming(path, staging)
        assert not [name for name, reader in readers().items() if name != LAST and reader.recognises(incoming)]
        assert reader_for(incoming, None, ImportOptions()).FORMAT.key == LAST


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("answers.json", '{\n "a": {"judge_response": {}},\n "b": 1\n}', "the format is not recognised (its keys: a, b)"),
        ("answers.json", '{"\\ud800": 1}', "the format is not recognised (its keys: ?)"),
        ("answers.json", '{\n "a": {"judge_response": {}},\n', "this is not valid JSON: Expecting property name"),
        ("folder/answers.csv", "question_id\n",
         "the format is not recognised (it has no dataset.json, which makes a bundle; it holds: answers.csv)"),
    ],
)  # fmt: skip
def test_what_no_reader_recognises_is_described(store, tmp_path, name, text, reason):
    path = write(tmp_path / "in" / name, text)
    assert bundles.refusal(store, path if path.parent.name == "in" else path.parent).problems[0].reason.startswith(reason)


def test_every_format_has_a_file_here():
    assert {*FILES} == {*readers()} - {LAST}


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({"score": 0.5, "metrics": {}, "htmls": ["<p>Score: 1</p>"], "convos": [[]]}, "simple-evals"),
        ({"total_instances": 2, "resolved_ids": ["a"], "unresolved_ids": ["b"]}, "SWE-bench"),
    ],
)
def test_a_harness_without_a_reader_is_named(store, tmp_path, document, named):
    (reason,) = bundles.reasons(store, write(tmp_path / "in.json", document))
    assert named in reason and "a table with columns" in reason
