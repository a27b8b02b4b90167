"""Clueline's own format of responses: one row for each answer to a question and clue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime

import polars as pl

from clueline.data.duckdb_and_polars import execute_with, literal, quoted
from clueline.data.importing.checks.evaluation_days import MAX_DAYS
from clueline.data.importing.checks.responses import IS_FAILED, LACKS_CONFIDENCE
from clueline.data.importing.evaluation_times import are_nights, rank_of_name, read_time, read_times, split_trailing_day, stem_of
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Problem, Refused, refuse
from clueline.data.importing.staging import ImportOptions, RunKey, Staging
from clueline.data.importing.table_contract import (
    EVALUATED_AT,
    GRADE_PREFIX,
    MAX_ATTRIBUTE_VALUE_LENGTH,
    Column,
    attribute_names,
    grade_columns,
    responses_columns,
    trimmed_text,
)
from clueline.data.importing.table_files import PARQUET, FrameFile, TableFile
from clueline.data.plurals import listed
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import align_questions
from clueline.data.store.answer_states import SCORES
from clueline.data.store.gradings import NAME, RESERVED
from clueline.data.store.run_files import TYPES

FORMAT = Format(
    key="responses",
    reads="Clueline's own table of responses (CSV, JSON Lines or Parquet, also packed with gzip or zstd)",
    recognised="A column `question_id`, `confidence`, `token_logprobs` or `options`",
    becomes="Runs of a stored dataset: one for each model and elicitation",
    rules="""
LM-Polygraph stores its results as a pickle. Clueline never opens one, because a pickle can run any program. Where LM-Polygraph is
installed, this script exports a file of responses, with the probability of the sequence as the confidence:

```python
import csv, math
from lm_polygraph.utils.manager import UEManager

results = UEManager.load("ue_manager_seed1")
uncertainty = results.estimations["sequence", "MaximumSequenceProbability"]  # minus the log-probability
with open("responses.csv", "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["question_id", "guess", "confidence"])
    for number, (guess, value) in enumerate(zip(results.stats["greedy_texts"], uncertainty)):
        writer.writerow([number, guess.strip(), math.exp(-value)])
```
""",
)
CONFIDENCES = {"confidence", "token_logprobs", "options"}  # columns of which each row needs one
LIFEEVAL_PAIRS = {"llm", "qset"}  # columns of a file that another reader reads
BAD_NAME = (
    "a further grading is a column `correct.NAME`, whose name has at most 40 characters of a-z, 0-9 and -; "
    f"{', '.join(RESERVED)} are reserved for Clueline"
)
NOT_MADE = (
    "this file cannot make it: it needs a column of reference answers, such as `gold`, or one that says what is right, "
    "such as `correct`. Add one, or import the questions with their answers first"
)
MIN_SHARE_KNOWN = 0.9  # share of a file's questions that a dataset must have to be named
MAX_NAMED = 12  # columns that a message lists
MAX_RUNS = 1000  # in one file
PROMPT = "text"  # a column of the sheet of prompts, which analysts fill in and import: what the model was shown
CHECKED_ROWS = 2000  # rows of a Parquet file that are checked for columns that are too long


def recognises(incoming: Incoming) -> bool:
    """Whether a table has one of this format's columns. If others are missing, the contract reports them later."""
    columns = incoming.columns
    return bool(columns & {"question_id", *CONFIDENCES}) and not (columns >= LIFEEVAL_PAIRS or has_forecasts(columns))


def has_forecasts(columns: Set[str]) -> bool:
    """Whether a table has columns that ``data.readers.forecasts`` reads."""
    return {"question_id", "probability"} <= columns and not columns & CONFIDENCES


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if not options.dataset or not staging.dataset(options.dataset):
        raise _without_dataset(incoming, staging, options.dataset)
    read_file(incoming.file, staging, options)


