"""``clueline import`` and ``batch``, and the options of files."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clueline.dashboard.cli.progress import CommandRefused, checked, print_remarks, progress_bar, seed_empty_store
from clueline.dashboard.settings import Settings
from clueline.dashboard.uploads.summaries import runs_below_the_line
from clueline.data.importing import column_mapping
from clueline.data.importing.distributed_import import (
    Group,
    PreparedRuns,
    groups_of_file,
    merge_groups,
    parquet_files,
    prepare,
    publish,
)
from clueline.data.importing.ingest import import_paths, open_dry_run
from clueline.data.importing.report import Refused, Report
from clueline.data.importing.seed import SAMPLES
from clueline.data.importing.staging import ALIGN, MAX_MOMENTS, REPEATS, ImportOptions
from clueline.data.plurals import counted
from clueline.data.readers import formats, readers
from clueline.data.recalibration_maps import SCORE_MAPS
from clueline.data.store import Store, open_store
from clueline.data.store.audit import system_user
from clueline.data.store.kept_files import DamagedThing
from clueline.data.store.kept_mappings import NAME, NoSuchMapping, list_mappings, take_over_earlier
from clueline.data.store.run_tags import LABEL, checked_tag, read_tag
from clueline.data.store.scopes import Viewer

Command = Callable[..., None]


def _matching(pattern: re.Pattern[str], otherwise: str, text: str | None) -> str | None:
    """Return a text that matches or is absent. Else raises ``ValueError``."""
    if text is not None and not pattern.fullmatch(text):
        raise ValueError(otherwise)
    return text


def _read_columns(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = [text.partition("=") for text in texts]
    for role, equals, column in pairs:
        if not equals or role not in column_mapping.ROLES:
            raise ValueError(f"{role + equals + column!r} is not ROLE=COLUMN; the roles: {', '.join(column_mapping.ROLES)}")
    return tuple((role, column) for role, _, column in pairs)


def _check_form(form: str | None) -> str | None:
    if form is not None and form not in readers():
        raise ValueError(f"this version reads: {', '.join(sorted(readers()))}")
    return form


read_tags = checked(lambda texts: tuple(map(read_tag, texts)))


def scale_option(help: str) -> Callable[[Command], Command]:
    """Return the option for ``ImportOptions.percent``."""
    scales = click.Choice(["unit", "percent"])
    percent = checked(lambda scale: scale == "percent")
    return click.option(
        "--confidence-scale", "percent", type=scales, default="unit", show_default=True, callback=percent, help=help
    )


def repeats_and_align(command: Command) -> Command:
    """Add the options for several rows of one question, and for ids of questions that differ from the dataset."""
    align = click.option(
        "--align",
        metavar="content|OFFSET",
        callback=checked(partial(_matching, ALIGN, "write content, or a whole number such as -1 or 100")),
        help="Ids of questions that differ from the dataset: align by text and reference answer, or add a number to each.",
    )
    repeats = "Several rows of a run about one question are several answers (samples), or several grades of one (gradings)."
    return click.option("--repeats", type=click.Choice(REPEATS), help=repeats)(align(command))


def file_options(command: Command) -> Command:
    """Add the argument for paths, and options that ``import_options`` takes, named like the fields of ``ImportOptions``."""
    for decorate in (
        scale_option("Scale of the confidences: 0 to 1, or 0 to 100."),
        click.option("--respondents", is_flag=True, help="Each value in the column `sample` is a person who answered."),
        click.option(
            "--refuse-same-answers",
            is_flag=True,
            help="Refuse a run with exactly the answers of another model's run, instead of a warning.",
        ),
        repeats_and_align,
        click.option(
            "--series",
            type=click.IntRange(1, MAX_MOMENTS),
            metavar="N",
            help="Metaculus: take the forecasts standing at N moments between opening and close as clues of each question.",
        ),
        click.option(
            "--column",
            "columns",
            metavar="ROLE=COLUMN",
            multiple=True,
            callback=checked(_read_columns),
            help=f"Role of a column of another project's table; can be repeated. Roles: {', '.join(column_mapping.ROLES)}.",
        ),
        click.option(
            "--words",
            metavar="WORD=SHARE,...",
            multiple=True,
            callback=checked(lambda texts: tuple(pair for text in texts for pair in column_mapping.read_words(text).items())),
            help="What words of confidence or grades mean, as in 'certain=.95' or '-1=none'; can be repeated.",
        ),
        click.option(
            "--agreement",
            is_flag=True,
            help="Of samples without a confidence, takes the most frequent answer, and its share as the confidence.",
        ),
        click.option(
            "--confidence-pattern",
            metavar="PATTERN",
            default="",
            callback=checked(lambda text: text and column_mapping.read_pattern(text).text),
            help="How outputs state a confidence, as in 'Confidence: {percent}' or '{share} sure'.",
        ),
        click.option(
            "--map", type=click.Choice(SCORE_MAPS), help="Makes probabilities of scores that are none, fitted to other questions."
        ),
        click.option("--mapping", metavar="NAME", help="Columns as in a kept mapping (clueline mappings), or in a TOML file."),
        click.option(
            "--classes",
            metavar="A,B,C",
            callback=checked(lambda text: tuple(name.strip() for name in text.split(",")) if text else ()),
            help="Order of the classes in a new dataset or in ChaosNLI predictions.",
        ),
        click.option("--elicitation", help="How the confidence was elicited, if the file does not say."),
        click.option("--model", help="The model, if the file does not say."),
        click.option("--as", "form", metavar="FORMAT", callback=checked(_check_form), help="Format; detected by default."),
        click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH..."),
    ):
        command = decorate(command)
    return command


def format_list() -> str:
    """Return the list of formats for the end of a command's help, one line per format."""
    rows = formats()
    width = max(len(row.key) for row in rows) + 2
    lines = [f"  {row.key:{width}}{row.reads.replace('`', '')}" for row in rows]
    return "\n".join(["\b", "Formats (details in docs/formats.md):", *lines])


