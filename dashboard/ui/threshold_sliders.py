"""A threshold per run: a slider to move it, a box to type it, and a read-out that follows the slider.

Only the box is a control of the address; the slider fills it. The box is blank while the run has its default. The state of each
row is what the server has drawn; ``assets/threshold_explorer.js`` sets the slider and the read-out from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import MATCH, ClientsideFunction, Input, State, clientside_callback, dcc, html
from dash.development.base_component import Component

from clueline.dashboard.ui.controls import control, threshold_box
from clueline.dashboard.ui.figure import rounded
from clueline.dashboard.ui.html import aria, data
from clueline.dashboard.ui.runs import RunStyle, swatch
from clueline.dashboard.ui.text import CURVE_NAMES, percent, short
from clueline.queries.buzzing import ThresholdExplorer
from clueline.queries.buzzing.thresholds import RunThresholds, ThresholdOutcome

KEY = "threshold"
MAX_SLIDERS = 8  # more rows of sliders would push everything else down
# What a box accepts, by scale.
PATTERNS = {
    "confidence": r"0|1|1\.0+|0?\.[0-9]+(e-[0-9]{1,2})?|[1-9](\.[0-9]+)?e-[0-9]{1,2}",
    "logprob": r"0|0?\.0+|-([0-9]*\.)?[0-9]+(e-[0-9]{1,2})?",
}
NOUNS = ("expected wins", "points", "won")
STEP = 0.001  # of the sliders; the boxes take any number
DIGITS = 6  # significant digits of the steps that the browser follows; what the server draws is exact
MIN_LOG_PROBABILITY = -5.0  # below e^-5 there is little to choose; the slider goes lower only if a threshold does


def part(role: str, run: str, scale: str) -> dict[str, str]:
    """Return the id of a part of the control of a run's threshold on a scale."""
    return {"role": role, "run": run, "scale": scale}


def span(explorer: ThresholdExplorer, runs: Sequence[RunThresholds]) -> tuple[float, float]:
    """Return the lowest and highest threshold of the sliders and the figure."""
    if explorer.scale == "confidence":
        return 0.0, 1.0
    used = [run.outcome.threshold for run in runs] + [run.optimum.threshold if run.optimum else None for run in runs]
    lowest = min((run.curve.thresholds[0] for run in runs if run.curve), default=MIN_LOG_PROBABILITY)
    return min([max(lowest, MIN_LOG_PROBABILITY), *(value for value in used if value is not None)]), 0.0


def threshold_rows(
    explorer: ThresholdExplorer, runs: Sequence[RunThresholds], style: RunStyle, given: Sequence[str], scale: str
) -> html.Div:
    """Return a row per run, each with a curve. ``given`` and ``scale`` are as the address states them."""
    own = {text.rpartition(":")[0]: float(text.rpartition(":")[2]) for text in given if ":" in text}
    common = next((float(text) for text in given if ":" not in text), None)
    ends = span(explorer, runs)
    rows = []
    for run in runs:
        default = common if common is not None else run.optimum.threshold if run.optimum else None
        name, given_one, used = style.names[run.run], own.get(run.run), run.outcome.threshold
        shown = used if used is not None else ends[1]  # no best threshold, and none in the address
        numbers = readout(run.outcome)
        slider = dcc.Slider(
            min=ends[0], max=ends[1], step=STEP, value=shown, id=part("slide", run.run, scale), marks=None,
            allow_direct_input=False, updatemode="mouseup", included=False, className="slider single",
        )  # fmt: skip
        outcomes = [html.Span([html.B(number), f" {noun}"]) for number, noun in zip(numbers, NOUNS, strict=True)]
        state = _slider_state(run, name, shown, given_one, short(default), numbers)
        parts = [
            html.Div([swatch(style.colours.get(run.run)), html.Span(name, className="name")], className="who", title=name),
            slider,
            threshold_box(given_one, short(default), PATTERNS[explorer.scale], run.run, scale),
            html.Div(outcomes, className="readout"),
            dcc.Store(id=part("state", run.run, scale), data=state),
            html.Div(_origin_or_reset(run, given_one, common, default, name), className="kept"),
        ]
        shade = {"--shade": style.colour(run.run)}
        rows.append(html.Div(parts, className="threshold", style=shade, **data(run=run.run)))
    return html.Div(rows, className="thresholds", role="group", **aria(label="Thresholds"))


