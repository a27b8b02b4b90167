"""Reads catalogues of the previous schema as if the last migration had been applied to them.

While hosts are upgraded one by one, the store keeps the previous schema. This version then reads migrated copies of its
catalogues. The copies are small, and are made once for each version of the store and each host.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import duckdb

from data.duckdb_and_polars import literal
from data.store import migrations
from data.store.catalogue_schema import STORAGE
from data.store.checksums import FileState, file_state
from data.store.files import DRAFT, remove_database
from data.store.migrations import can_serve_schema, current_schema, migrate, schema_of

KEEP = 6  # copies that are kept: processes may be about to open one


class UpgradedCatalogues:
    """Migrated copies of catalogues, in a folder of this host that its processes share, else in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, tuple[FileState, Path]] = {}

    def path(self, catalogue: Path) -> Path:
        """Return the path of a migrated copy if this version serves the schema of the catalogue without migrating the store.

        Otherwise, return the path of the catalogue itself. Whether it can be read turns out when it is opened. Raises ``OSError``
        if the copy cannot be written.
        """
        if migrations.steps()[-1].revert is None:
            return catalogue
        try:
            state = file_state(catalogue)
        except FileNotFoundError:
            return catalogue
        known = self._known.get(catalogue)
        if known is None or known[0] != state or not known[1].exists():
            known = (state, self._upgrade(catalogue, state) if self._is_served(catalogue) else catalogue)
            self._remember(catalogue, known)
        return known[1]

    def remember_current(self, catalogue: Path) -> None:
        """Remember that a catalogue that this process has just written has this version's schema."""
        with suppress(OSError):
            self._remember(catalogue, (file_state(catalogue), catalogue))

    def _remember(self, catalogue: Path, known: tuple[FileState, Path]) -> None:
        self._known = {**dict([*self._known.items()][-KEEP:]), catalogue: known}

    def _is_served(self, catalogue: Path) -> bool:
        try:
            with duckdb.connect(":memory:", config={"threads": 1}) as connection:
                connection.execute(f"attach {literal(catalogue)} as c (read_only); use c")
                return can_serve_schema(schema_of(connection))
        except duckdb.Error:
            return False

    def _upgrade(self, catalogue: Path, state: FileState) -> Path:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder):
                pass
        except OSError:
            self._folder = Path(tempfile.mkdtemp(prefix="clueline-"))
        target = self._folder / f"{catalogue.stem}-{current_schema()}-{state[2]}.duckdb"
        if target.exists():
            return target
        draft = target.with_name(f"{target.name}-{secrets.token_hex(4)}{DRAFT}")
        try:
            shutil.copyfile(catalogue, draft)
            with duckdb.connect(":memory:", config={"threads": 1}) as connection:
                connection.execute(f"attach {literal(draft)} as new (recovery_mode no_wal_writes, {STORAGE}); use new")
                migrate(connection, None)
                connection.execute("checkpoint new")
            draft.replace(target)
        finally:
            remove_database(draft)
        copies = sorted(self._folder.glob("gen-*.duckdb"), key=lambda path: path.name)
        for copy in copies[:-KEEP]:
            with suppress(OSError):
                copy.unlink()
        return target
