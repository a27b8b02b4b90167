"""Seconds per metric over ten million responses, from raw rows and from stored statistics, compared with other libraries.

    make bench-metrics                                  ten million responses of 100 runs
    make bench-metrics BENCH_ARGS='--responses 200000'  a quick look (writes no file unless --out is given)

Makes a dataset, imports it into a store in a scratch folder as an analyst would, times every metric of the catalogue, and times
scikit-learn, netcal, torchmetrics, relplot and model-diagnostics on the same arrays. If two compute the same metric, their values
are compared, too. Prints what it writes to ``benchmarks/metrics.md``.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.other_libraries import APART, LIBRARIES, MODULES, Floats
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import Snapshot, open_store
from clueline.data.sufficient_statistics import BIN_COLUMNS, BINS, bin_of, pooled
from clueline.queries.engine.gather import gather
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions, Metric
from clueline.queries.metrics.kernels.bins import FOLDS, assign_mass_bins, mass_bins, question_folds
from clueline.queries.metrics.kernels.item_totals import net_reward
from clueline.queries.metrics.metric import ATTEMPTED_ITEMS, NET_REWARD
from clueline.queries.selection import Selection
from tests.helpers.run_tables import with_runs

Arrays = list[tuple[Floats, Floats]]  # confidence and correctness of each run
FULL, CLUES, DATASET = 10_000_000, 5, "bench"
OUT = Path(__file__).with_suffix(".md")
MASS = Conventions(binning="mass15")
OF_PAIRS = [metric for metric in METRICS if "whole distribution" not in metric.needs]  # the others: distributions.py
MEASURED = [
    *((metric, Conventions()) for metric in OF_PAIRS),
    (CATALOGUE["smooth_ece"], Conventions()),
    (CATALOGUE["ece"], MASS),
]


@dataclass
class Timed:
    """Seconds of each repetition."""

    seconds: list[float]

    @property
    def middle(self) -> float:
        """The median."""
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        if len(self.seconds) == 1:
            return f"{self.middle:.3g}"
        spread = (max(self.seconds) - min(self.seconds)) / self.middle / 2 if self.middle else 0
        return f"{self.middle:.3g} ± {spread:.0%}"


def timed(repeat: int, work: Callable[[], Any]) -> tuple[Timed, Any]:
    """Time some work ``repeat`` times. Return the timings and the last result."""
    seconds, result = [], None
    for _ in range(repeat):
        result = None
        gc.collect()
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return Timed(seconds), result


# -- data --------------------------------------------------------------------------------------------------------------


def write_bundle(folder: Path, responses: int, runs: int) -> None:
    """Write a dataset of incremental questions that two human teams heard, answered by some runs. Every answer is graded.

    Half of the runs state unrounded confidences, half state steps of 1 %. No step is an edge of a bin, where libraries differ.
    """
    chance = np.random.default_rng(4)
    questions = responses // runs // CLUES
    ids = pl.Series(_question_ids(questions))
    (folder / "responses").mkdir(parents=True)
    (folder / "dataset.json").write_text(json.dumps({"dataset": DATASET, "title": "Benchmark", "kind": "incremental"}))
    pl.DataFrame({"question_id": ids, "answer": ids}).write_parquet(folder / "questions.parquet")
    each_clue = ids.gather(np.repeat(np.arange(questions), CLUES))
    clue = np.tile(np.arange(CLUES), questions)
    pl.DataFrame({"question_id": each_clue, "clue": clue, "text": ["one two three four"] * len(clue)}).write_parquet(
        folder / "clues.parquet"
    )
    teams = pl.DataFrame(
        {
            "question_id": ids.gather(np.repeat(np.arange(questions), 2)),
            "match_id": ["m"] * (2 * questions),
            "team": ["Ash", "Birch"] * questions,
        }
    )
    teams.with_columns(team_kind=pl.lit("human")).write_parquet(folder / "exposures.parquet")
    teams.with_columns(
        word=pl.Series(chance.integers(0, 4 * CLUES, 2 * questions)),
        correct=pl.Series(chance.random(2 * questions) < 0.6).cast(pl.Float64),
    ).write_parquet(folder / "buzzes.parquet")
    steps = np.array([step / 100 for step in range(101) if step % 10])
    ease = np.repeat(chance.normal(0, 1, questions), CLUES) + np.tile(np.linspace(-2, 1, CLUES), questions)
    for run in range(runs):
        certain = 1 / (1 + np.exp(-(ease + chance.normal(0, 1, len(ease)))))
        if run % 2:
            certain = steps[np.clip(np.searchsorted(steps, certain), 0, len(steps) - 1)]
        right = chance.random(len(ease)) < certain ** (1 + run / runs)
        pl.DataFrame(
            {"question_id": each_clue, "clue": clue, "confidence": certain, "correct": right.astype(float)}
        ).with_columns(model=pl.lit(f"model {run:03}"), elicitation=pl.lit("verbalized" if run % 2 else "logit")).write_parquet(
            folder / "responses" / f"{run:03}.parquet"
        )


def _question_ids(count: int) -> list[str]:
    return [f"q{index:06}" for index in range(count)]


def arrays_of(snapshot: Snapshot) -> Arrays:
    """Return the confidence and correctness of each run, in the order of questions and clues."""
    rows = with_runs(snapshot).frame(
        """select r.position, p.confidence, p.correct from responses p join runs r using (run)
        join questions q on q.dataset = p.dataset and q.question_id = p.question_id
        where p.dataset = $d order by r.position, q.position, p.clue""",
        {"d": DATASET},
    )
    positions = rows["position"].to_numpy()
    cuts = np.flatnonzero(np.diff(positions)) + 1
    confidence, correct = (np.split(np.ascontiguousarray(rows[name].to_numpy()), cuts) for name in ("confidence", "correct"))
    return list(zip(confidence, correct, strict=True))


# -- our side ----------------------------------------------------------------------------------------------------------


def _by_fold(metric: Metric, confidence: Floats, correct: Floats, conventions: Conventions) -> float:
    """Compute a cross-fitted metric, which uses folds of questions, for one run from raw arrays."""
    folds = np.repeat(question_folds(_question_ids(len(confidence) // CLUES)), CLUES)
    if count := conventions.mass_bins:
        place = np.empty(len(confidence), np.int64)
        order, cells = assign_mass_bins(confidence, np.array([len(confidence)]), count)
        place[order] = cells
    else:
        count, place = BINS, bin_of(confidence)
    gaps = np.bincount(folds * count + place, confidence - correct, FOLDS * count)
    items = np.bincount(folds, minlength=FOLDS).astype(float)
    totals = {"correct": np.asarray(correct.sum()), "correct_sq": np.asarray((correct**2).sum())}
    return float(metric.value(totals | {"gaps_by_fold": gaps, "items_by_fold": items}, conventions))


def from_arrays(metric: Metric, arrays: Arrays, conventions: Conventions) -> Floats:
    """Compute the metric of each run from raw arrays: sums over items, then the kernel."""
    count = conventions.mass_bins if metric.binned else None
    values = []
    for confidence, correct in arrays:
        if metric.cross_fitted:
            values.append(_by_fold(metric, confidence, correct, conventions))
            continue
        sums = pooled(confidence, correct)
        sums[ATTEMPTED_ITEMS] = sums["items"]
        if metric.thresholded:
            sums[NET_REWARD] = net_reward(confidence, correct, conventions.t).sum()
        if count:
            sums |= dict(zip(BIN_COLUMNS, mass_bins(confidence, correct, count), strict=True))
        values.append(float(metric.value(sums, conventions)))
    return np.array(values)


# -- the run -----------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """The timings of one metric."""

    name: str
    kernel: Timed  # from statistics in memory
    scan: Timed  # reading the statistics from the store
    raw_kernel: Timed | None  # from arrays in memory
    raw_scan: Timed | None  # from responses in the store
    others: dict[str, Timed]


def measure(snapshot: Snapshot, arrays: Arrays, repeat: int, say: Callable[[str], None]) -> list[Row]:
    """Time every metric in every way, and compare the values."""
    libraries = {name: make() for name, make in LIBRARIES.items()}
    gc.freeze()  # objects that exist now need not be scanned before each measurement
    rows = []
    scans: dict[str, tuple[Timed, Any]] = {}  # reads of items: for all item sums, for all bins, for all metrics of questions
    for metric, conventions in MEASURED:
        mass = conventions.mass_bins is not None
        name = f"{metric.key}, mass15" if mass else metric.key
        selection = Selection(DATASET, conventions=conventions)
        scan, _ = timed(repeat, lambda: gather(snapshot, selection, [metric]))  # noqa: B023 - called at once
        kernel = Timed([])
        for _ in range(repeat):
            fresh = gather(snapshot, selection, [metric])  # again each time, because it caches its values
            once, ours = timed(1, lambda: fresh.values(metric))  # noqa: B023
            kernel.seconds += once.seconds
        raw_kernel = raw_scan = None
        if metric.pairs is not None or mass:
            raw_kernel, raw_scan = kernel, scan
        else:
            if metric.level == "item":
                raw_kernel, again = timed(repeat, lambda: from_arrays(metric, arrays, conventions))  # noqa: B023
                _compare(name, "raw arrays", ours, again, 1e-9)
            group = "bins" if metric.binned else metric.level
            if group not in scans:
                together = [
                    metric for metric in OF_PAIRS if metric.pairs is None and ("bins" if metric.binned else metric.level) == group
                ]
                whole = selection.replace(revealed=(0.0, 1.0))  # a filter that keeps all clues: statistics are recomputed
                scans[group] = timed(repeat, lambda: gather(snapshot, whole, together))  # noqa: B023
            raw_scan, statistics = scans[group]
            _compare(name, "responses", ours, statistics.values(metric), 1e-9)
        others = {}
        for library, functions in libraries.items():
            if name in functions:
                other = functions[name]
                other(*arrays[0])  # its first call may import or compile, which is not timed
                others[library], values = timed(repeat, lambda: np.array([other(*pair) for pair in arrays]))  # noqa: B023
                _compare(name, library, ours, values, APART.get((library, name), 1e-9))
        rows.append(Row(name, kernel, scan, raw_kernel, raw_scan, others))
        say(f"{name}: {kernel.middle:.3g} s from statistics")
    return rows


def _compare(name: str, source: str, ours: Floats, theirs: Floats, within: float) -> None:
    """Stop if values differ: times of different things cannot be compared."""
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=within, err_msg=f"{name} from {source}")


def _sum(*times: Timed | None) -> float | None:
    known = [result.middle for result in times if result is not None]
    return sum(known) if len(known) == len(times) else None


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def report(rows: Sequence[Row], facts: Sequence[str], phases: dict[str, Timed | float], responses: int, runs: int) -> str:
    """Return the text of the file."""
    lines = [
        f"# Seconds per metric over {responses:,} responses of {runs} runs",
        "",
        "`make bench-metrics` writes this file. Times are medians of the repetitions, ± half of their spread.",
        "They come from one machine on one day, so only the ratios matter.",
        "",
        *(f"- {fact}" for fact in facts),
        "",
        "| once | s |",
        "|---|--:|",
        *(f"| {name} | {f'{took:.3g}' if isinstance(took, float) else took} |" for name, took in phases.items()),
        "",
        "## Each metric, all runs",
        "",
        "- *statistics, kernel*: from the per-question statistics in memory to one number per run.",
        "- *statistics, with scan*: the same, including DuckDB's read of the store. This is what a page waits for.",
        "- *raw, kernel*: from the arrays of confidence and correctness in memory to one number per run (sums over",
        "  items, then the same kernel). Metrics of questions need human curves and difficulties, so they have no such column.",
        "- *raw, with scan*: from the items held in memory, as when clues are filtered. The first metric reads them from the",
        "  store. There is one pass for all sums over items, one for all bins and one for all sums of questions, shared by the",
        "  metrics that read from it.",
        "- *gain*: raw with scan divided by statistics with scan. Metrics of pairs, and bins of equal mass, are not functions",
        "  of sums. They read the responses either way, so both columns are one measurement.",
        "",
        "| metric | statistics, kernel | statistics, with scan | raw, kernel | raw, with scan | gain |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        kept, raw = _sum(row.scan, row.kernel), _sum(row.raw_scan, row.kernel)
        gain = "1" if row.raw_scan is row.scan else f"{raw / kept:.1f}" if raw and kept else ""
        lines.append(f"| {row.name} | {row.kernel} | {_seconds(kept)} | {row.raw_kernel or ''} | {_seconds(raw)} | {gain} |")
    lines += [
        "",
        "## Compared with other libraries, on the same arrays",
        "",
        "Seconds for all runs, one run after the other, from arrays in memory. No column includes imports or reading.",
        "In brackets: multiples of *raw, kernel*, and of *statistics, with scan*. The values agree to 1e-9 (torchmetrics' AUROC",
        "and accuracy, in single precision, to 1e-6; relplot's smooth error to 0.002; netcal's bins of equal mass have other",
        "bounds), or the run would have failed. torch-uncertainty's errors of bins of equal width are torchmetrics' own class.",
        "An empty cell: the library has no such metric. For a metric of sums, Clueline computes all thirteen sums over items. It",
        "needs two to five of them, but they are computed once for all metrics, so each further metric costs next to nothing.",
        "",
        f"| metric | Clueline, raw, kernel | {' | '.join(LIBRARIES)} |",
        "|---|--:|" + "--:|" * len(LIBRARIES),
    ]
    for row in rows:
        if row.others and row.raw_kernel is not None:
            raw, kept = row.raw_kernel.middle, _sum(row.scan, row.kernel) or 1.0
            cells = [
                f"{row.others[name]} ({row.others[name].middle / raw:.2g}, {row.others[name].middle / kept:.2g})"
                if name in row.others
                else ""
                for name in LIBRARIES
            ]
            lines.append(f"| {row.name} | {row.raw_kernel} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def machine(repeat: int) -> list[str]:
    """Return facts about the machine. Times mean nothing without them."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = (
        "numpy",
        "duckdb",
        "polars",
        "scipy",
        "scikit-learn",
        "netcal",
        "torchmetrics",
        "torch",
        "relplot",
        "model-diagnostics",
    )
    return [
        f"{date.today()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}; load average at the start {os.getloadavg()[0]:.1f}",
        ", ".join(f"{name} {version(name)}" for name in packages),
        f"repetitions of each: {repeat}",
    ]


