"""What an upload and a withdrawal cost, by what the store holds already; writes store.md.

    python -m benchmarks.store                              up to 10 million responses
    python -m benchmarks.store --rows 0 200000              a quick look (writes no file unless --out is given)

For each size, a store is filled with runs over one dataset. Then a run of 2,000 responses is imported and withdrawn, several
times. Bytes are those of the files that are new afterwards. Seconds are the least of the repetitions.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.synthetic_data import CLUES, write, write_bundle
from data.importing.ingest import import_paths
from data.importing.staging import ImportOptions
from data.store import Store, open_store
from data.store.withdrawal import withdraw
from queries.engine.gather import gather
from queries.metrics import METRICS
from queries.selection import Selection

OUT = Path(__file__).with_suffix(".md")
SIZES = (0, 100_000, 1_000_000, 10_000_000)
SMALL = 2_000  # responses of the upload that is timed
REPEATED = 5
QUESTIONS = 50_000
CLAIMED = 1.5  # bytes written into the largest store, as a multiple of those into the smallest


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
    import_paths(store, [write_bundle(folder / "wide", "wide", QUESTIONS)], ImportOptions())
    result: dict[str, Any] = {"rows": rows}
    if rows:
        path = folder / "many.parquet"
        write(path, QUESTIONS, rows)
        began = time.perf_counter()
        import_paths(store, [path], ImportOptions(dataset="wide"))
        result["filling"] = time.perf_counter() - began
        path.unlink()
        began = time.process_time()
        gather(open_store(store.url, threads=2).snapshot(), Selection("wide", common=False), METRICS)
        result["first read, processor"] = time.process_time() - began
    uploads = [timed(store, partial(upload, store, folder, number)) for number in range(REPEATED)]
    runs = store.snapshot().rows("select run from runs where model like 'small%' order by position")
    withdrawals = [timed(store, partial(withdraw, store, run, None)) for (run,) in runs]
    for name, measured in (("upload", uploads), ("withdrawal", withdrawals)):
        result[f"{name}, seconds"] = min(seconds for seconds, _ in measured)
        result[f"{name}, bytes"] = max(size for _, size in measured)
    result["disk"] = sum(sizes(store.files.root).values())
    return result


def upload(store: Store, folder: Path, number: int) -> None:
    """Import a run of ``SMALL`` responses."""
    path = folder / f"small{number}.csv"
    lines = ["question_id,clue,guess,confidence,correct"]
    lines += [f"q{k // CLUES:07d},{k % CLUES},guess {k % 7},0.{number}{k % 10},{k % 3 == 0:d}" for k in range(SMALL)]
    path.write_text("\n".join(lines))
    import_paths(store, [path], ImportOptions(dataset="wide", model=f"small {number}"))


def timed(store: Store, change: Callable[[], object]) -> tuple[float, int]:
    """Seconds that a change takes, and bytes of the files that are new or other afterwards."""
    before = sizes(store.files.root)
    began = time.perf_counter()
    change()
    seconds = time.perf_counter() - began
    return seconds, sum(size for file, size in sizes(store.files.root).items() if file not in before)


def sizes(folder: Path) -> dict[tuple[str, int], int]:
    """Size in bytes of each file, by its path and the time it was changed."""
    files = {}
    for path in folder.rglob("*"):
        status = os.stat(path)
        if path.is_file():
            files[str(path), status.st_mtime_ns] = status.st_size
    return files


def table(results: list[dict[str, Any]]) -> str:
    """The results as Markdown."""
    lines = [
        "# What an upload costs, by what the store holds",
        "",
        f"Written by `benchmarks/store.py` on {date.today()}. The dataset has {QUESTIONS:,} questions of {CLUES} clues.",
        f"Uploads have {SMALL:,} responses; seconds are the least of {REPEATED}. The first read is every metric of every run,",
        "of a store that was just opened.",
        "",
        "| responses before | upload, s | upload, MB | withdrawal, s | withdrawal, MB | store, MB | first read, CPU s |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    for row in results:
        first = f"{row['first read, processor']:.2f}" if "first read, processor" in row else ""
        cells = [f"{row['rows']:,}"]
        for name in ("upload", "withdrawal"):
            cells += [f"{row[f'{name}, seconds']:.2f}", f"{row[f'{name}, bytes'] / 1e6:.2f}"]
        lines.append(f"| {' | '.join([*cells, format(row['disk'] / 1e6, '.0f'), first])} |")
    if len(results) > 1:
        ratios = [results[-1][f"{name}, bytes"] / results[0][f"{name}, bytes"] for name in ("upload", "withdrawal")]
        lines += [
            "",
            f"Bytes written into the largest store, as a multiple of those into the smallest: upload {ratios[0]:.2f}, withdrawal "
            f"{ratios[1]:.2f}; at most {CLAIMED} is claimed.",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
