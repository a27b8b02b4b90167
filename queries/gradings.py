"""Gradings of runs: how far they agree, guesses with their grades, and what a reviewer is asked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from clueline.data.duckdb_and_polars import first_rows
from clueline.data.importing.run_gradings import doubt
from clueline.data.quizbowl.answer_lines import parse_answer_line
from clueline.data.store import Snapshot
from clueline.data.store.answer_states import NEVER_RIGHT, among_states
from clueline.data.store.gradings import IMPORTED, IS_DRAWN, REVIEWED
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.metrics.kernels.arrays import Floats
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.runs import run as run_facts
from clueline.queries.selection import Selection, selection_keys

MAX_RUNS = 200  # runs compared in one answer
MAX_EXAMINED = 20_000  # distinct guesses that are judged by their answer lines; more would take minutes
# The answers that were last drawn from the run $graded_run for review, with the grade that a reviewer gave, null where none did.
DRAWN_ANSWERS = f"""
    with log as (from corrections where run = $graded_run),
    drawn as (from log where {IS_DRAWN} qualify corrected_at = max(corrected_at) over ()),
    decided as (from log where not {IS_DRAWN})
    select d.question_id, d.clue, d.guess, any_value(d.note) as note, any_value(d.corrected_at) as drawn_at,
        any_value(d.corrected_by) as drawn_by, arg_max_null(c.correct, c.number) as grade
    from drawn d left join decided c on c.question_id = d.question_id and c.guess is not distinct from d.guess
        and (c.clue is null or c.clue = d.clue)
    group by all"""
RIGHT = 0.5  # an answer of at least this correctness counts as right when gradings are compared
Show = Literal["differ", "uncertain", "corrected", "drawn", "all"]
SHOWN: tuple[Show, ...] = ("differ", "uncertain", "corrected", "drawn", "all")


class RunGrading(msgspec.Struct):
    """A grading of a run.

    ``source`` is import (the run's first grading), column (of its file), added (by a later import), rules (of Clueline) or
    review. ``by`` says who imported it (None for the command line), or who made the last correction, and ``at`` when, ISO 8601,
    UTC.
    """

    name: str
    source: str
    by: str | None
    at: str
    accuracy: float | None
    corrections: int


class GradingAgreement(msgspec.Struct):
    """How far two gradings agree on which answers are right. ``kappa`` is also None where both give one and the same grade."""

    a: str
    b: str
    agreeing: int
    agreement: float | None
    kappa: float | None


class GradedRun(RunName):
    """A run with more than one grading; ``differing`` of its ``answers`` do not have the same grade in all of them."""

    answers: int
    differing: int
    gradings: list[RunGrading]
    agreements: list[GradingAgreement]


class Gradings(msgspec.Struct):
    """Answer of ``/api/v1/gradings``: the first 200 of the ``total`` runs with several gradings; ``single`` have one only."""

    selection: dict[str, list[str]]
    single: int
    total: int
    runs: list[GradedRun]
    data_version: str


class GradeCorrection(msgspec.Struct):
    """A correction by a reviewer.

    ``correct`` is None where it undoes earlier corrections. ``clue`` is None where it applies to every clue. ``at`` is ISO 8601,
    UTC.
    """

    number: int
    question_id: str
    clue: int | None
    guess: str | None
    correct: float | None
    at: str
    by: str | None  # name of the token; system:NAME for the command line
    note: str | None


class GradedGuess(msgspec.Struct):
    """A guess and its grades by name of the grading, with the numbers of the clues at which it was given with these.

    ``outcome`` is that of Clueline's current rules: accept, reject, or review where a person should decide; None where none
    applies.
    """

    question_id: str
    answer: str | None
    guess: str | None
    clues: list[int]
    answers: int
    grades: dict[str, float]
    outcome: str | None
    rule: str | None
    corrections: list[GradeCorrection]


class GradedGuesses(msgspec.Struct):
    """The guesses of a run: ``total`` is how many of the kind asked for there are, ``guesses`` are the first of them."""

    run: str
    dataset: str
    gradings: list[str]
    total: int
    guesses: list[GradedGuess]


class GradingCoverage(msgspec.Struct):
    """How many runs of a selection have its grading in force, and how many use their first one instead."""

    with_it: int
    without_it: int


def grading_coverage(snapshot: Snapshot, selection: Selection) -> GradingCoverage:
    """Count the runs of a selection with and without its grading in force."""
    condition, parameters = selection.run_filter()
    having, total = snapshot.rows(
        f"""select count(*) filter (run in (select run from gradings where name = $grading)), count(*)
        from runs r where {condition}""",
        parameters | {"grading": selection.grading_in_force},
    )[0]
    return GradingCoverage(having, total - having)


def gradings(snapshot: Snapshot, selection: Selection) -> Gradings:
    """Return the gradings of runs with several, and how far they agree on answers, which are right if correctness is >= 1/2."""
    condition, parameters = selection.run_filter()
    rows = snapshot.rows(
        f"""select run, model, elicitation, (select count(*) from gradings g where g.run = r.run) > 1 from runs r
        where {condition} order by position""",
        parameters,
    )
    several = [row[:3] for row in rows if row[3]]
    graded = []
    for run, model, elicitation in several[:MAX_RUNS]:
        check_time_limit()
        facts = _facts(snapshot, run)
        names = [grading.name for grading in facts]
        sql, values = _answers(snapshot, selection, run, names)
        table = snapshot.frame(f"select {', '.join(_columns(names))} from ({sql})", values).to_numpy().reshape(-1, len(names))
        for grading, column in zip(facts, table.T, strict=True):
            grading.accuracy = float(column.mean()) if len(column) else None
        pairs = [agreement(names[a], names[b], table[:, a], table[:, b]) for a, b in combinations(range(len(names)), 2)]
        differing = int((table != table[:, :1]).any(axis=1).sum())
        graded.append(GradedRun(run, model, elicitation, len(table), differing, facts, pairs))
    return Gradings(selection_keys(selection), len(rows) - len(several), len(several), graded, snapshot.version)


def agreement(a: str, b: str, first: Floats, second: Floats) -> GradingAgreement:
    """Return how far two gradings agree on the same answers, with Cohen's kappa (Cohen 1960).

    >>> import numpy as np
    >>> agreement("a", "b", np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0])).kappa
    0.5
    """
    right: NDArray[np.bool_] = first >= RIGHT
    also: NDArray[np.bool_] = second >= RIGHT
    if not len(right):
        return GradingAgreement(a, b, 0, None, None)
    observed = float((right == also).mean())
    expected = float(right.mean() * also.mean() + (1 - right.mean()) * (1 - also.mean()))
    kappa = (observed - expected) / (1 - expected) if expected < 1 else None
    return GradingAgreement(a, b, int((right == also).sum()), observed, kappa)


def graded_guesses(snapshot: Snapshot, selection: Selection, run: str, show: Show = "differ", most: int = 200) -> GradedGuesses:
    """Return the guesses of a run and their grades, in the order of questions and clues.

    Filters on questions, clues and responses apply. All are counted and ``most`` listed, but ``uncertain`` ones are only looked
    for among the first 20,000. ``drawn`` ones were drawn at random for review and wait for it. Raises ``BadRequest`` for an
    unknown run.
    """
    facts = run_facts(snapshot, run)
    names = [grading.name for grading in _facts(snapshot, run)]
    log = corrections(snapshot, run)
    sql, parameters = _answers(snapshot, selection, run, names)
    grades = f"[{', '.join(_columns(names))}]"
    conditions = {
        "differ": f"len(list_distinct({grades})) > 1",
        "corrected": f"""exists (from corrections c where c.run = $graded_run and c.question_id = a.question_id
            and c.guess is not distinct from a.guess and not {IS_DRAWN})""",
        "drawn": f"""exists (from ({DRAWN_ANSWERS}) d where d.grade is null and d.question_id = a.question_id and d.clue = a.clue
            and d.guess is not distinct from a.guess)""",
        "uncertain": "a.guess is not null",
        "all": "true",
    }
    rows = snapshot.rows(
        first_rows(
            f"""select q.position, a.question_id, q.answer, a.guess, list_sort(list(distinct a.clue)) as clues,
                count(*) as answers, {grades} as grades
            from ({sql}) a join questions q using (dataset, question_id) where {conditions[show]} group by all""",
            "position, clues[1], guess",
            MAX_EXAMINED if show == "uncertain" else most,
        ),
        parameters | ({"graded_run": run} if show in ("corrected", "drawn") else {}),
    )
    kind = snapshot.rows("select kind from datasets where dataset = $d", {"d": facts.dataset})[0][0]
    guesses = []
    for _, question_id, answer, guess, clues, answers, values, _ in rows:
        outcome, rule = _judged(kind, answer, guess)
        if show == "uncertain" and outcome != "review":
            continue
        of_guess = [entry for entry in log if (entry.question_id, entry.guess) == (question_id, guess)]
        verdicts = dict(zip(names, values, strict=True))
        guesses.append(GradedGuess(question_id, answer, guess, clues, answers, verdicts, outcome, rule, of_guess))
    total = len(guesses) if show == "uncertain" else rows[0][-1] if rows else 0
    return GradedGuesses(run, facts.dataset, names, total, guesses[:most])


def corrections(snapshot: Snapshot, run: str) -> list[GradeCorrection]:
    """Return every correction of a run, oldest first."""
    rows = snapshot.rows(
        f"""select number, question_id, clue, guess, correct, strftime(corrected_at, '%Y-%m-%dT%H:%M:%S.%fZ'), corrected_by, note
        from corrections where run = $run and not {IS_DRAWN} order by number""",
        {"run": run},
    )
    return [GradeCorrection(*row) for row in rows]


def _judged(kind: str, answer: str | None, guess: str | None) -> tuple[str | None, str | None]:
    """Return how Clueline's rules judge a guess, and which rule decides; None where no rule applies."""
    if kind == "lifeeval":
        return None, "the life table gives the probability"
    if kind == "votes" or answer is None:
        return None, None
    return parse_answer_line(answer).judge(guess)


