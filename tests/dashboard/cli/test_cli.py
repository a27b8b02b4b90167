"""The command line."""

import json
import os
import re
import signal
import socket
from pathlib import Path

import httpx
import pytest

from clueline.dashboard.cli import COMMANDS
from clueline.dashboard.settings import VERSION
from clueline.data.importing.seed import BUNDLED
from tests.helpers.paths import ROOT
from tests.helpers.serving import start_server
from tests.helpers.stores import file_times, listed_datasets

HEADER = "question_id,clue,guess,confidence,model,elicitation"
RELEASED = [(sex, age, radius) for sex in ("man", "woman") for age in range(101) for radius in (1, 5, 10, 20)]


@pytest.fixture
def responses(tmp_path):
    """Write files of responses to the bundled Pyramid questions."""

    def write(*rows, name="answers.csv", header=HEADER):
        path = tmp_path / name
        path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
        return path

    return write


def test_a_good_file_is_imported_once(cli, copied, responses):
    path = responses("lit-01,0,Dracula,0.25,My model,verbalized", "lit-01,1,Frankenstein,0.75,My model,verbalized")
    done = cli("import", path, "--dataset", "pyramid", store=copied)
    assert done.returncode == 0, done.stderr
    assert "answers.csv: read as responses" in done.stdout
    assert "My model" in done.stdout
    assert "pyramid: Pyramid (incremental), 60 questions, 9 runs, 12 human teams" in listed_datasets(cli, copied)
    before = file_times(copied)
    assert cli("import", path, "--dataset", "pyramid", store=copied).returncode == 0
    assert file_times(copied) == before


def test_later_grades_are_reported(cli, copied, responses):
    header = "question_id,clue,guess,confidence,correct"
    options = ("--dataset", "pyramid", "--model", "m", "--elicitation", "e")
    first = cli("import", responses("lit-01,0,x,0.5,0", header=header), *options, store=copied)
    second = cli("import", responses("lit-01,0,x,0.5,1", name="second.csv", header=header), *options, store=copied)
    below = "warning: m (e) is not ranked among the runs of pyramid: answered 1 of 339\n"
    assert first.stderr == below and "already there, gets the grading 'second'" in second.stdout
    assert second.stderr.endswith(f"has these answers already: the grades are added to it as 'second'\n{below}")


def test_a_run_with_the_name_of_a_stored_one_gets_a_warning(cli, copied, responses):
    options = ("--dataset", "pyramid", "--model", "m", "--elicitation", "e")
    header = "question_id,clue,guess,confidence"
    for row in ("lit-01,0,x,0.5", "lit-02,0,x,0.5"):
        done = cli("import", responses(row, header=header), *options, store=copied)
    warning, below, remedy = done.stderr.splitlines()
    assert below.endswith("is not ranked among the runs of pyramid: answered 1 of 339")
    assert "only other questions or clues. Nothing says when it was evaluated" in warning
    assert remedy.startswith("  for one run of all questions, import all")


BAD_ROWS = [
    ("lit-01,0,x,1.75,M,v", "confidence", "1.75"),
    ("lit-99,0,x,0.5,M,v", "question_id", "lit-99"),
    ("lit-01,6,x,0.5,M,v", "clue", "6"),
    (",0,x,0.5,M,v", "question_id", None),
]


def test_a_bad_file_is_refused_with_every_bad_row(cli, copied, responses):
    before = file_times(copied)
    path = responses("lit-02,0,fine,0.5,M,v", *(row for row, _, _ in BAD_ROWS))
    done = cli("import", path, "--dataset", "pyramid", store=copied)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "nothing was imported" in done.stderr
    lines = done.stderr.splitlines()
    missing = []
    for line, (_, column, value) in enumerate(BAD_ROWS, start=3):
        place = f"answers.csv, line {line}, column {column}" + (f", value {value!r}" if value else "")
        matches = [text for text in lines if text.startswith(place)]
        if not any(text.removeprefix(place).strip(": ") for text in matches):
            missing.append(place)
    assert not missing, done.stderr
    assert file_times(copied) == before


def test_percent_is_suggested_and_taken_with_the_option(cli, copied, responses):
    path = responses("lit-01,0,x,75,M,v", "lit-01,1,x,90,M,v")
    refused = cli("import", path, "--dataset", "pyramid", store=copied)
    assert refused.returncode == 1
    assert "must lie in [0, 1]; if the file has percentages, add --confidence-scale percent" in refused.stderr
    done = cli("import", path, "--dataset", "pyramid", "--confidence-scale", "percent", store=copied)
    assert done.returncode == 0, done.stderr


