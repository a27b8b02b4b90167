"""What an upload and a withdrawal cost, by how much the store already holds; writes store.md.

    python -m benchmarks.store                              up to 100 million responses
    python -m benchmarks.store --rows 0 200000              a quick look (writes no file unless --out is given)

For each size, a store is filled with runs over one dataset. Then a run of 2,000 responses is imported and withdrawn several
times. Bytes are those of the files that are new afterwards. Seconds are the minimum of the repetitions.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measuring import machine, markdown_table, timed
from benchmarks.synthetic_data import CLUES, fill, write_small_run
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import Store, open_store
from clueline.data.store.run_withdrawal import withdraw
from clueline.queries.engine.gather import gather
from clueline.queries.metrics import METRICS
from clueline.queries.selection import Selection

OUT = Path(__file__).with_suffix(".md")
SIZES = (0, 100_000, 1_000_000, 10_000_000, 100_000_000)
READ = 10_000_000  # most responses of which every metric is read: more do not fit into memory
SMALL = 2_000  # responses of the upload that is timed
REPEATED = 5
QUESTIONS = 50_000
CLAIMED = 1.5  # at most: bytes written into the largest store, as a multiple of those into the smallest


def main() -> None:
    """Measure each size and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES, help="responses in the store before")
    parser.add_argument("--out", type=Path, help="where to write the table")
    given = parser.parse_args()
    out = given.out or (OUT if tuple(given.rows) == SIZES else None)
    results = []
    for rows in given.rows:
        with tempfile.TemporaryDirectory(prefix="clueline-") as folder:
            results.append(measure(Path(folder), rows))
            print(results[-1], flush=True)
    text = table(results)
    print(text)
    if out:
        out.write_text(text, encoding="utf-8")


def measure(folder: Path, rows: int) -> dict[str, Any]:
    """Fill a store with ``rows`` responses and time what follows."""
    store = open_store(folder / "store", threads=2)
    result: dict[str, Any] = {"rows": rows, "filling": timed(lambda: fill(store, folder, "wide", QUESTIONS, rows)).cost}
    if 0 < rows <= READ:
        result["first read"] = timed(
            lambda: gather(open_store(store.url, threads=2).snapshot(), Selection("wide", common=False), METRICS)
        ).cost
    uploads = [measured(store, partial(upload, store, folder, number)) for number in range(REPEATED)]
    runs = store.snapshot().rows("select run from runs where model like 'small%' order by position")
    withdrawals = [measured(store, partial(withdraw, store, run, None)) for (run,) in runs]
    for name, changes in (("upload", uploads), ("withdrawal", withdrawals)):
        result[f"{name}, seconds"] = min(change.seconds for change in changes)
        result[f"{name}, processor"] = min(change.processor for change in changes)
        result[f"{name}, bytes"] = max(change.size for change in changes)
    result["disk"] = sum(sizes(store.files.root).values())
    return result


def upload(store: Store, folder: Path, number: int) -> None:
    """Import a run of ``SMALL`` responses."""
    path = write_small_run(folder / f"small{number}.csv", SMALL, number)
    import_paths(store, [path], ImportOptions(dataset="wide", model=f"small {number}"))


class Change(NamedTuple):
    """What a change of a store cost: seconds, processor seconds, and bytes of the files that are new or changed afterwards."""

    seconds: float
    processor: float
    size: int


def measured(store: Store, change: Callable[[], object]) -> Change:
    """Change a store and return what it cost."""
    before = sizes(store.files.root)
    timings = timed(change)
    size = sum(size for file, size in sizes(store.files.root).items() if file not in before)
    return Change(timings.seconds[0], timings.cost, size)


def sizes(folder: Path) -> dict[tuple[str, int], int]:
    """Return the size in bytes of each file, by its path and modification time."""
    files = {}
    for path in folder.rglob("*"):
        status = os.stat(path)
        if path.is_file():
            files[str(path), status.st_mtime_ns] = status.st_size
    return files


def table(results: list[dict[str, Any]]) -> str:
    """Return the results as Markdown."""
    changes = ("upload", "withdrawal")
    header = ["responses before", *(text for name in changes for text in (f"{name}, s", "CPU s", "MB")), "store, MB"]
    header += ["filling, CPU s", "first read, CPU s"]
    rows = []
    for row in results:
        cells = [f"{row['rows']:,}"]
        for name in changes:
            cells += [f"{row[f'{name}, seconds']:.2f}", f"{row[f'{name}, processor']:.2f}", f"{row[f'{name}, bytes'] / 1e6:.2f}"]
        cells += [f"{row['disk'] / 1e6:.0f}", f"{row['filling']:.1f}", f"{row['first read']:.2f}" if "first read" in row else ""]
        rows.append(cells)
    lines = [
        "# What an upload costs, by the size of the store",
        "",
        f"Written by `benchmarks/store.py`: {machine()}.",
        f"The dataset has {QUESTIONS:,} questions of {CLUES} clues. Uploads have {SMALL:,} responses; times are the minimum of "
        f"{REPEATED}.",
        f"The first read computes every metric of every run, in a store that was just opened; measured up to {READ:,} responses.",
        "",
        *markdown_table(header, rows, texts=0),
    ]  # fmt: skip
    if len(results) > 1:
        ratios = [results[-1][f"{name}, bytes"] / results[0][f"{name}, bytes"] for name in ("upload", "withdrawal")]
        lines += [
            "",
            f"Bytes written into the largest store, as a multiple of those into the smallest: upload {ratios[0]:.2f}, withdrawal "
            f"{ratios[1]:.2f}. Goal: at most {CLAIMED}.",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
