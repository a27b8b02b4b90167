"""Fifty analysts at once during uploads: seconds to each answer, errors, memory of the server; writes load.md.

    make bench-load                                     fifteen minutes
    make bench-load BENCH_ARGS='--seconds 60'           a quick look (writes no file unless --out is given)
    make bench-load BENCH_ARGS='--unusual'              fifty readers with a token each, selections that nobody asked before

An analyst (locust) opens a page of a random dataset, looks for one to five seconds, then changes a filter or opens another page.
Meanwhile a program uploads runs of 2,000 responses, one after the other with a pause of five seconds.
"""

from locust import HttpUser, between, events, task  # isort: skip  # first: it replaces blocking calls, such as those of sockets
from locust.env import Environment  # isort: skip
from locust.stats import RequestStats  # isort: skip

import argparse
import itertools
import random
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

import gevent

from benchmarks.measuring import descendants, machine, markdown_table, resident_bytes
from benchmarks.synthetic_data import CLUES, fill, write_small_run
from clueline.data.importing.seed import seed
from clueline.data.store import open_store
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.serving import run_cli, start_server

OUT = Path(__file__).with_suffix(".md")
ANALYSTS, FULL = 50, 15 * 60
QUESTIONS, RUNS, SMALL = 12_500, 20, 2_000  # a million responses in the dataset uploaded to; SMALL: responses of an upload
PAUSE, LOOK = 5, 10  # seconds between two uploads, and between two readings of memory
SLOW, GROWN = 1.0, 1.1  # at most: seconds at p95, and memory of the last third as a multiple of that of the second third
DATASETS = ("pyramid", "lifeeval", "tone", "large")
PAGES = ("/", "/", "/reliability", "/difficulty", "/compare", "/slices", "/questions")
JSON = ("leaderboard?metrics=brier,ece", "questions?limit=50", "reliability", "runs")

UNUSUAL = ("leaderboard", "reliability", "questions", "breakdown")
METRICS = ("brier", "ece", "accuracy", "auroc", "log_score", "ece_debiased")


class Analyst(HttpUser):
    """Somebody who looks at pages and now and then asks for JSON."""

    wait_time = between(1, 5)

    def query(self) -> str:
        """Return a query for a random dataset, perhaps with a range of difficulty."""
        dataset = random.choice(DATASETS)
        filters = random.choice(["", "", f"&difficulty=0..{random.choice(['0.5', '0.6', '0.7', '0.8', '0.9'])}"])
        return f"dataset={dataset}{filters}"

    @task(8)
    def page(self) -> None:
        """Ask for what the browser asks for when an address is opened."""
        path = random.choice(PAGES)
        request = {"path": path, "query": self.query(), "page": True}
        body = {
            "output": "answer.data",
            "outputs": {"id": "answer", "property": "data"},
            "inputs": [{"id": "request", "property": "data", "value": request}],
            "changedPropIds": ["request.data"],
        }
        self.client.post("/_dash-update-component", json=body, name=f"page {path}")

    @task(2)
    def json(self) -> None:
        """Ask for what a program asks for."""
        path, _, own = random.choice(JSON).partition("?")
        query = "" if path == "runs" else "&".join(filter(None, [self.query(), own]))
        self.client.get(f"/api/v1/{path}?{query}", name=f"json {path}")


class Reader(HttpUser):
    """Somebody with a token of their own, behind an address that all share, who asks for a selection that nobody asked before.

    ``tokens`` has a token for each, and ``categories`` those of each dataset.
    """

    wait_time = between(1, 3)
    tokens: ClassVar[list[str]] = []
    categories: ClassVar[dict[str, list[str]]] = {}

    def on_start(self) -> None:
        """Take a token."""
        self.client.headers["Authorization"] = f"Bearer {self.tokens.pop()}"

    @task
    def json(self) -> None:
        """Ask for random metrics of a random range of difficulty, perhaps in random categories."""
        dataset = random.choice(list(self.categories))
        low, high = sorted(random.sample(range(1001), 2))
        pairs = [("dataset", dataset), ("difficulty", f"{max(0, low - 100) / 1000:.3f}..{min(1000, high + 100) / 1000:.3f}")]
        chosen = random.sample(self.categories[dataset], random.randint(0, min(3, len(self.categories[dataset]))))
        pairs += [("category", category) for category in chosen]
        path = random.choice(UNUSUAL)
        if path == "leaderboard":
            pairs.append(("metrics", ",".join(random.sample(METRICS, 3))))
        self.client.get(f"/api/v1/{path}?{urlencode(pairs)}", name=f"json {path}")


def measure_unusual(folder: Path, seconds: int) -> list[str]:
    """Let readers ask for unusual selections, and return how long the answers took, and which were none."""
    store = open_store(folder / "store", threads=2)
    seed(store)
    Reader.tokens = [Tokens(store.register).create(f"reader-{number}", "read") for number in range(ANALYSTS)]
    snapshot = store.snapshot()
    for dataset in DATASETS[:3]:
        rows = snapshot.rows("select distinct category from questions where dataset = ? and category is not null", [dataset])
        Reader.categories[dataset] = sorted(category for (category,) in rows)
    server = start_server(folder / "store", folder / "log", workers=2)
    environment = Environment(
        user_classes=[Reader], events=events, host=server.address, stop_timeout=60
    )  # the last answers count
    runner = environment.create_local_runner()
    try:
        runner.start(ANALYSTS, spawn_rate=ANALYSTS)
        gevent.sleep(seconds)
        runner.stop()
    finally:
        server.stop()
    stats = environment.stats
    return [
        f"{ANALYSTS} readers behind one address, {seconds} s, selections that nobody asked before; milliseconds:", "",
        *table_of_times(stats), "",
        *(f"- {error.occurrences} of `{error.name}`: {error.error}" for error in stats.errors.values()),
        f"Answers that were refused or failed: {stats.total.num_failures} (goal: 0: {_reached(not stats.total.num_failures)}).",
    ]  # fmt: skip


