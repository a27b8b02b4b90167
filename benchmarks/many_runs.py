"""What a store of ten thousand runs costs: opening it, planning a query, adding and withdrawing a run; writes many_runs.md.

    python -m benchmarks.many_runs                      100, 1,000 and 10,000 runs
    python -m benchmarks.many_runs --runs 100           a quick look (writes no file unless --out is given)

A hundred runs of 2,000 responses are imported. The others are the same files under further ids, because only their number matters
here. Planning a query means naming the files that it reads and running DuckDB's ``explain``. Only what DuckDB needs for that is
read from the files.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb

from benchmarks.measuring import least_processor_seconds, machine, markdown_table
from benchmarks.store import measured
from benchmarks.synthetic_data import CLUES, fill, write_small_run
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import Store, open_store
from clueline.data.store.cache_validity_tokens import renew_revisions
from clueline.data.store.run_files import KINDS, stored_objects
from clueline.data.store.run_withdrawal import withdraw

OUT = Path(__file__).with_suffix(".md")
RUNS = (100, 1_000, 10_000)
IMPORTED, QUESTIONS, SMALL = 100, 500, 2_000
READ = 50  # runs that a query reads
DATASET = "many"
WANTED = 50  # milliseconds at most to plan a query of fifty runs
REPEATED = 5


def add_copies(store: Store, copies: int) -> None:
    """Give the imported runs further ids, and hard links to their files."""
    for part in [part for kind in KINDS for part in stored_objects(store.snapshot().connection, kind)]:
        for copy in range(1, copies):
            path = store.objects.path(part.name.replace(part.run, f"{copy:04x}{part.run[4:]}"))
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(store.objects.path(part.name), path)

    def change(connection: duckdb.DuckDBPyConnection) -> None:
        for table, further in (
            ("runs", f"model || ' copy ' || k as model, position + k * {IMPORTED} as position"),
            ("objects", "replace(name, run, printf('%04x', k) || run[5:]) as name"),
        ):
            kinds = f"where kind in {KINDS}" if table == "objects" else ""
            connection.execute(
                f"""insert into {table} select * exclude k replace (printf('%04x', k) || run[5:] as run, {further})
                from {table}, (select unnest(range(1, {copies})) as k) {kinds}"""
            )
        renew_revisions(connection, [DATASET])

    store.write(change)


def measure(folder: Path, runs: int) -> dict[str, str]:
    """Make a store of ``runs`` runs and measure it."""
    store = open_store(folder / "store", threads=1)
    fill(store, folder, DATASET, QUESTIONS, IMPORTED * QUESTIONS * CLUES)
    if runs > IMPORTED:
        add_copies(store, runs // IMPORTED)
    store.close()

    def open_it() -> None:
        open_store(store.url, threads=1).snapshot()

    figures = {"open the store": _milliseconds(open_it)}
    opened = open_store(store.url, threads=1)
    snapshot = opened.snapshot()
    ids = [run for (run,) in snapshot.rows("select run from runs order by position")]
    assert len(ids) == runs
    for name, some in ((f"plan a query of {READ} runs", ids[-READ:]), ("plan a query of all runs", ids)):
        snapshot.responses(some)  # compares their checksums, once per process
        figures[name] = _milliseconds(lambda: snapshot.rows(f"explain select sum(correct) from {snapshot.responses(some)}"))  # noqa: B023
    changes: dict[str, list[tuple[float, int]]] = {"an upload": [], "a withdrawal": []}
    for number in range(REPEATED):
        path = write_small_run(folder / "small.csv", SMALL, number)
        options = ImportOptions(dataset=DATASET, model=f"small {number}")
        added = measured(opened, lambda: import_paths(opened, [path], options))  # noqa: B023
        ((run,),) = opened.snapshot().rows(f"select run from runs where model = 'small {number}'")
        withdrawn = measured(opened, lambda: withdraw(opened, run, None))  # noqa: B023
        for name, change in (("an upload", added), ("a withdrawal", withdrawn)):
            changes[name].append((change.processor, change.size))
    for name, costs in changes.items():
        figures[f"{name} of {SMALL:,} responses"] = f"{min(cost for cost, _ in costs) * 1000:,.0f}"
        figures[f"MB that {name} writes"] = f"{max(size for _, size in costs) / 1e6:.1f}"
    opened.close()
    return figures


def _milliseconds(work: Callable[[], object]) -> str:
    return f"{least_processor_seconds(work, REPEATED) * 1000:,.0f}"


def main() -> None:
    """Measure each number of runs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="+", default=RUNS, help=f"multiples of {IMPORTED}")
    parser.add_argument("--out", type=Path, help="where to write the table")
    options = parser.parse_args()
    began, columns = machine(), []
    for runs in options.runs:
        with tempfile.TemporaryDirectory(prefix="clueline-") as folder:
            columns.append(measure(Path(folder), runs))
            print(runs, columns[-1], flush=True)
    names = list(columns[0])
    planning = float(columns[-1][f"plan a query of {READ} runs"].replace(",", ""))
    lines = [
        "# A store of many runs",
        "",
        f"Written by `benchmarks/many_runs.py`: {began}.",
        f"One dataset of {QUESTIONS} questions, runs of {SMALL:,} responses. Processor milliseconds, minimum of {REPEATED}.",
        "",
        *markdown_table(["", *(f"{runs:,} runs" for runs in options.runs)], [[n, *(c[n] for c in columns)] for n in names]),
        "",
        f"Planning a query of {READ} runs takes {planning:.0f} ms if the store has {options.runs[-1]:,} (goal: {WANTED} ms: "
        f"{'reached' if planning <= WANTED else 'missed'}).",
        "",
    ]
    print("\n".join(lines))
    if out := options.out or (OUT if tuple(options.runs) == RUNS else None):
        out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
