"""The clue at which a run buzzes in one question."""

from __future__ import annotations

import msgspec
import numpy as np

from queries.buzzing.buzz_inputs import NO_LOGPROBS
from queries.metrics.kernels.arrays import Floats, Ints
from queries.metrics.kernels.buzzing import buzzpoints_at, possible_buzzpoints


class Buzzpoint(msgspec.Struct):
    """Where a run buzzes: at the first clue, counted from 0, whose score is strictly above its threshold; None if there is none.

    ``best`` says that no threshold was asked for and it is the run's best one on the selection.
    """

    threshold: float | None
    best: bool
    clue: int | None
    missing: str | None


def buzzpoint(clue: Ints, score: Floats, threshold: float | None, best: float | None = None) -> Buzzpoint:
    """Return the buzzpoint of a run in one question.

    Answers are in order of their clues, shape (answers,); unknown scores are NaN. ``best`` is used if no threshold was asked for.
    It must come from more questions than this one: a threshold that is best on one question says nothing about the run.

    Example:
        >>> buzzpoint(np.array([0, 1, 2]), np.array([0.2, 0.6, 0.9]), threshold=0.5)
        Buzzpoint(threshold=0.5, best=False, clue=1, missing=None)
    """
    used = best if threshold is None else threshold
    scored = bool(np.isfinite(score).any())
    if used is None or not scored:
        return Buzzpoint(None, False, None, "this selection has no best threshold: choose one" if scored else NO_LOGPROBS)
    passing = possible_buzzpoints(np.zeros(len(score), np.int64), score)
    first = clue[buzzpoints_at(passing, used)]
    return Buzzpoint(used, threshold is None, int(first[0]) if len(first) else None, None)
