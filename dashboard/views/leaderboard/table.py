"""The table of the leaderboard."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.ui.html import aria, data, items_link, items_query, note, page_link
from clueline.dashboard.ui.messages import answered, clues_answered
from clueline.dashboard.ui.published_values import PrintedRow, published_body
from clueline.dashboard.ui.runs import RunColours, swatch
from clueline.dashboard.ui.table import Body, Cell, PageColumn, html_table, noted, over_note, second_note, sortable
from clueline.dashboard.ui.text import CURVE_LABELS, CURVE_NAMES, brackets, distinct_short_names, percent, short
from clueline.data.plurals import counted
from clueline.data.store.answer_states import COUNTED, LABELS, NO_CONFIDENCE, OTHER_STATES, State
from clueline.queries.engine.bootstrap import REPLICATES
from clueline.queries.engine.ranked_metric_rows import MetricCell
from clueline.queries.leaderboard import Leaderboard, LeaderboardRow
from clueline.queries.metrics import Conventions, Metric
from clueline.queries.selection import Selection

LETTERS = 26  # in the alphabet
MAX_LETTERS = 8  # characters of the grouping letters in a cell
MAX_MODEL_NAME_LENGTH = 34  # characters of a model's name
METHODS = {  # of an interval
    "bootstrap": "bootstrap",
    "extra question": "few questions, errors or right answers: bootstrap with an extra question",
    "jackknife": "few questions: jackknife",
    "calibration test": "holds 0 unless a test rejects calibration",
}
NAMES = ("model", "elicitation")  # columns that can be sorted by, as well as the metrics
REFERENCES = "Not ranked: formula-based reference forecasters, for comparison"
TOO_FEW = "Not ranked, because they answered too little or lack confidences. Measured on their own questions, without intervals"
STATES: dict[State, str] = {
    "scored": "Share of answers with a score that is no probability. They count in accuracy and in metrics of order.",
    "no_confidence": "Share of answers without a confidence. They count in accuracy, but in no metric that needs one.",
    "unparsed": "Share of answers that could not be read. They count as not right in accuracy, and in no other metric.",
    "abstained": "Share of questions at which the model declined. They are not right in accuracy, and 0 in the net score.",
    "failed": "Share of calls that got no answer from the model. They are left out, as if it had not been asked.",
}
MIN_LACKING = 0.005  # share of answers without a confidence from which cells say what these could change
BOUNDS = "The least and the greatest value that any confidences of the answers without one could give"
ADJUSTED = "Ranks the runs: the mean over the expected questions, adjusted for how hard those are that each run skipped"
HEARD = "{} heard without an answer by a player: no call failed"
FAILED_COUNT = "Share of calls that got no answer from the model. They count as wrong in accuracy, and as 0 in the net score."


def _room(columns: int) -> list[str]:
    """Return the class of a table in whose columns values have room for their intervals in numbers; none with many columns."""
    if columns <= 5:
        return ["few"]
    return ["some"] if columns <= 7 else []


def board_table(
    board: Leaderboard,
    unranked: Sequence[LeaderboardRow],
    shown: Sequence[Metric],
    selection: Selection,
    sort: str,
    colours: RunColours,
    published: str,
    heat: bool,
    link: Callable[[str], str],
    players: Collection[str],
) -> html.Div:
    """Return the leaderboard: a row per run, in the order of the board, and a sortable column per metric.

    ``unranked`` rows are shown below a line: formulas, and runs that answered too few questions. ``published`` is the key of a
    table of published values to show below; blank for none. ``heat`` says whether the better values of a column have a darker
    background. ``link`` maps a run id to the address of its page. ``players`` are the runs that are human collections.
    """
    every = [*board.rows, *unranked]
    whole = {row.run: row.model for row in every} | names_of([row.run for row in every], elicitation=False)
    names = dict(zip(whole, distinct_short_names([*whole.values()], MAX_MODEL_NAME_LENGTH), strict=True))
    states = [state for state in OTHER_STATES if any(state in row.shares for row in every)]
    below, room = published_body(published), _room(len(states) + len(shown))

    def name(row: LeaderboardRow | PrintedRow) -> Cell:
        if isinstance(row, PrintedRow):
            return row.name()
        link_to_run = page_link(names[row.run], href=link(row.run), class_name="name")
        note = row.note and html.Span(row.note, className="row-note")
        return Cell([swatch(colours.get(row.run)), link_to_run, note], f"{whole[row.run]}, run {row.run}")

    def elicitation(row: LeaderboardRow | PrintedRow) -> str:
        return row.elicitation() if isinstance(row, PrintedRow) else row.elicitation

    columns = [
        PageColumn(sortable("Model", "model", sort, "The model"), name),
        PageColumn(sortable("Elicitation", "elicitation", sort, "How its confidence was elicited"), elicitation),
        PageColumn("Answered", partial(_answered, board), about=ANSWERED, number=True),
        *(_state_column(state, selection, players) for state in states),
        *(_metric_column(metric, selection.conventions, sort, board, with_ends=bool(room)) for metric in shown),
    ]
    bodies = [
        Body(board.rows),
        Body([row for row in unranked if row.reference], REFERENCES, attributes={"className": "unranked"}),
        Body([row for row in unranked if not row.reference], TOO_FEW, attributes={"className": "unranked"}),
        *([below] if below else []),
    ]
    return html_table(
        columns,
        bodies,
        "Leaderboard",
        " ".join(["board leaderboard", *(["heat"] if heat else []), *room]),
        of_row=lambda row: {} if isinstance(row, PrintedRow) else data(run=row.run),
    )


ANSWERED = "Questions of this selection that the run answered, and how many of their clues if not all"


def _answered(board: Leaderboard, row: LeaderboardRow | PrintedRow) -> Cell:
    if isinstance(row, PrintedRow):
        return Cell(row.answers())
    shown = f"answered {row.answered:,} of {board.questions:,}"  # what the number above says already
    return Cell(
        [
            answered(row.answered, board.questions),
            html.Span(clues_answered(row.answered_clues, board.clues, board.questions), className="row-note"),
            html.Span(row.unranked, className="row-note") if row.unranked and row.unranked not in (row.note, shown) else None,
        ],
        f"Measured on {counted(row.items, 'item')} of {counted(row.questions, 'question')}",
    )


def _state_column(state: State, selection: Selection, players: Collection[str]) -> PageColumn:
    """The share of each run's responses in a state; blank where there are none."""

    def share(row: LeaderboardRow | PrintedRow) -> Cell:
        if isinstance(row, PrintedRow):
            return Cell("")
        part = row.shares.get(state)
        if state == "failed" and part is not None and row.run in players:
            return Cell(noted(percent(part), "no buzz"), HEARD.format(counted(row.failed, "question was", "questions were")))
        return Cell("" if part is None else percent(part), counted(getattr(row, state), *COUNTED[state]))

    about = FAILED_COUNT if state == "failed" and selection.failed else STATES[state]
    return PageColumn(LABELS[state].capitalize(), share, about=about, number=True)


