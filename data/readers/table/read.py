"""Any file as tables of text: CSV with any delimiter and encoding, JSON, JSON Lines, Parquet, workbooks of Excel."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from clueline.data.duckdb_and_polars import literal
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Refused, refuse
from clueline.data.importing.staging import Staging
from clueline.data.importing.table_contract import MAX_SHOWN_LENGTH
from clueline.data.importing.table_files import MAX_COLUMNS, MAX_LINE_LENGTH, PARQUET, WRONG_LINE, misfit, size
from clueline.data.readers.table.cells import as_text, flat
from clueline.data.readers.table.columns import Table
from clueline.data.readers.table.names import MODEL_NAME, roles_of, roles_of_phrase, tokens, words
from clueline.data.readers.table.reshape import SAID, reshape

MAX_BYTES = LARGE = 2**28  # of a table that is read into memory as a whole; beyond, a sample of a CSV shows what its columns are
TOO_LARGE = f"a table in the form of another project can have at most {size(MAX_BYTES)}"
SAMPLE, PARTS = 2**19, 16  # bytes of the sample, and from how many places of the file
DELIMITERS = ",;\t|"
MAX_OBJECT_BYTES = 2**20  # of a JSON file that is one answer
OF_ONE_ANSWER = {"question", "guess", "answer", "correct"}  # roles of keys in a JSON file that is one answer
MAX_TITLE_ROWS = 10  # rows above the header that are looked through
SAMPLE_ROWS = 50  # rows by which the delimiter and the header are found
SUMMARIES = {  # first cells of rows below a table that sum it up
    "average", "avg", "avg.", "mean", "median", "sum", "total", "totals", "overall", "std", "durchschnitt", "gesamt",
    "mittelwert", "summe",
}  # fmt: skip
TEXTS = {"text", "content"}  # keys of what was answered, in lists whose name says that they hold answers
OUTPUTS, LIKELIHOOD = "model_output", "sum_logits"  # keys of OLMES: what is known of each option, and its log-likelihood
KIND = "type"  # key of the kinds of records in a log, as those of OpenAI's evals
SERIES_BY_KEY, MAX_SERIES = "series of rows", 26  # column of rows that stand below one of a few keys each
SHEET = "sheet"  # column with the name of the sheet, of workbooks with several
NOT_TEXT = "this is neither text in a known encoding nor another file that is read as a table"


def read_tables(incoming: Incoming, staging: Staging) -> list[Table]:
    """Return the tables in a file: one, or in a workbook one for all sheets with the same columns. Raises ``Refused``.

    Of a large CSV, rows from all parts are read.
    """
    if incoming.folder is not None:
        return [reshape(_of_objects(incoming))]
    if part := _part_of_csv(incoming):
        return [part]
    return [reshape(table) for table in _tables_of(incoming, staging)]


def _part_of_csv(incoming: Incoming) -> Table | None:
    """Return rows from all parts of a large CSV in UTF-8 that begins with its header; None for any other file."""
    if incoming.is_workbook or (length := incoming.file.path.stat().st_size) <= LARGE:
        return None
    parts: list[bytes] = []
    with incoming.file.path.open("rb") as file:
        for n in range(PARTS):
            file.seek(length // PARTS * n)
            parts += file.read(SAMPLE // PARTS).split(b"\n")[1 if n else 0 : -1]
        if length <= SAMPLE or any(b'"' in line for line in parts):  # where a quoted cell begins is only certain at the start
            file.seek(0)
            parts = file.read(SAMPLE).split(b"\n")[:-1]
            while b"".join(parts).count(b'"') % 2:
                parts.pop()
    start = b"\n".join(parts).removeprefix(b"\xef\xbb\xbf")
    try:
        table, delimiter = _of_csv(incoming.name, start.decode("utf-8"))
    except (Refused, UnicodeDecodeError):
        return None
    header = start.partition(b"\n")[0].decode().split(delimiter)
    if (
        start[:1] in (b"{", b"[", b"")
        or not len(table)
        or [*table.columns] != [name.strip() for name in header]
        or reshape(table) is not table
    ):
        return None
    table.delimiter = delimiter
    return table


def _tables_of(incoming: Incoming, staging: Staging) -> list[Table]:
    if incoming.is_workbook:
        return _of_workbook(incoming)
    with incoming.file.path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return [_of_parquet(incoming, staging)]
    length = incoming.file.path.stat().st_size
    if length > MAX_BYTES:
        raise refuse(incoming.name, TOO_LARGE)
    text, encoding = _decoded(incoming.name, incoming.file.path.read_bytes())
    start = text.lstrip()[:1]
    table = _of_json(incoming.name, text) if start in ("{", "[") else _of_csv(incoming.name, text)[0]
    table.encoding = "" if encoding.startswith("utf") else encoding
    return [table] if table.columns and len(table) else []


def _decoded(name: str, content: bytes) -> tuple[str, str]:
    encodings = ["utf-8-sig", "cp1252"]
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    elif b"\0" in content[:4096]:
        encodings = ["utf-16-le" if content[1:2] == b"\0" else "utf-16-be"]
    for encoding in encodings:
        with suppress(UnicodeDecodeError):
            if "\0" not in (text := content.decode(encoding)):
                return text, encoding
    raise refuse(name, NOT_TEXT)


# -- CSV ---------------------------------------------------------------------------------------------------------------


def _of_csv(name: str, text: str) -> tuple[Table, str]:
    def fit(delimiter: str) -> tuple[int, int]:
        """Return how many rows have the most usual number of fields, and this number."""
        widths = Counter(len(row) for _, row in islice(_numbered(name, text, delimiter), SAMPLE_ROWS))
        return max(((rows, width) for width, rows in widths.items() if width > 1), default=(0, 0))

    delimiter = max(DELIMITERS, key=fit)
    if fit(delimiter) == (0, 0) and _is_parted_by_spaces(text):
        delimiter = " "
    return _with_header(name, [(f"line {line}", row) for line, row in _numbered(name, text, delimiter)]), delimiter


def _is_parted_by_spaces(text: str) -> bool:
    """Whether all lines have as many words as the first one, and more than one."""
    widths = {len(line.split()) for line in text.splitlines() if line.strip()}
    return len(widths) == 1 and widths != {1}


def _numbered(name: str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first physical line and the fields of each row that is not blank."""
    csv.field_size_limit(MAX_LINE_LENGTH)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=delimiter != "\t")
    before = 0
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield before + 1, row
            before = reader.line_num
    except csv.Error as error:
        raise refuse(name, f"this row cannot be read: {error}", line=before + 1) from error


