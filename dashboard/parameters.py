"""Keys that several views share, so that page and JSON address read them alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from queries.engine.reliability_diagrams import BANDS
from queries.facets import Facets
from queries.metrics import METRICS, Metric
from queries.parameters import Choice, Flag, Fractions, Kind, MetricList, Parameters, Range
from queries.question_order import FACTS, read_sort


@dataclass(frozen=True)
class QuestionOrder(Kind[str]):
    """An order of questions; see ``queries.question_order``."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        """See ``Kind``."""
        sort = texts[0] or FACTS[0]
        read_sort(sort, facets.all_runs, facets.dataset)
        return sort


def usual_metric(facets: Facets) -> str:
    """Key of the metric of single questions that pages show by default."""
    return "calscore" if facets.human_teams else "brier"


BAND = Choice("consistency band: `pointwise`, the default, or `simultaneous`", BANDS, "There is no band {value!r}.", blank=True)


def known_run(about: str, blank: bool = False) -> Choice:
    """A run of the dataset, withdrawn or not."""
    return Choice(about, lambda facets: facets.all_runs, "Dataset {dataset!r} has no run {value!r}.", blank)


Metrics = Annotated[tuple[Metric, ...], MetricList("`brier,ece`: which metrics; all of them by default")]
Intervals = Annotated[bool, Flag("`1`: with 95 % intervals")]
Confidence = Annotated[Range | None, Fractions("`0.8..1`: answers with a confidence in this range", blank=True)]
Sort = Annotated[str, QuestionOrder("the order of the questions, `-` in front for descending")]


class MetricsParameters(Parameters, frozen=True):
    """Which metrics."""

    metrics: Metrics = METRICS


class IntervalsParameters(MetricsParameters, frozen=True):
    """Which metrics, and whether with intervals."""

    intervals: Intervals = False
