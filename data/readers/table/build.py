"""From a table and the roles of its columns to questions and responses, as other readers pass them to the import."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from clueline.data.dataset_kinds import FORECAST, NO, YES
from clueline.data.duckdb_and_polars import frame, literal
from clueline.data.importing.column_mapping import OF_QUESTIONS, BadMapping, read_pattern
from clueline.data.importing.report import NEW_DATASET, Hint, Problem, Refused, refuse
from clueline.data.importing.staging import UNSTATED, ImportOptions, Staging
from clueline.data.importing.table_contract import (
    EVALUATED_AT,
    GRADE_PREFIX,
    MAX_ATTRIBUTE_VALUE_LENGTH,
    QUESTIONS,
    RESPONSES,
    Column,
    trimmed_text,
)
from clueline.data.importing.table_files import TableFile
from clueline.data.plurals import counted
from clueline.data.readers.responses import read_file, report_attributes
from clueline.data.readers.shared.evaluation_log import STATED, add_table, align_questions, dataset_id, squashed, with_choices
from clueline.data.readers.table.cells import (
    ABSTENTIONS,
    DECLINED,
    MISSING,
    OUT_OF,
    ROUNDING,
    TRUTH,
    YES_AND_NO,
    agree,
    answer,
    are_labels,
    given,
    labelled_answer,
    listed,
    number,
    truth,
)
from clueline.data.readers.table.columns import Column as Values
from clueline.data.readers.table.columns import Table
from clueline.data.readers.table.guessing import Guesses
from clueline.data.readers.table.names import has_word
from clueline.data.readers.table.roles import options_named
from clueline.data.store.answer_states import SCORES

SOURCE = "Table"  # source of datasets that this reader creates, and to which it adds questions
OPTIONS = "options"  # elicitation of probabilities of options
MIN_ALIKE = 10  # questions without texts that must have the same answers to be those of a stored dataset
QUESTION_COLUMNS = ("question_id", "text", "answer", "category")
RESPONSE_COLUMNS = tuple(column.name for column in RESPONSES if column.name not in ("token_logprobs", "buzz"))
ROUNDED = "confidences that exceeded 0 or 1 by a rounding error"
NO_PERCENTAGES = "no number in this column exceeds 1 ({:g} is the greatest), so these are no percentages"
# Roles of a large CSV that is read in place.
IN_PLACE = {"question_id", "question", "choices", "answer", "category", "guess", "correct", "confidence", "model", "elicitation"}
IN_PLACE |= {"sample", "dataset", "attribute"}
# Words of what several questions are about, which are no independent ones.
OF_GROUPS_OF_QUESTIONS = frozenset(["passage", "context", "document", "article", "story", "paragraph", "chapter", "cluster"])
UNREADABLE = "no confidence could be read"


@dataclass
class Questions:
    """The questions of one dataset, by id, with their attributes and where they are in the table."""

    rows: dict[str, dict[str, str | None]] = field(default_factory=dict)
    attributes: dict[tuple[str, str], str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    alignable: bool = False  # whether a sentence of advice says how their ids could become those of the dataset


@dataclass
class Builder:
    """Builds the rows of one table. ``dataset`` and ``model`` are names for what the table does not name."""

    table: Table
    guesses: Guesses
    options: ImportOptions
    dataset: str
    model: str

    def __post_init__(self) -> None:
        self.mapping = self.guesses.mapping
        self.table = replace(self.table, columns=self.table.columns | self.guesses.read_as)
        self.rows = range(len(self.table))
        self.rounded = self.unresolved = 0
        self.unread: Counter[str] = Counter()

    def cells(self, role: str) -> list[str | None]:
        """Return the cells of a role, None where they are missing. Without a column, all are missing."""
        name = self.mapping.column(role)
        return [given(cell) for cell in self.table.columns[name]] if name else [None] * len(self.table)

    # -- questions -----------------------------------------------------------------------------------------------------

    def question_ids(self) -> list[str]:
        """Return the id of each row's question: as the table states it, from its text, or the number of the row."""
        stated, texts = self.cells("question_id"), self.cells("question")
        return [stated[n] or _digest(texts[n]) or str(n + 1) for n in self.rows]

    def datasets(self) -> list[str]:
        """Return the id of each row's dataset."""
        if self.options.dataset:
            return [self.options.dataset] * len(self.table)
        return [dataset_id(stated or self.dataset) or "table" for stated in self.cells("dataset")]

    def questions(self, ids: Sequence[str], datasets: Sequence[str]) -> dict[str, Questions]:
        """Return the questions by dataset. Rows of one question must not contradict each other."""
        by_dataset: dict[str, Questions] = {}
        texts, choices, answers = self.cells("question"), self.cells("choices"), self.references()
        categories = self.cells("category")
        for n in self.rows:
            if self.is_forecast and answers[n] is None:
                self.unresolved += 1
                continue
            text, offered = texts[n], listed(choices[n])
            if text and offered and offered[0] not in text:
                text = with_choices(text, offered)
            right = self.outcome(answers[n]) if self.answer_role == "outcome" else answers[n]
            row = {"text": text, "answer": right, "category": categories[n], "place": self.table.places[n]}
            questions = by_dataset.setdefault(datasets[n], Questions())
            before = questions.rows.setdefault(ids[n], row)
            for column, role in (("text", "question"), ("answer", self.answer_role), ("category", "category")):
                if before[column] is None:
                    before[column] = row[column]
                elif row[column] is not None and row[column] != before[column]:
                    reason = f"question {ids[n]!r} has a different {column} at {before['place']}"
                    name, value = self.mapping.column(role), str(row[column])[:80]
                    questions.problems.append(Problem(self.table.name, None, name, value, reason, row=row["place"]))
        return by_dataset

    def references(self) -> list[str | None]:
        """Return the reference answers. If these say true where guesses say yes, they become what guesses say."""
        answers = self.cells(self.answer_role)
        words = {TRUTH[word.lower()]: word for word in self.guess_cells() if word and word.lower() in YES_AND_NO}
        if self.is_forecast or not words or not all(text is None or text.lower() in YES_AND_NO for text in answers):
            return answers
        return [text if text is None else words.get(TRUTH[text.lower()], text) for text in answers]

    @property
    def answer_role(self) -> str:
        return "outcome" if self.is_forecast else "answer"

    @property
    def is_forecast(self) -> bool:
        return "outcome" in self.mapping.roles

    @staticmethod
    def outcome(text: str | None) -> str | None:
        value = truth(text)
        return None if value is None else {1.0: YES, 0.0: NO}.get(value, repr(value))

    # -- responses -----------------------------------------------------------------------------------------------------

    def responses(self, ids: Sequence[str], datasets: Sequence[str]) -> list[dict[str, object]]:
        """Return a row for each row of the table and each of its confidences, with ``dataset``, ``place`` and ``row``."""
        models, guesses, corrects = self.cells("model"), self.guess_cells(), self.corrects()
        samples, elicitations, grades, words = self.samples(), self.elicitations(), self.cells("correct"), self.grade_words()
        parsed, abstained = ([*map(truth, self.cells(role))] for role in ("parsed", "abstained"))
        failed, clues, outcomes = self.failures(), self.cells("clue"), self.cells("outcome")
        not_answered = ABSTENTIONS | {word for word, share in words.items() if share is None}
        declining = ABSTENTIONS - {text.lower() for text in self.cells("answer") if text}
        rows: list[dict[str, object]] = []
        for name, shares, distributions in [*self.confidences(), *self.scores()]:
            score = next((role for role in SCORES if name in self.mapping.roles.get(role, ())), None)
            stated = [*map(given, self.table.columns.get(name, [None] * len(self.table)))]
            for n in self.rows:
                if self.is_forecast and outcomes[n] is None:
                    continue
                state, share, correct, guess, is_failed = None, shares[n], corrects[n], guesses[n], failed[n]
                declined = abstained[n] == 1 or (guess or "").lower().rstrip(".!") in declining
                if declined or (grades[n] or "").lower() in not_answered or (stated[n] or "").lower() in DECLINED:
                    state = "abstained"
                elif not guess and self.mapping.column("guess") and (correct is None or parsed[n] == 0):
                    state = "unparsed"
                elif share is None and distributions[n] is None and not is_failed:
                    state = "no_confidence"
                elif score and not is_failed:
                    state = "scored"
                scores = {role: repr(share) if state == "scored" and role == score else None for role in SCORES}
                if state not in (None, "unparsed"):
                    share = None
                distribution = None if state else distributions[n]
                rows.append({
                    "dataset": datasets[n], "model": models[n] or self.options.model or self.model,
                    "elicitation": self.options.elicitation or elicitations[n].format(name), "question_id": ids[n],
                    "clue": clues[n], "guess": YES if self.is_forecast and not is_failed else guess, "confidence": share,
                    "options": distribution, "correct": None if state in ("abstained", "unparsed") else correct,
                    "failed": is_failed, "state": state, "sample": samples[n], "place": self.table.places[n], "row": n, **scores,
                })  # fmt: skip
        return rows

    def guess_cells(self) -> list[str | None]:
        name = self.mapping.column("guess")
        if not name:
            shares = self.shares_of_options(self.cells("answer"))
            best = [max(shares, key=lambda option: shares[option][n] or 0, default=None) for n in self.rows]
            return [option if option and shares[option][n] else None for n, option in enumerate(best)]
        # A model may well answer "none" or "-".
        texts = [(cell or "").strip() for cell in self.table.columns[name]]
        if name == self.guesses.stated_in:
            texts = [labelled_answer(read_pattern(self.mapping.pattern).without(text)) for text in texts]
        return [text if text.lower() not in ("", "nan", "<na>") else None for text in texts]

    def corrects(self) -> list[float | None]:
        """Return whether each answer is right, as stated or by comparison of labels; None where the rules of grading decide."""
        words, wrongs = self.grade_words(), self.cells("wrong")
        stated = [words[text.lower()] if text and text.lower() in words else truth(text) for text in self.cells("correct")]
        if any(wrongs):
            stated = [None if (wrong := truth(text)) is None else 1 - wrong for text in wrongs]
        answers = self.cells("answer")
        if any(answers) and are_labels(answers):
            for n, (guess, right) in enumerate(zip(self.guess_cells(), answers, strict=True)):
                if stated[n] is None and guess is not None and right is not None:
                    stated[n] = float(agree(guess, right))
        return stated

    def grade_words(self) -> dict[str, float | None]:
        """Return what words of grades mean, by the analyst; empty if grades say right or wrong by themselves."""
        name = self.mapping.column("correct")
        return self.mapping.words if name and not Values(name, self.table.columns[name]).says_truth else {}

    def failures(self) -> list[bool]:
        """Return whether each call failed: as a column of yes and no says, or by a message."""
        name = self.mapping.column("failed")
        says_truth = name and Values(name, self.table.columns[name]).says_truth
        return [truth(text) == 1 if says_truth else text is not None for text in self.cells("failed")]

    def samples(self) -> list[str | None]:
        """Return what tells several answers of a run to a question apart: the sample and the told threshold."""
        samples, thresholds = self.cells("sample"), self.cells("threshold")
        name = self.mapping.column("threshold")
        parts = [[s for s in (samples[n], f"{name} {thresholds[n]}" if thresholds[n] else None) if s] for n in self.rows]
        return [", ".join(part) or None for part in parts]

    def elicitations(self) -> list[str]:
        """Return a pattern for the elicitation of each row, into which the name of the column of confidence is inserted."""
        stated, roles = self.cells("elicitation"), self.mapping.roles
        several = sum(len(roles.get(role, ())) for role in ("confidence", *SCORES)) + ("options" in roles) > 1
        patterns = []
        for n in self.rows:
            how = (stated[n] or "").replace("{", "{{").replace("}", "}}")
            patterns.append(f"{how}, {{}}" if how and several else how or "{}")
        return patterns

    def confidences(self) -> list[tuple[str, list[float | None], list[str | None]]]:
        """Return each confidence: its name, its share for each row, and the distribution over options as JSON."""
        nothing: list[str | None] = [None] * len(self.table)
        result = [(name, self.shares(name), nothing) for name in self.mapping.roles.get("confidence", ())]
        columns = self.mapping.roles.get("options", ())
        if self.guesses.stated_in:
            try:
                shares = read_pattern(self.mapping.pattern).column(self.table.columns[self.guesses.stated_in])
            except BadMapping as error:
                raise refuse(self.table.name, str(error), column=self.guesses.stated_in, hint="pattern") from error
            result.append((STATED, shares, nothing))
        if not result and not columns and not {*SCORES} & self.mapping.roles.keys():
            return [(UNSTATED, [None] * len(self.table), nothing)]
        if columns:
            guesses = self.guess_cells()
            by_option = self.shares_of_options((*guesses, *self.cells("answer")))
            by_form = {answer(option): shares for option, shares in by_option.items()}
            chosen = [by_form.get(answer(guess), nothing)[n] if (guess := guesses[n]) else None for n in self.rows]
            whole = [
                json.dumps({option: shares[n] for option, shares in by_option.items()})
                if self.guesses.options_sum_to_one and chosen[n] is not None else None
                for n in self.rows
            ]  # fmt: skip
            result.append((OPTIONS, [share if isinstance(share, float) else None for share in chosen], whole))
        if self.is_forecast:
            result = [(name, s, [p if p is None else json.dumps({YES: p, NO: 1 - p}) for p in s]) for name, s, _ in result]
        return result

    def shares_of_options(self, answers: Sequence[str | None]) -> dict[str, list[float | None]]:
        """Return the probabilities of each option, as ``answers`` spell them. Of two options, one may have no column."""
        names = self.mapping.roles.get("options", ())
        named = options_named(names, answers)
        shares = {named.get(name, name): self.shares(name) for name in names}
        if len(names) == 1 and self.guesses.options_sum_to_one:
            spelled = {answer(text): text for text in answers if text}
            others = [text for form, text in spelled.items() if form != answer(next(iter(shares)))]
            shares[others[0]] = [share if share is None else 1 - share for share in shares[named[names[0]]]]
        return shares

    def scores(self) -> list[tuple[str, list[float | None], list[str | None]]]:
        """Return each score that is no probability, as ``confidences`` does."""
        result: list[tuple[str, list[float | None], list[str | None]]] = []
        for name in (name for role in SCORES for name in self.mapping.roles.get(role, ())):
            texts = [*map(given, self.table.columns[name])]
            read = [*map(number, texts)]
            self.unread[name] += read.count(None) - texts.count(None)
            result.append((name, [numeral and numeral[0] for numeral in read], [None] * len(read)))
        return result

    def shares(self, name: str) -> list[float | None]:
        """Return a column of confidences from 0 to 1."""
        values = Values(name, self.table.columns[name])
        texts = values.texts
        plain = [numeral[0] for text in texts if text and (numeral := number(text)) and not numeral[1]]
        top = self.guesses.scales.get(name, 1)
        percent = self.mapping.percent if top == 1 else False
        if percent is None:
            percent = values.scale == "percent"
        elif percent and plain and max(plain) <= 1 + ROUNDING:
            raise refuse(self.table.name, NO_PERCENTAGES.format(max(plain)), column=name, hint="unit")
        shares: list[float | None] = []
        for text in texts:
            numeral = None if text is None else number(text)
            if text is not None and text.lower() in self.mapping.words:
                shares.append(self.mapping.words[text.lower()])
            elif numeral is None:
                self.unread[name] += text is not None and text.lower() not in DECLINED
                shares.append(None)
            else:
                shares.append(self.inside(numeral[0] / (100 if percent or numeral[1] else top)))
        return shares

    def inside(self, share: float) -> float:
        """Return a share without the rounding error by which it exceeds 0 or 1."""
        nearest = min(max(share, 0.0), 1.0)
        if share == nearest or abs(share - nearest) > ROUNDING:
            return share
        self.rounded += 1
        return nearest

    def attributes(self, ids: Sequence[str], taken: Set[str]) -> tuple[list[str], list[str]]:
        """Return the columns that become attributes of questions, and of responses.

        An attribute of questions has one value for each of them, although they are answered several times, or is named after
        what several questions share, such as a passage, or is stated to be one. Those in ``taken`` are attributes of responses
        already.
        """
        stated = [name for role in OF_QUESTIONS for name in self.mapping.roles.get(role, ())]
        names = [name for role in ("attribute", "threshold") for name in self.mapping.roles.get(role, ())]
        known = (name for name in names if name in self.table.of_questions or self.groups_questions(name, ids))
        of_questions = [name for name in known if safe_name(name) not in taken]
        for name in names if len({*ids}) <= len(ids) / 2 else ():
            pairs = {*zip(ids, map(given, self.table.columns[name]), strict=True)}
            varies = len(pairs) == len({*ids}) and len({value for _, value in pairs}) > 1
            if varies and safe_name(name) not in taken and name not in of_questions:
                of_questions.append(name)
        return [*stated, *of_questions], [name for name in names if name not in of_questions]

    def attribute_problems(self, ids: Sequence[str], taken: Set[str]) -> list[Problem]:
        """Return why columns that are stated to say something of the question cannot: a question has two of their values."""
        problems = []
        for name in (name for role in OF_QUESTIONS for name in self.mapping.roles.get(role, ())):
            if safe_name(name) in taken:
                reason = "in this dataset, this is an attribute of responses already; give the column another name"
                problems.append(Problem(self.table.name, 1, name, None, reason))
                continue
            first: dict[str, str] = {}
            for n, text in enumerate(map(given, self.table.columns[name])):
                if text is not None and first.setdefault(ids[n], text) != text:
                    reason = f"question {ids[n]!r} has several values here, so this says nothing of the question"
                    problems.append(Problem(self.table.name, None, name, text[:80], reason, row=self.table.places[n]))
                    break
        return problems

    def groups_questions(self, name: str, ids: Sequence[str]) -> bool:
        """Whether a column says which passage, or the like, a question is about: one for each question, shared by several."""
        pairs = {*zip(ids, map(given, self.table.columns[name]), strict=True)}
        groups = {value for _, value in pairs if value is not None}
        shared = 1 < len(groups) <= len({*ids}) / 2
        return shared and len(pairs) == len({*ids}) and has_word(name, OF_GROUPS_OF_QUESTIONS)


