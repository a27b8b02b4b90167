"""The keys of a view: the struct that declares them, and how an address is read into it and written back.

A view declares its keys as the fields of a ``Parameters`` struct, each annotated with a ``Kind``:

    class ItemParameters(Parameters):
        confidence: Annotated[Range | None, Fractions("only answers with a confidence in this range")] = None
        limit: Annotated[int, Whole("how many", most=1000)] = 100

The page, the JSON address, the status check, the command line and the documentation are all derived from this struct.
``Selection`` is such a struct, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_type_hints

import msgspec

from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import BadRequest, Group, Kind

P = TypeVar("P", bound="Parameters")


class Parameters(msgspec.Struct, frozen=True):
    """The keys of a view. A field is annotated with its ``Kind`` or a ``Group``; a field without a default is required.

    Annotations are evaluated outside their module, so a lambda in an annotation can only use its own argument. Use a named
    function if it needs more.
    """

    @classmethod
    def kinds(cls) -> dict[str, Kind[Any]]:
        """Return the kind of every key, in the order of the fields."""
        fields = _annotations(cls).items()
        return {
            key: kind for name, part in fields for key, kind in (part.keys if isinstance(part, Group) else {name: part}).items()
        }

    def pairs(self, defaults: bool = False) -> list[tuple[str, str]]:
        """Return the pairs of a query string that gives this struct; ``defaults`` adds defaults, which may change some day."""
        annotations = _annotations(type(self))
        pairs = []
        for field in declared_fields(type(self)):
            part, value = annotations.get(field.name), getattr(self, field.name)
            if isinstance(part, Kind) and part.named:
                pairs += [(named_key(field.name, name), text) for name, single in value for text in part.write(single)]
            elif isinstance(part, Kind):
                blank = value is None or value is False or value in ("", ())
                named = not blank if defaults else value != field.default
                pairs += [(field.name, text) for text in part.write(value)] if named else []
            elif part is not None:
                default = part.split(part.build())
                values = part.split(value).items()
                pairs += [
                    (key, text) for key, setting in values if setting != default[key] for text in part.keys[key].write(setting)
                ]
        return pairs

    def replace(self: P, **changes: object) -> P:
        return msgspec.structs.replace(self, **changes)


class NoParameters(Parameters, frozen=True):
    """For a view without keys of its own."""


@cache
def declared_fields(cls: type[Parameters]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a struct of keys, cached: msgspec evaluates annotations anew, and a page has hundreds of links."""
    return msgspec.structs.fields(cls)


@cache
def _annotations(cls: type[Parameters]) -> dict[str, Kind[Any] | Group[Any]]:
    """Return the kind or group of each field. Fields without one are set by code, never by an address."""
    hints = get_type_hints(cls, include_extras=True)
    metadata = ((name, getattr(hints[name], "__metadata__", ())) for name in cls.__struct_fields__)
    return {name: part for name, parts in metadata for part in parts if isinstance(part, Kind | Group)}


def named_key(field: str, name: str) -> str:
    """Return the key for one name of a field whose kind is ``named``, such as ``tag.reasoning``."""
    return f"{field}.{name}"


def split_key(key: str) -> tuple[str, str]:
    """Split a key into field and name; the name is blank where the key is a field alone.

    >>> split_key("tag.reasoning"), split_key("model")
    (('tag', 'reasoning'), ('model', ''))
    """
    field, _, name = key.partition(".")
    return field, name


def key_form(key: str, kind: Kind[Any]) -> str:
    """Return how a key is written in general: ``tag.NAME`` if its kind is named, else the key itself."""
    return named_key(key, "NAME") if kind.named else key


def key_forms(kinds: Mapping[str, Kind[Any]]) -> list[str]:
    """Return how keys are written, sorted; see ``key_form``."""
    return sorted(key_form(key, kind) for key, kind in kinds.items())


def kind_of(key: str, kinds: Mapping[str, Kind[Any]]) -> Kind[Any] | None:
    """Return the kind of a key as written in an address, None for an unknown key."""
    field, name = split_key(key)
    kind = kinds.get(field)
    return kind if kind is not None and kind.named == bool(name) and (name or key == field) else None


def collect(
    query: Iterable[tuple[str, str]], kinds: Mapping[str, Kind[Any]], ignore_unknown: bool = False
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the texts of each key of an address, and the unknown keys.

    Raises ``BadRequest`` for a key that is given too often or too long and, unless ``ignore_unknown``, for an unknown one.
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
            raise BadRequest("repeated_key", f"{key!r} can be given only once.", key)
    return texts, list(ignored)


def decode(cls: type[P], texts: Mapping[str, Sequence[str]], facets: Facets, **known: object) -> P:
    """Read a struct from the texts of its keys, except ``known`` fields, or raise ``BadRequest`` for a missing or wrong value."""
    annotations = _annotations(cls)
    for field in declared_fields(cls):
        if field.required and field.name not in texts and field.name not in known:
            about = annotations[field.name].about
            raise BadRequest("missing_key", f"The key {field.name!r} is missing: {about}.", field.name)
    values = dict(known)
    for name, part in annotations.items():
        if name in known:
            continue
        if isinstance(part, Group):
            settings = {key: kind.read(key, texts[key], facets) for key, kind in part.keys.items() if key in texts}
            usual_settings = {key: kind.default(facets) for key, kind in part.keys.items() if key not in texts}
            values[name] = part.build(**{key: value for key, value in usual_settings.items() if value is not None} | settings)
        elif part.named:
            keys = [key for key in texts if split_key(key)[0] == name]
            values[name] = tuple((split_key(key)[1], part.read(key, texts[key], facets)) for key in keys)
        elif name in texts:
            values[name] = part.read(name, texts[name], facets)
        elif (default := part.default(facets)) is not None:
            values[name] = default
    return cls(**values)