def import_options(store: Store, mapping: str | None, **stated: Any) -> ImportOptions:
    """Return the options of an import, as stated on the command line. ``mapping`` names a kept mapping or a file."""
    viewer = operator(store)
    named = None if mapping is None else stated_mapping(store, mapping)
    return ImportOptions(**stated, mapping=named, offered=() if named else column_mapping.offered_mappings(store.files, viewer))


def operator(store: Store) -> Viewer:
    """Return who runs a command, who sees all mappings. Those that an earlier version kept are taken over first."""
    take_over_earlier(store.local, store.files)
    return Viewer(system_user(), admin=True)


def stated_mapping(store: Store, mapping: str) -> column_mapping.ColumnMapping:
    """Return the mapping of a name, or of a TOML file. Raises ``CommandRefused`` or ``BadParameter``."""
    try:
        return column_mapping.named_mapping(store.files, mapping, operator(store))
    except NoSuchMapping:
        if Path(mapping).is_file():
            return column_mapping.read_mapping(Path(mapping))
        names = ", ".join(entry.shown for entry in list_mappings(store.files, operator(store))) or "none"
        raise click.BadParameter(f"there is no mapping or file {mapping!r}; kept are: {names}", param_hint="--mapping") from None
    except DamagedThing as error:
        remedy = f"Remove it, and keep it again: clueline mappings remove {mapping}"
        raise CommandRefused(f"The mapping {mapping!r} is damaged ({error.reason}). Nothing was read. {remedy}") from error


ATTEMPTS = 3  # attempts to type a password


