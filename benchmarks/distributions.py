"""How long metrics that compare whole distributions with human votes take, at first and from memory; writes distributions.md.

    python -m benchmarks.distributions                        a million responses of 100 runs
    python -m benchmarks.distributions --responses 20000      a quick look (writes no file unless --out is given)

Every response gives a distribution over three classes, on items with a hundred votes each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measuring import machine, timed
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.engine.distribution_columns import run_distributions
from clueline.queries.engine.gather import gather
from clueline.queries.human_votes import people
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import Metric
from clueline.queries.metrics.catalogue import VOTES
from clueline.queries.selection import Selection

OUT = Path(__file__).with_suffix(".md")
FULL, RUNS, REPEATED = 1_000_000, 100, 5
DATASET, CLASSES = "poll", ["negative", "neutral", "positive"]
WANTED = 0.5  # processor seconds of a metric at most, once distributions are in memory
Row = tuple[str, float, float]  # what was done, seconds, processor seconds


def write_bundle(folder: Path, responses: int, runs: int) -> Path:
    """Write a dataset of items in three classes, and runs that give their whole distributions."""
    random = np.random.default_rng(5)
    items = responses // runs
    ids = pl.Series([f"i{index:06}" for index in range(items)])
    (folder / "responses").mkdir(parents=True)
    (folder / "dataset.json").write_text(json.dumps({"dataset": DATASET, "title": "Poll", "kind": "votes", "classes": CLASSES}))
    pl.DataFrame({"question_id": ids, "text": ids}).write_parquet(folder / "questions.parquet")
    shares_of_people = random.dirichlet(np.ones(3), items)
    pl.DataFrame(
        {
            "question_id": ids.gather(np.repeat(np.arange(items), 3)),
            "class": CLASSES * items,
            "votes": random.multinomial(100, shares_of_people).ravel(),
        }
    ).write_parquet(folder / "votes.parquet")
    for run in range(runs):
        shares = (shares_of_people + random.dirichlet(np.ones(3), items)) / 2
        pl.DataFrame(
            {
                "question_id": ids,
                "guess": np.array(CLASSES)[shares.argmax(axis=1)],
                "options": [json.dumps(dict(zip(CLASSES, row, strict=True))) for row in shares.tolist()],
            }
        ).with_columns(model=pl.lit(f"model {run:03}"), elicitation=pl.lit("softmax")).write_parquet(
            folder / "responses" / f"{run:03}.parquet"
        )
    return folder


def row(name: str, work: Callable[[], object], repeat: int = 1) -> Row:
    """Time some work and return the medians of its repetitions."""
    timings = timed(work, repeat)
    result = name, statistics.median(timings.seconds), statistics.median(timings.processor)
    print(f"{name}: {result[1]:.3f} s, processors {result[2]:.3f} s", flush=True)
    return result


def measure(folder: Path, responses: int, runs: int) -> tuple[list[Row], int]:
    """Time everything. Return the rows, and the bytes of distributions in memory."""
    store = open_store(folder / "store", threads=2)
    bundle = write_bundle(folder / "poll", responses, runs)
    rows = [row("import", lambda: import_paths(store, [bundle], ImportOptions()))]
    snapshot, selection = open_store(folder / "store", threads=2).snapshot(), Selection(DATASET, common=False)

    def values(metrics: tuple[Metric, ...]) -> None:
        evidence = gather(snapshot, selection, metrics)
        for metric in metrics:
            evidence.values(metric)

    rows.append(row("all metrics, first read", lambda: values(VOTES)))
    rows += [row(f"`{metric.key}`", partial(values, (metric,)), REPEATED) for metric in VOTES]
    rows.append(row("all metrics", lambda: values(VOTES), REPEATED))
    rows.append(
        row("leaderboard of all metrics, with intervals and ranks", lambda: leaderboard(snapshot, selection, VOTES, True))
    )
    rows.append(row("page People", lambda: people(snapshot, selection), REPEATED))
    names = [run for (run,) in snapshot.rows("select run from runs order by position")]
    return rows, sum(part.nbytes for part in run_distributions(snapshot, DATASET, names))


def report(rows: list[Row], size: int, responses: int, runs: int) -> str:
    """Return the results as Markdown."""
    slowest = max(processor for name, _, processor in rows if name.startswith("`"))
    lines = [
        f"# Whole distributions compared with votes: {responses:,} responses of {runs} runs",
        "",
        f"Written by `benchmarks/distributions.py`: {machine()}. Each run's distributions",
        f"are read and compared with the votes once. Times from memory are medians of {REPEATED} repetitions.",
        "",
        "| | s | CPU s |",
        "|---|---:|---:|",
        *(f"| {name} | {seconds:.3g} | {processor:.3g} |" for name, seconds, processor in rows),
        "",
        f"In memory: {size / 1e6:.0f} MB. The slowest metric takes {slowest:.2g} s of processor time. Goal: at most {WANTED} s.",
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--responses", type=int, default=FULL)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--out", type=Path, help="where to write the table")
    chosen = parser.parse_args()
    out = chosen.out or (OUT if chosen.responses == FULL else None)
    with tempfile.TemporaryDirectory(prefix="clueline-") as folder:
        text = report(*measure(Path(folder), chosen.responses, chosen.runs), chosen.responses, chosen.runs)
    print(text)
    if out:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
