"""Runs that contain the answers of many people, which are correlated, just as the answers to one question are.

A metric therefore varies with both the questions and the people.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from clueline.data.sufficient_statistics import BIN_COLUMNS
from clueline.queries.engine.bootstrap import DrawnKind, Draws, item_replicates, mass_bins_replicates
from clueline.queries.engine.evidence import Evidence, stepped_totals
from clueline.queries.engine.run_columns import dense
from clueline.queries.metrics import Metric
from clueline.queries.metrics.kernels.arrays import Floats, Ints
from clueline.queries.metrics.metric import unchanged_sums


@dataclass(frozen=True)
class RespondentCells:
    """The answers of a run: ``cells`` has one row for the answers of each ``respondent``, from 0, to each question."""

    cells: Evidence
    respondent: Ints

    def can_draw(self, metric: Metric) -> bool:
        """Check whether the metric can be computed: statistics of whole distributions only exist by question."""
        return set(metric.reads(self.cells.conventions)) <= self.cells.statistics.keys()

    def of_questions(self, places: Ints) -> RespondentCells:
        rows = np.isin(self.cells.places, places)
        return RespondentCells(self.cells.select_rows(rows), np.unique(self.respondent[rows], return_inverse=True)[1])

    def replicates(self, metric: Metric, step: float = 1.0) -> Floats:
        """Compute replicates with the variance of a metric over questions and respondents, shape (REPLICATES,).

        Replicates whose weights are products of draws of questions and draws of respondents count the noise of single answers
        three times. They are therefore shrunk towards their centre, so that their variance is the variance over questions, plus
        that over respondents, minus that over single answers, which the first two both include; but at least the larger of the
        first two. ``tests/statistics`` simulates the coverage.

        Source: Owen 2007, "The pigeonhole bootstrap", on products of weights; Cameron, Gelbach & Miller 2011 on the variance.
        """
        both, questions, people, answers = (self.draw(metric, kind, step) for kind in ("both", "questions", "people", "answers"))
        spread, of_questions, of_people, of_answers = (
            float(np.nanvar(values)) if np.isfinite(values).any() else math.nan for values in (both, questions, people, answers)
        )
        variance = max(of_questions, of_people, of_questions + of_people - of_answers)
        if not spread > 0 or not np.isfinite(variance):
            return both
        return np.nanmean(questions) + math.sqrt(min(variance / spread, 1.0)) * (both - np.nanmean(both))

    def draw(self, metric: Metric, kind: DrawnKind, step: float = 1.0) -> Floats:
        """Compute the metric in each replicate of one kind of ``Draws``, shape (REPLICATES,), NaN where undefined.

        A metric that is not a sum over items is computed from the weighted sums of each question, as in ``Evidence``.
        """
        cells = self.cells
        draws = Draws(kind, cells.clusters, cells.drawn_from, self.respondent)
        if metric.pairs is not None:
            return metric.select_part(item_replicates(metric, cells.sorted_items(0, metric), draws, step))
        parts: list[dict[str, Floats]] = []
        columns = {name: dense(values) for name, values in cells.contributions(metric).items()}
        mass = self._mass_bins(draws) if metric.needs_items(cells.conventions) else {}
        nested = metric.contributions is not unchanged_sums and not metric.cross_fitted
        starts = np.flatnonzero(np.diff(cells.places, prepend=-1))
        for questions, within in draws:
            if not nested:
                weights = questions * within
                parts.append({name: _weighted(weights, column) for name, column in columns.items() if name not in mass})
            elif metric.by_sample:
                parts.append(_means_within(questions, within, columns, starts))
            else:
                parts.append(self._from_questions(metric, zip(questions, within, strict=True), starts))
        totals = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        if step != 1 and not mass:
            totals = stepped_totals(totals, {name: values[0] for name, values in cells.totals(metric).items()}, step)
        return metric.value(totals | mass, cells.conventions)

    def _mass_bins(self, draws: Draws) -> dict[str, Floats]:
        assert self.cells.conventions.mass_bins is not None
        bins = mass_bins_replicates(self.cells.sorted_items(0), draws, self.cells.conventions.mass_bins)
        return dict(zip(BIN_COLUMNS, np.moveaxis(bins, 1, -1), strict=True))

    def _from_questions(self, metric: Metric, weights: Iterable[tuple[Floats, Floats]], starts: Ints) -> dict[str, Floats]:
        """Sum a metric's contributions, from the weighted sums of each question, over questions, shape (replicates, ...)."""
        reads = {name: dense(self.cells.statistics[name]) for name in metric.reads(self.cells.conventions)}
        rows: list[dict[str, Floats]] = []
        for questions, within in weights:
            sums = {
                # The difficulty is the question's, not a sum over answers.
                name: column[starts] if name == "difficulty" else np.add.reduceat(_times(within, column), starts, axis=0)
                for name, column in reads.items()
            }
            counted = questions[starts] * (np.add.reduceat(within, starts) > 0)
            contributions = metric.contributions(sums, self.cells.conventions)
            rows.append({name: _times(counted, dense(values)).sum(axis=0) for name, values in contributions.items()})
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def _weighted(weights: Floats, column: Floats) -> Floats:
    """Sum a column of shape (rows, ...) with weights of shape (replicates, rows), shape (replicates, ...)."""
    product: Floats = weights @ column.reshape(len(column), math.prod(column.shape[1:]))
    return product.reshape(len(weights), *column.shape[1:])


def _means_within(questions: Floats, within: Floats, columns: Mapping[str, Floats], starts: Ints) -> dict[str, Floats]:
    """Sum, over the drawn questions, the weighted means over the answers to each question, shape (replicates,) per column."""
    weight = np.add.reduceat(within, starts, axis=1)
    counted = questions[:, starts] * (weight > 0) / np.maximum(weight, 1)
    return {name: (counted * np.add.reduceat(within * column, starts, axis=1)).sum(axis=1) for name, column in columns.items()}


def _times(weights: Floats, column: Floats) -> Floats:
    """Multiply a column of shape (rows, ...) by a weight for each row."""
    return column * weights.reshape(-1, *[1] * (column.ndim - 1))
