"""The registry of pages: each page's address, the keys that it takes, and how it is drawn. ``dashboard.shell`` shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic
from urllib.parse import unquote

from dash.development.base_component import Component

from clueline.dashboard.http.paths import SELECTION, address, question_path
from clueline.dashboard.registry.keys import Items, ItemsKeys
from clueline.dashboard.registry.views import Cited, View
from clueline.dashboard.service import service
from clueline.data.store import StoreError
from clueline.queries.drafts import DraftText
from clueline.queries.runs import run as run_facts
from clueline.queries.selection import Request, Selection
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import BadRequest, Choice, Choices, Text
from clueline.queries.selection.view_parameters_base import P, Parameters

PLACES = ("Overview", "Calibration", "When to answer", "Questions", "Compare", "People", "Data", "Add results", "Help")
KEPT_KEYS = ("pin", "focus", "version")  # those of pages that links between pages keep
SHARED_KEYS = (*Selection.kinds(), SELECTION, *KEPT_KEYS)  # keys that every page takes and that links between pages keep
THEMES = ("light", "dark")
Pairs = list[tuple[str, str]]
NO_DRAFT = DraftText()
NO_DATASET = Facets(
    dataset="", title="", kind="", simulated=False, note=None, questions=0, human_teams=0, longest=0, values={}, difficulty=None,
    difficulty_source=None, runs=(), withdrawn=(),
)  # fmt: skip


class PageParameters(Parameters, frozen=True):
    """The keys that every page takes in addition to those of the selection."""

    theme: Annotated[str | None, Choice("`light` or `dark`", THEMES, "There is no theme {value!r}.")] = None
    pin: Annotated[
        tuple[str, ...],
        Choices(
            "ids of the runs that figures show in colour; by default all runs if there are at most eight, otherwise the eight "
            "best by the metric of the page",
            lambda facets: facets.all_runs,
            "Dataset {dataset!r} has no run {value!r} to pin.",
        ),
    ] = ()
    focus: Annotated[
        str,
        Choice(
            "id of the run in focus, which figures always show in colour; by default the run that the page's heading is about",
            lambda facets: facets.all_runs,
            "Dataset {dataset!r} has no run {value!r}.",
            blank=True,
        ),
    ] = ""
    version: Annotated[
        str | None,
        Text("the data version that “Cite this view” pins; the page says whether anything has changed since then, and what"),
    ] = None
    embed: Annotated[
        str | None, Choice("`1`: without navigation and filters, for a frame on another site (`CLUELINE_EMBED`)", ("1",))
    ] = None
    signed: Annotated[str | None, Text("the signature of a link that opens only this address without a token")] = None
    items: Annotated[
        ItemsKeys | None,
        Items(
            "what the drawer lists: keys of `/api/v1/items` and filters in one value, such as `focus%3DRUN%26category%3DArts`, "
            "wrong answers first unless `order` says otherwise; it is closed by default"
        ),
    ] = None


@dataclass(frozen=True)
class PageRequest(Request[P]):
    """What a page is asked to draw.

    ``texts`` are the values of the page's own keys as the address has them. ``item`` is what the path names in addition to the
    dataset, such as a question. ``bare`` says whether the address has no keys except the theme and unknown ones, because somebody
    has just arrived. ``draft`` is what somebody is writing on the page ``/write``; on all other pages, the address is the only
    state. ``in_file`` says whether the page is drawn for a file, which can ask no server for more. ``path`` is that of the page.
    """

    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    item: str | None = None
    bare: bool = False
    draft: DraftText = NO_DRAFT
    in_file: bool = False
    path: str = ""

    def written(self, key: str) -> str:
        """Return the value of one of the page's own keys as written in the address; blank if it is absent."""
        return next(iter(self.texts.get(key, ())), "")

    def shared_pairs(self) -> Pairs:
        """Return keys and values that links to other pages keep: the selection, the runs pinned and in focus, the version."""
        shown = [(key, value) for key in KEPT_KEYS for value in self.texts.get(key, ())]
        return [*self.selection.pairs(), *shown]

    def link(self, path: str, **changes: str | Sequence[str] | None) -> str:
        """Return the address of another page of the same selection, with keys set to one or more values or, if None, removed."""
        pairs = [(key, value) for key, value in self.shared_pairs() if key not in changes]
        for key, given in changes.items():
            pairs += [(key, value) for value in ([given] if isinstance(given, str) else given or ())]
        return address(path, pairs)

    def question_link(self, question_id: str, **changes: str | Sequence[str] | None) -> str:
        """Return the address of a question of the dataset; ``changes`` are as in ``link``."""
        return self.link(question_path(self.selection.dataset, question_id), dataset=None, **changes)


Draw = Callable[[PageRequest[P]], Sequence[Component | None]]


