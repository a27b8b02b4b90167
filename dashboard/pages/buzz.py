"""Buzz: at which threshold each run does best, what becomes of it against people, and when everybody buzzes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from dash import html
from dash.development.base_component import Component

from dashboard.cached_queries import question_order
from dashboard.components.attributes import aria, data
from dashboard.components.controls import menu
from dashboard.components.figure import figure
from dashboard.components.filters import filter_keys
from dashboard.components.links import page_link
from dashboard.components.messages import nothing_selected
from dashboard.components.numbers import CURVE_NAMES, DASH, count, short
from dashboard.components.run_names import COLOURS, colours, legend, run_names, swatch
from dashboard.components.thresholds import KEY, span, threshold_rows
from dashboard.figures.buzzes import curve_name, curves_figure, habits_figure
from dashboard.figures.style import INK
from dashboard.figures.thresholds import outcomes_figure, wins_figure
from dashboard.service import service
from dashboard.view import PageParameters, PageRequest, View, question_path, register
from queries.buzzing import Buzz, BuzzCurves, BuzzRates, Rules, ThresholdExplorer, buzz
from queries.buzzing.results import RunThresholds
from queries.buzzing.rules import CURVES, RULES, SCALES

PATH = "/buzz"
SLIDERS = COLOURS  # beyond as many runs, sliders would push everything else out of sight
LISTED = 12  # steps of a run's curve in its table
MARKS = (0.2, 0.4, 0.6, 0.8, 1.0)
SCALE_NAMES = {"confidence": "Confidence", "logprob": "Token log-probability"}
RATES = (("buzz_rate", "Buzzes per clue"), ("survey_score", "Survey score"))
ROOM_COLUMNS = ("Run", "Wins", "95 % interval", "of which not sure", "Neither", "People win", "95 % interval", "Questions")
Names = Mapping[str, str]


class BuzzPage(PageParameters, frozen=True):
    """How runs buzz."""

    rules: Annotated[Rules, RULES] = msgspec.field(default_factory=Rules)


def draw(request: PageRequest[BuzzPage]) -> Sequence[Component | None]:
    """The threshold explorer, runs against people, buzzes along the question, and buzzes given what a guess was worth."""
    rules = request.parameters.rules
    result = service().ask(buzz, request.selection, rules)
    if not result.questions:
        return [nothing_selected(PATH, request.selection, "questions")]
    if result.missing:
        return [_not_read(request)]
    shades = colours(request.facets, request.selection)
    names = run_names(result.explorer.runs)
    runs = bool(result.explorer.runs)
    return [
        _heading(request, result, rules),
        _explorer(request, result.explorer, names, shades) if runs else nothing_selected(PATH, request.selection, "answers"),
        _rooms(result.explorer, names, shades) if runs else None,
        _curves(result.curves, names, shades),
        _habits(result.habits, names, shades),
    ]


def _not_read(request: PageRequest[BuzzPage]) -> html.Section:
    """The dataset's questions are not read clue by clue: those whose questions are."""
    others = [html.Li(page_link(dataset.title, href=f"{PATH}?dataset={dataset.dataset}")) for dataset in _read_by_clue(request)]
    return html.Section(
        [
            html.H1("Nobody buzzes here"),
            html.P(
                f"Buzzing needs questions that are read clue by clue (datasets of kind incremental), so that a player chooses "
                f"when to answer. Those of {request.facets.title} are asked whole."
            ),
            html.P("Datasets that have it:" if others else "The store holds no dataset that has it."),
            html.Ul(others, className="choices"),
        ],
        className="panel",
    )


def _read_by_clue(request: PageRequest[BuzzPage]) -> list[Any]:
    return [
        dataset
        for dataset in service().datasets()
        if dataset.kind == "incremental" and dataset.dataset != request.selection.dataset
    ]


def _heading(request: PageRequest[BuzzPage], result: Buzz, rules: Rules) -> html.Div:
    counts = f"{count(len(result.explorer.runs), 'run')}, {count(result.questions, 'question')}"
    parts: list[Component] = [html.H1("Buzz"), html.P(f"{request.facets.title}: when to answer, {counts}", className="lead")]
    if "logprob" in result.explorer.scales or rules.scale == "logprob":
        written = request.written("scale")
        options = {written if written == SCALES[0] else "": SCALE_NAMES[SCALES[0]], SCALES[1]: SCALE_NAMES[SCALES[1]]}
        parts.append(menu("scale", "Scale of the threshold", options, written, kind="scale"))
    if request.facets.human_teams or rules.curve == "dataset":
        own = "dataset" if rules.curve == "dataset" else ""
        parts.append(menu("curve", "Opponents", {"": "Published curve", CURVES[1]: "This dataset's people"}, own))
    return html.Div(parts, className="heading")


