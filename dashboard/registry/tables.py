"""Tables in answers: each column is declared once, for CSV and for papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

HEADINGS = {
    "lower": "From", "upper": "To", "value_a": "a", "value_b": "b", "p_value": "p",
    "p_holm": "p (adjusted)", "p_adjusted": "p (adjusted)", "question_id": "Question", "people": "People right",
    "variant": "Definition", "mean_confidence": "Mean confidence",
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column of a table.

    ``key`` is its name in CSV, and ``heading`` the one in papers. ``ends`` are the keys of the columns that hold the ends of its
    interval; the table may lack them. ``questions`` counts the questions that a value is of, where they can be others than
    those of the row. ``second`` is the value without plays of people whose end nobody stated, where it differs.
    """

    key: str
    value: Callable[[Any], object]
    heading: str
    ends: tuple[str, str]
    questions: Callable[[Any], int] | None = None
    second: Callable[[Any], float | None] | None = None

    def other_questions(self, row: Any) -> int | None:
        """Return how many questions the value in a row is of; None if they are those of the row, or there is no value."""
        if self.questions is None or self.value(row) is None:
            return None
        count = self.questions(row)
        return None if count == questions_of(row) else count


def questions_of(row: Any) -> int:
    """Return the number of questions of a row or, if it is a tuple, of its first part."""
    return int((row[0] if isinstance(row, tuple) else row).questions)


def column(key: str, value: Callable[[Any], object], heading: str = "") -> Column:
    """Return a column, whose interval is in ``<key>_low`` and ``<key>_high``. The heading is by default the key in words."""
    words = heading or HEADINGS.get(key) or (key if "." in key else key.replace("_", " ").capitalize())
    return Column(key, value, words, (f"{key}_low", f"{key}_high"))


def columns(*keys: str, at: int | None = None) -> tuple[Column, ...]:
    """Return columns that are attributes of a row or, where rows are tuples, of their part ``at``."""
    return tuple(replace(column(key, _attribute(key, at)), second=_second(key, at)) for key in keys)


def fields(struct: type[msgspec.Struct], at: int | None = None, without: Sequence[str] = ()) -> tuple[Column, ...]:
    """Return a column for each field of the structs that are the rows, or their part ``at``."""
    shown = columns(*(name for name in struct.__struct_fields__ if name not in (*without, SECOND)), at=at)
    return (*shown, column(SECOND, second_values(at))) if SECOND in struct.__struct_fields__ else shown


def parts(*keys: str, start: int = 0) -> tuple[Column, ...]:
    """Return columns that are parts of rows that are tuples, from the part ``start`` on."""
    return tuple(column(key, itemgetter(at)) for at, key in enumerate(keys, start))


def with_interval(shown: Iterable[Column], key: str) -> tuple[Column, ...]:
    """Return columns of which ``key`` has its interval in ``low`` and ``high``."""
    return tuple(replace(column, ends=("low", "high")) if column.key == key else column for column in shown)


def with_json(shown: Iterable[Column]) -> tuple[Column, ...]:
    """Return columns in which lists and dictionaries are JSON; otherwise lists are separated by semicolons."""
    return tuple(replace(column, value=_json(column.value)) for column in shown)


def _json(value: Callable[[Any], object]) -> Callable[[Any], object]:
    def text(row: Any) -> object:
        cell = value(row)
        return msgspec.json.encode(cell).decode() if isinstance(cell, list | dict) else cell

    return text


def reasons(by_name: Mapping[str, str]) -> str | None:
    """Return reasons for missing values as one cell; None without any."""
    return "; ".join(f"{name}: {reason}" for name, reason in by_name.items()) or None


SECOND = "second"  # a field with second values by name; see ``queries.engine.plays_of_people``


def second_values(at: int | None = None) -> Callable[[Any], str | None]:
    """Return a function that writes the second values of a row, or of its part ``at``, as one cell; None without any."""

    def text(row: Any) -> str | None:
        second: Mapping[str, float] = getattr(row if at is None else row[at], SECOND)
        return "; ".join(f"{name}: {value}" for name, value in second.items()) or None

    return text


def _second(key: str, at: int | None) -> Callable[[Any], float | None]:
    return lambda row: getattr(row if at is None else row[at], SECOND, {}).get(key)


def _attribute(key: str, at: int | None) -> Callable[[Any], object]:
    get = attrgetter(key)
    return get if at is None else lambda row: get(row[at])


RUN = columns("run", "model", "elicitation")
RUN_FIRST = columns("run", "model", "elicitation", at=0)


@dataclass(frozen=True)
class Table:
    """A table in the answer of a view.

    ``name`` is the last part of its address, ``.../NAME.csv``; blank for the main table of a view. ``file`` is the name of the
    file without its extension, with parts of the path in braces, or a function of an answer; by default it is made of the
    address.
    """

    about: str
    rows: Callable[[Any], Iterable[Any]]
    columns: Sequence[Column] | Callable[[Any, Any], Sequence[Column]]
    name: str = ""
    file: str | Callable[[Any], str] = ""

    def columns_of(self, answer: object, parameters: object) -> Sequence[Column]:
        """Return the columns of the table in an answer of a view with these keys."""
        return self.columns(answer, parameters) if callable(self.columns) else self.columns
