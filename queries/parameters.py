"""The keys of an address: what each may be, how its text is read, refused and written back.

A view declares its keys as the fields of a ``Parameters`` struct, each annotated with a ``Kind``:

    class ItemParameters(Parameters):
        confidence: Annotated[Range | None, Fractions("only answers with a confidence in this range")] = None
        limit: Annotated[int, Whole("how many", most=1000)] = 100

Page, JSON address, status check, command line and documentation all follow from the struct. ``Selection`` is such a struct too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar, get_type_hints

import msgspec

from queries.facets import Facets
from queries.metrics import CATALOGUE, Metric

T = TypeVar("T")
P = TypeVar("P", bound="Parameters")
Range = tuple[float, float]
Options = Sequence[str] | Callable[[Facets], Sequence[str]]  # allowed values, or what lists them given what a dataset offers
LONGEST_VALUE = 500  # characters
NUMBER = re.compile(r"[0-9]*\.?[0-9]+(e-?[0-9]{1,3})?")


class BadRequest(Exception):
    """An address names something unknown or malformed, or cannot be answered now.

    The attributes are those of the error envelope; ``retry_after`` is in seconds.
    """

    def __init__(
        self,
        code: str,
        message: str,
        field: str | None = None,
        allowed: Sequence[str] = (),
        status: int = 400,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.field, self.allowed, self.status = code, message, field, list(allowed), status
        self.retry_after = retry_after


# -- kinds of keys -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind(Generic[T]):
    """How the texts of a key become a value, and back.

    Attributes:
        about: what the key means, a sentence for the documentation.
    """

    about: str
    repeatable: ClassVar[bool] = False  # whether the key may be given more than once
    longest: ClassVar[int | None] = LONGEST_VALUE  # characters of one text; None for any number
    named: ClassVar[bool] = (
        False  # whether the field stands for all keys FIELD.NAME; its value is ((NAME, value of the kind), ...)
    )

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> T:
        """The value of a key that is given.

        Args:
            key: its name, for errors.
            texts: what the address gives, one text unless the kind is repeatable.
            facets: what the dataset offers.

        Raises:
            BadRequest: naming the key and what is allowed.
        """
        raise NotImplementedError

    def default(self, facets: Facets) -> T | None:
        """The value of a key that is absent, where that depends on the dataset; None for the default of the field."""
        return None

    def write(self, value: T) -> list[str]:
        """The texts that are read as this value."""
        return [str(value)]


@dataclass(frozen=True)
class Text(Kind[str]):
    """Any text."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        """See ``Kind``."""
        return texts[0]


@dataclass(frozen=True)
class Texts(Kind[tuple[str, ...]]):
    """Any texts, each given once."""

    repeatable: ClassVar[bool] = True

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[str, ...]:
        """See ``Kind``."""
        return tuple(dict.fromkeys(texts))

    def write(self, value: tuple[str, ...]) -> list[str]:
        """See ``Kind``."""
        return list(value)


@dataclass(frozen=True)
class Choice(Kind[str]):
    """One of some values.

    Attributes:
        options: the values.
        unknown: the error for another one, with ``key``, ``value`` and ``dataset`` to fill in.
        blank: whether a blank text counts as an absent key.
        usual: the value of an absent key, where that depends on the dataset.
    """

    options: Options
    unknown: str = "{key!r} cannot be {value!r}."
    blank: bool = False
    usual: Callable[[Facets], str] | None = None

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        """See ``Kind``."""
        if self.blank and not texts[0]:
            return ""
        return allowed(key, texts[0], self.options, facets, self.unknown)

    def default(self, facets: Facets) -> str | None:
        """See ``Kind``."""
        return self.usual(facets) if self.usual else None


@dataclass(frozen=True)
class Choices(Kind[tuple[str, ...]]):
    """Several of some values, each given once; see ``Choice``."""

    options: Options
    unknown: str = "There is no {key} {value!r}."
    repeatable: ClassVar[bool] = True

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[str, ...]:
        """See ``Kind``."""
        return tuple(dict.fromkeys(allowed(key, text, self.options, facets, self.unknown) for text in texts))

    def write(self, value: tuple[str, ...]) -> list[str]:
        """See ``Kind``."""
        return list(value)


@dataclass(frozen=True)
class Flag(Kind[bool]):
    """0 or 1."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> bool:
        """See ``Kind``."""
        return allowed(key, texts[0], ("0", "1"), facets) == "1"

    def write(self, value: bool) -> list[str]:
        """See ``Kind``."""
        return [str(int(value))]


