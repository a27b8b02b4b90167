"""Attention checks: they are distinguished from questions, they are not collected, and players who miss one are flagged."""

from datetime import UTC, datetime, timedelta

import pytest

from clueline.data.play_sessions import every_clue, race_of_one_player
from clueline.data.play_sessions.careless_players import flag_players
from clueline.data.play_sessions.session_run import finished_questions, session_responses
from clueline.data.play_sessions.sessions import (
    MODES,
    add_answer,
    create_session,
    digest,
    join,
    list_sessions,
    read_results,
    read_session,
)
from clueline.data.play_sessions.single_answers import Estimate, Vote
from clueline.data.store import open_store
from tests.helpers.bundle_factory import put_kinds

SOON = datetime.now(UTC) + timedelta(days=1)
READER, SLEEPER = "a" * 32, "b" * 32
CHECKS = 2
LIVES = "question_id,text,sex,minimum_age,radius\nm40,How old will a man of 40 become?,male,40,5\n"
MESSAGES, VOTES = "question_id,text\nv1,Good.\n", "question_id,class,votes\nv1,yes,7\nv1,no,1\n"
DATASETS = {"every-clue": "toy", "race": "toy", "estimate": "lives", "vote": "voted"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checks")
    opened = open_store(folder / "store", threads=1)
    put_kinds(opened, folder, LIVES, MESSAGES, VOTES)
    yield opened
    opened.close()


def entries(mode, question, awake):
    """Return what a player enters at the steps of a question. A player who is awake answers a check as it says."""
    answer = question.answer if awake else "anything"
    if mode == "race":
        return [race_of_one_player.Start(pace=400), race_of_one_player.Buzz(word=1), race_of_one_player.Answer(answer, 0.5)]
    if mode == "estimate":
        return [Estimate(float(answer) if question.is_check and awake else 80.0, 0.5)]
    if mode == "vote":
        others = [name for name, _ in question.votes if name != question.answer]
        return [Vote(question.answer if awake else others[0], 0.5)]
    return [every_clue.Answer(answer, 0.5, False) for _ in question.clues]


def play(log, secret, player, awake):
    """Play a session to its end and return the last state."""
    state = join(log, secret, player)
    session, now = read_session(log, secret), 1e12
    for question in session.order(log.place(digest(secret), digest(player))):
        for entry in entries(session.mode, question, awake):
            now += 500
            state = add_answer(log, secret, player, state.step, entry, now)
    assert state.done
    return state


@pytest.mark.parametrize("mode", MODES)
def test_only_players_who_miss_checks_are_flagged(store, mode):
    log, dataset = store.register.play_log(), DATASETS[mode]
    secret = create_session(log, store.snapshot(), dataset, 20, 5, SOON, "", mode, CHECKS)
    questions = {question.question_id for question in read_session(log, secret).questions if not question.is_check}
    states = {player: play(log, secret, player, player == READER) for player in (READER, SLEEPER)}
    flags = flag_players(MODES[mode], finished_questions(log, secret))
    assert [(flag.player, flag.reason) for flag in flags if flag.sign == "missed checks"] == [
        ("P002", f"missed {CHECKS} of {CHECKS} attention checks")
    ]
    assert {name for (name,) in session_responses(log, secret).select("question_id").iter_rows()} == questions
    answers = [answer for result in read_results(log, secret, READER) if not result.is_check for answer in result.answers]
    assert states[READER].calibration.answers == len(answers) > 0
    (summary,) = [row for row in list_sessions(log) if digest(secret).startswith(row.session)]
    assert (summary.questions, summary.attention_checks) == (len(questions), CHECKS)


def test_a_check_says_what_to_answer(store):
    log = store.register.play_log()
    for mode, dataset in DATASETS.items():
        secret = create_session(log, store.snapshot(), dataset, 1, 1, SOON, "", mode, CHECKS)
        checks = [question for question in read_session(log, secret).questions if question.is_check]
        assert len({check.answer for check in checks}) == CHECKS
        assert all(check.answer in check.clues[0] for check in checks)
