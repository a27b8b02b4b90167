"""Kinds of keys in a query string: which values a key can have, and how its text is read, rejected and written back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.selection.facets import Facets

T = TypeVar("T")
Range = tuple[float, float]
Options = Sequence[str] | Callable[[Facets], Sequence[str]]  # allowed values, or a function of the facets that lists them
MAX_VALUE_LENGTH = 500  # characters
NUMBER = re.compile(r"([0-9]*\.)?[0-9]+(e-?[0-9]{1,3})?")


class BadRequest(Exception):
    """A request names something unknown or malformed, or cannot be answered now.

    ``field`` is the key that is wrong, None where no single key is. ``allowed`` are the values that are allowed instead, if they
    are listed. A retry may succeed after ``retry_after`` seconds. ``more`` are further keys of the error in JSON.
    """

    def __init__(
        self,
        code: str,
        message: str,
        field: str | None = None,
        allowed: Sequence[str] = (),
        status: int = 400,
        retry_after: int | None = None,
        **more: Any,
    ) -> None:
        super().__init__(code, message)  # as another process makes it again
        self.code, self.message, self.field, self.allowed, self.status = code, message, field, list(allowed), status
        self.retry_after, self.more = retry_after, more

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Kind(Generic[T]):
    """How the texts of a key are turned into a value, and back; ``about`` says in the documentation what the key means."""

    about: str
    repeatable: ClassVar[bool] = False  # whether the key can be given more than once
    longest: ClassVar[int | None] = MAX_VALUE_LENGTH  # characters of one text; None for any length
    named: ClassVar[bool] = False  # whether the field collects all keys FIELD.NAME; its value is ((NAME, value of the kind), ...)

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> T:
        """Return the value of a key that is given by one text, unless it is repeatable, or raise ``BadRequest``."""
        raise NotImplementedError

    def default(self, facets: Facets) -> T | None:
        """Return the value of an absent key where it depends on the dataset; None for the default of the field."""
        return None

    def write(self, value: T) -> list[str]:
        """Return the texts that ``read`` turns into this value."""
        return [*map(str, value)] if isinstance(value, tuple) else [str(value)]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of one text."""
        return {"type": "string"} | ({} if self.longest is None else {"maxLength": self.longest})


@dataclass(frozen=True)
class Text(Kind[str]):
    """Any text."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        return texts[0]


@dataclass(frozen=True)
class Texts(Kind[tuple[str, ...]]):
    """Any texts, without duplicates."""

    repeatable: ClassVar[bool] = True

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[str, ...]:
        return tuple(dict.fromkeys(texts))


@dataclass(frozen=True)
class Choice(Kind[str]):
    """One of some values.

    ``unknown`` is the error for any other value, with placeholders ``key``, ``value`` and ``dataset``. ``blank`` says whether a
    blank text counts as an absent key. ``dataset_default`` gives the value of an absent key where it depends on the dataset.
    """

    options: Options
    unknown: str = "{key!r} cannot be {value!r}."
    blank: bool = False
    dataset_default: Callable[[Facets], str] | None = None

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        if self.blank and not texts[0]:
            return ""
        return allowed(key, texts[0], self.options, facets, self.unknown)

    def default(self, facets: Facets) -> str | None:
        return self.dataset_default(facets) if self.dataset_default else None

    def schema(self) -> dict[str, Any]:
        return super().schema() if callable(self.options) else {"enum": ["", *self.options] if self.blank else [*self.options]}


@dataclass(frozen=True)
class RunChoice(Choice):
    """One of some runs, by its id or by the name that it has as a baseline."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        return super().read(key, [dict(facets.baselines).get(texts[0], texts[0])], facets)


@dataclass(frozen=True)
class Choices(Kind[tuple[str, ...]]):
    """Any number of some values, without duplicates; see ``Choice``."""

    options: Options
    unknown: str = "There is no {key} {value!r}."
    repeatable: ClassVar[bool] = True

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[str, ...]:
        return tuple(dict.fromkeys(allowed(key, text, self.options, facets, self.unknown) for text in texts))

    def schema(self) -> dict[str, Any]:
        return super().schema() if callable(self.options) else {"enum": [*self.options]}


@dataclass(frozen=True)
class Flag(Kind[bool | Literal["all"]]):
    """0 or 1."""

    texts: ClassVar[tuple[str, ...]] = ("0", "1")

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> bool | Literal["all"]:
        text = allowed(key, texts[0], self.texts, facets)
        return "all" if text == "all" else text == "1"

    def write(self, value: bool | Literal["all"]) -> list[str]:
        return [value if value == "all" else str(int(value))]

    def schema(self) -> dict[str, Any]:
        return {"enum": [*self.texts]}


@dataclass(frozen=True)
class FlagOrAll(Flag):
    """0, 1 or ``all``."""

    texts = ("0", "1", "all")


@dataclass(frozen=True)
class Whole(Kind[int]):
    """A whole number from 1 to ``most``."""

    most: int

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> int:
        text = texts[0]
        if not (text.isascii() and text.isdecimal()) or len(text) > 9 or not 1 <= int(text) <= self.most:
            raise BadRequest("bad_value", f"{key} must be a whole number from 1 to {self.most}, not {text!r}.", key)
        return int(text)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": 1, "maximum": self.most}


