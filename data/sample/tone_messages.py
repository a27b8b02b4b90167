"""The source of the bundle ``tone``: short messages, one TOML file per category."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent / "tone_source"
CLASSES = ("negative", "neutral", "positive")
CATEGORIES = {
    "work": "Work",
    "family": "Family",
    "shopping": "Shopping",
    "travel": "Travel",
    "neighbours": "Neighbours",
    "leisure": "Leisure",
}  # file name: category, in the order of the bundle
CLEAR, LEANING = 0.75, 0.5  # largest intended share from which a message counts as such


@dataclass(frozen=True)
class Message:
    """A message, on whose tone annotators vote."""

    message_id: str
    category: str
    text: str
    shares: tuple[float, ...]  # of the votes, as intended; in the order of the classes, above 0, sum 1

    @property
    def clarity(self) -> str:
        """How much annotators are meant to agree: ``clear``, ``leaning`` or ``open``."""
        largest = max(self.shares)
        return "clear" if largest >= CLEAR else "leaning" if largest >= LEANING else "open"


def read_messages() -> list[Message]:
    """Read all messages, by category."""
    return [
        Message(m["id"], category, m["text"], tuple(m["shares"]))
        for name, category in CATEGORIES.items()
        for m in tomllib.loads((SOURCE / f"{name}.toml").read_text(encoding="utf-8"))["message"]
    ]
