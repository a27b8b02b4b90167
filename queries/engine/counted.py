"""What metrics measure of a selection: which answers of which runs and questions, decided in one place for every view.

Filters, states of answers, gradings, people, clusters and the runs that take part are applied here. A view asks for the evidence,
or puts the selection into a query; it neither repeats nor changes any of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from clueline.data.store import Snapshot, once_per_snapshot
from clueline.data.store.answer_states import OTHER_STATES, State
from clueline.data.store.run_cache import kept_property
from clueline.queries.engine import run_columns
from clueline.queries.engine.common_questions import Coverage, Expected, comparable, coverage
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.gather import gather
from clueline.queries.engine.selected_answers import chosen, counts_by_run, state_counts
from clueline.queries.metrics import Metric
from clueline.queries.metrics.counted_answers import CONFIDENT, CountedAnswers
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.metrics.metric import Level
from clueline.queries.selection import ClueMask, Selection


@dataclass(frozen=True, eq=False)
class Counted:
    """The answers of a selection that some metrics, which count the same states of an answer, measure.

    Attributes:
        selection: the measured runs, questions, clues and answers, for queries in SQL.
        coverage: how much of the given selection its runs answered; None if each run is measured on its own.
    """

    snapshot: Snapshot = field(repr=False)
    selection: Selection
    metrics: tuple[Metric, ...]
    coverage: Coverage | None
    _expected: Expected | None = field(default=None, repr=False)

    @kept_property
    def evidence(self) -> Evidence:
        """The evidence that the metrics need. Runs that did not answer the same are compared on what they share."""
        return self.gather(self.metrics)

    def gather(self, metrics: Sequence[Metric]) -> Evidence:
        """Gather the evidence that other metrics need of the same answers."""
        evidence = gather(self.snapshot, self.selection, metrics)
        if self._expected is None or not len(evidence.runs):
            return evidence
        _, positions = chosen(self.snapshot, self.selection)
        expected = replace(evidence, expected=self._expected.questions[positions])
        if self._expected.complete is None:
            return expected
        return replace(expected, shared=lambda level: self._shared(metrics, level, positions))

    def _shared(self, metrics: Sequence[Metric], level: Level, positions: Ints) -> Evidence:
        """Gather what runs that answered different clues of a question share, for metrics of a level.

        Items have a row for each clue. Questions count with their expected clues, where a run answered all of these.
        """
        expected = self._expected
        assert expected is not None and expected.complete is not None
        of_level = [metric for metric in metrics if metric.level == level and metric.of_items]
        if level == "item":
            evidence = gather(self.snapshot, self.selection, of_level, by_clue=True)
            of_clues, _ = run_columns.clues(self.snapshot, self.selection.dataset).numbered()
            return replace(evidence, expected=expected.clues[np.isin(of_clues, positions)])
        evidence = gather(self.snapshot, self.selection.replace(clue_mask=expected.mask), of_level)
        complete = np.array([expected.complete[run.run][positions] for run in evidence.runs])
        whole = evidence.select_rows(complete[evidence.run_of_rows, evidence.places])
        return replace(whole, expected=expected.questions[positions])

    @kept_property
    def comparable(self) -> bool:
        """Whether its runs answered the same, or are compared on what they share."""
        return self.coverage is not None or not coverage(self.snapshot, self.selection).differs

    def with_metrics(self, metrics: Sequence[Metric]) -> Counted:
        """Measure the same answers by other metrics."""
        return replace(self, metrics=tuple(metrics))

    def of_questions(self, ids: tuple[str, ...] | None) -> Counted:
        """Measure only some questions, by id; None for all."""
        return replace(self, selection=self.selection.replace(questions=ids))

    def of_clues(self, clues: ClueMask) -> Counted:
        """Measure the same runs on only some clues, each on its own answers, without comparing them."""
        return replace(self, selection=self.selection.replace(clue_mask=clues), _expected=None)

    def on_runs(self, runs: Collection[str]) -> Counted:
        """Measure other runs, or only some, on their own answers to the same questions, without comparing them."""
        return replace(self, selection=self.selection.on_runs(runs), _expected=None)


def count_answers(snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric] = (), *, compared: bool = True) -> Counted:
    """Return what metrics that count the same states measure; of others, only answers with a confidence.

    ``compared`` says whether the view ranks or compares runs: then, unless the selection's ``common`` says otherwise, only runs
    that answered most of what others did take part.
    """
    return _counted(snapshot, selection.for_metrics(metrics) if metrics else selection, tuple(metrics), compared=compared)


def count_groups(
    snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric], runs: Sequence[str] = (), *, compared: bool = True
) -> list[Counted]:
    """Return what metrics measure, those that count the same states together, first those that need a confidence.

    There is at least one group. ``runs`` are ids of runs that are measured although filters may leave them out.
    """
    measured = [selection, selection.on_runs(runs)] if runs else [selection]
    counts = [of_run for part in measured for of_run in counts_by_run(state_counts(snapshot, part)).values()]
    groups = _by_counted(metrics, {state for of_run in counts for state in OTHER_STATES if of_run[state]})
    return [
        _counted(snapshot, selection.replace(counted=counted), tuple(group), compared=compared)
        for counted, group in groups.items()
    ]


def _by_counted(metrics: Iterable[Metric], states: Collection[State]) -> dict[CountedAnswers, list[Metric]]:
    """Group metrics by the answers that they count. ``states`` are those of answers without a confidence that there are."""
    groups: dict[CountedAnswers, list[Metric]] = {}
    for metric in metrics:
        counted = metric.counted if states or metric.counted.attempts else CONFIDENT
        groups.setdefault(counted if "scored" in states else counted.without_scored(), []).append(metric)
    ordered = sorted(groups, key=lambda counted: (not counted.need_confidence, len(counted.states)))
    return {counted: groups[counted] for counted in ordered} or {CONFIDENT: []}


@once_per_snapshot
def _counted(snapshot: Snapshot, selection: Selection, metrics: tuple[Metric, ...], *, compared: bool) -> Counted:
    if selection.common is None and not compared:
        return Counted(snapshot, selection, metrics, None)
    what = comparable(snapshot, selection)
    return Counted(snapshot, what.selection, metrics, what.coverage, what.unshared)
