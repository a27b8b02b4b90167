"""The bundled datasets, and their import into an empty store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from data.importing.ingest import Progress, import_paths
from data.importing.report import Report
from data.importing.staging import ImportOptions
from data.store import Store

BUNDLED = tuple(Path(__file__).parents[1] / "sample" / name for name in ("pyramid", "lifeeval", "tone"))


def seed(
    store: Store,
    bundles: Sequence[Path] = BUNDLED,
    progress: Progress = lambda what, done, total: None,
) -> Report:
    """Import bundles into a store that was never written to. Any other store stays as it is, and the report is empty."""
    if store.version() != "0":
        return Report()
    return import_paths(store, bundles, ImportOptions(), form="bundle", progress=progress)
