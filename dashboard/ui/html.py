"""Parts that pages repeat, attributes and links, and components as HTML that browsers need not build from JSON."""

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


def data(**values: str | None) -> dict[str, Any]:
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


def items_link(content: Any, query: str) -> html.A:
    """Return a link that opens the drawer of the page with the answers behind a mark; ``query`` is an ``items_query``.

    ``assets/drawer.js`` adds the other keys of the page to its address.
    """
    return html.A(content, href=f"?{urlencode({'items': query})}", className="behind", **data(items=query))


Text = str | Component | Sequence[Any]
Part = Component | str | None


def heading(title: Text, lead: Text, *more: Component | None, crumbs: Component | None = None) -> html.Div:
    """Return the heading of a page: its title, what it shows, and controls. ``crumbs`` is a link back, above the title."""
    parts = [html.H1(title), html.P(lead, className="lead"), *more]
    if crumbs is None:
        return html.Div(parts, className="heading")
    return html.Div([html.P([crumbs], className="crumbs"), *parts], className="heading question-heading")


def section(title: Text | None, *parts: Part, class_name: str = "section", **attributes: Any) -> html.Section:
    """Return parts below their title. Text becomes a note; None and blank text are left out."""
    top = [] if title is None else [title if isinstance(title, Component) else html.H2(title)]
    return html.Section([*top, *map(_part, parts)], className=class_name, **attributes)


def _part(part: Part) -> Component | None:
    return note(part) if isinstance(part, str) else part


def note(text: Text, **attributes: Any) -> html.P | None:
    """Return a note; None if it is blank."""
    return html.P(text, className="note", **attributes) if text else None


def controls(*menus: Component | None) -> html.Div:
    """Return menus in a row."""
    return html.Div(list(menus), className="controls")


def tabs(label: str, links: Sequence[tuple[str, str, bool]]) -> html.Nav:
    """Return links to the parts of a page: title and address of each, and whether it is the one that is shown."""
    chosen = {"className": "current", **aria(current="page")}
    shown = [html.A(title, href=href, **(chosen if current else {}), **data(link="")) for title, href, current in links]
    return html.Nav(shown, className="tabs", **aria(label=label))


def side_by_side(*parts: Component | None, wide_left: bool = False, columns: int = 2) -> html.Div:
    """Return parts next to each other where the screen is wide, in 2 or 3 columns; ``wide_left`` makes the first of 2 wider."""
    kind = " wide-left" if wide_left else " three" if columns == 3 else ""
    return html.Div(list(parts), className=f"side-by-side{kind}")


def folded(title: str, *parts: Component | None, unfolded: bool = False) -> html.Details:
    """Return parts that are hidden until their title is clicked."""
    return html.Details([html.Summary(title), *parts], className="folded", open=unfolded)


def folded_section(title: str, *parts: Part, class_name: str = "section") -> html.Details:
    """Return a ``section`` that is hidden until its title is clicked."""
    return folded(title, section(None, *parts, class_name=class_name))


def panel(title: str, *parts: Part, **attributes: Any) -> html.Section:
    """Return what stands in place of content that is missing. Text becomes a paragraph."""
    inside = [html.P(part) if isinstance(part, str) else part for part in parts]
    return html.Section([html.H2(title), *inside], className="panel empty", **attributes)


def facts(stated: Mapping[str, Any]) -> html.Dl:
    """Return facts by their names; blank ones are left out."""
    return html.Dl([part for name, value in stated.items() if value for part in (html.Dt(name), html.Dd(value))])


def choices(links: Sequence[Component]) -> html.Ul:
    """Return links to choose from."""
    return html.Ul([html.Li(link) for link in links], className="choices")


def rest_as_file(more: int, address: str) -> html.P | None:
    """Return a link to a whole table as CSV, of which ``more`` rows are not shown; at most 0 if all are."""
    return note([f"{more:,} more are in the file: " if more > 0 else "As a file: ", html.A("CSV", href=address)])


def banner(about: str, *parts: str | Component, more: Component | None = None, **attributes: Any) -> html.Aside:
    """Return what stands out above the content of a page; ``more`` is a link at its end."""
    words = html.Div([html.Strong(f"{about} "), *parts])
    return html.Aside([words, more] if more else words, className="banner", role="note", **attributes)