def _metric_column(metric: Metric, conventions: Conventions, sort: str, board: Leaderboard, *, with_ends: bool) -> PageColumn:
    """Return the column of a metric; ``with_ends`` says whether its intervals are written beside the values."""
    scale = ColumnScale.from_cells([row.metrics[metric.key] for row in board.rows])
    sorted_by = sort.removeprefix("-") == metric.key

    def cell(row: LeaderboardRow | PrintedRow) -> Cell:
        if isinstance(row, PrintedRow):
            return row.value(metric)
        return _cell(row, metric, conventions, scale, ranked=sorted_by, with_ends=with_ends)

    definition = page_link("?", href=f"/metrics#{metric.key}", class_name="defined", title=f"Definition of {metric.key}")
    heading = sortable(
        _title(metric, conventions),
        metric.key,
        sort,
        _tooltip(metric, conventions),
        definition,
        number=True,
        best=BEST_FIRST[metric.direction],
    )
    return PageColumn(heading, cell, number=True)


# The order of the values where the best is first; nearest to 0 is neither.
BEST_FIRST: Mapping[str, Literal["ascending", "descending", "other"]] = {
    "lower": "ascending", "higher": "descending", "zero": "other", "none": "descending",
}  # fmt: skip


def sorted_rows(rows: list[LeaderboardRow], sort: str, columns: Sequence[Metric]) -> list[LeaderboardRow]:
    """Sort rows by a metric, best first, or by a name; a leading ``-`` reverses the order. Missing values come last.

    ``sort`` is the key of a metric or one of ``NAMES``.
    """
    key, turned = sort.removeprefix("-"), sort.startswith("-")
    if key in NAMES:
        return sorted(rows, key=lambda row: getattr(row, key).casefold(), reverse=turned)
    metric = next((metric for metric in columns if metric.key == key), None)
    if metric is None:  # a column that was removed
        return rows

    def place(row: LeaderboardRow) -> float:
        cell = row.metrics[key]
        if cell.value is None:
            return math.inf
        if metric.direction == "none":
            best_first = -cell.value
        else:
            best_first = cell.rank if cell.rank is not None else float(metric.loss(np.asarray(cell.value)))
        return -best_first if turned else best_first

    return sorted(rows, key=place)


