"""Tables of pages, which scroll on their own if they are wider than the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.tables import Table
from clueline.dashboard.ui.html import aria, data
from clueline.dashboard.ui.text import DASH, STATED, STATED_MEANS, brackets, over_others, short
from clueline.data.plurals import counted

Content = str | Component | Sequence[Any] | None


class Cell(NamedTuple):
    """A cell with more than its value: a tooltip, a class, or attributes that scripts read.

    ``content`` is written like any value of its column. ``kind`` is the class of the cell, by default that of its column.
    """

    content: object
    title: str | None = None
    kind: str | None = None
    attributes: Mapping[str, Any] = {}


@dataclass(frozen=True)
class PageColumn:
    """A column of a table on a page.

    Attributes:
        heading: its heading, which is never blank; an ``html.Th``, such as that of ``sortable``, is used as it is.
        value: a function of a row, or the key of a declared column, or else the name of an attribute of a row. Numbers get three
            decimals or, if they are whole, commas; None is a dash. A ``Cell`` says more.
        form: writes values that are not None, if not in the usual style.
        why: a function of a row: why its value is missing, as the tooltip of the dash.
        about: the tooltip of the heading.
        number: whether cells are aligned right; by default, whether a value is a number.
    """

    heading: Content
    value: str | Callable[[Any], object]
    form: Callable[[Any], Content] | None = None
    why: Callable[[Any], str | None] | None = None
    about: str = ""
    number: bool | None = None

    def cell(self, row: Any) -> Cell:
        """Return the cell of a row. The value must be a function."""
        assert callable(self.value)
        value = self.value(row)
        cell = value if isinstance(value, Cell) else Cell(value)
        if cell.content is None and self.why and (reason := self.why(row)):
            cell = cell._replace(title=f"None, because {reason}")
        return cell

    def write(self, value: object) -> Content:
        """Return a value as it is written."""
        if value is None:
            return DASH
        if self.form and not isinstance(value, list):
            return self.form(value)
        if isinstance(value, float):
            return short(value)
        return f"{value:,}" if isinstance(value, int) else value  # type: ignore[return-value]


Columns = Iterable["PageColumn | str | None"]


@dataclass(frozen=True)
class Body:
    """Some rows of a table, below a line that spans all columns, if there is a title and any row.

    ``kind`` is the class of that line, and ``attributes`` those of the body.
    """

    rows: Sequence[Any]
    title: Content = None
    kind: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)


def html_table(
    columns: Columns,
    rows: Iterable[Any],
    label: str,
    class_name: str | None = None,
    *,
    declared: Table | None = None,
    of_row: Callable[[Any], Mapping[str, Any]] | None = None,
    **attributes: Any,
) -> html.Div:
    """Return a table. The first column names the rows.

    Args:
        columns: what is shown; a text is the key of a column of ``declared``, with its heading. None is left out.
        rows: the rows, or a ``Body`` for each group of rows.
        label: what the table holds, for screen readers.
        declared: the table of a view, whose columns can be shown by their keys.
        of_row: the attributes of a row.
        attributes: those of the table.
    """
    shown = [_resolved(column, declared) for column in columns if column is not None]
    listed = list(rows)
    bodies = [part for part in listed if isinstance(part, Body)] or [Body(listed)]
    cells = [[[column.cell(row) for column in shown] for row in body.rows] for body in bodies]
    numbers = [
        any(_is_number(line[place].content) for lines in cells for line in lines) if column.number is None else column.number
        for place, column in enumerate(shown)
    ]
    parts: list[Component] = [html.Thead(html.Tr([_heading(*pair) for pair in zip(shown, numbers, strict=True)]))]
    for body, lines in zip(bodies, cells, strict=True):
        if body.title is not None and not lines:
            continue
        spans = {"colSpan": len(shown), "scope": "rowgroup", **_stated(className=body.kind)}
        top = [] if body.title is None else [html.Tr(html.Th(body.title, **spans))]
        written = [
            html.Tr([_name(line[0], shown[0]), *map(_td, line[1:], shown[1:], numbers[1:])], **(of_row(row) if of_row else {}))
            for row, line in zip(body.rows, lines, strict=True)
        ]
        parts.append(html.Tbody([*top, *written], **body.attributes))
    inside = html.Table(parts, className=class_name, **attributes)
    return html.Div(inside, className="scroll", tabIndex="0", role="region", **aria(label=label))


REVERSED = {"ascending": "descending", "descending": "ascending", "other": "other"}


def sortable(
    heading: Content,
    key: str,
    sort: str,
    about: str,
    more: Component | None = None,
    *,
    number: bool = False,
    best: Literal["ascending", "descending", "other"] = "ascending",
) -> html.Th:
    """Return a heading that sorts: the first click puts the best first, the second reverses, the third restores the usual order.

    ``sort`` is the current order: a key, with a leading ``-`` for the reverse. ``more`` stands next to the heading. ``best`` is
    the order of the values where the best is first.
    """
    following = {key: f"-{key}", f"-{key}": ""}.get(sort, key)
    order = {key: best, f"-{key}": REVERSED[best]}.get(sort)
    first = {key: "Best first", f"-{key}": "Worst first"}.get(sort, "") if number else ""
    button = html.Button(heading, title=f"{first}. {about}" if first else about, type="button", **data(set=f"sort={following}"))
    return html.Th(
        [button, more] if more else button,
        scope="col",
        **_stated(className="number" if number else ""),
        **(aria(sort=order) if order else {}),
    )


def _resolved(column: PageColumn | str, declared: Table | None) -> PageColumn:
    """Return a column whose value is a function."""
    known = {} if declared is None or callable(declared.columns) else {known.key: known for known in declared.columns}
    if isinstance(column, str):
        column = PageColumn(known[column].heading, column)
    if callable(column.value):
        return column
    key = column.value
    read = known[key].value if key in known else attrgetter(key)

    def value(row: Any) -> object:
        second = getattr(row, "second", {}).get(key)
        return read(row) if second is None else with_second(read(row), second, column.form)

    return replace(column, value=value)


def over_note(count: int, of_row: int) -> html.Span | None:
    """Say how many questions a value is over, such as "89 of 120"; None if they are those of its row."""
    if count == of_row:
        return None
    title = f"This value is over {count:,} questions; the row is over {of_row:,}"
    return html.Span(over_others(count, of_row), className="of-questions", title=title)


def second_note(
    second: float | None, form: Callable[[float], Content] | None = None, questions: float | None = None
) -> html.Span | None:
    """Return the second value of one that rests on people; None if there is none. See ``queries.engine.plays_of_people``.

    ``questions`` is how many it is over, if they are not those of the first value.
    """
    if second is None:
        return None
    over = "" if questions is None else f", over {counted(int(questions), 'question')}"
    return html.Span([html.Span((form or short)(second)), f" {STATED}{over}"], className="row-note", title=STATED_MEANS)


def with_second(
    value: object,
    second: float | None,
    form: Callable[[Any], Content] | None = None,
    questions: float | None = None,
) -> object:
    """Return a cell with a value that rests on people above its second value; the value alone if there is none."""
    if second is None or not isinstance(value, float):
        return value
    return Cell([(form or short)(value), second_note(second, form, questions)], kind="number")


def _is_number(content: object) -> bool:
    return isinstance(content, int | float) and not isinstance(content, bool)


def _heading(column: PageColumn, number: bool) -> Component:
    if isinstance(column.heading, html.Th):
        return column.heading
    return html.Th(column.heading, scope="col", **_stated(className="number" if number else "", title=column.about))


def _name(cell: Cell, column: PageColumn) -> html.Th:
    return html.Th(column.write(cell.content), scope="row", **_stated(className=cell.kind, title=cell.title), **cell.attributes)


def _td(cell: Cell, column: PageColumn, number: bool) -> html.Td:
    kind = cell.kind if cell.kind is not None else "number" if number else ""
    return html.Td(column.write(cell.content), **_stated(className=kind, title=cell.title), **cell.attributes)


def _stated(**attributes: str | None) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value}


def columns_by(headings: Mapping[Any, Any], value: Callable[[Any, Any], object], **more: Any) -> list[PageColumn]:
    """Return a column of numbers for each key, with its heading; ``value`` is given the key and a row."""
    return [PageColumn(heading, partial(value, key), **{"number": True, **more}) for key, heading in headings.items()]


def interval(
    low: str | Callable[[Any], float | None] = "low",
    high: str | Callable[[Any], float | None] = "high",
    why: Callable[[Any], str | None] | None = None,
    heading: str = "95 % interval",
) -> PageColumn:
    """Return a column of intervals in brackets; ``why`` is as in ``PageColumn``."""
    start, end = (attrgetter(side) if isinstance(side, str) else side for side in (low, high))
    return PageColumn(heading, lambda row: brackets(start(row), end(row)) or None, why=why, number=True)


def span(low: float | None, high: float | None, form: Callable[[float | None], str] = short) -> str | None:
    """Return the range of a bin as "low to high"; None without one. For intervals, see ``brackets``."""
    return None if low is None or high is None else f"{form(low)} to {form(high)}"


def bracketed(value: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """Return a value with its interval in brackets, if there is one."""
    interval = brackets(low, high, lambda end: short(end, digits)) if value is not None else ""
    return f"{short(value, digits)} {interval}".strip()


def noted(value: Content, *notes: str | None) -> list[Any]:
    """Return a value above small notes; blank ones are left out."""
    return [value, *(html.Span(note, className="row-note") for note in notes if note)]
