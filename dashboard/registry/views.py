"""Views: a query with an address, its keys and its tables. JSON, CSV, citations and documentation follow from one declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from inspect import signature
from typing import Any, Generic, TypeVar, get_type_hints
from urllib.parse import quote

from flask import Response

from clueline.dashboard.http.bodies import csv_response, json_response
from clueline.dashboard.registry.addresses import PART, add
from clueline.dashboard.registry.run_names import names_if_alike
from clueline.dashboard.registry.tables import Column, Table, column
from clueline.dashboard.service import service
from clueline.queries.engine.bootstrap import REPLICATES, SEED
from clueline.queries.engine.inference import FEW_OUTCOMES, SKEWED_SAMPLE, SMALL_SAMPLE
from clueline.queries.metrics import Metric
from clueline.queries.questions import ids_ending_in_csv
from clueline.queries.selection import Request, Selection
from clueline.queries.selection.selection import CONVENTIONS
from clueline.queries.selection.view_parameters_base import P

A = TypeVar("A")
PREFIX = "/api/v1/"
SNAPSHOT = "snapshot"
RUN, NAME = "run", "name"  # columns of tables
# Keys of the selection.
RUN_KEYS = (*(key for key, kind in Selection.filters().items() if kind.narrows == "runs"), "nights")
QUESTION_KEYS = tuple(key for key, kind in Selection.filters().items() if kind.narrows == "questions")
CONVENTION_KEYS = tuple(CONVENTIONS.keys)


@dataclass(frozen=True)
class View(Generic[P, A]):
    """A query with an address, a Flask rule below ``/api/v1/``. The query returns a struct.

    It gets its arguments by their names: ``selection`` and ``facets`` of the request, the parts of the path, and the attributes
    of ``parameters``. If its first argument is a ``snapshot``, its answer is cached. The main table is at the path of the JSON
    with ``.csv`` appended. ``ignored`` are keys of its own, and ``unused`` keys of the selection, that it accepts and that do not
    change its answer.
    """

    path: str
    query: Callable[..., A]
    parameters: type[P]
    about: str
    tables: tuple[Table, ...] = ()
    selected: bool = True
    ignored: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    def uses(self, key: str) -> bool:
        """Whether a key of the selection, named as a field of it, changes the answer."""
        selected = self.selected and "selection" in _arguments(self.query)
        return key in self.parameters.kinds() or (selected and key not in self.unused)

    def ask(self, request: Request[Any] | P, **parts: str) -> A:
        """Return the answer to a request, or to a view's keys alone; ``parts`` are the variable parts of the path."""
        known: dict[str, object] = {**parts}
        if isinstance(request, Request):
            known |= {"selection": request.selection, "facets": request.facets}
        keys = _keys(request)
        wanted = _arguments(self.query)
        cached = wanted[:1] == (SNAPSHOT,)
        arguments = []
        for name in wanted[cached:]:
            if name not in known and not hasattr(keys, name):
                break  # the rest have defaults, which no address changes
            arguments.append(known[name] if name in known else getattr(keys, name))
        return service().ask(self.query, *arguments) if cached else self.query(*arguments)

    def table_path(self, table: Table) -> str:
        """Return the path of a table as CSV, as a Flask rule."""
        return f"{PREFIX}{self.path}{'/' if table.name else ''}{table.name}.csv"

    def csv(self, table: Table, request: Request[Any] | P, **parts: str) -> Response:
        """Return a table of the answer to a request as CSV."""
        answer = self.ask(request, **parts)
        listed = list(table.rows(answer))
        shown = with_name_column(table.columns_of(answer, _keys(request)), listed)
        rows = [[column.value(row) for column in shown] for row in listed]
        file = table.file(answer) if callable(table.file) else table.file.format(**parts)
        return csv_response([column.key for column in shown], rows, file or self._file(table, parts))

    def _file(self, table: Table, parts: Mapping[str, str]) -> str:
        path = filled_path(self.path, parts)
        return (f"{path}/{table.name}" if table.name else path).replace("/", "-")


def with_name_column(shown: Sequence[Column], rows: Sequence[object]) -> Sequence[Column]:
    """Return the columns of a table with names of its runs, if model and elicitation do not tell them apart."""
    run = next((column.value for column in shown if column.key == RUN), None)
    names = names_if_alike(str(run(row)) for row in rows) if run else {}
    return [*shown, column(NAME, lambda row: names.get(str(run(row))))] if run and names else shown


@cache
def _arguments(query: Callable[..., object]) -> tuple[str, ...]:
    return tuple(signature(query).parameters)


def filled_path(path: str, parts: Mapping[str, str], quoted: bool = False) -> str:
    """Return a path with values for the variable parts of its Flask rule, percent-encoded if ``quoted``."""
    return PART.sub(lambda part: quote(parts[part[1]], safe="") if quoted else parts[part[1]], path)


