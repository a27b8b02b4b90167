"""What all pages have around them: header, menu of datasets, shortcut keys, foot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.http.paths import address
from clueline.dashboard.settings import VERSION
from clueline.dashboard.ui.html import aria, data, page_link
from clueline.dashboard.ui.text import shorten_middle
from clueline.data.importing.seed import SAMPLES
from clueline.data.plurals import counted
from clueline.queries.datasets import Dataset
from clueline.queries.selection import Selection
from clueline.queries.selection.facets import Facets

Pages = Sequence[tuple[str, str]]  # path and title of each
HELP = "Help"
ASIDE = ("Add results", HELP)  # places on the right


def header(
    datasets: list[Dataset],
    chosen: str | None,
    path: str,
    pairs: list[tuple[str, str]],
    places: Mapping[str, Pages],
    current: str,
    shared_keys: Sequence[str],
    account: tuple[str, str] | None = None,
    url: str = "",
) -> html.Header:
    """Return the dataset menu, the navigation, the link to this view, keyboard help and theme; below them the pages of a place.

    ``places`` are the pages of each place of the navigation, and ``current`` is the place of this page; blank for none. Links
    keep ``shared_keys``, and keys that start with one of them and a dot. ``account`` is the text and the address of the link
    to the login page; None for no link. ``url`` is the address of the server in copied links; blank for the one in use.
    """
    query = urlencode([(key, value) for key, value in pairs if key.partition(".")[0] in shared_keys])

    def links(kind: str, label: str, shown: Pages, here: str, *more: Component) -> html.Nav:
        linked = [_page_link(target, title, query, current=target == here) for target, title in shown]
        return html.Nav([*linked, *more], className=kind, **aria(label=label), **data(keys=kept))

    kept = json.dumps(list(shared_keys))
    first = {place: pages[0][0] for place, pages in places.items()}
    pages = places.get(current, [])
    documents = [html.A("Documentation", href="/docs"), html.A("Addresses", href="/api")] if current == HELP else []
    here = first.get(current, "")
    return html.Header(
        [
            html.A("Skip to content", href="#content", className="skip"),
            page_link([html.Span("◢", className="mark", **aria(hidden="true")), "Clueline"], href="/", class_name="brand"),
            dataset_menu(datasets, chosen, path),
            links("places", "Places", [(target, place) for place, target in first.items() if place not in ASIDE], here),
            html.Span(className="gap"),
            links("aside", "Results and help", [(target, place) for place, target in first.items() if place in ASIDE], here),
            html.A(account[0], href=account[1], className="quiet account", title="Log in or out") if account else None,
            copy_link(url),
            *keyboard_help(),
            html.Button("◐", id="theme-switch", className="quiet", title="Light or dark theme", **aria(label="Switch theme")),
            links("pages", f"Pages of {current}", pages, path, *documents) if len(pages) + len(documents) > 1 else None,
        ],
        className="top",
    )


def _page_link(target: str, title: str, query: str, *, current: bool) -> html.A:
    attributes = {"className": "current", **aria(current="true")} if current else {}
    return html.A(title, href=f"{target}?{query}" if query else target, **attributes, **data(link="", path=target))


MAX_TITLE_LENGTH = 34  # characters of a title in the header


def dataset_menu(datasets: Sequence[Dataset], chosen: str | None, path: str) -> html.Details:
    """Return a menu that leads to the same page of another dataset. ``assets/dataset_menu.js`` adds a search box if it is long.

    Datasets are in order of import.
    """
    title = next((dataset.title for dataset in datasets if dataset.dataset == chosen), "")
    label = shorten_middle(title, MAX_TITLE_LENGTH) if title else "Datasets"
    links = [
        html.Li(
            page_link(
                [
                    html.Span(dataset.title, className="name"),
                    html.Span(
                        f"{dataset.dataset} · {counted(dataset.questions, 'question')}, {counted(dataset.runs, 'run')}"
                        + (" · sample" if dataset.dataset in SAMPLES else ""),
                        className="about",
                    ),
                ],
                href=f"{path}?{urlencode({'dataset': dataset.dataset})}",
                class_name="current" if dataset.dataset == chosen else "",
            )
        )
        for dataset in samples_last(datasets)
    ]
    return html.Details(
        [
            html.Summary(label, title=title, **aria(label=f"Dataset: {title or 'choose'}")),
            html.Div(html.Ul(links), className="choices", **data(search="Find a dataset")),
        ],
        className="datasets",
    )


def samples_last(datasets: Sequence[Dataset]) -> list[Dataset]:
    """Return datasets in order of import, with the bundled samples last."""
    return sorted(datasets, key=lambda dataset: dataset.dataset in SAMPLES)


# Where the keys work, then what each key does.
KEYS: dict[str, dict[str, str]] = {
    "Everywhere": {"?": "Show this list", "Esc": "Close a menu or a dialog"},
    "A question": {"← →": "Previous or next clue", "p  n": "Previous or next question"},
    "Names above a figure": {"Tab": "Bring the next run forward", "Enter": "Pin the run, or unpin it"},
    "Guesses to grade": {"y": "Correct", "n": "Wrong", "u": "Undo the correction", "↑ ↓": "Previous or next guess"},
    "Menu of datasets": {"↑ ↓": "Previous or next dataset", "Enter": "Open it"},
}


def copy_link(url: str) -> html.Button:
    """Return a button that copies the address of the view; ``url`` is by which others reach the server, if it says so."""
    title = "Copy a link to exactly this view"
    return html.Button("Copy link", type="button", className="quiet", title=title, **data(copy="address", url=url))


def keyboard_help() -> list[html.Button | html.Dialog]:
    """Return a button and the dialog that it opens; ``assets/keyboard_help.js`` also opens it for the key."""
    groups = [
        html.Section(
            [
                html.H3(where),
                html.Dl([part for key, effect in keys.items() for part in (html.Dt(html.Kbd(key)), html.Dd(effect))]),
            ]
        )
        for where, keys in KEYS.items()
    ]
    close = html.Form(html.Button("Close", className="quiet"), method="dialog")
    return [
        html.Button(
            "?",
            type="button",
            className="quiet",
            title="Keyboard shortcuts (?)",
            **data(opens="keys"),
            **aria(label="Keyboard shortcuts"),
        ),
        html.Dialog([html.H2("Keyboard shortcuts", id="keys-title"), *groups, close], id="keys", **aria(labelledby="keys-title")),
    ]


def simulated_people(selection: Selection, facets: Facets) -> html.Details | None:
    """Say in a chip that unfolds that the data are simulated; None if not, or if the people are of a human collection."""
    if not facets.simulated or facets.human_collection(selection.people):
        return None
    more = page_link("About this dataset", href=f"/datasets?{urlencode([('dataset', facets.dataset)])}")
    about = facets.note or f"{facets.title} holds simulated data."
    what = "Simulated people" if facets.human_teams or facets.has_votes else "Simulated data"
    return html.Details([html.Summary(what), html.P([f"{about} ", more])], className="simulated")


def provenance(selection: Selection, facets: Facets, version: str) -> str:
    """Return where the figures of a page come from, in words."""
    filters = [kind.sentence(key, selection.value(key)) for key, kind in selection.applied().items() if key != "run"]
    return " · ".join([f"{facets.title} ({facets.dataset})", *filters, f"data version {version}", f"Clueline {VERSION}"])


def page_foot(
    path: str, pairs: list[tuple[str, str]], version: str, measured: tuple[Selection, Facets] | None, saved: str = ""
) -> html.Footer:
    """Return the links and the provenance below the content of a page.

    ``measured`` is None for a page without measurements. ``saved`` is the address of the page as a file; blank for none.
    """
    parts: list[Component] = []
    embedded = ("embed", "1") in pairs  # in a frame, where other pages of this server must not open
    if embedded:
        whole = address(path, [(key, value) for key, value in pairs if key != "embed"])
        parts.append(html.A("Open in Clueline", href=whole, target="_blank", rel="noopener"))
    if measured is not None:
        selection, facets = measured
        if not embedded:
            cite = address("/cite", [("dataset", facets.dataset), ("view", address(path, pairs))])
            about = "Permanent link, methods, LaTeX, BibTeX, Python"
            parts.append(page_link("Cite this view", href=cite, title=about))
        parts.append(html.Span(provenance(selection, facets, version), className="provenance"))
    if not embedded:
        if saved:
            parts.append(html.A("Save as file", href=saved, title="One HTML file that opens without a server", download=""))
        parts.append(html.A("Documentation", href="/docs"))
    return html.Footer(parts, className="page-foot")
