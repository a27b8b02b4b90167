"""Attributes, links, and components as HTML that browsers need not build from JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component
from markupsafe import escape


def aria(**values: str) -> dict[str, Any]:
    """Return ``aria-`` attributes: ``aria(label="Pages")``."""
    return {f"aria-{name}": value for name, value in values.items()}


def data(**values: str) -> dict[str, Any]:
    """Return ``data-`` attributes, which the scripts in ``assets`` look for."""
    return {f"data-{name}": value for name, value in values.items()}


NAMES = {"className": "class", "htmlFor": "for"}  # attributes that are not the property's name in lower case
NO_ATTRIBUTES = {"children", "key", "n_clicks", "available_properties", "available_wildcard_properties"}


def children_of(part: Component) -> list[Any]:
    """Return the children of a component as a list."""
    inside = getattr(part, "children", None)
    return list(inside) if isinstance(inside, (list, tuple)) else [] if inside is None else [inside]


def descendants(part: Any) -> Iterator[Component]:
    """Yield a component and all components in it; for a list, those of each in turn."""
    if isinstance(part, Component):
        yield part
        part = children_of(part)
    for child in part if isinstance(part, (list, tuple)) else ():
        yield from descendants(child)


def is_read_only(part: Component) -> bool:
    """Whether no callback refers to anything in it: all of it is plain HTML, and no id is a dict that callbacks could match."""
    return all(
        getattr(html, type(component).__name__, None) is type(component) and not isinstance(getattr(component, "id", None), dict)
        for component in descendants(part)
    )


Replace = Callable[[Component], Any]  # returns what stands in place of a component, with the component's own children


def markup(part: Any, replace: Replace | None = None) -> str:
    """Return the HTML of a component; text is escaped, except ``markupsafe.Markup``. ``replace`` is asked for each component.

    Example:
        >>> markup(html.P(["2 < 3, ", html.B("always")], className="note"))
        '<p class="note">2 &lt; 3, <b>always</b></p>'
    """
    if isinstance(part, str):  # most parts are; to ask whether something is a component takes longer
        return str(escape(part))
    if replace and isinstance(part, Component):
        part = replace(part)
    if part is None:
        return ""
    if not isinstance(part, Component):
        return str(escape(part))
    tag = type(part).__name__.lower()
    return f"<{tag}{_attributes(part)}>{content_markup(part, replace)}" + ("" if tag in ("br", "hr", "img") else f"</{tag}>")


def content_markup(part: Component, replace: Replace | None = None) -> str:
    """Return the HTML of a component's children; ``replace`` is as in ``markup``."""
    return "".join(markup(child, replace) for child in children_of(part))


def _attributes(part: Component) -> str:
    written = []
    for name in sorted(vars(part).keys() - NO_ATTRIBUTES):  # Dash keeps them in an order that differs between processes
        value = vars(part)[name]
        if name[0] != "_" and value is not None and value is not False:
            text = "" if value is True else _css(value) if name == "style" else value
            written.append(f' {NAMES.get(name, name.lower())}="{escape(text)}"')
    return "".join(written)


def _css(style: Mapping[str, object]) -> str:
    return ";".join(f"{re.sub('(?<!^)(?=[A-Z])', '-', name).lower()}:{value}" for name, value in style.items())


def page_link(
    content: str | Sequence[Component | str], href: str, title: str | None = None, class_name: str | None = None
) -> html.A:
    """Return a link that ``assets/address.js`` follows within the application. ``title`` is shown on hover."""
    given: dict[str, Any] = {key: value for key, value in (("title", title), ("className", class_name)) if value is not None}
    return html.A(content, href=href, **given, **data(link=""))


def items_query(**keys: Any) -> str:
    """Return the value of the key ``items`` of a page: which answers its drawer lists.

    Keys are those of ``ItemsKeys`` and of a selection. Lists give a key several times; None leaves it out.
    """
    return urlencode({key: value for key, value in keys.items() if value is not None}, doseq=True)


def items_link(content: Any, query: str, title: str | None = None) -> html.A:
    """Return a link that opens the drawer of the page with the answers behind a mark; ``query`` is an ``items_query``.

    ``assets/drawer.js`` adds the other keys of the page to its address.
    """
    given: dict[str, Any] = {} if title is None else {"title": title}
    return html.A(content, href=f"?{urlencode({'items': query})}", className="behind", **given, **data(items=query))