def _stage_questions(
    builder: Builder, staging: Staging, ids: Sequence[str], datasets: Sequence[str]
) -> tuple[dict[str, str], dict[tuple[str, str], str], list[str]] | None:
    """Pass datasets that are not stored and questions to the import.

    Returns the datasets in the store by those of the table, the ids of questions that the store calls otherwise, and the columns
    that become attributes of responses; None if the questions have problems.
    """
    table = builder.table
    questions = builder.questions(ids, datasets)
    kind = FORECAST if builder.is_forecast else "single"
    renamed: dict[tuple[str, str], str] = {}
    homes: dict[str, str] = {}
    for dataset, asked in questions.items():
        if asked.problems:
            staging.report.problems += asked.problems
            continue
        home = builder.options.dataset or _same_questions(staging, asked, kind) or dataset
        homes[dataset] = home
        if home != dataset:
            staging.report.lines.append(f"{table.name}: its questions are those of dataset {home}")
        contents = {question: (row["text"], row["answer"]) for question, row in asked.rows.items()}
        known_ids = {} if builder.options.align else _as_known(staging, home, asked)
        if not known_ids:
            known_ids, asked.alignable = align_questions(table.name, home, contents, staging, builder.options.align)
        renamed |= {(dataset, question): known for question, known in known_ids.items()}
    if staging.report.problems:
        return None
    taken = _attributes_of_responses(staging, homes.values())
    if problems := builder.attribute_problems(ids, taken):
        staging.report.problems += problems
        return None
    of_questions, of_responses = builder.attributes(ids, taken)
    for dataset, asked in questions.items():
        asked.rows = {renamed.get((dataset, question), question): row for question, row in asked.rows.items()}
        for name in of_questions:
            for question, home, cell in zip(ids, datasets, table.columns[name], strict=True):
                if home == dataset and (value := given(cell)) is not None:
                    asked.attributes[renamed.get((dataset, question), question), name] = value
        _add_questions(builder, staging, homes[dataset], asked, kind, dataset)
    return homes, renamed, of_responses


