"""Readers of incoming formats, one module each. A new format is a new module here.

Each module has ``FORMAT`` (its row in the table of formats), ``recognises(incoming)`` and ``read(incoming, staging, options)``,
which fills the ``*_read`` relations of ``data.importing.staging``.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, cast

from clueline.data.importing.column_mapping import offers_of
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Problem, Refused, refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.importing.table_files import WRONG_LINE


@dataclass(frozen=True)
class Format:
    """A row of the table of formats. The texts are Markdown: they begin with a capital letter or with code.

    They end without a full stop, except ``rules``: sentences that say how the reader decides what the files leave open. ``key``
    names the format on the command line and in the API. ``source`` says where it is defined, and the licence of such files.
    """

    key: str
    reads: str
    recognised: str
    becomes: str
    source: str = ""
    rules: str = ""


class Reader(Protocol):
    """The interface of a module of this package."""

    FORMAT: Format

    def recognises(self, incoming: Incoming) -> bool:
        """Return whether the file looks like this format, by its name and content."""

    def read(self, incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
        """Read the rows of a file. Problems go into the report; a file that cannot be read at all raises ``Refused``."""


@cache
def readers() -> dict[str, Reader]:
    """Return all readers by key."""
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return {module.FORMAT.key: cast(Reader, module) for module in modules if hasattr(module, "FORMAT")}


def formats() -> list[Format]:
    """Return the table of formats: Clueline's own first, then the others by key."""
    first = ("bundle", "responses", LAST)
    return sorted((reader.FORMAT for reader in readers().values()), key=lambda f: (f.key not in first, f.key))


# Files of harnesses without a reader, by keys of the document: what they are, and what works instead.
WITHOUT_READER = {
    frozenset(
        {"htmls", "convos"}
    ): "results of simple-evals, which have the grade of an answer only as HTML; a table with columns "
    "question, prediction and correct works",
    frozenset(
        {"resolved_ids", "unresolved_ids"}
    ): "a report of SWE-bench, which lists instances and no answers or confidences; a table with columns id and correct works",
}
RELEASE = "release"  # the reader of folders of which each part is of another format
LAST = "table"  # the reader of files that no other reader recognises
# Readers that recognise a file by columns that tables of other projects may also have.
BY_COMMON_COLUMNS = {"responses", "lifeeval", "forecasts"}


def reader_for(incoming: Incoming, key: str | None, options: ImportOptions) -> Reader:
    """Return the reader with a given key or, if it is None, the only one that recognises the file. Raises ``Refused``."""
    known = ", ".join(sorted(readers()))
    if key:
        if key not in readers():
            raise refuse(incoming.name, f"unknown format {key!r}; this version reads: {known}")
        return readers()[key]
    matches = [reader for name, reader in readers().items() if name != LAST and reader.recognises(incoming)]
    if not matches and (reader := _reader_of_list(incoming)):
        return reader
    release: Any = readers()[RELEASE]  # which alone has ``holds_other_formats``
    if not matches and release.holds_other_formats(incoming, readers()[LAST].recognises):
        return cast(Reader, release)
    others = {reader.FORMAT.key for reader in matches}
    table: Any = readers()[LAST]  # which alone has ``takes``, ``is_stated`` and ``is_incomplete``
    if (
        table.takes(incoming, options, others)
        if others and others <= BY_COMMON_COLUMNS
        else not others and (table.recognises(incoming) or table.is_stated(incoming, options))
    ):
        return cast(Reader, table)
    if len(matches) == 1:
        return matches[0]
    is_document = _is_other_document(incoming) or isinstance(incoming.document, list)
    if not matches and (is_document or not incoming.unreadable) and table.is_incomplete(incoming):
        return cast(Reader, table)
    if not matches and incoming.unreadable and not _is_other_document(incoming):
        raise incoming.unreadable
    if matches:
        keys = ", ".join(sorted(reader.FORMAT.key for reader in matches))
        raise refuse(incoming.name, f"several formats fit: {keys}", hint="format")
    if named := _without_reader(incoming):
        raise refuse(incoming.name, f"this is {named}", hint="format")
    reason = f"the format is not recognised ({_content(incoming)}); this version reads: {known}"
    offers = [f"{offer}; name it to use it." for offer in offers_of(incoming.name, incoming.columns, options.offered)]
    raise Refused([Problem(incoming.name, None, None, None, reason, "format")], advice=offers)


def _reader_of_list(incoming: Incoming) -> Reader | None:
    """Return the reader of JSON Lines that recognises one JSON list of the same objects, and let it read these as lines."""
    lines = incoming.as_lines()
    own = {name: reader for name, reader in readers().items() if name not in {LAST, *BY_COMMON_COLUMNS}}
    matches = [reader for reader in own.values() if lines and reader.recognises(lines)]
    if lines is None or len(matches) != 1:
        return None
    incoming.file = lines.file
    incoming.staging.report.lines.append(f"{incoming.name}: one JSON list, whose entries are counted as lines")
    return matches[0]


def _without_reader(incoming: Incoming) -> str | None:
    """Return what a file of a harness without a reader is; None for any other file."""
    document = incoming.document
    keys = document.keys() if isinstance(document, dict) else set()
    return next((what for named, what in WITHOUT_READER.items() if named <= keys), None)


def _is_other_document(incoming: Incoming) -> bool:
    """Whether a file is one JSON object, and this is the only reason why it is refused as a table of JSON Lines."""
    reasons = {problem.reason for problem in incoming.unreadable.problems} if incoming.unreadable else set()
    return reasons == {WRONG_LINE} and isinstance(incoming.document, dict)


def _content(incoming: Incoming) -> str:
    if incoming.folder:
        names = sorted(str(path.relative_to(incoming.folder)) for path in incoming.folder.rglob("*") if path.is_file())
        return f"it has no dataset.json, which makes a bundle; it holds: {', '.join(names)[:300] or 'nothing'}"
    if isinstance(incoming.document, dict):
        keys = f"its keys: {', '.join(map(str, incoming.document))[:300]}"
        return f"{keys}; each row of a table is an object on one line" if "question_id" in incoming.document else keys
    return f"its columns: {', '.join(incoming.file.columns)[:300]}"
