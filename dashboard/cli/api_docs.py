"""Generates the tables of docs/api.md from the addresses and their keys: ``python -m clueline.dashboard.cli.api_docs``.

The text around the comments ``<!-- NAME, generated -->`` and ``<!-- end of NAME -->`` is written by hand.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from clueline.dashboard.cli.format_docs import filled, table
from clueline.dashboard.registry.addresses import ROUTES, Route
from clueline.dashboard.registry.pages import PAGES, PageParameters
from clueline.dashboard.views.upload import DatasetUploadParameters, UploadParameters
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import Kind
from clueline.queries.selection.view_parameters_base import key_form

PATH = Path(__file__).resolve().parents[2] / "docs" / "api.md"
PATHS_WITH_ITEMS = {"question": "/questions/<dataset>/<question_id>", "run": "/runs/<run>", "model": "/models/<model>"}
UPLOADS = ("POST /api/v1/runs", "POST /api/v1/datasets")  # their keys have a table of their own


def write_tables(text: str) -> str:
    """Return the documentation with up-to-date tables. Raises ``ValueError`` if the place of a table is missing."""
    tables = {
        "keys of the selection": _keys(Selection.kinds()),
        "addresses": _addresses(ROUTES),
        "keys of addresses": _keys_of_addresses(ROUTES),
        "keys of uploads": _keys(DatasetUploadParameters.kinds() | UploadParameters.kinds()),
        "keys of pages": _keys_of_pages(),
    }
    return filled(text, tables)


def _keys(kinds: Mapping[str, Kind[Any]]) -> str:
    return table(["key", "meaning"], [[f"`{key_form(key, kind)}`", _meaning(kind)] for key, kind in kinds.items()])


def _meaning(kind: Kind[Any]) -> str:
    return kind.about + ("; repeatable" if kind.repeatable and "repeatable" not in kind.about else "")


def _addresses(routes: Iterable[Route]) -> str:
    rows = []
    for route in sorted(routes, key=_order):
        takes = ["selection"] * route.selection + [f"`{key_form(key, kind)}`" for key, kind in route.takes.kinds().items()]
        rows.append([f"`{route.address.replace('<path:', '<')}`", " ".join(route.gives.split()), ", ".join(takes)])
    return table(["address", "gives", "takes"], rows)


def _order(route: Route) -> tuple[str, str, str]:
    """Return the sort key of an address: by path, with GET and JSON before other methods and file types."""
    method, _, path = route.address.partition(" ")
    return re.sub(r"\.\w+$", "", path), "" if method == "GET" else method, path


def _keys_of_addresses(routes: Iterable[Route]) -> str:
    """Return a table with a row per key and meaning, and the addresses where the key has this meaning."""
    rows: dict[tuple[str, str], list[str]] = {}
    for route in sorted(routes, key=_order):
        path = route.address.removeprefix("GET ").replace("<path:", "<")
        if route.address in UPLOADS:
            continue
        for key, kind in route.takes.kinds().items():
            paths = rows.setdefault((key, _meaning(kind)), [])
            if path.removesuffix(".csv") not in paths:  # the CSV takes the same keys
                paths.append(path)
    return table(
        ["key", "meaning", "of"],
        [[f"`{key}`", meaning, ", ".join(f"`{path}`" for path in paths)] for (key, meaning), paths in sorted(rows.items())],
    )


def _keys_of_pages() -> str:
    shared = PageParameters.kinds()
    rows = [["every page", f"`{key}`", _meaning(kind)] for key, kind in shared.items()]
    for page in sorted(PAGES.values(), key=lambda page: page.path):
        path = PATHS_WITH_ITEMS.get(page.name, page.path)
        own = [(key, kind) for key, kind in page.parameters.kinds().items() if key not in shared]
        rows += [[f"`{path}`", f"`{key}`", _meaning(kind)] for key, kind in own]
    return table(["page", "key", "meaning"], rows)


def main() -> None:
    """Rewrite the tables of docs/api.md."""
    from clueline.dashboard.app import create_app
    from clueline.dashboard.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        create_app(Settings(store=folder))  # imports every address and every page
        PATH.write_text(write_tables(PATH.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
