"""Answer or abstain: what the answers of runs are worth at every cost of a wrong answer.

At threshold t, a wrong answer costs as much as t / (1 - t) right answers earn, and a run answers where its confidence is above t.
Answering then pays exactly if the chance of being right is above t.

Wrong answers above a high threshold are few and dear, so intervals here must hold where none was seen yet.
"""

from __future__ import annotations

from itertools import groupby
from typing import ClassVar

import msgspec
import numpy as np

from clueline.data.recalibration_maps import FOLDS, folds_of_questions
from clueline.data.store import Snapshot
from clueline.queries.engine import inference
from clueline.queries.engine.bootstrap import DIGITS, TIED, resampling_weights
from clueline.queries.engine.counted import count_groups
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.engine.plays_of_people import count_plays, with_second_values
from clueline.queries.engine.reference_forecasters import divide_references
from clueline.queries.engine.run_pairs import RunName, measure_pair, runs_by_id
from clueline.queries.engine.selected_answers import selection_clauses
from clueline.queries.engine.units import Units
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.metrics.kernels.arrays import Floats, Ints, ratio
from clueline.queries.metrics.kernels.decisions import (
    CELLS,
    STEPS,
    THRESHOLDS,
    answered,
    best_thresholds,
    cell_totals,
    murphy_curve,
    wrong_answer_costs,
)
from clueline.queries.metrics.kernels.selective import PARTS, risk_at
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.selection import Answer, Selection, head, number

COVERAGES: Floats = np.arange(1, STEPS + 1) / STEPS  # shares of the items, most confident first, at which risk is given
DECIDE_METRICS = tuple(CATALOGUE[key] for key in PARTS if key != "e_aurc")
BRIER, NET_SCORE = CATALOGUE["brier"], CATALOGUE["net_score"]
AURC = CATALOGUE["aurc"]  # it reads items
# Columns of the sums by cluster of questions: items, sum of y, sums of y and of 1 - y above each threshold.
RIGHT, WRONG = slice(2, 2 + CELLS), slice(2 + CELLS, 2 + 2 * CELLS)


class MetricValue(msgspec.Struct):
    """A metric with its 95 % interval; ``value`` is None where ``missing`` says why."""

    value: float | None
    low: float | None
    high: float | None
    missing: str | None


class Curve(msgspec.Struct):
    """Values at each t with pointwise 95 % intervals; None where undefined, and for the interval of a single cluster."""

    values: list[float | None]
    low: list[float | None]
    high: list[float | None]


class RunDecisions(RunName):
    """One run. Lists have an element for each of ``thresholds``, unless stated otherwise.

    Attributes:
        questions, items: that everything here is computed from, except abstentions, which count in ``net_score``, ``best_score``
            and ``answered``.
        murphy: mean elementary score at each t, in [0, 2]; lower is better. Of forecasts, it compares the probability of yes with
            the outcome; everything else here is about the likelier side.
        net_score: mean reward of an item at each t below 1: 1 for a right answer, -t / (1 - t) for a wrong one, 0 for none.
        answered: share of the items with a confidence above each t, in [0, 1].
        risk, risks: share of errors among these items, and among the most confident items at each of ``coverages``.
        best_threshold: at each t below 1, the confidence above which answering these items earns most: with hindsight.
        best_score: at each t below 1, what an item earns above a best threshold that was chosen on other questions. Questions are
            in five parts, clusters of questions whole; the threshold of a part is the best one on the other four. Of one question
            or cluster, None.
    """

    questions: int
    items: int
    metrics: dict[str, MetricValue]
    murphy: list[float | None]
    net_score: Curve
    answered: list[float]
    risk: list[float | None]
    risks: list[float | None]
    best_threshold: list[float]
    best_score: Curve


class Stretch(msgspec.Struct):
    """Thresholds from ``start`` to ``end``, both included, at which run ``better`` has the lower score; None for neither run."""

    start: float
    end: float
    better: str | None


