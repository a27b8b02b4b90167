"""``clueline models``."""

from __future__ import annotations

import click

from clueline.dashboard.settings import Settings
from clueline.data.plurals import counted
from clueline.data.store import open_store
from clueline.data.store.models import FACTS, describe, dismiss, merge, rename, split
from clueline.queries.models import models


@click.group("models", invoke_without_command=True)
@click.pass_context
def models_group(context: click.Context) -> None:
    """List the models of all runs with their names, and the models that are probably one."""
    if context.invoked_subcommand:
        return
    settings: Settings = context.obj
    listed = models(open_store(settings.store).snapshot())
    for model in listed.models:
        others = [name for name in model.names if name != model.model]
        facts = [text for fact in FACTS if (text := getattr(model, fact))]
        about = ", ".join([counted(model.runs, "run"), *facts, *([f"also {', '.join(others)}"] if others else [])])
        click.echo(f"{model.model}: {about}")
    for group in listed.proposals:
        click.echo(f"Probably one model: {', '.join(group)}. To make them one: models merge {' '.join(map(repr, group))}")
    if not listed.models:
        click.echo("The store has no runs.")


@models_group.command("merge")
@click.argument("names", nargs=-1, required=True, metavar="MODEL...")
@click.option("--into", metavar="NAME", help="The model that remains, or a new name for it; by default the first one.")
@click.pass_obj
def merge_command(settings: Settings, names: tuple[str, ...], into: str | None) -> None:
    """Make models one. Run ids, and addresses that name runs or the names in files, do not change."""
    _report(merge(open_store(settings.store), names, into or names[0], None), f"{', '.join(names)}: now {into or names[0]}")


@models_group.command("split")
@click.argument("name")
@click.option("--dataset", metavar="DATASET", help="Only of the runs on this dataset.")
@click.pass_obj
def split_command(settings: Settings, name: str, dataset: str | None) -> None:
    """Make NAME, a name that runs have, a model of its own again."""
    where = f" on {dataset}" if dataset else ""
    _report(split(open_store(settings.store), name, None, dataset=dataset), f"{name}{where}: now a model of its own")


@models_group.command("dismiss")
@click.argument("names", nargs=-1, required=True, metavar="MODEL...")
@click.pass_obj
def dismiss_command(settings: Settings, names: tuple[str, ...]) -> None:
    """Say that models, which look like one, are not, so that they are not proposed again."""
    _report(dismiss(open_store(settings.store), names, None), f"{', '.join(names)}: not proposed as one again")


@models_group.command("rename")
@click.argument("model")
@click.argument("new", metavar="NAME")
@click.pass_obj
def rename_command(settings: Settings, model: str, new: str) -> None:
    """Call MODEL by another NAME. The names of its runs stay as they are."""
    _report(rename(open_store(settings.store), model, new, None), f"{model}: now called {new}")


@models_group.command("describe")
@click.argument("model")
@click.option("--organisation", help="Who made it.")
@click.option("--released", metavar="DATE", help="A year, a month or a day, such as 2025-11.")
@click.option("--sizes", help="Such as 8B, 70B.")
@click.option("--notes", help="Anything else.")
@click.pass_obj
def describe_command(settings: Settings, model: str, **facts: str | None) -> None:
    """Set facts about MODEL; a blank text removes one."""
    given = {fact: text for fact, text in facts.items() if text is not None}
    _report(describe(open_store(settings.store), model, given, None), f"{model}: {', '.join(given)} set")


def _report(changed: bool, done: str) -> None:
    click.echo(done if changed else "Nothing to change.")
