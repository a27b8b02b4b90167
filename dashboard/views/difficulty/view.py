"""Overconfidence against difficulty."""

from __future__ import annotations

from dashboard.registry.tables import RUN, Table, columns, with_interval
from dashboard.registry.views import View, register
from queries.hard_easy_effect import difficulty
from queries.selection.view_parameters_base import NoParameters

DIFFICULTY = register(
    View(
        "difficulty",
        difficulty,
        NoParameters,
        "Overconfidence against difficulty: questions, line, slope and intervals.",
        (
            Table(
                "The slopes as CSV, a row per run.",
                rows=lambda answer: answer.runs,
                columns=(
                    *RUN,
                    *with_interval(columns("questions", "slope", "low", "high", "missing", "no_interval"), "slope"),
                ),
            ),
        ),
    )
)
