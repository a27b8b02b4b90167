"""Some views as one HTML file that opens without a server and requests nothing, and its address."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import plotly
from dash import html
from dash.development.base_component import Component
from flask import Response
from markupsafe import Markup

from dashboard.http.bodies import attachment_headers
from dashboard.http.paths import address
from dashboard.registry.addresses import get
from dashboard.registry.keys import View
from dashboard.registry.pages import Page, PageRequest, Pairs, find_page, read_page
from dashboard.registry.run_names import names_of
from dashboard.registry.views import NOTHING_TO_CITE, Cited
from dashboard.service import service
from dashboard.settings import VERSION
from dashboard.ui.drawing import as_json
from dashboard.ui.figure import PlotlyJson
from dashboard.ui.frame import provenance
from dashboard.ui.html import aria, heading, markup, note, section
from dashboard.ui.messages import content_of, simulated_people
from dashboard.views.cite import cite
from dashboard.views.metrics import metric_definition_section
from dashboard.views.report.static import DEFINITION, Key, Links, StaticPage, view_key, without_signature
from data.store.run_cache import kept_property
from queries.metric_definitions import metric_definitions
from queries.selection.facets import Facets
from queries.selection.parameter_kinds import BadRequest, Texts
from queries.selection.view_parameters_base import Parameters

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
        people = simulated_people(self.request.facets, self.request.selection.people) if self.page.shows_people else None
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


ASSETS = Path(__file__).parents[3] / "assets"
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