@click.command("import", epilog=format_list())
@file_options
@click.option("--dataset", metavar="ID", help="Dataset to create, or to add runs to.")
@click.option("--title", help="Title of a new dataset.")
@click.option("--replace", is_flag=True, help="Replace the questions of the dataset with these.")
@click.option("--names", is_flag=True, help="Keep the names of human teams; by default, they get pseudonyms.")
@click.option("--tag", "tags", metavar="NAME=VALUE", multiple=True, callback=read_tags, help="Tag for the runs; can be repeated.")
@click.option("--label", metavar="TEXT", help="What tells the runs from others of their model; short for --tag label=TEXT.")
@click.option(
    "--save-mapping",
    metavar="NAME",
    callback=checked(partial(_matching, NAME, "a mapping has a name of at most 40 characters of a-z, 0-9 and -")),
    help="Keep the roles of the columns under this name, as your own.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@click.pass_obj
def import_command(
    settings: Settings,
    paths: Sequence[Path],
    tags: tuple[tuple[str, str], ...],
    label: str | None,
    save_mapping: str | None,
    dry_run: bool,
    **stated: Any,
) -> None:
    """Import datasets and runs from files, folders and zips.

    If anything is wrong, nothing is imported. If the store is empty and the files answer a bundled dataset, it comes first.
    """
    store = open_store(settings.store)
    if stated["dataset"] in SAMPLES:
        seed_empty_store(store)
    tags = (*tags, checked_tag(LABEL, label)) if label else tags
    options = import_options(store, tags=tags, password=settings.grace_password or None, **stated)
    if dry_run:
        with progress_bar("Reading") as progress, open_dry_run(store, paths, options, content="all", progress=progress) as tried:
            report = tried.report
    else:
        report = _import(store, paths, options)
    for line in report.lines:
        click.echo(line)
    if save_mapping:
        _save(store, save_mapping, report)
    if dry_run:
        click.echo("This was a dry run: nothing was stored.")
    warnings = [*report.warnings, *([] if dry_run else runs_below_the_line(store.snapshot(), report.runs))]
    print_remarks(report.repaired, warnings, report.hints)


def _save(store: Store, name: str, report: Report) -> None:
    """Keep the mapping of the table that was read. Raises ``KeepingError`` unless it was one."""
    kept = column_mapping.keep_read_mapping(store.files, name, report.mappings, system_user())
    click.echo(f"mapping {name}: kept, of {kept.by}; --mapping {name} reads files with these columns by it")


def _import(store: Store, paths: Sequence[Path], options: ImportOptions) -> Report:
    """Import the files. On a terminal, ask for the password of an encrypted zip."""
    attempts = ATTEMPTS if sys.stdin.isatty() else 0
    while True:
        try:
            with progress_bar("Importing") as progress:
                return import_paths(store, paths, options, progress=progress)
        except Refused as refused:
            locked = [problem for problem in refused.problems if problem.hint == "password"]
            if not locked or not attempts:
                raise
            attempts -= 1
            click.echo(str(locked[0]), err=True)
            password = click.prompt("Password", hide_input=True, default="", show_default=False, err=True)
            if not password:
                raise
            options = replace(options, password=password)


if TYPE_CHECKING:
    from distributed import Client

PUBLISH_EVERY = 30.0  # seconds. Files that are written but not published for an hour can be deleted
RETRIES = 2  # retries of a group whose worker was lost


@click.command("batch")
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.option("--dataset", metavar="ID", required=True, help="The dataset that the files answer; it must be in the store.")
@click.option("--model", help="The model, if the files do not say.")
@click.option("--elicitation", help="How the confidence was elicited, if the files do not say.")
@scale_option("0 to 1, or 0 to 100.")
@click.option("--tag", "tags", metavar="NAME=VALUE", multiple=True, callback=read_tags, help="Tag for the runs; can be repeated.")
@repeats_and_align
@click.option(
    "--scheduler", metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786; by default, a cluster on this machine."
)
@click.option("--workers", type=click.IntRange(1), help="Processes of the cluster on this machine; by default, one per core.")
@click.option("--memory", default="1GB", show_default=True, help="DuckDB's memory for each run; beyond it, the disk is used.")
@click.pass_obj
def batch_command(
    settings: Settings, source: Path, dataset: str, scheduler: str | None, workers: int | None, memory: str, **stated: Any
) -> None:
    """Import the answers in SOURCE, a Parquet file or a folder of them, with a Dask cluster.

    The columns are those of a responses file. The rows of one model and elicitation form a run, which one worker reads, checks
    and writes. This is fastest if each run has its own files, such as model=NAME/part-0.parquet. Workers need the code, the files
    of SOURCE at the same path, and the store. Runs are published as they are finished. If some are refused, the others are still
    imported; run the command again to add what is missing.
    """
    store = open_store(settings.store)
    if dataset not in store.snapshot().states:
        raise CommandRefused(f"There is no dataset {dataset!r} in the store; import it first.")
    options = ImportOptions(dataset=dataset, **stated)
    with _client(scheduler, workers) as client:
        by_file = client.gather(client.map(groups_of_file, parquet_files(source)))
        groups = merge_groups([group for in_file in by_file for group in in_file])
        problems, count = _import_part(client, store, groups, options, memory)
    if problems:
        raise CommandRefused("\n".join([f"{len(problems)} of {len(groups)} groups of rows were refused", *problems]))
    click.echo(f"{counted(count, 'run')} imported from {counted(len(groups), 'group')} of rows.")


def _import_part(client: Client, store: Store, groups: list[Group], options: ImportOptions, memory: str) -> tuple[list[str], int]:
    """Prepare every group on the workers, and publish finished runs every ``PUBLISH_EVERY`` seconds.

    Returns messages about refused groups, and the number of new runs.
    """
    from distributed import as_completed

    futures = {
        client.submit(prepare, store.url, group, options, memory_limit=memory, pure=False, retries=RETRIES): group
        for group in groups
    }
    problems: list[str] = []
    waiting: list[PreparedRuns] = []
    count, published_at = 0, time.monotonic()
    with progress_bar("Importing") as progress:
        for done, future in enumerate(as_completed(futures), 1):
            error = future.exception()
            if error is not None:
                problems.append(f"{futures[future].label}: {error}")
            else:
                prepared = future.result()
                if prepared.refusal is not None:
                    problems.append(f"{prepared.label}: {prepared.refusal}")
                for line in prepared.lines:
                    click.echo(line)
                waiting.append(prepared)
            future.release()
            if done == len(futures) or time.monotonic() > published_at + PUBLISH_EVERY:
                count += len(publish(store, waiting))
                waiting, published_at = [], time.monotonic()
            progress(f"{done:,} of {len(futures):,}", done, len(futures))
    return problems, count


@contextmanager
def _client(scheduler: str | None, workers: int | None) -> Iterator[Client]:
    """Connect to a cluster. Without the address of one, a local cluster is started, and stopped at the end."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise CommandRefused("This needs Dask: pip install --group batch") from None
    if scheduler is not None:
        with Client(scheduler) as client:
            yield client
        return
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client
