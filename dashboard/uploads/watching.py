"""Imports finished logs and tables from a folder or a bucket, each once.

In a server: ``python -m clueline.dashboard.uploads.watching``.

Each file is copied and imported like an upload, so it is stored as a whole or not at all. Runs are known by
their content, so a file that is read again, because a process was killed before it could note what became of it, adds nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec
import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import LocalStore, S3Store

from clueline.dashboard.http import logs
from clueline.dashboard.settings import environment_variable, read_settings
from clueline.dashboard.uploads.end_with_parent import watch_parent
from clueline.dashboard.uploads.import_process import (
    ROOT,
    Accepted,
    BadRow,
    Failed,
    ImportJob,
    ImportOutcome,
    ImportProcesses,
    ImportReport,
    TooMuchMemory,
)
from clueline.data.importing.column_mapping import BadMapping, ColumnMapping, as_toml, named_mapping
from clueline.data.importing.staging import ImportOptions
from clueline.data.importing.table_files import MAX_UNPACKED_BYTES
from clueline.data.plurals import counted
from clueline.data.readers.inspect_ai import log_status
from clueline.data.scratch_folders import scratch_folder
from clueline.data.store import Store, StoreError, open_store
from clueline.data.store.audit import system_user
from clueline.data.store.files import make_folder, open_restricted
from clueline.data.store.kept_mappings import KeepingError
from clueline.data.store.s3_files import open_bucket
from clueline.data.store.scopes import Viewer
from clueline.data.store.watch_notes import read_notes, write_notes

LOCK = "watch.lock"
EVERY = 10.0  # seconds between looks
WRITER = "watch"  # who imported a run
READ = {  # endings of files that some reader could read; others are not tried
    ".csv", ".db", ".eval", ".json", ".jsonl", ".ndjson", ".ods", ".parquet", ".pq", ".sqlite", ".sqlite3", ".tsv", ".xls",
    ".xlsb", ".xlsx", ".zip",
}  # fmt: skip
PACKED = {".gz", ".zst"}
HELM, STATS, BUNDLE = "scenario_state.json", "per_instance_stats.json", "dataset.json"
SAMPLES = re.compile(r"samples_.*?(?:_(?P<date>\d{4}-\d{2}-\d{2}T[\d.:-]+))?\.jsonl.*")
CHUNK = 4 * 2**20  # bytes
NOTED_EVERY = 5.0  # seconds, at most, after which it is noted what became of files
MAX_TEXT = 1000  # characters of what is said about a file
SAID = 3  # problems of a file that are said

log = logging.getLogger("clueline.dashboard.uploads.watching")  # this module runs as __main__


class WatchedFile(msgspec.Struct):
    """What became of a file, or of the folder of a run.

    ``mark`` changes with its content, and ``datasets`` with the datasets in the store and with the mapping by which columns are
    read, without which it may have been refused.
    """

    mark: str
    state: Literal["imported", "refused", "waiting"]
    says: str
    at: str = ""
    datasets: str = ""
    runs: list[str] = []


def watched_files(store: Store, place: str = "") -> dict[str, WatchedFile]:
    """Return what became of the files of watched places, by address; as it was noted for ``place``, if several watch a file.

    What was noted and cannot be read is left out.
    """
    files: dict[str, WatchedFile] = {}
    for address, note in read_notes(store.files, place).items():
        with suppress(msgspec.DecodeError):
            files[address] = msgspec.json.decode(note, type=WatchedFile)
    return files


class Watch:
    """A folder, or ``s3://BUCKET/PREFIX``, whose files are imported.

    ``run`` runs an import with ``options``; without their dataset, a table that does not say one answers that which its folder is
    named after. ``mapping`` names the kept mapping by which the columns of tables are read, if any: no other is used. ``ignored``
    counts files by endings that no reader reads. Raises ``StoreError`` if the folder holds the store, or the store the folder.
    """

    def __init__(
        self,
        store: Store,
        place: str,
        run: Callable[[ImportJob], ImportOutcome],
        options: ImportOptions,
        mapping: str = "",
    ) -> None:
        self.store, self.run, self.options, self.mapping = store, run, options, mapping
        self.place = place if place.startswith("s3://") else str(Path(place).expanduser().resolve())
        self.ignored: Counter[str] = Counter()
        self._seen: dict[str, str] = {}
        for folder in () if place.startswith("s3://") else (store.local.resolve(), store.files.root.resolve()):
            if folder.is_relative_to(self.place) or Path(self.place).is_relative_to(folder):
                raise StoreError(f"{self.place} cannot be watched, because the store is in {folder}; watch another folder")

    def look(self) -> Iterator[tuple[str, WatchedFile]]:
        """Import what has not changed since the previous look, and yield each file of which there is something new to say.

        Raises ``OSError`` if the place cannot be read, or ``StoreError``, also if the mapping cannot be used now.
        """
        if self.mapping:
            self.options = replace(self.options, mapping=self._named_mapping())
        with self._open() as bucket:
            marks = {file["path"]: f"{file['e_tag']} {file['size']}" for files in obstore.list(bucket) for file in files}
            units, notes = self._units(marks), watched_files(self.store, self.place)
            here = {self.address(name) for name in units}
            gone = [key for key, file in self.noted(notes).items() if file.state != "imported" and key not in here]
            self._note(dict.fromkeys(gone))
            mapping = self.options.mapping
            datasets = _digest([*sorted(self.store.snapshot().states), *([as_toml(mapping)] if mapping else [])])
            news: dict[str, WatchedFile | None] = {}
            noted_at = time.monotonic()
            try:
                for name, members in sorted(units.items()):
                    mark, key = _digest([f"{path} {marks[path]}" for path in members]), self.address(name)
                    known = notes.get(key)
                    if known is not None and known.mark == mark:
                        if known.state != "refused" or known.datasets == datasets:
                            continue
                    elif self._seen.get(name) != mark:  # it may still be written
                        self._seen[name] = mark
                        continue
                    became = self._import(bucket, name, {path: marks[path] for path in members})
                    if became is None:
                        continue
                    became.mark, became.datasets, became.at = mark, datasets, datetime.now(UTC).isoformat(timespec="seconds")
                    news[key] = became
                    if time.monotonic() > noted_at + NOTED_EVERY:
                        self._note(news)
                        news, noted_at = {}, time.monotonic()
                    if known is None or (known.state, known.says) != (became.state, became.says):
                        yield name, became
            finally:
                self._note(news)

    def _named_mapping(self) -> ColumnMapping:
        try:
            return named_mapping(self.store.files, self.mapping, Viewer(system_user(), admin=True))
        except (BadMapping, KeepingError) as error:
            raise StoreError(f"nothing is imported: {error}") from error

    @contextmanager
    def _open(self) -> Iterator[S3Store | LocalStore]:
        try:
            yield open_bucket(self.place) if self.place.startswith("s3://") else LocalStore(self.place)
        except BaseError as error:
            raise OSError(f"{self.place} cannot be read: {str(error).splitlines()[0][:300]}") from error

    def _units(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """Return the files and folders to import, each with its files, and count the others."""
        shown = [PurePosixPath(path) for path in sorted(paths)]
        shown = [path for path in shown if not any(part.startswith((".", "~$")) for part in path.parts)]
        folders = {path.parent for path in shown if path.name in (HELM, f"{HELM}.gz", BUNDLE)} - {PurePosixPath()}
        beside: dict[PurePosixPath, set[str]] = defaultdict(set)
        for path in shown:
            beside[path.parent].add(path.name)
        with_samples = {folder for folder, names in beside.items() if any(map(SAMPLES.fullmatch, names))}
        units: dict[str, list[str]] = defaultdict(list)
        self.ignored.clear()
        for path in shown:
            folder = next((parent for parent in path.parents if parent in folders), None)
            if folder is not None:
                units[str(folder)].append(str(path))
            elif _ending(path) not in READ:
                self.ignored[path.suffix or path.name] += 1
            elif path.parent not in with_samples or not path.name.startswith("results_"):
                units[str(path)].append(str(path))
                match = SAMPLES.fullmatch(path.name)
                results = f"results_{match['date']}.json" if match else ""  # lm-eval names the model there
                if results in beside[path.parent]:
                    units[str(path)].append(str(path.with_name(results)))
        return units

    def _import(self, bucket: S3Store | LocalStore, name: str, members: Mapping[str, str]) -> WatchedFile | None:
        """Copy a file or folder and import the copy; None if it cannot be decided now."""
        with scratch_folder() as scratch:
            parent = PurePosixPath(name).parent
            root = scratch / (parent.name or PurePosixPath(self.place).name or "bucket")  # names the model of samples of lm-eval
            try:
                for path, mark in members.items():
                    target = root / PurePosixPath(path).relative_to(parent)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with target.open("wb") as out:
                        for chunk in obstore.get(bucket, path).stream(min_chunk_size=CHUNK):
                            out.write(chunk)
                    after = obstore.head(bucket, path)
                    if f"{after['e_tag']} {after['size']}" != mark:
                        return None
            except (FileNotFoundError, NotFoundError):
                return None
            except BaseError as error:
                if isinstance(bucket, S3Store):
                    raise
                return WatchedFile("", "refused", f"it cannot be read: {str(error).splitlines()[0][:300]}")
            copy = root / PurePosixPath(name).name
            return _not_ready(copy) or self._outcome(copy, self.options.dataset)

    def _outcome(self, path: Path, dataset: str | None) -> WatchedFile:
        options = replace(self.options, dataset=dataset)
        job = ImportJob(
            self.store.url, str(path), path.name, options, WRITER, dry_run=False, largest=MAX_UNPACKED_BYTES, rows=SAID,
            content="all",
        )  # fmt: skip
        try:
            outcome = self.run(job)
        except (ChildProcessError, TimeoutError):
            return WatchedFile("", "refused", "its import ended without a result: it took too much time, or an error is logged")
        if isinstance(outcome, TooMuchMemory):
            return WatchedFile("", "refused", outcome.message)
        if isinstance(outcome, Failed):
            raise StoreError(outcome.message)
        if isinstance(outcome, Accepted):
            report = msgspec.json.decode(outcome.report, type=ImportReport)
            return WatchedFile("", "imported", _reported(report)[:MAX_TEXT], runs=[run.run for run in report.runs])
        if (
            dataset is None
            and {row.hint for row in outcome.rows} == {"dataset"}
            and path.parent.name in self.store.snapshot().states
        ):
            return self._outcome(path, path.parent.name)
        more = f"; and {outcome.total - SAID:,} more problems" if outcome.total > SAID else ""
        return WatchedFile("", "refused", ("; ".join(map(_problem, outcome.rows)) + more)[:MAX_TEXT])

    def _note(self, changes: Mapping[str, WatchedFile | None]) -> None:
        """Note what became of files, and forget those without anything."""
        if changes:
            notes = {**self.noted(watched_files(self.store, self.place)), **changes}
            write_notes(self.store.files, self.place, {key: file for key, file in notes.items() if file is not None})

    def noted(self, notes: Mapping[str, WatchedFile]) -> dict[str, WatchedFile]:
        """Return the notes on files of this place."""
        return {key: file for key, file in notes.items() if key.startswith(self.address(""))}

    def address(self, name: str) -> str:
        """Return the address of a file or folder of the place, by which notes know it."""
        return f"{self.place.rstrip('/')}/{name}"


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _ending(path: PurePosixPath) -> str:
    return PurePosixPath(path.stem).suffix.lower() if path.suffix.lower() in PACKED else path.suffix.lower()


def _not_ready(path: Path) -> WatchedFile | None:
    """Return why a copy is not imported now; None if it is."""
    if path.is_dir():
        present = {part.name.removesuffix(".gz") for part in path.iterdir()}
        if HELM in present and STATS not in present:
            return WatchedFile("", "waiting", f"there is no {STATS} yet")
        return None
    status = log_status(path)
    if status == "started":
        return WatchedFile("", "waiting", "the log is not finished")
    if status in ("error", "cancelled"):
        return WatchedFile("", "refused", f"the log ended with the status {status!r}; what it has can be imported by hand")
    return None


def _reported(report: ImportReport) -> str:
    parts = [f"dataset {dataset.dataset}" for dataset in report.datasets]
    for run in report.runs:
        known = ", already there" if run.already_stored else ""
        parts.append(f"run {run.run} ({run.model}, {run.elicitation}), {counted(run.items, 'item')}{known}")
    return "; ".join([*parts, *(f"warning: {warning}" for warning in report.warnings)])


def _problem(row: BadRow) -> str:
    places = (row.file, f"line {row.line}" if row.line else row.row, f"column {row.column}" if row.column else None)
    return f"{', '.join(filter(None, places))}: {row.reason}"


def keep_watching(store: Store, place: str) -> None:
    """Keep a process that watches, from a thread of this worker. Of several workers and servers on this host, one does."""
    where = {"store": store.url, "watch": place if place.startswith("s3://") else str(Path(place).expanduser().absolute())}
    settings = os.environ | {environment_variable(name): text for name, text in where.items()}

    def keep() -> None:
        make_folder(store.local)
        with open(store.local / LOCK, "w", opener=open_restricted) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # waits until the worker that has it ends
            while True:
                subprocess.run([sys.executable, "-m", "clueline.dashboard.uploads.watching"], cwd=ROOT, env=settings, check=False)
                time.sleep(EVERY)

    threading.Thread(target=keep, name="watch", daemon=True).start()


def watch(watched: Watch, every: float, say: Callable[[str, WatchedFile], None], fail: Callable[[str], None]) -> None:
    """Look for ever, every so many seconds. ``fail`` is called with each new reason why nothing can be imported now."""
    reason = ""
    while True:
        try:
            for name, file in watched.look():
                say(name, file)
            reason = ""
        except (OSError, StoreError) as error:
            if str(error) != reason:
                fail(str(error))
            reason = str(error)
        time.sleep(every)


def main() -> None:
    """Watch the place of the settings until the server ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the server
    watch_parent()
    settings = read_settings()
    logs.configure(settings)
    processes = ImportProcesses(at_once=1)

    def run(job: ImportJob) -> ImportOutcome:
        return processes.run(msgspec.structs.replace(job, memory_mb=settings.import_memory_mb))

    watch(
        Watch(open_store(settings.store, threads=1), settings.watch, run, ImportOptions(), settings.watch_mapping),
        EVERY,
        say=lambda name, file: log.info("%s of %s is %s: %s", name, settings.watch, file.state, file.says),
        fail=lambda reason: log.warning("watching %s: %s", settings.watch, reason),
    )


if __name__ == "__main__":
    main()
