"""The states of an answer: what a row of responses is if it is not a guess with a confidence.

A stored row has the column ``failed``, and the column ``state`` for the states between an answer and a failed call. Metrics that
need a confidence are computed from answered rows only. Accuracy also counts the others, except failed calls.

A *scored* answer comes with a number that is no probability, such as an entropy. The number is an attribute of the response,
whose name says its direction (``SCORES``). In place of a confidence, its rank among the answers of the run is stored, between 0
and 1. Only metrics of order count these answers.
"""

from __future__ import annotations

from typing import Literal, get_args

State = Literal["answered", "scored", "no_confidence", "unparsed", "abstained", "failed"]
STATES: tuple[State, ...] = get_args(State)
STORED_STATES: tuple[State, ...] = ("scored", "no_confidence", "unparsed", "abstained")  # what the column ``state`` can hold
OTHER_STATES: tuple[State, ...] = (*STORED_STATES, "failed")  # in the order in which they are listed
NO_CONFIDENCE: tuple[State, ...] = ("no_confidence", "unparsed")  # the model answered, but its confidence does not count
NEVER_RIGHT: tuple[State, ...] = ("unparsed", "abstained", "failed")  # no grading makes such a row right
SCORES = {"certainty": 1, "uncertainty": -1}  # attributes of scored answers; the sign of what grows with how sure the model is


COUNTED: dict[State, tuple[str, str]] = {  # one row in this state, and several
    "scored": ("answer with a score that is no probability", "answers with a score that is no probability"),
    "no_confidence": ("answer without a confidence", "answers without a confidence"),
    "unparsed": ("unparsed answer", "unparsed answers"),
    "abstained": ("abstention", "abstentions"),
    "failed": ("failed call", "failed calls"),
}

LABELS: dict[State, str] = {state: state.replace("_", " ") for state in STATES}  # for a narrow column
WORDS: dict[State, str] = {  # in place of a confidence
    "answered": "answered",
    "scored": "its score is no probability",
    "no_confidence": "no confidence is stated",
    "unparsed": "no answer could be read",
    "abstained": "the model abstained",
    "failed": "no answer: the call failed",
}


def state_sql(row: str = "") -> str:
    """Return SQL for the state of a row of responses. ``row`` is the alias of the relation."""
    prefix = f"{row}." if row else ""
    return f"case when {prefix}failed then 'failed' else coalesce({prefix}state, 'answered') end"


def among_states(states: tuple[State, ...], row: str = "") -> str:
    """Return a SQL condition, never null: whether a row of responses is in one of some states.

    >>> among_states(("answered", "abstained"), "r")
    "(not r.failed and (r.state is null or r.state in ('abstained')))"
    """
    prefix = f"{row}." if row else ""
    named = ", ".join(f"'{state}'" for state in STORED_STATES if state in states)
    stored = f"{prefix}state in ({named})" if named else "false"
    if "answered" in states:
        stored = f"{prefix}state is null or {stored}" if named else f"{prefix}state is null"
    else:
        stored = f"coalesce({stored}, false)"
    answered = f"not {prefix}failed and ({stored})"
    return f"({prefix}failed or {answered})" if "failed" in states else f"({answered})"


ANSWERED = among_states(("answered",))
