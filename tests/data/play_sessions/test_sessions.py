"""Play sessions: order of questions, steps, erasure, and the collected run compared with a slow definition."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from clueline.data.play_sessions.every_clue import Answer
from clueline.data.play_sessions.session_definition import Session, SessionError, SessionQuestion
from clueline.data.play_sessions.session_run import collect, session_responses
from clueline.data.play_sessions.sessions import add_answer, create_session, digest, join, links_of, list_sessions, read_state
from clueline.data.store.run_tags import tags_of
from tests.helpers.run_tables import stored_rows

SOON = datetime.now(UTC) + timedelta(days=1)
ANN, BEN, CAT = (letter * 32 for letter in "abc")
pytestmark = pytest.mark.usefixtures("toy")


@pytest.fixture
def secret(store, log):
    return create_session(log, store.snapshot(), "toy", 20, 2, SOON, "Be kind.")


def play(log, secret, player, guesses, most=100):
    """Answer each clue as ``guesses`` says, for at most ``most`` steps.

    Returns:
        The answers with the texts that were shown for them, and the last state.
    """
    state = join(log, secret, player)
    shown = []
    while not state.done and len(shown) < most:
        answer = Answer(guesses[state.clue], 0.25 * (1 + state.clue), state.clue == 1)
        shown.append((tuple(state.clues), answer))
        state = add_answer(log, secret, player, state.step, answer)
    return shown, state


def refused(code, work, *arguments, **options):
    with pytest.raises(SessionError) as caught:
        work(*arguments, **options)
    assert caught.value.code == code


def test_each_question_comes_at_each_place_equally_often():
    questions = tuple(SessionQuestion(f"q{index}", ("a",), "b") for index in range(5))
    session = Session("toy", questions, 15, SOON.isoformat(), "", "seed")
    orders = [[question.question_id for question in session.order(place)] for place in range(15)]
    assert all(sorted(order) == [f"q{index}" for index in range(5)] for order in orders)
    for position in range(5):
        assert set(Counter(order[position] for order in orders).values()) == {3}
    assert orders[0] != orders[5]  # another block has another order


def test_a_personal_session_has_a_place_for_each_link(store, log):
    secret = create_session(log, store.snapshot(), "toy", 20, 2, SOON, "", personal=True)
    keys = [link.removeprefix(f"{secret}/") for link in links_of(log, secret)]
    assert len({*keys}) == 2 and all(len(key) == 32 for key in keys)
    for player in (ANN, BEN):
        with pytest.raises(SessionError, match="each player of this session has a link"):
            join(log, secret, player)
    for key in keys * 2:  # the second time, they come back
        assert join(log, secret, key).joined
    assert list_sessions(log)[0].joined == 2


def test_a_clue_is_shown_after_the_one_before_is_answered(log, secret):
    shown, state = play(log, secret, ANN, ["Paris", "Nile", "Paris"])
    assert state.done and state.last is not None
    assert Counter(len(clues) for clues, _ in shown) == {1: 2, 2: 2, 3: 1}


def test_who_can_join(store, log, secret):
    join(log, secret, ANN)
    join(log, secret, BEN)
    refused("full", join, log, secret, CAT)
    assert join(log, secret, ANN).joined, "whoever has joined can come back"
    ended = create_session(log, store.snapshot(), "toy", 1, 2, datetime.now(UTC) - timedelta(seconds=1), "")
    refused("ended", join, log, ended, ANN)
    refused("unknown_session", read_state, log, "x" * 32, ANN)


def test_a_session_from_before_there_were_modes_goes_on(log):
    """The documents are those that the first version of sessions wrote."""
    questions = '[{"question_id":"q1","clues":["This city","has a tower"],"answer":"Paris"}]'
    document = f'{{"dataset":"toy","questions":{questions},"players":2,"until":"{SOON.isoformat()}","consent":"","seed":"ab"}}'
    log.add_session(digest("s" * 32), document)
    join(log, "s" * 32, ANN)
    answer = '{"guess":"Rome","confidence":0.5,"buzz":false,"shown_ms":1.5,"received_ms":2.5}'
    log.add_answer(digest("s" * 32), digest(ANN), 0, 0, answer)
    state = add_answer(log, "s" * 32, ANN, 1, Answer("Paris", 1, True))
    assert state.mode == "every-clue" and [part.guess for part in state.last.answers] == ["Rome", "Paris"]
    assert session_responses(log, "s" * 32)["guess"].to_list() == ["Rome", "Paris"]


def test_the_run_of_people_holds_what_they_answered(store, log, secret):
    given = {"P001": play(log, secret, ANN, ["Rome", "Paris", "Paris"])[0], "P002": play(log, secret, BEN, ["Nile"] * 3)[0]}
    collect(store, secret)
    version = store.version()
    ((run, model, respondents),) = store.snapshot().rows("select run, model, respondents from runs where dataset = 'toy'")
    assert (model, respondents) == ("People, 2 players", True)
    snapshot = store.snapshot()
    texts = dict(snapshot.rows("select (question_id, clue), text from clues where dataset = 'toy'"))
    right = {"q1": "Paris", "q2": "Nile"}
    expected = sorted(
        (question, clue, sample, answer.guess, answer.confidence, float(answer.guess == right[question]))
        for sample, shown in given.items()
        for clues, answer in shown
        for (question, clue), text in texts.items()
        if text == clues[-1] and clue == len(clues) - 1
    )
    assert len(expected) == 10
    sql = "select question_id, clue, sample, guess, confidence, correct from responses where run = $run"
    assert sorted(stored_rows(snapshot, sql, {"run": run})) == expected
    collect(store, secret)
    assert store.version() == version, "collecting again changes nothing"


def test_an_unfinished_question_is_not_collected(log, secret):
    _, state = play(log, secret, ANN, ["Paris"] * 3, most=4)
    responses = session_responses(log, secret)
    assert not state.done and responses["question_id"].n_unique() == 1


def test_an_erased_player_is_in_no_later_run(log, secret):
    play(log, secret, ANN, ["Paris"] * 3)
    play(log, secret, BEN, ["Paris"] * 3)
    assert log.erase(digest(secret), digest(ANN)) and not log.erase(digest(secret), digest(ANN))
    assert session_responses(log, secret)["sample"].unique().to_list() == ["P002"]
    refused("not_joined", add_answer, log, secret, ANN, 0, Answer("Paris", 0.5, True))


def test_the_pseudonym_of_an_erased_player_passes_to_nobody(store, log):
    secret = create_session(log, store.snapshot(), "toy", 20, 5, SOON, "")
    for player in (ANN, BEN):
        play(log, secret, player, ["Paris"] * 3)
    log.erase(digest(secret), digest(BEN))
    for player in (BEN, CAT):
        play(log, secret, player, ["Nile"] * 3)
    assert sorted(session_responses(log, secret)["sample"].unique()) == ["P001", "P003", "P004"]
    with pytest.raises(SessionError, match="called P002"):
        collect(store, secret, set_aside={"P002": "too fast"})


def test_who_erased_their_answers_is_like_any_newcomer(log, secret):
    """The session has two places and two questions, so the second order begins with the other question."""
    first = join(log, secret, ANN)
    log.erase(digest(secret), digest(ANN))
    again = join(log, secret, ANN)
    assert again.joined and again.step == 0 and again.clues != first.clues
    (summary,) = list_sessions(log)
    assert (summary.players, summary.joined) == (2, 2)
    log.erase(digest(secret), digest(ANN))
    for player in (ANN, CAT):
        with pytest.raises(SessionError, match="all its 2 places are taken"):
            join(log, secret, player)


def test_a_player_who_is_set_aside_is_left_out_with_the_reason(store, log, secret):
    play(log, secret, ANN, ["Paris"] * 3)
    play(log, secret, BEN, ["Nile"] * 3)
    collect(store, secret, set_aside={"P002": "too fast"})
    ((run, model),) = store.snapshot().rows("select run, model from runs where dataset = 'toy'")
    assert model == "People, 1 player" and tags_of(store.snapshot().connection, run) == {"set aside P002": "too fast"}
    assert {
        sample for (sample,) in stored_rows(store.snapshot(), "select sample from responses where run = $run", {"run": run})
    } == {"P001"}
    collect(store, secret)  # nothing was deleted
    assert ("People, 2 players",) in store.snapshot().rows("select model from runs where dataset = 'toy'")


def test_a_player_who_did_not_play_cannot_be_set_aside(store, log, secret):
    play(log, secret, ANN, ["Paris"] * 3)
    refused("unknown_player", collect, store, secret, set_aside={"P007": "too fast"})
    assert store.snapshot().rows("select count(*) from runs where dataset = 'toy'") == [(0,)]