def _without_dataset(incoming: Incoming, staging: Staging, named: str | None) -> Refused:
    """Return the refusal of a file that answers no stored dataset: which one has its questions, or what it lacks to make one."""
    file, known, fitting = incoming.file, "", ()
    if "question_id" in file.columns:
        staging.load(file, (Column("question_id"),))
        sql = """select dataset, count(*) from (select distinct question_id from loaded) join known_questions using (question_id)
            group by 1 having count(*) >= $share * (select count(distinct question_id) from loaded) order by 2 desc, 1 limit 3"""
        fitting = tuple(row[0] for row in staging.connection.execute(sql, {"share": MIN_SHARE_KNOWN}).fetchall())
        if fitting:
            known = f"the questions are those of dataset {' or '.join(map(repr, fitting))}"
    if not named:
        reason = "which dataset do these answer?" + (f" By their ids, {known}" if known else "")
        return refuse(file.name, reason, hint="dataset", choices=fitting)
    if known:
        return refuse(file.name, f"there is no dataset {named!r}; by their ids, {known}", hint="dataset", choices=fitting)
    stored = ", ".join(staging.datasets()) or "none"
    has = listed(file.columns[:MAX_NAMED]) + (" and others" if len(file.columns) > MAX_NAMED else "")
    return refuse(file.name, f"there is no dataset {named!r} (the store has: {stored}), and {NOT_MADE}; it has {has}")


def read_file(file: TableFile | FrameFile, staging: Staging, options: ImportOptions) -> None:
    """Add a file of responses to the dataset ``options.dataset`` or, without it, to those of the column ``dataset``."""
    problems = staging.report.problems
    own = (*responses_columns(percent=options.percent), *([] if options.dataset else [Column("dataset")]))

    def further(names: Sequence[str]) -> list[Column]:
        grades = grade_columns(names)
        problems.extend(
            Problem(file.name, 1, column.name, None, BAD_NAME)
            for column in grades
            if not NAME.fullmatch(column.name.removeprefix(GRADE_PREFIX)) or column.name.removeprefix(GRADE_PREFIX) in RESERVED
        )
        stated = [name for name in names if name != PROMPT]
        attributes = attribute_names(file.name, stated, (*own, *grades), staging.report, strict=False)
        if isinstance(file, TableFile) and file.format == "parquet":  # only the columns that are kept need to be read
            rows = f"(from read_parquet({literal(file.pattern)}, {PARQUET}) limit {CHECKED_ROWS})"
            too_long.update(_too_long(staging, rows, attributes))
        texts = [Column(PROMPT)] if options.align and PROMPT in names else []
        return [*grades, *texts, *(Column(name) for name in attributes if name not in too_long)]

    too_long: dict[str, int] = {}  # texts of any length, such as reasoning, do not become attributes
    columns = staging.load(file, own, further)
    of_table = {PROMPT, *(column.name for column in own)}
    attributes = sorted(name for name in columns if name not in of_table and not name.startswith(GRADE_PREFIX))
    too_long |= _too_long(staging, "loaded", attributes)
    attributes = [name for name in attributes if name not in too_long]
    run = staging.connection.execute
    named = [(options.dataset,)] if options.dataset else run("select distinct dataset from loaded").fetchall()
    datasets = [name for (name,) in named]
    if dated := _find_times(file, staging, attributes, options):
        attributes.remove(dated)
    staging.response_attributes |= {(dataset, name): file.name for dataset in datasets for name in attributes}
    report_attributes(file.name, staging, attributes, too_long)
    scores = [name for name in SCORES if name in attributes]
    stated = {"confidence", "token_logprobs", "options", "failed", "state", *scores} & set(columns)
    if not stated:
        reason = f"one of confidence, token_logprobs and options is required; the file has: {', '.join(file.columns)}"
        problems.append(Problem(file.name, 1, "confidence", None, reason))
    # Placeholder values for columns that the file lacks are never stored. Without them, every row would be reported as bad.
    model = options.model
    if not model and "model" not in columns:
        problems.append(Problem(file.name, 1, "model", None, "which model? The file has no such column", "model"))
        model = "?"
    runs = f"select distinct model, elicitation from loaded where model is not null limit {MAX_RUNS + 1}"
    if len(run(runs).fetchall()) > MAX_RUNS:
        raise refuse(
            file.name, f"the file holds answers of more than {MAX_RUNS:,} models; is `model` another column?", column="model"
        )
    elicitation = literal(options.elicitation) if options.elicitation else "null"
    if "token_logprobs" in columns and not options.elicitation:
        # A row without a confidence does not show how confidences were elicited, so it belongs to the run of the other rows.
        by_tokens, verbalized = run(
            f"""select coalesce(bool_or(confidence is null and token_logprobs is not null), false),
                coalesce(bool_or(confidence is not null or options is not null), false)
            from loaded s where elicitation is null and not {IS_FAILED} and not {LACKS_CONFIDENCE}"""
        ).fetchall()[0]
        if by_tokens and not verbalized:
            elicitation = "'token'"
    question = _aligned(file, staging, options) if options.align else "question_id"
    count = staging.view_responses(
        file,
        f"""select {literal(options.dataset) if options.dataset else "dataset"} as dataset,
            coalesce(model, {literal(model) if model else "null"}) as model,
            coalesce(elicitation, {elicitation},
                case when confidence is null and token_logprobs is not null then 'token' else 'verbalized' end) as elicitation,
            {question} as question_id, clue, guess, {"confidence" if stated else "coalesce(confidence, 0.0)"} as confidence,
            token_logprobs, options, correct, failed, {_state(scores)} as state,
            sample, buzz, {_attribute_map(attributes)} as attributes, {_time(file, staging, dated, model)} as evaluated_at,
            ordinal
        from {staging.view_of(file)} s""",
    )
    staging.add_grades(file, columns)
    if options.respondents:
        runs = "select distinct dataset, model, elicitation from responses_read where list_contains($datasets, dataset)"
        staging.respondents |= {RunKey(*row) for row in run(runs, {"datasets": datasets}).fetchall()}
    if not count and file.name not in {problem.file for problem in problems}:
        problems.append(Problem(file.name, None, None, None, "there are no rows below the header"))


