"""``clueline backup``, ``restore``, ``migrate``, ``lake``, ``verify`` and ``repair``."""

from __future__ import annotations

from pathlib import Path

import click

from clueline.dashboard.cli.kinds import advice, damage_line
from clueline.dashboard.cli.progress import CommandRefused
from clueline.dashboard.settings import Settings
from clueline.data.plurals import counted
from clueline.data.store import OtherVersion, Store, StoreError, open_store
from clueline.data.store.backup import back_up, copy_store, intact_version, restore_backup
from clueline.data.store.ducklake import make_lake
from clueline.data.store.kinds import Kind, inspect_kinds
from clueline.data.store.register import EMPTY
from clueline.data.store.repair import VersionOnDisk, damage_of, lost_runs, repair_objects, versions_on_disk
from clueline.data.store.run_files import damaged_object


@click.command()
@click.argument("dest", type=click.Path(path_type=Path))
@click.pass_obj
def backup(settings: Settings, dest: Path) -> None:
    """Copy the store to the new folder DEST.

    Servers and imports can keep running. The copy holds all data, provenance, tokens, sessions of people, stored selections,
    mappings and notes on watched files. It is itself a store, which CLUELINE_STORE=DEST serves.
    """
    store = open_store(settings.store)
    version = back_up(store, dest)
    click.echo(f"{dest}: {_contents(version)}, {version.size / 2**20:,.1f} MiB")
    _warn_of_damage(store)


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask, even if the store holds data.")
@click.pass_obj
def restore(settings: Settings, source: Path, yes: bool) -> None:
    """Replace the content of the store with the backup in SOURCE.

    Running servers show it at once. What is private in the backup or in the store stays private. Tokens are restored only into a
    store that has none, so that a token revoked since then stays revoked. Sessions of people, stored selections, mappings and
    notes are restored only if the store does not have them, so that players erased since then stay erased.
    """
    store = open_store(settings.store)
    version = intact_version(open_store(source))
    click.echo(f"{source}: {_contents(version)}, {version.written_at:%Y-%m-%d %H:%M} UTC")
    contents = _contents_in_force(store)
    if contents and not yes:
        click.confirm(f"The store in {store.place} holds {contents}. Replace it with the backup?", abort=True)
    private = restore_backup(store, source)
    click.echo(f"Restored to {store.place}. No file was deleted.")
    if private:
        click.echo(f"Private, as in the backup: {', '.join(private)}. To let everybody read one: datasets public DATASET")


@click.command()
@click.option("--to", "target", metavar="URL", help="Copy the store to an empty one: a folder, or postgres://...?objects=...")
@click.pass_obj
def migrate(settings: Settings, target: str | None) -> None:
    """Upgrade a store that an earlier version of Clueline created or, with --to, copy it to another place.

    Back it up first, and stop servers that run an earlier version. The previous content stays on the disk until later imports
    remove it. With --to, the store itself is not changed; start the servers again with CLUELINE_STORE=URL.
    """
    store = open_store(settings.store)
    if target is not None:
        copy = open_store(target)
        version = copy_store(store, copy)
        click.echo(f"Copied to {copy.place}: {_contents(version)}. The store in {store.place} was not changed.")
        _warn_of_damage(store)
        return
    before, after = store.migrate()
    if before == after:
        click.echo(f"The store in {store.place} {'has this schema' if store.catalogue() else 'is empty'}: nothing to migrate.")
    else:
        click.echo(f"The store in {store.place} had schema {before} and now has schema {after}.")


@click.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def lake(settings: Settings, path: Path) -> None:
    """Write the DuckLake catalogue PATH, which lets DuckDB, Spark or Trino read the store as tables.

    The tables of responses and statistics are the store's own files; only the small tables are copied. The catalogue shows the
    store as it is now. Attach it read-only, and write it again after imports. Nothing but an earlier lake is replaced.
    """
    tables = make_lake(open_store(settings.store), path)
    click.echo(f"{path}: {', '.join(tables)}")


@click.command()
@click.pass_obj
def verify(settings: Settings) -> None:
    """Check everything in the store, and name what is damaged.

    Each file of the current version, and of earlier versions that are still there, is compared with its checksum. Servers and
    imports can keep running. Tokens, sessions of people, stored selections, mappings and notes are checked, too. The exit code is
    1 if the current version or any of these is damaged.
    """
    store = open_store(settings.store)
    damage: StoreError | None = None
    try:
        pointer = store.pointer()
        store.catalogue()
    except StoreError as error:
        click.echo(str(error))
        damage, pointer = error, EMPTY
    for version in versions_on_disk(store):
        in_force = version.name == pointer.name
        click.echo(f"{_line(version)}{' (current)' if in_force else ''}")
        for part, reason in version.damaged_objects:
            click.echo(f"  {damaged_object(part, reason).reason}")
        if in_force and version.damage:
            damage = version.other_version or StoreError(f"The current version, {version.name}, is damaged.")
    damaged = _print_kinds(store)
    if isinstance(damage, OtherVersion):
        raise damage
    if damage is not None:
        raise CommandRefused("The store is damaged. To repair it: clueline repair")
    if damaged:
        raise CommandRefused("\n".join(map(advice, damaged)))
    click.echo(f"The store in {store.place} is {'intact' if pointer.name else 'empty'}.")


