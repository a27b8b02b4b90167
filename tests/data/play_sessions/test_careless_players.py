"""Signs that players did not answer in earnest: what is flagged, what is not, and how often chance alone flags a pair."""

import numpy as np
import pytest

from clueline.data.play_sessions.careless_players import LEVEL, flag_players
from clueline.data.play_sessions.every_clue import Answer, EveryClue
from clueline.data.play_sessions.mode_interface import Played
from clueline.data.play_sessions.session_definition import SessionQuestion

CLUES = ("this author of many long novels", "wrote about a white whale at sea")
QUESTIONS = [SessionQuestion(f"q{number:02}", CLUES, "Herman Melville") for number in range(20)]


def answers(guesses, confidences, seconds):
    """Return two answers to each question, each of them ``seconds`` after the one before."""
    times = np.cumsum(np.broadcast_to(seconds, 2 * len(guesses)).astype(float)) * 1000
    return [
        Played(
            question,
            [
                Answer(
                    guess, float(confidences[(2 * number + clue) % len(confidences)]), False, received_ms=times[2 * number + clue]
                )
                for clue in (0, 1)
            ],
        )
        for number, (question, guess) in enumerate(zip(QUESTIONS, guesses, strict=False))
    ]


def earnest(guesses=("Herman Melville",) * 20, confidences=(0.2, 0.7, 0.9), seconds=8.0):
    return answers(guesses, confidences, seconds)


def signs(played):
    return [(flag.player, flag.sign) for flag in flag_players(EveryClue(), played)]


def test_earnest_players_are_not_flagged():
    assert signs({"P001": earnest(), "P002": earnest(seconds=3.0), "P003": earnest(["Poe"] * 10)}) == []


def test_a_player_who_cannot_have_read_is_flagged():
    (flag,) = flag_players(EveryClue(), {"P001": earnest(seconds=0.3)})
    assert (flag.player, flag.sign) == ("P001", "too fast")
    assert flag.reason == "answered 39 of 39 clues faster than 1,000 words a minute can be read"


def test_some_fast_answers_are_not_flagged():
    assert signs({"P001": earnest(seconds=[*[8.0, 0.3] * 19, 8.0, 8.0])}) == []


def test_answers_without_times_are_not_flagged():
    untimed = [Played(question, [Answer("Poe", 0.1 * clue, False) for clue in (0, 1)]) for question in QUESTIONS]
    assert signs({"P001": untimed}) == []


def test_one_confidence_at_nearly_all_clues_is_flagged():
    assert signs({"P001": earnest(confidences=[0.5] * 39 + [0.6])}) == [("P001", "one confidence")]
    assert signs({"P001": earnest(["Poe"] * 9, confidences=[0.5])}) == []  # too few answers to tell


def test_a_player_who_never_guesses_is_flagged():
    assert signs({"P001": earnest([" "] * 20)}) == [("P001", "no guesses")]


def simulated(generator, players, copies=0):
    """Return players whose wrong guesses are drawn by popularity; the last one copies ``copies`` guesses of the one before."""
    popular = np.array([0.45, 0.2, 0.15, 0.1, 0.1])
    guesses = [
        [
            f"{question} {generator.choice(5, p=popular)}" if generator.random() < 0.7 else "Herman Melville"
            for question in range(20)
        ]
        for _ in range(players)
    ]
    guesses[-1][:copies] = guesses[-2][:copies]
    return {f"P{place + 1:03}": earnest(given) for place, given in enumerate(guesses)}


def test_copied_mistakes_are_flagged():
    flags = flag_players(EveryClue(), simulated(np.random.default_rng(5), 12, copies=20))
    assert [(flag.player, flag.sign) for flag in flags] == [("P011", "same mistakes"), ("P012", "same mistakes")]
    assert "the same mistakes as P012 on" in flags[0].reason


@pytest.mark.parametrize(("players", "sessions"), [(3, 100), (12, 100), (30, 25)])
def test_chance_rarely_flags_anybody(players, sessions):
    """At most 1 % of sessions flag two players who do not know each other, within the binomial error."""
    generator = np.random.default_rng(players)
    flagged = sum(bool(signs(simulated(generator, players))) for _ in range(sessions))
    assert flagged <= sessions * LEVEL + 3 * np.sqrt(sessions * LEVEL * (1 - LEVEL))


def test_copying_is_detected_in_most_sessions_of_twelve():
    generator = np.random.default_rng(1)
    seen = sum(("P011", "same mistakes") in signs(simulated(generator, 12, copies=20)) for _ in range(30))
    assert seen >= 27
