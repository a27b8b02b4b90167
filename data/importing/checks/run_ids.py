"""Names runs by their content. Runs that the store already has are set aside, but can get further gradings.

The id of a run is from a sha256 of its content in the order of questions and clues, independent of the order of the file.

Each column is hashed by itself, as one stream of bytes over all rows of the run: numbers little-endian; texts and lists as their
lengths (-1 for null) and their joined content. So are the dataset, the model, the elicitation as the file calls it and, if it is
known, the day on which the run was evaluated. The way guesses were graded does not count, only the correctness that the file or
the analyst stated. A failed call is hashed as the guess ERROR, no matter how the file marks it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from clueline.data.duckdb_and_polars import execute_with, frame, literal
from clueline.data.elicitations import canonical_elicitations
from clueline.data.importing.checks.responses import FAILED_GUESS, PLACES
from clueline.data.importing.checks.stored_runs import add_gradings_to_stored, run_with_same_answers, runs_of_name, warn_of_name
from clueline.data.importing.evaluation_times import read_time
from clueline.data.importing.report import rows_without_answer
from clueline.data.importing.staging import ImportOptions, RunKey, Staging
from clueline.data.plurals import counted
from clueline.data.store.answer_states import ANSWERED, OTHER_STATES, State, among_states
from clueline.data.store.gradings import grading_name
from clueline.data.store.run_tags import DATE

GROUP = 122_880  # rows of a row group in DuckDB's storage
ROWS, BYTES = 4 * GROUP, 64 * 2**20  # greatest size of a batch, unless a single row is longer
OPTIONAL = {"guess": "strlen(guess)", "stated": "0", "token_logprobs": "8 * len(token_logprobs)", "options": "8 * len(options)",
            "sample": "strlen(sample)", "buzz": "0", "state": "strlen(state)",
            "option_names": "16 * len(option_names)", "attributes": "strlen(attributes::varchar)"}  # fmt: skip
AS_TEXT = {"attributes": "to_json(attributes)::varchar as attributes"}  # columns that are hashed as text, and the SQL for it
ID_DIGITS = 16  # hexadecimal digits of a run's sha256 that form its id


class _Named(NamedTuple):
    """A run of ``numbered_runs``, as files name it, and its first place."""

    n: int
    dataset: str
    model: str
    elicitation: str
    evaluated_at: datetime | None
    place: int

    @property
    def key(self) -> RunKey:
        return RunKey(self.dataset, self.model, self.elicitation)


def name_runs(staging: Staging, options: ImportOptions) -> None:
    """Name each run by its content, and fill ``named_runs``, ``runs_to_store`` and ``new_runs`` with the new ones.

    The tag ``date`` that the analyst states is the time of every run.
    """
    connection, report = staging.connection, staging.report
    at = read_time(dict(options.tags).get(DATE, ""))
    columns = ", ".join(_Named._fields)
    runs = [_Named(*row) for row in connection.execute(f"select {columns} from numbered_runs order by n").fetchall()]
    times = {run.n: at or run.evaluated_at for run in runs}
    hashes = _run_hashes(connection, runs, times)
    ways = _elicitations(runs)
    stored = dict(connection.execute("select run, withdrawn_at from store.runs").fetchall())
    questions = dict(connection.execute("select dataset, count(*) from numbered_questions group by 1").fetchall())
    position = connection.execute("select coalesce(max(position), -1) + 1 from store.runs").fetchall()[0][0]
    decisions, states, samples = _decisions(staging), _states(staging), _samples(staging)
    rows: list[dict[str, object]] = []
    named: dict[int, str] = {}
    for known in runs:
        n, content, when = known.n, hashes[known.n], times[known.n]
        file = staging.files[known.place // PLACES].name
        run, name = content.sha256[:ID_DIGITS], None
        if run not in stored:
            of_name = runs_of_name(staging, known.key._replace(elicitation=ways[n]), when)
            # An analyst's decisions are stored with a run, so a run with decisions is always a separate one.
            same = None if n in decisions else run_with_same_answers(staging, n, content.items, of_name)
            if same is not None:
                run, name = same, staging.grading_names.get(known.key) or grading_name(Path(file).name.partition(".")[0])
            elif run not in named.values():
                warn_of_name(staging, n, run, of_name, dated=when is not None)
        skipped = report.skipped.get((*known.key, known.evaluated_at), Counter())
        counts, only_failed = states.get(n, (dict.fromkeys(OTHER_STATES, 0), 0))
        items, answered = content.items - sum(counts.values()), content.questions - only_failed
        names = f"{known.model}, {ways[n]}, {known.dataset}" + (f", {when:%Y-%m-%d}" if when else "")
        line = f"run {run} ({names}): {counted(items, 'item')} of {counted(answered, 'question')}"
        again = run in named.values()
        named[n] = run
        if again and run not in stored:
            report.lines.append(f"{line}, {file} has the same answers of this day again")
            continue
        report.runs.append(run)
        if run in stored:
            report.stored.append(run)
            parts = ["already there", *(["but withdrawn"] if stored[run] else []), *add_gradings_to_stored(staging, n, run, name)]
            report.lines.append(f"{line}, {', '.join(parts)}")
            continue
        missing = questions[known.dataset] - answered
        rows.append({
            "n": n, "run": run, "dataset": known.dataset, "position": position + len(rows), "model": known.model,
            "elicitation": ways[n], "stated_elicitation": None if ways[n] == known.elicitation else known.elicitation,
            "evaluated_at": when, "sha256": content.sha256, "file_name": file,
            "items": items, "questions": answered, "missing_questions": missing,
            **{state: counts[state] for state in OTHER_STATES},
            "samples": samples.get(n, 1), "respondents": known.key in staging.respondents,
            "skipped": json.dumps(skipped) if skipped else None, "decisions": decisions.get(n),
        })  # fmt: skip
        line += " imported" + (f"; {counted(missing, 'question')} not answered" if missing else "")
        line += "".join(f"; {part}" for part in rows_without_answer(counts, skipped))
        report.lines.append(line)
    of_numbers = pl.DataFrame([*named.items()], {"n": pl.Int32, "run": pl.String}, orient="row")
    execute_with(connection, of_numbers, "create table named_runs as from given")
    if rows:
        new = pl.DataFrame(rows, infer_schema_length=None)
        execute_with(connection, new, "create table runs_to_store as select n::integer as n, run, dataset from given")
        sql = "select * exclude (n), make_timestamp(epoch_us(now())) as imported_at from given order by position"
        execute_with(connection, new, f"insert into new_runs by name {sql}")


def _elicitations(runs: Sequence[_Named]) -> dict[int, str]:
    """Return the elicitation of each run, by number, as the vocabulary calls it."""
    of_model: dict[tuple[str, str], list[_Named]] = defaultdict(list)
    for run in runs:
        of_model[run.dataset, run.model].append(run)
    ways: dict[int, str] = {}
    for group in of_model.values():
        canonical = canonical_elicitations(dict.fromkeys(run.elicitation for run in group))
        ways |= {run.n: canonical[run.elicitation] for run in group}
    return ways


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
        from responses_graded where decided order by run_number, question_id, clue""",
    )
    decisions: dict[int, list[dict[str, object]]] = defaultdict(list)
    for row in rows.to_dicts():
        decisions[row.pop("run_number")].append(row)
    return {run: json.dumps(decided) for run, decided in decisions.items()}


