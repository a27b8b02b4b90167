"""What intervals and tests say, in plain words, and how often that held in simulations. It asks no store."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import msgspec

MEASURED = Path(__file__).parent / "facts" / "inference.csv"  # written by benchmarks/inference.py


class Uncertainty(msgspec.Struct, frozen=True):
    """A kind of interval or test, in one sentence.

    ``claims`` are the names under which ``MeasuredClaim`` has its simulations.
    """

    key: str
    name: str
    words: str
    claims: list[str]


class MeasuredClaim(msgspec.Struct, frozen=True):
    """How often a claim held in simulated data.

    ``nominal`` is the level that is claimed and ``measured`` the share of simulated ``boards`` in which it held. ``noise`` is
    half the width of a 99.9 % interval of a share that is nominal.
    """

    claim: str
    setting: str
    nominal: float
    measured: float
    noise: float
    boards: int


KINDS = (
    Uncertainty(
        "bootstrap",
        "Intervals of metrics",
        "We drew the questions again and again, with replacement, and computed the metric each time: 95 % of the results lie "
        "between the two ends.",
        [],
    ),
    Uncertainty(
        "jackknife",
        "Intervals of metrics, fewer than 60 questions",
        "We left out one question at a time, saw how much the metric moved, and widened the interval for the small sample, as a "
        "t test does.",
        ["jackknife-t interval"],
    ),
    Uncertainty(
        "distance",
        "Intervals of calibration errors",
        "Chance makes a calibration error larger, never smaller, so the lower end is 0 unless a test shows that the run is not "
        "calibrated.",
        ["interval of a distance from calibration"],
    ),
    Uncertainty(
        "pairs",
        "p-values of two runs",
        "A paired t test over the questions that both answered: how often two equally good runs would differ this much by "
        "chance.",
        ["two equal runs: p < .05", "two equal runs: p < .01"],
    ),
    Uncertainty(
        "letters",
        "Letters",
        "Runs that share a letter are not shown to differ, after correction for comparing every pair of runs (Holm).",
        ["8 equal runs: two share no letter"],
    ),
    Uncertainty(
        "ranks",
        "Ranks",
        "We drew the questions again and again and ranked the runs each time: this run's rank was between the two ends in 95 % "
        "of the draws, whatever the others' ranks were.",
        [],
    ),
    Uncertainty(
        "slices",
        "p-values of slices",
        "We shuffled which questions belong to which part: the adjusted p-value is how often the largest of all differences, "
        "by chance alone, is at least as large as this one.",
        ["slices: any part differs from the whole", "slices: any part differs from another run's"],
    ),
    Uncertainty(
        "slice-intervals",
        "Intervals of slices",
        "A t interval of the difference between the questions of the part and the others (Welch's), or between two runs on the "
        "part.",
        ["interval of a slice", "(by bootstrap percentiles)"],
    ),
    Uncertainty(
        "bins",
        "Whiskers of reliability diagrams",
        "Where the accuracy of the bin would probably lie with many more questions, counting the clues of one question as less "
        "than independent (Wilson).",
        ["interval of a bin of a reliability diagram"],
    ),
    Uncertainty(
        "band",
        "Grey band of reliability diagrams",
        "Where the curve would lie if the confidences were right: pointwise, 90 % of simulated curves at each confidence by "
        "itself, and simultaneous, 90 % of them throughout.",
        ["pointwise consistency band", "simultaneous consistency band"],
    ),
    Uncertainty(
        "teams",
        "Whether human teams differ",
        "How often teams that are all equally good would differ this much by chance; they are put into quartiles only where that "
        "is rare.",
        ["equal teams: p < .05"],
    ),
    Uncertainty(
        "wins",
        "Intervals of wins against people",
        "Where the share of wins would probably lie with many more questions like these.",
        ["interval of wins against people"],
    ),
)


@cache
def measured_claims() -> tuple[MeasuredClaim, ...]:
    """The simulations, in the order of the file."""
    with MEASURED.open(encoding="utf-8", newline="") as lines:
        return tuple(msgspec.convert(row, MeasuredClaim, strict=False) for row in csv.DictReader(lines))