def _title(metric: Metric, conventions: Conventions) -> list[str | Component]:
    arrow = {"lower": "↓", "higher": "↑", "zero": "→0", "none": ""}[metric.direction]
    curve = metric.human_curve(conventions)
    h = html.Span(f"h: {CURVE_LABELS[curve]}", className="row-note") if curve else None
    return [metric.label, html.Span(arrow, className="direction", **aria(hidden="true")), *([h] if h else [])]


def _tooltip(metric: Metric, conventions: Conventions) -> str:
    best = {"lower": "Lower is better.", "higher": "Higher is better.", "zero": "0 is best.", "none": "Not ranked."}[
        metric.direction
    ]
    sentences = [f"{metric.name}. {metric.words} {best}"]
    curve = metric.human_curve(conventions)
    if curve:
        sentences.append(f"Human curve: {CURVE_NAMES[curve]}.")
    if metric.binned:
        sentences.append(f"Bins: {conventions.binning}.")
    if metric.thresholded:
        sentences.append(f"t = {conventions.t:g}.")
    return " ".join([*sentences, metric.caveat]).strip()


@dataclass(frozen=True)
class ColumnScale:
    """Scale of the bars and the shading of a column.

    The bars end at ``low`` and ``high``; ``letters`` is the width of the longest group of letters.
    """

    low: float
    high: float
    runs: int
    letters: int

    @classmethod
    def from_cells(cls, cells: Sequence[MetricCell]) -> ColumnScale:
        """Return the scale of a column's cells."""
        ends = [end for cell in cells for end in (cell.low, cell.high, cell.value) if end is not None]
        widest = max((len(_shortened_letters(letters(cell))) for cell in cells), default=0)
        ranks = [cell.rank for cell in cells if cell.rank is not None]
        return cls(min(ends, default=0.0), max(ends, default=1.0), len(ranks), widest)

    def share(self, value: float) -> float:
        """Position of a value between the ends, from 0 to 1."""
        return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def style(self, cell: MetricCell) -> dict[str, str]:
        """Return CSS variables: ends and middle of the bar, and how good the value is, from 0 (last) to 1 (best)."""
        style = {}
        if cell.low is not None and cell.high is not None and cell.value is not None:
            places = {"low": cell.low, "high": cell.high, "at": cell.value}
            style = {f"--{name}": f"{4 + 92 * self.share(value):.1f}%" for name, value in places.items()}
        if cell.rank is not None and self.runs > 1:
            style["--good"] = f"{(self.runs - cell.rank) / (self.runs - 1):.2f}"
        return style


