"""What people would gain from the confidence of a run: they answer themselves, and defer to the run where it is sure."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.evidence import Evidence
from clueline.queries.engine.plays_of_people import Plays, with_second_values
from clueline.queries.engine.ranked_metric_rows import MetricCell, metric_cells
from clueline.queries.engine.rows import Rows
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.selected_answers import selected_responses, selection_clauses
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.metrics.kernels.arrays import ratio
from clueline.queries.selection import Answer, Selection, dataset_conventions, head

STEPS = 20
THRESHOLDS = tuple(step / STEPS for step in range(STEPS))


def _share(key: str, name: str) -> Metric:
    """Return the metric that is the mean of a sum over answers."""
    return Metric(
        key=key,
        name=name,
        label=name,
        symbol=r"\bar a",
        direction="higher",
        formula=r"\frac{1}{N}\sum_i a_i",
        words=f"{name}: the share of right answers.",
        source="standard",
        needs=("correctness", "human buzzes"),
        reads=lambda conventions: ("items", key),
        mean=True,
        value=lambda totals, conventions: ratio(totals[key], totals["items"]),
        axioms=(),
    )


RUN_ALONE, PEOPLE_ALONE, ORACLE = (
    _share("correct", "Run alone"),
    _share("people", "People alone"),
    _share("oracle", "The better of both"),
)
DEFERRED = tuple(_share(f"deferred_{step}", f"People, deferring above {step / STEPS:g}") for step in range(STEPS))


class Share(msgspec.Struct):
    """A share of right answers with its 95 % interval; no ends where ``no_interval`` says why.

    For ``second``, see ``plays_of_people``.
    """

    SECOND: ClassVar = ("value",)

    value: float | None
    low: float | None
    high: float | None
    no_interval: str | None = None
    second: dict[str, float] = msgspec.field(default_factory=dict)


class DeferringToRun(RunName):
    """One run, over its ``items`` answers with a confidence at clues of ``questions`` that a human team heard.

    ``people`` and ``run_alone`` are right alone, and ``oracle`` is the better of both at each clue, with hindsight. ``deferring``
    has, for each of the thresholds, people who take the run's answer where its confidence is above it.
    """

    questions: int
    items: int
    people: Share
    run_alone: Share
    oracle: Share
    deferring: list[Share]


class Deferring(Answer):
    """Answer of ``/api/v1/deferring``; runs in order of import.

    ``human`` is the curve that says how many people are right at a clue. ``plays`` counts those of people, if the end of some is
    not stated.
    """

    human: str
    thresholds: list[float]
    runs: list[DeferringToRun]
    plays: Plays | None = None


def deferring(snapshot: Snapshot, selection: Selection) -> Deferring:
    """Return what people would gain from the confidence of each run that takes part; see docs/metrics.md."""
    curve = dataset_conventions(snapshot, selection).team_curve
    counted = count_answers(snapshot, selection, [CATALOGUE["accuracy_scored"]])
    evidence = _of_heard(snapshot, counted.selection, counted.evidence, curve)
    metrics = (PEOPLE_ALONE, RUN_ALONE, ORACLE, *DEFERRED)
    cells = {metric.key: metric_cells(metric, evidence, intervals=True) for metric in metrics} if evidence.runs else {}
    runs = []
    for index in range(len(evidence.runs)):
        facts = evidence.run_facts(index)
        people, run_alone, oracle, *deferred = (_shown(cells[metric.key][index]) for metric in metrics)
        runs.append(DeferringToRun(**facts, people=people, run_alone=run_alone, oracle=oracle, deferring=deferred))
    answer = Deferring(*head(snapshot, selection), human=curve, thresholds=[*THRESHOLDS], runs=runs)
    return with_second_values(snapshot, selection, answer, deferring)


def _shown(cell: MetricCell) -> Share:
    return Share(cell.value, cell.low, cell.high, cell.no_interval)


def _of_heard(snapshot: Snapshot, selection: Selection, evidence: Evidence, curve: str) -> Evidence:
    """Return evidence whose rows have the sums of the metrics, of the answers at clues that people heard."""
    with_clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters)
    deferred = ", ".join(
        f"sum(case when p.confidence > {threshold} then p.correct else h.{curve} end) as deferred_{step}"
        for step, threshold in enumerate(THRESHOLDS)
    )
    sums = snapshot.frame(
        f"""{with_clauses}
        select p.run, q.place, count(*)::double as items, sum(p.correct) as correct, sum(p.confidence) as confidence,
            sum(h.{curve}) as people, sum(greatest(p.correct, h.{curve})) as oracle, {deferred}
        from ({responses}) p join chosen_questions q using (question_id) join chosen_runs r using (run)
        join curves h using (dataset, question_id, clue) where h.{curve} is not null
        group by p.run, q.place, r.place order by r.place, q.place""",
        parameters,
    )
    named = {run.run: run for run in evidence.runs}
    sums = sums.filter(sums["run"].is_in([*named]))
    runs = sums["run"].unique(maintain_order=True).to_list()
    place = {run: index for index, run in enumerate(runs)}
    rows = Rows(
        run=np.array([place[run] for run in sums["run"]], dtype=np.int64),
        places=sums["place"].cast(int).to_numpy().astype(np.int64),
        sums={name: sums[name].cast(float).to_numpy() for name in sums.columns if name not in ("run", "place")},
    )
    return replace(
        evidence, runs=tuple(named[run] for run in runs), source=rows, respondents={}, stored=None, expected=None, shared=None
    )
