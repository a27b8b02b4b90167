"""The small store for tests: two datasets written as bundles.

``relay`` is incremental and has people; ``spans`` is LifeEval.
"""

import csv
import json
import random

ODD = "Arts'; drop table runs; --"  # a category like any other
CATEGORIES = ("History", "Science", ODD, "")
CONFIDENCES = (0.0, 1.0, 0.1, 0.15, 0.3, 0.1 + 0.2, 0.35, 1 / 3, 0.5, 0.7, 0.95, 0.999)
WORDS = ["river", "Ångström", "engine", "100%", "treaty", "_under_", "island", "opera", "cell", "Émile", "fossil", "quartz"]


def write_csv(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([header, *rows])


def write_relay(folder):
    """Write twelve questions of one to six clues. Nobody heard the last three; one of these states its difficulty."""
    chance = random.Random("relay")
    lengths = {f"r{index:02}": 1 + index % 6 for index in range(12)}
    texts = {(name, clue): " ".join(chance.sample(WORDS, 4)) for name, count in lengths.items() for clue in range(count)}
    stated = {"r00": 0.25, "r01": 0.75, "r09": 0.5}
    write_csv(
        folder / "questions.csv",
        ["question_id", "answer", "category", "subcategory", "difficulty"],
        [
            [name, f"Answer {index}", CATEGORIES[index % 4], "Modern" if index % 3 else "", stated.get(name, "")]
            for index, name in enumerate(lengths)
        ],
    )
    write_csv(folder / "clues.csv", ["question_id", "clue", "text"], [[*place, text] for place, text in texts.items()])
    heard, buzzes = [], []
    for name in list(lengths)[:9]:
        for team in ("Ash", "Birch", "Cedar", "Robot"):
            if chance.random() < 0.8 or team == "Ash":
                heard.append([name, "m1", team, "model" if team == "Robot" else "human"])
                if chance.random() < 0.8:
                    word = chance.randint(0, 4 * lengths[name])
                    buzzes.append([name, "m1", team, word, "true" if chance.random() < 0.6 else "false"])
    write_csv(folder / "exposures.csv", ["question_id", "match_id", "team", "team_kind"], heard)
    write_csv(folder / "buzzes.csv", ["question_id", "match_id", "team", "word", "correct"], buzzes)

    def response(name, clue):
        return [chance.choice(CONFIDENCES), chance.choice((0, 1))]

    full = {place: response(*place) for place in texts}
    shuffled = list(full.values())
    chance.shuffle(shuffled)
    runs = {
        ("plain", "verbalized"): full,
        ("twin", "verbalized"): dict(zip(full, shuffled, strict=True)),  # the same items elsewhere, for ties if order is ignored
        ("plain", "logit"): {place: [chance.random(), chance.choice((0, 0.25, 0.5, 1))] for place in texts},
        ("partial", "verbalized"): {place: response(*place) for place in texts if place[0] != "r03" and chance.random() < 0.7},
        ("unheard", "verbalized"): {place: response(*place) for place in texts if place[0] in ("r10", "r11")},
        ("sure", "verbalized"): {place: [1, 1] for place in texts if place[0] in ("r02", "r04", "r06")},
        ("gone", "logit"): {place: response(*place) for place in texts},
    }
    for index, ((model, elicitation), answers) in enumerate(runs.items()):
        write_csv(
            folder / "responses" / f"{index}.csv",
            ["question_id", "clue", "guess", "confidence", "correct", "model", "elicitation"],
            [[*place, f"guess {place[1]}", *answer, model, elicitation] for place, answer in answers.items()],
        )
    (folder / "dataset.json").write_text(json.dumps({"dataset": "relay", "title": "Relay", "kind": "incremental"}))


def write_spans(folder):
    """Write questions about sixteen people, where correctness is a probability from the life table. No human was asked."""
    chance = random.Random("spans")
    people = [(sex, age, radius) for sex in ("male", "female") for age in (0, 65) for radius in (1, 5, 10, 20)]
    write_csv(
        folder / "questions.csv",
        ["question_id", "text", "sex", "minimum_age", "radius"],
        [
            [f"s{index}", f"A {sex} of {age}, within {radius}?", sex, age, radius]
            for index, (sex, age, radius) in enumerate(people)
        ],
    )
    for model in ("steady", "wild"):
        write_csv(
            folder / "responses" / f"{model}.csv",
            ["question_id", "guess", "confidence", "model"],
            [
                [f"s{index}", chance.randint(age, 99), chance.choice(CONFIDENCES), model]
                for index, (_, age, _) in enumerate(people)
            ],
        )
    (folder / "dataset.json").write_text(json.dumps({"dataset": "spans", "title": "Spans", "kind": "lifeeval"}))


def write_steps(folder, difficulties):
    """Write a question of each difficulty, answered by one run, and a last one that nobody answered."""
    names = [f"d{index}" for index in range(len(difficulties) + 1)]
    write_csv(
        folder / "questions.csv",
        ["question_id", "text", "answer", "difficulty"],
        [[name, "Which?", "this", repr(stated)] for name, stated in zip(names, difficulties, strict=False)]
        + [[names[-1], "Which?", "that", ""]],
    )
    write_csv(
        folder / "responses" / "steady.csv",
        ["question_id", "guess", "confidence", "correct", "model"],
        [[name, "this", CONFIDENCES[index], index % 2, "steady"] for index, name in enumerate(names[:-1])],
    )
    (folder / "dataset.json").write_text(json.dumps({"dataset": "steps", "title": "Steps", "kind": "single"}))
