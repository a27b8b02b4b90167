"""What a page with a selection is, and how it is drawn: at first as the page's layout, then anew when its address changes.

The address is the only state. A page's controls are built from it; a change of a control is written to it in the browser
(``assets/address.js``, which replaces the history entry), and the written address comes back here to be drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic
from urllib.parse import parse_qsl, quote, unquote, urlencode

from dash import ALL, ClientsideFunction, Input, Output, State, callback, clientside_callback, dcc, html, no_update
from dash.development.base_component import Component

from dashboard.components import parts
from dashboard.components.attributes import data
from dashboard.components.filters import filter_bar
from dashboard.components.messages import error_panel, ignored_keys, simulated_banner, withdrawn_banner
from dashboard.components.shell import header
from dashboard.service import service
from data.store import StoreError
from queries.parameters import BadRequest, Choice, P, Parameters
from queries.runs import run
from queries.selection import Request, Selection

THEMES = ("light", "dark")
Pairs = list[tuple[str, str]]


class PageParameters(Parameters, frozen=True):
    """The keys that every page takes beside those of the selection."""

    theme: Annotated[str | None, Choice("`light` or `dark`", THEMES, "There is no theme {value!r}.")] = None


@dataclass(frozen=True)
class PageRequest(Request[P]):
    """What a page is asked to draw.

    Attributes:
        texts: the values of the page's own keys as the address writes them.
        item: what the path names beside the dataset, such as a question.
    """

    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    item: str | None = None

    def written(self, key: str) -> str:
        """One of the page's own keys as the address writes it, blank where it is absent."""
        return next(iter(self.texts.get(key, ())), "")

    def link(self, path: str, **changes: str | Sequence[str] | None) -> str:
        """Address of another view of the same selection; ``changes`` set keys, to one value or several; None removes them."""
        pairs = [(key, value) for key, value in self.selection.pairs() if key not in changes]
        for key, given in changes.items():
            pairs += [(key, value) for value in ([given] if isinstance(given, str) else given or ())]
        return address(path, pairs)


@dataclass(frozen=True)
class View(Generic[P]):
    """A page: which filters it offers, which keys of its own it takes, and how it is drawn.

    Attributes:
        name: for the callback.
        path: its address; a path with a ``<dataset>`` and an item is prefixed by this one.
        title: of the browser's tab.
        filters: keys of the selection that have a control on this page, in order.
        parameters: its own keys, a subclass of ``PageParameters``.
        draw: its components; raises ``BadRequest`` where the store has nothing of the name that the address gives.
        check: raises the same without drawing anything, for what cannot be known from the address and the facets alone.
        live: own keys whose change leaves the page standing: only its parts are drawn anew, in their places, so that a control
            that is held keeps its focus. All else that it draws is the same whatever these keys say, but for those controls.
        place: among the pages of the navigation, ascending; None for a page that is not in it.
    """

    name: str
    path: str
    title: str
    filters: tuple[str, ...]
    draw: Callable[[PageRequest[P]], Sequence[Component | None]]
    parameters: type[P]
    check: Callable[[PageRequest[P]], object] = lambda request: None
    place: int | None = None
    live: tuple[str, ...] = ()


VIEWS: dict[str, View[Any]] = {}


def register(view: View[P]) -> View[P]:
    """Make a view known to the callback that redraws it."""
    VIEWS[view.name] = view
    return view


def navigation() -> list[tuple[str, str]]:
    """Path and title of the pages in the navigation, in order."""
    found = [(view.place, view.path, view.title) for view in VIEWS.values() if view.place is not None]
    return [(path, title) for _, path, title in sorted(found)]


def address(path: str, pairs: Pairs) -> str:
    """A path with a query string."""
    return f"{path}?{urlencode(pairs)}" if pairs else path


def question_path(dataset: str, question_id: str) -> str:
    """Path of a question's page, whatever stands in its id."""
    return f"/questions/{quote(dataset, safe='')}/{quote(question_id, safe='')}"


def read_page(view: View[P], pairs: Pairs, dataset: str | None = None, item: str | None = None) -> PageRequest[P]:
    """Read the address of a page. Unknown keys are ignored, for links get tracking keys. Raises ``BadRequest``."""
    request = service().read(pairs, view.parameters, dataset, ignore_unknown=True)
    texts: dict[str, list[str]] = {}
    for key, text in pairs:
        if key in view.parameters.kinds():
            texts.setdefault(key, []).append(text)
    return PageRequest(request.selection, request.facets, request.parameters, request.ignored, texts, item)


def check_page(path: str, pairs: Pairs) -> None:
    """Check the address of a page without drawing it. Raises ``BadRequest``."""
    dataset, slash, item = path.removeprefix("/questions/").partition("/")
    if path.startswith("/questions/") and slash:
        view = VIEWS["question"]
        view.check(read_page(view, pairs, dataset, item))
        return
    for view in VIEWS.values():
        if view.path == path and view.name not in ("question", "nowhere"):
            view.check(read_page(view, pairs))
            return
    raise BadRequest("unknown_address", "There is no such page.", status=404)