class CurveDifference(msgspec.Struct):
    """The Murphy curve of run ``a`` minus that of run ``b``, on the questions and clues that both answered.

    It is below 0 where ``a`` is better. ``low`` and ``high`` are a simultaneous band: it contains the whole curve with a
    confidence of 95 %. ``stretches`` say which run is better at which thresholds, as measured. ``shown`` are those on which the
    band excludes 0; all of them hold together. Near t = 0 and t = 1 any two curves meet, so no band excludes 0 there.
    """

    a: RunName
    b: RunName
    questions: int
    difference: list[float]
    low: list[float | None]
    high: list[float | None]
    stretches: list[Stretch]
    shown: list[Stretch]


class PeopleDecisions(msgspec.Struct):
    """Human teams, each counted for every question that it heard; ``right`` and ``wrong`` are shares of these with a buzz.

    ``unstated`` of those heard have no buzz and an end that nobody stated. For ``second``, see ``plays_of_people``.
    """

    SECOND: ClassVar = ("right", "wrong")

    teams: int
    heard: int
    questions: int
    right: float
    wrong: float
    net_score: Curve
    unstated: int = 0
    second: dict[str, float] = {}


class Decisions(Answer):
    """Answer of ``/api/v1/decide``; runs in order of import, thresholds from 0 and coverages from 0.01 to 1 in steps of 0.01.

    ``difference`` is None where there are no two runs, or no question that both answered; ``people`` where no human team buzzed.
    """

    thresholds: list[float]
    coverages: list[float]
    runs: list[RunDecisions]
    difference: CurveDifference | None
    people: PeopleDecisions | None


def decide(snapshot: Snapshot, selection: Selection, a: str = "", b: str = "") -> Decisions:
    """Return what answers are worth at every threshold: for each run, for people, and for the difference of two runs.

    The difference is of runs ``a`` and ``b``; if blank, of the best models by the Brier score. ``common`` is 1 by default. Raises
    ``BadRequest`` if the dataset has no such run, or they are the same.
    """
    names = runs_by_id(snapshot, selection, **{key: run for key, run in (("a", a), ("b", b)) if run})
    groups = count_groups(snapshot, selection, (*DECIDE_METRICS, BRIER, NET_SCORE))
    measured = [group.with_metrics((*group.metrics, AURC)).evidence for group in groups]
    evidence, of_net_score = measured[0], measured[-1]  # only the net score counts abstentions
    places = {run.run: index for index, run in enumerate(of_net_score.runs)}
    counted = groups[0].selection
    metrics = _metrics(evidence)
    order = [evidence.runs[index].run for index in np.argsort(evidence.values(BRIER), kind="stable")]
    _, references = divide_references(snapshot, selection)
    models = [run for run in order if run not in references]
    contestants = models if len(models) > 1 else order
    first = a or next((run for run in contestants if run != b), "")
    second = b or next((run for run in contestants if run != first), "")
    return Decisions(
        *head(snapshot, selection),
        thresholds=THRESHOLDS.tolist(),
        coverages=COVERAGES.tolist(),
        runs=[_run(evidence, index, of_net_score, places[run.run], metrics[index]) for index, run in enumerate(evidence.runs)],
        difference=_difference(snapshot, counted, names[first], names[second]) if first and second else None,
        people=_people_in_both_readings(snapshot, counted, evidence.units),
    )


def _people_in_both_readings(snapshot: Snapshot, selection: Selection, units: Units) -> PeopleDecisions | None:
    first = _people(snapshot, selection, units)
    return with_second_values(snapshot, selection, first, lambda other, same: _people(other, same, units))


def _metrics(evidence: Evidence) -> list[dict[str, MetricValue]]:
    rows: list[dict[str, MetricValue]] = [{} for _ in evidence.runs]
    for metric in DECIDE_METRICS if rows else ():
        values, ends = evidence.values(metric), metric_intervals(evidence, metric)
        for index, row in enumerate(rows):
            value = number(values[index])
            missing = metric.undefined if value is None else None
            row[metric.key] = MetricValue(value, number(ends.low[index]), number(ends.high[index]), missing)
    return rows


