"""What people would gain from a run's confidence, against the rows themselves, on a board whose runs skipped clues."""

import math

import pytest

from clueline.queries.deferring import THRESHOLDS, deferring
from clueline.queries.metrics import Conventions
from clueline.queries.selection import Selection

EVERY_RUN = Selection("relay", common=False)


@pytest.mark.parametrize(
    "selection",
    [
        Selection("relay"), EVERY_RUN, EVERY_RUN.replace(category=("History",)), EVERY_RUN.replace(revealed=(0.1, 0.7)),
        EVERY_RUN.replace(conventions=Conventions(human="survival")),
    ],
)  # fmt: skip
def test_each_share_is_the_mean_of_its_rows(snapshot, rows, selection):
    result = deferring(snapshot, selection)
    curve, (low, high) = selection.conventions.human or "team_share", selection.revealed or (0, 1)
    kept = {question["question_id"] for question in rows["relay"].kept_questions(selection)}
    assert result.human == curve and result.thresholds == [*THRESHOLDS] and len(result.runs) > 2
    for run in result.runs:
        answers = []
        for (name, question, clue), row in rows["relay"].responses.items():
            h = (rows["relay"].curves.get((question, clue)) or {}).get(curve)
            inside = low <= rows["relay"].clues[question, clue]["revealed"] <= high
            if name == run.run and question in kept and inside and h is not None:
                answers.append((question, row["confidence"], row["correct"], h))
        assert run.items == len(answers) > 0 and run.questions == len({question for question, *_ in answers})
        for share, right in (
            (run.people, lambda c, y, h: h),
            (run.run_alone, lambda c, y, h: y),
            (run.oracle, lambda c, y, h: max(y, h)),
        ):
            assert share.value == pytest.approx(_mean(answers, right), abs=1e-12)
        for threshold, share in zip(THRESHOLDS, run.deferring, strict=True):
            expected = _mean(answers, lambda c, y, h, t=threshold: y if c > t else h)
            assert share.value == pytest.approx(expected, abs=1e-12)
            assert share.value <= run.oracle.value + 1e-12


def _mean(answers, right):
    return math.fsum(right(c, y, h) for _, c, y, h in answers) / len(answers)


def test_intervals_contain_their_values_and_are_within_a_share(bundled):
    for run in deferring(bundled, Selection("pyramid")).runs:
        for share in (run.people, run.run_alone, run.oracle, *run.deferring):
            assert 0 <= share.low < share.value < share.high <= 1


def test_without_people_nobody_can_defer(snapshot, bundled):
    assert deferring(snapshot, Selection("spans")).runs == [] == deferring(bundled, Selection("lifeeval")).runs