def _with_header(name: str, rows: Sequence[tuple[str, Sequence[str | None]]]) -> Table:
    """Find the header below lines of title, and return the rows below it. Raises ``Refused`` for rows of another width."""
    sample = [row for _, row in rows[: SAMPLE_ROWS + MAX_TITLE_ROWS]]
    filled = [sum(bool(cell and cell.strip()) for cell in row) for row in sample]
    usual = Counter(filled).most_common(1)[0][0] if filled else 0
    widest = max(filled, default=0)
    # A title fills one cell or two. A header fills all columns but perhaps those of an index. Rows below it may have blanks.
    filled = [count + (not (row[0] or "").strip() and count == len(row) - 1) for count, row in zip(filled, sample, strict=True)]
    enough = min(usual, max(widest - 2, 3)) if widest > 3 else min(usual, widest)
    at = next((n for n, count in enumerate(filled[:MAX_TITLE_ROWS]) if count >= enough), 0)
    if not rows:
        return Table(name, {}, [])
    header = _names([(cell or "").strip() for cell in rows[at][1]])
    body = [*rows[at + 1 :]]
    summaries: list[str] = []
    while body and (first := next((cell.strip() for cell in body[-1][1] if cell and cell.strip()), "")).lower() in SUMMARIES:
        summaries.insert(0, first)
        body.pop()
    if len(header) > MAX_COLUMNS:
        raise refuse(name, f"the first line names more than {MAX_COLUMNS:,} columns")
    for place, row in body:
        extra = [cell for cell in row[len(header) :] if cell and cell.strip()]
        if len(row) < len(header) or extra:
            line = int(place.removeprefix("line ")) if place.startswith("line ") else None
            raise refuse(name, misfit(len(row), len(header)), line=line, value=",".join(cell or "" for cell in row)[:80])
    columns: dict[str, list[str | None]] = {head: [row[n] for _, row in body] for n, head in enumerate(header)}
    return Table(name, columns, [place for place, _ in body], left_out=", ".join(summaries))


