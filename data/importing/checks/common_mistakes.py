"""Advice on the usual mistakes of a whole file: a sentence for each mistake that explains most of the bad responses."""

from __future__ import annotations

from data.importing.staging import Staging

MIN_SHARE_EXPLAINED = 0.9  # share of the bad rows that one explanation must explain

UNKNOWN = """select s.dataset, s.question_id from responses_read s anti join questions using (dataset, question_id)
    where s.question_id is not null"""


def advise(staging: Staging) -> None:
    """Add a sentence to the report for each mistake that explains nearly all rows with an unknown question or clue."""
    report = staging.report
    report.advice += [sentence for check in (_other_case, _other_dataset, _clues) if (sentence := check(staging))]


def _other_case(staging: Staging) -> str | None:
    count, matched, wrong, right = staging.connection.execute(f"""
        select count(*), count(q.known), any_value(u.question_id) filter (q.known is not null), any_value(q.known)
        from ({UNKNOWN}) u left join (
            select dataset, lower(question_id) as folded, any_value(question_id) as known from questions group by all
        ) q on q.dataset = u.dataset and q.folded = lower(trim(u.question_id))""").fetchall()[0]
    if not count or matched < MIN_SHARE_EXPLAINED * count:
        return None
    return f"The question ids differ from those of the dataset in upper and lower case: {wrong!r} is {right!r} there."


def _other_dataset(staging: Staging) -> str | None:
    rows = staging.connection.execute(f"""
        select q.dataset, count(*), (select count(*) from ({UNKNOWN})) from ({UNKNOWN}) u
        join questions q on q.question_id = u.question_id and q.dataset <> u.dataset group by 1 order by 2 desc, 1""").fetchall()
    fitting = [dataset for dataset, matched, count in rows if matched >= MIN_SHARE_EXPLAINED * count]
    if not fitting:
        return None
    names = ", ".join(repr(dataset) for dataset in fitting[:3])
    return f"The store has these questions in dataset {names}: does the file answer that one?"


def _clues(staging: Staging) -> str | None:
    rows = "from responses_read s join questions q using (dataset, question_id) where s.clue is not null and q.clues > 1"
    at_zero, beyond, from_one = staging.connection.execute(
        f"select count(*) filter (clue = 0), count(*) filter (clue >= clues), bool_and(clue <= clues) {rows}"
    ).fetchall()[0]
    if not beyond or at_zero:
        return None
    if from_one:
        return "The clues seem to be counted from 1. Here the first clue of a question is 0."
    words = staging.connection.execute(f"""
        select count(*) from (select s.dataset, s.question_id, s.clue {rows} and s.clue >= q.clues) s semi join (
            select dataset, question_id, unnest([word_end - 1, word_end]) as clue from clues
        ) using (dataset, question_id, clue)""").fetchall()[0][0]
    if words >= MIN_SHARE_EXPLAINED * beyond:
        return "The column clue seems to hold positions of words. Here the clues of a question are numbered 0, 1, 2 and so on."
    return None
