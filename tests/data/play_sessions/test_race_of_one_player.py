"""Races: which words are due by the server's clock, what counts, and the run and curves compared with a slow definition."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from clueline.data.play_sessions.careless_players import flag_players
from clueline.data.play_sessions.mode_interface import Played
from clueline.data.play_sessions.race_of_one_player import (
    GRACE,
    LATENCY,
    MAX_DELAY,
    TIME_TO_ANSWER,
    Answer,
    Buzz,
    Start,
    spoken_words,
)
from clueline.data.play_sessions.session_definition import SessionError, SessionQuestion
from clueline.data.play_sessions.session_run import collect, session_responses
from clueline.data.play_sessions.sessions import (
    MODES,
    add_answer,
    create_session,
    digest,
    join,
    read_results,
    read_session,
    read_state,
    words_due_to_player,
)
from clueline.data.quizbowl.question_words import count_words
from clueline.queries.buzzing import Rules, buzz
from clueline.queries.engine.common_questions import coverage
from clueline.queries.metrics import CATALOGUE
from clueline.queries.question import question
from clueline.queries.selection import Selection
from clueline.queries.selection.reference_people import with_people
from tests.helpers.bundle_factory import RESPONSES, put, write

NOW = 1_700_000_000_000.0  # milliseconds since 1970
SOON = datetime.now(UTC) + timedelta(days=1)
ANN, BEN, CAT = (letter * 32 for letter in "abc")
RIGHT = {"q1": "Paris", "q2": "Nile"}
WORD = 60_000 / 120  # milliseconds, at the pace of these tests
ENDS = {"q1": (5, 10, 16), "q2": (4, 8)}  # words revealed by the end of each clue


def one_run(store, folder):
    put(store, write(folder / "toy", responses=RESPONSES), model="alpha")


@pytest.fixture(autouse=True)
def filled(prefilled):
    prefilled(one_run)


@pytest.fixture
def secret(store, log):
    return create_session(log, store.snapshot(), "toy", 20, 9, SOON, "Be kind.", "race")


@pytest.fixture
def started(log, secret):
    """The id of the first question of a player, whose reading began at NOW."""
    join(log, secret, ANN)
    add_answer(log, secret, ANN, 0, Start(120), NOW)
    return read_session(log, secret).order(0)[0].question_id


def after(words):
    """Return the time, in milliseconds, at which the last of this many words has just become due."""
    return NOW + (words - 1) * WORD


def refused(code, work, *arguments):
    with pytest.raises(SessionError) as caught:
        work(*arguments)
    assert caught.value.code == code


def test_words_are_counted_as_in_imports():
    texts = ("This <i>city</i> (“SIT-ee”) on the&nbsp;Seine (*) is", "[read slowly] for 10 points, name it")
    counted = [count_words(text) for text in texts]
    spoken = spoken_words(SessionQuestion("q", texts, "Paris"))
    assert [word.text for word in spoken[:5]] == ["This", "city (“SIT-ee”)", "on", "the\xa0Seine (*)", "is"]
    assert [list(Counter(word.clue for word in spoken).values())] == [counted]


def test_unread_words_count_where_the_file_counts_them():
    text = "one (“WUN”) two"
    assert len(spoken_words(SessionQuestion("q", (text, "three"), "a", word_ends=(3, 4)))) == 4
    assert len(spoken_words(SessionQuestion("q", (text, "three"), "a", word_ends=(2, 3)))) == 3


def test_words_are_sent_when_they_are_due_and_not_before(log, secret, started):
    texts = read_session(log, secret).order(0)[0].clues
    sent = []
    for tick in range(0, 4 * ENDS[started][-1]):
        now = NOW + tick * WORD / 4
        sent += words_due_to_player(log, secret, ANN, 1, len(sent), now).words
        assert len(sent) == min(1 + tick // 4, ENDS[started][-1])
        assert read_state(log, secret, ANN, now).reading.words == sent
    assert [word for word, _ in sent] == " ".join(texts).split()


def test_no_word_is_sent_before_the_start(log, secret):
    refused("not_joined", words_due_to_player, log, secret, ANN, 1, 0)
    join(log, secret, ANN)
    for step in (0, 1, 5, 4001):
        refused("no_step", words_due_to_player, log, secret, ANN, step, 0)
    assert read_state(log, secret, ANN).reading.words == []


def test_the_end_is_announced_with_the_last_word(log, secret, started):
    last = ENDS[started][-1]
    assert words_due_to_player(log, secret, ANN, 1, 0, after(last) - 1).left_ms is None
    assert words_due_to_player(log, secret, ANN, 1, 0, after(last)).left_ms == GRACE
    late = words_due_to_player(log, secret, ANN, 1, 0, after(last) + GRACE)
    assert (late.left_ms, late.over) == (0, True)


def test_after_a_buzz_no_tab_gets_further_words(log, secret, started):
    words_due_to_player(log, secret, ANN, 1, 0, after(2))
    state = add_answer(log, secret, ANN, 1, Buzz(2), after(2))
    assert words_due_to_player(log, secret, ANN, 1, 2, after(4)) == msgspec.structs.replace(
        words_due_to_player(log, secret, ANN, 1, 2, after(2)), words=[], over=True, left_ms=None
    )
    assert len(read_state(log, secret, ANN, after(4)).reading.words) == 2 == len(state.reading.words)


def test_a_buzz_counts_at_a_word_that_is_possible(log, secret, started):
    """A player cannot have seen a word that is not due, and a word that was due long ago cannot be the last one shown."""
    oldest = int(MAX_DELAY / WORD)
    for player, shown, due, counted in [(BEN, 99, 3, 3), (CAT, 1, 3, 1), ("d" * 32, 1, oldest + 2, 2), ("e" * 32, 2, 4, 2)]:
        join(log, secret, player)
        now = NOW + 10**6
        add_answer(log, secret, player, 0, Start(120), now)
        state = add_answer(log, secret, player, 1, Buzz(shown), now + (due - 1) * WORD)
        assert len(state.reading.words) == counted
        logged = msgspec.json.decode(log.player(digest(secret), digest(player)).answers[1], type=Buzz)
        assert (logged.word, logged.counted, logged.due) == (shown, counted, due)


def test_a_buzz_in_the_last_millisecond_counts(log, secret, started):
    ends = after(ENDS[started][-1]) + GRACE
    state = add_answer(log, secret, ANN, 1, Buzz(ENDS[started][-1]), ends + LATENCY)
    assert state.reading.phase == "answering"


def test_a_buzz_that_is_too_late_leaves_the_question(log, secret, started):
    state = add_answer(log, secret, ANN, 1, Buzz(3), after(ENDS[started][-1]) + GRACE + LATENCY + 1)
    assert state.step == 4 and state.last.answers == [] and not state.last.counts
    assert session_responses(log, secret).is_empty()


def test_the_end_cannot_be_heard_before_the_last_word(log, secret, started):
    refused("bad_answer", add_answer, log, secret, ANN, 1, Buzz(None), after(ENDS[started][-1]) - 1)
    state = add_answer(log, secret, ANN, 1, Buzz(None), after(ENDS[started][-1]))
    assert state.last.counts and state.last.answers == []
    assert session_responses(log, secret).rows(named=True) == [
        {"question_id": started, "clue": len(ENDS[started]) - 1, "sample": "P001", "guess": None, "confidence": None,
         "buzz": False, "failed": True}
    ]  # fmt: skip


def test_the_clock_goes_on_while_nobody_asks(log, secret, started):
    assert len(read_state(log, secret, ANN, after(3)).reading.words) == 3
    assert len(read_state(log, secret, ANN, after(4)).reading.words) == 4
    left = read_state(log, secret, ANN, after(ENDS[started][-1]) + GRACE + LATENCY + 1)
    assert left.step == 4 and not left.last.counts
    # It is logged, so the clock of another host cannot undo it.
    assert read_state(log, secret, ANN, after(3)).step == 4


def test_a_repeated_step_changes_nothing(log, secret, started):
    add_answer(log, secret, ANN, 1, Buzz(2), after(2))
    assert add_answer(log, secret, ANN, 1, Buzz(1), after(3)).step == 2
    assert add_answer(log, secret, ANN, 0, Start(400), after(3)).reading.pace == 120
    add_answer(log, secret, ANN, 2, Answer(RIGHT[started], 0.5), after(4))
    assert add_answer(log, secret, ANN, 2, Answer("Rome", 0.9), after(4)).step == 4
    (result,) = read_results(log, secret, ANN)
    assert [(answer.guess, answer.verdict) for answer in result.answers] == [(RIGHT[started], "accept")]


def test_a_step_ahead_is_refused(log, secret, started):
    for step in (2, 3, 4, 5):
        refused("no_step", add_answer, log, secret, ANN, step, Buzz(1), after(2))


def play_prompted(store, log, second, late=0.0):
    """Return the result of q1, to which the player first answers "France"."""
    secret = create_session(log, store.snapshot(), "toy", 20, 9, SOON, "", "race")
    state = join(log, secret, ANN)
    if read_session(log, secret).order(0)[0].question_id == "q2":
        add_answer(log, secret, ANN, 0, Start(400), NOW - 10**6)
        add_answer(log, secret, ANN, 1, Buzz(1), NOW - 10**6)
        state = add_answer(log, secret, ANN, 2, Answer("Nile", 1), NOW - 10**6)
    add_answer(log, secret, ANN, state.step, Start(120), NOW)
    add_answer(log, secret, ANN, state.step + 1, Buzz(3), after(3))
    prompted = add_answer(log, secret, ANN, state.step + 2, Answer("France", 0.7), after(4))
    assert (prompted.reading.phase, prompted.reading.guess) == ("prompted", "France")
    if second is not None:
        add_answer(log, secret, ANN, state.step + 3, Answer(second, 0.8), after(5))
    read_state(log, secret, ANN, after(4) + TIME_TO_ANSWER + LATENCY + 1)
    return next(result for result in read_results(log, secret, ANN) if result.question_id == "q1")


@pytest.mark.parametrize(
    ("second", "expected"),
    [("Paris", ("Paris", 0.8, "accept")), ("France", ("France", 0.8, "prompt")), (None, ("France", 0.7, "prompt"))],
)
def test_a_prompted_player_answers_once_more(store, log, second, expected):
    (answer,) = play_prompted(store, log, second).answers
    assert (answer.guess, answer.confidence, answer.verdict) == expected


def test_an_answer_that_does_not_come_is_empty(log, secret, started):
    add_answer(log, secret, ANN, 1, Buzz(2), after(2))
    in_time = after(2) + TIME_TO_ANSWER + LATENCY
    assert read_state(log, secret, ANN, in_time).step == 2
    state = add_answer(log, secret, ANN, 2, Answer(RIGHT[started], 1), in_time + 1)
    (answer,) = state.last.answers
    assert (answer.guess, answer.confidence, answer.correct, state.last.counts) == ("", 0, 0, True)


def test_a_buzz_counts_if_the_player_never_comes_back(log, secret, started):
    add_answer(log, secret, ANN, 1, Buzz(2), after(2))  # by the collector's clock, long ago
    (row,) = session_responses(log, secret).rows(named=True)
    assert (row["guess"], row["confidence"], row["buzz"]) == (None, 0, True)


def test_an_erased_player_is_gone(log, secret, started):
    assert words_due_to_player(log, secret, ANN, 1, 0, after(2)).words
    log.erase(digest(secret), digest(ANN))
    refused("not_joined", words_due_to_player, log, secret, ANN, 1, 2, after(4))
    refused("not_joined", add_answer, log, secret, ANN, 1, Buzz(2), after(2))
    assert not read_state(log, secret, ANN).joined and session_responses(log, secret).is_empty()


def test_who_joins_again_hears_only_their_own_reading(log, secret, started):
    heard = words_due_to_player(log, secret, ANN, 1, 0, after(2)).words
    log.erase(digest(secret), digest(ANN))
    join(log, secret, ANN)
    refused("no_step", words_due_to_player, log, secret, ANN, 1, 0, after(4))
    add_answer(log, secret, ANN, 0, Start(120), after(10))
    words = words_due_to_player(log, secret, ANN, 1, 0, after(12)).words
    assert words == read_state(log, secret, ANN, after(12)).reading.words
    assert len(words) == 3 and words[:2] != heard


class Recording:
    """A log that remembers what it was asked."""

    def __init__(self, log):
        self.log, self.asked = log, []

    def __getattr__(self, name):
        self.asked.append(name)
        return getattr(self.log, name)


def test_a_request_for_words_asks_the_log_once(log, secret, started):
    recording = Recording(log)
    assert words_due_to_player(recording, secret, ANN, 1, 0, after(2)).words
    recording.asked.clear()  # the session never changes, and is remembered
    assert words_due_to_player(recording, secret, ANN, 1, 0, after(2)).words
    assert recording.asked == ["player"]


def played_race(log, secret, players, seed):
    """Let players act at random; return the clue of the buzz and whether it was right, or None, by pseudonym and question."""
    chance, outcomes = random.Random(seed), {}
    for index in range(players):
        player = f"{index:032x}"
        state, now = join(log, secret, player), NOW
        while not state.done:
            name = read_session(log, secret).order(index)[state.question].question_id
            begun = add_answer(log, secret, player, state.step, Start(120), now)
            word = chance.randint(1, ENDS[name][-1])
            if chance.random() < 0.3:
                now += ENDS[name][-1] * WORD
                state = add_answer(log, secret, player, begun.step, Buzz(None), now)
                outcomes[f"P{index + 1:03d}", name] = None
            else:
                now += (word - 1) * WORD
                add_answer(log, secret, player, begun.step, Buzz(word), now)
                right = chance.random() < 0.6
                guess = Answer(RIGHT[name] if right else "Rome", chance.choice((0.2, 0.9)))
                state = add_answer(log, secret, player, begun.step + 1, guess, now)
                clue = next(clue for clue, end in enumerate(ENDS[name]) if word <= end)
                outcomes[f"P{index + 1:03d}", name] = (clue, right)
    return outcomes


def survival(outcomes, clue):
    """Return the chance of a right buzz by a clue: Aalen-Johansen by its definition, one player after the other."""
    alive, reached = 1.0, 0.0
    for step in range(clue + 1):
        risk = [outcome for outcome in outcomes if outcome is None or outcome[0] >= step]
        if not risk:
            break
        reached += alive * sum(outcome == (step, True) for outcome in risk) / len(risk)
        alive *= 1 - sum(outcome is not None and outcome[0] == step for outcome in risk) / len(risk)
    return reached


def test_curves_agree_with_a_slow_definition(store, log, secret):
    outcomes = played_race(log, secret, 9, seed=4)
    run = collect(store, secret).runs[0]
    snapshot = store.snapshot()
    ((model, elicitation),) = snapshot.rows("select model, elicitation from runs where run = $r", {"r": run})
    assert (model, elicitation) == ("People, 9 players", "race")
    for name, ends in ENDS.items():
        human = question(with_people(snapshot, "toy", run), Selection("toy"), name).human
        of_question = [outcome for (_, asked), outcome in outcomes.items() if asked == name]
        assert human.teams == len(of_question) == 9
        for clue in range(len(ends)):
            right = sum(outcome is not None and outcome[1] and outcome[0] <= clue for outcome in of_question)
            assert human.team_share[clue] == pytest.approx(right / 9, abs=1e-12)
            assert human.survival[clue] == pytest.approx(survival(of_question, clue), abs=1e-12)
        assert len(human.buzzes) == sum(outcome is not None for outcome in of_question)
    people = buzz(with_people(snapshot, "toy", run), Selection("toy", model=("alpha",)), Rules())
    assert people.habits.teams[0].given_correct is None  # nobody knows what they would have answered before
    assert {fraction.accuracy for fraction in people.accuracy.teams[0].fractions} == {None}


def test_a_race_in_which_nobody_buzzed_has_silent_people(store, log, secret):
    for player in (ANN, BEN):
        state, now = join(log, secret, player), NOW
        while not state.done:
            begun = add_answer(log, secret, player, state.step, Start(120), now)
            now += 60 * WORD
            state = add_answer(log, secret, player, begun.step, Buzz(None), now - 44 * WORD)
    report = collect(store, secret)
    (run,) = report.runs
    assert report.lines[-1] == "4 times a player heard a question and did not buzz: these are no answers"
    human = question(with_people(store.snapshot(), "toy", run), Selection("toy"), "q1").human
    assert (human.teams, human.buzzes, human.survival) == (2, [], [0, 0, 0])
    reasons = coverage(store.snapshot(), Selection("toy").for_metrics([CATALOGUE["accuracy"]])).apart
    assert reasons[run] == "100 % of questions were heard without an answer", "nobody called a model"


def test_answers_typed_faster_than_anybody_can_are_flagged():
    questions = [SessionQuestion(f"q{number}", ("one two three four",), "Melville") for number in range(12)]

    def played(seconds):
        buzz, typed = Buzz(2, 2, 3, received_ms=1000.0), 1000 + 1000 * seconds
        answers = [Answer("Melville", 0.1 * number, received_ms=typed) for number in range(12)]
        return [Played(one, [Start(180), buzz, answer]) for one, answer in zip(questions, answers, strict=True)]

    (flag,) = flag_players(MODES["race"], {"P001": played(0.2), "P002": played(3.0)})
    assert (flag.player, flag.sign) == ("P001", "too fast")
    assert flag.reason == "answered 12 of 12 buzzes faster than 20 characters a second can be typed"


def test_players_who_often_leave_questions_are_flagged():
    played = {
        f"left {left}": [
            Played(SessionQuestion(f"q{number}", ("one two",), "a"), [Start(180), Buzz(None, left=number < left)])
            for number in range(8)
        ]
        for left in (2, 3)
    }
    assert [(flag.player, flag.sign) for flag in flag_players(MODES["race"], played)] == [("left 3", "left questions")]


def test_mistakes_copied_in_a_race_are_flagged():
    chance = random.Random(3)
    questions = [SessionQuestion(f"q{number:02}", ("one two three four",), "Melville") for number in range(30)]
    wrong = {f"P{player:03}": [f"wrong {chance.randint(1, 6)}" for _ in questions] for player in range(1, 10)}
    wrong["P009"] = wrong["P008"]
    played = {
        player: [
            Played(one, [Start(180), Buzz(2, 2, 3), Answer(guess, chance.random())])
            for one, guess in zip(questions, guesses, strict=True)
        ]
        for player, guesses in wrong.items()
    }
    flags = flag_players(MODES["race"], played)
    assert [(flag.player, flag.sign) for flag in flags] == [("P008", "same mistakes"), ("P009", "same mistakes")]
