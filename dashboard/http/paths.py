"""Paths and query strings of pages."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode


def address(path: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return a path with a query string.

    >>> address("/compare", [("a", "1"), ("b", "x y")])
    '/compare?a=1&b=x+y'
    """
    return f"{path}?{urlencode(pairs)}" if pairs else path


def question_path(dataset: str, question_id: str) -> str:
    """Return the path of a question's page; its id can contain any character."""
    return f"/questions/{quote(dataset, safe='')}/{quote(question_id, safe='')}"


def run_path(run: str) -> str:
    """Return the path of a run's page."""
    return f"/runs/{run}"


def model_path(model: str) -> str:
    """Return the path of a model's page; its name can contain any character."""
    return f"/models/{quote(model, safe='')}"