@dataclass(frozen=True)
class Page(Generic[P]):
    """A page: the filters it offers, its own keys, and how it is drawn.

    Attributes:
        path: its address; paths with a ``<dataset>`` and an item start with it.
        filters: keys of the selection that have a control on this page, in order.
        views: the views whose answers it shows; a filter that none of them uses is refused.
        applied: filters that the page itself applies to what its views answer.
        draw: returns its components; raises ``BadRequest`` if the address names something that is not in the store.
        check: raises the same without drawing anything, for what the address and the facets alone cannot tell.
        place: the part of the navigation in which it stands, one of ``PLACES``; blank for a page outside all of them.
        order: position among the pages of its place, ascending; None for a page that the navigation does not list.
        offered: whether it has something to show of a dataset; the navigation leaves it out elsewhere.
        table: returns the table that papers can cite; None for a page without figures.
        common: whether only runs that take part are measured by default; None if the page needs no notice about it, because
            it does not compare runs or says it itself.
        on_shared: whether runs are measured on what all of them answered, though the address does not state ``common``.
        lists_unranked: whether it also lists runs that take no part, so that it has something to show if none does.
        needs_dataset: whether it shows nothing of a store without datasets.
        same_for_all: whether it shows the same of every store, so that its drawing is kept.
    """

    name: str
    path: str
    title: str
    draw: Draw[P]
    parameters: type[P]
    filters: tuple[str, ...] = ()
    views: tuple[View[Any, Any], ...] = ()
    applied: tuple[str, ...] = ()
    check: Callable[[PageRequest[P]], object] = lambda request: None
    place: str = ""
    order: int | None = None
    offered: Callable[[Facets], bool] = lambda facets: True
    table: Callable[[PageRequest[P]], Cited[Any]] | None = None
    common: bool | None = None
    on_shared: Callable[[PageRequest[P]], bool] = lambda request: False
    lists_unranked: bool = False
    needs_dataset: bool = True
    same_for_all: bool = False

    def uses(self, key: str) -> bool:
        """Whether a key of the selection changes what the page shows."""
        return key in self.applied or any(view.uses(key) for view in self.views)

    def restricts(self, request: PageRequest[P]) -> bool:
        """Whether the page measures runs on what all of them answered."""
        stated = request.selection.common
        return self.on_shared(request) if stated is None else bool(stated)

    @property
    def shows_people(self) -> bool:
        """Whether its figures depend on people."""
        return self.place == "People" or not {"people", "human"}.isdisjoint(self.filters)

    @property
    def shows_something(self) -> bool:
        """Whether it shows something that a file could keep, rather than a form."""
        return self.place != "Add results" and self.name != "write"


PAGES: dict[str, Page[Any]] = {}


def page(path: str, title: str, parameters: type[P], *, name: str = "", **options: Any) -> Callable[[Draw[P]], Draw[P]]:
    """Declare a page, which a function draws. ``options`` are further attributes of ``Page``; its name is by default its path.

    Raises ``TypeError`` if it offers a filter that changes nothing that it shows.
    """

    def declare(draw: Draw[P]) -> Draw[P]:
        known = name or path.strip("/")
        declared = Page(known, path, title, draw, parameters, **options)
        if idle := [key for key in declared.filters if not declared.uses(key)]:
            raise TypeError(f"The page {path!r} offers {', '.join(idle)}, which none of its views uses.")
        PAGES[known] = declared
        return draw

    return declare


def navigation(facets: Facets | None) -> dict[str, list[tuple[str, str]]]:
    """Return path and title of the pages of each place, in order: those that can show something of a dataset, if it is known."""
    offered = [page for page in PAGES.values() if page.order is not None and (facets is None or page.offered(facets))]
    pages = sorted(offered, key=lambda page: page.order or 0)
    by_place = {place: [(page.path, page.title) for page in pages if page.place == place] for place in PLACES}
    return {place: listed for place, listed in by_place.items() if listed}


def read_page(
    page: Page[P], pairs: Pairs, dataset: str | None = None, item: str | None = None, draft: DraftText = NO_DRAFT
) -> PageRequest[P]:
    """Read the address of a page. Unknown keys are ignored, because links can have tracking keys.

    ``dataset`` and ``item`` are what the path names, and ``draft`` comes with the address of the page ``/write``. Raises
    ``BadRequest`` if a value is unknown; the error names the allowed values.
    """
    if not page.needs_dataset and not service().snapshot().states:
        return PageRequest(Selection(""), NO_DATASET, page.parameters(), (), {}, item, True, draft, path=page.path)
    if page.name == "nowhere":
        pairs = []
    request = service().read(pairs, page.parameters, dataset, ignore_unknown=True)
    bare = all(key == "theme" or key in request.ignored for key, _ in pairs)
    texts: dict[str, list[str]] = {}
    for key, text in pairs:
        if key in page.parameters.kinds():
            texts.setdefault(key, []).append(text)
    return PageRequest(
        request.selection, request.facets, request.parameters, request.ignored, texts, item, bare, draft, path=page.path
    )  # fmt: skip


def find_page(path: str) -> tuple[Page[Any], str | None, str | None]:
    """Return the page at a path, and the dataset and the item that the path names; None if it names none."""
    dataset, slash, item = path.removeprefix("/questions/").partition("/")
    if path.startswith("/questions/") and slash:
        return PAGES["question"], unquote(dataset), unquote(item)
    for name, folder in (("run", "/runs/"), ("model", "/models/")):
        if path.startswith(folder) and path != folder:
            item = unquote(path.removeprefix(folder))
            return PAGES[name], _dataset_of(item) if name == "run" else None, item
    for page in PAGES.values():
        if page.path == path and page.name not in ("question", "run", "model", "nowhere"):
            return page, None, None
    return PAGES["nowhere"], None, None


def _dataset_of(run: str) -> str | None:
    """Return the dataset of a run; None if there is no such run, as the page will say."""
    try:
        return service().ask(run_facts, run).dataset
    except (BadRequest, StoreError):
        return None


def check_page(path: str, pairs: Pairs) -> None:
    """Check the address of a page without drawing it. Raises ``BadRequest``."""
    page, dataset, item = find_page(path)
    page.check(read_page(page, service().expand_on_page(pairs)[0], dataset, item))
