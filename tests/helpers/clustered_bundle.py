"""A bundle whose questions depend on each other within packets: who is good at one question of a packet is good at the others."""

import csv
import io

import numpy as np

from tests.helpers.bundle_factory import write

PACKETS, EACH, CLUES, RUNS, TEAMS = 12, 4, 3, 4, 3
FACTS = {"dataset": "packets", "kind": "incremental", "title": "Packets"}


def text_of(header, rows):
    """Return CSV."""
    out = io.StringIO()
    csv.writer(out).writerows([header, *rows])
    return out.getvalue()


def clustered_bundle(folder, seed=1):
    """Write 48 questions of three clues in twelve packets, with four runs and three teams that play in rooms of two.

    Attributes of questions: ``packet``; ``half``, which has two values; ``everything``, which has one; and ``pair``, which only
    the first eight questions have, in pairs.
    """
    chance = np.random.default_rng(seed)
    questions = PACKETS * EACH
    packet = np.arange(questions) // EACH
    ids = [f"q{index:02}" for index in range(questions)]
    pair = [str(index // 2) if index < 8 else "" for index in range(questions)]
    described = [
        (ids[q], f"answer {q}", ("Arts", "Science")[q % 2], f"packet {packet[q]}", packet[q] % 2, "all", pair[q])
        for q in range(questions)
    ]
    clues = [(ids[q], clue, "some words to read", 4 * (clue + 1)) for q in range(questions) for clue in range(CLUES)]
    ease = 1.5 * chance.normal(size=(RUNS, PACKETS))[:, packet]
    responses = []
    for run in range(RUNS):
        for q in range(questions):
            for clue in range(CLUES):
                right = chance.random() < 1 / (1 + np.exp(-ease[run, q] - clue + 0.8 - 0.3 * run))
                stated = np.clip(0.25 + 0.2 * clue + 0.1 * run + 0.2 * right + 0.1 * chance.normal(), 0.02, 0.98)
                responses.append((f"model {run}", ids[q], clue, f"answer {q}" if right else "other", f"{stated:.3f}"))
    team_ease = 2 * chance.normal(size=PACKETS)
    exposures, buzzes = [], []
    for q in range(questions):
        for team in range(TEAMS):
            exposures.append((ids[q], f"m{team}", f"team {team}", "human"))
            if chance.random() < 0.8:
                right = chance.random() < 1 / (1 + np.exp(-team_ease[packet[q]]))
                buzzes.append((ids[q], f"m{team}", f"team {team}", int(chance.integers(1, 12)), str(right).lower()))
    return write(
        folder,
        FACTS,
        questions=text_of(("question_id", "answer", "category", "packet", "half", "everything", "pair"), described),
        clues=text_of(("question_id", "clue", "text", "word_end"), clues),
        responses=text_of(("model", "question_id", "clue", "guess", "confidence"), responses),
        exposures=text_of(("question_id", "match_id", "team", "team_kind"), exposures),
        buzzes=text_of(("question_id", "match_id", "team", "word", "correct"), buzzes),
        tags=text_of(
            ("model", "elicitation", "tag", "value"),
            [(f"model {run}", "verbalized", "released", f"202{run}") for run in range(RUNS)],
        ),
    )
