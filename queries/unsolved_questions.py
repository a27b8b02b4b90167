"""Questions that no run answered correctly, and how many people did."""

from __future__ import annotations

import msgspec
import numpy as np

from data.store import Snapshot
from queries.engine.common_questions import restrict
from queries.engine.disputed_answers import disputed_runs
from queries.engine.gather_evidence import gather
from queries.metrics import CATALOGUE
from queries.questions import question_details
from queries.selection import Selection, selection_keys

ACCURACY, CONFIDENCE = CATALOGUE["accuracy"], CATALOGUE["mean_confidence"]
MIN_RUNS = 2  # with one run, these would be its mistakes, which the page of the run lists


class UnsolvedQuestion(msgspec.Struct):
    """A question on which the accuracy of every run that answered it is 0.

    Attributes:
        question_id, answer, category: of the question.
        runs: number of runs that answered it.
        mean_confidence: mean over these runs, in [0, 1]; each counts with its mean over clues and samples. Like the next two, it
            is None if no answer has a confidence.
        highest_confidence: of the most confident of them, in [0, 1].
        surest: id of that run.
        heard: number of human teams that heard the question, counted once per room.
        people: share of these that were right, in [0, 1]; None where no team heard it.
        disputed: number of runs whose gradings differ on one of their answers to it.
    """

    question_id: str
    answer: str | None
    category: str | None
    runs: int
    mean_confidence: float | None
    highest_confidence: float | None
    surest: str | None
    heard: int
    people: float | None
    disputed: int


class Unsolved(msgspec.Struct):
    """Answer of ``/api/v1/unsolved``: questions by the share of people who knew them, highest first; then by highest confidence.

    Attributes:
        answered: number of questions that at least two runs answered; only these are considered.
        categories: by category, how many of ``answered`` and how many of ``questions`` are in it; "" stands for no category.
    """

    data_version: str
    selection: dict[str, list[str]]
    answered: int
    categories: dict[str, tuple[int, int]]
    questions: list[UnsolvedQuestion]


def unsolved(snapshot: Snapshot, selection: Selection) -> Unsolved:
    """Return the questions of a selection that at least two runs answered, and none of them correctly at any clue.

    Where correctness is a probability, this means a probability of 0. Questions with a disputed answer are left out if the
    selection asks for undisputed ones.

    Args:
        snapshot: the store.
        selection: filters and conventions; with a filter on clues, such as ``revealed``, only these clues count.
    """
    counted, _ = restrict(snapshot, selection.for_metrics([ACCURACY]), by_default=True)
    evidence, confident = (gather(snapshot, counted.for_metrics([metric]), [metric]) for metric in (ACCURACY, CONFIDENCE))
    size = len(evidence.selected_questions)
    accuracy, confidence = evidence.per_question(ACCURACY), confident.per_question(CONFIDENCE)
    runs = np.bincount(evidence.places, minlength=size)
    right = np.bincount(evidence.places, accuracy != 0, minlength=size)  # NaN where an outcome is a share
    answered = runs >= MIN_RUNS
    disputed = disputed_runs(snapshot, counted)
    hidden = [counted.undisputed and str(name) in disputed for name in evidence.selected_questions]
    chosen = np.flatnonzero(answered & (right == 0) & ~np.array(hidden, dtype=bool))
    names = tuple(str(evidence.selected_questions[place]) for place in np.flatnonzero(answered))
    facts = {fact.question_id: fact for fact in question_details(snapshot, counted, names, ()).questions}
    failed = {str(evidence.selected_questions[place]) for place in chosen}
    categories: dict[str, tuple[int, int]] = {}
    for name, fact in facts.items():
        number, failures = categories.get(fact.category or "", (0, 0))
        categories[fact.category or ""] = (number + 1, failures + (name in failed))
    questions = []
    for place in chosen:
        rows = np.flatnonzero(confident.places == place)
        surest = rows[np.argmax(confidence[rows])] if len(rows) else None
        fact = facts[str(evidence.selected_questions[place])]
        questions.append(
            UnsolvedQuestion(
                question_id=fact.question_id,
                answer=fact.answer,
                category=fact.category,
                runs=int(runs[place]),
                mean_confidence=None if surest is None else float(confidence[rows].mean()),
                highest_confidence=None if surest is None else float(confidence[surest]),
                surest=None if surest is None else confident.runs[confident.run_of_rows[surest]].run,
                heard=fact.heard,
                people=fact.people,
                disputed=len(disputed.get(fact.question_id, ())),
            )
        )
    questions.sort(key=lambda row: (-(row.people or 0.0), -(row.highest_confidence or 0.0), row.question_id))
    ordered = dict(sorted(categories.items()))
    return Unsolved(snapshot.version, selection_keys(selection), int(answered.sum()), ordered, questions)
