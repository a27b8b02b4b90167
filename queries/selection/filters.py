"""The kinds of filters and other keys of a selection, and the controls that set them.

A filter is a key that says which runs, questions, clues or responses count. It knows how its value is read and written (it is a
``Kind``), its SQL condition, which control sets it, and how to put it into words. The filters themselves are fields of
``queries.selection.Selection``: to add one, add a field there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

from clueline.data.duckdb_and_polars import SqlParameters
from clueline.data.elicitations import canonical_elicitation
from clueline.data.store import Snapshot
from clueline.data.store.gradings import REVIEWED
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.selection.facets import IMPORTED, STATED_ENDS, Facets
from clueline.queries.selection.parameter_kinds import (
    BadRequest,
    Kind,
    Range,
    allowed,
    format_number,
    format_range,
    read_number,
    read_range,
)
from clueline.queries.selection.view_parameters_base import named_key, split_key

T = TypeVar("T")
Narrows = Literal["runs", "questions", "clues", "responses"]
Value = str | int  # of a column that a filter chooses from
Condition = tuple[str, SqlParameters]
MAX_UNFOLDED = 4  # keys of one kind, such as attributes; with more, their values are in menus instead of side by side
MAX_OFFERED = 100  # values of a named key; with more, there is no control, but an address can still name them


@dataclass(frozen=True)
class ChoicesControl:
    """A control that sets any number of named values, those ``chosen`` being in force; if ``folded``, always by a menu."""

    label: str
    options: tuple[tuple[Value, str], ...]
    chosen: tuple[Value, ...]
    blank: str = "All"
    folded: bool = False


@dataclass(frozen=True)
class MenuControl:
    """A control that sets one of several named values; the value "" means that the key is absent."""

    label: str
    options: tuple[tuple[str, str], ...]
    chosen: str


@dataclass(frozen=True)
class RangeControl:
    """A control that sets a range within 0 to 1; None means the whole range."""

    label: str
    chosen: Range | None


@dataclass(frozen=True)
class TextControl:
    """A control that sets a text; ``hint`` is shown while the text is empty."""

    label: str
    chosen: str
    hint: str


Control = ChoicesControl | MenuControl | RangeControl | TextControl


@dataclass(frozen=True)
class SelectionKey(Kind[T]):
    """A key of the selection with a control."""

    label: str

    def control(self, key: str, value: T, facets: Facets) -> Control | None:
        """Return the control that sets the key; None where there is nothing to choose."""
        raise NotImplementedError


@dataclass(frozen=True)
class Filter(SelectionKey[T]):
    """A key that says what counts: which runs, questions, clues or responses. Pages offer it unless they say otherwise."""

    narrows: Narrows
    shown_by_default: bool = field(default=True, kw_only=True)

    def condition(self, key: str, value: T, table: str) -> Condition:
        """Return the filter as SQL: a condition, and parameters whose names start with the key. The value must narrow."""
        raise NotImplementedError

    def sentence(self, key: str, value: T) -> str:
        """Return the filter in words, such as "category Arts or History"."""
        raise NotImplementedError


@dataclass(frozen=True)
class ColumnFilter(Filter[tuple[Value, ...]]):
    """Rows with one of some values in the column named like the key. ``facets`` lists the values to choose from."""

    repeatable: ClassVar[bool] = True

    def options(self, key: str, facets: Facets) -> Sequence[Value]:
        return facets.values.get(key, ())

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[Value, ...]:
        known = {str(option): option for option in self.options(key, facets)}
        names = [allowed(key, text, [*known], facets, "Dataset {dataset!r} has no {key} {value!r}.") for text in texts]
        return tuple(known[name] for name in dict.fromkeys(names))

    def control(self, key: str, value: tuple[Value, ...], facets: Facets) -> Control | None:
        options = self.options(key, facets)
        named = tuple((option, str(option)) for option in options)
        return ChoicesControl(self.label, named, value) if len(options) > 1 else None

    def condition(self, key: str, value: tuple[Value, ...], table: str) -> Condition:
        return f"list_contains(${key}_values, {table}.{key})", {f"{key}_values": list(value)}

    def sentence(self, key: str, value: tuple[Value, ...]) -> str:
        return f"{key} {' or '.join(map(str, value))}"


@dataclass(frozen=True)
class ElicitationFilter(ColumnFilter):
    """Runs of some elicitations. In place of one, an address can have a name by which a writer called it."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[Value, ...]:
        known = self.options(key, facets)
        return super().read(key, [text if text in known else canonical_elicitation(text) for text in texts], facets)


