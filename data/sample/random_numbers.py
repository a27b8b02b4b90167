"""Random numbers that are the same with every version of numpy: only its uniform numbers are, so nothing else is drawn."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np


def generator(seed: int) -> np.random.Generator:
    """Return the generator of a bundle, which has only one."""
    return np.random.Generator(np.random.PCG64(seed))


def normals(random: np.random.Generator, count: int, spread: float) -> list[float]:
    """Draw normal numbers with mean 0 and standard deviation ``spread``, by inversion."""
    normal = NormalDist(0.0, spread)
    return [normal.inv_cdf(u) for u in (1.0 - random.random(count)).tolist()]
