"""What answers are worth at each threshold, against the leaderboard and the rows of the store."""

from collections import Counter

import numpy as np
import pytest

from clueline.queries.decide import cross_fitted_rewards, decide
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.metrics.kernels.decisions import cell_totals
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers.bundle_factory import write

PYRAMID = Selection("pyramid")


@pytest.fixture(scope="module")
def decisions(bundled):
    return decide(bundled, PYRAMID)


@pytest.mark.parametrize("t", [0.0, 0.9])
def test_net_scores_are_those_of_the_leaderboard(bundled, decisions, t):
    metrics = [CATALOGUE[key] for key in ("net_score", "aurc", "prr")]
    board = leaderboard(bundled, PYRAMID.replace(conventions=Conventions(t=t)), metrics, True)
    place = decisions.thresholds.index(t)
    for row, run in zip(board.rows, decisions.runs, strict=True):
        cell = row.metrics["net_score"]
        assert row.run == run.run
        assert run.net_score.values[place] == pytest.approx(cell.value, abs=1e-12)
        assert (run.net_score.low[place], run.net_score.high[place]) == pytest.approx((cell.low, cell.high), abs=1e-12)
        assert -t / (1 - t) <= cell.low < cell.value < cell.high <= 1
        for key, shown in run.metrics.items():
            if cell := row.metrics.get(key):
                assert (shown.value, shown.low, shown.high) == (cell.value, cell.low, cell.high)


def test_murphy_and_net_score_are_the_same_decision(decisions):
    t = np.array(decisions.thresholds[:-1])
    for run in decisions.runs:
        accuracy = 1 - run.risks[-1]
        loss = 2 * (1 - t) * (accuracy - np.array(run.net_score.values))
        assert run.murphy[:-1] == pytest.approx(loss, abs=1e-12)


def test_the_difference_is_that_of_the_two_best(bundled, decisions):
    runs = {run.run: run for run in decisions.runs}
    difference = decisions.difference
    area = {run.run: np.mean(run.murphy) for run in decisions.runs}
    assert [difference.a.run, difference.b.run] == sorted(area, key=area.get)[:2]
    expected = np.array(runs[difference.a.run].murphy) - np.array(runs[difference.b.run].murphy)
    assert difference.difference == pytest.approx(expected, abs=1e-12)
    assert all(low <= value <= high for low, value, high in zip(difference.low, expected, difference.high, strict=True))
    for stretch in difference.shown:
        inside = slice(*(decisions.thresholds.index(end) + late for late, end in enumerate((stretch.start, stretch.end))))
        worse = difference.high if stretch.better == difference.a.run else [-low for low in difference.low]
        assert all(value < 0 for value in worse[inside])
    stretches = difference.stretches
    assert (stretches[0].start, stretches[-1].end) == (0, 1)
    places = [round(100 * end) for stretch in stretches for end in (stretch.start, stretch.end)]
    assert places[1:-1:2] == [start - 1 for start in places[2::2]], "they cover every threshold once"
    turned = decide(bundled, PYRAMID, difference.b.run, difference.a.run).difference
    assert turned.difference == pytest.approx([-value for value in difference.difference], abs=1e-15)
    assert turned.low == pytest.approx([-value for value in difference.high], abs=1e-9)


def write_toy(folder, runs):
    """Write a dataset of single questions, named as its folder, with the answers of some runs: rows of question, confidence and
    correctness, by model. A run can answer a question several times.
    """
    names = {question for rows in runs.values() for question, _, _ in rows}
    questions = "question_id,answer\n" + "".join(f"q{name},right\n" for name in names)
    lines = ["model,elicitation,question_id,sample,guess,confidence,correct"]
    for model, rows in runs.items():
        asked = Counter()
        for question, confidence, correct in rows:
            guess = "right" if correct else "wrong"
            lines.append(f"{model},verbalized,q{question},{asked[question]},{guess},{confidence:.3f},{correct}")
            asked[question] += 1
    facts = {"dataset": folder.name, "kind": "single"}
    return write(folder, facts, questions=questions, clues=None, responses="\n".join(lines) + "\n")


