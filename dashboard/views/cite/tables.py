"""Tables for papers, as LaTeX and Markdown: few decimals, intervals in brackets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.registry.cited import Cited
from dashboard.registry.tables import Column
from dashboard.ui.numbers import DASH, short
from queries.metrics import CATALOGUE

MAX_ROWS = 60
OF_FORECASTS = {"mean_confidence": "Mean probability of yes", "accuracy": "Mean outcome"}  # unless they are metrics
LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", DASH: "--", "\u2212": "$-$", "·": r"$\cdot$", "…": r"\dots{}",
}  # fmt: skip


@dataclass(frozen=True)
class PaperTable:
    """A table as it is printed.

    ``numbers`` says which columns hold numbers. ``metrics`` are the keys of the metrics that have a column or a row. ``total``
    counts all rows, also those that are not printed.
    """

    columns: list[str]
    rows: list[list[str]]
    numbers: list[bool]
    metrics: list[str]
    total: int


def paper_table(
    shown: Sequence[Column], rows: Sequence[object], cited: Cited[Any], names: Mapping[str, str], *, forecasts: bool
) -> PaperTable:
    """Return the printed part of a table: three decimals, intervals in brackets, and no empty columns.

    ``names`` are names of runs, by id, for columns whose heading is a run. ``forecasts``: answers are forecasts.
    """
    by_key = {column.key: column for column in shown}
    wanted = [by_key[key] for key in cited.columns if key in by_key]
    if "metric" in by_key:  # one row per metric; leave out metrics that are undefined here
        measured = [column for column in wanted if column.key != "metric"]
        rows = [row for row in rows if any(column.value(row) is not None for column in measured)]
    kept = [column for column in wanted if any(column.value(row) not in (None, "") for row in rows)]

    def cell(row: object, column: Column) -> str:
        value = column.value(row)
        ends = [by_key[end].value(row) for end in column.ends if end in by_key]
        if column.key in ("metric", "variant") and value in CATALOGUE:
            return CATALOGUE[str(value)].worded(forecasts).name
        if len(ends) == 2 and None not in ends:
            return f"{_printed(value)} [{_printed(ends[0])}, {_printed(ends[1])}]"
        return _printed(value)

    printed = [[cell(row, column) for column in kept] for row in rows[:MAX_ROWS]]
    numbers = [all(isinstance(column.value(row), int | float | None) for row in rows) for column in kept]
    named = [column.key.partition(":")[0] for column in kept]
    if "metric" in by_key:
        named += [str(by_key["metric"].value(row)) for row in rows]
    measured_metrics = {metric.key for metric in cited.metrics}
    metrics = [key for key in dict.fromkeys(named) if key in measured_metrics]
    headings = OF_FORECASTS | {metric.key: metric.worded(True).label for metric in cited.metrics} if forecasts else {}
    titles = [headings.get(column.key) or names.get(column.heading, column.heading) for column in kept]
    return PaperTable(titles, printed, numbers, metrics, len(rows))


def _printed(value: object) -> str:
    """Return a cell: fractions are rounded; whole numbers and words stay as they are.

    >>> _printed(0.48259), _printed(12), _printed("GPT"), _printed(None)
    ('0.483', '12', 'GPT', '–')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return short(value)
    return DASH if value in (None, "") else str(value)


def as_latex(table: PaperTable, caption: str, label: str) -> str:
    """Return the table as LaTeX, for the package booktabs."""
    if not table.rows:
        return "% The table has no rows.\n"
    columns = "".join("r" if number else "l" for number in table.numbers)
    lines = [" & ".join(map(_latex, row)) + r" \\" for row in [table.columns, *table.rows]]
    return "\n".join([
        r"\begin{table}", r"\centering", rf"\caption{{{_latex(caption)}}}", rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}",
        r"\end{table}", "",
    ])  # fmt: skip


def _latex(text: str) -> str:
    r"""Return text with LaTeX's special characters escaped.

    >>> _latex("95 % of a_b")
    '95 \\% of a\\_b'
    """
    return "".join(LATEX.get(letter, letter) for letter in " ".join(text.split()))


def as_markdown(table: PaperTable) -> str:
    """Return the table as Markdown."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"

    if not table.rows:
        return "The table has no rows.\n"
    rule = ["---:" if number else "---" for number in table.numbers]
    return "\n".join([line(table.columns), line(rule), *map(line, table.rows), ""])
