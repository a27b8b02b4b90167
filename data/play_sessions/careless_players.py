"""Signs that a player did not answer seriously. A person judges them: no answer is left out because of them alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from clueline.data.play_sessions.mode_interface import GradedAnswer, Mode, Played, QuestionResult

MIN_TIMES = 10  # needed to judge speed
MIN_ANSWERS = 20  # needed to judge the variety of confidence and the number of guesses
MIN_SHARE_OF_ANSWERS = 0.95
MIN_QUESTIONS, MAX_LEFT = 8, 0.25  # questions needed to judge, and the share above which questions that were left are a sign
LEVEL = 0.01  # chance that any two players of a session who do not know each other are flagged as copying

Sign = Literal["too fast", "one confidence", "no guesses", "left questions", "missed checks", "same mistakes"]


class Flag(NamedTuple):
    """A sign, and the evidence for it in words. Players are named by pseudonym."""

    player: str
    sign: Sign
    reason: str


def flag_players(mode: Mode[Any], played: Mapping[str, Sequence[Played[Any]]]) -> list[Flag]:
    """Return the signs in the answers of each player, sorted by player. Finished questions are in the player's order."""
    checks = {player: [mode.grade(part) for part in questions if part.question.is_check] for player, questions in played.items()}
    played = {player: [part for part in questions if not part.question.is_check] for player, questions in played.items()}
    flags = [
        Flag(player, "too fast", f"answered {haste.fast} of {haste.times} {haste.what}")
        for player, questions in played.items()
        for haste in [mode.speed_check(questions)]
        if haste.times >= MIN_TIMES and 2 * haste.fast > haste.times
    ]
    for player, graded in checks.items():
        heard = [result for result in graded if result.counts]
        missed = sum(not any(answer.correct for answer in result.answers) for result in heard)
        if missed:
            flags.append(Flag(player, "missed checks", f"missed {missed} of {len(heard)} attention checks"))
    results = {player: [mode.grade(part) for part in questions] for player, questions in played.items()}
    for player, graded in results.items():
        left = sum(not result.counts for result in graded)
        if len(graded) >= MIN_QUESTIONS and left > MAX_LEFT * len(graded):
            flags.append(Flag(player, "left questions", f"left {left} of {len(graded)} questions before their end"))
        flags += _own_signs(player, [answer for result in graded for answer in result.answers], mode.guesses)
    return sorted([*flags, *(_same_mistakes(results) if mode.guesses else ())])


def _own_signs(player: str, answers: list[GradedAnswer], guesses: bool) -> Iterator[Flag]:
    if len(answers) < MIN_ANSWERS:
        return
    ((confidence, times),) = Counter(answer.confidence for answer in answers).most_common(1)
    if times >= MIN_SHARE_OF_ANSWERS * len(answers):
        yield Flag(player, "one confidence", f"was {confidence:.0%} sure of {times} of {len(answers)} answers")
    blank = sum(not answer.guess.strip() for answer in answers)
    if guesses and blank >= MIN_SHARE_OF_ANSWERS * len(answers):
        yield Flag(player, "no guesses", f"gave no guess in {blank} of {len(answers)} answers")


def _same_mistakes(played: Mapping[str, Sequence[QuestionResult]]) -> Iterator[Flag]:
    """Flag pairs of players whose wrong guesses agree more often than those of the other players on the same questions.

    For each question that both got wrong at some clue, the chance that their wrong guesses are the same is estimated by the share
    of other pairs of players whose wrong guesses are the same, with one agreement and one disagreement added. The number of
    agreements is then compared with a sum of independent trials with these chances, one-sided, at ``LEVEL`` divided by the number
    of pairs.
    """
    mistakes: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)  # by question and player
    for player, results in played.items():
        for result in results:
            wrong = (answer.guess for answer in result.answers if answer.guess.strip() and answer.verdict != "accept")
            if guesses := tuple(dict.fromkeys(" ".join(guess.casefold().split()) for guess in wrong)):
                mistakes[result.question_id][player] = guesses
    counts = {question: Counter(by_player.values()) for question, by_player in mistakes.items()}
    alike = {question: sum(times * (times - 1) // 2 for times in count.values()) for question, count in counts.items()}  # pairs
    pairs = [*combinations(sorted(played), 2)]
    for first, second in pairs:
        agreements, chances = 0, []
        for question, by_player in mistakes.items():
            if first in by_player and second in by_player:
                one, other = by_player[first], by_player[second]
                agreements += one == other
                of_these = 2 * counts[question][one] - 3 if one == other else counts[question][one] + counts[question][other] - 2
                others = len(by_player) - 2
                chances.append((alike[question] - of_these + 1) / (others * (others - 1) // 2 + 2))
        if agreements and _tail(chances, agreements) * len(pairs) < LEVEL:
            for player, copied in ((first, second), (second, first)):
                reason = f"made the same mistakes as {copied} on {agreements} of the {len(chances)} questions that both got wrong"
                yield Flag(player, "same mistakes", reason)


def _tail(chances: list[float], least: int) -> float:
    """Return the chance of at least ``least`` successes in independent trials."""
    distribution = np.ones(1)
    for chance in chances:
        distribution = np.convolve(distribution, [1 - chance, chance])
    return float(distribution[least:].sum())
