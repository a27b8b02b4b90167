"""What is known of a table's columns while their roles are guessed: each step takes columns, or asks about them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from clueline.data.importing.column_mapping import (
    ERROR_PROBABILITY,
    SCALES,
    TRIED,
    ColumnMapping,
    ConfidencePattern,
    read_pattern,
    usual_pattern,
)
from clueline.data.importing.report import Hint, Problem
from clueline.data.readers.table.cells import labelled_answer
from clueline.data.readers.table.columns import Column, Table
from clueline.data.readers.table.names import tokens
from clueline.data.store.answer_states import SCORES

PART = re.compile(r"(?<![^\W_])(?:[A-Za-z]|\d+)(?![^\W_])")  # the letter or number of an option or of a call, in a path


@dataclass
class Guesses:
    """The roles of a table's columns."""

    mapping: ColumnMapping
    reasons: dict[str, str] = field(default_factory=dict)  # by column, why it has its role
    unclear: list[Problem] = field(default_factory=list)  # what the table does not show for certain, and the analyst can state
    asked: set[str] = field(default_factory=set)  # the roles for which columns are offered, or explained
    notes: list[str] = field(default_factory=list)
    options_sum_to_one: bool = False
    scales: dict[str, int] = field(default_factory=dict)  # the maximum of a stated scale, by column of confidences
    turned: list[str] = field(default_factory=list)  # columns of probabilities of an error, of which confidences were made
    stated_in: str | None = None  # the column of outputs that state a confidence by the pattern of the mapping
    offered: str = ""  # which column seems to state one, and by which usual pattern
    # By column, the cells that count instead of those in the file, such as letters instead of numbers of options.
    read_as: dict[str, list[str | None]] = field(default_factory=dict)

    @property
    def kept(self) -> ColumnMapping:
        """The mapping as the analyst would state it, with the scales of confidences as roles."""
        roles = dict(self.mapping.roles)
        roles["confidence"] = tuple(
            name for name in roles.get("confidence", ()) if name not in self.scales and name not in self.turned
        )
        roles[ERROR_PROBABILITY] = tuple(self.turned)
        for name, top in self.scales.items():
            roles[SCALES[top]] = (*roles.get(SCALES[top], ()), name)
        return replace(self.mapping, roles={role: names for role, names in roles.items() if names})


class Guessing:
    """The state of guessing: each step takes columns, so that no column has two roles."""

    def __init__(self, table: Table, stated: ColumnMapping, graded: bool) -> None:
        self.name, self.rows = table.name, len(table)
        self.columns = {name: Column(name, cells) for name, cells in table.columns.items()}
        self.roles: dict[str, tuple[str, ...]] = {}
        self.result = Guesses(stated)
        self.stated, self.graded, self.asked_outcome = stated, graded, False
        if stated.pattern:
            self._read_outputs(read_pattern(stated.pattern))
        for role, names in stated.roles.items():
            for name in names:
                if name in self.columns:
                    self._take_stated(role, name)

    @property
    def stated_columns(self) -> set[str]:
        """The columns of which the analyst states the role."""
        return {name for names in self.stated.roles.values() for name in names}

    def _take_stated(self, role: str, name: str) -> None:
        if role == ERROR_PROBABILITY:
            self.take("confidence", name, f"{self.stated.reason(name)}, the probability of an error")
            self.read_as(name, self.columns[name].complements, "1 minus each number is the confidence")
            self.result.turned.append(name)
            return
        top = next((top for top, named in SCALES.items() if named == role), None)
        if top is None:
            self.take(role, name, self.stated.reason(name))
        else:
            self.result.scales[name] = top
            self.take("confidence", name, f"{self.stated.reason(name)}, in numbers up to {top}")

    def _read_outputs(self, pattern: ConfidencePattern) -> None:
        """Find the column whose outputs state a confidence. What states it is no part of an answer."""
        stated = {name: sum(pattern.find(text) is not None for text in column.present) for name, column in self.columns.items()}
        name = max(stated, key=lambda name: stated[name])
        if stated[name]:
            cells = [cell and labelled_answer(pattern.without(cell)) for cell in self.columns[name].cells]
            self.columns[name], self.result.stated_in = Column(name, cells), name
        else:
            self.ask(f"no column states a confidence as in {pattern.text!r}", hint="pattern")

    @property
    def has_confidence(self) -> bool:
        return self.has("confidence", "options", *SCORES) or self.result.stated_in is not None

    @property
    def free(self) -> list[Column]:
        taken = {name for names in self.roles.values() for name in names}
        return [column for column in self.columns.values() if column.name not in taken and column.present]

    def is_of_part(self, column: Column) -> bool:
        """Whether a column is about one of several options or calls, as ``label: A.prompt`` beside ``label: B.prompt``."""
        parent, _, last = column.name.rpartition(".")
        alike = PART.sub("#", parent)
        others = (name.rpartition(".") for name in self.columns if name != column.name)
        return bool(parent) and any(own == last and above != parent and PART.sub("#", above) == alike for above, _, own in others)

    def take(self, role: str, name: str, reason: str) -> None:
        self.roles[role] = (*self.roles.get(role, ()), name)
        self.result.reasons[name] = reason

    def read_as(self, name: str, cells: list[str | None], how: str = "") -> None:
        """Let other cells of a column count. ``how`` is added to the reason for its role."""
        self.columns[name] = Column(name, cells)
        self.result.read_as[name] = cells
        if how:
            self.result.reasons[name] = f"{self.result.reasons[name]}; {how}"

    def has(self, *roles: str) -> bool:
        return any(role in self.roles for role in roles)

    def column(self, role: str) -> Column | None:
        return self.columns[self.roles[role][0]] if role in self.roles else None

    def named(self, role: str, forbidden: Iterable[str] = ()) -> list[Column]:
        """Return the free columns whose name suggests a role most, the strongest first."""
        fitting = [column for column in self.free if column.name_says(role) and not {*tokens(column.name)} & {*forbidden}]
        return sorted(fitting, key=lambda column: -column.name_says(role))

    def ask(
        self,
        reason: str,
        roles: Iterable[str] = (),
        columns: Iterable[Column] = (),
        hint: Hint | None = "column",
        choices: Iterable[str] = (),
    ) -> None:
        """Ask the analyst which column has which of some ``roles``, or offer other choices. If it is one, it is named."""
        names = [column.name for column in columns]
        choices = (*(f"{role}={name}" for name in names for role in roles), *choices)
        if hint != "words":
            self.result.asked |= {choice.partition("=")[0] for choice in choices}
        only = names[0] if len({*names}) == 1 else None
        self.result.unclear.append(Problem(self.name, 1, only, None, reason, hint, choices=choices))

    def offered_pattern(self) -> str:
        """Say which column seems to state confidences in its texts, and by which usual pattern; blank if none does."""
        for column in self.columns.values():
            if not column.is_numeric and not column.is_list and (fitting := usual_pattern(column.present)):
                text, count = fitting
                texts = f"{count:,} of the first {min(TRIED, len(column.present)):,} texts of {column.name}"
                return f"{texts} state a confidence, as in {text!r}"
        return ""
