"""Imports between the packages go one way, and no package knows what it should not."""

import ast
import re
from functools import cache
from itertools import pairwise, product

import pytest

from clueline.dashboard.cli import COMMANDS
from tests.helpers.paths import ROOT

FORBIDDEN = {
    "data": {"clueline.queries", "clueline.dashboard", "flask", "dash", "plotly", "click", "tests", "benchmarks"},
    "queries": {"clueline.dashboard", "flask", "dash", "plotly", "click", "tests", "benchmarks"},
    "dashboard": {"tests", "benchmarks"},
}
COMMAND = re.compile(
    rf"python -m |clueline ({'|'.join(COMMANDS)})\b|(?<![\w-])--[a-z]"
)  # commands of the command line, and options


def modules():
    return sorted(path.relative_to(ROOT).as_posix() for package in FORBIDDEN for path in (ROOT / package).rglob("*.py"))


KNOWN = {"clueline." + path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in modules()}


@cache
def nodes(path):
    return [*ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))]


def imports(path, known=()):
    """Yield the dotted names that a module imports, at any depth; modules of ``known`` also if imported from their package."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where an arrow goes"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from names & set(known)
            if names - set(known):
                yield node.module


@pytest.mark.parametrize("package", FORBIDDEN)
def test_no_import_goes_the_wrong_way(package):
    wrong = [
        f"{path}: {name}"
        for path in modules()
        if path.startswith(f"{package}/")
        for name in imports(path)
        if {name.partition(".")[0], ".".join(name.split(".")[:2])} & FORBIDDEN[package]
    ]
    assert wrong == []


def test_packages_are_imported_as_parts_of_one():
    """The folders of the checkout can be imported under their own names, too, which would give every class twice."""
    folders = (*FORBIDDEN, "benchmarks", "scripts", "tests")
    paths = sorted(path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*.py"))
    assert [f"{path}: {name}" for path in paths for name in imports(path) if name.partition(".")[0] in FORBIDDEN] == []


def test_no_page_writes_sql():
    pages = [path for path in modules() if path.startswith(("dashboard/views/", "dashboard/ui/"))]
    assert pages
    for path in pages:
        assert "duckdb" not in imports(path), path


def test_only_ui_builds_tables():
    for path in modules():
        if path.startswith("dashboard/") and path != "dashboard/ui/table.py":
            assert not {"Table", "Tr", "Td"} & {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}, path


def texts(path):
    """Yield the text constants of a module, except docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in nodes(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


@pytest.mark.parametrize(
    ("text", "words_a_command"),
    [
        ("give --dataset NAME", True), ("--model", True), ("(--percent)", True), ("run clueline repair", True),
        ("select 1 -- a comment", False), ("a-b--c", False), ("which dataset?", False),
    ],
)  # fmt: skip
def test_commands_are_distinguished_from_other_texts(text, words_a_command):
    assert bool(COMMAND.search(text)) == words_a_command


@pytest.mark.parametrize("package", ["data", "queries"])
def test_only_the_dashboard_writes_commands_in_texts(package):
    wrong = [
        f"{path}: {text}" for path in modules() if path.startswith(f"{package}/") for text in texts(path) if COMMAND.search(text)
    ]
    assert wrong == []


ROOMS = {
    "readers": r"data/readers/", "importing": r"data/importing/", "store": r"data/store/",
    "statistics": r"data/sufficient_statistics\.py",
    "selection": r"queries/selection/", "engine": r"queries/engine/",
    "metrics": r"queries/metrics/", "buzzing": r"queries/buzzing/",
    "answers": r"queries/\w+\.py", "app": r"dashboard/(app|shell|__main__|cli/.*|process/.*)(\.py)?$",
    "views": r"dashboard/views/", "ui": r"dashboard/ui/", "registry": r"dashboard/registry/",
    "service": r"dashboard/(service|cache)\.py",
    "uploads": r"dashboard/uploads/", "access": r"dashboard/access/", "http": r"dashboard/(http/|settings\.py)",
}  # fmt: skip


def diagram_arrows():
    """Yield the arrows of the diagram in docs/architecture.md, from room to room."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = text.partition("```mermaid")[2].partition("```")[0]
    for line in picture.splitlines():
        steps = [step.strip().split(" & ") for step in line.split("-->")]
        for left, right in pairwise(steps):
            yield from product(left, right)


def test_the_diagram_shows_every_room():
    assert {room for arrow in diagram_arrows() for room in arrow} == {*ROOMS}


@pytest.mark.parametrize(("room", "imported"), [*diagram_arrows()])
def test_an_arrow_of_the_diagram_is_an_import(room, imported):
    targets = {KNOWN[name] for path in modules() if re.match(ROOMS[room], path) for name in imports(path, KNOWN) if name in KNOWN}
    assert any(re.match(ROOMS[imported], target) for target in targets)


LAYERS = ("app", "views", "ui", "registry", "service", "uploads", "access", "http")  # of the dashboard, from the top


def test_layers_import_only_those_below():
    layer = {name: next((room for room in LAYERS if re.match(ROOMS[room], path)), None) for name, path in KNOWN.items()}
    alone = {name for name, room in layer.items() if name.startswith("clueline.dashboard") and room is None}
    assert alone == {"clueline.dashboard", "clueline.dashboard.client"}
    wrong = [
        f"{name}: {target}"
        for name, path in KNOWN.items()
        if layer[name]
        for target in imports(path, KNOWN)
        if layer.get(target) and LAYERS.index(layer[target]) < LAYERS.index(layer[name])
    ]
    assert wrong == []


def test_no_two_modules_import_each_other():
    arrows = {name: ({*imports(path, KNOWN)} & {*KNOWN}) - {name} for name, path in KNOWN.items()}
    state = {}

    def visit(name, path):
        if state.get(name) == "done":
            return
        assert name not in path, " -> ".join([*path, name])
        for target in sorted(arrows[name]):
            visit(target, [*path, name])
        state[name] = "done"

    for name in arrows:
        visit(name, [])
