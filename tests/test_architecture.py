"""Arrows between the packages go one way, and no package knows what it should not."""

import ast
import re

import pytest

from tests.helpers.paths import ROOT

FORBIDDEN = {
    "data": {"queries", "dashboard", "flask", "dash", "plotly", "click", "tests", "benchmarks"},
    "queries": {"dashboard", "flask", "dash", "plotly", "click", "tests", "benchmarks"},
    "dashboard": {"tests", "benchmarks"},
}
COMMAND = re.compile(r"python -m |(?<![\w-])--[a-z]")  # of the command line, and its options


def modules():
    return sorted(path.relative_to(ROOT).as_posix() for package in FORBIDDEN for path in (ROOT / package).rglob("*.py"))


def imports(tree, known=()):
    """Dotted names of what a module imports, at any depth: modules of ``known`` also where they are taken from their package."""
    for node in ast.walk(tree):
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
        for name in imports(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if name.partition(".")[0] in FORBIDDEN[package]
    ]
    assert wrong == []


def test_no_page_writes_sql():
    pages = [path for path in modules() if path.startswith(("dashboard/pages/", "dashboard/components/", "dashboard/figures/"))]
    assert pages
    for path in pages:
        names = set(imports(ast.parse((ROOT / path).read_text(encoding="utf-8"))))
        assert "duckdb" not in names, path


def texts(tree):
    """Text constants of a module, but for docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


@pytest.mark.parametrize(
    ("text", "words_a_command"),
    [
        ("give --dataset NAME", True), ("--model", True), ("(--percent)", True), ("run python -m dashboard repair", True),
        ("select 1 -- a comment", False), ("a-b--c", False), ("which dataset?", False),
    ],
)  # fmt: skip
def test_commands_are_told_from_other_texts(text, words_a_command):
    assert bool(COMMAND.search(text)) == words_a_command


@pytest.mark.parametrize("package", ["data", "queries"])
def test_only_the_dashboard_words_commands(package):
    wrong = [
        f"{path}: {text}"
        for path in modules()
        if path.startswith(f"{package}/")
        for text in texts(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if COMMAND.search(text)
    ]
    assert wrong == []


def test_no_two_modules_import_each_other():
    known = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in modules()}
    arrows = {}
    for name, path in known.items():
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        arrows[name] = (set(imports(tree, known)) & set(known)) - {name}
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
