"""How fast files of runs are checked and published, with how much memory, and what readers notice; writes uploads.md.

    python -m benchmarks.uploads                            ten million responses, and an upload of 20 million (1 GB)
    python -m benchmarks.uploads --foreign 1            only a log of Inspect of 1 GB, and 10 million rows by a mapping
    python -m benchmarks.uploads --rows 400000 --csv 400000 --seconds 5     a quick look (writes no file unless --out is given)

Each file is imported in its own process under the limits of an upload (two threads, 1 GB for DuckDB), and compared with a bare
read of the same file by DuckDB. Then a server is started, and the large CSV is sent to it, followed by smaller files while others
read.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))

import duckdb  # noqa: E402
import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

from benchmarks.measuring import machine  # noqa: E402
from benchmarks.synthetic_data import CLUES, write, write_bundle  # noqa: E402
from clueline.dashboard.settings import Settings  # noqa: E402
from clueline.dashboard.uploads.import_process import duckdb_memory  # noqa: E402
from clueline.data.importing.ingest import import_paths, read_and_check  # noqa: E402
from clueline.data.importing.seed import seed  # noqa: E402
from clueline.data.importing.staging import ImportOptions, open_staging  # noqa: E402
from clueline.data.store import open_store  # noqa: E402
from tests.helpers.serving import environment, free_port, run_cli  # noqa: E402

OUT = Path(__file__).with_suffix(".md")
FULL, CSV_FULL = 10_000_000, 20_000_000
QUESTIONS = {"wide": 50_000, "long": 500_000}  # of the datasets: for many runs, and for one run of very many questions
THREADS = 2
MEMORY_LIMIT = duckdb_memory(Settings().import_memory_mb)
# What readers ask for while others upload: JSON and pages, cheap and expensive.
READ = (
    "/api/v1/leaderboard?dataset=pyramid",
    "/api/v1/questions?dataset=pyramid",
    "/api/v1/datasets",
    "/",
    "/reliability?dataset=pyramid",
    "/api/v1/leaderboard?dataset=wide&metrics=brier,ece",  # the dataset that is uploaded to
)
PACE = 0.2  # seconds between two requests of a reader
READERS = 3


# -- one import, in its own process -------------------------------------------------------------------------------


def bare(path: Path, dataset: str, store: Path) -> None:
    """Read every cell of the file with DuckDB, and do nothing with it."""
    with duckdb.connect(config={"threads": THREADS, "memory_limit": MEMORY_LIMIT}) as connection:
        kind = "parquet" if path.suffix == ".parquet" else "csv"
        connection.execute(f"select bit_xor(hash(columns(*))) from read_{kind}($path)", {"path": str(path)}).fetchall()


def copied(path: Path, dataset: str, store: Path) -> None:
    """Copy the file into a table of a DuckDB file."""
    target = store.parent / "copied"
    with duckdb.connect(str(target), config={"threads": THREADS, "memory_limit": MEMORY_LIMIT}) as connection:
        connection.execute(f"create table copy as from '{path}'")
    target.unlink()


def checked(path: Path, dataset: str, store: Path) -> None:
    """Do everything that is done before anything is stored: read, check, grade, name the runs."""
    with open_staging(open_store(store, threads=THREADS, memory_limit=MEMORY_LIMIT)) as area:
        read_and_check(area, [path], ImportOptions(dataset=dataset), None, lambda what, done, total: None)


def published(path: Path, dataset: str, store: Path) -> None:
    """Do the whole import."""
    import_paths(open_store(store, threads=THREADS, memory_limit=MEMORY_LIMIT), [path], ImportOptions(dataset=dataset or None))


STAGES: dict[str, Callable[[Path, str, Path], None]] = {
    "bare": bare, "copied": copied, "checked": checked, "published": published,
}  # fmt: skip


def alone(stage: str, path: Path, dataset: str, store: Path) -> dict[str, float]:
    """Return seconds, processor seconds and peak resident bytes of a stage, in a fresh process and on a copy of the store."""
    with tempfile.TemporaryDirectory(dir=store.parent) as folder:
        fresh = Path(folder) / "store"
        shutil.copytree(store, fresh)
        command = [sys.executable, "-m", "benchmarks.uploads", "--alone", stage, str(path), dataset, str(fresh)]
        process = subprocess.run(
            command, cwd=ROOT, env=environment() | {"TMPDIR": folder}, capture_output=True, text=True, check=False
        )
    if process.returncode:
        raise SystemExit(process.stderr)
    figures: dict[str, float] = json.loads(process.stdout)
    return figures


def measure_alone(stage: str, path: str, dataset: str, store: str) -> None:
    """Measure a stage in the process that ``alone`` starts, and print the figures as JSON."""
    began, busy = time.perf_counter(), time.process_time()
    STAGES[stage](Path(path), dataset, Path(store))
    status = Path("/proc/self/status").read_text()  # getrusage would count the process that started this one, too
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    print(json.dumps({"seconds": time.perf_counter() - began, "busy": time.process_time() - busy, "peak": peak}))


def of_imports(folder: Path, store: Path, rows: int, say: Callable[[str], None]) -> None:
    """Measure the import of each file, and write the table of files."""
    say("| File | Responses | Runs | MB | Bare read, s | Copied as a table, s | Checked, s | and published, s | rows/s checked "
        "| rows/s published | processor s | Peak memory, MB |")  # fmt: skip
    say("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for dataset, kind, share in (("wide", "parquet", 1), ("wide", "csv", 1), ("long", "parquet", 5), ("long", "csv", 5)):
        path = folder / f"{dataset}.{kind}"
        count = write(path, QUESTIONS[dataset], rows // share)
        runs = -(-count // (QUESTIONS[dataset] * CLUES))
        stages = {stage: alone(stage, path, dataset, store) for stage in STAGES}
        last = stages["published"]
        say(
            f"| {'Parquet' if kind == 'parquet' else 'CSV'} | {count:,} | {runs} | {path.stat().st_size / 1e6:,.0f} "
            + "".join(f"| {stages[stage]['seconds']:.1f} " for stage in STAGES)
            + f"| {count / stages['checked']['seconds']:,.0f} | {count / last['seconds']:,.0f} | {last['busy']:.1f} "
            f"| {last['peak'] / 1e6:,.0f} |"
        )
        path.unlink()


# -- files of other projects -------------------------------------------------------------------------------------------


def write_eval(path: Path, samples: int) -> None:
    """Write a log of Inspect, with about 5 kB for each sample once it is compressed."""
    chance = np.random.default_rng(samples)
    about = {"task": "synthetic", "model": "openai/gpt", "dataset": {"name": "synthetic"}, "config": {"epochs": 1}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as log:
        for n in range(samples):
            right, text = bool(chance.random() < 0.6), chance.bytes(4900).hex()
            choice = {"message": {"content": "Paris", "role": "assistant"}, "stop_reason": "stop"}
            score = {"value": "C" if right else "I", "answer": "Paris", "metadata": {"confidence": round(chance.random(), 3)}}
            sample = {
                "id": f"q{n}", "epoch": 1, "input": f"Where is {n}?", "target": "Paris", "scores": {"match": score},
                "messages": [{"role": "user", "content": text}], "events": [{"event": "model", "input": text}],
                "output": {"model": "m", "choices": [choice], "completion": "Paris"}, "metadata": {}, "store": {},
            }  # fmt: skip
            log.writestr(f"samples/q{n}_epoch_1.json", json.dumps(sample))
        log.writestr("summaries.json", "[]")
        log.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": about, "plan": {}, "stats": {}}))


def of_foreign_files(folder: Path, store: Path, share: float) -> None:
    """Print what a log of Inspect takes, and a table by its mapping beside the same rows under our own columns."""
    log, rows = folder / "log.eval", int(FULL * share)
    write_eval(log, max(1, int(200_000 * share)))
    print(machine())
    print("| File | MB | Seconds | Processor seconds | Peak memory, MB |\n| --- | ---: | ---: | ---: | ---: |")

    def measure(path: Path, dataset: str) -> float:
        figures = alone("published", path, dataset, store)
        size = path.stat().st_size / 1e6
        spent = f"{figures['seconds']:.1f} | {figures['busy']:.1f} | {figures['peak'] / 1e6:,.0f}"
        print(f"| {path.name} | {size:,.1f} | {spent} |", flush=True)
        return figures["busy"]

    measure(log, "")
    whole, runs = folder / "whole", 50
    whole.mkdir()
    ids = pl.select(pl.lit("q") + pl.int_range(max(1, rows // runs)).cast(pl.String)).to_series()
    (whole / "dataset.json").write_text(json.dumps({"dataset": "whole", "title": "whole", "kind": "single"}))
    pl.DataFrame({"question_id": ids, "answer": ids}).write_parquet(whole / "questions.parquet")
    import_paths(open_store(store), [whole], ImportOptions())
    chance, all_rows = np.random.default_rng(rows), len(ids) * runs
    sure = np.round(chance.random(all_rows), 4)
    model = pl.select(pl.lit("model ") + (pl.int_range(all_rows) // len(ids)).cast(pl.String)).to_series()
    own = {"question_id": pl.concat([ids] * runs), "model": model, "guess": pl.concat([ids] * runs), "confidence": sure}
    answers = pl.DataFrame(own | {"correct": chance.random(all_rows) < sure})
    answers.write_csv(folder / "own.csv")
    answers.rename(dict(zip(answers.columns, ("qid", "llm", "prediction", "prob", "hit"), strict=True))).write_csv(
        folder / "foreign.csv"
    )
    first, second = measure(folder / "own.csv", "whole"), measure(folder / "foreign.csv", "whole")
    print(f"\nThe mapping takes {second / first:.2f} times the processor time.")


# -- a server ----------------------------------------------------------------------------------------------------------


class Server:
    """A running server of Clueline, and the memory of its processes."""

    def __init__(self, store: Path, log: Path) -> None:
        self.port = free_port()
        self.token = run_cli("token", "create", "benchmark", store=store).stdout.strip()
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "clueline", "serve"],
                cwd=ROOT,
                env=environment(store=store, port=self.port, workers=2, log_level="warning", max_upload_mb=4096),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5).close()
                return
            except OSError:
                time.sleep(0.1)
        self.stop()
        raise SystemExit(log.read_text(errors="replace"))

    def stop(self) -> None:
        """Stop it."""
        self.process.terminate()
        self.process.wait(30)

    def get(self, path: str) -> bytes:
        """Return the body of an answer."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=300) as answer:
            return bytes(answer.read())

    def send(self, path: Path, query: str) -> tuple[float, dict[str, Any]]:
        """POST a file from disk. Return the seconds to the answer, and the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1800)
        began = time.perf_counter()
        with path.open("rb") as body:
            headers = {
                "Authorization": f"Bearer {self.token}", "Content-Length": str(path.stat().st_size),
                "Content-Type": "application/octet-stream",
            }  # fmt: skip
            connection.request("POST", f"/api/v1/runs?{query}&filename={path.name}", body, headers)
            answer = connection.getresponse()
            message = json.loads(answer.read())
        connection.close()
        if answer.status not in (200, 201):
            raise SystemExit(f"{answer.status}: {message}")
        return time.perf_counter() - began, message

    def processes(self) -> Iterator[tuple[int, bool]]:
        """Yield the processes of the server, and whether each is one that reads a file."""
        pids = {self.process.pid}
        for stat in sorted(Path("/proc").glob("[0-9]*/stat"), key=lambda path: int(path.parent.name)):
            try:
                parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
                words = (stat.parent / "cmdline").read_bytes()
            except (OSError, IndexError):
                continue
            if parent in pids:
                pids.add(int(stat.parent.name))
                yield int(stat.parent.name), b"clueline.dashboard.uploads.import_process" in words


@contextmanager
def watched(server: Server) -> Iterator[dict[str, int]]:
    """Track the most bytes that any web worker gained and that the reading process held, checked 20 times a second."""
    seen: dict[str, int] = {"worker": 0, "child": 0}
    before: dict[int, int] = {}
    over = threading.Event()

    def look() -> None:
        for pid, child in server.processes():
            memory = resident(pid)
            if child:
                seen["child"] = max(seen["child"], memory)
            else:
                seen["worker"] = max(seen["worker"], memory - before.setdefault(pid, memory))

    def keep_looking() -> None:
        while not over.wait(0.05):
            look()

    look()
    thread = threading.Thread(target=keep_looking)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def resident(pid: int) -> int:
    """Return the resident bytes of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


