"""The contract of each incoming table: its columns with their types and ranges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

import duckdb
import polars as pl

from clueline.data.duckdb_and_polars import ArrowStream, first_rows, literal, quoted
from clueline.data.importing.report import MAX_LISTED_PROBLEMS, Hint, Problem, Refused, Report, refuse
from clueline.data.importing.table_files import MAX_COLUMNS, MAX_LINE_LENGTH, PARQUET, TOO_LONG, WRONG_LINE, FrameFile, TableFile
from clueline.data.store.answer_states import STATES
from clueline.data.store.run_tags import MAX_TAG_LENGTH, MAX_VALUE_LENGTH

Type = Literal["text", "integer", "number", "truth", "flag", "time", "numbers", "options"]
MAX_INTEGER = 2**31 - 1
MAX_NAME_LENGTH = 500  # characters of a model or elicitation name: what an address can hold
MAX_SHOWN_LENGTH = 120  # characters of a bad value that a report shows
SMALL_TABLE = 20_000  # rows: up to here, converting once costs less than planning a view's conversions in each query
MIN_NAME_SIMILARITY = 0.75  # similarity of two column names, 0 to 1, from which a report suggests one for the other


@dataclass(frozen=True)
class Column:
    """One column of a table. ``required`` means that every row must have a value; ``low`` and ``high`` are inclusive."""

    name: str
    type: Type = "text"
    required: bool = False
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    hint: Hint | None = None  # what may fix a value above ``high``
    longest: int | None = None  # characters of text
    divisor: int = 1  # a number is divided by this before its range is checked
    present: bool = False  # whether the file must have the column
    nan_is_empty: bool = False  # whether NaN counts as an empty cell

    @property
    def sql_type(self) -> str:
        return {
            "text": "varchar", "integer": "integer", "number": "double", "truth": "double", "flag": "boolean",
            "time": "timestamp", "numbers": "double[]", "options": "varchar",
        }[self.type]  # fmt: skip


RESPONSES = (
    Column("question_id", required=True),
    Column("clue", "integer", low=0),
    Column("guess"),
    Column("confidence", "number", low=0, high=1, hint="percent", nan_is_empty=True),
    Column("token_logprobs", "numbers", high=0),
    Column("options", "options"),
    Column("correct", "truth", low=0, high=1),
    Column("failed", "flag"),
    Column("state", choices=STATES),
    Column("sample", longest=MAX_NAME_LENGTH),
    Column("buzz", "flag"),
    Column("model", longest=MAX_NAME_LENGTH),
    Column("elicitation", longest=MAX_NAME_LENGTH),
)
QUESTIONS = (
    Column("question_id", required=True),
    Column("text"),
    Column("answer"),
    Column("category"),
    Column("subcategory"),
    Column("difficulty", "number", low=0, high=1),
    Column("sex", choices=("male", "female")),
    Column("minimum_age", "integer", low=0, high=119),
    Column("radius", "integer", low=1, high=120),
)
CLUES = (
    Column("question_id", required=True),
    Column("clue", "integer", required=True, low=0),
    Column("text"),
    Column("word_end", "integer", low=1),
)
EXPOSURES = (
    Column("question_id", required=True),
    Column("match_id", required=True),
    Column("team", required=True),
    Column("team_kind", choices=("human", "model")),
    Column("heard_words", "integer", low=0),
    Column("ended_by"),
    Column("end_stated", "flag"),
)
BUZZES = (
    Column("question_id", required=True),
    Column("match_id", required=True),
    Column("team", required=True),
    Column("word", "integer", required=True, low=0),
    Column("correct", "truth", required=True, low=0, high=1),
    Column("guess"),
)
VOTES = (
    Column("question_id", required=True),
    Column("class", required=True),
    Column("votes", "integer", required=True, low=0),
)
GRADE_PREFIX = "correct."  # prefix of a column with a further grading; the grading's name follows
LEFT_OUT_PLAYS = (
    Column("question_id", required=True),
    Column("match_id", required=True),
    Column("reason", required=True, longest=MAX_NAME_LENGTH),
    Column("plays", "integer", required=True, low=1),
)
EVALUATED_AT = Column("evaluated_at", "time")  # of a run, which with its model and elicitation says which it is
CORRECTIONS = (
    Column("model", required=True),
    Column("elicitation", required=True),
    Column("question_id", required=True),
    Column("clue", "integer", low=0),
    Column("guess"),
    Column("correct", "number", low=0, high=1),
    Column("corrected_at", "time", required=True),
    Column("corrected_by"),
    Column("note"),
    EVALUATED_AT,
)
TAGS = (
    Column("model", required=True),
    Column("elicitation", required=True),
    Column("tag", required=True, longest=MAX_TAG_LENGTH),
    Column("value", required=True, longest=MAX_VALUE_LENGTH),
    EVALUATED_AT,
)


# The tables of a dataset, which a bundle can hold as files.
TABLES: dict[str, tuple[Column, ...]] = {
    "questions": QUESTIONS, "clues": CLUES, "exposures": EXPOSURES, "buzzes": BUZZES, "left_out_plays": LEFT_OUT_PLAYS,
    "votes": VOTES, "corrections": CORRECTIONS, "tags": TAGS,
}  # fmt: skip
MAX_ATTRIBUTE_LENGTH, MAX_ATTRIBUTES = 100, 50  # characters of an attribute's name; attributes of a table
MAX_ATTRIBUTE_VALUE_LENGTH = 500  # characters of an attribute's value: what an address can hold
ORDINAL = "ordinal"  # the column of a loaded file that numbers its rows


def attribute_names(
    file: str, names: Iterable[str], columns: Sequence[Column], report: Report, *, strict: bool = True
) -> list[str]:
    """Return the file's column names that are not columns of the table itself: they become attributes of its rows.

    A name that differs from another one only in case is left out and reported, because DuckDB treats both as the same column.
    Other columns that cannot be stored (too many of them, twice in the header, or a name that an address could not hold) are
    refused if ``strict``, otherwise left out and reported.
    """

    def leave_out(reason: str, column: str | None = None) -> None:
        if strict:
            raise refuse(file, reason, line=1, column=column)
        about = f"column {column!r}: " if column else ""
        report.warnings.append(f"{file}: {about}{reason}; left out")

    own = {column.name for column in columns}
    times = Counter(names)
    further = [name for name in times if name.strip() and name not in own]
    if len(further) > MAX_ATTRIBUTES:
        leave_out(f"the table has {len(further):,} columns besides its own; at most {MAX_ATTRIBUTES} can be kept as attributes")
        return []
    taken, kept = {name.lower(): name for name in (*own, ORDINAL)}, []
    for name in further:
        if times[name] > 1:
            leave_out("this column is in the header twice", name[:MAX_SHOWN_LENGTH])
        elif len(name) > MAX_ATTRIBUTE_LENGTH or not name.isprintable() or name != name.strip():
            reason = (
                f"this column would become an attribute, whose name may have at most {MAX_ATTRIBUTE_LENGTH} characters, all "
                "printable and without spaces around them"
            )
            leave_out(reason, name[:MAX_SHOWN_LENGTH])
        elif name.lower() in taken:
            report.warnings.append(f"{file}: the column {name} was not kept: its name is too similar to {taken[name.lower()]}")
        else:
            taken[name.lower()] = name
            kept.append(name)
    return kept


def grade_columns(names: Iterable[str]) -> tuple[Column, ...]:
    """Return the contract of the further gradings among a file's columns, such as ``correct.second-reader``."""
    return tuple(Column(name, "truth", low=0, high=1) for name in names if name.startswith(GRADE_PREFIX))


