"""Writes the bundle ``pyramid``: original questions, guessers that search a knowledge base, and simulated teams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from data.quizbowl.answer_lines import parse_answer_line
from data.retrieval_guessers import (
    GUESSERS,
    Guesser,
    best_match,
    margin_confidence,
    neighbours,
    softmax_confidence,
)
from data.sample.pyramid_toml_files import Entry, Question, read_entries, read_questions
from data.sample.reproducible import write_csv, write_json
from data.sample.teams import TEAMS, tournament

FOLDER = Path(__file__).parent / "pyramid"
SEED = 4  # of the simulated teams; the only randomness
DECIMALS = 6  # of a confidence: the last bits of a matrix product differ between machines
QUESTION = ("question_id", "text", "answer", "category", "subcategory")  # columns of ``questions.csv``
MISTAKES = 3  # titles from which a wrong buzz chooses


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


def responses(guesser: Guesser, questions: Sequence[Question], entries: Sequence[Entry]) -> Iterator[dict[str, object]]:
    """Yield the rows of both runs of a guesser, which differ only in their confidence."""
    clues = [(question, clue) for question in questions for clue in range(len(question.clues))]
    search = guesser.build([entry.document for entry in entries])
    scores = np.concatenate([search(question.clues) for question in questions])
    guesses = [entries[k].title for k in best_match(scores)]
    for elicitation, confidences in (
        ("softmax", softmax_confidence(scores, guesser.temperature)),
        ("margin", margin_confidence(scores)),
    ):
        for (question, clue), guess, confidence in zip(clues, guesses, confidences.tolist(), strict=True):
            yield {
                "question_id": question.question_id,
                "clue": clue,
                "guess": guess,
                "confidence": round(confidence, DECIMALS),
                "model": guesser.model,
                "elicitation": elicitation,
            }


def make(folder: Path = FOLDER) -> None:
    """Write the bundle into a folder."""
    questions, entries = read_questions(), read_entries()
    write_json(folder / "dataset.json", dataset(len(entries)))
    write_csv(
        folder / "questions.csv",
        [{name: getattr(q, name) for name in QUESTION} for q in questions],
    )
    write_csv(
        folder / "clues.csv",
        [
            {"question_id": q.question_id, "clue": clue, "text": text, "word_end": end}
            for q in questions
            for clue, (text, end) in enumerate(zip(q.clues, q.word_ends, strict=True))
        ],
    )
    exposures, buzzes = tournament(questions, mistakes(entries, questions), SEED)
    write_csv(folder / "exposures.csv", exposures)
    write_csv(folder / "buzzes.csv", buzzes)
    for guesser in GUESSERS:
        name = guesser.model.lower().replace(" ", "-")
        write_csv(folder / "responses" / f"{name}.csv", list(responses(guesser, questions, entries)))


if __name__ == "__main__":
    make()
