"""``clueline score``: the metrics of a file as if it had been imported. The store does not change."""

import json

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.importing.run_gradings import grade_guesses
from tests.helpers.stores import file_times

HEADER = "question_id,clue,guess,confidence"
ROWS = ("lit-01,0,Dracula,0.25", "lit-01,1,Frankenstein,0.75", "lit-01,2,Frankenstein,1", "lit-02,0,,0")
WHERE = ("--dataset", "pyramid", "--model", "My model", "--elicitation", "said")


@pytest.fixture
def answers(tmp_path):
    def write(*rows, header=HEADER, name="answers.csv"):
        path = tmp_path / name
        path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
        return path

    return write


def scored(cli, store, *arguments):
    done = cli("score", *arguments, "--json", store=store)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_scores_equal_those_of_the_later_leaderboard(cli, copied, answers):
    path = answers(*ROWS)
    before = file_times(copied)
    result = scored(cli, copied, path, *WHERE, "--binning", "mass2", "--human", "survival", "--beta", "2", "--t", "0.3")
    assert file_times(copied) == before
    (run,) = result["runs"]
    assert cli("import", path, *WHERE, store=copied).returncode == 0
    client = create_app(Settings(store=str(copied), workers=1)).test_client()
    query = f"dataset=pyramid&run={run['run']}&binning=mass2&human=survival&beta=2&t=0.3"
    board = client.get(f"/api/v1/leaderboard?{query}").json
    assert {key: result[key] for key in board} == board | {"data_version": result["data_version"]}
    assert set(result) == {*board, "runs", "warnings", "repaired"}
    assert result["data_version"] != board["data_version"]
    facts = client.get(f"/api/v1/runs/{run['run']}").json
    assert {key: run[key] for key in run if key in facts} == {key: facts[key] for key in run if key in facts}
    assert (run["items"], run["questions"], run["missing_questions"], run["already_stored"]) == (4, 2, 58, False)
    again = scored(cli, copied, path, *WHERE)
    assert again["runs"] == [run | {"already_stored": True, "stored": True}]
    assert again["rows"] == client.get(f"/api/v1/leaderboard?dataset=pyramid&run={run['run']}").json["rows"]


def test_a_figure_by_hand(cli, seeded, answers):
    """Wrong at 0.25, right at 0.75 and 1, no answer at 0."""
    result = scored(cli, seeded, answers(*ROWS), *WHERE, "--metrics", "brier,accuracy,mean_confidence,macro_ce")
    (row,) = result["rows"]
    values = {key: cell["value"] for key, cell in row["metrics"].items()}
    assert list(values) == ["brier", "accuracy", "mean_confidence", "macro_ce"]
    assert values["brier"] == pytest.approx((0.25**2 + 0.25**2 + 0 + 0) / 4, abs=1e-15)
    assert (values["accuracy"], values["mean_confidence"]) == (0.5, 0.5)
    assert values["macro_ce"] == pytest.approx(((0.25 + 0) / 2 + (0.25 + 0) / 2) / 2, abs=1e-15)
    # The grades come from the answer line.
    line = "Frankenstein [accept The Modern Prometheus]"
    assert grade_guesses([("incremental", "d", "q", guess, line, None, None, None) for guess in ("Dracula", "Frankenstein")])[
        "correct"
    ].to_list() == [0.0, 1.0]


def test_several_runs_and_files_are_ranked_together(cli, seeded, answers):
    header = f"{HEADER},model,elicitation"
    two = answers(*(f"{row},{model},v" for model in "AB" for row in ROWS), header=header, name="two.csv")
    single = answers(*(f"{row.replace('0.75', '0.1')},C,v" for row in ROWS), header=header, name="one.csv")
    result = scored(cli, seeded, two, single, "--dataset", "pyramid", "--metrics", "brier")
    assert [row["model"] for row in result["rows"]] == [run["model"] for run in result["runs"]] == ["A", "B", "C"]
    assert [row["metrics"]["brier"]["rank"] for row in result["rows"]] == [1.5, 1.5, 3]


def test_skipped_rows_of_another_format_are_counted(cli, seeded, answers):
    path = answers("80,0.5,1", "none,0.5,2", "70,2,3", header="Answer,Confidence,Question ID")
    result = scored(cli, seeded, path, "--model", "m")
    (run,) = result["runs"]
    assert run["skipped"] == {"answer is not a number": 1, "confidence outside [0, 1]": 1}
    assert (run["items"], run["no_confidence"], run["unparsed"], run["missing_questions"]) == (1, 1, 1, 805)
    assert result["selection"]["dataset"] == ["lifeeval"]
    calscore = result["rows"][0]["metrics"]["calscore"]
    assert calscore["value"] is None and "human" in calscore["missing"]


