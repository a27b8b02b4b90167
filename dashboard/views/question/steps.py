"""CalScore worked out clue by clue, and where each run buzzes."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html
from dash.development.base_component import Component

from dashboard.ui.controls import menu, threshold_box
from dashboard.ui.html import page_link
from dashboard.ui.numbers import CURVE_NAMES, short
from dashboard.ui.table import row, table
from dashboard.ui.threshold_sliders import PATTERNS
from data.plurals import counted
from queries.buzzing import Rules
from queries.calscore_steps import ClueSteps, RunSteps

KEY = "worked"
TITLE = "CalScore, clue by clue"


def clue_steps_section(result: ClueSteps, names: Mapping[str, str], default: str) -> html.Section:
    """Show the terms of GRACE eq. 1 and eq. 2 at each clue, and how they add up.

    ``default`` is the id of the run that is shown if the address names none.
    """
    (run,) = result.runs
    options = {"" if run_id == default else run_id: name for run_id, name in names.items()}
    chosen = "" if run.run == default else run.run
    heading = html.Div([html.H2(TITLE), menu(KEY, "Run", options, chosen)], className="heading")
    if run.missing is not None:
        return html.Section([heading, html.P(f"Nothing to work out: {run.missing}.", className="note")], className="section")
    return html.Section([heading, *_working(result, run)], className="section")


def _working(result: ClueSteps, run: RunSteps) -> list[Component]:
    first = run.steps[0].sample
    steps = [step for step in run.steps if step.sample == first]
    samples = len({step.sample for step in run.steps})
    rows = [
        row(
            f"{step.clue + 1}",
            html.Span(step.guess or "no answer"),
            *(short(value) for value in (step.correct, step.confidence, step.signed, step.h, step.adjusted)),
            *(short(value) for value in (step.buzz_mass, step.right, step.team_h, step.increment, step.gained)),
        )
        for step in steps
    ]
    head = ["Clue", "Guess", "y", "c", "g c", "h", "(1 − h) g c", "b", "Right so far", "h of teams", "m", "K = m × right"]
    total = sum(step.gained for step in steps)
    parts: list[Component] = [table(head, rows, TITLE, "board")]
    if samples > 1:
        parts.append(html.P(f"The first of {samples} samples; CalScore is the mean over all of them.", className="note"))
        total = (run.reward or 0.0) - (run.remainder or 0.0)
    parts += [
        html.P(
            f"CalScore: the mean of (1 − h) g c is {short(run.mean)}; rescaled to 0 to 1, r = {short(run.scaled)}, and "
            f"CalScore = 1 − r = {short(run.calscore)}."
        ),
        html.P(
            f"CalScore²: the sum of K is {short(total)}. For human teams that are never right, (1 − sum of m) × right at the end "
            f"adds {short(run.remainder)}. The reward is {short(run.reward)}, and CalScore² = 1 − reward = "
            f"{short(run.calscore2)}."
        ),
        html.P(
            f"y: correctness; c: confidence; g = 2 y − 1. h: {CURVE_NAMES[result.human_curve]}. b: probability that the run "
            "buzzes here, if its confidence is its probability of buzzing and it always buzzes at the last clue. Right so far: "
            f"probability that it has buzzed correctly. h of teams: {CURVE_NAMES[result.team_curve]}; m: its increase at this "
            "clue (GRACE eq. 1 and 2).",
            className="note",
        ),
    ]
    return parts


def question_thresholds(rules: Rules, scale: str, buzz_page: str) -> html.Div:
    """Return the box and a sentence on the thresholds. ``scale`` is as the address states it."""
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