def _run(evidence: Evidence, run: int, of_net_score: Evidence, place: int, metrics: dict[str, MetricValue]) -> RunDecisions:
    """Return what the answers of a run are worth: ``run`` among those with a confidence, ``place`` among all of the net score."""
    check_time_limit()
    right, wrong = answered(THRESHOLDS, *of_net_score.items_of(place, NET_SCORE))
    above, count = right + wrong, float(of_net_score.run_facts(place)["items"])
    facts = evidence.run_facts(run)
    sums = _by_cluster(of_net_score, place, NET_SCORE)
    sums = sums[sums[:, 0] > 0]
    per_unit = count / of_net_score.units_answered[place]
    return RunDecisions(
        **facts,
        metrics=metrics,
        murphy=_numbers(murphy_curve(THRESHOLDS, *evidence.items_of(run, BRIER))),
        net_score=_score_curve(rewards(sums[:, RIGHT], sums[:, WRONG]), sums[:, 0], per_unit),
        answered=(above / count).tolist(),
        risk=_numbers(ratio(wrong, above)),
        risks=_numbers(risk_at(COVERAGES, *evidence.items_of(run, NET_SCORE))),
        best_threshold=THRESHOLDS[best_thresholds(right, wrong)].tolist(),
        best_score=_score_curve(cross_fitted_rewards(sums[:, RIGHT], sums[:, WRONG]), sums[:, 0], per_unit),
    )


def _by_cluster(evidence: Evidence, run: int, metric: Metric) -> Floats:
    """Sum up items, y, and y and 1 - y above each threshold, by cluster of questions; shape (clusters, 2 + 2 CELLS)."""
    confidence, correct = evidence.items_of(run, metric)
    group, groups = evidence.cluster_of_items(run, metric), evidence.drawn_from
    totals = [np.bincount(group, column, groups)[:, None] for column in (np.ones_like(correct), correct)]
    above = [cell_totals(values, confidence, group, groups) for values in (correct, 1 - correct)]
    return np.concatenate([*totals, *above], axis=1)


def rewards(right: Floats, wrong: Floats) -> Floats:
    """Return what answering above each t below 1 earns, shape (clusters, STEPS); see ``cross_fitted_rewards``."""
    return right[:, :-1] - wrong_answer_costs() * wrong[:, :-1]


def cross_fitted_rewards(right: Floats, wrong: Floats) -> Floats:
    """Return what answering above the run's own best threshold earns, where no question helps to choose its own threshold.

    A threshold that is judged on the answers that chose it seems better than it is. So clusters of questions are put into
    ``FOLDS`` parts at random, and each part is judged at the threshold that is best on the others. ``right`` and ``wrong`` are
    sums of y and of 1 - y above each of ``THRESHOLDS``, shape (clusters, CELLS). The rewards have shape (clusters, STEPS); they
    are NaN where there are fewer than two clusters.
    """
    clusters = len(right)
    if clusters < 2:
        return np.full((clusters, STEPS), np.nan)
    fold = folds_of_questions(clusters)
    apart = (fold != np.arange(FOLDS)[:, None]).astype(float)
    place = best_thresholds(apart @ right, apart @ wrong)[:, fold].T
    return np.take_along_axis(right, place, axis=1) - wrong_answer_costs() * np.take_along_axis(wrong, place, axis=1)


def _score_curve(earned: Floats, items: Floats, per_unit: float) -> Curve:
    """Return mean rewards with intervals, from rewards and items by cluster, shape (clusters, STEPS) and (clusters,)."""
    costs = wrong_answer_costs()
    low, high = inference.bounded_mean_interval(earned, items, -costs, np.ones_like(costs), per_unit)
    return Curve(*(_numbers(np.round(column, DIGITS) + 0.0) for column in (ratio(earned.sum(axis=0), items.sum()), low, high)))


def _numbers(values: Floats) -> list[float | None]:
    return [number(value) for value in values]


# -- the difference of two runs ----------------------------------------------------------------------------------------


def _difference(snapshot: Snapshot, selection: Selection, a: RunName, b: RunName) -> CurveDifference | None:
    pair = measure_pair(snapshot, selection, a.run, b.run, [AURC])[AURC.key]
    if pair is None:
        return None
    evidence = pair.evidence
    items, losses = _loss_differences(evidence, pair.a, pair.b)
    estimate = np.round(losses.sum(axis=0) / items.sum(), DIGITS) + 0.0
    one_unit = 2 * np.maximum(THRESHOLDS, 1 - THRESHOLDS) / evidence.units_answered[pair.a]
    low, high = inference.simultaneous_band(losses, items, resampling_weights(len(items)).astype(float), one_unit)
    low, high = (np.round(ends, DIGITS) + 0.0 for ends in (low, high))
    if evidence.selected_by_answers:
        low, high = np.full_like(low, np.nan), np.full_like(high, np.nan)
    measured = np.where(np.abs(estimate) > TIED, np.sign(estimate), 0.0)
    shown = np.where(low > TIED, 1.0, np.where(high < -TIED, -1.0, 0.0))
    stretches, certain = _stretches(measured, a.run, b.run), _stretches(shown, a.run, b.run)
    return CurveDifference(
        a=a,
        b=b,
        questions=pair.questions,
        difference=estimate.tolist(),
        low=_numbers(low),
        high=_numbers(high),
        stretches=stretches,
        shown=[stretch for stretch in certain if stretch.better is not None],
    )


