"""One module per incoming format; a new format is one new module here.

Each module has ``KEY`` (the name of the format on the command line and in the API), ``recognises(incoming)`` and
``read(incoming, staging, options)``, which puts rows into the staged tables.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Protocol, cast

from data.importing.incoming import Incoming
from data.importing.report import refuse
from data.importing.staging import ImportOptions, Staging


class Reader(Protocol):
    """What a module of this package offers."""

    KEY: str

    def recognises(self, incoming: Incoming) -> bool:
        """Whether the file looks like this format, by name and content."""

    def read(self, incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
        """Put its rows into the staged tables; problems go into the report, a hopeless file raises ``Refused``."""


@cache
def readers() -> dict[str, Reader]:
    """Every reader by its key."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return {module.KEY: cast(Reader, module) for module in modules}


def reader_for(incoming: Incoming, key: str | None) -> Reader:
    """The reader with this key or, without one, the one that recognises the file."""
    known = ", ".join(sorted(readers()))
    if key:
        if key not in readers():
            raise refuse(incoming.name, f"unknown format {key!r}; this version reads: {known}")
        return readers()[key]
    fitting = [reader for reader in readers().values() if reader.recognises(incoming)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and incoming.unreadable:
        raise incoming.unreadable
    if fitting:
        keys = ", ".join(sorted(reader.KEY for reader in fitting))
        raise refuse(incoming.name, f"several formats fit: {keys}", hint="format")
    what = (
        "it has no dataset.json, which makes a bundle"
        if incoming.folder
        else f"its columns: {', '.join(incoming.file.columns)[:300]}"
    )
    raise refuse(incoming.name, f"the format is not recognised ({what}); this version reads: {known}", hint="format")
