"""Reading an uploaded file, in a process of its own: ``python -m dashboard.uploads.import_process``.

A hostile file can then neither take the memory of the worker that answers readers, nor its time, nor end it; and a process can be
ended after a while, as a thread cannot.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import msgspec

from dashboard.usecases.scoring import Scored
from data.importing.dry_run import DryRun, open_dry_run
from data.importing.ingest import import_paths
from data.importing.report import Refused, Report
from data.importing.staging import ImportOptions
from data.scratch_folders import held
from data.store.generations import GenerationStore, Snapshot, StoreError, open_store
from queries.grade_review import GradeReview, doubts
from queries.leaderboard import Leaderboard, leaderboard
from queries.metrics import METRICS
from queries.runs import Answer, Unanswered, first_answers, run, unanswered
from queries.selection import BadRequest, facets, parse

ROOT = Path(__file__).parents[2]
MEMORY = "1GB"  # DuckDB's; what needs more is spilled to disk
PATIENCE = 1800.0  # seconds
NICE = 10


class Job(msgspec.Struct):
    """What is to be done with a file."""

    store: str
    path: str
    name: str  # what the file is called in reports
    form: str | None
    options: ImportOptions
    by: str
    dry_run: bool
    largest: int  # bytes that it may unpack to
    rows: int  # bad rows to tell
    threads: int = 2


class BadRow(msgspec.Struct):
    """A row that cannot be imported; ``line`` is the physical one, 1-based, None where the file as a whole is bad."""

    file: str
    line: int | None
    column: str | None
    value: str | None
    reason: str


class Published(msgspec.Struct):
    """What was stored; ``runs`` are those of the file, in its order."""

    runs: list[Scored]
    warnings: list[str]
    repaired: dict[str, int]
    data_version: str


class Trial(msgspec.Struct):
    """What would be stored."""

    dry_run: bool
    format: str
    columns: list[str]  # that were recognised
    runs: list[Scored]
    warnings: list[str]
    repaired: dict[str, int]
    missing: list[Unanswered]  # per run
    first: list[Answer]  # answers, as they are understood
    leaderboard: Leaderboard  # the rows of these runs; ranks are those among all runs of the dataset
    ranked: int  # runs that are ranked, these among them
    uncertain: GradeReview
    data_version: str


class Rejected(msgspec.Struct, tag="rejected"):
    """The file is refused: its first bad rows, and how many there are."""

    rows: list[BadRow]
    total: int


class Impossible(msgspec.Struct, tag="impossible"):
    """The store or the machine did not allow it."""

    message: str


class Done(msgspec.Struct, tag="done"):
    """It was done: the answer as JSON, and whether anything is new."""

    answer: msgspec.Raw
    new: bool


Outcome = Rejected | Impossible | Done


def perform(job: Job, store: GenerationStore) -> Outcome:
    """Do it, in this process."""
    path, given = Path(job.path), {"form": job.form, "names": [job.name], "largest": job.largest}
    try:
        if job.dry_run:
            with open_dry_run(store, [path], job.options, **given) as trial:  # type: ignore[arg-type]
                return Done(msgspec.Raw(msgspec.json.encode(_trial(trial))), False)
        report = import_paths(store, [path], job.options, by=job.by, only_runs=True, **given)  # type: ignore[arg-type]
        answer = _published(store.snapshot(), report)
        return Done(msgspec.Raw(msgspec.json.encode(answer)), any(not one.stored for one in answer.runs))
    except Refused as refused:
        rows = [BadRow(p.file, p.line, p.column, p.value, in_keys(p.reason)) for p in refused.problems[: job.rows]]
        return Rejected(rows, refused.total)
    except (StoreError, BadRequest) as error:
        return Impossible(str(error))


def _trial(trial: DryRun) -> Trial:
    snapshot, report = trial.snapshot, trial.report
    selection, _, _ = parse([("dataset", trial.dataset)], lambda dataset: facets(snapshot, dataset))
    board = leaderboard(snapshot, selection, METRICS)
    ranked = len(board.rows)
    board.rows = [row for row in board.rows if row.run in report.runs]
    return Trial(
        dry_run=True,
        format=", ".join(report.formats),
        columns=report.columns,
        runs=_scored(snapshot, report),
        warnings=[in_keys(text) for text in report.warnings],
        repaired=dict(sorted(report.repaired.items())),
        missing=[unanswered(snapshot, name) for name in report.runs],
        first=first_answers(snapshot, report.runs),
        leaderboard=board,
        ranked=ranked,
        uncertain=doubts(snapshot, report.runs),
        data_version=snapshot.version,
    )


def _published(snapshot: Snapshot, report: Report) -> Published:
    runs = _scored(snapshot, report)
    warnings = [in_keys(text) for text in report.warnings]
    for one in runs:
        if run(snapshot, one.run).withdrawn_at:
            warnings.append(f"run {one.run} is in the store, but withdrawn; POST /api/v1/runs/{one.run}/restore puts it back")
    return Published(runs, warnings, dict(sorted(report.repaired.items())), snapshot.version)


def _scored(snapshot: Snapshot, report: Report) -> list[Scored]:
    shared = [field for field in Scored.__struct_fields__ if field != "stored"]
    facts = [run(snapshot, name) for name in report.runs]
    return [Scored(**{key: getattr(of, key) for key in shared}, stored=of.run in report.stored) for of in facts]


def in_keys(text: str) -> str:
    """A message of the importer, which names options of the command line, with the keys of the address in their place."""

    def key(option: re.Match[str]) -> str:
        return {"--as": "format="}.get(option[1], f"{option[1][2:].replace('-', '_')}=" + (option[2] or "").strip())

    return re.sub(r"(--[a-z]+(?:-[a-z]+)*)( [A-Z][A-Z,]*\b| percent\b)?", key, text)


def in_child(job: Job, folder: Path) -> Outcome:
    """Do it in a process that has ``folder`` for its temporary files.

    Raises:
        TimeoutError: it took too long and was ended.
        ChildProcessError: it ended without an answer.
    """
    command = [sys.executable, "-m", "dashboard.uploads.import_process"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=os.environ | {"TMPDIR": str(folder)},
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(msgspec.json.encode(job), timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise TimeoutError from None
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise ChildProcessError(process.returncode)
    return msgspec.json.decode(said, type=Outcome)


def _readers_first() -> None:
    """Take little processor time from the server; Linux may share it out between sessions, of which this process has its own.

    About a tenth where both want all: with less, an import would hold the store's lock for long where others are busy.
    """
    with contextlib.suppress(OSError):
        os.nice(NICE)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(NICE), encoding="ascii")


def main() -> None:
    """Read a job from standard input, write its outcome to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server; what was begun is brought to its end
    _readers_first()
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    store = open_store(job.store, threads=job.threads, memory_limit=MEMORY)
    with held(Path(job.path).parent):  # though the worker that received the file may be killed
        outcome = perform(job, store)
    store.close()
    sys.stdout.buffer.write(msgspec.json.encode(outcome))


if __name__ == "__main__":
    main()
