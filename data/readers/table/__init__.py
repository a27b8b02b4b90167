"""Tables of other projects: columns found by their names and values, mapped to Clueline's own, and remembered."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from weakref import WeakKeyDictionary

from clueline.data.importing.column_mapping import UNSTATED_SHARE, ColumnMapping, offers_of
from clueline.data.importing.evaluation_times import split_trailing_day, stem_of
from clueline.data.importing.file_folder_or_zip import Incoming, files_below
from clueline.data.importing.report import FirstRows, Problem, Refused, refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.readers import Format
from clueline.data.readers.lifeeval import OF_PEOPLE
from clueline.data.readers.responses import CONFIDENCES, LIFEEVAL_PAIRS
from clueline.data.readers.table.build import MIN_ALIKE, Builder, stage, stage_large, why_in_memory
from clueline.data.readers.table.cells import given, number
from clueline.data.readers.table.columns import MIN_FITTING, Column, Table
from clueline.data.readers.table.folders import Names, names_by_path
from clueline.data.readers.table.names import EITHER
from clueline.data.readers.table.read import TOO_LARGE, is_one_object, read_tables
from clueline.data.readers.table.readings import propose
from clueline.data.readers.table.roles import Guesses, guess_roles
from clueline.data.store.answer_states import SCORES

FORMAT = Format(
    key="table",
    reads="A table of another project: CSV with any delimiter, JSON, JSON Lines, Parquet or a workbook of Excel, or a folder or "
    "zip of such files",
    recognised="No other format fits, and the names and values of columns show confidences, answers or whether these are right",
    becomes="A dataset of its questions, unless a dataset has them already, and a run for each model, confidence and day",
    rules="""
The report lists every column with its role, and why it has it. What the table does not show for certain is asked, never guessed.
Each answer that is proposed was tried, and is said with the figures that it gives.
These rules decide the rest:

- **Questions.** They are named by a column of ids, otherwise by their text, otherwise by the number of the row. A column such as
  `question` holds ids if its values are short words with a digit, such as `q1`. A text that has several reference answers
  names no question: a column that numbers the rows does, such as `index`, or you are asked. If a dataset
  has the same questions, with the same texts and answers, the runs join it. Otherwise a dataset of kind `single` is created,
  named after the column of datasets or the file. If a column says what came true and no column holds answers, its kind is
  `forecast`. A dataset that came from a table gets the questions that a later table adds. In a folder, tables with the same
  questions are of one dataset: what their paths have in common is its name, and what they differ by is the model. A table there
  that has only questions adds what it says to the answers, by their ids.
- **Runs.** Each column of confidences is a run, whose elicitation is the name of the column. So is each model, and each day if
  the model answered the same questions on several. Without a column of models, the model is named after the file. Columns of
  several models, such as `gpt-4o_answer` and `gpt-4o_confidence` beside those of another, `confidence_a` and `correct_a`, or
  columns that are called like models, become rows of each, and so do lists of predictions in JSON. If the names are those of no
  known models, you are asked what they are. Columns of people are left alone. Rows of one question with several samples or told
  thresholds are samples of one run; the threshold is an attribute.
- **Confidences.** A number with a percent sign is a percentage. A column whose numbers exceed 10, none of them a fraction of 1,
  holds percentages, if one exceeds 50, a sign or the name of the column says so. Other scales are asked about, with the mean
  that each would give: ten points, five points, or another maximum. Numbers of which some are shares and others can only be
  percentages are asked about, too. `8/10` and `85 out of 100` are percentages, and so are texts with one percentage each, such
  as `High (85%)`. Words mean what you state, and so do the points of a scale, such as 1 to 5, and a negative number, such as
  -1, which may stand for a confidence that was not stated. Blank cells and NaN are answers without a confidence. A column that
  is above one half exactly where one of two answers is guessed, as `predict_proba` writes it, is the probability of that
  answer, and is turned to the guess.
  The probability that an answer is wrong, such as `p_wrong` or `doubt`, is asked about, and so are numbers that are so much
  higher for wrong answers than for right ones that chance does not explain it; as `error_probability`, 1 minus each is the
  confidence.
