"""Writes the bundle ``pyramid``: original questions, guessers that search a knowledge base, and simulated teams.

The teams are a tournament of twelve, two in a room, who buzz while questions are read to them.
A team learns the answer at some word. The hazard grows along the question: the cumulative hazard up to the fraction f is
exp(strength) (exp(GROWTH f) - 1) / (exp(GROWTH) - 1). The strength is the team's skill, plus its bias for the category,
minus the question's difficulty. Sometimes a team takes a risk and buzzes somewhat earlier, incorrectly. At the end, a team
may guess.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clueline.data.quizbowl.answer_lines import parse_answer_line
from clueline.data.retrieval_guessers import GUESSERS, Guesser, best_match, margin_confidence, neighbours, softmax_confidence
from clueline.data.sample.pyramid_toml_files import CATEGORIES, Entry, Question, read_entries, read_questions
from clueline.data.sample.reproducible import generator, normals, write_csv, write_json

FOLDER = Path(__file__).parent / "pyramid"
SEED = 4  # of the simulated teams; the only randomness
DECIMALS = 6  # of a confidence: the last bits of a matrix product differ between machines
# Columns of the tables.
QUESTION = ("question_id", "text", "answer", "category", "subcategory")
RESPONSE = ("question_id", "clue", "guess", "confidence", "model", "elicitation")
EXPOSURE = ("question_id", "match_id", "team", "team_kind", "heard_words", "ended_by")
BUZZ = ("question_id", "match_id", "team", "word", "correct", "guess")
MISTAKES = 3  # titles from which a wrong buzz chooses
TEAMS = ("Alder", "Beech", "Cedar", "Elm", "Fir", "Hazel", "Juniper", "Larch", "Maple", "Oak", "Rowan", "Yew")
ROUNDS = 6  # all rooms of a round hear the same questions; every round has the same number of questions

GROWTH = 4.5
MEAN_STRENGTH = -0.1  # log of an average team's cumulative hazard at the end of an average question
SKILL_SPREAD = 0.6  # standard deviations of the parts of the strength
BIAS_SPREAD = 0.45
DIFFICULTY_SPREAD = 0.7
RISK = (0.05, 0.18)  # range of a team's chance of buzzing before it knows
EARLY = (2, 20)  # range of the words by which such a buzz is too early
TRY = 0.25  # chance of guessing at the end without knowing
LUCK = 0.4  # chance that such a guess is right


def dataset(entries: int) -> dict[str, object]:
    """Return the facts of the bundle."""
    return {
        "dataset": "pyramid",
        "title": "Pyramid",
        "kind": "incremental",
        "simulated": True,
        "licence": "MIT",
        "source": "Written for Clueline",
        "note": f"The people are simulated: {len(TEAMS)} teams, what they heard and when they buzzed come from a random model "
        "with a fixed seed. The questions are original and the guessers real: they search a knowledge base of "
        f"{entries} short entries with the text revealed so far. They are search methods, not language models.",
    }


def mistakes(entries: Sequence[Entry], questions: Sequence[Question]) -> dict[str, list[str]]:
    """Return, by page title, what a wrong buzz may say: the nearest entries of the category that are wrong."""
    near = neighbours([entry.document for entry in entries], [entry.category for entry in entries], MISTAKES)
    titles = {entry.title: [entries[k].title for k in row] for entry, row in zip(entries, near, strict=True)}
    lines = {question.page: parse_answer_line(question.answer) for question in questions}
    return {page: [t for t in titles[page] if line.grade(t) == "reject"] for page, line in lines.items()}


def responses(guesser: Guesser, questions: Sequence[Question], entries: Sequence[Entry]) -> Iterator[Sequence[object]]:
    """Yield the rows of both runs of a guesser, which differ only in their confidence. Columns as in ``RESPONSE``."""
    clues = [(question, clue) for question in questions for clue in range(len(question.clues))]
    search = guesser.build([entry.document for entry in entries])
    scores = np.concatenate([search(question.clues) for question in questions])
    guesses = [entries[k].title for k in best_match(scores)]
    for elicitation, confidences in (
        ("softmax", softmax_confidence(scores, guesser.temperature)),
        ("margin", margin_confidence(scores)),
    ):
        for (question, clue), guess, confidence in zip(clues, guesses, confidences.tolist(), strict=True):
            yield question.question_id, clue, guess, round(confidence, DECIMALS), guesser.model, elicitation


class Buzz(NamedTuple):
    """A buzz that a team would make if no other team came first. Sorts by time."""

    word: int  # 0-based; the number of words = after the end
    lot: float  # in [0, 1): breaks ties at the same word
    correct: bool


class Team(NamedTuple):
    """A team that plays."""

    name: str
    risk: float
    strength: dict[str, float]  # by category


class Plan(NamedTuple):
    """A team's buzz on a question, and its buzz after the other team is out, when it takes no risk."""

    team: str
    first: Buzz | None
    alone: Buzz | None


