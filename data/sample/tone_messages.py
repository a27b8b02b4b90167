"""The source of the bundle ``tone``: short messages, one TOML file per category, and simulated annotators.

Each annotator votes once on every message. A careful vote falls on a class with a chance proportional to the intended share of
the class times exp(bias). Each annotator has a bias for each class. A careless vote falls on every class with the same chance.
Each annotator has a rate of careless votes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clueline.data.sample.reproducible import generator, normals

Floats = NDArray[np.float64]

SOURCE = Path(__file__).parent / "tone_source"
CLASSES = ("negative", "neutral", "positive")
# File name: category, in the order of the bundle.
CATEGORIES = {name: name.capitalize() for name in ("work", "family", "shopping", "travel", "neighbours", "leisure")}
CLEAR, LEANING = 0.75, 0.5  # largest intended share from which a message counts as such
ANNOTATORS = 100
BIAS_SPREAD = 0.5  # standard deviation of a bias
CARELESS = (0.01, 0.06)  # range of the chance of a careless vote, uniform


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


def poll(shares: Sequence[Sequence[float]], seed: int) -> NDArray[np.int64]:
    """Draw the votes of all annotators on all messages: shape (messages, classes); rows sum to ``ANNOTATORS``.

    The intended shares have the same shape. All are above 0, and each row sums to 1.
    """
    random = generator(seed)
    intended = np.array(shares)
    messages, classes = len(shares), len(shares[0])
    votes = np.zeros((messages, classes), dtype=np.int64)
    for _ in range(ANNOTATORS):
        biases = np.exp(normals(random, classes, BIAS_SPREAD))
        careless = CARELESS[0] + (CARELESS[1] - CARELESS[0]) * random.random()
        careful = intended * biases
        chances: Floats = (1 - careless) * careful / careful.sum(axis=1, keepdims=True) + careless / classes
        votes[np.arange(messages), choose(chances, random.random(messages))] += 1
    return votes


def choose(chances: Floats, uniform: Floats) -> NDArray[np.intp]:
    """Return the class that each number in [0, 1) falls on, by inversion. ``chances`` has shape (messages, classes)."""
    classes: NDArray[np.intp] = (uniform[:, None] >= chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return classes
