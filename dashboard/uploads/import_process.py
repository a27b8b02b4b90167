"""Imports an uploaded file in its own process, which can be ended: ``python -m clueline.dashboard.uploads.import_process``.

That way a hostile file cannot exhaust the memory or time of the worker that serves readers.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock

import duckdb
import msgspec

from clueline.dashboard.access.request_rate import Turns
from clueline.dashboard.http import logs
from clueline.dashboard.http.messages import error_message
from clueline.dashboard.settings import environment_variable, read_settings
from clueline.dashboard.uploads.end_with_parent import watch_parent
from clueline.dashboard.uploads.summaries import IncomingRun, incoming_runs, runs_below_the_line
from clueline.data.importing.column_mapping import ColumnMapping, keep_read_mapping
from clueline.data.importing.ingest import Content, DryRun, import_paths, open_dry_run
from clueline.data.importing.report import FirstRows, Hint, Problem, Refused, Report
from clueline.data.importing.staging import ImportOptions
from clueline.data.scratch_folders import keep
from clueline.data.store import Snapshot, Store, StoreError, open_store
from clueline.data.store.errors import OutOfMemory
from clueline.data.store.kept_mappings import KeepingError
from clueline.queries.datasets import Dataset, describe_dataset
from clueline.queries.gradings import GradeReview, uncertain_grades
from clueline.queries.leaderboard import Leaderboard, leaderboard
from clueline.queries.metrics import METRICS
from clueline.queries.query_time_limit import Abandoned
from clueline.queries.runs import GradedResponse, UnansweredQuestions, first_responses, run, unanswered_questions
from clueline.queries.selection import read_facets, read_selection
from clueline.queries.selection.parameter_kinds import BadRequest

ROOT = Path(__file__).resolve().parents[2]
DUCKDB_SHARE = 2  # DuckDB gets one in so many parts of the memory of a process, and spills to disk beyond it
TIME_LIMIT = 1800.0  # seconds
NICENESS = 10
FIRST_VICTIM = "1000"  # the greatest oom_score_adj of Linux: where memory is short, an import ends before anything else
AT_ONCE = 2  # jobs at the same time per worker
AT_ONCE_FOR_CLIENT = 1  # so that slow files of one client never keep another waiting
LOOK_INTERVAL = 0.02  # seconds between checks how much memory a process holds; one that reads fast takes 2 GiB a second
STORING = b"\n"  # what a process writes before its outcome, once it begins to change the store

log = logging.getLogger("clueline.dashboard.uploads.import_process")  # this module runs as __main__


class ImportJob(msgspec.Struct):
    """An uploaded file and what to do with it."""

    store: str
    path: str
    name: str  # of the file in reports
    options: ImportOptions
    by: str
    dry_run: bool
    largest: int  # maximum size of the unpacked file, in bytes
    rows: int  # maximum number of bad rows to report
    threads: int = 2
    memory_mb: int | None = None  # that its process may hold, in MiB; None if there is no limit
    request_id: str = ""
    content: Content = "runs"  # what the file may contain
    hidden: list[str] = []  # datasets that do not exist for the uploader
    save_mapping: str = ""  # name under which the roles of the columns of a published table are kept, unless it is blank
    keeper: str = ""  # whose own mapping that is


REMEDIES: dict[Hint, str] = {
    "agreement": "agreement=1 takes the most frequent answer, and its share of the samples as the confidence",
    "align": "add align=content to align questions by text and reference answer, or align=OFFSET to add a number to each id",
    "classes": "add classes=A,B,C",
    "column": "add column.ROLE=COLUMN",
    "dataset": "add dataset=ID",
    "dataset_upload": "send it to POST /api/v1/datasets",
    "format": "say which one with format=KEY",
    "map": "map=isotonic or map=logistic makes probabilities of them, fitted to other questions",
    "mapping": "mapping=NAME reads the columns as it says",
    "model": "add model=NAME",
    "one_run": "for one run of all questions, send all of its files in one zip; DELETE /api/v1/runs/RUN withdraws a run, and "
    "another model= or elicitation= distinguishes it",
    "password": "unpack it before you send it",
    "pattern": "confidence_pattern=PATTERN reads it",
    "percent": "if the file has percentages, add confidence_scale=percent",
    "repeats": "add repeats=samples if these are several answers, or repeats=gradings if they are several grades of one",
    "replace": "the operator can import and replace it on the command line",
    "same_answers": "if both are one model, POST /api/v1/models/merge joins the names; DELETE /api/v1/runs/RUN withdraws a run",
    "respondents": "add column.sample=COLUMN and respondents=1 if each of its values is a person",
    "unit": "leave out confidence_scale=percent",
    "words": "add words=WORD=SHARE,...",
    "replace_people": "the operator can import and replace them on the command line",
}


class BadRow(msgspec.Struct):
    """A row that cannot be imported.

    Attributes:
        line: line number from 1; None if the whole file is bad or has no lines.
        row: which row, in a document that is not a table; otherwise None.
        column, value: the bad cell; None if the problem does not concern a column or a cell.
        hint: key of what would fix it (``data.importing.report.Hint``), or None.
        remedy: how to fix it, in terms of this address's keys; None without a hint.
        choices: what can be stated to answer it: ROLE=COLUMN for the hint ``column``, WORD=? for ``words``,
            for ``dataset`` the ids of datasets that have the file's questions, and + if the file can become a new one.
    """

    file: str
    line: int | None
    row: str | None
    column: str | None
    value: str | None
    reason: str
    hint: Hint | None
    remedy: str | None
    choices: tuple[str, ...] = ()


class BadRows(msgspec.Struct):
    """Bad rows of one kind: how many there are, and the first of them."""

    count: int
    examples: list[BadRow]


class Remedy(msgspec.Struct):
    """What can be done about warnings: the key of the hint, and a text in terms of this address's keys."""

    hint: Hint
    remedy: str


