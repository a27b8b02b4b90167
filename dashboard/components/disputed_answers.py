"""Gradings that differ: the notice above rankings and lists of wrong answers, and the mark of a disputed answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from dashboard.components.links import page_link
from dashboard.components.numbers import percent, short
from queries.leaderboard import GradingDisagreement, GradingLeader
from queries.metrics import CATALOGUE
from queries.selection import Selection

DISPUTED = "gradings differ"
HIDE = "undisputed"  # key of the address
MAX_TIED = 3  # runs that are named for one grading


def disputed_mark() -> html.Span:
    """Mark an answer on which the gradings of its run differ."""
    return html.Span(f" {DISPUTED}", className="row-note")


def disagreement_notice(
    disagreement: GradingDisagreement, selection: Selection, path: str, pairs: Sequence[tuple[str, str]]
) -> html.Aside | None:
    """Say on how many answers gradings differ, and who leads under each grading; None if they differ on few.

    Args:
        disagreement: of the selection.
        selection: of the page.
        path, pairs: path and query pairs of the page's address.
    """
    if not disagreement.matters:
        return None
    metric = CATALOGUE[disagreement.metric]
    parts: list[Component | str] = [f"On {percent(disagreement.share)} of the answers, the gradings of a run differ. "]
    for nth, (grading, leaders) in enumerate(groupby(disagreement.leaders, key=lambda leader: leader.grading)):
        link = page_link(f"“{grading}”", href=_address(path, pairs, "grading", grading))
        parts += ["; " if nth else f"First by {metric.name}: ", f"{_names([*leaders])} under ", link]
    shown = (
        f"“{selection.grading}” or, where a run lacks it, its first grading"
        if selection.grading
        else "“reviewed” or, where a run lacks it, its first grading (its file's or, if the file states none, Clueline's)"
    )
    hidden = selection.undisputed
    parts += [
        f"{'. ' if disagreement.leaders else ''}Shown: {shown}. ",
        page_link("Compare the gradings", href=f"/gradings?{urlencode(selection.pairs())}"),
        " ",
        page_link(
            "List disputed answers again" if hidden else "Leave disputed answers out of lists",
            href=_address(path, pairs, HIDE, "" if hidden else "1"),
        ),
    ]
    return html.Aside([html.Div([html.Strong("Gradings differ. "), *parts])], className="banner", role="note")


def _names(leaders: Sequence[GradingLeader]) -> str:
    names = ", ".join(f"{leader.model} · {leader.elicitation}" for leader in leaders[:MAX_TIED])
    more = f" and {len(leaders) - MAX_TIED} more" if len(leaders) > MAX_TIED else ""
    return f"{names}{more} ({short(leaders[0].value)})"


def _address(path: str, pairs: Sequence[tuple[str, str]], key: str, value: str) -> str:
    kept = [pair for pair in pairs if pair[0] != key]
    return f"{path}?{urlencode([*kept, (key, value)] if value else kept)}"
