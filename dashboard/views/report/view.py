"""Views as they stand in files: the page as the server draws it, with what is selected, its methods and its source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
from dash import html
from dash.development.base_component import Component

from dashboard.http.paths import address
from dashboard.registry.pages import Page, PageRequest, Pairs, find_page, read_page
from dashboard.registry.run_names import names_of
from dashboard.service import service
from dashboard.ui.content import content_of
from dashboard.ui.frame import provenance
from dashboard.ui.messages import simulated_people
from dashboard.ui.section import note, section
from dashboard.views.cite.citation import cite
from dashboard.views.metrics import metric_definition_section
from dashboard.views.report.static import Key, StaticPage, view_key, without_signature
from queries.metric_definitions import metric_definitions
from queries.selection.parameter_kinds import BadRequest

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
        if self.page.table and methods:
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


def shown_metrics(views: Iterable[FileView]) -> list[str]:
    """Return the keys of the metrics that views show, each once."""
    tables = [view.page.table(view.request) for view in views if view.page.table]
    return list(dict.fromkeys(metric.key for cited in tables for metric in cited.metrics))


def definitions(metrics: Sequence[str]) -> Component | None:
    """Return the definitions of metrics; None without any."""
    known = {entry.key: msgspec.structs.replace(entry, notes=[]) for entry in metric_definitions().metrics}
    entries = [metric_definition_section(known[key], {}) for key in metrics if key in known]
    return section("Definitions", *entries, class_name="section definitions") if entries else None
