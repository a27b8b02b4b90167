"""A table of texts, and what the values of a column show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from clueline.data.readers.table.cells import ABSTENTIONS, DECLINED, ROUNDING, given, listed, number, truth
from clueline.data.readers.table.names import ABOVE_GRADES, OF_COUNTS_AND_FILES, has_word, roles_of, words

MIN_FITTING = 0.9  # share of a column's cells that must fit a role; the others are reported or counted
MAX_WORDS = 15  # different words of confidence in a column
SURELY_PERCENT = 10  # numbers above this are percentages; those from 1 to 10 could also be a scale of points
OF_TEXTS = {"guess", "answer", "either", "question"}  # roles of columns of what was asked and answered
OF_HASHES = frozenset({"hash", "hashes", "sha", "checksum", "digest"})
ENDINGS = "json|jsonl|csv|tsv|txt|md|html?|xml|ya?ml|parquet|log|pdf|png|jpe?g|gif|wav|mp[34]|py"
FILE_NAME = re.compile(rf"[^\s?]*[\w-]\.(?:{ENDINGS})", re.IGNORECASE)
SHORT_ID = re.compile(r"(?=.*\d)[\w.:/#-]{1,40}")


@dataclass
class Table:
    """A table of texts: columns by name, of equal length; None is a missing cell."""

    name: str
    columns: dict[str, list[str | None]]
    places: list[str]  # where each row is
    encoding: str = ""  # blank if the text is Unicode
    delimiter: str | None = None  # of the large CSV of which these are some rows; None if they are the whole table
    left_out: str = ""  # which rows hold no answer
    of_questions: tuple[str, ...] = ()  # columns from another table, which say something about the questions

    def __len__(self) -> int:
        return len(self.places)


@dataclass
class Column:
    """A column of a table, with what its values show."""

    name: str
    cells: Sequence[str | None]

    @cached_property
    def texts(self) -> list[str | None]:
        return [given(cell) for cell in self.cells]

    @cached_property
    def present(self) -> list[str]:
        return [text for text in self.texts if text is not None]

    @cached_property
    def distinct(self) -> dict[str, int]:
        return dict(Counter(self.present).most_common())

    @cached_property
    def numbers(self) -> list[float]:
        return [numeral[0] / 100 if numeral[1] else numeral[0] for text in self.present if (numeral := number(text))]

    @property
    def is_numeric(self) -> bool:
        stated = [text for text in self.present if text.lower() not in DECLINED]
        return bool(self.numbers) and len(self.numbers) >= MIN_FITTING * len(stated)

    @cached_property
    def is_index(self) -> bool:
        """Whether this numbers the rows."""
        return any(self.texts == [str(n + first) for n in range(len(self.texts))] for first in (0, 1))

    @cached_property
    def truths(self) -> list[float | None]:
        return [truth(text) for text in self.texts]

    @cached_property
    def says_truth(self) -> bool:
        """Whether these say right or wrong, or also that nothing was answered."""
        unknown = [text for text in self.distinct if truth(text) is None]
        return len(unknown) < len(self.distinct) and all(text.lower() in ABSTENTIONS for text in unknown)

    @property
    def is_two_valued(self) -> bool:
        return self.says_truth and {value for value in self.truths if value is not None} <= {0.0, 0.5, 1.0}

    @cached_property
    def is_list(self) -> bool:
        return bool(self.present) and all(listed(text) is not None for text in list(self.distinct)[:20])

    @cached_property
    def length(self) -> float:
        return sum(map(len, self.present)) / max(1, len(self.present))

    @cached_property
    def filler(self) -> str | None:
        """The only negative number, such as -1, which stands for a missing one; None if there is none, or several."""
        negative = {text: numeral[0] for text in self.distinct if (numeral := number(text)) and numeral[0] < 0}
        whole = len(negative) == 1 < len(self.distinct) and not any(value % 1 for value in negative.values())
        return next(iter(negative)) if whole else None

    @cached_property
    def scale(self) -> str:
        """What numbers these can be: ``unit``, ``percent``, ``unclear`` between the two, or ``none`` if they are no shares."""
        filled = (text for text in self.present if text != self.filler)
        plain = [numeral[0] for text in filled if (numeral := number(text)) and not numeral[1]]
        if not self.is_numeric:
            return "none"
        if _within(plain, 1):
            return "unit"
        if not _within(plain, 100):
            return "none"
        fractions = any(0 < value < 1 for value in plain)
        return "percent" if max(plain) > SURELY_PERCENT and not fractions else "unclear"

    @property
    def complements(self) -> list[str | None]:
        """The cells with 1, or 100 %, minus each share in their place."""
        whole = 100 if self.scale == "percent" else 1
        turned = []
        for text in self.texts:
            numeral = None if text is None else number(text)
            rest = (100 if numeral[1] else whole) - numeral[0] if numeral else 0
            turned.append(f"{rest:.12g}{'%' if numeral[1] else ''}" if numeral else text)
        return turned

    @property
    def points(self) -> list[str]:
        """The points of a scale, such as 1 to 5, in their order; empty if these numbers are none."""
        values = {text: float(text) for text in self.distinct if text != self.filler and text.isdecimal()}
        others = {*self.distinct} - values.keys() - {self.filler}
        is_scale = 2 < len(values) <= MAX_WORDS and not others and max(values.values()) <= SURELY_PERCENT
        return sorted(values, key=values.__getitem__) if is_scale else []

    @property
    def has_words(self) -> bool:
        return 1 < len(self.distinct) <= MAX_WORDS and not self.is_numeric and not self.is_list and not self.says_truth

    @cached_property
    def holds_file_names(self) -> bool:
        """Whether nearly all of these are names of files."""
        return sum(bool(FILE_NAME.fullmatch(text)) for text in self.distinct) >= MIN_FITTING * max(1, len(self.distinct))

    @cached_property
    def holds_ids(self) -> bool:
        """Whether each of these is a short word with a digit, such as ``q1`` or ``geo/12``."""
        return bool(self.distinct) and all(SHORT_ID.fullmatch(text) for text in self.distinct)

    @cached_property
    def is_measure(self) -> bool:
        """Whether these are numbers, or yes and no, that stand among measures, as in ``metrics.correct_answer``."""
        return bool(ABOVE_GRADES & {*words(self.name.rpartition(".")[0])}) and (self.is_numeric or self.says_truth)

    def name_says(self, role: str) -> float:
        """How strongly the name suggests a role, 0 if not or if it suggests another one more strongly.

        A name that counts or locates something names neither a text nor a grade, and one among measures no text. That of a hash
        names nothing.
        """
        roles = roles_of(self.name)
        if has_word(self.name, OF_HASHES):
            return 0
        if role in (OF_TEXTS | {"correct", "wrong"}) and has_word(self.name, OF_COUNTS_AND_FILES):
            return 0
        if role in OF_TEXTS and self.holds_file_names:
            return 0
        if not self.is_list:  # which options are
            roles = {key: strength for key, strength in roles.items() if key != "choices"}
        if self.is_measure:
            roles = {key: strength for key, strength in roles.items() if key not in OF_TEXTS}
        return roles.get(role, 0) if roles.get(role, 0) == max(roles.values(), default=0) else 0


def _within(values: Sequence[float], top: float) -> bool:
    inside = sum(-ROUNDING <= value <= top + ROUNDING * top for value in values)
    return inside >= MIN_FITTING * len(values)
