"""A metric of each model on each dataset, and their reliability diagrams."""

from __future__ import annotations

from typing import Annotated

from dashboard.registry.composed import across_datasets, across_diagrams
from dashboard.registry.keys import AcrossDatasets, AcrossMetric, AcrossRows, AcrossTag
from dashboard.registry.tables import Table, column, columns, fields, parts
from dashboard.registry.views import View, register
from queries.across import AcrossCell
from queries.engine.reliability_diagrams import ReliabilityBin
from queries.metrics import CATALOGUE, Conventions
from queries.selection import CONVENTIONS
from queries.selection.parameter_kinds import Flag
from queries.selection.view_parameters_base import Parameters


class AcrossKeys(Parameters, frozen=True):
    """Which metric is compared across which datasets."""

    metric: AcrossMetric = CATALOGUE["net_score"]
    datasets: AcrossDatasets = ()
    rows: AcrossRows = "models"
    pool: AcrossTag = ""
    failed: Annotated[bool, Flag("`1`: failed calls count as wrong in accuracies and as 0 in the net score")] = False
    conventions: Annotated[Conventions, CONVENTIONS] = Conventions()


ACROSS = register(
    View(
        "across",
        across_datasets,
        AcrossKeys,
        """A metric of each model on each dataset, with intervals, ranks by dataset and mean ranks, and where the model is
        over- or underconfident. Filters on runs and questions do not apply: values are those of each dataset's leaderboard.""",
        (
            Table(
                "The same as CSV, a row per model and dataset.",
                rows=lambda answer: [(row, *cell) for row in answer.rows for cell in row.cells.items()],
                columns=(
                    *columns("model", "elicitation", at=0),
                    column("dataset", lambda row: row[1]),
                    *fields(AcrossCell, at=2),
                    *columns("mean_rank", "mean_place", "ranked_on", at=0),
                ),
                file=lambda answer: f"across-{answer.metric}",
            ),
            Table(
                "Means over the runs with each value of a tag (`pool=`) as CSV, a row per value and dataset. `runs` counts the "
                "runs.",
                rows=lambda answer: [
                    (group.value, dataset, len(cell.runs), cell.mean, cell.low, cell.high, cell.questions)
                    for group in answer.groups
                    for dataset, cell in group.cells.items()
                ],
                columns=parts("value", "dataset", "runs", "mean", "low", "high", "questions"),
                name="groups",
                file=lambda answer: f"across-{answer.metric}-groups",
            ),
        ),
        selected=False,
    )
)
DIAGRAMS = register(
    View(
        "across/diagrams",
        across_diagrams,
        AcrossKeys,
        """The bins of the reliability diagram of each model on each dataset, as `/api/v1/reliability` gives them for one
        dataset. `metric` and `pool` have no effect.""",
        (
            Table(
                "The same as CSV, a row per model, dataset and bin.",
                rows=lambda answer: [(diagram, part) for diagram in answer.diagrams for part in diagram.bins],
                columns=(*columns("dataset", "run", "model", "elicitation", at=0), *fields(ReliabilityBin, at=1)),
            ),
        ),
        selected=False,
        ignored=("metric", "pool"),
    )
)