@dataclass(frozen=True)
class NamedFilter(ColumnFilter):
    """Rows by facts that each dataset names itself, such as tags; each has a key of its own: ``tag.reasoning=yes``.

    ``facts`` is the table of the facts, in which ``name`` is the column of their names, and ``identity`` that of whose facts they
    are, as in the rows that are filtered. ``unknown`` is the error, with placeholders ``dataset`` and ``name``.
    """

    named: ClassVar[bool] = True
    facts: str
    name: str
    identity: str
    unknown: str

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[Value, ...]:
        field, name = split_key(key)
        if key in facets.many_valued:
            raise BadRequest("unknown_key", f"{name!r} has too many values in dataset {facets.dataset!r} to choose from.", key)
        if key not in facets.values:
            known = [other for other in facets.values if split_key(other)[0] == field and other != field]
            raise BadRequest("unknown_key", self.unknown.format(dataset=facets.dataset, name=name), key, known)
        return super().read(key, texts, facets)

    def control(self, key: str, value: tuple[Value, ...], facets: Facets) -> Control | None:
        named = tuple((option, str(option)) for option in self.options(key, facets))
        if len(named) > MAX_OFFERED and not value:
            return None
        field, name = split_key(key)
        names = sum(split_key(other)[0] == field for other in facets.values)
        return ChoicesControl(name, named, value, folded=names > MAX_UNFOLDED)

    def sql(self, name: str, values: str, table: str) -> str:
        """Return the condition, given the SQL of the name and of the list of values."""
        having = f"{self.name} = {name} and list_contains({values}, value)"
        return f"{table}.{self.identity} in (select {self.identity} from {self.facts} where dataset = $dataset and {having})"

    def condition(self, key: str, value: tuple[Value, ...], table: str) -> Condition:
        field, name = split_key(key)
        parameter = f"{field}_{name.encode().hex()}"  # a name can contain characters that a parameter cannot
        sql = self.sql(f"${parameter}_name", f"${parameter}_values::varchar[]", table)
        return sql, {f"{parameter}_name": name, f"{parameter}_values": [*map(str, value)]}

    def sentence(self, key: str, value: tuple[Value, ...]) -> str:
        return f"{split_key(key)[1]} {' or '.join(map(str, value))}"


@dataclass(frozen=True)
class ResponseAttributeFilter(NamedFilter):
    """Responses by their attributes. A blank value means responses without the attribute."""

    def sql(self, name: str, values: str, table: str) -> str:
        return f"list_contains({values}, coalesce({table}.attributes[{name}], ''))"


@dataclass(frozen=True)
class RunFilter(ColumnFilter):
    """Runs by their ids."""

    def options(self, key: str, facets: Facets) -> Sequence[str]:
        return facets.all_runs

    def control(self, key: str, value: tuple[Value, ...], facets: Facets) -> Control | None:
        named = tuple((run, model) for run, model, _ in facets.runs)
        return ChoicesControl(self.label, named, value, "All runs", folded=True) if len(named) > 1 else None


