"""How well the bias of ECE can be removed: corrections compared on simulated runs, whose true error is known.

    python -m benchmarks.ece_bias [--boards 4000]

prints the table of ``benchmarks/ece_bias.md`` and writes it there (about two minutes).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf
from scipy.stats import binom

from clueline.queries.metrics.kernels import bins
from clueline.queries.metrics.kernels.arrays import ratio
from tests.helpers import simulation

Floats = NDArray[np.float64]
OUT = Path(__file__).with_suffix(".md")
SEED = 2605
SHIFTS = {0.0: "calibrated", 0.2: "over by 0.2", 0.4: "over by 0.4", 1.0: "over by 1"}


def parts(n: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return each bin's mean confidence, 0 if it is empty, and the standard deviation of its accuracy under calibration."""
    p = np.clip(np.nan_to_num(ratio(c, n)), 0, 1)
    return p, np.sqrt(np.nan_to_num(ratio(p * (1 - p), n)))


def left_of_folding(gap: Floats, noise: Floats) -> Floats:
    """Return E abs(gap + e) - abs(gap) for e ~ N(0, noise^2)."""
    z = np.abs(np.nan_to_num(ratio(gap, noise)))
    return np.where(noise > 0, noise * (math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + z * (erf(z / math.sqrt(2)) - 1)), 0.0)


def deviation(n: Floats, p: Floats) -> Floats:
    """Return E abs(X / n - p), X ~ Bin(n, p), by De Moivre's formula and SciPy's own binomial."""
    n = np.maximum(n, 1)
    deviations: Floats = 2 * p * (1 - p) * binom.pmf(np.minimum(np.floor(n * p), n - 1), n - 1, p)
    return deviations


def less(bias: Callable[[Floats, Floats, Floats], Floats]) -> Callable[[Floats, Floats, Floats], Floats]:
    """Return an estimator: ECE minus the mean over items of a bias per bin."""

    def estimate(n: Floats, c: Floats, y: Floats) -> Floats:
        gap = np.nan_to_num(ratio(c - y, n))
        corrected: Floats = (n * (np.abs(gap) - bias(n, c, y))).sum(axis=-1) / n.sum(axis=-1)
        return corrected

    return estimate


def kumar(n: Floats, c: Floats, y: Floats) -> Floats:
    """Bias from normal noise around the observed accuracy: Kumar, Liang & Ma 2019, sec. 5."""
    _, noise = parts(n, y)
    return left_of_folding(np.nan_to_num(ratio(c - y, n)), noise)


def null(n: Floats, c: Floats, y: Floats) -> Floats:
    """The whole bias of a calibrated model, regardless of the gap."""
    return deviation(n, parts(n, c)[0])


ESTIMATES = {"ECE": bins.ece, "Kumar": less(kumar), "whole": less(null)}

WORDS = """# Corrections of the bias of ECE

`python -m benchmarks.ece_bias` writes this file. It simulates {boards} runs of each kind, with ten bins of equal width.
Questions differ in ease, and the clues of a question depend on each other (`tests/helpers/simulation.py`). The column *runs* says
by how much the runs are overconfident, on the scale of log-odds. `truth` is the ECE of such a run with infinitely many questions.
The other columns are the mean of (estimate - truth) in units of 0.0001, its standard error in brackets, then the root mean square
of (estimate - truth) in the same units, with estimates below 0 counted as 0.

- `Kumar` subtracts, for each bin with gap g, E|g + e| - |g|, where e is normal with the variance of the observed accuracy (Kumar,
  Liang & Ma 2019, sec. 5). It leaves 59 % of the bias of a calibrated run.
- `whole` subtracts E|X/n - p|, X ~ Bin(n, p): the whole bias of a calibrated run whose items are independent. It is far too
  low for any other run. With several clues to a question it subtracts too little.
- `cross-fitted` is the metric `ece_debiased`. It takes the sign of each bin's gap from one half of the questions, and its size
  from the other half. It is 0 on average for a calibrated run, however its clues depend on each other.

No estimate of |gap| is unbiased everywhere, because |gap| has a kink at 0 and the mean of an estimate has none. An estimate that
is unbiased for calibrated runs is too low where gaps are about as large as their noise, as the rows with few questions show. If
the error is large, plain ECE is closer, because its own bias is small there.
"""


def main() -> None:
    """Simulate, print the table and write it."""
    parser = argparse.ArgumentParser(description="Compare corrections of the bias of ECE.")
    parser.add_argument("--boards", type=int, default=4000, help="runs per row (default 4000)")
    boards = parser.parse_args().boards
    names = [*ESTIMATES, "cross-fitted"]
    lines = [f"| runs | clues | questions | truth | {' | '.join(names)} |", "|---|--:|--:|--:|" + "--:|" * len(names)]
    for shift, runs in SHIFTS.items():
        for row in simulation.calibration_errors(boards, SEED, shift, sizes=(30, 60, 200, 1000)):
            totals = row.totals.sum(axis=2)
            values = [estimate(*totals) for estimate in ESTIMATES.values()] + [row.debiased]
            cells = []
            for estimates in values:
                error = estimates.std() / math.sqrt(boards)
                square = ((np.maximum(estimates, 0) - row.truth) ** 2).mean()
                cells.append(f"{(estimates.mean() - row.truth) * 1e4:.0f} ({error * 1e4:.0f}) {math.sqrt(square) * 1e4:.0f}")
            lines.append(f"| {runs} | {row.clues} | {row.questions} | {row.truth:.4f} | {' | '.join(cells)} |")
    text = "\n".join([WORDS.format(boards=f"{boards:,}"), *lines, ""])
    print(text)
    OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
