"""The import: file -> reader -> contract -> checks and grading -> statistics -> store. All or nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from clueline.data.importing.checks import run_checks
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Report, refuse
from clueline.data.importing.staging import PEOPLE, ImportOptions, Staging, open_staging
from clueline.data.importing.table_files import MAX_UNPACKED_BYTES
from clueline.data.importing.unpublished_catalogue import make_unpublished_catalogue
from clueline.data.readers import reader_for
from clueline.data.store import Snapshot, Store, StoreError, StoreMoved
from clueline.data.store.audit import AuditEvent, new_event
from clueline.data.store.errors import OutOfMemory
from clueline.data.store.files import StoreFiles
from clueline.data.store.run_files import Objects
from clueline.data.store.tokens_and_readers import TokenError, Tokens

# What files may bring. "runs": only runs of one stored dataset; "datasets": also new datasets with their people; "all": also
# changes to stored datasets.
Content = Literal["runs", "datasets", "all"]
Progress = Callable[[str, int, int], None]  # called with the current step in words, the steps done, and the number of steps


def import_paths(
    store: Store,
    paths: Sequence[Path],
    options: ImportOptions,
    *,
    names: Sequence[str] | None = None,
    by: str | None = None,
    content: Content = "all",
    largest: int = MAX_UNPACKED_BYTES,
    hidden: Collection[str] = (),
    progress: Progress = lambda what, done, total: None,
) -> Report:
    """Import files, folders and zips together: all of them or none.

    Raises ``Refused`` with every problem, or ``StoreError``; the store is then unchanged.

    Args:
        paths: in order; later ones can answer questions of earlier ones.
        names: what reports call the paths, for paths whose own names mean nothing to the analyst.
        by: name of the token of an upload; None for the command line.
        content: what the files may bring; anything else is refused.
        largest: bytes that the compressed files may unpack to.
        hidden: datasets that the importer may not see; they are treated as missing.
    """
    steps = len(paths) + 2
    while True:
        version = store.version()
        try:
            with open_staging(store, largest, hidden) as staging:
                read_and_check(staging, paths, options, names, progress)
                check_ids(staging, hidden)
                if content != "all":
                    check_content(staging, content, paths, names)
                private = check_private(staging, store, options.readers)
                if staging.changes():
                    progress("storing", steps - 1, steps)
                    _make_private(store, private, options.readers, by)  # before anybody can read them
                    _publish(store, staging, by, hidden)
                progress("done", steps, steps)
                return staging.report
        except StoreMoved:
            continue  # another process changed one of the datasets in between: check against the new version
        except duckdb.OutOfMemoryException as error:
            raise OutOfMemory(f"the import needs more memory than it may use; allow more, or split the file ({error})") from error
        except (duckdb.IOException, OSError) as error:
            if store.version() != version:
                continue  # other processes wrote so often that this version was removed
            raise StoreError(f"the import cannot work with its files: {error}") from error


@dataclass(frozen=True)
class DryRun:
    """One dataset as it would be after the import."""

    dataset: str
    snapshot: Snapshot  # of the version of the store that was read, with this dataset and those that the files bring
    report: Report
    stored: frozenset[str]  # ids of the runs in the files that the store already has


@contextmanager
def open_dry_run(
    store: Store,
    paths: Sequence[Path],
    options: ImportOptions,
    *,
    names: Sequence[str] | None = None,
    content: Content = "runs",
    largest: int = MAX_UNPACKED_BYTES,
    hidden: Collection[str] = (),
    progress: Progress = lambda what, done, total: None,
) -> Iterator[DryRun]:
    """Import files into a copy of their dataset, which is removed at the end. For arguments and errors, see ``import_paths``."""
    with ExitStack() as stack:
        tried = None
        while tried is None:
            version, catalogue = store.version(), store.catalogue()
            resources = stack.enter_context(ExitStack())
            try:
                staging = resources.enter_context(open_staging(store, largest, hidden))
                read_and_check(staging, paths, options, names, progress)
                check_ids(staging, hidden)
                dataset = check_content(staging, content, paths, names)
                check_private(staging, store, options.readers)
                progress("computing", len(paths) + 1, len(paths) + 2)
                objects = Objects(StoreFiles(staging.path.parent), others=store.objects, form=store.new_objects().form)
                unpublished = make_unpublished_catalogue(staging, objects, shown=dataset)
                unpublished.close()
                connection = resources.enter_context(duckdb.connect(str(unpublished.path), config=store.options))
                progress("done", len(paths) + 2, len(paths) + 2)
                stored = frozenset(staging.report.runs) - set(unpublished.runs)
                tried = DryRun(dataset, Snapshot(version, connection, objects=unpublished.objects), staging.report, stored)
            except duckdb.OutOfMemoryException as error:
                raise OutOfMemory(f"this needs more memory than it may use; allow more, or split the file ({error})") from error
            except (duckdb.IOException, OSError) as error:
                resources.close()
                if catalogue is None or catalogue.exists() or store.version() == version:
                    raise StoreError(f"the dry run cannot work with its files: {error}") from error
                # Otherwise other processes wrote so often that this version was removed.
        yield tried


def _publish(store: Store, staging: Staging, by: str | None, hidden: Collection[str]) -> None:
    brought = staging.connection.execute("select distinct dataset from new_datasets order by 1").fetchall()
    with store.adding_objects() as objects:
        unpublished = make_unpublished_catalogue(staging, objects, by)
        dataset_of = dict(unpublished.connection.execute("select run, dataset from unpublished.runs").fetchall())
        unpublished.close()
        store.write(
            lambda connection: unpublished.publish(connection, hidden),
            lambda _: _events(staging.report, [dataset for (dataset,) in brought], dataset_of, by),
        )


def _events(report: Report, brought: Sequence[str], dataset_of: Mapping[str, str], by: str | None) -> Iterator[AuditEvent]:
    for dataset in brought:
        yield new_event("published" if dataset in report.datasets else "replaced_questions", by, dataset=dataset)
    for run in report.runs:
        if run not in report.stored:
            yield new_event("published", by, dataset=dataset_of[run], run=run)
    for run, grading in report.gradings:
        yield new_event("added_grading", by, dataset=dataset_of[run], run=run, grading=grading)


def read_and_check(
    staging: Staging,
    paths: Sequence[Path],
    options: ImportOptions,
    names: Sequence[str] | None,
    progress: Progress,
) -> None:
    """Read files into a scratch database and work out what they would add to the store. Raises ``Refused``."""
    steps = len(paths) + 2
    staging.refuse_same_answers = options.refuse_same_answers
    for done, path in enumerate(paths):
        name = names[done] if names else None
        progress(f"reading {name or path.name}", done, steps)
        with staging.report.collecting():
            incoming = Incoming(path, staging, name, options.password)
            reader = reader_for(incoming, options.form, options)
            if options.form is None:
                staging.report.lines.append(f"{incoming.name}: read as {reader.FORMAT.key}")
            staging.report.formats.append(reader.FORMAT.key)
            reader.read(incoming, staging, options)
    if staging.report.unread:
        staging.report.raise_problems()
    progress("checking and grading", steps - 2, steps)
    run_checks(staging, options)
    new = "select dataset from new_datasets anti join store.datasets using (dataset) order by position"
    staging.report.datasets = [dataset for (dataset,) in staging.connection.execute(new).fetchall()]


def check_ids(staging: Staging, hidden: Collection[str]) -> None:
    """Check that no new dataset has the id of a hidden one. Raises ``Refused``."""
    for dataset in staging.report.datasets:
        if dataset in hidden:
            raise refuse(_file_of(staging, dataset), f"the id {dataset!r} cannot be used; choose another one")


def _file_of(staging: Staging, dataset: str) -> str:
    ((file,), *_) = staging.connection.execute("select file from datasets_read where dataset = $d", {"d": dataset}).fetchall()
    return str(file)


def check_private(staging: Staging, store: Store, readers: Sequence[str]) -> list[str]:
    """Return the new datasets whose bundles say that they are private. Raises ``Refused`` if everybody can read a dataset."""
    try:
        known = Tokens(store.register).record().private if staging.private else {}
    except TokenError as error:
        raise StoreError(str(error)) from error
    for dataset in sorted(staging.private):
        if dataset in staging.report.datasets:
            who = "" if dataset in known else f"; its readers: {', '.join([*readers, 'tokens with the right admin'])}"
            staging.report.warnings.append(f"dataset {dataset}: private, as its bundle says{who}")
        elif dataset not in known:
            reason = f"everybody can read dataset {dataset!r} of the store; make it private first, or set this to false"
            raise refuse(_file_of(staging, dataset), reason, column="private", value="true")
    return sorted(staging.private - known.keys())


def _make_private(store: Store, datasets: Sequence[str], readers: Sequence[str], by: str | None) -> None:
    try:
        for dataset in datasets:
            Tokens(store.register).make_private(dataset, readers, by)
    except TokenError as error:
        raise StoreError(str(error)) from error


def check_content(staging: Staging, content: Content, paths: Sequence[Path], names: Sequence[str] | None) -> str:
    """Check that the files bring only what ``content`` allows. Raises ``Refused``.

    Returns the dataset that the files answer. If they bring new datasets and do not answer exactly one, it is the first new one.
    """
    name = ", ".join(names or [path.name for path in paths])
    run, new = staging.connection.execute, staging.report.datasets
    for what in ("datasets", *PEOPLE) if content != "all" else ():
        brought = [dataset for (dataset,) in run(f"select distinct dataset from new_{what} order by 1").fetchall()]
        if changed := [dataset for dataset in brought if dataset not in new]:
            brings = {"datasets": "other questions", "left_out_plays": "numbers of plays that are left out"}.get(what, what)
            reason = f"this brings {brings} for dataset {changed[0]!r}, which is in the store"
            raise refuse(name, reason, hint="replace_people")
        if content == "runs" and brought:
            raise refuse(
                name, f"this brings {what} for dataset {brought[0]!r}, not only answers; import it first", hint="dataset_upload"
            )
    datasets: list[str] = [row[0] for row in run("select distinct dataset from responses_read order by 1").fetchall()]
    if new and content != "runs":
        return datasets[0] if len(datasets) == 1 else new[0]
    if len(datasets) != 1:
        what = f"answers to several datasets ({', '.join(datasets)}); import one at a time" if datasets else "no answers"
        raise refuse(name, f"this holds {what}")
    return datasets[0]
