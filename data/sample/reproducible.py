"""Files and random numbers that are the same on every system: UTF-8, LF line endings, and only numpy's uniform numbers.

Other distributions of numpy can change with its version, so nothing else is drawn.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist

import numpy as np


def write_json(path: Path, facts: Mapping[str, object]) -> None:
    """Write ``dataset.json``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows below a header. None is an empty cell, a bool ``true`` or ``false``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([str(cell).lower() if isinstance(cell, bool) else cell for cell in row] for row in rows)


def generator(seed: int) -> np.random.Generator:
    """Return the generator of a bundle, which has only one."""
    return np.random.Generator(np.random.PCG64(seed))


def normals(random: np.random.Generator, count: int, spread: float) -> list[float]:
    """Draw normal numbers with mean 0 and standard deviation ``spread``, by inversion."""
    normal = NormalDist(0.0, spread)
    return [normal.inv_cdf(u) for u in (1.0 - random.random(count)).tolist()]
