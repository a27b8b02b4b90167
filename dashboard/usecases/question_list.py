"""The list of questions as pages and addresses ask for it: its order is worked out once and then read a page at a time."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.service import service
from queries.metrics import Metric
from queries.question_order import Order, order
from queries.questions import Questions, details, page
from queries.selection import Selection


def ordered(selection: Selection, sort: str) -> Order:
    """The questions of a selection in order, whichever runs it looks at: other runs do not make another order."""
    return service().ask(order, selection.but(run=(), model=(), elicitation=()), sort or "position")


def listed(selection: Selection, metrics: Sequence[Metric], sort: str, limit: int = 100, cursor: str | None = None) -> Questions:
    """A page of the list; see ``queries.questions.questions``."""
    return page(
        ordered(selection, sort),
        lambda ids: service().ask(details, selection, ids, metrics),
        limit,
        cursor,
    )
