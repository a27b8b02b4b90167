"""Probabilities that an answer is wrong, by their names or because wrong answers have higher numbers. All are asked about."""

from __future__ import annotations

from clueline.data.importing.column_mapping import ERROR_PROBABILITY
from clueline.data.readers.table.cells import number
from clueline.data.readers.table.columns import Column
from clueline.data.readers.table.evidence import auroc
from clueline.data.readers.table.guessing import Guessing
from clueline.data.readers.table.names import NEGATIONS, tokens

OF_ERROR = {"wrong", "error", "incorrect", "err", "false", "mistake", "hallucination", "failure"}
OF_PROBABILITY = {"p", "prob", "proba", "probability", "chance", "likelihood", "risk"}
OF_DOUBT = {"doubt", "unsure", "unconfident", "diffidence"}  # words that say by themselves that a high number is little sure
OF_CONFIDENCE = {"confident", "confidence", "sure", "certain"}
MAX_INVERTED = 0.4  # AUROC from which confidences may run the other way, if chance does not explain it
ERRORS = 2  # standard errors of an AUROC that chance explains
ROLES_OF_INVERTED = (ERROR_PROBABILITY, "uncertainty", "attribute")


def is_probability_of_error(column: Column) -> bool:
    """Whether a column of shares is named after the probability that an answer is wrong.

    >>> [is_probability_of_error(Column(name, ["0.5"])) for name in ("p_wrong", "error_probability", "not_confident", "p_true")]
    [True, True, True, False]
    """
    named = {*tokens(column.name)}
    doubts = bool(named & OF_DOUBT) or bool(named & NEGATIONS and named & OF_CONFIDENCE)
    return column.scale in ("unit", "percent") and (doubts or bool(named & OF_ERROR and named & OF_PROBABILITY))


def ask_about_probabilities_of_error(state: Guessing) -> bool:
    """Ask about the columns that are named after the probability of an error; return whether there are any."""
    named = [column for column in state.free if is_probability_of_error(column) and len(column.distinct) > 2]
    for column in named:
        reason = "is this the probability that the answer is wrong? Then 1 minus each number is the confidence"
        state.ask(reason, ROLES_OF_INVERTED, [column])
    return bool(named)


def ask_about_inverted(state: Guessing) -> None:
    """Ask about confidences that are so much higher for wrong answers that chance does not explain it."""
    grades = state.column("correct") or state.column("wrong")
    if grades is None or not grades.says_truth:
        return
    turned = "correct" not in state.roles
    right = [None if value is None else 1 - value if turned else value for value in grades.truths]
    for name in state.roles.get("confidence", ()):
        column = state.columns[name]
        if name in state.stated_columns or name in state.result.read_as or column.scale == "none":
            continue
        pairs = [
            (numeral[0], grade)
            for numeral, grade in zip(map(number, column.texts), right, strict=True)
            if numeral is not None and grade in (0, 1)
        ]
        counts = [sum(grade == value for _, grade in pairs) for value in (0, 1)]
        ranked = auroc(pairs)
        if ranked is None or ranked >= MAX_INVERTED:
            continue
        error = ((counts[0] + counts[1] + 1) / (12 * counts[0] * counts[1])) ** 0.5
        if ranked < 0.5 - ERRORS * error:
            reason = f"wrong answers have higher numbers than right ones (AUROC {ranked:.2f}): does a high number mean sure?"
            state.ask(reason, ("confidence", *ROLES_OF_INVERTED), [column])
