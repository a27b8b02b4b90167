"""The bundled datasets, and their import into an empty store. They can be removed, and imported again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from clueline.data.importing.ingest import Progress, import_paths
from clueline.data.importing.report import Report
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import Store
from clueline.data.store.audit import new_event
from clueline.data.store.catalogue_schema import tables_of_datasets
from clueline.data.store.snapshot import current_database

# In the order in which they are listed.
BUNDLED = tuple(
    Path(__file__).parents[1] / "sample" / name
    for name in (
        "pyramid", "lifeeval", "tone", "lifeeval-boolq-valid", "lifeeval-sciq-test", "lifeeval-lsat-ar-test", "lifeeval-sat-en",
        "lifeeval-halu-eval-qa",
    )
)  # fmt: skip

SAMPLES = frozenset(bundle.name for bundle in BUNDLED)  # ids of the datasets


class SamplesInUse(Exception):
    """Somebody has added runs to bundled datasets, whose ids are the message."""


def seed(
    store: Store,
    bundles: Sequence[Path] = BUNDLED,
    progress: Progress = lambda what, done, total: None,
) -> Report:
    """Import bundles into a store that was never written to. Any other store stays as it is, and the report is empty."""
    if store.version() != "0":
        return Report()
    return import_paths(store, bundles, ImportOptions(form="bundle"), progress=progress)


def remove_samples(store: Store, by: str | None) -> list[str]:
    """Remove the bundled datasets with their runs, and return their ids. ``by`` is as for ``restore_samples``.

    Raises ``SamplesInUse`` if somebody has added runs to them, or ``StoreError``.
    """
    stored = sorted(SAMPLES & store.snapshot().states.keys())

    def remove(connection: duckdb.DuckDBPyConnection) -> None:
        among = {"stored": stored}
        added = """select distinct dataset from runs
            where dataset in $stored and not coalesce(starts_with(file_name, dataset || '/'), false)"""
        if used := sorted(dataset for (dataset,) in connection.execute(added, among).fetchall()):
            raise SamplesInUse(", ".join(used))
        for table in tables_of_datasets(connection, current_database(connection)):
            connection.execute(f"delete from {table} where dataset in $stored", among)

    if stored:
        store.write(remove, lambda _: [new_event("removed_sample", by, dataset=dataset) for dataset in stored])
    return stored


def restore_samples(store: Store, by: str | None) -> list[str]:
    """Import the bundled datasets that are not stored, and return their ids.

    ``by`` names the caller's token, None the operating-system user. Raises ``StoreError``.
    """
    missing = [bundle for bundle in BUNDLED if bundle.name not in store.snapshot().states]
    return import_paths(store, missing, ImportOptions(form="bundle"), by=by).datasets if missing else []
