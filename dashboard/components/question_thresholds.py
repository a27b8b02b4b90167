"""The thresholds at which the runs on a question's page buzz, with a box for one that all of them share."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from dashboard.components.controls import threshold_box
from dashboard.components.links import page_link
from dashboard.components.threshold_sliders import PATTERNS
from data.plurals import counted
from queries.buzzing import Rules


def question_thresholds(rules: Rules, scale: str, buzz_page: str) -> html.Div:
    """Return the box and a sentence on the thresholds.

    Args:
        rules: rules by which runs buzz.
        scale: scale of the thresholds, as the address states it.
        buzz_page: address of the Buzz page under the same rules.
    """
    score = "confidence" if rules.scale == "confidence" else "sum of token log-probabilities"
    own = counted(len(rules.thresholds), "run") if rules.thresholds else ""
    threshold = "its best threshold" if rules.threshold is None else f"{rules.threshold:g}"
    box = threshold_box(rules.threshold, "best", PATTERNS[rules.scale], "", scale)
    note: list[str | Component] = [
        f"◇ A run buzzes at the first clue at which its {score} is above {threshold}"
        + (f" ({own} {'has its' if len(rules.thresholds) == 1 else 'have their'} own)" if own else "")
        + ". ",
        page_link("Thresholds on Buzz", href=buzz_page),
    ]
    return html.Div(
        [html.Label(["Threshold", box], className="boxed"), html.P(note, className="note")], className="question-thresholds"
    )