def stage(builder: Builder, staging: Staging) -> None:
    """Pass a table to the import: datasets that are not stored, questions, responses and attributes."""
    table = builder.table
    ids, datasets = builder.question_ids(), builder.datasets()
    if (staged := _stage_questions(builder, staging, ids, datasets)) is None:
        return
    homes, renamed, of_responses = staged
    rows = builder.responses(ids, datasets)
    for row in rows:
        dataset = str(row["dataset"])
        row["question_id"] = renamed.get((dataset, str(row["question_id"])), row["question_id"])
        row["dataset"] = homes[dataset]
    _add_responses(builder, staging, rows, of_responses)
    if builder.unresolved:
        rows_left_out = counted(builder.unresolved, "row")
        staging.report.warnings.append(f"{table.name}: {rows_left_out} of questions without an outcome, left out")
    if builder.rounded:
        staging.report.repaired[ROUNDED] += builder.rounded
    for name, count in (+builder.unread).items():
        cells = f"{counted(count, 'cell')} of {name}; these answers are kept without one"
        staging.report.warnings.append(f"{table.name}: {UNREADABLE} from {cells}")


def why_in_memory(builder: Builder) -> str:
    """Say why a table cannot be read in place: its cells must be compared with each other, or read by words. Blank if it can."""
    mapping, options = builder.mapping, builder.options
    lacking = sorted({"question_id", "correct", "confidence"} - mapping.roles.keys())
    further = sorted(mapping.roles.keys() - IN_PLACE) + ["dataset"] * bool(mapping.column("dataset") and not options.dataset)
    confidences = (text or "" for name in mapping.roles.get("confidence", ()) for text in builder.table.columns[name])
    if mapping.words or builder.guesses.stated_in or any(map(OUT_OF.fullmatch, confidences)):
        return "confidences are in words or in a text"
    if builder.guesses.scales:
        return f"the numbers of {next(iter(builder.guesses.scales))} are on a scale"
    if builder.guesses.read_as:
        return f"the cells of {next(iter(builder.guesses.read_as))} are read in another form"
    return f"it has no column for {lacking[0]}" if lacking else f"it has a column for {further[0]}" if further else ""