def _facts(snapshot: Snapshot, run: str) -> list[RunGrading]:
    """Return the gradings of a run in order, starting with its first, without accuracies."""
    rows = snapshot.rows(
        f"""select coalesce(g.name, $imported), coalesce(g.source, 'import'),
            case when g.name = $reviewed then c.by when g.source = 'added' then g.added_by else r.imported_by end,
            strftime(case when g.name = $reviewed then c.at when g.source = 'added' then g.added_at else r.imported_at end,
                '%Y-%m-%dT%H:%M:%S.%fZ'), coalesce(c.count, 0)
        from runs r left join gradings g using (run) left join (
            select arg_max_null(corrected_by, number) as by, max(corrected_at) as at, count(*) as count
            from corrections where run = $run and not {IS_DRAWN}) c on g.name = $reviewed
        where r.run = $run order by g.position, g.name""",
        {"run": run, "reviewed": REVIEWED, "imported": IMPORTED},
    )
    return [RunGrading(name, source, by, at, None, count) for name, source, by, at, count in rows]


def _columns(names: Sequence[str]) -> list[str]:
    """Return the SQL names of the columns of ``_answers`` that have the grades of these gradings."""
    return [f"grade_{number}" for number in range(len(names))]


def _answers(snapshot: Snapshot, selection: Selection, run: str, names: Sequence[str]) -> tuple[str, dict[str, object]]:
    """Return the SQL, with parameters, of a run's answers in a selection, with a column of grades for each grading."""
    parts = [snapshot.with_grading(name).responses([run]) for name in names]
    columns = _columns(names)
    joined = "".join(
        f" positional join (select correct as {column} from {rows})" for rows, column in zip(parts[1:], columns[1:], strict=True)
    )
    questions, parameters = selection.question_filter()
    chosen_responses, values = selection.response_filter("r")
    parameters |= values
    side_by_side = f"""select dataset, question_id, clue, guess, {", ".join(columns)}
        from (select *, correct as {columns[0]} from {parts[0]}) r {joined}
        where not {among_states(NEVER_RIGHT, "r")} and {chosen_responses}"""
    sql = f"select * from ({side_by_side}) where question_id in (select question_id from questions q where {questions})"
    if selection.filters_clues:
        condition, values = selection.clue_filter()
        sql = f"select * from ({sql}) semi join (select * from clues c where {condition}) using (dataset, question_id, clue)"
        parameters |= values
    return sql, parameters


