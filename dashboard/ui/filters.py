"""The filters of a page, and those in force as chips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.http.paths import address
from dashboard.ui.controls import between, choices, menu, search, several
from dashboard.ui.html import aria, page_link
from dashboard.ui.names import shorten_middle
from queries.selection import Selection
from queries.selection.facets import Facets
from queries.selection.filters import Control, Filter, MenuControl, Narrows, RangeControl, SelectionKey, TextControl
from queries.selection.view_parameters_base import kind_of, split_key


def _component(key: str, declared: Control) -> Component:
    """The component of a declared control."""
    if isinstance(declared, TextControl):
        return search(key, declared.label, declared.chosen, declared.hint)
    if isinstance(declared, RangeControl):
        return between(key, declared.label, declared.chosen)
    if isinstance(declared, MenuControl):
        return menu(key, declared.label, dict(declared.options), declared.chosen)
    if declared.folded:
        return several(key, declared.label, dict(declared.options), declared.chosen, declared.blank)
    return choices(key, declared.label, declared.options, declared.chosen, declared.blank)


def _control_of(key: str, facets: Facets, selection: Selection) -> Control | None:
    kind = kind_of(key, Selection.kinds())
    if not isinstance(kind, SelectionKey):
        raise ValueError(f"{key} has no control")
    return kind.control(key, selection.value(key), facets)


def _keys_of(field: str, facets: Facets) -> list[str]:
    """The keys of a field; for a named kind, one for each name in the dataset."""
    if not Selection.kinds()[field].named:
        return [field]
    return [key for key in facets.values if split_key(key)[0] == field]


def filter_keys(*narrows: Narrows, every: bool = False) -> tuple[str, ...]:
    """Return the keys of the filters that pages usually offer, on runs, questions or clues; by default on all three.

    ``every`` includes those that only few pages offer.
    """
    return tuple(
        key
        for key, kind in Selection.filters().items()
        if (kind.shown_by_default or every) and (not narrows or kind.narrows in narrows)
    )


def filter_bar(facets: Facets, selection: Selection, keys: Sequence[str]) -> html.Div:
    """Return the controls of some keys, in their order; hidden if a page offers none.

    Filters are folded away on small screens. Conventions, which say how to measure, are folded away until one of them is chosen.
    A key with nothing to choose has no control.
    """
    declared = [(key, _control_of(key, facets, selection)) for field in keys for key in _keys_of(field, facets)]
    shown = {key: _component(key, control) for key, control in declared if control is not None}
    method = [control for key, control in shown.items() if not _is_filter(key)]
    chosen = any(key in shown and not _is_filter(key) for key, _ in selection.pairs())
    filters = [control for key, control in shown.items() if _is_filter(key)]
    inside = [
        *_folded("Filters", filters, html.Details(html.Summary("Filters"), open=True, className="unfold")),
        *_folded("Method", method, html.Details(html.Summary("Method"), open=chosen, className="method")),
    ]
    return html.Div(inside, className="bar" if shown else "bar nothing")


def _folded(label: str, controls: Sequence[Component], disclosure: html.Details) -> list[Component]:
    """Controls follow their disclosure and are not inside it.

    Chromium would not let Tab leave a ``details`` whose last stop is a menu, because Dash takes the menus' buttons out of the tab
    order.
    """
    return [disclosure, html.Div(controls, className="filters", role="group", **aria(label=label))] if controls else []


def _is_filter(key: str) -> bool:
    return isinstance(kind_of(key, Selection.kinds()), Filter)


MAX_VALUE_LENGTH = 40  # characters of a value
OF_PAGES = {"pin": "Pinned", "version": "Data version"}  # page keys that also have chips
UNLISTED = ("dataset", "common")  # shown by the dataset menu and the coverage notice


def active_filters(path: str, pairs: Sequence[tuple[str, str]], facets: Facets) -> html.Div:
    """Return a chip for each value that narrows the selection, for each pinned run, and for a pinned data version.

    The element exists even without chips, so that setting the first filter does not rebuild the page.
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
