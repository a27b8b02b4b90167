"""How well the bias of ECE can be taken away: corrections compared on simulated data, where the true error is known.

    python -m benchmarks.ece_bias [--draws 8000]

prints the table of ``benchmarks/ece_bias.md`` and writes it there (some two minutes).
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

from data.statistics import bin_of
from queries.metrics.kernels import bins
from queries.metrics.kernels.arrays import ratio

Floats = NDArray[np.float64]
OUT = Path(__file__).with_suffix(".md")
AT_ONCE = 2000  # data sets drawn together, for the memory that they take
SIZES = (50, 100, 200, 500, 1000, 5000)
AS_STATED = ([0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1], [0.03, 0.05, 0.05, 0.14, 0.2, 0.2, 0.2, 0.08, 0.05])

SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "uniform": lambda chance, size: chance.random(size),
    "stated": lambda chance, size: chance.choice(AS_STATED[0], size=size, p=AS_STATED[1]),
    "high": lambda chance, size: 0.8 + 0.2 * chance.random(size),
    "beta": lambda chance, size: chance.beta(4, 2, size),
}
MODELS: dict[str, Callable[[Floats], Floats]] = {
    "calibrated": lambda c: c,
    "over by 0.02": lambda c: np.clip(c - 0.02, 0, 1),
    "over by 0.05": lambda c: np.clip(c - 0.05, 0, 1),
    "over by 0.15": lambda c: np.clip(c - 0.15, 0, 1),
    "half the slope": lambda c: 0.4 + (c - 0.5) / 2,
}


def parts(n: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Mean confidence of each bin, 0 in empty ones, and the standard deviation of its accuracy if it is calibrated."""
    p = np.clip(np.nan_to_num(ratio(c, n)), 0, 1)
    return p, np.sqrt(np.nan_to_num(ratio(p * (1 - p), n)))


def left_of_folding(gap: Floats, noise: Floats) -> Floats:
    """E abs(gap + e) - abs(gap) for e ~ N(0, noise^2)."""
    z = np.abs(np.nan_to_num(ratio(gap, noise)))
    return np.where(noise > 0, noise * (math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + z * (erf(z / math.sqrt(2)) - 1)), 0.0)


def deviation(n: Floats, p: Floats) -> Floats:
    """E abs(X / n - p), X ~ Bin(n, p): De Moivre, by SciPy's own binomial."""
    n = np.maximum(n, 1)
    deviations: Floats = 2 * p * (1 - p) * binom.pmf(np.minimum(np.floor(n * p), n - 1), n - 1, p)
    return deviations


def less(bias: Callable[[Floats, Floats, Floats], Floats]) -> Callable[[Floats, Floats, Floats], Floats]:
    """ECE less the mean over items of a bias per bin."""

    def estimate(n: Floats, c: Floats, y: Floats) -> Floats:
        gap = np.nan_to_num(ratio(c - y, n))
        corrected: Floats = (n * (np.abs(gap) - bias(n, c, y))).sum(axis=-1) / n.sum(axis=-1)
        return corrected

    return estimate


def kumar(n: Floats, c: Floats, y: Floats) -> Floats:
    """Normal noise around the accuracy that was seen: Kumar, Liang & Ma 2019, sec. 5."""
    _, noise = parts(n, y)
    return left_of_folding(np.nan_to_num(ratio(c - y, n)), noise)


def null(n: Floats, c: Floats, y: Floats) -> Floats:
    """The whole bias of a calibrated model, whatever the gap."""
    return deviation(n, parts(n, c)[0])


def scaled(n: Floats, c: Floats, y: Floats) -> Floats:
    """Kumar's with the noise of a calibrated model, over the share sqrt(2) - 1 of the bias that it takes away there."""
    _, noise = parts(n, c)
    return left_of_folding(np.nan_to_num(ratio(c - y, n)), noise) / (math.sqrt(2) - 1)


def scaled_null(n: Floats, c: Floats, y: Floats) -> Floats:
    """The exact bias of a calibrated model, falling with the gap as Kumar's does."""
    p, noise = parts(n, c)
    share = np.nan_to_num(ratio(scaled(n, c, y), noise * math.sqrt(2 / math.pi)))
    return deviation(n, p) * share


ESTIMATES = {
    "ECE": bins.ece,
    "Kumar": less(kumar),
    "A": less(null),
    "B": less(scaled),
    "C": less(scaled_null),
    "chosen": bins.ece_debiased,
}

