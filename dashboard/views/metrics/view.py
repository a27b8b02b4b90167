"""The catalogue of metrics, and figures printed in papers."""

from __future__ import annotations

from typing import Annotated

from dashboard.registry.tables import Table, column, columns, fields
from dashboard.registry.views import View, register
from queries.metric_definitions import MetricDefinition, metric_definitions
from queries.metrics import CATALOGUE
from queries.published_values import Published, PublishedValue, published
from queries.selection.parameter_kinds import Choices
from queries.selection.view_parameters_base import NoParameters, Parameters

TABLES = tuple(table.key for table in published().tables)
PUBLISHED_METRICS = tuple(dict.fromkeys([*CATALOGUE, *(value.metric for value in published().values)]))


def _satisfied(entry: MetricDefinition) -> object:
    return (entry.axioms.satisfied or "none") if entry.axioms else None


METRICS = register(
    View(
        "metrics",
        metric_definitions,
        NoParameters,
        "The catalogue: each metric's definition, source, axioms and caveat; and where papers contradict each other.",
        (
            Table(
                "The metrics as CSV. Lists are separated by semicolons; `axioms` is blank if they do not apply.",
                rows=lambda answer: answer.metrics,
                columns=(
                    *columns(
                        "key", "family", "name", "label", "symbol", "direction", "low", "high", "formula", "words", "source",
                        "needs", "level", "human", "binned", "undefined", "caveat", "notes", "address", "fields",
                    ),
                    column("axioms", _satisfied),
                    column("axioms_where", lambda entry: getattr(entry.axioms, "where", None)),
                ),
            ),
        ),
        selected=False,
    )
)  # fmt: skip


class PublishedKeys(Parameters, frozen=True):
    """Which published figures are listed."""

    metric: Annotated[tuple[str, ...], Choices("`ece`: figures of this metric; repeatable", PUBLISHED_METRICS)] = ()
    table: Annotated[tuple[str, ...], Choices("`grace-table-1`: figures from this table; repeatable", TABLES)] = ()


def _published(metric: tuple[str, ...], table: tuple[str, ...]) -> Published:
    """Return the published values of these metrics and tables; all where none is named."""
    metrics, tables = metric or PUBLISHED_METRICS, table or TABLES
    values = [value for value in published().values if value.metric in metrics and value.key in tables]
    named = {value.key for value in values}
    return Published([entry for entry in published().tables if entry.key in named], values)


PUBLISHED = register(
    View(
        "published",
        _published,
        PublishedKeys,
        "Figures printed in papers, with their papers, tables and caveats.",
        (Table("The figures as CSV.", lambda answer: answer.values, fields(PublishedValue)),),
        selected=False,
    )
)
