"""The list of questions of a selection, with each run's metrics on each, sorted and a page at a time."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from data.store import Snapshot
from queries.evidence import gather
from queries.metrics import CATALOGUE, METRICS, Metric
from queries.plain import number
from queries.selection import BadAddress, Selection

# What can be sorted by beside metric:run.
FACTS = ("position", "question_id", "category", "subcategory", "radius", "difficulty", "people")
LONGEST_PAGE = 1000


class Listed(msgspec.Struct):
    """One question of the list; ``people`` is the share of human teams that answered it correctly."""

    question_id: str
    text: str | None
    category: str | None
    subcategory: str | None
    radius: int | None
    difficulty: float | None
    people: float | None
    runs: dict[str, dict[str, float | None]]  # run -> metric -> value


class Questions(msgspec.Struct):
    """Answer of ``/api/v1/questions``; ``next`` is the cursor of the next page, None on the last."""

    questions: list[Listed]
    next: str | None
    total: int


def questions(
    snapshot: Snapshot,
    selection: Selection,
    metrics: Sequence[Metric],
    sort: str = "position",
    limit: int = 100,
    cursor: str | None = None,
) -> Questions:
    """A page of the questions of a selection.

    Args:
        snapshot: the store.
        selection: which questions, whose runs.
        metrics: what to give per run.
        sort: a fact or ``metric:run``, with ``-`` in front for descending; questions without a value come last.
        limit: questions per page, 1 to 1000.
        cursor: ``next`` of the page before.
    """
    start = _start(cursor)
    if not 1 <= limit <= LONGEST_PAGE:
        raise BadAddress("bad_value", f"limit must lie in 1..{LONGEST_PAGE}.", "limit")
    facts = _facts(snapshot, selection)
    page = _sorted(snapshot, selection, facts, sort).slice(start, limit).drop("position").to_dicts()
    named = selection.but(questions=tuple(fact["question_id"] for fact in page))
    texts = _texts(snapshot, named)
    values = _values(snapshot, named, metrics) if metrics else {}
    end = start + len(page)
    return Questions(
        questions=[Listed(**fact, text=texts[fact["question_id"]], runs=values.get(fact["question_id"], {})) for fact in page],
        next=str(end) if end < len(facts) else None,
        total=len(facts),
    )


class Categories(msgspec.Struct):
    """Question id and category of each question of a selection that has one."""

    pairs: list[tuple[str, str]]


def categories(snapshot: Snapshot, selection: Selection) -> Categories:
    """Which category each question of a selection belongs to."""
    condition, parameters = selection.question_filter()
    found = snapshot.rows(
        f"select q.question_id, q.category from questions q where {condition} and q.category is not null", parameters
    )
    return Categories(found)


def table(
    snapshot: Snapshot,
    selection: Selection,
    metrics: Sequence[Metric],
    sort: str = "position",
    limit: int | None = None,
    cursor: str | None = None,
) -> tuple[pl.DataFrame, str | None]:
    """The same as one table, a column ``metric:run`` for each metric and run, and the cursor of what comes after it.

    Args are those of ``questions``, but that there is no longest page: ``limit`` None gives every question from the cursor on.
    """
    start = _start(cursor)
    if limit is not None and limit < 1:
        raise BadAddress("bad_value", "limit must be at least 1.", "limit")
    everything = _sorted(snapshot, selection, _facts(snapshot, selection), sort).drop("position")
    page = everything.slice(start, limit)
    if limit is not None:
        selection = selection.but(questions=tuple(page["question_id"]))
    condition, parameters = selection.question_filter()
    texts = snapshot.frame(f"select q.question_id, q.text from questions q where {condition}", parameters)
    page = page.join(texts, on="question_id", how="left", maintain_order="left")
    page = page.select("question_id", "text", pl.exclude("question_id", "text"))
    evidence = gather(snapshot, selection, metrics)
    columns = {metric.key: evidence.per_question(metric) for metric in metrics}
    for run, first, last in zip(evidence.runs, evidence.starts, evidence.ends, strict=True):
        values = pl.DataFrame(
            {"question_id": evidence.questions[first:last]}
            | {f"{key}:{run.run}": column[first:last] for key, column in columns.items()},
            schema_overrides={"question_id": pl.String},
        ).with_columns(pl.exclude("question_id").fill_nan(None))
        page = page.join(values, on="question_id", how="left", maintain_order="left")
    end = start + len(page)
    return page, str(end) if end < len(everything) else None


def order(snapshot: Snapshot, selection: Selection, sort: str = "position") -> list[str]:
    """Question ids of a selection in a sort order: what "next" and "previous" walk through."""
    return _sorted(snapshot, selection, _facts(snapshot, selection), sort)["question_id"].to_list()


def _facts(snapshot: Snapshot, selection: Selection) -> pl.DataFrame:
    """What can be sorted by of each question of a selection, in the dataset's order; no texts, which are long."""
    condition, parameters = selection.question_filter()
    columns = ", ".join(f"h.{fact}" if fact == "people" else f"q.{fact}" for fact in FACTS)
    return snapshot.frame(
        f"""select {columns} from questions q
        left join (select question_id, last(team_share order by clue) as people from curves where dataset = $dataset group by 1) h
            using (question_id) where {condition} order by q.position""",
        parameters,
    )


