"""The order of a selection's questions: by a fact, a run's metric, the difference of two runs, or early mistakes of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import polars as pl

from data.store import Snapshot
from queries.engine.common_questions import restrict, shared_selections
from queries.engine.disputed_answers import disputed_runs
from queries.engine.gather import gather
from queries.engine.primary_metric import has_people
from queries.engine.selected_answers import selected_responses, selection_clauses
from queries.metrics import CATALOGUE, METRICS, Metric
from queries.selection import Selection, has_forecasts
from queries.selection.parameter_kinds import BadRequest

# The facts of a question that it can be sorted by.
FACTS = (
    "position",
    "question_id",
    "answer",
    "category",
    "subcategory",
    "radius",
    "difficulty",
    "heard",
    "people",
    "h",
    "conversion",
)
WRONG_EARLY = "wrong"  # of a run: confidently wrong before people knew
QUESTION_METRICS = tuple(metric for metric in METRICS if metric.single)
VALUED = pl.Schema({"question_id": pl.String, "value": pl.Float64})


class QuestionOrder(msgspec.Struct):
    """Question ids in order and, unless they are sorted by a fact, the value that each is sorted by; None values come last."""

    questions: list[str]
    values: list[float | None] | None


@dataclass(frozen=True)
class Sort:
    """The meaning of the key ``sort``, without its sign. A difference is the value of the first run minus that of the second."""

    key: str
    descending: bool
    by: Literal["fact", "wrong", "metric", "difference"]
    metric: Metric | None = None
    runs: tuple[str, ...] = ()


def read_sort(sort: str, runs: Sequence[str], dataset: str) -> Sort:
    """Read ``sort``: a fact, ``METRIC:RUN``, ``METRIC:RUN-RUN`` or ``wrong:RUN``, with ``-`` in front for descending.

    Ids of runs are hexadecimal, so they cannot contain a ``-``. Raises ``BadRequest`` if there is no such fact, metric of a
    single question, or run.
    """
    descending, key = sort.startswith("-"), sort.removeprefix("-")
    if key in FACTS:
        return Sort(key, descending, "fact")
    name, _, run_ids = key.partition(":")
    metric = CATALOGUE.get(name)
    if name != WRONG_EARLY and (metric is None or not metric.single):
        raise BadRequest("unknown_value", f"Questions cannot be sorted by {key!r}.", "sort", ALLOWED)
    chosen_runs = run_ids.split("-") if name != WRONG_EARLY else [run_ids]
    if len(chosen_runs) > 2:
        raise BadRequest("unknown_value", f"{run_ids!r} names more than two runs.", "sort", [f"{name}:RUN", f"{name}:RUN-RUN"])
    for place, run in enumerate(chosen_runs):
        if run not in runs:
            before = "".join(f"{known}-" for known in chosen_runs[:place])
            message = f"Dataset {dataset!r} has no run {run!r}."
            raise BadRequest("unknown_value", message, "sort", [f"{name}:{before}{known}" for known in runs])
    if len(chosen_runs) == 2 and chosen_runs[0] == chosen_runs[1]:
        others = [f"{name}:{chosen_runs[0]}-{run}" for run in runs if run != chosen_runs[0]]
        raise BadRequest("unknown_value", "A run does not differ from itself: name two runs.", "sort", others)
    if metric is None:
        return Sort(key, descending, "wrong", None, tuple(chosen_runs))
    return Sort(key, descending, "difference" if len(chosen_runs) == 2 else "metric", metric, tuple(chosen_runs))


ALLOWED = [
    *FACTS,
    *(f"{metric.key}:RUN" for metric in QUESTION_METRICS),
    *(f"{metric.key}:RUN-RUN" for metric in QUESTION_METRICS),
    f"{WRONG_EARLY}:RUN",
]


def ordered_questions(snapshot: Snapshot, selection: Selection, sort: str = "position") -> QuestionOrder:
    """Return the questions of a selection in order, see ``read_sort``; ties are in the dataset's order.

    If the selection asks for undisputed answers and ``sort`` names runs, questions with a disputed answer of these are left out.
    """
    runs = [
        run for (run,) in snapshot.rows("select run from runs where dataset = $d order by position", {"d": selection.dataset})
    ]
    parsed = read_sort(sort, runs, selection.dataset)
    counted, _ = restrict(snapshot, selection.for_metrics([parsed.metric] if parsed.metric else []))
    condition, parameters = counted.question_filter()
    value = human_facts(selection).get(parsed.key, f"q.{parsed.key}") if parsed.by == "fact" else "null"
    facts = snapshot.frame(
        f"select q.question_id, q.position, {value} as value from questions q where {condition} order by q.position", parameters
    )
    if parsed.by != "fact":
        values = _values(snapshot, counted, parsed).with_columns(pl.col("value").fill_nan(None))
        facts = facts.drop("value").join(values, on="question_id", how="left", maintain_order="left")
        if counted.undisputed:
            disputed = disputed_runs(snapshot, counted.on_runs(parsed.runs))
            facts = facts.filter(~pl.col("question_id").is_in([*disputed]))
    ordered = facts.sort("value", "position", descending=[parsed.descending, False], nulls_last=True)
    return QuestionOrder(ordered["question_id"].to_list(), None if parsed.by == "fact" else ordered["value"].to_list())


def human_facts(selection: Selection) -> dict[str, str]:
    """Return the SQL of what people did on a question ``q``, by name.

    ``heard`` counts human teams, once per room. ``people`` is the share of them that were right. ``h`` is the last value of the
    human curve. ``conversion`` is the share of rooms in which a human team was right. Shares are in [0, 1].
    """
    rooms = f"(select count(distinct e.match_id) {_of_question('exposures', 'e')} and e.team_kind = 'human')"
    converted = f"(select count(distinct b.match_id) {_of_question('buzzes', 'b')} and b.team_kind = 'human' and b.correct)"
    return {
        "heard": f"(select count(distinct (e.match_id, e.team)) {_of_question('exposures', 'e')} and e.team_kind = 'human')",
        "people": f"(select last(h.team_share order by h.clue) {_of_question('curves', 'h')})",
        "h": f"(select last(h.{selection.conventions.human_curve_or_default} order by h.clue) {_of_question('curves', 'h')})",
        "conversion": f"{converted}::double / nullif({rooms}, 0)",
    }


def _of_question(table: str, name: str) -> str:
    return f"from {table} {name} where {name}.dataset = q.dataset and {name}.question_id = q.question_id"


def _values(snapshot: Snapshot, selection: Selection, sort: Sort) -> pl.DataFrame:
    """Return the value that each question is sorted by, for the questions that the runs answered."""
    if len(sort.runs) == 2:
        pair = (sort.runs[0], sort.runs[1])
        selection = shared_selections(snapshot, selection, [pair]).get(pair, selection)
    selection = selection.on_runs(sort.runs)
    if sort.metric is None:
        return _wrong(snapshot, selection)
    evidence = gather(snapshot, selection, [sort.metric])
    values = evidence.per_question(sort.metric)
    by_run = {
        run.run: pl.DataFrame({"question_id": evidence.questions[first:last], "value": values[first:last]}, schema=VALUED)
        for run, first, last in zip(evidence.runs, evidence.starts, evidence.ends, strict=True)
    }
    sides = [by_run.get(run, pl.DataFrame(schema=VALUED)) for run in sort.runs]
    if len(sides) == 1:
        return sides[0]
    return sides[0].join(sides[1], on="question_id").select("question_id", pl.col("value") - pl.col("value_right"))


def _wrong(snapshot: Snapshot, selection: Selection) -> pl.DataFrame:
    """Return how confident the run of a selection was in a wrong guess before people knew the answer, by question.

    This is the maximum of (1 - h)(1 - y) c over clues and samples, in [0, 1]. The guess of a forecast is its likelier side. If
    people played the dataset, questions that no human team heard are left out, because nobody can say what people knew. If nobody
    played it at all, h is 0.
    """
    join = "join" if has_people(snapshot, selection.dataset) else "left join"
    curve = selection.conventions.human_curve_or_default
    with_clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters)
    wrong = "(1 - p.correct) * p.confidence"
    if has_forecasts(snapshot, selection.dataset):
        no = "p.correct * (1 - p.confidence)"
        wrong = f"case when p.confidence > 0.5 then {wrong} when p.confidence < 0.5 then {no} else 0.25 end"
    return snapshot.frame(
        f"""{with_clauses}
        select p.question_id, max((1 - coalesce(h.{curve}, 0)) * {wrong}) as value
        from ({responses}) p {join} curves h using (dataset, question_id, clue) group by 1""",
        parameters,
    )
