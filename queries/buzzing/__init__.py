"""Buzzing: when runs and people answer, and what that is worth. Only for questions that are read clue by clue.

``buzz`` returns everything at once; each part is also a query of its own. A number that the data cannot give is None, and
``missing`` gives the reason.

The filters of a selection on questions apply to both runs and people. ``revealed`` applies to runs only: they keep the clues
within it, and their buzzpoint is the first of these above the threshold. People are counted as they played.
"""

from queries.buzzing.category_outcomes import CategoryOutcomes, category_outcomes
from queries.buzzing.curves import accuracy_by_fraction, buzz_curves, buzz_rates
from queries.buzzing.overview import buzz
from queries.buzzing.parameters import CURVES, SCALES, BuzzParameters, Rules
from queries.buzzing.people_median import PeopleMedian, people_median
from queries.buzzing.results import Buzz, BuzzCurves, BuzzRates, FractionAccuracy, ThresholdExplorer
from queries.buzzing.thresholds import Buzzpoint, best_thresholds, buzzpoint, threshold_explorer

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
