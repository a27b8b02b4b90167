"""Slices: parts of a selection where a run is worse than on the whole selection, or worse than another run on this part."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.store import Snapshot
from queries.engine import inference
from queries.engine.bootstrap import DIGITS
from queries.engine.common_questions import restrict
from queries.engine.evidence import Evidence
from queries.engine.gather_evidence import gather
from queries.engine.multiple_comparisons import flips_within, permuted_labels_test, sign_flips_test
from queries.engine.question_difficulties import UNTESTED, has_difficulties_from_runs
from queries.metrics import Metric
from queries.metrics.metric import Floats
from queries.query_time_limit import check_time_limit
from queries.selection import Selection, selection_keys
from queries.selection.parameter_kinds import BadRequest, format_range
from queries.selection.view_parameters_base import named_key

MIN_QUESTIONS = 8  # in a slice and, where it is compared with the whole, outside it; fewer would say little
SLICE_FIELDS = ("category", "radius", "difficulty")
MAX_SLICES = 20  # an attribute with more values is not tested
THIRDS = (0.0, 1 / 3, 2 / 3, 1.0)


class Slice(msgspec.Struct):
    """A run on one part of the selection.

    Attributes:
        filters: the keys and values that select the part.
        questions: number of questions of the part that the run answered.
        value: of the metric on the part.
        reference: of the metric for the same run on the whole selection, or for the run ``against`` on the same part.
        difference: how much worse the run is than the reference: above 0 means worse, whatever the direction of the metric.
            For metrics that are best at 0, such as overconfidence, it is how much higher ``value`` is than ``reference``.
        low, high: 95 % interval of ``difference``, by the jackknife over questions.
        p_value: two-sided, for this slice alone.
        p_adjusted: valid for all slices tested together, by the distribution of the largest statistic.
    """

    run: str
    model: str
    elicitation: str
    filters: dict[str, str]
    questions: int
    value: float
    reference: float
    difference: float
    low: float
    high: float
    p_value: float
    p_adjusted: float


class Slices(msgspec.Struct):
    """Answer of ``/api/v1/slices``: every slice that could be tested, sorted by ``p_value``, the clearest first.

    ``against`` is the run that others are compared with, None where each run is compared with itself on the whole selection.
    ``tested`` is the number of slices. ``untested`` says why nothing is tested; None where something could be.
    """

    data_version: str
    selection: dict[str, list[str]]
    metric: str
    against: str | None
    tested: int
    slices: list[Slice]
    untested: str | None = None


def slices(snapshot: Snapshot, selection: Selection, metric: Metric, against: str | None = None) -> Slices:
    """Test every run on every category, radius and third of difficulty, on every two of these combined, and by attributes.

    Difficulties that come from runs make no parts. If they select the questions, nothing is tested.

    A part is not tested if the run answered fewer than eight of its questions. Where a run is compared with itself, a part is not
    tested either if it answered fewer than eight questions outside the part.

    Args:
        snapshot: the store.
        selection: filters and conventions.
        metric: by which parts are compared.
        against: id of the run that others are compared with; None to compare each run with itself on the whole selection.

    Raises:
        BadRequest: there is no run ``against`` among those of the selection.
    """
    counted, coverage = restrict(snapshot, selection.for_metrics([metric]), by_default=True)
    evidence = gather(snapshot, counted, [metric])
    runs = [run.run for run in evidence.runs]
    if against is not None and against not in runs:
        message = f"There is no run {against!r} in this selection."
        if coverage is not None and against in coverage.apart:
            message = f"Run {against!r} takes no part here: {coverage.apart[against]}. common=0 compares it all the same."
        raise BadRequest("unknown_value", message, "against", runs)
    parts = [*_parts(snapshot, counted)]
    untested = UNTESTED if evidence.selected_by_answers else None
    if not parts or not runs or evidence.selected_by_answers:
        return Slices(snapshot.version, selection_keys(selection), metric.key, against, 0, [], untested)
    reference_run = None if against is None else runs.index(against)
    measured = _measure(evidence, metric, [mask for _, mask in parts], reference_run)
    raw, adjusted = _tests(evidence, metric, np.stack([mask for _, mask in parts]), measured.testable, reference_run)
    results = [
        Slice(
            run=evidence.runs[run].run,
            model=evidence.runs[run].model,
            elicitation=evidence.runs[run].elicitation,
            filters=parts[part][0],
            p_value=float(raw[part, run]),
            p_adjusted=float(adjusted[part, run]),
            questions=int(measured.questions[part, run]),
            value=float(measured.values[part, run]),
            reference=float(measured.references[part, run]),
            difference=float(measured.differences[part, run]),
            low=float(measured.low[part, run]),
            high=float(measured.high[part, run]),
        )
        for part, run in np.argwhere(measured.testable).tolist()
    ]
    results.sort(key=lambda slice_: (slice_.p_value, -abs(slice_.difference)))
    return Slices(snapshot.version, selection_keys(selection), metric.key, against, len(results), results)


class _Measured(NamedTuple):
    """Measurements of each run on each part, each of shape (parts, runs).

    Attributes:
        testable: whether there are enough questions, and the metric and its interval are defined.
        questions: number of questions of the part that the run answered.
        values: of the metric on the part.
        references: of the run itself on the whole selection, or of the reference run on the part.
        differences: values minus references; with the sign reversed if higher values of the metric are better.
        low, high: 95 % interval of the difference.
    """

    testable: NDArray[np.bool_]
    questions: NDArray[np.int64]
    values: Floats
    references: Floats
    differences: Floats
    low: Floats
    high: Floats


def _measure(evidence: Evidence, metric: Metric, masks: list[NDArray[np.bool_]], reference_run: int | None) -> _Measured:
    shape = (len(masks), len(evidence.runs))
    values, references, low, high = np.full((4, *shape), np.nan)
    questions = np.zeros(shape, dtype=np.int64)
    whole, whole_scores = evidence.values(metric), evidence.pseudo_values(metric)
    whole_influence = inference.influences(whole, whole_scores)
    index_of = {run: index for index, run in enumerate(evidence.runs)}
    turn = -1.0 if metric.direction == "higher" else 1.0
    for part, mask in enumerate(masks):
        check_time_limit()
        inside = evidence.select_rows(mask[evidence.places])
        if not inside.runs:
            continue
        columns = [index_of[run] for run in inside.runs]
        questions[part, columns] = inside.ends - inside.starts
        values[part, columns] = inside.values(metric)
        scores = np.full_like(whole_scores, np.nan)
        scores[:, columns] = inside.pseudo_values(metric)
        influence = inference.influences(values[part], scores)
        if reference_run is None:
            references[part], influence = whole, influence - whole_influence
            in_part = np.isfinite(scores)
            groups = [in_part, np.isfinite(whole_scores) & ~in_part]
        else:
            references[part], influence = values[part, reference_run], influence - influence[:, [reference_run]]
            groups = [np.isfinite(scores) | np.isfinite(scores[:, [reference_run]])]
        differences = turn * (values[part] - references[part])
        low[part], high[part] = inference.influence_interval(differences, turn * influence, groups)
    testable = questions >= MIN_QUESTIONS
    if reference_run is None:
        testable &= evidence.ends - evidence.starts - questions >= MIN_QUESTIONS
    else:
        testable[:, reference_run] = False
    differences = turn * (values - references)
    testable &= np.isfinite(differences) & np.isfinite(low)
    low, high = (np.round(ends, DIGITS) + 0.0 for ends in (low, high))
    return _Measured(testable, questions, values, references, differences, low, high)


def _tests(
    evidence: Evidence, metric: Metric, parts: NDArray[np.bool_], testable: NDArray[np.bool_], against: int | None
) -> tuple[Floats, Floats]:
    """Return raw and adjusted p-values of each part and run, each of shape (parts, runs), NaN where nothing is tested."""
    scores = evidence.pseudo_values(metric)
    flips = flips_within(scores.size)
    if against is None:
        return permuted_labels_test(scores, parts, testable, flips=flips)
    return sign_flips_test(scores - scores[:, [against]], parts, testable, flips=flips)


def _parts(snapshot: Snapshot, selection: Selection) -> Iterator[tuple[dict[str, str], NDArray[np.bool_]]]:
    """Yield the filters of each part, and which questions of the selection it contains, shape (questions,)."""
    condition, parameters = selection.question_filter()
    facts = snapshot.frame(
        f"""select row_number() over (order by q.position) - 1 as place, q.category, q.radius, q.difficulty
        from questions q where {condition} order by place""",
        parameters,
    )
    single = {by: _values(facts[by], by) for by in SLICE_FIELDS}
    if has_difficulties_from_runs(snapshot, selection.dataset):
        single["difficulty"] = {}  # a part of questions that the runs got wrong would be significant for every run
    for by in SLICE_FIELDS:
        if len(single[by]) > 1:
            yield from (({by: name}, mask) for name, mask in single[by].items())
    for first, second in combinations([by for by in SLICE_FIELDS if len(single[by]) > 1], 2):
        for name, mask in single[first].items():
            for second_name, second_mask in single[second].items():
                yield {first: name, second: second_name}, mask & second_mask
    yield from _parts_by_attribute(snapshot, selection)


def _parts_by_attribute(snapshot: Snapshot, selection: Selection) -> Iterator[tuple[dict[str, str], NDArray[np.bool_]]]:
    """Yield the filter of each value of each attribute with few values, and which questions have it, shape (questions,)."""
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
        masks = _values(column, "attr")
        if len(masks) > 1:
            yield from (({named_key("attr", name): value}, mask) for value, mask in masks.items())


def _values(column: pl.Series, by: str) -> dict[str, NDArray[np.bool_]]:
    """Return which questions have each value, by its text in addresses.

    Difficulty is divided into thirds of 0 to 1, both ends included.
    """
    if by == "difficulty":
        values: Floats = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        spans = list(pairwise(THIRDS))
        rounded = [(round(low, 2), round(high, 2)) for low, high in spans]
        masks = {format_range(span): (values >= span[0]) & (values <= span[1]) for span in rounded}
        return {name: mask for name, mask in masks.items() if mask.any()}
    return {
        str(value): (column == value).fill_null(False).to_numpy() for value in column.drop_nulls().unique(maintain_order=True)
    }