MAX_LISTED = 200


class UncertainGrade(msgspec.Struct):
    """A guess whose grade is uncertain, with the clues at which it was given."""

    question_id: str
    clues: list[int]
    guess: str
    answer: str
    correct: float  # the grade, in [0, 1]
    reason: str


class GradeReview(msgspec.Struct):
    """The first 200 uncertain grades, among ``total``; ``looked_at`` of the ``graded`` distinct wrong guesses were examined."""

    total: int
    graded: int
    looked_at: int
    guesses: list[UncertainGrade]


def uncertain_grades(snapshot: Snapshot, runs: Sequence[str]) -> GradeReview:
    """Return the uncertain grades of some runs.

    Guesses that were graded as wrong against an answer line are examined, up to 20,000 distinct ones. Those that would be
    prompted on come first; within both groups, guesses are in the dataset's order of questions.
    """
    rows = snapshot.rows(
        first_rows(
            f"""select question_id, any_value(q.answer) as answer, guess, min(r.correct) as correct,
                list_sort(list(distinct clue)) as clues, min(r.graded) = 'prompt' as prompted, any_value(q.position) as position
            from {snapshot.responses(runs)} r join questions q using (dataset, question_id)
            where r.graded in ('answer', 'prompt') and guess is not null and correct = 0
            group by question_id, guess""",
            "prompted desc, position, clues[1], guess",
            MAX_EXAMINED,
        )
    )
    grades = [
        UncertainGrade(question_id, clues, guess, answer, correct, reason)
        for question_id, answer, guess, correct, clues, *_ in rows
        if (reason := doubt(answer, guess))
    ]
    return GradeReview(len(grades), rows[0][7] if rows else 0, len(rows), grades[:MAX_LISTED])
