"""``python -m dashboard batch``: imports files on the workers of a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dashboard.cli.file_options import read_tags
from dashboard.cli.progress_and_refusals import CommandRefused, progress_bar
from dashboard.settings import Settings
from data.importing.distributed_import import (
    Group,
    PreparedRuns,
    groups_of_file,
    merge_groups,
    parquet_files,
    prepare,
    publish,
    with_group,
)
from data.importing.staging import ImportOptions
from data.plurals import counted
from data.store import Store, open_store

if TYPE_CHECKING:
    from distributed import Client

PUBLISH_EVERY = 30.0  # seconds. Files that are written but not published for an hour can be deleted
RETRIES = 2  # retries of a group whose worker was lost


@click.command("batch")
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.option("--dataset", metavar="ID", required=True, help="The dataset that the files answer; it must be in the store.")
@click.option("--model", help="The model, if the files do not say.")
@click.option("--elicitation", help="How the confidence was elicited, if the files do not say.")
@click.option(
    "--confidence-scale", type=click.Choice(["unit", "percent"]), default="unit", show_default=True, help="0 to 1, or 0 to 100."
)
@click.option("--tag", "tags", metavar="NAME=VALUE", multiple=True, callback=read_tags, help="Tag for the runs; can be repeated.")
@click.option(
    "--scheduler", metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786; by default, a cluster on this machine."
)
@click.option("--workers", type=click.IntRange(1), help="Processes of the cluster on this machine; by default, one per core.")
@click.option("--memory", default="1GB", show_default=True, help="DuckDB's memory for each run; beyond it, the disk is used.")
@click.pass_obj
def batch_command(
    settings: Settings,
    source: Path,
    dataset: str,
    model: str | None,
    elicitation: str | None,
    confidence_scale: str,
    tags: tuple[tuple[str, str], ...],
    scheduler: str | None,
    workers: int | None,
    memory: str,
) -> None:
    """Import the answers in SOURCE, a Parquet file or a folder of them, with a Dask cluster.

    The columns are those of a responses file. The rows of one model and elicitation form a run, which one worker reads, checks
    and writes. This is fastest if each run has its own files, such as model=NAME/part-0.parquet. Workers need the code, the files
    of SOURCE at the same path, and the store. Runs are published as they are finished. If some are refused, the others are still
    imported; run the command again to add what is missing.
    """
    store = open_store(settings.store)
    if dataset not in store.snapshot().states:
        raise CommandRefused(f"There is no dataset {dataset!r} in the store; import it first.")
    percent = confidence_scale == "percent"
    options = ImportOptions(dataset=dataset, model=model, elicitation=elicitation, percent=percent, tags=tags)
    with _client(scheduler, workers) as client:
        by_file = client.gather(client.map(groups_of_file, parquet_files(source)))
        groups = merge_groups([group for in_file in by_file for group in in_file])
        problems, count = _import(client, store, groups, options, memory)
    if problems:
        raise CommandRefused("\n".join([f"{len(problems)} of {len(groups)} groups of rows were refused", *problems]))
    click.echo(f"{counted(count, 'run')} imported from {counted(len(groups), 'group')} of rows.")


def _import(client: Client, store: Store, groups: list[Group], options: ImportOptions, memory: str) -> tuple[list[str], int]:
    """Prepare every group on the workers, and publish finished runs every ``PUBLISH_EVERY`` seconds.

    Returns:
        Messages about refused groups, and the number of new runs.
    """
    from distributed import as_completed

    futures = {
        client.submit(
            prepare, store.url, group, with_group(options, group), memory_limit=memory, pure=False, retries=RETRIES
        ): group
        for group in groups
    }
    problems: list[str] = []
    waiting: list[PreparedRuns] = []
    count, published_at = 0, time.monotonic()
    with progress_bar("Importing") as progress:
        for done, future in enumerate(as_completed(futures), 1):
            error = future.exception()
            if error is not None:
                problems.append(f"{futures[future].label}: {error}")
            else:
                prepared = future.result()
                if prepared.refusal is not None:
                    problems.append(f"{prepared.label}: {prepared.refusal}")
                for line in prepared.lines:
                    click.echo(line)
                waiting.append(prepared)
            future.release()
            if done == len(futures) or time.monotonic() > published_at + PUBLISH_EVERY:
                count += len(publish(store, waiting))
                waiting, published_at = [], time.monotonic()
            progress(f"{done:,} of {len(futures):,}", done, len(futures))
    return problems, count


@contextmanager
def _client(scheduler: str | None, workers: int | None) -> Iterator[Client]:
    """Connect to a cluster. Without the address of one, a local cluster is started, and stopped at the end."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise CommandRefused("This needs Dask: pip install --group batch") from None
    if scheduler is not None:
        with Client(scheduler) as client:
            yield client
        return
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client