- **Options.** Columns named after the options, which add up to 1, are a distribution, and so is a column such as `probs` with
  lists of them. Of two options, one column is enough. Logits and log-probabilities of options, such as `logit_0` and `logit_1`
  or lists in `logits`, become probabilities by softmax. The confidence is the probability of the option that was chosen or, if
  no column says which, of the most probable one.
- **Scores.** A number that is no probability, such as an entropy, is a run of its own if no column is a confidence and its name
  says whether it is high or low where the model is sure. It is kept as it is, and only metrics of order count it.
- **Evidence of right and wrong.** Flags are read with their negation: `is_not_attempted`, `unanswered` and `did_not_attempt`
  say what was not answered, `incorrect` and `not_correct` what is wrong, `unparsed` what could not be read. Columns that grade
  and contradict each other are asked about, with what each gives. So is one that the texts refute in more than one row of fifty
  (a guess that is the reference answer is called wrong, or another label is called right), and an accuracy that the file states
  but its answers do not have. A column that says the same of all answers is never taken
  because it agrees with texts; if its name says that it grades, and comparing texts tells right answers from wrong ones, it is
  asked about. Nor is a count of tokens, a list of options or the name of a file taken for an answer, a question or a grade, or
  a figure of the whole file for the grade of an answer. Grades in a list in each row, with a `name` and a `score` or
  `value`, as in `scores` or `annotations`, are columns; where they cannot be read beyond doubt, they are asked about.
- **Right and wrong.** Yes and no in several languages, C and I, ✓ and ✗, 0 and 100, numbers from 0 to 1, or the last `[RESULT]
  1` of a judge. If no column says it, guesses that are labels (letters, yes and no, few classes) are compared with the
  reference answer, which may be "A or B" or end in parentheses; tags such as `<b>` and names of characters such as `&amp;` are no
  part of answers and categories. Other guesses are graded by Clueline's rules. If one of the two
  names options by letters and the other by numbers or their texts, these are read as letters. Of a list of reference answers,
  each is right.
- **Rows.** A table with a row for each cell, its name in a column `variable` (or `metric`, `measure`, `field`) and its `value`,
  gets a row for each answer. Lists of responses, and of their grades or confidences, become rows. Of lists of answers beside
  their probabilities, the most probable one is the guess. Rows that sum up others (Mean, Total, ...), and records of a log
  whose `type` has no answers, are left out and named. Columns may be parted by spaces, if all lines have as many. Fields of
  JSON in a column of outputs are columns. Where a JSON document has rows below several keys, their keys are a column: models,
  or you are asked. JSON files with one answer each are the rows of one table, also if an answer has a list of sources or
  samples. A table of questions beside tables of answers is joined to these by the ids, and its further columns are attributes
  of questions; so is a column of passages or documents that several questions share, and what is stated as `cluster` or
  `question_attribute`.
- **Large files.** Of a CSV in UTF-8 of more than 256 MB, half a megabyte from all its parts shows which column is what, and the
  cells are then read in place, if there are columns of question ids, of right and wrong, and of confidences in numbers, and no
  other roles than question, choices, answer, category, guess, model, elicitation, sample and attributes. A cell that
  contradicts this is refused. Attributes are then those of responses. Other tables can have at most 256 MB.
- **States.** "IDK" and the like are abstentions, and so is the grade `NOT_ATTEMPTED`, and `refused` in place of a confidence. A
  blank guess is unparsed (wrong at its confidence, if it has one), unless a column says that it is right or wrong. A column of
  errors, with a text or yes where nothing was answered, says which calls failed.