def stage_large(builder: Builder, staging: Staging, path: Path) -> None:
    """Pass a large CSV to the import as ``stage`` does, but read its cells in place. The builder's table has some of its rows."""
    table, mapping, options = builder.table, builder.mapping, builder.options
    missing = ", ".join(map(literal, sorted(MISSING)))
    number_of = {name: f"c{n}" for n, name in enumerate(table.columns)}
    own = {name: name for name in number_of.values()}
    # Nearly every cell has neither spaces around it nor the first letter of a word for a missing value.
    plain_cell = "case when ascii({0}) > 47 and ascii({0}) not in (60, 78, 110) and not suffix({0}, ' ') then {0}"
    given = {
        name: f"{plain_cell.format(name)} when lower({trimmed_text(name)}) not in ({missing}) then {trimmed_text(name)} end"
        for name in own
    }
    of_role = {role: number_of[names[0]] for role, names in mapping.roles.items()}
    confidences, guess, right = mapping.roles["confidence"], of_role.get("guess"), of_role["correct"]
    roles = [role for role in ("question_id", "question", "choices", "answer", "category") if role in of_role]

    def opened(*steps: dict[str, str]) -> TableFile:
        file = staging.open(path, table.name)
        file.dialect, file.steps = (table.delimiter or ",", [*table.columns]), [*steps]
        return file

    def pass_questions() -> tuple[str, dict[str, str], list[str | None]] | None:
        """Return their dataset, the ids of those that it calls otherwise, and their answers; None if they have problems."""
        facts = "".join(f", min({role}) as {role}, count(distinct {role}) > 1 as other_{role}" for role in roles[1:])
        by_id = "from loaded where question_id is not null group by 1 order by min(ordinal)"
        once = frame(staging.connection, f"select question_id{facts} {by_id}")
        for role in roles[1:]:
            for question in once.filter(pl.col(f"other_{role}"))["question_id"].to_list()[:1]:
                raise refuse(table.name, f"question {question!r} has different values", column=mapping.column(role))
        ids = once["question_id"].to_list()
        cells = {mapping.roles[role][0]: once[role].to_list() for role in roles}
        asked = replace(builder.guesses, mapping=replace(mapping, roles={role: mapping.roles[role] for role in roles}))
        rows = Table(table.name, cells, [f"question {name}" for name in ids])
        questions = Builder(rows, asked, options, builder.dataset, builder.model)
        if (staged := _stage_questions(questions, staging, ids, questions.datasets())) is None:
            return None
        (home,) = {*staged[0].values()}
        return home, {old: new for (_, old), new in staged[1].items()}, questions.cells("answer")

    def pass_responses(home: str, renamed: Mapping[str, str], answers: Sequence[str | None]) -> None:
        words = {value: ", ".join(literal(word) for word, says in TRUTH.items() if says == value) for value in (0.0, 1.0)}
        truths = f"when lower({right}) in ({words[1.0]}) then '1' when lower({right}) in ({words[0.0]}) then '0'"
        rows = own | {right: f"case when {right} in ('true', 'false', '0', '1') then {right} {truths} else {right} end"}
        if renamed:
            sql = "create or replace table renamed as select unnest($old::varchar[]) as old, unnest($new::varchar[]) as new"
            staging.connection.execute(sql, {"old": [*renamed], "new": [*renamed.values()]})
            stated = of_role["question_id"]
            rows[stated] = f"coalesce((select new from renamed where old = {stated}), {stated})"
        declined = f"lower({right}) in ({', '.join(map(literal, sorted(ABSTENTIONS)))})"
        if guess:
            reply = trimmed_text(guess)
            first = given | {guess: f"{plain_cell.format(guess)} when lower({reply}) not in ('nan', '<na>') then {reply} end"}
            declining = ", ".join(map(literal, sorted(ABSTENTIONS - {text.lower() for text in answers if text})))
            declined += f" or strlen({guess}) between 3 and 20 and rtrim(lower({guess}), '.!') in ({declining})"
            unparsed = f"when {guess} is null and {right} is null then 'unparsed'"
        else:
            first, unparsed = given, ""
        state = f"case when {declined} then 'abstained' {unparsed} end"
        for name in confidences:
            values, share = Values(name, table.columns[name]), number_of[name]
            percent = values.scale == "percent" if mapping.percent is None else mapping.percent
            plain = f"replace({share}, ',', '.')" if any("," in text for text in values.present) else share
            if any("%" in text for text in values.present):
                number = f"try_cast(rtrim({plain}, '% ') as double) / {1 if percent else 100}"
                plain = f"case when suffix({plain}, '%') then ({number})::varchar else {plain} end"
            near = f"when try_cast({share} as double) - 1 between 0 and {ROUNDING} then '1'"
            near += f" when try_cast({share} as double) between {-ROUNDING} and 0 then '0'"
            near = f"case when ascii({share}) in (46, 48) then {share} {near} else {share} end"
            final = {role: cell for role, cell in of_role.items() if role in ("question_id", "sample", "guess", "model")}
            final |= {"correct": f"case when state is null then {right} end"}
            final |= {"confidence": f"case when state is null or state = 'unparsed' then {near} end", "state": "state"}
            if how := of_role.get("elicitation"):
                final["elicitation"] = f"{how} || {literal(f', {name}')}" if len(confidences) > 1 else how
            final |= {safe_name(other): number_of[other] for other in mapping.roles.get("attribute", ())}
            file = opened(first, rows | {share: plain}, own | {"state": state}, final)
            named = replace(options, model=options.model or builder.model, elicitation=options.elicitation or name)
            read_file(file, staging, replace(named, dataset=home, percent=percent, align=None))
            range_ = "select min(confidence) filter (confidence > 0), max(confidence) from loaded"
            least, most = staging.connection.execute(range_).fetchall()[0]
            if percent and (most or 1) <= 0.01:
                raise refuse(table.name, NO_PERCENTAGES.format(100 * most), column=name, hint="unit")
            if percent and mapping.percent is None and (least or 1) < 0.01:
                reason = f"its numbers run from {100 * least:g} to {100 * most:g}: are these percentages?"
                raise refuse(table.name, reason, column=name, hint="percent")

    if options.dataset and roles == ["question_id"]:  # where only ids are new, one reading is enough
        pass_responses(options.dataset, {}, [])
        pass_questions()
        return
    staging.load(opened({role: given[of_role[role]] for role in roles}), (*(Column(role) for role in roles),))
    if passed := pass_questions():
        pass_responses(*passed)


