"""``python -m dashboard backup``, ``restore``, ``migrate``, ``lake`` and ``repair``."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.cli.output import Refusal
from dashboard.settings import Settings
from data.store import Store, StoreError, open_store
from data.store.backup import back_up, copy_store, restore_backup, whole_version
from data.store.lake import make_lake
from data.store.repair import VersionOnDisk, damage_of, versions_on_disk


@click.command()
@click.argument("dest", type=click.Path(path_type=Path))
@click.pass_obj
def backup(settings: Settings, dest: Path) -> None:
    """Copy the store to the new folder DEST.

    Servers and imports may go on meanwhile. The copy holds all data, provenance and tokens. It is a store itself:
    CLUELINE_STORE=DEST serves it.
    """
    version = back_up(open_store(settings.store), dest)
    click.echo(f"{dest}: {_contents(version)}, {version.size / 2**20:,.1f} MiB")


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask, even if the store holds data.")
@click.pass_obj
def restore(settings: Settings, source: Path, yes: bool) -> None:
    """Replace the content of the store by the backup in SOURCE.

    Running servers show it at once. Tokens are restored only into a store that has none, so that a token revoked since stays
    revoked.
    """
    store = open_store(settings.store)
    version = whole_version(open_store(source))
    click.echo(f"{source}: {_contents(version)}, {version.written_at:%Y-%m-%d %H:%M} UTC")
    contents = _contents_in_force(store)
    if contents and not yes:
        click.confirm(f"The store in {store.place} holds {contents}. Put the backup in its place?", abort=True)
    restore_backup(store, source)
    click.echo(f"Restored to {store.place}. No file was deleted.")


@click.command()
@click.option("--to", "target", metavar="URL", help="Copy the store to an empty one: a folder, or postgres://...?objects=...")
@click.pass_obj
def migrate(settings: Settings, target: str | None) -> None:
    """Bring a store that an earlier version of Clueline made to this version; with --to, copy it to another place.

    Back it up and stop its servers first. What the store held before stays on the disk until later imports remove it. With --to,
    the store itself is left as it is; start the servers again with CLUELINE_STORE=URL.
    """
    store = open_store(settings.store)
    if target is not None:
        copy = open_store(target)
        version = copy_store(store, copy)
        click.echo(f"Copied to {copy.place}: {_contents(version)}. The store in {store.place} was left as it is.")
        return
    before, after = store.migrate()
    if before == after:
        click.echo(f"The store in {store.place} {'has this schema' if store.catalogue() else 'is empty'}: nothing to migrate.")
    else:
        click.echo(f"The store in {store.place} had schema {before} and has schema {after} now.")


@click.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def lake(settings: Settings, path: Path) -> None:
    """Write the DuckLake catalogue PATH, by which DuckDB, Spark or Trino read the store as tables.

    The tables of responses and statistics are the store's own files; nothing is copied but the small tables. The catalogue shows
    the store as it is now. Attach it read-only, and write it again after imports.
    """
    tables = make_lake(open_store(settings.store), path)
    click.echo(f"{path}: {', '.join(tables)}")


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def repair(settings: Settings, yes: bool) -> None:
    """Find damage in the store and restore its newest whole version.

    Each version in the store's folder is listed first. No file is deleted.
    """
    store = open_store(settings.store)
    damage = damage_of(store)
    if damage is None:
        click.echo(f"The store in {store.place} is {'whole' if store.catalogue() else 'empty'}: nothing to repair.")
        return
    click.echo(str(damage))
    versions = versions_on_disk(store)
    for version in versions:
        state = f"damaged: {version.damage}" if version.damage else f"whole: {_contents(version)}"
        click.echo(f"  {version.name}  {version.written_at:%Y-%m-%d %H:%M} UTC  {version.size / 2**20:,.1f} MiB  {state}")
    newest = next((version for version in versions if version.damage is None), None)
    if newest is None:
        raise Refusal("No whole version is left; restore the folder from a backup. Nothing was changed.")
    if not yes:
        click.confirm(f"Restore {newest.name}?", abort=True)
    store.restore(newest.name)
    click.echo(f"{newest.name} is in force again. No file was deleted.")


def _contents(version: VersionOnDisk) -> str:
    return f"{version.datasets} datasets, {version.runs} runs"


def _contents_in_force(store: Store) -> str | None:
    """What the store holds, in words; None for nothing."""
    try:
        return _contents(whole_version(store)) if store.catalogue() else None
    except StoreError:
        return "damaged data"
