"""``python -m dashboard tag``: changes and lists the tags of a run."""

from __future__ import annotations

import click

from dashboard.cli.file_options import read_tags
from dashboard.cli.progress_and_refusals import CommandRefused
from dashboard.settings import Settings
from data.store import open_store
from data.store.run_tags import BadTag, change_tags
from data.store.run_withdrawal import NoSuchRun
from queries.runs import run as run_facts
from queries.selection.parameter_kinds import BadRequest


@click.command("tag")
@click.argument("run")
@click.argument("tags", nargs=-1, metavar="[NAME=VALUE]...", callback=read_tags)
@click.option("--remove", "removed", metavar="NAME", multiple=True, help="A tag to remove; can be repeated.")
@click.pass_obj
def tag_command(settings: Settings, run: str, tags: tuple[tuple[str, str], ...], removed: tuple[str, ...]) -> None:
    """Set and remove tags of RUN, such as reasoning=yes, and list its tags."""
    store = open_store(settings.store)
    try:
        change_tags(store, run, dict.fromkeys(removed) | dict(tags), None)
        listed = run_facts(store.snapshot(), run).tags
    except NoSuchRun:
        raise CommandRefused(f"there is no run {run!r}") from None
    except (BadTag, BadRequest) as error:
        raise CommandRefused(str(error)) from error
    for tag, value in listed.items():
        click.echo(f"{tag}={value}")
    if not listed:
        click.echo(f"Run {run} has no tags.")
