"""Any file as tables of text: CSV with any delimiter and encoding, JSON, JSON Lines, Parquet, workbooks of Excel."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import islice
from string import ascii_uppercase
from typing import Any

from data.duckdb_and_polars import literal
from data.importing.file_folder_or_zip import Incoming
from data.importing.report import Refused, refuse
from data.importing.staging import Staging
from data.importing.table_contract import MAX_SHOWN_LENGTH
from data.importing.table_files import MAX_COLUMNS, MAX_LINE_LENGTH, PARQUET, WRONG_LINE, misfit, size
from data.readers.shared.evaluation_log import parsed
from data.readers.table.cells import answer, given, listed, number, softmax, truth
from data.readers.table.names import MODEL_NAME, NO_CONFIDENCE, OTHERS_CORRECT, roles_of, roles_of_phrase, tokens, words

MAX_BYTES = 2**28  # of a table that is read into memory as a whole
LARGE = MAX_BYTES  # of a CSV; beyond, a sample shows what its columns are
TOO_LARGE = f"a table in the form of another project can have at most {size(MAX_BYTES)}"
SAMPLE, PARTS = 2**19, 16  # bytes of the sample, and from how many places of the file
DELIMITERS = ",;\t|"
MAX_TITLE_ROWS = 10  # rows above the header that are looked through
SAMPLE_ROWS = 50  # rows by which the delimiter and the header are found
SUMMARIES = {  # first cells of rows below a table that sum it up
    "average", "avg", "avg.", "mean", "median", "sum", "total", "totals", "overall", "std", "durchschnitt", "gesamt",
    "mittelwert", "summe",
}  # fmt: skip
TEXTS = {"text", "content"}  # keys of what was answered, in lists whose name says that they hold answers
MODELS, SERIES = "model named by columns", "series named by columns"  # columns of tables that have columns for each of these
SEVERAL = {"responses", "generations", "completions"}  # words that name lists of answers
SAMPLE_NUMBER = "sample"  # column of answers that were in lists
KIND = "type"  # key of the kinds of records in a log, as those of OpenAI's evals
SAID = {"guess", "correct", "confidence"}  # roles of which records of answers have one
ANSWER = "model answer"  # column with the answer of each
ANSWERED = {"guess", "either", "correct", "confidence", "certainty", "uncertainty"}  # roles of what a model says, and its grade
LISTS = {"probs", "probabilities", "softmax", "distribution"}  # words that name lists with a probability for each option
LOGITS = {"logits", "logprobs"}  # words that name lists with a logit for each option, or objects with a log-probability for each
# A column with the logit or log-probability of one option.
LOGIT = re.compile(r"(.*log[\W_]?(?:it|prob|likelihood)s?[\W_]*)([a-z]|\d\d?|yes|no|true|false)", re.IGNORECASE)
OF_ALL = ({"yes", "no"}, {"true", "false"})  # names of all options
VARIABLES, VALUE = {"variable", "metric", "measure", "field"}, "value"  # columns of a table with a row for each cell
SUM_TOLERANCE = 0.02  # by how much the probabilities of all options may differ from 1 in sum, for they are rounded
SHEET = "sheet"  # column with the name of the sheet, of workbooks with several
NOT_TEXT = "this is neither text in a known encoding nor another file that is read as a table"


@dataclass
class Table:
    """A table of texts: columns by name, of equal length; None is a missing cell.

    ``places`` says where each row is. ``encoding`` is blank if the text is Unicode. ``delimiter`` is that of the large CSV of
    which these are some rows; None if they are the whole table. ``left_out`` says which rows hold no answer.
    """

    name: str
    columns: dict[str, list[str | None]]
    places: list[str]
    encoding: str = ""
    delimiter: str | None = None
    left_out: str = ""

    def __len__(self) -> int:
        return len(self.places)


def read_tables(incoming: Incoming, staging: Staging) -> list[Table]:
    """Return the tables in a file: one, or in a workbook one for all sheets with the same columns. Raises ``Refused``.

    Columns of several models become rows of each; see ``_by_series``. Lists of probabilities become columns; see ``_by_option``.
    Rows of one answer become one, and lists of answers rows; see ``_by_answer`` and ``_by_sample``.
    Of a large CSV, rows from all parts are read.
    """
    if part := _part_of_csv(incoming):
        return [part]
    return [_by_option(_by_sample(_by_entry(_by_series(_by_answer(table))))) for table in _tables_of(incoming, staging)]


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
        or _series(table)
        or any(step(table) is not table for step in (_by_option, _by_answer, _by_entry, _by_sample))
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
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    elif b"\0" in content[:4096]:
        encodings = ["utf-16-le" if content[1:2] == b"\0" else "utf-16-be"]
    else:
        encodings = ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text, encoding
    raise refuse(name, NOT_TEXT)


# -- rows of one answer -------------------------------------------------------------------------------------------------


def _by_answer(table: Table) -> Table:
    """Give each answer one row, if a table has a row for each cell: its name in a column such as ``variable``, its ``value``."""
    named = {" ".join(words(name)): name for name in table.columns}
    name = next((named[word] for word in VARIABLES & named.keys()), "")
    if not name or VALUE not in named:
        return table
    variables = [given(cell) or "" for cell in table.columns[name]]
    roles = {role for variable in {*variables} for role in roles_of_phrase(words(variable))}
    if len(roles & ANSWERED) < 2 or {*variables} & table.columns.keys():
        return table
    keys = [other for other in table.columns if other not in (name, named[VALUE])]
    answers: dict[tuple[str | None, ...], dict[str, str | None]] = {}
    places = []
    for n, place in enumerate(table.places):
        key = tuple(table.columns[other][n] for other in keys)
        if key not in answers:
            answers[key] = {}
            places.append(place)
        if variables[n] in answers[key]:
            return table  # several answers are not told apart
        answers[key][variables[n]] = table.columns[named[VALUE]][n]
    columns = {other: [key[n] for key in answers] for n, other in enumerate(keys)}
    columns |= {variable: [row.get(variable) for row in answers.values()] for variable in dict.fromkeys(variables)}
    return replace(table, columns=columns, places=places)


# -- columns of several models -----------------------------------------------------------------------------------------


def _by_series(table: Table) -> Table:
    """Give each model rows of its own, if there are columns such as ``alpha_answer`` and ``beta_answer``, or ``gpt-4``.

    What the names of columns have in common says what each holds, and what differs names the model or another series.
    """
    series = _series(table)
    if not series:
        return table
    own = {name for columns in series.values() for name in columns.values()}
    rows = [
        (place, n, name)
        for n, place in enumerate(table.places)
        for name, columns in series.items()
        if any((table.columns[column][n] or "").strip() for column in columns.values())
    ]
    labels = dict(zip(series, _without_path(list(series)), strict=True))
    of_models = any(MODEL_NAME.match(f"{label} ") for label in labels.values())
    columns = {name: [cells[n] for _, n, _ in rows] for name, cells in table.columns.items() if name not in own}
    for what in next(iter(series.values())):
        held = ANSWER if "either" in roles_of_phrase(words(what)) else what if what not in columns else f"{what} of model"
        columns[held] = [table.columns[series[name][what]][n] for _, n, name in rows]
    columns[MODELS if of_models else SERIES] = [labels[name] for _, _, name in rows]
    return replace(table, columns=columns, places=[place for place, _, _ in rows])


def _series(table: Table) -> dict[str, dict[str, str]]:
    """Return the columns of each model or other series, by what they hold; empty if the table has no such columns."""
    models = [name for name in table.columns if MODEL_NAME.match(f"{name} ") and not roles_of(name)]
    if len(models) > 1:
        cells = [given(cell) for name in models for cell in table.columns[name]]
        truths = all(truth(cell) is not None for cell in cells if cell is not None)
        held = "correct" if truths else ANSWER if not any(map(number, cells)) else "value"
        return {name: {held: name} for name in models}
    best: dict[str, dict[str, str]] = {}
    for at_end in (True, False):
        series: dict[str, dict[str, str]] = {}
        for name in table.columns:
            for match in re.finditer(r"[\s_.:/|-]+", name):
                parts = name[: match.start()], name[match.end() :]
                whose, what = parts if at_end else parts[::-1]
                known = {*words(whose)} & (OTHERS_CORRECT | NO_CONFIDENCE) or roles_of_phrase(words(whose))
                if whose and not known and ANSWERED & {*roles_of_phrase(words(what))} and not roles_of_phrase(words(name)):
                    series.setdefault(whose, {})[what] = name
        for kinds in {frozenset(columns) for columns in series.values()}:
            family = {whose: columns for whose, columns in series.items() if columns.keys() == kinds}
            roles = {role for what in kinds for role in roles_of_phrase(words(what))} & ANSWERED
            if not roles & {"guess", "either", "correct"} or len(family) < 2:
                continue
            of_models = any(MODEL_NAME.search(f"{whose} ") for whose in family)
            if (len(roles) > 1 or of_models) and len(family) * len(kinds) > sum(map(len, best.values())):
                best = family
    return best


def _without_path(names: list[str]) -> list[str]:
    """Return dotted names without the parts that all begin with, unless these belong to the name of a model."""
    while len({name.partition(".")[0] for name in names}) == 1 and all("." in name for name in names):
        if MODEL_NAME.match(f"{names[0].partition('.')[0]} "):
            break
        names = [name.partition(".")[2] for name in names]
    return names


# -- lists of answers ------------------------------------------------------------------------------------------------------


def _lists(table: Table) -> dict[str, list[list[str] | None]]:
    """Return the columns of lists, by name: the entries of each cell, None where it is blank."""
    starts = {name: next(filter(None, map(given, cells)), "") for name, cells in table.columns.items()}
    read = {name: [listed(given(cell)) for cell in table.columns[name]] for name, text in starts.items() if text[:1] == "["}
    return {name: rows for name, rows in read.items() if all(map(_is_blank_or_list, rows, table.columns[name]))}


def _is_blank_or_list(entries: list[str] | None, cell: str | None) -> bool:
    return entries is not None or given(cell) is None


def _by_entry(table: Table) -> Table:
    """Let the most probable of the answers in a list be the guess, if a list beside it has their probabilities."""
    lists = _lists(table)
    for name, shares in lists.items():
        if not {*words(name)} & LISTS or not all(_probabilities(cell) != {} for cell in table.columns[name]):
            continue
        for other, entries in lists.items():
            alike = [(e, s) for e, s in zip(entries, shares, strict=True) if e is not None and s is not None]
            if other == name or not alike or any(len(e) != len(s) or any(map(number, e)) for e, s in alike):
                continue
            known = {answer(entry) for e, _ in alike for entry in e}
            references = [cells for key, cells in table.columns.items() if {*roles_of(key)} & {"answer", "either"}]
            if not any(sum(answer(text) in known for text in map(given, cells) if text) * 2 > len(alike) for cells in references):
                continue
            best = [max(zip(map(float, s), e, strict=True)) if e and s else None for e, s in zip(entries, shares, strict=True)]
            columns = {key: cells for key, cells in table.columns.items() if key not in (name, other)}
            columns[f"predicted of {other}"] = [one and one[1] for one in best]
            columns[f"confidence of {name}"] = [one and repr(one[0]) for one in best]
            return replace(table, columns=columns)
    return table


def _by_sample(table: Table) -> Table:
    """Give each of several answers a row, if lists beside each other hold answers, their grades or their confidences.

    A list alone holds answers if its name says that they are several.
    """
    holding = {name: rows for name, rows in _lists(table).items() if {*roles_of(name)} & SAID and not {*words(name)} & LISTS}
    lengths = [{len(row) for row in rows if row is not None} for rows in zip(*holding.values(), strict=True)]
    roles = {role for name in holding for role in roles_of(name)} & SAID
    several = len(roles) > 1 or (len(holding) == 1 and {*words(next(iter(holding)))} & SEVERAL)
    if not several or any(len(length) != 1 for length in lengths) or max(map(max, lengths)) < 2:
        return table
    index = [(n, k) for n, length in enumerate(lengths) for k in range(max(length))]
    columns = {name: [cells[n] for n, _ in index] for name, cells in table.columns.items() if name not in holding}
    columns |= {name: [row[k] if (row := rows[n]) else None for n, k in index] for name, rows in holding.items()}
    columns[SAMPLE_NUMBER] = [str(k) for _, k in index]
    return replace(table, columns=columns, places=[table.places[n] for n, _ in index])


# -- columns of probabilities in lists ------------------------------------------------------------------------------------


def _by_option(table: Table) -> Table:
    """Give each option a column of its own, if a column holds lists of probabilities that add up to 1, or objects of these.

    Lists go by number from 0 or, where guesses or reference answers are letters, by letter. Logits become probabilities.
    """
    if (normalised := _normalised(table)) is not table:
        return normalised
    for name, cells in table.columns.items():
        named = {*words(name)}
        of_options = named & (LISTS | LOGITS) and not named & (NO_CONFIDENCE | OTHERS_CORRECT)
        rows = [_probabilities(cell, named & LOGITS) for cell in cells] if of_options else []
        options = next(([*row] for row in rows if row), [])
        if not options or not all(row is None or [*row] == options for row in rows):
            continue
        by_number = options == [str(n) for n in range(len(options))]
        letters = ascii_uppercase[: len(options)] if by_number and _have_letters(table, len(options)) else options
        columns = {other: list(others) for other, others in table.columns.items() if other != name}
        for option, letter in zip(options, letters, strict=True):
            columns[f"{name}_{letter}"] = [None if row is None else repr(row[option]) for row in rows]
        return replace(table, columns=columns)
    return table


def _normalised(table: Table) -> Table:
    """Give columns with the logit or log-probability of each option the probabilities instead."""
    families: dict[str, dict[str, str]] = {}
    for name in table.columns:
        if match := LOGIT.fullmatch(name):
            families.setdefault(match[1], {})[match[2].lower()] = name
    columns = dict(table.columns)
    for family in families.values():
        firsts = [{*ascii_uppercase[: len(family)].lower()}, *({str(n + start) for n in range(len(family))} for start in (0, 1))]
        cells = [[number(given(cell)) for cell in table.columns[name]] for name in family.values()]
        if len(family) < 2 or family.keys() not in (*firsts, *OF_ALL) or not all(map(any, cells)):
            continue
        rows = [softmax([numeral[0] for numeral in row]) if all(row) else None for row in zip(*cells, strict=True)]
        for n, name in enumerate(family.values()):
            columns[f"{name} (softmax)"] = [repr(row[n]) if row else None for row in rows]
            del columns[name]
    return replace(table, columns=columns) if columns.keys() != table.columns.keys() else table


def _have_letters(table: Table, count: int) -> bool:
    """Whether the guesses or reference answers of a table are some of the first letters."""
    letters = {*ascii_uppercase[:count].lower()}
    answers = [cells for name, cells in table.columns.items() if {*roles_of(name)} & {"answer", "guess", "either"}]
    return any({answer(text) for cell in cells if (text := given(cell))} <= letters for cells in answers if any(cells))


def _probabilities(cell: str | None, of_logits: Collection[str] = ()) -> dict[str, float] | None:
    """Return the probabilities in a list or an object, by option. Empty if a cell holds something else, None if it is blank.

    ``of_logits`` are words that say that these are logits or, in objects, log-probabilities.
    """
    if (text := given(cell)) is None:
        return None
    value = parsed(text) if text[0] in "[{" else None
    shares = {str(n): share for n, share in enumerate(value)} if isinstance(value, list) else value
    if not isinstance(shares, dict) or not 1 < len(shares) <= len(ascii_uppercase):
        return {}
    numbers = [share for share in shares.values() if isinstance(share, int | float) and math.isfinite(share)]
    if of_logits:
        normalise = len(numbers) == len(shares) and (isinstance(value, dict) or "logits" in of_logits)
        return dict(zip(shares, softmax(numbers), strict=True)) if normalise else {}
    fitting = all(isinstance(share, int | float) and 0 <= share <= 1 for share in shares.values())
    return shares if fitting and abs(sum(shares.values()) - 1) <= SUM_TOLERANCE else {}


# -- CSV ---------------------------------------------------------------------------------------------------------------


def _of_csv(name: str, text: str) -> tuple[Table, str]:
    best: tuple[int, int, str] | None = None
    for delimiter in DELIMITERS:
        widths = Counter(len(row) for _, row in islice(_numbered(name, text, delimiter), SAMPLE_ROWS))
        width, rows = max(((w, n) for w, n in widths.items() if w > 1), key=lambda pair: (pair[1], pair[0]), default=(1, 0))
        if rows and (best is None or (rows, width) > best[:2]):
            best = (rows, width, delimiter)
    delimiter = best[2] if best else ","
    return _with_header(name, [(f"line {line}", row) for line, row in _numbered(name, text, delimiter)]), delimiter


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
    names: list[str] = []
    for n, stated in enumerate(header):
        name = stated or f"Unnamed: {n}"
        names.append(name if name not in names else f"{name}.{n}")
    return names


# -- JSON and Parquet --------------------------------------------------------------------------------------------------


def _of_json(name: str, text: str) -> Table:
    lines = text.split("\n")
    try:
        document = json.loads(text)
    except RecursionError:
        raise refuse(name, "this JSON nests too deeply") from None
    except ValueError as whole:
        records: list[tuple[str, Any]] = []
        for line, content in enumerate(lines, start=1):
            if content.strip():
                try:
                    record = json.loads(content)
                except (ValueError, RecursionError):
                    record = None
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

    Columns are lists, or objects whose keys are the numbers of rows.

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
    if len(values) > 1 and _are_objects(values) and len({frozenset(value) for value in values}) <= max(1, len(values) // 10):
        return [(f"entry {key!r}"[:MAX_SHOWN_LENGTH], {"id": key} | value) for key, value in document.items()]
    parts = {key: rows for key, value in document.items() if (rows := _records(value, depth + 1))}
    if not parts:
        return []
    longest = max(parts, key=lambda key: len(parts[key]))
    facts = {key: value for key, value in document.items() if key not in parts and isinstance(value, str | int | float | bool)}
    return [(place, facts | row) for place, row in parts[longest]]


def _are_objects(values: object) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(value, dict) for value in values)


def _of_records(name: str, records: Sequence[tuple[str, dict[str, Any]]]) -> Table:
    records = _of_predictions(records)
    rows = [_flat(_of_chat(record)) for _, record in records]
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
        roles |= {"guess"} if text else set()
        told = roles & {"guess", "confidence", "correct"}
        if len(told) < (1 if "model" in roles else 2) or told == {"confidence", "correct"}:
            continue
        if all(_are_objects(record.get(key) or [{}]) for _, record in records if isinstance(record.get(key) or [], list)):
            return [
                (place, {name: value for name, value in record.items() if name != key} | {key: _renamed(entry, text, "answer")})
                for place, record in records
                for entry in record.get(key) or []
            ]
    return records


def _of_chat(record: dict[str, Any]) -> dict[str, Any]:
    """Give a conversation its last question and its last answer as ``prompt`` and ``response``."""
    for key, turns in record.items():
        if _are_objects(turns) and all("role" in turn and isinstance(turn.get("content"), str) for turn in turns):
            last = {turn["role"]: turn["content"] for turn in turns}
            return record | {key: {"prompt": last.get("user"), "response": last.get("assistant")}}
    return record


def _renamed(entry: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in entry.items()}


def _flat(record: dict[str, Any]) -> dict[str, str | None]:
    """Return a record with the values of nested objects under dotted paths. Lists become JSON text."""
    flat: dict[str, str | None] = {}
    stack: list[tuple[str, Any]] = [(str(key), value) for key, value in reversed(record.items())]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict) and value:
            stack += [(f"{path}.{key}", inner) for key, inner in reversed(value.items())]
        else:
            flat[path] = _text(value)
    return flat


def _text(value: object) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case float() if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        case list() | tuple() | dict():
            return json.dumps(value, ensure_ascii=False, default=str)
        case datetime() | date():
            return value.isoformat()
    return str(value).encode("utf-8", "replace").decode()


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
        cells = [(f"{sheet}, row {n}", [_text(cell) for cell in row]) for n, row in enumerate(rows, start=1)]
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
