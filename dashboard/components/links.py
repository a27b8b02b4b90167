"""Addresses of pages, and links that are followed without reloading the application."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from dash import html
from dash.development.base_component import Component

from dashboard.components.html_attributes import data


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


def page_link(
    content: str | Sequence[Component | str], href: str, title: str | None = None, class_name: str | None = None
) -> html.A:
    """Return a link that ``assets/address.js`` follows within the application.

    Args:
        content: text of the link.
        href: path and query of the page.
        title: hover text.
        class_name: CSS classes of the element.
    """
    given: dict[str, Any] = {key: value for key, value in (("title", title), ("className", class_name)) if value is not None}
    return html.A(content, href=href, **given, **data(link=""))
