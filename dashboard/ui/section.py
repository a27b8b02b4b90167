"""Parts that pages repeat: a heading, sections with their notes, controls, and what stands in place of missing content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.ui.html import aria, data

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