def _explorer(request: PageRequest[BuzzPage], explorer: ThresholdExplorer, names: Names, shades: dict[str, str]) -> html.Section:
    """Expected wins over the threshold, a slider per run, and what comes of the thresholds."""
    drawable = [run for run in explorer.runs if run.curve is not None]
    valued = [run for run in drawable if run.curve and run.curve.expected_wins is not None]
    few = len(explorer.runs) <= SLIDERS
    ends = span(explorer, drawable)
    given = request.texts.get(KEY, [])
    parts: list[Component | None] = [html.H2("Thresholds"), html.P(_said_of(explorer, names), className="note")]
    if valued:
        parts.append(
            figure(
                "wins",
                wins_figure(valued, names, shades, explorer.scale, ends, few),
                "Expected wins over the threshold. ◇ best threshold" + (", ● threshold in use" if few else ""),
                _steps_table(valued, names),
            )
        )
    else:
        why = [run.missing.get("optimum", run.missing.get("threshold", "")) for run in explorer.runs]
        reason = "; ".join(dict.fromkeys(filter(None, why)))
        parts.append(html.P(f"There are no expected wins to draw: {reason}.", className="note"))
    if few:
        written = request.written("scale")
        parts.append(threshold_rows(explorer, drawable, names, shades, given, written) if drawable else None)
    else:
        parts.append(html.Div(_no_sliders(len(explorer.runs), bool(given)), className="note"))
    parts.append(_outcomes(explorer, names, shades))
    parts.append(_to_questions(request))
    return html.Section(parts, className="explorer")


def _to_questions(request: PageRequest[BuzzPage]) -> html.P:
    """The way to the first question of the selection, at these thresholds; from there one walks on to the next."""
    first = question_order(request.selection, "").questions[0]
    keys: dict[str, str | Sequence[str] | None] = {key: request.texts.get(key) for key in RULES.keys}
    path = question_path(request.selection.dataset, first)
    return html.P(
        page_link("Where each run buzzes, question by question", href=request.link(path, dataset=None, **keys)), className="note"
    )


def _no_sliders(runs: int, given: bool) -> list[Component | str]:
    at = "at the thresholds of the address" if given else "at its best threshold"
    sentence = f"Each of these {runs} runs buzzes {at}. Choose up to {SLIDERS} runs in the filters to move theirs with a slider. "
    best = html.Button("All to their best threshold", className="quiet", **data(set=f"{KEY}="))
    return [sentence, best] if given else [sentence]


def _said_of(explorer: ThresholdExplorer, names: Names) -> str:
    worth = (
        f"this dataset's people have not answered (1 \u2212 h, h the {CURVE_NAMES[explorer.human_curve]})"
        if explorer.human_curve
        else "the published curve says that nobody has answered (GRACE app. E.3)"
    )
    score = "its confidence" if explorer.scale == "confidence" else "the sum of its guess's token log-probabilities"
    return (
        f"A run buzzes at the first clue at which {score} is above its threshold. Expected wins: the mean over questions of the "
        f"chance with which {worth}, where that buzz is correct."
        + "".join(
            f" Of {names[run.run]} there is nothing: {run.missing['threshold']}." for run in explorer.runs if run.curve is None
        )
    )


COLUMNS = (
    ("threshold", "Threshold", "Answers at the first clue above it"),
    ("expected_wins", "Expected wins", "Mean over questions of the chance that nobody has answered, where the buzz is correct"),
    ("best", "Best", "The greatest expected wins, and the thresholds that have them"),
    ("correct", "Correct", "Correct buzzes"),
    ("incorrect", "Incorrect", "Incorrect buzzes"),
    ("no_buzz", "No buzz", "Questions without a buzz"),
    ("revealed", "Revealed", "Mean fraction of the question revealed at the buzz"),
    (
        "score",
        "Points",
        "Points per question against a human team of it, with a 95 % interval: 10 for a correct buzz that comes first, −5 for an "
        "incorrect one",
    ),
)


def _outcomes(explorer: ThresholdExplorer, names: Names, shades: dict[str, str]) -> Component:
    rows = []
    for run in explorer.runs:
        cells: list[Component] = [_who(names[run.run], shades.get(run.run))]
        for key, _, meaning in COLUMNS:
            title = _why(run, key) or meaning
            content: list[Component | str] = [_cell(run, key)]
            if key in run.intervals:
                title += f"; 95 % interval {_ends(run, key, short)}"
            if key == "score" and key in run.intervals:
                content.append(html.Div(_ends(run, key, lambda end: short(end, 2)), className="by"))
            cells.append(html.Td(content, className="number", title=title, **data(key=key)))
        rows.append(html.Tr(cells, **data(run=run.run)))
    head = [html.Th(label, scope="col", title=meaning, className="number") for _, label, meaning in COLUMNS]
    return _table([html.Th("Run", scope="col"), *head], rows, "What comes of each threshold", "outcomes")


