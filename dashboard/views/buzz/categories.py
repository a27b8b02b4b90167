"""Buzzes by category, and runs against the median of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dash import html

from dashboard.ui.figure import INK
from dashboard.ui.numbers import DASH, percent, short
from dashboard.ui.runs import RunColours, named, run_column
from dashboard.ui.section import section
from dashboard.ui.table import Cell, Content, PageColumn, html_table, noted, span
from data.plurals import counted
from queries.buzzing import CategoryOutcomes, PeopleMedian
from queries.buzzing.category_outcomes import BuzzOutcomes, CategoryOutcome
from queries.buzzing.people_median import RunAndMedian, Share
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

    def name(group: BuzzOutcomes) -> Content:
        if group.kind == "human":
            return named(INK, "People")
        if group.kind == "model":
            return named(None, f"{group.name} (played as a team)")
        return named(colours.get(group.name), names.get(group.name, group.name))

    def cell_of(category: str | None) -> Callable[[BuzzOutcomes], Cell]:
        return lambda group: _cell({outcome.category: outcome for outcome in group.categories}.get(category))

    columns = [PageColumn("Who", name), PageColumn("All", lambda group: _cell(_total(group)), number=True)]
    columns += [PageColumn(category or "not stated", cell_of(category), number=True) for category in result.categories]
    title = "Correct buzzes per incorrect buzz, by category"
    return section(
        title,
        "Above 1, more buzzes are correct than incorrect. Counts are shown below. Runs buzz at the threshold in use.",
        html_table(columns, result.groups, title, "board across"),
    )


def _total(group: BuzzOutcomes) -> CategoryOutcome:
    heard, correct, incorrect = (
        sum(getattr(outcome, name) for outcome in group.categories) for name in ("heard", "correct", "incorrect")
    )
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
    "Share of the questions that people heard, with 95 % intervals over questions. The median of a question is that of its "
    "correct human buzzes; where people heard it and none was right, any right buzz is earlier. The threshold is fixed."
)


def people_median_section(result: PeopleMedian, names: Mapping[str, str], colours: RunColours) -> html.Section | None:
    """Return the tables, of runs by words after the median and of runs by category; None if no run has a share."""
    runs = [run for run in result.runs if run.earlier]
    if not runs:
        return None

    def within(place: int) -> Callable[[RunAndMedian], Cell]:
        return lambda run: _share_cell(run.within[place], run.questions)

    def cell_of(category: str | None) -> Callable[[RunAndMedian], Cell]:
        parts = {run.run: part for run in runs for part in run.categories if part.category == category}
        return lambda run: _share_cell(part.earlier, part.questions) if (part := parts.get(run.run)) else _share_cell(None, 0)

    def earlier(heading: str) -> list[PageColumn]:
        return [
            run_column(names, colours),
            PageColumn(heading, lambda run: _share_cell(run.earlier, run.questions), number=True),
        ]

    by_words = [PageColumn(_by(words), within(place), number=True) for place, words in enumerate(result.words)]
    categories = dict.fromkeys(part.category for run in runs for part in run.categories)
    by_category = [PageColumn(name or "not stated", cell_of(name), number=True) for name in categories]
    label, title = "Right before people, or within some words of their median", "Earlier than people, by category"
    return section(
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
    shown = noted(percent(share.share), span(share.low, share.high, percent) or DASH)
    return Cell(shown, counted(questions, "question") + why)
