"""Ten uploads at once, compared with ten in sequence: processor time, files written; writes uploads_together.md.

    python -m benchmarks.uploads_together               into a million responses
    python -m benchmarks.uploads_together --rows 50000  a quick look (writes no file unless --out is given)

Each round has its own server on a copy of the same store. Processor seconds are those of the server and of all processes that it
starts, including the spare ones that wait for the next upload.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.measuring import machine, markdown_table, processor_seconds_with_children
from benchmarks.synthetic_data import CLUES, fill, write_small_run
from clueline.data.store import open_store
from tests.helpers.serving import run_cli, start_server

OUT = Path(__file__).with_suffix(".md")
FULL, QUESTIONS = 1_000_000, 12_500
UPLOADS, SMALL = 10, 2_000  # number of uploads, and responses of each
ROUNDS = 3
CLAIMED = 1.3  # at most: processor seconds at once, as a multiple of those one after the other


@dataclass
class Round:
    """What ten uploads took.

    Attributes:
        seconds: elapsed until the last answer.
        processor: processor seconds.
        written, named: number of files of runs that were written, and that the catalogue names in the end.
        runs: number of uploaded runs in the store.
    """

    seconds: float
    processor: float
    written: int
    named: int
    runs: int


def upload(address: str, token: str, number: int, body: bytes) -> None:
    """Send one run. Raises if it is refused."""
    path = f"{address}/api/v1/runs?dataset=large&model=upload-{number}&filename=run.csv"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "text/csv"}
    with urllib.request.urlopen(urllib.request.Request(path, body, headers), timeout=1800) as answer:
        json.load(answer)


def measure(folder: Path, original: Path, at_once: int) -> Round:
    """Copy the store, serve the copy, and upload."""
    place = folder / "copy"
    shutil.copytree(original, place)
    token = run_cli("token", "create", "bench", store=place).stdout.strip()
    bodies = [write_small_run(folder / "run.csv", SMALL, 10 + number).read_bytes() for number in range(UPLOADS)]
    objects = place / "objects"
    before = set(objects.rglob("*.parquet"))
    server = start_server(place, folder / "log", workers=2)
    try:
        upload(
            server.address, token, UPLOADS, write_small_run(folder / "run.csv", SMALL, 99).read_bytes()
        )  # loads what is needed
        after_first = set(objects.rglob("*.parquet")) - before
        busy, began = processor_seconds_with_children(server.process.pid), time.perf_counter()
        with ThreadPoolExecutor(at_once) as senders:
            for sent in [senders.submit(upload, server.address, token, number, body) for number, body in enumerate(bodies)]:
                sent.result()
        seconds = time.perf_counter() - began
        processor = processor_seconds_with_children(server.process.pid) - busy
    finally:
        server.stop()
    written = set(objects.rglob("*.parquet")) - before - after_first
    sql = f"""select count(distinct run), count(*) from objects join runs using (run)
        where model like 'upload-%' and model <> 'upload-{UPLOADS}'"""
    ((runs, named),) = open_store(place).snapshot().rows(sql)
    shutil.rmtree(place)
    return Round(seconds, processor, len(written), named, runs)


def main() -> int:
    """Measure in turn and write the table. Return 1 if a run was lost or a file was written twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=FULL, help="responses in the store before")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each way, in turn; medians count")
    parser.add_argument("--out", type=Path, help="where to write the table")
    options = parser.parse_args()
    began = machine()
    one_by_one: list[Round] = []
    together: list[Round] = []
    with tempfile.TemporaryDirectory(prefix="clueline-") as name:
        folder = Path(name)
        store = open_store(folder / "store", threads=2)
        fill(store, folder, "large", QUESTIONS, max(options.rows, QUESTIONS * CLUES))
        store.close()
        for _ in range(options.rounds):
            one_by_one.append(measure(folder, folder / "store", 1))
            together.append(measure(folder, folder / "store", UPLOADS))
            print(one_by_one[-1], together[-1], flush=True)
    rounds = [*one_by_one, *together]
    whole = all(each.runs == UPLOADS and each.written == each.named for each in rounds)
    verdict = (
        "Every run was stored, and its files were written only once." if whole else "**A run was lost, or a file written twice.**"
    )
    ratio = median(b.processor for b in together) / median(a.processor for a in one_by_one)
    rows = []
    for way, some in (("one after the other", one_by_one), ("at once", together)):
        processor, seconds = median(r.processor for r in some), median(r.seconds for r in some)
        rows.append([way, f"{processor:.1f}", f"{seconds:.1f}", max(r.written for r in some), some[0].named])
    lines = [
        "# Ten uploads at once",
        "",
        f"Written by `benchmarks/uploads_together.py`: {began}.",
        f"{UPLOADS} uploads of {SMALL:,} responses each into a dataset of {max(options.rows, QUESTIONS * CLUES):,}; rounds: "
        f"{options.rounds}, in turn.",
        "CPU s: processor time of the server and of everything that it starts. Files: those of the runs; each run has several.",
        "",
        *markdown_table(["uploads", "CPU s", "s", "files written", "files in the store"], rows),
        "",
        f"At once they take {ratio:.2f} times the processor time (goal: at most {CLAIMED:g}). {verdict}",
        "",
    ]
    print("\n".join(lines))
    if out := options.out or (OUT if options.rows == FULL else None):
        out.write_text("\n".join(lines), encoding="utf-8")
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
