"""Writes the bundle ``tone``: original short messages, simulated annotators' votes, and classifiers with whole distributions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.sample.reproducible import write_csv, write_json
from data.sample.tone_messages import (
    ANNOTATORS,
    BIAS_SPREAD,
    CARELESS,
    CLASSES,
    CLEAR,
    LEANING,
    Floats,
    Message,
    poll,
    read_messages,
)
from data.sample.trained_classifiers import CLASSIFIERS, FOLDS, TO_SCALE, cross_validate, majority, scale_temperature

FOLDER = Path(__file__).parent / "tone"
SEED = 2  # of the simulated annotators; the only randomness
DECIMALS = 6  # of a share: the last bits of a matrix product differ between machines
SCALED = "temperature-scaled"
DATASET = {
    "dataset": "tone",
    "title": "Tone",
    "kind": "votes",
    "simulated": True,
    "licence": "MIT",
    "source": "Written for Clueline",
    "classes": list(CLASSES),
    "note": f"The people are simulated: {ANNOTATORS} annotators each vote once on the tone of every message. An annotator "
    "takes a class with a chance proportional to the share of votes that the message's author meant it to get, times exp(b); b "
    f"is the annotator's own for each class, normal with mean 0 and standard deviation {BIAS_SPREAD}. With a chance of the "
    f"annotator's own, uniform from {CARELESS[0]:.0%} to {CARELESS[1]:.0%}, a vote falls on any class alike. The seed is fixed. "
    f"Subcategory: the largest share meant is at least {CLEAR:.0%} (clear), at least {LEANING:.0%} (leaning) or less (open). "
    "Difficulty: 1 minus the largest share of votes. The messages are original and the classifiers real: each answers what it "
    f"did not learn from, in {FOLDS} folds. They learned from the class with most votes, the one on votes from the shares; a "
    f"fold's temperature was fitted on the answers to the other {FOLDS - 1} folds.",
}


def questions(messages: Sequence[Message], votes: Floats) -> list[dict[str, object]]:
    """Return the rows of ``questions.csv``. The right answers are left to the votes."""
    return [
        {
            "question_id": message.message_id,
            "text": message.text,
            "category": message.category,
            "subcategory": message.clarity,
            "difficulty": round(1.0 - float(given.max() / given.sum()), DECIMALS),
        }
        for message, given in zip(messages, votes, strict=True)
    ]


def responses(messages: Sequence[Message], shares: Floats, model: str, elicitation: str) -> list[dict[str, object]]:
    """Return the rows of a run. Its confidence is the share of its guess, which the importer takes from the distribution."""
    return [
        {
            "question_id": message.message_id,
            "guess": CLASSES[int(np.argmax(row))],
            "options": json.dumps(dict(zip(CLASSES, row.tolist(), strict=True))),
            "model": model,
            "elicitation": elicitation,
        }
        for message, row in zip(messages, np.round(shares, DECIMALS), strict=True)
    ]


def make(folder: Path = FOLDER) -> None:
    """Write the bundle into a folder."""
    messages = read_messages()
    counts = poll([message.shares for message in messages], SEED)
    votes = counts.astype(float)
    write_json(folder / "dataset.json", DATASET)
    write_csv(folder / "questions.csv", questions(messages, votes))
    write_csv(
        folder / "votes.csv",
        [
            {"question_id": message.message_id, "class": name, "votes": count}
            for message, row in zip(messages, counts.tolist(), strict=True)
            for name, count in zip(CLASSES, row, strict=True)
        ],
    )
    texts = [message.text for message in messages]
    runs = []
    for classifier in CLASSIFIERS:
        shares = cross_validate(classifier.learn, texts, votes)
        runs.append((classifier.model, classifier.elicitation, shares))
        if classifier.model == TO_SCALE:
            runs.append((classifier.model, SCALED, scale_temperature(shares, majority(votes))))
    for number, (model, elicitation, shares) in enumerate(runs, start=1):
        name = f"{number}-{model}-{elicitation}".lower().replace(" ", "-")
        write_csv(folder / "responses" / f"{name}.csv", responses(messages, shares, model, elicitation))


if __name__ == "__main__":
    make()