def tournament(
    questions: Sequence[Question], wrong: Mapping[str, Sequence[str]], seed: int
) -> tuple[list[Sequence[object]], list[Sequence[object]]]:
    """Return the rows of ``exposures.csv`` and ``buzzes.csv``. ``wrong`` has what an incorrect buzz may say, by page title."""
    random = generator(seed)
    rooms = pairings(draw_teams(random))
    difficulty = normals(random, len(questions), DIFFICULTY_SPREAD)
    exposures: list[Sequence[object]] = []
    buzzes: list[Sequence[object]] = []
    for question, harder, number in zip(questions, difficulty, rounds_of(questions), strict=True):
        words = question.word_ends[-1]
        for room, teams in enumerate(rooms[number], start=1):
            keys = (question.question_id, f"round-{number + 1}-room-{room}")
            strengths = [team.strength[question.category] - harder for team in teams]
            played = play([plan(random, team, s, words) for team, s in zip(teams, strengths, strict=True)])
            winner, last = next(((name, buzz.word) for name, buzz in played if buzz.correct), (None, words))
            exposures += [(*keys, team.name, "human", last + 1 if last < words else None, winner) for team in teams]
            mistakes = wrong[question.page]
            mistake = int(random.random() * len(mistakes))
            for name, buzz in played:
                mistake += 1  # so that no room hears the same mistake twice
                guess = question.page if buzz.correct else mistakes[mistake % len(mistakes)]
                buzzes.append((*keys, name, buzz.word, buzz.correct, guess))
    return exposures, buzzes


def draw_teams(random: np.random.Generator) -> list[Team]:
    """Draw the teams, with their strengths."""
    skills = normals(random, len(TEAMS), SKILL_SPREAD)
    risks = (RISK[0] + (RISK[1] - RISK[0]) * random.random(len(TEAMS))).tolist()
    teams = []
    for name, skill, risk in zip(TEAMS, skills, risks, strict=True):
        biases = normals(random, len(CATEGORIES), BIAS_SPREAD)
        strength = {c: MEAN_STRENGTH + skill + bias for c, bias in zip(CATEGORIES.values(), biases, strict=True)}
        teams.append(Team(name, risk, strength))
    return teams


def pairings(teams: Sequence[Team]) -> list[list[tuple[Team, Team]]]:
    """Return rounds of rooms in which no two teams meet twice: one team stays, and the others go round a circle."""
    stays, *circle = teams
    rounds = []
    for turn in range(len(circle)):
        seats = [stays, *circle[turn:], *circle[:turn]]
        rounds.append([(seats[k], seats[-1 - k]) for k in range(len(seats) // 2)])
    return rounds


def rounds_of(questions: Sequence[Question]) -> list[int]:
    """Return the 0-based round of each question: the n-th questions of all categories stay together."""
    seen: Counter[str] = Counter()
    nth = []
    for question in questions:
        nth.append(seen[question.category])
        seen[question.category] += 1
    order = sorted(range(len(questions)), key=lambda place: (nth[place], place))
    return [order.index(place) * ROUNDS // len(questions) for place in range(len(questions))]


def plan(random: np.random.Generator, team: Team, strength: float, words: int) -> Plan:
    """Draw what a team does on a question of ``words`` words. This always takes six random numbers."""
    wait, dares, early, tries, lucky, lot = random.random(6).tolist()
    hazard = -math.log1p(-wait) * math.exp(-strength)  # exponential, in units of the hazard up to the end
    knows = int(words * math.log1p(hazard * math.expm1(GROWTH)) / GROWTH)
    alone: Buzz | None = None
    if knows < words:
        alone = Buzz(knows, lot, True)
    elif tries < TRY:
        alone = Buzz(words, lot, lucky < LUCK)
    dared = max(knows - EARLY[0] - int(early * (EARLY[1] - EARLY[0])), 0)
    first = Buzz(dared, lot, False) if dares < team.risk and dared < words else alone
    return Plan(team.name, first, alone)


def play(plans: Sequence[Plan]) -> list[tuple[str, Buzz]]:
    """Return who buzzes in a room of two, in order. An incorrect buzz leaves the question to the other team."""
    ready = sorted((p.first, p.team) for p in plans if p.first)
    if not ready:
        return []
    first, team = ready[0]
    if first.correct:
        return [(team, first)]
    other = next(p for p in plans if p.team != team)
    return [(team, first)] + ([(other.team, other.alone)] if other.alone else [])


def make(folder: Path = FOLDER) -> None:
    """Write the bundle into a folder."""
    questions, entries = read_questions(), read_entries()
    write_json(folder / "dataset.json", dataset(len(entries)))
    write_csv(folder / "questions.csv", QUESTION, ([getattr(q, name) for name in QUESTION] for q in questions))
    clues = ((q.question_id, *clue) for q in questions for clue in zip(range(len(q.clues)), q.clues, q.word_ends, strict=True))
    write_csv(folder / "clues.csv", ("question_id", "clue", "text", "word_end"), clues)
    exposures, buzzes = tournament(questions, mistakes(entries, questions), SEED)
    write_csv(folder / "exposures.csv", EXPOSURE, exposures)
    write_csv(folder / "buzzes.csv", BUZZ, buzzes)
    for guesser in GUESSERS:
        name = guesser.model.lower().replace(" ", "-")
        write_csv(folder / "responses" / f"{name}.csv", RESPONSE, responses(guesser, questions, entries))


if __name__ == "__main__":
    make()
