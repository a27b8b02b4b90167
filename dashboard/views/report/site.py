"""The pages of a dataset as a folder of files with links among them, which any web server can serve, or none."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from clueline.dashboard.http.paths import address, question_path, run_path
from clueline.dashboard.registry.composed import question_order
from clueline.dashboard.registry.pages import PAGES, SHARED_KEYS, Pairs, navigation
from clueline.dashboard.service import service
from clueline.dashboard.ui.frame import header
from clueline.dashboard.views.report.file import (
    ASSETS,
    PLOTLY,
    SCRIPTS,
    FileView,
    Key,
    Links,
    StaticPage,
    frame,
    read_view,
    view_key,
)
from clueline.data.store.run_cache import kept_property

LOADED = '<link rel="stylesheet" href="{root}assets/clueline.css">\n<script src="{root}assets/before_first_paint.js"></script>'
SCRIPT = '<script src="{root}assets/{name}"></script>'
COPIED = ("clueline.css", "before_first_paint.js", "icon.svg", *SCRIPTS)


@dataclass(frozen=True)
class Site:
    """The pages of a dataset that the navigation lists, and those of its questions and runs, without filters.

    ``url`` is the address of the server, to which links lead that no page of the site answers; without it they become text.
    """

    folder: Path
    dataset: str
    url: str = ""

    def prepare(self) -> None:
        """Make the folder, with all that pages load. Raises ``FileExistsError``."""
        self.folder.mkdir(parents=True)
        for name in self.files:
            (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / "assets").mkdir()
        for name in COPIED:
            shutil.copy2(ASSETS / name, self.folder / "assets" / name)
        shutil.copytree(ASSETS / "fonts", self.folder / "assets" / "fonts")
        shutil.copy2(PLOTLY, self.folder / "assets" / PLOTLY.name)

    @kept_property
    def chosen(self) -> Pairs:
        return [("dataset", self.dataset)]

    @kept_property
    def places(self) -> dict[str, list[tuple[str, str]]]:
        """Path and title of the pages in the navigation."""
        saved = {page.path for page in PAGES.values() if page.shows_something}
        listed = navigation(service().facets(self.dataset)).items()
        places = {place: [(path, title) for path, title in pages if path in saved] for place, pages in listed}
        return {place: pages for place, pages in places.items() if pages}

    @kept_property
    def files(self) -> dict[str, str]:
        """The address of each page, by the name of its file."""
        pages = [path for listed in self.places.values() for path, _ in listed]
        files = {f"{path.strip('/') or 'index'}.html": address(path, self.chosen) for path in pages}
        questions = question_order(read_view(address("/", self.chosen)).request.selection, "position").questions
        named = zip(file_names(questions), questions, strict=True)
        files |= {f"questions/{name}": question_path(self.dataset, question) for name, question in named}
        return files | {f"runs/{run}.html": run_path(run) for run, _, _ in service().facets(self.dataset).runs}

    @kept_property
    def targets(self) -> dict[Key, str]:
        keys = [(view_key(link), name) for name, link in self.files.items()]
        return {key: name for (path, pairs), name in keys for key in ((path, pairs), (path, frozenset()))}

    def write(self, share: int = 0, shares: int = 1) -> None:
        """Write the pages, or one of several shares of them, counted from 0."""
        described = [one for one in service().datasets() if one.dataset == self.dataset]
        tops: dict[tuple[str, str], str] = {}  # by page and the way to the folder: most pages are of questions
        for name, link in [*self.files.items()][share::shares]:
            view, root = read_view(link), "../" * name.count("/")
            page = StaticPage(Links(self.targets, self.url, root))
            shown = view.page
            if (shown.name, root) not in tops:
                top = header(described, self.dataset, shown.path, self.chosen, self.places, shown.place, SHARED_KEYS)
                tops[shown.name, root] = page.write([top])
            (self.folder / name).write_bytes(_file(view, page, tops[shown.name, root], root))


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
