"""``python -m dashboard import``: imports datasets and runs from files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace as with_changes
from pathlib import Path
from typing import Unpack

import click

from dashboard.cli.file_options import FileOptions, file_options, format_list, import_options, read_tags
from dashboard.cli.progress_and_refusals import print_remarks, progress_bar, refusal, seed_empty_store
from dashboard.file_run_summaries import runs_below_the_line
from dashboard.settings import Settings
from data.importing.ingest import import_paths
from data.importing.report import Refused, Report
from data.importing.staging import ImportOptions
from data.store import Store, open_store

ATTEMPTS = 3  # attempts to type a password


@click.command("import", epilog=format_list())
@file_options
@click.option("--dataset", metavar="ID", help="Dataset to create, or to add runs to.")
@click.option("--title", help="Title of a new dataset.")
@click.option("--replace", is_flag=True, help="Replace the questions of the dataset with these.")
@click.option("--names", is_flag=True, help="Keep the names of human teams; by default, they get pseudonyms.")
@click.option("--tag", "tags", metavar="NAME=VALUE", multiple=True, callback=read_tags, help="Tag for the runs; can be repeated.")
@click.pass_obj
def import_command(
    settings: Settings,
    paths: Sequence[Path],
    dataset: str | None,
    title: str | None,
    replace: bool,
    names: bool,
    tags: tuple[tuple[str, str], ...],
    **options: Unpack[FileOptions],
) -> None:
    """Import datasets and runs from files, folders and zips.

    If anything is wrong, nothing is imported. The bundled datasets are imported first if the store is empty.
    """
    store = open_store(settings.store)
    try:
        seed_empty_store(store)
        chosen = import_options(options, dataset=dataset, title=title, replace=replace, names=names, tags=tags)
        report = _import(store, paths, with_changes(chosen, password=settings.grace_password or None), options["form"])
    except Refused as refused:
        raise refusal(refused, "imported") from refused
    for line in report.lines:
        click.echo(line)
    warnings = [*report.warnings, *runs_below_the_line(store.snapshot(), report.runs)]
    print_remarks(report.repaired, warnings, report.hints)


def _import(store: Store, paths: Sequence[Path], options: ImportOptions, form: str | None) -> Report:
    """Import the files. On a terminal, ask for the password of an encrypted zip."""
    attempts = ATTEMPTS if sys.stdin.isatty() else 0
    while True:
        try:
            with progress_bar("Importing") as progress:
                return import_paths(store, paths, options, form=form, progress=progress)
        except Refused as refused:
            locked = [problem for problem in refused.problems if problem.hint == "password"]
            if not locked or not attempts:
                raise
            attempts -= 1
            click.echo(str(locked[0]), err=True)
            password = click.prompt("Password", hide_input=True, default="", show_default=False, err=True)
            if not password:
                raise
            options = with_changes(options, password=password)
