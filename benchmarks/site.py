"""How long ``report --site`` takes for a dataset of a thousand questions; prints a table.

    python -m benchmarks.site                     1,000 questions: with clues and people, and asked whole
    python -m benchmarks.site --questions 60      a quick look

The first dataset is Pyramid, repeated, with its people and eight runs. The other has eight runs, too, and questions that are
asked whole. Each site is written by a process of its own to a folder that is removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measuring import machine, markdown_table
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store

PYRAMID = Path(__file__).parents[1] / "data" / "sample" / "pyramid"
RUNS = 8
WANTED = 60  # seconds at most


def write_repeated(folder: Path, questions: int) -> Path:
    """Write Pyramid with other ids, as often as there are to be questions."""
    (folder / "responses").mkdir(parents=True)
    facts = json.loads((PYRAMID / "dataset.json").read_text()) | {"dataset": folder.name, "title": folder.name}
    (folder / "dataset.json").write_text(json.dumps(facts))
    tables = {path: pl.read_csv(path, infer_schema=False) for path in PYRAMID.rglob("*.csv")}
    ids = tables[PYRAMID / "questions.csv"]["question_id"]
    copies = -(-questions // len(ids))
    kept = {f"{one}-{copy}" for copy in range(copies) for one in ids[: min(len(ids), questions - copy * len(ids))]}
    for path, table in tables.items():
        names = [name for name in ("question_id", "match_id") if name in table.columns]
        repeated = pl.concat(table.with_columns(pl.col(names) + f"-{copy}") for copy in range(copies))
        repeated.filter(pl.col("question_id").is_in(kept)).write_csv(folder / path.relative_to(PYRAMID))
    return folder


def write_whole(folder: Path, questions: int) -> Path:
    """Write questions that are asked whole, and runs that answer each of them."""
    (folder / "responses").mkdir(parents=True)
    (folder / "dataset.json").write_text(json.dumps({"dataset": folder.name, "title": folder.name, "kind": "single"}))
    ids, chance = [f"q{index:05}" for index in range(questions)], np.random.default_rng(questions)
    text = [f"Which number follows {index}?" for index in range(questions)]
    pl.DataFrame({"question_id": ids, "answer": ids, "text": text}).write_csv(folder / "questions.csv")
    for run in range(RUNS):
        sure = np.round(chance.random(questions), 3)
        guesses = {"question_id": ids, "guess": ids, "correct": chance.random(questions) < sure, "confidence": sure}
        answers = pl.DataFrame(guesses).with_columns(model=pl.lit(f"model {run}"))
        answers.write_csv(folder / "responses" / f"{run}.csv")
    return folder


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--questions", type=int, default=1000)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        store = open_store(folder / "store")
        for name, write in (("with clues and people", write_repeated), ("asked whole", write_whole)):
            bundle = write(folder / name.split()[-1], options.questions)
            import_paths(store, [bundle], ImportOptions())
            command = [sys.executable, "-m", "clueline", "report", "--site", str(folder / "site"), "--dataset", bundle.name]
            command += ["--store", store.url]
            began, busy = time.perf_counter(), os.times()
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, used = time.perf_counter() - began, os.times()
            processor = used.children_user + used.children_system - busy.children_user - busy.children_system
            rows.append([name, done.stderr.split()[0], f"{seconds:.0f}", f"{processor:.0f}", WANTED])
            (folder / "site").rename(folder / f"site of {bundle.name}")
    print(machine(), "\n")
    print("\n".join(markdown_table(["Questions", "Pages", "Seconds", "Processor seconds", "Wanted at most"], rows)))


if __name__ == "__main__":
    main()
