"""Details of lighteval and rollouts of verifiers: the metric that is proven counts, and what is doubtful is asked."""

import json
import math

import polars as pl
import pytest

from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows
from tests.helpers.evaluation_logs import lighteval_detail, rollout, write_lines

RIGHT = [n % 8 < 5 for n in range(40)]
MOMENT = "2026-05-01T10-00-00"
GRADES = "select avg(correct), avg(confidence) from responses"


def write_details(folder, details, *, model="acme/m7", task="quiz|0", moment=MOMENT):
    path = folder / "details" / model / moment / f"details_{task}_{moment}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(details, strict=False).write_parquet(path)
    return folder


def write_rollouts(folder, rollouts, **metadata):
    path = folder / "evals" / "quiz--acme--m7" / "ab12"
    write_lines(path / "results.jsonl", rollouts)
    if metadata:
        (path / "metadata.json").write_text(json.dumps(metadata))
    return folder


def likelihoods(n, **metrics):
    best = n % 4 if RIGHT[n] else (n + 1) % 4
    return lighteval_detail(n, logprobs=[-0.5 if option == best else -2.0 for option in range(4)], gold=n % 4,
        metric={"acc": float(RIGHT[n])} | metrics)  # fmt: skip


def test_probabilities_of_options_are_those_of_their_logarithms(store, tmp_path):
    report = bundles.put(store, write_details(tmp_path / "out", [likelihoods(n) for n in range(40)]))
    share = math.exp(-0.5) / (math.exp(-0.5) + 3 * math.exp(-2.0))
    assert rows(store, GRADES) == [(pytest.approx(25 / 40), pytest.approx(share))]
    assert rows(store, "select model, elicitation, dataset from runs") == [("acme/m7", "likelihood", "quiz")]
    assert rows(store, "select text, answer from questions where question_id = '1'") == [
        ("Which is 1?\nA. Oslo 1\nB. Rome 1\nC. Bonn 1\nD. Riga 1", "Rome 1")
    ]
    assert not report.warnings


def test_the_most_probable_option_is_graded(store, tmp_path):
    details = [likelihoods(n, acc_norm=float(n % 2)) for n in range(40)]
    for detail in details:
        detail["metric"] = dict(reversed(detail["metric"].items()))
    bundles.put(store, write_details(tmp_path / "out", details))
    assert rows(store, "select avg(correct) from responses") == [(25 / 40,)]
    assert ("acc-norm",) in rows(store, "select name from gradings")


def test_several_metrics_of_texts_are_asked_about(store, tmp_path):
    details = [
        lighteval_detail(
            n, text=f"Hm.\nAnswer: {n}\nConfidence: {50 + n}%", metric={"em": float(RIGHT[n]), "f1": 0.5 + n % 2 / 2}
        )
        for n in range(40)
    ]
    path = write_details(tmp_path / "out", details)
    (problem,) = bundles.refusal(store, path).problems
    assert problem.choices == ("correct=em", "correct=f1")
    assert "by em, 25 of 40 right; by f1, 30 of 40 right" in problem.reason
    bundles.put(store, path, columns=(("correct", "em"),), confidence_pattern="Confidence: {percent}")
    assert rows(store, GRADES) == [(25 / 40, pytest.approx(0.695))]
    assert rows(store, "select guess from responses order by guess limit 1") == [("0",)]


def test_each_date_is_a_run(store, tmp_path):
    write_details(tmp_path / "out", [likelihoods(n) for n in range(40)])
    write_details(tmp_path / "out", [likelihoods(n) for n in range(39)], moment="2026-05-02T10-00-00")
    report = bundles.put(store, tmp_path / "out")
    days = "select value, items from runs join tags using (run) where tag = 'date' order by 1"
    assert rows(store, days) == [("2026-05-01", 40), ("2026-05-02", 39)]
    assert len(report.runs) == 2 and not report.warnings


def test_rewards_of_0_and_1_grade_rollouts(store, tmp_path):
    rollouts = [
        rollout(n, reward=float(RIGHT[n]), metrics={"correct": float(RIGHT[n]), "format": float(n % 2)}) for n in range(40)
    ]
    rollouts[7] |= {"error": {"error": "TimeoutError"}, "completion": None}
    path = write_rollouts(tmp_path / "out", rollouts, env_id="lab/quiz", model="acme/m7.1", avg_reward=0.625, date="2026-05-01")
    report = bundles.put(store, path, confidence_pattern="Confidence: {percent}")
    assert rows(store, "select dataset, model, elicitation, failed from runs") == [("quiz", "acme/m7.1", "verbalized", 1)]
    assert rows(store, "select avg(correct), avg(confidence) from responses where not failed") == [(25 / 39, pytest.approx(0.75))]
    assert rows(store, "select text, answer from questions where question_id = '3'") == [("Which is 3?", "3")]
    assert {("correct",), ("format",)} <= {*rows(store, "select name from gradings")}
    assert not report.warnings


def test_a_stated_mean_reward_is_compared(store, tmp_path):
    rollouts = [rollout(n, reward=float(RIGHT[n])) for n in range(40)]
    report = bundles.put(store, write_rollouts(tmp_path / "out", rollouts, env_id="quiz", model="m", avg_reward=0.7))
    assert any("states an accuracy of 0.7 (no confidence), but its 40 answers imply 0.625" in line for line in report.warnings)


def test_rewards_that_are_sums_are_asked_about(store, tmp_path):
    rollouts = [
        rollout(n, reward=RIGHT[n] + 0.2, metrics={"correct": float(RIGHT[n]), "format": float(n % 2), "num_turns": 1.0})
        for n in range(40)
    ]
    path = write_rollouts(tmp_path / "out", rollouts)
    (problem,) = bundles.refusal(store, path).problems
    assert problem.choices == ("correct=correct", "correct=format")
    bundles.put(store, path, columns=(("correct", "correct"),))
    assert rows(store, "select avg(correct) from responses") == [(25 / 40,)]
    assert rows(store, "select model, dataset from runs") == [("acme/m7", "quiz")]  # as the folder says


def test_rollouts_of_one_example_are_samples(store, tmp_path):
    rollouts = [rollout(n // 4, reward=float(RIGHT[n])) for n in range(40)]
    bundles.put(store, write_rollouts(tmp_path / "out", rollouts))
    assert rows(store, "select count(*), count(distinct question_id), count(distinct sample) from responses") == [(40, 10, 4)]
