"""The wheel holds one package, which works beside foreign packages with the names of the checkout's."""

import os
import re
import subprocess
import sys
import urllib.request
import zipfile

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.serving import environment, free_port
from tests.helpers.waiting import wait_until

TABLE = "question,model,confidence,correct\nOf what?,m,0.9,1\nBy whom?,m,0.8,0\n"
ASK = """
import sys
from clueline import Client
assert not {"flask", "dash", "duckdb"} & {*sys.modules}, "the client needs no server"
print(*Client(sys.argv[1]).leaderboard(dataset="answers", metrics=["accuracy"])["value"])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT], check=True, timeout=600)
    (built,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", built], check=True, timeout=600)
    for name in ("data", "queries", "dashboard"):
        (folder / "foreign" / name).mkdir(parents=True)
        (folder / "foreign" / name / "__init__.py").write_text(f"raise RuntimeError('a foreign package named {name}')")
    return built, folder


@pytest.fixture
def command(wheel, tmp_path):
    """Run the command, or Python, where only the wheel and foreign packages are on the path."""
    _, folder = wheel
    path = os.pathsep.join((str(folder / "foreign"), str(folder / "site")))
    settings = environment() | {"PYTHONPATH": path, "CLUELINE_STORE": str(tmp_path / "store"), "CLUELINE_PORT": str(free_port())}

    def run(*arguments, start=False, refused=False):
        given = {"cwd": folder / "foreign", "env": settings, "text": True}
        if start:
            return subprocess.Popen([sys.executable, *arguments], **given), f"http://127.0.0.1:{settings['CLUELINE_PORT']}"
        done = subprocess.run([sys.executable, *arguments], capture_output=True, timeout=600, check=False, **given)
        assert done.returncode == refused, done.stderr
        return done.stderr if refused else done.stdout

    return run


def test_it_has_one_folder_and_one_command(wheel):
    names = zipfile.ZipFile(wheel[0]).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"clueline"}
    assert {"clueline/assets/clueline.css", "clueline/data/sample/pyramid/clues.csv", "clueline/docs/metrics.md"} <= {*names}
    assert [path.name for path in (wheel[1] / "site" / "bin").iterdir()] == ["clueline"]


def test_no_module_needs_the_checkout(wheel):
    for path in (wheel[1] / "site" / "clueline").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) (data|queries|dashboard)\b(\.| import|$)", source, re.MULTILINE), path


def test_it_asks_what_a_table_does_not_say(command, tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "answers.csv").write_text(
        "question,model,probability,score\nOf what?,m,0.9,0.5\nBy whom?,m,0.8,0.25\n"
    )
    asked = command("-m", "clueline", "import", str(tmp_path / "tables"), refused=True)
    assert f"For example: clueline import {tmp_path}" in asked


def test_a_checkout_runs_where_nothing_is_installed(tmp_path):
    """Without the file of site-packages that names it, which ``-S`` skips, and processes that it starts find it, too."""
    libraries = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    (tmp_path / "answers.csv").write_text(TABLE)
    settings = environment(store=tmp_path / "store", samples="no") | {"PYTHONPATH": libraries}
    for module, runs in (("clueline", False), ("dashboard", True)):
        command = [sys.executable, "-S", "-m", module, "import", str(tmp_path / "answers.csv")]
        done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=600, check=False)
        assert (done.returncode == 0) == runs, done.stderr
    assert "2 items of 2 questions imported" in done.stdout


def answers(address):
    try:
        return urllib.request.urlopen(address, timeout=10).status == 200
    except OSError:  # nobody listens yet, or the server is slow
        return False


def test_it_imports_serves_and_answers(command, tmp_path):
    (tmp_path / "answers.csv").write_text(TABLE)
    assert "2 items of 2 questions imported" in command("-m", "clueline", "import", str(tmp_path / "answers.csv"))
    entries = "from clueline.queries.drafts import read_entries; print(len(read_entries()))"  # what the guessers of /write search
    assert int(command("-c", entries)) > 100
    assert '"primary":"net_score"' in command("-m", "clueline", "view", "leaderboard?dataset=answers")
    server, address = command("-m", "clueline", "serve", start=True)
    try:
        wait_until(lambda: answers(f"{address}/healthz"))
        assert command("-c", ASK, address).split() == ["0.5"]
    finally:
        server.terminate()
        server.wait(60)
