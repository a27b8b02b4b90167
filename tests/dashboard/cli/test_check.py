"""``clueline check``: exit codes by intervals and p-values of answers that are imported elsewhere for comparison."""

import csv
import os
import shutil
import subprocess
import sys
from itertools import chain
from xml.etree import ElementTree

import pytest
import yaml

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from tests.helpers.paths import PACKAGE, ROOT
from tests.helpers.stores import file_times, seed_without_models

BASELINE = "5666c918c1e9e4dd"  # BM25, softmax
METRICS = ("brier", "macro_ce", "calscore")


def altered(path, change, questions=60):
    """Write the baseline's answers with other confidences, under the same name."""
    with (ROOT / "data/sample/pyramid/responses/bm25.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["elicitation"] == "softmax"]
    kept = [*dict.fromkeys(row["question_id"] for row in rows)][:questions]
    rows = [row | {"confidence": change(float(row["confidence"]), number)} for number, row in enumerate(rows)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row for row in rows if row["question_id"] in kept)
    return path


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Slightly surer than the baseline on some clues, so that differences are small."""
    return altered(tmp_path_factory.mktemp("answers") / "answers.csv", lambda c, n: min(1, round(c + 0.12 * (n % 5 < 2), 4)))


@pytest.fixture(scope="module")
def api(seeded, answers, tmp_path_factory, cli):
    """JSON of a store into which the answers were imported, and the id of their run."""
    store = shutil.copytree(seeded, tmp_path_factory.mktemp("imported") / "store", ignore=shutil.ignore_patterns("cache"))
    assert cli("import", answers, "--dataset", "pyramid", store=store).returncode == 0
    client = create_app(Settings(store=str(store), workers=1)).test_client()
    runs = client.get("/api/v1/runs?dataset=pyramid").json["runs"]
    (run,) = [run["run"] for run in runs if run["file_name"] == "answers.csv"]
    return lambda address: client.get(f"/api/v1/{address}".replace("RUN", run))


@pytest.fixture
def check(cli, seeded):
    def run(path, *options):
        before = file_times(seeded)
        done = cli("check", path, "--dataset", "pyramid", *options, store=seeded)
        assert file_times(seeded) == before
        return done

    return run


def test_a_limit_is_broken_by_the_whole_interval(check, answers, api):
    (row,) = api("leaderboard?dataset=pyramid&run=RUN&metrics=ece,accuracy&intervals=1").json["rows"]
    cell, right = row["metrics"]["ece"], row["metrics"]["accuracy"]
    assert cell["low"] < cell["value"] < cell["high"]
    inside, outside = (cell["low"] + cell["value"]) / 2, cell["low"] - 1e-6
    edge, beyond = right["high"] - 1e-6, right["high"] + 1e-6
    above, below = "fails, the whole interval is above", "fails, the whole interval is below"
    for most, least, strict, code, says in [
        ([inside], [edge], (), 0, ["holds, not shown to be above", "holds, not shown to be below"]),
        ([inside], [edge], ("--strict",), 1, ["fails", "fails"]),
        ([outside, cell["high"] + 1e-6], [beyond], (), 1, [above, "holds, the whole interval is within", below]),
    ]:
        limits = [*(("--max", f"ece={limit}") for limit in most), *(("--min", f"accuracy={limit}") for limit in least)]
        done = check(answers, *chain(*limits), *strict)
        lines = done.stdout.splitlines()[2:]
        assert done.returncode == code and [line.rpartition(": ")[2] for line in lines] == says, done.stdout
        assert lines[0].strip().startswith(f"ECE {cell['value']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}], at most ")


def test_values_and_their_spread_by_hand(check, answers, api):
    """The Brier score, and the standard error of a mean over clusters of clues, from the answers."""
    losses = {}
    for item in api("items?dataset=pyramid&run=RUN&limit=1000").json["items"]:
        losses.setdefault(item["question_id"], []).append((item["confidence"] - item["correct"]) ** 2)
    items = sum(map(len, losses.values()))
    assert items == 339
    brier = sum(map(sum, losses.values())) / items
    spread = sum((sum(part) - brier * len(part)) ** 2 for part in losses.values()) ** 0.5 / items
    for fails, holds, strict in ((brier - 1e-6, brier + 1e-6, ["--strict"]), (brier - 4 * spread, brier - spread, [])):
        done = check(answers, "--max", f"brier={fails}", "--max", f"brier={holds}", *strict)
        first, second = done.stdout.splitlines()[2:]
        assert ": fails" in first and ": holds" in second and f"Brier {brier:.3f}" in first, done.stdout


def test_not_worse_is_judged_by_holm_over_all_rules(check, answers, api):
    compared = api(f"compare?dataset=pyramid&a=RUN&b={BASELINE}&metrics={','.join(METRICS)}").json["metrics"]
    ascending = sorted(METRICS, key=lambda key: compared[key]["p_value"])
    adjusted, largest = {}, 0.0
    for place, key in enumerate(ascending):
        largest = adjusted[key] = max(largest, min(1, compared[key]["p_value"] * (len(METRICS) - place)))
    worse = {key for key in METRICS if compared[key]["better"] == BASELINE}
    fails = {key for key in worse if adjusted[key] < 0.05}
    alone = {key for key in worse if compared[key]["p_value"] < 0.05}
    assert fails < worse and fails < alone, "the answers must show the difference between the rules"
    together = check(answers, *(part for key in METRICS for part in ("--not-worse", key)), "--baseline", BASELINE)
    assert together.returncode == bool(fails)
    assert together.stdout.count("fails, shown to be worse") == len(fails)
    for key in METRICS:
        single = check(answers, "--not-worse", key, "--baseline", BASELINE)
        assert single.returncode == (key in alone), single.stdout
    strict = check(answers, *(part for key in METRICS for part in ("--not-worse", key)), "--baseline", BASELINE, "--strict")
    assert [": fails" in line for line in strict.stdout.splitlines()[2:]] == [key in worse for key in METRICS], strict.stdout


def test_a_file_is_the_same_baseline_as_its_run(check, answers, api, tmp_path):
    """The file has the model and the elicitation of the answers, too."""
    exported = tmp_path / "baseline.csv"
    exported.write_bytes(api(f"runs/{BASELINE}/responses.csv").data)
    options = ("--not-worse", "brier", "--not-worse", "ece", "--baseline")
    by_run, by_file = check(answers, *options, BASELINE), check(answers, *options, exported)
    assert by_run.stdout == by_file.stdout and by_run.returncode == by_file.returncode
    same = check(exported, "--not-worse", "brier", "--baseline", exported)
    assert same.returncode == 0 and "these are the same answers" in same.stdout


def test_little_is_said_to_show_little(check, tmp_path):
    few = altered(tmp_path / "few.csv", lambda c, n: c, questions=4)
    done = check(few, "--max", "ece=.3", "--min-complete", "0")
    assert done.returncode == 0 and "; 56 questions not answered" in done.stdout and "with 4 questions, little" in done.stdout
    blank = altered(tmp_path / "blank.csv", lambda c, n: "" if n < 2 else c, questions=4)
    assert "; 2 answers without a confidence" in check(blank, "--max", "ece=.3").stdout
    single = altered(tmp_path / "one.csv", lambda c, n: c, questions=1)
    done = check(single, "--max", "ece=1", "--max", "ece=0.001", "--min-complete", "0.01")
    assert ": holds by the value alone, because there is no interval" in done.stdout.splitlines()[2]
    assert ": fails by the value alone, because there is no interval" in done.stdout.splitlines()[3]


def test_answers_that_no_rule_can_tell_apart_hold(check, answers):
    """Other confidences for the same guesses: the accuracy differs on no question, so there is neither interval nor p-value."""
    done = check(answers, "--not-worse", "accuracy", "--baseline", BASELINE)
    assert done.returncode == 0 and "difference 0.000, not worse than the baseline: holds by the value alone" in done.stdout


def failing(path, rows):
    """Write the baseline's answers, those in ``rows`` as failed calls."""
    altered(path, lambda c, n: c)
    with path.open(encoding="utf-8") as file:
        answers = [*csv.DictReader(file)]
    for number, row in enumerate(answers):
        row["failed"] = "1" if number in rows else "0"
        if number in rows:
            row["guess"] = row["confidence"] = ""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, answers[0])
        writer.writeheader()
        writer.writerows(answers)
    return path