def _attributes_of_responses(staging: Staging, datasets: Collection[str]) -> set[str]:
    """Return the attributes that responses of these datasets have, stored or in this import."""
    sql = "select distinct attribute from store.response_attributes where list_contains($datasets::varchar[], dataset)"
    stored = {name for (name,) in staging.connection.execute(sql, {"datasets": [*datasets]}).fetchall()}
    return stored | {name for dataset, name in staging.response_attributes if dataset in datasets}


def _same_questions(staging: Staging, questions: Questions, kind: str) -> str | None:
    """Return the only dataset, stored or incoming, that has all these questions, with the same texts and answers."""
    rows = questions.rows
    if not all(row["text"] or (row["answer"] and len(rows) >= MIN_ALIKE) for row in rows.values()):
        return None
    sql = f"select q.* from known_questions q join datasets d using (dataset) where d.kind = {literal(kind)}"
    alike: Counter[str] = Counter()
    for row in frame(staging.connection, sql).to_dicts():
        own = rows.get(row["question_id"])
        alike[row["dataset"]] += own is not None and all(own[key] in (None, row[key]) for key in ("text", "answer"))
    fitting = [dataset for dataset, count in alike.items() if count == len(rows)]
    return fitting[0] if len(fitting) == 1 else None


def _as_known(staging: Staging, dataset: str, questions: Questions) -> dict[str, str]:
    """Return the ids that a dataset has for questions of the same texts, if it has none of the table's ids."""
    sql = "select question_id, text from store.questions where dataset = $d"
    stored = dict(staging.connection.execute(sql, {"d": dataset}).fetchall())
    if stored.keys() & questions.rows.keys():
        return {}
    by_text = {squashed(text): question for question, text in stored.items() if text}
    texts = {question: squashed(row["text"]) for question, row in questions.rows.items()}
    return {question: by_text[text] for question, text in texts.items() if text in by_text}


