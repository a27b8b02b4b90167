"""Logs of evaluation harnesses, which hold the questions of a task along with a model's answers.

The first log of a task creates the dataset. A later log adds runs to it, and must state the same questions and answers.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from statistics import mean
from typing import Any

import polars as pl

from clueline.data.dataset_kinds import FORECAST, NO, YES
from clueline.data.duckdb_and_polars import literal
from clueline.data.importing.column_mapping import TRIED, BadMapping, excerpt, read_pattern, usual_pattern
from clueline.data.importing.report import Hint, Problem, Refused, refuse
from clueline.data.importing.staging import CONTENT, UNSTATED, ImportOptions, RunKey, Staging
from clueline.data.importing.table_contract import (
    CLUES,
    GRADE_PREFIX,
    MAX_SHOWN_LENGTH,
    QUESTIONS,
    Column,
    grade_columns,
    responses_columns,
)
from clueline.data.importing.table_files import MAX_LINE_LENGTH, TOO_LONG, WRONG_LINE, TableFile
from clueline.data.plurals import counted
from clueline.data.store.answer_states import State

STATED = "verbalized"  # elicitation of a confidence that the model wrote
NOT_STATED = "no confidence is stated"
NO_CONFIDENCE = "the log states neither confidences nor likelihoods: there is nothing in it to calibrate"
MAX_SHIFT = 10  # of ids that are tried
MAX_CLASSES = 26  # at most this many options can become the classes of a dataset
QUESTION_SCHEMA = {name: pl.String for name in ("question_id", "text", "answer", "category", "place")}
TEXTS = ("model", "elicitation", "question_id", "clue", "guess", "confidence", "options", "correct", "state", "sample", "place")
ANSWER_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    **{name: pl.String for name in TEXTS}, "token_logprobs": pl.List(pl.Float64), "failed": pl.Boolean,
}  # fmt: skip
Content = Mapping[str, tuple[str | None, str | None]]  # text and reference answer of questions, by id


class NothingToCalibrate(Refused):
    """A well-formed log without confidences."""

    def __init__(self, name: str, reason: str = NO_CONFIDENCE) -> None:
        super().__init__([Problem(name, None, None, None, reason)])


def read_each(parts: Sequence[Callable[[], None]], staging: Staging) -> None:
    """Read each log of a folder. Warn of logs without confidences. Raises ``Refused`` if there are no others."""
    unusable: list[NothingToCalibrate] = []
    for read in parts:
        with staging.report.collecting():
            try:
                read()
            except NothingToCalibrate as refused:
                unusable.append(refused)
    problems = [problem for refused in unusable for problem in refused.problems]
    if len(unusable) == len(parts):
        raise Refused(problems)
    staging.report.warnings += [f"{problem.file} was left out: {problem.reason}" for problem in problems]


@dataclass
class EvaluationLog:
    """The questions and answers of one task, as a reader collects them from a log."""

    name: str
    dataset: str  # that the log creates or adds to; title, source, licence and kind are for one that it creates
    title: str
    source: str
    model: str | None  # that answered; None if the log does not say
    classes: list[str] | None = None  # options that all questions share, in order; None if they differ
    licence: str | None = None
    percent: bool = False  # whether the format states confidences from 0 to 100
    moments: tuple[str, ...] = ()  # texts of the clues of every question, at each of which its text was answered; empty if none
    kind: str = ""  # blank for ``incremental`` with moments and ``single`` without
    evaluated_at: datetime | None = None  # in UTC; None if the log does not say
    tags: Mapping[str, str] = field(default_factory=dict)  # of its runs, such as the version of the harness
    problems: list[Problem] = field(default_factory=list)  # any of them refuses the log
    published: dict[tuple[str | None, str], float] = field(default_factory=dict)  # stated accuracy, by model and elicitation
    reducers: dict[str, str] = field(default_factory=dict)  # how it makes one grade of several samples, if not by their mean
    _questions: dict[str, dict[str, str | None]] = field(default_factory=dict)
    _answers: list[dict[str, object]] = field(default_factory=list)
    _outputs: list[str | None] = field(default_factory=list)
    _hint: Hint | None = None  # what mends questions that contradict the stored ones
    _skipped: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add_question(
        self, question_id: str, text: str | None, answer: str | None, place: str, category: str | None = None
    ) -> None:
        """Add a question. A log may repeat one, for another sample or grader, but not change it.

        ``place`` says where it is in the log, in words. What is None, the log does not say.
        """
        place = place[:MAX_SHOWN_LENGTH]
        row = {"text": clean(text), "answer": clean(answer), "category": clean(category)}
        before = self._questions.setdefault(clean(question_id) or "", row | {"place": place})
        for column, value in row.items():
            if before[column] != value:
                reason = f"question {question_id!r} has a different {column} at {before['place']}"
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
        state: State | None = None,
        sample: str | None = None,
        clue: int = 0,
        output: str | None = None,
        gradings: Mapping[str, object] | None = None,
    ) -> None:
        """Add an answer; the columns are those of responses. Guess, confidence and ``correct`` are as the log states them.

        ``place`` says in words where the answer is in the log. Without ``model``, it is that of the log. ``sample`` names one of
        several answers to the question. ``state`` is None for an answer with a confidence, and for a ``failed`` call. ``clue`` is
        the number of the moment, from 0. ``output`` is what the model wrote, which may state a confidence. ``gradings`` are
        grades of others, by the name of the grading.
        """
        place = place[:MAX_SHOWN_LENGTH]
        self._outputs.append(clean(excerpt(output)) if output and state == "no_confidence" else None)
        self._answers.append({
            "model": clean(model or self.model), "elicitation": clean(elicitation), "question_id": clean(question_id),
            "guess": clean(guess), "confidence": _cell(confidence), "token_logprobs": token_logprobs,
            "options": clean(json.dumps(options, ensure_ascii=False)) if options else None,
            "correct": _cell(correct), "failed": failed, "state": state, "place": place, "sample": clean(sample),
            "clue": str(clue), **{GRADE_PREFIX + name: _cell(grade) for name, grade in (gradings or {}).items()},
        })  # fmt: skip

    def add_forecast(
        self, question_id: str, elicitation: str, place: str, probability: object, model: str | None = None, clue: int = 0
    ) -> None:
        """Add a forecast probability of yes as an answer: the guess is yes, and the probability is its confidence."""
        share = number(probability)
        options = {YES: share, NO: 1 - share} if share is not None and 0 <= share <= 1 else None
        self.add_answer(
            question_id, elicitation, place, model=model, guess=YES, confidence=probability, options=options, clue=clue
        )

    def skip(self, elicitation: str, reason: str, model: str | None = None, rows: int = 1) -> None:
        self._skipped[(model or self.model or "", elicitation, reason)] += rows

    def add_to(self, staging: Staging, options: ImportOptions) -> None:
        """Pass the questions and answers to the import. Raises ``Refused`` if the log as a whole does not fit."""
        staging.report.problems += self.problems
        if self.problems:
            return
        if all(answer["failed"] or answer["state"] not in (None, "no_confidence") for answer in self._answers):
            causes = "".join(f"; {counted(rows, 'time')}: {reason}" for (_, _, reason), rows in sorted(self._skipped.items()))
            raise refuse(self.name, f"there is no answer in this log{causes}")
        model = options.model or self.model
        if any(not answer["model"] for answer in self._answers) and not model:
            raise refuse(self.name, "which model answered? The log does not say", hint="model")
        self._find_stated(staging, options)
        self._align(staging, options)
        self._add_questions(staging, options)
        self._warn_of_published(staging)
        for (stated_model, elicitation, reason), rows in self._skipped.items():
            key = RunKey(self.dataset, options.model or stated_model, options.elicitation or elicitation)
            staging.skip(key, {reason: rows}, self.evaluated_at)
        further = sorted({column for answer in self._answers for column in answer if column.startswith(GRADE_PREFIX)})
        answers = [dict.fromkeys(further) | answer for answer in self._answers]
        schema = ANSWER_SCHEMA | dict.fromkeys(further, pl.String)
        file = staging.add_rows(self.name, pl.DataFrame(answers, schema=schema, orient="row"))
        staging.load(file, (*responses_columns(percent=options.percent or self.percent), *grade_columns(further)))
        models, elicitations = (sorted({str(answer[key]) for answer in self._answers}) for key in ("model", "elicitation"))
        if options.elicitation and len(elicitations) > 1:
            seen = ", ".join(elicitations)
            raise refuse(self.name, f"this log holds several runs ({seen}); one elicitation cannot name them all")
        if options.model and len(models) > 1:
            seen = ", ".join(models[:5])
            raise refuse(self.name, f"this log holds the answers of several models ({seen}); one name cannot fit them all")
        staging.add(
            "responses",
            file,
            f"""select {literal(self.dataset)} as dataset, {literal(options.model) if options.model else "model"} as model,
                {literal(options.elicitation) if options.elicitation else "elicitation"} as elicitation, question_id, clue,
                guess, confidence, token_logprobs, options, correct, failed, state, sample, $at::timestamp as evaluated_at,
                ordinal
            from loaded""",
            {"at": self.evaluated_at},
        )
        staging.add_grades(file, further)
        runs = {(options.model or str(a["model"]), options.elicitation or str(a["elicitation"])) for a in self._answers}
        staging.add_tags(self.name, [RunKey(self.dataset, *run) for run in sorted(runs)], self.tags, self.evaluated_at)

    def _find_stated(self, staging: Staging, options: ImportOptions) -> None:
        """Take the confidences that outputs state by the pattern of the options, or offer the usual pattern that fits."""
        rows = [row for row, output in zip(self._answers, self._outputs, strict=True) if output]
        outputs = [output for output in self._outputs if output]
        if not options.confidence_pattern:
            if fitting := usual_pattern(outputs):
                text, count = fitting
                seems = f"{count:,} of {counted(min(len(outputs), TRIED), 'output')} seem to state a confidence, as in {text!r}"
                staging.report.warn(f"{self.name}: {seems}", "pattern")
            return
        try:
            shares = read_pattern(options.confidence_pattern).column(outputs)
        except BadMapping as error:
            raise refuse(self.name, str(error), hint="pattern") from error
        staging.report.lines.append(
            f"{self.name}: {counted(sum(share is not None for share in shares), 'output states', 'outputs state')} a confidence"
        )
        for row, share in zip(rows, shares, strict=True):
            if share is not None:
                row |= {"confidence": repr(100 * share if options.percent or self.percent else share), "state": None}
        for row in self._answers:
            row["elicitation"] = str(row["elicitation"]).replace(UNSTATED, STATED, 1)
        skipped, self._skipped = self._skipped, Counter()
        for (model, elicitation, reason), count in skipped.items():
            if reason != NOT_STATED:
                self._skipped[model, elicitation.replace(UNSTATED, STATED, 1), reason] += count

    def add_questions_to(self, staging: Staging, options: ImportOptions) -> None:
        """Pass the questions of a file without answers to the import. Raises ``Refused`` if there are none."""
        staging.report.problems += self.problems
        if not self.problems and not self._questions:
            raise refuse(self.name, "there are no questions in this file")
        if not self.problems:
            self._add_questions(staging, options)

    def _align(self, staging: Staging, options: ImportOptions) -> None:
        """Give questions the ids of the stored dataset, as the analyst states; otherwise say how they could be aligned."""
        if self.moments or options.replace:
            return
        own = {question: (row["text"], row["answer"]) for question, row in self._questions.items()}
        renamed, offered = align_questions(self.name, self.dataset, own, staging, options.align)
        self._hint = "align" if offered else None
        if renamed:
            self._questions = {renamed[question]: row for question, row in self._questions.items()}
            for answer in self._answers:
                answer["question_id"] = renamed[str(answer["question_id"])]

    def _warn_of_published(self, staging: Staging) -> None:
        """Warn of a stated accuracy that the answers do not have in the mean over questions, with or without failed calls."""
        for (model, elicitation), stated in self.published.items():
            run = [a for a in self._answers if a["elicitation"] == elicitation and a["model"] == clean(model or self.model)]
            means = []
            for counted_calls in ([a for a in run if not a["failed"]], run):
                by_question: dict[object, list[float]] = {}
                for a in counted_calls:
                    by_question.setdefault(a["question_id"], []).append(truth(a["correct"]))
                means += [mean(map(mean, by_question.values()))] if by_question else []
            if means and all(abs(share - stated) > rounding_of(stated) for share in means):
                answers = counted(len(run), "answer")
                how = f", by {self.reducers[elicitation]!r} of the samples of a question" if elicitation in self.reducers else ""
                staging.report.warnings.append(
                    f"{self.name}: it states an accuracy of {stated:.6g} ({elicitation}{how}), but its {answers} imply "
                    f"{means[0]:.6g}"
                )

    def _add_questions(self, staging: Staging, options: ImportOptions) -> None:
        """Create the dataset, or check that the questions match those of the existing dataset."""
        if not self._questions:
            staging.existing(self.dataset, self.name)
            return
        rows = [{"question_id": question, **row} for question, row in self._questions.items()]
        file = staging.add_rows(self.name, pl.DataFrame(rows, schema=QUESTION_SCHEMA, orient="row"))
        staging.load(file, QUESTIONS)
        known, select = staging.dataset(self.dataset), "select $d as dataset, * from loaded"
        run, d = staging.connection.execute, {"d": self.dataset}
        incoming = bool(run("select 1 from datasets_read where dataset = $d", d).fetchone())
        if known is None or (options.replace and not incoming):
            staging.add_dataset(
                self.name, self.dataset, kind=self._kind, title=options.title or self.title, source=self.source,
                licence=self.licence, classes=list(options.classes) or self.classes,
            )  # fmt: skip
            staging.add("questions", file, select, d)
            self._add_clues(staging)
            return
        if known["kind"] != self._kind:
            kinds = f"of kind {known['kind']}, but the questions of this log are of kind {self._kind}"
            # Forecasts were of kind single in earlier versions.
            hint: Hint = "replace" if self.kind == FORECAST else "dataset"
            raise refuse(self.name, f"dataset {self.dataset!r} is {kinds}", hint=hint)
        if self.classes and known["classes"] and sorted(self.classes) != sorted(known["classes"]):
            names = (", ".join(self.classes), ", ".join(known["classes"]))
            raise refuse(self.name, f"the options are {names[0]}, but those of dataset {self.dataset!r} are {names[1]}")
        run("create or replace table questions_before as from known_questions where dataset = $d", d)
        run(f"create or replace table questions_of_log as select *, {staging.files.index(file)} as file from loaded")
        if incoming:  # another log of this import created the dataset, and may have different questions
            staging.add("questions", file, f"{select} anti join questions_before using (question_id)", d)
        else:
            unknown = f"no such question in dataset {self.dataset!r}; logs that are imported together share their questions"
            others = "anti join questions_before k on k.question_id = s.question_id"
            staging.report_rows("questions_of_log", "question_id", literal(unknown), others, self._hint or "replace")
        for column in ("answer",) if self.moments else ("text", "answer"):  # with moments, the stored text holds them
            reason = f"'question ' || s.question_id || {literal(f' has a different {column} in dataset {self.dataset!r}')}"
            others = f"join questions_before k on k.question_id = s.question_id where s.{column} <> k.{column} or "
            others += f"(s.{column} is not null and k.{column} is null)"
            staging.report_rows("questions_of_log", column, reason, others, self._hint or "dataset")

    @property
    def _kind(self) -> str:
        return self.kind or ("incremental" if self.moments else "single")

    def _add_clues(self, staging: Staging) -> None:
        """Add the clues of each question: its text with the first moment, then the other moments. Each counts as one word."""
        rows = [
            {"question_id": name, "clue": clue, "text": text, "word_end": clue + 1, "place": question["place"]}
            for name, question in self._questions.items()
            for clue, moment in enumerate(self.moments)
            for text in [f"{question['text']} ({moment})" if clue == 0 else moment]
        ]
        if rows:
            add_table(staging, "clues", self.name, self.dataset, rows, CLUES)


def add_table(
    staging: Staging, table: str, name: str, dataset: str, rows: Sequence[Mapping[str, Any]], columns: tuple[Column, ...]
) -> None:
    """Add rows to a table of the store, checked against a contract. Reports call the rows ``name``.

    The keys of the first row count for all; the key ``place`` says where a row is in its file.
    """
    kinds = {"integer": pl.Int64, "number": pl.Float64}
    schema = {column.name: kinds.get(column.type, pl.String) for column in columns} | {"place": pl.String}
    present = {key: kind for key, kind in schema.items() if any(key in row for row in rows[:1])}
    cells = [{key: clean(cell) if isinstance(cell := row[key], str) else cell for key in present} for row in rows]
    file = staging.add_rows(name, pl.DataFrame(cells, schema=present, orient="row", strict=False))
    staging.load(file, columns)
    staging.add(table, file, "select $dataset as dataset, * from loaded", {"dataset": dataset})


def align_questions(name: str, dataset: str, own: Content, staging: Staging, align: str | None) -> tuple[dict[str, str], bool]:
    """Return the stored id of each question of a file, none if its ids are kept, and whether advice offers to align them.

    ``align`` is as in ``ImportOptions``. If it is None, and ids are unknown or contradict the stored questions, a sentence of
    advice says whether they follow another order or are shifted. Raises ``Refused`` if they cannot be aligned as stated.
    """
    known = known_questions(staging, dataset)
    if not known:
        return {}, False
    if align is None:
        if all(question in known and agrees(row, known[question]) for question, row in own.items()):
            return {}, False
        fit = f"all {counted(len(own), 'question')} are those of the dataset"
        if by_content(own, known):
            sentence = f"{name}: {fit}, by text and reference answer, under other ids, as after a shuffle."
        elif (offset := shift_of(own, known)) is not None:
            sentence = f"{name}: with {offset:+d} added to each id, {fit}: the ids seem to be shifted."
        else:
            return {}, False
        staging.report.advice.append(sentence)
        return {}, True
    renamed = by_content(own, known) if align == CONTENT else shifted(own, known, int(align))
    if renamed is None:
        how = "by text and reference answer" if align == CONTENT else f"with {int(align):+d} added to each id"
        raise refuse(name, f"not every question is one of dataset {dataset!r} {how}")
    changed = sum(old != new for old, new in renamed.items())
    if changed:
        how = "by text and reference answer" if align == CONTENT else f"by adding {int(align):+d}"
        staging.report.lines.append(f"{name}: {counted(changed, 'id')} aligned with those of dataset {dataset} {how}")
    return renamed, False


def agrees(own: Sequence[str | None], known: Sequence[str | None]) -> bool:
    """Whether text and answer of a question do not contradict those of another; what is None, the file does not say."""
    return all(a is None or squashed(a) == squashed(b) for a, b in zip(own, known, strict=True))


def squashed(text: str | None) -> str:
    return " ".join((text or "").split())


def by_content(own: Content, known: Content) -> dict[str, str] | None:
    """Return the id in ``known`` of each question by its text and any answers; None unless each is exactly one of them."""
    compared = 2 if any(answer for _, answer in own.values()) else 1
    ids: dict[tuple[str, ...], list[str]] = {}
    for question, content in known.items():
        ids.setdefault((*map(squashed, content[:compared]),), []).append(question)
    fitting = {question: ids.get((*map(squashed, content[:compared]),), []) for question, content in own.items()}
    if not all(text for text, _ in own.values()) or any(len(some) != 1 for some in fitting.values()):
        return None
    return {question: some[0] for question, some in fitting.items()}


def shifted(own: Content, known: Content, offset: int) -> dict[str, str] | None:
    """Return ids with a number added; None unless each is then a question of ``known`` that is not contradicted."""
    if not all(re.fullmatch(r"\d+", question) for question in own):
        return None
    renamed = {question: str(int(question) + offset) for question in own}
    return renamed if all(new in known and agrees(own[old], known[new]) for old, new in renamed.items()) else None


def shift_of(own: Content, known: Content) -> int | None:
    """Return the only small number that, added to each id, aligns the questions by their answers; None without one."""
    fitting = [offset for offset in range(-MAX_SHIFT, MAX_SHIFT + 1) if offset and shifted(own, known, offset)]
    return fitting[0] if len(fitting) == 1 and any(answer for _, answer in own.values()) else None


def truth(correct: object) -> float:
    """Return a stated correctness as a number; 0 for an answer that has none, because it was not parsed or an abstention."""
    return {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}.get(str(correct).lower(), number(correct) or 0.0)


def rounding_of(share: float) -> float:
    """Return by how much a share can differ from the exact one: half a unit of its last decimal, at most half a percent.

    >>> round(rounding_of(0.85), 6), round(rounding_of(0.5), 6), round(rounding_of(0.8512), 6)
    (0.005, 0.005, 5e-05)
    """
    decimals = len(repr(round(share, 12)).partition(".")[2])
    return min(0.5 * 10.0**-decimals, 0.005) + 1e-9


def known_questions(staging: Staging, dataset: str) -> dict[str, tuple[str | None, str | None]]:
    """Return text and answer of the questions of a dataset by id, if it exists. Incoming questions replace stored ones."""
    sql = "select question_id, text, answer from known_questions where dataset = $d"
    return {question: (text, answer) for question, text, answer in staging.connection.execute(sql, {"d": dataset}).fetchall()}


def clean(text: object) -> str | None:
    r"""Return a value as text, with lone surrogates replaced, because stored files cannot hold them.

    >>> clean("a\ud800b"), clean(None), clean(7)
    ('a?b', None, '7')
    """
    return None if text is None else str(text).encode("utf-8", "replace").decode()


def _cell(value: object) -> str | None:
    return clean(json.dumps(value) if isinstance(value, dict | list) else value)


def number(value: object) -> float | None:
    """Return a number that a log states, perhaps as text; None for anything else.

    >>> number("-25.6"), number(1), number(True), number("many")
    (-25.6, 1.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def whole(value: object) -> int | None:
    """Return a cell as a whole number, None if it is not one.

    >>> whole(3), whole("3"), whole(3.0), whole("x"), whole(3.5), whole(None)
    (3, 3, 3, None, None, None)
    """
    if isinstance(value, str | float):
        exact = number(value)
        return int(exact) if exact is not None and exact.is_integer() and abs(exact) < 2**53 else None
    return value if isinstance(value, int) else None


def parsed(text: str) -> object:
    """Return the value of a text that is written as JSON or by Python; None if it is neither.

    >>> parsed('["a"]'), parsed("['a']"), parsed("[a]")
    (['a'], ['a'], None)
    """
    for parse in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return parse(text)
    return None


def as_list(value: object) -> list[Any]:
    """Return a list of a JSON document; an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_dict(value: object) -> dict[str, Any]:
    """Return an object of a JSON document; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_dicts(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list of a JSON document."""
    return [part for part in as_list(value) if isinstance(part, dict)]


def starts_with_keys(document: object, keys: Set[str]) -> bool:
    """Whether a JSON document is a list whose first entry is an object with some keys."""
    return as_dict(next(iter(as_list(document)), None)).keys() >= keys


def category_of(facts: Mapping[str, object]) -> str | None:
    """Return the category among the facts that a harness states about a question. Some tasks call it the subject.

    >>> category_of({"subject": "anatomy", "answer": 1}), category_of({"category": ["a", "b"]})
    ('anatomy', None)
    """
    named = (facts.get(key) for key in ("category", "subject"))
    return next((name for name in named if isinstance(name, str) and name), None)


def dataset_id(task: str) -> str:
    """Return the dataset id of a task or another name; empty if no character of the name is allowed in an id.

    >>> dataset_id("inspect_evals/MMLU_0_shot"), dataset_id("2024 ACF Nationals (Saturday)")
    ('mmlu-0-shot', '2024-acf-nationals-saturday')
    """
    return re.sub(r"[^a-z0-9]+", "-", task.rpartition("/")[2].lower()).strip("-")


def shares(logarithms: Sequence[float]) -> list[float] | None:
    """Turn the log-likelihoods of all options into probabilities (softmax). Return None if none is finite or one is NaN.

    >>> shares([0.0, 0.0]), shares([-5.0, float("-inf")])
    ([0.5, 0.5], [1.0, 0.0])
    """
    most = max(logarithms, default=math.nan)
    if not math.isfinite(most) or any(math.isnan(value) for value in logarithms):
        return None
    weights = [math.exp(value - most) for value in logarithms]
    total = sum(weights)
    return [weight / total for weight in weights]


def option_shares(likely: Iterable[tuple[str | None, float]], options: Sequence[str]) -> dict[str, float] | None:
    """Return the probabilities of all options from likely tokens, each an option or not; None if these lack an option.

    >>> option_shares([("A", -1.0), (None, -2.0), ("B", -1.0)], "AB"), option_shares([("A", 0.0)], "AB")
    ({'A': 0.5, 'B': 0.5}, None)
    """
    weights = dict.fromkeys(options, 0.0)
    for option, logprob in likely:
        if option in weights:
            weights[option] += math.exp(min(logprob, 0.0))
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()} if all(weights.values()) else None


def common_start(texts: Sequence[str]) -> str:
    """Return the longest common beginning of some texts.

    >>> common_start(["north", "nor"]), common_start(["a", "b"])
    ('nor', '')
    """
    differing = (n for n, characters in enumerate(zip(*texts, strict=False)) if len({*characters}) > 1)
    return texts[0][: next(differing, min(map(len, texts)))]


def letters(count: int) -> list[str]:
    """Return names for options without a text of their own: A, B, C and so on, numbers from the 27th on."""
    return [chr(ord("A") + index) if index < MAX_CLASSES else str(index + 1) for index in range(count)]


def with_choices(text: str, choices: Sequence[str]) -> str:
    """Return a question with its options, each on its own line after its letter.

    >>> print(with_choices("Which?", ["this", "that"]))
    Which?
    A. this
    B. that
    """
    return "\n".join([text, *(f"{letter}. {choice}" for letter, choice in zip(letters(len(choices)), choices, strict=True))])


def shared_classes(options: Sequence[Sequence[str]]) -> list[str] | None:
    """Return the options that all questions share, in order.

    None if they differ, if there is only one question, or if the options are fewer than 2 or more than ``MAX_CLASSES``.
    """
    first = list(options[0]) if len(options) > 1 else []
    same = all(list(other) == first for other in options)
    return first if same and 1 < len(first) <= MAX_CLASSES else None


def json_lines(file: TableFile, staging: Staging) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the objects of a JSON Lines file with their line numbers. A bad line is reported and left out."""
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