RULES = ("--min", "attempted=.95", "--strict")  # which a run of a few answers keeps


def test_a_run_that_broke_off_fails(check, tmp_path):
    """A harness that died after ten of sixty questions is no run, however good its answers are."""
    few = altered(tmp_path / "few.csv", lambda c, n: c, questions=10)
    summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
    done = check(few, *RULES, "--summary", summary, "--junit", junit)
    line = "Completeness 16.6 % of 60 questions answered, 0 failed calls, at least 90 %: fails"
    assert done.returncode == 1 and done.stdout.splitlines()[1] == f"  {line}"
    cells = "| ❌ | Completeness | 16.6 % of 60 questions answered, 0 failed calls | at least 90 % | fails |"
    assert cells in summary.read_text(encoding="utf-8")
    (case,) = ElementTree.parse(junit).getroot().findall("testcase[failure]")
    assert case.get("name") == "Completeness at least 90 %" and case.findtext("system-out") == line
    for least, code in (("0.17", 1), ("0.166", 0), ("0", 0)):
        done = check(few, *RULES, "--min-complete", least)
        assert done.returncode == code and "16.6 % of 60 questions answered" in done.stdout, done.stdout


def test_failed_calls_are_no_answers(check, tmp_path):
    half = failing(tmp_path / "half.csv", range(0, 339, 2))
    with half.open(encoding="utf-8") as file:
        shares = {}
        for row in csv.DictReader(file):
            shares.setdefault(row["question_id"], []).append(row["failed"] == "0")
    share = sum(sum(part) / len(part) for part in shares.values()) / 60
    assert 0.4 < share < 0.6
    done = check(half, *RULES)
    assert done.returncode == 1
    assert f"Completeness {int(1000 * share) / 10:g} % of 60 questions answered, 170 failed calls, at least" in done.stdout
    one = failing(tmp_path / "one.csv", [7])
    done = check(one, *RULES)
    assert done.returncode == 0 and "60 questions answered, 1 failed call, at least 90 %: holds" in done.stdout


