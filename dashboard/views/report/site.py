"""The pages of a dataset as a folder of files with links among them, which any web server can serve, or none."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from dashboard.http.paths import address, question_path, run_path
from dashboard.registry.composed import question_order
from dashboard.registry.pages import PAGES, SHARED_KEYS, navigation
from dashboard.service import service
from dashboard.ui.frame import header
from dashboard.views.report.file import ASSETS, PLOTLY, SCRIPTS, FileView, frame, read_view
from dashboard.views.report.static import Key, Links, StaticPage

LOADED = '<link rel="stylesheet" href="{root}assets/clueline.css">\n<script src="{root}assets/before_first_paint.js"></script>'
SCRIPT = '<script src="{root}assets/{name}"></script>'
COPIED = ("clueline.css", "before_first_paint.js", "icon.svg", *SCRIPTS)


def write_site(folder: Path, dataset: str | None = None, url: str = "") -> int:
    """Write the pages of a dataset, or of the first one, to a new folder, and return how many there are.

    They are the pages that the navigation lists, and those of its questions and runs, without filters. ``url`` is the address of
    the server, to which all other links lead; without it they become text. Raises ``BadRequest`` for an unknown dataset, and
    ``FileExistsError``.
    """
    facets = service().facets(dataset)
    chosen = [("dataset", facets.dataset)]
    saved = {page.path for page in PAGES.values() if page.shows_something}
    places = {place: [(path, title) for path, title in pages if path in saved] for place, pages in navigation(facets).items()}
    places = {place: pages for place, pages in places.items() if pages}
    first = read_view(address("/", chosen))
    files = {address(path, chosen): f"{path.strip('/') or 'index'}.html" for pages in places.values() for path, _ in pages}
    questions = question_order(first.request.selection, "position").questions
    files |= {
        question_path(facets.dataset, one): f"questions/{name}"
        for one, name in zip(questions, file_names(questions), strict=True)
    }
    files |= {run_path(run): f"runs/{run}.html" for run, _, _ in facets.runs}
    targets: dict[Key, str] = {}
    views = {name: read_view(link) for link, name in files.items()}
    for name, view in views.items():
        targets |= {view.key: name, (view.key[0], frozenset()): name}
    described = [one for one in service().datasets() if one.dataset == facets.dataset]
    folder.mkdir(parents=True)
    for name, view in views.items():
        root = "../" * name.count("/")
        page = StaticPage(Links(targets, url, root))
        top = header(described, facets.dataset, view.page.path, chosen, places, view.page.place, SHARED_KEYS)
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(_file(view, page, page.write([top]), root))
    (folder / "assets").mkdir()
    for name in COPIED:
        shutil.copy2(ASSETS / name, folder / "assets" / name)
    shutil.copytree(ASSETS / "fonts", folder / "assets" / "fonts")
    shutil.copy2(PLOTLY, folder / "assets" / PLOTLY.name)
    return len(files)


def _file(view: FileView, page: StaticPage, top: str, root: str) -> bytes:
    content = view.write(page, methods=view.request.item is None)
    names = [*([PLOTLY.name] if page.figures else []), *SCRIPTS]
    scripts = "\n".join(SCRIPT.format(root=root, name=name) for name in names)
    return frame(view.title, top, content, page.figures, loaded=LOADED.format(root=root), scripts=scripts)


def file_names(ids: Iterable[str]) -> list[str]:
    """Return a file's name for each id, all different, also where capitals do not count.

    >>> file_names(["q1", "a/b"])
    ['q1.html', 'a-b.c14cddc0.html']
    """
    taken: set[str] = set()
    names = []
    for one in ids:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", one)[:80]
        if plain != one or plain.lower() in taken or plain.startswith("."):
            plain = f"{plain.lstrip('.')}.{hashlib.sha256(one.encode()).hexdigest()[:8]}"
        taken.add(plain.lower())
        names.append(f"{plain}.html")
    return names