def _print_kinds(store: Store) -> list[Kind]:
    """Print what there is of each kind outside the catalogues and what of it is damaged, and return the damaged kinds."""
    damaged = []
    for kind, inspection in inspect_kinds(store):
        for line in filter(None, [inspection.summary, *(damage_line(kind, damage) for damage in inspection.damages)]):
            click.echo(line)
        if inspection.damages:
            damaged.append(kind)
    return damaged


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def repair(settings: Settings, yes: bool) -> None:
    """Find damage in the store and repair it.

    Each version in the store's folder is listed first. If the current version cannot be read, the newest readable one replaces
    it. Damaged statistics of a run are computed again from its responses. A run with damaged responses is removed from the store,
    so that its file can be imported again. No file is deleted.
    """
    store = open_store(settings.store)
    damage = damage_of(store)
    if damage is None:
        click.echo(f"The store in {store.place} is {'intact' if store.catalogue() else 'empty'}: nothing to repair.")
        return
    if isinstance(damage, OtherVersion):
        raise damage  # an earlier version of its data would be no repair
    click.echo(str(damage))
    versions = versions_on_disk(store)
    for version in versions:
        click.echo(f"  {_line(version)}")
    chosen = _readable_version(store, versions)
    if chosen is None:
        raise CommandRefused("No intact version is left; restore the folder from a backup. Nothing was changed.")
    steps = [] if _is_in_force(store, chosen) else [f"Restore {chosen.name}"]
    with store.open_catalogue(chosen.name) as connection:
        lost = lost_runs(connection, chosen.damaged_objects)
    computed = sorted({part.run for part, _ in chosen.damaged_objects} - {run.run for run in lost})
    if computed:
        steps.append(f"Compute the statistics of {counted(len(computed), 'run')} again ({', '.join(computed)})")
    for run in lost:
        name = f"{run.model} ({run.elicitation}), run {run.run} of dataset {run.dataset}"
        steps.append(f"Remove {name}; import {run.file_name or 'its file'} again")
    for step in steps:
        click.echo(step)
    if not yes:
        click.confirm("Do this?" if len(steps) > 1 else f"{steps[0].partition(';')[0]}?", abort=True)
    if not _is_in_force(store, chosen):
        store.restore(chosen.name)
    if chosen.damaged_objects:
        repair_objects(store, chosen.damaged_objects)
    if not computed and not lost:
        click.echo(f"{chosen.name} is the current version again. No file was deleted.")
        return
    click.echo(f"{store.pointer().name} is the current version now. No file was deleted.")


def _warn_of_damage(store: Store) -> None:
    """Warn of what was not copied, because it is damaged."""
    for kind, inspection in inspect_kinds(store):
        for damage in inspection.damages:
            click.echo(f"warning: not copied: {damage_line(kind, damage)}", err=True)


def _readable_version(store: Store, versions: list[VersionOnDisk]) -> VersionOnDisk | None:
    """Return the current version if its catalogue is readable, otherwise the newest readable one; None if there is none."""
    readable = [version for version in versions if version.readable]
    return next((version for version in readable if _is_in_force(store, version)), readable[0] if readable else None)


def _is_in_force(store: Store, version: VersionOnDisk) -> bool:
    try:
        store.catalogue()
        return store.pointer().name == version.name
    except StoreError:
        return False


def _line(version: VersionOnDisk) -> str:
    state = (
        f"{'not read' if version.other_version else 'damaged'}: {version.damage}"
        if version.damage
        else f"intact: {_contents(version)}"
    )
    return f"{version.name}  {version.written_at:%Y-%m-%d %H:%M} UTC  {version.size / 2**20:,.1f} MiB  {state}"


def _contents(version: VersionOnDisk) -> str:
    return f"{version.datasets} datasets, {version.runs} runs"


def _contents_in_force(store: Store) -> str | None:
    """Return what the store holds, in words; None if it is empty."""
    try:
        return _contents(intact_version(store)) if store.catalogue() else None
    except StoreError:
        return "damaged data"
