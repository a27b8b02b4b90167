"""Buzzing kernels against plain definitions, hand-worked values and the ends of their range."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.queries.metrics.kernels import buzzing, team_buzzes
from tests.helpers import reference_buzzing as reference
from tests.helpers.examples import examples

MANY = examples(150)
SCORE = st.none() | st.sampled_from([0.0, 0.1, 0.3, 0.1 + 0.2, 0.5, 1.0]) | st.floats(0, 1)
CORRECT = st.sampled_from([0.0, 1.0]) | st.floats(0, 1)
TAU = st.sampled_from([0.0, 0.1, 0.3, 0.1 + 0.2, 1.0]) | st.floats(0, 1)
QUESTIONS = st.lists(st.lists(st.tuples(SCORE, CORRECT), min_size=1, max_size=6), min_size=1, max_size=8)


def arrays(questions):
    question = np.repeat(np.arange(len(questions)), [len(q) for q in questions])
    score = np.array([math.nan if s is None else s for q in questions for s, _ in q])
    return question, score, np.array([y for q in questions for _, y in q])


def plainly(questions):
    """Convert questions for the reference definitions: clue t of T ends at the fraction (t + 1) / T."""
    return [
        reference.Question(
            [
                {"clue": t, "score": s, "correct": y, "revealed": (t + 1) / len(q), "word_end": t + 1, "h": None}
                for t, (s, y) in enumerate(q)
            ],
            words=len(q),
            length=len(q),
        )
        for q in questions
    ]


def rows_of(questions, tau):
    """Rows of the buzzes, by the reference definition."""
    starts = np.cumsum([0, *(len(q) for q in questions)])
    hits = [reference.buzzed(q, tau) for q in plainly(questions)]
    return [int(start) + clue["clue"] for start, clue in zip(starts[:-1], hits, strict=True) if clue]


# -- thresholds --------------------------------------------------------------------------------------------------------


def test_log_probabilities_pass_thresholds_below_0():
    # GPT's -0.03 and Mistral's -0.05: sums of token log-probabilities per clue.
    points = buzzing.possible_buzzpoints(np.array([0, 0, 0, 1]), np.array([-0.7, -0.04, -0.01, -0.05]))
    assert buzzing.buzzpoints_at(points, -0.03).tolist() == [2]
    assert buzzing.buzzpoints_at(points, -0.05).tolist() == [1]  # -0.05 is not above -0.05
    assert buzzing.buzzpoints_at(points, -0.06).tolist() == [1, 3]


@MANY
@given(QUESTIONS, TAU)
def test_buzzpoints_are_the_first_clues_above_the_threshold(questions, tau):
    question, score, _ = arrays(questions)
    assert buzzing.buzzpoints_at(buzzing.possible_buzzpoints(question, score), tau).tolist() == rows_of(questions, tau)


def curve_of(questions):
    question, score, correct = arrays(questions)
    revealed = np.concatenate([(np.arange(len(q)) + 1) / len(q) for q in questions])
    points = buzzing.possible_buzzpoints(question, score)
    return buzzing.totals_by_threshold(points, (buzzing.chance_unanswered(revealed) * correct)[points.rows] / len(questions), 0.0)


@MANY
@given(QUESTIONS, TAU)
def test_expected_wins_at_every_threshold(questions, tau):
    expected = reference.expected_wins(plainly(questions), tau, "polynomial")
    assert curve_of(questions).at(tau) == pytest.approx(expected, abs=1e-12)


@MANY
@given(QUESTIONS, st.lists(TAU, max_size=5))
def test_no_threshold_is_better_than_the_best(questions, tried):
    thresholds, wins = curve_of(questions)
    low, high = buzzing.best_thresholds(thresholds, wins)
    plain = plainly(questions)
    inside = [low, min(math.nextafter(high, -1), 1.0)] if math.isfinite(high) else [low, 1.0]
    greatest = max(reference.expected_wins(plain, tau, "polynomial") for tau in reference.thresholds(plain, 0.0))
    for tau in inside:
        assert reference.expected_wins(plain, tau, "polynomial") == pytest.approx(greatest, abs=1e-11)
    assert all(reference.expected_wins(plain, tau, "polynomial") <= greatest + 1e-12 for tau in tried)
    # The interval starts at the lowest best threshold and ends where the best value does.
    assert all(
        reference.expected_wins(plain, tau, "polynomial") < greatest for tau in reference.thresholds(plain, 0.0) if tau < low
    )
    assert not math.isfinite(high) or reference.expected_wins(plain, high, "polynomial") < greatest


# -- habits ------------------------------------------------------------------------------------------------------------


@MANY
@given(QUESTIONS, TAU)
def test_habits_are_what_their_definition_says(questions, tau):
    question, score, correct = arrays(questions)
    counts = buzzing.conditional_buzzes(
        question, correct, buzzing.buzzpoints_at(buzzing.possible_buzzpoints(question, score), tau)
    )
    expected = reference.habit(plainly(questions), tau)
    for name in ("given_correct", "given_incorrect"):
        value = getattr(counts, name)
        if expected[name] is None:
            assert math.isnan(value)
        elif min(counts.seen_correct, counts.seen_incorrect) > 1e-9:  # otherwise a difference of sums, lost in rounding
            assert value == pytest.approx(expected[name], abs=1e-9)
            assert 0 <= value <= 1 + 1e-12


@pytest.mark.parametrize(
    ("seen", "correct", "score"), [(0.25, 1, 15), (1, 1, 0), (0.25, 0, -5), (1, 0, -5), (0.5, 0.5, 0.5 * 10 - 0.5 * 5)]
)
def test_survey_score(seen, correct, score):
    assert buzzing.survey_score(seen, correct) == score


@MANY
@given(QUESTIONS, st.sampled_from([0.2, 0.4, 0.6, 0.8, 1.0]))
def test_latest_responses_at_a_revealed_fraction(questions, mark):
    question, _, correct = arrays(questions)
    revealed = np.concatenate([(np.arange(len(q)) + 1) / len(q) for q in questions])
    rows = buzzing.latest_responses(question, revealed, mark)
    accuracy, count = reference.by_fraction(plainly(questions), mark)
    assert len(rows) == count
    assert accuracy is None or correct[rows].mean() == pytest.approx(accuracy)


# -- people ------------------------------------------------------------------------------------------------------------

# A question of 30 words with clues that end at 10, 20 and 30.
ENDS = (10, 20, 30)
TEAMS = st.lists(
    st.tuples(st.integers(0, 30), st.booleans()).map(lambda buzz: (buzz, None))
    | st.tuples(st.none(), st.none() | st.integers(0, 30)),
    max_size=5,
)


def room_of(*questions):
    """Opponents met in a room, from lists of teams: one list for each question of 30 words and three clues."""
    counts = {name: [] for name in ("teams", "correct", "incorrect", "late", "left")}
    for teams in questions:
        for start, end in zip((0, *ENDS), ENDS, strict=False):
            last = end == ENDS[-1]
            inside = [buzz for buzz, _ in teams if buzz and (start <= buzz[0] < end or (last and buzz[0] == end))]
            counts["teams"].append(len(teams))
            counts["correct"].append(sum(right for _, right in inside))
            counts["incorrect"].append(sum(not right for _, right in inside))
            counts["late"].append(sum(right and word == 30 for word, right in inside))
            counts["left"].append(sum(buzz is None and heard is not None and start <= heard < end for buzz, heard in teams))
    return team_buzzes.opponent_probabilities(
        np.repeat(np.arange(len(questions)), 3), **{name: np.array(c, float) for name, c in counts.items()}
    )


@MANY
@given(st.lists(TEAMS, min_size=1, max_size=4), st.floats(0, 1))
def test_opponents_met_match_the_enumerated_teams(questions, y):
    met = room_of(*questions)
    for index, teams in enumerate(questions):
        for clue, end in enumerate(ENDS):
            row = 3 * index + clue
            if not teams:
                assert all(math.isnan(part[row]) for part in met)
                continue
            question = reference.Question([{"score": 1.0, "correct": y, "word_end": end, "revealed": end / 30}], 30, teams)
            score, win, _, unsure = reference.against(question, 0.5)
            assert team_buzzes.expected_points(met, np.array([y]), np.array([row]))[0] == pytest.approx(score, abs=1e-12)
            assert y * met.first[row] == pytest.approx(win, abs=1e-12)
            assert y * met.unsure[row] == pytest.approx(unsure, abs=1e-12)
            _, _, people, _ = reference.against(question, 1.0)  # nothing is above 1: no buzz
            assert met.people[row] == pytest.approx(people, abs=1e-12)
            assert all(0 <= part[row] <= 1 for part in met)


@MANY
@given(st.lists(st.tuples(st.integers(1, 30), st.floats(0, 1)), max_size=10))
def test_buzzes_up_to_a_fraction(buzzes):
    grid = np.arange(51) / 50
    at, weight = np.array([word / 30 for word, _ in buzzes]), np.array([y for _, y in buzzes])
    weights = team_buzzes.cumulative_weight(at, weight, grid)
    for fraction, value in zip(grid.tolist(), weights.tolist(), strict=True):
        assert value == pytest.approx(reference.cumulative([(word / 30, y) for word, y in buzzes], 1, fraction)[0], abs=1e-12)
    assert weights[-1] == pytest.approx(sum(weight)) and np.all(np.diff(weights) >= -1e-12)


@MANY
@given(st.lists(st.integers(0, 20), max_size=20))
def test_quartiles_and_halves(totals):
    named = dict(enumerate(totals))
    assert team_buzzes.quartiles(totals).tolist() == [reference.quartile(named, team) for team in named]
    assert team_buzzes.upper_half(totals).tolist() == [reference.upper(named, team) for team in named]
