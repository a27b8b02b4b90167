"""The list of questions: their order, rows, values of runs, and small curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import msgspec
import polars as pl

from clueline.data.store import Snapshot
from clueline.queries.engine.common_questions import shared_selections
from clueline.queries.engine.counted import count_answers, count_groups
from clueline.queries.engine.disputed_answers import disputed_runs
from clueline.queries.engine.gather import gather
from clueline.queries.engine.plays_of_people import with_second_values
from clueline.queries.engine.primary_metric import has_people
from clueline.queries.engine.selected_answers import selected_responses, selection_clauses
from clueline.queries.metrics import CATALOGUE, METRICS, Metric
from clueline.queries.selection import Selection, has_forecasts, number
from clueline.queries.selection.parameter_kinds import BadRequest

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
    counted = count_answers(snapshot, selection, [parsed.metric] if parsed.metric else [], compared=False).selection
    condition, parameters = counted.question_filter()
    value = human_facts(selection).get(parsed.key, f"q.{parsed.key}") if parsed.by == "fact" else "null"
    facts = snapshot.frame(
        f"select q.question_id, q.position, {value} as value from questions q where {condition} order by q.position", parameters
    )
    if parsed.by != "fact":
        values = _sorted_by(snapshot, counted, parsed).with_columns(pl.col("value").fill_nan(None))
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


def _sorted_by(snapshot: Snapshot, selection: Selection, sort: Sort) -> pl.DataFrame:
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


MAX_PAGE_SIZE = 1000


class QuestionRow(msgspec.Struct):
    """One question of the list.

    ``heard`` counts the human teams that heard it, once per room, and ``people`` is the share of them that were right. ``h`` is
    the human curve at the end of the question, and ``conversion`` the share of rooms in which a human team was right. All three
    shares are in [0, 1], and None where no human team heard the question. ``value`` is what the list is sorted by, unless it is
    sorted by a fact. ``disputed`` are the runs whose gradings differ on one of their answers to the question. For ``second``,
    see ``plays_of_people``.
    """

    SECOND: ClassVar = ("difficulty", "heard", "people", "h")

    question_id: str
    text: str | None
    answer: str | None
    category: str | None
    subcategory: str | None
    radius: int | None
    difficulty: float | None
    heard: int
    people: float | None
    h: float | None
    conversion: float | None
    runs: dict[str, dict[str, float | None]]  # run -> metric -> value
    value: float | None = None
    disputed: list[str] = []
    second: dict[str, float] = {}


class QuestionPage(msgspec.Struct):
    """Answer of ``/api/v1/questions``; ``next`` is the cursor of the next page, ``total`` counts the questions of all."""

    questions: list[QuestionRow]
    next: str | None
    total: int


def question_page(
    order: QuestionOrder, detail: Callable[[tuple[str, ...]], list[QuestionRow]], limit: int = 100, cursor: str | None = None
) -> QuestionPage:
    """Return a page of questions whose order is already known.

    ``detail`` returns the details of questions in the order of their ids. ``limit`` is from 1 to 1000, and ``cursor`` the
    ``next`` of the page before. Raises ``BadRequest`` if one of them is not valid.
    """
    start = _start(cursor)
    if not 1 <= limit <= MAX_PAGE_SIZE:
        raise BadRequest("bad_value", f"limit must be from 1 to {MAX_PAGE_SIZE}.", "limit")
    ids = tuple(order.questions[start : start + limit])
    listed = detail(ids)
    if order.values is not None:
        for row, value in zip(listed, order.values[start : start + limit], strict=True):
            row.value = value
    end = start + len(ids)
    return QuestionPage(listed, next=str(end) if end < len(order.questions) else None, total=len(order.questions))


def ids_ending_in_csv(snapshot: Snapshot, dataset: str) -> list[str]:
    """Return ids of a dataset's questions that look like the address of a table."""
    sql = "select question_id from questions where dataset = $d and suffix(question_id, '.csv')"
    return [name for (name,) in snapshot.rows(sql, {"d": dataset})]


