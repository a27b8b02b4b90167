"""Numbers as pages show them: three decimals and a true minus sign."""

from __future__ import annotations

DASH = "–"
# Columns of what is stated and of what came true, by whether answers are forecasts.
CALIBRATION_COLUMNS = {False: ("Mean confidence", "Accuracy"), True: ("Mean probability of yes", "Mean outcome")}
CURVE_NAMES = {
    "buzz_share": "share of human buzzes that were correct so far",
    "release_share": "correct human buzzes so far, as a share of all human buzzes on the question",
    "team_share": "share of human teams that have answered correctly so far",
    "survival": "share of teams right so far, allowing for questions that others ended (Aalen-Johansen)",
}
DIFFICULTY_SOURCES = {
    "given": "given with the dataset",
    "rooms": "1 − share of rooms in which the question was answered correctly (at most one team per room can be right)",
    "human": "1 − share of human teams that were right",
    "runs": "1 − mean accuracy of the runs; slopes use, for each run, the runs of other models with other answers",
}


def short(value: float | None, digits: int = 3) -> str:
    """Return a number for a table; a dash if there is none."""
    if value is None:
        return DASH
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.replace("-", "")
    return text.replace("-", "\u2212")


def tick(correct: float | None) -> str:
    """Return a check mark for right, a cross for wrong, and a number for what is partly right."""
    return {0.0: "✗", 1.0: "✓"}.get(correct, short(correct, 2)) if correct is not None else DASH


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share, from 0 to 1, as a percentage; a dash if there is none."""
    return DASH if share is None else f"{short(100 * share, digits)} %"


def p_value_text(p_value: float | None) -> str:
    """Return a p-value for a table; a dash if there is none."""
    if p_value is None:
        return DASH
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
