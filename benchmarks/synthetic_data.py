"""Data to measure with: randomly generated datasets and runs of any size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import Store

CLUES = 4  # of a question
CATEGORIES = 8
ROWS_AT_ONCE = 10_000_000  # of a file, so that memory need not hold all runs together


def write_bundle(folder: Path, dataset: str, questions: int) -> Path:
    """Write a dataset of incremental questions, each with a category and a difficulty."""
    folder.mkdir(parents=True)
    ids = pl.Series([f"q{index:07}" for index in range(questions)])
    (folder / "dataset.json").write_text(json.dumps({"dataset": dataset, "title": dataset, "kind": "incremental"}))
    category = [f"Category {index % CATEGORIES}" for index in range(questions)]
    difficulty = np.round(np.random.default_rng(questions).random(questions), 3)
    facts = pl.DataFrame({"question_id": ids, "answer": ids, "category": category, "difficulty": difficulty})
    facts.write_parquet(folder / "questions.parquet")
    clue = np.tile(np.arange(CLUES), len(ids))
    question_ids = ids.gather(np.repeat(np.arange(len(ids)), CLUES))
    text = ["one two three four"] * len(clue)
    pl.DataFrame({"question_id": question_ids, "clue": clue, "text": text}).write_parquet(folder / "clues.parquet")
    return folder


def runs_of(questions: int, rows: int, seed: int) -> Iterator[pl.DataFrame]:
    """Yield graded responses to a dataset, run by run. Their order is not the one in which they are stored."""
    chance = np.random.default_rng(seed)
    items = questions * CLUES
    for run in range(max(1, rows // items)):
        place = chance.permutation(items)[: min(rows, items)]
        numbers = pl.Series(place // CLUES)
        ids = pl.select(pl.lit("q") + numbers.cast(pl.String).str.zfill(7)).to_series()
        guesses = pl.select(pl.lit("answer ") + ids).to_series()
        certain = np.round(chance.random(len(place)), 4)
        yield pl.DataFrame(
            {
                "model": np.full(len(place), f"model {seed}-{run}"), "question_id": ids, "clue": place % CLUES, "guess": guesses,
                "confidence": certain, "correct": chance.random(len(place)) < certain,
            }
        )  # fmt: skip


def write(path: Path, questions: int, rows: int, seed: int = 1) -> int:
    """Write a file of responses and return their number."""
    parts = list(runs_of(questions, rows, seed)) if path.suffix == ".parquet" else runs_of(questions, rows, seed)
    count = 0
    if isinstance(parts, list):
        whole = pl.concat(parts)
        whole.write_parquet(path)
        return len(whole)
    with path.open("wb") as out:
        for index, part in enumerate(parts):
            part.write_csv(out, include_header=index == 0)
            count += len(part)
    return count


def fill(store: Store, folder: Path, dataset: str, questions: int, rows: int) -> None:
    """Import a dataset, and runs that together have ``rows`` responses.

    Args:
        store: the store to import to.
        folder: for temporary files. The bundle stays there; files of responses are deleted.
        dataset: its name.
        questions: number of questions. A run answers each of their clues.
        rows: number of responses; 0 for no run.
    """
    import_paths(store, [write_bundle(folder / dataset, dataset, questions)], ImportOptions())
    at_once = max(1, ROWS_AT_ONCE // (questions * CLUES)) * questions * CLUES
    path = folder / f"{dataset}.parquet"
    for seed, done in enumerate(range(0, rows, at_once), start=1):
        write(path, questions, min(at_once, rows - done), seed)
        import_paths(store, [path], ImportOptions(dataset=dataset))
        path.unlink()


def write_small_run(path: Path, rows: int, variant: int) -> Path:
    """Write a CSV of one run with ``rows`` responses and no model's name. Runs of different variants differ."""
    lines = ["question_id,clue,guess,confidence,correct"]
    lines += [f"q{k // CLUES:07d},{k % CLUES},guess {k % 7},0.{variant}{k % 10},{k % 3 == 0:d}" for k in range(rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