CHANCE = np.random.default_rng(3)
KNOWS = [(index, (index + 1) % 2, (index + 1) % 2) for index in range(40)]
ALIKE = [(1, 0), (2, 1), (20, 0), (20, 1)]  # numbers of questions, and whether all answers are right
TOYS = {
    "known": {"guesses": [(index, (index * 7 % 41) / 41, correct) for index, _, correct in KNOWS], "knows": KNOWS},
    "repeated": {
        name: [(index, CHANCE.random(), int(CHANCE.random() < 0.6)) for index in range(30) for _ in range(count)]
        for name, count in (("once", 1), ("thrice", 3))
    },
    **{
        f"{questions}-{correct}": {
            name: [(index, stated, correct) for index in range(questions)]
            for name, stated in (("surer", 0.99), ("less sure", 0.95))
        }
        for questions, correct in ALIKE
    },
}


@pytest.fixture(scope="module")
def toys(importing, tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys")
    return importing(folder / "store", *(write_toy(folder / name, runs) for name, runs in TOYS.items())).snapshot()


def test_a_run_that_knows_everything_is_better_at_every_t(toys):
    difference = decide(toys, Selection("known")).difference
    assert difference.a.model == "knows"
    assert {stretch.better for stretch in difference.stretches} == {difference.a.run, None}
    assert {stretch.better for stretch in difference.shown} == {difference.a.run}


@pytest.mark.parametrize(("questions", "correct"), ALIKE)
def test_runs_without_errors_have_intervals_with_width(toys, questions, correct):
    """All answers are alike. One question has no interval, and nothing has an interval without width."""
    decisions = decide(toys, Selection(f"{questions}-{correct}"))
    for run in decisions.runs:
        assert run.net_score.values[50] == (1 if correct else -1)
        assert (run.best_score.values[50] is None) == (questions == 1)
        for curve in (run.net_score, run.best_score):
            for value, low, high in zip(curve.values, curve.low, curve.high, strict=True):
                if questions == 1:
                    assert (low, high) == (None, None)
                else:
                    assert low - 1e-12 <= value <= high + 1e-12 and high - low > 0.01
    difference = decisions.difference
    for low, high in zip(difference.low, difference.high, strict=True):
        assert (low, high) == (None, None) if questions == 1 else high - low > 0.01
    less_sure = next(run.run for run in decisions.runs if run.model == "less sure")
    shown = {stretch.better for stretch in difference.shown}
    assert shown == ({less_sure} if (questions, correct) == (20, 0) else set())  # twenty sure wrong answers are no chance


def test_repeated_answers_are_compared_by_their_mean(toys):
    """Before, the sums of three answers were compared with those of one."""
    decisions = decide(toys, Selection("repeated"))
    murphy = {run.run: np.array(run.murphy) for run in decisions.runs}
    assert [run.items for run in decisions.runs] == [30, 90]
    difference = decisions.difference
    assert difference.difference == pytest.approx(murphy[difference.a.run] - murphy[difference.b.run], abs=1e-12)


def test_no_question_chooses_its_own_threshold():
    """Of five questions, only the last rewards answering above 0.5: without it, the best is to answer all."""
    confidence, correct = np.array([0.3, 0.3, 0.3, 0.3, 0.9]), np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    right, wrong = (cell_totals(part, confidence, np.arange(5), 5) for part in (correct, 1 - correct))
    place = 60
    cost = place / (100 - place)
    expected = []
    for index in range(5):
        others = np.arange(5) != index
        scores = (right[others] - cost * wrong[others]).sum(axis=0)
        expected.append(right[index, scores.argmax()] - cost * wrong[index, scores.argmax()])
    assert cross_fitted_rewards(right, wrong)[:, place] == pytest.approx(expected)
    assert expected[4] == -cost and np.isnan(cross_fitted_rewards(right[:1], wrong[:1])).all()


def test_people_earn_by_their_buzzes(bundled, decisions):
    people = decisions.people
    ((heard, right, wrong),) = bundled.rows(
        """select count(*), count(*) filter (b.correct), count(*) filter (not b.correct)
        from exposures e left join buzzes b using (dataset, question_id, match_id, team)
        where e.dataset = 'pyramid' and e.team_kind = 'human'"""
    )
    assert (people.heard, people.right, people.wrong) == pytest.approx((heard, right / heard, wrong / heard))
    assert people.net_score.values[75] == pytest.approx((right - 3 * wrong) / heard, abs=1e-9)
    assert decide(bundled, Selection("lifeeval")).people is None


def test_unknown_runs_are_refused(bundled):
    assert decide(bundled, PYRAMID.replace(q="zzzz")).runs == []
    for a, b, field in (("nobody", "", "a"), ("", "nobody", "b")):
        with pytest.raises(BadRequest) as caught:
            decide(bundled, PYRAMID, a, b)
        assert caught.value.field == field
