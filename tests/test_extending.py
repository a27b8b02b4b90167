"""docs/extending.md is correct: each change is applied to a copy of the tree, and its commands are run there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from tests.helpers.paths import ROOT
from tests.helpers.serving import environment
from tests.helpers.small_store import write_relay

DOCUMENT = ROOT / "docs" / "extending.md"
TREE = ("data", "queries", "dashboard", "assets", "tests", "docs", "scripts/package", "pyproject.toml", "README.md")
BLOCK = re.compile(r"^```(\w+)(?: (\S.*?))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Title of each change -> number of files where it is made, without its tests.
PLACES = {
    "An item metric": 1, "A question metric with a human curve": 1, "A reader": 1, "A view with a table": 1,
    "A view of what runs answered": 2,
    "A figure on a view": 1, "A column of a table": 1, "A colour": 1, "A command": 2, "A way to log in": 2, "A filter": 1,
    "A question column": 3, "A setting": 1, "A statistic": 1,
}  # fmt: skip
MAX_LINES = 66  # lines of a section: a printed page


def sections():
    """Return the text of each change by its title."""
    parts = re.split(r"^## (.+)$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


SECTIONS = sections()


def edits(text):
    """Yield the file, options and content of each block that changes a file."""
    for language, options, content in BLOCK.findall(text):
        if language != "sh":
            named = dict(option.partition("=")[::2] for option in shlex.split(options))
            yield named.pop("file"), named, content


def commands(text):
    return "".join(content for language, _, content in BLOCK.findall(text) if language == "sh")


def apply(path, options, content):
    """Insert a block into a file: at its end, or before, after or in place of the only line that begins with a text."""
    if not options:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(content)
        return
    ((side, beginning),) = options.items()
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    matches = [index for index, line in enumerate(lines) if line.startswith(beginning)]
    assert len(matches) == 1, f"{len(matches)} lines of {path} begin with {beginning!r}"
    end = matches[0] + (side == "after")
    path.write_text("".join([*lines[:end], content, *lines[end + (side == "replace") :]]), encoding="utf-8")


@pytest.fixture(scope="module")
def small_store(tmp_path_factory):
    """Folder of a store made by the unchanged code."""
    folder = tmp_path_factory.mktemp("before")
    write_relay(folder / "relay")
    import_paths(open_store(folder / "store", threads=1), [folder / "relay"], ImportOptions())
    return folder / "store"


@pytest.fixture
def tree(tmp_path, small_store):
    """A copy of the tree with its compiled files, but without its environment and history."""
    for name in TREE:
        source, target = ROOT / name, tmp_path / "clueline" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("*.png", "*.woff2", "*.pyc.*"))
        else:
            shutil.copyfile(source, target)
    shutil.copytree(small_store, tmp_path / "clueline" / "store-before")
    return tmp_path / "clueline"


def run(tree, script):
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    own = {"PATH": path, "PYTHONPATH": str(tree / "scripts" / "package")}
    quiet = {"PYTEST_ADDOPTS": "-q -x -p no:cacheprovider -p no:xdist"}
    return subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=tree,
        env=environment() | own | quiet,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_document_has_every_change():
    assert list(SECTIONS) == list(PLACES)


@pytest.mark.parametrize("every_second", [0, 1])
def test_changes_work(tree, every_second):
    """Those that are alike are in different trees. Their tests run together, because a process takes seconds to start."""
    scripts = []
    for title in [*PLACES][every_second::2]:
        for file, options, content in edits(SECTIONS[title]):
            apply(tree / file, options, content)
        assert re.search(r"python -m pytest (tests/|-k)|^test ", commands(SECTIONS[title]), re.MULTILINE)
        scripts.append(commands(SECTIONS[title]))
    done = run(tree, with_tests_together("".join(scripts)))
    assert done.returncode == 0, done.stdout + done.stderr


def with_tests_together(script):
    """Return a script that runs its tests last: those that ``-k`` chooses in one process, all others in another."""
    others = [line for line in script.splitlines() if not line.startswith("python -m pytest ")]
    tests = [shlex.split(line) for line in script.splitlines() if line.startswith("python -m pytest ")]
    names = " or ".join(words[words.index("-k") + 1] for words in tests if "-k" in words)
    for options, chosen in ((["-k", names], True), ([], False)):
        files = [word for words in tests if ("-k" in words) == chosen for word in words if word.startswith("tests/")]
        others.append(shlex.join(["python", "-m", "pytest", *options, *files]))
    return "\n".join(others)


@pytest.mark.parametrize("title", PLACES)
def test_a_change_is_small(title):
    places = {file for file, _, _ in edits(SECTIONS[title]) if not file.startswith("tests/")}
    assert len(places) == PLACES[title]
    assert len(SECTIONS[title].strip().splitlines()) <= MAX_LINES


# Parts that nothing else imports, each with an address of its own, if it has one.
REMOVABLE = {
    "dashboard/views/play.py": "/api/v1/play",
    "dashboard/views/write.py": "/api/v1/write/guesses",
    "data/readers/uqlm.py": "",
    "dashboard/views/which_ece.py": "/api/v1/which-ece",
}
WITHOUT = """
from pathlib import Path
from clueline.dashboard.app import create_app
from clueline.dashboard.cli import format_docs
from clueline.dashboard.cli import api_docs
from clueline.dashboard.settings import Settings
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from tests.helpers.small_store import write_relay

write_relay(Path("relay"))
import_paths(open_store("store", threads=1), [Path("relay")], ImportOptions())
client = create_app(Settings(store="store")).test_client()
for path in ("/", "/reliability", "/docs", "/healthz", "/api/v1/leaderboard", "/api/v1/reliability.csv", "/api/v1/cite"):
    assert client.get(path).status_code == 200, path
api_docs.main()
format_docs.main()
"""


@pytest.mark.parametrize("every_second", [0, 1])
def test_the_rest_works_without_some_parts(tree, every_second):
    """It serves, imports, documents itself, and no longer has the addresses of the parts."""
    removed = [*REMOVABLE][every_second::2]
    for part in removed:
        (tree / part).unlink()
    (tree / "without.py").write_text(WITHOUT)
    done = run(tree, "python without.py")
    assert done.returncode == 0, done.stdout + done.stderr
    documented = (tree / "docs" / "api.md").read_text(encoding="utf-8")
    assert not any(f" {REMOVABLE[part]}`" in documented for part in removed if REMOVABLE[part])
