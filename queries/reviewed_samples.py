"""Runs of which a random sample of answers was reviewed: what the judge's errors there say about means over all answers."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import polars as pl

from clueline.data.store import Snapshot
from clueline.data.store.answer_states import NEVER_RIGHT, among_states, state_sql
from clueline.data.store.gradings import IMPORTED, IS_DRAWN, Draw
from clueline.data.sufficient_statistics import Items, sums
from clueline.queries.engine.bootstrap import LEVEL
from clueline.queries.engine.evidence import Run
from clueline.queries.engine.run_columns import sum_by_place
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.selected_answers import selected_responses, selection_clauses
from clueline.queries.gradings import DRAWN_ANSWERS
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.metrics.kernels.arrays import Floats, Ints
from clueline.queries.metrics.kernels.item_totals import net_reward
from clueline.queries.metrics.kernels.prediction_powered import prediction_powered_mean, typical_error, with_questions_of_zeros
from clueline.queries.metrics.kernels.selective import log_score_of_items
from clueline.queries.metrics.metric import NET_REWARD
from clueline.queries.query_time_limit import check_time_limit
from clueline.queries.selection import Answer, Selection, head

MIN_REVIEWED = 40  # reviewed answers: with fewer, intervals of accurate runs do not cover
ItemValues = Callable[[Floats, Floats, Conventions], Floats]  # from confidence and correctness of items, shape (n,) each


class DrawnAnswer(msgspec.Struct):
    """An answer that was drawn for review: how likely that was, and the reviewer's grade, None while it waits for one."""

    question_id: str
    clue: int
    guess: str | None
    probability: float
    grade: float | None


class ReviewSample(msgspec.Struct):
    """The answers of a run that were last drawn at random for review: one of each of ``size`` of ``questions`` questions.

    If none ever were, ``size`` is 0 and ``seed``, ``questions`` and ``at`` are None. ``at`` is ISO 8601, UTC.
    """

    run: str
    seed: int | None
    size: int
    questions: int | None
    at: str | None
    by: str | None
    reviewed: int
    answers: list[DrawnAnswer]


class MeanEstimate(msgspec.Struct):
    """A mean over all answers.

    Attributes:
        judged: by the first grading alone.
        value: estimated from all answers and the reviewed ones; with its 95 % interval from ``low`` to ``high``.
        judge_weight: how much the first grading counts, in [0, 1]; at 0, only reviewed answers do.
    """

    judged: float
    value: float
    low: float
    high: float
    judge_weight: float


class ReviewedRun(RunName):
    """A run of which answers were drawn for review.

    Attributes:
        drawn: number of its answers in the selection that were drawn.
        reviewed: how many of these a person graded.
        judge_error: share of the answers on which the first grading errs, as estimated from the reviewed ones, in [0, 1].
        means: estimates by key of the metric, over the answers that the metric counts; empty where ``missing`` says why. A metric
            is left out if it counts fewer than 40 of the drawn answers.
    """

    drawn: int
    reviewed: int
    judge_error: float | None
    means: dict[str, MeanEstimate]
    missing: str | None


class ReviewedRuns(Answer):
    """Answer of ``/api/v1/gradings/reviewed``: the runs of a selection of which answers were drawn for review."""

    runs: list[ReviewedRun]


def _from_sums(key: str) -> ItemValues:
    """Return the function that computes a metric of sums for each item."""
    metric = CATALOGUE[key]

    def values(confidence: Floats, correct: Floats, conventions: Conventions) -> Floats:
        reads = set(metric.reads(conventions))
        columns = sums(Items(confidence, correct, np.arange(len(correct) + 1)), reads - {NET_REWARD})
        if NET_REWARD in reads:
            columns[NET_REWARD] = net_reward(confidence, correct, conventions.t)
        return metric.value(columns, conventions)

    return values


# The metrics that are means over items of a value that depends on the item's grade.
MEANS: dict[str, ItemValues] = {key: _from_sums(key) for key in ("accuracy", "net_score", "brier", "overconfidence")}
MEANS["log_score"] = lambda confidence, correct, _: log_score_of_items(confidence, correct)


def review_sample(snapshot: Snapshot, run: str) -> ReviewSample:
    """Return the answers of a run that were last drawn for review, by question."""
    rows = snapshot.rows(
        f"""select question_id, clue, guess, note, grade, strftime(drawn_at, '%Y-%m-%dT%H:%M:%S.%fZ'), drawn_by
        from ({DRAWN_ANSWERS}) order by question_id""",
        {"graded_run": run},
    )
    if not rows:
        return ReviewSample(run, None, 0, None, None, None, 0, [])
    draws = [Draw.from_note(row[3]) for row in rows]
    answers = [
        DrawnAnswer(question, clue, guess, draw.probability, grade)
        for (question, clue, guess, _, grade, _, _), draw in zip(rows, draws, strict=True)
    ]
    reviewed = sum(answer.grade is not None for answer in answers)
    *_, at, by = rows[0]
    return ReviewSample(run, draws[0].seed, draws[0].size, draws[0].questions, at, by, reviewed, answers)


def reviewed_runs(snapshot: Snapshot, selection: Selection) -> ReviewedRuns:
    """Estimate means over the answers of each run of which a random sample was drawn for review.

    The judge is the run's first grading. Reviewers' grades of answers that were not drawn do not count, because nobody knows of
    which answers they are typical. The selection's ``grading`` and ``common`` do not matter.
    """
    condition, parameters = selection.run_filter()
    runs = snapshot.rows(
        f"""select run, model, elicitation from runs r where {condition}
            and run in (select run from corrections where {IS_DRAWN}) order by position""",
        parameters,
    )
    return ReviewedRuns(*head(snapshot, selection), [_estimated(snapshot, selection, Run(*row)) for row in runs])


