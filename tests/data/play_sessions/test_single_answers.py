"""Estimates and votes: what is shown, graded and collected, compared with the life table and the stored votes."""

from datetime import UTC, datetime, timedelta

import pytest

from clueline.data.life_table import death_probabilities
from clueline.data.play_sessions.careless_players import flag_players
from clueline.data.play_sessions.session_definition import SessionError
from clueline.data.play_sessions.session_run import collect, finished_questions
from clueline.data.play_sessions.sessions import MODES, add_answer, create_session, join, list_sessions, read_session
from clueline.data.play_sessions.single_answers import Estimate, Vote
from tests.helpers.bundle_factory import VOTED, put, put_kinds, write
from tests.helpers.run_tables import stored_rows

SOON = datetime.now(UTC) + timedelta(days=1)
ANN = "a" * 32
LIVES = """question_id,text,sex,minimum_age,radius
m40,How old will a man of 40 become?,male,40,5
f70,,female,70,10
"""
MESSAGES = "question_id,text\nv1,Good.\nv2,Hm.\n"
VOTES = "question_id,class,votes\nv1,yes,7\nv1,no,1\nv2,no,2\nv2,maybe,5\n"


def every_kind(store, folder):
    put_kinds(store, folder, LIVES, MESSAGES, VOTES)


@pytest.fixture(autouse=True)
def filled(prefilled):
    prefilled(every_kind)


def start(store, dataset, mode):
    secret = create_session(store.register.play_log(), store.snapshot(), dataset, 20, 2, SOON, "", mode)
    return secret, join(store.register.play_log(), secret, ANN)


def within(age, radius, guess, sex):
    """Return the probability of dying within ``radius`` years of a guess, by adding up the deaths of each year."""
    alive, dying = 1.0, 0.0
    for year in range(age, 120):
        chance = death_probabilities(sex)[year]
        dying += alive * chance if guess - radius <= year < guess + radius else 0
        alive *= 1 - chance
    return dying


def test_estimates_are_graded_by_the_life_table(store, log):
    secret, state = start(store, "lives", "estimate")
    expected = {}
    while not state.done:
        question = read_session(log, secret).order(0)[state.question]
        assert state.radius == question.radius and str(question.minimum_age) in state.clues[0]
        state = add_answer(log, secret, ANN, state.step, Estimate(81.0, 0.5))
        (answer,) = state.last.answers
        expected[question.question_id] = within(question.minimum_age, question.radius, 81, question.sex)
        assert answer.correct == pytest.approx(expected[question.question_id], abs=1e-12) and answer.verdict is None
    assert state.calibration.accuracy == pytest.approx(sum(expected.values()) / 2)
    (run,) = collect(store, secret).runs
    rows = stored_rows(
        store.snapshot(), "select question_id, sample, guess, confidence, correct from responses where run = $run", {"run": run}
    )
    assert sorted(rows) == [(name, "P001", "81", 0.5, pytest.approx(expected[name], abs=1e-12)) for name in sorted(expected)]
    assert store.snapshot().rows("select model, elicitation, respondents from runs") == [("People, 1 player", "estimate", True)]


def test_votes_are_compared_with_those_of_people(store, log):
    secret, state = start(store, "voted", "vote")
    shown = {}
    while not state.done:
        name = read_session(log, secret).order(0)[state.question].question_id
        assert state.classes == ["yes", "maybe", "no"]
        with pytest.raises(SessionError) as caught:
            add_answer(log, secret, ANN, state.step, Vote("never", 0.5))
        assert caught.value.code == "bad_answer"
        state = add_answer(log, secret, ANN, state.step, Vote("yes", 0.75))
        shown[name] = (state.last.answers[0].verdict, state.last.votes)
    assert shown == {
        "v1": ("accept", [("yes", 7), ("maybe", 0), ("no", 1)]),
        "v2": ("reject", [("yes", 0), ("maybe", 5), ("no", 2)]),
    }
    (run,) = collect(store, secret).runs
    sql = "select question_id, sample, guess, confidence, correct from responses where run = $run"
    rows = stored_rows(store.snapshot(), sql, {"run": run})
    assert sorted(rows) == [("v1", "P001", "yes", 0.75, 1), ("v2", "P001", "yes", 0.75, 0)]
    assert store.snapshot().rows("select sum(votes) from votes") == [(15,)]  # the session's votes are not among them


def test_a_mode_that_does_not_fit_is_refused_with_those_that_do(store, log):
    for dataset, mode, fitting in (
        ("lives", "race", "fit estimate"),
        ("toy", "vote", "fit every-clue and race"),
        ("nowhere", "vote", "for the mode vote$"),
    ):
        with pytest.raises(SessionError, match=fitting):
            create_session(log, store.snapshot(), dataset, 5, 5, SOON, "", mode)
    assert list_sessions(log) == []


def test_questions_answered_unread_are_flagged(store, log, tmp_path):
    questions = "question_id,text\n" + "".join(f"v{n},one two three four five six {n}\n" for n in range(12))
    votes = "question_id,class,votes\n" + "".join(f"v{n},yes,3\n" for n in range(12))
    put(store, write(tmp_path / "many", VOTED | {"dataset": "many"}, questions=questions, clues=None, votes=votes))
    secret, state = start(store, "many", "vote")
    while not state.done:
        state = add_answer(log, secret, ANN, state.step, Vote("yes", 0.1 * (state.step % 10), received_ms=100.0 * state.step))
    (flag,) = flag_players(MODES["vote"], finished_questions(log, secret))
    assert (flag.player, flag.sign) == ("P001", "too fast")
