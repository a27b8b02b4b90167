"""A small dataset with all that a board can have: clues, people, attributes, tags, two gradings, answers of every state."""

import random

from tests.helpers.bundle_factory import FACTS, table, write

NAMES = [f"q{number:02}" for number in range(20)]
# Runs, each with the share of the questions that it answered.
RUNS = {"m0 verbalized": 1, "m0 token": 1, "m1 verbalized": 1, "m2 token": 1, "m3 verbalized": 0.5}
SEED = "keys2"
TEAMS = ("Ash", "Birch", "Cedar", "Dogwood", "Elm", "Fir")
FAILED = NAMES[6]  # a question of which a call failed
STATES = {"m1": "failed", "m2": "unparsed"}  # of the last answer to every fourth question


def answers(chance, runs, *, all_failed):
    """Yield answers that two gradings grade otherwise, and that two prompts asked for."""
    for run, share in runs.items():
        model, elicitation = run.split()
        state = STATES.get(model)
        for number, name in enumerate(NAMES[: int(len(NAMES) * share)]):
            for clue in range(3):
                right = chance.random() < 0.2 + 0.2 * clue and number > 3  # nobody answers the first questions
                row = {"question_id": name, "clue": clue, "model": model, "elicitation": elicitation}
                row["prompt"] = chance.choice(["long", "short"])
                if all_failed or (state and number % 4 == 2 and clue == 2):
                    yield row | {"state": "failed" if all_failed else state}
                    continue
                second = int(chance.random() < 0.3) if number > 1 else 0
                guess = f"Answer {number}" if right else f"Wrong {chance.randint(0, 2)}"
                given = {"guess": guess, "confidence": round(chance.random(), 2), "correct": int(right)}
                yield row | given | {"state": "answered", "correct.second": second}


def people(chance, teams):
    """Return plays in rooms of one team, some with an end that nobody stated, and buzzes, as rows."""
    heard, buzzes = [], []
    for name in NAMES:
        for team in teams:
            play = {"question_id": name, "match_id": team, "team": team}
            buzzed = chance.random() < 0.6
            stated = buzzed or chance.random() < 0.5
            heard.append(play | {"team_kind": "human", "end_stated": str(stated).lower()})
            if buzzed:
                right = "true" if chance.random() < 0.7 else "false"
                buzzes.append(play | {"word": chance.randint(1, 15), "correct": right, "guess": "x"})
    return heard, buzzes


def write_board(folder, dataset, *, runs=RUNS, teams=TEAMS, all_failed=False):
    """Write a dataset; with teams, every key of the selection changes something on it, except the radius and the nights."""
    chance = random.Random(SEED)
    heard, buzzes = people(chance, teams)
    played = {"exposures": table(heard), "buzzes": table(buzzes)} if teams else {}
    questions = [
        {
            "question_id": name,
            "answer": f"Answer {number}",
            "category": "AB"[number % 2],
            "subcategory": "xyz"[number % 3],
            "packet": number // 4,
        }
        for number, name in enumerate(NAMES)
    ]
    clues = [
        {"question_id": name, "clue": clue, "text": f"{name} has clue {clue}", "word_end": 5 * clue + 5}
        for name in NAMES
        for clue in range(3)
    ]
    tags = [
        {"model": model, "elicitation": "verbalized", "tag": tag, "value": value}
        for model, size, day in (("m0", "big", "2024-05"), ("m1", "small", "2025-01"), ("m3", "big", "2025-02"))
        for tag, value in (("size", size), ("released", day))
        if f"{model} verbalized" in runs
    ]
    return write(
        folder / dataset,
        FACTS | {"dataset": dataset},
        questions=table(questions),
        clues=table(clues),
        tags=table(tags) if tags else None,
        responses=table(list(answers(chance, runs, all_failed=all_failed))),
        **played,
    )