def _add_questions(builder: Builder, staging: Staging, dataset: str, questions: Questions, kind: str, stated: str) -> None:
    """Create a dataset, or add the questions that a dataset of tables lacks. Other datasets must have them."""
    name, known, rows = builder.table.name, staging.dataset(dataset), dict(questions.rows)
    is_stored = not staging.is_incoming(dataset)
    source, order = ("store.questions", "order by position") if is_stored else ("questions_read", "")
    sql = f"select {', '.join(QUESTION_COLUMNS)} from {source} where dataset = $d {order}"
    others = {row["question_id"]: row for row in frame(staging.connection, sql, {"d": dataset}).to_dicts()}
    facts = frame(staging.connection, "select * from store.datasets where dataset = $d", {"d": dataset}).to_dicts()
    of_tables = not is_stored or any(row["source"] == SOURCE for row in facts)
    for question, row in rows.items() if of_tables else ():
        for column, role in (("text", "question"), ("answer", builder.answer_role)):
            value, other = row[column], others.get(question, row)[column]
            if value is not None and other is not None and value != other:
                reason = f"question {question!r} has a different {column} in dataset {dataset!r}"
                stated_as = builder.mapping.column(role)
                hint: Hint = "align" if questions.alignable else "dataset"
                staging.report.problems.append(Problem(name, None, stated_as, value[:80], reason, hint, row["place"]))
    if known and known["kind"] != kind and FORECAST in (known["kind"], kind):
        reason = f"dataset {dataset!r} is of kind {known['kind']}, but the questions of this table are of kind {kind}"
        raise refuse(name, reason, hint="dataset")
    if known is None:
        named = (text for text in builder.cells("dataset") if text and dataset_id(text) == stated)
        title = builder.options.title or next(named, builder.options.dataset or builder.dataset)
        classes = [YES, NO] if kind == FORECAST else list(builder.options.classes) or None
        staging.add_dataset(name, dataset, kind=kind, title=title, source=SOURCE, classes=classes)
    else:
        rows = {question: row for question, row in rows.items() if question not in others}
    if known and is_stored:
        if rows and (len(rows) == len(questions.rows) or (not of_tables and not builder.mapping.column("question_id"))):
            raise Refused([_unknown_questions(builder, staging, dataset, questions, rows)])
        if not of_tables or not rows:
            return  # the checks report questions that the dataset does not have
        staging.recut.add(dataset)
        kept = {key: facts[0][key] for key in ("title", "kind", "licence", "source", "simulated", "note", "classes")}
        staging.add_dataset(name, dataset, **kept)
        rows = {question: row | {"place": f"question {question}"} for question, row in others.items()} | rows
    if not rows:
        return
    add_table(staging, "questions", name, dataset, [{"question_id": question} | row for question, row in rows.items()], QUESTIONS)
    attributes = [
        {"question_id": question, "attribute": safe_name(key), "value": value}
        for (question, key), value in questions.attributes.items()
        if question in rows and len(value) <= MAX_ATTRIBUTE_VALUE_LENGTH
    ]
    if attributes:
        add_table(staging, "attributes", name, dataset, attributes, (*map(Column, attributes[0]),))


