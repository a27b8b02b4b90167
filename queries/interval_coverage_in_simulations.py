"""What intervals and tests say, in plain words, and how often their claims held in simulations. It does not use the store."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import msgspec

MEASURED = Path(__file__).parent / "facts" / "inference.csv"  # written by benchmarks/inference.py


class Uncertainty(msgspec.Struct, frozen=True):
    """A kind of interval or test, explained in one sentence. ``claims`` are named as in ``MeasuredClaim``."""

    key: str
    name: str
    words: str
    claims: list[str]


class MeasuredClaim(msgspec.Struct, frozen=True):
    """How often a claim held in simulations. ``noise`` is half the width of a 99.9 % interval if the nominal level is right."""

    claim: str
    setting: str
    nominal: float
    measured: float
    noise: float
    boards: int


UNIFORM = [f"p-values are uniform: p < {level}" for level in (0.1, 0.25, 0.5, 0.75, 0.9)]

KINDS = (
    Uncertainty(
        "bootstrap",
        "Intervals of metrics",
        "We drew the same number of questions again and again, with replacement, and computed the metric each time: 95 % of the "
        "results lie between the two ends.",
        ["bootstrap interval"],
    ),
    Uncertainty(
        "extra-question",
        "Intervals of metrics, few questions or few errors",
        "With fewer than 60 questions (200 for metrics of totals), or fewer than 30 with an error or with a right answer, and "
        "for means of confidence, we added a question that was not asked, all wrong or all right at the confidence 0 or 1, and "
        "gave all questions random weights: 95 % of the results lie between the two ends, whatever the extra question is.",
        ["interval with few questions or few errors", "interval of real answers", "interval of real answers, lowest of all runs"],
    ),
    Uncertainty(
        "jackknife",
        "Intervals of slopes and of metrics of votes, fewer than 60 questions",
        "We left out each question in turn, took the standard error from how much the metric moved (the jackknife), and "
        "multiplied it by Student's t, which is wider in a small sample.",
        ["jackknife-t interval"],
    ),
    Uncertainty(
        "distance",
        "Intervals of calibration errors",
        "Even a perfectly calibrated run has an error above 0 by chance, so the lower end is 0 unless a test rejects perfect "
        "calibration.",
        ["interval of a distance from calibration"],
    ),
    Uncertainty(
        "calibration",
        "p-values of calibration",
        "How often a run that is right as often as it says, with the same confidences, is at least this far off by chance, "
        "counting the clues of a question as one where they may depend on each other.",
        ["calibrated run: p <= .05 in the worst of three tests"],
    ),
    Uncertainty(
        "pairs",
        "p-values of two runs",
        "A paired t test over the questions that both answered, and also the bootstrap if errors are few or for distances from "
        "calibration: how often two equally good runs would differ at least this much by chance.",
        ["two equal runs: p < .05", "two equal runs: p < .01", "two equal runs by the engine: p < .05", *UNIFORM],
    ),
    Uncertainty(
        "letters",
        "Letters",
        "Runs that share a letter are not shown to differ, after correction for comparing every pair of runs (Holm) and, unless "
        "this is the primary metric of the dataset, by every other metric (Bonferroni).",
        [
            "8 equal runs: two share no letter",
            "8 equal runs: two share no letter by a metric",
            "(letters adjusted for pairs only)",
        ],
    ),
    Uncertainty(
        "best",
        "Runs that may be best",
        "A run may be best if it is not shown to be worse than any other: these runs contain all that are truly best with 95 % "
        "confidence.",
        ["all of the best runs may be best"],
    ),
    Uncertainty(
        "margin",
        "Equal within a margin",
        "Two one-sided tests, each at 5 %: runs are equal if the difference is shown to be neither as high as the margin nor as "
        "low as its negative, and the 90 % interval lies between both.",
        ["runs that differ by the margin: called equal", "equal runs: called different"],
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
        "The p-value is below .05 exactly where the interval beside it leaves out 0; the adjusted one is how often the clearest "
        "of all differences would be at least as clear by chance alone, where all have the same random draws of questions.",
        [
            "slices: any part differs from the whole",
            "slices: any part differs from another run's",
            "slices: a part of a calibrated run, p < .05",
        ],
    ),
    Uncertainty(
        "difficulty",
        "Slopes and slices by a difficulty that comes from runs",
        "Difficulty is, for each run, one minus the mean accuracy of the runs of other models, so that what it got wrong does "
        "not count as harder; in brackets is what its own answers would make of it.",
        [
            claim
            for name in ("calibrated run: interval of the slope leaves out 0", "slices: any third of difficulty differs")
            for claim in (f"{name}, difficulty of other models", f"({name}, difficulty of all runs, its own answers too)")
        ],
    ),
    Uncertainty(
        "forecasts",
        "Intervals of forecasts",
        "Accuracy and net score are of the likelier side, so a forecaster who names it with a given probability has that "
        "accuracy, whatever the share of yes; in brackets is the share of yes, taken for an accuracy.",
        ["interval of forecasts", "(interval of forecasts)"],
    ),
    Uncertainty(
        "reviewed",
        "Intervals where answers were reviewed",
        "The judge's mean over all answers is corrected by its mean error on the answers that were drawn at random for review "
        "(prediction-powered inference); in brackets is what the judge's grades alone would claim.",
        ["interval with reviewed answers", "(interval of the judge's grades)"],
    ),
    Uncertainty(
        "likeness",
        "Intervals of metrics that compare confidence with people",
        "The same bootstrap percentiles and jackknife as for other metrics, over questions that people heard.",
        ["interval of likeness to people"],
    ),
    Uncertainty(
        "slice-intervals",
        "Intervals of slices",
        "A t interval of the difference between the part and the whole, whose other questions can vary more or less (Welch), or "
        "between two runs on the part (paired); where errors are few, in the part or outside it, also with an extra "
        "question.",
        ["interval of a slice", "(by bootstrap percentiles)"],
    ),
    Uncertainty(
        "bins",
        "Whiskers of reliability diagrams",
        "A 95 % interval of the bin's accuracy (Wilson's), wider where several clues of one question are in the bin, since these "
        "tend to be right or wrong together.",
        ["interval of a bin of a reliability diagram"],
    ),
    Uncertainty(
        "band",
        "Grey band of reliability diagrams",
        "Where the curve would lie if the run were calibrated: simultaneous, it holds 90 % of whole simulated curves; pointwise, "
        "90 % at each confidence taken alone, so that nearly every curve leaves it somewhere.",
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
        "A 95 % interval of the share of wins, over many more questions like these.",
        ["interval of wins against people"],
    ),
    Uncertainty(
        "net-scores",
        "Intervals of net scores",
        "Wrong answers can be dear and too few to be seen, so one more question joins those that were asked, all wrong for the "
        "lower end and all right for the upper one; at a run's own threshold, each fifth of the questions is judged at the "
        "threshold that is best on the others.",
        [
            "interval of the net score",
            "interval of the net score at the own threshold",
            "lower end above the best net score there is",
        ],
    ),
    Uncertainty(
        "curves",
        "Which of two runs is better at which cost",
        "The band holds the whole difference of two curves, so everything that is said of any cost is right together in 95 % of "
        "cases, also of the two runs with the best Brier scores on the same answers.",
        [
            "band of the difference of two curves",
            "verdict on two equal runs is false",
            "verdict on the best two of 8 equal runs is false",
            "verdict on a sharp and a vague run is false",
        ],
    ),
    Uncertainty(
        "clusters",
        "Clusters of questions",
        "With cluster=, questions that depend on each other, such as those of a packet, are drawn, left out and flipped "
        "together; in brackets is what single questions would have claimed.",
        [
            claim
            for name in (
                "interval",
                "two equal runs: p < .05",
                "calibrated run: p <= .05",
                "interval of a calibrated run leaves out 0",
                "simultaneous band",
                "slices: any part differs",
            )
            for claim in (f"{name}, by cluster", f"({name}, by question)")
        ],
    ),
)


@cache
def measured_claims() -> tuple[MeasuredClaim, ...]:
    """Return the simulations, in the order of the file."""
    with MEASURED.open(encoding="utf-8", newline="") as lines:
        return tuple(msgspec.convert(row, MeasuredClaim, strict=False) for row in csv.DictReader(lines))
