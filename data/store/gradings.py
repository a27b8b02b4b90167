"""Gradings: which guesses of a run are correct, according to a file, Clueline's rules or a reviewer.

The first grading of a run is in its responses. Each further grading that differs from it has two objects, ``grades.NAME`` and
``statistics.NAME``, which are read instead (``Snapshot.with_grading``). One that does not differ has only its row in
``gradings``.

A reviewer's correction is a new row of ``corrections``; no row is overwritten. The grading ``reviewed`` is the first grading with
the corrections applied: for each response, the last correction that covers it. A correction without a value (``correct`` is null)
undoes earlier ones. Runs are measured by ``reviewed`` unless told otherwise. So it must not bring in another opinion on answers
that nobody corrected.

The log also says which answers were drawn at random for review: a row whose note is a ``DRAWN_NOTE``. It changes no grade.
Reviewed answers of a random sample say how often the first grading errs on all answers; other corrections do not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import chain, count
from typing import Literal, NamedTuple

import duckdb
import numpy as np
import polars as pl
from anyascii import anyascii

from clueline.data.duckdb_and_polars import execute, execute_with
from clueline.data.store import run_statistics
from clueline.data.store.answer_states import NEVER_RIGHT, among_states
from clueline.data.store.audit import new_event, system_user
from clueline.data.store.cache_validity_tokens import renew_revisions
from clueline.data.store.run_files import Objects, StoredObject, copy_rows, graded_kind, record_objects, stored_objects
from clueline.data.store.run_withdrawal import find_run
from clueline.data.store.store import Store

Source = Literal["import", "column", "added", "rules", "review"]
IMPORTED = "imported"  # as the file states it
GRADED = "graded"  # by Clueline's rules
REVIEWED = "reviewed"  # the first grading, with the corrections of reviewers
RESERVED = (IMPORTED, GRADED, REVIEWED)
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
MAX_NAME_LENGTH = 40  # characters
MAX_NOTE_LENGTH = 500  # characters
ADOPTED = "grading adopted: "  # how the note of a correction begins that follows from an adopted grading
DRAWN = "drawn for review: "  # how the note of a drawn answer begins
_WHOLE = "([1-9][0-9]{0,9})"
DRAWN_NOTE = f"{DRAWN}seed ([0-9]{{1,10}}), {_WHOLE} of {_WHOLE} questions, 1 of {_WHOLE} answers, probability [0-9.e-]+"
IS_DRAWN = f"regexp_full_match(coalesce(note, ''), '{DRAWN_NOTE}')"  # SQL: whether a row of the log says that an answer was drawn


class Correction(NamedTuple):
    """What a reviewer decides about a guess (None for an empty one) at a clue (None for every clue).

    ``correct`` is in [0, 1]; None undoes earlier corrections of the guess.
    """

    question_id: str
    guess: str | None
    correct: float | None
    clue: int | None = None
    note: str | None = None


class NoSuchGuess(Exception):
    """The run has no such guess; the message says which."""


class CannotAdopt(Exception):
    """A grading cannot become the one that a run is measured by; the message says why."""


class NothingToDraw(Exception):
    """The run has no answers."""


class Draw(NamedTuple):
    """How an answer was drawn for review: ``size`` of ``questions``, without replacement, and then one of the question's."""

    seed: int
    size: int
    questions: int
    answers: int

    @classmethod
    def from_note(cls, note: str) -> Draw:
        match = re.fullmatch(DRAWN_NOTE, note)
        if match is None:
            raise ValueError(f"not the note of a drawn answer: {note!r}")
        return cls(*map(int, match.groups()))

    @property
    def probability(self) -> float:
        """How likely the answer was to be drawn, in (0, 1]."""
        return self.size / self.questions / self.answers

    @property
    def note(self) -> str:
        """The note that is stored.

        >>> Draw(7, 100, 1901, 5).note
        'drawn for review: seed 7, 100 of 1901 questions, 1 of 5 answers, probability 0.0105208'
        """
        return (
            f"{DRAWN}seed {self.seed}, {self.size} of {self.questions} questions, 1 of {self.answers} answers, "
            f"probability {self.probability:.6g}"
        )


