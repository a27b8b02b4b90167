"""Which column of a foreign table means what. A mapping can be written as a TOML file, and kept under a name.

``clueline.data.store.kept_mappings`` says who sees what is kept. No mapping is used unless it is named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from clueline.data.store.answer_states import SCORES
from clueline.data.store.files import StoreFiles
from clueline.data.store.kept_files import DamagedThing
from clueline.data.store.kept_mappings import (
    KeepingError,
    KeptMapping,
    find_mapping,
    keep_mapping,
    list_mappings,
    read_mapping_of,
)
from clueline.data.store.scopes import Viewer, of_owner

# Roles of confidences on other scales than from 0 to 1, by the maximum, by which their numbers are divided.
SCALES = {top: f"confidence_of_{top}" for top in (4, 5, 6, 7, 10, 20, 50, 100)}
ERROR_PROBABILITY = "error_probability"  # role of probabilities that the answer is wrong
# What a column can be. Several columns can be confidences, scores, options or attributes; each other role has one.
ROLES = {
    "question_id": "names the question",
    "question": "the text of the question",
    "choices": "the options that the question offers, as a list",
    "answer": "the reference answer",
    "category": "the category of the question",
    "guess": "the model's answer",
    "correct": "whether the answer is right",
    "wrong": "whether the answer is wrong",
    "confidence": "how sure the model is, from 0 to 1, in percent or in words",
    **{role: f"how sure the model is, in numbers up to {top}" for top, role in SCALES.items()},
    ERROR_PROBABILITY: "how probable it is that the answer is wrong, from 0 to 1 or in percent: the confidence is the rest",
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
    "cluster": "what several questions share, such as their passage: an attribute of the question, by which intervals can go",
    "question_attribute": "anything else that is known of the question",
    "attribute": "anything else",
}
OF_QUESTIONS = ("cluster", "question_attribute")  # roles of columns that have one value for each question
SEVERAL = ("confidence", *SCALES.values(), ERROR_PROBABILITY, *SCORES, "options", *OF_QUESTIONS, "attribute")
UNSTATED_SHARE = "none"  # what a word means that stands for a confidence that was not stated, such as -1


class BadMapping(ValueError):
    """A mapping cannot be read or kept; the message says why."""


@dataclass(frozen=True)
class ColumnMapping:
    """Columns by role."""

    name: str = ""
    columns: tuple[str, ...] = ()  # of the table that the mapping was made for; it is offered for tables with the same columns
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)  # role -> names of its columns
    # Lower-case words of confidences or grades, and their shares. None: no confidence was stated, or nothing was answered.
    words: dict[str, float | None] = field(default_factory=dict)
    percent: bool | None = None  # whether confidences run from 0 to 100; None if the values show it
    pattern: str = ""  # how outputs state a confidence, as in ``read_pattern``; blank if they do not
    owner: str = ""  # who kept it, as in an audit event; blank if it is not kept
    restated: frozenset[str] = frozenset()  # columns whose roles an analyst stated instead

    @property
    def title(self) -> str:
        """The name of a mapping and of who kept it, such as ``lab-table of ann``."""
        return f"{self.name} of {self.owner}" if self.owner else self.name

    def reason(self, column: str) -> str:
        """Return why a column has its role: the mapping that says so by its title, if it has a name."""
        return f"as in the mapping {self.title}" if self.name and column not in self.restated else "as stated"

    def reads_like(self, other: ColumnMapping) -> bool:
        """Whether both read tables in the same way."""
        parts = (mapping.roles | {"attribute": ()} for mapping in (self, other))
        first, second = ({role: {*columns} for role, columns in roles.items() if columns} for roles in parts)
        return first == second and (self.words, self.percent, self.pattern) == (other.words, other.percent, other.pattern)

    def column(self, role: str) -> str | None:
        """Return the column of a role that one column has at most."""
        return next(iter(self.roles.get(role, ())), None)

    def with_roles(self, stated: Iterable[tuple[str, str]], words: Mapping[str, float | None]) -> ColumnMapping:
        """Return the mapping with what the analyst states instead. Several columns of a role are stated one by one."""
        roles: dict[str, tuple[str, ...]] = {}
        for role, column in stated:
            roles[role] = (*roles.get(role, ()), column) if role in SEVERAL else (column,)
        taken = {column for columns in roles.values() for column in columns}
        kept = {role: left for role, columns in self.roles.items() if (left := tuple(c for c in columns if c not in taken))}
        return replace(
            self,
            roles=kept | roles,
            words={**self.words, **{word.lower(): share for word, share in words.items()}},
            restated=frozenset(taken),
        )


def read_mapping(path: Path) -> ColumnMapping:
    """Read a TOML file. Raises ``BadMapping``."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadMapping(f"the mapping {path} cannot be read: {error}") from error
    mapping = _read_toml(text, str(path))
    return replace(mapping, name=mapping.name or path.stem)


def mapping_of(kept: KeptMapping, name: str = "") -> ColumnMapping:
    """Return a kept mapping, under the name by which it was asked for, if that is another one. Raises ``BadMapping``."""
    return replace(_read_toml(kept.toml.encode(), kept.name), name=name or kept.name, owner=kept.by)


