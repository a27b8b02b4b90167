"""Which column of a foreign table means what. A mapping can be kept under a name, as a TOML file, and shared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from data.store.answer_states import SCORES

# What a column can be. Several columns can be confidences, scores, options or attributes; each other role has one.
ROLES = {
    "question_id": "names the question",
    "question": "the text of the question",
    "choices": "the options that the question offers, as a list",
    "answer": "the reference answer",
    "category": "the category of the question",
    "guess": "the model's answer",
    "correct": "whether the answer is right",
    "confidence": "how sure the model is, from 0 to 1, in percent or in words",
    "certainty": "a number that is no probability, the greater the surer the model is, such as a logit",
    "uncertainty": "a number that is no probability, the smaller the surer the model is, such as an entropy",
    "options": "the probability of the option that the column is named after",
    "model": "the model",
    "elicitation": "how the confidence was obtained",
    "dataset": "the dataset of the question",
    "date": "the day of the run",
    "sample": "which of several answers to the question this is",
    "threshold": "the confidence that the model was told to answer from",
    "clue": "the clue of the question, from 0",
    "outcome": "what came true, of a question about the future",
    "parsed": "whether an answer could be read",
    "failed": "whether the call failed",
    "abstained": "whether the model declined to answer",
    "attribute": "anything else",
}
SEVERAL = ("confidence", *SCORES, "options", "attribute")
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class BadMapping(ValueError):
    """A mapping cannot be read or kept; the message says why."""


@dataclass(frozen=True)
class ColumnMapping:
    """Columns by role.

    Attributes:
        columns: names of all columns of the table that the mapping was made for; tables with the same columns find it.
        roles: role -> names of its columns.
        words: lower-case words of confidence -> what they mean, from 0 to 1.
        percent: whether confidences run from 0 to 100; None if the values show it.
    """

    name: str = ""
    columns: tuple[str, ...] = ()
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    words: dict[str, float] = field(default_factory=dict)
    percent: bool | None = None

    def column(self, role: str) -> str | None:
        """Return the column of a role that one column has at most."""
        return next(iter(self.roles.get(role, ())), None)

    def with_roles(self, stated: Iterable[tuple[str, str]], words: Mapping[str, float]) -> ColumnMapping:
        """Return the mapping with what the analyst states instead. Several columns of a role are stated one by one."""
        roles: dict[str, tuple[str, ...]] = {}
        for role, column in stated:
            roles[role] = (*roles.get(role, ()), column) if role in SEVERAL else (column,)
        taken = {column for columns in roles.values() for column in columns}
        kept = {role: left for role, columns in self.roles.items() if (left := tuple(c for c in columns if c not in taken))}
        return replace(self, roles=kept | roles, words={**self.words, **{word.lower(): share for word, share in words.items()}})


def read_mapping(path: Path) -> ColumnMapping:
    """Read a TOML file. Raises ``BadMapping``."""
    try:
        content = msgspec.toml.decode(path.read_bytes(), type=dict[str, Any])
        mapping = msgspec.convert(content, ColumnMapping)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadMapping(f"the mapping {path} cannot be read: {error}") from error
    unknown = sorted({*mapping.roles} - {*ROLES})
    if unknown or any(not 0 <= share <= 1 for share in mapping.words.values()):
        what = f"there is no role {unknown[0]!r}; the roles: {', '.join(ROLES)}" if unknown else "words mean shares from 0 to 1"
        raise BadMapping(f"the mapping {path}: {what}")
    return replace(mapping, name=mapping.name or path.stem)


def kept_mappings(folder: Path) -> list[ColumnMapping]:
    """Return the mappings in a folder, by name. Raises ``BadMapping``."""
    return [read_mapping(path) for path in sorted(folder.glob("*.toml"))]


def keep_mapping(folder: Path, mapping: ColumnMapping) -> Path:
    """Write a mapping into a folder, under its name, and return the file. Raises ``BadMapping``."""
    if not NAME.fullmatch(mapping.name):
        raise BadMapping("a mapping has a name of at most 40 characters of a-z, 0-9 and -")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{mapping.name}.toml"
    path.write_text(as_toml(mapping), encoding="utf-8")
    return path


def as_toml(mapping: ColumnMapping) -> str:
    """Return a mapping as TOML.

    >>> print(as_toml(ColumnMapping("lab", ("p", "ok"), {"confidence": ("p",)}, {"very sure": 0.95})), end="")
    name = "lab"
    columns = ["p", "ok"]
    <BLANKLINE>
    [roles]
    confidence = ["p"]
    <BLANKLINE>
    [words]
    "very sure" = 0.95
    """
    lines = [f"name = {_toml(mapping.name)}", f"columns = {_toml(list(mapping.columns))}"]
    lines += [] if mapping.percent is None else [f"percent = {_toml(mapping.percent)}"]
    lines += ["", "[roles]", *(f"{role} = {_toml(list(columns))}" for role, columns in mapping.roles.items())]
    if mapping.words:
        lines += ["", "[words]", *(f"{_toml(word)} = {share!r}" for word, share in mapping.words.items())]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # basic strings of TOML are written as those of JSON


def read_words(text: str) -> dict[str, float]:
    """Read a table of words of confidence. Raises ``BadMapping``.

    >>> read_words("very certain=.95, unsure=40%")
    {'very certain': 0.95, 'unsure': 0.4}
    """
    words: dict[str, float] = {}
    for entry in text.split(","):
        word, _, share = entry.rpartition("=")
        percent = share.strip().endswith("%")
        try:
            value = float(share.strip().rstrip("%")) / (100 if percent else 1)
        except ValueError:
            value = -1.0
        if not word.strip() or not 0 <= value <= 1:
            raise BadMapping(f"{entry.strip()!r} is not of the form WORD=SHARE, with a share from 0 to 1, such as certain=.9")
        words[word.strip().lower()] = value
    return words
