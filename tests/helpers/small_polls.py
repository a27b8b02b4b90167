"""Two small datasets with votes, written as bundles: ``polls`` names its classes; ``quiz`` has options for each question."""

import json
import random

from tests.helpers.small_store import write_csv

YES_NO = ("yes", "no", "maybe")
# Votes that tie, that are too few for the reference, that are exactly as many as it sees, and none at all.
POLLS = [
    (60, 30, 10), (40, 40, 20), (33, 33, 34), (100, 0, 0), (0, 50, 50), (10, 10, 0), (7, 1, 3), (0, 0, 0), None, (12, 4, 4),
    (20, 40, 40), (1000, 1, 999), (5, 80, 15), (0, 0, 21),
]  # fmt: skip
TENTHS = [(10, 0, 0), (0, 5, 5), (3, 3, 4), (6, 3, 1), (1, 8, 1), (4, 2, 4)]  # shares that tie and lie at the edges of bins
CITIES = ("Oslo", "Rome", "Bonn", "Lima", "Cairo")


def _shares(chance, count):
    if count == 3 and chance.random() < 0.5:
        return [tenth / 10 for tenth in chance.choice(TENTHS)]
    cuts = sorted(chance.random() for _ in range(count - 1))
    return [upto - before for before, upto in zip([0, *cuts], [*cuts, 1], strict=True)]


def write_polls(folder):
    """Write fourteen questions, and runs that give lists, maps, distributions for only some questions, and none."""
    chance = random.Random("polls")
    names = [f"p{index:02}" for index in range(len(POLLS))]
    stated = {"p01": "no", "p04": "maybe", "p06": "maybe", "p07": "no", "p12": "yes"}
    write_csv(
        folder / "questions.csv",
        ["question_id", "text", "answer", "category"],
        [[name, f"Is it {name}?", stated.get(name, ""), "even" if index % 2 else "odd"] for index, name in enumerate(names)],
    )
    votes = [[name, *pair] for name, counts in zip(names, POLLS, strict=True) for pair in zip(YES_NO, counts or (), strict=False)]
    chance.shuffle(votes)
    write_csv(folder / "votes.csv", ["question_id", "class", "votes"], votes)
    for model, form in {"list": list, "map": dict, "sparse": list, "plain": None, "unsure": list}.items():
        lines = []
        for name in names:
            shares = [0.25, 0.25, 0.5] if model == "unsure" else _shares(chance, 3)
            given = form and not (model == "sparse" and chance.random() < 0.5)
            pairs = list(zip(YES_NO, shares, strict=True))
            options = json.dumps(shares if form is list else dict(chance.sample(pairs, 3))) if given else ""
            lines.append([name, chance.choice(YES_NO), max(shares), chance.choice((0, 1)), options, model])
        header = ["question_id", "guess", "confidence", "correct", "options", "model"]
        write_csv(folder / "responses" / f"{model}.csv", header, lines)
    facts = {"dataset": "polls", "title": "Polls", "kind": "votes", "classes": YES_NO}
    (folder / "dataset.json").write_text(json.dumps(facts))


def write_quiz(folder):
    """Write eight questions of two clues with two to four options each. People voted on six, once for something not an option."""
    chance = random.Random("quiz")
    names = [f"k{index}" for index in range(8)]
    options = {name: chance.sample(CITIES, 2 + index % 3) for index, name in enumerate(names)}
    write_csv(
        folder / "questions.csv",
        ["question_id", "answer"],
        [[name, "" if name == "k5" else options[name][0] if name != "k6" else "nowhere"] for name in names],
    )
    write_csv(folder / "clues.csv", ["question_id", "clue", "text"], [[n, t, f"Clue {t} of {n}"] for n in names for t in (0, 1)])
    votes = [[name, city, chance.randint(0, 30)] for name in names[:6] for city in options[name]]
    write_csv(folder / "votes.csv", ["question_id", "class", "votes"], [*votes, ["k0", "Quito", 9]])
    for model in ("first", "second"):
        lines = []
        for name in names:
            for clue in (0, 1):
                shares = _shares(chance, len(options[name]))
                pairs = chance.sample(list(zip(options[name], shares, strict=True)), len(shares))
                lines.append([name, clue, 0.5, 1, json.dumps(dict(pairs)), model])
        write_csv(
            folder / "responses" / f"{model}.csv", ["question_id", "clue", "confidence", "correct", "options", "model"], lines
        )
    (folder / "dataset.json").write_text(json.dumps({"dataset": "quiz", "title": "Quiz", "kind": "incremental"}))