def _read_toml(text: bytes, place: str) -> ColumnMapping:
    try:
        content = msgspec.toml.decode(text, type=dict[str, Any])
        if isinstance(words := content.get("words"), dict):
            content["words"] = {word: None if share == UNSTATED_SHARE else share for word, share in words.items()}
        mapping = msgspec.convert(content, ColumnMapping)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadMapping(f"the mapping {place} cannot be read: {error}") from error
    if mapping.pattern:
        read_pattern(mapping.pattern)
    unknown = sorted({*mapping.roles} - {*ROLES})
    if unknown or any(share is not None and not 0 <= share <= 1 for share in mapping.words.values()):
        what = f"there is no role {unknown[0]!r}; the roles: {', '.join(ROLES)}" if unknown else "words mean shares from 0 to 1"
        raise BadMapping(f"the mapping {place}: {what}")
    return replace(mapping, owner="", restated=frozenset())  # a file does not say who kept it


def named_mapping(files: StoreFiles, name: str, viewer: Viewer) -> ColumnMapping:
    """Return a kept mapping that a viewer names. Raises ``KeepingError``, ``BadMapping`` or ``DamagedThing``."""
    return mapping_of(find_mapping(files, name, viewer))


def offered_mappings(files: StoreFiles, viewer: Viewer) -> tuple[ColumnMapping, ...]:
    """Return the mappings that a viewer may use, each under a name that stands for it. Those that cannot be read are left out."""
    offered = []
    for entry in list_mappings(files, viewer):
        with suppress(BadMapping, KeepingError, DamagedThing):
            offered.append(mapping_of(read_mapping_of(files, entry.file), entry.shown))
    return tuple(offered)


def offers_of(file: str, columns: Set[str], offered: Iterable[ColumnMapping]) -> list[str]:
    """Return a sentence, without its full stop, for each mapping that was made for a table with these columns."""
    fitting = (mapping for mapping in offered if columns and {*mapping.columns} == columns)
    return [f"{file}: the mapping {mapping.title} fits these columns, and was not used" for mapping in fitting]


def keep_read_mapping(
    files: StoreFiles, name: str, read: Sequence[ColumnMapping], by: str, *, in_place_of_own: bool = True
) -> KeptMapping:
    """Keep the mapping by which the tables of an import were read as somebody's own, under a name.

    Raises ``KeepingError`` unless it is one mapping or, if it may not be ``in_place_of_own``, if another one has the name.
    """
    if len({mapping.columns for mapping in read}) != 1:
        raise KeepingError(
            "no mapping was kept: it can be that of one table of another project, or of several with the same columns"
        )
    try:
        return keep_mapping(files, name, as_toml(replace(read[0], name=name)), of_owner(by), by, replace=in_place_of_own)
    except KeepingError as error:
        raise KeepingError(f"no mapping was kept: {error}") from error


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
    lines += [f"pattern = {_toml(mapping.pattern)}"] if mapping.pattern else []
    lines += ["", "[roles]", *(f"{role} = {_toml(list(columns))}" for role, columns in mapping.roles.items())]
    if mapping.words:
        shares = {word: UNSTATED_SHARE if share is None else share for word, share in mapping.words.items()}
        lines += ["", "[words]", *(f"{_toml(word)} = {_toml(share)}" for word, share in shares.items())]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # basic strings of TOML are written as those of JSON


@dataclass(frozen=True)
class ConfidencePattern:
    """How outputs state a confidence: words, and a number that is a percentage or a share."""

    text: str
    regex: re.Pattern[str]
    scale: int

    def matches(self, output: str) -> Iterator[tuple[re.Match[str], float]]:
        """Yield each place in an output that states a confidence, with the confidence, from 0 to 1."""
        for match in self.regex.finditer(output):
            share = float(match[1].replace(",", ".")) / self.scale
            if share <= 1:
                yield match, share

    def find(self, output: str | None) -> float | None:
        """Return the confidence that an output states, the last one of several; None if it states none."""
        last = None
        for _, share in self.matches(output or ""):
            last = share
        return last

    def without(self, output: str) -> str:
        """Return an output without what states its confidence, as an answer to be graded."""
        kept, end = [], 0
        for match, _ in self.matches(output):
            kept.append(output[end : match.start()])
            end = match.end()
        return re.sub(r"\(\s*\)", "", "".join([*kept, output[end:]])).strip(" \t\n,;-*")

    def column(self, outputs: Sequence[str | None]) -> list[float | None]:
        """Return the confidence that each output states. Raises ``BadMapping`` if there is none, or they are no percentages."""
        shares = [self.find(output) for output in outputs]
        stated = [share for share in shares if share is not None]
        if not stated:
            raise BadMapping(f"no output states a confidence as in {self.text!r}")
        if self.scale > 1 and max(stated) <= 1 / self.scale and not any("%" in (output or "") for output in outputs):
            raise BadMapping(f"no number as in {self.text!r} exceeds 1, so these are no percentages: use {{share}}")
        return shares


