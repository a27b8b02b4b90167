"""The leaderboard: metrics side by side, run by run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dash
from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components.attributes import aria, data
from dashboard.components.figure import figure
from dashboard.components.filters import menu
from dashboard.components.messages import nothing_selected
from dashboard.components.numbers import CURVE_NAMES, count, short
from dashboard.components.runs import colours, swatch
from dashboard.figures.gap import gap_figure
from dashboard.service import service
from dashboard.view import Looking, View, page, register
from queries.leaderboard import Cell, Leaderboard, Row, leaderboard
from queries.metrics import CATALOGUE, Metric
from queries.published import COUNT, PublishedRow, PublishedTable, published, rows_of
from queries.selection import BadAddress

NAMES = ("model", "elicitation")  # columns beside the metrics that can be sorted by
SHOWN = tuple(
    CATALOGUE[key]
    for key in (
        "brier", "ece", "max_ce", "hmr", "r_over", "r_under", "calscore", "accuracy", "mean_confidence", "overconfidence",
        "hard_easy_slope", "pct_rounded",
    )
)  # fmt: skip


def draw(looking: Looking) -> Sequence[Component | None]:
    """The table, what is missing from it and why, and the gap of confidence and accuracy."""
    board = service().ask(leaderboard, looking.selection, SHOWN)
    if not board.rows:
        return [nothing_selected("/", looking.selection, "answers")]
    shown = [metric for metric in SHOWN if any(row.metrics[metric.key].value is not None for row in board.rows)]
    shades = colours(looking.facets, looking.selection)
    board.rows = _sorted(board.rows, looking.single("sort"))
    return [
        html.Div(
            [
                html.H1("Leaderboard"),
                html.P(
                    f"{looking.facets.title}: {count(len(board.rows), 'run')} over {count(board.questions, 'question')}",
                    className="lead",
                ),
                _choice(looking),
            ],
            className="heading",
        ),
        _table(board, shown, looking, shades),
        _about_published(looking, shown),
        _not_shown(board, [metric for metric in SHOWN if metric not in shown]),
        figure(
            "gap",
            gap_figure(board, {row.run: _name(row, board) for row in board.rows}, shades),
            "Confidence against accuracy: a ring right of its dot is overconfident, left of it underconfident",
        ),
    ]


def _name(row: Row, board: Leaderboard) -> str:
    """A run's model, with its elicitation where the model has several."""
    several = len({other.elicitation for other in board.rows}) > 1
    return f"{row.model} · {row.elicitation}" if several else row.model


def check(looking: Looking) -> None:
    """Its own keys name what there is."""
    _sorted([], looking.single("sort"))
    _published(looking)


def _sorted(rows: list[Row], sort: str) -> list[Row]:
    """Rows by a metric, best first, or by a name; ``-`` in front turns the order round. Missing values come last."""
    key, turned = sort.removeprefix("-"), sort.startswith("-")
    if not key:
        return rows
    if key in NAMES:
        return sorted(rows, key=lambda row: getattr(row, key).casefold(), reverse=turned)
    columns = [metric.key for metric in SHOWN]
    if key not in columns:
        raise BadAddress("unknown_value", f"The leaderboard cannot be sorted by {key!r}.", "sort", [*NAMES, *columns])

    def place(row: Row) -> float:
        cell = row.metrics[key]
        if cell.value is None:
            return math.inf
        best_first = cell.rank if cell.rank is not None else -cell.value
        return -best_first if turned else best_first

    return sorted(rows, key=place)


def _table(board: Leaderboard, shown: Sequence[Metric], looking: Looking, shades: dict[str, str]) -> html.Div:
    sort = looking.single("sort")
    head = [
        _head("Model", "model", sort, "The model"),
        _head("Elicitation", "elicitation", sort, "How its confidence was elicited"),
    ]
    head.append(
        html.Th("Items", scope="col", className="number", title="Questions times clues that the run answered in this selection")
    )
    head += [_head(_title(metric), metric.key, sort, _about(metric, looking), number=True) for metric in shown]
    body = [
        html.Tr(
            [
                html.Th(
                    [swatch(shades.get(row.run)), html.Span(row.model, className="name")], scope="row", title=f"run {row.run}"
                ),
                html.Td(row.elicitation),
                html.Td(
                    f"{row.items:,}",
                    className="number",
                    title=f"{count(row.items, 'item')} of {count(row.questions, 'question')}",
                ),
                *(_cell(row.metrics[metric.key], metric, looking) for metric in shown),
            ],
            **data(run=row.run),
        )
        for row in board.rows
    ]
    return html.Div(
        html.Table([html.Thead(html.Tr(head)), html.Tbody(body), _reference(looking, shown)], className="board"),
        className="scroll",
        tabIndex="0",
        role="region",
        **aria(label="Leaderboard"),
    )


def _title(metric: Metric) -> list[Any]:
    arrow = {"lower": "↓", "higher": "↑", "zero": "→0", "none": ""}[metric.direction]
    return [metric.label, html.Span(arrow, className="direction", **aria(hidden="true"))]


