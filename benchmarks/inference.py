"""How often conclusions about runs are wrong, by simulation; writes inference.md and the table of the page Metrics.

Run it with ``make calibrate-ourselves``. It takes hours of processor time, so it can run in pieces: with ``--studies``, only
these studies are repeated, and the other sections of inference.md stay. The tests run a short form.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from functools import partial
from pathlib import Path

from clueline.queries.engine.bootstrap import LEVEL
from clueline.queries.interval_coverage_in_simulations import MEASURED
from tests.helpers import (
    bundled_answers_simulation,
    buzz_simulation,
    calibration_simulation,
    claims_simulation,
    cluster_simulation,
    decision_simulation,
    difficulty_simulation,
    few_errors_simulation,
    forecast_simulation,
    judge_simulation,
    likeness_simulation,
    simulation,
    skipping_simulation,
    slice_simulation,
)
from tests.helpers.few_errors_simulation import CONFIDENCES, Confidences, Coverage
from tests.helpers.simulation import Measurement, Study

OUT = Path(__file__).with_suffix(".md")
SEED = 2605
BOARDS = 1000


def with_confidences(
    simulate: Callable[..., Iterable[Measurement]], stated: Confidences
) -> Callable[[int, int], Iterable[Measurement]]:
    """Return the study of runs that are so confident, with its own name."""

    def measure(boards: int, seed: int) -> Iterable[Measurement]:
        return simulate(boards, seed, confidences=[stated])

    measure.__name__ = f"{simulate.__name__}_{stated.key}"
    return measure


# In each study, single runs are simulated at least 2,000 times, and boards of several runs 1,000 times.
STUDIES = (
    Study(simulation.pair_p_values, 4000, "Tests. Two runs are equally good."),
    Study(simulation.uniform_p_values, 4000, "Tests at several levels. Two runs are equally good."),
    Study(simulation.letters, 2000, "Families of tests. Eight runs are equally good; p-values are Holm-adjusted."),
    *(
        Study(with_confidences(claims_simulation.letters_over_metrics, stated), 1000, "Families of tests. Runs are equally good.")
        for stated in CONFIDENCES[:3]
    ),
    Study(claims_simulation.best_runs, 1000, "Sets of runs, which should contain all that are truly best."),
    Study(claims_simulation.equality_within_a_margin, 2000, "Tests. Runs are equal, or differ by the margin."),
    Study(slice_simulation.slices, 1000, "Families of tests. The parts of the questions have no meaning."),
    Study(slice_simulation.surer_rest, 2000, "Tests. The run is calibrated; a part is less sure than the rest."),
    Study(slice_simulation.five_categories, 1000, "Families of tests. Runs are calibrated."),
    Study(difficulty_simulation.difficulty_slopes, 2000, "Tests. Runs are calibrated, and difficulty comes from runs."),
    Study(difficulty_simulation.difficulty_slices, 1000, "Families of tests. Runs are calibrated; difficulty comes from runs."),
    Study(simulation.jackknife_intervals, 2000, "Intervals."),
    Study(simulation.bootstrap_intervals, 2000, "Intervals."),
    Study(slice_simulation.slice_intervals, 2000, "Intervals, of slices with few questions."),
    Study(simulation.calibration_intervals, 2000, "Intervals. A true value of 0 means a calibrated run."),
    Study(calibration_simulation.false_alarms, 2000, "Tests. The run is calibrated."),
    Study(simulation.bands, 2000, "Bands, which should contain the isotonic curve of a calibrated run."),
    Study(calibration_simulation.whole_curves, 2000, "Bands, which should contain the whole isotonic curve of a calibrated run."),
    Study(simulation.reliability_bins, 2000, "Intervals, of all bins that contain items."),
    *(
        Study(with_confidences(few_errors_simulation.equal_pairs, stated), 2000, "Tests. Two runs are equally good.")
        for stated in CONFIDENCES
    ),
    Study(
        bundled_answers_simulation.coverage_of_samples,
        1000,
        "Intervals. Questions are drawn from all that models really answered; the true value is that over all of them.",
    ),
    Study(forecast_simulation.forecast_intervals, 2000, "Intervals. Forecasters know the likelier side with a given accuracy."),
    Study(judge_simulation.reviewed_means, 2000, "Intervals. A judge graded 1,000 questions, and people 100 answers."),
    Study(judge_simulation.unequal_numbers, 2000, "Intervals. A judge graded 1,000 questions, people some of the answers."),
    Study(likeness_simulation.likeness_intervals, 2000, "Intervals, of metrics that compare confidence with people."),
    Study(buzz_simulation.equal_teams, 2000, "Tests. The teams of a tournament are equally good."),
    Study(buzz_simulation.outcome_intervals, 2000, "Intervals, of a run against the human teams."),
    *decision_simulation.STUDIES,
    *cluster_simulation.STUDIES,
)  # fmt: skip

HEAD = ("| claim | setting | nominal | measured | noise | boards |", "|---|---|---:|---:|---:|---:|")
ROW = re.compile(r"^\| (.+?) \| (.+?) \| ([.\d]+) \| ([.\d]+) \| ([.\d]+) \| ([\d,]+) \|$", re.MULTILINE)
ABOUT = """# How often the statistical claims hold

