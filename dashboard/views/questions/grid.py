"""The list of questions as a grid: its columns, its rows, and its orders.

The small figure of a row is drawn by the cell renderer ``QuestionSparklines`` of ``assets/dashAgGridComponentFunctions.js``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from textwrap import shorten
from typing import Any

import dash_ag_grid
from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.ui.controls import menu
from clueline.dashboard.ui.figure import INK, OTHERS, PlotlyJson
from clueline.dashboard.ui.html import data, page_link
from clueline.dashboard.ui.quizbowl import main_answer, without_markup
from clueline.dashboard.ui.runs import MAX_HIGHLIGHTED, RunColours, RunName, RunStyle, run_colours
from clueline.dashboard.ui.table import PageColumn, html_table
from clueline.dashboard.ui.text import CURVE_NAMES, DASH, distinct_short_names, percent, short
from clueline.data.plurals import counted
from clueline.data.store.run_cache import kept_property
from clueline.queries.metrics import Metric
from clueline.queries.questions import QuestionPage, QuestionRow, QuestionSparklines, Sort, read_sort
from clueline.queries.selection.facets import Facets

BLOCK = 100  # rows per request of the grid
MAX_HEADING_LENGTH = 22  # characters of a run's name
DAGGER = "†"  # marks a value of a run whose gradings differ on the question
SNIPPET = 160  # characters of a question
MAX_PAIRED = 4  # up to this many runs, every pair is offered as an order; beyond, only the first run with each other one
NUMERIC = {"type": "rightAligned", "width": 62, "cellClass": "number", "headerClass": "narrow"}
WRAPPED = {"wrapHeaderText": True, "autoHeaderHeight": True}
SMALL = NUMERIC | WRAPPED | {"width": 46}
RIGHT_TEAMS = "Share of human teams that answered correctly"
HEARD = "Human teams that heard it, counted once per room"
CONVERSION = "Share of the rooms that heard it in which a human team answered correctly"
ColumnDefinition = dict[str, Any]  # AG Grid's, as JSON


@dataclass(frozen=True)
class QuestionGrid:
    """The list of the questions of a selection.

    ``selected`` are the runs that pass the filters. ``curve`` is the human curve of the sparklines. For ``sort`` see
    ``queries.questions``.
    """

    facets: Facets
    selected: Sequence[str]
    curve: str
    metric: Metric
    sort: Sort
    highlighted: tuple[str, ...]

    @kept_property
    def runs(self) -> list[str]:
        """The runs that have a column, in order of import: all if they are few, otherwise the highlighted ones."""
        known = self.selected_runs
        return known if len(known) <= MAX_HIGHLIGHTED else [run for run in known if run in self.highlighted]

    @kept_property
    def selected_runs(self) -> list[str]:
        """The runs that pass the filters, in order of import."""
        return [run for run, _, _ in self.facets.runs if run in self.selected]

    @kept_property
    def names(self) -> dict[str, str]:
        """Display name of each run of the dataset; for a withdrawn run, its id."""
        names = names_of(run for run, _, _ in self.facets.runs)
        labels = dict(zip(names, distinct_short_names([*names.values()]), strict=True))
        return {run: run for run in self.facets.withdrawn} | {run: RunName(name, labels[run]) for run, name in names.items()}

    @kept_property
    def run_colours(self) -> Mapping[str, str]:
        """Colour of each highlighted run of the grid, by run id."""
        every = self._colours
        return {run: every[run] for run in self.runs if run in every}

    @kept_property
    def _colours(self) -> RunColours:
        return run_colours(self.facets, self.highlighted)

    @property
    def has_sparklines(self) -> bool:
        """Whether there is anything to draw clue by clue."""
        return self.facets.longest > 1 and bool(self.facets.human_teams or self.run_colours)

    @property
    def extra_column(self) -> bool:
        """Whether the order needs a column of its own. The dataset's order needs none."""
        ids = {_column_id(column) for column in self._columns()}
        return self.sort.key not in ids and (self.sort.key != "position" or self.sort.descending)

    # -- columns -------------------------------------------------------------------------------------------------------

    def component(self) -> html.Div:
        """Return the grid. It requests its rows as they scroll into view."""
        columns = self._columns()
        if self.extra_column:
            columns.insert(len(columns) - len(self.runs), self._extra_column())
        for column in columns:
            if _column_id(column) == self.sort.key:
                column["sort"] = "desc" if self.sort.descending else "asc"
        grid = dash_ag_grid.AgGrid(
            id="grid",
            columnDefs=columns,
            defaultColDef={
                "sortable": True, "resizable": True, "suppressMovable": True, "sortingOrder": ["asc", "desc", None],
            },
            rowModelType="infinite",
            dashGridOptions={
                "cacheBlockSize": BLOCK, "rowHeight": 30, "headerHeight": 62, "infiniteInitialRowCount": 1,
                # Requests of an earlier selection are never answered, and must not keep later ones waiting.
                "maxConcurrentDatasourceRequests": -1,
                "maxBlocksInCache": 20, "animateRows": False, "suppressCellFocus": False, "enableCellTextSelection": True,
            },
            className="ag-theme-clueline",
        )  # fmt: skip
        return html.Div(grid, className="questions-grid", **(data(own=self.sort.key) if self.extra_column else {}))

    def table(self, rows: Sequence[Mapping[str, Any]]) -> html.Div:
        """Return rows as a table that needs no server, without sparklines. For the rows see ``rows``."""

        def value(field: str, row: Mapping[str, Any]) -> object:
            good = row["heat"].get(field)
            return row.get(field) if good is None else html.Span(row[field], className="heat-cell", style={"--good": good})

        def name(row: Mapping[str, Any]) -> Component:
            answer: list[Any] = [html.B(row["answer"]), " "] if row["answer"] else []
            return page_link([*answer, row["text"] or row["question_id"]], row["href"])

        columns = [*self._columns()[1:], *([self._extra_column()] if self.extra_column else [])]
        shown = [
            PageColumn(one["headerName"], partial(value, one["field"]), about=one.get("headerTooltip", ""), number="type" in one)
            for one in columns
            if one["field"] != "clues"
        ]
        return html_table([PageColumn("Question", name), *shown], rows, "Questions", "question-list")

    def _columns(self) -> list[ColumnDefinition]:
        """Facts of each question, then the metric of each run."""
        facets, people = self.facets, bool(self.facets.human_teams)
        rated = people and facets.difficulty_source != "human"

        def column(shown: object, field: str, name: str, tip: str = "", **more: object) -> list[ColumnDefinition]:
            return [{"field": field, "headerName": name, **({"headerTooltip": tip} if tip else {}), **more}] if shown else []

        return [
            *column(
                True, "text", "Question", colId="question_id", cellRenderer="QuestionLink", flex=1, minWidth=150,
                cellClass="question-cell",
            ),
            *column(
                self.has_sparklines, "clues", "Clues", "Confidence clue by clue, over the part of the question revealed",
                cellRenderer="Spark", sortable=False, width=WIDTH + 10, cellClass="spark-cell",
            ),
            *column(facets.texts("category"), "category", "Category", width=92),
            *column(facets.texts("subcategory"), "subcategory", "Subcategory", width=110),
            *column(facets.radii, "radius", "Radius", "", **NUMERIC),
            *column(facets.difficulty, "difficulty", "Difficulty", "", **NUMERIC),
            *column(rated, "people", "People right", RIGHT_TEAMS, **SMALL | {"width": 52}),
            *column(people, "heard", "Heard", HEARD, **SMALL),
            *column(people, "h", "h", f"At its end: {CURVE_NAMES[self.curve]}", **SMALL),
            *column(people, "conversion", "Conversion", CONVERSION, **SMALL | {"width": 72}),
            *map(self._run_column, self.runs),
        ]  # fmt: skip

    @kept_property
    def _headings(self) -> dict[str, str]:
        """Names of the runs that have a column, shortened to fit it."""
        return dict(zip(self.runs, distinct_short_names([self.names[run] for run in self.runs], MAX_HEADING_LENGTH), strict=True))

    def _run_column(self, run: str) -> ColumnDefinition:
        return {
            "field": run, "colId": f"{self.metric.key}:{run}", "cellRenderer": "Heat", **NUMERIC, **WRAPPED,
            "headerName": self._headings[run], "headerTooltip": f"{self.metric.name} of {self.names[run]}",
            "headerStyle": {"borderTop": f"3px solid {self.run_colours.get(run, OTHERS)}"},
        }  # fmt: skip

    def _extra_column(self) -> ColumnDefinition:
        """The column with the sort values, for an order that no other column has."""
        sort = self.sort
        prefix = "Wrong early: " if sort.by == "wrong" else f"{sort.metric.label}: " if sort.metric else ""
        tip = self._sentence(sort)
        title = prefix + " \u2212 ".join(self.names[run] for run in sort.runs) or tip
        if sort.by == "wrong":
            tip += f": the largest (1 \u2212 h)(1 \u2212 y)c over the clues; h: {CURVE_NAMES[self.curve]}"
            tip += "" if self.facets.human_teams else ", 0 without human data"
        return {
            "field": "own", "colId": sort.key, "headerName": title, "headerTooltip": tip, "sortingOrder": ["desc", "asc"],
            **NUMERIC, **WRAPPED, "width": 92, "cellClass": "number by",
        }  # fmt: skip

    # -- orders --------------------------------------------------------------------------------------------------------

    def order_menu(self) -> Component:
        """Return a menu of orders by values that no column of the grid has."""
        current = self.sort if self.extra_column else None
        chosen = f"{'-' if current.descending else ''}{current.key}" if current else ""
        runs = self.selected_runs
        pairs = combinations(runs, 2) if len(runs) <= MAX_PAIRED else ((runs[0], run) for run in runs[1:])
        options = {"": "As in the table"}
        for text in [f"-wrong:{run}" for run in runs] + [f"-{self.metric.key}:{a}-{b}" for a, b in pairs]:
            sort = read_sort(text, self.facets.all_runs, self.facets.dataset)
            # An order reversed by its heading is still the chosen one.
            options[chosen if current and sort.key == current.key else text] = self._sentence(sort)
        if current and chosen not in options:
            options[chosen] = self._sentence(current)
        return menu("sort", "Order", options, chosen, kind="order")

    def _sentence(self, sort: Sort) -> str:
        names = [self.names[run] for run in sort.runs]
        if sort.by == "difference":
            assert sort.metric
            return f"Difference of {sort.metric.name}: {names[0]} \u2212 {names[1]}"
        if sort.by == "wrong":
            return f"Confidently wrong before people knew: {names[0]}"
        return f"{sort.metric.name}: {names[0]}" if sort.metric else sort.key.replace("_", " ").capitalize()

    # -- rows ----------------------------------------------------------------------------------------------------------

    def rows(
        self, page: QuestionPage, start: int, links: Mapping[str, str], drawn: Mapping[str, QuestionSparklines]
    ) -> list[dict[str, object]]:
        """Return rows as JSON, by the fields of the columns.

        ``start`` is the place of the first question in the order, from 0. ``links`` are the addresses by question id.
        """
        return [
            {
                "question_id": question.question_id,
                "answer": main_answer(question.answer, quizbowl=self.facets.quizbowl),
                "text": shorten(self._words(question.text or ""), SNIPPET, placeholder="…"),
                "href": links[question.question_id],
                "clues": spark_figure(drawn[question.question_id], self.names, self.run_colours) if drawn else None,
                "category": question.category,
                "subcategory": question.subcategory,
                "radius": question.radius,
                "difficulty": _both(question, "difficulty"),
                "people": _both(question, "people"),
                "heard": _both(question, "heard", "{:,.0f}".format),
                "h": _both(question, "h"),
                "conversion": percent(question.conversion),
                "heat": self._heat(question),
                "own": self._sorted_by(question, page.total - start - index),
                **{
                    run: short(values[self.metric.key]) + (f" {DAGGER}" if run in question.disputed else "")
                    for run, values in question.runs.items()
                },
            }
            for index, question in enumerate(page.questions)
        ]

    def _heat(self, question: QuestionRow) -> dict[str, float]:
        """How good each run's value is on the question, from 0 for the worst run to 1 for the best."""
        losses = {}
        for run in self.runs:
            value = question.runs.get(run, {}).get(self.metric.key)
            if value is not None and self.metric.direction != "none":
                losses[run] = {"lower": value, "zero": abs(value)}.get(self.metric.direction, -value)
        best, worst = min(losses.values(), default=0.0), max(losses.values(), default=0.0)
        return {run: round((worst - loss) / (worst - best), 2) for run, loss in losses.items()} if worst > best else {}

    def _words(self, text: str) -> str:
        return without_markup(text) if self.facets.quizbowl else text

    def _sorted_by(self, question: QuestionRow, place: int) -> str | None:
        """The value that a question is sorted by; ``place`` is its place in the reversed order of the dataset."""
        if self.sort.by != "fact":
            return short(question.value)
        fact = place if self.sort.key == "position" else getattr(question, self.sort.key)
        return short(fact, 2) if isinstance(fact, float) or fact is None else str(fact)

    def pins(self) -> Component | None:
        """Return a legend for choosing runs; None if every run has a column."""
        return (
            RunStyle(self.names, self._colours).legend(self.selected_runs) if len(self.runs) < len(self.selected_runs) else None
        )

    def legend(self) -> Component | None:
        """Say how to read the sparklines; None if there are none."""
        if not self.has_sparklines:
            return None
        lines = "a line per run, with a full dot if the last guess is right, else a hollow one"
        parts = [lines] if self.runs else []
        if self.facets.human_teams:
            parts = [*parts, f"steps: {CURVE_NAMES[self.curve]}"]
        return html.P(f"Clues, left to right: {'; '.join(parts)}.", className="note")