def _check(view: View[P, A]) -> None:
    known = {SNAPSHOT, *PART.findall(view.path), *dir(view.parameters)}
    if view.selected:
        known |= {"selection", "facets"}
    wanted = signature(view.query).parameters
    if unused := {*view.parameters.__struct_fields__} - {*wanted} - {*view.ignored}:
        raise TypeError(f"The query of the view {view.path!r} does not take {', '.join(sorted(unused))}.")
    needed = [name for name, argument in wanted.items() if argument.default is argument.empty]
    if unknown := {*view.unused} - {*Selection.kinds()}:
        raise TypeError(f"The selection has no {', '.join(sorted(unknown))}, which the view {view.path!r} does not use.")
    if lacking := [name for name in needed if name not in known]:
        raise TypeError(f"The view {view.path!r} lacks keys for {', '.join(lacking)} of its query.")


def _keys(request: Request[Any] | P) -> Any:
    return request.parameters if isinstance(request, Request) else request


VIEWS: dict[str, View[Any, Any]] = {}  # by path


def serve(
    path: str,
    query: Callable[..., A],
    parameters: type[P],
    about: str,
    *tables: Table,
    selected: bool = True,
    ignored: tuple[str, ...] = (),
    unused: tuple[str, ...] = (),
    csv: bool = True,
) -> View[P, A]:
    """Serve and document a view: its JSON and, if ``csv``, each table. The other arguments are those of the view.

    Raises ``TypeError`` if its query does not take a key, or has an argument without a default that no key or part of the path
    gives.
    """
    view = View(path, query, parameters, about, tables, selected, ignored, unused)
    _check(view)
    VIEWS[path] = view
    if unused:
        about = f"{about} Without effect here: {', '.join(f'`{key}`' for key in unused)}."
    answers = get_type_hints(query)["return"]
    add(f"{PREFIX}{path}", partial(_json, view), parameters, about, selection=selected, answers=answers)
    for table in tables if csv else ():
        add(view.table_path(table), partial(_csv, view, table), parameters, table.about, selection=selected)
    return view


def _json(view: View[P, A], request: Request[Any] | P, **parts: str) -> Response:
    return json_response(view.ask(request, **parts))


def _csv(view: View[P, A], table: Table, request: Request[Any] | P, **parts: str) -> Response:
    """Return a table as CSV or, if the path is that of a question whose id ends in ``.csv``, the JSON of the question."""
    if isinstance(request, Request) and "question_id" in parts:
        name = f"{parts['question_id']}.csv"
        if name in service().recall(ids_ending_in_csv, request.selection.dataset):
            return json_response(view.ask(request, **parts | {"question_id": name}))
    return view.csv(table, request, **parts)


RESAMPLED = (
    f"Brackets are 95 % intervals: percentiles of {REPLICATES:,} bootstrap replicates that resample whole questions "
    f"(seed {SEED})."
)
METRIC_INTERVALS = (
    f"{RESAMPLED} With fewer than {SMALL_SAMPLE} questions ({SKEWED_SAMPLE} for metrics of totals), or fewer than {FEW_OUTCOMES} "
    "with an error or with a right answer, and for means of confidence, they come from the Bayesian bootstrap with an extra "
    "question as extreme as any can be (Gaffke 2005; for shares, the interval of Clopper and Pearson) or, for slopes and metrics "
    "of votes, from the jackknife. Where clusters are few or unequal, they come from the jackknife over clusters. Intervals of "
    "distances from calibration, such as ECE, contain 0 unless a test shows otherwise."
)
WILSON = "Brackets are 95 % Wilson intervals, computed with the effective number of independent items in each bin."


def paired(primary: Metric) -> str:
    """Say what the intervals and p-values of a comparison of two runs are, where ``primary`` is the primary metric."""
    return (
        "Differences are paired by question. Brackets are 95 % intervals by the jackknife over questions or, with few errors or "
        "right answers and for distances from calibration, of this and the bootstrap together. p-values are two-sided: p is that "
        f"of the interval, and the adjusted p is, except for {primary.name}, the primary metric, adjusted for all other "
        "metrics by which runs of this dataset can be compared (Bonferroni)."
    )


NOTHING_TO_CITE = "nothing_to_cite"  # the code of the error of a page without any table


@dataclass(frozen=True)
class Cited(Generic[P]):
    """The table of a page that papers cite, and how they print it.

    Attributes:
        columns: keys of the printed columns, in order; those that the table lacks are left out.
        order: puts the rows into the order of the page; by default they are in that of the view.
        interval: a sentence that says what the intervals are.
        headings: other headings of columns, by those that the table has.
        references: further papers, by their keys in ``queries.metrics.bibliography``.
    """

    view: View[P, Any]
    parameters: P
    columns: tuple[str, ...]
    metrics: tuple[Metric, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    interval: str = ""
    headings: Mapping[str, str] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    order: Callable[[Sequence[Any]], Sequence[Any]] = list
