"""Runs that come in over HTTP, are withdrawn and restored."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from flask import Response, request

from dashboard.api.blueprint import api
from dashboard.api.reading import no_keys
from dashboard.api.responses import error_response, json_response
from dashboard.service import service
from dashboard.uploads.access import Denied
from dashboard.uploads.body import check_type, clean_name, receive, too_large
from dashboard.uploads.import_process import Failed, ImportJob, Rejected
from data.importing.staging import Decision, ImportOptions
from data.readers import readers
from data.scratch_folders import held, sweep
from data.store.generations import StoreError
from data.store.withdrawal import CannotRestore, NoSuchRun, restore, withdraw
from queries.runs import run
from queries.selection import LONGEST_VALUE, BadRequest

KEYS = (
    "dataset", "model", "elicitation", "format", "filename", "confidence_scale", "classes", "dry_run", "rows", "grades",
)  # fmt: skip
ROWS, MOST_ROWS = 100, 10_000  # bad rows that are told, unless asked for more; and at most
MOST_DECISIONS = 10_000
UNPACKED = 10  # a packed file may be so many times as large as the largest upload


@api.post("/api/v1/runs")
def post_runs() -> Response:
    """Publish the runs of a file, or try what that would bring."""
    by = service().access.writer()
    fields = list(request.args.items(multi=True))
    _read(fields)  # what is wrong with the address is said before the file is sent
    check_type()
    most = service().settings.max_upload_mb * 2**20
    if (request.content_length or 0) > most and request.mimetype != "multipart/form-data":
        raise too_large(most)
    with _slot(), _folder() as folder:
        received = receive(folder, most)
        said = _read([*fields, *received.fields])
        job = ImportJob(
            store=str(service().store.folder), path=str(received.path), by=by, largest=UNPACKED * most,
            name=clean_name(said.get("filename")) or received.name or "upload", form=said.get("format"), options=_options(said),
            dry_run=said.get("dry_run") == "1", rows=_rows(said), threads=max(1, 4 // service().settings.workers),
        )  # fmt: skip
        service().store.version()  # sending may have taken long
        try:
            outcome = service().import_file(job, folder)
        except TimeoutError:
            raise StoreError("reading the file took too long; divide it, or import it on the command line") from None
        except ChildProcessError:
            return error_response(
                "import_failed", "The import ended unexpectedly. GET /api/v1/runs says whether the run is there; "
                "sending the file again does no harm.", 500,
            )  # fmt: skip
    if isinstance(outcome, Failed):
        raise StoreError(outcome.message)
    if isinstance(outcome, Rejected):
        single = outcome.total == 1
        message = f"{outcome.total:,} {'problem' if single else 'problems'}; nothing was {'tried' if job.dry_run else 'imported'}"
        message += f": {outcome.rows[0].reason}" if single and outcome.rows else ""
        return error_response("bad_rows", message, 422, rows=outcome.rows, total=outcome.total)
    return json_response(outcome.report, 201 if outcome.new else 200)


@api.delete("/api/v1/runs/<run_id>")
def delete_run(run_id: str) -> Response:
    """Withdraw a run."""
    by = service().access.writer()
    no_keys()
    with _named(run_id):
        withdraw(service().store, run_id, by)
    return json_response(service().ask(run, run_id))


@api.post("/api/v1/runs/<run_id>/restore")
def restore_run(run_id: str) -> Response:
    """Restore a run that was withdrawn."""
    service().access.writer()
    no_keys()
    with _named(run_id):
        restore(service().store, run_id)
    return json_response(service().ask(run, run_id))


@contextmanager
def _named(run_id: str) -> Iterator[None]:
    try:
        yield
    except NoSuchRun:
        raise BadRequest("unknown_run", f"There is no run {run_id!r}; /api/v1/runs lists them.", "run", status=404) from None
    except CannotRestore as error:
        raise BadRequest("cannot_restore", f"Run {run_id!r} cannot be restored: {error}.", "run", status=409) from None


def _read(fields: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The keys of an upload, from its address and its form, each given once. Raises ``BadRequest``."""
    said: dict[str, str] = {}
    for key, value in fields:
        if key not in KEYS:
            raise BadRequest("unknown_key", f"There is no key {key[:100]!r} here.", key[:100], KEYS)
        if key in said:
            raise BadRequest("repeated_key", f"{key!r} can be given once.", key)
        if len(value) > LONGEST_VALUE and key != "grades":
            raise BadRequest("bad_value", f"The value of {key!r} is longer than {LONGEST_VALUE} characters.", key)
        said[key] = value
    said = {key: value for key, value in said.items() if value}  # a form sends the fields that were left empty
    allowed = {"format": sorted(readers()), "confidence_scale": ["unit", "percent"], "dry_run": ["0", "1"]}
    if "dataset" in said:
        allowed["dataset"] = [one.dataset for one in service().datasets()]
    for key, values in allowed.items():
        if key in said and said[key] not in values:
            raise BadRequest("unknown_value", f"{key!r} cannot be {said[key]!r}.", key, values)
    _rows(said)
    _decisions(said)
    return said


