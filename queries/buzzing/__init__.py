"""Buzzing: when runs and people answer, and what that is worth. Only for questions that are read clue by clue.

``buzz`` reads the data once for all its parts. A number that the data cannot give is None, and ``missing`` gives the reason.

The filters of a selection on questions apply to both runs and people. ``revealed`` applies to runs only: they keep the clues
within it, and their buzzpoint is the first of these above the threshold. People are counted as they played.
"""

from clueline.data.store import Snapshot
from clueline.queries.buzzing.by_category import CategoryOutcomes, PeopleMedian, category_outcomes, people_median
from clueline.queries.buzzing.curves import (
    BuzzCurves,
    BuzzRates,
    FractionAccuracy,
    accuracy_by_fraction,
    accuracy_of,
    buzz_curves,
    buzz_rates,
)
from clueline.queries.buzzing.inputs import read_buzzing
from clueline.queries.buzzing.parameters import CURVES, SCALES, BuzzParameters, Rules
from clueline.queries.buzzing.thresholds import Buzzpoint, ThresholdExplorer, best_thresholds, buzzpoint, threshold_explorer
from clueline.queries.engine.plays_of_people import Plays, with_second_values
from clueline.queries.selection import Answer, Selection, head

__all__ = [
    "CURVES",
    "SCALES",
    "Buzz",
    "BuzzParameters",
    "Buzzpoint",
    "CategoryOutcomes",
    "FractionAccuracy",
    "PeopleMedian",
    "Rules",
    "ThresholdExplorer",
    "accuracy_by_fraction",
    "best_thresholds",
    "buzz",
    "buzzpoint",
    "category_outcomes",
    "people_median",
    "threshold_explorer",
]


class Buzz(Answer):
    """Answer of ``/api/v1/buzz``. ``plays`` counts those of people, if the end of some is not stated."""

    questions: int
    missing: str | None
    explorer: ThresholdExplorer
    curves: BuzzCurves
    accuracy: FractionAccuracy
    habits: BuzzRates
    plays: Plays | None = None


def buzz(snapshot: Snapshot, selection: Selection, rules: Rules) -> Buzz:
    """Return the threshold explorer, the buzz curves, accuracy by fraction and the buzz rates of a selection."""
    data = read_buzzing(snapshot, selection, rules)
    answer = Buzz(
        *head(snapshot, selection),
        questions=data.questions,
        missing=data.missing,
        explorer=threshold_explorer(snapshot, data, selection, rules),
        curves=buzz_curves(data),
        accuracy=accuracy_of(data, data.runs),
        habits=buzz_rates(data),
    )
    return with_second_values(snapshot, selection, answer, lambda other, same: buzz(other, same, rules))
