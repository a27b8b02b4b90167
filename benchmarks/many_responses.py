"""A leaderboard of very many responses, computed in this process; writes many_responses.md.

    python -m benchmarks.many_responses                      1, 10 and 100 million responses of 200 runs (15 minutes)
    python -m benchmarks.many_responses --millions 1         a quick look (writes no file unless --out is given)
    python -m benchmarks.many_responses --folder FOLDER      keep the stores there, or use those kept before

Nothing is answered from a cache of results: *again* computes everything from the totals in memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Before numpy is imported: threads that wait for each other take processor time, and more of it on a busy machine.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

from benchmarks.measuring import machine, markdown_table, peak_bytes, timed  # noqa: E402
from benchmarks.synthetic_data import CLUES, fill  # noqa: E402
from clueline.data.store import open_store  # noqa: E402
from clueline.queries.leaderboard import leaderboard  # noqa: E402
from clueline.queries.metrics import CATALOGUE, Metric  # noqa: E402
from clueline.queries.reliability import reliability  # noqa: E402
from clueline.queries.selection import Selection  # noqa: E402

OUT = Path(__file__).with_suffix(".md")
MILLIONS = (1, 10, 100)
RUNS = 200
DATASET = "synthetic"
SUMS = ("brier", "accuracy", "overconfidence", "net_score")
EIGHT = (*SUMS, "hmr", "ece", "reliability", "ece_debiased")
RELIABILITY_UP_TO = 10  # million responses: the diagrams read every item, and more do not fit into a worker's memory


def main() -> None:
    """Make the stores that are missing, measure each in its own process, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=int, nargs="+", default=MILLIONS, help="responses, in millions")
    parser.add_argument("--folder", type=Path, help="for the stores, which are kept")
    parser.add_argument("--out", type=Path, help="where to write the table")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)  # one store, in a process of its own
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.millions[0])
        return
    out = options.out or (OUT if tuple(options.millions) == MILLIONS else None)
    with tempfile.TemporaryDirectory(prefix="clueline-") as scratch:
        columns = [measured(options.folder or Path(scratch), millions) for millions in options.millions]
    lines = [
        f"# A leaderboard with intervals and letters, {RUNS} runs",
        "",
        f"Written by `python -m benchmarks.many_responses` on {machine()}. Processor seconds.",
        "",
        *markdown_table(
            ["", *(f"{millions} million" for millions in options.millions)],
            [[name, *(column.get(name, "") for column in columns)] for name in columns[0]],
        ),
    ]
    print("\n".join(lines))
    if out:
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measured(folder: Path, millions: int) -> dict[str, str]:
    """Return the figures of one size, by name."""
    store = folder / f"store{millions}"
    if not store.exists():
        rows = millions * 1_000_000
        fill(open_store(store, threads=1), folder / f"files{millions}", DATASET, rows // RUNS // CLUES, rows)
    command = [sys.executable, "-m", "benchmarks.many_responses", "--measure", str(store), "--millions", str(millions)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(line.split("\t") for line in answer.splitlines())


def measure(store: Path, millions: int) -> None:
    """Print the figures of one store, a name and a figure per line."""
    snapshot = open_store(store, threads=1, memory_limit="1GB").snapshot()
    ((dataset,),) = snapshot.rows("select dataset from datasets")
    selection = Selection(dataset)

    def seconds(keys: tuple[str, ...]) -> str:
        metrics: list[Metric] = [CATALOGUE[key] for key in keys]
        return f"{timed(lambda: leaderboard(snapshot, selection, metrics, True)).cost:.2f}"

    print(f"first read, {len(EIGHT)} metrics\t{seconds(EIGHT)}")
    print(f"again, the same\t{seconds(EIGHT)}")
    print(f"again, without the debiased ECE\t{seconds(EIGHT[:-1])}")
    print(f"again, four metrics of sums\t{seconds(SUMS)}")
    print(f"peak memory, MB\t{peak_bytes() / 2**20:.0f}")
    if millions <= RELIABILITY_UP_TO:
        cost = timed(lambda: reliability(snapshot, selection)).cost
        print(f"reliability diagrams of all runs, first read\t{cost:.2f}")


if __name__ == "__main__":
    main()
