"""``python -m dashboard datasets``."""

from __future__ import annotations

import click

from dashboard.settings import Settings
from data.store import open_store
from queries.datasets import datasets


@click.command("datasets")
@click.pass_obj
def datasets_command(settings: Settings) -> None:
    """List the datasets of the store."""
    store = open_store(settings.store)
    rows = datasets(store.snapshot()).datasets
    if not rows:
        click.echo(f"The store in {store.place} is empty.")
    for dataset in rows:
        people = f", {dataset.human_teams} human teams" if dataset.human_teams else ""
        people += f", {dataset.votes:,} human votes" if dataset.votes else ""
        click.echo(
            f"{dataset.dataset}: {dataset.title} ({dataset.kind}), {dataset.questions:,} questions, {dataset.runs} runs{people}"
        )
