"""CalScore and CalScore squared of one question, worked out clue by clue as in GRACE's tables 6 and 7."""

from __future__ import annotations

from itertools import groupby

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.data.sufficient_statistics import Items
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.metrics.kernels.per_question import buzz_mass, unit_logistic
from clueline.queries.question import ClueResponse, HumanRecord, Question, question
from clueline.queries.selection import Selection, dataset_conventions

NO_PEOPLE = "no human team heard this question"
NO_ANSWER = "the run gave no answer that counts"


class ClueStep(msgspec.Struct):
    """One answer of a run at one clue.

    Attributes:
        sample: which of several answers to the clue; None where there is only one.
        correct: y, correctness of the guess, in [0, 1].
        h: human curve of CalScore, in [0, 1].
        signed: g c, with g = 2y - 1, in [-1, 1].
        adjusted: (1 - h) g c, in [-1, 1]: the column "CalScore_c" of GRACE table 6.
        team_h: human curve of CalScore squared, in [0, 1].
        increment: m, how much that curve rises at this clue.
        buzz_mass: b, the probability that the run buzzes here, if at each clue it buzzes with a chance equal to its confidence.
        right: probability that the run has buzzed correctly here or earlier, in [0, 1].
        gained: K = m times ``right``: the column "SH_t" of GRACE table 7.
    """

    clue: int
    sample: str | None
    guess: str | None
    correct: float
    confidence: float
    h: float
    signed: float
    adjusted: float
    team_h: float
    increment: float
    buzz_mass: float
    right: float
    gained: float


class RunSteps(RunName):
    """One run. If it has several samples, each result is a mean over them. ``missing`` says why there are none.

    Attributes:
        scaled: r(mean), in [0, 1].
        calscore: 1 - r(mean), in [0, 1].
        remainder: (1 - sum m) times ``right`` at the last clue: the reward where no human team was right.
        reward: sum of ``gained``, plus ``remainder``, in [0, 1].
        calscore2: 1 - reward, in [0, 1].
    """

    missing: str | None
    steps: list[ClueStep] = msgspec.field(default_factory=list)
    mean: float | None = None
    scaled: float | None = None
    calscore: float | None = None
    remainder: float | None = None
    reward: float | None = None
    calscore2: float | None = None


class ClueSteps(msgspec.Struct):
    """Answer of ``/api/v1/clue-steps/<dataset>/<question_id>``, with the human curves of CalScore and of CalScore squared."""

    question_id: str
    human_curve: str
    team_curve: str
    runs: list[RunSteps]


def clue_steps(snapshot: Snapshot, selection: Selection, question_id: str) -> ClueSteps:
    """Work out GRACE eq. 1 and eq. 2 on one question, term by term, for the selection's runs.

    The selection's filters on questions and clues do not apply. Raises ``BadRequest`` for an unknown question.
    """
    return steps_of(question(snapshot, selection, question_id, metrics=()), dataset_conventions(snapshot, selection))


def steps_of(asked: Question, conventions: Conventions, only: str = "") -> ClueSteps:
    """Work out a question that was read already, for its runs or for one of them, by the conventions of its dataset."""
    curve, team_curve = (CATALOGUE[key].human_curve(conventions) or "" for key in ("calscore", "calscore2"))
    runs = []
    for run in (run for run in asked.runs if only in ("", run.run)):
        answers = [answer for answer in run.clues if answer.answered]
        missing = NO_PEOPLE if asked.human is None else None if answers else NO_ANSWER
        row = RunSteps(run.run, run.model, run.elicitation, missing)
        if asked.human is not None and answers:
            _work_out(row, answers, asked.human, curve, team_curve)
        runs.append(row)
    return ClueSteps(asked.question_id, curve, team_curve, runs)


def _work_out(row: RunSteps, answers: list[ClueResponse], human: HumanRecord, curve: str, team_curve: str) -> None:
    """Fill in the steps and results of a run from its answers, which must be in the order of samples and clues."""
    results = []
    for _, group in groupby(answers, key=lambda answer: answer.sample):
        sample = list(group)
        h, team_h = (np.array([getattr(human, name)[answer.clue] or 0.0 for answer in sample]) for name in (curve, team_curve))
        confidence = np.array([answer.confidence or 0.0 for answer in sample])
        correct = np.array([answer.correct for answer in sample])
        items = Items(confidence, correct, np.array([0, len(sample)]), {})
        signed, right, increment = items.sign_confidence, items.buzzed_right, np.diff(team_h, prepend=0.0)
        adjusted, gained = (1 - h) * signed, increment * right
        columns = (h, signed, adjusted, team_h, increment, buzz_mass(confidence), right, gained)
        row.steps += [
            ClueStep(answer.clue, answer.sample, answer.guess, answer.correct, answer.confidence, *map(float, values))
            for answer, *values in zip(sample, *columns, strict=True)
        ]
        mean, remainder = adjusted.mean(), (1 - team_h[-1]) * right[-1]
        scaled, reward = float(unit_logistic(mean)), gained.sum() + remainder
        results.append((mean, scaled, 1 - scaled, remainder, reward, min(max(1 - reward, 0.0), 1.0)))
    values = np.mean(results, axis=0).tolist()
    row.mean, row.scaled, row.calscore, row.remainder, row.reward, row.calscore2 = values
