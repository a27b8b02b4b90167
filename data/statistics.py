"""Sufficient statistics per (run, question): what every metric that is a sum needs, computed once, at ingest.

The columns are sums over the question's items, so that they add up over questions; ``ITEM_SUMS`` names each with its SQL
over a row with ``confidence``, ``correct`` and ``sign`` = 2 correct - 1. Pages that keep only some clues of a question
compute the same columns from responses with ``select_sql``: one definition, two times to run it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl

from data.frames import ArrowStream, frame, literal
from data.sums import BINS, CURVES, ROUNDING, Bins, curve_sums, item_sums, spread

__all__ = [
    "BINS", "BINS_USED", "BIN_COLUMNS", "COLUMNS", "CURVE_SUMS", "ITEM_SUMS", "ROUNDING", "TABLE", "derive", "derive_difficulty",
    "select_sql", "spread",
]  # fmt: skip

BIN_COLUMNS = ("bin_items", "bin_confidence", "bin_correct")  # lists of the bins that hold items, from the lowest up
BINS_USED = "bins"  # which these are: bit k is set where bin k holds items
PIECE = 400_000  # items in memory at a time, about
WRITTEN = 2 * 122_880  # rows written at once: two threads have a group of DuckDB's storage each
HANDED = 20_480  # rows handed over to a thread
TOGETHER = 200  # runs read together, at most

SCALE = 2.0**80


def _sum(value: str, condition: str = "true") -> str:
    """SQL for a sum with the same digits in whatever order threads add it up: in whole multiples of 2^-80, exact from 1e-8 up."""
    return f"(sum((({value}) * {SCALE!r})::hugeint) filter ({condition})::double / {SCALE!r})"


ITEM_SUMS = {
    "items": "count(*)::double",
    "confidence": _sum("confidence"),
    "correct": _sum("correct"),
    "incorrect": _sum("1 - correct"),  # not items - correct, which loses digits where correctness is a probability near 1
    "confidence_sq": _sum("confidence * confidence"),
    "correct_sq": _sum("correct * correct"),
    "confidence_correct": _sum("confidence * correct"),
    "confidence_incorrect": _sum("confidence * (1 - correct)"),
    "rounded": f"count(*) filter (abs(confidence - round(confidence * 20) / 20) <= {ROUNDING!r})::double",
    "sign_confidence": _sum("sign * confidence"),
}

# Sums weighted by the human curve; null where no human team heard the question.
CURVE_SUMS = {
    **{f"{h}_weight": _sum(f"1 - {h}") for h in ("buzz_share", "team_share", "survival")},
    **{f"{h}_sign_confidence": _sum(f"(1 - {h}) * sign * confidence") for h in ("buzz_share", "team_share", "survival")},
    # Expected reward against a human curve that takes its own chance at each clue (GRACE eq. 2, app. M): the human buzz
    # falls at clue t with m_t = h_t - h_{t-1}, and the model has answered right by then with reward_t = sum b_e y_e, e <= t.
    **{
        f"{h}_reward": _sum(f"({h} - {h}_before) * reward") + f" + (1 - last({h} order by clue)) * last(reward order by clue)"
        for h in ("team_share", "survival")
    },
}

COLUMNS = (*ITEM_SUMS, *CURVE_SUMS)


def _bin(k: int) -> str:
    """Condition for bin k. Edges are compared as they are: confidence * 10 would put 0.3 into the wrong bin or not by luck."""
    lower = f"confidence >= {k}::double / 10"
    return lower if k == BINS - 1 else f"{lower} and confidence < {k + 1}::double / 10"


def _bin_list(value: str) -> str:
    """SQL for a list of the bins that hold items. Every bin is summed up, and those that hold none are null."""
    return "list_filter([" + ", ".join(_sum(value, _bin(k)) for k in range(BINS)) + "], lambda sum: sum is not null)"


def _bins_used() -> str:
    return "(" + " + ".join(f"{1 << k} * bool_or({_bin(k)})::smallint" for k in range(BINS)) + ")::smallint"


TABLE = f"""
-- Sums over the items of one question for one run; see data/statistics.py.
create table statistics (
    run varchar not null, dataset varchar not null, question_id varchar not null,
    {", ".join(f"{name} double not null" for name in ITEM_SUMS)},
    {", ".join(f"{name} double" for name in CURVE_SUMS)},
    {BINS_USED} smallint not null, {", ".join(f"{name} double[] not null" for name in BIN_COLUMNS)}
);
"""


def select_sql(responses: str) -> str:
    """SQL for the statistics of some responses.

    Args:
        responses: SQL of a relation with the columns of ``responses``; its items are those that count: b_t and the last
            clue of GRACE's eq. 2 are taken among them.
    """
    order = "partition by run, question_id order by clue"
    return f"""