@dataclass(frozen=True)
class Whole(Kind[int]):
    """A whole number from 1."""

    most: int

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> int:
        """See ``Kind``."""
        text = texts[0]
        if not (text.isascii() and text.isdecimal()) or len(text) > 9 or not 1 <= int(text) <= self.most:
            raise BadRequest("bad_value", f"{key} must be a whole number from 1 to {self.most}, not {text!r}.", key)
        return int(text)


@dataclass(frozen=True)
class Number(Kind[float]):
    """A number above 0."""

    most: float

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> float:
        """See ``Kind``."""
        number = read_number(key, texts[0])
        if not 0 < number <= self.most:
            raise BadRequest("bad_value", f"{key} must be above 0 and at most {format_number(self.most)}.", key)
        return number

    def write(self, value: float) -> list[str]:
        """See ``Kind``."""
        return [format_number(value)]


@dataclass(frozen=True)
class Fractions(Kind[Range | None]):
    """A range ``lo..hi`` within 0 to 1, both ends included; None where it is all of that."""

    blank: bool = False  # whether a blank text counts as an absent key

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> Range | None:
        """See ``Kind``."""
        return None if self.blank and not texts[0] else read_range(key, texts[0])

    def write(self, value: Range | None) -> list[str]:
        """See ``Kind``."""
        return [format_range(value)] if value else []


@dataclass(frozen=True)
class MetricChoice(Kind[Metric | None]):
    """One metric, named by its key; see ``Choice``."""

    metrics: Sequence[Metric]
    unknown: str = "There is no metric {value!r}."
    blank: bool = False
    usual: Callable[[Facets], str] | None = None

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> Metric | None:
        """See ``Kind``."""
        if self.blank and not texts[0]:
            return None
        return CATALOGUE[allowed(key, texts[0], [metric.key for metric in self.metrics], facets, self.unknown)]

    def default(self, facets: Facets) -> Metric | None:
        """See ``Kind``."""
        return CATALOGUE[self.usual(facets)] if self.usual else None

    def write(self, value: Metric | None) -> list[str]:
        """See ``Kind``."""
        return [value.key] if value else []


@dataclass(frozen=True)
class MetricList(Kind[tuple[Metric, ...]]):
    """Several metrics, ``a,b`` or repeated."""

    metrics: Sequence[Metric] = tuple(CATALOGUE.values())
    unknown: str = "There is no metric {value!r}."
    repeatable: ClassVar[bool] = True

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[Metric, ...]:
        """See ``Kind``."""
        known = [metric.key for metric in self.metrics]
        names = [allowed(key, name, known, facets, self.unknown) for text in texts for name in text.split(",")]
        return tuple(CATALOGUE[name] for name in dict.fromkeys(names))

    def write(self, value: tuple[Metric, ...]) -> list[str]:
        """See ``Kind``."""
        return [",".join(metric.key for metric in value)] if value else []


@dataclass(frozen=True)
class Group(Generic[T]):
    """Several keys that make one value together.

    Attributes:
        about: what the keys mean together.
        keys: the kind of each.
        build: the value, of those keys that are given, by name; may raise ``BadRequest``.
        split: the values of the keys, the inverse of ``build``.
    """

    about: str
    keys: Mapping[str, Kind[Any]]
    build: Callable[..., T]
    split: Callable[[T], Mapping[str, object]]