@dataclass
class _RunHash:
    """The hash of one run, fed with its rows in order. ``close`` sets ``sha256``. ``questions`` counts different ones."""

    items: int = 0
    questions: int = 0
    sha256: str = ""
    _last: int = -1  # number of the question of the last row
    _columns: dict[tuple[str, int], Any] = field(default_factory=dict)
    _filled: set[str] = field(default_factory=set)  # columns with values; one without is as if the file did not have it

    def feed(self, question: NDArray[np.int32], ids: pl.Series) -> None:
        """Add the questions of the next rows."""
        first = np.diff(question, prepend=self._last) != 0
        self._last = int(question[-1])
        self.items += len(question)
        self.questions += int(first.sum())
        self.add("first", [first], True)
        asked = ids.filter(first)
        self.add("question_id", _byte_streams(asked, [0, len(asked)])[0], True)

    def add(self, name: str, parts: Iterable[Any], filled: bool) -> None:
        """Add the next rows of a column, as streams of bytes. ``filled`` says whether any of them has a value."""
        if filled:
            self._filled.add(name)
        for index, part in enumerate(parts):
            self._columns.setdefault((name, index), hashlib.sha256()).update(part)

    def close(self, head: list[str]) -> None:
        """Set ``sha256``, from the rows and the head: dataset, model, elicitation and, if it is known, the day."""
        digests = [
            [name, index, column.hexdigest()] for (name, index), column in sorted(self._columns.items()) if name in self._filled
        ]
        self.sha256 = hashlib.sha256(json.dumps([head, digests]).encode()).hexdigest()
        self._columns.clear()