# A search takes time in proportion to the output: what repeats gives nothing back (``++``, ``*+``), and what follows it begins
# with something else.
NUMBERS = {
    "{percent}": (r"(?<![\d.,-])(\d{1,3}(?:[.,]\d++)?)(?![.,]?\d)(?:\s*+(?:%|percent))?", 100),
    "{share}": (r"(?<![\d.,-])([01]?[.,]\d++|[01])(?![.,]?\d|\s*+%)", 1),
}
FILL = r"[\s*_\"'`]*+"  # what can stand between the words of a pattern, and does not matter in them
WORDS = r"[^\W_]+|[^\w\s*\"'`]"  # words and signs without what can stand between them
MAX_PATTERN_LENGTH = 100  # characters
USUAL_PATTERNS = (
    "Confidence: {}", "Confidence level: {}", "Confidence score: {}", "Confidence is {}", "Certainty: {}", "Probability: {}",
    "{} confident", "{} sure", "{} certain", "Konfidenz: {}", "Sicherheit: {}",
)  # fmt: skip
MOSTLY = 0.9  # share of the numbers of outputs that are at most 1, from which they are no percentages
MIN_STATED = 0.5  # share of outputs that state a confidence, from which a usual pattern is offered
MAX_OUTPUT = 300  # characters of the beginning, and of the end, of an output that are searched
TRIED = 1000  # outputs in which the usual patterns are tried


def read_pattern(text: str) -> ConfidencePattern:
    """Read a pattern: words around one of ``NUMBERS``. Case, spaces, quotes, underscores and asterisks do not matter.

    Raises ``BadMapping``.

    >>> read_pattern("Confidence: {percent}").find("Paris. **Confidence**: 85 %")
    0.85
    """
    parts = re.split(r"(\{\w*\})", text[: MAX_PATTERN_LENGTH + 1])
    words = [re.findall(WORDS, part) for part in parts[::2]]
    if len(text) > MAX_PATTERN_LENGTH or len(parts) != 3 or parts[1] not in NUMBERS or not any(words):
        how = (
            f"write words and {' or '.join(NUMBERS)}, as in 'Confidence: {{percent}}', in at most {MAX_PATTERN_LENGTH} characters"
        )
        raise BadMapping(f"{text[:MAX_PATTERN_LENGTH]!r} is no pattern: {how}")
    number, scale = NUMBERS[parts[1]]
    before, after = (FILL.join(map(re.escape, part)) for part in words)
    # A pattern begins and ends with whole words. A sign, such as a bracket, can stand beside anything.
    begin = r"\b" if before and words[0][0].isalnum() else ""
    end = r"\b" if after and words[1][-1].isalnum() else ""
    regex = (f"{begin}{before}{FILL}" if before else "") + number + (f"{FILL}{after}{end}" if after else "")
    return ConfidencePattern(text, re.compile(regex, re.IGNORECASE), scale)


def usual_pattern(outputs: Sequence[str]) -> tuple[str, int] | None:
    """Return the usual pattern that most outputs fit, and how many of the first ``TRIED`` do; None if fewer than half.

    >>> usual_pattern(["Confidence: 0.9", "confidence: 1"]), usual_pattern(["I am 80% sure", "100% sure"]), usual_pattern(["?"])
    (('Confidence: {share}', 2), ('{percent} sure', 2), None)
    """
    best, outputs = ("", 0), outputs[:TRIED]
    for words in USUAL_PATTERNS:
        patterns = [read_pattern(words.format(number)) for number in ("{percent}", "{share}")]
        percent, share = (sum(pattern.find(output) is not None for output in outputs) for pattern in patterns)
        # Any share could be a percentage.
        fitting = (patterns[1].text, share) if share >= MOSTLY * percent else (patterns[0].text, percent)
        best = max(best, fitting, key=lambda one: one[1])
    return best if best[1] >= max(1, MIN_STATED * len(outputs)) else None


def excerpt(output: str) -> str:
    """Return what is searched of an output: its beginning and its end."""
    return output if len(output) <= 2 * MAX_OUTPUT else f"{output[:MAX_OUTPUT]}\n{output[-MAX_OUTPUT:]}"


def read_words(text: str) -> dict[str, float | None]:
    """Read a table of words of confidence or grades; None where nothing was stated. Raises ``BadMapping``.

    >>> read_words("very certain=.95, unsure=40%, -1=none")
    {'very certain': 0.95, 'unsure': 0.4, '-1': None}
    """
    words: dict[str, float | None] = {}
    for entry in text.split(","):
        word, _, share = entry.rpartition("=")
        share = share.strip()
        try:
            value = None if share.lower() == UNSTATED_SHARE else float(share.rstrip("%")) / (100 if share.endswith("%") else 1)
        except ValueError:
            value = -1.0
        if not word.strip() or (value is not None and not 0 <= value <= 1):
            form = f"WORD=SHARE, with a share from 0 to 1, such as certain=.9, or {UNSTATED_SHARE} if none was stated"
            raise BadMapping(f"{entry.strip()!r} is not of the form {form}")
        words[word.strip().lower()] = value
    return words
