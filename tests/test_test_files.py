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


OUTSIDE = "tests/real/conftest.py"  # its fixture skips the tests of what is not there


def ways_out(path, nodes):
    """Yield the expressions and texts of a test file that lead to what lies beside the checkout."""
    depth = path.count("/")  # parents[depth] of the file is the checkout
    for node in nodes:
        text = ast.unparse(node) if isinstance(node, (ast.Attribute, ast.Subscript, ast.BinOp)) else ""
        match node:
            case ast.Attribute(value=ast.Name(id="ROOT"), attr="parent" | "parents"):
                yield text
            case ast.Subscript(slice=ast.Constant(value=int(above))) if "__file__" in text and above > depth:
                yield text
            case ast.BinOp(op=ast.Div(), right=ast.Constant(value="shared")):
                yield text
            case ast.Constant(value=str(value)) if re.search(r"\.\./shared\b|/shared/(data|published|tables)\b", value):
                yield value


def test_only_the_real_tests_look_beside_the_checkout(files):
    """A clone with nothing beside it passes: what is elsewhere is asked for in one place, which skips."""
    here = "tests/test_test_files.py"  # its examples
    leaving = {path: ways for path, nodes in files.items() if path != here and (ways := [*ways_out(path, nodes)])}
    assert [*leaving] == [OUTSIDE]


@pytest.mark.parametrize(
    "line",
    [
        "ROOT.parent / 'x'",
        "ROOT.parents[0]",
        "Path(__file__).parents[3]",
        "open('../shared/tables/a.csv')",
        "Path('/srv/shared/data')",
        "folder / 'shared'",
    ],
)
def test_ways_out_are_found(line):
    assert [*ways_out("tests/data/test_x.py", ast.walk(ast.parse(line)))]


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
