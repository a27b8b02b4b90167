"""Pairs of runs of a dataset, measured on the questions and clues that both answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.queries.engine.common_questions import shared_selections
from clueline.queries.engine.counted import count_groups
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.gather import gather
from clueline.queries.metrics import Metric
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest


class RunName(msgspec.Struct):
    """A run with the model and elicitation shown for it."""

    run: str
    model: str
    elicitation: str


class RunPair(NamedTuple):
    """Two runs in some evidence, by their indices, that answered the same questions, and how many questions these are."""

    evidence: Evidence
    a: int
    b: int
    questions: int


def runs_by_id(snapshot: Snapshot, selection: Selection, **compared: str | None) -> dict[str, RunName]:
    """Return the runs of the selection's dataset by id, and check those to be compared, by address key, None if left out.

    Raises ``BadRequest`` if the dataset has no such run, or a run is compared with itself.
    """
    rows = snapshot.rows(
        "select run, model, elicitation from runs where dataset = $d order by position", {"d": selection.dataset}
    )
    runs = {row[0]: RunName(*row) for row in rows}
    for key, run in compared.items():
        if run is not None and run not in runs:
            raise BadRequest("unknown_value", f"Dataset {selection.dataset!r} has no run {run!r}.", key, [*runs])
    if len(set(compared.values())) < len(compared):
        raise BadRequest("bad_value", "A run cannot be compared with itself: name another as b.", "b", [*runs])
    return runs


def measure_runs(snapshot: Snapshot, selection: Selection, runs: Sequence[str], metrics: Sequence[Metric]) -> Evidence:
    """Gather some runs on the questions and clues of a selection, whose filters on runs do not apply."""
    return gather(snapshot, selection.on_runs(runs), metrics)


def measure_pair(
    snapshot: Snapshot, selection: Selection, a: str, b: str, metrics: Sequence[Metric]
) -> dict[str, RunPair | None]:
    """Gather two runs on the questions and clues of a selection that both answered, for each metric, by its key.

    Filters on runs only matter if the selection asks for the questions that its runs have in common. A pair is None if both
    answered nothing that the metric counts. Metrics that count the same answers share a pair.
    """
    pairs: dict[str, RunPair | None] = {}
    for counted in count_groups(snapshot, selection, metrics, (a, b), compared=False):
        shared = shared_selections(snapshot, counted.selection, [(a, b)])
        pair = pair_runs(measure_runs(snapshot, shared.get((a, b), counted.selection), (a, b), counted.metrics), a, b)
        pairs |= dict.fromkeys((metric.key for metric in counted.metrics), pair)
    return pairs


def pair_runs(evidence: Evidence, a: str, b: str) -> RunPair | None:
    """Return two of the runs in some evidence on their common questions, of which both answered the same clues; None if none.

    Runs that answered the same questions, as most do, reuse what was measured. Other pairs are measured again.
    """
    index = {run.run: place for place, run in enumerate(evidence.runs)}
    if a not in index or b not in index:
        return None
    rows_a, rows_b = (np.arange(evidence.starts[index[run]], evidence.ends[index[run]]) for run in (a, b))
    places_a, places_b = evidence.places[rows_a], evidence.places[rows_b]
    if np.array_equal(places_a, places_b):
        return RunPair(evidence, index[a], index[b], len(places_a))
    in_common = np.zeros(len(evidence.questions), dtype=bool)
    in_common[rows_a], in_common[rows_b] = np.isin(places_a, places_b), np.isin(places_b, places_a)
    common = evidence.select_rows(in_common)  # runs are in order of import, so b can come first
    names = [run.run for run in common.runs]
    if not names:
        return None
    return RunPair(common, names.index(a), names.index(b), len(common.questions) // 2)