@dataclass(frozen=True)
class RangeFilter(Filter[Range | None]):
    """Rows with a number in a range, both ends included, in the column named like the key; None means all of 0 to 1."""

    offered: Callable[[Facets], bool]

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> Range | None:
        return read_range(key, texts[0])

    def write(self, value: Range | None) -> list[str]:
        return [format_range(value)] if value else []

    def control(self, key: str, value: Range | None, facets: Facets) -> Control | None:
        return RangeControl(self.label, value) if self.offered(facets) else None

    def condition(self, key: str, value: Range | None, table: str) -> Condition:
        low, high = value or (0.0, 1.0)
        return f"{table}.{key} between ${key}_low and ${key}_high", {f"{key}_low": low, f"{key}_high": high}

    def sentence(self, key: str, value: Range | None) -> str:
        low, high = map(format_number, value or (0.0, 1.0))
        return f"{key} {low} to {high}"


@dataclass(frozen=True)
class SearchFilter(Filter[str]):
    """Questions whose id, text or answer contains a text; upper and lower case count as the same."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        return texts[0]

    def control(self, key: str, value: str, facets: Facets) -> Control:
        return TextControl(self.label, value, "in questions and answers")

    def condition(self, key: str, value: str, table: str) -> Condition:
        searched = f"concat_ws(' ', {table}.question_id, {table}.text, {table}.answer)"
        return f"contains(lower({searched}), lower(${key}_text))", {f"{key}_text": value}

    def sentence(self, key: str, value: str) -> str:
        return f"text “{value}”"


@dataclass(frozen=True)
class ThresholdConvention(SelectionKey[float]):
    """A confidence from 0 to below 1, with a menu of suggestions, the standard one first."""

    suggestions: tuple[float, ...]

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> float:
        number = read_number(key, texts[0])
        if not number < 1:
            raise BadRequest("bad_value", f"{key} must be at least 0 and below 1.", key)
        return number

    def write(self, value: float) -> list[str]:
        return [format_number(value)]

    def control(self, key: str, value: float, facets: Facets) -> Control:
        standard, *others = map(format_number, dict.fromkeys((*self.suggestions, value)))
        text = format_number(value)
        options = (("", standard), *((other, other) for other in others))
        return MenuControl(self.label, options, "" if text == standard else text)


@dataclass(frozen=True)
class Switch(SelectionKey[bool]):
    """0 or 1, 0 by default; ``names`` are their labels. There is no control where the switch is not ``offered``."""

    names: tuple[str, str]
    offered: Callable[[Facets], bool]

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> bool:
        return allowed(key, texts[0], ("0", "1"), facets) == "1"

    def write(self, value: bool) -> list[str]:
        return [str(int(value))]

    def control(self, key: str, value: bool, facets: Facets) -> Control | None:
        off, on = self.names
        return MenuControl(self.label, (("", off), ("1", on)), "1" if value else "") if self.offered(facets) else None


@dataclass(frozen=True)
class GradingChoice(SelectionKey[str]):
    """One of the gradings of a dataset's runs; blank for ``reviewed`` or, where a run lacks it, its first grading."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        return allowed(key, texts[0], facets.gradings, facets, "No run of dataset {dataset!r} has a grading {value!r}.")

    def control(self, key: str, value: str, facets: Facets) -> Control | None:
        default = "reviewed, else first" if REVIEWED in facets.gradings else "first of each run"
        options = (("", default), *((name, name) for name in facets.gradings))
        return MenuControl(self.label, options, value) if len(facets.gradings) > 1 else None


