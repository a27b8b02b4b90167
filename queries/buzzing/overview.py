"""All parts of buzzing at once, from one read of the data."""

from __future__ import annotations

from data.store import Snapshot
from queries.buzzing import curves as cumulative_curves
from queries.buzzing import curves as fraction_accuracy
from queries.buzzing import curves as rates_by_correctness
from queries.buzzing import thresholds
from queries.buzzing.inputs import read_buzzing
from queries.buzzing.parameters import Rules
from queries.buzzing.results import Buzz
from queries.selection import Selection, selection_keys


def buzz(snapshot: Snapshot, selection: Selection, rules: Rules) -> Buzz:
    """Return the threshold explorer, the buzz curves, accuracy by fraction and the buzz rates of a selection."""
    data = read_buzzing(snapshot, selection, rules)
    return Buzz(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        questions=data.questions,
        missing=data.missing,
        explorer=thresholds.explorer_of(snapshot, data, selection, rules),
        curves=cumulative_curves.curves_of(data),
        accuracy=fraction_accuracy.accuracy_of(data),
        habits=rates_by_correctness.rates_of(data),
    )
