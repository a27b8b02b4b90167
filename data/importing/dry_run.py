"""A dry run of an import: one dataset as it would be with the new runs, as a snapshot to query.

It scores a file without storing it, and shows how a run would rank before it is published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from data.importing.ingest import Progress, answered_dataset, publish, read_and_check
from data.importing.report import Report
from data.importing.staging import ImportOptions, Staging, open_staging
from data.importing.table_files import LARGEST
from data.polars_frames import literal
from data.store import GenerationStore, Snapshot, StoreError, create_schema

# Copied for the dataset alone. Of the other runs, only the statistics are copied, not the responses, which are most of a store.
COPIED = ("datasets", "questions", "clues", "exposures", "buzzes", "votes", "curves", "runs", "statistics")


@dataclass(frozen=True)
class DryRun:
    """One dataset as it would be.

    Attributes:
        dataset: its id; the snapshot holds no other.
        snapshot: the dataset with its runs and the new ones; its version is that of the store that was read.
        report: what the import would report; ``report.runs`` are the ids of the runs in the files.
        stored: those of them that the store has already.
    """

    dataset: str
    snapshot: Snapshot
    report: Report
    stored: frozenset[str]


@contextmanager
def open_dry_run(
    store: GenerationStore,
    paths: Sequence[Path],
    options: ImportOptions,
    *,
    form: str | None = None,
    names: Sequence[str] | None = None,
    largest: int = LARGEST,
    progress: Progress = lambda what, done, total: None,
) -> Iterator[DryRun]:
    """Import runs into a copy of their dataset, which is removed at the end. The store is only read.

    Args are those of ``data.importing.ingest.import_paths``.

    Raises:
        Refused: the import would be refused, or brings anything but runs of one dataset.
        StoreError: the store or the machine does not allow it.
    """
    with ExitStack() as stack:
        yield _open(stack, store, paths, options, form, names, largest, progress)


def _open(
    stack: ExitStack,
    store: GenerationStore,
    paths: Sequence[Path],
    options: ImportOptions,
    form: str | None,
    names: Sequence[str] | None,
    largest: int,
    progress: Progress,
) -> DryRun:
    while True:
        version, generation = store.version(), store.generation()
        if generation is None:
            raise StoreError(f"the store in {store.folder} is empty; import a dataset first")
        trial = stack.enter_context(ExitStack())
        try:
            staging = trial.enter_context(open_staging(store, largest))
            read_and_check(staging, paths, options, form, names, progress)
            dataset = answered_dataset(staging, paths, names)
            progress("computing", len(paths) + 1, len(paths) + 2)
            staging.close()
            connection = trial.enter_context(duckdb.connect(str(staging.path.with_name("trial.duckdb")), config=store.options))
            stored = _perform(connection, generation, staging, dataset)
            progress("done", len(paths) + 2, len(paths) + 2)
            return DryRun(dataset, Snapshot(version, connection), staging.report, stored)
        except duckdb.OutOfMemoryException as error:
            raise StoreError(f"this needs more memory than it may have; allow more, or divide the file ({error})") from error
        except (duckdb.IOException, OSError) as error:
            trial.close()
            if not generation.exists() and store.version() != version:
                continue  # other processes wrote so often that this version was removed
            raise StoreError(f"the trial cannot work with its files: {error}") from error


def _perform(connection: duckdb.DuckDBPyConnection, generation: Path, staging: Staging, dataset: str) -> frozenset[str]:
    """Fill an empty database with the dataset and the new runs.

    Returns:
        The runs of the files that the store has already.
    """
    run = connection.execute
    create_schema(connection)
    run(f"attach {literal(generation)} as store (read_only)")
    for table in COPIED:
        run(f"insert into {table} by name from store.{table} where dataset = $d", {"d": dataset})
    known = {row[0] for row in run("select run from runs").fetchall()}
    publish(connection, staging.path, None)
    # The responses of the other runs are read in the store.
    run("alter table responses rename to added_responses")
    run(f"""create view responses as
        from store.responses where dataset = {literal(dataset)} union all by name from added_responses""")
    return frozenset(known.intersection(staging.report.runs))
