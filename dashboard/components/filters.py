"""The filter bar: a control for each key of the selection that means something in the dataset.

Every control has an id ``{"role": "control", "key": ..., "kind": ...}``; ``assets/address.js`` reads them all into the address.
``kind`` says how a value becomes text: ``many`` (repeated), ``one`` (blank: left out), ``range`` (lo..hi, left out where full) or
``order`` (as ``one``, but blank leaves the order to the headings of the table).
``rules:OTHER`` is one value under which the values of the key OTHER are meant: they go when it changes. ``of KEY=VALUE:NAME`` is
the number of one NAME among several, written NAME:number (blank: left out), meant while KEY is VALUE; without a NAME it is the
number for all that have none of their own, written alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components.attributes import aria
from queries.selection import BINNINGS, Facets, Selection

MOST_CHIPS = 8  # more choices than this go into a menu
CURVES = {"buzz_share": "Share of buzzes", "team_share": "Share of teams", "survival": "Survival"}
BINNING_NAMES = {"width10": "10 equal widths", "width10+1": "10 equal widths, 1 apart", "mass15": "15 equal masses"}


def control(key: str, kind: str) -> dict[str, str]:
    """Id of the control of a key of the address."""
    return {"role": "control", "key": key, "kind": kind}


def _choices(key: str, label: str, options: Sequence[Any], chosen: Sequence[Any]) -> Component | None:
    """Several of some values; None where there is nothing to choose."""
    if len(options) < 2:
        return None
    named = [{"label": str(option), "value": option} for option in options]
    inner: Component = (
        dcc.Checklist(options=named, value=list(chosen), id=control(key, "many"), inline=True, className="chips")
        if len(options) <= MOST_CHIPS and sum(len(str(option)) for option in options) <= 90
        else _menu(key, named, chosen, "All")
    )
    return _labelled(label, inner, key)


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


def _runs(facets: Facets, selection: Selection) -> Component | None:
    if len(facets.runs) < 2:
        return None
    options = [{"label": f"{model} · {elicitation}", "value": run} for run, model, elicitation in facets.runs]
    menu = _menu("run", options, selection.run, "All runs")
    return _labelled("Runs", menu, "run")


def _search(facets: Facets, selection: Selection) -> Component:
    box = dcc.Input(
        value=selection.q,
        id=control("q", "one"),
        type="search",
        debounce=0.3,
        placeholder="in questions and answers",
        className="search",
        maxLength=500,
    )
    return _labelled("Search", box, "q")


CONTROLS: dict[str, Callable[[Facets, Selection], Component | None]] = {
    "q": _search,
    "run": _runs,
    "model": lambda f, s: _choices("model", "Model", f.models, s.model),
    "elicitation": lambda f, s: _choices("elicitation", "Elicitation", f.elicitations, s.elicitation),
    "category": lambda f, s: _choices("category", "Category", f.categories, s.category),
    "subcategory": lambda f, s: _choices("subcategory", "Subcategory", f.subcategories, s.subcategory),
    "radius": lambda f, s: _choices("radius", "Radius, years", f.radii, s.radius),
    "difficulty": lambda f, s: between("difficulty", "Difficulty", s.difficulty) if f.difficulty else None,
    "revealed": lambda f, s: between("revealed", "Revealed", s.revealed) if f.longest > 1 else None,
    "human": lambda f, s: (
        menu("human", "Human curve", {"": "By metric", **CURVES}, s.conventions.human or "") if f.human_teams else None
    ),
    "binning": lambda f, s: menu(
        "binning",
        "Bins",
        {("" if b == "width10" else b): BINNING_NAMES.get(b, b) for b in dict.fromkeys((*BINNINGS, s.conventions.binning))},
        "" if s.conventions.binning == "width10" else s.conventions.binning,
    ),
}


def filter_bar(facets: Facets, selection: Selection, keys: Sequence[str]) -> html.Div:
    """The controls of some keys, folded away on small screens; hidden where a page offers none.

    They stand behind the disclosure, not in it: Chromium would not let Tab leave a ``details`` whose last stop is a menu, for
    Dash takes the menus' buttons out of the order of tabs.
    """
    controls = [built for built in (CONTROLS[key](facets, selection) for key in keys) if built is not None]
    inside = [html.Details(html.Summary("Filters"), open=True, id="filters"), html.Div(controls, className="filters")]
    return html.Div(inside, className="bar" if controls else "bar nothing")