WORDS = f"""# Corrections of the bias of ECE

`python -m benchmarks.ece_bias` writes this. {{draws}} data sets of N items each, ten bins of equal width. `truth` is the mean ECE
without noise: the distance, per bin, of the mean confidence and the mean chance of being right. The columns are the mean of
(estimate - truth) in units of 0.0001, in brackets that mean in its standard errors, then the root mean square of
(estimate - truth).

Confidences: `uniform` on [0, 1]; `stated`: {", ".join(f"{value:g}" for value in AS_STATED[0])}, as language
models state them; `high`: uniform on [0.8, 1]; `beta`: Beta(4, 2). Models: right with chance c; c - 0.02, c - 0.05, c - 0.15
(not below 0); 0.4 + (c - 0.5) / 2.

Per bin, with gap g, n items, mean confidence p, and s the standard deviation of the accuracy:

- `Kumar` takes away E|g + e| - |g|, e normal with the variance of the accuracy seen (Kumar, Liang & Ma 2019, sec. 5).
- `A` takes away b = E|X/n - p|, X ~ Bin(n, p), the whole bias of a calibrated model: centred there, far too low elsewhere.
- `B` is Kumar's with s from p, over sqrt(2) - 1, its share of the bias of a calibrated model. Normal noise fits small bins badly.
- `C` is b times B's factor, which has the same fault.
- `chosen` is the metric `ece_debiased`: b w(g) / E w(X/n - p), w(g) = max(0, 1 - |g| / ({bins.REACH} s)). Exactly centred
  under calibration.

No estimate of |gap| is unbiased everywhere: it has a kink at 0, and the mean of what is seen has none. Centred are those with
|mean| < 3 standard errors and < 5 % of the bias of ECE, over calibrated models with N >= 100. Of the ones that are, `chosen` is
by far the nearest to the truth elsewhere; for a gap of about one s it falls short of it, by up to half an s. Kumar's is nearer
there, and leaves 59 % of the bias where a model is calibrated.
"""


def draw(
    chance: np.random.Generator, shape: str, model: str, size: int, draws: int
) -> tuple[tuple[Floats, Floats, Floats], Floats]:
    """Totals per bin of many data sets, each of shape (draws, 10), and the ECE that each would have without noise."""
    confidence = SHAPES[shape](chance, (draws, size))
    right = MODELS[model](confidence)
    correct = chance.random((draws, size)) < right
    places = (np.minimum(bin_of(confidence), 9) + 10 * np.arange(draws)[:, None]).ravel()

    def total(values: Floats | None) -> Floats:
        return np.bincount(places, None if values is None else values.ravel(), 10 * draws).reshape(draws, 10).astype(float)

    found = total(None), total(confidence), total(correct.astype(float))
    return found, np.abs(total(confidence - right)).sum(axis=1) / size


def main() -> None:
    """Simulate, print the table and write it."""
    parser = argparse.ArgumentParser(description="Compare corrections of the bias of ECE.")
    parser.add_argument("--draws", type=int, default=8000, help="data sets per row (default 8000)")
    draws = parser.parse_args().draws
    lines = [f"| model | confidences | N | truth | {' | '.join(ESTIMATES)} |", "|---|---|--:|--:|" + "--:|" * len(ESTIMATES)]
    centred = dict.fromkeys(ESTIMATES, 0)
    away: dict[str, list[float]] = {name: [] for name in ESTIMATES}
    for model in MODELS:
        for shape in SHAPES:
            for size in SIZES:
                chance = np.random.default_rng([1, size])
                parts_of = [draw(chance, shape, model, size, min(AT_ONCE, draws - done)) for done in range(0, draws, AT_ONCE)]
                totals = [np.concatenate(each) for each in zip(*(totals for totals, _ in parts_of), strict=True)]
                truth = np.concatenate([truth for _, truth in parts_of])
                off = {name: estimate(*totals) - truth for name, estimate in ESTIMATES.items()}
                cells = []
                for name, each in off.items():
                    mean, errors = each.mean(), each.mean() / each.std() * math.sqrt(draws)
                    cells.append(f"{mean * 1e4:.1f} ({errors:.1f}) {math.sqrt((each**2).mean()) * 1e4:.0f}")
                    if size >= 100 and model == "calibrated":
                        centred[name] += abs(errors) < 3 and abs(mean) < 0.05 * off["ECE"].mean()
                    elif size >= 100:
                        away[name].append(abs(mean))
                lines.append(f"| {model} | {shape} | {size} | {truth.mean():.4f} | {' | '.join(cells)} |")
    cases = len(SHAPES) * sum(size >= 100 for size in SIZES)
    summary = [
        "",
        f"| N >= 100 | {' | '.join(ESTIMATES)} |",
        "|---|" + "--:|" * len(ESTIMATES),
        f"| calibrated: centred, of {cases} | {' | '.join(str(count) for count in centred.values())} |",
        f"| miscalibrated: mean of abs(mean), 0.0001 | {' | '.join(f'{np.mean(each) * 1e4:.1f}' for each in away.values())} |",
        "",
    ]
    text = "\n".join([WORDS.format(draws=f"{draws:,}"), *summary[1:], *lines, ""])
    print(text)
    OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
