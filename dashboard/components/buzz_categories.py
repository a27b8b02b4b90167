"""Correct and incorrect buzzes by category."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.numbers import DASH, short
from dashboard.components.run_names_and_colours import RunColours, run_cell
from dashboard.components.table import table
from dashboard.figures.style import INK
from data.plurals import counted
from queries.buzzing import CategoryOutcomes
from queries.buzzing.category_outcomes import BuzzOutcomes, CategoryOutcome
from queries.selection.facets import Facets


def buzz_categories(
    result: CategoryOutcomes, facets: Facets, names: Mapping[str, str], colours: RunColours
) -> html.Section | None:
    """Return the number of correct buzzes per incorrect one: a row per group of players, a column per category.

    Args:
        result: outcomes of people, of models that played as teams, and of runs.
        facets: facets of the dataset. The table stays when a filter leaves one category, so that the page keeps its structure.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.

    Returns:
        None if the dataset has fewer than two categories, or nobody buzzes.
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
