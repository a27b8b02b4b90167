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

    Confidences are means over clues and samples of the runs that answered it, the highest that of ``surest``; None if no answer
    has a confidence. ``heard`` counts human teams, once per room, ``people`` is the share of these that were right, and
    ``disputed`` counts runs whose gradings differ on one of their answers to it.
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

    Only the ``answered`` questions that at least two runs answered are considered. ``categories`` says how many of these and of
    ``questions`` are in each; "" stands for no category.
    """

    data_version: str
    selection: dict[str, list[str]]
    answered: int
    categories: dict[str, tuple[int, int]]
    questions: list[UnsolvedQuestion]


def unsolved(snapshot: Snapshot, selection: Selection) -> Unsolved:
    """Return the questions that at least two runs answered, and none of them correctly at any selected clue.

    Where correctness is a probability, this means a probability of 0. Questions with a disputed answer are left out if the
    selection asks for undisputed ones.
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
