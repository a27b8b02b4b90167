"""Buzz: the best threshold of each run, how it does against people, and when runs and people buzz."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Annotated, Any

import msgspec
from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.composed import question_order
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import Column, Table, column, columns, fields, parts, reasons
from clueline.dashboard.registry.views import RESAMPLED, Cited, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.controls import filter_keys, menu
from clueline.dashboard.ui.figure import PlotlyJson, bars, dots, drawn
from clueline.dashboard.ui.html import data, folded, heading, items_query, note, page_link, section
from clueline.dashboard.ui.messages import dataset_links, nothing_selected
from clueline.dashboard.ui.runs import RunStyle, highlighted_runs, run_style
from clueline.dashboard.ui.table import Cell, PageColumn, html_table, over_note, second_note, with_second
from clueline.dashboard.ui.text import DASH, brackets, percent, short
from clueline.dashboard.ui.threshold_sliders import KEY, MAX_SLIDERS, no_sliders, span, threshold_rows, threshold_rule
from clueline.dashboard.views.buzz.curves import buzz_categories, buzz_curves, buzz_rates, people_median_section
from clueline.data.plurals import counted
from clueline.queries.buzzing import (
    Buzz,
    BuzzParameters,
    PeopleMedian,
    Rules,
    ThresholdExplorer,
    buzz,
    category_outcomes,
    people_median,
)
from clueline.queries.buzzing.by_category import CategoryOutcome
from clueline.queries.buzzing.parameters import RULES, SCALES, default_curve
from clueline.queries.buzzing.thresholds import RunThresholds, ThresholdOutcome

INTERVALS = ("expected_wins", "score", "win", "loss")


def _end(name: str, end: str) -> Column:
    return column(f"{name}_{end}", lambda row: getattr(row[0].intervals.get(name), end, None))


# Values that are over others than all questions that a run answered, by the count of these.
OVER = {"expected_wins": "counted", "best": "counted", "score": "heard", "win": "heard", "loss": "heard", "unsure": "heard"}


def _over_its_questions(shown: Column) -> Column:
    if shown.key not in OVER:
        return shown
    return replace(shown, questions=lambda row: getattr(row[0], OVER[shown.key]))


def _optimum(key: str, name: str) -> Column:
    return column(key, lambda row: getattr(row[0].optimum, name, None))


def _runs(answer: Buzz) -> Iterator[tuple[object, ...]]:
    """Yield each run's outcomes, its habits, the explorer and its outcome at its threshold."""
    for run, habit in zip(answer.explorer.runs, answer.habits.runs, strict=True):
        yield run, habit, answer.explorer, run.outcome


def _shares(answer: PeopleMedian) -> Iterator[tuple[object, ...]]:
    for run in answer.runs:
        shares = [
            ("earlier", None, None, run.questions, run.earlier),
            *(("within", words, None, run.questions, share) for words, share in zip(answer.words, run.within, strict=False)),
            *(("earlier", None, part.category, part.questions, part.earlier) for part in run.categories),
        ]
        for *facts, share in shares:
            ends = (share.share, share.low, share.high, None, share.no_interval) if share else (*[None] * 3, run.missing, None)
            yield run.run, run.model, run.elicitation, run.threshold, *facts, *ends