def allowed(key: str, value: str, options: Options, facets: Facets, unknown: str = "{key!r} cannot be {value!r}.") -> str:
    """A value if it is one of the options.

    Args:
        key: of the address, for the error.
        value: as the address has it.
        options: what is allowed.
        facets: what the dataset offers.
        unknown: the message, with ``key``, ``value`` and ``dataset`` to fill in.

    Raises:
        BadRequest: it is none of them.
    """
    known = options(facets) if callable(options) else options
    if value not in known:
        message = unknown.format(key=key, value=value, dataset=facets.dataset)
        raise BadRequest("unknown_value", message, key, known)
    return value


# -- structs of keys ---------------------------------------------------------------------------------------------------


class Parameters(msgspec.Struct, frozen=True):
    """The keys of a view. A field is annotated with its ``Kind``, or a ``Group``; one without a default is required.

    Annotations are evaluated outside their module: a lambda in one must name nothing but its argument. Use a named function.
    """

    @classmethod
    def kinds(cls) -> dict[str, Kind[Any]]:
        """The kind of every key, in the order of the fields."""
        fields = _annotations(cls).items()
        return {
            key: kind for name, part in fields for key, kind in (part.keys if isinstance(part, Group) else {name: part}).items()
        }

    def pairs(self) -> list[tuple[str, str]]:
        """The keys and values of a query string that is read as this, in the order of the fields, defaults left out."""
        annotations = _annotations(type(self))
        pairs = []
        for field in msgspec.structs.fields(self):
            part, value = annotations.get(field.name), getattr(self, field.name)
            if isinstance(part, Kind) and part.named:
                pairs += [(named_key(field.name, name), text) for name, single in value for text in part.write(single)]
            elif isinstance(part, Kind):
                pairs += [(field.name, text) for text in part.write(value)] if value != field.default else []
            elif part is not None:
                usual = part.split(part.build())
                values = part.split(value).items()
                pairs += [
                    (key, text) for key, setting in values if setting != usual[key] for text in part.keys[key].write(setting)
                ]
        return pairs

    def replace(self: P, **changes: object) -> P:
        """The same with some fields changed."""
        return msgspec.structs.replace(self, **changes)


class NoParameters(Parameters, frozen=True):
    """Of a view without keys of its own."""


@cache
def _annotations(cls: type[Parameters]) -> dict[str, Kind[Any] | Group[Any]]:
    """The kind or group of each field. Fields without one are set by code, never by an address."""
    hints = get_type_hints(cls, include_extras=True)
    metadata = ((name, getattr(hints[name], "__metadata__", ())) for name in cls.__struct_fields__)
    return {name: part for name, parts in metadata for part in parts if isinstance(part, Kind | Group)}


# -- reading -----------------------------------------------------------------------------------------------------------


def named_key(field: str, name: str) -> str:
    """The key of one name of a field whose kind is ``named``: ``tag.reasoning``."""
    return f"{field}.{name}"


def split_key(key: str) -> tuple[str, str]:
    """The field and the name of a key; the name is blank where the key is that of a field alone.

    >>> split_key("tag.reasoning"), split_key("model")
    (('tag', 'reasoning'), ('model', ''))
    """
    field, _, name = key.partition(".")
    return field, name


def key_form(key: str, kind: Kind[Any]) -> str:
    """How a key is written where no name is meant: ``tag.NAME``, if its kind is named."""
    return named_key(key, "NAME") if kind.named else key


def key_forms(kinds: Mapping[str, Kind[Any]]) -> list[str]:
    """How keys are written, sorted; see ``key_form``."""
    return sorted(key_form(key, kind) for key, kind in kinds.items())


def kind_of(key: str, kinds: Mapping[str, Kind[Any]]) -> Kind[Any] | None:
    """The kind of a key as an address has it, None for an unknown one."""
    field, name = split_key(key)
    kind = kinds.get(field)
    return kind if kind is not None and kind.named == bool(name) and (name or key == field) else None


