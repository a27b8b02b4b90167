"""Names say what a thing is. They are not pieces of a sentence."""

import ast
import re

import pytest

from tests.helpers.paths import ROOT

VAGUE = {"found", "said", "there", "of", "but"}
SUPERLATIVE = re.compile(r"_?(MOST|FEWEST|LEAST|LONGEST|LARGEST|SHORTEST|SMALLEST)(_|$)")


def names(tree):
    """Yield each name that a module gives to variables, arguments, attributes, functions and classes, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node.lineno


@pytest.fixture(scope="module", params=["data", "queries", "dashboard", "tests", "benchmarks"])
def places(request):
    """Each name in a folder, with its location."""
    return [
        (name, f"{path.relative_to(ROOT)}:{line} {name}")
        for path in sorted((ROOT / request.param).rglob("*.py"))
        for name, line in names(ast.parse(path.read_text(encoding="utf-8")))
    ]


def test_no_name_is_vague(places):
    assert [place for name, place in places if name in VAGUE] == []


def test_limits_are_named_max_and_min(places):
    assert [place for name, place in places if SUPERLATIVE.match(name)] == []