def _estimated(snapshot: Snapshot, selection: Selection, run: Run) -> ReviewedRun:
    check_time_limit()
    answers = _answers(snapshot, selection, run.run)
    drawn = answers.filter(pl.col("weight").is_not_null())
    count, reviewed = drawn["question"].n_unique(), drawn.filter(pl.col("grade").is_not_null())["question"].n_unique()
    result = ReviewedRun(*run, count, reviewed, None, {}, None)
    if count < MIN_REVIEWED:
        result.missing = f"fewer than {MIN_REVIEWED} of these answers were drawn for review"
    elif reviewed < count:
        result.missing = f"{count - reviewed:,} of the {count:,} drawn answers wait for review"
    else:
        weight = drawn["weight"].to_numpy()
        result.judge_error = float(weight @ np.abs(drawn["grade"].to_numpy() - drawn["correct"].to_numpy()) / weight.sum())
        estimates = {key: _estimate(key, answers, selection) for key in MEANS}
        result.means = {key: estimate for key, estimate in estimates.items() if estimate}
    return result


def _answers(snapshot: Snapshot, selection: Selection, run: str) -> pl.DataFrame:
    """Return the answers of a run in a selection, a row for each.

    Returns:
        Columns ``question``, its number from 0, ascending; ``state``; ``confidence``, 0 without one; ``correct``, by the first
        grading; ``sampled``, whether an answer to the question was drawn for review; ``weight``, from how many answers to the
        question this one was drawn, null if it was not; and ``grade``, the reviewer's. Where several answers to a clue are the
        same guess, they share the weight.
    """
    selection = selection.on_runs([run]).replace(grading=IMPORTED).for_metrics([CATALOGUE["accuracy"]])
    with_clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters)
    answers = snapshot.frame(
        f"""{with_clauses}, drawn_answers as ({DRAWN_ANSWERS}),
        counted as (select d.*, (select count(*) from {snapshot.responses([run])} a where a.question_id = d.question_id
            and a.clue = d.clue and a.guess is not distinct from d.guess and not {among_states(NEVER_RIGHT, "a")}) as same
            from drawn_answers d)
        select c.place, {state_sql("r")} as state, coalesce(r.confidence, 0) as confidence, r.correct,
            s.question_id is not null as sampled, d.note, d.grade, d.same
        from ({responses}) r join chosen_questions c using (question_id)
        left join drawn_answers s on s.question_id = r.question_id
        left join counted d on d.question_id = r.question_id and d.clue = r.clue and d.guess is not distinct from r.guess
            and not {among_states(NEVER_RIGHT, "r")}
        order by c.place, r.clue, r.sample""",
        parameters | {"graded_run": run},
    )
    of_notes = {note: float(Draw.from_note(note).answers) for note in answers["note"].drop_nulls().unique()}
    return answers.select(
        (pl.col("place").rle_id()).alias("question"),
        "state",
        "confidence",
        "correct",
        "sampled",
        pl.col("note").replace_strict(of_notes, return_dtype=pl.Float64, default=None).truediv(pl.col("same")).alias("weight"),
        "grade",
    )


def _estimate(key: str, answers: pl.DataFrame, selection: Selection) -> MeanEstimate | None:
    """Estimate the mean of a metric over the answers that it counts; None if too few of these were drawn."""
    conventions, metric, values = selection.conventions, CATALOGUE[key], MEANS[key]
    count, never_right = answers["question"].n_unique(), pl.col("state").is_in(NEVER_RIGHT)
    drawn_from = answers.filter(~never_right)
    could_be_drawn = np.bincount(drawn_from["question"].to_numpy(), minlength=count) > 0
    place_of: Ints = np.cumsum(could_be_drawn) - 1
    counted = answers.filter(pl.col("state").is_in(selection.for_metrics([metric]).items.states))
    # Whoever grades them, these earn 0 by every metric that counts them.
    zeros: Floats = np.bincount(counted.filter(never_right)["question"].to_numpy(), minlength=count).astype(float)
    graded_rows = counted.filter(~never_right)
    if graded_rows.filter(pl.col("weight").is_not_null())["question"].n_unique() < MIN_REVIEWED:
        return None
    confidence, correct = (graded_rows[name].to_numpy() for name in ("confidence", "correct"))
    question = place_of[graded_rows["question"].to_numpy()]
    judged = values(confidence, correct, conventions)
    weight, grade = (graded_rows[name].fill_null(0.0).to_numpy() for name in ("weight", "grade"))
    graded = values(confidence, grade, conventions)
    ones = np.ones_like(confidence)
    per_error = weight * (values(confidence, ones, conventions) - values(confidence, 0 * ones, conventions))

    def total(column: Floats) -> Floats:
        return sum_by_place(column, question, int(could_be_drawn.sum()))

    drawn: Ints = np.unique(place_of[drawn_from.filter("sampled")["question"].to_numpy()])
    items, items_drawn = total(ones), total(weight)[drawn]
    estimate = prediction_powered_mean(
        total(judged),
        items,
        drawn,
        total(weight * graded)[drawn],
        total(weight * judged)[drawn],
        items_drawn,
        typical_error(total(per_error)[drawn], items_drawn),
        LEVEL,
        zeros[could_be_drawn],
    )
    estimate = with_questions_of_zeros(estimate, items + zeros[could_be_drawn], zeros[~could_be_drawn], LEVEL)
    value, low, high = (float(np.clip(end, metric.low, metric.high)) for end in estimate[:3])
    return MeanEstimate(float(judged.sum() / (len(judged) + zeros.sum())), value, low, high, estimate.tuning)