def _names(header: Sequence[str]) -> list[str]:
    """Give every column a name of its own: unnamed and repeated ones get numbers, as pandas gives them."""
    names: dict[str, None] = {}
    for n, stated in enumerate(header):
        name = stated or f"Unnamed: {n}"
        names[name if name not in names else f"{name}.{n}"] = None
    return [*names]


# -- JSON and Parquet --------------------------------------------------------------------------------------------------


def _of_json(name: str, text: str) -> Table:
    try:
        document = json.loads(text)
    except RecursionError:
        raise refuse(name, "this JSON nests too deeply") from None
    except ValueError as whole:
        records: list[tuple[str, Any]] = []
        for line, content in enumerate(text.split("\n"), start=1):
            if content.strip():
                record = None
                with suppress(ValueError, RecursionError):
                    record = json.loads(content)
                if not isinstance(record, dict):
                    if line == 1 and isinstance(whole, json.JSONDecodeError):
                        reason = f"this is not valid JSON: {whole.msg}, at character {whole.colno}"
                        raise refuse(name, reason, line=whole.lineno) from None
                    raise refuse(name, WRONG_LINE, line=line, value=content[:80]) from None
                records.append((f"line {line}", record))
        return _of_records(name, records)
    return _of_records(name, _records(document))


def _records(document: object, depth: int = 0) -> list[tuple[str, Any]]:
    """Find the rows of a JSON document: a list of objects, objects by id, columns by name, or one of these within an object.

    Columns are lists, or objects whose keys are the numbers of rows. Where several parts of an object have rows of one form,
    their keys become a column, and so does a key that is the name of a model.

    ``columns`` with a list of rows, ``data``, is how pandas splits a table, and MLflow its results.
    """
    if isinstance(document, list):
        return [(f"entry {n}", row) for n, row in enumerate(document, start=1)] if _are_objects(document) else []
    if not isinstance(document, dict) or depth > 3:
        return []
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list) and all(isinstance(r, list) and len(r) == len(columns) for r in data):
        return [(f"entry {n}", dict(zip(map(str, columns), row, strict=True))) for n, row in enumerate(data, start=1)]
    values = list(document.values())
    numbered = len(values) > 1 and _are_objects(values) and all(key.isdecimal() for value in values for key in value)
    if numbered and any(map(roles_of, document)):
        keys = dict.fromkeys(key for value in values for key in value)
        return [(f"entry {key}", {name: value.get(key) for name, value in document.items()}) for key in keys]
    by_column = len(values) > 1 and all(isinstance(value, list) and len(value) == len(values[0]) for value in values)
    if by_column and values[0] and not any(isinstance(cell, dict) for value in values for cell in value):
        return [(f"entry {n + 1}", {key: document[key][n] for key in document}) for n in range(len(values[0]))]
    by_id = len(values) > 1 and _are_objects(values) and len({frozenset(value) for value in values}) <= max(1, len(values) // 10)
    counted = len(values) > 1 and _are_objects(values) and [*map(str, range(len(values)))] == [*document]
    if counted or (by_id and not all(isinstance(inner, dict) for inner in values[0].values())):
        return [(f"entry {key!r}"[:MAX_SHOWN_LENGTH], {"id": key} | value) for key, value in document.items()]
    parts = {key: rows for key, value in document.items() if (rows := _records(value, depth + 1))}
    if not parts:
        return []
    longest = max(parts, key=lambda key: len(parts[key]))
    facts: dict[str, object] = {}
    for key, value in document.items():
        if isinstance(value, dict) and key not in parts:
            of_run = {name: cell for name, cell in flat(value).items() if {*roles_of_phrase(tokens(name))} & {"model", "dataset"}}
            facts |= {f"{key}.{name}": cell for name, cell in of_run.items()}
        elif key not in parts and isinstance(value, str | int | float | bool):
            facts[key] = value
    if MODEL_NAME.search(f"{longest} "):
        facts[SERIES_BY_KEY] = longest
    alike = [key for key in parts if parts[key][0][1].keys() == parts[longest][0][1].keys()]
    if len(alike) == 1:
        return [(place, facts | row) for place, row in parts[longest]]
    series = SERIES_BY_KEY if len(alike) <= MAX_SERIES else "id"
    return [(f"{key}: {place}"[:MAX_SHOWN_LENGTH], facts | {series: key} | row) for key in alike for place, row in parts[key]]


def is_one_object(incoming: Incoming) -> bool:
    """Return whether a file is one small JSON object about one answer, as those of a folder with a file for each."""
    return incoming.path.suffix.lower() == ".json" and _one_answer(incoming) is not None


def _one_answer(incoming: Incoming) -> dict[str, Any] | None:
    """Return the object of a file with one answer: it has no rows in it, or these are parts of the answer, such as sources."""
    if incoming.path.stat().st_size > MAX_OBJECT_BYTES:
        return None
    document = incoming.document
    if isinstance(document, list) and len(document) == 1:
        (document,) = document
    if not isinstance(document, dict):
        return None
    if not isinstance(incoming.document, dict) or not (rows := _records(document)):
        return document
    stated = (key for key, value in document.items() if isinstance(value, str | int | float | bool))
    of_answer = {role for key in stated for role in roles_of_phrase(tokens(key))} & OF_ONE_ANSWER
    of_rows = {role for key in rows[0][1] if key not in document for role in roles_of_phrase(tokens(key))}
    return document if of_answer and not of_rows & {"question", "question_id"} else None


def _of_objects(incoming: Incoming) -> Table:
    """Return the table of a folder with a file for each answer. If none has an id, the names of the files are the ids."""
    parts = {path.stem: incoming.part(path) for path in sorted((incoming.folder or incoming.path).iterdir()) if path.is_file()}
    documents = {stem: _one_answer(part) for stem, part in parts.items() if is_one_object(part)}
    answers = {stem: row for stem, row in documents.items() if row is not None}
    usual = Counter(key for row in answers.values() for key in row)
    common = {key for key, count in usual.items() if count > len(answers) / 2}
    others = [stem for stem, row in answers.items() if common and not common & row.keys()]  # such as a file of settings
    rows = [(f"{stem}.json", {"id": stem} | row) for stem, row in answers.items() if stem not in others]
    table = _of_records(incoming.name, rows)
    table.left_out = ", ".join(filter(None, [table.left_out, *(f"{stem}.json" for stem in others)]))
    return table


def _are_objects(values: object) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(value, dict) for value in values)


