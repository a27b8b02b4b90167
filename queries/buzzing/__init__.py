"""Buzzing: when runs and people answer, and what that is worth. Only for questions that are read clue by clue.

``buzz`` answers all of it; each part is a query of its own. What the data cannot tell is missing, with its reason.

Of a selection, the filters on questions apply to runs and people alike. ``revealed`` leaves runs only the clues within it,
so that their buzzpoint is the first of those above the threshold; people are taken as they played.
"""

from queries.buzzing.buzz_policy import CURVES, SCALES, BuzzParameters, Rules
from queries.buzzing.category_outcomes import CategoryOutcomes, category_outcomes
from queries.buzzing.cumulative_curves import buzz_curves
from queries.buzzing.fraction_accuracy import accuracy_by_fraction
from queries.buzzing.overview import buzz
from queries.buzzing.question_buzzes import Buzzpoint, buzzpoint
from queries.buzzing.rates_by_correctness import buzz_rates
from queries.buzzing.results import Buzz, BuzzCurves, BuzzRates, FractionAccuracy, ThresholdExplorer
from queries.buzzing.thresholds import best_thresholds, threshold_explorer

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
    "Rules",
    "ThresholdExplorer",
    "accuracy_by_fraction",
    "best_thresholds",
    "buzz",
    "buzz_curves",
    "buzz_rates",
    "buzzpoint",
    "category_outcomes",
    "threshold_explorer",
]