@dataclass(frozen=True)
class PeopleChoice(SelectionKey[str]):
    """The people who were imported with a dataset, or one of its human collections: see ``reference_people``."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        options = [IMPORTED, *([STATED_ENDS] if facets.unstated_ends else []), *(run for run, _ in facets.human_collections)]
        return allowed(key, texts[0], options, facets, "Dataset {dataset!r} has no human collection {value!r}.")

    def control(self, key: str, value: str, facets: Facets) -> Control | None:
        if not facets.human_collections and not facets.unstated_ends:
            return None
        offered = {run: name for run, name in facets.human_collections if run not in facets.withdrawn or run == value}
        if facets.people_imported:
            stated = {STATED_ENDS: "Imported, plays with a stated end"} if facets.unstated_ends else {}
            offered = {IMPORTED: "Imported with the dataset"} | stated | offered
        current = [run for run in offered if run not in facets.withdrawn]
        default = current[0] if current else IMPORTED
        options = (("" if run == default else run, name) for run, name in ({default: "None"} | offered).items())
        return MenuControl(self.label, tuple(options), "" if value == default else value)


@dataclass(frozen=True)
class ClusterChoice(SelectionKey[str]):
    """The unit of intervals, tests and bands, see ``clusters``; blank for the default of the dataset."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        unknown = "Questions of dataset {dataset!r} have no attribute {value!r}, so it cannot be their cluster."
        return texts[0] and allowed(key, texts[0], facets.clusters, facets, unknown)

    def control(self, key: str, value: str, facets: Facets) -> Control | None:
        default, *others = facets.clusters
        options = (("", default), *((name, name) for name in others))
        return MenuControl(self.label, options, "" if value == default else value) if others else None


@dataclass(frozen=True)
class PrimaryChoice(SelectionKey[str]):
    """The metric that was named before looking, by key; blank for that of the dataset."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        known = [metric.key for metric in METRICS if metric.ranks]
        return texts[0] and allowed(key, texts[0], known, facets, "{value!r} is no metric that ranks runs.")

    def control(self, key: str, value: str, facets: Facets) -> Control | None:
        offered = {metric.key: metric.name for metric in METRICS if metric.ranks and (facets.human_teams or not metric.needs)}
        if value:
            offered[value] = CATALOGUE[value].name
        return MenuControl(self.label, (("", "That of the dataset"), *offered.items()), value)


@dataclass(frozen=True)
class Convention(SelectionKey[str]):
    """A convention of how metrics are computed: one of ``names``, which have labels, or another text that matches ``pattern``.

    ``standard`` is the label of an absent key, and the value that it means; None where that is none of ``names``. ``unknown`` is
    the error, with the placeholder ``value``. If it is about ``people``, datasets without human teams have no control for it.
    """

    names: Mapping[str, str]
    standard: tuple[str, str | None]
    unknown: str
    people: bool = False
    pattern: re.Pattern[str] | None = None

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        if texts[0] not in self.names and not (self.pattern and self.pattern.fullmatch(texts[0])):
            raise BadRequest("unknown_value", self.unknown.format(value=texts[0]), key, [*self.names])
        return texts[0]

    def control(self, key: str, value: str | None, facets: Facets) -> Control | None:
        if self.people and not facets.human_teams:
            return None
        name, standard = self.standard
        others = {text: text for text in (value,) if text is not None and text not in self.names} | dict(self.names)
        options = {"": name} | {text: others[text] for text in (*self.names, *others) if text != standard}
        return MenuControl(self.label, tuple(options.items()), "" if value is None or value == standard else value)


MAX_VALUES = 1000  # values of a key; more are too many to choose from


def named_values(
    snapshot: Snapshot, dataset: str, filters: Iterable[tuple[str, Filter[Any]]]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the values of each named key in a dataset, sorted as numbers or texts, and the keys with too many values."""
    values: dict[str, tuple[str, ...]] = {}
    many: list[str] = []
    for key, kind in filters:
        if isinstance(kind, NamedFilter):
            # A null value stands for the values of a run that has too many of them.
            rows = snapshot.rows(
                f"""select {kind.name}, count(*) > {MAX_VALUES} or count(value) < count(*) as many,
                    case when not many then list(value order by try_cast(value as double), value) end from (
                    select distinct {kind.name}, value from {kind.facts} where dataset = $d
                ) group by 1 order by 1""",
                {"d": dataset},
            )
            many += [named_key(key, name) for name, too_many, _ in rows if too_many]
            values |= {named_key(key, name): tuple(texts) for name, too_many, texts in rows if not too_many}
    return values, tuple(many)