def _of_records(name: str, records: Sequence[tuple[str, dict[str, Any]]]) -> Table:
    records = _of_predictions(records)
    rows = [flat(_of_chat(_with_logits(record))) for _, record in records]
    answered = {row.get(KIND) for row in rows if any({*roles_of_phrase(tokens(key))} & SAID for key in row)}
    answered = answered - {None} or answered  # a record without a kind beside others is about the whole log
    others = Counter(row.get(KIND) for row in rows if answered and row.get(KIND) not in answered)
    places = [place for (place, _), row in zip(records, rows, strict=True) if row.get(KIND) not in others]
    rows = [row for row in rows if row.get(KIND) not in others]
    names = list(dict.fromkeys(key for row in rows for key in row))
    if len(names) > MAX_COLUMNS:
        raise refuse(name, f"the rows have more than {MAX_COLUMNS:,} different keys")
    left_out = ", ".join(f"{count:,} of {KIND} {kind or 'none'}" for kind, count in others.items())
    return Table(name, {key: [row.get(key) for row in rows] for key in names}, places, left_out=left_out)


def _of_predictions(records: Sequence[tuple[str, dict[str, Any]]]) -> Sequence[tuple[str, dict[str, Any]]]:
    """Give each entry of a list of predictions a row of its own, where these have answers of models or with confidences."""
    for key, sample in records[0][1].items() if records else ():
        if not isinstance(sample, list) or not _are_objects(sample):
            continue
        roles = {role for name in sample[0] for role in roles_of_phrase(words(name))}
        text = next(iter(sample[0].keys() & TEXTS), "") if "guess" in roles_of_phrase(words(key)) else ""
        if not text and "guess" not in roles and _has_reference(records[0][1]):
            text = next((name for name in sample[0] if "either" in roles_of_phrase(words(name))), "")
        roles |= {"guess"} if text else set()
        told = roles & {"guess", "confidence", "correct"}
        if len(told) < (1 if "model" in roles else 2) or told == {"confidence", "correct"}:
            continue
        if all(_are_objects(record.get(key) or [{}]) for _, record in records if isinstance(record.get(key) or [], list)):
            return [
                row for place, record in records for row in _by_prediction(place, record, key, text, of_models="model" in roles)
            ]
    return records


