"""``clueline watch``: imports finished logs and tables from a folder or a bucket as they appear."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import Any

import click

from clueline.dashboard.cli.importing import repeats_and_align, stated_mapping
from clueline.dashboard.cli.progress import CommandRefused
from clueline.dashboard.settings import Settings
from clueline.dashboard.uploads.import_process import ImportJob, ImportOutcome, run_job
from clueline.dashboard.uploads.watching import EVERY, Watch, WatchedFile, watch, watched_files
from clueline.data.importing.staging import ImportOptions
from clueline.data.plurals import counted
from clueline.data.store import Store, open_store

log = logging.getLogger(__name__)
BETWEEN_TWO = 2.0  # seconds between the looks of --once


@click.command("watch")
@click.argument("place", metavar="FOLDER|s3://BUCKET/PREFIX")
@click.option("--once", is_flag=True, help="Import what does not change within two seconds, and end.")
@click.option("--every", type=click.FloatRange(min=0.1), metavar="SECONDS", help=f"Time between looks; {EVERY:g} by default.")
@click.option("--dataset", metavar="ID", help="Dataset that tables of answers are for, if they do not say.")
@click.option("--mapping", metavar="NAME", help="Columns as in a kept mapping, or in a TOML file. Without it, none is used.")
@repeats_and_align
@click.pass_obj
def watch_command(settings: Settings, place: str, once: bool, every: float | None, mapping: str | None, **stated: Any) -> None:
    """Import logs of Inspect, lm-eval and HELM, tables and bundles, as they are finished, each once.

    A file is read when it is the same at two looks. A log of Inspect is read when it says that it is finished. A file that is
    refused is tried again when it changes, or when the store gets another dataset. With --once, the exit code is 1 if a file is
    refused. A server watches CLUELINE_WATCH in the same way.
    """
    store = open_store(settings.store)
    named = None if mapping is None else stated_mapping(store, mapping)
    by_name = mapping if mapping and named and named.owner else ""  # looked up again, for it may be replaced; a file is not
    watched = Watch(store, place, partial(_run, store), ImportOptions(**stated, mapping=named), by_name)
    if not once:
        for name, file in _refused(watched).items():
            _say(name, file)
        watch(watched, every or EVERY, _say, lambda reason: click.echo(f"warning: {reason}", err=True))
    became: dict[str, WatchedFile] = {}
    news: dict[str, WatchedFile] = {}
    looks = 0
    try:
        while looks < 2 or news:
            time.sleep((every or BETWEEN_TWO) if looks else 0)
            news = dict(watched.look())
            became |= news
            looks += 1
    except OSError as error:
        raise CommandRefused(str(error)) from error
    refused = _refused(watched)
    for name, file in (became | refused).items():
        _say(name, file)
    if watched.ignored:
        endings = ", ".join(sorted(watched.ignored)[:8])
        click.echo(f"not read: {counted(watched.ignored.total(), 'other file')} ({endings})", err=True)
    if refused:
        raise click.exceptions.Exit(1)


def _refused(watched: Watch) -> dict[str, WatchedFile]:
    notes, place = watched.noted(watched_files(watched.store)), watched.address("")
    return {key.removeprefix(place): file for key, file in notes.items() if file.state == "refused"}


def _run(store: Store, job: ImportJob) -> ImportOutcome:
    """Run an import. An unexpected error ends only this import, as it does in the process of a server."""
    try:
        return run_job(job, store)
    except Exception as error:
        log.exception("import of %r failed", job.name)
        raise ChildProcessError from error


def _say(name: str, file: WatchedFile) -> None:
    click.echo(f"{name}: {file.state}, {file.says}", err=file.state == "refused")
