"""Ratios of processor time that must not get worse, on any machine; fails if one is worse by more than 30 %.

    make bench-quick                             compare with the stored ratios (quick.json); CI runs it
    python -m benchmarks.quick --keep            measure three times and store the medians

Both sides of a ratio are measured in turn, and the least of the repetitions counts: other load on the machine lengthens both. A
ratio above its limit is measured again, up to twice, before it counts as lost.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Before numpy is imported: threads that wait for each other take processor time, and more of it on a busy machine.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402
from flask import Flask  # noqa: E402

from benchmarks import distributions  # noqa: E402
from benchmarks.measuring import machine, markdown_table, timed  # noqa: E402
from benchmarks.synthetic_data import CATEGORIES, CLUES, fill, write_small_run  # noqa: E402
from clueline.dashboard.app import create_app  # noqa: E402
from clueline.dashboard.settings import Settings  # noqa: E402
from clueline.data.importing.ingest import import_paths  # noqa: E402
from clueline.data.importing.staging import ImportOptions  # noqa: E402
from clueline.data.store import Store, open_store  # noqa: E402
from clueline.data.sufficient_statistics import pooled  # noqa: E402
from clueline.queries.buzzing import Rules, threshold_explorer  # noqa: E402
from clueline.queries.buzzing.inputs import read_buzzing  # noqa: E402
from clueline.queries.engine.gather import gather  # noqa: E402
from clueline.queries.leaderboard import leaderboard  # noqa: E402
from clueline.queries.metrics import CATALOGUE, Metric  # noqa: E402
from clueline.queries.reliability import reliability, triptych  # noqa: E402
from clueline.queries.selection import Selection  # noqa: E402
from clueline.queries.slices import slices  # noqa: E402

KEPT_RATIOS = Path(__file__).with_suffix(".json")
LOST = 1.3  # times the stored ratio
TRIES = 3
REPEATED = 5
# Datasets of 20,000 and 200,000 responses, and one of 200,000 to which runs are added while others are measured.
SMALL, LARGE, CHANGING = "small", "large", "changing"
QUESTIONS, RUNS = {SMALL: 500, LARGE: 5_000, CHANGING: 5_000}, 10
PAIRS = ("auroc", "ks", "corp_mcb", "correlation")
METRICS = tuple(CATALOGUE[key] for key in ("brier", "overconfidence", "hmr", "ece", "ece_debiased", "reliability"))


@dataclass(frozen=True)
class Ratio:
    """Two pieces of work, one measured in terms of the other.

    Attributes:
        name: what is measured, and in terms of what.
        above, below: the work in the numerator and in the denominator.
        repeat: how often each is done per try.
    """

    name: str
    above: Callable[[], object]
    below: Callable[[], object]
    repeat: int = REPEATED

    def measure(self) -> float:
        """Return the least processor time of ``above`` divided by that of ``below``, done in turn."""
        above, below = [], []
        for _ in range(self.repeat):
            below += timed(self.below).processor
            above += timed(self.above).processor
        return min(above) / min(below)


def ratios(folder: Path) -> list[Ratio]:
    """Return everything that is measured, on stores that are made here."""
    store, empty = open_store(folder / "store", threads=1), open_store(folder / "empty", threads=1)
    for dataset, questions_of_dataset in QUESTIONS.items():
        fill(store, folder, dataset, questions_of_dataset, questions_of_dataset * CLUES * RUNS)
    fill(empty, folder / "bundle", CHANGING, QUESTIONS[CHANGING], 0)
    snapshot = store.snapshot()
    client = _app(store).test_client()
    small, large = Selection(SMALL), Selection(LARGE)

    def get(path: str) -> None:
        for _ in range(50):
            answer = client.get(f"/api/v1/{path}")
            assert answer.status_code == 200, answer.data[:500]

    def draw(dataset: str) -> None:
        request = {"path": "/", "query": f"dataset={dataset}", "page": False}
        body = {
            "output": "answer.data",
            "outputs": {"id": "answer", "property": "data"},
            "inputs": [{"id": "request", "property": "data", "value": request}],
            "changedPropIds": ["request.data"],
        }
        for _ in range(10):
            answer = client.post("/_dash-update-component", json=body)
            assert answer.status_code == 200, answer.data[:500]

    asked: Counter[object] = Counter()

    def filtered(view: object) -> Selection:
        asked[view] += 1  # of eight categories, all but those that the number has as bits
        left_out = [index for index in range(CATEGORIES) if asked[view] >> index & 1]
        return large.replace(category=tuple(f"Category {index}" for index in range(CATEGORIES) if index not in left_out))

    draw(LARGE)
    warm = f"leaderboard?dataset={LARGE}&metrics=brier,ece&intervals=1"
    get(warm)
    upload, grade = _Uploads(folder), _Grading(folder)
    arrays = _arrays()
    return [
        Ratio(
            "an upload of 2,000 rows: into 200,000 rows / into none",
            lambda: upload.into(store),
            lambda: upload.into(empty),
        ),
        Ratio(
            "leaderboard with intervals: 200,000 rows / 20,000 rows",
            lambda: leaderboard(snapshot, large, METRICS, True),
            lambda: leaderboard(snapshot, small, METRICS, True),
        ),
        Ratio(
            "intervals over 20,000 rows: AUROC, KS, CORP, correlation / metrics of sums",
            lambda: leaderboard(snapshot, small, [CATALOGUE[key] for key in PAIRS], True),
            lambda: leaderboard(snapshot, small, METRICS, True),
        ),
        Ratio(
            "reliability and triptych of 200,000 rows, a new filter / leaderboard with intervals, a new filter",
            lambda: [view(snapshot, filtered(view)) for view in (reliability, triptych)],
            lambda: leaderboard(snapshot, filtered(leaderboard), METRICS, True),
        ),
        Ratio(
            "slices: 200,000 rows / 20,000 rows",
            lambda: slices(snapshot, large, CATALOGUE["overconfidence"]),
            lambda: slices(snapshot, small, CATALOGUE["overconfidence"]),
        ),
        Ratio(
            "thresholds of buzzing: 200,000 rows / 20,000 rows",
            lambda: threshold_explorer(snapshot, read_buzzing(snapshot, large, Rules()), large, Rules()),
            lambda: threshold_explorer(snapshot, read_buzzing(snapshot, small, Rules()), small, Rules()),
        ),
        Ratio(
            "first read of the statistics of 200,000 rows / polars reads their files",
            lambda: gather(open_store(store.url, threads=1).snapshot(), large, METRICS),
            lambda: _read_objects(store, LARGE),
        ),
        Ratio("10 leaderboard pages, drawn again / Python formats 300,000 numbers", lambda: draw(LARGE), _format_numbers),
        Ratio("50 answers of JSON, asked for again / Python formats 300,000 numbers", lambda: get(warm), _format_numbers),
        Ratio(
            "import of whole distributions, graded: 24,000 rows / 6,000 rows",
            lambda: grade.responses(24_000),
            lambda: grade.responses(6_000),
            repeat=3,
        ),
        *(Ratio(f"`{key}` of 200,000 pairs / numpy sorts them", *_kernel(CATALOGUE[key], arrays)) for key in PAIRS),
        Ratio("`ece` of 200,000 pairs / numpy sorts them", *_sums(arrays)),
    ]


def _app(store: Store) -> Flask:
    return create_app(Settings(store=store.url, workers=1))


class _Uploads:
    """Imports runs of 2,000 responses, a different one each time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 10

    def into(self, store: Store) -> None:
        """Import the next run."""
        self.count += 1
        path = write_small_run(self.folder / "upload.csv", 2_000, self.count)
        import_paths(store, [path], ImportOptions(dataset=CHANGING, model=f"upload {self.count}"))


