"""``clueline datasets`` and ``tag``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from clueline.dashboard.cli.importing import read_tags
from clueline.dashboard.cli.progress import CommandRefused, print_report, progress_bar
from clueline.dashboard.settings import Settings
from clueline.data.downloadable_datasets import DownloadError, PublicDataset, download, public_datasets
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.seed import SamplesInUse, remove_samples, restore_samples
from clueline.data.plurals import counted
from clueline.data.store import open_store
from clueline.data.store.run_tags import change_tags
from clueline.data.store.run_withdrawal import CannotRestore, restore, withdraw
from clueline.data.store.tokens_and_readers import Tokens
from clueline.queries.datasets import datasets
from clueline.queries.runs import run as run_facts


@click.group("datasets", invoke_without_command=True)
@click.pass_context
def datasets_group(context: click.Context) -> None:
    """List the datasets in the store, and the public datasets that `datasets get` can fetch."""
    if context.invoked_subcommand:
        return
    settings: Settings = context.obj
    store = open_store(settings.store)
    rows = datasets(store.snapshot()).datasets
    private = Tokens(store.register).record().private
    if not rows:
        click.echo(f"The store in {store.place} is empty.")
    for dataset in rows:
        people = f", {counted(dataset.human_teams, 'human team')}" if dataset.human_teams else ""
        people += f", {counted(dataset.votes, 'human vote')}" if dataset.votes else ""
        readers = private.get(dataset.dataset)
        access = "" if readers is None else f", private ({', '.join(readers) or 'admin only'})"
        click.echo(
            f"{dataset.dataset}: {dataset.title} ({dataset.kind}), {counted(dataset.questions, 'question')}, "
            f"{counted(dataset.runs, 'run')}{people}{access}"
        )
    click.echo("\nPublic datasets; fetch one with `datasets get KEY`:")
    for public in public_datasets().values():
        click.echo(f"{public.key}: {_facts(public)}")


@datasets_group.command("private")
@click.argument("dataset")
@click.option(
    "--reader", "readers", multiple=True, metavar="NAME", help="A token, or user:NAME for a user of a proxy; repeatable."
)
@click.pass_obj
def make_private(settings: Settings, dataset: str, readers: tuple[str, ...]) -> None:
    """Let only these readers, and tokens with the right admin, read DATASET.

    They replace its previous readers. For everybody else the dataset does not exist, on any page or address. The dataset does not
    need to be imported yet.
    """
    names = Tokens(open_store(settings.store).register).make_private(dataset, readers)
    click.echo(f"{dataset} is private. Its readers: {', '.join([*names, 'tokens with the right admin'])}.")


@datasets_group.command("public")
@click.argument("dataset")
@click.pass_obj
def make_public(settings: Settings, dataset: str) -> None:
    """Let everybody who may read this server read DATASET."""
    changed = Tokens(open_store(settings.store).register).make_public(dataset)
    click.echo(f"{dataset} is public{'' if changed else ' already'}.")


@datasets_group.command("samples")
@click.argument("action", type=click.Choice(["remove", "restore"]))
@click.pass_obj
def samples_command(settings: Settings, action: str) -> None:
    """Remove the bundled datasets, or import them again. CLUELINE_SAMPLES=no keeps them out of a new store."""
    store = open_store(settings.store)
    try:
        changed = remove_samples(store, None) if action == "remove" else restore_samples(store, None)
    except SamplesInUse as error:
        raise CommandRefused(f"somebody has added runs to {error}; nothing was removed") from error
    click.echo(f"{', '.join(changed)}: {action}d." if changed else "Nothing to change.")


@datasets_group.command("get")
@click.argument("key")
@click.option("--mirror", metavar="URL", help="Fetch the files from here instead, at the same relative paths.")
@click.pass_obj
def get_dataset(settings: Settings, key: str, mirror: str | None) -> None:
    """Fetch the public dataset KEY and import it with all its models.

    Each file comes from a fixed commit, and its checksum is verified.
    """
    known = public_datasets()
    if key not in known:
        raise click.BadParameter(f"the public datasets are: {', '.join(known)}", param_hint="KEY")
    dataset = known[key]
    click.echo(_facts(dataset))
    address = dataset.address if mirror is None else f"{mirror.rstrip('/')}/"
    store = open_store(settings.store)
    with tempfile.TemporaryDirectory(prefix="clueline-") as folder:
        paths = _download(dataset, address, Path(folder))
        for part, files in zip(dataset.imports, paths, strict=True):
            report = import_paths(store, files, part.options())
            print_report(report)


def _download(dataset: PublicDataset, address: str, folder: Path) -> list[list[Path]]:
    """The files of each import; nothing is imported before all of them are here."""
    fetched = 0
    paths = []
    try:
        with progress_bar(f"Fetching {dataset.bytes / 1e6:.1f} MB") as progress:
            for part in dataset.imports:
                files = []
                for file in part.files:
                    progress(Path(file.path).name, fetched, dataset.bytes)
                    files.append(download(address, file, folder))
                    fetched += file.bytes
                paths.append(files)
    except DownloadError as error:
        raise CommandRefused(str(error)) from error
    return paths


def _facts(dataset: PublicDataset) -> str:
    return f"{dataset.title}. Licence: {dataset.licence}. Source: {dataset.source}"


@click.command("tag")
@click.argument("run")
@click.argument("tags", nargs=-1, metavar="[NAME=VALUE]...", callback=read_tags)
@click.option("--remove", "removed", metavar="NAME", multiple=True, help="A tag to remove; can be repeated.")
@click.pass_obj
def tag_command(settings: Settings, run: str, tags: tuple[tuple[str, str], ...], removed: tuple[str, ...]) -> None:
    """Set and remove tags of RUN, such as reasoning=yes, and list its tags."""
    store = open_store(settings.store)
    change_tags(store, run, dict.fromkeys(removed) | dict(tags), None)
    listed = run_facts(store.snapshot(), run).tags
    for tag, value in listed.items():
        click.echo(f"{tag}={value}")
    if not listed:
        click.echo(f"Run {run} has no tags.")


@click.command("withdraw")
@click.argument("run")
@click.option("--reason", help="Why; it is shown where the run is named.")
@click.option("--undo", is_flag=True, help="Restore a withdrawn run.")
@click.pass_obj
def withdraw_command(settings: Settings, run: str, reason: str | None, undo: bool) -> None:
    """Withdraw RUN: every list and page leaves it out unless it is named. Nothing is erased, and --undo restores it."""
    if undo and reason:
        raise click.UsageError("--undo restores the run, and needs no --reason.")
    store = open_store(settings.store)
    try:
        changed = restore(store, run) if undo else withdraw(store, run, None, reason)
    except CannotRestore as error:
        raise CommandRefused(f"Run {run} cannot be restored: {error}.") from error
    if undo:
        click.echo(f"Run {run} is {'restored' if changed else 'not withdrawn'}.")
    else:
        click.echo(f"Run {run} is {'withdrawn' if changed else 'withdrawn already'}.")
