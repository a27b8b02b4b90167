"""The table of the leaderboard."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import aria, data
from dashboard.components.coverage import answered, clues_answered
from dashboard.components.links import page_link
from dashboard.components.numbers import CURVE_NAMES, count, short
from dashboard.components.published_values import published_body
from dashboard.components.run_names import swatch
from queries.engine.bootstrap import REPLICATES
from queries.engine.ranking import MetricCell
from queries.leaderboard import Leaderboard, LeaderboardRow
from queries.metrics import Conventions, Metric
from queries.selection import Selection

NAMES = ("model", "elicitation")  # columns beside the metrics that can be sorted by
FAILED = {
    False: "Calls that got no answer from the model. They are left out, as if it had not been asked.",
    True: "Calls that got no answer from the model. They count as wrong answers with confidence 0.",
}


def board_table(
    board: Leaderboard,
    unranked: Sequence[LeaderboardRow],
    shown: Sequence[Metric],
    selection: Selection,
    sort: str,
    colours: Mapping[str, str],
    published: str,
) -> html.Div:
    """The leaderboard as a table: a row per run, a column per metric that sorts.

    Args:
        board: with its ranked rows in the order to show.
        unranked: the rows of runs that answered too few questions to be ranked, shown below a line.
        shown: the columns.
        selection: of the page.
        sort: the key by which it is sorted.
        colours: run id to colour.
        published: key of a table of published values to show below; blank for none.
    """
    head = [
        _head("Model", "model", sort, "The model"),
        _head("Elicitation", "elicitation", sort, "How its confidence was elicited"),
    ]
    head.append(
        html.Th(
            "Answered",
            scope="col",
            className="number",
            title="Questions of this selection that the run answered, and how many of their clues where it is not all",
        )
    )
    failures = any(row.failed for row in (*board.rows, *unranked))
    if failures:
        head.append(html.Th("Failed", scope="col", className="number", title=FAILED[selection.failed]))
    head += [_head(_title(metric), metric.key, sort, _about(metric, selection.conventions), number=True) for metric in shown]

    def body(rows: Sequence[LeaderboardRow]) -> list[html.Tr]:
        return [
            html.Tr(
                [
                    html.Th(
                        [
                            swatch(colours.get(row.run)),
                            html.Span(row.model, className="name"),
                            row.note and html.Span(row.note, className="row-note"),
                        ],
                        scope="row",
                        title=f"run {row.run}",
                    ),
                    html.Td(row.elicitation),
                    html.Td(
                        [
                            answered(row.answered, board.questions),
                            html.Span(clues_answered(row.answered_clues, board.clues, board.questions), className="row-note"),
                        ],
                        className="number",
                        title=f"Measured on {count(row.items, 'item')} of {count(row.questions, 'question')}",
                    ),
                    *([html.Td(f"{row.failed:,}", className="number", title=FAILED[selection.failed])] if failures else []),
                    *(_cell(row.metrics[metric.key], metric, selection.conventions) for metric in shown),
                ],
                **data(run=row.run),
            )
            for row in rows
        ]

    line = html.Th("Not ranked: answered less than half. Each on its own questions", colSpan=len(head), scope="rowgroup")
    apart = html.Tbody([html.Tr(line), *body(unranked)], className="unranked") if unranked else None
    below = published_body(published, shown, len(head))
    return html.Div(
        html.Table([html.Thead(html.Tr(head)), html.Tbody(body(board.rows)), apart, below], className="board"),
        className="scroll",
        tabIndex="0",
        role="region",
        **aria(label="Leaderboard"),
    )


def sorted_rows(rows: list[LeaderboardRow], sort: str, columns: Sequence[Metric]) -> list[LeaderboardRow]:
    """Rows by a metric, best first, or by a name; ``-`` in front turns the order round. Missing values come last.

    Args:
        rows: in any order.
        sort: key of a metric, or one of ``NAMES``.
        columns: metrics that the rows have.
    """
    key, turned = sort.removeprefix("-"), sort.startswith("-")
    if key in NAMES:
        return sorted(rows, key=lambda row: getattr(row, key).casefold(), reverse=turned)
    if key not in {metric.key for metric in columns}:  # a column that was taken away
        return rows

    def place(row: LeaderboardRow) -> float:
        cell = row.metrics[key]
        if cell.value is None:
            return math.inf
        best_first = cell.rank if cell.rank is not None else -cell.value
        return -best_first if turned else best_first

    return sorted(rows, key=place)


def _title(metric: Metric) -> list[str | Component]:
    arrow = {"lower": "↓", "higher": "↑", "zero": "→0", "none": ""}[metric.direction]
    return [metric.label, html.Span(arrow, className="direction", **aria(hidden="true"))]


def _about(metric: Metric, conventions: Conventions) -> str:
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


def _head(title: str | list[str | Component], key: str, sort: str, about: str, *, number: bool = False) -> html.Th:
    """A heading that sorts: once best first, again the other way round, a third time in the usual order."""
    following = {key: f"-{key}", f"-{key}": ""}.get(sort, key)
    order = {key: "ascending", f"-{key}": "descending"}.get(sort)
    button = html.Button(title, title=about, type="button", **data(set=f"sort={following}"))
    if number:
        definition = page_link("?", href=f"/metrics#{key}", class_name="defined", title=f"What {key} is")
        return html.Th([button, definition], scope="col", className="number", **(aria(sort=order) if order else {}))
    return html.Th(button, scope="col", **(aria(sort=order) if order else {}))


def _cell(cell: MetricCell, metric: Metric, conventions: Conventions) -> html.Td:
    if cell.value is None:
        return html.Td("–", className="number missing", title=f"{metric.name} is missing: {cell.missing}")
    curve = metric.human_curve(conventions)
    about = f"{metric.name} = {cell.value!r}, over {count(cell.questions, 'question')}"
    about += f", under the {CURVE_NAMES[curve]}" if curve else ""
    if cell.low is not None and cell.high is not None:
        about += f"; 95 % interval {short(cell.low, 4)} to {short(cell.high, 4)}"
    if cell.rank is not None:
        about += f"; rank {cell.rank:g}"
    if cell.rank_low is not None and cell.rank_high is not None:
        about += f" ({cell.rank_low:g} to {cell.rank_high:g} in 95 % of replicates)"
    if cell.replicates and cell.replicates < REPLICATES:
        about += f"; undefined in {REPLICATES - cell.replicates} of {REPLICATES} replicates, which are left out"
    return html.Td(
        [
            html.Span(short(cell.value), className="value"),
            html.Span("" if cell.rank is None else f"{cell.rank:g}", className="rank"),
            html.Span(letters(cell), className="letters"),
        ],
        className="number best" if cell.rank == 1 else "number",
        title=about,
        **data(metric=metric.key),
    )


def letters(cell: MetricCell) -> str:
    """The letters of a cell, a for the best run: runs that share one are not shown to differ."""
    return "".join(chr(ord("a") + letter - 1) if letter <= 26 else f"({letter})" for letter in cell.letters or [])


def not_shown(board: Leaderboard, missing: Sequence[Metric]) -> html.P | None:
    """Why columns are left out."""
    if not missing:
        return None
    reasons = [f"{metric.name}: {board.rows[0].metrics[metric.key].missing}" for metric in missing]
    return html.P(f"Not shown, because missing for every run: {'; '.join(reasons)}.", className="note")
