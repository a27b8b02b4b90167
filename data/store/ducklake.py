"""A DuckLake catalogue over the files of a store, so that other tools can read its runs as tables without a copy."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

import duckdb

from clueline.data.duckdb_and_polars import literal
from clueline.data.scratch_folders import keep
from clueline.data.store.catalogue_schema import tables_of_datasets
from clueline.data.store.errors import StoreError
from clueline.data.store.run_files import KINDS, TYPES, stored_objects
from clueline.data.store.store import Store

PACKAGE = "duckdb_extension_ducklake"
PREFIX = "clueline-lake-"  # of the folders with copied tables
INTERNAL = ("objects", "revisions")  # tables that only the store needs


def make_lake(store: Store, path: Path) -> list[str]:
    """Write a DuckLake catalogue of the current version, and return the names of its tables.

    The tables ``responses`` and ``statistics`` consist of the store's own Parquet files, which must be in a folder. All other
    tables are small, and are copied to ``<path>.files``. Later imports do not change the catalogue. One that this function wrote
    before is replaced at the end. Raises ``StoreError``, also if something else is at the path.
    """
    if store.files.copied:
        raise StoreError(f"the files of {store.place} are copies of those in S3; copy the store to a folder first")
    path = Path(os.path.realpath(path.expanduser()))
    copies = path.with_name(f"{path.name}.files")
    store.check_outside(path)
    store.check_outside(copies)
    catalogue = store.catalogue()
    if catalogue is None:
        raise StoreError(f"the store in {store.place} is empty")
    try:
        _check_replaceable(path, copies)
        copies.mkdir(parents=True, exist_ok=True)
        with keep(copies, alone=True):
            return _write(store, catalogue, path, copies)
    except (OSError, duckdb.IOException) as error:
        raise StoreError(f"the lake cannot be written: {error}") from error


def _check_replaceable(path: Path, copies: Path) -> None:
    if path.exists() and not _is_lake(path):
        raise StoreError(f"{path} exists, and is not a DuckLake catalogue of a store; choose another path, or move it away")
    if os.path.lexists(copies):
        own = copies.is_dir() and not copies.is_symlink() and all(part.name.startswith(PREFIX) for part in copies.iterdir())
        if not own:
            raise StoreError(f"the copied tables would be in {copies}, which holds something else; choose another path")


def _is_lake(path: Path) -> bool:
    try:
        with duckdb.connect(":memory:", config={"autoload_known_extensions": False, "threads": 1}) as connection:
            connection.execute(f"attach {literal(path)} as lake (type duckdb, read_only)")
            tables = {name for (name,) in connection.execute("select table_name from lake.ducklake_table").fetchall()}
    except duckdb.Error:
        return False
    return {"datasets", "questions", "runs", *KINDS} <= tables


def _write(store: Store, catalogue: Path, path: Path, copies: Path) -> list[str]:
    folder = copies / f"{PREFIX}{secrets.token_hex(4)}"
    folder.mkdir()
    try:
        draft = folder / "catalogue"
        tables = _fill(store, catalogue, draft, folder)
        draft.replace(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # other folders are in it
            copies.rmdir()
        raise
    for other in copies.glob(f"{PREFIX}*"):  # of the lake that was replaced, or of a process that was killed
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return tables


def _fill(store: Store, catalogue: Path, path: Path, copies: Path) -> list[str]:
    with duckdb.connect(":memory:", config=store.options) as connection:
        run = connection.execute
        run(f"load {literal(_extension())}")
        run(f"attach {literal(catalogue)} as store (read_only)")
        run(f"attach {literal(f'ducklake:{path}')} as lake (data_path {literal(f'{copies}/')})")
        run("use store")
        tables = [table for table in tables_of_datasets(connection, "store") if table not in INTERNAL]
        for table in tables:
            run(f'create table lake."{table}" as from store."{table}"')
        for kind in KINDS:
            parts = stored_objects(connection, kind)
            store.objects.check(parts)
            columns = ", ".join(f"{column} {type_}" for column, type_ in TYPES[kind].items())
            run(f"create table lake.{kind} ({columns}, dataset varchar, run varchar)")
            run(f"alter table lake.{kind} set partitioned by (dataset, run)")
            for part in parts:
                file = literal(store.objects.path(part.name))
                run(f"call ducklake_add_data_files('lake', '{kind}', {file}, hive_partitioning => true, allow_missing => true)")
        run("use memory")
        run("detach lake")
    return sorted([*tables, *KINDS])


def _extension() -> Path:
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise StoreError(f"this needs DuckDB's extension: pip install duckdb-extension-ducklake=={duckdb.__version__}")
    path = Path(package.submodule_search_locations[0]) / "extensions" / f"v{duckdb.__version__}" / "ducklake.duckdb_extension"
    if not path.exists():
        raise StoreError(f"this needs another version of DuckDB's extension: duckdb-extension-ducklake=={duckdb.__version__}")
    return path
