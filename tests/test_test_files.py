"""Rules for every test file: it stands alone, its names are labels, and it uses only what is public."""

import ast
import re
import tomllib

import pytest

from tests.helpers.paths import ROOT

MIRRORED = ("data", "queries", "dashboard")  # packages whose tests have the same folders
MAX_NAME_LENGTH = 60  # a test's name must have fewer characters


@pytest.fixture(scope="module")
def files():
    """The nodes of each test file, by its path in the checkout."""
    return {
        path.relative_to(ROOT).as_posix(): list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        for path in sorted((ROOT / "tests").rglob("*.py"))
    }


def imported_names(nodes):
    """Yield the parts of the names of modules, and the names from them, that a file imports."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (part for alias in node.names for part in alias.name.split("."))


def test_no_file_imports_a_test_file(files):
    for path, nodes in files.items():
        assert [name for name in imported_names(nodes) if name.startswith("test_") or name == "conftest"] == [], path


def test_names_are_labels(files):
    for path, nodes in files.items():
        names = [node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        assert [name for name in names if len(name) >= MAX_NAME_LENGTH] == [], path


def test_nothing_private_is_used(files):
    for path, nodes in files.items():
        attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
        foreign = [
            node.attr for node in attributes if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
        ]
        assert [name for name in [*foreign, *imported_names(nodes)] if re.match("_[^_]", name)] == [], path


def test_folders_are_those_of_the_packages(files):
    folders = {path.rpartition("/")[0].removeprefix("tests/") for path in files}
    assert [name for name in sorted(folders) if name.partition("/")[0] in MIRRORED and not (ROOT / name).is_dir()] == []


def test_by_default_slow_tests_are_left_out():
    """Slow tests are those whose marker names the target that runs them. `make test` makes no selection of its own."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    slow = [marker.partition(":")[0] for marker in options["markers"] if "run by `make " in marker]
    assert slow and [name for name in slow if not re.search(rf"\bnot {name}\b", options["addopts"])] == []
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ntest: ")[2].partition("\n\n")[0]
    assert "pytest" in recipe and not re.search(r"pytest\b.* -m ", recipe)
