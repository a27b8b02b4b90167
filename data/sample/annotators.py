"""Simulated annotators, each of whom votes once on every message.

The chance that an annotator chooses a class is, careful, proportional to the share that the message is meant to get of
it times exp(bent), the bent being the annotator's own for that class; careless, it is the same for all classes. How
often an annotator is careless is its own, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from data.sample.drawing import generator, normals

Floats = NDArray[np.float64]
ANNOTATORS = 100
BENT_SPREAD = 0.5  # standard deviation of a bent
CARELESS = (0.01, 0.06)  # chance of a careless vote: between these, uniformly


def poll(shares: Sequence[Sequence[float]], seed: int) -> NDArray[np.int64]:
    """Let everybody vote on everything.

    Args:
        shares: of the classes as meant, shape (messages, classes), rows above 0 that sum to 1.
        seed: of the only random generator.

    Returns:
        Votes, shape (messages, classes); rows sum to ``ANNOTATORS``.
    """
    random = generator(seed)
    meant = np.array(shares)
    messages, classes = len(shares), len(shares[0])
    votes = np.zeros((messages, classes), dtype=np.int64)
    for _ in range(ANNOTATORS):
        bents = np.exp(normals(random, classes, BENT_SPREAD))
        careless = CARELESS[0] + (CARELESS[1] - CARELESS[0]) * random.random()
        careful = meant * bents
        chances: Floats = (1 - careless) * careful / careful.sum(axis=1, keepdims=True) + careless / classes
        votes[np.arange(messages), choose(chances, random.random(messages))] += 1
    return votes


def choose(chances: Floats, uniform: Floats) -> NDArray[np.intp]:
    """Class that each number in [0, 1) falls on, by inversion; chances of shape (messages, classes)."""
    return (uniform[:, None] >= chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