def question_details(
    snapshot: Snapshot, selection: Selection, ids: tuple[str, ...], metrics: Sequence[Metric]
) -> list[QuestionRow]:
    """Return facts of questions, in the order of their ids, and metrics of single questions of the selection's runs on each."""
    selected = count_answers(snapshot, selection, compared=False).selection.replace(questions=ids)
    values = _values(snapshot, selection, metrics, ids) if metrics and ids else {}
    disputed = disputed_runs(snapshot, selected) if ids else {}

    def rows(snapshot: Snapshot, selection: Selection) -> list[QuestionRow]:
        facts = {fact["question_id"]: fact for fact in _facts(snapshot, selection).to_dicts()}
        return [QuestionRow(**facts[name], runs=values.get(name, {}), disputed=disputed.get(name, [])) for name in ids]

    return with_second_values(snapshot, selected, rows(snapshot, selected), rows)


def question_table(
    snapshot: Snapshot,
    selection: Selection,
    metrics: Sequence[Metric],
    sort: str = "position",
    limit: int | None = None,
    cursor: str | None = None,
) -> tuple[pl.DataFrame, str | None]:
    """Return the questions of a selection as one table, with the cursor of the question after it.

    The table has a column ``attr.NAME`` for each attribute, and a column ``METRIC:RUN`` for each metric and run. The value that
    it is sorted by is in a further column at the end, unless it already has a column; questions without a value come last.
    Without a limit, it has all questions from the cursor on. Raises ``BadRequest`` if the limit, the cursor or the order is not
    valid.
    """
    start = _start(cursor)
    if limit is not None and limit < 1:
        raise BadRequest("bad_value", "limit must be at least 1.", "limit")
    order = ordered_questions(snapshot, selection, sort)
    listed = count_answers(snapshot, selection, compared=False).selection
    last = len(order.questions) if limit is None else start + limit
    page = pl.DataFrame({"question_id": order.questions[start:last]}, schema={"question_id": pl.String})
    # Many names cost more than reading every question.
    ids = tuple(page["question_id"]) if limit is not None and limit <= MAX_PAGE_SIZE else None
    page = page.join(_facts(snapshot, listed.replace(questions=ids)), on="question_id", how="left", maintain_order="left")
    page = page.select("question_id", "text", pl.exclude("question_id", "text"))
    page = page.join(_attributes(snapshot, selection.dataset), on="question_id", how="left", maintain_order="left")
    runs: dict[str, None] = {}
    for run, values in _measured(snapshot, selection, metrics, ids):
        runs[run] = None
        of_run = values.select("question_id", pl.exclude("question_id").name.suffix(f":{run}"))
        page = page.join(of_run, on="question_id", how="left", maintain_order="left")
    of_runs = [f"{metric.key}:{run}" for run in runs for metric in metrics]
    of_runs = [name for name in of_runs if name in page.columns]
    page = page.select(pl.exclude(of_runs), *of_runs)
    key = sort.removeprefix("-")
    if order.values is not None and key not in page.columns:
        page = page.with_columns(pl.Series(key, order.values[start:last], dtype=pl.Float64))
    end = start + len(page)
    return page, str(end) if end < len(order.questions) else None


def _facts(snapshot: Snapshot, selection: Selection) -> pl.DataFrame:
    condition, parameters = selection.question_filter()
    people = ", ".join(f"{sql} as {name}" for name, sql in human_facts(selection).items())
    columns = f"q.question_id, q.answer, q.category, q.subcategory, q.radius, q.difficulty, {people}, q.text"
    return snapshot.frame(f"select {columns} from questions q where {condition}", parameters)


def _attributes(snapshot: Snapshot, dataset: str) -> pl.DataFrame:
    sql = "select question_id, 'attr.' || attribute as name, value from attributes where dataset = $d order by attribute"
    facts = snapshot.frame(sql, {"d": dataset})
    return facts.pivot("name", index="question_id", values="value") if len(facts) else facts.select("question_id")