class ImportReport(msgspec.Struct):
    """What was stored: new datasets, and runs in the order of the file. ``remedies`` apply to some of the warnings.

    ``mapping`` is the name of the mapping by which the columns were read, or under which their roles are now kept, and
    ``mapping_owner`` who kept it.
    """

    datasets: list[Dataset]
    runs: list[IncomingRun]
    warnings: list[str]
    remedies: list[Remedy]
    repaired: dict[str, int]
    mapping: str | None
    mapping_owner: str | None
    data_version: str


class DryRunReport(msgspec.Struct):
    """What an import would store.

    Attributes:
        columns: columns of the file that were recognised.
        warnings, remedies, repaired, mapping, mapping_owner: as in ``ImportReport``.
        missing: for each run, the questions that it does not answer.
        first: the first answers, as the importer understands them.
        leaderboard: rows of these runs, ranked among all runs of the dataset.
        ranked: number of ranked runs, including these.
        uncertain: grades that a person should review.
    """

    dry_run: bool
    format: str
    columns: list[str]
    datasets: list[Dataset]
    runs: list[IncomingRun]
    warnings: list[str]
    remedies: list[Remedy]
    repaired: dict[str, int]
    mapping: str | None
    mapping_owner: str | None
    missing: list[UnansweredQuestions]
    first: list[GradedResponse]
    leaderboard: Leaderboard
    ranked: int
    uncertain: GradeReview
    data_version: str


class Accepted(msgspec.Struct, tag="accepted"):
    """The import or dry run succeeded. ``report`` is its report as JSON; ``new`` says whether anything was added to the store."""

    report: msgspec.Raw
    new: bool


class Rejected(msgspec.Struct, tag="rejected"):
    """The file is bad: its first bad rows and the number of all of them, their kinds, and what many of them have in common.

    ``tables`` are the first rows of tables of which the role of a column is asked.
    """

    rows: list[BadRow]
    total: int
    kinds: list[BadRows]
    advice: list[str]
    tables: list[FirstRows] = []