def _sorted(snapshot: Snapshot, selection: Selection, facts: pl.DataFrame, sort: str) -> pl.DataFrame:
    descending, key = sort.startswith("-"), sort.removeprefix("-")
    if key in FACTS:
        return facts.sort(key, "position", descending=[descending, False], nulls_last=True, maintain_order=True)
    name, _, run = key.partition(":")
    if name not in CATALOGUE or not CATALOGUE[name].single:
        allowed = [*FACTS, *(f"{metric.key}:RUN" for metric in METRICS if metric.single)]
        raise BadAddress("unknown_value", f"Questions cannot be sorted by {key!r}.", "sort", allowed)
    runs = snapshot.rows("select run from runs where dataset = $d order by position", {"d": selection.dataset})
    if (run,) not in runs:
        allowed = [f"{name}:{known}" for (known,) in runs]
        raise BadAddress("unknown_value", f"Dataset {selection.dataset!r} has no run {run!r}.", "sort", allowed)
    metric = CATALOGUE[name]
    evidence = gather(snapshot, selection.but(run=(run,), model=(), elicitation=()), [metric])
    values = evidence.per_question(metric)
    column = pl.DataFrame(
        {"question_id": evidence.questions, "value": values}, schema={"question_id": pl.String, "value": pl.Float64}
    )
    joined = facts.join(column.with_columns(pl.col("value").fill_nan(None)), on="question_id", how="left", maintain_order="left")
    return joined.sort("value", "position", descending=[descending, False], nulls_last=True).drop("value")


def _texts(snapshot: Snapshot, selection: Selection) -> dict[str, str | None]:
    """Question -> text."""
    condition, parameters = selection.question_filter()
    return dict(snapshot.rows(f"select q.question_id, q.text from questions q where {condition}", parameters))


def _values(snapshot: Snapshot, selection: Selection, metrics: Sequence[Metric]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Question -> run -> metric -> value."""
    evidence = gather(snapshot, selection, metrics)
    columns = {metric.key: evidence.per_question(metric) for metric in metrics}
    found: dict[str, dict[str, dict[str, float | None]]] = {}
    ends = np.append(evidence.starts, len(evidence.questions))[1:]
    for run, start, end in zip(evidence.runs, evidence.starts, ends, strict=True):
        for row in range(start, end):
            cells = {key: number(values[row]) for key, values in columns.items()}
            found.setdefault(str(evidence.questions[row]), {})[run.run] = cells
    return found


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > 9:
        raise BadAddress("bad_value", f"{cursor!r} is no cursor; take `next` of the page before.", "cursor")
    return int(cursor)
