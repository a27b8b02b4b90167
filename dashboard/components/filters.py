"""The filter bar: a control for each key of the selection that means something in the dataset.

Every control has an id ``{"role": "control", "key": ..., "kind": ...}``; ``assets/address.js`` reads them all into the address.
``kind`` says how a value becomes text: ``many`` (repeated), ``one`` (blank: left out), ``range`` (lo..hi, left out where full) or
``order`` (as ``one``, but blank leaves the order to the headings of the table).
``rules:OTHER`` is one value under which the values of the key OTHER are meant: they go when it changes. ``of KEY=VALUE:NAME`` is
the number of one NAME among several, written NAME:number (blank: left out), meant while KEY is VALUE; without a NAME it is the
number for all that have none of their own, written alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components.attributes import aria
from queries.filters import Control, Narrows, SelectionKey
from queries.parameters import LONGEST_VALUE
from queries.selection import Facets, Selection

MOST_CHIPS = 8  # more choices than this go into a menu
CHIPS_WIDTH = 90  # characters of all choices together


def control(key: str, kind: str) -> dict[str, str]:
    """Id of the control of a key of the address."""
    return {"role": "control", "key": key, "kind": kind}


def _menu(key: str, options: list[dict[str, Any]], chosen: Sequence[Any], blank: str) -> dcc.Dropdown:
    """Several of many values."""
    return dcc.Dropdown(
        options=options,
        value=list(chosen),
        id=control(key, "many"),
        multi=True,
        placeholder=blank,
        closeOnSelect=False,
        className="menu",
    )


def menu(key: str, label: str, options: dict[str, str], chosen: str, kind: str = "one") -> Component:
    """One of several named values, in a menu; the value "" is left out of the address."""
    named = [{"label": name, "value": value} for value, name in options.items()]
    inner = dcc.Dropdown(options=named, value=chosen, id=control(key, kind), clearable=False, searchable=False, className="menu")
    return _labelled(label, inner, key)


def several(key: str, label: str, options: dict[str, str], chosen: Sequence[str], blank: str) -> Component:
    """Several of many named values, in a menu; ``blank`` says what none means."""
    named = [{"label": name, "value": value} for value, name in options.items()]
    inner = _menu(key, named, chosen, blank)
    return _labelled(label, inner, key)


def between(key: str, label: str, chosen: tuple[float, float] | None) -> Component:
    """A range within 0..1; the full one is left out of the address."""
    slider = dcc.RangeSlider(
        min=0, max=1, step=0.01, value=list(chosen or (0, 1)), id=control(key, "range"), marks=None,
        allow_direct_input=True, updatemode="mouseup", allowCross=False, className="slider",
    )  # fmt: skip
    return _labelled(label, slider, key)


def _labelled(label: str, inner: Component, key: str) -> html.Div:
    return html.Div(
        [html.Span(label, className="label", id=f"label-{key}"), inner],
        className=f"filter filter-{key}",
        role="group",
        **aria(labelledby=f"label-{key}"),
    )


def _search(key: str, control_of: Control) -> Component:
    box = dcc.Input(
        value=control_of.chosen,
        id=control(key, "one"),
        type="search",
        debounce=0.3,
        placeholder=control_of.hint,
        className="search",
        maxLength=LONGEST_VALUE,
    )
    return _labelled(control_of.label, box, key)


def _component(key: str, control_of: Control) -> Component:
    """The component of a declared control."""
    label, chosen, options = control_of.label, control_of.chosen, control_of.options
    if control_of.kind == "text":
        return _search(key, control_of)
    if control_of.kind == "range":
        return between(key, label, chosen)
    if control_of.kind == "menu":
        return menu(key, label, {str(value): name for value, name in options}, chosen)
    named = [{"label": name, "value": value} for value, name in options]
    few = len(options) <= MOST_CHIPS and sum(len(name) for _, name in options) <= CHIPS_WIDTH
    if control_of.kind == "choices" and few:
        chips = dcc.Checklist(options=named, value=chosen, id=control(key, "many"), inline=True, className="chips")
        return _labelled(label, chips, key)
    return _labelled(label, _menu(key, named, chosen, control_of.hint), key)


def _control_of(key: str, facets: Facets, selection: Selection) -> Control | None:
    kind = Selection.kinds()[key]
    if not isinstance(kind, SelectionKey):
        raise ValueError(f"{key} has no control")
    return kind.control(key, selection.value(key), facets)


def filter_keys(*narrows: Narrows, every: bool = False) -> tuple[str, ...]:
    """Keys of the filters of runs, questions or clues that pages usually offer, of all three by default.

    Args:
        narrows: which of them.
        every: also those that are offered by few pages.
    """
    return tuple(
        key for key, kind in Selection.filters().items() if (kind.usual or every) and (not narrows or kind.narrows in narrows)
    )


def filter_bar(facets: Facets, selection: Selection, keys: Sequence[str]) -> html.Div:
    """The controls of some keys, folded away on small screens; hidden where a page offers none.

    They stand behind the disclosure, not in it: Chromium would not let Tab leave a ``details`` whose last stop is a menu, for
    Dash takes the menus' buttons out of the order of tabs.
    """
    declared = [(key, _control_of(key, facets, selection)) for key in keys]
    controls = [_component(key, control_of) for key, control_of in declared if control_of is not None]
    inside = [html.Details(html.Summary("Filters"), open=True, id="filters"), html.Div(controls, className="filters")]
    return html.Div(inside, className="bar" if controls else "bar nothing")
