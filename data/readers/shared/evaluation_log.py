"""Logs of evaluation harnesses, which state the questions of a task beside a model's answers.

The first log of a task makes the dataset. A later one adds runs to it, and must state the same questions and answers.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from data.duckdb_and_polars import literal
from data.importing.report import Problem, Refused, refuse
from data.importing.staging import ImportOptions, RunKey, Staging
from data.importing.table_contract import CLUES, QUESTIONS, SHOWN, responses_columns
from data.importing.table_files import MAX_LINE_LENGTH, TOO_LONG, WRONG_LINE, TableFile

NO_CONFIDENCE = "the log states neither confidences nor likelihoods: there is nothing in it to calibrate"
YES, NO = "yes", "no"  # what a forecast question resolves to
MAX_CLASSES = 26  # options that the questions of a dataset may share as its classes
QUESTION_SCHEMA = {name: pl.String for name in ("question_id", "text", "answer", "category", "place")}
ANSWER_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    **{name: pl.String for name in ("model", "elicitation", "question_id", "guess", "confidence", "options", "correct", "place")},
    "sample": pl.String,
    "clue": pl.String,
    "token_logprobs": pl.List(pl.Float64),
    "failed": pl.Boolean,
}


class NothingToCalibrate(Refused):
    """A log that is well-formed, and has no confidences."""

    def __init__(self, name: str, reason: str = NO_CONFIDENCE) -> None:
        super().__init__([Problem(name, None, None, None, reason)])


def read_each(parts: Sequence[Callable[[], None]], staging: Staging) -> None:
    """Read the logs of a folder. Those without confidences are left out, with a warning, unless all are.

    Args:
        parts: each reads one log.
        staging: of the import; problems of several logs are collected there.
    """
    unusable: list[NothingToCalibrate] = []
    for read in parts:
        with staging.report.collecting():
            try:
                read()
            except NothingToCalibrate as refused:
                unusable.append(refused)
    if len(unusable) == len(parts):
        raise Refused([problem for refused in unusable for problem in refused.problems])
    staging.report.warnings += [
        f"{problem.file} was left out: {problem.reason}" for refused in unusable for problem in refused.problems
    ]


@dataclass
class EvaluationLog:
    """The questions and answers of one task, as a reader collects them from a log.

    Attributes:
        name: of the file, for reports.
        dataset: id of the dataset that the log makes or adds to.
        title, source: of the dataset, where the log makes it.
        model: whose answers these are; None where the log does not say.
        classes: options that all questions share, in order; None where they do not.
        licence: of the questions; None where the log does not say.
        percent: the format states confidences from 0 to 100.
        moments: texts of the clues that every question has after its own text; none where questions are shown whole. They are
            the moments at which answers were given to one and the same text.
    """

    name: str
    dataset: str
    title: str
    source: str
    model: str | None
    classes: list[str] | None = None
    licence: str | None = None
    percent: bool = False
    moments: tuple[str, ...] = ()
    problems: list[Problem] = field(default_factory=list)
    _questions: dict[str, dict[str, str | None]] = field(default_factory=dict)
    _answers: list[dict[str, object]] = field(default_factory=list)
    _skipped: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add_question(
        self, question_id: str, text: str | None, answer: str | None, place: str, category: str | None = None
    ) -> None:
        """Add a question. A log may repeat one, for another sample or grader, but not change it.

        Args:
            question_id: as the log has it.
            text, answer: None where the log does not say.
            place: where it stands in the log, in words.
            category: None where the log does not say.
        """
        place = place[:SHOWN]
        row = {"text": clean(text), "answer": clean(answer), "category": clean(category)}
        before = self._questions.setdefault(clean(question_id) or "", row | {"place": place})
        for column, value in row.items():
            if before[column] != value:
                reason = f"question {question_id!r} has another {column} than at {before['place']}"
                self.problems.append(Problem(self.name, None, column, value and value[:80], reason, row=place))

    def add_answer(
        self,
        question_id: str,
        elicitation: str,
        place: str,
        *,
        model: str | None = None,
        guess: str | None = None,
        confidence: object = None,
        token_logprobs: Sequence[float] | None = None,
        options: Mapping[str, float] | None = None,
        correct: object = None,
        failed: bool = False,
        sample: str | None = None,
        clue: int = 0,
    ) -> None:
        """Add an answer; the columns are those of responses.

        Args:
            question_id: as the log has it.
            elicitation: how the confidence was elicited.
            place: where it stands in the log, in words.
            model: None for that of the log.
            guess: the answer.
            confidence: as it stands in the log.
            token_logprobs: of the answer's tokens.
            options: probabilities by option.
            correct: as it stands in the log.
            failed: no answer was got.
            sample: which of several answers to the question; None where there is one.
            clue: number of the moment, from 0.
        """
        place = place[:SHOWN]
        self._answers.append({
            "model": clean(model or self.model), "elicitation": clean(elicitation), "question_id": clean(question_id),
            "guess": clean(guess), "confidence": _cell(confidence), "token_logprobs": token_logprobs,
            "options": clean(json.dumps(options, ensure_ascii=False)) if options else None,
            "correct": _cell(correct), "failed": failed, "place": place, "sample": clean(sample),
            "clue": str(clue),
        })  # fmt: skip

    def add_forecast(
        self, question_id: str, elicitation: str, place: str, probability: object, model: str | None = None, clue: int = 0
    ) -> None:
        """Add the probability of yes that somebody forecast, which is the confidence in the guess yes.

        Args:
            question_id, elicitation, place, model, clue: as in ``add_answer``.
            probability: as it stands in the log.
        """
        share = number(probability)
        inside = share is not None and 0 <= share <= 1
        self.add_answer(
            question_id, elicitation, place, model=model, guess=YES, confidence=probability,
            options={YES: share, NO: 1 - share} if share is not None and inside else None, clue=clue,
        )  # fmt: skip

    def skip(self, elicitation: str, reason: str, model: str | None = None, rows: int = 1) -> None:
        """Count rows that are not imported, or are failed calls, and why."""
        self._skipped[(model or self.model or "", elicitation, reason)] += rows

    def check_answerable(self, staging: Staging) -> None:
        """Refuse answers without questions to a dataset that is not there, or whose questions are shown in parts."""
        known = staging.dataset(self.dataset)
        if known is None:
            reason = f"there is no dataset {self.dataset!r} to answer; import its questions first"
            raise refuse(self.name, reason, hint="dataset")
        if known["kind"] == "incremental":
            raise refuse(self.name, f"the questions of dataset {self.dataset!r} have clues, which these answers do not name")

    def add_to(self, staging: Staging, options: ImportOptions) -> None:
        """Give the questions and answers to the import. Raises ``Refused`` where the log as a whole does not fit."""
        staging.report.problems += self.problems
        if self.problems:
            return
        if not any(answer["failed"] is False for answer in self._answers):
            causes = "".join(f"; {rows:,} times: {reason}" for (_, _, reason), rows in sorted(self._skipped.items()))
            raise refuse(self.name, f"there is no answer with a confidence in this log{causes}")
        model = options.model or self.model
        if any(not answer["model"] for answer in self._answers) and not model:
            raise refuse(self.name, "which model answered? The log does not say", hint="model")
        self._add_questions(staging, options)
        for (of_row, elicitation, reason), rows in self._skipped.items():
            key = RunKey(self.dataset, options.model or of_row, options.elicitation or elicitation)
            staging.skip(key, {reason: rows})
        file = staging.add_rows(self.name, pl.DataFrame(self._answers, schema=ANSWER_SCHEMA, orient="row"))
        staging.load(file, responses_columns(percent=options.percent or self.percent))
        # The options name the one model and elicitation of a log. Of several models, each keeps its name.
        several = len({answer["model"] for answer in self._answers}) > 1
        elicitations = {answer["elicitation"] for answer in self._answers}
        if options.elicitation and len(elicitations) > 1:
            seen = ", ".join(sorted(map(str, elicitations)))
            raise refuse(self.name, f"this log holds several runs ({seen}), which one elicitation cannot name")
        if options.model and several:
            seen = ", ".join(sorted({str(answer["model"]) for answer in self._answers})[:5])
            raise refuse(self.name, f"this log holds the answers of several models ({seen}), which one name cannot fit")
        staging.add(
            "responses",
            file,
            f"""select {literal(self.dataset)} as dataset, {literal(options.model) if options.model else "model"} as model,
                {literal(options.elicitation) if options.elicitation else "elicitation"} as elicitation, question_id, clue,
                guess, confidence, token_logprobs, options, correct, failed, sample, ordinal from loaded""",
        )

    def add_questions_to(self, staging: Staging, options: ImportOptions) -> None:
        """Give the questions to the import, of a file that has no answers."""
        staging.report.problems += self.problems
        if not self.problems and not self._questions:
            raise refuse(self.name, "there are no questions in this file")
        if not self.problems:
            self._add_questions(staging, options)

    def _add_questions(self, staging: Staging, options: ImportOptions) -> None:
        """Make the dataset, or check that the questions are those of the dataset that is there."""
        if not self._questions:
            if not staging.dataset(self.dataset):
                raise refuse(
                    self.name, f"there is no dataset {self.dataset!r} to answer; import its questions first", hint="dataset"
                )
            return
        rows = [{"question_id": question, **row} for question, row in self._questions.items()]
        file = staging.add_rows(self.name, pl.DataFrame(rows, schema=QUESTION_SCHEMA, orient="row"))
        staging.load(file, QUESTIONS)
        known = staging.dataset(self.dataset)
        run, d = staging.connection.execute, {"d": self.dataset}
        incoming = bool(run("select 1 from datasets_read where dataset = $d", d).fetchone())
        chosen = ["dataset", "question_id", "text", "answer", "category", "ordinal"]
        select = f"select $d as dataset, {', '.join(chosen[1:])} from loaded"
        if known is None or (options.replace and not incoming):
            staging.add_dataset(
                self.name, self.dataset, kind=self._kind, title=options.title or self.title, source=self.source,
                licence=self.licence, classes=list(options.classes) or self.classes,
            )  # fmt: skip
            staging.add("questions", file, select, d)
            self._add_clues(staging)
            return
        if known["kind"] != self._kind:
            reason = f"dataset {self.dataset!r} is of kind {known['kind']}, and the questions of a log are of kind {self._kind}"
            raise refuse(self.name, reason, hint="dataset")
        if self.classes and known["classes"] and sorted(self.classes) != sorted(known["classes"]):
            names = (", ".join(self.classes), ", ".join(known["classes"]))
            raise refuse(self.name, f"the options are {names[0]}, and those of dataset {self.dataset!r} are {names[1]}")
        stored = f"select question_id, text, answer from {'questions_read' if incoming else 'store.questions'} where dataset = "
        run(f"create or replace table known_questions as {stored} $d", d)
        run(f"create or replace table questions_of_log as select *, {staging.files.index(file)} as file from loaded")
        if incoming:  # another log of this import made the dataset, and may have other questions
            staging.add("questions", file, f"{select} anti join known_questions using (question_id)", d)
        else:
            unknown = f"no such question in dataset {self.dataset!r}; logs that are imported together share their questions"
            staging.report_rows(
                "questions_of_log", "question_id", "s.question_id", literal(unknown),
                "anti join known_questions k on k.question_id = s.question_id", "replace",
            )  # fmt: skip
        for column in ("answer",) if self.moments else ("text", "answer"):  # with moments, the stored text holds them
            staging.report_rows(
                "questions_of_log", column, f"s.{column}",
                f"'question ' || s.question_id || {literal(f' has another {column} in dataset {self.dataset!r}')}",
                f"join known_questions k on k.question_id = s.question_id "
                f"where s.{column} is not null and s.{column} is distinct from k.{column}",
                "dataset",
            )  # fmt: skip

    @property
    def _kind(self) -> str:
        """Of the dataset that the log makes."""
        return "incremental" if self.moments else "single"

    def _add_clues(self, staging: Staging) -> None:
        """Give each question its clues: its text with the first moment, and then the others. Each counts as one word."""
        rows = [
            {"question_id": name, "clue": str(clue), "text": text, "word_end": str(clue + 1), "place": question["place"]}
            for name, question in self._questions.items()
            for clue, moment in enumerate(self.moments)
            for text in [f"{question['text']} ({moment})" if clue == 0 else moment]
        ]
        if rows:
            file = staging.add_rows(self.name, pl.DataFrame(rows, orient="row"))
            staging.load(file, CLUES)
            staging.add("clues", file, "select $d as dataset, * from loaded", {"d": self.dataset})


def known_questions(staging: Staging, dataset: str) -> dict[str, tuple[str | None, str | None]]:
    """Text and answer of each question of a dataset, incoming or stored, by id; empty where there is no such dataset."""
    rows = staging.connection.execute(
        """select question_id, text, answer from questions_read where dataset = $dataset union all
        select question_id, text, answer from store.questions where dataset = $dataset
            and not exists (select 1 from questions_read where dataset = $dataset)""",
        {"dataset": dataset},
    ).fetchall()
    return {question: (text, answer) for question, text, answer in rows}


def clean(text: object) -> str | None:
    r"""Text without halves of characters, which no file of ours can hold.

    >>> clean("a\ud800b"), clean(None), clean(7)
    ('a?b', None, '7')
    """
    return None if text is None else str(text).encode("utf-8", "replace").decode()


def _cell(value: object) -> str | None:
    """A value of a log as a cell of a table, which the contract then reads."""
    if isinstance(value, dict | list):
        return clean(json.dumps(value))
    return clean(value)


def number(value: object) -> float | None:
    """A number of a log, which may stand there as text; None for anything else.

    >>> number("-25.6"), number(1), number(True), number("many")
    (-25.6, 1.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def category_of(facts: Mapping[str, object]) -> str | None:
    """The category that a harness states among the facts about a question, which some tasks call its subject.

    >>> category_of({"subject": "anatomy", "answer": 1}), category_of({"category": ["a", "b"]})
    ('anatomy', None)
    """
    named = (facts.get(key) for key in ("category", "subject"))
    return next((name for name in named if isinstance(name, str) and name), None)


def dataset_id(task: str) -> str:
    """The dataset id of a task.

    >>> dataset_id("inspect_evals/MMLU_0_shot")
    'mmlu-0-shot'
    """
    return re.sub(r"[^a-z0-9]+", "-", task.rpartition("/")[2].lower()).strip("-")


def shares(logarithms: Sequence[float]) -> list[float] | None:
    """Probabilities from log-likelihoods of all options (softmax); None where none is finite or one is not a number.

    >>> shares([0.0, 0.0]), shares([-5.0, float("-inf")])
    ([0.5, 0.5], [1.0, 0.0])
    """
    most = max(logarithms, default=math.nan)
    if not math.isfinite(most) or any(math.isnan(value) for value in logarithms):
        return None
    weights = [math.exp(value - most) for value in logarithms]
    total = sum(weights)
    return [weight / total for weight in weights]


def common_start(texts: Sequence[str]) -> str:
    """The characters with which all texts begin.

    >>> common_start(["north", "nor"]), common_start(["a", "b"])
    ('nor', '')
    """
    length = 0
    for characters in zip(*texts, strict=False):
        if len(set(characters)) > 1:
            break
        length += 1
    return texts[0][:length]


def letters(count: int) -> list[str]:
    """Names of options without a text of their own: A, B, C..."""
    return [chr(ord("A") + index) if index < MAX_CLASSES else str(index + 1) for index in range(count)]


def with_choices(text: str, choices: Mapping[str, str]) -> str:
    """A question with its options, each on a line after its letter.

    >>> print(with_choices("Which?", {"A": "this", "B": "that"}))
    Which?
    A. this
    B. that
    """
    return "\n".join([text, *(f"{letter}. {choice}" for letter, choice in choices.items())])


def shared_classes(options: Sequence[Sequence[str]]) -> list[str] | None:
    """The options that several questions have in common, in order; None where they differ."""
    first = list(options[0]) if len(options) > 1 else []
    same = all(list(other) == first for other in options)
    return first if same and 1 < len(first) <= MAX_CLASSES else None


def json_lines(file: TableFile, staging: Staging) -> Iterator[tuple[int, dict[str, object]]]:
    """The objects of a file of JSON Lines with their line numbers. A bad line is reported and left out."""
    try:
        with file.path.open(encoding="utf-8-sig", newline="\n") as lines:
            for line_number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line) if len(line) <= MAX_LINE_LENGTH else None
                except (ValueError, RecursionError):
                    row = None
                if isinstance(row, dict):
                    yield line_number, row
                else:
                    reason = TOO_LONG if len(line) > MAX_LINE_LENGTH else WRONG_LINE
                    staging.report.problems.append(Problem(file.name, line_number, None, line[:80].strip(), reason))
    except UnicodeDecodeError:
        raise file.not_utf8() from None