def _values(
    snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric], ids: tuple[str, ...]
) -> dict[str, dict[str, dict[str, float | None]]]:
    result: dict[str, dict[str, dict[str, float | None]]] = {}
    for run, values in _measured(snapshot, selection, metrics, ids):
        for row in values.to_dicts():
            of_runs = result.setdefault(row.pop("question_id"), {})
            cells = of_runs.setdefault(run, {metric.key: None for metric in metrics})
            cells |= {key: None if value is None else number(value) for key, value in row.items()}
    return result


def _measured(
    snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric], ids: tuple[str, ...] | None
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield runs with their values on single questions, None for all, a column for each of the metrics that count the same."""
    for counted in count_groups(snapshot, selection, metrics, compared=False):
        evidence, group = counted.of_questions(ids).evidence, counted.metrics
        columns = {"question_id": evidence.questions} | {metric.key: evidence.per_question(metric) for metric in group}
        values = pl.DataFrame(columns, schema_overrides={"question_id": pl.String}).with_columns(
            pl.col(pl.Float64).fill_nan(None)
        )
        for run, first, end in zip(evidence.runs, evidence.starts, evidence.ends, strict=True):
            yield run.run, values[first:end]


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > 9:
        raise BadRequest("bad_value", f"{cursor!r} is not a cursor; take `next` of the previous page.", "cursor")
    return int(cursor)


class RunSparkline(msgspec.Struct):
    """A run on the clues of one question, of which ``revealed`` is the fraction by their ends; ``correct`` is at the last one."""

    revealed: list[float]
    confidence: list[float]
    correct: float


class HumanSparkline(msgspec.Struct):
    """The human curve ``h`` over the clues of one question, in [0, 1]; 0 before the first buzz."""

    revealed: list[float]
    h: list[float]


class QuestionSparklines(msgspec.Struct):
    """One question: ``runs`` by id, and ``people``, which is None where nobody heard the question."""

    runs: dict[str, RunSparkline]
    people: HumanSparkline | None


def sparklines(snapshot: Snapshot, selection: Selection, ids: tuple[str, ...]) -> dict[str, QuestionSparklines]:
    """Return the confidence of runs (means over their samples) and the human curve over the clues of some questions."""
    selection = count_answers(snapshot, selection, compared=False).selection.replace(questions=ids)
    with_clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters)
    rows = snapshot.rows(
        f"""{with_clauses}
        , means as (
            select run, dataset, question_id, clue, avg(confidence) as confidence, avg(correct) as correct
            from ({responses}) group by all
        )
        select p.run, p.question_id, list(k.revealed order by p.clue), list(p.confidence order by p.clue),
            last(p.correct order by p.clue)
        from means p join clues k using (dataset, question_id, clue) group by 1, 2""",
        parameters,
    )
    by_question = {name: QuestionSparklines({}, human) for name, human in _people(snapshot, selection, ids).items()}
    for run, name, revealed, confidence, correct in rows:
        by_question[name].runs[run] = RunSparkline(revealed, confidence, correct)
    return by_question


def _people(snapshot: Snapshot, selection: Selection, ids: tuple[str, ...]) -> dict[str, HumanSparkline | None]:
    """Return the human curve of each question, None where nobody heard it."""
    condition, parameters = selection.clue_filter("k")
    curve = selection.conventions.human_curve_or_default
    rows = snapshot.rows(
        f"""select h.question_id, list(k.revealed order by h.clue), list(coalesce(h.{curve}, 0) order by h.clue)
        from curves h join clues k using (dataset, question_id, clue)
        where list_contains($ids::varchar[], h.question_id) and {condition} group by 1""",
        parameters | {"ids": list(ids)},
    )
    heard = {name: HumanSparkline(revealed, h) for name, revealed, h in rows}
    return {name: heard.get(name) for name in ids}
