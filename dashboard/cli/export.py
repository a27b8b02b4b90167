"""``clueline export``: writes datasets and runs to files that can be imported again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import click

from clueline.dashboard.cli.progress import CommandRefused
from clueline.dashboard.http.messages import message_with_allowed
from clueline.dashboard.settings import VERSION, Settings
from clueline.data.plurals import counted
from clueline.data.scratch_folders import folder_beside
from clueline.data.store import Store, StoreError, open_store
from clueline.data.store.query_to_file import Form, exporter
from clueline.data.store.tokens_and_readers import Tokens
from clueline.queries.datasets import bundle
from clueline.queries.runs import EVALUATION_SCHEMA, every_eval_ever, responses
from clueline.queries.runs import run as run_facts
from clueline.queries.selection.parameter_kinds import BadRequest

FORMS: tuple[Form, ...] = ("csv", "jsonl", "parquet")


@click.group("export")
def export_group() -> None:
    """Write a dataset or a run to files that can be imported again."""


@export_group.command("dataset")
@click.argument("dataset")
@click.argument("dest", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMS), default="csv", show_default=True, help="Format of the tables.")
@click.pass_obj
def export_dataset(settings: Settings, dataset: str, dest: Path, form: Form) -> None:
    """Write DATASET to a new folder or zip file.

    DEST is a zip file if its name ends in .zip. It holds the questions, what people did and every run that is not withdrawn.
    Importing it into an empty store gives the same run ids and metrics. It does not say when and by whom a run was imported; use
    `backup` to keep everything. The bundle of a private dataset says that it is private, and so it is where it is imported.
    """
    store = open_store(settings.store)
    with _draft(store, dest) as draft, exporter(store) as opened:
        parts = bundle(opened.snapshot, dataset, form)
        private = dataset in Tokens(store.register).record().private  # read after the data: it may just have become private
        folder = draft / dataset
        (folder / "responses").mkdir(parents=True)
        facts = {**parts.facts, "private": True} if private else parts.facts
        (folder / "dataset.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        for name, table in parts.tables.items():
            opened.write(table, form, folder / f"{name}.{form}")
        if dest.suffix.lower() == ".zip":
            folder = Path(shutil.make_archive(str(draft / dataset), "zip", draft, dataset))
        _check_new(dest)
        folder.replace(dest)
    withdrawn = f"; {parts.withdrawn:,} withdrawn left out" if parts.withdrawn else ""
    click.echo(f"{dest}: dataset {dataset}, {counted(parts.runs, 'run')}{withdrawn}")


@export_group.command("run")
@click.argument("run")
@click.argument("dest", type=click.Path(path_type=Path))
@click.option("--format", "schema", type=click.Choice(["every-eval-ever"]), help="Write a folder in the form of Every Eval Ever.")
@click.pass_obj
def export_run(settings: Settings, run: str, dest: Path, schema: str | None) -> None:
    """Write the responses of RUN to a new file.

    The extension of DEST sets the format: .csv, .jsonl or .parquet. With --format every-eval-ever, DEST is a new folder with
    aggregate results and a record for each answer, as its datastore has them.
    """
    store = open_store(settings.store)
    dataset = _export_evaluation(store, run, dest) if schema else _export_responses(store, run, dest)
    if dataset in Tokens(store.register).record().private:
        click.echo(f"The dataset {dataset} is private; {'these files' if schema else 'this file'} cannot say so.")


def _export_responses(store: Store, run: str, dest: Path) -> str:
    """Write the responses of a run to a new file, and return its dataset."""
    form: Form | None = next((form for form in FORMS if dest.suffix.lower() == f".{form}"), None)
    if form is None:
        raise click.BadParameter(f"must end in one of {', '.join(f'.{form}' for form in FORMS)}", param_hint="DEST")
    with _draft(store, dest) as draft, exporter(store) as opened:
        opened.write(responses(opened.snapshot, run, form), form, draft / "responses")
        dataset = run_facts(opened.snapshot, run).dataset
        _check_new(dest)
        (draft / "responses").replace(dest)
    click.echo(f"{dest}: responses of run {run}")
    return dataset


def _export_evaluation(store: Store, run: str, dest: Path) -> str:
    """Write a run in the form of Every Eval Ever to a new folder, and return its dataset."""
    with _draft(store, dest) as draft, exporter(store) as opened:
        aggregate, samples = every_eval_ever(opened.snapshot, run)
        model, dataset = aggregate["model_info"]["id"], aggregate["evaluation_results"][0]["evaluation_name"]
        developer, _, name = model.partition("/") if "/" in model else ("unknown", "", model)
        place = Path("data", dataset, *(re.sub(r"[^\w.-]+", "-", part).lstrip(".") or "-" for part in (developer, name)))
        folder, uuid = draft / "evaluation", uuid4()
        (folder / place).mkdir(parents=True)
        records = folder / place / f"{uuid}_samples.jsonl"
        opened.write(samples, "jsonl", records)
        with records.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        aggregate["eval_library"]["version"] = VERSION
        aggregate["detailed_evaluation_results"] |= {"file_path": (place / records.name).as_posix(), "checksum": checksum}
        text = json.dumps(aggregate, indent=2, ensure_ascii=False) + "\n"
        (folder / place / f"{uuid}.json").write_text(text, encoding="utf-8")
        _check_new(dest)
        folder.replace(dest)
    click.echo(f"{dest / place}: run {run} in schema {EVALUATION_SCHEMA} of Every Eval Ever")
    click.echo("The organization in it is unknown: fill it in.")
    return str(dataset)


@contextmanager
def _draft(store: Store, dest: Path) -> Iterator[Path]:
    """Yield a temporary folder next to DEST, so that DEST appears complete or not at all. Errors are reported in one line."""
    _check_new(dest)
    store.check_outside(dest)
    if not dest.absolute().parent.is_dir():
        raise CommandRefused(f"{dest.absolute().parent} is not a folder")
    try:
        with folder_beside(dest.absolute()) as draft:
            yield draft
    except BadRequest as error:
        raise CommandRefused(message_with_allowed(error)) from error
    except OSError as error:
        raise StoreError(f"{dest} cannot be written: {error}") from error


def _check_new(dest: Path) -> None:
    if os.path.lexists(dest):
        raise CommandRefused(f"{dest} already exists; choose another name")
