"""Paths and query strings of pages."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from flask import g, has_app_context

SELECTION = "selection"  # the key of an address that names a stored selection
MAX_SHARED_QUERY = 6000  # characters of a query string that links have; servers refuse those above 8,000
Pairs = Sequence[tuple[str, str]]


def address(path: str, pairs: Pairs) -> str:
    """Return a path with a query string, which is shortened if it would be too long; see ``shortened``.

    >>> address("/compare", [("a", "1"), ("b", "x y")])
    '/compare?a=1&b=x+y'
    """
    return f"{path}?{urlencode(shortened(pairs))}" if pairs else path


def is_long(pairs: Pairs) -> bool:
    """Whether a query string is longer than servers and proxies reliably accept."""
    characters = sum(len(key) + len(text) + 2 for key, text in pairs)  # each can become three, or twelve
    return characters > MAX_SHARED_QUERY or (12 * characters > MAX_SHARED_QUERY and len(urlencode(pairs)) > MAX_SHARED_QUERY)


def remember_selection(identity: str, pairs: Pairs) -> None:
    """Let links of this request name a stored selection instead of its keys."""
    g.stored_selection = (identity, sorted(pairs))


def shortened(pairs: Pairs) -> Pairs:
    """Return the pairs of a long query string with the stored selection that this request knows, if it says the same."""
    known = g.get("stored_selection") if has_app_context() and is_long(pairs) else None
    if known is None:
        return pairs
    identity, stored = known
    keys = {key for key, _ in stored}
    named_here = {pair for pair in stored if pair[0] == "dataset"} | {pair for pair in pairs if pair[0] in keys}
    if sorted(named_here) != stored:
        return pairs
    return [*(pair for pair in pairs if pair[0] not in keys or pair[0] == "dataset"), (SELECTION, identity)]


def question_path(dataset: str, question_id: str) -> str:
    """Return the path of a question's page; its id can contain any character."""
    return f"/questions/{quote(dataset, safe='')}/{quote(question_id, safe='')}"


def run_path(run: str) -> str:
    """Return the path of a run's page."""
    return f"/runs/{run}"


def model_path(model: str) -> str:
    """Return the path of a model's page; its name can contain any character."""
    return f"/models/{quote(model, safe='')}"