def test_filters_say_which_questions_have_to_be_answered(check, tmp_path):
    """Twenty of sixty questions, which are all of two of the six categories."""
    with (ROOT / "data/sample/pyramid/questions.csv").open(encoding="utf-8") as file:
        categories = [row["category"] for row in csv.DictReader(file)]
    few = altered(tmp_path / "few.csv", lambda c, n: c, questions=20)
    answered = categories[:20]
    assert check(few, *RULES).returncode == 1
    done = check(few, *RULES, "--query", f"category={answered[0]}")
    assert f"Completeness 100 % of {categories.count(answered[0])} questions answered" in done.stdout, done.stdout
    assert done.returncode == 0
    done = check(few, *RULES, "--query", f"category={categories[-1]}")
    assert done.returncode == 1 and "Completeness 0 % of" in done.stdout


def test_a_dataset_of_the_file_is_none_of_the_store(cli, seeded, tmp_path):
    """A table of another project brings its own questions, of which none can be missing."""
    table = tmp_path / "ci.csv"
    table.write_text("model,question,confidence,correct\na,q1,.9,1\na,q2,.2,0\n", encoding="utf-8")
    for options, code, says in (
        (("--dataset", "nope"), 2, "The store has no dataset 'nope'. There are: pyramid, "),
        (("--dataset", "nope", "--min-complete", "0"), 2, "The store has no dataset 'nope'. There are: pyramid, "),
        ((), 2, "nothing says which questions are missing"),
        (("--min-complete", "0"), 0, "2 items of 2 questions of ci\n  Completeness 100 % of 2 questions answered, "),
    ):
        done = cli("check", table, "--max", "brier=.9", *options, store=seeded)
        assert done.returncode == code and says in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ((), "--max ece=.1"),
        (("--max", "ece"), "METRIC=NUMBER"),
        (("--max", "eec=.1"), "there are: brier"),
        (("--not-worse", "brier"), "--baseline RUN"),
        (("--not-worse", "uncertainty", "--baseline", BASELINE), "a metric that ranks runs"),
        (("--not-worse", "overconfidence", "--baseline", BASELINE), "limit it with --max and --min"),
        (("--not-worse", "brier", "--baseline", "absent"), f"There are: {BASELINE}"),
        (("--max", "ece=1", "--query", "binning=none"), "There are: width10"),
        (("--max", "ece=1", "--dataset", "absent"), "The store has no dataset 'absent'. There are: pyramid, "),
        (("--max", "ece=1", "--query", "run=absent"), f"There are: {BASELINE}"),
        (("--max", "ece=1", "--min-complete", "90"), "0<=x<=1"),
        (("--max", "ece=1", "--junit", "/absent/file.xml"), "choose another file"),
    ],
)
def test_a_mistake_is_code_two_and_says_how_to_go_on(check, answers, options, advice):
    done = check(answers, *options)
    assert done.returncode == 2 and advice in done.stderr, done.stderr


