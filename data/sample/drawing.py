"""Random numbers that stay the same with any numpy.

Only uniform numbers are drawn: how numpy makes others of them may change between its versions.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np


def generator(seed: int) -> np.random.Generator:
    """The only generator of a bundle."""
    return np.random.Generator(np.random.PCG64(seed))


def normals(random: np.random.Generator, count: int, spread: float) -> list[float]:
    """Normal numbers with mean 0, by inversion."""
    normal = NormalDist(0.0, spread)
    return [normal.inv_cdf(u) for u in (1.0 - random.random(count)).tolist()]
