"""The registry of pages: the address of each, the keys that it takes, and how it is drawn. ``app_shell`` shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic
from urllib.parse import unquote

from dash.development.base_component import Component

from dashboard.citation.page_table_sources import TableSource
from dashboard.components.links import address
from dashboard.service import service
from data.store import StoreError
from queries.question_draft import DraftText
from queries.runs import run as run_facts
from queries.selection import Request, Selection
from queries.selection.facets import Facets
from queries.selection.parameter_kinds import BadRequest, Choice, Choices, Text
from queries.selection.parameters import P, Parameters

SHARED_KEYS = (*Selection.kinds(), "pin", "version")  # keys that every page takes and that links between pages keep
THEMES = ("light", "dark")
Pairs = list[tuple[str, str]]
NO_DRAFT = DraftText()


def all_runs(facets: Facets) -> tuple[str, ...]:
    """Ids of the runs that an address may name."""
    return facets.all_runs


class PageParameters(Parameters, frozen=True):
    """The keys that every page takes in addition to those of the selection."""

    theme: Annotated[str | None, Choice("`light` or `dark`", THEMES, "There is no theme {value!r}.")] = None
    pin: Annotated[
        tuple[str, ...],
        Choices(
            "the runs that figures show in colour, by id; by default all of up to eight, else the eight best by the metric "
            "of the page",
            all_runs,
            "Dataset {dataset!r} has no run {value!r} to pin.",
        ),
    ] = ()
    version: Annotated[
        str | None,
        Text("the data version that “Cite this view” pins: the page says whether anything has changed since, and what"),
    ] = None
    embed: Annotated[
        str | None, Choice("`1`: without navigation and filters, for a frame on another site (`CLUELINE_EMBED`)", ("1",))
    ] = None
    signed: Annotated[str | None, Text("the signature of a link that opens this address, and no other, without a token")] = None


@dataclass(frozen=True)
class PageRequest(Request[P]):
    """What a page is asked to draw.

    Attributes:
        texts: the values of the page's own keys as the address writes them.
        item: what the path names beside the dataset, such as a question.
        bare: the address has no keys that narrow anything: somebody has just arrived.
        draft: what somebody is writing on the page ``/write``; of all else, the address is the only state.
    """

    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    item: str | None = None
    bare: bool = False
    draft: DraftText = NO_DRAFT

    def written(self, key: str) -> str:
        """One of the page's own keys as the address writes it, blank where it is absent."""
        return next(iter(self.texts.get(key, ())), "")

    def shared_pairs(self) -> Pairs:
        """Keys and values that other pages take, too: the selection and the pinned runs."""
        shown = [(key, value) for key in ("pin", "version") for value in self.texts.get(key, ())]
        return [*self.selection.pairs(), *shown]

    def link(self, path: str, **changes: str | Sequence[str] | None) -> str:
        """Address of another page of the same selection; ``changes`` set keys, to one value or several; None removes them."""
        pairs = [(key, value) for key, value in self.shared_pairs() if key not in changes]
        for key, given in changes.items():
            pairs += [(key, value) for value in ([given] if isinstance(given, str) else given or ())]
        return address(path, pairs)


@dataclass(frozen=True)
class Page(Generic[P]):
    """A page: which filters it offers, which keys of its own it takes, and how it is drawn.

    Attributes:
        name: for the callback.
        path: its address; a path with a ``<dataset>`` and an item is prefixed by this one.
        title: of the browser's tab.
        filters: keys of the selection that have a control on this page, in order.
        parameters: its own keys, a subclass of ``PageParameters``.
        draw: its components; raises ``BadRequest`` where the store has nothing of the name that the address gives.
        check: raises the same without drawing anything, for what cannot be known from the address and the facets alone.
        place: among the pages of the navigation, ascending; None for a page that is not in it.
        table: the table that papers take from it; None for a page that measures nothing.
        common: whether runs are measured on their common questions where the address does not say; None where that needs no
            word, since the page does not set runs side by side or says it itself.
    """

    name: str
    path: str
    title: str
    filters: tuple[str, ...]
    draw: Callable[[PageRequest[P]], Sequence[Component | None]]
    parameters: type[P]
    check: Callable[[PageRequest[P]], object] = lambda request: None
    place: int | None = None
    table: Callable[[PageRequest[P]], TableSource] | None = None
    common: bool | None = None


PAGES: dict[str, Page[Any]] = {}


def register(page: Page[P]) -> Page[P]:
    """Make a page known to the callback that redraws it."""
    PAGES[page.name] = page
    return page


def navigation() -> list[tuple[str, str]]:
    """Path and title of the pages in the navigation, in order."""
    pages = [(page.place, page.path, page.title) for page in PAGES.values() if page.place is not None]
    return [(path, title) for _, path, title in sorted(pages)]


def read_page(
    page: Page[P], pairs: Pairs, dataset: str | None = None, item: str | None = None, draft: DraftText = NO_DRAFT
) -> PageRequest[P]:
    """Read the address of a page. Unknown keys are ignored, since links get tracking keys.

    Args:
        page: which one.
        pairs: keys and values of the query string.
        dataset, item: what the path names, if anything.
        draft: what comes with the address, on the page ``/write``.

    Raises:
        BadRequest: for an unknown value, naming what is allowed.
    """
    if page.name == "nowhere":
        pairs = []
    request = service().read(pairs, page.parameters, dataset, ignore_unknown=True)
    bare = all(key == "theme" or key in request.ignored for key, _ in pairs)
    texts: dict[str, list[str]] = {}
    for key, text in pairs:
        if key in page.parameters.kinds():
            texts.setdefault(key, []).append(text)
    return PageRequest(request.selection, request.facets, request.parameters, request.ignored, texts, item, bare, draft)


def find_page(path: str) -> tuple[Page[Any], str | None, str | None]:
    """The page of a path of the address bar, and the dataset and the item that the path names."""
    dataset, slash, item = path.removeprefix("/questions/").partition("/")
    if path.startswith("/questions/") and slash:
        return PAGES["question"], unquote(dataset), unquote(item)
    run = path.removeprefix("/runs/")
    if path.startswith("/runs/") and run:
        return PAGES["run"], _dataset_of(unquote(run)), unquote(run)
    for page in PAGES.values():
        if page.path == path and page.name not in ("question", "run", "nowhere"):
            return page, None, None
    return PAGES["nowhere"], None, None


def _dataset_of(run: str) -> str | None:
    """The dataset of a run; None where there is no such run, which the page says."""
    try:
        return service().ask(run_facts, run).dataset
    except (BadRequest, StoreError):
        return None


def check_page(path: str, pairs: Pairs) -> None:
    """Check the address of a page without drawing it. Raises ``BadRequest``."""
    page, dataset, item = find_page(path)
    page.check(read_page(page, pairs, dataset, item))
