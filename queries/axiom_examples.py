"""Sakai's three worked examples: a system X and three worse copies of it, with their metrics. It does not use the store.

Source: Sakai 2026, tables 1, 4 and 9. Y lowers the confidence of a correct instance, Z raises the confidence of an incorrect one,
and W does both. There are three bins of equal mass, as in the source.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from data.sufficient_statistics import BIN_COLUMNS, pooled
from queries.metrics import CATALOGUE, Conventions, Metric
from queries.metrics.kernels.bins import mass_bins
from queries.metrics.metric import Axiom, ItemPair

FACTS = Path(__file__).parent / "facts" / "sakai_examples.csv"
SYSTEMS: dict[str, Axiom | None] = {"X": None, "Y": "U", "Z": "O", "W": "UO"}
KEYS = ("accuracy", "hmr", "r_over", "r_under", "ece", "max_ce", "ks_sequential")
CONVENTIONS = Conventions("mass3")
ROUNDING = 1e-12  # a smaller change counts as none


class SakaiSystem(msgspec.Struct, frozen=True):
    """X, or the copy that an axiom, U, O or UO, compares with it; ``refuted`` are the metrics that break the axiom here."""

    system: str
    axiom: str | None
    items: list[ItemPair]
    values: dict[str, float]
    refuted: list[str]


class SakaiExample(msgspec.Struct, frozen=True):
    """One example: X first, then its worse copies."""

    example: int
    systems: list[SakaiSystem]


@cache
def sakai_examples() -> tuple[SakaiExample, ...]:
    """Return the examples in order."""
    items: dict[tuple[int, str], list[ItemPair]] = {}
    with FACTS.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            items.setdefault((int(row["example"]), row["system"]), []).append((float(row["confidence"]), float(row["correct"])))
    return tuple(
        SakaiExample(example, [_system(system, items[example, system], items[example, "X"]) for system in SYSTEMS])
        for example in sorted({number for number, _ in items})
    )


def _system(system: str, items: list[ItemPair], original: list[ItemPair]) -> SakaiSystem:
    metrics = [CATALOGUE[key] for key in KEYS]
    values, before = ({metric.key: _value(metric, pairs) for metric in metrics} for pairs in (items, original))
    axiom = SYSTEMS[system]
    refuted = [metric.key for metric in metrics if axiom and breaks(metric, axiom, before[metric.key], values[metric.key])]
    return SakaiSystem(system, axiom, items, values, refuted)


def _value(metric: Metric, items: list[ItemPair]) -> float:
    confidence, correct = np.array(items).T
    if metric.pairs is not None:
        return metric.of_pairs(confidence, correct)
    binned = mass_bins(confidence, correct, CONVENTIONS.mass_bins or 1)
    totals = pooled(confidence, correct) | dict(zip(BIN_COLUMNS, binned, strict=True))
    return float(metric.value(totals, CONVENTIONS))


def breaks(metric: Metric, axiom: Axiom, before: float, after: float) -> bool:
    """Return whether a worse system's value contradicts an axiom. U and O allow a tie, UO does not."""
    loss = metric.loss(np.array([before, after]))
    return bool(loss[1] <= loss[0] + ROUNDING if axiom == "UO" else loss[1] < loss[0] - ROUNDING)
