"""Rules that the readers of quizbowl formats share: questions that teams played, and what the teams did."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from clueline.data.importing.staging import Staging
from clueline.data.importing.table_contract import BUZZES, EXPOSURES, LEFT_OUT_PLAYS, QUESTIONS
from clueline.data.readers.shared.evaluation_log import add_table

REPEATED_BUZZES = "buzzes that are in the file twice, counted once"
SECOND_BUZZ = "second buzzes of a team on a question (the correct one counts, otherwise the first)"
PAST_THE_END = "buzzes past the end of the question, moved to its end"
ANSWERED = "correct buzzes after another team had answered the question correctly"
LEFT_OUT = "left out: {}"
NO_POSITION = "buzzes without a word or a value"
LeftOut = Counter[tuple[str, str, str]]  # number of plays or buzzes by question, match and reason
DIGITS = 8  # of a stable pseudonym


class PlayedQuestion(NamedTuple):
    """A question. ``text`` and ``answer`` are as its dataset shows them; ``place`` says for reports where it is in the file."""

    question_id: str
    text: str | None
    answer: str | None
    category: str | None
    subcategory: str | None
    place: str


class Buzz(NamedTuple):
    """A buzz. ``word`` is the 0-based position of the word at which the team buzzed."""

    question_id: str
    match_id: str
    team: str
    word: int
    correct: bool
    place: str


class Hearing(NamedTuple):
    """The teams to which a question was read in a match."""

    question_id: str
    match_id: str
    teams: tuple[str, ...]
    place: str


def one_buzz_per_team(
    buzzes: Iterable[Buzz],
    last_words: Mapping[str, int],
    repaired: Counter[str],
    left_out: LeftOut,
    *,
    one_answer: bool = True,
) -> list[Buzz]:
    """Return at most one buzz for each team, question and match.

    ``last_words`` are those at which teams can buzz, by question. ``repaired`` counts the buzzes that are moved or repeated, by
    reason, and ``left_out`` those that are left out; both are updated in place. With ``one_answer``, the first correct buzz ends
    the question for all teams of the match.
    """
    in_room: dict[tuple[str, str], list[Buzz]] = defaultdict(list)
    exact: set[tuple[Any, ...]] = set()
    for buzz in buzzes:
        if buzz[:5] in exact:
            repaired[REPEATED_BUZZES] += 1
            continue
        exact.add(buzz[:5])
        last = last_words[buzz.question_id]
        if buzz.word > last:
            repaired[PAST_THE_END] += 1
        in_room[buzz.question_id, buzz.match_id].append(buzz._replace(word=min(buzz.word, last)))
    settled = []
    for room in in_room.values():
        by_team: dict[str, Buzz] = {}
        # Python's sort is stable: of several buzzes at one word, the earlier in the file comes first.
        for buzz in sorted(room, key=lambda b: (not b.correct, b.word)):
            if buzz.team in by_team:
                left_out[buzz.question_id, buzz.match_id, SECOND_BUZZ] += 1
            else:
                by_team[buzz.team] = buzz
        answered = False
        for buzz in by_team.values():  # the correct ones first
            if buzz.correct and answered and one_answer:
                left_out[buzz.question_id, buzz.match_id, ANSWERED] += 1
                continue
            answered = answered or buzz.correct
            settled.append(buzz)
    return settled


def exposure_rows(hearings: Iterable[Hearing], buzzes: Iterable[Buzz], words: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return rows of exposures. A correct buzz ended the question for all teams of the match after its word.

    Another hearing of the same question and match adds its teams. Buzzes are from ``one_buzz_per_team``. ``words`` has the number
    of words by question.
    """
    in_room: dict[tuple[str, str], list[Buzz]] = defaultdict(list)
    for buzz in buzzes:
        in_room[buzz.question_id, buzz.match_id].append(buzz)
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for question, match, teams, place in hearings:
        room = in_room[question, match]
        ending = next((buzz for buzz in room if buzz.correct), None)
        own = {buzz.team: buzz.word for buzz in room}
        for team in teams:
            heard = None if ending is None else min(max(ending.word, own.get(team, 0)) + 1, words[question])
            rows[question, match, team] = {
                "question_id": question, "match_id": match, "team": team, "team_kind": "human", "heard_words": heard,
                "ended_by": ending.team if ending else None, "place": place,
            }  # fmt: skip
    return list(rows.values())


def add_questions(staging: Staging, name: str, dataset: str, questions: Iterable[PlayedQuestion]) -> None:
    """Add questions; their sentences become their clues."""
    add_table(staging, "questions", name, dataset, [question._asdict() for question in questions], QUESTIONS)


def add_people(
    staging: Staging,
    name: str,
    dataset: str,
    exposures: Sequence[Mapping[str, Any]],
    buzzes: Collection[Buzz],
    left_out: LeftOut,
) -> None:
    """Add the exposures of teams, their buzzes, and the numbers of buzzes that are left out."""
    if exposures:
        add_table(staging, "exposures", name, dataset, exposures, EXPOSURES)
    if buzzes:
        rows = [buzz._asdict() | {"correct": str(int(buzz.correct))} for buzz in buzzes]
        add_table(staging, "buzzes", name, dataset, rows, BUZZES)
    add_left_out(staging, name, dataset, left_out)


def add_left_out(staging: Staging, name: str, dataset: str, left_out: LeftOut) -> None:
    """Add the numbers of plays or buzzes that are left out, which pages show and the report sums up."""
    for (_, _, reason), plays in left_out.items():
        staging.report.repaired[LEFT_OUT.format(reason)] += plays
    if left_out:
        keys = ("question_id", "match_id", "reason")
        rows = [
            dict(zip(keys, key, strict=True)) | {"plays": plays, "place": f"question {key[0]}"} for key, plays in left_out.items()
        ]
        add_table(staging, "left_out_plays", name, dataset, rows, LEFT_OUT_PLAYS)


def stable_pseudonym(name: str) -> str:
    """Return a pseudonym for a team that does not depend on the other teams, so a later import gives the team the same one.

    >>> stable_pseudonym("Ash")
    'Team 77470574'
    """
    digest = hashlib.sha256(name.strip().casefold().encode()).digest()
    return f"Team {int.from_bytes(digest[:8], 'big') % 10**DIGITS:0{DIGITS}}"
