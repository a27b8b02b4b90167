"""The catalogue of metrics as data, with Sakai's worked examples of the axioms: a system X and three worse copies of it.

Source of the examples: Sakai 2026, tables 1, 4 and 9. Y lowers the confidence of a correct instance, Z raises the confidence of
an incorrect one, and W does both. There are three bins of equal mass, as in the source.
"""

from __future__ import annotations

import csv
from dataclasses import fields
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from clueline.queries.interval_coverage_in_simulations import KINDS, MeasuredClaim, Uncertainty, measured_claims
from clueline.queries.metrics import CATALOGUE, FAMILIES, NOTES, AnalysisMetric, Conventions, Counterexample, Metric
from clueline.queries.metrics.axioms import AXIOMS, READING, value_of_items
from clueline.queries.metrics.catalogue.paper_contradictions import SourceNote
from clueline.queries.metrics.metric import Axiom, ItemPair, MetricFacts
from clueline.queries.selection import number


class RefutedAxiom(msgspec.Struct, frozen=True):
    """A numerical counterexample: confidences get worse, but the metric does not."""

    axiom: str
    items: list[tuple[float, float]]  # confidence and correctness of each, before
    changes: list[tuple[int, float]]  # index and new confidence of each item that changes
    before: float  # value of the metric before the change
    after: float  # and after it


class MetricAxioms(msgspec.Struct, frozen=True):
    """Which axioms a metric satisfies."""

    satisfied: list[str]
    where: str | None  # under which condition
    counterexamples: list[RefutedAxiom]


class MetricDefinition(msgspec.Struct, frozen=True):
    """One metric. ``axioms`` is None where the axioms do not apply, or where nothing is stated.

    A metric that the leaderboard does not have is in the answer of ``address``, in its ``fields``.
    """

    key: str
    family: str
    name: str
    label: str
    symbol: str
    direction: str
    low: float | None  # bounds of its values; None: no bound
    high: float | None
    formula: str
    words: str
    source: str
    needs: list[str]
    level: str
    human: str | None  # its default human curve
    binned: bool
    axioms: MetricAxioms | None
    undefined: str
    caveat: str
    of_forecasts: str | None
    notes: list[str]
    address: str | None
    fields: list[str]


class MetricFamily(msgspec.Struct, frozen=True):
    """Metrics that are computed from the same kind of data."""

    key: str
    title: str
    words: str


class MetricDefinitions(msgspec.Struct, frozen=True):
    """Answer of ``/api/v1/metrics``; metrics are in the order in which they are shown."""

    families: list[MetricFamily]
    metrics: list[MetricDefinition]
    axioms: dict[str, str]
    axioms_reading: str
    notes: list[SourceNote]
    uncertainty: list[Uncertainty]
    measured: list[MeasuredClaim]
    sakai: list[SakaiExample]


@cache
def metric_definitions() -> MetricDefinitions:
    """Return every metric with its facts, and what explains them."""
    return MetricDefinitions(
        families=[MetricFamily(key, title, words) for key, (title, words, _) in FAMILIES.items()],
        metrics=[_definition(entry, family) for family, (_, _, entries) in FAMILIES.items() for entry in entries],
        axioms={axiom: words for axiom, words in AXIOMS.items()},
        axioms_reading=READING,
        notes=list(NOTES),
        uncertainty=list(KINDS),
        measured=list(measured_claims()),
        sakai=list(sakai_examples()),
    )


SHARED_FACTS = {field.name for field in fields(MetricFacts)} - {"low", "high", "needs", "of_forecasts"}


def _definition(entry: MetricFacts, family: str) -> MetricDefinition:
    metric = entry if isinstance(entry, Metric) else None
    analysis = entry if isinstance(entry, AnalysisMetric) else None
    forecast = metric.worded(forecasts=True) if metric else entry
    return MetricDefinition(
        **{name: getattr(entry, name) for name in SHARED_FACTS},
        family=family,
        low=number(entry.low),
        high=number(entry.high),
        needs=list(entry.needs),
        human=metric.human if metric else None,
        binned=metric.binned if metric else False,
        axioms=_axioms(metric) if metric else None,
        of_forecasts=None if forecast is entry else f"{forecast.name}: {forecast.words}",
        notes=[note.key for note in NOTES if entry.key in note.metrics],
        address=analysis.address if analysis else None,
        fields=list(analysis.fields) if analysis else [],
    )


def _axioms(metric: Metric) -> MetricAxioms | None:
    if metric.axioms is None or not metric.ranks:
        return None
    return MetricAxioms(
        list(metric.axioms), metric.axioms_where or None, [_refuted(metric, example) for example in metric.counterexamples]
    )


def _refuted(metric: Metric, counterexample: Counterexample) -> RefutedAxiom:
    values = (value_of_items(metric, counterexample.items), value_of_items(metric, counterexample.after))
    return RefutedAxiom(counterexample.axiom, list(counterexample.items), list(counterexample.changes), *values)


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
    values, before = (
        {metric.key: value_of_items(metric, pairs, CONVENTIONS) for metric in metrics} for pairs in (items, original)
    )
    axiom = SYSTEMS[system]
    refuted = [metric.key for metric in metrics if axiom and breaks(metric, axiom, before[metric.key], values[metric.key])]
    return SakaiSystem(system, axiom, items, values, refuted)


def breaks(metric: Metric, axiom: Axiom, before: float, after: float) -> bool:
    """Return whether a worse system's value contradicts an axiom. U and O allow a tie, UO does not."""
    loss = metric.loss(np.array([before, after]))
    return bool(loss[1] <= loss[0] + ROUNDING if axiom == "UO" else loss[1] < loss[0] - ROUNDING)
