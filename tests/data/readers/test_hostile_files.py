"""Hostile files: each is refused with a reason or imported correctly, in little time and memory. See ``hostile_files.py``."""

import gzip
import re
import signal
import tempfile
import time
from pathlib import Path

import pytest

from clueline.data import scratch_folders
from clueline.data.importing import ingest
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions
from clueline.data.importing.table_files import MAX_LINE_LENGTH
from tests.helpers.hostile_files import CASES, MAX_UNPACKED_BYTES, H
from tests.helpers.run_tables import with_runs

SECONDS = 20  # seconds of CPU time that a file may take; most take a tenth of a second
MEMORY = 300  # MiB that a file may add to the memory of the process


def status(key):
    """Return a figure of this process in MiB, or None where the system does not provide it."""
    try:
        return int(re.search(rf"{key}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) // 1024
    except OSError:
        return None


@pytest.fixture
def alarm():
    """Stop a test that takes too long by the wall clock, which other processes slow down."""

    def ring(*args):
        raise TimeoutError(f"more than {60 * SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(60 * SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def take(memory_store, name, content, model, note, memory=MEMORY):
    """Import a file and return the answers that were stored, or the refusal."""
    store, folder = memory_store
    path = folder / name
    path.write_bytes(content)
    del content
    version, before = store.version(), status("VmRSS")
    if before:
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    began = time.process_time()  # CPU time, because the machine may be busy
    try:
        report = ingest.import_paths(store, [path], ImportOptions(dataset="toy", model=model), largest=MAX_UNPACKED_BYTES)
        outcome = with_runs(store.snapshot()).rows(
            "select question_id, clue, guess, confidence from responses where list_contains($runs, run) order by all",
            {"runs": report.runs},
        )
    except Refused as refused:
        outcome = refused
        assert store.version() == version
    finally:
        path.unlink()
    seconds, added = time.process_time() - began, status("VmHWM") - before if before else 0
    assert [left.name for left in Path(tempfile.gettempdir()).iterdir() if left.name.startswith(scratch_folders.PREFIX)] == []
    note("seconds", round(seconds, 3))
    note("mib", added)
    note("outcome", "refused" if isinstance(outcome, Refused) else "imported")
    assert seconds < SECONDS
    assert added < memory
    return outcome


LATER = {"name", "guess in JSON", "guess in Parquet"}  # groups much like others, left to `make soak`
FIRST = {case.split(":")[0]: case for case in reversed(CASES)}  # the first case of each group
SAMPLE = 6  # by default, the first case of each group and one in this many cases are tried


def marks(index, case):
    """Return the marks that say when a file is tried: by default (none), by `make test-hostile` or by `make soak`."""
    if case.split(":")[0] in LATER:
        return [pytest.mark.soak]
    return [pytest.mark.slow] if index % SAMPLE and case not in FIRST.values() else []


PARAMETERS = [pytest.param(index, case, id=ascii(case), marks=marks(index, case)) for index, case in enumerate(CASES)]


def check(memory_store, case, index, note):
    name, content, expected = CASES[case]
    outcome = take(memory_store, name, content() if callable(content) else content, f"m{index}", note)
    if isinstance(expected, list):
        assert not isinstance(outcome, Refused), outcome
        assert sorted(outcome, key=repr) == sorted(expected, key=repr)
        return
    assert isinstance(outcome, Refused), outcome
    messages = [str(problem) for problem in outcome.problems]
    assert any(expected in text for text in messages), messages[:5]
    for problem in outcome.problems:
        assert problem.file.startswith(name) and problem.reason
        assert tempfile.gettempdir() not in problem.reason, "a folder of the server is told"
    assert all(len(text) < 4000 for text in messages)


@pytest.mark.parametrize(("index", "case"), PARAMETERS)
def test_a_hostile_file_is_refused_or_imported_correctly(memory_store, alarm, record_property, index, case):
    check(memory_store, case, index, record_property)


def test_there_are_enough_cases_of_every_group():
    assert len(CASES) > 400
    expected = "cut short,encoding,shape,quotes,line ends,confidence,guess,NUL,JSON,Parquet,bomb,zip"
    assert {case.split(":")[0] for case in CASES} >= set(expected.split(","))


LONG = 100 * 2**20
LARGE = {
    "one row of 100 MB": ("run.csv", lambda: b"q1,0," + b"x" * LONG + b",0.25\n", "longer than 16 MiB"),
    "one quoted row of 100 MB": ("run.csv", lambda: b'q1,0,"' + b"x\n" * (LONG // 2) + b'",0.25\n', "longer than 16 MiB"),
    "one quote open over 100 MB": ("run.csv", lambda: b'q1,0,"' + b"q1,0,Rome,0.25\n" * 7_000_000, "longer than 16 MiB"),
    "one line of JSON of 100 MB": ("run.jsonl", lambda: b'{"question_id": "' + b"x" * LONG + b'"}\n', "longer than 16 MiB"),
    "a header of 100 MB": ("run.txt", lambda: b"question_id," + b"x" * LONG, "does not end"),
    "a gzip of 100 MB": ("run.csv.gz", lambda: gzip.compress(b"x" * LONG, 1), "unpacks to more than"),
    "ten million short rows": ("run.csv", lambda: b"q1\n" * 10_000_000, "1 field where the header has 4"),
    "ten million line ends of both kinds": ("run.csv", lambda: b"q1,0,Rome,0.25\r\n" + b"\n\r\n" * 10_000_000, None),
}


@pytest.mark.soak
@pytest.mark.parametrize("case", LARGE)
def test_a_huge_row_is_refused(memory_store, alarm, record_property, case):
    name, content, expected = LARGE[case]
    outcome = take(memory_store, name, (H.encode() if name == "run.csv" else b"") + content(), "large", record_property)
    if expected:
        assert expected in str(outcome)


def test_the_longest_row_that_is_taken(memory_store, alarm, record_property):
    """A row one byte shorter than those that are refused."""
    start, end = "q1,0,", ",0.25\n"
    guess = "x" * (MAX_LINE_LENGTH - len(start) - len(end) - 1)
    outcome = take(memory_store, "run.csv", (H + start + guess + end).encode(), "long", record_property, memory=500)
    assert outcome == [("q1", 0, guess, 0.25)]
