"""Slices: parts of a selection where a run is worse than on the whole selection, or worse than another run on this part."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clueline.data.store import Snapshot
from clueline.queries.engine import inference
from clueline.queries.engine.bootstrap import DIGITS, question_clusters
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.evidence import Evidence, Run
from clueline.queries.engine.gather import gather
from clueline.queries.engine.intervals_and_difference_tests import (
    bootstrapped_differences,
    extra_question_margins,
    outcomes_to_spare,
)
from clueline.queries.engine.multiple_comparisons import adjusted_for_all
from clueline.queries.engine.question_difficulties import UNTESTED, has_difficulties_from_runs
from clueline.queries.engine.run_columns import sum_by_place
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.units import ONE_CLUSTER
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.metrics.kernels.arrays import Ints
from clueline.queries.metrics.metric import Floats
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.selection import Answer, Selection, head
from clueline.queries.selection.parameter_kinds import BadRequest, format_range
from clueline.queries.selection.view_parameters_base import named_key

MIN_QUESTIONS = 8  # in a slice and, where it is compared with the whole, outside it; fewer would say little
MIN_CLUSTERS = 5  # the same, of clusters that have such questions
DIFFICULTY = "difficulty"
SLICE_FIELDS = ("category", "radius", DIFFICULTY)
HARD_EASY = CATALOGUE["hard_easy_slope"]  # it reads the difficulties by which runs are judged
NOT_AGAINST = (
    "Difficulty comes from the answers of runs here. Where runs are compared with another one, it makes no parts, because it "
    "would have to leave out the answers of both."
)
MAX_SLICES = 20  # an attribute with more values is not tested
THIRDS = (0.0, 1 / 3, 2 / 3, 1.0)


class Slice(RunName):
    """A run on one part of the selection.

    Attributes:
        of_others: whether its difficulty is the one that the runs of other models give. No address selects such a part.
        questions: number of questions of the part that the run answered.
        value: of the metric on the part.
        reference: of the metric for the same run on the whole selection, or for the run ``against`` on the same part.
        difference: how much worse the run is than the reference: above 0 means worse, whatever the direction of the metric. For
            metrics that are best at 0, such as overconfidence, it is how much higher ``value`` is than ``reference``.
        low, high: 95 % interval of ``difference``, by the jackknife over questions, or over clusters of questions; where the part
            or the rest has few errors or right answers, from the bootstrap with an extra question.
        p_value: two-sided, for this slice alone: below 0.05 if and only if the interval leaves out 0.
        p_adjusted: valid for all slices tested together, by the distribution of the smallest p-value; at least ``p_value``.
    """

    filters: dict[str, str]
    questions: int
    value: float
    reference: float
    difference: float
    low: float
    high: float
    p_value: float
    p_adjusted: float
    of_others: bool = False


class Slices(Answer):
    """Answer of ``/api/v1/slices``: every slice that could be tested, sorted by ``p_value``, the clearest first.

    ``against`` is the run that others are compared with, None where each run is compared with itself on the whole selection.
    ``tested`` is the number of slices. ``untested`` says which parts are not tested, and why; None if all are.
    """

    metric: str
    against: str | None
    tested: int
    slices: list[Slice]
    untested: str | None = None


def slices(snapshot: Snapshot, selection: Selection, metric: Metric, against: str | None = None) -> Slices:
    """Test every run on every category, radius and third of difficulty, on every two of these combined, and by attributes.

    Each run is compared with the run ``against`` or, without one, with itself on the whole selection. Raises ``BadRequest`` if
    there is no run ``against`` among those of the selection.

    If difficulties come from runs, the parts of a run are made of the answers of other models only. Where runs are compared with
    another one, no part is made of such difficulties. If they select the questions, nothing is tested.

    A part is not tested if the run answered fewer than eight of its questions. Where a run is compared with itself, a part is not
    tested either if it answered fewer than eight questions outside the part. With clusters, at least five must have such
    questions.
    """
    # Another run is compared on the same questions; a run with itself, on all that it answered.
    paired = against is not None and selection.common is None
    answers = count_answers(snapshot, selection.replace(common=True) if paired else selection, [metric])
    counted, coverage = answers.selection, answers.coverage
    from_runs = has_difficulties_from_runs(snapshot, counted.dataset)
    evidence = gather(snapshot, counted, [metric, *((HARD_EASY,) if from_runs else ())])
    runs = [run.run for run in evidence.runs]
    if against is not None and against not in runs:
        message = f"There is no run {against!r} in this selection."
        if coverage is not None and against in coverage.apart:
            message = f"Run {against!r} takes no part here: {coverage.apart[against]}. common=0 compares it all the same."
        raise BadRequest("unknown_value", message, "against", runs)
    parts = _parts(snapshot, counted, _difficulties(evidence) if from_runs else None)
    untested = None
    if evidence.selected_by_answers:
        untested = UNTESTED
    elif evidence.in_one_cluster:
        untested = ONE_CLUSTER
    elif metric.no_interval:
        untested = f"{metric.name} is not tested: {metric.no_interval}."
    elif from_runs and against is not None:
        untested = NOT_AGAINST
        parts = [part for part in parts if not part.own]
    if not parts or not runs or metric.no_interval or untested in (UNTESTED, ONE_CLUSTER):
        return Slices(*head(snapshot, selection), metric.key, against, 0, [], untested)
    reference_run = None if against is None else runs.index(against)
    of_runs = None if reference_run is None else np.full(len(runs), reference_run)
    measured = measure_parts(evidence, metric, [part.inside for part in parts], of_runs)
    of_others = np.broadcast_to([[part.own] for part in parts], measured.testable.shape)
    columns = (*measured[1:-1], adjusted_p_values(measured), of_others)
    results = [
        Slice(*evidence.runs[run], parts[part].filters, *(column[part, run].item() for column in columns))
        for part, run in np.argwhere(measured.testable).tolist()
    ]
    results.sort(key=lambda slice_: (slice_.p_value, -abs(slice_.difference)))
    return Slices(*head(snapshot, selection), metric.key, against, len(results), results, untested)


class _Part(NamedTuple):
    """A part of the selection, and the keys and values that select it.

    ``inside`` says which questions it contains, shape (questions, 1), or (questions, runs) if it differs between runs (``own``).
    """

    filters: dict[str, str]
    inside: NDArray[np.bool_]
    own: bool


class MeasuredParts(NamedTuple):
    """Measurements of each run on each part, each of shape (parts, runs), as in ``Slice``.

    ``testable`` says whether there are enough questions and clusters, the metric is defined, and its interval has a width.
    ``influences`` of groups of units on the differences, shape (groups, parts, runs), are as in ``inference.influences``.
    """

    testable: NDArray[np.bool_]
    questions: NDArray[np.int64]
    values: Floats
    references: Floats
    differences: Floats
    low: Floats
    high: Floats
    p_values: Floats
    influences: Floats


def measure_parts(evidence: Evidence, metric: Metric, masks: list[NDArray[np.bool_]], against: Ints | None) -> MeasuredParts:
    """Compare each run on each part of the questions with itself on all of them, or with another run on the part.

    ``masks`` say which questions are in each part, shape (questions, 1), or (questions, runs) if it differs between runs.
    ``against`` is the index of the run that each run is compared with, shape (runs,); None compares each with itself.

    The difference is studentised by the variances within the part and within the rest (Welch); a cluster that is in both counts
    once, by its influence on the difference. Where the part or the rest rests on few errors or right answers, the margin of its
    own interval takes the place of the t margin, and both are combined as the two sides of a right triangle (Zou & Donner 2008).
    Two runs on a part differ by the interval that agrees with ``difference_tests``. P-values are those of the intervals.
    """
    shape = (len(masks), len(evidence.runs))
    values, references, low, high, freedom = np.full((5, *shape), np.nan)
    questions = np.zeros(shape, dtype=np.int64)
    real = np.zeros(shape, dtype=bool)
    single, units, clusters = evidence.by_question(), evidence.units, np.zeros((2, *shape), dtype=np.int64)
    whole, whole_scores = evidence.values(metric), single.pseudo_values(metric)
    whole_influence = inference.influences(single.values(metric), whole_scores)
    drawn_with, influences = question_clusters(units.count), np.zeros((units.drawn_from, *shape))
    known, whole_moved = units.sums(np.isfinite(whole_scores).astype(float)), units.sums(whole_influence)  # by unit
    every = inference.Moments.within(whole_moved, known > 0)
    index_of = {run: index for index, run in enumerate(evidence.runs)}
    turn = -1 if metric.direction == "higher" else 1
    spare = outcomes_to_spare(evidence, metric)
    of_whole = sum_by_place(whole_moved, drawn_with, units.drawn_from)
    for part, mask in enumerate(masks):
        check_time_limit()
        of_rows = np.broadcast_to(mask, (len(mask), len(evidence.runs)))[evidence.places, evidence.run_of_rows]
        inside = evidence.select_rows(of_rows)
        if not inside.runs:
            continue
        columns = [index_of[run] for run in inside.runs]
        questions[part, columns] = inside.ends - inside.starts
        values[part, columns] = inside.values(metric)
        chosen = np.flatnonzero(mask.any(axis=1))
        scores = np.full((len(chosen), shape[1]), np.nan)
        scores[:, columns] = inside.by_question().pseudo_values(metric)[chosen]
        at, unit = np.unique(units.of_questions[chosen], return_inverse=True)  # the units that the part touches
        moved = sum_by_place(inference.influences(values[part], scores), unit, len(at))
        answered = sum_by_place(np.isfinite(scores).astype(float), unit, len(at))
        touched, others = answered > 0, known[at] > answered
        clusters[:, part] = touched.sum(axis=0), every.questions - ((known[at] > 0) & ~others).sum(axis=0)
        if against is None:
            references[part] = whole
            outside = every.without(inference.Moments.within(whole_moved[at], touched))
            groups = [inference.Moments.within(moved - whole_moved[at], touched), outside]
            influences[:, part] = sum_by_place(moved, drawn_with[at], units.drawn_from) - of_whole
        else:
            references[part] = values[part, against]
            groups = [inference.Moments.within(moved - moved[:, against], touched | touched[:, against])]
            influences[:, part] = sum_by_place(moved - moved[:, against], drawn_with[at], units.drawn_from)
        differences = turn * (values[part] - references[part])
        margin, freedom[part] = inference.influence_margin(groups)
        low[part], high[part] = differences - margin, differences + margin
        spread = np.round(low[part], DIGITS) < np.round(high[part], DIGITS)
        zero = (np.round(values[part], DIGITS) == 0) & (np.round(references[part], DIGITS) == 0)
        real[part] = spread | ~zero | (against is not None)
        if against is not None:
            # Where errors are few, the questions of the part hardly show how much the difference varies.
            ends = np.full((2, shape[1]), np.nan)
            if len(columns) == shape[1]:
                ends = bootstrapped_differences(inside, metric, against) * turn
            low[part], high[part] = np.fmin(low[part], ends.min(axis=0)), np.fmax(high[part], ends.max(axis=0))
            continue
        margins = np.stack([_margins(inside, metric, index_of), np.full((2, shape[1]), np.nan)])
        if (spare < questions[part]).any():
            margins[1] = _margins(evidence.select_rows(~of_rows), metric, index_of)[::-1]
        few = np.isfinite(margins).any(axis=(0, 1))
        if few.any():
            apart = margins * (1 - questions[part] / (evidence.ends - evidence.starts))
            usual = np.stack([inference.influence_margin([group])[0] for group in groups])
            below, above = np.hypot(*np.where(np.isfinite(apart), apart, usual[:, None]))[::turn]
            low[part] = np.where(few, differences - below, low[part])
            high[part] = np.where(few, differences + above, high[part])
            fewest = np.minimum(clusters[0, part], clusters[1, part])
            freedom[part] = np.where(few, np.maximum(fewest - 1.0, 1.0), freedom[part])
    testable = (questions >= MIN_QUESTIONS) & (units.are_questions | (clusters[0] >= MIN_CLUSTERS))
    if against is None:
        testable &= evidence.ends - evidence.starts - questions >= MIN_QUESTIONS
        testable &= units.are_questions | (clusters[1] >= MIN_CLUSTERS)
    else:
        testable &= against != np.arange(len(against))
    differences = turn * (values - references)
    compared = clusters[0] if against is not None else clusters.sum(axis=0)
    low, high = inference.with_zero_of_few(low, high, compared)
    low, high = (np.round(ends, DIGITS) + 0.0 for ends in (low, high))
    p_values = inference.inverted_p_value(differences, low, high, freedom, compared)
    testable &= np.isfinite(differences) & (low < high) & real  # otherwise, a difference is one of rounding errors
    return MeasuredParts(testable, questions, values, references, differences, low, high, p_values, influences)


def adjusted_p_values(measured: MeasuredParts) -> Floats:
    """Adjust the p-values of all runs and parts for one another, shape (parts, runs), NaN where nothing is tested."""
    testable = measured.testable
    adjusted = np.full(testable.shape, np.nan)
    adjusted[testable] = adjusted_for_all(measured.p_values[testable], measured.influences[:, testable])
    return adjusted


def _margins(group: Evidence, metric: Metric, index_of: dict[Run, int]) -> Floats:
    """Return ``extra_question_margins`` of some questions for all runs, shape (2, runs), NaN for runs without these questions."""
    margins = np.full((2, len(index_of)), np.nan)
    if group.runs:
        margins[:, [index_of[run] for run in group.runs]] = extra_question_margins(group, metric)
    return margins


def _difficulties(evidence: Evidence) -> Floats:
    """Return the difficulties by which each run is judged, shape (questions, runs), NaN where there is none."""
    difficulties = np.full((evidence.selected, len(evidence.runs)), np.nan)
    difficulties[evidence.places, evidence.run_of_rows] = evidence.sums["difficulty"]
    return difficulties


def _parts(snapshot: Snapshot, selection: Selection, difficulties: Floats | None) -> list[_Part]:
    """Return the parts of a selection; those that differ between runs come last.

    ``difficulties`` are those by which each run is judged, if they come from runs; see ``_difficulties``.
    """
    condition, parameters = selection.question_filter()
    facts = snapshot.frame(
        f"""select row_number() over (order by q.position) - 1 as place, q.category, q.radius, q.difficulty
        from questions q where {condition} order by place""",
        parameters,
    )
    single = {by: _values(facts[by]) for by in SLICE_FIELDS if by != DIFFICULTY}
    # If difficulties were made of a run's own answers, what it got wrong would be hard, and each run worse on hard questions.
    stated = facts[DIFFICULTY].cast(pl.Float64).fill_null(np.nan).to_numpy()[:, None]
    single[DIFFICULTY] = _thirds(stated if difficulties is None else difficulties)
    divided = [by for by in SLICE_FIELDS if len(single[by]) > 1]
    parts = [({by: name}, mask) for by in divided for name, mask in single[by].items()]
    for first, second in combinations(divided, 2):
        for name, mask in single[first].items():
            parts += [({first: name, second: other}, mask & inside) for other, inside in single[second].items()]
    parts += _parts_by_attribute(snapshot, selection)
    made = [_Part(filters, mask, difficulties is not None and DIFFICULTY in filters) for filters, mask in parts]
    return sorted(made, key=lambda part: part.own)


def _parts_by_attribute(snapshot: Snapshot, selection: Selection) -> Iterator[tuple[dict[str, str], NDArray[np.bool_]]]:
    """Yield the filter of each value of each attribute with few values, and which questions have it, shape (questions, 1)."""
    condition, parameters = selection.question_filter()
    names = snapshot.rows(
        f"""select attribute from attributes where dataset = $d group by 1
        having count(distinct value) between 2 and {MAX_SLICES} order by 1""",
        {"d": selection.dataset},
    )
    for (name,) in names:
        column = snapshot.frame(
            f"""select a.value from questions q left join attributes a
                on a.dataset = q.dataset and a.question_id = q.question_id and a.attribute = $attribute
            where {condition} order by q.position""",
            parameters | {"attribute": name},
        )["value"]
        masks = _values(column)
        if len(masks) > 1:
            yield from (({named_key("attr", name): value}, mask) for value, mask in masks.items())


def _values(column: pl.Series) -> dict[str, NDArray[np.bool_]]:
    """Return which questions have each value, by its text in addresses, shape (questions, 1) each."""
    return {
        str(value): (column == value).fill_null(False).to_numpy()[:, None]
        for value in column.drop_nulls().unique(maintain_order=True)
    }


def _thirds(difficulties: Floats) -> dict[str, NDArray[np.bool_]]:
    """Return where difficulties are in each third of 0 to 1, both ends included, by its text in addresses; the same shape."""
    spans = [(round(low, 2), round(high, 2)) for low, high in pairwise(THIRDS)]
    masks = {format_range(span): (difficulties >= span[0]) & (difficulties <= span[1]) for span in spans}
    return {name: mask for name, mask in masks.items() if mask.any()}