def test_percent_and_warnings(cli, seeded, answers):
    path = answers('lit-01,0,x,"{""x"": 3, ""y"": 1}",', "lit-01,1,y,,75", header="question_id,clue,guess,options,confidence")
    result = scored(cli, seeded, path, *WHERE, "--confidence-scale", "percent", "--metrics", "mean_confidence")
    assert result["rows"][0]["metrics"]["mean_confidence"]["value"] == 0.75
    assert result["warnings"] == ["distributions in `options` that did not sum to 1 and were normalised: 1"]


def test_the_default_output_is_a_readable_table(cli, seeded, answers):
    done = cli("score", answers(*ROWS), *WHERE, "--metrics", "brier,auroc,resolution", store=seeded)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "My model (said): 4 items of 2 questions; 58 questions not answered"
    assert [line.split()[:2] for line in lines[1:]] == [["brier", "0.031250"], ["auroc", "1.000000"], ["resolution", "0.250000"]]
    alone = cli("score", answers("lit-01,0,Dracula,0.25"), *WHERE, "--metrics", "auroc", store=seeded).stdout.splitlines()
    assert alone[1].split()[:2] == ["auroc", "-"] and len(alone[1].split()) > 3


def test_a_bad_file_is_refused_with_the_report_of_an_import(cli, copied, answers):
    path = answers("lit-01,0,x,1.5", "lit-99,0,x,0.5", "lit-01,9,x,0.5", "lit-01,1,,")
    before = file_times(copied)
    done, imported = (cli(command, path, *WHERE, store=copied) for command in ("score", "import"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "4 problems; nothing was scored" in done.stderr
    assert done.stderr.splitlines()[1:] == imported.stderr.splitlines()[1:]
    assert file_times(copied) == before


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--model", "m", "--json"], 1, "--dataset"),
        (["--dataset", "pyramid", "--json"], 1, "--model"),
        (["--dataset", "nowhere", "--model", "m", "--json"], 1, "there is no dataset 'nowhere'"),
        ([*WHERE, "--metrics", "beauty"], 2, "There is no metric 'beauty'"),
        ([*WHERE, "--binning", "width7"], 2, "There is no binning 'width7'"),
        ([*WHERE, "--human", "everyone"], 2, "There is no human curve 'everyone'"),
        ([*WHERE, "--beta", "0"], 2, "beta must be above 0"),
        ([*WHERE, "--beta", "two"], 2, "beta must be a number"),
        ([*WHERE, "--t", "1"], 2, "t must be at least 0 and below 1"),
        ([*WHERE, "--as", "nothing"], 2, "this version reads"),
        ([*WHERE, "--replace"], 2, "No such option"),
    ],
)
def test_missing_and_wrong_options_are_named(cli, seeded, answers, arguments, code, message):
    done = cli("score", answers(*ROWS), *arguments, store=seeded)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr and ("Usage:" in done.stderr) == (code == 2)


def test_no_files_is_a_usage_error(cli, seeded):
    assert cli("score", "--dataset", "pyramid", store=seeded).returncode == 2


def test_an_empty_store_is_reported_and_stays_empty(cli, tmp_path, answers):
    done = cli("score", answers(*ROWS), *WHERE, store=tmp_path / "store")
    assert done.returncode == 1 and "no dataset yet. To fill it: clueline import" in done.stderr
    assert not (tmp_path / "store").exists()


def test_runs_of_one_file_can_answer_different_questions(cli, seeded, answers):
    """Two runs have nine of ten questions in common, and the third answered one."""
    names = [f"lit-{number:02d}" for number in range(1, 11)]
    rows = [
        f"{question},0,x,0.5,{model},v"
        for model, answered in (("A", names), ("B", names[1:]), ("C", names[:1]))
        for question in answered
    ]
    path = answers(*rows, header=f"{HEADER},model,elicitation")
    where = ("--dataset", "pyramid", "--metrics", "brier")
    by_model = {row["model"]: row for row in scored(cli, seeded, path, *where)["rows"]}
    assert [(row["answered"], row["questions"], row["ranked"]) for _, row in sorted(by_model.items())] == [
        (10, 10, True), (9, 9, True), (1, 1, False),
    ]  # fmt: skip
    text = cli("score", path, *where, store=seeded).stdout
    assert "10 questions; 50 questions not answered\n" in text and "; not ranked: answered 1 of 10" in text
    text = cli("score", path, *where, "--common", "1", store=seeded).stdout
    assert "10 questions; 50 questions not answered; measured on 9 items of 9 questions\n" in text
    assert "measured on 1 item of 1 question; not ranked: answered 1 of 10" in text
    own = scored(cli, seeded, path, *where, "--common", "0")
    assert own["common"] is None and [row["questions"] for row in own["rows"]] == [10, 9, 1]
    refused = cli("score", path, *where, "--common", "2", store=seeded)
    assert refused.returncode == 2 and "--common" in refused.stderr
