"""Controls that set the keys of an address.

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

from collections.abc import Mapping, Sequence

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.ui.html import aria
from queries.selection.filters import Value
from queries.selection.parameter_kinds import MAX_VALUE_LENGTH, format_number

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


def menu(key: str, label: str, options: Mapping[str, str], chosen: str, kind: str = "choice") -> Component:
    """Return a menu for choosing one value; the value "" is left out of the address.

    ``options`` maps values to names; for ``kind`` see the module's docstring.
    """
    named = [{"label": name, "value": value} for value, name in options.items()]
    inner = dcc.Dropdown(
        options=named,
        value=chosen,
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


def search(key: str, label: str, text: str, placeholder: str) -> Component:
    """Return a search box. It takes effect once the user stops typing."""
    box = dcc.Input(
        value=text,
        id=control(key, "text"),
        type="search",
        placeholder=placeholder,
        className="search",
        maxLength=MAX_VALUE_LENGTH,
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