TWO_DIGITS = partial(short, digits=2)


def _both(question: QuestionRow, key: str, form: Callable[[float], str] = TWO_DIGITS) -> str:
    """Return a value with its second one, without plays whose end nobody stated, in brackets."""
    value, second = getattr(question, key), question.second.get(key)
    written = DASH if value is None else form(value)
    return written if second is None else f"{written} ({form(second)})"


def _column_id(column: ColumnDefinition) -> str:
    return str(column.get("colId", column["field"]))


WIDTH, HEIGHT = 92, 26  # pixels
LEFT, RIGHT, EDGE = 1, 4, 4  # pixels of the margins; dots need room
MAX_POINTS = 46  # points of a line: more than one per two pixels would not be visible


def spark_figure(spark: QuestionSparklines, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson | None:
    """Return the paths of the lines, the dots at their ends and a text equivalent; None if there is nothing to draw."""
    drawn = {run: line for run, line in spark.runs.items() if run in colours}
    if not drawn and spark.people is None:
        return None
    words = []
    lines = []
    for run, colour in colours.items():
        line = drawn.get(run)
        if line is None:
            continue
        points = [(_x(at), _y(c)) for at, c in _thinned(line.revealed, line.confidence)]
        right = line.correct >= 0.5
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        lines.append({"path": path, "colour": colour, "x": points[-1][0], "y": points[-1][1], "right": right})
        ends = f"{short(line.confidence[0], 2)} to {short(line.confidence[-1], 2)}"
        words.append(f"{names[run]} {ends}, {'right' if right else 'wrong'} at the last")
    clues = max((len(line.revealed) for line in drawn.values()), default=0)
    people = None
    if spark.people is not None:
        steps = [f"H{_x(at)} V{_y(h)}" for at, h in _thinned(spark.people.revealed, spark.people.h)]
        people = {"path": f"M{_x(0)} {_y(0)} {' '.join(steps)}", "colour": INK}
        words.append(f"people {short(spark.people.h[0], 2)} to {short(spark.people.h[-1], 2)}")
        clues = max(clues, len(spark.people.h))
    label = f"Confidence over {counted(clues, 'clue')}: {'; '.join(words)}"
    return {"width": WIDTH, "height": HEIGHT, "runs": lines, "people": people, "label": label}


def _thinned(at: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    """Points of a line, thinned evenly if there are too many; the first and last stay."""
    last = len(at) - 1
    picked = range(last + 1) if last < MAX_POINTS else [round(index * last / (MAX_POINTS - 1)) for index in range(MAX_POINTS)]
    return [(at[index], values[index]) for index in picked]


def _x(revealed: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * revealed, 1)


def _y(value: float) -> float:
    return round(EDGE + (HEIGHT - 2 * EDGE) * (1 - value), 1)