def test_very_many_bad_rows_are_written_to_a_file(cli, copied, responses, tmp_path):
    path = responses(*(f"no-{index},0,x,0.5,M,v" for index in range(450)))
    done = cli("import", path, "--dataset", "pyramid", store=copied)
    assert done.returncode == 1
    assert "450 problems" in done.stderr
    assert "answers.csv, column question_id, 450 times: no such question in dataset pyramid; as in line 2 ('no-0')" in done.stderr
    assert len(done.stderr.splitlines()) < 5
    report = Path(done.stderr.strip().splitlines()[-1].split(": ")[-1])
    try:
        assert len(report.read_text(encoding="utf-8").splitlines()) == 451
    finally:
        report.unlink()


def test_several_files_are_imported_together_or_not_at_all(cli, copied, responses):
    good = responses("lit-01,0,x,0.5,Good,v", name="good.csv")
    bad = responses("lit-01,0,x,5,Bad,v", name="bad.csv")
    before = file_times(copied)
    done = cli("import", good, bad, "--dataset", "pyramid", store=copied)
    assert done.returncode == 1 and "bad.csv" in done.stderr
    assert file_times(copied) == before
    assert cli("import", good, "--dataset", "pyramid", store=copied).returncode == 0


def test_an_unreadable_file_is_refused_with_a_reason(cli, copied, tmp_path):
    path = tmp_path / "missing.csv"
    for content, message in (
        (None, "missing.csv"), (b"", "empty"), (b"a,b\n1,2\n", "not recognised"),
        (f"{HEADER}\nlit-01,0,x,0.5,M,v\n".encode(), "--dataset"),
        (HEADER.encode() + b"\nlit-01,0,\xff\xfe,0.5,M,v\n", "UTF-8"),
        (b"\x1f\x8b\x08\x00garbage", "gzip"), (b"PK\x03\x04garbage", "zip"),
    ):  # fmt: skip
        if content is not None:
            path.write_bytes(content)
        done = cli("import", path, store=copied)
        assert done.returncode == 1
        assert "missing.csv" in done.stderr and message in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [
    "import", "import x.csv --as nothing", "import x.csv --confidence-scale permille", "import x.csv --colour red", "nothing",
    "datasets x",
])  # fmt: skip
def test_usage_errors_exit_2(cli, tmp_path, arguments):
    done = cli(*arguments.split(), store=tmp_path / "store")
    assert done.returncode == 2 and "Usage:" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("settings", [{"port": "0"}, {"workers": "many"}, {"uploads": "maybe"}, {"store": "s3://bucket"}])
def test_a_bad_setting_exits_2_and_is_named(cli, settings):
    done = cli("datasets", **settings)
    (name,) = settings
    assert done.returncode == 2
    assert f"CLUELINE_{name.upper()}" in done.stderr


@pytest.mark.parametrize("command", ["", *COMMANDS, "export dataset", "export run", "token create", "models merge"])
def test_help(cli, command):
    done = cli(*command.split(), "--help")
    assert done.returncode == 0 and done.stdout.startswith(f"Usage: clueline {command}".rstrip() + " [")


def test_help_has_every_command_under_its_task(cli):
    text = cli("--help").stdout
    sections = re.findall(r"^(\S[^:\n]*):\n((?:  .*\n)+)", text, re.MULTILINE)
    listed = {name: title for title, lines in sections for name in re.findall(r"^  ([a-z]+) +[A-Z]", lines, re.MULTILINE)}
    assert listed.keys() == COMMANDS.keys() and len({*listed.values()}) == 5 and "..." not in text.partition("Options:")[2]


def test_datasets_of_an_empty_store(cli, tmp_path):
    assert "is empty" in listed_datasets(cli, tmp_path / "store")[0]
    assert not (tmp_path / "store").exists()


