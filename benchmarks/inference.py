"""How often conclusions about runs are wrong, by simulation; writes inference.md and the table of the page Metrics.

Run it with ``make calibrate-ourselves``. It takes about ten minutes; the tests run a short form of it.
"""

from __future__ import annotations

import argparse
import csv
from datetime import date
from pathlib import Path

from queries.interval_coverage_in_simulations import MEASURED
from tests.helpers import buzz_simulation, decision_simulation, simulation

OUT = Path(__file__).with_suffix(".md")
SEED = 2605
STUDIES = (
    (simulation.pair_p_values, 10, "False positives, at most nominal. Two runs are equally good."),
    (simulation.uniform_p_values, 10, "Share of p-values below the level: it should be nominal. Two runs are equally good."),
    (simulation.letters, 5, "False positives, at most nominal. Eight runs are equally good; p-values are Holm-adjusted."),
    (simulation.slices, 2, "False positives, at most nominal. The parts of the questions have no meaning."),
    (simulation.jackknife_intervals, 5, "Coverage."),
    (simulation.bootstrap_intervals, 5, "Coverage."),
    (simulation.slice_intervals, 2, "Coverage. Slices with few questions; the percentiles in brackets are not used."),
    (simulation.calibration_intervals, 2, "Coverage. A true value of 0 means a calibrated run."),
    (simulation.bands, 1, "Coverage of the isotonic curve of a calibrated run."),
    (simulation.reliability_bins, 1, "Coverage, over all bins that contain items."),
    (buzz_simulation.equal_teams, 5, "False positives, at most nominal. The teams of a tournament are equally good."),
    (buzz_simulation.outcome_intervals, 5, "Coverage, of a run against the human teams."),
    *decision_simulation.STUDIES,
)  # fmt: skip


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
        lines += ["", "", "| claim | setting | nominal | measured | noise | boards |", "|---|---|---:|---:|---:|---:|"]
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
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [["claim", "setting", "nominal", "measured", "noise", "boards"], *measured]
        )


if __name__ == "__main__":
    main()
