"""Helpers and counterexamples that entries of the catalogue share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from clueline.data.sufficient_statistics import LIKELIER, UNSTORED_SUMS
from clueline.queries.metrics.kernels import bins
from clueline.queries.metrics.kernels.arrays import ratio
from clueline.queries.metrics.metric import Conventions, Counterexample, Floats, Metric, Reads, Sums, unchanged_sums

V = TypeVar("V")

# Two items, one right and one wrong. The right one becomes less confident, or the wrong one more so, until both are equal. A
# metric that compares mean confidence with accuracy finds the two closer than before.
RIGHT_DOWN = Counterexample(((0.68, 1), (0.6, 0)), ((0, 0.6),))
WRONG_UP = Counterexample(((0.48, 1), (0.4, 0)), ((1, 0.48),))
# Both at once, so that the mean confidence does not change.
SWAPPED = Counterexample(((0.51, 1), (0.5, 0)), ((0, 0.5), (1, 0.51)))
NOT_EVEN_U_OR_O = (RIGHT_DOWN, WRONG_UP, SWAPPED)
# The order of the items does not change.
SAME_ORDER = Counterexample(((0.8, 1), (0.2, 0)), ((0, 0.7), (1, 0.3)))


def columns(*names: str) -> Reads:
    """Return a ``Reads`` that names these statistics under all conventions."""
    return lambda conventions: names


def with_sides(*metrics: Metric) -> tuple[Metric, ...]:
    """Let metrics ``of_likelier_side`` read the sums of the likelier side if the items are forecasts, and return all of them."""
    return tuple(_with_side(metric) if metric.of_likelier_side else metric for metric in metrics)


def _with_side(metric: Metric) -> Metric:
    def by_own_names(function: Callable[[Sums, Conventions], V]) -> Callable[[Sums, Conventions], V]:
        return lambda sums, conventions: function(
            {name.removeprefix(LIKELIER): values for name, values in sums.items()}, conventions
        )

    def reads(conventions: Conventions) -> tuple[str, ...]:
        names = metric.reads(conventions)
        if not conventions.forecasts:
            return names
        return tuple(LIKELIER + name if LIKELIER + name in UNSTORED_SUMS else name for name in names)

    changed = metric.contributions is not unchanged_sums
    return replace(
        metric,
        reads=reads,
        contributions=by_own_names(metric.contributions) if changed else unchanged_sums,
        value=by_own_names(metric.value),
    )


def mean_over_questions(values: Floats) -> Sums:
    """Return the contributions of a metric that is averaged over the questions where it is not NaN, any shape."""
    defined = np.isfinite(values)
    return {"value": np.where(defined, values, 0.0), "questions": defined.astype(float)}


def mean(totals: Sums, conventions: Conventions) -> Floats:
    """Return the mean over the questions that have the metric, from totals of ``mean_over_questions``; NaN without any."""
    return ratio(totals["value"], totals["questions"])


def uncertainty_columns(conventions: Conventions) -> tuple[str, ...]:
    """Return the statistics that ``uncertainty`` reads."""
    return ("items", "correct", *(("correct_sq",) if conventions.forecasts else ()))


def uncertainty(totals: Sums, conventions: Conventions) -> Floats:
    """Return the Brier score of always stating the accuracy or, of forecasts, the share of yes."""
    return bins.uncertainty(totals["items"], totals["correct"], totals["correct_sq"] if conventions.forecasts else None)
