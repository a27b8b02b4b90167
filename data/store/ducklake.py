"""A DuckLake catalogue over the files of a store, so that other tools can read its runs as tables without a copy."""

from __future__ import annotations

import importlib.util
import shutil
from contextlib import suppress
from pathlib import Path

import duckdb

from data.duckdb_and_polars import literal
from data.store.catalogue_schema import tables_of_datasets
from data.store.errors import StoreError
from data.store.run_files import KINDS, TYPES, stored_objects
from data.store.store import Store

PACKAGE = "duckdb_extension_ducklake"
INTERNAL = ("objects", "revisions")  # tables that only the store needs


def make_lake(store: Store, path: Path) -> list[str]:
    """Write a DuckLake catalogue of the current version. Other tools then read the store's own Parquet files.

    The tables ``responses`` and ``statistics`` consist of these files. All other tables are small and are copied. The catalogue
    shows the version that it was made from; later imports do not change it.

    Args:
        store: the store, which is only read. Its files must be in a folder.
        path: path of the catalogue; an existing one is replaced. The copied tables are next to it in ``<path>.files``.

    Returns:
        The names of the tables.

    Raises:
        StoreError: the store is empty or damaged, its files are not in a folder, DuckDB's extension is not installed, or the
            catalogue cannot be written.
    """
    if store.files.copied:
        raise StoreError(f"the files of {store.place} are copies of those in S3; copy the store to a folder first")
    path = path.expanduser().absolute()
    draft, copies = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.files")
    catalogue = store.catalogue()
    if catalogue is None:
        raise StoreError(f"the store in {store.place} is empty")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for leftover in (draft, Path(f"{draft}.wal"), path):
            leftover.unlink(missing_ok=True)
        shutil.rmtree(copies, ignore_errors=True)
        tables = _fill(store, catalogue, draft, copies)
        draft.replace(path)
    except (OSError, duckdb.IOException) as error:
        raise StoreError(f"the lake cannot be written: {error}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
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
    """Return the path of DuckDB's extension, in the package of the same version."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise StoreError(f"this needs DuckDB's extension: pip install duckdb-extension-ducklake=={duckdb.__version__}")
    path = Path(package.submodule_search_locations[0]) / "extensions" / f"v{duckdb.__version__}" / "ducklake.duckdb_extension"
    if not path.exists():
        raise StoreError(f"this needs another version of DuckDB's extension: duckdb-extension-ducklake=={duckdb.__version__}")
    return path