class Uploads:
    """Uploads runs one after the other, and counts how many were stored and what failed."""

    def __init__(self, address: str, token: str, folder: Path) -> None:
        self.address, self.token, self.folder = address, token, folder
        self.stored = 0
        self.failed: list[str] = []

    def go_on(self) -> None:
        """Upload until this greenlet is killed."""
        for number in itertools.count(10):
            body = write_small_run(self.folder / "small.csv", SMALL, number).read_bytes()
            request = urllib.request.Request(
                f"{self.address}/api/v1/runs?dataset=large&model=upload-{number}&filename=small.csv",
                body,
                {"Authorization": f"Bearer {self.token}", "Content-Type": "text/csv"},
            )
            try:
                with urllib.request.urlopen(request, timeout=600) as answer:
                    answer.read()
                self.stored += 1
            except OSError as error:
                self.failed.append(str(error))
            gevent.sleep(PAUSE)


def measure(folder: Path, seconds: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Fill a store, serve it, put it under load, and watch memory."""
    store = open_store(folder / "store", threads=2)
    seed(store)
    fill(store, folder, "large", QUESTIONS, QUESTIONS * CLUES * RUNS)
    token = run_cli("token", "create", "load", store=folder / "store").stdout.strip()
    server = start_server(folder / "store", folder / "log", workers=2)
    workers = descendants(server.process.pid)
    environment = Environment(user_classes=[Analyst], events=events, host=server.address)
    runner = environment.create_local_runner()
    uploads = Uploads(server.address, token, folder)
    memory: list[int] = []
    try:
        runner.start(ANALYSTS, spawn_rate=5)
        uploading = gevent.spawn(uploads.go_on)
        for passed in range(0, seconds, LOOK):
            gevent.sleep(LOOK)
            memory.append(sum(map(resident_bytes, workers)))
            say(f"{passed + LOOK} s: {environment.stats.total.num_requests} answers, {memory[-1] / 1e6:.0f} MB")
        uploading.kill()
        runner.stop()
    finally:
        server.stop()
    return {"stats": environment.stats, "uploads": uploads, "memory": memory}


def table_of_times(stats: RequestStats) -> list[str]:
    """Return how long answers took, by what was asked for, as Markdown."""
    rows = []
    for entry in [*sorted(stats.entries.values(), key=lambda entry: str(entry.name)), stats.total]:
        name = "**all**" if entry is stats.total else f"`{entry.name}`"
        times = [entry.get_response_time_percentile(share) for share in (0.5, 0.95, 1.0)]
        rows.append([name, f"{entry.num_requests:,}", entry.num_failures, *(f"{value:,.0f}" for value in times)])
    return markdown_table(["asked for", "answers", "errors", "p50", "p95", "most"], rows)


def report(result: dict[str, Any], seconds: int, began: str) -> str:
    """Return the results as Markdown."""
    stats, uploads, memory = result["stats"], result["uploads"], result["memory"]
    third = max(1, len(memory) // 3)
    early, late = max(memory[third : 2 * third] or memory), max(memory[-third:])
    p95 = stats.total.get_response_time_percentile(0.95) / 1000
    lines = [
        f"# {ANALYSTS} analysts at once",
        "",
        f"Written by `benchmarks/load.py`: {began}; {machine().rpartition(', ')[2]} at the end. Two workers, {seconds} s;",
        "analysts, uploads and server share the machine. Times in milliseconds.",
        "",
        *table_of_times(stats),
        "",
        f"Uploads of {SMALL:,} responses: {uploads.stored} stored, {len(uploads.failed)} failed. Peak memory of the server: "
        f"{early / 1e6:,.0f} MB in the second third of the time, {late / 1e6:,.0f} MB in the last.",
        "",
        f"p95 {p95:.2f} s (goal: {SLOW:g} s: {_reached(p95 <= SLOW)}); errors {stats.total.num_failures + len(uploads.failed)} "
        f"(goal: 0: {_reached(not stats.total.num_failures and not uploads.failed)}); memory flat within 10 % "
        f"({_reached(late <= GROWN * early)}).",
        "",
    ]  # fmt: skip
    for error in stats.errors.values():
        lines.append(f"- {error.occurrences} of `{error.name}`: {error.error}")
    return "\n".join(lines)


def _reached(is_reached: bool) -> str:
    return "reached" if is_reached else "missed"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=FULL)
    parser.add_argument("--out", type=Path, help=f"file to write (default, at full length: {OUT.name})")
    parser.add_argument("--unusual", action="store_true", help="print how readers fare who ask for what nobody asked before")
    options = parser.parse_args()
    if options.unusual:
        with tempfile.TemporaryDirectory(prefix="clueline-") as folder:
            seconds = 60 if options.seconds == FULL else options.seconds
            print("\n".join(measure_unusual(Path(folder), seconds)))
        return
    began = machine()
    with tempfile.TemporaryDirectory(prefix="clueline-") as folder:
        result = measure(Path(folder), options.seconds, lambda message: print(message, flush=True))
    text = report(result, options.seconds, began)
    print(text)
    if out := options.out or (OUT if options.seconds >= FULL else None):
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
