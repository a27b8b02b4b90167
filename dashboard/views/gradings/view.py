"""The gradings of each run, and how far they agree."""

from __future__ import annotations

from dashboard.registry.tables import RUN_FIRST, Table, columns
from dashboard.registry.views import View, register
from queries.gradings import gradings
from queries.selection.view_parameters_base import NoParameters

GRADINGS = register(
    View(
        "gradings",
        gradings,
        NoParameters,
        """The gradings of each run that has several: where each comes from, the accuracy by it, and how far each two agree on
        the answers of the selection (share of answers, Cohen's kappa).""",
        (
            Table(
                "The agreements as CSV, a row per pair of gradings of a run.",
                rows=lambda answer: [(run, pair) for run in answer.runs for pair in run.agreements],
                columns=(
                    *RUN_FIRST,
                    *columns("answers", at=0),
                    *columns("a", "b", "agreeing", "agreement", "kappa", at=1),
                ),
            ),
        ),
    )
)