def page(view: View[P], query: dict[str, Any], dataset: str | None = None, item: str | None = None) -> html.Div:
    """Layout of a view's page, drawn from its address."""
    pairs = [(key, value) for key, values in query.items() for value in (values if isinstance(values, list) else [values])]
    dataset, item = (unquote(part) if part is not None else None for part in (dataset, item))
    path = question_path(dataset, item) if dataset and item else view.path
    bar: Component | None = None
    request: PageRequest[P] | None = None
    version = ""  # of the data that is drawn, or an older one: assets/new_data_banner.js compares it with the store's
    try:
        version = service().snapshot().version
        request = read_page(view, pairs, dataset, item)
        content = _content(view, request, pairs)
        bar = filter_bar(request.facets, request.selection, view.filters)
    except (BadRequest, StoreError) as error:
        content = parts.frame([error_panel(error, path, pairs)])
    chosen = request.selection.dataset if request else dataset
    of = {
        "name": view.name,
        "path": path,
        "dataset": dataset,
        "item": item,
        "keys": list(Selection.kinds()),
        "live": list(view.live),
    }
    return html.Div(
        [
            header(service().datasets(), chosen, view.path, pairs if request else [], navigation()),
            html.Main(
                [
                    simulated_banner(request.facets) if request else None,
                    bar,
                    html.Div(content, id="content"),
                ],
                id="main",
            ),
            dcc.Store(id="address", data=urlencode(pairs)),
            dcc.Store(id="answer"),
            dcc.Store(id="shown", data=shown(urlencode(pairs), content) if request else None),
            dcc.Store(id="view", data=of),
        ],
        className=f"page page-{view.name}",
        **data(version=version),
    )


@callback(Output("answer", "data"), Input("address", "data"), State("view", "data"), prevent_initial_call=True)
def redraw(query: str | None, of: dict[str, Any]) -> Any:
    """Draw a view anew after its address was changed by a control. The browser puts what differs in its place, for it alone knows
    what is shown by then; see ``assets/place.js``. JSON in a text, which Dash need not look through."""
    view = VIEWS.get(of["name"])
    if view is None:
        return no_update
    pairs = parse_qsl(query or "", keep_blank_values=True)
    try:
        content = _content(view, read_page(view, pairs, of["dataset"], of["item"]), pairs)
    except (BadRequest, StoreError) as error:
        return _answer(parts.frame([error_panel(error, of["path"], pairs)]), None)
    return _answer(content, shown(query or "", content))


def _answer(content: Sequence[Component | None], shows: dict[str, Any] | None) -> str:
    return parts.as_json({"content": content, "shown": shows}).decode()


def _content(view: View[P], request: PageRequest[P], pairs: Pairs) -> Sequence[Component | None]:
    """What a view draws, below what must be said of withdrawn runs that its address names."""
    named = [name for name in request.facets.withdrawn if any(name in value for _, value in pairs)]
    said = [withdrawn_banner(service().ask(run, name)) for name in named]
    return parts.frame([*said, ignored_keys(request.ignored), *view.draw(request)])


def shown(query: str, content: Sequence[Component | None]) -> dict[str, Any]:
    """What a page shows: its address, and digests of its parts and of what stands around them."""
    return {"query": query, "parts": parts.digests(content)}


clientside_callback(
    ClientsideFunction("clueline", "place"),
    Output("content", "children"),
    Output("shown", "data"),
    Output("plain", "data"),
    *(Output({"role": role, **dict.fromkeys(names, ALL)}, "data") for role, names in parts.CHANGING.items()),
    Input("answer", "data"),
    State("shown", "data"),
    State("view", "data"),
    prevent_initial_call=True,
)
clientside_callback(ClientsideFunction("clueline", "fill"), Input("plain", "data"))
clientside_callback(
    ClientsideFunction("clueline", "write"),
    Output("address", "data"),
    Input({"role": "control", "key": ALL, "kind": ALL}, "value"),
    State({"role": "control", "key": ALL, "kind": ALL}, "id"),
    State("address", "data"),
    prevent_initial_call=True,
)
clientside_callback(
    ClientsideFunction("clueline", "navigate"),
    Output({"role": "navigation", "path": ALL}, "href"),
    Input("address", "data"),
    State({"role": "navigation", "path": ALL}, "id"),
    State("view", "data"),
    prevent_initial_call=True,
)
clientside_callback(ClientsideFunction("clueline", "unfold"), Output("filters", "open"), Input("view", "data"))
clientside_callback(
    ClientsideFunction("clueline", "theme"), Output("theme", "data"), Input("theme-switch", "n_clicks"), State("theme", "data")
)