Written by `benchmarks/inference.py`. Runs are simulated: the runs share each question's ease, and the clues of a question
depend on each other. Noise: half the width of a 99.9 % interval of a share that is nominal. Claims in brackets are of rules that
are not used, for comparison.

A claim is missed if an interval contains the truth more than 2 points less often than it says, or a test at .05 rejects more
than .06 of what is true, both beyond two standard errors; or if any of a family of tests at .05 does so on more than .07 of the
boards. The same holds in proportion for tests at other levels.

## What is missed
"""
FEW_ERRORS_CLAIM = "interval with few questions or few errors"
FEW_ERRORS_ABOUT = """Intervals, nominal .950, with their mean width, and the share of runs without an interval: the metric is
undefined without an error. The columns at the end are about all of"""


def main() -> None:
    """Run studies, and write the sections about them and the table of the page."""
    sections: dict[str, Callable[[float], Iterable[str]]] = {
        **{study.simulate.__name__: partial(study_section, study) for study in STUDIES},
        **{f"few_errors_{stated.key}": partial(few_errors_section, stated) for stated in CONFIDENCES},
        "skipping": skipping_section,
        "failures": failures_section,
    }
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--boards", type=int, default=BOARDS, help="boards of each study; those of runs scale with it")
    arguments.add_argument("--studies", nargs="+", choices=sections, default=list(sections), metavar="NAME", help="only these")
    given = arguments.parse_args()
    for name in given.studies:
        lines = [f"Measured on {date.today()}.", *sections[name](given.boards / BOARDS)]
        # Read only now: another process may have written other sections.
        _, *others = re.split(r"^## ", OUT.read_text(encoding="utf-8"), flags=re.MULTILINE)
        texts = dict(text.split("\n", 1) for text in others) | {name: "\n".join(lines)}
        body = "\n".join(f"## {key}\n\n{texts[key].strip()}\n" for key in sections if key in texts)
        listed = "".join(re.findall(r"^- .+\n", body, re.MULTILINE)) or "Nothing.\n"
        OUT.write_text(f"{ABOUT}\n{listed}\n{body}", encoding="utf-8")
        with MEASURED.open("w", encoding="utf-8", newline="") as file:
            rows = [(*row[:5], row[5].replace(",", "")) for row in ROW.findall(body)]
            csv.writer(file, lineterminator="\n").writerows([HEAD[0][2:-2].split(" | "), *rows])
        print(f"{name}: {len(lines)} lines", flush=True)


def study_section(study: Study, scale: float) -> list[str]:
    """Return the lines about a study."""
    rows = list(study.simulate(round(study.number * scale), SEED))
    return [study.about, "", *table(rows), *missed(rows)]


def table(rows: Iterable[Measurement]) -> list[str]:
    """Return the lines of the table of some measurements."""
    return [
        *HEAD,
        *(
            f"| {row.study} | {row.setting} | {row.nominal:.3f} | {row.measured:.3f} | {row.noise:.3f} | {row.boards:,} |"
            for row in rows
        ),
    ]


def missed(rows: Iterable[Measurement]) -> list[str]:
    """Return the lines about measurements that miss their criterion."""
    return [
        "",
        *(
            f"- {row.study}, {row.setting}: {row.measured:.3f} of {row.boards:,},"
            f" {'at least' if row.kind == 'coverage' else 'at most'} {row.limit:.3f}"
            for row in rows
            if row.missed and not row.study.startswith("(")
        ),
    ]


def few_errors_section(stated: Confidences, scale: float) -> Iterator[str]:
    """Yield the lines about few errors: a table of metrics, and in each setting the metric with the lowest coverage.

    Args:
        stated: how confident the runs are.
        scale: number of simulated runs of each setting, relative to 2,000.
    """
    shown = ("accuracy", "brier", "overconfidence", "net_score", "auroc", "hmr")
    head = ["setting", "runs", *shown, "lowest coverage", "of", "missed"]
    yield f"{FEW_ERRORS_ABOUT} {len(few_errors_simulation.KEYS)} metrics."
    yield from ("", f"| {' | '.join(head)} |")
    yield "|---" * len(head) + "|"
    lowest, all_rows = [], []
    for _, questions, clues, dependent, setting in few_errors_simulation.settings(confidences=[stated]):
        runs = round(2000 * scale)
        measured = few_errors_simulation.coverage(runs, SEED, questions, clues, stated, dependent)
        by_key = {row.key: row for row in measured}
        rows = [Measurement(FEW_ERRORS_CLAIM, f"{row.key}, {setting}", LEVEL, row.covered, row.runs) for row in measured]
        worst = min(range(len(rows)), key=lambda place: measured[place].covered + measured[place].noise)
        cells = [
            setting,
            f"{runs:,}",
            *(_cell(by_key[key]) for key in shown),
            f"{measured[worst].covered:.3f}",
            measured[worst].key,
            ", ".join(metric.key for metric, row in zip(measured, rows, strict=True) if row.missed),
        ]
        yield f"| {' | '.join(cells)} |"
        lowest.append(rows[worst])
        all_rows += rows
    yield from ("", "The metric with the lowest coverage in each setting, as the page Metrics shows it.", "", *table(lowest))
    yield from missed(all_rows)


def _cell(measured: Coverage) -> str:
    without = f", {measured.without:.0%} without" if measured.without else ""
    return f"{measured.covered:.3f} (width {measured.width:.3f}{without})"


MISSING = (
    "*Before*: runs were measured on the questions that all who take part answered. *Now*: each on all that it answered, and "
    "accuracy is adjusted (docs/metrics.md)."
)


def skipping_section(scale: float) -> list[str]:
    """Return the lines about what skipping does."""
    lines = [
        f"One of {skipping_simulation.SKIPPERS} runs skips some of {skipping_simulation.QUESTIONS} questions. {MISSING}",
        "*Gain*: places that it rises where it is ranked. *Others*: places that each other run moves among the others.",
        "*Where unsure*: its least confident answers. *Its worst*: it knows in hindsight where it loses most to the others, the",
        "worst that can happen.",
        "",
        "| metric | it skips | share | ranked | gain before | gain now | others before | others now |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    rows = list(skipping_simulation.skipping(round(BOARDS * scale), SEED))
    for before, now in zip(rows[::2], rows[1::2], strict=True):
        gains = ("" if math.isnan(row.gain) else f"{row.gain:+.2f}" for row in (before, now))
        lines.append(
            f"| {now.metric} | {now.choice} | {now.share:.0%} | {now.ranked:.2f} | {' | '.join(gains)} | {before.error:.2f} | "
            f"{now.error:.2f} |"
        )
    return lines


def failures_section(scale: float) -> list[str]:
    """Return the lines about what answers that fail at random do."""
    lines = [
        f"Every run loses some of its answers to {skipping_simulation.QUESTIONS} questions at random. {MISSING}",
        "*Error*: places that a ranked run is off among the ranked ones: by accuracy from the truth, else from its rank with all",
        "answers. With a tenth lost, half of the runs have under nine tenths, and fewer runs have fewer places to be off by.",
        "",
        "| metric | runs | lost | ranked before | ranked now | error before | error now |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    rows = list(skipping_simulation.failures(round(BOARDS * scale / 5), SEED))
    for before, now in zip(rows[::2], rows[1::2], strict=True):
        lines.append(
            f"| {now.metric} | {now.runs} | {now.share:.0%} | {before.ranked:.0%} | {now.ranked:.0%} | {before.error:.2f} | "
            f"{now.error:.2f} |"
        )
    return lines


if __name__ == "__main__":
    main()
