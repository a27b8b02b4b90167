"""``clueline selections``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click

from clueline.dashboard.cli.progress import CommandRefused
from clueline.dashboard.settings import Settings
from clueline.data.plurals import counted
from clueline.data.store import open_store
from clueline.data.store.stored_selections import clear_selections, list_selections


@click.group("selections", invoke_without_command=True)
@click.pass_context
def selections_group(context: click.Context) -> None:
    """List the stored selections, which long addresses name, those that nobody used for longest first."""
    if context.invoked_subcommand:
        return
    settings: Settings = context.obj
    listed = list_selections(open_store(settings.store).files)
    for selection in listed:
        content = f"dataset {selection.dataset}" if selection.dataset else "damaged"
        by = f", stored by {selection.by}" if selection.by else ""
        click.echo(f"{selection.selection}: {content}, used {selection.used_at:%Y-%m-%d}{by}")
    click.echo(f"{counted(len(listed), 'selection')}. One ends when nobody uses it for {counted(settings.unused_days, 'day')}.")


@selections_group.command("clear")
@click.argument("ids", nargs=-1, metavar="ID...")
@click.option("--unused", type=click.IntRange(0), metavar="DAYS", help="Also those that nobody used for so many days.")
@click.option("--by", metavar="NAME", help="Also those that the token or user NAME stored.")
@click.pass_obj
def clear_command(settings: Settings, ids: tuple[str, ...], unused: int | None, by: str | None) -> None:
    """Remove stored selections. Links that name them then show the whole dataset, and say so."""
    if not ids and unused is None and by is None:
        raise click.UsageError("name selections by their ids, or say which with --unused or --by")
    files = open_store(settings.store).files
    listed = list_selections(files)
    if missing := sorted({*ids} - {selection.selection for selection in listed}):
        raise CommandRefused(f"There is no stored selection {missing[0]!r}. Nothing was removed.")
    chosen = {*ids}
    if unused is not None:
        until = datetime.now(UTC) - timedelta(days=unused)
        chosen |= {selection.selection for selection in listed if selection.used_at < until}
    if by is not None:
        chosen |= {selection.selection for selection in listed if selection.by == by}
    cleared = clear_selections(files, chosen)
    click.echo(f"{counted(len(cleared), 'selection')} removed.")