def _origin_or_reset(run: RunThresholds, own: float | None, common: float | None, default: float | None, name: str) -> Component:
    """Where a run's threshold comes from or, if it has its own, a button that resets it."""
    if own is not None:
        title = "Back to the threshold for all runs" if common is not None else "Back to the best threshold"
        label = "Reset" if default is None else f"Reset to {short(default)}"
        marks = data(reset=run.run) | aria(label=f"{label}: {name}")
        return html.Button(label, className="quiet", title=title, **marks)
    if run.outcome.threshold is None:
        return html.Span("enter a threshold", className="default")
    return html.Span("at the threshold for all runs" if common is not None else "at its best threshold", className="default")


def no_sliders(runs: int, given: bool) -> list[Component | str]:
    """Return what a page says if there are too many runs for sliders; ``given``: whether the address names thresholds."""
    at = "at its threshold in the address" if given else "at its best threshold"
    sentence = f"Each of these {runs} runs buzzes {at}. Choose up to {MAX_SLIDERS} runs in the filters to get a slider for each. "
    best = html.Button("Reset all to their best threshold", className="quiet", **data(set=f"{KEY}="))
    return [sentence, best] if given else [sentence]


def threshold_rule(explorer: ThresholdExplorer, names: Mapping[str, str]) -> str:
    """Say when a run buzzes, and what expected wins are."""
    worth = (
        f"this dataset's people have not answered yet (1 \u2212 h; h: {CURVE_NAMES[explorer.human_curve]})"
        if explorer.human_curve
        else "nobody has answered yet by the published curve (GRACE app. E.3)"
    )
    score = "its confidence" if explorer.scale == "confidence" else "the sum of its guess's token log-probabilities"
    return (
        f"A run buzzes at the first clue at which {score} is above its threshold. Expected wins: the mean probability that "
        f"{worth}, or 0 if the buzz is wrong. A best threshold is chosen on these same answers, so it looks better than it is."
        + "".join(f" No values for {names[run.run]}: {run.missing['threshold']}." for run in explorer.runs if run.curve is None)
    )


def readout(outcome: ThresholdOutcome) -> list[str]:
    """Return the outcome of a threshold in three numbers; ``assets/threshold_explorer.js`` updates them as the slider moves."""
    return [short(outcome.expected_wins), short(outcome.score, 2), percent(outcome.win)]


def _slider_state(
    run: RunThresholds, name: str, value: float, box: float | None, placeholder: str, numbers: list[str]
) -> dict[str, object]:
    assert run.curve is not None
    curve = run.curve
    steps = {
        "thresholds": curve.thresholds,  # exact, because values are compared with them
        "expected_wins": _rounded(curve.expected_wins),
        "score": _rounded(curve.score),
        "win": _rounded(curve.win),
    }
    wins = run.outcome.expected_wins
    return {
        "run": run.run, "name": name, "value": value, "box": box, "placeholder": placeholder, "numbers": numbers, "steps": steps,
        "dot": [value, wins] if wins is not None else None,
    }  # fmt: skip


def _rounded(values: list[float] | None) -> list[float | None] | None:
    return None if values is None else rounded(values, DIGITS)


SLIDER, STATE = (part(role, MATCH, MATCH) for role in ("slide", "state"))  # type: ignore[arg-type]
BOX = control(KEY, "threshold", MATCH, MATCH)  # type: ignore[arg-type]
# The first two each set what the other reads, a circle that ends when nothing changes; so they use ``set_props``.
clientside_callback(
    ClientsideFunction("clueline", "releaseSlider"),
    Input(SLIDER, "value"), State(STATE, "data"), State(BOX, "value"), State(BOX, "id"),
    prevent_initial_call=True,
)  # fmt: skip
clientside_callback(
    ClientsideFunction("clueline", "placeSlider"),
    Input(STATE, "data"), State(SLIDER, "value"), State(BOX, "value"), State(SLIDER, "id"), State(BOX, "id"),
    prevent_initial_call=True,
)  # fmt: skip
clientside_callback(
    ClientsideFunction("clueline", "followSlider"), Input(SLIDER, "drag_value"), Input(STATE, "data"), State(SLIDER, "id")
)
