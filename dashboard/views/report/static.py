"""Pages as HTML that needs no server: controls become words, and links lead within the files, to the server, or nowhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.access import signed_links
from dashboard.http.paths import address
from dashboard.ui.figure import PlotlyJson
from dashboard.ui.html import Replace, children_of, markup

# Keys that do not change which view it is.
NO_OTHER_VIEW = ("theme", "embed", "version", "pin", "clue", "items", signed_links.KEY)
ASKING = (html.Form, html.Dialog, html.Textarea, dcc.Store, dcc.Slider)  # these need a server
BUTTONS = ("data-download", "data-pin", "data-toggles")  # what the scripts of a file still do
NAMES = ("htmlFor", "aria-labelledby", "aria-describedby", "aria-controls")  # attributes that name ids
CHANGED = {*NAMES, "id", "data-figure"}
PLAIN = {kind for kind in vars(html).values() if isinstance(kind, type)}
DEFINITION = "def-"  # what ids of definitions start with
Key = tuple[str, frozenset[tuple[str, str]]]


def view_key(link: str) -> Key:
    """Return what is the same for all addresses of a view.

    >>> view_key("/buzz?dataset=a&theme=dark") == view_key("/buzz?dataset=a#top")
    True
    """
    parts = urlsplit(link)
    return unquote(parts.path), frozenset(pair for pair in parse_qsl(parts.query) if pair[0] not in NO_OTHER_VIEW)


def without_signature(link: str) -> str:
    """Return the path and query of a link without the signature of a signed link, which opens it for anybody.

    >>> without_signature("/?dataset=lab&signed=x")
    '/?dataset=lab'
    """
    parts = urlsplit(link)
    pairs = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != signed_links.KEY]
    return address(parts.path, pairs)


@dataclass(frozen=True)
class Links:
    """Where links lead from a file: to ``targets``, by key of a view; else to the server at ``url``; nowhere if it is blank.

    ``root`` leads from the file to where ``targets`` start. ``defined`` are the metrics that the file defines itself.
    """

    targets: Mapping[Key, str]
    url: str = ""
    root: str = ""
    defined: Collection[str] = ()

    def target(self, link: str) -> str | None:
        """Return where a link of a page leads; None if nowhere."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return link if parts.scheme in ("http", "https") else None
        if (inside := self.targets.get(view_key(link))) is not None:
            inside = self.root + inside
            return f"{inside}#{parts.fragment}" if parts.fragment and "#" not in inside else inside
        if parts.path == "/metrics" and parts.fragment in self.defined:
            return f"#{DEFINITION}{parts.fragment}"
        return self.url + without_signature(link) + (parts.fragment and f"#{parts.fragment}") if self.url else None


@dataclass(frozen=True)
class StaticPage:
    """Writes components as HTML and collects their ``figures``. Names of figures and ids start with ``prefix``."""

    links: Links
    prefix: str = ""
    figures: dict[str, PlotlyJson] = field(default_factory=dict)

    def write(self, parts: Iterable[Component | None]) -> str:
        """Return the HTML of components."""
        replace: Replace = self._replaced
        return "".join(markup(part, replace) for part in parts)

    def _replaced(self, part: Component) -> Any:
        kind, given = type(part), vars(part)
        identity: Any = given.get("id")
        if kind is dcc.Graph:
            self.figures[self.prefix + identity["figure"]] = given.get("figure", {})
            return html.Div(className="plot")
        if kind in ASKING:
            return None
        if kind not in PLAIN:
            return html.B(_chosen(part), className="chosen")
        if kind is html.Div and str(given.get("className", "")).startswith("filter filter-"):
            return _words(part)
        if kind is html.Button and identity != "theme-switch" and given.keys().isdisjoint(BUTTONS):
            sorts = given.get("data-set", "").startswith("sort=")
            return html.Span(part.children, title=given.get("title")) if sorts else None
        if "data-items" in given:  # a file has no drawer
            return html.Span(part.children, title=given.get("title"))
        if kind is html.A and "href" in given:
            return self._link(part)
        if given.keys().isdisjoint(CHANGED):
            return part
        named = {key: given[key] for key in NAMES if key in given}
        changed: dict[str, Any] = {key: " ".join(self.prefix + one for one in ids.split()) for key, ids in named.items()}
        if identity is not None:
            changed["id"] = None if isinstance(identity, dict) else self.prefix + identity
        if "data-figure" in given:
            changed["data-figure"] = self.prefix + given["data-figure"]
        return _with(part, changed)

    def _link(self, part: Component) -> Component:
        href = str(getattr(part, "href", ""))
        target = f"#{self.prefix}{href[1:]}" if href.startswith("#") else self.links.target(href)
        if target is None:
            return html.Span(part.children, title=getattr(part, "title", None))
        away = {"target": "_blank", "rel": "noopener"} if urlsplit(target).scheme else {}
        return _with(part, {"href": target, "data-link": None, "data-key": None, "data-path": None, **away})


def _with(part: Component, changed: Mapping[str, Any]) -> Component:
    other = copy(part)
    vars(other).update(changed)
    return other


def _words(control: Component) -> Component | None:
    """Return what a control is set to, in place of the control."""
    label, inner = children_of(control)
    words = _chosen(inner)
    return html.Span([label.children, ": ", html.B(words)], className="chosen") if words else None


def _chosen(inner: Component) -> str:
    """Return the value of a control, in words; what applies without one if it is blank."""
    value: Any = getattr(inner, "value", None)
    if isinstance(inner, dcc.RangeSlider):
        return " to ".join(f"{end:g}" for end in value)
    options: Any = getattr(inner, "options", [])
    names = {option["value"]: option["label"] for option in options}
    values = value if isinstance(value, list) else [] if value in (None, "") and value not in names else [value]
    return ", ".join(str(names.get(one, one)) for one in values) or str(getattr(inner, "placeholder", None) or "")
