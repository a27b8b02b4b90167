"""What each metric costs with its interval and letters; writes interval_costs.md.

    python -m benchmarks.interval_costs                      200,000 and 1 million responses of 50 runs
    python -m benchmarks.interval_costs --rows 200000        a quick look (writes no file unless --out is given)

Seconds are processor seconds, so they mean the same on a busy machine. Each metric that is not a sum is measured on its own, as
if nothing else was asked for; *every metric* is one leaderboard of all of them. Confidences have four digits.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measuring import machine, markdown_table, timed
from benchmarks.synthetic_data import CLUES, fill
from clueline.data.store import Snapshot, open_store
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions, Metric
from clueline.queries.selection import Selection

OUT = Path(__file__).with_suffix(".md")
SIZES = (200_000, 1_000_000)
RUNS = 50
DATASET = "synthetic"
NO_SUMS = [metric for metric in METRICS if metric.pairs is not None]


def main() -> None:
    """Measure each size and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES, help="responses in all")
    parser.add_argument("--out", type=Path, help="where to write the table")
    options = parser.parse_args()
    out = options.out or (OUT if tuple(options.rows) == SIZES else None)
    columns = []
    for rows in options.rows:
        with tempfile.TemporaryDirectory(prefix="clueline-") as folder:
            store = open_store(Path(folder) / "store", threads=1)
            fill(store, Path(folder), DATASET, rows // RUNS // CLUES, rows)
            columns.append(measure(store.snapshot()))
    text = table(options.rows, columns)
    print(text)
    if out:
        out.write_text(text, encoding="utf-8")


def measure(snapshot: Snapshot) -> dict[str, float]:
    """Return the processor seconds by what is computed."""
    selection = Selection(DATASET)
    by_mass = selection.replace(conventions=Conventions("mass15"))
    leaderboard(snapshot, selection, NO_SUMS)  # afterwards, what is read is in memory

    def seconds(metrics: Sequence[Metric], where: Selection = selection) -> float:
        return timed(lambda: leaderboard(snapshot, where, metrics, True)).cost

    measured = {f"`{metric.key}`": seconds([metric]) for metric in NO_SUMS}
    measured["`ece`, 15 bins of equal mass"] = seconds([CATALOGUE["ece"]], by_mass)
    measured["`brier`, a metric of sums"] = seconds([CATALOGUE["brier"]])
    measured[f"every metric ({len(METRICS)})"] = seconds(METRICS)
    for name, value in measured.items():
        print(f"{name}: {value:.1f} s", flush=True)
    return measured


def table(sizes: Sequence[int], columns: list[dict[str, float]]) -> str:
    """Return the figures as Markdown."""
    lines = [
        f"# Processor seconds for a leaderboard with intervals, {RUNS} runs",
        "",
        f"Written by `python -m benchmarks.interval_costs` on {machine()}.",
        "",
        *markdown_table(
            ["", *(f"{size:,} responses" for size in sizes)],
            [[name, *(f"{column[name]:.2f}" for column in columns)] for name in columns[0]],
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
