"""How long each page and its JSON take by number of responses, and the memory of a worker; writes pages.md.

    python -m benchmarks.pages                          0.1, 1 and 10 million responses
    python -m benchmarks.pages --sizes 0.1 1 10 100     the same and 100 million (an hour or two, 2 GB of disk, 17 GB of memory)
    python -m benchmarks.pages --sizes 0.1 --cold 2     a quick look (writes no file unless --out is given)

Each size is a dataset in its own store, served by one worker. Every address is asked for

- *first*: for the first time, so that the worker reads what it needs from the store;
- *cold*: with another range of difficulty each time, which nobody asked for before; the statistics are in memory;
- *warm*: again;
- *after an upload*: once after each of some uploads of 2,000 responses to the dataset.

A page is what the browser asks for: the one callback that draws. Processor seconds are those of the worker.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.measuring import Timings, descendants, machine, markdown_table, processor_seconds, resident_bytes
from benchmarks.synthetic_data import CLUES, fill, write_small_run
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from tests.helpers.serving import start_server

OUT = Path(__file__).with_suffix(".md")
SIZES = {0.1: (2_500, 10), 1: (12_500, 20), 10: (50_000, 50), 100: (125_000, 200)}  # millions of responses: questions, runs
DEFAULT_SIZES = (0.1, 1, 10)
SMALL = 2_000  # responses of an upload
DATASET = "large"
METRICS = "brier,accuracy,overconfidence,hmr,ece,ece_debiased,reliability,net_score"  # of the leaderboard's JSON
GROWTH = 3  # greatest factor by which a warm page of statistics may take longer on the largest store than on a million
# Each page, and the address of its JSON. {a}, {b}: ids of two runs.
PAGES = {
    "/": f"leaderboard?metrics={METRICS}&intervals=1",
    "/reliability": "reliability",
    "/difficulty": "difficulty",
    "/buzz": "buzz",
    "/compare": "compare?a={a}&b={b}&metrics=brier,ece",
    "/slices": "slices",
    "/questions": "questions",
    "/questions/large/q0000007": "questions/large/q0000007",
    "/runs": "runs",
    "/metrics": "metrics",
    "/datasets": "datasets",
}
WITHOUT_SELECTION = ("/runs", "/metrics", "/datasets", "/questions/large/q0000007")  # nothing to filter: never cold
STATES = ("first", "cold", "warm", "after an upload")


@dataclass
class Result:
    """What was measured for one size: timings by address and state, and the worker's bytes by moment."""

    responses: int
    runs: int
    timings: dict[tuple[str, str], Timings] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)