def responses_columns(*, percent: bool) -> tuple[Column, ...]:
    """Return the contract of responses. With ``percent``, the file states confidences from 0 to 100."""
    return tuple(replace(c, divisor=100, hint=None) if percent and c.name == "confidence" else c for c in RESPONSES)


def stage(
    connection: duckdb.DuckDBPyConnection,
    file: TableFile | FrameFile,
    columns: Sequence[Column],
    into: str,
    report: Report,
    further: Callable[[Sequence[str]], Sequence[Column]] | None = None,
) -> list[str]:
    """Read a file into the view ``into``, add its bad cells to the report, and return the contract columns that it has.

    The view has ``ordinal`` (ascending) and each contract column, typed, null where the file lacks the column. It reads a Parquet
    file directly, because scanning it is faster than writing a copy. The cells of a text file or of a reader's frame are first
    written to a table; a small table is converted once, into another table. ``further`` is as in ``Staging.load``. Raises
    ``Refused``.
    """
    raw = f"raw_of_{into}"
    wanted = list(columns)

    def choose(names: Sequence[str]) -> list[str]:
        wanted.extend(further(names) if further else ())
        present = {*names}
        return [column.name for column in wanted if column.name in present]

    have = _read_raw(connection, file, choose, raw, report)
    columns = wanted
    lacking = [c.name for c in columns if (c.required or c.present) and c.name not in have]
    report.problems += [Problem(file.name, 1, name, None, missing_column(name, file.columns)) for name in lacking]
    typed = [f"{_typed(c, have[c.name]) if c.name in have else f'null::{c.sql_type}'} as {quoted(c.name)}" for c in columns]
    rows = f"select {ORDINAL}, {', '.join(typed)} from {raw}"
    if file.format != "parquet" and connection.execute(f"select count(*) <= {SMALL_TABLE} from {raw}").fetchall()[0][0]:
        connection.execute(f"create or replace table typed_of_{into} as {rows}")
        rows = f"from typed_of_{into}"
    connection.execute(f"create or replace view {into} as {rows}")
    try:
        _report_cells(connection, file, into, {c: have[c.name] for c in columns if c.name in have}, report)
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except duckdb.Error as error:
        if isinstance(file, FrameFile) or file.format != "parquet":
            raise
        raise file.damaged_parquet(error) from error
    return list(have)


