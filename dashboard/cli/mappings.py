"""``clueline mappings``."""

from __future__ import annotations

from pathlib import Path

import click

from clueline.dashboard.cli.importing import operator, stated_mapping
from clueline.dashboard.cli.progress import CommandRefused
from clueline.dashboard.settings import Settings
from clueline.data.importing.column_mapping import as_toml, read_mapping
from clueline.data.store import Store, open_store
from clueline.data.store.audit import Audit, system_user
from clueline.data.store.kept_files import DamagedThing
from clueline.data.store.kept_mappings import (
    KeptMapping,
    NoSuchMapping,
    find_entry,
    find_mapping,
    keep_mapping,
    list_mappings,
    read_mapping_of,
    remove_mapping,
)
from clueline.data.store.scopes import DATASET, OWNER, STORE, of_dataset, of_owner


@click.group("mappings", invoke_without_command=True)
@click.pass_context
def mappings_group(context: click.Context) -> None:
    """List the mappings of columns that people keep: whose they are, and who may use them.

    No mapping is used unless somebody names it: import --mapping NAME.
    """
    if context.invoked_subcommand:
        return
    settings: Settings = context.obj
    store = open_store(settings.store)
    entries = list_mappings(store.files, operator(store))
    for entry in entries:
        try:
            kept = read_mapping_of(store.files, entry.file)
            click.echo(f"{_shortest_name(entry.shown, kept)}: of {kept.by}, {_use(kept.scope)}, kept {kept.kept_at[:10]}")
        except DamagedThing as error:
            click.echo(f"{entry.shown}: damaged ({error.reason}); to remove it: clueline mappings remove {entry.shown}")
    if not entries:
        click.echo("No mapping is kept. import --save-mapping NAME keeps one.")


@mappings_group.command("show")
@click.argument("name")
@click.pass_obj
def show_command(settings: Settings, name: str) -> None:
    """Print the mapping NAME as a TOML file, which import --mapping FILE also reads."""
    click.echo(as_toml(stated_mapping(open_store(settings.store), name)), nl=False)


@mappings_group.command("keep")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", help="Its name; by default the one in the file, or that of the file.")
@click.option("--replace", is_flag=True, help="Replace your own mapping of that name.")
@click.pass_obj
def keep_command(settings: Settings, file: Path, name: str | None, replace: bool) -> None:
    """Keep the mapping in a TOML FILE as your own."""
    mapping, store, by = read_mapping(file), open_store(settings.store), system_user()
    kept = keep_mapping(store.files, name or mapping.name, as_toml(mapping), of_owner(by), by, replace=replace)
    click.echo(f"{kept.name}: kept, of {by}")


@mappings_group.command("publish")
@click.argument("name")
@click.option("--dataset", metavar="ID", help="Only for those who may read this dataset.")
@click.option("--replace", is_flag=True, help="Replace the published mapping of that name.")
@click.pass_obj
def publish_command(settings: Settings, name: str, dataset: str | None, replace: bool) -> None:
    """Offer a copy of the mapping NAME to everybody who may upload.

    It is offered where it fits the columns of a file, and used by whoever names it. Later changes of the original do not change
    the copy.
    """
    store = open_store(settings.store)
    if dataset is not None and dataset not in store.snapshot().states:
        raise CommandRefused(f"There is no dataset {dataset!r} in the store.")
    kept = _named(store, name)
    scope = STORE if dataset is None else of_dataset(dataset)

    def record() -> None:
        Audit(store.register).record("published_mapping", None, names=kept.name, dataset=dataset)

    keep_mapping(store.files, kept.name, kept.toml, scope, kept.by, replace=replace, record=record)
    click.echo(f"{kept.name} of {kept.by}: {_use(scope)}")


@mappings_group.command("remove")
@click.argument("name")
@click.pass_obj
def remove_command(settings: Settings, name: str) -> None:
    """Remove the mapping NAME, also if it is damaged. Runs that were read by it stay as they are."""
    store = open_store(settings.store)
    viewer = operator(store)
    try:
        entry = find_entry(store.files, name, viewer)
    except NoSuchMapping as error:
        raise _unknown(name) from error
    if entry.scope:  # others may have used it
        dataset = entry.scope.removeprefix(DATASET) if entry.scope.startswith(DATASET) else None
        Audit(store.register).record("removed_mapping", None, names=entry.name, dataset=dataset)
    remove_mapping(store.files, entry)
    left = [other.shown for other in list_mappings(store.files, viewer) if other.name == entry.name]
    click.echo(f"{name}: removed.")
    if left:
        click.echo(f"Still kept under that name: {', '.join(left)}")


def _unknown(name: str) -> CommandRefused:
    return CommandRefused(f"There is no mapping {name!r}. clueline mappings lists them.")


def _named(store: Store, name: str) -> KeptMapping:
    try:
        return find_mapping(store.files, name, operator(store))
    except NoSuchMapping as error:
        raise _unknown(name) from error


def _shortest_name(shown: str, kept: KeptMapping) -> str:
    """Return the name that stands for a mapping: its own, if it does so alone, or the one with its scope."""
    return shown if shown == kept.name else f"{kept.scope}/{kept.name}"


def _use(scope: str) -> str:
    if scope.startswith(OWNER):
        return "offered to them only"
    if scope.startswith(DATASET):
        return f"offered to those who may read {scope.removeprefix(DATASET)}"
    return "offered to everybody who may upload"
