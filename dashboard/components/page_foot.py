"""The footer of every page: a link to cite the view, where its figures come from, and the documentation."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from dashboard.components.links import address, page_link
from dashboard.version import VERSION
from queries.selection import Selection
from queries.selection.facets import Facets


def page_foot(path: str, pairs: list[tuple[str, str]], version: str, measured: tuple[Selection, Facets] | None) -> html.Footer:
    """Return the links and the provenance below the content of a page.

    Args:
        path, pairs: path and query pairs of the page's address.
        version: version of the data.
        measured: the selection that the page shows and the facets of its dataset; None for a page without measurements.
    """
    parts: list[Component] = []
    embedded = ("embed", "1") in pairs  # in a frame, where other pages of this server must not open
    if embedded:
        whole = address(path, [(key, value) for key, value in pairs if key != "embed"])
        parts.append(html.A("Open in Clueline", href=whole, target="_blank", rel="noopener"))
    if measured is not None:
        selection, facets = measured
        filters = [kind.sentence(key, selection.value(key)) for key, kind in selection.applied().items() if key != "run"]
        source = [f"{facets.title} ({facets.dataset})", *filters, f"data version {version}", f"Clueline {VERSION}"]
        if not embedded:
            cite = address("/cite", [("dataset", facets.dataset), ("view", address(path, pairs))])
            about = "Permanent link, methods, LaTeX, BibTeX, Python"
            parts.append(page_link("Cite this view", href=cite, title=about))
        parts.append(html.Span(" · ".join(source), className="provenance"))
    if not embedded:
        parts.append(html.A("Documentation", href="/docs"))
    return html.Footer(parts, className="page-foot")
