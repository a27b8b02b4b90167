"""HELM: joint and separate multiple choice, generated answers, and missing log-probabilities."""

import gzip
import math
import shutil
import time

import pytest

from clueline.data.importing.report import Refused
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows
from tests.helpers.evaluation_logs import helm_instance as instance
from tests.helpers.evaluation_logs import helm_joint as joint
from tests.helpers.evaluation_logs import helm_separate as separate
from tests.helpers.evaluation_logs import helm_state as state
from tests.helpers.evaluation_logs import helm_stats as stats
from tests.helpers.evaluation_logs import write_helm

ANSWERS = "select question_id, guess, confidence, correct from responses order by question_id"
A, B = instance("a"), instance("b", right=1)


def put(tried, tmp_path, states, measured=None):
    return tried(write_helm(tmp_path / "run", states, measured))


@pytest.mark.parametrize("form", ["folder", "zip", "gzip", "suite"])
def test_joint_choices(tried, tmp_path, form):
    measured = [stats("a", exact_match=1, max_prob=math.exp(-0.5)), stats("b", exact_match=0, max_prob=math.exp(-0.25))]
    path = write_helm(tmp_path / "runs" / "run", [joint(A), joint(B, "A", -0.25)], measured)
    if form == "zip":
        path = shutil.make_archive(tmp_path / "run", "zip", path)
    elif form == "suite":
        path = path.parent
    elif form == "gzip":
        for part in list(path.iterdir()):
            (path / f"{part.name}.gz").write_bytes(gzip.compress(part.read_bytes()))
            part.unlink()
    tried(type(tmp_path)(path))
    assert tried.rows("select dataset, title, classes from datasets") == [("towns-lang-en", "towns:lang=en", ["A", "B"])]
    assert tried.rows("select text, answer from questions order by question_id") == [
        ("Where is a?\nA. north\nB. south", "A"), ("Where is b?\nA. north\nB. south", "B"),
    ]  # fmt: skip
    assert tried.rows("select model, elicitation from runs") == [("openai/gpt", "likelihood")]
    assert tried.rows(ANSWERS) == [
        ("a", "A", pytest.approx(math.exp(-0.5)), 1.0), ("b", "A", pytest.approx(math.exp(-0.25)), 0.0),
    ]  # fmt: skip


def test_a_joint_choice_can_have_all_its_options(tried, tmp_path):
    tokens = [{"text": " A", "logprob": math.log(0.6), "top_logprobs": {" A": math.log(0.6), " B": math.log(0.2)}}]
    put(tried, tmp_path, [joint(A, tokens=tokens), joint(B, "north, I think")])
    assert tried.rows(ANSWERS) == [
        ("a", "A", pytest.approx(0.75), 1.0), ("b", "north, I think", pytest.approx(math.exp(-0.5)), 0.0),
    ]  # fmt: skip


def test_separate_choices(tried, tmp_path):
    states = [*separate(A, -10.0, -11.0), *separate(B, -3.0, -3.0 - math.log(3))]
    put(tried, tmp_path, states)
    share = 1 / (1 + math.exp(-1))
    assert tried.rows(ANSWERS) == [("a", "A", pytest.approx(share), 1.0), ("b", "A", pytest.approx(0.75), 0.0)]
    assert tried.rows("select options from responses where question_id = 'b'")[0][0] == pytest.approx([0.75, 0.25])


def test_calibrated_choices_leave_out_the_options_own_part(tried, tmp_path):
    put(tried, tmp_path, [*separate(A, -10.0, -11.0), *separate(A, -2.0, -3.0 - math.log(3), mode="calibration")])
    assert tried.rows(ANSWERS) == [("a", "B", pytest.approx(0.75), 0.0)]


def test_helms_own_confidence_counts_where_it_differs(tried, tmp_path):
    put(tried, tmp_path, separate(A, -10.0, -11.0), [stats("a", exact_match=0, predicted_index=1, max_prob=0.625)])
    assert tried.rows(ANSWERS) == [("a", "B", 0.625, 0.0)]
    assert tried.rows("select options from responses") == [(None,)]


def test_generated_answers(tried, tmp_path):
    states = [state(A, " north\n"), state(B, "in the north", -1.0)]
    put(tried, tmp_path, states, [stats("b", exact_match=0, quasi_exact_match=1)])
    assert tried.rows(ANSWERS) == [
        ("a", "north", pytest.approx(math.exp(-0.5)), 1.0), ("b", "in the north", pytest.approx(math.exp(-1)), 0.0),
    ]  # fmt: skip
    assert tried.rows("select classes from datasets") == [(None,)]


