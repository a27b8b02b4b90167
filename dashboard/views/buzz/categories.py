"""Buzzes by category, and runs against the median of people."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.ui.figure import INK
from dashboard.ui.numbers import DASH, percent, short
from dashboard.ui.runs import RunColours, run_cell
from dashboard.ui.table import table
from data.plurals import counted
from queries.buzzing import CategoryOutcomes, PeopleMedian
from queries.buzzing.category_outcomes import BuzzOutcomes, CategoryOutcome
from queries.buzzing.people_median import Share
from queries.selection.facets import Facets


def buzz_categories(
    result: CategoryOutcomes, facets: Facets, names: Mapping[str, str], colours: RunColours
) -> html.Section | None:
    """Return the number of correct buzzes per incorrect one: a row per group of players, a column per category.

    The table stays when a filter leaves one category, so that the page keeps its structure. None if the dataset has fewer than
    two categories, or nobody buzzes.
    """
    if len(facets.categories) < 2 or not result.groups:
        return None
    rows = []
    for group in result.groups:
        by_category = {outcome.category: outcome for outcome in group.categories}
        cells = [_cell(by_category.get(category)) for category in result.categories]
        rows.append(html.Tr([_name(group, names, colours), _cell(_total(group)), *cells]))
    head = ["Who", "All", *(category or "not stated" for category in result.categories)]
    return html.Section(
        [
            html.H2("Correct buzzes per incorrect buzz, by category"),
            html.P(
                "Above 1, more buzzes are correct than incorrect. Counts are shown below. Runs buzz at the threshold in use.",
                className="note",
            ),
            table(head, rows, "Correct buzzes per incorrect buzz, by category", "board across"),
        ],
        className="section",
    )


def _name(group: BuzzOutcomes, names: Mapping[str, str], colours: RunColours) -> html.Th:
    if group.kind == "human":
        return run_cell("People", INK)
    if group.kind == "model":
        return run_cell(f"{group.name} (played as a team)", None)
    return run_cell(names.get(group.name, group.name), colours.get(group.name))


def _total(group: BuzzOutcomes) -> CategoryOutcome:
    heard, correct, incorrect = (
        sum(getattr(outcome, name) for outcome in group.categories) for name in ("heard", "correct", "incorrect")
    )
    return CategoryOutcome(None, heard, correct, incorrect, correct / incorrect if incorrect else None)


def _cell(outcome: CategoryOutcome | None) -> html.Td:
    if outcome is None:
        return html.Td(DASH, className="number missing", title="No question of this category was heard")
    counts = html.Span(f"{outcome.correct:,} : {outcome.incorrect:,}", className="row-note")
    title = f"{counted(outcome.heard, 'question')} heard"
    if outcome.ratio is None:
        why = "no buzz" if not outcome.correct else "no incorrect buzz"
        return html.Td([DASH, counts], className="number", title=f"{title}, {why}")
    return html.Td([short(outcome.ratio, 1), counts], className="number", title=title)


NOTE = (
    "Share of the questions that people heard, with 95 % intervals over questions. The median of a question is that of its "
    "correct human buzzes; where people heard it and none was right, any right buzz is earlier. The threshold is fixed."
)


def people_median_section(result: PeopleMedian, names: Mapping[str, str], colours: RunColours) -> html.Section | None:
    """Return the tables, of runs by words after the median and of runs by category; None if no run has a share."""
    runs = [run for run in result.runs if run.earlier]
    if not runs:
        return None
    by_words = [
        html.Tr([run_cell(names[run.run], colours.get(run.run)), _share_cell(run.earlier, run.questions)]
                + [_share_cell(share, run.questions) for share in run.within])
        for run in runs
    ]  # fmt: skip
    categories = list(dict.fromkeys(part.category for run in runs for part in run.categories))
    by_category = []
    for run in runs:
        parts = {part.category: part for part in run.categories}
        cells = [
            _share_cell(parts[name].earlier, parts[name].questions) if name in parts else _share_cell(None, 0)
            for name in categories
        ]
        by_category.append(
            html.Tr([run_cell(names[run.run], colours.get(run.run)), _share_cell(run.earlier, run.questions), *cells])
        )
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


def _share_cell(share: Share | None, questions: int) -> html.Td:
    if share is None:
        return html.Td(DASH, className="number missing", title="No question of this category was heard")
    interval = DASH if share.low is None else f"{percent(share.low)} to {percent(share.high)}"
    return html.Td(
        [percent(share.share), html.Span(interval, className="row-note")],
        className="number",
        title=counted(questions, "question") + (f"; no interval, because {share.no_interval}" if share.no_interval else ""),
    )