""",
)
# Roles without which nothing speaks for a table of answers.
ESSENTIAL = {"confidence", "options", "correct", "wrong", "outcome", "guess"}
# Roles of what a model says, and whether it is right.
OF_MODELS = {"model", "confidence", "options", *SCORES, "correct", "wrong", "outcome", "sample", "abstained", "failed", "parsed"}
JUDGED = {"answer", "correct", "wrong", "outcome"}  # roles that say what is right
KNOWN = {"question", "answer", "model", "confidence"}  # roles that speak for a table of answers, although it may lack these
OWN_ANSWERS = {"guess", "correct", "failed", "state"}
OWN = {"question_id", "clue"}
MIN_FILES = 3  # files of one question each from which they are the rows of one table
SHOWN_ROWS, MAX_SHOWN_COLUMNS, MAX_SHOWN_LENGTH = 5, 60, 80  # of a table of which the role of a column is asked
_tables: WeakKeyDictionary[Incoming, list[Table]] = WeakKeyDictionary()  # read once, to be recognised and to be imported


def recognises(incoming: Incoming) -> bool:
    folder = incoming.folder
    if folder is None:
        return _is_table(incoming)
    own = [path for path in folder.glob("questions.*") if "question_id" in incoming.part(path).columns]
    like_bundle = (folder / "responses").is_dir() or bool(own)
    return not like_bundle and any(_is_table(part) for part in _parts(folder, incoming))


def is_stated(incoming: Incoming, options: ImportOptions) -> bool:
    """Whether the analyst says what the columns of a file are, so that their names need not say it."""
    with suppress(Refused):
        return incoming.folder is None and any(_stated(table, options).roles for table in _read(incoming))
    return False


def is_incomplete(incoming: Incoming) -> bool:
    """Whether a file that no reader recognises is a table with something of answers, of which this one can say what it lacks."""
    with suppress(Refused):
        return incoming.folder is None and any(map(_has_something_of_answers, _read(incoming)))
    return False


def _has_something_of_answers(table: Table) -> bool:
    return not table.columns.keys() >= OWN and bool(KNOWN & guess_roles(table, ColumnMapping()).mapping.roles.keys())


def takes(incoming: Incoming, options: ImportOptions, others: Set[str]) -> bool:
    """Whether a file that other readers recognise by a column is a foreign table with a column of the same name.

    ``others`` are the keys of the readers.
    """
    columns, staging = incoming.columns, incoming.staging
    stored = bool(options.dataset and staging.dataset(options.dataset))
    complete = "question_id" in columns and columns & CONFIDENCES and columns & OWN_ANSWERS
    own = "clue" in columns or (stored and complete and (options.model or "model" in columns))
    if own or columns >= LIFEEVAL_PAIRS or columns >= OF_PEOPLE or not _is_table(incoming):
        return False
    table = _read(incoming)[0]
    guesses = guess_roles(table, _stated(table, options))
    roles = guesses.mapping.roles
    judged = bool({"correct", "wrong", "outcome"} & roles.keys()) or {"guess", "answer"} <= roles.keys()
    if others == {"responses"} and "question_id" not in columns:
        return True  # which a table of Clueline's own form cannot do without
    ages = Column("Answer", table.columns.get("Answer", ())) if others == {"lifeeval"} else None  # which the life table grades
    if not judged and ("correct" not in guesses.asked or (ages and len(ages.numbers) > len(ages.present) / 2)):
        return False
    if others == {"responses"} and stored:
        foreign = [name for role in ("model", "guess", "correct") for name in roles.get(role, ()) if role not in columns]
        return bool(foreign)
    return others != {"forecasts"} or not options.dataset


def _is_table(incoming: Incoming) -> bool:
    """Whether a file holds a table of answers. A workbook counts as one: no other reader can say what is wrong with it."""
    with suppress(Refused):
        return incoming.is_workbook or any(map(_is_of_answers, _read(incoming)))
    return False


def _is_of_answers(table: Table) -> bool:
    """Whether a table holds answers, or at least numbers that may be confidences and a column that may say what is right."""
    if table.columns.keys() >= OWN:  # Clueline's own table, which has more to say about what is wrong with it
        return False
    guesses = guess_roles(table, ColumnMapping())
    asked = guesses.asked
    return bool(ESSENTIAL & guesses.mapping.roles.keys()) or "guess" in asked or asked >= {"confidence", "correct"}


def _read(incoming: Incoming) -> list[Table]:
    if incoming not in _tables:
        _tables[incoming] = read_tables(incoming, incoming.staging)
    return _tables[incoming]


def _parts(folder: Path, incoming: Incoming) -> Iterator[Incoming]:
    """Yield the files of a folder and, in place of JSON files with one answer each, the folders in which these are."""
    of_objects: dict[Path, Incoming] = {}
    for path in (path for path in files_below(folder) if path.stat().st_size):
        part = incoming.part(path)
        if not is_one_object(part):
            yield part
        elif path.parent not in of_objects:
            of_objects[path.parent] = incoming.part(path.parent)
            yield of_objects[path.parent]


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is None:
        _add(incoming, Names(stem_of(incoming.name), stem_of(incoming.name)), staging, options)
        return
    seen: dict[bytes, str] = {}
    skipped: list[Incoming] = []
    tables: dict[str, Incoming] = {}
    for part in _parts(incoming.folder, incoming):
        digest = str(part.path).encode()
        if part.folder is None:  # equal files in two folders can be answers of two models
            with part.path.open("rb") as file:
                digest = str(part.path.parent).encode() + hashlib.file_digest(file, "sha256").digest()
        if digest in seen:
            staging.report.lines.append(f"{part.name}: the same as {seen[digest]}, read once")
        elif _is_table(part):
            seen[digest] = part.name
            below = part.path.relative_to(incoming.folder).as_posix()
            tables[stem_of(incoming.name) if below == "." else below] = part
        else:
            skipped.append(part)
    of_questions = {path: part for path, part in tables.items() if _has_only_questions(part)}
    if of_questions.keys() < tables.keys():
        skipped += of_questions.values()
        tables = {path: part for path, part in tables.items() if path not in of_questions}
    for other in list(skipped):
        if answered := [part.name for part in tables.values() if _join_questions(other, part)]:
            staging.report.lines.append(f"{other.name}: the questions of {', '.join(answered)}"[:500])
            skipped.remove(other)
    tables = _with_rows_of_one_question(tables)
    contents = {path: _questions_of(part, options) for path, part in tables.items()}
    for path, names in names_by_path(stem_of(incoming.name), contents).items():
        with staging.report.collecting():
            _add(tables[path], names, staging, options)
    if skipped:
        listed = ", ".join(part.name if part.folder is None else f"{part.name}/*.json" for part in skipped)[:500]
        staging.report.warnings.append(f"{incoming.name}: files that are no tables of answers were skipped: {listed}")
    if not seen:
        raise refuse(incoming.name, "no file in it is a table of answers", hint="format")


def _with_rows_of_one_question(tables: dict[str, Incoming]) -> dict[str, Incoming]:
    """Let files of one question each, with the same columns, be one table: otherwise each would become a dataset."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for path, part in tables.items():
        read = _read(part)
        if len(read) == 1 and read[0].delimiter is None and _only_question(read[0]):
            alike.setdefault((path.rpartition("/")[0], *sorted(read[0].columns)), []).append(path)
    kept = dict(tables)
    for (folder, *_), paths in alike.items():
        questions = {_only_question(_read(tables[path])[0]) for path in paths}
        if len(paths) >= MIN_FILES and len(questions) == len(paths):
            first, *others = (_read(tables[path])[0] for path in paths)
            columns = {name: [cell for table in (first, *others) for cell in table.columns[name]] for name in first.columns}
            places = [f"{path}, {place}" for path, table in zip(paths, (first, *others), strict=True) for place in table.places]
            _tables[tables[paths[0]]] = [replace(first, columns=columns, places=places)]
            kept = {path: part for path, part in kept.items() if path not in paths}
            kept[folder or paths[0]] = tables[paths[0]]
    return kept


