"""Links to pages of the application, which are shown without loading it anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import data


def page_link(
    content: str | Sequence[Component | str], href: str, title: str | None = None, class_name: str | None = None
) -> html.A:
    """A link that ``assets/address.js`` follows within the application.

    Args:
        content: its text.
        href: path and query of the page.
        title: what it leads to, on hover.
        class_name: of the element.
    """
    given: dict[str, Any] = {key: value for key, value in (("title", title), ("className", class_name)) if value is not None}
    return html.A(content, href=href, **given, **data(link=""))
