"""All parts of buzzing at once, from one read of the data."""

from __future__ import annotations

from data.store import Snapshot
from queries.buzzing import cumulative_curves, fraction_accuracy, rates_by_correctness, thresholds
from queries.buzzing.buzz_inputs import read_buzzing
from queries.buzzing.buzz_parameters import Rules
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
