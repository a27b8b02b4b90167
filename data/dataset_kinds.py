"""The kinds of datasets: what a question is, and what an answer to it means."""

from __future__ import annotations

FORECAST = "forecast"
KINDS = (
    "incremental",  # questions that are revealed clue by clue
    "single",  # questions that are shown whole
    "lifeeval",  # ages at death, graded by the life table
    "votes",  # items with the votes of people
    FORECAST,  # questions of yes or no: the confidence is the probability of yes, and the correctness is the outcome
)
YES, NO = "yes", "no"  # the answers of forecast questions


def outcome(answer: str | None) -> float | None:
    """Return the outcome of a forecast question from its answer: yes, no, or a share from 0 to 1. None for anything else.

    >>> outcome("Yes"), outcome("no"), outcome("0.25"), outcome("later")
    (1.0, 0.0, 0.25, None)
    """
    text = (answer or "").strip().lower()
    if text in (YES, NO):
        return float(text == YES)
    try:
        share = float(text)
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None