def grading_name(text: str, taken: Collection[str] = ()) -> str:
    """Make the name of a grading from any text, such as the name of a file. ``taken`` are names already in use.

    >>> grading_name("Second reader"), grading_name("graded"), grading_name("a", ["a", "a-2"])
    ('second-reader', 'other-graded', 'a-3')
    """
    name = re.sub(r"[^a-z0-9]+", "-", anyascii(text).lower())[:MAX_NAME_LENGTH].strip("-")
    if not name or name in RESERVED:
        name = f"other-{name}".rstrip("-")
    numbered = (f"{name[: MAX_NAME_LENGTH - len(suffix)].rstrip('-')}{suffix}" for suffix in (f"-{n}" for n in count(2)))
    return next(each for each in chain([name], numbered) if each not in taken)


def correct_grades(store: Store, run: str, corrections: Sequence[Correction], by: str | None) -> None:
    """Record corrections, all or none, and recompute the grading ``reviewed`` of the run.

    ``by`` names the reviewer's token, None the operating-system user. Raises ``NoSuchRun``, ``NoSuchGuess``, ``StoreError``.
    """
    dataset = dataset_of(store.snapshot().connection, run)  # before the catalogue is copied
    with store.adding_objects() as objects:

        def change(connection: duckdb.DuckDBPyConnection) -> None:
            dataset_of(connection, run)  # it may have been deleted meanwhile
            _record(connection, dataset, run, corrections, by)
            _check_guesses(connection, objects, run)
            review(connection, objects, [run])
            run_statistics.derive(connection, objects, dataset, [run], [REVIEWED])
            renew_revisions(connection, [dataset])

        store.write(change, lambda _: [new_event("corrected_grades", by, dataset=dataset, run=run, grades=str(len(corrections)))])


def adopt_grading(store: Store, run: str, name: str, by: str | None) -> int:
    """Measure a run by one of its gradings from now on, and return how many answers it grades otherwise than the first one.

    Each such answer gets a correction whose note names the grading. Those of a grading that was adopted before are undone first,
    so the first grading, ``IMPORTED`` or ``GRADED``, is the way back. What reviewers corrected one by one stays corrected where
    the gradings agree. Raises ``NoSuchRun``, ``CannotAdopt`` or ``StoreError``.
    """
    snapshot = store.snapshot()
    dataset_of(snapshot.connection, run)
    known = [
        grading for (grading,) in snapshot.rows("select name from gradings where run = $run order by position", {"run": run})
    ]
    if name == REVIEWED or name not in known:
        others = ", ".join(grading for grading in known if grading != REVIEWED)
        raise CannotAdopt(f"the run has no grading {name!r} to be measured by; it has: {others}")
    undone = snapshot.rows(
        """select question_id, guess, null, clue from corrections where run = $run
        qualify row_number() over (partition by question_id, guess, clue order by number desc) = 1
            and starts_with(coalesce(note, ''), $adopted) and correct is not null order by number""",
        {"run": run, "adopted": ADOPTED},
    )
    first, other = (snapshot.with_grading(grading).responses([run]) for grading in (known[0], name))
    differing = snapshot.rows(f"""
        select r.question_id, r.guess, min(g.correct), r.clue, count(distinct g.correct) from {first} r
        positional join (select correct from {other}) g where not {among_states(NEVER_RIGHT, "r")}
        group by r.question_id, r.clue, r.guess having bool_or(g.correct <> r.correct) order by all""")
    twice = next((question for question, *_, grades in differing if grades > 1), None)
    if twice is not None:
        raise CannotAdopt(f"{name!r} grades the same answer to question {twice!r} in several ways; correct its grades one by one")
    note = f"{ADOPTED}{name}"
    changes = [
        Correction(question, guess, None, clue, f"{note}, in place of an earlier one") for question, guess, _, clue in undone
    ]
    changes += [Correction(question, guess, grade, clue, note) for question, guess, grade, clue, _ in differing]
    if changes:
        correct_grades(store, run, changes, by)
    return len(differing)


