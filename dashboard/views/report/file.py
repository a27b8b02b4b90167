"""Some views as one HTML file that opens without a server and requests nothing, and its address.

Controls become words, and links lead within the files, to the server, or nowhere.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import plotly
from dash import dcc, html
from dash.development.base_component import Component
from flask import Response
from markupsafe import Markup

from clueline.dashboard.access import signed_links
from clueline.dashboard.http.bodies import attachment_headers
from clueline.dashboard.http.paths import address
from clueline.dashboard.registry.addresses import get
from clueline.dashboard.registry.keys import View
from clueline.dashboard.registry.pages import Page, PageRequest, Pairs, find_page, read_page
from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.registry.views import NOTHING_TO_CITE, Cited
from clueline.dashboard.service import service
from clueline.dashboard.settings import VERSION
from clueline.dashboard.ui.drawing import as_json
from clueline.dashboard.ui.figure import PlotlyJson
from clueline.dashboard.ui.frame import provenance, simulated_people
from clueline.dashboard.ui.html import Replace, aria, children_of, heading, markup, note, section
from clueline.dashboard.ui.messages import content_of
from clueline.dashboard.views.cite import cite
from clueline.dashboard.views.metrics import metric_definition_section
from clueline.data.store.run_cache import kept_property
from clueline.queries.metric_definitions import metric_definitions
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import BadRequest, Texts
from clueline.queries.selection.view_parameters_base import Parameters

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


ITEM_PATHS = ("/questions/", "/runs/", "/models/")  # pages of one thing start with these


@dataclass(frozen=True)
class FileView:
    """A view that a file shows. ``link`` is its address on a server, without the server's own."""

    link: str
    path: str
    pairs: Pairs
    page: Page[Any]
    request: PageRequest[Any]

    @property
    def key(self) -> Key:
        """What links to this view have in common; pages of a dataset name it, whether or not the address did."""
        path, pairs = view_key(self.link)
        return path, pairs if path.startswith(ITEM_PATHS) else pairs | {("dataset", self.request.selection.dataset)}

    @property
    def title(self) -> str:
        """What the view is called in a list of views."""
        item = self.request.item
        if item and self.page.name == "run":
            item = names_of([item]).get(item, item)
        return " · ".join([f"{self.page.title} {item}" if item else self.page.title, self.request.facets.title, *self._filters()])

    @kept_property
    def cited(self) -> Cited[Any] | None:
        """The table that papers can cite; None if the page has none, or nothing in it."""
        try:
            return self.page.table(self.request) if self.page.table else None
        except BadRequest as error:
            if error.code != NOTHING_TO_CITE:
                raise
            return None

    def _filters(self) -> list[str]:
        selection = self.request.selection
        runs = [names_of(selection.run).get(run, run) for run in selection.run]
        applied = [kind.sentence(key, selection.value(key)) for key, kind in selection.applied().items() if key != "run"]
        return [*applied, *(["runs: " + ", ".join(runs)] if runs else [])]

    def write(self, static: StaticPage, *, methods: bool) -> str:
        """Return its HTML. ``methods`` says whether the paragraph on methods stands below it."""
        content = content_of(self.page, self.request, self.path, self.pairs)
        people = simulated_people(self.request.selection, self.request.facets) if self.page.shows_people else None
        selected = "; ".join(self._filters()) or "all questions, all runs"
        url = static.links.url
        live: list[Any] = [" · ", html.A("open live", href=f"{url}{self.link}")] if url else []
        name = html.B(f"{self.page.title} · {self.request.facets.title}")
        head = html.P([name, f" · {selected}", *live], className="view-head")
        parts: list[Component | None] = [people, head, *content]
        if methods and self.cited:
            cited = cite(self.link, url)
            link = html.A(cited.permalink, href=cited.permalink) if url else cited.permalink
            parts.append(section("Methods", cited.methods, note(["Permanent link: ", link]), class_name="section methods"))
        source = provenance(self.request.selection, self.request.facets, service().snapshot().version)
        foot = html.Footer(html.Span(source, className="provenance"), className="page-foot")
        return static.write([*parts, foot])


def read_view(link: str) -> FileView:
    """Read the address of a page, with or without the server in front. Raises ``BadRequest`` if it shows nothing."""
    parts = urlsplit(link)
    path, pairs = parts.path or "/", parse_qsl(parts.query, keep_blank_values=True)
    page, dataset, item = find_page(path)
    pairs = [pair for pair in pairs if pair[0] not in ("embed", "theme", "signed")]
    request = replace(read_page(page, pairs, dataset, item), in_file=True)
    if not page.shows_something:
        raise BadRequest("unknown_value", f"The page {unquote(path)[:200]!r} shows nothing that a file could keep.", "view")
    return FileView(without_signature(address(path, pairs)), path, pairs, page, request)


def definitions(metrics: Sequence[str]) -> Component | None:
    """Return the definitions of metrics; None without any."""
    known = {entry.key: msgspec.structs.replace(entry, notes=[]) for entry in metric_definitions().metrics}
    entries = [metric_definition_section(known[key], {}) for key in metrics if key in known]
    return section("Definitions", *entries, class_name="section definitions") if entries else None