def write_released(path):
    """Write questions in the form of the LifeEval release."""
    rows = [
        f'"A {sex} has lived to {age}.","Sure within {radius} years?",80,{index}'
        for index, (sex, age, radius) in enumerate(RELEASED)
    ]
    path.write_text("\n".join(["Question Prompt,Confidence Prompt,True Lifespan,Question ID", *rows, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("options", "listed"), [(("--dataset", "released", "--title", "Released"), "released: Released"), ((), "lifeeval: LifeEval")]
)
def test_an_import_into_an_empty_store_brings_no_samples(cli, tmp_path, options, listed):
    """These questions are the bundled dataset LifeEval in another wording."""
    store = tmp_path / "store"
    done = cli("import", write_released(tmp_path / "released.csv"), *options, store=store)
    assert done.returncode == 0, done.stderr
    assert "released.csv: read as lifeeval" in done.stdout
    assert listed_datasets(cli, store) == [f"{listed} (lifeeval), 808 questions, 0 runs"]


def test_answers_to_a_sample_bring_the_samples_first(cli, tmp_path):
    path, store = tmp_path / "answers.csv", tmp_path / "store"
    path.write_text("question_id,clue,guess,confidence\nlit-01,0,Dracula,0.25\n", encoding="utf-8")
    assert cli("import", path, "--dataset", "pyramid", "--model", "m", store=store).returncode == 0
    assert [line.partition(":")[0] for line in listed_datasets(cli, store)] == [path.name for path in BUNDLED]
    refused = cli("datasets", "samples", "remove", store=store)
    assert refused.returncode == 1 and "runs to pyramid; nothing was removed" in refused.stderr


def test_the_port_can_be_an_option(cli, cli_process, copied):
    """The option is checked as the setting is, and it takes precedence. A taken port is reported in one line."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = cli_process("serve", "--port", port, store=copied, port=1)
    (line,) = done.stderr.strip().splitlines()
    assert done.returncode == 1 and f"port {port}" in line and "CLUELINE_PORT" in line
    done = cli("serve", "--port", "x", store=copied)
    assert done.returncode == 2
    assert "--port" in done.stderr and "must be a whole number from 1 to 65535, not 'x'" in done.stderr


def test_the_version_is_that_of_pyproject(cli, cli_process):
    assert cli("--version").stdout == f"Clueline {VERSION}\n"
    assert cli_process("--help").stdout.startswith("Usage: clueline ")
    assert f'\nversion = "{VERSION}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_a_misspelt_setting_gets_a_warning(cli, copied):
    done = cli("datasets", store=copied, prot=8051)
    assert done.returncode == 0
    assert done.stderr == "warning: there is no setting CLUELINE_PROT; did you mean CLUELINE_PORT?\n"


def test_a_server_ends_at_once_and_quietly(copied, tmp_path):
    """Ctrl-C reaches the whole process group. A supervisor's SIGTERM: ``tests/dashboard/process/test_draining.py``."""
    served = start_server(copied, tmp_path / "log", workers=1, as_options=True)
    try:
        assert httpx.get(f"{served.address}/healthz", timeout=300).json() == {"status": "ok", "version": VERSION}
        for index in range(12):
            address = f"{served.address}/api/v1/leaderboard?dataset=pyramid&revealed=0..0.{index + 10}"
            httpx.get(address, timeout=300).raise_for_status()
        os.killpg(served.process.pid, signal.SIGINT)
        served.process.wait(300)  # it would wait half an hour for work that does not end
    finally:
        served.stop()
    log = served.log.read_text()
    assert "SIG" not in log and "terminate called" not in log and "Traceback" not in log, log


def test_predictions_need_the_order_of_their_classes(cli, copied, tmp_path):
    items, predictions = tmp_path / "items.jsonl", tmp_path / "predictions.jsonl"
    example = {"premise": "A man sleeps.", "hypothesis": "A man dreams."}
    items.write_text(json.dumps({"uid": "a", "label_count": [5, 4, 1], "majority_label": "e", "example": example}))
    predictions.write_text(json.dumps({"uid": "a", "pred": 0, "probs": [0.5, 0.2, 0.3]}))
    assert cli("import", items, "--dataset", "nli", store=copied).returncode == 0
    command = ("import", predictions, "--dataset", "nli", "--model", "m", "--elicitation", "softmax")
    done = cli(*command, store=copied)
    assert done.returncode == 1
    assert "the dataset has entailment, neutral, contradiction; add --classes A,B,C" in done.stderr
    done = cli(*command, "--classes", "entailment,contradiction,neutral", store=copied)
    assert done.returncode == 0, done.stderr
    assert "(m, softmax, nli): 1 item of 1 question imported" in done.stdout
    assert "nli: ChaosNLI (votes), 1 question, 1 run, 10 human votes" in listed_datasets(cli, copied)


def test_tokens_are_created_listed_and_revoked(cli, tmp_path):
    """Standard output has only the token, which is shown once."""
    store = tmp_path / "store"
    made = cli("token", "create", "ann", store=store)
    assert (made.returncode, made.stderr) == (0, "")
    token = made.stdout.removesuffix("\n")
    assert re.fullmatch(r"clueline_[A-Za-z0-9_-]{43}", token)
    listed = cli("token", "list", store=store)
    assert token not in listed.stdout and re.fullmatch(r"ann\t\S+Z\tvalid\tupload\tnever\n", listed.stdout)
    taken = cli("token", "create", "ann", store=store)
    assert (taken.returncode, taken.stdout) == (1, "") and "there is a token 'ann' already" in taken.stderr
    assert cli("token", "revoke", "ann", store=store).returncode == 0
    assert re.fullmatch(r"ann\t\S+Z\trevoked \S+Z\tupload\tnever\n", cli("token", "list", store=store).stdout)
    unknown = cli("token", "revoke", "bob", store=store)
    assert unknown.returncode == 1 and "there is no token 'bob'" in unknown.stderr
    assert cli("token", "create", "a b", store=store).returncode == 1
    assert cli("token", "create", store=store).returncode == 2
