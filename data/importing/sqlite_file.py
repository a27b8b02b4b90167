"""SQLite databases to import. They are only read, and their column types are not trusted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from data.importing.report import refuse

SIGNATURE = b"SQLite format 3\0"


class Database:
    """The tables of a database: their columns by name, in lower case, because SQLite ignores case. Views are left out."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        names = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        self.tables = {
            name.lower(): {row[1].lower() for row in connection.execute("select * from pragma_table_info(?)", (name,))}
            for name in names
        }

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Return some columns of all rows, in the order of the file; none if there is no such table. Missing columns are None."""
        if table not in self.tables:
            return []
        chosen = ", ".join(f'"{name}"' if name in self.tables[table] else "null" for name in columns)
        return self._connection.execute(f'select {chosen} from "{table}" order by rowid').fetchall()


@contextmanager
def open_database(path: Path, name: str) -> Iterator[Database]:
    """Open a database, without writing to it or next to it. Errors of the file are raised as ``Refused``, also while reading."""
    changes = path.with_name(f"{path.name}-wal")
    if changes.is_file() and changes.stat().st_size:  # SQLite would read these, and write next to them
        reason = f"its latest changes are in {changes.name} next to it; close the program that has it open, or vacuum it"
        raise refuse(name, reason)
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True)
        try:
            connection.execute("pragma trusted_schema = off")
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            yield Database(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise refuse(name, f"the SQLite database is damaged or cut short ({error}); create or download it again") from error


def whole(value: object) -> int | None:
    """Return a cell as a whole number, None if it is not one.

    >>> whole(3), whole("3"), whole(3.0), whole("x"), whole(3.5), whole(None)
    (3, 3, 3, None, None, None)
    """
    if isinstance(value, str | float):
        try:
            number = float(value)
        except ValueError:
            return None
        return int(number) if number.is_integer() and abs(number) < 2**53 else None
    return value if isinstance(value, int) else None