class Failed(msgspec.Struct, tag="failed"):
    """The import failed because of the store or the machine."""

    message: str


class TooMuchMemory(msgspec.Struct, tag="too_much_memory"):
    """The process needed more memory than it may hold. ``storing`` says whether it had begun to change the store."""

    memory_mb: int
    storing: bool

    @property
    def message(self) -> str:
        """What happened, and how to go on."""
        return (
            f"Reading this file takes more memory than the {self.memory_mb:,} MiB that an import may use on this server "
            f"({environment_variable('import_memory_mb')}). "
            + (
                "It was stopped while it was being stored: GET /api/v1/runs says whether it was. Sending it again does no harm."
                if self.storing
                else "Nothing was stored."
            )
            + " Split the file, ask the operator to raise the setting, or have it imported on the command line."
        )


ImportOutcome = Accepted | Rejected | Failed | TooMuchMemory


def run_job(job: ImportJob, store: Store, begin_storing: Callable[[], None] = lambda: None) -> ImportOutcome:
    """Run a job in this process and return its outcome. ``begin_storing`` is called before anything in the store changes."""
    paths, names = [Path(job.path)], [job.name]
    storing = False

    def progress(what: str, done: int, total: int) -> None:
        nonlocal storing
        if what == "storing":
            storing = True
            begin_storing()

    try:
        if job.dry_run:
            with open_dry_run(
                store, paths, job.options, names=names, content=job.content, largest=job.largest, hidden=job.hidden
            ) as dry_run:
                return Accepted(msgspec.Raw(msgspec.json.encode(_dry_run_report(dry_run))), False)
        report = import_paths(
            store, paths, job.options, names=names, by=job.by, content=job.content, largest=job.largest, hidden=job.hidden,
            progress=progress,
        )  # fmt: skip
        result = _import_report(store.snapshot(), report)
        if job.save_mapping:
            _save_mapping(job, store, report, result)
        new = bool(result.datasets) or any(not row.already_stored or row.gradings for row in result.runs)
        return Accepted(msgspec.Raw(msgspec.json.encode(result)), new)
    except Refused as refused:
        kinds = [BadRows(kind.count, [_bad_row(problem) for problem in kind.examples]) for kind in refused.kinds]
        rows = [_bad_row(problem) for problem in refused.problems[: job.rows]]
        return Rejected(rows, refused.total, kinds, refused.advice, refused.tables)
    except (OutOfMemory, duckdb.OutOfMemoryException, MemoryError) as error:
        return TooMuchMemory(job.memory_mb, storing) if job.memory_mb is not None else Failed(str(error))
    except (StoreError, BadRequest) as error:
        return Failed(error_message(error))


def _save_mapping(job: ImportJob, store: Store, report: Report, result: ImportReport) -> None:
    """Keep the mapping of the table, or say in the result why not. The runs are stored in either case."""
    keeper = job.keeper or job.by
    try:
        keep_read_mapping(store.files, job.save_mapping, report.mappings, keeper, in_place_of_own=False)
        result.mapping, result.mapping_owner = job.save_mapping, keeper
    except (KeepingError, StoreError) as error:
        result.warnings.append(str(error) if isinstance(error, KeepingError) else "the mapping could not be written")


def _bad_row(problem: Problem) -> BadRow:
    remedy = REMEDIES[problem.hint] if problem.hint else None
    if problem.hint == "column" and problem.choices:
        remedy = f"add {' or '.join(f'column.{choice}' for choice in problem.choices)}"
    elif problem.hint == "words":
        remedy = f"add words={','.join(problem.choices)}"
        if "?" in remedy:
            remedy += ", with a share from 0 to 1, or none, for each question mark"
    return BadRow(**vars(problem), remedy=remedy)


