"""Questions that teams played, and what the teams did: rules that the readers of quizbowl formats share."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from data.importing.staging import Staging
from data.importing.table_contract import BUZZES, EXPOSURES, QUESTIONS, Column
from data.readers.shared.evaluation_log import clean

TWICE = "buzzes that are in the file twice, counted once"
SECOND_BUZZ = "second buzzes of a team on a question, left out: the correct buzz counts, else the first"
PAST_THE_END = "buzzes past the end of the question, moved to its end"
ANSWERED = "correct buzzes after another team had answered the question correctly, left out"
NO_POSITION = "buzzes without a word or a value, left out"
DIGITS = 8  # of a lasting pseudonym


class PlayedQuestion(NamedTuple):
    """A question; ``text`` and ``answer`` as its dataset shows them, ``place`` for reports."""

    question_id: str
    text: str | None
    answer: str | None
    category: str | None
    subcategory: str | None
    place: str


class Buzz(NamedTuple):
    """A buzz; ``word`` is 0-based."""

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


def settle(
    buzzes: Iterable[Buzz], last_words: Mapping[str, int], repaired: Counter[str], *, one_answer: bool = True
) -> list[Buzz]:
    """One buzz for each team, question and match.

    Args:
        buzzes: in the order of the file.
        last_words: question -> the last word at which a buzz can be.
        repaired: counts what is moved and left out.
        one_answer: the first correct buzz ends the question for all teams of the match.
    """
    in_room: dict[tuple[str, str], list[Buzz]] = defaultdict(list)
    exact: set[tuple[Any, ...]] = set()
    for buzz in buzzes:
        if buzz[:5] in exact:
            repaired[TWICE] += 1
            continue
        exact.add(buzz[:5])
        last = last_words[buzz.question_id]
        if buzz.word > last:
            repaired[PAST_THE_END] += 1
        in_room[buzz.question_id, buzz.match_id].append(buzz._replace(word=min(buzz.word, last)))
    settled = []
    for room in in_room.values():
        by_team: dict[str, Buzz] = {}
        # Python sorts stably: of buzzes at one word, the earlier in the file comes first.
        for buzz in sorted(room, key=lambda b: (not b.correct, b.word)):
            if buzz.team in by_team:
                repaired[SECOND_BUZZ] += 1
            else:
                by_team[buzz.team] = buzz
        answered = False
        for buzz in by_team.values():  # the correct ones first
            if buzz.correct and answered and one_answer:
                repaired[ANSWERED] += 1
                continue
            answered = answered or buzz.correct
            settled.append(buzz)
    return settled


def exposure_rows(hearings: Iterable[Hearing], buzzes: Iterable[Buzz], words: Mapping[str, int]) -> list[dict[str, Any]]:
    """Rows of exposures: a correct buzz at a word ended the question for all teams of the match after that word.

    Args:
        hearings: who heard which question; one that names a question and match again adds its teams.
        buzzes: settled ones.
        words: question -> number of its words.
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


def add_table(
    staging: Staging, table: str, name: str, dataset: str, rows: Sequence[Mapping[str, Any]], columns: tuple[Column, ...]
) -> None:
    """Add rows of dictionaries, checked against a contract. A key ``place`` says where a row stands."""
    kinds = {"integer": pl.Int64, "number": pl.Float64}
    schema = {column.name: kinds.get(column.type, pl.String) for column in columns} | {"place": pl.String}
    present = {key: kind for key, kind in schema.items() if any(key in row for row in rows[:1])}
    cells = [{key: _storable(row[key]) for key in present} for row in rows]
    file = staging.add_rows(name, pl.DataFrame(cells, schema=present, orient="row", strict=False))
    staging.load(file, columns)
    staging.add(table, file, "select $dataset as dataset, * from loaded", {"dataset": dataset})


def _storable(cell: object) -> object:
    """A cell without halves of characters, which no file of ours can hold."""
    return clean(cell) if isinstance(cell, str) and not cell.isascii() else cell


def add_questions(staging: Staging, name: str, dataset: str, questions: Iterable[PlayedQuestion]) -> None:
    """Add questions; their sentences become their clues."""
    add_table(staging, "questions", name, dataset, [question._asdict() for question in questions], QUESTIONS)


def add_people(
    staging: Staging, name: str, dataset: str, exposures: Sequence[Mapping[str, Any]], buzzes: Collection[Buzz]
) -> None:
    """Add who heard the questions, and their buzzes."""
    if exposures:
        add_table(staging, "exposures", name, dataset, exposures, EXPOSURES)
    if buzzes:
        rows = [buzz._asdict() | {"correct": str(int(buzz.correct))} for buzz in buzzes]
        add_table(staging, "buzzes", name, dataset, rows, BUZZES)


def dataset_id(name: str) -> str:
    """An id of a dataset made from a name; empty where nothing of the name can stand in an id.

    >>> dataset_id("2024 ACF Nationals (Saturday)")
    '2024-acf-nationals-saturday'
    """
    return "-".join("".join(c if c in "abcdefghijklmnopqrstuvwxyz0123456789" else " " for c in name.lower()).split())


def stable_pseudonym(name: str) -> str:
    """A pseudonym of a team that does not depend on the other teams, so that a later import finds the same team.

    >>> stable_pseudonym("Ash")
    'Team 77470574'
    """
    digest = hashlib.sha256(name.strip().casefold().encode()).digest()
    return f"Team {int.from_bytes(digest[:8], 'big') % 10**DIGITS:0{DIGITS}}"
