"""What is being looked at: the one description that the address, the pages and the SQL share.

A selection comes from a query string (``parse``), goes back into one (``Selection.pairs``), and becomes SQL conditions over the
store's tables (``question_filter``, ``run_filter``). Everything that an address names is checked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from data.store.generations import Snapshot
from queries.metrics import HUMAN_CURVES, Conventions

Range = tuple[float, float]
BINNINGS = ("width10", "width10+1", "mass15")
SINGLE = ("dataset", "difficulty", "revealed", "q", "binning", "human", "beta")
REPEATABLE = ("run", "model", "elicitation", "category", "subcategory", "radius")
KEYS = (*SINGLE, *REPEATABLE)
LONGEST_VALUE = 500  # characters


class BadRequest(Exception):
    """Something that an address names is unknown or malformed; the attributes are those of the error envelope."""

    def __init__(self, code: str, message: str, field: str | None = None, allowed: Sequence[str] = (), status: int = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.field, self.allowed, self.status = code, message, field, list(allowed), status


@dataclass(frozen=True)
class Selection:
    """A filter over runs, questions and clues of one dataset, and the conventions under which it is measured.

    Empty tuples and None mean "all". Ranges include both ends.
    """

    dataset: str
    run: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    elicitation: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    subcategory: tuple[str, ...] = ()
    difficulty: Range | None = None
    radius: tuple[int, ...] = ()
    revealed: Range | None = None
    q: str = ""
    questions: tuple[str, ...] | None = None  # only these: set by a query for its own use, never by a key
    conventions: Conventions = field(default_factory=Conventions)

    def pairs(self) -> list[tuple[str, str]]:
        """The selection as the keys and values of a query string, in a fixed order, defaults left out."""
        found = [("dataset", self.dataset)]
        for key in ("run", "model", "elicitation", "category", "subcategory", "radius"):
            found += [(key, str(value)) for value in getattr(self, key)]
        for key in ("difficulty", "revealed"):
            if getattr(self, key):
                found.append((key, format_range(getattr(self, key))))
        if self.q:
            found.append(("q", self.q))
        standard = Conventions()
        for key in ("binning", "human", "beta"):
            value = getattr(self.conventions, key)
            if value != getattr(standard, key):
                found.append((key, format_number(value) if key == "beta" else value))
        return found

    def but(self, **changes: Any) -> Selection:
        """The same selection with some fields changed."""
        return replace(self, **changes)

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
        """SQL condition over ``runs`` and its parameters. A withdrawn run is looked at only where it is named."""
        conditions = [f"{table}.dataset = $dataset"]
        parameters: dict[str, Any] = {"dataset": self.dataset}
        for key in ("run", "model", "elicitation"):
            if getattr(self, key):
                conditions.append(f"list_contains($r_{key}, {table}.{key})")
                parameters[f"r_{key}"] = list(getattr(self, key))
        if not self.run:
            conditions.append(f"{table}.withdrawn_at is null")
        return " and ".join(conditions), parameters


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
    def models(self) -> tuple[str, ...]:
        """Models in order of import."""
        return tuple(dict.fromkeys(model for _, model, _ in self.runs))

    @property
    def elicitations(self) -> tuple[str, ...]:
        """Elicitations in order of import."""
        return tuple(dict.fromkeys(elicitation for _, _, elicitation in self.runs))


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


def parse(
    query: Iterable[tuple[str, str]],
    facets_of: Callable[[str | None], Facets],
    also: Sequence[str] = (),
    dataset: str | None = None,
) -> tuple[Selection, Facets, dict[str, list[str]]]:
    """Read a query string.

    Args:
        query: keys and values, as they come.
        facets_of: what a dataset offers; raises ``BadRequest`` for an unknown one.
        also: further keys that the page or address takes.
        dataset: the dataset where the path names it.

    Returns:
        The selection, what its dataset offers, and the values of the further keys.

    Raises:
        BadRequest: for an unknown key or value, naming what is allowed.
    """
    values: dict[str, list[str]] = {}
    for key, value in query:
        if key not in KEYS and key not in also:
            raise BadRequest("unknown_key", f"There is no key {key!r} here.", key, sorted({*KEYS, *also}))
        if len(value) > LONGEST_VALUE:
            raise BadRequest("bad_value", f"The value of {key!r} is longer than {LONGEST_VALUE} characters.", key)
        values.setdefault(key, []).append(value)
    for key in SINGLE:
        if len(values.get(key, [])) > 1:
            raise BadRequest("repeated_key", f"{key!r} can be given once.", key)
    named = values.get("dataset", [None])[0]
    if dataset is not None and named not in (None, dataset):
        raise BadRequest("unknown_value", f"The address is about dataset {dataset!r}.", "dataset", [dataset])
    try:
        offered = facets_of(dataset if dataset is not None else named)
    except BadRequest as error:
        if dataset is not None and error.code == "unknown_value":  # the path names it: there is no such place
            raise BadRequest("unknown_dataset", error.message, error.field, error.allowed, status=404) from None
        raise
    allowed: dict[str, Sequence[str]] = {
        "run": [*(run for run, _, _ in offered.runs), *offered.withdrawn],
        "model": offered.models,
        "elicitation": offered.elicitations,
        "category": offered.categories,
        "subcategory": offered.subcategories,
        "radius": [str(radius) for radius in offered.radii],
    }
    for key, known in allowed.items():
        for value in values.get(key, []):
            if value not in known:
                raise BadRequest("unknown_value", f"Dataset {offered.dataset!r} has no {key} {value!r}.", key, known)

    def several(key: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(values.get(key, [])))

    def single(key: str) -> str | None:
        return values.get(key, [None])[0]

    selection = Selection(
        dataset=offered.dataset,
        run=several("run"),
        model=several("model"),
        elicitation=several("elicitation"),
        category=several("category"),
        subcategory=several("subcategory"),
        difficulty=parse_range("difficulty", single("difficulty")),
        radius=tuple(int(radius) for radius in several("radius")),
        revealed=parse_range("revealed", single("revealed")),
        q=single("q") or "",
        conventions=_conventions(single("binning"), single("human"), single("beta")),
    )
    return selection, offered, {key: values.get(key, []) for key in also}


def _conventions(binning: str | None, human: str | None, beta: str | None) -> Conventions:
    standard = Conventions()
    if binning is not None and binning not in BINNINGS and not re.fullmatch(r"mass([2-9]|[1-9][0-9]|100)", binning):
        raise BadRequest(
            "unknown_value", f"There is no binning {binning!r}; beside mass15 there are mass2 to mass100.", "binning", BINNINGS
        )
    if human is not None and human not in HUMAN_CURVES:
        raise BadRequest("unknown_value", f"There is no human curve {human!r}.", "human", HUMAN_CURVES)
    weight = standard.beta if beta is None else _number("beta", beta)
    if not 0 < weight <= 1000:
        raise BadRequest("bad_value", "beta must be above 0 and at most 1000.", "beta")
    return Conventions(binning or standard.binning, human, weight)


def _number(key: str, text: str) -> float:
    if not re.fullmatch(r"[0-9]*\.?[0-9]+(e-?[0-9]{1,3})?", text):
        raise BadRequest("bad_value", f"{key} must be a number, not {text!r}.", key)
    return float(text)


def parse_range(key: str, text: str | None) -> Range | None:
    """A range lo..hi within 0..1; None where there is none or it is all of that. Raises ``BadRequest``."""
    if text is None:
        return None
    low, dots, high = text.partition("..")
    if not dots:
        raise BadRequest("bad_value", f"{key} is a range such as 0.2..0.8, not {text!r}.", key)
    ends = (_number(key, low), _number(key, high))
    if not 0 <= ends[0] <= ends[1] <= 1:
        raise BadRequest("bad_value", f"{key} must run upwards within 0..1, not {text!r}.", key)
    return None if ends == (0, 1) else ends


def format_range(ends: Range) -> str:
    """A range as addresses have it."""
    return f"{format_number(ends[0])}..{format_number(ends[1])}"


def format_number(number: float) -> str:
    """A number as addresses have it: the fewest digits that are read as the same number again."""
    return repr(float(number)).removesuffix(".0")


def selection_keys(selection: Selection) -> dict[str, list[str]]:
    """A selection as a mapping of keys to lists of values, as JSON answers repeat it."""
    values: dict[str, list[str]] = {}
    for key, value in selection.pairs():
        values.setdefault(key, []).append(value)
    return values


def number(value: float) -> float | None:
    """A float for JSON: None for NaN and infinities."""
    return float(value) if math.isfinite(value) else None