def _loss_differences(evidence: Evidence, a: int, b: int) -> tuple[Floats, Floats]:
    """Return items of run a, shape (clusters,), and its elementary scores minus those of run b, summed, (clusters, CELLS).

    A run can have more answers to a clue than the other. The scores of b are scaled to the items of a, so that the sums over all
    clusters differ as the mean scores do, and each cluster's part in the difference is its own.
    """
    (items, losses), (other_items, other_losses) = (_losses(evidence, run) for run in (a, b))
    scale = items.sum() / other_items.sum()
    mean = other_losses.sum(axis=0) / other_items.sum()
    return items, losses - scale * other_losses + mean * (scale * other_items - items)[:, None]


def _losses(evidence: Evidence, run: int) -> tuple[Floats, Floats]:
    """Return items, shape (clusters,), and sums of elementary scores at each threshold, shape (clusters, CELLS)."""
    sums = _by_cluster(evidence, run, BRIER)
    return sums[:, 0], 2 * (THRESHOLDS * sums[:, WRONG] + (1 - THRESHOLDS) * (sums[:, 1:2] - sums[:, RIGHT]))


def _stretches(signs: Floats, a: str, b: str) -> list[Stretch]:
    """Group neighbouring thresholds of the same sign. A lower score is better, so run a is better where the sign is negative."""
    better = {-1.0: a, 1.0: b, 0.0: None}
    results = []
    for sign, places in groupby(range(len(signs)), key=lambda place: float(signs[place])):
        run = [*places]
        results.append(Stretch(float(THRESHOLDS[run[0]]), float(THRESHOLDS[run[-1]]), better[sign]))
    return results


# -- people ------------------------------------------------------------------------------------------------------------


def _people(snapshot: Snapshot, selection: Selection, units: Units) -> PeopleDecisions | None:
    """Return what human teams did on the questions of a selection, which are in ``units``; None where nobody buzzed."""
    with_clauses, parameters = selection_clauses(selection)
    teams = snapshot.frame(
        f"""{with_clauses}
        select q.place, count(*)::double as heard, coalesce(sum(b.correct::double), 0) as correct,
            coalesce(sum(1 - b.correct::double), 0) as wrong
        from exposures e join chosen_questions q using (question_id)
            left join buzzes b using (dataset, question_id, match_id, team)
        where e.dataset = $dataset and e.team_kind = 'human' group by q.place order by q.place""",
        parameters,
    )
    count = snapshot.frame(
        f"""{with_clauses} select count(distinct e.team)
        from exposures e join chosen_questions q using (question_id) where e.dataset = $dataset and e.team_kind = 'human'""",
        parameters,
    ).item()
    heard, right, wrong = (teams[name].to_numpy().astype(float) for name in ("heard", "correct", "wrong"))
    if not (right.sum() + wrong.sum()):
        return None
    costs = wrong_answer_costs()
    total = float(heard.sum())
    places: Ints = teams["place"].to_numpy().astype(np.int64)
    columns = (np.bincount(units.drawn[places], column, units.drawn_from) for column in (heard, right, wrong))
    sums: Floats = np.stack([*columns], axis=1).astype(float)
    earned = sums[:, 1:2] - costs * sums[:, 2:]
    return PeopleDecisions(
        teams=count,
        heard=int(total),
        questions=len(heard),
        right=float(right.sum()) / total,
        wrong=float(wrong.sum()) / total,
        net_score=_score_curve(earned, sums[:, 0], total / len(np.unique(units.of_questions[places]))),
        unstated=count_plays(snapshot, selection).unstated,
    )
