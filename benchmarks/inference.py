"""How often conclusions about runs are wrong, by simulation; writes inference.md and the table of the page Metrics.

Run it with ``make calibrate-ourselves``. It takes about ten minutes; the tests run a short form of it.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from queries.interval_coverage_in_simulations import MEASURED
from tests.helpers import (
    buzz_simulation,
    calibration_simulation,
    claims_simulation,
    cluster_simulation,
    decision_simulation,
    few_errors_simulation,
    simulation,
    skipping_simulation,
)
from tests.helpers.few_errors_simulation import Coverage

OUT = Path(__file__).with_suffix(".md")
SEED = 2605
STUDIES = (
    (simulation.pair_p_values, 10, "False positives, at most nominal. Two runs are equally good."),
    (simulation.uniform_p_values, 10, "Share of p-values below the level: it should be nominal. Two runs are equally good."),
    (simulation.letters, 5, "False positives, at most nominal. Eight runs are equally good; p-values are Holm-adjusted."),
    (claims_simulation.letters_over_metrics, 1, "False positives, at most 0.070. Eight runs are equally good by all metrics."),
    (claims_simulation.best_runs, 1, "Coverage. All runs that are truly best are among those that may be best."),
    (claims_simulation.equality_within_a_margin, 2, "False positives, at most 0.060. Runs are equal, or differ by the margin."),
    (simulation.slices, 2, "False positives, at most nominal. The parts of the questions have no meaning."),
    (simulation.jackknife_intervals, 5, "Coverage."),
    (simulation.bootstrap_intervals, 5, "Coverage."),
    (simulation.slice_intervals, 2, "Coverage. Slices with few questions; the percentiles in brackets are not used."),
    (simulation.calibration_intervals, 2, "Coverage. A true value of 0 means a calibrated run."),
    (calibration_simulation.false_alarms, 5, "False positives, at most nominal. The run is calibrated."),
    (simulation.bands, 1, "Coverage of the isotonic curve of a calibrated run."),
    (calibration_simulation.whole_curves, 1, "Coverage of the isotonic curve of a calibrated run, at every confidence."),
    (simulation.reliability_bins, 1, "Coverage, over all bins that contain items."),
    (few_errors_simulation.equal_pairs, 1, "False positives, at most 0.060. Two runs are equally good, with few errors."),
    (buzz_simulation.equal_teams, 5, "False positives, at most nominal. The teams of a tournament are equally good."),
    (buzz_simulation.outcome_intervals, 5, "Coverage, of a run against the human teams."),
    *decision_simulation.STUDIES,
    *cluster_simulation.STUDIES,
)  # fmt: skip

HEAD = ("| claim | setting | nominal | measured | noise | boards |", "|---|---|---:|---:|---:|---:|")
FEW_ERRORS_CLAIM = "interval with few questions or few errors"
FEW_ERRORS_ABOUT = """## Few questions or few errors

Coverage of intervals, nominal .950, with their mean width, and the share of runs without an interval: the metric is undefined
without an error. A metric fails if its coverage is below .930 by more than two standard errors. The last columns are about all of
"""


def few_errors(runs: int, sizes: Sequence[int] = (20, 30, 60, 200)) -> tuple[list[str], list[list[object]]]:
    """Return the section about few errors, and the rows of the page: in each setting, the metric with the lowest coverage.

    Args:
        runs: number of simulated runs of each setting.
        sizes: numbers of questions.
    """
    shown = ("accuracy", "brier", "overconfidence", "net_score", "auroc", "hmr")
    head = ["setting", "runs", *shown, "lowest coverage", "of", "metrics that fail"]
    lines = [
        FEW_ERRORS_ABOUT + f"{len(few_errors_simulation.KEYS)} metrics.",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
    ]
    rows: list[list[object]] = []
    for stated, questions, clues, dependent, setting in few_errors_simulation.settings(sizes):
        measured = few_errors_simulation.coverage(runs, SEED, questions, clues, stated, dependent)
        by_key = {row.key: row for row in measured}
        worst = min(measured, key=lambda row: row.covered + row.noise)
        failed = [row.key for row in measured if row.covered < 0.93 - row.noise]
        cells = [
            setting,
            f"{runs:,}",
            *(_cell(by_key[key]) for key in shown),
            f"{worst.covered:.3f}",
            worst.key,
            ", ".join(failed),
        ]
        lines.append(f"| {' | '.join(cells)} |")
        rows.append(
            [FEW_ERRORS_CLAIM, f"{worst.key}, {setting}", "0.950", f"{worst.covered:.3f}", f"{worst.noise:.3f}", worst.runs]
        )
        print(lines[-1], flush=True)
    return lines, rows


def _cell(measured: Coverage) -> str:
    without = f", {measured.without:.0%} without" if measured.without else ""
    return f"{measured.covered:.3f} (width {measured.width:.3f}{without})"


def main() -> None:
    """Run every study and write the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--boards", type=int, default=400, help="simulated boards of the dearest study")
    given = arguments.parse_args()
    lines = [
        "# How often the statistical claims hold",
        "",
        f"Written by `benchmarks/inference.py` on {date.today()}. Runs are simulated: the runs share each question's ease, and",
        "the clues of a question depend on each other. Noise: half the width of a 99.9 % interval of a share that is nominal.",
    ]  # fmt: skip
    measured: list[list[object]] = []
    for study, factor, about in STUDIES:
        lines += ["", "", *HEAD]
        rows = list(study(round(given.boards * factor), SEED))
        measured += [
            [row.study, row.setting, f"{row.nominal:.3f}", f"{row.measured:.3f}", f"{row.noise:.3f}", row.boards] for row in rows
        ]
        lines[-3] = f"{about}\n"
        lines += [
            f"| {row.study} | {row.setting} | {row.nominal:.3f} | {row.measured:.3f} | {row.noise:.3f} | {row.boards:,} |"
            for row in rows
        ]
        print(f"{study.__name__}: {len(rows)} rows", flush=True)
    section, rows = few_errors(given.boards * 5)
    lines += ["", *section, "", "The metric with the lowest coverage in each setting, as the page Metrics shows it.", "", *HEAD]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    measured += rows
    lines += skipping_table(2 * given.boards)
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [["claim", "setting", "nominal", "measured", "noise", "boards"], *measured]
        )


def skipping_table(boards: int) -> list[str]:
    """Return the lines of the table of what skipping does."""
    lines = [
        "",
        "## What skipping does",
        "",
        f"One of {skipping_simulation.RUNS} runs skips some of {skipping_simulation.QUESTIONS} questions. *Half*: the old rule,",
        "by which a run took part with half of the clues that any run answered. *Nine tenths*: the rule now (docs/metrics.md).",
        "*Gain*: places that it rises where it is ranked. *Others*: places that each other run moves among the others.",
        "*Its worst*: it knows in hindsight where it loses most to the others, the worst that can happen.",
        "",
        "| rule | it skips | share | ranked | gain | others | boards |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in skipping_simulation.skipping(boards, SEED):
        gain = "" if math.isnan(row.gain) else f"{row.gain:+.2f}"
        lines.append(
            f"| {row.rule} | {row.choice} | {row.share:.0%} | {row.ranked:.2f} | {gain} | {row.error:.2f} | {row.boards:,} |"
        )
    return lines


if __name__ == "__main__":
    main()
