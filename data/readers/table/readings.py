"""Possible readings of a table of which something is asked: each is tried before it is proposed, and said with its figures.

A reading that cannot be right is not proposed: one that leaves the same thing open, makes a run of each row, or takes something
that is the same in all rows for what says which answers are right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product

from clueline.data.importing.column_mapping import ColumnMapping, read_words
from clueline.data.importing.report import Problem, Refused
from clueline.data.importing.staging import ImportOptions
from clueline.data.plurals import counted
from clueline.data.readers.table.build import Builder
from clueline.data.readers.table.cells import truth
from clueline.data.readers.table.columns import Table
from clueline.data.readers.table.evidence import MIN_RANKED, auroc, is_constant
from clueline.data.readers.table.folders import Names
from clueline.data.readers.table.guessing import Guesses
from clueline.data.readers.table.roles import guess_roles
from clueline.data.store.answer_states import SCORES

MAX_READINGS = 24  # that are tried
MAX_TRIED_ROWS = 5000  # rows by which a reading is judged
MAX_SAID = 6  # readings whose figures are said
UNLIKELY_AUROC = 0.35
TRIED_HINTS = ("column", "words", "respondents", "repeats")  # of problems whose choices can be tried


@dataclass
class Figures:
    """What the answers of a reading have: the consequences by which a person recognises whether it is right."""

    questions: int
    models: int
    runs: int
    shared: float | None  # share of the questions that several models answered; None with one model or without a question
    accuracy: float | None  # None where Clueline's rules grade the answers; of forecasts, the share that came true
    mean_confidence: float | None
    auroc: float | None  # None where too few answers are right, wrong or stated with a confidence
    are_forecasts: bool = False

    @property
    def sentence(self) -> str:
        """The figures, as in ``40 questions, accuracy 55 %, mean confidence 63 %``."""
        many = (
            f"{self.questions:,} questions x {self.models:,} models" if self.models > 1 else counted(self.questions, "question")
        )
        parts = [many if self.runs == self.models else f"{many} in {self.runs:,} runs"]
        if self.shared is not None and self.shared < 1:
            parts.append(f"{self.shared:.0%} of them answered by several")
        share = "" if self.accuracy is None else f"{100 * self.accuracy:.3g} %"
        of_answers = f"accuracy {share}" if share else "graded by the texts"
        parts.append(f"{share} of them came true" if self.are_forecasts else of_answers)
        if self.mean_confidence is not None:
            parts.append(f"mean confidence {100 * self.mean_confidence:.3g} %")
        if self.auroc is not None and self.auroc < 0.5:
            parts.append(f"AUROC {self.auroc:.2f}")
        return ", ".join(parts)


@dataclass
class Reading:
    """One answer to all that is asked of a table, and the figures that it gives."""

    choices: tuple[str, ...]  # one for each problem, in their order
    figures: Figures

    @property
    def is_unlikely(self) -> bool:
        """Whether confidences rank answers far worse than chance does, or there are several models and no common question."""
        figures = self.figures
        ranks_worse = figures.auroc is not None and figures.auroc < UNLIKELY_AUROC
        return ranks_worse or figures.shared == 0


@dataclass
class Proposal:
    """What is asked of a table, without choices that cannot be right, the likeliest first, and what the choices give."""

    problems: list[Problem]
    sentences: list[str] = field(default_factory=list)


def propose(table: Table, stated: ColumnMapping, options: ImportOptions, names: Names, guesses: Guesses) -> Proposal:
    """Try the answers to what is asked of a table."""
    asked = [problem for problem in guesses.unclear if _can_be_tried(problem)]
    if not asked or len(asked) < len(guesses.unclear):
        return Proposal(guesses.unclear)
    part = _part_of(table)
    readings = [*_readings(part, stated, options, names, asked)]
    readings.sort(key=lambda reading: reading.is_unlikely)
    if not readings:
        return Proposal(guesses.unclear)
    ordered = []
    for n, problem in enumerate(asked):
        likeliest = dict.fromkeys(reading.choices[n] for reading in readings)
        ordered.append(problem if problem.hint == "words" else replace(problem, choices=(*likeliest,)))
    of_part = f"the first {len(part):,} rows: " if len(part) < len(table) else ""
    sentences = [
        f"{table.name}: {' and '.join(dict.fromkeys(reading.choices))} gives {of_part}{reading.figures.sentence}."
        for reading in readings
    ]
    return Proposal(ordered, sentences[:MAX_SAID])


def _can_be_tried(problem: Problem) -> bool:
    return problem.hint in TRIED_HINTS and bool(problem.choices) and not any("?" in choice for choice in problem.choices)


def _part_of(table: Table) -> Table:
    if len(table) <= MAX_TRIED_ROWS:
        return table
    columns = {name: cells[:MAX_TRIED_ROWS] for name, cells in table.columns.items()}
    return replace(table, columns=columns, places=table.places[:MAX_TRIED_ROWS])


def _readings(
    table: Table, stated: ColumnMapping, options: ImportOptions, names: Names, asked: Sequence[Problem]
) -> Iterator[Reading]:
    # All words of one problem are stated together.
    offered = [[",".join(problem.choices)] if problem.hint == "words" else [*problem.choices] for problem in asked]
    for choices in islice(product(*offered), MAX_READINGS):
        words = [choice for problem, choice in zip(asked, choices, strict=True) if problem.hint == "words"]
        columns = {choice for problem, choice in zip(asked, choices, strict=True) if problem.hint != "words"}
        roles = [(role, column) for role, _, column in (choice.partition("=") for choice in sorted(columns))]
        if len({column for _, column in roles}) < len(roles):
            continue  # one column cannot be two things
        meant = read_words(",".join(words)) if words else {}
        guesses = guess_roles(table, stated.with_roles(roles, meant), repeats=options.repeats is not None)
        if any(_is_open_again(problem, asked) for problem in guesses.unclear):
            continue
        if figures := _figures(Builder(table, guesses, options, *names), roles):
            yield Reading(choices, figures)


def _is_open_again(problem: Problem, asked: Sequence[Problem]) -> bool:
    """Whether an answer leaves the same thing open, so that it answers nothing."""
    return any((problem.column, problem.reason) == (other.column, other.reason) for other in asked)


def _figures(builder: Builder, stated: Sequence[tuple[str, str]]) -> Figures | None:
    """Return the figures of a reading; None if it cannot be right."""
    try:
        rows = builder.responses(builder.question_ids(), builder.datasets())
    except Refused:
        return None
    grades = [truth(text) for text in builder.cells("outcome")] if builder.is_forecast else [row["correct"] for row in rows]
    says_grades = any(role in ("correct", "wrong") for role, _ in stated)
    by_model: dict[object, set[object]] = defaultdict(set)
    for row in rows:
        by_model[row["model"]].add(row["question_id"])
    questions = set[object]().union(*by_model.values())
    if not rows or (len(by_model) > 1 and len(by_model) > len(rows) / 2):
        return None
    graded = [float(str(grade)) for grade in grades if grade is not None]
    if says_grades and len(graded) >= MIN_RANKED and is_constant(graded) and not builder.cells("guess"):
        return None
    shares = [float(str(row["confidence"])) for row in rows if row["confidence"] is not None]
    if any(not 0 <= share <= 1 for share in shares):
        return None
    names_questions = bool(builder.mapping.column("question_id") or builder.mapping.column("question"))
    answered = [sum(question in some for some in by_model.values()) for question in questions]
    return Figures(
        questions=len(questions),
        models=len(by_model),
        runs=len({(row["model"], row["elicitation"]) for row in rows}),
        shared=sum(count > 1 for count in answered) / len(answered) if len(by_model) > 1 and names_questions else None,
        accuracy=sum(graded) / len(graded) if graded else None,
        mean_confidence=sum(shares) / len(shares) if shares else None,
        auroc=auroc([(surety, row["correct"]) for row in rows if (surety := _surety(row)) is not None]),
        are_forecasts=builder.is_forecast,
    )


def _surety(row: Mapping[str, object]) -> float | None:
    """Return how sure the model was of an answer: its confidence, or its score, which is greater where it was surer."""
    if row["confidence"] is not None:
        return float(str(row["confidence"]))
    return next((sign * float(str(row[role])) for role, sign in SCORES.items() if row[role] is not None), None)
