"""All of buzzing at once, read once."""

from __future__ import annotations

from data.store import Snapshot
from queries.buzzing import conditional, cumulative, fractions, thresholds
from queries.buzzing.results import Buzz
from queries.buzzing.rules import Rules
from queries.buzzing.runs import read_buzzing
from queries.selection import Selection, selection_keys


def buzz(snapshot: Snapshot, selection: Selection, rules: Rules) -> Buzz:
    """The threshold explorer, the buzz curves, accuracy by fraction and the habits of a selection."""
    found = read_buzzing(snapshot, selection, rules)
    return Buzz(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        questions=found.questions,
        missing=found.missing,
        explorer=thresholds.of_play(snapshot, found, selection, rules),
        curves=cumulative.of_play(found),
        accuracy=fractions.of_play(found),
        habits=conditional.of_play(found),
    )