def _only_question(table: Table) -> str | None:
    """Return the question of a table whose rows are all about one; None if they are about several, or the table names none."""
    columns = [Column(name, cells) for name, cells in table.columns.items()]
    ids = [column for column in columns if column.name_says("question_id")]
    named = [column for column in columns if column.name_says("question")] or ids
    if not named or any(len(column.distinct) > 1 for column in (*ids, *named)):
        return None
    return next((text for column in named for text in column.distinct), None)


def _join_questions(other: Incoming, answers: Incoming) -> bool:
    """Add to a table of answers what another table says about their questions, by their ids; return whether it says anything."""
    try:
        (asked,), (table,) = _read(other), _read(answers)
    except (Refused, ValueError):  # it is no table, or several
        return False
    known, own = (guess_roles(one, ColumnMapping()).mapping for one in (asked, table))
    ids, named = known.column("question_id"), own.column("question_id")
    if not ids or not named or not {"question", "answer"} & known.roles.keys() or JUDGED & own.roles.keys():
        return False
    rows = {given(cell): n for n, cell in enumerate(asked.columns[ids])}
    places = [rows.get(given(cell)) for cell in table.columns[named]]
    if sum(place is not None for place in places) < MIN_FITTING * len(table):
        return False
    joined = tuple(name for name in asked.columns if name not in table.columns and name != ids)
    for name in joined:
        table.columns[name] = [None if place is None else asked.columns[name][place] for place in places]
    table.of_questions += joined
    return True