BUZZ = serve(
    "buzz",
    buzz,
    BuzzParameters,
    """Buzzing: expected wins by threshold, runs against people, buzz curves, and buzzing habits. Buzzes are over `questions`,
        expected wins over `counted` of them, and what compares with teams over those `heard`. If the end of some `plays` of
        people is not stated, `second` has values that differ without them.""",
    Table(
        "A row per run: outcomes at its threshold, its best threshold, how often it buzzes. `missing` says why a cell is blank.",
        rows=_runs,
        columns=(
            *columns("run", "model", "elicitation", "questions", "counted", "heard", "items", "unscored", at=0),
            *columns("scale", "curve", "human_curve", at=2),
            *map(_over_its_questions, fields(ThresholdOutcome, at=3)),
            *(_end(name, end) for name in INTERVALS for end in ("low", "high")),
            _optimum("optimum", "threshold"),
            _optimum("optimum_until", "until"),
            _optimum("optimum_expected_wins", "expected_wins"),
            *columns("given_correct", "given_incorrect", "buzz_rate", "survey_score", at=1),
            column("missing", lambda row: reasons(row[0].missing | row[1].missing)),
            column("no_interval", lambda row: reasons(row[0].no_interval)),
        ),
    ),
    unused=("binning", "beta", "t", "undisputed", "primary"),
)
CATEGORIES = serve(
    "buzz/categories",
    category_outcomes,
    BuzzParameters,
    "Correct and incorrect buzzes by category, and their ratio, for people, for models that played as teams, and for runs.",
    Table(
        "The same as CSV, a row per group and category.",
        rows=lambda answer: [(group, outcome) for group in answer.groups for outcome in group.categories],
        columns=(*columns("name", "kind", "threshold", at=0), *fields(CategoryOutcome, at=1)),
    ),
    unused=("binning", "beta", "t", "failed", "undisputed", "cluster", "primary"),
)
MEDIAN = serve(
    "buzz/median",
    people_median,
    BuzzParameters,
    """How often each run is right before the median of the correct human buzzes, or within some words of it, and how often
        it is earlier by category, with intervals.""",
    Table(
                "The same as CSV: of each run, a row for `earlier`, one for each number of words `within`, and `earlier` by "
                "category.",
                rows=_shares,
                columns=parts(
                    "run", "model", "elicitation", "threshold", "what", "words", "category", "questions", "share", "low", "high",
                    "missing", "no_interval",
                ),
            ),
    unused=("binning", "beta", "t", "failed", "undisputed", "primary"),
)  # fmt: skip


def threshold_explorer_section(
    explorer: ThresholdExplorer, style: RunStyle, given: Sequence[str], scale: str, questions: str
) -> html.Section:
    """Return the section. ``given`` and ``scale`` are as the address has them; ``questions`` is that of the first question."""
    drawable = [run for run in explorer.runs if run.curve is not None]
    valued = [run for run in drawable if run.curve and run.curve.expected_wins is not None]
    few = len(explorer.runs) <= MAX_SLIDERS
    if valued:
        wins: Component | str = fig.figure(
            "wins",
            wins_figure(valued, style, explorer.scale, span(explorer, drawable), few),
            "Expected wins over the threshold. ◇ best threshold" + (", ● threshold in use" if few else ""),
            curve_table(valued, style),
            style.legend([run.run for run in valued]),
        )
    else:
        why = [run.missing.get("optimum", run.missing.get("threshold", "")) for run in explorer.runs]
        wins = f"There are no expected wins to draw: {'; '.join(dict.fromkeys(filter(None, why)))}."
    sliders: Component | None = html.Div(no_sliders(len(explorer.runs), bool(given)), className="note")
    if few:
        sliders = threshold_rows(explorer, drawable, style, given, scale) if drawable else None
    outcomes = [PageColumn(label, partial(_outcome, key, meaning), about=meaning, number=True) for key, label, meaning in COLUMNS]
    answered = PageColumn("Questions", "questions", about="Questions that the run answered, unless a value says others")
    return section(
        "Thresholds",
        threshold_rule(explorer, style.names),
        wins,
        sliders,
        folded(
            "Outcomes of each threshold",
            html_table(
                [style.column(), answered, *outcomes],
                explorer.runs,
                "Outcomes of each threshold",
                "outcomes",
                of_row=lambda run: data(run=run.run),
            ),
            unfolded=not few,
        ),
        note(page_link("Where each run buzzes, question by question", href=questions)),
        class_name="explorer",
    )


def against_teams(explorer: ThresholdExplorer, style: RunStyle) -> html.Section:
    """Return how often each run wins, loses or does neither against a human team, as a figure and a table."""
    played = [run for run in explorer.runs if run.outcome.win is not None]
    title = "Against the human teams"
    if not played:
        why = next((run.missing["win"] for run in explorer.runs if "win" in run.missing), "")
        return section(title, f"There is no win probability: {why}.", class_name="rooms")
    words = "One question against a random human team that heard it and does what it did then. The first correct answer wins."
    if any(run.outcome.unsure for run in played):
        words += (
            " Hatched: wins over teams whose question others ended before the run buzzed; what they would have done is not known."
        )
    columns = [
        style.column(),
        PageColumn("Wins", partial(_share, "win"), percent, number=True),
        PageColumn("95 % interval", lambda run: interval_text(run, "win", percent), number=True),
        PageColumn("Uncertain wins", lambda run: run.outcome.unsure, percent, number=True),
        PageColumn("Neither", lambda run: 1 - run.outcome.win - run.outcome.loss, percent),
        PageColumn("People win", partial(_share, "loss"), percent, number=True),
        PageColumn("95 % interval", lambda run: interval_text(run, "loss", percent), number=True),
        PageColumn("Questions", "heard"),
    ]
    return section(
        title,
        words,
        fig.figure(
            "rooms",
            outcomes_figure(played, style),
            "Share of questions. In the run's colour: won by the run (hatched: uncertain); light: won by neither; in the "
            "colour of the text: won by people",
            html_table(columns, played, title),
        ),
        class_name="rooms",
    )