def _rows(said: dict[str, str]) -> int:
    text = said.get("rows", str(ROWS))
    if not (text.isascii() and text.isdecimal()) or len(text) > 6 or not 1 <= int(text) <= MOST_ROWS:
        raise BadRequest("bad_value", f"'rows' must be a whole number from 1 to {MOST_ROWS}, not {text!r}.", "rows")
    return int(text)


class _Grade(msgspec.Struct, forbid_unknown_fields=True):
    """A decision as it is sent."""

    question_id: str
    correct: bool | float
    guess: str | None = None
    clue: int | None = None


def _decisions(said: dict[str, str]) -> tuple[Decision, ...]:
    if "grades" not in said:
        return ()
    try:
        grades = msgspec.json.decode(said["grades"], type=list[_Grade])
    except msgspec.MsgspecError as error:
        raise BadRequest(
            "bad_value", f"'grades' must be a JSON list of {{question_id, clue, guess, correct}}: {error}.", "grades"
        ) from None
    if len(grades) > MOST_DECISIONS:
        raise BadRequest("bad_value", f"'grades' can hold {MOST_DECISIONS:,} decisions; state `correct` in the file.", "grades")
    for one in grades:
        if not 0 <= one.correct <= 1 or not -(2**31) <= (one.clue or 0) < 2**31:
            raise BadRequest("bad_value", "'grades': `correct` is true, false or a number from 0 to 1.", "grades")
    return tuple(Decision(one.question_id, one.clue, one.guess, float(one.correct)) for one in grades)


def _options(said: dict[str, str]) -> ImportOptions:
    return ImportOptions(
        dataset=said.get("dataset"), model=said.get("model"), elicitation=said.get("elicitation"),
        percent=said.get("confidence_scale") == "percent", decisions=_decisions(said),
        classes=tuple(said["classes"].split(",")) if "classes" in said else (),
    )  # fmt: skip


@contextmanager
def _slot() -> Iterator[None]:
    """One of the few uploads that this worker takes at once."""
    if not service().upload_slots.acquire(blocking=False):
        raise Denied(503, "busy", "Other uploads are going on; try again in a moment.", headers={"Retry-After": "5"})
    try:
        yield
    finally:
        service().upload_slots.release()


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for one upload beside the store, where there is room for what the store is to hold; gone at the end."""
    service().store.version()  # a damaged store takes nothing, and a lost folder is not made anew
    root = service().store.folder / "incoming"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        sweep(root)  # what a killed server left
        folder = Path(tempfile.mkdtemp(dir=root))
    except OSError as error:
        raise StoreError(f"the store in {service().store.folder} cannot be written: {error}") from error
    try:
        with held(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