def collect(
    query: Iterable[tuple[str, str]], kinds: Mapping[str, Kind[Any]], ignore_unknown: bool = False
) -> tuple[dict[str, list[str]], list[str]]:
    """The texts of each key of an address, and the unknown keys.

    Args:
        query: keys and values, as they come.
        kinds: the keys that are known.
        ignore_unknown: leave unknown keys out, where they are not an error.

    Raises:
        BadRequest: a key is unknown, given too often, or too long.
    """
    texts: dict[str, list[str]] = {}
    ignored: dict[str, None] = {}
    for key, text in query:
        kind = kind_of(key, kinds)
        if kind is None:
            if not ignore_unknown:
                none = "" if kinds else "; this address takes none"
                raise BadRequest("unknown_key", f"There is no key {key[:100]!r} here{none}.", key[:100], key_forms(kinds))
            ignored[key] = None
            continue
        if kind.longest is not None and len(text) > kind.longest:
            raise BadRequest("bad_value", f"The value of {key!r} is longer than {kind.longest} characters.", key)
        texts.setdefault(key, []).append(text)
        if len(texts[key]) > 1 and not kind.repeatable:
            raise BadRequest("repeated_key", f"{key!r} can be given once.", key)
    return texts, list(ignored)


def decode(cls: type[P], texts: Mapping[str, Sequence[str]], facets: Facets, **known: object) -> P:
    """A struct of the texts of its keys.

    Args:
        cls: the struct.
        texts: what the address gives, by key; see ``collect``. Keys of other structs are left alone.
        facets: what the dataset offers.
        known: fields that are known already.

    Raises:
        BadRequest: a required key is missing, or a value is not allowed.
    """
    annotations = _annotations(cls)
    for field in msgspec.structs.fields(cls):
        if field.required and field.name not in texts and field.name not in known:
            about = annotations[field.name].about
            raise BadRequest("missing_key", f"The key {field.name!r} is missing: {about}.", field.name)
    values = dict(known)
    for name, part in annotations.items():
        if name in known:
            continue
        if isinstance(part, Group):
            values[name] = part.build(
                **{key: kind.read(key, texts[key], facets) for key, kind in part.keys.items() if key in texts}
            )
        elif part.named:
            keys = [key for key in texts if split_key(key)[0] == name]
            values[name] = tuple((split_key(key)[1], part.read(key, texts[key], facets)) for key in keys)
        elif name in texts:
            values[name] = part.read(name, texts[name], facets)
        elif (usual := part.default(facets)) is not None:
            values[name] = usual
    return cls(**values)


# -- numbers -----------------------------------------------------------------------------------------------------------


def read_number(key: str, text: str) -> float:
    """A number that is not negative. Raises ``BadRequest``."""
    if not NUMBER.fullmatch(text):
        raise BadRequest("bad_value", f"{key} must be a number, not {text!r}.", key)
    return float(text)


def read_range(key: str, text: str) -> Range | None:
    """A range ``lo..hi`` within 0 to 1; None where it is all of that. Raises ``BadRequest``."""
    low, dots, high = text.partition("..")
    if not dots:
        raise BadRequest("bad_value", f"{key} is a range such as 0.2..0.8, not {text!r}.", key)
    ends = (read_number(key, low), read_number(key, high))
    if not 0 <= ends[0] <= ends[1] <= 1:
        raise BadRequest("bad_value", f"{key} must run upwards within 0..1, not {text!r}.", key)
    return None if ends == (0, 1) else ends


def format_range(ends: Range) -> str:
    """A range as addresses write it."""
    return f"{format_number(ends[0])}..{format_number(ends[1])}"


def format_number(number: float) -> str:
    """A number as addresses write it: the fewest digits that are read as the same number again."""
    return repr(float(number)).removesuffix(".0")
