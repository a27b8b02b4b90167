"""Signs that a player of a session did not answer in earnest. A person judges them: nothing is left out by them alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

import numpy as np

from data.importing.answer_lines import parse_answer_line
from data.people.sessions import Answer, SessionQuestion

FASTEST = 1000  # words a minute: four times the mean speed of silent reading (Brysbaert 2019: 238)
SHORTEST = 5  # words of a clue by which speed is judged
FEWEST_CLUES = 10  # by which speed is judged
FEWEST_ANSWERS = 20  # by which the variety of confidence and the number of guesses are judged
NEARLY_ALL = 0.95
LEVEL = 0.01  # chance that any two players of a session who do not know each other are flagged as copying

Sign = Literal["too fast", "one confidence", "no guesses", "same mistakes"]
Played = Mapping[str, list[tuple[SessionQuestion, list[Answer]]]]


class Flag(NamedTuple):
    """A sign, and what it rests on.

    Attributes:
        player: pseudonym.
        sign: which one.
        reason: in words.
    """

    player: str
    sign: Sign
    reason: str


def flag_players(played: Played) -> list[Flag]:
    """The signs that the answers of each player give, by player.

    Args:
        played: by pseudonym, the finished questions in the order of the player, with the answers to their clues.
    """
    single = (flag for player, questions in played.items() for flag in _own_signs(player, questions))
    return sorted([*single, *_same_mistakes(played)])


def _own_signs(player: str, questions: list[tuple[SessionQuestion, list[Answer]]]) -> Iterator[Flag]:
    """The signs in the answers of one player."""
    speeds = [*_speeds(questions)]
    fast = sum(speed > FASTEST for speed in speeds)
    if len(speeds) >= FEWEST_CLUES and 2 * fast > len(speeds):
        reason = f"answered {fast} of {len(speeds)} clues faster than {FASTEST:,} words a minute can be read"
        yield Flag(player, "too fast", reason)
    answers = [answer for _, given in questions for answer in given]
    if len(answers) < FEWEST_ANSWERS:
        return
    ((confidence, times),) = Counter(answer.confidence for answer in answers).most_common(1)
    if times >= NEARLY_ALL * len(answers):
        yield Flag(player, "one confidence", f"was {confidence:.0%} sure at {times} of {len(answers)} clues")
    blank = sum(not answer.guess.strip() for answer in answers)
    if blank >= NEARLY_ALL * len(answers):
        yield Flag(player, "no guesses", f"gave no guess at {blank} of {len(answers)} clues")


def _speeds(questions: list[tuple[SessionQuestion, list[Answer]]]) -> Iterator[float]:
    """Words a minute at each clue but the first: between two answers, the player read the clue. By the clock of the server."""
    clues = [
        (text, answer.received_ms) for question, given in questions for text, answer in zip(question.clues, given, strict=True)
    ]
    for (_, before), (text, after) in pairwise(clues):
        words = len(text.split())
        if before is not None and after is not None and words >= SHORTEST:
            yield 60_000 * words / max(after - before, 1.0)


def _same_mistakes(played: Played) -> Iterator[Flag]:
    """Pairs of players whose wrong guesses agree more often than those of the other players on the same questions.

    For each question that both got wrong at some clue, the chance that their wrong guesses are the same is the share of other
    pairs of players whose are, with one agreement and one disagreement added. The number of agreements is then compared with a
    sum of independent trials with these chances, one-sided, at ``LEVEL`` divided by the number of pairs.
    """
    mistakes: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)  # by question and player
    for player, questions in played.items():
        for question, given in questions:
            line = parse_answer_line(question.answer)
            wrong = (answer.guess for answer in given if answer.guess.strip() and line.grade(answer.guess) != "accept")
            if guesses := tuple(dict.fromkeys(" ".join(guess.casefold().split()) for guess in wrong)):
                mistakes[question.question_id][player] = guesses
    pairs = [*combinations(sorted(played), 2)]
    for first, second in pairs:
        both = [by_player for by_player in mistakes.values() if first in by_player and second in by_player]
        agreements = sum(by_player[first] == by_player[second] for by_player in both)
        chances = [_chance(by_player, {first, second}) for by_player in both]
        if agreements and _tail(chances, agreements) * len(pairs) < LEVEL:
            for player, other in ((first, second), (second, first)):
                reason = f"made the same mistakes as {other} on {agreements} of the {len(both)} questions that both got wrong"
                yield Flag(player, "same mistakes", reason)


def _chance(guesses: Mapping[str, tuple[str, ...]], left_out: set[str]) -> float:
    """Share of pairs of other players who made the same mistakes on a question, with one agreement and one disagreement added."""
    counts = Counter(guess for player, guess in guesses.items() if player not in left_out)
    players = counts.total()
    agreeing = sum(count * (count - 1) // 2 for count in counts.values())
    return (agreeing + 1) / (players * (players - 1) // 2 + 2)


def _tail(chances: list[float], least: int) -> float:
    """Chance of at least so many successes in independent trials."""
    distribution = np.ones(1)
    for chance in chances:
        distribution = np.convolve(distribution, [1 - chance, chance])
    return float(distribution[least:].sum())
