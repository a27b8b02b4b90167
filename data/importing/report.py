"""The report of an import: every bad row, what was repaired or skipped, and what was imported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from clueline.data.importing.column_mapping import ColumnMapping
from clueline.data.plurals import counted, listed
from clueline.data.store.answer_states import COUNTED, OTHER_STATES, State

MAX_LISTED_PROBLEMS = 1000  # problems of one kind in one file that are listed one by one; further ones are only counted
NEW_DATASET = "+"
EXAMPLES = 3  # examples shown for each kind of problem
SPECIFIC = re.compile(r"\d[\d.,]*|'[^']*'")  # what differs between problems of one kind: numbers and quoted names
# What the analyst can state, apart from changing the file, to fix a problem. The command line, the JSON addresses and the page
# each have their own words for it. ``agreement``: take the agreement of samples as the confidence. ``align``: ids of questions
# follow another order, or are shifted. ``column``, ``words``: state the role of a column, or what words of confidence mean;
# ``choices`` of the problem say which. ``dataset_upload``: send it as a dataset. ``map``: map scores to probabilities.
# ``mapping``: read the columns as a kept mapping says.
# ``one_run``: import all answers of a run together. ``pattern``: say how outputs state a confidence. ``repeats``: what several
# rows of one question are. ``replace_people``: import the whole bundle, to replace the stored buzzes, exposures or votes.
# ``respondents``: samples are people who answered.
# ``same_answers``: join the names of one model, or withdraw a run. ``unit``: confidences are no percentages.
Hint = Literal[
    "agreement", "align", "classes", "column", "dataset", "dataset_upload", "format", "map", "mapping", "model", "one_run",
    "password", "pattern", "percent", "repeats", "replace", "replace_people", "respondents", "same_answers", "unit", "words",
]  # fmt: skip


class Place(NamedTuple):
    """Where a row is in its file: its physical line, 1-based, or, in a document that is not a table, its name there."""

    line: int | None
    row: str | None = None


class ProblemKey(NamedTuple):
    """A kind of problem: file, column, reason without numbers and quoted names, and what would fix it."""

    file: str
    column: str | None
    reason: str
    hint: Hint | None


@dataclass(frozen=True)
class Problem:
    """Why a file cannot be imported, and where. In all texts, lone surrogates are replaced, because no report could hold them."""

    file: str
    line: int | None  # physical line, 1-based; None if the file as a whole is bad, and in documents that are not tables
    column: str | None  # None, as the value, if the problem does not concern one column or cell
    value: str | None
    reason: str
    hint: Hint | None = None  # what the analyst can state to fix it; None if only a change of the file helps
    row: str | None = None  # in a document that is not a table, the row in words, such as ``question 12``
    # What the analyst can state: ``confidence=p_true`` for ``column``, a word for ``words``. For ``dataset``: datasets that have
    # the file's questions, and ``NEW_DATASET`` if the file can become one.
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("file", "column", "value", "reason", "row"):
            text: str | None = getattr(self, name)
            if text is not None:
                object.__setattr__(self, name, text.encode("utf-8", "replace").decode())

    @property
    def kind(self) -> ProblemKey:
        return ProblemKey(self.file, self.column, SPECIFIC.sub("#", self.reason), self.hint)

    @property
    def place(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        place += f", {self.row}" if self.row else ""
        column = f", column {self.column}" if self.column else ""
        value = f", value {self.value!r}" if self.value is not None else ""
        return f"{place}{column}{value}"

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


class FirstRows(NamedTuple):
    """The first rows of a foreign table, by column, and the role that each column was taken for."""

    file: str
    roles: dict[str, str]
    cells: dict[str, list[str | None]]


class Refused(Exception):
    """The import is refused, and the store is as it was. ``problems`` are in order of file and line.

    ``more`` counts further problems by kind. ``advice`` is sentences about what many problems have in common. ``tables`` are
    those of which the role of a column is asked.
    """

    def __init__(
        self,
        problems: Iterable[Problem],
        more: Mapping[ProblemKey, int] | None = None,
        advice: Iterable[str] = (),
        tables: Iterable[FirstRows] = (),
    ) -> None:
        self.problems = list(problems)
        self.more = Counter(more or {})
        self.advice = list(advice)
        self.tables = list(tables)
        super().__init__("\n".join([*self.advice, *map(str, self.problems[:20])]))

    @property
    def total(self) -> int:
        return len(self.problems) + self.more.total()

    @property
    def kinds(self) -> list[ProblemKind]:
        """The kinds of problems, in the order of their first problems."""
        by_kind: dict[ProblemKey, list[Problem]] = {}
        for problem in self.problems:
            by_kind.setdefault(problem.kind, []).append(problem)
        return [ProblemKind(some[:EXAMPLES], len(some) + self.more[kind]) for kind, some in by_kind.items()]


@dataclass(frozen=True)
class ProblemKind:
    """Problems of one kind: their number and the first few of them."""

    examples: list[Problem]
    count: int


def refuse(
    file: str,
    reason: str,
    *,
    line: int | None = None,
    column: str | None = None,
    value: str | None = None,
    hint: Hint | None = None,
    choices: tuple[str, ...] = (),
) -> Refused:
    """Return a refusal with a single problem."""
    return Refused([Problem(file, line, column, value, reason, hint, choices=choices)])


@dataclass
class Report:
    """What an import reports, collected while it runs."""

    problems: list[Problem] = field(default_factory=list)  # as found; one cell can have several
    more: Counter[ProblemKey] = field(default_factory=Counter)  # number of problems that were only counted, by kind
    advice: list[str] = field(default_factory=list)  # sentences about what many problems have in common
    unread: bool = False  # whether a file could not be read, so that what depends on it cannot be checked
    warnings: list[str] = field(default_factory=list)
    hints: list[Hint] = field(default_factory=list)  # what the analyst can do about some of the warnings
    formats: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # one for each dataset and run
    datasets: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)  # ids of the runs of this import, including those already stored
    stored: list[str] = field(default_factory=list)
    gradings: list[tuple[str, str]] = field(default_factory=list)  # run and name of each grading that a stored run gets
    columns: list[str] = field(default_factory=list)
    repaired: Counter[str] = field(default_factory=Counter)  # what was repaired, and how often
    # (dataset, model, elicitation) -> reason -> number of rows that hold no answer.
    skipped: dict[tuple[str, str, str, datetime | None], Counter[str]] = field(default_factory=dict)
    mappings: list[ColumnMapping] = field(default_factory=list)  # of the columns of foreign tables, as they were read
    tables: list[FirstRows] = field(default_factory=list)  # foreign tables of which the role of a column is asked

    def add(self, problems: Sequence[Problem], total: int) -> None:
        """Add the first problems of one kind, and count the others of the total."""
        self.problems += problems
        if problems and total > len(problems):
            self.more[problems[0].kind] += total - len(problems)

    def warn_left_out(self, file: str, noun: str, reasons: Mapping[str, int]) -> None:
        """Warn how many things of a file are left out, by reason."""
        self.warnings += [f"{file}: {counted(count, noun)} left out: {why}" for why, count in reasons.items() if count]

    def warn(self, warning: str, hint: Hint) -> None:
        self.warnings.append(warning)
        if hint not in self.hints:
            self.hints.append(hint)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect the problems of a ``Refused`` that is raised in the block, so that other files are still checked."""
        try:
            yield
        except Refused as refused:
            self.problems += refused.problems
            self.more += refused.more
            self.advice += refused.advice
            self.tables += refused.tables
            self.unread = True

    def raise_problems(self) -> None:
        """Raise ``Refused`` if there are problems. It carries only the first problem of each cell."""
        if self.problems:
            first: dict[tuple[object, ...], Problem] = {}
            for problem in self.problems:
                cell = (problem.file, problem.line, problem.row, problem.column)
                first.setdefault((*cell, problem.line is None and problem.row is None and problem.reason), problem)
            problems = sorted(first.values(), key=lambda p: (p.file, p.line or 0))
            raise Refused(problems, self.more, dict.fromkeys(self.advice), self.tables)


def rows_without_answer(states: Mapping[State, int], skipped: Mapping[str, int]) -> list[str]:
    """Say why a run has fewer answers with a confidence than its file has rows, in parts of a sentence.

    ``states`` counts rows by state, and ``skipped`` by reason. If there are rows in these states, these are the reasons.

    >>> rows_without_answer({"failed": 3}, {"no answer was received": 2, "the sample ended with an error": 1})
    ['3 failed calls (2 rows: no answer was received; 1 row: the sample ended with an error)']
    >>> rows_without_answer({"no_confidence": 1, "unparsed": 2}, {"answer is not a number": 2})
    ['1 answer without a confidence and 2 unparsed answers (2 rows: answer is not a number)']
    >>> rows_without_answer({}, {"not a question of this dataset": 8})
    ['8 rows skipped: not a question of this dataset']
    """
    present = [counted(states[state], *COUNTED[state]) for state in OTHER_STATES if states.get(state)]
    if not present:
        return [f"{counted(rows, 'row')} skipped: {reason}" for reason, rows in sorted(skipped.items())]
    reasons = "; ".join(f"{counted(rows, 'row')}: {reason}" for reason, rows in sorted(skipped.items()))
    return [listed(present) + (f" ({reasons})" if reasons else "")]