ASSETS = Path(__file__).resolve().parents[3] / "assets"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"  # the file that pages load, too
# report.js comes first, because it stands in for what the others call of Dash and of the address.
SCRIPTS = ("report.js", "elements.js", "accessible.js", "figure_colours_and_size.js", "figure_files.js")
FONT = re.compile(r'@font-face \{ font-family: "?([^;"]+)"?; src: url\("(fonts/[^"]+)"\)')
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
THEME = html.Button("◐", id="theme-switch", className="quiet", title="Light or dark theme", **aria(label="Switch theme"))
GAP = html.Span(className="gap")
FRAME = Markup("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{head}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Clueline {version}">
<title>{title}</title>
{loaded}
</head>
<body>
<div class="page in-file">
{top}
<main id="main"><div id="content">{content}</div></main>
</div>
<script type="application/json" id="figures">{figures}</script>
{scripts}
</body>
</html>
""")


def frame(
    title: str, top: str, content: str, figures: Mapping[str, PlotlyJson], *, head: str = "", loaded: str = "", scripts: str = ""
) -> bytes:
    """Return a page of a file or of a site. Everything but ``title`` is HTML; ``loaded`` is loaded before the page is painted."""
    data = as_json(figures).decode().replace("<", "\\u003c")  # so that no text in it can end the script
    parts = {"head": head, "loaded": loaded, "top": top, "content": content, "figures": data, "scripts": scripts}
    return FRAME.format(title=title, version=VERSION, **{name: Markup(part) for name, part in parts.items()}).encode()


def read_asset(name: str) -> str:
    """Return a file of our scripts and styles."""
    return (ASSETS / name).read_text(encoding="utf-8")


def report_file(addresses: Sequence[str], title: str = "", url: str = "") -> bytes:
    """Return views as one HTML file, in the order of their addresses.

    ``url`` is the address of the server, to which links lead that no view of the file answers; without it they become text. What
    may not be read outside of a request, or by the reader of this one, is not in it. Raises ``BadRequest`` as ``read_view``.
    """
    views = list({view.key: view for view in map(read_view, addresses)}.values())
    metrics = list(dict.fromkeys(metric.key for view in views if view.cited for metric in view.cited.metrics))
    names = [f"view-{number}" for number in range(1, len(views) + 1)]
    targets = {view.key: f"#{name}" for view, name in zip(views, names, strict=True)}
    links = Links(targets, url, defined=metrics)
    figures: dict[str, PlotlyJson] = {}
    sections: list[Component | None] = []
    for view, name in zip(views, names, strict=True):
        inside = Markup(view.write(StaticPage(links, f"{name}-", figures), methods=True))  # its texts are escaped
        live = {"data-live": url + view.link} if url else {}
        sections.append(html.Section(inside, id=name, className=f"view page-{view.page.name}", **live))  # type: ignore[arg-type]
    end = Markup(StaticPage(links, DEFINITION).write([definitions(metrics)]))
    title = title or "Clueline: " + ", ".join(dict.fromkeys(view.request.facets.title for view in views))
    listed = [html.Li(html.A(view.title, href=f"#{name}")) for view, name in zip(views, names, strict=True)]
    contents = html.Nav(html.Ol(listed), className="views", **aria(label="Views in this file"))
    about = f"Saved on {datetime.now(UTC):%Y-%m-%d} from data version {service().snapshot().version} by Clueline {VERSION}"
    top = html.Header([html.B([html.Span("◢", className="mark"), "Clueline"], className="brand"), GAP, THEME], className="top")
    content = "".join(map(markup, [heading(title, f"{about}{f' at {url}' if url else ''}.", contents), *sections, end]))
    return frame(
        title,
        markup(top),
        content,
        figures,
        head=f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        loaded=f"<style>{_styles('<math' in content)}</style>\n<script>{read_asset('before_first_paint.js')}</script>",
        scripts=f'<script type="text/plain" id="plotly">{_plotly() if figures else ""}</script>\n'
        + "\n".join(f"<script>{read_asset(name)}</script>" for name in SCRIPTS),
    )


@cache
def _styles(formulas: bool) -> str:
    """Return the style sheet with its fonts inside; the font of formulas, which is large, only if there are any."""

    def inside(match: re.Match[str]) -> str:
        wanted = formulas or "Math" not in match[1]
        data = base64.b64encode((ASSETS / match[2]).read_bytes()).decode() if wanted else ""
        return match[0].replace(match[2], f"data:font/woff2;base64,{data}")

    return FONT.sub(inside, read_asset("clueline.css"))


@cache
def _plotly() -> str:
    """Return Plotly, compressed, because it would otherwise be most of the file; ``report.js`` unpacks it."""
    return base64.b64encode(gzip.compress(PLOTLY.read_bytes(), mtime=0)).decode()


MAX_VIEWS = 24


@dataclass(frozen=True)
class Views(Texts):
    """Paths and query strings of pages on this server."""

    longest: ClassVar[int | None] = View.longest

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[str, ...]:
        """See ``Kind``."""
        if len(texts) > MAX_VIEWS:
            raise BadRequest("bad_value", f"A file holds at most {MAX_VIEWS} views, not {len(texts)}.", key)
        return super().read(key, [View("").read(key, [text], facets) for text in texts], facets)


class ReportParameters(Parameters, frozen=True):
    """Which views are saved."""

    view: Annotated[
        tuple[str, ...], Views("a page to save: its path and query, percent-encoded as one value; `/` by default")
    ] = ("/",)


@get("/api/v1/report.html", ReportParameters)
def get_report(parameters: ReportParameters) -> Response:
    """Pages as one HTML file that opens without a server and requests nothing, with figures, tables that sort, and methods."""
    body = report_file(parameters.view, url=service().shared_url())
    return Response(body, mimetype="text/html", headers=attachment_headers("clueline-report.html"))
