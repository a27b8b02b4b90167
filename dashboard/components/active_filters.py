"""Removable chips for what the address selects, including keys that have no control on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.html_attributes import aria
from dashboard.components.links import address, page_link
from dashboard.name_shortening import shorten_middle
from queries.selection import Selection
from queries.selection.facets import Facets
from queries.selection.filters import SelectionKey
from queries.selection.view_parameters_base import kind_of, split_key

MAX_VALUE_LENGTH = 40  # characters of a value
OF_PAGES = {"pin": "Pinned", "version": "Data version"}  # page keys that also have chips
UNLISTED = ("dataset", "common")  # shown by the dataset menu and the coverage notice


def active_filters(path: str, pairs: Sequence[tuple[str, str]], facets: Facets) -> html.Div:
    """Return a chip for each value that narrows the selection, for each pinned run, and for a pinned data version.

    The element exists even without chips, so that setting the first filter does not rebuild the page.

    Args:
        path: path of the page.
        pairs: keys and values of its address.
        facets: facets of the dataset, for the names of runs.
    """
    names = {run: f"{model} · {elicitation}" for run, model, elicitation in facets.runs}
    chips: list[Component] = [
        html.Li(_chip(path, pairs, place, label, value, names))
        for place, (key, value) in enumerate(pairs)
        if value and (label := _label(key))
    ]
    return html.Div(html.Ul(chips, **aria(label="Selected")) if chips else [], className="active-filters")


def _label(key: str) -> str | None:
    """Label of a key's chips; None for a key without chips."""
    if key in OF_PAGES:
        return OF_PAGES[key]
    kind = None if key in UNLISTED else kind_of(key, Selection.kinds())
    if kind is None:
        return None
    return split_key(key)[1] or (kind.label if isinstance(kind, SelectionKey) else key)


def _chip(path: str, pairs: Sequence[tuple[str, str]], place: int, label: str, value: str, names: Mapping[str, str]) -> html.A:
    """A chip that links to the same page without one pair of its address."""
    text = f"{label}: {names.get(value, value)}"
    without = [pair for index, pair in enumerate(pairs) if index != place]
    parts: list[Component | str] = [
        shorten_middle(text, MAX_VALUE_LENGTH),
        html.Span("×", className="remove", **aria(hidden="true")),
    ]
    return page_link(parts, href=address(path, without), title=f"Remove {text}")
