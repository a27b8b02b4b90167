"""Runs pooled by a tag, such as those of models that reason and those of models that do not."""

from __future__ import annotations

import msgspec
import numpy as np

from data.store import Snapshot
from queries.engine import inference
from queries.engine.bootstrap import DIGITS, percentile_interval
from queries.engine.common_questions import restrict
from queries.engine.evidence import Evidence
from queries.engine.gather_evidence import gather
from queries.leaderboard import leaderboard
from queries.metrics import Metric
from queries.selection import Selection, selection_keys
from queries.selection.parameter_kinds import BadRequest


class RunGroup(msgspec.Struct):
    """The ranked runs that have one value of a tag.

    ``mean`` is that of the metric over the runs on which it is defined, with equal weights; None without any. Its 95 % interval
    is for other questions asked of the same models. It is None with a single question or cluster, and for distances from
    calibration, because no interval here is known to cover their means.
    """

    value: str
    runs: list[str]
    mean: float | None
    low: float | None
    high: float | None
    questions: int


class RunGroups(msgspec.Struct):
    """The groups of one dataset, sorted by value. ``untagged`` is the number of ranked runs without such a tag."""

    data_version: str
    selection: dict[str, list[str]]
    tag: str
    metric: str
    groups: list[RunGroup]
    untagged: int


def run_groups(snapshot: Snapshot, selection: Selection, tag: str, metric: Metric) -> RunGroups:
    """Return the mean of a metric over the runs of each value of a tag, or raise ``BadRequest`` if no run has the tag."""
    stored = "select distinct tag from tags where dataset = $d order by 1"
    known = [name for (name,) in snapshot.rows(stored, {"d": selection.dataset})]
    if tag not in known:
        raise BadRequest("unknown_value", f"No run of dataset {selection.dataset!r} has a tag {tag!r}.", "tag", known)
    ranked = [row.run for row in leaderboard(snapshot, selection, [metric]).rows if row.ranked]
    value_of = dict(
        snapshot.rows("select run, value from tags where dataset = $d and tag = $t", {"d": selection.dataset, "t": tag})
    )
    groups: list[RunGroup] = []
    if ranked:
        counted, _ = restrict(snapshot, selection.for_metrics([metric]).on_runs(ranked), by_default=True)
        evidence = gather(snapshot, counted, [metric])
        tags = np.array([value_of.get(run.run, "") for run in evidence.runs], dtype=object)
        groups = [_group(evidence.of_runs(tags == value), metric, value) for value in sorted({*tags} - {""})]
    return RunGroups(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        tag=tag,
        metric=metric.key,
        groups=groups,
        untagged=sum(run not in value_of for run in ranked),
    )


def _group(evidence: Evidence, metric: Metric, value: str) -> RunGroup:
    """Return the mean of a metric over all runs of some evidence, which share a value of the tag."""
    known = np.isfinite(evidence.values(metric))
    runs = [run.run for run, here in zip(evidence.runs, known, strict=True) if here]
    if not runs:
        return RunGroup(value, [], None, None, None, 0)
    part = evidence.of_runs(known)
    low, high = mean_interval(part, metric)
    return RunGroup(
        value,
        runs,
        float(part.values(metric).mean()),
        None if np.isnan(low) else low,
        None if np.isnan(high) else high,
        int(part.questions_with(metric).max()),
    )


def mean_interval(evidence: Evidence, metric: Metric) -> tuple[float, float]:
    """Return the 95 % interval of the mean of a metric over runs, by the methods of the leaderboard's intervals.

    Replicates draw the same questions for all runs, so that what runs have in common on a question counts once. The ends are NaN
    for a distance from calibration, and where a run has fewer than two units.
    """
    units = evidence.units_with(metric)
    if metric.distance or metric.interval_of or units.min() < 2:
        return float("nan"), float("nan")
    if units.min() < inference.SMALL_SAMPLE:
        pseudo_values, values = evidence.pseudo_values(metric), evidence.values(metric)
        influence = inference.influences(values, pseudo_values).mean(axis=1, keepdims=True)
        answered = np.asarray(np.isfinite(pseudo_values).any(axis=1)).reshape(-1, 1)
        (low,), (high,) = inference.influence_interval(values.mean(keepdims=True), influence, [answered])
        ends = np.array([max(float(low), metric.low), min(float(high), metric.high)])
    else:
        (low,), (high,), _ = percentile_interval(evidence.replicates(metric).mean(axis=1, keepdims=True))
        ends = np.array([low, high])
    low, high = (np.round(ends, DIGITS) + 0.0).tolist()
    return low, high