def _dry_run_report(dry_run: DryRun) -> DryRunReport:
    snapshot, report = dry_run.snapshot, dry_run.report
    used = _mapping_of(report)
    facets = read_facets(snapshot, dry_run.dataset)
    selection = read_selection([("dataset", dry_run.dataset)], lambda _: facets)
    selection = selection.replace(nights=not {*facets.superseded}.isdisjoint(report.runs))
    board = leaderboard(snapshot, selection, METRICS)
    ranked = sum(row.ranked for row in board.rows)
    board.rows = [row for row in board.rows if row.run in report.runs]
    return DryRunReport(
        dry_run=True,
        format=", ".join(report.formats),
        columns=report.columns,
        datasets=[describe_dataset(snapshot, name) for name in report.datasets],
        runs=incoming_runs(snapshot, report.runs, report.stored, report.gradings),
        warnings=report.warnings,
        remedies=_remedies(report),
        repaired=dict(sorted(report.repaired.items())),
        mapping=used.name if used else None,
        mapping_owner=used.owner if used else None,
        missing=[unanswered_questions(snapshot, name) for name in report.runs],
        first=first_responses(snapshot, report.runs),
        leaderboard=board,
        ranked=ranked,
        uncertain=uncertain_grades(snapshot, report.runs),
        data_version=snapshot.version,
    )


def _import_report(snapshot: Snapshot, report: Report) -> ImportReport:
    runs = incoming_runs(snapshot, report.runs, report.stored, report.gradings)
    warnings = list(report.warnings)
    for row in runs:
        if run(snapshot, row.run).withdrawn_at:
            warnings.append(f"run {row.run} is in the store, but withdrawn; POST /api/v1/runs/{row.run}/restore restores it")
    warnings += runs_below_the_line(snapshot, report.runs)
    datasets = [describe_dataset(snapshot, name) for name in report.datasets]
    repaired = dict(sorted(report.repaired.items()))
    used = _mapping_of(report)
    name, owner = (used.name, used.owner) if used else (None, None)
    return ImportReport(datasets, runs, warnings, _remedies(report), repaired, name, owner, snapshot.version)


def _mapping_of(report: Report) -> ColumnMapping | None:
    return next((mapping for mapping in report.mappings if mapping.name), None)


def _remedies(report: Report) -> list[Remedy]:
    return [Remedy(hint, REMEDIES[hint]) for hint in report.hints]


class ImportProcesses:
    """Starts processes that run jobs, ``at_once`` at a time, and ``at_once_for_client`` of one client.

    A spare process with its modules loaded waits for the next job.
    """

    def __init__(self, at_once: int = AT_ONCE, at_once_for_client: int = AT_ONCE_FOR_CLIENT) -> None:
        self.turns = Turns(at_once, at_once_for_client)
        self._lock = Lock()
        self._spare: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Start a spare process, unless there is one. This takes a second of CPU time, at a low priority."""
        with self._lock, contextlib.suppress(OSError):  # if a process cannot be started now, it may work when it is needed
            if self._spare is None or self._spare.poll() is not None:
                self._spare = _start()

    def run(self, job: ImportJob, client: str = "", abandoned: Callable[[], bool] = lambda: False) -> ImportOutcome:
        """Run a job of a client in its own process, which writes its temporary files to the folder of the job's file.

        The process is killed as soon as it holds more memory than the job may, or ``abandoned`` says that nobody waits for the
        outcome any more; the latter raises ``Abandoned``. After ``TIME_LIMIT`` it is killed with ``TimeoutError``. The store
        stays intact. ``ChildProcessError`` says that the process ended without an outcome.
        """
        with self.turns.hold(client, abandoned):
            with self._lock:
                spare, self._spare = self._spare, None
            process = spare if spare is not None and spare.poll() is None else _start()
            self.prepare()  # now, because another client's job may come while this one runs
            return _run(process, job, abandoned)


def _start() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "clueline.dashboard.uploads.import_process"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True)


def _run(process: subprocess.Popen[bytes], job: ImportJob, abandoned: Callable[[], bool]) -> ImportOutcome:
    until, most = time.monotonic() + TIME_LIMIT, job.memory_mb
    unsent: bytes | None = msgspec.json.encode(job)
    output: bytes | None = None
    with process:
        try:
            while output is None:
                try:
                    output = process.communicate(unsent, timeout=LOOK_INTERVAL)[0]
                except subprocess.TimeoutExpired:
                    unsent = None  # the next call continues where this one stopped
                    if most is not None and (held := _memory(process.pid)) > most * 2**20:
                        log.warning("import of %r was stopped: it held %d MiB of memory", job.name, held // 2**20)
                        process.kill()
                        return TooMuchMemory(most, process.communicate()[0].startswith(STORING))
                    if abandoned():
                        log.info("import of %r was stopped: its sender has left", job.name)
                        raise Abandoned from None
                    if time.monotonic() > until:
                        log.warning("import of %r was stopped after %d seconds", job.name, TIME_LIMIT)
                        raise TimeoutError from None
        except BaseException:
            process.kill()
            raise
    if process.returncode == -signal.SIGABRT and most is not None:
        # So libraries in Rust and C++ end where the system refuses them memory, as for more than the whole machine has.
        log.warning("import of %r was refused memory", job.name)
        return TooMuchMemory(most, output.startswith(STORING))
    if process.returncode != 0:
        log.warning("import of %r ended with code %d", job.name, process.returncode)
        raise ChildProcessError(process.returncode)
    outcome: ImportOutcome = msgspec.json.decode(output, type=ImportOutcome)
    return outcome


def _memory(pid: int) -> int:
    """Return how many bytes a process holds in memory and in swap; 0 if it has ended, or on systems other than Linux.

    An address space would be the wrong measure: an idle process of ours has 1 GiB of it, and holds 140 MiB.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return 1024 * sum(map(int, re.findall(r"^Vm(?:RSS|Swap):\s+(\d+) kB", status, re.MULTILINE)))


