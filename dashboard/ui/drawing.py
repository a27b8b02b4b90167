"""Divides a page's content into static HTML and Dash components, so that a new address changes only what differs, in place.

Read-only content goes to the browser as HTML, in a few fragments, because each Dash component takes part in every update of a
page. Whatever callbacks use stays a component. docs/rendering.md describes all steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from dash import html
from dash.development.base_component import Component

from clueline.dashboard.ui.html import children_of, content_markup, is_read_only, markup

Json = Any  # anything that orjson can write, with components in it
# Roles of components that show a value of the address. If the user set the value, they already show it.
CONTROLS = ("control", "slide")
SHOWN_VALUES = ("value", "placeholder")
OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


@dataclass(frozen=True)
class Drawing:
    """A page's content, divided.

    Attributes:
        fragments: HTML by the name of the element that holds it.
        figures: Plotly figures by name; colours can be ``var(--name)``.
        states: data of stores with the role ``state``, by their ids as JSON; the browser's scripts read them.
    """

    structure: list[Json] = field(default_factory=list)
    fragments: dict[str, str] = field(default_factory=dict)
    figures: dict[str, Json] = field(default_factory=dict)
    states: dict[str, Json] = field(default_factory=dict)

    def __add__(self, other: Drawing) -> Drawing:
        """Return both drawings below each other; their fragments, figures and states have different names."""
        return Drawing(
            self.structure + other.structure,
            self.fragments | other.fragments,
            self.figures | other.figures,
            self.states | other.states,
        )

    def encode(self) -> bytes:
        """Return the drawing as JSON."""
        return as_json(vars(self))

    @classmethod
    def decode(cls, drawn: bytes) -> Drawing:
        """Return the drawing of ``encode``, in which components are JSON."""
        return cls(**orjson.loads(drawn))

    def outline(self) -> str:
        """Return a digest of the structure without the values that controls show.

        Drawings with the same digest differ only in the contents of fragments, figures and states. One can replace the other
        without building the page again.
        """
        written = orjson.dumps(
            [_without_values(part) for part in self.structure], _component_as_json, OPTIONS | orjson.OPT_SORT_KEYS
        )
        return hashlib.sha256(written).hexdigest()[:16]


def divide_page(content: Sequence[Component | None], prefix: str = "") -> Drawing:
    """Divide components into those that Dash renders and those that it does not need to know.

    ``prefix`` starts the names of fragments.
    """
    drawing = Drawing()
    drawing.structure.extend(
        _divided(part, f"{prefix}{place}", drawing) for place, part in enumerate(content) if part is not None
    )
    return drawing


def as_key(identity: Mapping[str, str]) -> str:
    """Return an id as Dash writes it in the browser."""
    return orjson.dumps(identity, option=orjson.OPT_SORT_KEYS).decode()


def as_json(value: Json) -> bytes:
    """Return components and their contents as JSON, with NaN as null."""
    return orjson.dumps(value, _component_as_json, OPTIONS)


def _divided(part: Any, name: str, drawing: Drawing) -> Json:
    if not isinstance(part, Component):
        return part
    if is_read_only(part):
        return _fragment(part, name, drawing)
    written = part.to_plotly_json()
    props = dict(written["props"])
    identity: Any = props.get("id")
    role = _role(identity)
    if role == "figure":
        drawing.figures[identity["figure"]] = props.pop("figure")
    if role == "state":
        drawing.states[as_key(identity)] = props.pop("data")
    if "children" in props:
        inside = [(place, child) for place, child in enumerate(children_of(part)) if child is not None]
        props["children"] = [_divided(child, f"{name}.{place}", drawing) for place, child in inside]
    return {**written, "props": props}


def _fragment(part: Component, name: str, drawing: Drawing) -> Json:
    """Return the element that holds a read-only part: the part itself, or an element around it if the part has an id."""
    if getattr(part, "id", None) is None:
        drawing.fragments[name] = content_markup(part)
        written = part.to_plotly_json()
        props = {key: value for key, value in written["props"].items() if key != "children"}
    else:
        drawing.fragments[name] = markup(part)
        written = html.Div(className="fragment").to_plotly_json()
        props = dict(written["props"])
    return {**written, "props": props | {"id": {"role": "fragment", "name": name}}}


def _without_values(part: Json) -> Json:
    if not isinstance(part, dict) or "props" not in part:
        return part
    props = part["props"]
    hidden = SHOWN_VALUES if _role(props.get("id")) in CONTROLS else ()
    kept = {key: value for key, value in props.items() if key != "children" and key not in hidden}
    return [part["type"], kept, [_without_values(child) for child in props.get("children") or []]]


def _role(identity: str | Mapping[str, str] | None) -> str:
    return identity.get("role", "") if isinstance(identity, Mapping) else ""


def _component_as_json(value: Any) -> Any:
    if isinstance(value, Component):
        return value.to_plotly_json()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