def main() -> None:
    """Measure, print the tables and write them."""
    parser = argparse.ArgumentParser(description="Time every metric.")
    parser.add_argument("--responses", type=int, default=FULL)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, help=f"file to write; {OUT.name} for the full size, none for another")
    chosen = parser.parse_args()
    out = chosen.out or (OUT if chosen.responses == FULL else None)
    facts = machine(chosen.repeat)
    start = time.perf_counter()

    def say(what: str) -> None:
        print(f"[{time.perf_counter() - start:6.0f} s] {what}", flush=True)

    phases: dict[str, Timed | float] = {}
    for name, module in zip(LIBRARIES, MODULES, strict=True):
        phases[f"import of {name}, after what came before it"] = timed(1, lambda: importlib.import_module(module))[0].middle  # noqa: B023
    with tempfile.TemporaryDirectory(prefix="clueline-bench-") as scratch:
        folder = Path(scratch)
        write_bundle(folder / "bundle", chosen.responses, chosen.runs)
        say("the data set is written")
        store = open_store(folder / "store", memory_limit="12GB")
        took, _ = timed(1, lambda: import_paths(store, [folder / "bundle"], ImportOptions()))
        phases["import of the data set from Parquet, statistics included"] = took.middle
        say("it is in the store")
        snapshot = store.snapshot()
        took, arrays = timed(1, lambda: arrays_of(snapshot))
        phases["read of all pairs into arrays"] = took.middle
        assert len(arrays) == chosen.runs
        rows = measure(snapshot, arrays, chosen.repeat, say)
        size = sum(len(confidence) for confidence, _ in arrays)
        del arrays
        store.close()
    facts.append(f"load average at the end {os.getloadavg()[0]:.1f}; above 1, other programs were running too")
    text = report(rows, facts, phases, size, chosen.runs)
    print(text)
    if out:
        out.write_text(text, encoding="utf-8")
    say("done")


if __name__ == "__main__":
    main()