def _why(run: RunThresholds, key: str) -> str | None:
    return run.missing.get("optimum" if key == "best" else key)


def _cell(run: RunThresholds, key: str) -> str:
    if key == "best":
        return DASH if run.optimum is None else f"{short(run.optimum.expected_wins)} {_interval(run)}"
    value = getattr(run.outcome, key)
    if value is None:
        return DASH
    if key in ("correct", "incorrect", "no_buzz"):
        return f"{value:,.6g}"
    return short(value, 2 if key == "score" else 3)


def _interval(run: RunThresholds) -> str:
    best = run.optimum
    assert best is not None
    low = short(best.threshold)
    if best.until is None:
        return f"at {low} and above"
    high = short(best.until)
    return f"below {high}" if best.open_below else f"at {low}" if low == high else f"at {low} to {high}"


def _steps_table(runs: Sequence[RunThresholds], names: Names) -> Component:
    """Some steps of each curve, evenly among those that there are."""
    rows = []
    for run in runs:
        curve = run.curve
        assert curve is not None and curve.expected_wins is not None
        last = len(curve.thresholds) - 1
        chosen = sorted({round(index * last / (LISTED - 1)) for index in range(LISTED)})
        for step in chosen:
            rows.append(
                html.Tr(
                    [
                        html.Th(names[run.run], scope="row"),
                        html.Td(f"{curve.thresholds[step]:.4g}".replace("-", "\u2212"), className="number"),
                        html.Td(short(curve.expected_wins[step]), className="number"),
                        html.Td(short(curve.score[step], 2) if curve.score else DASH, className="number"),
                        html.Td(_share(curve.win[step]) if curve.win else DASH, className="number"),
                    ]
                )
            )
    return _table(["Run", "Threshold", "Expected wins", "Points", "Won"], rows, "Expected wins at some thresholds of each run")


def _share(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:.1f} %"


def _rooms(explorer: ThresholdExplorer, names: Names, shades: dict[str, str]) -> html.Section:
    """Win, loss or neither against the human teams of the same questions."""
    played = [run for run in explorer.runs if run.outcome.win is not None]
    title = html.H2("Against the human teams")
    if not played:
        why = next((run.missing["win"] for run in explorer.runs if "win" in run.missing), "")
        without = html.P(f"There is no win probability: {why}.", className="note")
        return html.Section([title, without], className="rooms")
    note = (
        "One question against one human team drawn evenly from those that heard it, which does what it did in its own match. "
        "A run wins by answering correctly first, and loses where the team answers correctly and the run has not. "
        "Intervals are over questions, at the threshold as it is."
    )
    if any(run.outcome.unsure for run in played):
        note += (
            " Hatched: wins over teams whose question was ended by others before the run buzzed. What they would have done is "
            "not recorded; they count as teams that had not answered."
        )
    rows = [
        html.Tr(
            [
                _who(names[run.run], shades.get(run.run)),
                *(html.Td(text, className="number") for text in _room_of(run)),
                html.Td(f"{run.heard:,}", className="number"),
            ]
        )
        for run in played
    ]
    return html.Section(
        [
            title,
            html.P(note, className="note"),
            figure(
                "rooms",
                outcomes_figure(played, names, shades),
                "Share of questions: in the colour of the run, won by it (hatched: not sure); light, won by neither; in the "
                "colour of the text, won by people",
                _table(ROOM_COLUMNS, rows, "Against the human teams"),
            ),
        ],
        className="rooms",
    )


def _room_of(run: RunThresholds) -> tuple[str, ...]:
    outcome = run.outcome
    assert outcome.win is not None and outcome.loss is not None
    neither = 1 - outcome.win - outcome.loss
    win, loss = (_ends(run, name, _share) for name in ("win", "loss"))
    return _share(outcome.win), win, _share(outcome.unsure), _share(neither), _share(outcome.loss), loss


def _ends(run: RunThresholds, name: str, written: Callable[[float], str]) -> str:
    """An interval in words; a dash where there is none."""
    ends = run.intervals.get(name)
    return DASH if ends is None else f"{written(ends.low)} to {written(ends.high)}"


def _curves(curves: BuzzCurves, names: Names, shades: dict[str, str]) -> html.Section:
    """Cumulative buzzes along the question."""
    drawn = [curve for curve in curves.curves if curve.correct is not None]
    parts: list[Component | None] = [html.H2("Buzzes along the question")]
    if any(curve.name == "Q1" for curve in drawn):
        note = (
            "People in quartiles of teams by their correct buzzes on these questions, each pooled over the questions that its "
            "teams heard; runs at their thresholds in use."
        )
    else:
        note = "Runs at their thresholds in use."
    gaps: dict[str, list[str]] = {}
    for curve in curves.curves:
        if curve.missing:
            gaps.setdefault(curve.missing, []).append(curve_name(curve, names))
    not_drawn = [f" Not drawn: {', '.join(who)} ({why})." for why, who in gaps.items()]
    parts.append(html.P([note, *not_drawn], className="note"))
    if drawn:
        parts.append(legend([curve.name for curve in drawn if curve.kind == "run"], names, shades))
        parts.append(
            figure(
                "curves",
                curves_figure(curves, names, shades),
                "Cumulative buzzes over the fraction of the question revealed: solid, correct; dotted, incorrect",
                _curves_table(curves, names),
            )
        )
    return html.Section(parts, className="buzz-curves")


