"""The source of the bundle ``pyramid``: questions and knowledge entries, one TOML file per category."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent / "pyramid_source"
# File name: category, in the order of the bundle.
FILES = ("literature", "history", "science", "arts", "social-science", "geography")
CATEGORIES = {name: name.replace("-", " ").title() for name in FILES}


@dataclass(frozen=True)
class Question:
    """A pyramidal question: its clues go from hard to easy, and the last one gives the answer away."""

    question_id: str
    category: str
    subcategory: str
    answer: str  # answer line, as a moderator has it
    page: str  # title of the entry that answers it
    clues: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.revealed(len(self.clues) - 1)

    @property
    def word_ends(self) -> list[int]:
        return [len(self.revealed(clue).split()) for clue in range(len(self.clues))]

    def revealed(self, clue: int) -> str:
        return " ".join(self.clues[: clue + 1])


@dataclass(frozen=True)
class Entry:
    """An entry of the knowledge base that the guessers search."""

    title: str
    text: str
    category: str

    @property
    def document(self) -> str:
        return f"{self.title}. {self.text}"


def read_questions() -> list[Question]:
    """Read all questions, by category."""
    return [
        Question(q["id"], category, q["subcategory"], q["answer"], q["page"], tuple(q["clues"]))
        for name, category in CATEGORIES.items()
        for q in tomllib.loads((SOURCE / "questions" / f"{name}.toml").read_text(encoding="utf-8"))["question"]
    ]


def read_entries() -> list[Entry]:
    """Read the whole knowledge base, by category."""
    return [
        Entry(entry["title"], entry["text"], category)
        for name, category in CATEGORIES.items()
        for entry in tomllib.loads((SOURCE / "knowledge" / f"{name}.toml").read_text(encoding="utf-8"))["entry"]
    ]
