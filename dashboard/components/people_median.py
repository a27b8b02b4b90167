"""Runs against the median of people: how often they are right before it or within some words of it, also by category."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.numbers import DASH, percent
from dashboard.components.run_names_and_colours import RunColours, run_cell
from dashboard.components.table import table
from data.plurals import counted
from queries.buzzing import PeopleMedian
from queries.buzzing.people_median import Share

NOTE = (
    "Share of the questions that people heard, with 95 % intervals over questions. The median of a question is that of its "
    "correct human buzzes; where people heard it and none was right, any right buzz is earlier. The threshold is fixed."
)


def people_median_section(result: PeopleMedian, names: Mapping[str, str], colours: RunColours) -> html.Section | None:
    """Return the tables, of runs by words after the median and of runs by category; None if no run has a share.

    Args:
        result: shares of each run.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    runs = [run for run in result.runs if run.earlier]
    if not runs:
        return None
    by_words = [
        html.Tr([run_cell(names[run.run], colours.get(run.run)), _cell(run.earlier, run.questions)]
                + [_cell(share, run.questions) for share in run.within])
        for run in runs
    ]  # fmt: skip
    categories = list(dict.fromkeys(part.category for run in runs for part in run.categories))
    by_category = []
    for run in runs:
        parts = {part.category: part for part in run.categories}
        cells = [_cell(parts[name].earlier, parts[name].questions) if name in parts else _cell(None, 0) for name in categories]
        by_category.append(html.Tr([run_cell(names[run.run], colours.get(run.run)), _cell(run.earlier, run.questions), *cells]))
    label = "Right before people, or within some words of their median"
    earlier = "Earlier than people, by category"
    return html.Section(
        [
            html.H2("Earlier than people"),
            html.P(NOTE, className="note"),
            table(["Run", "Right before the median", *map(_by, result.words)], by_words, label, "board across"),
            *(
                [html.H3(earlier), table(["Run", "All", *(name or "not stated" for name in categories)], by_category, earlier,
                                         "board across")]
                if len(categories) > 1
                else []
            ),
        ],
        className="section",
    )  # fmt: skip


def _by(words: int) -> str:
    if words == 0:
        return "By the median"
    return f"By {abs(words)} words {'after' if words > 0 else 'before'} it"


def _cell(share: Share | None, questions: int) -> html.Td:
    if share is None:
        return html.Td(DASH, className="number missing", title="No question of this category was heard")
    interval = DASH if share.low is None else f"{percent(share.low)} to {percent(share.high)}"
    return html.Td(
        [percent(share.share), html.Span(interval, className="row-note")],
        className="number",
        title=counted(questions, "question") + (f"; no interval, because {share.no_interval}" if share.no_interval else ""),
    )