def test_another_model_attaches(store, tmp_path):
    bundles.put(store, write_helm(tmp_path / "run", [joint(A), joint(B)]))
    bundles.put(store, write_helm(tmp_path / "other", [*separate(A, -1.0, -2.0), *separate(B, -1.0, -2.0)], model="other"))
    assert rows(store, "select dataset, model from runs order by 2") == [
        ("towns-lang-en", "openai/gpt"),
        ("towns-lang-en", "other"),
    ]


def test_failed_requests_and_perturbed_instances(tried, tmp_path):
    failed = joint(B) | {"result": {"success": False, "error": "timeout", "completions": []}}
    report = put(tried, tmp_path, [joint(A), joint(A | {"perturbation": {"name": "typos"}}), failed])
    assert tried.rows(ANSWERS) == [("a", "A", pytest.approx(math.exp(-0.5)), 1.0), ("b", None, 0.0, 0.0)]
    assert tried.rows("select failed from runs") == [(1,)]
    assert report.warnings == ["run: 1 request left out: about perturbed instances"]


def test_an_answer_without_a_log_probability_is_kept(tried, tmp_path):
    unstated = joint(B)
    unstated["result"]["completions"][0].pop("logprob")
    put(tried, tmp_path, [joint(A), unstated])
    assert tried.rows("select question_id, guess, confidence, state from responses order by 1") == [
        ("a", "A", pytest.approx(math.exp(-0.5)), None), ("b", "A", None, "no_confidence"),
    ]  # fmt: skip


@pytest.mark.parametrize("states", [[joint(A), joint(A, "B")], [*separate(A, -1.0, -2.0), *separate(A, -2.0, -1.0)]])
def test_two_answers_to_one_request_are_refused(tried, tmp_path, states):
    with pytest.raises(Refused, match="run, instance a: two requests for this instance are the same"):
        put(tried, tmp_path, states)


def test_trials_are_samples(tried, tmp_path):
    put(tried, tmp_path, [joint(A), joint(A, train_trial_index=1)])
    assert tried.rows("select sample from responses order by 1") == [("0",), ("1",)]
    assert tried.rows("select items, questions, samples from runs") == [(2, 1, 2)]


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        ([], "there are no requests in scenario_state.json"),
        ([joint(instance("a", right=None))], "no reference is tagged as correct"),
        ([{"instance": {}}], "a request needs one"),
    ],
)  # fmt: skip
def test_runs_that_cannot_be_read(store, tmp_path, states, reason):
    assert reason in bundles.reasons(store, write_helm(tmp_path / "run", states))


@pytest.mark.parametrize("states", [[joint(A, logprob=0)], separate(A, 0, 0)])
def test_likelihoods_of_0_are_no_confidence(tried, tmp_path, states):
    put(tried, tmp_path, states)
    assert tried.rows("select elicitation, items from runs") == [("no confidence", 0)]
    assert tried.rows("select guess, confidence, correct, state from responses") == [("A", None, 1.0, "no_confidence")]


def test_a_damaged_file_is_named(store, tmp_path):
    folder = write_helm(tmp_path / "run", [joint(A)])
    (folder / "per_instance_stats.json").write_text("[{")
    assert str(bundles.refusal(store, folder)).startswith("run/per_instance_stats.json, line 1: this is not valid JSON")


def test_requests_alone_need_the_name_of_a_dataset(store, tmp_path):
    folder = write_helm(tmp_path / "run", [joint(A)])
    assert bundles.refusal(store, folder / "scenario_state.json").problems[0].hint == "dataset"
    bundles.put(store, folder / "scenario_state.json", dataset="towns")
    assert rows(store, "select dataset from runs") == [("towns",)]


def test_many_references_do_not_take_quadratic_time(store, tmp_path):
    """The time grows with the square if each reference is compared with each request. CPU time, as other processes run too."""

    def cost(count):
        first = instance("a", references=["same"] * count)
        for reference in first["references"]:
            reference["tags"] = ["correct"]
        others = (state(instance("a", references=()), request_mode=f"{n}") for n in range(count))
        folder = write_helm(tmp_path / f"run-{count}", [state(first), *others])
        before = time.process_time()
        bundles.put(store, folder, dataset=f"of-{count}")
        return time.process_time() - before

    few, many = cost(500), cost(8_000)
    assert many < 5 * few