def _curves_table(curves: BuzzCurves, names: Names) -> Component:
    at = [round(mark * (len(curves.revealed) - 1)) for mark in MARKS]
    rows = []
    for curve in curves.curves:
        for kind in ("correct", "incorrect"):
            values = getattr(curve, kind)
            if values is None:
                continue
            rows.append(
                html.Tr(
                    [
                        html.Th(curve_name(curve, names), scope="row"),
                        html.Td(kind),
                        *(html.Td(short(values[index]), className="number") for index in at),
                        html.Td(f"{curve.teams:,}" if curve.kind == "human" else "", className="number"),
                        html.Td(f"{curve.heard:,}", className="number"),
                    ]
                )
            )
    head = ["Who", "Buzzes", *(f"by {mark:.0%}" for mark in MARKS), "Teams", "Questions heard"]
    return _table(head, rows, "Cumulative buzzes per question heard")


def _habits(rates: BuzzRates, names: Names, shades: dict[str, str]) -> html.Section:
    """P(buzz | correct) and P(buzz | incorrect)."""
    people = [team for team in rates.teams if team.kind == "human" and team.teams]
    note = (
        "Clue by clue up to the first buzz, how often a run buzzes when its guess is correct, and how often when it is not: the "
        "further apart, the better it knows what it knows. "
    )
    if people:
        note += (
            "Of people these chances are missing, since what a team would have answered before it buzzed is not recorded. Their "
            "buzzes of either kind per clue heard are the least that the chances can be."
        )
    else:
        note += "No human team heard these questions."
    rows = [
        html.Tr(
            [
                _who(names[run.run], shades.get(run.run)),
                *(
                    html.Td(short(getattr(run, key)), className="number", title=run.missing.get(key, ""), **data(key=key))
                    for key in ("given_correct", "given_incorrect", *(key for key, _ in RATES))
                ),
            ],
            **data(run=run.run),
        )
        for run in rates.runs
    ]
    for team in rates.teams:
        if not team.teams:
            continue
        who = {"people": "People, all"}.get(team.name, f"People, {team.name}") if team.kind == "human" else f"{team.name} (team)"
        rows.append(
            html.Tr(
                [
                    _who(who, INK if team.kind == "human" else None),
                    *(
                        html.Td(
                            f"≥ {short(rate)}" if rate is not None else DASH,
                            className="number",
                            title=team.missing.get(key, "") + f"; a mean over {count(team.teams, 'team')}",
                        )
                        for key, rate in (("given_correct", team.correct_rate), ("given_incorrect", team.incorrect_rate))
                    ),
                    *(
                        html.Td(short(getattr(team, key)), className="number", title=team.missing.get(key, ""))
                        for key, _ in RATES
                    ),
                ]
            )
        )
    labels = ("P(buzz | correct)", "P(buzz | incorrect)", *(label for _, label in RATES))
    head = [html.Th("Who", scope="col"), *(html.Th(label, scope="col", className="number") for label in labels)]
    return html.Section(
        [
            html.H2("Buzzing when right, holding back when wrong"),
            html.P(note, className="note"),
            figure(
                "habits",
                habits_figure(rates, names, shades),
                "○ given a correct guess, × given an incorrect one" + ("; ▶ ▷ of people, at least" if people else ""),
            ),
            _table(head, rows, "How often everybody buzzes", "habits"),
        ],
        className="habits-section",
    )


def _who(name: str, colour: str | None) -> html.Th:
    return html.Th([swatch(colour), html.Span(name, className="name")], scope="row")


def _table(head: Sequence[str | html.Th], rows: Sequence[html.Tr], label: str, name: str = "") -> html.Div:
    cells = [cell if isinstance(cell, html.Th) else html.Th(cell, scope="col") for cell in head]
    inside = html.Table([html.Thead(html.Tr(cells)), html.Tbody(list(rows))], className=name)
    return html.Div(inside, className="scroll", tabIndex="0", role="region", **aria(label=label))


VIEW = register(
    View(
        name="buzz", path=PATH, title="Buzz", place=40, draw=draw, parameters=BuzzPage,
        filters=("run", *filter_keys(), "human", "failed"), common=False,
    )
)  # fmt: skip
