"""All datasets: a metric of each model on each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.http.paths import address
from clueline.dashboard.registry.composed import across_datasets, across_diagrams, tags_of
from clueline.dashboard.registry.keys import ACROSS_METRIC, AcrossDatasets, AcrossMetric, AcrossParameters, AcrossRows, AcrossTag
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import Table, column, columns, fields, parts
from clueline.dashboard.registry.views import serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import menu, several
from clueline.dashboard.ui.html import controls, heading, note, page_link
from clueline.dashboard.ui.messages import cluster_words, nothing_selected
from clueline.dashboard.ui.text import percent
from clueline.dashboard.views.across.sections import (
    across_section,
    across_table,
    counting_words,
    diagrams_section,
    transfer_section,
)
from clueline.data.importing.seed import SAMPLES
from clueline.data.plurals import counted
from clueline.queries.across import Across, AcrossCell, CollectionMean
from clueline.queries.engine.reliability_diagrams import ReliabilityBin
from clueline.queries.leaderboard import MIN_DISPUTED
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.selection.facets import QUESTION
from clueline.queries.selection.parameter_kinds import Flag


class AcrossKeys(AcrossParameters, frozen=True):
    """Which metric is compared across which datasets."""

    datasets: AcrossDatasets = ()
    rows: AcrossRows = "models"
    pool: AcrossTag = ""


ACROSS = serve(
    "across",
    across_datasets,
    AcrossKeys,
    """A metric of each model on each dataset, with intervals, ranks by dataset and mean ranks, and where the model is
        over- or underconfident. Filters on runs and questions do not apply: values are those of each dataset's leaderboard.""",
    Table(
        "The same as CSV, a row per model and dataset.",
        rows=lambda answer: [(row, *cell) for row in answer.rows for cell in row.cells.items()],
        columns=(
            *columns("model", "elicitation", at=0),
            column("dataset", lambda row: row[1]),
            *fields(AcrossCell, at=2),
            *columns("mean_rank", "mean_place", "ranked_on", "win_rate", at=0),
        ),
        file=lambda answer: f"across-{answer.metric}",
    ),
    Table(
        "Means over the datasets of each collection as CSV, a row per model and collection.",
        rows=lambda answer: [(row, *mean) for row in answer.rows for mean in row.means.items()],
        columns=(*columns("model", "elicitation", at=0), column("collection", lambda row: row[1]), *fields(CollectionMean, at=2)),
        name="collections",
        file=lambda answer: f"across-{answer.metric}-collections",
    ),
    Table(
        "Means over the runs with each value of a tag (`pool=`) as CSV, a row per value and dataset. `runs` counts the runs.",
        rows=lambda answer: [
            (group.value, dataset, len(cell.runs), cell.mean, cell.low, cell.high, cell.questions)
            for group in answer.groups
            for dataset, cell in group.cells.items()
        ],
        columns=parts("value", "dataset", "runs", "mean", "low", "high", "questions"),
        name="groups",
        file=lambda answer: f"across-{answer.metric}-groups",
    ),
    selected=False,
)
DIAGRAMS = serve(
    "across/diagrams",
    across_diagrams,
    AcrossKeys,
    """The bins of the reliability diagram of each model on each dataset, as `/api/v1/reliability` gives them for one
        dataset. `metric` and `pool` have no effect.""",
    Table(
        "The same as CSV, a row per model, dataset and bin.",
        rows=lambda answer: [(diagram, part) for diagram in answer.diagrams for part in diagram.bins],
        columns=(*columns("dataset", "run", "model", "elicitation", at=0), *fields(ReliabilityBin, at=1)),
    ),
    selected=False,
    ignored=("metric", "pool"),
)


PATH = "/across"
ONE_RUN = "A row is a model under all its names, or one of its elicitations. Its latest run on a dataset counts. "
POOLED = (
    " The last rows are means over the ranked runs with the tag, with equal weights. Their intervals hold for these models on "
    "other questions, not for other models; distances from calibration have none."
)


class AcrossPage(PageParameters, frozen=True):
    """Metric, datasets and rows of the page."""

    metric: AcrossMetric = CATALOGUE[ACROSS_METRIC]
    datasets: AcrossDatasets = ()
    rows: AcrossRows = "models"
    pool: AcrossTag = ""
    diagrams: Annotated[bool, Flag("`1`: the reliability diagram of each model on each dataset")] = False


