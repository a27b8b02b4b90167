"""Names runs by their content. Runs that the store already has are set aside, but can get further gradings."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import polars as pl

from data.duckdb_and_polars import ArrowStream, frame
from data.importing.checks.responses import PLACES
from data.importing.checks.stored_runs import add_gradings_to_stored, run_with_same_answers, runs_of_name, warn_of_name
from data.importing.report import rows_without_answer
from data.importing.run_hashes import run_hashes
from data.importing.staging import RunKey, Staging
from data.plurals import counted
from data.store.answer_states import ANSWERED, OTHER_STATES, State, among_states
from data.store.gradings import grading_name

ID_DIGITS = 16  # hexadecimal digits of a run's sha256 that form its id


def name_runs(staging: Staging) -> None:
    """Name each run by its content, and fill ``runs_to_store`` and ``new_runs`` with the new ones."""
    connection, report = staging.connection, staging.report
    hashes = run_hashes(connection)
    stored = dict(connection.execute("select run, withdrawn_at from store.runs").fetchall())
    questions = dict(connection.execute("select dataset, count(*) from numbered_questions group by 1").fetchall())
    position = connection.execute("select coalesce(max(position), -1) + 1 from store.runs").fetchall()[0][0]
    decisions, states, samples = _decisions(staging), _states(staging), _samples(staging)
    rows: list[dict[str, object]] = []
    runs = connection.execute("select n, dataset, model, elicitation, place from numbered_runs order by n").fetchall()
    for n, dataset, model, elicitation, place in runs:
        content = hashes[n]
        run, key, name = content.sha256[:ID_DIGITS], RunKey(dataset, model, elicitation), None
        if run not in stored:
            of_name = runs_of_name(staging, key)
            # An analyst's decisions are stored with a run, so a run with decisions is always a separate one.
            same = None if n in decisions else run_with_same_answers(staging, n, content.items, of_name)
            if same is None:
                warn_of_name(staging, n, run, of_name)
            else:
                file = staging.files[place // PLACES].name
                run, name = same, staging.grading_names.get(key) or grading_name(Path(file).name.partition(".")[0])
        skipped = report.skipped.get(key, Counter())
        counts, only_failed = states.get(n, (dict.fromkeys(OTHER_STATES, 0), 0))
        items, answered = content.items - sum(counts.values()), content.questions - only_failed
        line = f"run {run} ({model}, {elicitation}, {dataset}): {counted(items, 'item')} of {counted(answered, 'question')}"
        report.runs.append(run)
        if run in stored:
            report.stored.append(run)
            parts = ["already there", *(["but withdrawn"] if stored[run] else []), *add_gradings_to_stored(staging, n, run, name)]
            report.lines.append(f"{line}, {', '.join(parts)}")
            continue
        missing = questions[dataset] - answered
        rows.append({
            "n": n, "run": run, "dataset": dataset, "position": position + len(rows), "model": model,
            "elicitation": elicitation, "sha256": content.sha256, "file_name": staging.files[place // PLACES].name,
            "items": items, "questions": answered, "missing_questions": missing,
            **{state: counts[state] for state in OTHER_STATES},
            "samples": samples.get(n, 1), "respondents": key in staging.respondents,
            "skipped": json.dumps(skipped) if skipped else None, "decisions": decisions.get(n),
        })  # fmt: skip
        line += " imported" + (f"; {counted(missing, 'question')} not answered" if missing else "")
        line += "".join(f"; {part}" for part in rows_without_answer(counts, skipped))
        report.lines.append(line)
    if rows:
        new = ArrowStream(pl.DataFrame(rows, infer_schema_length=None))
        connection.execute("create table runs_to_store as select n::integer as n, run, dataset from new")
        connection.execute("""insert into new_runs by name
            select * exclude (n), make_timestamp(epoch_us(now())) as imported_at from new order by position""")
        del new


def _states(staging: Staging) -> dict[int, tuple[dict[State, int], int]]:
    """Return the number of responses in each of ``OTHER_STATES``, and of questions with nothing but failed calls, by run."""
    counts = ", ".join(f"count(*) filter ({among_states((state,))}) as {state}" for state in OTHER_STATES)
    totals = ", ".join(f"sum({state})::bigint" for state in OTHER_STATES)
    rows = staging.connection.execute(f"""
        select run_number, count(*) filter (failed = items), {totals} from (
            select run_number, question_number, count(*) as items, {counts} from responses_graded
            where run_number in (select run_number from responses_graded where not {ANSWERED}) group by all
        ) group by 1""").fetchall()
    return {run: (dict(zip(OTHER_STATES, of_run, strict=True)), only_failed) for run, only_failed, *of_run in rows}


def _samples(staging: Staging) -> dict[int, int]:
    """Return the greatest number of answers to one clue, by run; empty if no response has a sample."""
    if not staging.connection.execute("select 1 from responses_graded where sample is not null limit 1").fetchone():
        return {}
    rows = staging.connection.execute("""
        select run_number, max(answers)::integer from (
            select run_number, question_number, clue, count(*) as answers from responses_graded group by all
        ) group by 1""").fetchall()
    return dict(rows)


def _decisions(staging: Staging) -> dict[int, str]:
    """Return the decisions that the grades of a run depend on, as JSON, by run."""
    if not staging.connection.execute("select 1 from decided_rows limit 1").fetchone():
        return {}
    rows = frame(
        staging.connection,
        """select run_number, question_id, clue, guess, correct
        from responses_graded s join numbered_questions q on q.n = s.question_number
        where decided order by run_number, question_id, clue""",
    )
    decisions: dict[int, list[dict[str, object]]] = defaultdict(list)
    for row in rows.to_dicts():
        decisions[row.pop("run_number")].append(row)
    return {run: json.dumps(decided) for run, decided in decisions.items()}
