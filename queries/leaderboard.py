"""The leaderboard: metrics of every run of a selection, with their ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from clueline.data.store import Snapshot, once_per_snapshot
from clueline.data.store.answer_states import OTHER_STATES, State
from clueline.data.store.run_files import graded_kind
from clueline.queries.engine.common_questions import Coverage, coverage
from clueline.queries.engine.counted import Counted, count_answers, count_groups
from clueline.queries.engine.disputed_answers import disputed_positions
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.gather import gather
from clueline.queries.engine.inference import wilson_interval
from clueline.queries.engine.intervals_and_difference_tests import mean_range
from clueline.queries.engine.plays_of_people import Plays, with_second_values
from clueline.queries.engine.primary_metric import RankedMetrics, ranked_metrics
from clueline.queries.engine.ranked_metric_rows import (
    NOTHING_COUNTED,
    RunRow,
    merged_rows,
    metric_cells,
    remove_ranks,
    run_rows,
    set_bounds,
    state_fields,
)
from clueline.queries.engine.reference_forecasters import divide_references
from clueline.queries.engine.run_pairs import runs_by_id
from clueline.queries.engine.selected_answers import chosen, counts_by_run, state_counts
from clueline.queries.engine.shared_answers import contradicting_pairs
from clueline.queries.metrics import CATALOGUE, Conventions, Metric
from clueline.queries.reviewed_samples import ReviewedRun, reviewed_runs
from clueline.queries.selection import Answer, Selection, head

ACCURACY = CATALOGUE["accuracy"]
LOW_ACCURACY = 0.05  # with a lower accuracy, a run has too few right answers for its calibration to say much
LOW_ACCURACY_NOTE = "almost never right: its calibration says little"
ALL_FAILED = "none of its calls got an answer"
MIN_DISPUTED = 0.05  # share of disputed answers above which the gradings of a selection disagree
BELOW_CHANCE_NOTE = "right less often than chance: its calibration says little"


class LeaderboardRow(RunRow):
    """One run.

    Attributes:
        answered, answered_clues: numbers of questions and clues of the selection that it answered; ``questions`` and ``items``
            are those from which its metrics are computed.
        ranked: false where it answered too little to be compared with the others by one of the metrics. Then these metrics cover
            everything that it answered, without ranks and intervals, while others may rank it; it has no metrics if all of its
            calls failed. Also false for a ``reference``.
        unranked: why it is not ranked, such as "answered 155 of 300" (clues), "18 % of calls failed" or "35 % of answers lack a
            confidence"; None if it is ranked or a ``reference``.
        reference: true for a reference forecaster among models that is a formula. Its metrics cover the questions on which the
            ranked runs are measured, with intervals, but without ranks and letters. If all runs are formulas, they are ranked.
        note: a warning about a run that is hardly ever right (see ``accuracy_note``) or whose calls all failed; else None.
    """

    answered: int
    answered_clues: int
    ranked: bool
    unranked: str | None
    reference: bool
    note: str | None


class GradingLeader(msgspec.Struct):
    """A run that is first under a grading; ``value`` is that of the primary metric. Runs that tie for it are all listed."""

    grading: str
    run: str
    model: str
    elicitation: str
    value: float


class GradingDisagreement(msgspec.Struct):
    """How far the gradings of a selection's runs disagree on its answers.

    On ``disputed`` answers, whether or not other runs answered the same clues, the gradings of their run differ. If their share
    is above 5 %, ``leaders`` are those by ``metric`` under each grading; runs without it are measured by their first one.
    """

    disputed: int
    share: float
    metric: str
    leaders: list[GradingLeader]

    @property
    def matters(self) -> bool:
        """Whether the gradings differ on so many answers that pages say so."""
        return self.share > MIN_DISPUTED


class Leaderboard(Answer):
    """Answer of ``/api/v1/leaderboard``; rows in order of import.

    ``common`` and ``common_clues`` count what every ranked run answered, if metrics are computed from this only (``common=1``).
    ``contradictions`` counts, by metric, the pairs of ranked runs of which the one with the better adjusted mean is worse on what
    both answered.

    The page sorts by ``primary`` by default. Claims by it are adjusted for all pairs of runs; claims by any of the
    ``other_metrics``, shown or not, for all of these as well. ``reviewed`` are the runs of which answers were drawn at random for
    review, with estimates of their means. ``plays`` counts those of people, if the end of some is not stated.
    """

    questions: int
    clues: int
    common: int | None
    common_clues: int | None
    contradictions: dict[str, int]
    primary: str
    other_metrics: int
    rows: list[LeaderboardRow]
    gradings: GradingDisagreement
    reviewed: list[ReviewedRun]
    plays: Plays | None = None


def leaderboard(
    snapshot: Snapshot,
    selection: Selection,
    metrics: Sequence[Metric],
    intervals: bool | Sequence[Metric] = False,
    margin: float | None = None,
) -> Leaderboard:
    """Return the metrics of every run of a selection that answered any of its questions, or whose calls all failed.

    Metrics that count different answers, such as accuracy and the Brier score, are measured one group after the other: which runs
    take part depends on the answers that count. By default, each run is measured on all that it answered; see ``MetricCell``.
    ``intervals`` are the metrics that get them, or whether all do. ``margin`` is the difference below which two runs are equal,
    in the units of each metric.
    """
    (models, references), states = divide_references(snapshot, selection), counts_by_run(state_counts(snapshot, selection))
    groups, claimed = count_groups(snapshot, models, metrics), ranked_metrics(snapshot, selection)
    with_intervals = metrics if intervals is True else intervals or ()
    measured = [_measure(counted, selection, models, references, states, with_intervals, claimed, margin) for counted in groups]
    names, first = runs_by_id(snapshot, selection), measured[0]
    # Runs of which no answer counts: they have no metrics and no rank.
    unmeasured = [
        RunRow(**msgspec.structs.asdict(names[run]), questions=0, items=0, **state_fields(states[run]), metrics={})
        for run in first.coverage.answered
        if run in states and not any(run in part.rows for part in measured)
    ]
    rows = {row.run: row for row in merged_rows([*(part.rows.values() for part in measured), unmeasured], metrics)}
    for row in unmeasured:
        reason = _nothing_counts(states[row.run])
        row.metrics = {key: msgspec.structs.replace(cell, missing=reason) for key, cell in row.metrics.items()}
    for part, group in zip(measured, groups, strict=True):
        counted = group.selection.counted
        if counted.need_confidence:  # a run without any confidence has bounds, too
            without = [row for row in rows.values() if row.run not in part.rows]
            set_bounds(snapshot, selection.replace(counted=counted), without, group.metrics)
    shared = first.restricted

    def complete(row: RunRow) -> LeaderboardRow:
        reasons = [part.apart[row.run] for part in measured if row.run in part.apart]
        notes = [part.notes[row.run] for part in measured if row.run in part.notes]
        if not notes:
            reasons, notes = [_nothing_counts(states[row.run])], [_nothing_counts(states[row.run])]
        return LeaderboardRow(
            **msgspec.structs.asdict(row) | {"metrics": row.metrics},
            answered=first.coverage.answered[row.run],
            answered_clues=first.coverage.answered_clues[row.run],
            ranked=not reasons and row.run not in references,
            unranked=reasons[0] if reasons else None,
            reference=row.run in references,
            note=notes[0],
        )

    board = Leaderboard(
        *head(snapshot, selection),
        questions=first.coverage.questions,
        clues=first.coverage.clues,
        common=shared.common if selection.common and shared and shared.differs else None,
        common_clues=shared.common_clues if selection.common and shared and shared.differs else None,
        contradictions={key: pairs for part in measured for key, pairs in part.contradictions.items()},
        primary=claimed.primary.key,
        other_metrics=claimed.others,
        rows=[complete(rows[run]) for run in first.coverage.answered if run in rows],
        gradings=grading_disagreement(snapshot, selection),
        reviewed=reviewed_runs(snapshot, selection).runs,
    )
    of_people = [metric for metric in metrics if metric.rests_on_people]
    if not of_people:
        return board
    return with_second_values(snapshot, selection, board, lambda other, same: leaderboard(other, same, of_people))


@once_per_snapshot
def board_coverage(snapshot: Snapshot, selection: Selection) -> Coverage:
    """Return how much of a selection the runs answered that can be ranked, without ``reference`` forecasters."""
    return coverage(snapshot, divide_references(snapshot, selection)[0])


class _Measured(NamedTuple):
    """Metrics that count the same answers, of all runs that have any of these, and the runs that are not ranked, with the reason.

    ``coverage`` includes references; ``restricted`` is that of the models, if they are measured on what is common.
    """

    coverage: Coverage
    restricted: Coverage | None
    rows: dict[str, RunRow]
    notes: dict[str, str | None]
    apart: dict[str, str]
    contradictions: dict[str, int]


def _measure(
    counted: Counted,
    selection: Selection,
    models: Selection,
    references: Sequence[str],
    states: Mapping[str, Mapping[State, int]],
    intervals: Sequence[Metric],
    claimed: RankedMetrics,
    margin: float | None,
) -> _Measured:
    """Measure the runs of a selection, of ``models`` and ``references``, by metrics that count the same answers."""
    snapshot, metrics, states_counted = counted.snapshot, counted.metrics, counted.selection.counted
    models, selection = models.replace(counted=states_counted), selection.replace(counted=states_counted)
    of_models = counted.coverage or coverage(snapshot, models)
    counts = coverage(snapshot, selection) if references else of_models
    # Runs that lack confidences are not ranked even if each run is measured on its own.
    apart = of_models.apart if counted.coverage else {run: of_models.apart[run] for run in of_models.lacking}
    ranked = [run for run in of_models.answered if run not in apart]
    chance, notes = _chance(snapshot, selection.dataset), {}

    def rows_of(evidence: Evidence, runs: Selection, in_order: bool, reference: bool = False) -> dict[str, RunRow]:
        tested = claimed if counted.comparable and not reference else None
        stated = margin if in_order else None
        rows = run_rows(evidence, metrics, states, intervals if in_order or reference else (), tested, stated)
        if not in_order:
            remove_ranks(rows)
        if states_counted.need_confidence:
            set_bounds(snapshot, runs, rows, metrics)
        for row, accuracy, units in zip(rows, evidence.values(ACCURACY), evidence.units_with(ACCURACY), strict=True):
            notes[row.run] = None if states_counted.attempts else accuracy_note(float(accuracy), int(units), chance)
        return {row.run: row for row in rows}

    rows: dict[str, RunRow] = {}
    contradictions: dict[str, int] = {}
    measured = counted.with_metrics((*metrics, ACCURACY))
    if ranked:
        part = measured if counted.coverage or not apart else measured.on_runs(ranked)
        rows |= rows_of(part.evidence, part.selection, in_order=True)
        contradictions = {m.key: count for m in metrics if (count := contradicting_pairs(part.evidence, m))}
    if apart:
        alone = models.on_runs(apart)
        rows |= rows_of(gather(snapshot, alone, (*metrics, ACCURACY)), alone, in_order=False)
    if references:
        beside = measured.on_runs(references)
        rows |= rows_of(beside.evidence, beside.selection, in_order=False, reference=True)
    for row in () if selection.common else rows.values():
        if row.items == counts.counted_clues[row.run]:  # otherwise there are several samples of a clue
            _set_rest(row, metrics, counts.clues, selection.conventions)
    return _Measured(counts, counted.coverage, rows, notes, apart, contradictions)


def _set_rest(row: RunRow, metrics: Sequence[Metric], clues: int, conventions: Conventions) -> None:
    """Set what means of items would be with the least and the greatest values at the selected clues that have no item.

    The run has at most one item at a clue. Metrics that need people or whole distributions are not over all clues.
    """
    share = row.items / clues
    for metric in metrics:
        cell = row.metrics[metric.key]
        of_clues = metric.mean and metric.level == "item" and metric.of_items
        if of_clues and share < 1 and cell.value is not None:
            least, most = mean_range(metric, conventions)
            cell.rest_low = share * cell.value + (1 - share) * least
            cell.rest_high = share * cell.value + (1 - share) * most


def _nothing_counts(states: Mapping[State, int]) -> str:
    """Say why a run has no metrics, given how many responses it has in each state."""
    return ALL_FAILED if states["failed"] == sum(states[state] for state in OTHER_STATES) else NOTHING_COUNTED


@once_per_snapshot
def grading_disagreement(snapshot: Snapshot, selection: Selection) -> GradingDisagreement:
    """Return how far the gradings of a selection's runs disagree on its answers, and who leads under each."""
    primary = ranked_metrics(snapshot, selection).primary
    answers = selection.for_metrics([ACCURACY]).replace(failed=False)
    disputed = sum(map(len, disputed_positions(snapshot, answers).values()))
    disagreement = GradingDisagreement(disputed, 0.0, primary.key, [])
    if disputed:
        evidence = gather(snapshot, answers, [ACCURACY])
        disagreement.share = disputed / sum(evidence.run_facts(index)["items"] for index in range(len(evidence.runs)))
    if disagreement.matters:
        models, _ = divide_references(snapshot, selection)
        for grading in _gradings(snapshot, chosen(snapshot, models)[0]):
            evidence = count_answers(snapshot, models.replace(grading=grading), [primary]).evidence
            cells = metric_cells(primary, evidence)
            best = min((cell.rank for cell in cells if cell.rank is not None), default=None)
            disagreement.leaders += [
                GradingLeader(grading, run.run, run.model, run.elicitation, cell.value)
                for run, cell in zip(evidence.runs, cells, strict=True)
                if cell.value is not None and cell.rank == best
            ]
    return disagreement