def _has_only_questions(part: Incoming) -> bool:
    """Whether a table has questions with ids and reference answers, and nothing that a model says of them.

    Alone, a bare ``answer`` would be taken for that of a model.
    """
    if len(tables := _read(part)) != 1:
        return False
    roles = guess_roles(tables[0], ColumnMapping()).mapping.roles
    guess = Column(roles.get("guess", ("",))[0], ())
    bare = "guess" not in roles or guess.name_says(EITHER) > 0
    return bare and "question_id" in roles and bool({"question", "answer"} & roles.keys()) and not OF_MODELS & roles.keys()


def _stated(table: Table, options: ImportOptions) -> ColumnMapping:
    """Return what the analyst states about the columns: by options, or by a mapping that is named."""
    mapping = (options.mapping or ColumnMapping()).with_roles(options.columns, dict(options.words))
    if options.confidence_pattern:
        mapping = replace(mapping, pattern=options.confidence_pattern)
    return replace(mapping, percent=True) if options.percent else mapping


def _questions_of(part: Incoming, options: ImportOptions) -> dict[str, str]:
    """Return the texts and answers of a table's questions by id; empty if too few answers, and no texts, tell them apart.

    It is empty, too, for a workbook that cannot be read; this is reported when it is imported.
    """
    try:
        table = _read(part)[0]
    except Refused:
        return {}
    builder = Builder(table, guess_roles(table, _stated(table, options)), options, "", "")
    texts, answers = builder.cells("question"), builder.cells("answer")
    rows = zip(builder.question_ids(), texts, answers, strict=True)
    contents = {question: f"{text}\n{right}" for question, text, right in rows if text or right}
    return contents if any(texts) or len(contents) >= MIN_ALIKE else {}


