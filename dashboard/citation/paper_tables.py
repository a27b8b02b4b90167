"""Tables for papers, as LaTeX and Markdown: few decimals, intervals in brackets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.citation.page_table_sources import TableSource
from dashboard.components.numbers import DASH, short
from queries.metrics import CATALOGUE

MAX_ROWS = 60
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
NAMES = {
    "model": "Model", "elicitation": "Confidence", "questions": "Questions", "lower": "From", "upper": "To",
    "items": "Items", "mean_confidence": "Mean confidence", "accuracy": "Accuracy", "metric": "Metric", "value_a": "a",
    "value_b": "b", "difference": "Difference", "p_value": "p", "p_holm": "p (adjusted)", "p_adjusted": "p (adjusted)",
    "slope": "Slope", "value": "Value", "reference": "Reference", "category": "Category", "radius": "Radius",
    "difficulty": "Difficulty",
    "threshold": "Threshold", "buzzes": "Buzzes", "revealed": "Revealed", "expected_wins": "Expected wins", "win": "Win",
    "question_id": "Question", "heard": "Heard", "people": "People right", "clue": "Clue", "guess": "Guess",
    "correct": "Correct", "confidence": "Confidence", "answers": "Answers", "agreement": "Agreement", "kappa": "Kappa",
    "variant": "Definition", "rank": "Rank", "left_out": "Left out",
}  # fmt: skip
OF_FORECASTS = {"mean_confidence": "Mean probability of yes", "accuracy": "Mean outcome"}  # unless they are metrics
LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", DASH: "--", "\u2212": "$-$", "·": r"$\cdot$", "…": r"\dots{}",
}  # fmt: skip


@dataclass(frozen=True)
class PaperTable:
    """A table as it is printed.

    Attributes:
        columns: headings.
        rows: cells of each printed row.
        numbers: for each column, whether it holds numbers.
        metrics: keys of the metrics that have a column or a row; empty if the table names none.
        total: number of rows, including those that are not printed.
    """

    columns: list[str]
    rows: list[list[str]]
    numbers: list[bool]
    metrics: list[str]
    total: int


def paper_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], source: TableSource, names: Mapping[str, str], *, forecasts: bool
) -> PaperTable:
    """Return the printed part of a table: three decimals, intervals in brackets, and no empty columns.

    Args:
        header: names of all columns of the table.
        rows: its cells as in the CSV, blank if there is no value.
        source: says which columns are printed.
        names: names of runs, by id.
        forecasts: whether answers are forecasts.
    """
    place = {name: index for index, name in enumerate(header)}
    if "metric" in source.columns:  # one row per metric; leave out metrics that are undefined here
        measured = [place[name] for name in source.columns if name in place and name != "metric"]
        rows = [row for row in rows if any(row[index] for index in measured)]
    kept = [name for name in source.columns if name in place and any(row[place[name]] for row in rows)]

    def cell(row: Sequence[str], name: str) -> str:
        text = row[place[name]]
        low, high = ("low", "high") if name == source.interval_of else (f"{name}_low", f"{name}_high")
        ends = [row[place[end]] for end in (low, high) if end in place]
        if name in ("metric", "variant") and text in CATALOGUE:
            return CATALOGUE[text].worded(forecasts).name
        if len(ends) == 2 and all(ends):
            return f"{_rounded(text)} [{_rounded(ends[0])}, {_rounded(ends[1])}]"
        return _rounded(text) if text else DASH

    printed = [[cell(row, name) for name in kept] for row in rows[:MAX_ROWS]]
    numbers = [all(NUMBER.fullmatch(row[place[name]]) or not row[place[name]] for row in rows) for name in kept]
    named = [name.partition(":")[0] for name in kept] + [row[place["metric"]] for row in rows if "metric" in place]
    measured_metrics = {metric.key for metric in source.metrics}
    metrics = [key for key in dict.fromkeys(named) if key in measured_metrics]
    of_forecasts = OF_FORECASTS | {metric.key: metric.worded(forecasts).label for metric in source.metrics}
    titles = NAMES | (of_forecasts if forecasts else {})
    return PaperTable([_title(name, names, titles) for name in kept], printed, numbers, metrics, len(rows))


def _title(name: str, runs: Mapping[str, str], titles: Mapping[str, str]) -> str:
    metric, _, run = name.partition(":")
    if run:
        return runs.get(run, run)
    return titles.get(name) or (CATALOGUE[metric].label if metric in CATALOGUE else name)


def _rounded(text: str) -> str:
    """Return a cell with numbers rounded; whole numbers and words stay as they are.

    >>> _rounded("0.48259"), _rounded("12"), _rounded("GPT")
    ('0.483', '12', 'GPT')
    """
    if not NUMBER.fullmatch(text) or text.isdecimal():
        return text
    return short(float(text))


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