def draw_for_review(store: Store, run: str, size: int, seed: int, by: str | None) -> int:
    """Draw answers of a run at random for review, record them in the log, and return their number.

    Questions are drawn without replacement, and then one answer of each. A larger draw with the same seed (at least 0) draws the
    same answers and more. What no grading makes right, such as an abstention, is not drawn. A later draw replaces an earlier one;
    no row of the log is removed. Raises ``NoSuchRun``, ``NothingToDraw`` or ``StoreError``.
    """
    dataset = dataset_of(store.snapshot().connection, run)  # before the catalogue is copied
    drawn: list[tuple[object, ...]] = []

    def change(connection: duckdb.DuckDBPyConnection) -> None:
        dataset_of(connection, run)  # it may have been deleted meanwhile
        responses = store.objects.relation("responses", stored_objects(connection, "responses", runs=[run]))
        rows = connection.execute(
            f"""select question_id, clue, guess from {responses} semi join questions using (dataset, question_id)
            where not {among_states(NEVER_RIGHT)} order by question_id, clue, sample"""
        ).fetchall()
        drawn[:] = drawn_answers(rows, size, seed)
        if not drawn:
            raise NothingToDraw(run)
        _record(connection, dataset, run, drawn, by)
        renew_revisions(connection, [dataset])

    store.write(change, lambda _: [new_event("drew_for_review", by, dataset=dataset, run=run, grades=str(len(drawn)))])
    return len(drawn)


def drawn_answers(answers: Sequence[tuple[str, int, str | None]], size: int, seed: int) -> list[tuple[object, ...]]:
    """Draw a random sample of answers (question, clue, guess), sorted by question. Rows have the fields of ``Correction``."""
    if not answers:
        return []
    questions = np.unique([question for question, _, _ in answers], return_index=True)[1]
    ends = np.append(questions[1:], len(answers))
    random = np.random.default_rng(seed)
    chosen, places = random.permutation(len(questions))[:size], random.random(len(questions))
    rows: list[tuple[object, ...]] = []
    for number in np.sort(chosen).tolist():
        count = int(ends[number] - questions[number])
        question, clue, guess = answers[int(questions[number]) + int(places[number] * count)]
        rows.append((question, guess, None, clue, Draw(seed, len(chosen), len(questions), count).note))
    return rows


def dataset_of(connection: duckdb.DuckDBPyConnection, run: str) -> str:
    """Return the dataset of a run. Raises ``NoSuchRun``."""
    return find_run(connection, run)[0]


def _check_guesses(connection: duckdb.DuckDBPyConnection, objects: Objects, run: str) -> None:
    """Raise ``NoSuchGuess`` if the run has no such guess as one that was just recorded."""
    responses = objects.relation("responses", stored_objects(connection, "responses", runs=[run]))
    unknown = connection.execute(
        f"""select question_id, clue, guess from recorded where nth not in (
            select nth from recorded g join {responses} r on r.question_id = g.question_id
                and r.guess is not distinct from g.guess
            where (g.clue is null or g.clue = r.clue) and not {among_states(NEVER_RIGHT, "r")}) order by nth limit 1"""
    ).fetchone()
    if unknown:
        question_id, clue, guess = unknown
        where = f"question {question_id!r}" if clue is None else f"clue {clue} of question {question_id!r}"
        raise NoSuchGuess(f"the run did not answer {where} with {guess!r}")