def _add(incoming: Incoming, names: Names, staging: Staging, options: ImportOptions) -> None:
    tables = _read(incoming)
    if not tables:
        raise refuse(incoming.name, "there are no rows below the header")
    used = [table for table in tables if len(tables) == 1 or _is_of_answers(table)]
    for table in used:
        if len(table.columns) > 1 and all(map(number, table.columns)) and any("." in name for name in table.columns):
            reason = "the first line has numbers instead of names of columns; put a line such as confidence,correct above it"
            raise refuse(table.name, reason, line=1, value=",".join(table.columns)[:80])
        stated = _stated(table, options)
        unknown = [name for names in stated.roles.values() for name in names if name not in table.columns]
        if unknown:
            reason = f"there is no such column; the file has: {', '.join(table.columns)[:400]}"
            raise Refused([Problem(table.name, 1, name, None, reason) for name in unknown])
        stored = bool(options.dataset and staging.dataset(options.dataset))
        guesses = guess_roles(table, stated, graded=stored, repeats=options.repeats is not None)
        if guesses.mapping.column("model") or options.model:  # otherwise, the day may be part of the name of a model
            names = names._replace(dataset=split_trailing_day(names.dataset)[0])
        builder = Builder(table, guesses, options, *names)
        if table.delimiter is not None and not guesses.unclear and (why := why_in_memory(builder)):
            raise refuse(table.name, f"{TOO_LARGE}, for {why}; split it into several files")
        staging.report.mappings.append(guesses.kept)
        if table.encoding:
            staging.report.warnings.append(f"{table.name}: the text is not UTF-8; it was read as {table.encoding}")
        if table.left_out:
            staging.report.warnings.append(f"{table.name}: rows that hold no answer were left out: {table.left_out}")
        if stated.name:
            staging.report.lines.append(f"{table.name}: read as in the mapping {stated.title}{_beyond_roles(stated)}")
        offers = _offers(table, guesses, options)
        staging.report.lines += [f"{table.name}: {line}" for line in _described(guesses)]
        if guesses.unclear:
            ways_out = [f"{offer}; name it to use it." for offer in offers]
            proposal = propose(table, stated, options, names, guesses)
            raise Refused(proposal.problems, advice=[*proposal.sentences, *ways_out], tables=[_first_rows(table, guesses)])
        staging.report.warnings += [f"{table.name}: {note}" for note in guesses.notes]
        for offer in offers:
            staging.report.warn(offer, "mapping")
        if guesses.offered:
            staging.report.warn(f"{table.name}: {guesses.offered}", "pattern")
        if not guesses.mapping.column("model") and not options.model:
            staging.report.warn(f"{table.name}: no column names the model; its runs are called {names.model}", "model")
        if table.delimiter is None:
            stage(builder, staging)
        else:
            stage_large(builder, staging, incoming.file.path)


def _beyond_roles(mapping: ColumnMapping) -> str:
    """Return what a mapping says apart from the roles of columns, as the end of a sentence."""
    words = ", ".join(f"{word}={UNSTATED_SHARE if share is None else f'{share:g}'}" for word, share in mapping.words.items())
    parts = [f"with the words {words}"] if words else []
    if mapping.percent is not None:
        parts.append(f"with confidences from 0 to {100 if mapping.percent else 1}")
    if mapping.pattern:
        parts.append(f"with the pattern {mapping.pattern!r}")
    return f", {', '.join(parts)}" if parts else ""


def _offers(table: Table, guesses: Guesses, options: ImportOptions) -> list[str]:
    """Return a sentence for each mapping that fits the columns of a table and would read it in another way."""
    if options.mapping is not None:
        return []
    columns = {name for name, cells in table.columns.items() if any((cell or "").strip() for cell in cells)}
    other = [mapping for mapping in options.offered if guesses.unclear or not mapping.reads_like(guesses.mapping)]
    return offers_of(table.name, columns, other)


def _described(guesses: Guesses) -> list[str]:
    """Return a line for each role with its columns, and the reason for each."""
    named = {name: f"{name} ({reason})" if reason else name for name, reason in guesses.reasons.items()}
    roles = guesses.mapping.roles.items()
    return [f"{role}: {', '.join(named.get(name, name) for name in names)}" for role, names in roles if role != "attribute"]


def _first_rows(table: Table, guesses: Guesses) -> FirstRows:
    roles = {name: role for role, names in guesses.kept.roles.items() for name in names}
    shown = list(guesses.mapping.columns)[:MAX_SHOWN_COLUMNS]
    cells = {name: [cell and cell[:MAX_SHOWN_LENGTH] for cell in table.columns[name][:SHOWN_ROWS]] for name in shown}
    return FirstRows(table.name, {name: roles.get(name, "attribute") for name in shown}, cells)
