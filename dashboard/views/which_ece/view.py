"""Keys and tables of the calibration errors."""

from __future__ import annotations

from dashboard.registry.keys import BinnedRun, Intervals
from dashboard.registry.tables import Table, column, columns, with_interval
from dashboard.registry.views import View, register
from queries.selection.view_parameters_base import Parameters
from queries.which_ece import which_ece


class WhichEceKeys(Parameters, frozen=True):
    """Which run's bins are returned, and whether errors have intervals."""

    focus: BinnedRun = ""
    intervals: Intervals = False


ERRORS = Table(
    "The errors as CSV, a row per run and variant.",
    rows=lambda answer: [
        (name, variant, error) for variant in answer.variants for name, error in zip(answer.runs, variant.runs, strict=True)
    ],
    columns=(
        *columns("run", "model", "elicitation", at=0),
        column("variant", lambda row: row[1].key),
        *with_interval(columns("value", at=2), "value"),
        *columns("rank", "left_out", at=2),
        *columns("source", at=1),
        *columns("low", "high", at=2),
    ),
)
WHICH_ECE = register(
    View(
        "which-ece",
        which_ece,
        WhichEceKeys,
        """The calibration error of each run as different projects compute it, with its rank and the number of items left out;
        the bins of one run; and Kendall's tau-b between the rankings.""",
        (ERRORS,),
    )
)
