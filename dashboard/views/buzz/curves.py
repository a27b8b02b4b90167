"""Buzz curves of runs and people, how often a buzz follows a guess, and buzzes by category and against the median of people."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from dash import html

from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.figure import INK, QUARTERS, UNIT, PlotlyJson, dots, drawn, lines, segments
from clueline.dashboard.ui.html import data, folded_section, items_query, note
from clueline.dashboard.ui.messages import left_out_note
from clueline.dashboard.ui.runs import RunStyle, named
from clueline.dashboard.ui.table import Cell, Content, PageColumn, columns_by, html_table, noted, second_note
from clueline.dashboard.ui.text import DASH, brackets, percent, short
from clueline.data.plurals import counted
from clueline.queries.buzzing import CategoryOutcomes, PeopleMedian
from clueline.queries.buzzing.by_category import BuzzOutcomes, CategoryOutcome, RunAndMedian, Share
from clueline.queries.buzzing.curves import BuzzCurve, BuzzCurves, BuzzRates, RunBuzzRates, TeamBuzzRates
from clueline.queries.selection.facets import Facets

MARKS = (0.2, 0.4, 0.6, 0.8, 1.0)


def buzz_curves(curves: BuzzCurves, style: RunStyle) -> html.Details:
    """Return cumulative buzzes over the fraction of the question revealed, as a figure and a table."""
    drawn = [curve for curve in curves.curves if curve.correct is not None]
    words = ""
    if any(curve.name == "Q1" for curve in drawn):
        words = "Q1 to Q4: quartiles of teams by correct buzzes."
    gaps: dict[str, list[str]] = {}
    for curve in curves.curves:
        if curve.missing:
            gaps.setdefault(curve.missing, []).append(curve_name(curve, style))
    not_drawn = [f" Not drawn: {', '.join(who)} ({why})." for why, who in gaps.items()]
    shown = fig.figure(
        "curves",
        curves_figure(curves, style),
        "Cumulative buzzes over the fraction of the question revealed. Solid: correct; dotted: incorrect",
        _curves_table(curves, style),
        style.legend([curve.name for curve in drawn if curve.kind == "run"]),
    )
    return folded_section(
        "Buzzes along the question",
        note([words, *not_drawn]) if words or not_drawn else None,
        left_out_note(curves.left_out_plays),
        *([shown] if drawn else []),
        class_name="buzz-curves",
    )


def _curves_table(curves: BuzzCurves, style: RunStyle) -> html.Div:
    last = len(curves.revealed) - 1
    columns = [
        PageColumn("Who", lambda row: curve_name(row[0], style)),
        PageColumn("Buzzes", lambda row: row[1]),
        *columns_by({mark: f"by {mark:.0%}" for mark in MARKS}, lambda mark, row: getattr(row[0], row[1])[round(mark * last)]),
        PageColumn("Teams", lambda row: row[0].teams if row[0].kind == "human" else "", number=True),
        PageColumn("Questions heard", lambda row: row[0].heard),
    ]
    kinds = [(curve, kind) for curve in curves.curves for kind in ("correct", "incorrect") if getattr(curve, kind) is not None]
    return html_table(columns, kinds, "Cumulative buzzes per question heard")


RATES = {
    "given_correct": "P(buzz | correct)", "given_incorrect": "P(buzz | incorrect)", "buzz_rate": "Buzzes per clue",
    "survey_score": "Survey score",
}  # fmt: skip


BOUNDS = {"given_correct": "correct_rate", "given_incorrect": "incorrect_rate"}  # rates that people's are at least


def buzz_rates(rates: BuzzRates, style: RunStyle) -> html.Details:
    """Return P(buzz | correct), P(buzz | incorrect) and what follows from them, as a figure and a table."""
    people = [team for team in rates.teams if team.kind == "human" and team.teams]
    words = "How often a run buzzes at a clue when its guess is correct, and when not. The further apart, the better. "
    known = any(team.given_correct is not None or team.given_incorrect is not None for team in people)
    if known:
        words += (
            "People are the players of a human collection, who guessed at every clue and said where they would buzz. Their rows "
            "are means over players."
        )
    elif people:
        words += "Of people, only lower bounds are known: what a team would have answered before it buzzed is not recorded."
    else:
        words += "No human team heard these questions."

    def name(row: RunBuzzRates | TeamBuzzRates) -> Content:
        if isinstance(row, RunBuzzRates):
            return style.dot(row.run)
        return named(fig.INK, _team_name(row)) if row.kind == "human" else named(None, f"{row.name} (model)")

    return folded_section(
        "Buzzing when right, holding back when wrong",
        words,
        fig.figure(
            "habits",
            buzz_rates_figure(rates, style),
            "○ given a correct guess, × given an incorrect one" + ("; ▶ ▷ people, lower bounds" if people and not known else ""),
        ),
        html_table(
            [PageColumn("Who", name), *columns_by(RATES, _rate)],
            [*rates.runs, *(team for team in rates.teams if team.teams)],
            "Buzz rates",
            "habits",
            of_row=lambda row: data(run=row.run) if isinstance(row, RunBuzzRates) else {},
        ),
        class_name="habits-section",
    )


def _rate(key: str, row: RunBuzzRates | TeamBuzzRates) -> Cell:
    """A rate of a run, or the mean of several teams; a lower bound if what they would have answered is not recorded."""
    value, missing = getattr(row, key), row.missing.get(key, "")
    if isinstance(row, RunBuzzRates):
        return Cell(value, missing, attributes=data(key=key))
    second = row.second.get(BOUNDS.get(key, key))
    if key not in BOUNDS:
        return Cell(value if second is None else [short(value), second_note(second)], missing)
    bound = getattr(row, BOUNDS[key])
    shown = f"≥ {short(bound)}" if value is None and bound is not None else value
    over = f"{missing}; a mean over {counted(row.teams, 'team')}"
    return Cell(shown if second is None or value is not None else [shown, second_note(second)], over)


WIDTH, HEIGHT = 430, 300  # pixels of a panel
ROW = 24  # pixels per row
DASHES = {"correct": "solid", "incorrect": "dot"}
TINTS = {"people": 1.0, "Q1": 0.34, "Q2": 0.5, "Q3": 0.68, "Q4": 0.86}
PEOPLE = {"people": "All people", "Q1": "Q1 (fewest correct)", "Q2": "Q2", "Q3": "Q3", "Q4": "Q4 (most correct)"}
LABELS = {"people": "All", "Q1": "Q1", "Q2": "Q2", "Q3": "Q3", "Q4": "Q4"}
LABEL = 18  # characters of a run's name next to its line


def curve_name(curve: BuzzCurve, style: RunStyle) -> str:
    """Return the display name of a curve."""
    if curve.kind == "run":
        return style.names[curve.name]
    return PEOPLE[curve.name] if curve.kind == "human" else f"{curve.name} (model)"


def curves_figure(curves: BuzzCurves, style: RunStyle) -> PlotlyJson:
    """Draw cumulative buzzes per question heard over the fraction revealed: a panel for correct ones, solid, and one for
    incorrect ones, dotted.

    People are in the text colour, quartiles in tints of it, each run in its colour. GRACE fig. 4.
    """
    shown = [curve for curve in curves.curves if curve.correct is not None and curve.incorrect is not None]
    # People are drawn above the runs, so that they stay visible among many.
    shown.sort(key=lambda curve: (curve.kind == "human", curve.name in style.colours))
    most = max((value for curve in shown for kind in DASHES for value in getattr(curve, kind)), default=0)
    top = max(ceil(most * 10 + 0.2) / 10, 0.1)
    run_names = style.labels([curve.name for curve in shown if curve.name in style.colours], LABEL)

    def trace(curve: BuzzCurve, kind: str) -> PlotlyJson:
        person = curve.kind == "human"
        line = {"color": fig.INK, "width": 3 if curve.name == "people" else 1.8} if person else style.line(curve.name)
        return lines(
            curves.revealed, [round(value, 5) for value in getattr(curve, kind)],
            f"%{{fullData.name}}<br>by %{{x:.0%}}: %{{y:.3f}} {kind} buzzes per question",
            name=fig.plain(curve_name(curve, style)), meta={"run": curve.name, "kind": kind},
            line=line | {"dash": DASHES[kind], "shape": "hv"}, showlegend=person or curve.name in style.colours,
            opacity=TINTS[curve.name] if person else 1,
        )  # fmt: skip

    labels: list[PlotlyJson] = []
    for panel, kind in enumerate(DASHES):
        last = {curve.name: getattr(curve, kind)[-1] for curve in shown}
        ends = [(run_names[name], last[name], style.colours[name]) for name in last if name in run_names]
        ends += [(LABELS[curve.name], last[curve.name], fig.INK) for curve in shown if curve.kind == "human"]
        labels += fig.end_labels(ends, 0, top, HEIGHT, fig.panel_axes(panel), 1.012)
    share = {"range": [0, 1.4 if run_names else 1.09], **QUARTERS, "tickformat": ".0%"}
    figure = fig.panels(
        [[trace(curve, kind) for curve in shown] for kind in DASHES],
        ["Correct buzzes per question heard", "Incorrect buzzes per question heard"],
        x={"title": "share of the question revealed", **share},
        y={"title": "buzzes per question", "range": [0, top], "tickformat": ".2~f"},
        height=HEIGHT,
        annotations=labels,
    )
    figure["layout"]["meta"]["width"] = WIDTH
    return figure


def buzz_rates_figure(rates: BuzzRates, style: RunStyle) -> PlotlyJson:
    """Draw P(buzz | correct) as a ring and P(buzz | incorrect) as a cross, for runs and the players of a human collection.

    For teams, whose guesses are not known, triangles are lower bounds.
    """
    runs = [run for run in rates.runs if run.given_correct is not None or run.given_incorrect is not None]
    people = [team for team in rates.teams if team.kind == "human" and team.correct_rate is not None]
    rows = [*(style.plain(run.run) for run in runs), *map(_team_name, people)]
    labels = style.labels([run.run for run in runs], fig.MAX_ROW_LABEL_LENGTH)
    between = segments(((style.plain(run.run), run.given_correct, run.given_incorrect) for run in runs), 2)
    return drawn(
        [between, *(mark for kind in DASHES for mark in _kind_marks(runs, people, style, kind))],
        ROW * len(rows) + 64,
        fig.axis("probability of buzzing", **UNIT | {"range": [-0.01, 1.01]}),
        fig.axis(
            range=fig.downwards(len(rows)), showgrid=True, type="category", tickfont={"size": 12, "color": fig.INK},
            categoryorder="array", categoryarray=rows, tickvals=rows, ticktext=[*labels.values(), *map(_team_name, people)],
        ),
    )  # fmt: skip


def _team_name(team: TeamBuzzRates) -> str:
    return f"People, {team.name}" if team.name != "people" else "People, all"


def _marks(
    names: Sequence[str], x: Sequence[float | None], symbol: str, colours: Sequence[str], hover: str, **more: Any
) -> PlotlyJson:
    """Marks of one shape in the rows of these names; ``hover`` follows the name."""
    mark = {"symbol": symbol, "line": {"width": 2, "color": colours}}
    return dots(x, names, f"%{{y}}<br>{hover}", colours, 10, mark, cliponaxis=False, **more)


def _kind_marks(rates: Sequence[RunBuzzRates], people: Sequence[TeamBuzzRates], style: RunStyle, kind: str) -> list[PlotlyJson]:
    """P(buzz | correct) as rings or P(buzz | incorrect) as crosses: of runs, of players, and lower bounds of teams."""
    symbol, bound = ("circle-open", "triangle-right") if kind == "correct" else ("x-thin-open", "triangle-right-open")
    known = [team for team in people if getattr(team, f"given_{kind}") is not None]
    unknown = [team for team in people if team.given_correct is None and team.given_incorrect is None]
    value = f"P(buzz | {kind}) = %{{x:.3f}}"
    return [
        _marks(
            [style.plain(run.run) for run in rates], [getattr(run, f"given_{kind}") for run in rates], symbol,
            [style.colour(run.run) for run in rates], f"{value}<br>clues with such a guess: %{{customdata:,.6~g}}",
            name=f"P(buzz | {kind})", meta={"items": [items_query(focus=run.run) for run in rates]},
            customdata=[getattr(run, f"seen_{kind}") for run in rates],
        ),
        _marks(
            [*map(_team_name, known)], [getattr(team, f"given_{kind}") for team in known], symbol, [INK] * len(known),
            f"{value}<br>mean over %{{customdata:,}} players", name=f"People, P(buzz | {kind})",
            customdata=[team.teams for team in known],
        ),
        _marks(
            [*map(_team_name, unknown)], [getattr(team, f"{kind}_rate") for team in unknown], bound, [INK] * len(unknown),
            f"{kind} buzzes per clue heard: %{{x:.3f}}<br>P(buzz | {kind}) is at least this<br>mean over %{{customdata:,}} teams",
            name=f"People, {kind}: at least", customdata=[team.teams for team in unknown],
        ),
    ]  # fmt: skip


def buzz_categories(result: CategoryOutcomes, facets: Facets, style: RunStyle) -> html.Details | None:
    """Return the number of correct buzzes per incorrect one: a row per group of players, a column per category.

    The table stays when a filter leaves one category, so that the page keeps its structure. None if the dataset has fewer than
    two categories, or nobody buzzes.
    """
    if len(facets.texts("category")) < 2 or not result.groups:
        return None

    def name(group: BuzzOutcomes) -> Content:
        if group.kind == "human":
            return named(INK, "People")
        if group.kind == "model":
            return named(None, f"{group.name} (played as a team)")
        return style.dot(group.name)

    def cell_of(category: str | None, group: BuzzOutcomes) -> Cell:
        return _cell({outcome.category: outcome for outcome in group.categories}.get(category))

    columns = [PageColumn("Who", name), PageColumn("All", lambda group: _cell(_total(group)), number=True)]
    columns += columns_by({category: category or "not stated" for category in result.categories}, cell_of)
    title = "Correct buzzes per incorrect buzz, by category"
    return folded_section(
        title,
        "Above 1: more correct than incorrect. Below each ratio: the counts.",
        html_table(columns, result.groups, title, "board across"),
    )


def _total(group: BuzzOutcomes) -> CategoryOutcome:
    parts = group.categories
    heard, correct, incorrect = (sum(getattr(part, name) for part in parts) for name in ("heard", "correct", "incorrect"))
    return CategoryOutcome(None, heard, correct, incorrect, correct / incorrect if incorrect else None)


def _cell(outcome: CategoryOutcome | None) -> Cell:
    if outcome is None:
        return Cell(None, NOT_HEARD, "number missing")
    counts = f"{outcome.correct:,} : {outcome.incorrect:,}"
    title = f"{counted(outcome.heard, 'question')} heard"
    if outcome.ratio is None:
        title += ", no buzz" if not outcome.correct else ", no incorrect buzz"
    return Cell(noted(short(outcome.ratio, 1), counts), title)


NOT_HEARD = "No question of this category was heard"


NOTE = (
    "Share of the questions that people heard; the median is that of a question's correct human buzzes. Where none was right, "
    "any right buzz is earlier."
)


def people_median_section(result: PeopleMedian, style: RunStyle) -> html.Details | None:
    """Return the tables, of runs by words after the median and of runs by category; None if no run has a share."""
    runs = [run for run in result.runs if run.earlier]
    if not runs:
        return None

    def cell_of(category: str | None, run: RunAndMedian) -> Cell:
        part = next((part for part in run.categories if part.category == category), None)
        return _share_cell(part.earlier, part.questions) if part else _share_cell(None, 0)

    def earlier(heading: str) -> list[PageColumn]:
        return [style.column(), PageColumn(heading, lambda run: _share_cell(run.earlier, run.questions), number=True)]

    headings = dict(enumerate(map(_by, result.words)))
    by_words = columns_by(headings, lambda place, run: _share_cell(run.within[place], run.questions))
    categories = dict.fromkeys(part.category for run in runs for part in run.categories)
    by_category = columns_by({name: name or "not stated" for name in categories}, cell_of)
    label, title = "Right before people, or within some words of their median", "Earlier than people, by category"
    return folded_section(
        "Earlier than people",
        NOTE,
        html_table([*earlier("Right before the median"), *by_words], runs, label, "board across"),
        *(
            [html.H3(title), html_table([*earlier("All"), *by_category], runs, title, "board across")]
            if len(categories) > 1
            else []
        ),
    )


def _by(words: int) -> str:
    if words == 0:
        return "By the median"
    return f"By {abs(words)} words {'after' if words > 0 else 'before'} it"


def _share_cell(share: Share | None, questions: int) -> Cell:
    if share is None:
        return Cell(None, NOT_HEARD, "number missing")
    why = f"; no interval, because {share.no_interval}" if share.no_interval else ""
    shown = noted(percent(share.share), brackets(share.low, share.high, percent) or DASH)
    return Cell(shown, counted(questions, "question") + why)
