"""Reference forecasters: formulas among models, with which models are compared and which never win or lose."""

from __future__ import annotations

from clueline.data.store import Snapshot
from clueline.queries.engine.run_pairs import runs_by_id
from clueline.queries.engine.selected_answers import chosen
from clueline.queries.selection import Selection

REFERENCE = "computed"  # the elicitation of a formula


def divide_references(snapshot: Snapshot, selection: Selection) -> tuple[Selection, list[str]]:
    """Return the selection of the runs that can be ranked, and the ids of the reference forecasters.

    If all runs are formulas, or none is, all can be ranked.
    """
    names, (runs, _) = runs_by_id(snapshot, selection), chosen(snapshot, selection)
    references = [run for run in runs if names[run].elicitation == REFERENCE]
    if len(references) in (0, len(runs)):
        return selection, []
    return selection.on_runs([run for run in runs if run not in references]), references
