"""Whether runs differ by less than a margin that the reader states: two one-sided tests (Schuirmann 1987)."""

from __future__ import annotations

from typing import Literal

import msgspec

from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.intervals_and_difference_tests import difference_tests, equivalence_tests
from clueline.queries.engine.multiple_comparisons import holm_of_pairs
from clueline.queries.engine.units import ONE_CLUSTER
from clueline.queries.metrics import Metric
from clueline.queries.selection import number

Verdict = Literal["equal", "different", "different by less than the margin", "undecided"]
NO_WIDTH = "these questions do not show how much the difference would vary over others"
SINGLE = "the difference comes from a single question"
FILTERED = "the filter on difficulty selects questions by whether runs answered them correctly"


class Equivalence(msgspec.Struct):
    """Whether a run differs from another by less than the margin. ``verdict`` is None if and only if ``undefined`` says why.

    Attributes:
        difference: value of the run minus that of the other; None where either is missing.
        low, high: 90 % interval of the difference, of this pair alone.
        p_equal: p-value of the two one-sided tests that the difference lies within the margin.
        p_different: two-sided p-value of the difference; both are adjusted for the pairs and metrics that are compared.
        verdict: ``equal`` if only ``p_equal`` is below 0.05, ``different`` if only ``p_different`` is, ``undecided`` if neither.
    """

    against: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_equal: float | None = None
    p_different: float | None = None
    verdict: Verdict | None = None
    undefined: str | None = None


def equivalences(evidence: Evidence, metric: Metric, margin: float, against: int, families: int) -> list[Equivalence]:
    """Compare every run with the one at the index ``against``, on questions that all of them answered.

    There is a comparison per run, in the order of ``evidence.runs``; the one of the run with itself says nothing. The ``margin``,
    at least 0, is in the units of the metric. P-values are adjusted for all pairs of runs and so many ``families``, the number of
    metrics.
    """
    values, questions, units = evidence.values(metric), evidence.questions_with(metric), evidence.units_with(metric)
    tests = equivalence_tests(evidence, metric, margin)
    p_equal = holm_of_pairs(tests.p_values, families)[:, against]
    p_different = holm_of_pairs(difference_tests(evidence, metric), families)[:, against]
    results = []
    for run in range(len(evidence.runs)):
        result = Equivalence(evidence.runs[against].run, number(values[run] - values[against]))
        results.append(result)
        if result.difference is None:
            result.undefined = metric.undefined
        elif min(questions[run], questions[against]) < 2:
            result.undefined = SINGLE
        elif min(units[run], units[against]) < 2:
            result.undefined = ONE_CLUSTER
        elif metric.no_interval:
            result.undefined = metric.no_interval
        elif evidence.selected_by_answers:
            result.undefined = FILTERED
        elif (low := number(tests.low[run, against])) is None or (high := number(tests.high[run, against])) is None:
            result.undefined = NO_WIDTH
        else:
            result.low, result.high = low, high
            result.p_equal, result.p_different = float(p_equal[run]), float(p_different[run])
            result.verdict = _verdict(result.p_equal < SIGNIFICANCE, result.p_different < SIGNIFICANCE)
    return results


def _verdict(equal: bool, different: bool) -> Verdict:
    if equal:
        return "different by less than the margin" if different else "equal"
    return "different" if different else "undecided"
