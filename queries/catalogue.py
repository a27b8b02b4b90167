"""The catalogue as an answer: what every metric is, and what the papers leave open. It asks no store."""

from __future__ import annotations

from functools import cache

import msgspec

from queries.metrics import CATALOGUE, FAMILIES, NOTES, Counterexample, Metric
from queries.metrics.axioms import AXIOMS, READING, measured
from queries.plain import number


class Refuted(msgspec.Struct, frozen=True):
    """A counterexample in numbers: one confidence becomes better, the metric does not."""

    axiom: str
    items: list[tuple[float, float]]  # confidence and correctness of each, before
    item: int  # index of the one that changes
    to: float  # its confidence afterwards
    before: float  # the metric
    after: float


class Axioms(msgspec.Struct, frozen=True):
    """Which axioms a metric satisfies."""

    satisfied: list[str]
    where: str | None  # under which condition
    counterexamples: list[Refuted]


class Entry(msgspec.Struct, frozen=True):
    """One metric; ``axioms`` is None where they cannot be asked of it, or nothing is stated."""

    key: str
    family: str
    name: str
    label: str
    symbol: str
    direction: str
    low: float | None  # None: no bound
    high: float | None
    formula: str
    words: str
    source: str
    needs: list[str]
    level: str
    human: str | None  # its default human curve
    binned: bool
    axioms: Axioms | None
    undefined: str
    caveat: str
    notes: list[str]


class Remark(msgspec.Struct, frozen=True):
    """A contradiction or gap in a source."""

    key: str
    title: str
    source: str
    text: str
    metrics: list[str]


class Family(msgspec.Struct, frozen=True):
    """Metrics that are computed from the same things."""

    key: str
    title: str
    words: str


class Catalogue(msgspec.Struct, frozen=True):
    """Answer of ``/api/v1/metrics``; metrics in the order in which they are shown."""

    families: list[Family]
    metrics: list[Entry]
    axioms: dict[str, str]
    axioms_reading: str
    notes: list[Remark]


@cache
def catalogue() -> Catalogue:
    """Every metric with its facts."""
    return Catalogue(
        families=[Family(key, title, words) for key, (title, words, _) in FAMILIES.items()],
        metrics=[_entry(metric, family) for family, (_, _, metrics) in FAMILIES.items() for metric in metrics],
        axioms={axiom: words for axiom, words in AXIOMS.items()},
        axioms_reading=READING,
        notes=[Remark(note.key, note.title, note.source, note.text, _known(note.metrics)) for note in NOTES],
    )


def _known(keys: tuple[str, ...]) -> list[str]:
    return [key for key in keys if key in CATALOGUE]


def _entry(metric: Metric, family: str) -> Entry:
    return Entry(
        key=metric.key, family=family, name=metric.name, label=metric.label, symbol=metric.symbol, direction=metric.direction,
        low=number(metric.low), high=number(metric.high), formula=metric.formula, words=metric.words, source=metric.source,
        needs=list(metric.needs), level=metric.level, human=metric.human, binned=metric.binned, axioms=_axioms(metric),
        undefined=metric.undefined, caveat=metric.caveat, notes=[note.key for note in NOTES if metric.key in note.metrics],
    )  # fmt: skip


def _axioms(metric: Metric) -> Axioms | None:
    if metric.axioms is None or not metric.judges_confidence:
        return None
    return Axioms(list(metric.axioms), metric.axioms_where or None, [_refuted(metric, one) for one in metric.counterexamples])


def _refuted(metric: Metric, one: Counterexample) -> Refuted:
    values = (measured(metric, one.items), measured(metric, one.after))
    return Refuted(one.axiom, list(one.items), one.item, one.to, *values)