@dataclass(frozen=True)
class Number(Kind[float]):
    """A number above 0, or from 0 if ``zero``, and at most ``most``."""

    most: float
    zero: bool = False

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> float:
        number = read_number(key, texts[0])
        if number > self.most or (number == 0 and not self.zero):
            least = "from 0 to" if self.zero else "above 0 and at most"
            raise BadRequest("bad_value", f"{key} must be {least} {format_number(self.most)}.", key)
        return number

    def write(self, value: float) -> list[str]:
        return [format_number(value)]

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum" if self.zero else "exclusiveMinimum": 0, "maximum": self.most}


@dataclass(frozen=True)
class Fractions(Kind[Range | None]):
    """A range ``lo..hi`` within 0 to 1, both ends included; None means the whole range."""

    blank: bool = False  # whether a blank text counts as an absent key

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> Range | None:
        return None if self.blank and not texts[0] else read_range(key, texts[0])

    def write(self, value: Range | None) -> list[str]:
        return [format_range(value)] if value else []

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": rf"^{NUMBER.pattern}\.\.{NUMBER.pattern}$", "examples": ["0.2..0.8"]}


@dataclass(frozen=True)
class MetricChoice(Kind[Metric | None]):
    """One metric, named by its key; see ``Choice``."""

    metrics: Sequence[Metric]
    unknown: str = "There is no metric {value!r}."
    blank: bool = False
    dataset_default: Callable[[Facets], str] | None = None

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> Metric | None:
        if self.blank and not texts[0]:
            return None
        return CATALOGUE[allowed(key, texts[0], [metric.key for metric in self.metrics], facets, self.unknown)]

    def default(self, facets: Facets) -> Metric | None:
        return CATALOGUE[self.dataset_default(facets)] if self.dataset_default else None

    def write(self, value: Metric | None) -> list[str]:
        return [value.key] if value else []

    def schema(self) -> dict[str, Any]:
        return {"enum": [""] * self.blank + [metric.key for metric in self.metrics]}


@dataclass(frozen=True)
class MetricList(Kind[tuple[Metric, ...]]):
    """Several metrics, written ``a,b`` or by repeating the key; see ``Choice``."""

    metrics: Sequence[Metric] = tuple(CATALOGUE.values())
    unknown: str = "There is no metric {value!r}."
    dataset_default: Callable[[Facets], Sequence[str]] | None = None
    repeatable: ClassVar[bool] = True
    longest: ClassVar[int | None] = 4 * MAX_VALUE_LENGTH  # holds the key of every metric

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[Metric, ...]:
        known = [metric.key for metric in self.metrics]
        names = [allowed(key, name, known, facets, self.unknown) for text in texts for name in text.split(",")]
        return tuple(CATALOGUE[name] for name in dict.fromkeys(names))

    def default(self, facets: Facets) -> tuple[Metric, ...] | None:
        return tuple(CATALOGUE[name] for name in self.dataset_default(facets)) if self.dataset_default else None

    def write(self, value: tuple[Metric, ...]) -> list[str]:
        return [",".join(metric.key for metric in value)] if value else []

    def schema(self) -> dict[str, Any]:
        one = f"({'|'.join(metric.key for metric in self.metrics)})"
        return super().schema() | {"pattern": f"^{one}(,{one})*$"}


@dataclass(frozen=True)
class Group(Generic[T]):
    """Several keys that together make one value, which ``split`` takes apart.

    ``build`` makes it from the keys that are given or whose default depends on the dataset. It can raise ``BadRequest``.
    """

    about: str
    keys: Mapping[str, Kind[Any]]
    build: Callable[..., T]
    split: Callable[[T], Mapping[str, object]]


def allowed(key: str, value: str, options: Options, facets: Facets, unknown: str = "{key!r} cannot be {value!r}.") -> str:
    """Return a value if it is one of the options; else raise ``BadRequest`` with the message ``unknown``, see ``Choice``."""
    known = options(facets) if callable(options) else options
    if value not in known:
        message = unknown.format(key=key, value=value, dataset=facets.dataset)
        raise BadRequest("unknown_value", message, key, known)
    return value


def read_number(key: str, text: str) -> float:
    """Read a number that is not negative, or raise ``BadRequest``."""
    if not NUMBER.fullmatch(text):
        raise BadRequest("bad_value", f"{key} must be a number, not {text!r}.", key)
    return float(text)


def read_range(key: str, text: str) -> Range | None:
    """Read a range ``lo..hi`` within 0 to 1, or raise ``BadRequest``; None means the whole range."""
    low, dots, high = text.partition("..")
    if not dots:
        raise BadRequest("bad_value", f"{key} is a range such as 0.2..0.8, not {text!r}.", key)
    ends = (read_number(key, low), read_number(key, high))
    if not 0 <= ends[0] <= ends[1] <= 1:
        raise BadRequest("bad_value", f"{key} must be a range from low to high within 0..1, not {text!r}.", key)
    return None if ends == (0, 1) else ends


def format_range(ends: Range) -> str:
    """Return a range as it is written in addresses."""
    return f"{format_number(ends[0])}..{format_number(ends[1])}"


def format_number(number: float) -> str:
    """Return a number as it is written in addresses: with the fewest digits that give the same number when read back."""
    return repr(float(number)).removesuffix(".0")
