"""The selection: a filter over runs, questions and clues of one dataset, and the conventions of its metrics.

``read_address`` reads a selection from a query string, ``Selection.pairs`` writes it back, and ``Selection.question_filter`` and
``Selection.run_filter`` turn it into SQL conditions over the store's tables. Everything that an address names is checked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic

import msgspec

from data.store.generations import Snapshot
from queries.metrics import HUMAN_CURVES, Conventions
from queries.parameters import (
    BadRequest,
    Choice,
    Fractions,
    Group,
    Kind,
    NoParameters,
    Number,
    P,
    Parameters,
    Range,
    Text,
    allowed,
    collect,
    decode,
)

BINNINGS = ("width10", "width10+1", "mass15")


class Facets(msgspec.Struct, frozen=True):
    """What a dataset offers to filter by."""

    dataset: str
    title: str
    kind: str
    simulated: bool
    note: str | None
    questions: int
    human_teams: int
    longest: int  # clues of its longest question
    categories: tuple[str, ...]
    subcategories: tuple[str, ...]
    radii: tuple[int, ...]
    difficulty: tuple[float, float] | None  # least and greatest
    difficulty_source: str | None
    runs: tuple[tuple[str, str, str], ...]  # run, model, elicitation in order of import; withdrawn ones left out
    withdrawn: tuple[str, ...]

    @property
    def all_runs(self) -> tuple[str, ...]:
        """Ids of the runs in order of import, then of the withdrawn ones."""
        return (*(run for run, _, _ in self.runs), *self.withdrawn)

    @property
    def models(self) -> tuple[str, ...]:
        """Models in order of import."""
        return tuple(dict.fromkeys(model for _, model, _ in self.runs))

    @property
    def elicitations(self) -> tuple[str, ...]:
        """Elicitations in order of import."""
        return tuple(dict.fromkeys(elicitation for _, _, elicitation in self.runs))


@dataclass(frozen=True)
class Values(Kind[tuple[Any, ...]]):
    """Several of the values of a column.

    Attributes:
        options: the values, given what the dataset offers.
    """

    options: Callable[[Facets], Sequence[Any]]
    repeatable = True

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[Any, ...]:
        """See ``Kind``."""
        known = {str(option): option for option in self.options(facets)}
        names = [allowed(key, text, [*known], facets, "Dataset {dataset!r} has no {key} {value!r}.") for text in texts]
        return tuple(known[name] for name in dict.fromkeys(names))

    def write(self, value: tuple[Any, ...]) -> list[str]:
        """See ``Kind``."""
        return [str(each) for each in value]


@dataclass(frozen=True)
class Binning(Kind[str]):
    """How confidences are put into bins."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        """See ``Kind``."""
        if texts[0] not in BINNINGS and not re.fullmatch(r"mass([2-9]|[1-9][0-9]|100)", texts[0]):
            message = f"There is no binning {texts[0]!r}; beside mass15 there are mass2 to mass100."
            raise BadRequest("unknown_value", message, key, BINNINGS)
        return texts[0]


def _split(conventions: Conventions) -> dict[str, Any]:
    return {"binning": conventions.binning, "human": conventions.human, "beta": conventions.beta}


class Selection(Parameters, frozen=True):
    """A filter over runs, questions and clues of one dataset, and the conventions under which it is measured.

    Empty tuples and None mean "all". Ranges include both ends.
    """

    dataset: Annotated[str, Text("which dataset; the first one by default")]
    run: Annotated[
        tuple[str, ...], Values("run ids; a withdrawn run counts only where it is named here", lambda f: f.all_runs)
    ] = ()
    model: Annotated[tuple[str, ...], Values("runs of these models", lambda f: f.models)] = ()
    elicitation: Annotated[tuple[str, ...], Values("runs whose confidence was elicited this way", lambda f: f.elicitations)] = ()
    category: Annotated[tuple[str, ...], Values("questions of these categories", lambda f: f.categories)] = ()
    subcategory: Annotated[tuple[str, ...], Values("questions of these subcategories", lambda f: f.subcategories)] = ()
    radius: Annotated[tuple[int, ...], Values("questions with this radius, in years", lambda f: f.radii)] = ()
    difficulty: Annotated[Range | None, Fractions("questions with a difficulty in this range")] = None
    revealed: Annotated[Range | None, Fractions("clues, by the fraction of the question that is revealed by their end")] = None
    q: Annotated[str, Text("text in the question, its answer or its id")] = ""
    conventions: Annotated[
        Conventions,
        Group(
            "how metrics are computed",
            {
                "binning": Binning("bins of confidence"),
                "human": Choice(
                    "the human curve; by default each metric's own", HUMAN_CURVES, "There is no human curve {value!r}."
                ),
                "beta": Number("weight of R_U against R_O in HMR; 1 by default", 1000),
            },
            Conventions,
            _split,
        ),
    ] = msgspec.field(default_factory=Conventions)
    questions: tuple[str, ...] | None = None  # only these; set by queries, never by an address

    def question_filter(self, table: str = "q") -> tuple[str, dict[str, Any]]:
        """SQL condition over ``questions`` and its parameters."""
        conditions = [f"{table}.dataset = $dataset"]
        parameters: dict[str, Any] = {"dataset": self.dataset}
        for key in ("category", "subcategory", "radius"):
            if getattr(self, key):
                conditions.append(f"list_contains($s_{key}, {table}.{key})")
                parameters[f"s_{key}"] = list(getattr(self, key))
        if self.difficulty:
            conditions.append(f"{table}.difficulty between $s_easy and $s_hard")
            parameters |= {"s_easy": self.difficulty[0], "s_hard": self.difficulty[1]}
        if self.questions is not None:
            conditions.append(f"list_contains($s_questions::varchar[], {table}.question_id)")
            parameters["s_questions"] = list(self.questions)
        if self.q:
            searched = f"concat_ws(' ', {table}.question_id, {table}.text, {table}.answer)"
            conditions.append(f"contains(lower({searched}), lower($s_text))")
            parameters["s_text"] = self.q
        return " and ".join(conditions), parameters

    def run_filter(self, table: str = "r") -> tuple[str, dict[str, Any]]:
        """SQL condition over ``runs`` and its parameters. A withdrawn run counts only where it is named."""
        conditions = [f"{table}.dataset = $dataset"]
        parameters: dict[str, Any] = {"dataset": self.dataset}
        for key in ("run", "model", "elicitation"):
            if getattr(self, key):
                conditions.append(f"list_contains($r_{key}, {table}.{key})")
                parameters[f"r_{key}"] = list(getattr(self, key))
        if not self.run:
            conditions.append(f"{table}.withdrawn_at is null")
        return " and ".join(conditions), parameters


def facets(snapshot: Snapshot, dataset: str | None) -> Facets:
    """What a dataset offers, the first one where none is named. Raises ``BadRequest`` for an unknown one or an empty store."""
    known = [row[0] for row in snapshot.rows("select dataset from datasets order by position")]
    if not known:
        raise BadRequest("empty_store", "The store holds no dataset yet: python -m dashboard import PATH", "dataset", status=404)
    name = dataset if dataset is not None else known[0]
    if name not in known:
        raise BadRequest("unknown_value", f"There is no dataset {name!r}.", "dataset", known)
    parameters = {"d": name}
    title, kind, simulated, note = snapshot.rows(
        "select title, kind, simulated, note from datasets where dataset = $d", parameters
    )[0]
    counts = snapshot.rows(
        """select count(*), max(clues), min(difficulty), max(difficulty), any_value(difficulty_source),
            list_sort(list(distinct radius) filter (radius is not null)) from questions where dataset = $d""",
        parameters,
    )[0]

    def distinct(column: str) -> tuple[str, ...]:
        sql = f"select {column} from questions where dataset = $d and {column} is not null group by 1 order by 1"
        return tuple(row[0] for row in snapshot.rows(sql, parameters))

    runs = snapshot.rows(
        "select run, model, elicitation, withdrawn_at from runs where dataset = $d order by position", parameters
    )
    teams = snapshot.rows("select count(distinct team) from exposures where dataset = $d and team_kind = 'human'", parameters)
    return Facets(
        dataset=name, title=title, kind=kind, simulated=simulated, note=note, questions=counts[0], longest=counts[1],
        human_teams=teams[0][0], categories=distinct("category"), subcategories=distinct("subcategory"),
        radii=tuple(counts[5] or ()),
        difficulty=(counts[2], counts[3]) if counts[2] is not None else None, difficulty_source=counts[4],
        runs=tuple((run, model, elicitation) for run, model, elicitation, gone in runs if gone is None),
        withdrawn=tuple(run for run, _, _, gone in runs if gone is not None),
    )  # fmt: skip


@dataclass(frozen=True)
class Request(Generic[P]):
    """What an address asks for.

    Attributes:
        selection: the filter and conventions.
        facets: what the dataset offers.
        parameters: the view's own keys.
        ignored: unknown keys, where they are no error.
    """

    selection: Selection
    facets: Facets
    parameters: P
    ignored: tuple[str, ...] = ()


def read_address(
    query: Iterable[tuple[str, str]],
    facets_of: Callable[[str | None], Facets],
    parameters: type[P],
    dataset: str | None = None,
    ignore_unknown: bool = False,
) -> Request[P]:
    """Read a query string: the keys of the selection, and those of a view.

    Args:
        query: keys and values, as they come.
        facets_of: what a dataset offers, the first one for None; raises ``BadRequest`` for an unknown one.
        parameters: the struct of the view's own keys; ``NoParameters`` where it has none.
        dataset: the dataset, where the path names it.
        ignore_unknown: leave unknown keys out instead of refusing them.

    Raises:
        BadRequest: for an unknown key or value, naming what is allowed.
    """
    texts, ignored = collect(query, Selection.kinds() | parameters.kinds(), ignore_unknown)
    named = texts.get("dataset", [None])[0]
    if dataset is not None and named not in (None, dataset):
        raise BadRequest("unknown_value", f"The address is about dataset {dataset!r}.", "dataset", [dataset])
    try:
        facets = facets_of(dataset if dataset is not None else named)
    except BadRequest as error:
        if dataset is not None and error.code == "unknown_value":  # the path names it: there is no such place
            raise BadRequest("unknown_dataset", error.message, error.field, error.allowed, status=404) from None
        raise
    selection = decode(Selection, texts, facets, dataset=facets.dataset)
    return Request(selection, facets, decode(parameters, texts, facets), tuple(ignored))


def read_selection(query: Iterable[tuple[str, str]], facets_of: Callable[[str | None], Facets]) -> Selection:
    """Read a query string that has keys of the selection only; see ``read_address``."""
    return read_address(query, facets_of, NoParameters).selection


NOTHING = Facets("", "", "", False, None, 0, 0, 0, (), (), (), None, None, (), ())


def read_parameters(query: Iterable[tuple[str, str]], parameters: type[P]) -> P:
    """Read a query string that takes no selection. Raises ``BadRequest`` for an unknown key or value."""
    texts, _ = collect(query, parameters.kinds())
    return decode(parameters, texts, NOTHING)


def selection_keys(selection: Selection) -> dict[str, list[str]]:
    """A selection as a mapping of keys to lists of values, as JSON answers repeat it."""
    values: dict[str, list[str]] = {}
    for key, value in selection.pairs():
        values.setdefault(key, []).append(value)
    return values


def number(value: float) -> float | None:
    """A float for JSON: None for NaN and infinities."""
    return float(value) if math.isfinite(value) else None
