"""Names say what a thing is, not where a sentence would go on."""

import ast

import pytest

from tests.helpers.paths import ROOT

VAGUE = {"found", "said", "there", "of", "but"}


def names(tree):
    """Every name that a module gives to something: variables, arguments, attributes, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node.lineno


@pytest.mark.parametrize("folder", ["data", "queries", "dashboard", "tests", "benchmarks"])
def test_no_name_is_vague(folder):
    vague = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name, line in names(ast.parse(path.read_text(encoding="utf-8")))
        if name in VAGUE
    ]
    assert vague == []
