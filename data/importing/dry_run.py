"""A dry run of an import: a snapshot of one dataset as it would be with the new runs, without storing them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from data.importing.ingest import Content, Progress, check_content, check_ids, check_private, read_and_check
from data.importing.report import Report
from data.importing.staging import ImportOptions, open_staging
from data.importing.table_files import MAX_UNPACKED_BYTES
from data.importing.unpublished_catalogue import make_unpublished_catalogue
from data.store import Snapshot, Store, StoreError
from data.store.files import FolderFiles
from data.store.run_files import Objects


@dataclass(frozen=True)
class DryRun:
    """One dataset as it would be after the import.

    The snapshot has the version of the store that was read. It holds no other datasets except those that the files bring.
    ``report.runs`` are the ids of the runs in the files; the store already has those that are ``stored``.
    """

    dataset: str
    snapshot: Snapshot
    report: Report
    stored: frozenset[str]


@contextmanager
def open_dry_run(
    store: Store,
    paths: Sequence[Path],
    options: ImportOptions,
    *,
    form: str | None = None,
    names: Sequence[str] | None = None,
    content: Content = "runs",
    largest: int = MAX_UNPACKED_BYTES,
    hidden: Collection[str] = (),
    progress: Progress = lambda what, done, total: None,
) -> Iterator[DryRun]:
    """Import files into a copy of their dataset, which is removed at the end. For arguments and errors, see ``import_paths``."""
    with ExitStack() as stack:
        yield _open(stack, store, paths, options, form, names, content, largest, hidden, progress)


def _open(
    stack: ExitStack,
    store: Store,
    paths: Sequence[Path],
    options: ImportOptions,
    form: str | None,
    names: Sequence[str] | None,
    content: Content,
    largest: int,
    hidden: Collection[str],
    progress: Progress,
) -> DryRun:
    while True:
        version, catalogue = store.version(), store.catalogue()
        if catalogue is None:
            raise StoreError(f"the store in {store.place} is empty; import a dataset first")
        resources = stack.enter_context(ExitStack())
        try:
            staging = resources.enter_context(open_staging(store, largest, hidden))
            read_and_check(staging, paths, options, form, names, progress)
            check_ids(staging, hidden)
            dataset = check_content(staging, content, paths, names)
            check_private(staging, store, options.readers)
            progress("computing", len(paths) + 1, len(paths) + 2)
            objects = Objects(FolderFiles(staging.path.parent), others=store.objects, form=store.new_objects().form)
            unpublished = make_unpublished_catalogue(staging, objects, shown=dataset)
            unpublished.close()
            connection = resources.enter_context(duckdb.connect(str(unpublished.path), config=store.options))
            progress("done", len(paths) + 2, len(paths) + 2)
            stored = frozenset(staging.report.runs) - set(unpublished.runs)
            return DryRun(dataset, Snapshot(version, connection, objects=unpublished.objects), staging.report, stored)
        except duckdb.OutOfMemoryException as error:
            raise StoreError(f"this needs more memory than it may use; allow more, or split the file ({error})") from error
        except (duckdb.IOException, OSError) as error:
            resources.close()
            if not catalogue.exists() and store.version() != version:
                continue  # other processes wrote so often that this version was removed
            raise StoreError(f"the dry run cannot work with its files: {error}") from error