def _run_hashes(
    connection: duckdb.DuckDBPyConnection, numbered: Sequence[_Named], times: Mapping[int, datetime | None]
) -> dict[int, _RunHash]:
    """Hash each run of ``responses_graded`` in one pass, with one batch of rows in memory. Returns the hashes by run number."""
    hashes: dict[int, _RunHash] = {}
    filled = ", ".join(f"count({name})" for name in OPTIONAL)
    *counts, failed = connection.execute(f"select {filled}, count(*) filter (failed) from responses_graded").fetchall()[0]
    present = [name for name, count in zip(OPTIONAL, counts, strict=True) if count and name != "guess"]
    columns = ["confidence", *(AS_TEXT.get(name, name) for name in present)]
    if failed:
        columns.append(f"if(failed, {literal(FAILED_GUESS)}, guess) as guess")
    elif counts[[*OPTIONAL].index("guess")]:
        columns.append("guess")
    for first, last in _batches(connection):
        rows = frame(
            connection,
            f"""select run_number, question_number, question_id, clue, {", ".join(columns)} from responses_graded
            where row between {first} and {last}""",
        )
        numbers = rows["run_number"].to_numpy()
        cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(rows)]
        runs = [hashes.setdefault(int(numbers[start]), _RunHash()) for start in cuts[:-1]]
        questions = rows["question_number"].to_numpy()
        for run, (start, end) in zip(runs, pairwise(cuts), strict=True):
            run.feed(questions[start:end], rows["question_id"][start:end])
        for name in rows.columns[3:]:
            values = np.append(0, rows[name].is_not_null().cum_sum().to_numpy())[cuts]
            for run, parts, count in zip(runs, _byte_streams(rows[name], cuts), np.diff(values), strict=True):
                run.add(name, parts, name not in OPTIONAL or bool(count))
    for named in numbered:
        when = times[named.n]
        day = [] if when is None else [f"{when:%Y-%m-%d}"]
        hashes[named.n].close([*named.key, *day])
    return hashes


def _batches(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[int, int]]:
    size = " + ".join(["strlen(question_id)", *(f"coalesce({sql}, 0)" for sql in OPTIONAL.values())])
    groups = connection.execute(
        f"select row // {GROUP}, count(*), sum({size})::bigint from responses_graded group by 1 order by 1"
    ).fetchall()
    start = end = filled = 0
    for group, rows, size in groups:
        if end > start and (end - start + rows > ROWS or filled + size > BYTES):
            yield start, end - 1
            start, filled = end, 0
        if size > BYTES:
            step = max(1, rows * BYTES // size)
            for at in range(group * GROUP, group * GROUP + rows, step):
                yield at, min(at + step, group * GROUP + rows) - 1
            start = end = group * GROUP + rows
        else:
            end, filled = group * GROUP + rows, filled + size
    if end > start:
        yield start, end - 1


def _byte_streams(column: pl.Series, cuts: Sequence[int]) -> list[list[Any]]:
    """Return the streams of bytes of each part of a column. Part k has the rows from ``cuts[k]`` up to ``cuts[k + 1]``."""
    text = column.dtype == pl.String
    if not (text or isinstance(column.dtype, pl.List)):
        numbers = _little_endian(column.fill_null(float("nan")) if column.dtype == pl.Float64 else column)
        return [[numbers[start:end]] for start, end in pairwise(cuts)]
    lengths = (column.str.len_bytes() if text else column.list.len()).cast(pl.Int32).fill_null(-1)
    counts = _little_endian(lengths)
    ends = np.append(0, np.cumsum(np.maximum(counts, 0), dtype=np.int64))[cuts].tolist()
    if text:
        joined = memoryview((column.str.join("").item() or "").encode())
        content = [[joined[start:end]] for start, end in pairwise(ends)]
    else:
        content = _byte_streams(column.filter(lengths > 0).explode(), ends)
    return [[counts[start:end], *parts] for (start, end), parts in zip(pairwise(cuts), content, strict=True)]


def _little_endian(numbers: pl.Series) -> NDArray[Any]:
    array = np.ascontiguousarray(numbers.to_numpy())
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
