"""An accuracy that a log states beside items that imply another one."""

import json

import pytest

from tests.helpers.evaluation_logs import (
    helm_instance,
    helm_joint,
    inspect_log,
    inspect_sample,
    inspect_score,
    lm_eval_sample,
    write_eval,
    write_helm,
    write_lines,
)


def inspect(folder, stated):
    """Three of four samples are right; one call failed, which Inspect leaves out."""
    samples = [inspect_sample(name, {"judge": inspect_score("I" if name == "c" else "C")}) for name in "abcd"]
    log = inspect_log([*samples, inspect_sample("e", {}, error={"message": "timeout"})])
    scores = [
        {"name": "judge", "scorer": "judge", "reducer": None, "metrics": {"accuracy": {"name": "accuracy", "value": stated}}}
    ]
    return write_eval(folder / "log.eval", log | {"results": {"scores": scores}})


def lm_eval(folder, stated):
    path = write_lines(
        folder / "samples_towns_2026-05-01T00-00-00.jsonl", [lm_eval_sample(n, [-1.0, -2.0], n > 2) for n in range(4)]
    )
    results = {"model_name": "org/a", "results": {"towns": {"acc,none": stated, "acc_stderr,none": 0.1}}}
    path.with_name("results_2026-05-01T00-00-00.json").write_text(json.dumps(results))
    return folder


def helm(folder, stated):
    states = [helm_joint(helm_instance(f"id{n}"), "B" if n == 3 else "A") for n in range(4)]
    folder = write_helm(folder / "run", states)
    (folder / "stats.json").write_text(json.dumps([{"name": {"name": "exact_match", "split": "test"}, "mean": stated}]))
    return folder


@pytest.mark.parametrize("write", [inspect, lm_eval, helm])
@pytest.mark.parametrize(("stated", "warned"), [(0.875, True), (0.75, False), (0.7503, True)])
def test_another_accuracy_than_stated_is_a_warning(tried, tmp_path, write, stated, warned):
    (tmp_path / "a").mkdir()
    texts = [text for text in tried(write(tmp_path / "a", stated)).warnings if "accuracy" in text]
    assert len(texts) == warned
    assert all(f"it states an accuracy of {stated} (" in text and text.endswith("answers imply 0.75") for text in texts)