def _aligned(file: TableFile | FrameFile, staging: Staging, options: ImportOptions) -> str:
    """Return SQL for the stored id of the question of a row s, as the analyst states."""
    text = f"any_value({PROMPT})" if PROMPT in file.columns else "null"
    own = f"select question_id, {text} from loaded where question_id is not null group by 1"
    stated = {question: (shown, None) for question, shown in staging.connection.execute(own).fetchall()}
    ids, _ = align_questions(file.name, options.dataset or "", stated, staging, options.align)
    into = quoted(f"aligned_{staging.view_of(file)}")
    sql = f"create or replace table {into} as select unnest($old::varchar[]) as old, unnest($new::varchar[]) as new"
    staging.connection.execute(sql, {"old": [*ids], "new": [*ids.values()]})
    return f"coalesce((select new from {into} where old = s.question_id), s.question_id)"


def _find_times(file: TableFile | FrameFile, staging: Staging, names: Sequence[str], options: ImportOptions) -> str | None:
    """Return the column that says when the answers were given, None if there is none, and put its times into a table.

    It is named so, and holds nothing but times. These are days that a single evaluation takes, unless questions are answered
    again. What is stated to be an attribute is none.
    """
    stated = {column for role, column in options.columns if role == "attribute"}
    ranked = sorted((rank, name) for name in names if name not in stated and (rank := rank_of_name(name)) is not None)
    for _, name in ranked:
        distinct = staging.connection.execute(f"select distinct {trimmed_text(name)} from loaded").fetchall()
        texts = [text for (text,) in distinct if text is not None]
        times = read_times(texts)
        if times is None and name == EVALUATED_AT.name:
            wrong = sorted(text for text in texts if read_time(text) is None)
            reason = "is no time until now, such as 2026-05-01T12:30:00"
            staging.report.problems += [Problem(file.name, None, name, text, reason) for text in wrong[:1]]
        if times is None:
            continue
        lasted = max(times.values()) - min(times.values())
        if name == EVALUATED_AT.name or lasted.days <= MAX_DAYS or _asks_again(staging, name, times):
            rows = pl.DataFrame([*times.items()], {"text": pl.String, "time": pl.Datetime("us")}, orient="row")
            execute_with(staging.connection, rows, f"create or replace table {_table_of_times(file, staging)} as from given")
            first, last = (f"{moment:%Y-%m-%d}" for moment in (min(times.values()), max(times.values())))
            days = f"on {first}" if first == last else f"from {first} to {last}"
            staging.report.lines.append(f"{file.name}: answered {days}, by the column {name}")
            return name
    return None