def _share(key: str, run: RunThresholds) -> object:
    return with_second(getattr(run.outcome, key), run.outcome.second.get(key), percent, run.second.get("heard"))


def _outcome(key: str, meaning: str, run: RunThresholds) -> Cell:
    title = run.missing.get("optimum" if key == "best" else key) or meaning
    over, second = getattr(run, OVER.get(key, "questions")), run.outcome.second.get(key)
    content: list[Component | str | None] = [_cell(run, key)]
    if content != [DASH]:
        content.append(over_note(over, run.questions))
    if key == "best" and run.optimum:
        second = run.optimum.second.get("expected_wins")
    content.append(second_note(second, questions=run.second.get(OVER.get(key, ""))))
    if key in run.intervals:
        title += f"; 95 % interval {interval_text(run, key, short)}"
    elif key in run.no_interval:
        title += f"; no interval, because {run.no_interval[key]}"
    if key == "score" and key in run.intervals:
        content.append(html.Div(interval_text(run, key, lambda end: short(end, 2)), className="by"))
    return Cell(content, title, attributes=data(key=key))


LISTED = 12  # steps of a run's curve in the table

COLUMNS = (
    ("threshold", "Threshold", "The run buzzes at the first clue above it"),
    (
        "expected_wins",
        "Expected wins",
        "Mean over questions of the chance that nobody has answered yet; 0 if the buzz is not correct",
    ),
    ("best", "Best", "The highest expected wins, and the thresholds that reach them"),
    ("correct", "Correct", "Correct buzzes"),
    ("incorrect", "Incorrect", "Incorrect buzzes"),
    ("no_buzz", "No buzz", "Questions without a buzz"),
    ("revealed", "Revealed", "Mean fraction of the question revealed at the buzz"),
    (
        "score",
        "Points",
        "Points per question against a human team that heard it, with a 95 % interval: 10 for a correct buzz that comes first, "
        "−5 for an incorrect one",
    ),
)


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


def curve_table(runs: Sequence[RunThresholds], style: RunStyle) -> html.Div:
    """Return some evenly spaced steps of each run's curve. Each run needs a curve."""
    steps = []
    for run in runs:
        assert run.curve is not None
        last = len(run.curve.thresholds) - 1
        steps += [(run, run.curve, step) for step in sorted({round(index * last / (LISTED - 1)) for index in range(LISTED)})]
    columns = [
        style.column(itemgetter(0)),
        PageColumn("Threshold", lambda at: at[1].thresholds[at[2]], lambda value: f"{value:.4g}".replace("-", "\u2212")),
        PageColumn("Expected wins", lambda at: at[1].expected_wins[at[2]]),
        PageColumn("Points", lambda at: at[1].score[at[2]] if at[1].score else None, lambda value: short(value, 2)),
        PageColumn("Won", lambda at: at[1].win[at[2]] if at[1].win else None, percent),
    ]
    return html_table(columns, steps, "Expected wins at some thresholds of each run")


def interval_text(run: RunThresholds, key: str, form: Callable[[float], str]) -> str:
    """Return the interval of a run's value, each end formatted by ``form``; a dash if there is none."""
    ends = run.intervals.get(key)
    return DASH if ends is None else brackets(ends.low, ends.high, form)


AXES = {"confidence": "threshold of confidence", "logprob": "threshold of the sum of token log-probabilities"}
ROW = 26  # pixels per run
HEIGHT, AXIS = 330, 60  # pixels of the figure of wins, and of the space below and above its axis


