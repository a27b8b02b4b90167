"""Where runs buzz on a single question: at the thresholds of the address or, without one, at each run's best on the selection."""

from __future__ import annotations

from dashboard.service import service
from queries.buzzing import Rules, explorer
from queries.question import Question, question
from queries.selection import Facets, Selection


def question_with_buzzpoints(selection: Selection, facets: Facets, question_id: str, rules: Rules) -> Question:
    """A question of a selection, with the buzzpoints of its runs where its dataset is read clue by clue.

    A best threshold is that of the Buzz page under the same address: over all questions that the selection's filters leave.
    """
    if facets.kind != "incremental" or facets.longest < 2:
        return service().ask(question, selection, question_id)
    best: tuple[tuple[str, float], ...] = ()
    if rules.threshold is None:
        found = service().ask(explorer, selection, rules).runs
        best = tuple(
            (run.run, run.outcome.threshold) for run in found if run.outcome.threshold is not None and run.outcome.optimal
        )
    return service().ask(question, selection, question_id, rules, best)