def missing_column(name: str, columns: Sequence[str]) -> str:
    """Return the reason to refuse a file that lacks a column, with a suggestion which of its columns may be meant.

    >>> missing_column("question_id", ["Question ID", "clue"])
    "this column is missing; is 'Question ID' meant? The file has: Question ID, clue"
    """
    by_word = {_words(column): column for column in reversed(columns)}
    near = get_close_matches(_words(name), by_word, n=1, cutoff=MIN_NAME_SIMILARITY)
    meant = f" is {by_word[near[0]]!r} meant? The" if near else " the"
    return f"this column is missing;{meant} file has: {(', '.join(columns) or 'none')[:400]}"


def _words(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


# SQL for the table of cells with a problem, by the view that their file is read into. Each counts once.
REPORTED = 'create table if not exists reported (view varchar, ordinal bigint, "column" varchar)'
Choose = Callable[[Sequence[str]], list[str]]  # given the columns of a file, returns those to read


def _read_raw(
    connection: duckdb.DuckDBPyConnection, file: TableFile | FrameFile, choose: Choose, raw: str, report: Report
) -> dict[str, str]:
    """Create the view ``raw`` with ``ordinal`` and the chosen columns, unconverted. Return their names and DuckDB types."""
    try:
        if isinstance(file, FrameFile):
            have = choose(file.columns)
            source, ordinal = f"cells_{raw}", "rowid + 1"
            rows = ArrowStream(file.rows.select(have or pl.lit(None).alias("nothing")))
            connection.execute(f"create or replace table {source} as from rows")
            del rows
        elif file.format == "parquet":
            have = choose(file.columns)
            file.check_parquet(connection, have)
            source = f"read_parquet({literal(file.pattern)}, {PARQUET}, file_row_number = true)"
            ordinal = "file_row_number + 1"
            if "file_row_number" in {name.lower() for name in file.columns}:
                source, ordinal = f"read_parquet({literal(file.pattern)}, {PARQUET})", "row_number() over ()"
        else:
            source, ordinal = f"cells_{raw}", "rowid + 1"  # DuckDB keeps the order of the file
            if file.format == "jsonl":
                have, ordinal = _read_json_lines(connection, file, choose, source, report), ORDINAL
            else:
                have = _read_csv(connection, file, choose, source)
        chosen = "".join(f", {quoted(name)}" for name in have)
        connection.execute(f"create or replace view {raw} as select {ordinal} as {ORDINAL}{chosen} from {source}")
        types = {row[0]: row[1] for row in connection.execute(f"describe {raw}").fetchall()}
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except duckdb.Error as error:
        if not isinstance(file, FrameFile) and file.format == "parquet":
            raise file.damaged_parquet(error) from error
        raise refuse(file.name, f"the file cannot be read: {str(error).splitlines()[0]}") from error
    return {name: types[name] for name in have}


# Quotes are read strictly; otherwise DuckDB repairs them and loses text. DuckDB stops at the first bad row, because its option
# to record bad rows and go on takes gigabytes when there are millions of them.
READ = f"""auto_detect = false, compression = 'none', hive_partitioning = false, strict_mode = true,
    max_line_size = {MAX_LINE_LENGTH}, buffer_size = {MAX_LINE_LENGTH}"""


def _read_csv(connection: duckdb.DuckDBPyConnection, file: TableFile, choose: Choose, into: str) -> list[str]:
    delimiter, header = file.dialect
    have = choose(file.columns)
    repeated = sorted({name for name in have if file.columns.count(name) > 1})
    if repeated:
        raise refuse(file.name, "this column is in the header twice", line=1, column=repeated[0])
    # DuckDB needs distinct names. Those of the contract are kept, the others are placeholders. They are part of the SQL, because
    # a parameter takes a tenth of a millisecond per name.
    kept = {index: f"c{index}" if file.steps else name for index, name in enumerate(header) if file.steps or name in have}
    names = ", ".join(f"{literal(kept.get(index, f'{index}:'))}: 'VARCHAR'" for index in range(len(header)))

    def sql(path: str) -> str:
        source = f"""read_csv({path}, columns = {{{names}}}, header = true, delim = {literal(delimiter)}, quote = '"',
            escape = '"', null_padding = false, {READ})"""
        for step in file.steps:
            source = f"(select {', '.join(f'{cell} as {quoted(name)}' for name, cell in step.items())} from {source})"
        return f"create or replace table {into} as select {', '.join(map(quoted, have)) or 'null as nothing'} from {source}"

    _read_text(connection, file, sql, len(header))
    return have


def _read_json_lines(
    connection: duckdb.DuckDBPyConnection, file: TableFile, choose: Choose, into: str, report: Report
) -> list[str]:
    # Read as a CSV of one column whose delimiter and quote never occur: DuckDB's fastest way to number the lines of a file.
    # Blank lines are rows of such a CSV, so ordinals are physical line numbers.
    sql = f"""create or replace table lines as
        select ordinal, line, case when json_valid(line) then json_type(line) = 'OBJECT' else false end as good from (
            select row_number() over () as ordinal, line from read_csv($path, columns = {{'line': 'VARCHAR'}}, header = false,
                delim = '\x1f\x1e', quote = '', escape = '', {READ})
        ) where trim(line) <> ''"""
    _read_text(connection, file, lambda path: sql.replace("$path", path), 1)
    bad = connection.execute(
        first_rows(f"select ordinal, line[:{MAX_SHOWN_LENGTH}] as line from lines where not good", "ordinal", MAX_LISTED_PROBLEMS)
    ).fetchall()
    report.add([Problem(file.name, line, None, text, WRONG_LINE) for line, text, _ in bad], bad[0][2] if bad else 0)
    keys = f"select distinct key from (select unnest(json_keys(line)) as key from lines where good) limit {MAX_COLUMNS + 1}"
    names = sorted(key for (key,) in connection.execute(keys).fetchall())
    if len(names) > MAX_COLUMNS:
        raise refuse(file.name, f"the lines have more than {MAX_COLUMNS:,} different keys")
    have = choose(names)
    values = "".join(f", json_extract_string(line, {literal(_pointer(name))}) as {quoted(name)}" for name in have)
    connection.execute(f"create or replace table {into} as select ordinal{values} from lines where good")
    connection.execute("drop table lines")
    return have


def _pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _read_text(connection: duckdb.DuckDBPyConnection, file: TableFile, sql: Callable[[str], str], width: int) -> None:
    """Run SQL, made from the file's path as a literal. Raises ``Refused`` unless every row has ``width`` fields."""
    if file.has_endless_line():
        raise Refused(file.misshapen(width, MAX_LISTED_PROBLEMS)[0] or [Problem(file.name, None, None, None, TOO_LONG)])
    try:
        connection.execute(sql(literal(file.pattern)))
        return
    except duckdb.InvalidInputException:
        problems, more = file.misshapen(width, MAX_LISTED_PROBLEMS)
        if problems:
            raise Refused(problems, {problems[-1].kind: more}) from None
        if not file.mixes_line_ends():
            raise
    connection.execute(sql(literal(file.with_even_line_ends().pattern)))


def trimmed_text(name: str) -> str:
    """Return SQL for the text of a column without the spaces around it; null if nothing is left."""
    text = f"{quoted(name)}::varchar"
    # Nearly every cell has no such spaces. Checking for them takes a third of the time of trimming all spaces of Unicode.
    plain = f"ascii({text}) > 32 and not suffix({text}, ' ') and strlen({text}) = length({text})"
    return f"case when {plain} then {text} else nullif(trim({text}), '') end"


def _number(text: str) -> str:
    """Return SQL that reads text as a number. DuckDB alone would read 1_0 as 10."""
    return f"case when not contains({text}, '_') then try_cast({text} as double) end"


INTEGRAL = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")}
PLAIN = INTEGRAL | {"DOUBLE", "BOOLEAN"}  # types whose numbers need not be parsed


def _given(column: Column, raw_type: str) -> str:
    """Return SQL that is null for an empty raw cell: the cell's text, or the cell itself where that is enough and faster."""
    lists = column.type in ("numbers", "options") and raw_type.endswith("]")
    given = quoted(column.name) if raw_type in PLAIN or lists else trimmed_text(column.name)
    return f"case when lower(({given})::varchar) <> 'nan' then {given} end" if column.nan_is_empty else given


def _typed(column: Column, raw_type: str) -> str:
    """Return SQL that reads a raw cell as the column's type; null if it cannot be read so."""
    name, text = quoted(column.name), trimmed_text(column.name)
    match column.type:
        case "text":
            return f"nullif({name}::varchar, '')"
        case "number":
            number = _number(text) if raw_type in ("VARCHAR", "BOOLEAN") else f"try_cast({name} as double)"
            number = f"case when not isnan({number}) then {number} end" if column.nan_is_empty else number
            return number if column.divisor == 1 else f"({number}) / {column.divisor}"
        case "integer" if raw_type in INTEGRAL:
            return f"try_cast({name} as integer)"
        case "integer":
            number = _number(text)
            return f"case when ({number}) = floor({number}) then try_cast(({number}) as integer) end"
        case "truth" if raw_type in PLAIN:
            return f"{name}::double"
        case "truth":
            words = "when 'true' then 1 when 'false' then 0 when 'yes' then 1 when 'no' then 0"
            return f"case lower({text}) {words} else {_number(text)} end"
        case "flag":
            truth = _typed(replace(column, type="truth"), raw_type)
            return f"case {truth} when 1 then true when 0 then false end"
        case "time":
            return f"try_cast({text} as timestamp)"
        case "numbers":
            # A list that cannot be read becomes an empty one, which is reported as a fault. Null would count as absent.
            numbers = f"try_cast({name if raw_type.endswith(']') else text} as double[])"
            return f"case when {_given(column, raw_type)} is not null then coalesce({numbers}, []) end"
        case "options":
            nested = raw_type.endswith("]") or raw_type.startswith(("MAP", "STRUCT"))
            return f"to_json({name})::varchar" if nested else text


def _faults(column: Column, cell: str, text: str) -> list[tuple[str, str, Hint | None]]:
    """List each fault that a cell can have: a SQL condition on the typed cell and its text, the reason, and the hint."""
    faults: list[tuple[str, str, Hint | None]] = []
    if column.required:
        faults.append((f"{text} is null", "a value is required here", None))
    if column.type == "integer":
        too_large = f"abs(try_cast({text} as double)) between {MAX_INTEGER + 1} and 'infinity'::double"
        faults.append((too_large, f"must be at most {MAX_INTEGER}", None))
    expected = {
        "integer": "a whole number", "number": "a number", "truth": "true, false or a number",
        "flag": "true or false", "time": "a time, such as 2026-05-01T12:30:00",
    }.get(column.type)  # fmt: skip
    if column.type == "number":
        percent = f"{cell} is null and regexp_full_match({text}::varchar, '[0-9.]+ *%')"
        without = f"must be a number without a percent sign; 85% is written as {85 * column.divisor / 100:g}"
        faults.append((percent, without, None))
    if expected:
        faults.append((f"{text} is not null and {cell} is null", f"must be {expected}", None))
    if column.type in ("number", "truth"):
        refused = "infinities" if column.nan_is_empty else "NaN and infinities"
        faults.append((f"not isfinite({cell})", f"must be a finite number: {refused} are not accepted", None))
    if column.type == "numbers":
        infinite = f"list_filter({cell}, lambda x: x is null or not isfinite(x))"
        faults.append((f"len({cell}) = 0 or len({infinite}) > 0", "must be a list of finite numbers", None))
    least, most = (f"list_min({cell})", f"list_max({cell})") if column.type == "numbers" else (cell, cell)
    low, high = (None if bound is None else f"{bound * column.divisor:g}" for bound in (column.low, column.high))
    between = f"must lie in [{low}, {high}]"
    if low is not None:
        faults.append((f"{least} < {column.low}", between if high is not None else f"must be at least {low}", None))
    if high is not None:
        faults.append((f"{most} > {column.high}", between if low is not None else f"must be at most {high}", column.hint))
    if column.longest is not None:
        faults.append((f"len({cell}) > {column.longest}", f"must be at most {column.longest} characters long", None))
    if column.choices:
        choices = ", ".join(map(literal, column.choices))
        faults.append((f"{cell} not in ({choices})", f"must be one of: {', '.join(column.choices)}", None))
    return faults


def _report_cells(
    connection: duckdb.DuckDBPyConnection, file: TableFile | FrameFile, into: str, columns: dict[Column, str], report: Report
) -> None:
    """Report each cell of a file that breaks its column's contract. A second scan lists them if the first one finds any."""
    raw = f"raw_of_{into}"
    cells: list[str] = []
    texts: list[str] = []
    faults: list[tuple[str, str, Hint | None]] = []  # column, reason and hint of each fault that a cell can have
    first_faults: list[str] = []  # per column, SQL for the number of the first fault of a row's cell; null if it has none
    for index, (column, raw_type) in enumerate(columns.items()):
        cells += [f"{_typed(column, raw_type)} as cell_{index}", f"{_given(column, raw_type)} as given_{index}"]
        texts.append(f"{trimmed_text(column.name)}[:{MAX_SHOWN_LENGTH}]")
        cases = []
        for condition, reason, hint in _faults(column, f"cell_{index}", f"given_{index}"):
            cases.append(f"when {condition} then {len(faults)}")
            faults.append((column.name, reason, hint))
        first_faults.append(f"case {' '.join(cases)} end" if cases else "null")
    if not faults:
        return
    faulty = " or ".join(f"({fault}) is not null" for fault in first_faults)
    # The hash makes DuckDB read every cell, so a damaged file fails here and not in a later query. Text files have already been
    # read.
    checksum = f"bit_xor(hash({', '.join(quoted(column.name) for column in columns)}))" if file.format == "parquet" else "null"
    result = connection.execute(
        f"select coalesce(bool_or({faulty}), false), {checksum} from (select {', '.join(cells)}, * from {raw})"
    )
    if not result.fetchall()[0][0]:
        return
    entries = ", ".join(f"{{'number': {fault}, 'value': {text}}}" for fault, text in zip(first_faults, texts, strict=True))
    faulty_cells = f"""(select ordinal, unnest([{entries}]) as fault
        from (select {", ".join(cells)}, * from {raw}) where {faulty})
        where fault.number is not null"""
    kinds = connection.execute(f"""
        select fault.number, count(*),
            arg_min({{'ordinal': ordinal, 'value': fault.value}}, ordinal, {MAX_LISTED_PROBLEMS}) from {faulty_cells}
        group by 1 order by 1""").fetchall()
    names = ", ".join(literal(name) for name, _, _ in faults)
    connection.execute(REPORTED)
    connection.execute(f"insert into reported select '{into}', ordinal, ([{names}])[fault.number + 1] from {faulty_cells}")
    places = file.places_of({row["ordinal"] for _, _, rows in kinds for row in rows})
    for number, total, rows in kinds:
        name, reason, hint = faults[number]
        problems = [
            Problem(file.name, place.line, name, row["value"], reason, hint, place.row)
            for row, place in ((row, places[row["ordinal"]]) for row in rows)
        ]
        report.add(problems, total)
