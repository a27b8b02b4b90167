"""What one worker spends on millions of answers: the first read, curves and intervals under a new filter, memory; prints a table.

    python -m benchmarks.worker                            4 million answers of 40 runs, four clues to a question (2 minutes)
    python -m benchmarks.worker --runs 50                  5 million
    python -m benchmarks.worker --questions 1500           a quick look

Nothing is answered from a cache of results. Each filter leaves out another category, and nobody asked for it before.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

# Before numpy is imported: threads that wait for each other take processor time, and more of it on a busy machine.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

from benchmarks.measuring import machine, markdown_table, resident_bytes, timed  # noqa: E402
from benchmarks.synthetic_data import CATEGORIES, CLUES, fill  # noqa: E402
from clueline.dashboard.app import create_app  # noqa: E402
from clueline.dashboard.settings import Settings  # noqa: E402
from clueline.data.store import open_store  # noqa: E402

DATASET = "synthetic"


def main() -> None:
    """Fill a store, and ask it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=25_000)
    parser.add_argument("--runs", type=int, default=40)
    options = parser.parse_args()
    responses = options.questions * CLUES * options.runs
    with tempfile.TemporaryDirectory(prefix="clueline-") as name:
        folder = Path(name)
        fill(open_store(folder / "store", threads=1), folder, DATASET, options.questions, responses)
        began = machine()
        rows = measure(folder / "store")
    print(f"{began}. {responses:,} answers of {options.runs} runs, {options.questions:,} questions of {CLUES} clues.\n")
    print("\n".join(markdown_table(["", "processor seconds", "memory afterwards, MB"], rows)))


def measure(store: Path) -> list[list[str]]:
    """Return what each answer of a new process costs, and the memory of the process after it."""
    client = create_app(Settings(store=str(store), workers=1)).test_client()
    rows: list[list[str]] = []
    costs: dict[str, float] = {}

    def ask(name: str, *paths: str, left_out: int | None = None) -> None:
        kept = [f"&category=Category+{index}" for index in range(CATEGORIES) if left_out is not None and index != left_out]

        def get() -> None:
            for path in paths:
                answer = client.get(f"/api/v1/{path}dataset={DATASET}{''.join(kept)}")
                assert answer.status_code == 200, answer.text[:500]

        costs[name] = timed(get).cost
        rows.append([name, f"{costs[name]:.2f}", f"{resident_bytes(os.getpid()) / 1e6:,.0f}"])

    few, curves = "leaderboard?metrics=brier,ece,accuracy&intervals=1&", ("reliability?", "triptych?")
    ask("leaderboard of three metrics with intervals, first read", few)
    ask("leaderboard of three metrics with intervals, a new filter", few, left_out=0)
    ask("the same, another filter", few, left_out=1)
    ask("`/reliability` and `/triptych`, first read of the items", *curves)
    ask("`/reliability`, a new filter", curves[0], left_out=2)
    ask("`/triptych`, a new filter", curves[1], left_out=3)
    ask("`/reliability` and `/triptych`, a new filter", *curves, left_out=4)
    ratio = costs["`/reliability` and `/triptych`, a new filter"] / costs["the same, another filter"]
    rows.append(["the last one as a multiple of a leaderboard under a new filter", f"{ratio:.1f}", ""])
    ask("leaderboard of all metrics with intervals, a new filter", "leaderboard?intervals=1&", left_out=5)
    return rows


if __name__ == "__main__":
    main()
