"""Controls that set the keys of an address, the filters of a page, and buttons that change the store.

The id of a control says which key it sets and how. ``assets/address.js`` writes the controls of a page into the address, each by
its ``kind``:

- ``choices``: several values, the key repeated; left out if they are the default;
- ``choice`` and ``text``: one value, left out if blank;
- ``range``: two numbers within 0..1, left out if they are the full range;
- ``order``: like ``choice``, but a blank leaves the order to the headings of the table;
- ``scale``: like ``choice``; changing it drops the thresholds, which mean nothing on another scale;
- ``threshold``: a number for the run ``run`` or, if that is blank, for all runs without a threshold of their own. It counts only
  while the address has the ``scale`` under which the control was drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from dash import dcc, html
from dash.development.base_component import Component

from clueline.dashboard.http.paths import address
from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.service import service
from clueline.dashboard.ui.html import aria, data, page_link
from clueline.dashboard.ui.text import distinct_short_names
from clueline.queries.selection import Selection
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.filters import (
    Control,
    Filter,
    MenuControl,
    Narrows,
    RangeControl,
    SelectionKey,
    TextControl,
    Value,
)
from clueline.queries.selection.parameter_kinds import MAX_VALUE_LENGTH, format_number
from clueline.queries.selection.view_parameters_base import kind_of, split_key

MAX_UNSEARCHED = 20  # choices of a menu without a search box
DIFFERENCES = (0.005, 0.01, 0.02, 0.05, 0.1)  # between two runs, that a menu offers
MAX_CHIPS, MAX_CHIPS_LENGTH = 8, 60  # beyond this many choices, or characters of their names, they go into a menu


def control(key: str, kind: str, run: str = "", scale: str = "", default: str = "") -> dict[str, str]:
    """Return the id of the control of a key; see the module's docstring for the fields.

    ``scale`` is the one under which the control of a threshold was drawn. ``default`` are comma-separated choices that are left
    out of the address.
    """
    return {"role": "control", "key": key, "kind": kind, "run": run, "scale": scale, "default": default}


def choices(key: str, label: str, options: Sequence[tuple[Value, str]], chosen: Sequence[Value], blank: str) -> Component:
    """Return a control for choosing several values: chips if there are few, otherwise a menu.

    The menu shows ``blank`` while none is chosen.
    """
    if len(options) > MAX_CHIPS or sum(len(name) for _, name in options) > MAX_CHIPS_LENGTH:
        return several(key, label, dict(options), chosen, blank)
    chips = dcc.Checklist(
        options=[{"label": name, "value": value} for value, name in options], value=list(chosen), id=control(key, "choices"),
        inline=True, className="chips",
    )  # fmt: skip
    return labelled(label, chips, key)


def menu(key: str, label: str, options: Mapping[str, str], chosen: str, kind: str = "choice", default: str = "") -> Component:
    """Return a menu for choosing one value; the ``default`` is left out of the address.

    ``options`` maps values to names; for ``kind`` see the module's docstring.
    """
    named = [{"label": name, "value": "" if value == default else value} for value, name in options.items()]
    inner = dcc.Dropdown(
        options=named,
        value="" if chosen == default else chosen,
        id=control(key, kind),
        clearable=False,
        searchable=len(options) > MAX_UNSEARCHED,
        className="menu",
    )
    return labelled(label, inner, key)


def difference_menu(key: str, label: str, stated: float | None) -> Component:
    """Return a menu of differences between runs. An address can state any; that one is in the menu, too."""
    offered = sorted({*DIFFERENCES, *(() if stated is None else (stated,))})
    names = {"": "Not stated"} | {format_number(difference): format_number(difference) for difference in offered}
    return menu(key, label, names, "" if stated is None else format_number(stated))


def several(
    key: str,
    label: str,
    options: Mapping[str, str] | Mapping[Value, str],
    chosen: Sequence[Value],
    blank: str,
    default: Sequence[str] = (),
) -> Component:
    """Return a menu for choosing several values, which shows ``blank`` while none is chosen.

    ``options`` maps values to names. ``default`` are the choices that apply if the address does not have the key.
    """
    inner = dcc.Dropdown(
        options=[{"label": name, "value": value} for value, name in options.items()], value=list(chosen),
        id=control(key, "choices", default=",".join(default)),
        multi=True, placeholder=blank, closeOnSelect=False, className="menu",
    )  # fmt: skip
    return labelled(label, inner, key)


def between(key: str, label: str, chosen: tuple[float, float] | None) -> Component:
    """Return a slider for a range within 0..1. The full range, None, is left out of the address."""
    slider = dcc.RangeSlider(
        min=0, max=1, step=0.01, value=list(chosen or (0, 1)), id=control(key, "range"), marks=None,
        allow_direct_input=True, updatemode="mouseup", allowCross=False, className="slider",
    )  # fmt: skip
    return labelled(label, slider, key)


def search(key: str, label: str, text: str, placeholder: str, pattern: str | None = None) -> Component:
    """Return a search box. It takes effect once the user stops typing, and if the text fits the ``pattern``."""
    box = dcc.Input(
        value=text,
        id=control(key, "text"),
        type="search",
        placeholder=placeholder,
        className="search",
        maxLength=MAX_VALUE_LENGTH,
        pattern=pattern,
    )
    return labelled(label, box, key)


def threshold_box(value: float | None, placeholder: str, pattern: str, run: str, scale: str) -> dcc.Input:
    """Return a box for a threshold of a run; ``run`` is blank for the threshold of all runs.

    ``placeholder`` is what applies without a value. Text that does not fit ``pattern`` leaves the address as it is. A box of type
    "number" could not distinguish a blank from a bad value.
    """
    return dcc.Input(
        type="text", value=value, id=control("threshold", "threshold", run, scale), pattern=pattern, placeholder=placeholder,
        maxLength=24, autoComplete="off", className="threshold-box",
    )  # fmt: skip


def labelled(label: str, inner: Component, key: str) -> html.Div:
    """Return a control below its label."""
    return html.Div(
        [html.Span(label, className="label"), inner], className=f"filter filter-{key}", role="group", **aria(label=label)
    )


def _component(key: str, declared: Control, names: Mapping[str, str]) -> Component:
    """The component of a declared control. ``names`` are those of runs, by id."""
    if isinstance(declared, TextControl):
        return search(key, declared.label, declared.chosen, declared.hint)
    if isinstance(declared, RangeControl):
        return between(key, declared.label, declared.chosen)
    if isinstance(declared, MenuControl):
        return menu(key, declared.label, dict(declared.options), declared.chosen)
    if declared.folded:
        named = {value: names.get(str(value), text) for value, text in declared.options}
        return several(key, declared.label, named, declared.chosen, declared.blank)
    return choices(key, declared.label, declared.options, declared.chosen, declared.blank)


def _controls_of(field: str, facets: Facets, selection: Selection) -> Iterator[tuple[str, Control | None]]:
    """The keys of a field, each with its control: one, or for a named kind one for each name in the dataset."""
    kind = Selection.kinds()[field]
    if not isinstance(kind, SelectionKey):
        raise ValueError(f"{field} has no control")
    for key in [key for key in facets.values if split_key(key)[0] == field] if kind.named else [field]:
        yield key, kind.control(key, selection.value(key), facets)


def filter_keys(*narrows: Narrows, every: bool = False) -> tuple[str, ...]:
    """Return the keys of the filters that pages usually offer, on runs, questions or clues; by default on all three.

    ``every`` includes those that only few pages offer. Who filters runs can also choose between the latest night and all.
    """
    keys = tuple(
        key
        for key, kind in Selection.filters().items()
        if (kind.shown_by_default or every) and (not narrows or kind.narrows in narrows)
    )
    return (*keys, "nights") if not narrows or "runs" in narrows else keys


def filter_bar(facets: Facets, selection: Selection, keys: Sequence[str]) -> html.Div:
    """Return the controls of some keys, in their order; hidden if a page offers none.

    Filters are folded away on small screens. Conventions, which say how to measure, are folded away until one of them is chosen.
    A key with nothing to choose has no control.
    """
    names, declared = names_of(facets.all_runs), [pair for field in keys for pair in _controls_of(field, facets, selection)]
    shown = {key: _component(key, control, names) for key, control in declared if control is not None}
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


MAX_CHIP_LENGTH = 40  # characters of a chip
OF_PAGES = {"pin": "Pinned", "version": "Data version"}  # page keys that also have chips
UNLISTED = ("dataset", "common")  # shown by the dataset menu and the coverage notice


def active_filters(path: str, pairs: Sequence[tuple[str, str]], facets: Facets) -> html.Div:
    """Return a chip for each value that narrows the selection, for each pinned run, and for a pinned data version.

    The element exists even without chips, so that setting the first filter does not rebuild the page.
    """
    names = names_of(facets.all_runs)
    texts = {
        place: f"{label}: {names.get(value, value)}"
        for place, (key, value) in enumerate(pairs)
        if value and (label := _label(key))
    }
    labels = distinct_short_names([*texts.values()], MAX_CHIP_LENGTH)
    chips: list[Component] = [
        html.Li(_chip(path, pairs, place, text, label)) for (place, text), label in zip(texts.items(), labels, strict=True)
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


def _chip(path: str, pairs: Sequence[tuple[str, str]], place: int, text: str, label: str) -> html.A:
    """A chip that links to the same page without one pair of its address."""
    without = [pair for index, pair in enumerate(pairs) if index != place]
    parts: list[Component | str] = [label, html.Span("×", className="remove", **aria(hidden="true"))]
    return page_link(parts, href=address(path, without), title=f"Remove {text}")


def change_button(
    text: str,
    request: str,
    done: str,
    fields: Sequence[tuple[str, str, str]] = (),
    body: Mapping[str, object] | None = None,
    *,
    title: str = "",
    undo: str = "",
    then: str = "",
    **marks: str,
) -> html.Button:
    """Return a button that sends a ``request``, such as ``DELETE /api/v1/runs/RUN``; ``done`` is what the page says afterwards.

    Before, it asks for the values of ``fields``: key, label and present value. ``body`` are values that need not be asked.
    ``title`` says what changes. ``undo`` is the request that undoes it. ``then`` is the key of the field with the name of the
    model whose page is shown afterwards. ``marks`` are further ``data-`` attributes.
    """
    written = {key: json.dumps(value) for key, value in (("fields", fields), ("body", body)) if value}
    stated = {key: value for key, value in (("title", title), ("undo", undo), ("then", then)) if value}
    attributes = aria(label=title or text) | data(send=request, done=done, **written, **stated, **marks)
    return html.Button(text, type="button", className="quiet", **attributes)


def token_field(when: str | None = None) -> html.Div | None:
    """Return the place of the field for a token, if the server asks for one; None where it takes no changes.

    With ``when="asked"``, the field appears once a change needs it.
    """
    mode = service().access.page_mode()
    return None if mode == "off" else html.Div(className="api-token", **data(mode=mode, when=when))


def change_message() -> list[Component | None]:
    """Return the field for a token, which a page that mostly shows something has only on demand, and the place of messages."""
    return [token_field(when="asked"), html.P(className="status-message", role="status", id="change-message")]