def _about(metric: Metric, looking: Looking) -> str:
    best = {"lower": "Lower is better.", "higher": "Higher is better.", "zero": "0 is best.", "none": "Not ranked."}[
        metric.direction
    ]
    said = [f"{metric.name}. {metric.words} {best}"]
    curve = metric.human_curve(looking.selection.conventions)
    if curve:
        said.append(f"Human curve: {CURVE_NAMES[curve]}.")
    if metric.binned:
        said.append(f"Bins: {looking.selection.conventions.binning}.")
    return " ".join([*said, metric.caveat]).strip()


def _head(title: Any, key: str, sort: str, about: str, *, number: bool = False) -> html.Th:
    """A heading that sorts: once best first, again the other way round, a third time as imported."""
    following = {key: f"-{key}", f"-{key}": ""}.get(sort, key)
    order = {key: "ascending", f"-{key}": "descending"}.get(sort)
    button = html.Button(title, title=about, type="button", **data(set=f"sort={following}"))
    if number:
        said = dcc.Link("?", href=f"/metrics#{key}", className="defined", title=f"What {key} is")
        return html.Th([button, said], scope="col", className="number", **(aria(sort=order) if order else {}))
    return html.Th(button, scope="col", **(aria(sort=order) if order else {}))


def _cell(cell: Cell, metric: Metric, looking: Looking) -> html.Td:
    if cell.value is None:
        return html.Td("–", className="number missing", title=f"{metric.name} is missing: {cell.missing}")
    curve = metric.human_curve(looking.selection.conventions)
    about = f"{metric.name} = {cell.value!r}, over {count(cell.questions, 'question')}"
    about += f", under the {CURVE_NAMES[curve]}" if curve else ""
    if cell.rank is not None:
        about += f"; rank {cell.rank:g}"
    return html.Td(
        [
            html.Span(short(cell.value), className="value"),
            html.Span("" if cell.rank is None else f"{cell.rank:g}", className="rank"),
        ],
        className="number best" if cell.rank == 1 else "number",
        title=about,
        **data(metric=metric.key),
    )


def _not_shown(board: Leaderboard, missing: Sequence[Metric]) -> html.P | None:
    if not missing:
        return None
    reasons = [f"{metric.name}: {board.rows[0].metrics[metric.key].missing}" for metric in missing]
    return html.P(f"Not shown, because missing for every run: {'; '.join(reasons)}.", className="note")


# -- what the papers printed: beside the computed rows, never among them ------------------------------------------------


def _published(looking: Looking) -> tuple[PublishedTable, list[PublishedRow]] | None:
    """The table that the address names with ``published``."""
    key = looking.single("published")
    if not key:
        return None
    known = [table.key for table in published().tables]
    if key not in known:
        raise BadAddress("unknown_value", f"There is no published table {key!r}.", "published", known)
    return rows_of(key)


def _choice(looking: Looking) -> Component:
    options = {"": "None"} | {table.key: table.title for table in published().tables}
    return menu("published", "Published values", options, looking.single("published"))


def _reference(looking: Looking, shown: Sequence[Metric]) -> html.Tbody | None:
    """Rows of a published table, in its order, without ranks; cells only where it has a metric that is a column."""
    found = _published(looking)
    if found is None:
        return None
    table, rows = found
    heading = html.Th(
        [f"{table.paper}, {table.table}: as printed, not computed here. ", html.Span(table.about, className="lead")],
        colSpan=len(NAMES) + 1 + len(shown),
        scope="rowgroup",
        className="printed",
    )
    return html.Tbody([html.Tr(heading), *(_reference_row(table, row, shown) for row in rows)], className="published")


def _reference_row(table: PublishedTable, row: PublishedRow, shown: Sequence[Metric]) -> html.Tr:
    count_of = row.values.get(COUNT)
    return html.Tr(
        [
            html.Th(
                [html.Span(row.model, className="name"), html.Span(table.title, className="cited")],
                scope="row",
                title=f"Printed in {table.paper}, {table.table}",
            ),
            html.Td(" · ".join(part for part in (row.elicitation, row.slice) if part)),
            html.Td("" if count_of is None else f"{count_of:,.0f}", className="number"),
            *(
                html.Td(short(row.values[metric.key]), className="number figure-printed", title=_said(row, metric, table))
                if metric.key in row.values
                else html.Td("", className="number")
                for metric in shown
            ),
        ]
    )


def _said(row: PublishedRow, metric: Metric, table: PublishedTable) -> str:
    return f"{metric.name} = {row.values[metric.key]!r}, printed in {table.paper}, {table.table}"


def _about_published(looking: Looking, shown: Sequence[Metric]) -> html.P | None:
    found = _published(looking)
    if found is None:
        return None
    table, rows = found
    columns = {metric.key for metric in shown} | {COUNT}
    others = list(dict.fromkeys(key for row in rows for key in row.values if key not in columns))
    unseen = f" It also has {', '.join(others)}, which are no columns here." if others else ""
    return html.P(f"{table.title}: {table.caveat}{unseen}", className="note")


VIEW = register(
    View(
        name="leaderboard", path="/", title="Leaderboard", place=10, draw=draw, check=check, keys=("sort", "published"),
        filters=("model", "elicitation", "category", "radius", "difficulty", "revealed", "human", "binning"),
    )
)  # fmt: skip


def layout(**query: Any) -> html.Div:
    """The page."""
    return page(VIEW, query)


dash.register_page(__name__, path=VIEW.path, title=f"{VIEW.title} · Clueline", layout=layout)
