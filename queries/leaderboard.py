"""The leaderboard: metrics of every run of a selection, with their ranks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from data.store import Snapshot
from data.store.run_files import graded_kind
from queries.engine.common_questions import Coverage, coverage, restrict
from queries.engine.disputed_answers import disputed_positions
from queries.engine.evidence_for_many_questions import measured_runs
from queries.engine.inference import wilson_interval
from queries.engine.primary_metric import ranked_metrics
from queries.engine.ranked_metric_rows import MetricCell, RunRow, metric_cells, run_rows
from queries.engine.run_pairs import runs_by_id
from queries.engine.stored_or_computed_rows import chosen, failed_calls
from queries.metrics import CATALOGUE, Metric
from queries.reviewed_samples import ReviewedRun, reviewed_runs
from queries.selection import Selection, selection_keys

ACCURACY = CATALOGUE["accuracy"]
LOW_ACCURACY = 0.05  # with a lower accuracy, a run has too few right answers for its calibration to say much
LOW_ACCURACY_NOTE = "almost never right: its calibration says little"
ALL_FAILED = "none of its calls got an answer"
MIN_DISPUTED = 0.05  # share of disputed answers above which the gradings of a selection disagree
REFERENCE = "computed"  # elicitation of a forecaster that is a formula: a reference, not a model
BELOW_CHANCE_NOTE = "right less often than chance: its calibration says little"


class LeaderboardRow(RunRow):
    """One run.

    Attributes:
        answered: number of questions of the selection that it answered; ``questions`` is how many its metrics are computed from.
        answered_clues: number of clues of the selection that it answered; ``items`` is the number of answers that its metrics are
            computed from.
        ranked: false where it answered too little to be compared with the others. Then its metrics cover everything that it
            answered, without ranks and intervals; it has no metrics if all of its calls failed. Also false for a ``reference``.
        unranked: why it is not ranked, such as "answered 155 of 300" (clues) or "18 % of calls failed"; None if it is ranked or
            a ``reference``.
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

    Attributes:
        disputed: number of answers of the selection on which the gradings of their run differ, whether or not other runs answered
            the same clues.
        share: their share of all answers, in [0, 1].
        metric: key of the metric by which runs lead: ``primary`` of the leaderboard.
        leaders: who is first under each grading that some run has, if more than 5 % of the answers are disputed; else empty.
            Runs without the grading are measured by their first one.
    """

    disputed: int
    share: float
    metric: str
    leaders: list[GradingLeader]

    @property
    def matters(self) -> bool:
        """Whether the gradings differ on so many answers that pages say so."""
        return self.share > MIN_DISPUTED


class Leaderboard(msgspec.Struct):
    """Answer of ``/api/v1/leaderboard``; rows in order of import.

    Attributes:
        questions: number of questions of the selection, answered or not.
        clues: number of clues of these questions, answered or not; a single-shot question has one.
        common: number of questions that every ranked run answered, if metrics are computed from these only; else None.
        common_clues: number of clues that every ranked run answered, if metrics are computed from these only; else None.
        primary: key of the primary metric of this kind of dataset, by which the page sorts unless told otherwise. Claims by it
            are adjusted for all pairs of runs.
        other_metrics: number of other metrics by which runs could be ranked here, shown or not. Claims by any of them are
            adjusted for all of them as well.
        gradings: how far the gradings of the runs disagree, and who leads under each.
        reviewed: the runs of which answers were drawn at random for review, with estimates of their means over all their answers.
    """

    data_version: str
    selection: dict[str, list[str]]
    questions: int
    clues: int
    common: int | None
    common_clues: int | None
    primary: str
    other_metrics: int
    rows: list[LeaderboardRow]
    gradings: GradingDisagreement
    reviewed: list[ReviewedRun]


def leaderboard(
    snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric], intervals: bool = False, margin: float | None = None
) -> Leaderboard:
    """Return the metrics of every run of a selection that answered any of its questions, or whose calls all failed.

    Args:
        snapshot: of the store.
        selection: filters and conventions; its ``common`` is 1 by default.
        metrics: to compute.
        intervals: whether to compute intervals and letters.
        margin: the difference below which two runs are equal, at least 0, in the units of each metric; None where none is stated.
    """
    models, references = _divided(snapshot, selection)
    counted, restricted = restrict(snapshot, models, by_default=True)
    counts = restricted if restricted and not references else coverage(snapshot, selection)
    failed, chance = failed_calls(snapshot, selection), _chance(snapshot, selection.dataset)
    claimed = ranked_metrics(snapshot, selection.dataset)

    def rows_of(runs: Selection, ranked: bool, reference: bool = False) -> dict[str, LeaderboardRow]:
        evidence = measured_runs(snapshot, runs, (*metrics, ACCURACY))
        comparable = restricted is not None or not counts.differs
        tested = claimed if comparable and not reference else None
        stated = margin if ranked else None
        rows = run_rows(evidence, metrics, failed, intervals and (ranked or reference), tested, stated)
        if not ranked:
            for cell in (cell for row in rows for cell in row.metrics.values()):
                cell.rank = cell.rank_low = cell.rank_high = None
        notes = [
            accuracy_note(float(accuracy), int(units), chance)
            for accuracy, units in zip(evidence.values(ACCURACY), evidence.units_with(ACCURACY), strict=True)
        ]
        return {
            row.run: LeaderboardRow(
                **msgspec.structs.asdict(row),
                answered=counts.answered[row.run],
                answered_clues=counts.answered_clues[row.run],
                ranked=ranked,
                unranked=None if ranked or reference or restricted is None else restricted.apart[row.run],
                reference=reference,
                note=note,
            )
            for row, note in zip(rows, notes, strict=True)
        }

    rows = _rows_without_answers(snapshot, selection, metrics, failed, counts) | rows_of(counted, ranked=True)
    if restricted and restricted.apart:
        rows |= rows_of(selection.on_runs(restricted.apart), ranked=False)
    if references:
        rows |= rows_of(counted.on_runs(references), ranked=False, reference=True)
    return Leaderboard(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        questions=counts.questions,
        clues=counts.clues,
        common=restricted.common if restricted and restricted.differs else None,
        common_clues=restricted.common_clues if restricted and restricted.differs else None,
        primary=claimed.primary.key,
        other_metrics=claimed.others,
        rows=[rows[run] for run in counts.answered if run in rows],
        gradings=grading_disagreement(snapshot, selection),
        reviewed=reviewed_runs(snapshot, selection).runs,
    )


def grading_disagreement(snapshot: Snapshot, selection: Selection) -> GradingDisagreement:
    """Return how far the gradings of a selection's runs disagree on its answers, and who leads under each.

    Args:
        snapshot: the store.
        selection: filters and conventions. Which grading it names does not matter.
    """
    primary = ranked_metrics(snapshot, selection.dataset).primary
    disputed = sum(map(len, disputed_positions(snapshot, selection).values()))
    disagreement = GradingDisagreement(disputed, 0.0, primary.key, [])
    if disputed:
        evidence = measured_runs(snapshot, selection, [ACCURACY])
        disagreement.share = disputed / sum(evidence.run_facts(index)["items"] for index in range(len(evidence.runs)))
    if disagreement.matters:
        models, _ = _divided(snapshot, selection)
        for grading in _gradings(snapshot, chosen(snapshot, models)[0]):
            counted, _ = restrict(snapshot, models.replace(grading=grading), by_default=True)
            evidence = measured_runs(snapshot, counted, [primary])
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


def _rows_without_answers(
    snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric], failed: pl.DataFrame, counts: Coverage
) -> dict[str, LeaderboardRow]:
    """Return the rows of the runs whose calls all failed, by run. They have no metrics and no rank."""
    names = runs_by_id(snapshot, selection)
    calls: dict[str, int] = dict(failed.group_by("run").agg(pl.col("failed").sum()).iter_rows())
    return {
        run: LeaderboardRow(
            **msgspec.structs.asdict(names[run]),
            questions=0,
            items=0,
            failed=calls[run],
            metrics={metric.key: MetricCell(None, ALL_FAILED, questions=0) for metric in metrics},
            answered=0,
            answered_clues=0,
            ranked=False,
            unranked=ALL_FAILED,
            reference=False,
            note=ALL_FAILED,
        )
        for run, answered in counts.answered.items()
        if not answered and run in calls
    }


def _divided(snapshot: Snapshot, selection: Selection) -> tuple[Selection, list[str]]:
    """Return the selection of the runs that can be ranked, and the ids of the formula-based reference forecasters.

    If all runs are formulas, they are ranked, and there are no reference forecasters.
    """
    names = runs_by_id(snapshot, selection)
    if all(run.elicitation != REFERENCE for run in names.values()):
        return selection, []
    runs, _ = chosen(snapshot, selection)
    models = [run for run in runs if names[run].elicitation != REFERENCE]
    if not models:
        return selection, []
    return selection.on_runs(models), [run for run in runs if names[run].elicitation == REFERENCE]


def accuracy_note(accuracy: float, questions: int, chance: float | None) -> str | None:
    """Return a warning about a run that is hardly ever right, else None.

    There is a warning if the accuracy is below 5 %. If the answers to choose from are known, there is also one if Wilson's 95 %
    interval of the accuracy ends below chance. A question, or a cluster of questions, counts as one item, however many clues
    it has: this gives the widest possible interval.

    Args:
        accuracy: of the run, in [0, 1]; NaN without items.
        questions: number of questions, or of clusters, that the run answered.
        chance: of being right by choosing at random, in (0, 1]; None where the choices are not known.

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
