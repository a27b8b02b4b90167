"""One metric of two runs, question by question, reduced to a size that fits on a page however many questions there are."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from data.store import Snapshot
from queries.engine.run_pairs import measure_pair, runs_by_id
from queries.metrics import Metric
from queries.metrics.kernels.arrays import Floats
from queries.selection import Selection

BINS = 41  # bins of the differences; odd, so that one is centred on 0
MIN_SPAN = 1e-9  # smallest span of differences that can be drawn
MAX_DOTS = 2000  # more dots would only be a cloud, and slow


class QuestionDot(msgspec.Struct, array_like=True):
    """One question, with the value of the metric for both runs."""

    question_id: str
    a: float
    b: float


class CategoryWins(msgspec.Struct, array_like=True):
    """On how many questions of a category run ``a`` is better, run ``b`` is better, or both are equal; None is no category."""

    category: str | None
    a: int
    b: int
    ties: int


class QuestionDifferences(msgspec.Struct):
    """One metric of two runs on the questions on which it is defined for both.

    Of more than 2,000 questions, ``dots`` are every n-th, in the dataset's order. ``widest`` is the largest absolute difference
    between a and b, at least 1e-9. ``differences`` counts questions by a - b in 41 bins of equal width from -widest to widest.
    """

    questions: int
    dots: list[QuestionDot]
    widest: float
    differences: list[int]
    wins: list[CategoryWins]


def question_differences(snapshot: Snapshot, selection: Selection, a: str, b: str, metric: Metric) -> QuestionDifferences:
    """Compare two runs by a metric that ranks runs and is defined on single questions, on those that both answered.

    Raises ``BadRequest`` if the dataset has no such run, or a run is compared with itself.
    """
    assert metric.single and metric.direction != "none"
    runs_by_id(snapshot, selection, a=a, b=b)
    pair = measure_pair(snapshot, selection, a, b, [metric])[metric.key]
    if pair is None:
        return QuestionDifferences(0, [], MIN_SPAN, [0] * BINS, [])
    evidence = pair.measured.evidence
    values = evidence.per_question(metric)
    values_a, values_b = (values[evidence.starts[run] :][: pair.questions] for run in (pair.a, pair.b))
    questions = evidence.questions[evidence.starts[pair.a] :][: pair.questions]
    defined = np.isfinite(values_a) & np.isfinite(values_b)
    values_a, values_b, questions = values_a[defined], values_b[defined], questions[defined]
    widest = float(np.abs(values_a - values_b).max(initial=MIN_SPAN))
    shown = slice(None, None, max(1, -(-len(questions) // MAX_DOTS)))
    dots = zip(questions[shown].tolist(), values_a[shown].tolist(), values_b[shown].tolist(), strict=True)
    return QuestionDifferences(
        questions=len(questions),
        dots=[QuestionDot(*dot) for dot in dots],
        widest=widest,
        differences=np.histogram(values_a - values_b, BINS, (-widest, widest))[0].tolist(),
        wins=_wins(snapshot, selection, questions, metric.loss(values_b) - metric.loss(values_a)),
    )


def _wins(snapshot: Snapshot, selection: Selection, questions: NDArray[np.object_], advantage: Floats) -> list[CategoryWins]:
    """Return the wins by category, from how much better ``a`` is on each question, shape (questions,)."""
    rows = snapshot.frame(
        "select question_id, category from questions where dataset = $dataset order by position", {"dataset": selection.dataset}
    )
    category_of = dict(rows.iter_rows())
    category = np.array([category_of[question] or "" for question in questions.tolist()], dtype=object)
    names, place = np.unique(category, return_inverse=True)
    counts = np.bincount(place * 3 + np.sign(advantage).astype(np.int64) + 1, minlength=3 * len(names)).reshape(-1, 3)
    wins = [
        CategoryWins(name or None, int(a), int(b), int(ties)) for name, (b, ties, a) in zip(names.tolist(), counts, strict=True)
    ]
    return sorted(wins, key=lambda row: (row.category is None, row.category))
