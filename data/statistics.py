"""Sufficient statistics per (run, question): what every metric that is a sum needs, computed once, at ingest.

The columns are sums over the question's items, so that they add up over questions; ``ITEM_SUMS`` names each with its SQL
over a row with ``confidence``, ``correct`` and ``sign`` = 2 correct - 1. Pages that keep only some clues of a question
compute the same columns from responses with ``select_sql``: one definition, two times to run it.
"""

from __future__ import annotations

import duckdb

from data.sums import BINS, ROUNDING

__all__ = [
    "BINS", "BINS_USED", "BIN_COLUMNS", "COLUMNS", "CURVE_SUMS", "ITEM_SUMS", "ROUNDING", "TABLE", "derive_difficulty",
    "select_sql",
]  # fmt: skip

BIN_COLUMNS = ("bin_items", "bin_confidence", "bin_correct")  # lists of the bins that hold items, from the lowest up
BINS_USED = "bins"  # which these are: bit k is set where bin k holds items

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