class Readers:
    """Readers of other datasets and of the one that is uploaded to, each asking one thing after the other.

    Another reader counts what new runs hold.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.times: dict[str, list[float]] = {path: [] for path in READ}
        self.counts: set[tuple[int, ...]] = set()  # answers of each run of the dataset uploaded to, as seen at one time
        self._over = threading.Event()
        self._failed: list[str] = []

    def _read(self, start: int) -> None:
        at = start
        while not self._over.wait(PACE):
            path = READ[at % len(READ)]
            at += 1
            began = time.perf_counter()
            try:
                self.server.get(path)
            except OSError as error:
                self._failed.append(f"{path}: {error}")
            self.times[path].append(time.perf_counter() - began)

    def _count(self) -> None:
        while not self._over.wait(PACE):
            runs = json.loads(self.server.get("/api/v1/runs?dataset=wide"))["runs"]
            self.counts.add(tuple(sorted(run["items"] for run in runs)))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read while the block runs."""
        threads = [threading.Thread(target=self._read, args=(index,)) for index in range(READERS)]
        threads.append(threading.Thread(target=self._count))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()
            if self._failed:
                raise SystemExit(f"readers met errors: {self._failed[:3]}")


def of_server(folder: Path, store: Path, options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Measure the large upload, then readers during smaller ones."""
    large, small = folder / "large.csv", folder / "small.parquet"
    count = write(large, QUESTIONS["wide"], options.csv, seed=2)
    server = Server(store, folder / "log")
    try:
        for path in (*READ, "/api/v1/runs?dataset=wide"):  # until each worker has opened what it needs
            for _ in range(4):
                server.get(path)
        with watched(server) as seen:
            seconds, answer = server.send(large, "dataset=wide")
        runs = len(answer["runs"])
        say(
            f"A CSV of {count:,} responses ({large.stat().st_size / 1e6:,.0f} MB, {runs} runs) sent to a server of two workers: "
            f"answered after {seconds:.0f} s, {count / seconds:,.0f} rows/s, transfer included. A web worker took "
            f"at most {seen['worker'] / 1e6:,.0f} MB more memory; the peak of the process that reads the file "
            f"was {seen['child'] / 1e6:,.0f} MB."
        )
        say("")
        large.unlink()
        _readers(server, small, options, say)
    finally:
        server.stop()


def _readers(server: Server, small: Path, options: argparse.Namespace, say: Callable[[str], None]) -> None:
    rows = write(small, QUESTIONS["wide"], max(options.rows // 10, QUESTIONS["wide"] * CLUES), seed=3)
    quiet, busy = Readers(server), Readers(server)
    for path in READ:  # so that what they ask for is cached in the quiet phase
        server.get(path)
    load = os.getloadavg()[0]
    with quiet.reading():
        time.sleep(options.seconds)
    uploads, until = 0, time.monotonic() + options.seconds
    before = next(iter(quiet.counts))
    with busy.reading():
        while time.monotonic() < until or not uploads:
            write(small, QUESTIONS["wide"], rows, seed=4 + uploads)
            server.send(small, "dataset=wide")
            uploads += 1
    new = -(-rows // (QUESTIONS["wide"] * CLUES))
    whole = {tuple(sorted([*before, *[QUESTIONS["wide"] * CLUES] * new * done])) for done in range(uploads + 1)}
    if not busy.counts <= whole:
        raise SystemExit("a reader saw part of an upload")
    say(
        f"{READERS} readers request the addresses below one after the other, {PACE:g} s apart, for {options.seconds} s "
        f"without uploads. Then they do so with {uploads} uploads of {rows:,} responses ({new} runs each), one after the other, "
        f"from the same machine. Load average before: {load:.1f}. Times in milliseconds. The uploads go to the dataset `wide`; "
        "its results are computed again after each. A reader who asked for "
        f"the runs saw {len(busy.counts)} states of the dataset: each upload was there as a whole or not at all."
    )
    say("")
    say("| Address | quiet p50 | p95 | while uploads run p50 | p95 | p95, ratio |")
    say("| --- | ---: | ---: | ---: | ---: | ---: |")
    for path in (*READ, "all"):
        calm, other = (
            np.percentile([t * 1000 for name in (READ if path == "all" else (path,)) for t in server_load.times[name]], [50, 95])
            for server_load in (quiet, busy)
        )
        say(f"| `{path}` | {calm[0]:.0f} | {calm[1]:.0f} | {other[0]:.0f} | {other[1]:.0f} | {other[1] / calm[1]:.1f} |")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=FULL, help="responses of the files that are imported")
    parser.add_argument("--csv", type=int, default=CSV_FULL, help="responses of the CSV that is sent to a server")
    parser.add_argument("--seconds", type=int, default=60, help="of reading, without and with uploads")
    parser.add_argument("--folder", type=Path, help="where to put some GB for a while (default: the system's temporary folder)")
    parser.add_argument("--out", type=Path, help=f"file to write (default, at full size: {OUT.name})")
    parser.add_argument("--foreign", type=float, metavar="SHARE", help="only files of others, at this share of their full size")
    parser.add_argument("--alone", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        measure_alone(*options.alone)
        return
    if options.foreign:
        with tempfile.TemporaryDirectory(prefix="uploads-", dir=options.folder) as name:
            seed(open_store(Path(name) / "store"))
            of_foreign_files(Path(name), Path(name) / "store", options.foreign)
        return
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    say("# Uploads")
    say("")
    say(
        f"Written by `benchmarks/uploads.py` on {date.today()}: {platform.machine()}, {os.cpu_count()} cores, DuckDB "
        f"{duckdb.__version__} with {THREADS} threads and {MEMORY_LIMIT}; load average {os.getloadavg()[0]:.1f} at the start. "
        f"Each file has {CLUES} clues a question, the rows of a run in no order, and states what is correct. "
        "A bare read only reads the cells; a copy puts the file into a DuckDB file. "
        "*Checked* is everything that happens before anything is stored. *Published* includes "
        "storing it. Each is one process, from its start to its end."
    )
    say("")
    with tempfile.TemporaryDirectory(prefix="uploads-", dir=options.folder) as name:
        folder = Path(name)
        store = folder / "store"
        seed(open_store(store))
        for dataset, questions in QUESTIONS.items():
            import_paths(open_store(store), [write_bundle(folder / dataset, dataset, questions)], ImportOptions())
        of_imports(folder, store, options.rows, say)
        say("")
        say(f"Load average then: {os.getloadavg()[0]:.1f}.")
        say("")
        of_server(folder, store, options, say)
    say("")
    say(f"Load average at the end: {os.getloadavg()[0]:.1f}.")
    full = options.rows >= FULL and options.csv >= CSV_FULL
    if out := options.out or (OUT if full else None):
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