def test_a_store_that_is_absent_or_damaged(cli, answers, copied, tmp_path, monkeypatch):
    """The bundled datasets can be answered without any store, and none is made."""
    monkeypatch.setattr("clueline.dashboard.cli.check.seed", seed_without_models)
    done = cli("check", answers, "--dataset", "pyramid", "--max", "ece=1", "--store", tmp_path / "absent")
    assert done.returncode == 0 and not (tmp_path / "absent").exists()
    (copied / "CURRENT").write_text("damaged", encoding="utf-8")
    done = cli("check", answers, "--dataset", "pyramid", "--max", "ece=1", store=copied)
    assert done.returncode == 2 and "clueline repair" in done.stderr


def test_the_documentation_shows_what_is_printed(check):
    text = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    command = text.partition("against a third:\n\n```sh\n")[2].partition("```")[0].replace("\\\n", " ").split()
    done = check(ROOT / command[2], *command[5:])
    assert done.stdout and f"```text\n{done.stdout}```" in text


def test_the_workflow_of_the_documentation_runs(answers, copied, api, tmp_path):
    text = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    assert len(text.splitlines()) <= 13
    *_, command = [step["run"] for step in yaml.safe_load(text)["jobs"]["check"]["steps"] if "run" in step]
    shutil.copy(answers, tmp_path / "answers.csv")
    copied.rename(tmp_path / "calibration")
    (tmp_path / "baseline.csv").write_bytes(api(f"runs/{BASELINE}/responses.csv").data)
    summary = tmp_path / "summary.md"
    summary.write_text("An earlier step.\n", encoding="utf-8")
    command = command.replace("clueline ", f"{sys.executable} -m clueline ", 1)
    environment = os.environ | {"PYTHONPATH": str(PACKAGE), "GITHUB_STEP_SUMMARY": str(summary)}
    done = subprocess.run(command, shell=True, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    suite = ElementTree.parse(tmp_path / "calibration.xml").getroot()
    assert done.returncode == (suite.get("failures") != "0"), done.stderr
    assert [case.get("name") for case in suite] == [
        "Completeness at least 90 %", "ECE at most 0.5",
        "Brier not worse than the baseline", "CalScore not worse than the baseline",
    ]  # fmt: skip
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures"))
    lines = [case.findtext("system-out") for case in suite]
    assert lines == [line.strip() for line in done.stdout.splitlines()[1:]]
    written = summary.read_text(encoding="utf-8")
    assert written.startswith("An earlier step.\n") and written.count("\n| ✅ |") + written.count("\n| ❌ |") == 4
    assert "\n| ✅ | Completeness | 100 % of 60 questions answered, 0 failed calls | at least 90 % | holds |\n" in written


def test_within_a_margin_is_shown_by_the_whole_interval(check, answers, api, tmp_path):
    """Unlike --not-worse alone, few questions show nothing, and fail. What is better by more than the interval holds."""
    difference = api(f"compare?dataset=pyramid&a=RUN&b={BASELINE}&metrics=brier,accuracy").json["metrics"]
    most = difference["brier"]["high"]
    assert difference["brier"]["low"] < most
    rule = ("--not-worse", "brier", "--baseline", BASELINE)
    for margin, code, says in [
        (most + 1e-6, 0, "holds, the whole interval is within the margin"),
        (most - 1e-6, 1, "fails, the interval reaches beyond the margin"),
    ]:
        done = check(answers, *rule, "--margin", margin)
        assert done.returncode == code and says in done.stdout and f"less than {margin:g} worse" in done.stdout, done.stdout
    worse = altered(tmp_path / "worse.csv", lambda c, n: round(1 - c, 4))
    assert "fails, the whole interval is beyond the margin" in check(worse, *rule, "--margin", 0.0001).stdout
    few = altered(tmp_path / "few.csv", lambda c, n: min(1, round(c + 0.001, 4)), questions=1)
    done = check(few, *rule, "--margin", 0.5, "--min-complete", 0)
    assert done.returncode == 1 and "fails, nothing shows how large the difference is" in done.stdout


def test_a_margin_of_what_is_best_high_is_of_the_lower_end(check, answers, api, tmp_path):
    low = api(f"compare?dataset=pyramid&a=RUN&b={BASELINE}&metrics=auroc").json["metrics"]["auroc"]["low"]
    assert low < 0
    rule = ("--not-worse", "auroc", "--baseline", BASELINE, "--margin")
    assert [check(answers, *rule, margin).returncode for margin in (-low + 1e-6, -low - 1e-6)] == [0, 1]
    surer = altered(tmp_path / "surer.csv", lambda c, n: min(1, round(c + 0.001, 4)))
    done = check(surer, "--not-worse", "accuracy", "--baseline", BASELINE, "--margin", 0.01)
    assert done.returncode == 0 and "holds, the values are the same" in done.stdout, done.stdout


def test_a_margin_needs_a_comparison_by_intervals(check, answers):
    for options in (("--max", "ece=1"), ("--not-worse", "brier", "--baseline", BASELINE, "--strict")):
        done = check(answers, *options, "--margin", 0.1)
        assert done.returncode == 2 and "--margin says how much worse" in done.stderr


def test_a_named_baseline_is_the_latest_run_with_its_tag(cli, seeded, answers, tmp_path):
    store = shutil.copytree(seeded, tmp_path / "store", ignore=shutil.ignore_patterns("cache"))
    others = create_app(Settings(store=str(store), workers=1)).test_client()
    (other, *_) = [run["run"] for run in others.get("/api/v1/runs?dataset=pyramid").json["runs"] if run["run"] != BASELINE]
    assert cli("tag", other, "baseline=prod", "date=2026-01-01", store=store).returncode == 0
    assert cli("tag", BASELINE, "baseline=prod", "date=2026-01-02", store=store).returncode == 0
    rule = ("check", answers, "--dataset", "pyramid", "--not-worse", "brier", "--baseline")
    assert cli(*rule, "prod", store=store).stdout == cli(*rule, BASELINE, store=store).stdout != ""
    client = create_app(Settings(store=str(store), workers=1)).test_client()
    compared = client.get(f"/api/v1/compare?dataset=pyramid&a={other}&b=prod&metrics=brier").json
    assert (compared["a"]["run"], compared["b"]["run"]) == (other, BASELINE)
    unknown = cli(*rule, "staging", store=store)
    assert unknown.returncode == 2 and "tag `baseline`" in unknown.stderr
