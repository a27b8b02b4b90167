"""Runs: named by their content, and those set aside that are there already."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import polars as pl

from data.frames import ArrowStream, frame
from data.importing.checks.run_ids import run_hashes
from data.importing.staging import Staging

NEW_RESPONSES = """
drop table new_responses;
create view new_responses as
    select r.run, q.dataset, q.question_id, s.clue, s.guess, s.confidence, s.correct, s.graded, s.token_logprobs, s.options,
        s.option_names
    from settled s join named r on r.n = s.answerer join asked q on q.n = s.question
"""


def settle_runs(staging: Staging) -> None:
    """Name each run by its content and set aside those that are there already."""
    connection = staging.connection
    hashes = run_hashes(connection)
    stored = dict(connection.execute("select run, withdrawn_at from store.runs").fetchall())
    asked = dict(connection.execute("select dataset, count(*) from asked group by 1").fetchall())
    position = connection.execute("select coalesce(max(position), -1) + 1 from store.runs").fetchall()[0][0]
    decisions = _decisions(staging)
    rows: list[dict[str, object]] = []
    answerers = connection.execute("select n, dataset, model, elicitation, place from answerers order by n").fetchall()
    for n, dataset, model, elicitation, place in answerers:
        found = hashes[n]
        name = found.sha256[:16]
        skipped = staging.report.skipped.get((dataset, model, elicitation), Counter())
        said = f"run {name} ({model}, {elicitation}, {dataset}): {found.items:,} items of {found.questions:,} questions"
        staging.report.runs.append(name)
        if name in stored:
            staging.report.stored.append(name)
            staging.report.lines.append(f"{said}, already there" + (", but withdrawn" if stored[name] else ""))
            continue
        missing = asked[dataset] - found.questions
        rows.append({
            "n": n, "run": name, "dataset": dataset, "position": position + len(rows), "model": model,
            "elicitation": elicitation, "sha256": found.sha256, "file_name": staging.files[place // 10**12].name,
            "items": found.items, "questions": found.questions, "missing_questions": missing,
            "skipped": json.dumps(skipped) if skipped else None, "decisions": decisions.get(n),
        })  # fmt: skip
        rest = "".join(f"; {count:,} rows skipped: {reason}" for reason, count in sorted(skipped.items()))
        staging.report.lines.append(f"{said} imported" + (f"; {missing:,} questions not answered" if missing else "") + rest)
    if rows:
        brought = ArrowStream(pl.DataFrame(rows, infer_schema_length=None))
        connection.execute("create table named as select n::integer as n, run, dataset from brought")
        connection.execute("""insert into new_runs by name
            select * exclude (n), make_timestamp(epoch_us(now())) as imported_at from brought order by position""")
        del brought
        connection.execute(NEW_RESPONSES)


def _decisions(staging: Staging) -> dict[int, str]:
    """The decisions that each run rests on, as JSON, by its number."""
    if not staging.connection.execute("select 1 from decided limit 1").fetchone():
        return {}
    rows = frame(
        staging.connection,
        """select answerer, question_id, clue, guess, correct from settled s join asked q on q.n = s.question
        where decided order by answerer, question_id, clue""",
    )
    found: dict[int, list[dict[str, object]]] = defaultdict(list)
    for row in rows.to_dicts():
        found[row.pop("answerer")].append(row)
    return {answerer: json.dumps(decided) for answerer, decided in found.items()}
