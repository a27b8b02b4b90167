"""The notice that says what the unit of intervals, tests and bands is, where it is not the single question."""

from __future__ import annotations

from dash import html

from dashboard.components.links import address, page_link
from data.plurals import counted
from queries.engine.units import UnitCounts
from queries.selection.clusters import AGES, QUESTION, YEARS

Pairs = list[tuple[str, str]]


def cluster_words(name: str) -> str:
    """Say which questions are in a cluster, such as "the same packet"."""
    return f"the same {YEARS} years of age" if name == AGES else f"the same “{name}”"


def cluster_notice(counts: UnitCounts, path: str, pairs: Pairs) -> html.P | None:
    """Say what the units are; None if they are single questions.

    Args:
        counts: the units of the selection.
        path, pairs: path and query pairs of the page's address.
    """
    if counts.name == QUESTION:
        return None
    if counts.units < 2:
        text = (
            f"All questions here are in one cluster, of {cluster_words(counts.name)}. One cluster does not show how much values "
            "vary, so there are no intervals, tests and bands. "
        )
    else:
        text = (
            f"Questions with {cluster_words(counts.name)} depend on each other, so intervals, tests and bands count "
            f"{counted(counts.units, 'cluster')}, not {counted(counts.questions, 'question')}. "
        )
    others = [pair for pair in pairs if pair[0] != "cluster"]
    link = page_link("Count single questions", href=address(path, [*others, ("cluster", QUESTION)]))
    return html.P([text, link], className="note coverage", role="note")
