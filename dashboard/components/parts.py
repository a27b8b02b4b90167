"""What a page is made of, so that a change of its address draws anew what differs, where it stands, and nothing else.

Most of a page is only read: text, tables, links. Every Dash component looks at every change of anything on a page, and a table is
hundreds of them; so what is only read goes to the browser as plain elements, which ``assets/plain.js`` makes and changes. What
callbacks know stays a component; of these, figures are given new data in their places (``assets/place.js``), for Plotly changes
a figure that is there much faster than it draws a new one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from dash import dcc
from dash.development.base_component import Component

# Role of stores whose data is drawn anew: what names one within its role.
CHANGING = {"spec": ("figure",), "drawn": ("key", "kind")}
OURS = {*CHANGING, "figure", "control"}
TOLD = {"plain", "grid"}  # a grid asks for its rows by itself; a page with one tells it when (dashboard/pages/questions.py)
PLAIN = "data-plain"
WRITTEN = {"className": "class", "htmlFor": "for"}  # names of attributes, where they are not the property's in small letters
NEVER = {"children", "n_clicks", "key"}
WILD = ("data-", "aria-")
Content = Sequence[Component | None]


def frame(content: Content) -> list[Component | None]:
    """Take what is only read out of a page's content, which is changed, into a store that stands behind it; a part is only read
    if nothing in it has an id and all of it is HTML or links. Each is named by its place."""
    read: dict[str, list[Any]] = {}
    for place, part in enumerate(content):
        _take(part, str(place), read)
    return [*content, dcc.Store(id="plain", data=read)]


def element(part: Any) -> Any:
    """A part as JSON: ``[tag, attributes, children]``, and text as it is; ``assets/plain.js`` makes the element."""
    if not isinstance(part, Component):
        return str(part)
    # As part.to_plotly_json() would name them, which asks for every property that there could be.
    given = {name: value for name, value in vars(part).items() if name in part._prop_names or name.startswith(WILD)}
    attributes = {WRITTEN.get(name, name.lower()): _written(value) for name, value in given.items() if name not in NEVER}
    tag = "a" if isinstance(part, dcc.Link) else part._type.lower()
    if isinstance(part, dcc.Link):
        attributes["data-link"] = ""
    return [tag, {name: value for name, value in attributes.items() if value is not None}, _elements(part)]


def parts(content: Content) -> dict[str, Component]:
    """The stores of a page's content whose data is drawn anew in its place, by id."""
    return {key(getattr(part, "id")): part for part in every(content) if _role(part) in CHANGING}  # noqa: B009 - not all have one


def key(of: Mapping[str, str]) -> str:
    """An id as a key, as Dash writes it in the browser."""
    return json.dumps(of, sort_keys=True, separators=(",", ":"))


def digests(framed: Content) -> dict[str, str]:
    """Of a content that ``frame`` gave: a digest of each store, a blank one of each part that is only read, and under ``""``
    one of all that stands around them. That one is blank where the page holds what has an id for callbacks of its own: it is
    built again, for these may look at the address."""
    known = [part for part in every(framed) if getattr(part, "id", None) is not None]
    ours = all(_role(part) in OURS or _name(part) in TOLD or _name(part).startswith("label-") for part in known)
    read = {name: "" for part in every(framed) if (name := getattr(part, PLAIN, None))}
    found = {of: _digest(part.data) for of, part in parts(framed).items()}  # type: ignore[attr-defined]
    return found | read | {"": _digest(_around(framed)) if ours else ""}


def as_json(what: Any) -> bytes:
    """Components and what they hold as JSON, NaN as null: several times as fast as Dash does it."""
    return orjson.dumps(what, _written_out, orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def _written_out(what: Any) -> Any:
    if isinstance(what, Component):
        return what.to_plotly_json()
    raise TypeError(f"{type(what).__name__} is no JSON")


def every(content: Any) -> Iterator[Component]:
    """Every component, down to the last."""
    for part in content if isinstance(content, (list, tuple)) else [content]:
        if isinstance(part, Component):
            yield part
            yield from every(getattr(part, "children", None))


def _take(part: Any, place: str, read: dict[str, list[Any]]) -> None:
    inner = getattr(part, "children", None) if isinstance(part, Component) else None
    if inner is None or getattr(part, "id", None) is not None:  # what has an id may be filled by a callback
        return
    if not isinstance(part, dcc.Link) and all(_is_read(one) for one in every([part])):
        setattr(part, PLAIN, place)
        read[place] = _elements(part)
        part.children = None
        return
    for index, one in enumerate(inner if isinstance(inner, (list, tuple)) else [inner]):
        _take(one, f"{place}.{index}", read)


def _is_read(part: Component) -> bool:
    return getattr(part, "id", None) is None and (part._namespace == "dash_html_components" or isinstance(part, dcc.Link))


def _elements(part: Component) -> list[Any]:
    inner = getattr(part, "children", None)
    return [element(one) for one in (inner if isinstance(inner, (list, tuple)) else [inner]) if one is not None]


def _written(value: Any) -> str | None:
    """The value of an attribute; None where there is to be none."""
    if isinstance(value, dict):
        return ";".join(f"{re.sub('(?<!^)(?=[A-Z])', '-', name).lower()}:{one}" for name, one in value.items())
    if isinstance(value, bool):
        return "" if value else None
    return None if value is None else str(value)


def _around(content: Any) -> Any:
    """What the page is but for what its parts hold."""
    if isinstance(content, (list, tuple)):
        return [_around(part) for part in content]
    if not isinstance(content, Component):
        return content
    parted = _role(content) in CHANGING or _name(content) == "plain"
    props = {name: value for name, value in content.to_plotly_json()["props"].items() if name not in ("children", "data")}
    if not parted and hasattr(content, "data"):
        props["data"] = content.data
    return [content._type, props, _around(getattr(content, "children", None))]


def _role(part: Component) -> str:
    of = getattr(part, "id", None)
    return str(of.get("role", "")) if isinstance(of, dict) else ""


def _name(part: Component) -> str:
    of = getattr(part, "id", None)
    return of if isinstance(of, str) else ""


def _digest(what: Any) -> str:
    return hashlib.sha256(as_json(what)).hexdigest()[:16]