def _by_prediction(
    place: str, record: dict[str, Any], key: str, text: str, *, of_models: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a row for each entry of a list of predictions, with its number there unless it names its model."""
    facts = {name: value for name, value in record.items() if name != key}
    for number, entry in enumerate(record.get(key) or [], start=1):
        told = {"model answer" if name == text else name: value for name, value in entry.items()}
        yield place, facts | {key: told} | ({} if of_models else {f"number in {key}": number})


def _has_reference(record: Mapping[str, Any]) -> bool:
    """Whether a record has a reference answer beside a list of answers."""
    return any({*roles_of_phrase(tokens(key))} & {"answer", "either"} for key in record)


def _with_logits(record: dict[str, Any]) -> dict[str, Any]:
    """Give the log-likelihoods of options, as OLMES lists them with other facts of each option, a list of their own."""
    outputs = record.get(OUTPUTS)
    if not isinstance(outputs, list) or len(outputs) < 2 or not _are_objects(outputs):
        return record
    logits = [entry.get(LIKELIHOOD) for entry in outputs]
    if not all(isinstance(value, int | float) for value in logits):
        return record
    return {key: value for key, value in record.items() if key != OUTPUTS} | {"option logits": logits}


def _of_chat(record: dict[str, Any]) -> dict[str, Any]:
    """Give conversations their last question and their last answer as ``prompt`` and ``response``."""
    return {key: _last_turns(value) for key, value in record.items()}


def _last_turns(value: Any) -> Any:
    """Return what was last asked and answered in a conversation; any other value as it is."""
    if not _are_objects(value) or not all("role" in turn and isinstance(turn.get("content"), str) for turn in value):
        return value
    last = {turn["role"]: turn["content"] for turn in value}
    turns = {"prompt": last.get("user"), "response": last.get("assistant")}
    return {key: text for key, text in turns.items() if text is not None}


def _of_parquet(incoming: Incoming, staging: Staging) -> Table:
    file = incoming.file
    file.check_parquet(staging.connection, file.columns)
    rows = staging.connection.execute(f"from read_parquet({literal(file.pattern)}, {PARQUET})")
    names = [column[0] for column in rows.description or ()]
    records = [(f"row {n}", dict(zip(names, row, strict=True))) for n, row in enumerate(rows.fetchall(), start=1)]
    return _of_records(incoming.name, records)


# -- workbooks ---------------------------------------------------------------------------------------------------------


def _of_workbook(incoming: Incoming) -> list[Table]:
    from python_calamine import CalamineError, load_workbook  # only workbooks need it

    try:
        workbook = load_workbook(incoming.path)
        sheets = {sheet: workbook.get_sheet_by_name(sheet).to_python(skip_empty_area=False) for sheet in workbook.sheet_names}
    except (CalamineError, OSError, ValueError) as error:
        raise refuse(incoming.name, f"this workbook cannot be read: {error}") from error
    tables: dict[tuple[str, ...], Table] = {}
    several = sum(bool(rows) for rows in sheets.values()) > 1
    for sheet, rows in sheets.items():
        cells = [(f"{sheet}, row {n}", [as_text(cell) for cell in row]) for n, row in enumerate(rows, start=1)]
        table = _with_header(incoming.name, [(place, row) for place, row in cells if any(row)])
        if not len(table):
            continue
        if several:
            table.columns[SHEET if SHEET not in table.columns else f"{SHEET} of workbook"] = [sheet] * len(table)
        same = tables.setdefault(tuple(table.columns), table)
        if same is not table:
            for name, column in table.columns.items():
                same.columns[name] += column
            same.places += table.places
    if not tables:
        raise refuse(incoming.name, "no sheet of this workbook has rows below a header")
    return list(tables.values())