def wins_figure(runs: Sequence[RunThresholds], style: RunStyle, scale: str, ends: tuple[float, float], few: bool) -> PlotlyJson:
    """Draw expected wins of each run over the threshold, as steps; a diamond at the optimum, a dot at the threshold in use.

    Names are right of the lines, at the height of the optimum, because the lines all end at 0.

    The dots are shapes of the layout, named after their runs; ``assets/threshold_explorer.js`` moves them. ``scale`` is a key of
    ``AXES``, and with ``few`` runs, thresholds in use are shown.
    """
    data: list[PlotlyJson] = []
    runs = style.grey_first(runs)
    for run in runs:
        curve = run.curve
        assert curve is not None and curve.expected_wins is not None
        x, y, hover = curve.thresholds, fig.rounded(curve.expected_wins), "above %{x:.4~f}: %{y:.3f} expected wins"
        steps = {"line": style.line(run.run) | {"shape": "hv"}}
        data.append(style.trace(run.run, [*x, max(x[-1], ends[1])], [*y, y[-1]], hover, **steps))
    for run in runs:
        if run.optimum is None or run.run not in style.colours:
            continue
        best, colour = run.optimum, style.colours[run.run]
        until = "" if best.until is None else f" to {best.until:.4g}"
        data.append(dots(
            [best.threshold], [best.expected_wins], f"{style.plain(run.run)}<br>best at {best.threshold:.4g}{until}: %{{y:.3f}}",
            colour, 13, {"symbol": "diamond-open", "line": {"width": 2, "color": colour}},
            name=f"best of {style.plain(run.run)}", meta=run.run, cliponaxis=False, showlegend=False,
        ))  # fmt: skip
    wins = [value for trace in data for value in trace["y"]]
    used = [run for run in runs if few and run.outcome.threshold is not None]
    peaks = {run.run: run.optimum.expected_wins for run in runs if run.optimum and run.run in style.colours}
    bottom, top = fig.padded(wins, zero=True)
    room = 0.01 * (ends[1] - ends[0])
    return drawn(
        data,
        HEIGHT,
        fig.axis(AXES[scale], range=[ends[0] - room, ends[1] + room]),
        fig.axis("expected wins per question", range=[bottom, top]),
        **style.ends(peaks, bottom, top, HEIGHT - AXIS),
        shapes=[fig.circle(run.run, run.outcome.threshold, run.outcome.expected_wins, style.colour(run.run)) for run in used],
    )


def outcomes_figure(runs: Sequence[RunThresholds], style: RunStyle) -> PlotlyJson:
    """Draw how often each run wins against a human team (hatched: uncertain), how often nobody wins, and how often it loses."""
    labels, items = [style.plain(run.run) for run in runs], [items_query(focus=run.run) for run in runs]
    shades = [style.colour(run.run) for run in runs]
    won = [run.outcome.win or 0.0 for run in runs]
    unsure = [run.outcome.unsure or 0.0 for run in runs]
    lost = [run.outcome.loss or 0.0 for run in runs]
    neither = [1 - win - loss for win, loss in zip(won, lost, strict=True)]
    bar: PlotlyJson = {"orientation": "h", "width": 0.62, "meta": {"items": items}}
    hatched = {"shape": "/", "fillmode": "overlay", "size": 6, "solidity": 0.45, "fgcolor": "var(--paper)"}
    certain = [max(win - part, 0) for win, part in zip(won, unsure, strict=True)]
    bands = {
        name: [f" {brackets(ends.low, ends.high, percent)}" if (ends := run.intervals.get(name)) else "" for run in runs]
        for name in ("win", "loss")
    }
    wins = [[win, band] for win, band in zip(won, bands["win"], strict=True)]
    parts = (
        ("wins", certain, {"color": shades}, "wins %{customdata[0]:.1%}%{customdata[1]}, of these certain %{x:.1%}", wins),
        (
            "unsure", unsure, {"color": shades, "pattern": hatched},
            "%{x:.1%} of the %{customdata:.1%} won is uncertain:<br>others had ended the question for the team", won,
        ),
        ("neither", neither, {"color": fig.GRID}, "neither %{x:.1%}", None),
        ("loses", lost, {"color": fig.INK}, "people win %{x:.1%}%{customdata}", bands["loss"]),
    )  # fmt: skip
    return drawn(
        [
            bars(x, labels, f"%{{y}}<br>{hover}", marker, name=name, **bar, **({"customdata": more} if more else {}))
            for name, x, marker, hover, more in parts
        ],
        ROW * len(runs) + 58,
        fig.axis("share of questions", range=[0, 1], tickformat=".0%", dtick=0.25),
        fig.axis(
            range=fig.downwards(len(runs), 0), showgrid=False, type="category", tickfont={"size": 12, "color": fig.INK},
            tickvals=labels, ticktext=list(style.labels([run.run for run in runs], fig.MAX_ROW_LABEL_LENGTH).values()),
        ),
        barmode="stack",
    )  # fmt: skip