def _cell(
    row: LeaderboardRow, metric: Metric, conventions: Conventions, scale: ColumnScale, *, ranked: bool, with_ends: bool
) -> Cell:
    """The value over its interval and, if ``ranked``, the rank and the letters, which the tooltip has in any case.

    A value that is over other questions than the row says how many.
    """
    cell = row.metrics[metric.key]
    lacking = sum(row.shares.get(state, 0.0) for state in NO_CONFIDENCE)
    bounds = brackets(cell.bound_low, cell.bound_high) or cell.no_bounds
    limits = html.Span(bounds, title=BOUNDS) if bounds and (cell.value is None or lacking >= MIN_LACKING) else None
    adjusted = _adjusted(cell, metric) if ranked else None
    below = [part for part in (limits, " · " if limits and adjusted else None, adjusted) if part]
    note = html.Span(below, className="row-note") if below else None
    if cell.value is None:
        return Cell(["–", note], f"{metric.name} is missing: {cell.missing}", "number missing")
    curve = metric.human_curve(conventions)
    over = f" of {row.questions:,}" if cell.questions < row.questions else ""
    about = f"{metric.name} = {short(cell.value, 5)}, over {counted(cell.questions, 'question')}{over}"
    about += f"; human curve: {CURVE_NAMES[curve]}" if curve else ""
    if cell.low is not None and cell.high is not None:
        interval = brackets(cell.low, cell.high, partial(short, digits=4))
        about += f"; 95 % interval {interval} ({METHODS[cell.method or 'bootstrap']})"
    elif cell.no_interval:
        about += f"; no interval, because {cell.no_interval}"
    if cell.rest_low is not None and cell.rest_high is not None:
        about += f"; {brackets(cell.rest_low, cell.rest_high)} with any answers in place of those that do not count"
    if cell.adjusted is not None:
        about += f"; {short(cell.adjusted)} adjusted for the questions that each run skipped"
        if cell.adjusted_low is not None and cell.adjusted_high is not None:
            about += f", 95 % interval {brackets(cell.adjusted_low, cell.adjusted_high, partial(short, digits=4))}"
        about += "" if metric.low <= cell.adjusted <= metric.high else ", which is outside the range of the metric"
    if cell.rank is not None:
        about += f"; rank {cell.rank:g}"
    if cell.rank_low is not None and cell.rank_high is not None:
        about += f" {brackets(cell.rank_low, cell.rank_high, '{:g}'.format)} in 95 % of replicates"
    about += "; may be best" if cell.may_be_best else ""
    if cell.method == "bootstrap" and cell.replicates and cell.replicates < REPLICATES:
        about += f"; undefined in {REPLICATES - cell.replicates} of {REPLICATES} replicates, which are left out"
    groups, style, ends = letters(cell), scale.style(cell), brackets(cell.low, cell.high)
    shown = _shortened_letters(groups)
    about += f"; letters {groups}" if groups and (shown != groups or not ranked) else ""
    content = [
        items_link(html.Span(short(cell.value), className="value"), items_query(focus=row.run)),
        html.Span(f" {ends}", className="ends") if with_ends and ends else None,
        html.Span("" if cell.rank is None else f"{cell.rank:g}", className="rank") if ranked else None,
        html.Span(shown, className="letters", style={"width": f"{scale.letters}ch"}) if ranked and scale.letters else None,
        note,
        second_note(cell.second.get("value"), questions=cell.second.get("questions")),
        over_note(cell.questions, row.questions),
    ]
    kind = " ".join(["number", *(["best"] if cell.rank == 1 else []), *(["interval"] if "--low" in style else [])])
    return Cell(content, about, kind, {"style": style, **data(metric=metric.key)})


def _adjusted(cell: MetricCell, metric: Metric) -> html.Span | None:
    """The mean that ranks a run, if it is another number than its own; a star marks one outside the metric's range."""
    if cell.adjusted is None or short(cell.adjusted) == short(cell.value):
        return None
    outside = "" if metric.low <= cell.adjusted <= metric.high else "*"
    return html.Span(f"adjusted {short(cell.adjusted)}{outside}", title=ADJUSTED)


def letters(cell: MetricCell) -> str:
    """Return the letters of a cell, from a for the best run. Runs that share a letter are not shown to differ.

    Neighbouring letters are written as a range.

    >>> letters(MetricCell(0.5, None, 9, letters=[1, 2]))
    'ab'
    >>> letters(MetricCell(0.5, None, 9, letters=[1, 3, 4, 5]))
    'ac–e'
    >>> letters(MetricCell(0.5, None, 9, letters=[1, 3, 4, 5, 28]))
    'a,c–e,ab'
    >>> letters(MetricCell(0.5, None, 9, letters=[1, 2, 31, 33]))
    'a,b,ae,ag'
    """
    groups: list[list[int]] = []
    for letter in cell.letters or []:
        if groups and letter == groups[-1][-1] + 1:
            groups[-1].append(letter)
        else:
            groups.append([letter])
    parts: list[str] = []
    for group in groups:
        parts += [f"{_letter(group[0])}–{_letter(group[-1])}"] if len(group) > 2 else map(_letter, group)
    return ("," if max(map(max, groups), default=0) > LETTERS else "").join(parts)


def _shortened_letters(groups: str) -> str:
    """Letters shortened to fit a cell; its tooltip has all of them."""
    return groups if len(groups) <= MAX_LETTERS else f"{groups[: MAX_LETTERS - 1].rstrip(',–')}…"


def _letter(number: int) -> str:
    """The letter of a number, counted from 1: a to z, then aa, ab."""
    first, second = divmod(number - 1, LETTERS)
    return (chr(ord("a") + first - 1) if first else "") + chr(ord("a") + second)


def not_shown(board: Leaderboard, missing: Sequence[Metric]) -> html.P | None:
    """Say why columns are left out; None if none are."""
    if not missing:
        return None
    reasons = [f"{metric.name}: {board.rows[0].metrics[metric.key].missing}" for metric in missing]
    return note(f"Not shown, because missing for every run: {'; '.join(reasons)}.")