def _unknown_questions(
    builder: Builder, staging: Staging, dataset: str, questions: Questions, unknown: Mapping[str, Mapping[str, str | None]]
) -> Problem:
    """Return what is wrong with questions that a dataset lacks, in the words of the table, and which datasets have them all."""
    stated = builder.mapping.column("question_id")
    column = stated or builder.mapping.column("question")
    question, row = next(iter(unknown.items()))
    every = len(unknown) == len(questions.rows)
    which = (
        f"none of the {counted(len(unknown), 'question')}" if every else f"not {len(unknown):,} of the {len(questions.rows):,}"
    )
    reason = f"dataset {dataset!r} has {which} of this file"
    value = question if stated else (row["text"] or question)[:80]
    fitting = tuple(name for name in _datasets_with(staging, questions) if name != dataset)
    if fitting:
        reason += f"; dataset {' or '.join(map(repr, fitting))} has all of them"
    return Problem(builder.table.name, None, column, value, reason, "dataset", row["place"], (*fitting, NEW_DATASET))


def _datasets_with(staging: Staging, questions: Questions) -> list[str]:
    """Return the datasets that have all these questions, by id or by text."""
    ids_of_texts = {squashed(row["text"]): question for question, row in questions.rows.items() if row["text"]}
    matched: dict[str, set[str]] = {}
    for known in frame(staging.connection, "select dataset, question_id, text from known_questions").to_dicts():
        own = questions.rows.get(known["question_id"])
        if own is not None and own["text"] in (None, known["text"]):
            matched.setdefault(known["dataset"], set()).add(known["question_id"])
        elif squashed(known["text"]) in ids_of_texts:
            matched.setdefault(known["dataset"], set()).add(ids_of_texts[squashed(known["text"])])
    return [dataset for dataset, some in matched.items() if len(some) == len(questions.rows)]


