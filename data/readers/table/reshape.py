"""Tables of other shapes, as tables with a row for each answer and a column for each thing that is known of it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from string import ascii_uppercase

from clueline.data.readers.shared.evaluation_log import parsed, shares
from clueline.data.readers.table.cells import answer, flat, given, listed, number, truth
from clueline.data.readers.table.columns import MIN_FITTING, Table
from clueline.data.readers.table.names import (
    LISTS_OF_GRADES,
    MODEL_NAME,
    NO_CONFIDENCE,
    OTHERS_CORRECT,
    roles_of,
    roles_of_phrase,
    words,
)
from clueline.data.readers.table.nested_grades import spread_grades

MODELS, SERIES = "model named by columns", "series named by columns"  # columns of tables that have columns for each of these
ROW = "row of the table"  # column with the number of the row that several answers stood in
FENCE = re.compile(r"^```\w*|```$")  # of Markdown, around a text without spaces at its ends
SEVERAL = {"responses", "generations", "completions"}  # words that name lists of answers
SAMPLE_NUMBER = "sample"  # column of answers that were in lists
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


def reshape(table: Table) -> Table:
    """Return a table with a row for each answer; the same one if it has that already."""
    for step in (spread_grades, _by_field, _by_answer, _by_series, _by_entry, _by_sample, _by_option):
        table = step(table)
    return table


def _by_field(table: Table) -> Table:
    """Give each field of JSON in a column a column of its own, if one of them is an answer, a grade or a confidence."""
    columns: dict[str, list[str | None]] = {}
    for name, cells in table.columns.items():
        columns |= _fields(name, cells) or {name: cells}
    return replace(table, columns=columns) if columns.keys() != table.columns.keys() else table


def _fields(name: str, cells: list[str | None]) -> dict[str, list[str | None]]:
    """Return the fields of the JSON in a column, by their paths; empty if they hold nothing of an answer."""
    if not next(filter(None, map(given, cells)), "").startswith(("{", "```")):
        return {}
    outputs = [_object_in(given(cell)) for cell in cells]
    stated = [output for output in outputs if output]
    fields = dict.fromkeys(key for output in stated for key in output)
    roles = {role for key in fields for role in roles_of_phrase(words(key))}
    told = roles & SAID or {*words(name)} & LISTS_OF_GRADES
    if len(stated) < MIN_FITTING * sum(given(cell) is not None for cell in cells) or not told:
        return {}
    return {f"{name}.{key}": [(output or {}).get(key) for output in outputs] for key in fields}


def _object_in(text: str | None) -> dict[str, str | None]:
    """Return the JSON object that a text is, maybe in a fence of Markdown, as texts by key; empty if it is none."""
    value = parsed(FENCE.sub("", text.strip()).strip()) if text else None
    return flat(value) if isinstance(value, dict) else {}


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
    answers: dict[tuple[str | None, ...], dict[str, int]] = {}  # the number of the row of each variable
    for n, variable in enumerate(variables):
        rows = answers.setdefault(tuple(table.columns[other][n] for other in keys), {})
        if rows.setdefault(variable, n) != n:
            return table  # several answers are not told apart
    columns = {other: [key[n] for key in answers] for n, other in enumerate(keys)}
    values = [*table.columns[named[VALUE]], None]  # of a variable that an answer lacks
    columns |= {variable: [values[row.get(variable, -1)] for row in answers.values()] for variable in dict.fromkeys(variables)}
    return replace(table, columns=columns, places=[table.places[min(row.values())] for row in answers.values()])


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
    if not any({*roles_of(name)} & {"question", "question_id"} for name in columns):
        columns[ROW] = [str(n + 1) for _, n, _ in rows]  # what the models of one row answered is one question
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


def _lists(table: Table, names: Iterable[str]) -> dict[str, list[list[str] | None]]:
    """Return those of some columns that hold lists, by name: the entries of each cell, None where it is blank."""
    present = {name: [*map(given, table.columns[name])] for name in names}
    starting = {name: cells for name, cells in present.items() if next(filter(None, cells), "").startswith("[")}
    read = {name: [*map(listed, cells)] for name, cells in starting.items()}
    return {name: rows for name, rows in read.items() if rows.count(None) == starting[name].count(None)}


def _by_entry(table: Table) -> Table:
    """Let the most probable of the answers in a list be the guess, if a list beside it has their probabilities."""
    if not any({*words(name)} & LISTS for name in table.columns):
        return table
    lists = _lists(table, table.columns)
    for name, probable in lists.items():
        if not {*words(name)} & LISTS or not all(_probabilities(cell) != {} for cell in table.columns[name]):
            continue
        for other, entries in lists.items():
            alike = [(e, s) for e, s in zip(entries, probable, strict=True) if e is not None and s is not None]
            if other == name or not alike or any(len(e) != len(s) or any(map(number, e)) for e, s in alike):
                continue
            known = {answer(entry) for e, _ in alike for entry in e}
            references = [cells for key, cells in table.columns.items() if {*roles_of(key)} & {"answer", "either"}]
            if not any(sum(answer(text) in known for text in map(given, cells) if text) * 2 > len(alike) for cells in references):
                continue
            best = [max(zip(map(float, s), e, strict=True)) if e and s else None for e, s in zip(entries, probable, strict=True)]
            columns = {key: cells for key, cells in table.columns.items() if key not in (name, other)}
            columns[f"predicted of {other}"] = [one and one[1] for one in best]
            columns[f"confidence of {name}"] = [one and repr(one[0]) for one in best]
            return replace(table, columns=columns)
    return table


def _by_sample(table: Table) -> Table:
    """Give each of several answers a row, if lists beside each other hold answers, their grades or their confidences.

    A list alone holds answers if its name says that they are several.
    """
    holding = _lists(table, (name for name in table.columns if {*roles_of(name)} & SAID and not {*words(name)} & LISTS))
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
    offered = _offered(table)
    for name, cells in table.columns.items():
        named = {*words(name)}
        of_options = named & (LISTS | LOGITS) and not named & (NO_CONFIDENCE | OTHERS_CORRECT)
        of_logits = named & LOGITS | ({"logits"} if offered and _lengths(cells) == offered else set())
        rows = [_probabilities(cell, of_logits) for cell in cells] if of_options else []
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


def _offered(table: Table) -> list[int | None]:
    """Return how many options the question of each row offers; empty if no column lists them."""
    named = [name for name in table.columns if roles_of(name).get("choices") == max(roles_of(name).values(), default=0)]
    lengths = [_lengths(table.columns[name]) for name in named]
    return next((some for some in lengths if any(some)), [])


def _lengths(cells: Iterable[str | None]) -> list[int | None]:
    return [None if entries is None else len(entries) for entries in map(listed, map(given, cells))]


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
        rows = [shares([numeral[0] for numeral in row if numeral]) if all(row) else None for row in zip(*cells, strict=True)]
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
    stated = {str(n): share for n, share in enumerate(value)} if isinstance(value, list) else value
    if not isinstance(stated, dict) or not 1 < len(stated) <= len(ascii_uppercase):
        return {}
    plain = [share for share in stated.values() if isinstance(share, int | float) and not isinstance(share, bool)]
    numbers = [share for share in plain if math.isfinite(share)]
    if len(numbers) < len(stated):
        return {}
    if of_logits:
        normalised = shares(numbers) if isinstance(value, dict) or "logits" in of_logits else None
        return dict(zip(stated, normalised, strict=True)) if normalised else {}
    return stated if all(0 <= share <= 1 for share in numbers) and abs(sum(numbers) - 1) <= SUM_TOLERANCE else {}