def _across(request: PageRequest[AcrossPage]) -> Across:
    parameters, selection = request.parameters, request.selection
    return across_datasets(
        parameters.metric, parameters.datasets, parameters.rows, selection.conventions, selection.failed, parameters.pool
    )


@page(
    PATH,
    "All datasets",
    AcrossPage,
    place="Overview",
    order=3,
    check=_across,
    views=(ACROSS, DIAGRAMS),
    filters=("human", "binning", "t", "failed"),
)
def draw(request: PageRequest[AcrossPage]) -> Sequence[Component | None]:
    """Draw the table of models by datasets, its heat map, reliability diagrams on demand, and who is over- or underconfident."""
    result, metric, asked, selection = _across(request), request.parameters.metric, request.parameters, request.selection
    if not result.rows:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "All datasets")]
    titles = {dataset.dataset: dataset.title for dataset in service().datasets() if dataset.runs}
    diagrams = None
    if asked.diagrams:
        diagrams = across_diagrams(asked.datasets, asked.rows, selection.conventions, selection.failed)
    tags = tags_of([service().facets(dataset) for dataset in titles])
    every_run = request.parameters.rows == "runs"
    pools = {"": "None"} | {tag: tag for tag in tags}
    counts = f"{counted(len(result.rows), 'run' if every_run else 'model')} on {counted(len(result.datasets), 'dataset')}"
    return [
        heading("All datasets", f"{metric.name} of {counts}"),
        controls(
            menu("metric", "Metric", {choice.key: choice.name for choice in METRICS}, metric.key, default=ACROSS_METRIC),
            menu("rows", "Rows", {"": "Models: their latest run", "runs": "Every run"}, "runs" if every_run else ""),
            menu("pool", "Means by tag", pools, request.parameters.pool) if tags else None,
            menu("diagrams", "Reliability diagrams", {"": "Hidden", "1": "Shown"}, "1" if diagrams else ""),
            several("datasets", "Datasets", titles, list(request.parameters.datasets), "All datasets"),
        ),
        _disputed(result),
        across_table(result, metric),
        note(
            ("" if every_run else ONE_RUN)
            + "Each dataset is measured as on its leaderboard. Brackets: 95 % intervals."
            + counting_words(result, every_run)
            + "".join(
                f" On {dataset.title}, intervals count clusters of questions with {cluster_words(dataset.cluster)}."
                for dataset in result.datasets
                if dataset.cluster != QUESTION
            )
            + (POOLED if result.groups else "")
        ),
        _collections(result),
        None if request.parameters.datasets else _left_out(result, titles),
        across_section(result, metric),
        diagrams_section(result, diagrams, DIAGRAMS.tables[0]) if diagrams else None,
        transfer_section(result),
    ]


def _collections(result: Across) -> html.P | None:
    """Link to each collection by itself."""
    parts: dict[str, list[str]] = {}
    for dataset in result.datasets:
        parts.setdefault(dataset.collection, []).append(dataset.dataset)
    links = [
        page_link(f"{name} ({counted(len(datasets), 'dataset')})", address(PATH, [("datasets", dataset) for dataset in datasets]))
        for name, datasets in parts.items()
        if name
    ]
    listed = [part for link in links for part in (", ", link)]
    return note(["Collections: ", *listed[1:], "."]) if len(parts) > 1 and links else None


def _left_out(result: Across, titles: dict[str, str]) -> html.P | None:
    """Say which bundled samples are left out, with a link that shows them."""
    shown = {column.dataset for column in result.datasets}
    if not (left_out := [title for dataset, title in titles.items() if dataset in SAMPLES - shown]):
        return None
    every = address(PATH, [("datasets", dataset) for dataset in titles])
    return note([f"Without the bundled samples {', '.join(left_out)}. ", page_link("Show them, too", every), "."])


def _disputed(result: Across) -> html.P | None:
    """Say on which datasets gradings differ so much that the leaderboard says who leads under each."""
    shares = [f"{dataset.title} ({percent(dataset.disputed)})" for dataset in result.datasets if dataset.disputed > MIN_DISPUTED]
    if not shares:
        return None
    text = f"Gradings of runs differ on many answers of {', '.join(shares)}. The leaderboard there names the leader under each."
    return note(text, role="note")
