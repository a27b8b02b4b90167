"""Buzzing: when runs and people answer, and what that is worth. Only for questions that are read clue by clue.

``buzz`` returns everything at once; each part is also a query of its own. A number that the data cannot give is None, and
``missing`` gives the reason.

The filters of a selection on questions apply to both runs and people. ``revealed`` applies to runs only: they keep the clues
within it, and their buzzpoint is the first of these above the threshold. People are counted as they played.
"""

from data.store import Snapshot
from queries.buzzing.category_outcomes import CategoryOutcomes, category_outcomes
from queries.buzzing.curves import accuracy_by_fraction, accuracy_of, buzz_curves, buzz_rates, curves_of, rates_of
from queries.buzzing.inputs import read_buzzing
from queries.buzzing.parameters import CURVES, SCALES, BuzzParameters, Rules
from queries.buzzing.people_median import PeopleMedian, people_median
from queries.buzzing.results import Buzz, BuzzCurves, BuzzRates, FractionAccuracy, ThresholdExplorer
from queries.buzzing.thresholds import Buzzpoint, best_thresholds, buzzpoint, explorer_of, threshold_explorer
from queries.selection import Selection, selection_keys

__all__ = [
    "CURVES",
    "SCALES",
    "Buzz",
    "BuzzCurves",
    "BuzzParameters",
    "BuzzRates",
    "Buzzpoint",
    "CategoryOutcomes",
    "FractionAccuracy",
    "PeopleMedian",
    "Rules",
    "ThresholdExplorer",
    "accuracy_by_fraction",
    "best_thresholds",
    "buzz",
    "buzz_curves",
    "buzz_rates",
    "buzzpoint",
    "category_outcomes",
    "people_median",
    "threshold_explorer",
]


def buzz(snapshot: Snapshot, selection: Selection, rules: Rules) -> Buzz:
    """Return the threshold explorer, the buzz curves, accuracy by fraction and the buzz rates of a selection."""
    data = read_buzzing(snapshot, selection, rules)
    return Buzz(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        questions=data.questions,
        missing=data.missing,
        explorer=explorer_of(snapshot, data, selection, rules),
        curves=curves_of(data),
        accuracy=accuracy_of(data, data.runs),
        habits=rates_of(data),
    )