def _gradings(snapshot: Snapshot, runs: Sequence[str]) -> list[str]:
    """Return the names of the gradings of some runs, first gradings first. Left out are those that differ from no first one."""
    names = snapshot.rows(
        """select name from gradings g where list_contains($runs, run) and (position = 0 or exists (
            from objects o where o.run = g.run and o.kind = $kind || g.name))
        group by 1 order by min(position), 1""",
        {"runs": list(runs), "kind": graded_kind("grades", "")},
    )
    return [name for (name,) in names]


def accuracy_note(accuracy: float, questions: int, chance: float | None) -> str | None:
    """Return a warning about a run that is hardly ever right, else None.

    It is below 5 %, or Wilson's 95 % interval of it ends below the chance of being right by choosing at random. A question, or a
    cluster of questions, counts as one item, however many clues it has: this gives the widest possible interval.

    >>> accuracy_note(0.01, 500, None)
    'almost never right: its calibration says little'
    >>> accuracy_note(0.3, 20, 1 / 2)  # 20 questions do not show it
    >>> accuracy_note(0.3, 900, 1 / 2)
    'right less often than chance: its calibration says little'
    """
    if accuracy < LOW_ACCURACY:
        return LOW_ACCURACY_NOTE
    _, high = wilson_interval(np.asarray(accuracy), np.asarray(float(questions)))
    return BELOW_CHANCE_NOTE if chance is not None and high < chance else None


def _chance(snapshot: Snapshot, dataset: str) -> float | None:
    """Return the chance of being right by choosing a class at random; None where the dataset names no classes."""
    ((classes,),) = snapshot.rows("select max(len(classes)) from datasets where dataset = $d", {"d": dataset})
    return 1 / classes if classes else None