class Visitor:
    """Asks one server for pages and JSON, and measures its worker."""

    def __init__(self, address: str, master: int, result: Result) -> None:
        self.address, self.result = address, result
        self.workers = descendants(master)

    def ask(self, target: str, state: str, query: Sequence[tuple[str, str]] = ()) -> None:
        """Ask for a page (``/...``) or for JSON, and note how long it took."""
        timings = self.result.timings.setdefault((target, state), Timings())
        page = target.startswith("/")
        path, _, own = target.partition("?")
        text = "&".join(filter(None, [own, urlencode([("dataset", DATASET), *query])]))
        if target in ("runs", "metrics", "datasets") or path.startswith(f"questions/{DATASET}/"):
            text = own
        if page:
            body = {
                "output": "answer.data",
                "outputs": {"id": "answer", "property": "data"},
                "inputs": [{"id": "request", "property": "data", "value": {"path": path, "query": text, "page": True}}],
                "changedPropIds": ["request.data"],
            }
            request = urllib.request.Request(
                f"{self.address}/_dash-update-component", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
        else:
            request = urllib.request.Request(f"{self.address}/api/v1/{path}?{text}")
        with (
            timings.repetition(lambda: processor_seconds(self.workers)),
            urllib.request.urlopen(request, timeout=600) as answer,
        ):
            content = answer.read()
        if page and b"error-panel" in content:
            raise SystemExit(f"{target}: {content[:2000]!r}")

    def memory(self) -> int:
        """Return the resident bytes of the largest worker."""
        return max(resident_bytes(pid) for pid in self.workers)


def measure(folder: Path, million: float, cold: int, warm: int, uploads: int, say: Callable[[str], None]) -> Result:
    """Make a store and ask for everything."""
    questions, runs = SIZES[million]
    result = Result(questions * CLUES * runs, runs)
    store = open_store(folder / "store", threads=2)
    fill(store, folder, DATASET, questions, result.responses)
    say(f"{million} million: stored")
    ids = [run for (run,) in store.snapshot().rows("select run from runs order by position limit 2")]
    targets = {page: json_path.format(a=ids[0], b=ids[1]) for page, json_path in PAGES.items()}
    # Queries of a hundred million responses may take longer than a server allows by default.
    server = start_server(folder / "store", folder / "log", workers=1, query_seconds=600, memory_mb=8192, cache_mb=4096)
    try:
        visitor = Visitor(server.address, server.process.pid, result)
        result.memory["at the start"] = visitor.memory()
        for page, json_path in targets.items():
            query = [] if page in WITHOUT_SELECTION else [("difficulty", "0..0.9")]
            visitor.ask(page, "first", query)
            visitor.ask(json_path, "first", query)
            say(f"{million} million: {page} {result.timings[page, 'first'].seconds[0]:.2f} s")
            for number in range(cold if query else 0):
                # Each range leaves out some questions. The page and its JSON cannot reuse what the other computed.
                visitor.ask(page, "cold", [("difficulty", f"0..{0.9 - (number + 1) / 100:.3f}")])
                visitor.ask(json_path, "cold", [("difficulty", f"0..{0.9 - (number + 1) / 100 - 0.005:.3f}")])
            for target in (page, json_path):
                for _ in range(warm):
                    visitor.ask(target, "warm", query)
        result.memory["after all pages"] = visitor.memory()
        for number in range(uploads):
            path = write_small_run(folder / "small.csv", SMALL, number)
            import_paths(store, [path], ImportOptions(dataset=DATASET, model=f"small {number}"))
            for page, json_path in targets.items():
                query = [] if page in WITHOUT_SELECTION else [("difficulty", "0..0.9")]
                visitor.ask(page, "after an upload", query)
                visitor.ask(json_path, "after an upload", query)
        result.memory["after uploads"] = visitor.memory()
    finally:
        server.stop()
        store.close()
    say(f"{million} million: done")
    return result


def report(results: Sequence[Result], began: str) -> str:
    """Return the results as Markdown."""
    lines = [
        "# Pages and their JSON, by the number of responses",
        "",
        f"Written by `benchmarks/pages.py`: {began}; {machine().rpartition(', ')[2]} at the end. One worker answers.",
        "*First*: the worker reads from the store. *Cold*: the statistics are in memory, but nobody has asked yet. *Warm*:",
        f"somebody has. *After an upload*: {SMALL:,} responses were added to the dataset. Milliseconds: p50 and p95 by the",
        "clock, which other programs lengthen, and means of the worker's processor time (CPU), which they hardly affect.",
        "",
    ]
    for result in results:
        lines += [f"## {result.responses:,} responses of {result.runs} runs", ""]
        header = ["address"]
        for state in STATES:
            header += [f"{state}, ms"] if state == "first" else [f"{state}, p50", "p95"]
            header += ["CPU"]
        rows = []
        for target in dict.fromkeys(target for target, _ in result.timings):
            cells = [f"`{_short(target)}`"]
            for state in STATES:
                timings = result.timings.get((target, state))
                if timings is None:
                    cells += [""] * (2 if state == "first" else 3)
                    continue
                cells += [f"{timings.percentile(q) * 1000:,.0f}" for q in ([50] if state == "first" else [50, 95])]
                cells += [f"{timings.cost * 1000:,.0f}"]
            rows.append(cells)
        memory = ", ".join(f"{size / 1e6:,.0f} MB {when}" for when, size in result.memory.items())
        lines += [*markdown_table(header, rows), "", f"Memory of the worker: {memory}.", ""]
    return "\n".join([*lines, *_growth(results)])


def _growth(results: Sequence[Result]) -> list[str]:
    """Return lines on how processor time grows with the store. It depends less on the machine than elapsed time does."""
    if len(results) < 2:
        return []
    base = next((result for result in results if result.responses == 1_000_000), results[0])
    lines = [
        "## Growth",
        "",
        f"Processor time as a multiple of that of {base.responses:,} responses. The goal for pages that read statistics is at "
        f"most {GROWTH}, warm.",
        "",
    ]
    others = [result for result in results if result.responses > base.responses]
    header = ["address", *(f"{result.responses:,}: {state}" for result in others for state in ("cold", "warm"))]
    rows = []
    for target in dict.fromkeys(target for target, _ in base.timings):
        cells = [f"`{_short(target)}`"]
        for result in others:
            for state in ("cold", "warm"):
                key = next((key for key in result.timings if _short(key[0]) == _short(target) and key[1] == state), None)
                before = base.timings.get((target, state))
                cells.append(f"{result.timings[key].cost / max(before.cost, 1e-3):.1f}" if key and before else "")
        rows.append(cells)
    return [*lines, *markdown_table(header, rows), ""]


def _short(target: str) -> str:
    """Return an address without the ids of runs, which differ between stores."""
    return target.partition("?")[0] if "a=" in target else target


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=float, nargs="+", default=DEFAULT_SIZES, choices=SIZES, help="millions of responses")
    parser.add_argument("--cold", type=int, default=8, help="ranges that nobody asked for, of each address")
    parser.add_argument("--warm", type=int, default=20, help="repetitions of what was asked for before")
    parser.add_argument("--uploads", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to put the stores for a while")
    parser.add_argument("--out", type=Path, help=f"file to write (default, of these sizes and more: {OUT.name})")
    options = parser.parse_args()
    started, began = time.perf_counter(), machine()

    def say(message: str) -> None:
        print(f"[{time.perf_counter() - started:6.0f} s] {message}", flush=True)

    out = options.out or (OUT if set(DEFAULT_SIZES) <= {*options.sizes} else None)
    results = []
    for million in sorted(options.sizes):
        with tempfile.TemporaryDirectory(prefix="clueline-", dir=options.folder) as folder:
            results.append(measure(Path(folder), million, options.cold, options.warm, options.uploads, say))
        if out:  # after each size, because the largest one takes longest
            out.write_text(report(results, began), encoding="utf-8")
    print(report(results, began))


if __name__ == "__main__":
    main()
