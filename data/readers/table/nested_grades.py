"""Grades that stand in a list in each row, as columns: ``[{"name": "correct", "score": 1}]`` becomes ``annotations.correct``.

Tools for tracing and evaluation export the verdicts of judges and annotators so. Lists that cannot be read beyond doubt are left
as they are: whoever looks for grades then asks about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from clueline.data.readers.shared.evaluation_log import parsed
from clueline.data.readers.table.cells import flat, given
from clueline.data.readers.table.columns import Table
from clueline.data.readers.table.names import LISTS_OF_GRADES, tokens

NAMES = ("name", "metric", "key", "scorer", "evaluator", "criterion", "metric_name", "label_name")  # keys of what was graded
VALUES = {"score", "value", "grade", "label", "verdict", "passed", "success", "correct", "rating"}  # keys of the grade
MAX_GRADES = 50  # different grades in the lists of a column

Entry = Mapping[str, str | None]


def spread_grades(table: Table) -> Table:
    """Return a table with a column for each grade in the lists of its columns; the same one if there are no such lists."""
    columns: dict[str, list[str | None]] = {}
    for name, cells in table.columns.items():
        grades = _grades(name, cells) if {*tokens(name)} & LISTS_OF_GRADES else {}
        columns |= grades or {name: cells}
    return replace(table, columns=columns) if columns.keys() != table.columns.keys() else table


def _grades(name: str, cells: list[str | None]) -> dict[str, list[str | None]]:
    """Return the columns of the grades in the lists of a column; empty if these cannot be read beyond doubt."""
    lists = [_entries(given(cell)) for cell in cells]
    entries = [entry for some in lists for entry in some or ()]
    if not entries or any(some is None for some in lists):
        return {}
    named = next((key for key in NAMES if all(entry.get(key) for entry in entries)), None)
    held = sorted({key for entry in entries for key, value in entry.items() if _is_grade(key) and value is not None})
    if not held or (named is None and any(len(some or ()) > 1 for some in lists)):
        return {}
    grades: dict[str, list[str | None]] = {}
    for row, some in enumerate(lists):
        for entry in some or ():
            what = entry.get(named) if named else None
            for key in (key for key in held if entry.get(key) is not None):
                # The last part of the name says what was graded.
                parts = [name, key if what is None or len(held) > 1 else "", (what or "").replace(".", " ")]
                column = grades.setdefault(".".join(filter(None, parts)), [None] * len(cells))
                if column[row] not in (None, entry[key]):
                    return {}  # several opinions of one name
                column[row] = entry[key]
    return grades if len(grades) <= MAX_GRADES else {}


def _entries(text: str | None) -> list[Entry] | None:
    """Return the entries of a list of objects, with nested ones under dotted paths; None if a text is no such list."""
    if text is None:
        return []
    value = parsed(text) if text.startswith("[") else None
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        return None
    return [{key.lower(): cell for key, cell in flat(entry).items()} for entry in value]


def _is_grade(key: str) -> bool:
    """Whether a key, perhaps of a nested object, is that of a grade and not of a reason for it, an id or a person.

    >>> _is_grade("result.score"), _is_grade("stringvalue"), _is_grade("explanation")
    (True, False, False)
    """
    return key.rpartition(".")[2] in VALUES