def safe_name(name: str) -> str:
    """Return the name of an attribute: that of its column, unless Clueline's own tables have a column of this name.

    >>> safe_name("difficulty"), safe_name("subject")
    ('difficulty (stated)', 'subject')
    """
    own = {column.name for column in (*QUESTIONS, *RESPONSES)} | {"ordinal", "place", *SCORES}
    return f"{name} (stated)" if name.lower() in own or name.startswith(GRADE_PREFIX) else name


def _add_responses(builder: Builder, staging: Staging, rows: Sequence[Mapping[str, object]], attributes: Sequence[str]) -> None:
    if not rows:
        return
    table = builder.table
    cells = {safe_name(name): [*map(given, table.columns[name])] for name in attributes}
    longest = {name: max((len(value) for value in values if value), default=0) for name, values in cells.items()}
    too_long = {name: most for name, most in longest.items() if most > MAX_ATTRIBUTE_VALUE_LENGTH}
    report_attributes(table.name, staging, (), too_long)
    sql = "select dataset, attribute from store.attributes union select dataset, attribute from attributes_read"
    datasets = {row["dataset"] for row in rows}
    of_questions = {name for dataset, name in staging.connection.execute(sql).fetchall() if dataset in datasets}
    scores = [role for role in SCORES if role in builder.mapping.roles]
    schema = {
        **dict.fromkeys(("dataset", *RESPONSE_COLUMNS, *scores, "place"), pl.String),
        "confidence": pl.Float64, "correct": pl.Float64, "failed": pl.Boolean,
    }  # fmt: skip
    data = pl.DataFrame([{key: row[key] for key in schema} for row in rows], schema=schema, orient="row")
    numbers = [int(str(row["row"])) for row in rows]
    kept = [name for name in cells if name not in too_long and name not in of_questions]
    if builder.mapping.column("date"):
        cells[EVALUATED_AT.name] = builder.cells("date")
        kept = [name for name in kept if name != EVALUATED_AT.name] + [EVALUATED_AT.name]
    data = data.with_columns(pl.Series(name, [cells[name][n] for n in numbers], dtype=pl.String) for name in kept)
    as_read = replace(builder.options, dataset=None, percent=False, align=None)  # what these say, the rows have by now
    read_file(staging.add_rows(table.name, data), staging, as_read)


def _digest(text: str | None) -> str | None:
    """Return an id for a question of which only the text is known; spaces make no difference."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12] if text else None