OPPONENTS = {"dataset": "This dataset's people", "polynomial": "Published curve"}
SCALE_NAMES = {"confidence": "Confidence", "logprob": "Token log-probability"}


class BuzzPage(PageParameters, frozen=True):
    """Rules by which runs buzz."""

    rules: Annotated[Rules, RULES] = msgspec.field(default_factory=Rules)


def _table(request: PageRequest[BuzzPage]) -> Cited[Any]:
    columns = ("model", "elicitation", "questions", "threshold", "buzzes", "accuracy", "revealed", "expected_wins", "win")
    return Cited(BUZZ, BuzzParameters(request.parameters.rules), columns, interval=RESAMPLED, references=("sung2025grace",))


@page(
    "/buzz", "Buzz", BuzzPage, place="When to answer", order=2,
    offered=attrgetter("has_buzzes"), table=_table,
    views=(BUZZ, CATEGORIES, MEDIAN),
    filters=("run", *filter_keys(), "people", "human", "cluster", "failed", "grading"), common=False,
)  # fmt: skip
def draw(request: PageRequest[BuzzPage]) -> Sequence[Component | None]:
    """Draw the threshold explorer, runs against people, buzzes along the question and by category, and buzz rates."""
    rules = request.parameters.rules
    result = service().ask(buzz, request.selection, rules)
    if not result.questions:
        return [nothing_selected(request.path, request.selection, "questions", request.facets, "Buzz")]
    if result.missing:
        return [_no_buzz_data(request)]
    wins = {run.run: run.outcome.expected_wins for run in result.explorer.runs}
    ranking = sorted(wins, key=lambda run: -math.inf if (value := wins[run]) is None else value, reverse=True)
    best = highlighted_runs(request, ranking=ranking)
    style = run_style(request.facets, result.explorer.runs, best)
    runs, given = bool(result.explorer.runs), request.texts.get(KEY, [])
    return [
        _heading(request, result, rules),
        threshold_explorer_section(result.explorer, style, given, request.written("scale"), _first_question(request))
        if runs
        else nothing_selected(request.path, request.selection, "answers", request.facets),
        against_teams(result.explorer, style) if runs else None,
        people_median_section(service().ask(people_median, request.selection, rules), style),
        buzz_curves(result.curves, style),
        buzz_categories(service().ask(category_outcomes, request.selection, rules), request.facets, style),
        buzz_rates(result.habits, style),
    ]


def _no_buzz_data(request: PageRequest[BuzzPage]) -> html.Section:
    """A panel for a dataset whose questions are not read clue by clue, with links to those whose questions are."""
    shown = request.selection.dataset
    words, others = dataset_links(
        request.path, lambda dataset: dataset.kind == "incremental" and dataset.dataset != shown, "Datasets of this kind:",
        "The store holds no dataset of this kind.",
    )  # fmt: skip
    why = (
        f"Buzzing needs questions that are read clue by clue (datasets of kind incremental), so that a player chooses when to "
        f"answer. Those of {request.facets.title} are asked whole."
    )
    return html.Section([html.H1("No buzz data"), html.P(why), html.P(words), others], className="panel")


def _heading(request: PageRequest[BuzzPage], result: Buzz, rules: Rules) -> html.Div:
    counts = f"{counted(len(result.explorer.runs), 'run')}, {counted(result.questions, 'question')}"
    menus: list[Component] = []
    if "logprob" in result.explorer.scales or rules.scale == "logprob":
        written = request.written("scale")
        options = {written if written == SCALES[0] else "": SCALE_NAMES[SCALES[0]], SCALES[1]: SCALE_NAMES[SCALES[1]]}
        menus.append(menu("scale", "Scale of the threshold", options, written, kind="scale"))
    if request.facets.human_teams or rules.curve == "dataset":
        default, written = default_curve(request.facets), request.written("curve")
        options = {(curve if curve != default or written == default else ""): name for curve, name in OPPONENTS.items()}
        menus.append(menu("curve", "Opponents", options, written))
    lead = f"{request.facets.title}: how sure each run should be before it answers, and how it does against people; {counts}"
    return heading("Buzz", lead, *menus)


def _first_question(request: PageRequest[BuzzPage]) -> str:
    """Address of the first question of the selection, at the same thresholds."""
    first = question_order(request.selection, "").questions[0]
    keys: dict[str, str | Sequence[str] | None] = {key: request.texts.get(key) for key in RULES.keys}
    return request.question_link(first, **keys)