def duckdb_memory(memory_mb: int) -> str:
    """Return DuckDB's limit on the memory of its tables, in a process that may hold so many MiB."""
    return f"{memory_mb // DUCKDB_SHARE}MiB"


def _lower_priority() -> None:
    """Give the server priority on the CPU, per process and, as Linux may share CPU time out by session, for this session.

    The import still gets about a tenth of it: with less, it would hold the store's lock for too long.
    """
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(NICENESS), encoding="ascii")
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_VICTIM, encoding="ascii")


def _say_that_it_stores() -> None:
    sys.stdout.buffer.write(STORING)
    sys.stdout.buffer.flush()


def main() -> None:
    """Read a job from standard input and write its outcome to standard output."""
    for name in (signal.SIGINT, signal.SIGTERM):  # meant for the server; an import that has started is completed
        signal.signal(name, signal.SIG_IGN)
    watch_parent()
    _lower_priority()
    message = sys.stdin.buffer.read()
    if not message:
        return  # the server ended without a job for this process
    job = msgspec.json.decode(message, type=ImportJob)
    seconds = int(TIME_LIMIT) * max(2, job.threads)  # CPU time, which all threads add up
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a process that aborts leaves no copy of what it read
    tempfile.tempdir = str(Path(job.path).parent)
    logs.configure(read_settings(), job.request_id)
    facts = {"file": job.name, "bytes": Path(job.path).stat().st_size, "writer": job.by, "dry_run": job.dry_run}
    log.info("import of %r began", job.name, extra=facts)
    began = time.monotonic()
    try:
        memory_limit = None if job.memory_mb is None else duckdb_memory(job.memory_mb)
        store = open_store(job.store, threads=job.threads, memory_limit=memory_limit)
        with keep(Path(job.path).parent):  # even if the worker that received the file is killed
            outcome = run_job(job, store, _say_that_it_stores)
        store.close()
    except Exception:
        log.exception("import of %r failed", job.name, extra=facts)
        sys.exit(1)
    result = type(outcome).__name__.lower()
    log.info("import of %r: %s", job.name, result, extra=facts | {"outcome": result, "seconds": time.monotonic() - began})
    sys.stdout.buffer.write(msgspec.json.encode(outcome))


if __name__ == "__main__":
    main()