class _Grading:
    """Imports whole distributions that do not say what is correct, each into a new store."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.bundles: dict[int, Path] = {}

    def responses(self, rows: int) -> None:
        """Import ``rows`` responses of one run."""
        self.count += 1
        if rows not in self.bundles:
            self.bundles[rows] = distributions.write_bundle(self.folder / f"poll{rows}", rows, 1)
        import_paths(open_store(self.folder / f"graded{self.count}", threads=1), [self.bundles[rows]], ImportOptions())


def _format_numbers() -> None:
    for number in range(300_000):
        f"{number / 7:.6f}"


def _read_objects(store: Store, dataset: str) -> None:
    for path in (Path(store.url) / "objects").rglob("*.parquet"):
        if f"dataset={dataset}" in str(path):
            pl.read_parquet(path)


Arrays = tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]]


def _arrays() -> Arrays:
    """Return the confidence, in steps of 0.001, and the correctness of 200,000 items."""
    chance = np.random.default_rng(6)
    confidence = np.round(chance.random(200_000), 3)
    return confidence, (chance.random(200_000) < confidence).astype(float)


def _kernel(metric: Metric, arrays: Arrays) -> tuple[Callable[[], object], Callable[[], object]]:
    return lambda: metric.of_pairs(*arrays), _sort(arrays)


def _sort(arrays: Arrays) -> Callable[[], object]:
    return lambda: np.argsort(arrays[0], kind="stable")


def _sums(arrays: Arrays) -> tuple[Callable[[], object], Callable[[], object]]:
    ece, conventions = CATALOGUE["ece"], Selection(LARGE).conventions
    return lambda: ece.value(pooled(*arrays), conventions), _sort(arrays)


def measured(chosen: list[Ratio], limits: dict[str, float]) -> dict[str, float]:
    """Measure every ratio. One above its limit is measured again, and the least of the tries counts."""
    values = {}
    for ratio in chosen:
        tries = [ratio.measure()]
        while tries and min(tries) > limits.get(ratio.name, float("inf")) and len(tries) < TRIES:
            tries.append(ratio.measure())
        values[ratio.name] = min(tries)
        print(f"{values[ratio.name]:8.2f}  {ratio.name}", flush=True)
    return values


def main() -> int:
    """Measure; compare with the stored ratios or store new ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help=f"write the ratios to {KEPT_RATIOS.name}")
    options = parser.parse_args()
    kept: dict[str, float] = json.loads(KEPT_RATIOS.read_text(encoding="utf-8"))["ratios"] if KEPT_RATIOS.exists() else {}
    print(machine())
    with tempfile.TemporaryDirectory(prefix="clueline-") as folder:
        chosen = ratios(Path(folder))
        if options.keep:
            rounds = [measured(chosen, {}) for _ in range(TRIES)]
            kept = {ratio.name: round(statistics.median(values[ratio.name] for values in rounds), 3) for ratio in chosen}
            KEPT_RATIOS.write_text(json.dumps({"written on": machine(), "ratios": kept}, indent=2) + "\n", encoding="utf-8")
            return 0
        values = measured(chosen, {name: LOST * value for name, value in kept.items()})
    lost = [name for name, value in values.items() if name not in kept or value > LOST * kept[name]]
    rows = [[name, f"{values[name]:.2f}", f"{kept.get(name, float('nan')):.2f}"] for name in values]
    print("\n".join(["", *markdown_table(["ratio of processor times", "now", "kept"], rows), ""]))
    for name in lost:
        print(f"LOST: {name}" if name in kept else f"not in {KEPT_RATIOS.name}, run with --keep: {name}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