with item as (
    select r.run, r.dataset, r.question_id, r.clue, r.confidence, r.correct, 2 * r.correct - 1 as sign,
        h.buzz_share, h.team_share, h.survival,
        coalesce(lag(h.team_share) over w, 0) as team_share_before, coalesce(lag(h.survival) over w, 0) as survival_before,
        case when lead(r.clue) over w is null then 1 else r.confidence end
            * coalesce(product(1 - r.confidence) over (w rows between unbounded preceding and 1 preceding), 1) as buzz_mass
    from ({responses}) r left join curves h using (dataset, question_id, clue)
    window w as ({order})
), rewarded as (
    select *, sum(buzz_mass * correct) over ({order} rows unbounded preceding) as reward from item
)
select run, dataset, question_id,
    {", ".join(f"{sql} as {name}" for name, sql in (ITEM_SUMS | CURVE_SUMS).items())},
    {_bins_used()} as {BINS_USED},
    list_filter([{", ".join(f"count(*) filter ({_bin(k)})::double" for k in range(BINS))}], lambda n: n > 0) as bin_items,
    {_bin_list("confidence")} as bin_confidence,
    {_bin_list("correct")} as bin_correct
from rewarded group by run, dataset, question_id
"""


def derive(connection: duckdb.DuckDBPyConnection, dataset: str, runs: Sequence[str] | None = None) -> None:
    """Compute the statistics of some runs, or of every run of a dataset, anew and store them."""
    chosen = "dataset = $dataset" + ("" if runs is None else " and run in (select unnest($runs))")
    parameters = {"dataset": dataset} | ({} if runs is None else {"runs": list(runs)})
    connection.execute(f"delete from statistics where {chosen}", parameters)
    sizes = connection.execute(f"select run, count(*) from responses where {chosen} group by 1 order by 1", parameters).fetchall()
    heard = connection.execute("select 1 from curves where dataset = $d limit 1", {"d": dataset}).fetchone() is not None
    computed: deque[Future[pl.DataFrame]] = deque()
    held: list[pl.DataFrame] = []
    with ThreadPoolExecutor(1) as beside:  # one piece is summed while the next is read and those before are written
        for piece in _pieces(connection, dataset, sizes):
            items = frame(connection, piece.items(dataset, heard))
            if not items.is_empty():
                computed.append(beside.submit(_summed, items, piece.rows_of_runs(len(items)), heard))
            if len(computed) > 1:
                held.append(computed.popleft().result())
                held = _store(connection, dataset, held, sum(map(len, held)) // WRITTEN * WRITTEN)
        held += [piece.result() for piece in computed]
        _store(connection, dataset, held, sum(map(len, held)))


class _Piece(NamedTuple):
    """Whole questions of some runs, or of a part of one.

    Attributes:
        runs: with the number of their responses, in order.
        part: SQL condition on the questions of a single run; empty for all.
    """

    runs: Sequence[tuple[str, int]]
    part: str = ""

    def items(self, dataset: str, heard: bool) -> str:
        """SQL for the items in the order of runs, questions and clues. Which run they are of is known by their number."""
        curves = "".join(f", h.{name}" for name in CURVES) if heard else ""
        join = "left join curves h using (dataset, question_id, clue)" if heard else ""
        chosen = " and ".join(filter(None, (f"run in ({', '.join(literal(run) for run, _ in self.runs)})", self.part)))
        return f"""select r.question_id, r.confidence, r.correct{curves}
            from (select * from responses where dataset = {literal(dataset)} and {chosen}) r {join}
            order by {"r.run, " if len(self.runs) > 1 else ""}r.question_id, r.clue"""

    def rows_of_runs(self, rows: int) -> list[tuple[str, int]]:
        """The runs, with the number of their responses among the items."""
        return [(self.runs[0][0], rows)] if self.part else list(self.runs)


def _pieces(connection: duckdb.DuckDBPyConnection, dataset: str, sizes: Sequence[tuple[str, int]]) -> Iterator[_Piece]:
    """Divide the responses of runs."""
    together: list[tuple[str, int]] = []
    for run, size in sizes:
        if together and (sum(held for _, held in together) + size > PIECE or len(together) == TOGETHER):
            yield _Piece(together)
            together = []
        if size > PIECE:
            yield from (_Piece([(run, size)], part) for part in _cut(connection, dataset, run))
        else:
            together.append((run, size))
    if together:
        yield _Piece(together)


def _cut(connection: duckdb.DuckDBPyConnection, dataset: str, run: str) -> Iterator[str]:
    """Conditions that divide a run between some of its questions: any would do, those a piece apart give even parts."""
    its = f"dataset = {literal(dataset)} and run = {literal(run)}"
    sample = f"select distinct question_id from responses where {its} and rowid % {PIECE} = 0 order by 1"
    cuts = [literal(question) for (question,) in connection.execute(sample).fetchall()]
    if not cuts:
        yield "true"
        return
    yield f"question_id < {cuts[0]}"
    yield from (f"question_id >= {low} and question_id < {high}" for low, high in pairwise(cuts))
    yield f"question_id >= {cuts[-1]}"


def _summed(items: pl.DataFrame, runs: Sequence[tuple[str, int]], heard: bool) -> pl.DataFrame:
    """The statistics of items in order, a row for each (run, question)."""
    question = items["question_id"]
    new = (question != question.shift()).fill_null(True).to_numpy(writable=True)
    firsts = np.append(0, np.cumsum([size for _, size in runs]))
    new[firsts[:-1]] = True
    starts = np.flatnonzero(new).astype(np.int64)
    confidence, correct = items["confidence"].to_numpy(), items["correct"].to_numpy()
    found, bins = item_sums(confidence, correct, starts)
    if heard:
        curves = {name: items[name].fill_null(np.nan).to_numpy() for name in CURVES}
        found |= curve_sums(confidence, correct, starts, curves)
    run = pl.Series([run for run, _ in runs]).gather(np.searchsorted(firsts, starts, side="right") - 1)
    columns = {name: pl.Series(values).fill_nan(None) for name, values in found.items()}
    return pl.DataFrame({"run": run, "question_id": question.gather(starts)} | columns | _lists(bins))


def _lists(bins: Bins) -> dict[str, pl.Series]:
    """``BINS_USED`` and ``BIN_COLUMNS`` of each question."""
    held = pl.DataFrame({"question": bins.question} | bins.sums).set_sorted("question")
    lists = held.group_by("question", maintain_order=True).agg(BIN_COLUMNS)
    return {BINS_USED: pl.Series(bins.used)} | {name: lists[name] for name in BIN_COLUMNS}


def _store(connection: duckdb.DuckDBPyConnection, dataset: str, held: list[pl.DataFrame], count: int) -> list[pl.DataFrame]:
    """Store the first ``count`` rows of what is held; the others."""
    if not count:
        return held
    rows = pl.concat(held, rechunk=True)
    # Threads read pieces of what comes from outside, one each.
    found = ArrowStream(pl.concat([rows[at : min(at + HANDED, count)] for at in range(0, count, HANDED)], rechunk=False))
    connection.execute("insert into statistics by name select $d as dataset, * from found", {"d": dataset})
    del found
    return [rows[count:]]


def derive_difficulty(connection: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Settle each question's difficulty in [0, 1]: as given; else by the people of the dataset; else by its runs.

    Where the dataset has human data, 1 - the share of human teams that answered correctly; without any, 1 - the mean
    accuracy over the runs that are not withdrawn.
    """
    people = connection.execute("select count(*) from curves where dataset = $d", {"d": dataset}).fetchone()
    if people and people[0]:
        source, ease = (
            "human",
            "select question_id, last(team_share order by clue) as ease from curves where dataset = $d group by 1",
        )
    else:
        source, ease = (
            "runs",
            f"""select question_id, {_sum("s.correct / s.items")} / count(*) as ease from statistics s join runs r using (run)
            where s.dataset = $d and r.withdrawn_at is null group by 1""",
        )
    connection.execute(
        f"""update questions set difficulty = coalesce(given_difficulty, 1 - ease),
            difficulty_source = case when given_difficulty is not null then 'given' when ease is not null then '{source}' end
        from (select q.question_id, e.ease from questions q left join ({ease}) e using (question_id) where q.dataset = $d) found
        where questions.dataset = $d and questions.question_id = found.question_id""",
        {"d": dataset},
    )