def _asks_again(staging: Staging, column: str, times: Mapping[str, datetime]) -> bool:
    """Whether the days in a column of the loaded file are those of an evaluation that is run again."""
    stated = trimmed_text(column)
    pairs = f"select distinct question_id, {stated} from loaded where {stated} is not null"
    rows = staging.connection.execute(pairs).fetchall()
    return are_nights((question for question, _ in rows), (times[text].date() for _, text in rows))


def _table_of_times(file: TableFile | FrameFile, staging: Staging) -> str:
    return quoted(f"times_{staging.view_of(file)}")


def _time(file: TableFile | FrameFile, staging: Staging, column: str | None, model: str | None) -> str:
    """Return SQL for the time of a row s: as the column says or, without one, as the name of the file does.

    A day in the name of the file that is in the name of a model, too, is no day of an evaluation.
    """
    if column is not None:
        return f"(select time from {_table_of_times(file, staging)} where text = {trimmed_text(column)})"
    _, day = split_trailing_day(stem_of(file.name))
    if day is None:
        return "null::timestamp"
    written = " or ".join(f"contains(coalesce(model, $model), '{day:{form}}')" for form in ("%Y-%m-%d", "%Y%m%d"))
    if staging.connection.execute(f"select 1 from loaded where {written} limit 1", {"model": model or ""}).fetchone():
        return "null::timestamp"
    staging.report.lines.append(f"{file.name}: answered on {day:%Y-%m-%d}, by the name of the file")
    return f"'{day:%Y-%m-%d}'::timestamp"


def _state(scores: Sequence[str]) -> str:
    """Return SQL for the state of a row s. Without a confidence, but with a number in a column of scores, it is scored."""
    if not scores:
        return "s.state"
    numbers = ", ".join(f"try_cast(s.{name} as double)" for name in scores)
    given = f"coalesce({numbers}) is not null"
    return f"coalesce(s.state, case when not {IS_FAILED} and {LACKS_CONFIDENCE} and {given} then 'scored' end)"


def _too_long(staging: Staging, rows: str, names: Sequence[str]) -> dict[str, int]:
    if not names:
        return {}
    lengths = ", ".join(f"coalesce(max(len({quoted(name)}::varchar)), 0)" for name in names)
    (longest,) = staging.connection.execute(f"select {lengths} from {rows}").fetchall()
    return {name: length for name, length in zip(names, longest, strict=True) if length > MAX_ATTRIBUTE_VALUE_LENGTH}


def report_attributes(file: str, staging: Staging, kept: Sequence[str], too_long: Mapping[str, int]) -> None:
    """Report the columns that are kept as attributes of responses, and those that are not, with their greatest lengths."""
    if kept:
        staging.report.lines.append(f"{file}: kept as attributes of responses: {', '.join(kept)}")
    if too_long:
        those = ", ".join(f"{name} (has {length:,})" for name, length in sorted(too_long.items()))
        reason = f"columns that were not kept, because an attribute has at most {MAX_ATTRIBUTE_VALUE_LENGTH} characters"
        staging.report.warnings.append(f"{file}: {reason}: {those}")


def _attribute_map(names: Sequence[str]) -> str:
    """Return SQL for the attributes of a row of the loaded file, null if it has none."""
    kind = TYPES["responses"]["attributes"]
    if not names:
        return f"null::{kind}"
    entries = ", ".join(f"{{'key': {literal(name)}, 'value': {trimmed_text(name)}}}" for name in names)
    given = " or ".join(f"{trimmed_text(name)} is not null" for name in names)
    return f"case when {given} then map_from_entries(list_filter([{entries}], lambda e: e.value is not null)) end"