def _record(
    connection: duckdb.DuckDBPyConnection, dataset: str, run: str, entries: Iterable[Sequence[object]], by: str | None
) -> None:
    """Add rows with the fields of ``Correction`` to the log. They are also in a new temporary table ``recorded``."""
    schema = {
        "question_id": pl.String, "guess": pl.String, "correct": pl.Float64, "clue": pl.Int32, "note": pl.String,
        "nth": pl.Int32,
    }  # fmt: skip
    table = pl.DataFrame([(*row, nth) for nth, row in enumerate(entries, 1)], schema=schema, orient="row")
    execute_with(connection, table, "create or replace temp table recorded as from given")
    connection.execute(
        """insert into corrections by name
        select $dataset as dataset, $run as run,
            nth + (select coalesce(max(number), 0) from corrections where run = $run) as number, question_id, clue, guess,
            correct, make_timestamp(epoch_us(now())) as corrected_at, $by as corrected_by, note
        from recorded order by nth""",
        {"dataset": dataset, "run": run, "by": system_user() if by is None else by},
    )


def review(connection: duckdb.DuckDBPyConnection, objects: Objects, runs: Iterable[str]) -> None:
    """Recompute the grading ``reviewed`` of runs with corrections, but no statistics."""
    corrected = {run for (run,) in connection.execute(f"select distinct run from corrections where not {IS_DRAWN}").fetchall()}
    for run in runs:
        if run not in corrected:
            continue
        parts = stored_objects(connection, "responses", runs=[run])
        if not parts:  # they were lost and must be imported again
            continue
        rows = objects.relation("responses", parts, numbered=True)
        # The join has only equalities: with any other condition, DuckDB would compare every row with every other.
        sql = f"""with latest as (
                select r.file_row_number as row, arg_max({{'correct': c.correct}}, c.number) as correction
                from {rows} r join (from corrections where not {IS_DRAWN}) c on c.run = r.run
                    and c.question_id = r.question_id and c.guess is not distinct from r.guess
                where (c.clue is null or c.clue = r.clue) and not {among_states(NEVER_RIGHT, "r")} group by 1
            )
            select r.question_id, r.clue, r.sample, coalesce(l.correction.correct, r.correct) as correct,
                if(l.correction.correct is null, r.graded, 'review') as graded
            from {rows} r left join latest l on l.row = r.file_row_number order by r.file_row_number"""
        add_grading(connection, objects, parts[0], REVIEWED, "review", sql)


def add_grading(
    connection: duckdb.DuckDBPyConnection, objects: Objects, responses: StoredObject, name: str, source: Source, sql: str | None
) -> None:
    """Give a run a further grading, replacing one of the same name. Its statistics are not computed.

    ``sql`` is a query for the columns of ``grades``, with a row for each row of the responses, in their order. It is None if all
    grades are those of the first grading.
    """
    run, dataset = responses.run, responses.dataset
    is_there, position = execute(
        connection,
        """select count(*) filter (name = $name) > 0, coalesce(max(position) filter (name = $name), max(position) + 1, 1)
        from gradings where run = $run""",
        {"run": run, "name": name},
    ).fetchall()[0]
    if is_there:
        remove_grading(connection, run, name)
    if sql is not None:
        kind = graded_kind("grades", name)
        record_objects(
            connection, [objects.add(kind, dataset, run, partial(copy_rows, connection, "grades", sql, form=objects.form))]
        )
    execute(
        connection,
        "insert into gradings by name select $d as dataset, $r as run, $n as name, $p as position, $s as source",
        {"d": dataset, "r": run, "n": name, "p": position, "s": source},
    )


def remove_grading(connection: duckdb.DuckDBPyConnection, run: str, name: str) -> None:
    """Remove a further grading of a run from the catalogue, if it is there."""
    kinds = {"grades": graded_kind("grades", name), "statistics": graded_kind("statistics", name)}
    execute(connection, "delete from objects where run = $run and kind in ($grades, $statistics)", {"run": run, **kinds})
    execute(connection, "delete from gradings where run = $run and name = $name", {"run": run, "name": name})
