"""Models: the runs of each on all datasets, and names that are probably one model's."""

from __future__ import annotations

import msgspec

from data.store import Snapshot
from data.store.models import FACTS, proposals
from queries.across import Across, AcrossCell
from queries.metrics import Metric
from queries.selection.parameter_kinds import BadRequest


class Model(msgspec.Struct):
    """A model that has runs. ``names`` are those that its runs have, as files state them; the others are facts, None if unset.

    ``runs`` counts those that are not withdrawn, on ``datasets``.
    """

    model: str
    names: list[str]
    organisation: str | None
    released: str | None
    sizes: str | None
    notes: str | None
    runs: int
    datasets: list[str]


class Models(msgspec.Struct):
    """Answer of ``/api/v1/models``, by name. Each of ``proposals`` lists models whose names suggest that they are one."""

    models: list[Model]
    proposals: list[list[str]]


def models(snapshot: Snapshot) -> Models:
    """Return the models of the runs that the snapshot shows."""
    rows = snapshot.rows(
        f"""select n.model, list(distinct name order by name), {", ".join(f"any_value({fact})" for fact in FACTS)},
            count(*) filter (withdrawn_at is null),
            coalesce(list(distinct dataset order by dataset) filter (withdrawn_at is null), [])
        from runs r join model_names n on n.name = r.model join models m on m.model = n.model
        group by 1 order by lower(n.model), 1"""
    )
    listed = [Model(*row) for row in rows]
    return Models(listed, proposals({name: model.model for model in listed for name in model.names}))


def model(snapshot: Snapshot, name: str) -> Model:
    """Return a model by its name or one of its names. Raises ``BadRequest`` if no run that the snapshot shows has it."""
    known = models(snapshot).models
    match = next((row for row in known if row.model == name), None) or next((row for row in known if name in row.names), None)
    if match is None:
        raise BadRequest("unknown_model", f"There is no model {name!r}; /api/v1/models lists them.", "model", status=404)
    return match


class ModelRun(msgspec.Struct):
    """A run of a model, as on the leaderboard of its dataset. ``title`` is the dataset's, ``model`` the name that the run has."""

    dataset: str
    title: str
    model: str
    elicitation: str
    cell: AcrossCell


class ModelAcross(msgspec.Struct):
    """Answer of ``/api/v1/models/<model>``: the model, and its runs, those with the best ``place`` first."""

    data_version: str
    about: Model
    metric: str
    runs: list[ModelRun]


def model_runs(about: Model, metric: Metric, version: str, result: Across | None) -> ModelAcross:
    """Return the runs of a model among all runs on its datasets; None if it has no runs that count."""
    runs = [
        ModelRun(column.dataset, column.title, row.model, row.elicitation, cell)
        for row in (result.rows if result else ())
        for column in (result.datasets if result else ())
        if row.model in about.names and (cell := row.cells.get(column.dataset)) is not None
    ]
    return ModelAcross(version, about, metric.key, sorted(runs, key=lambda run: 2 if run.cell.place is None else run.cell.place))
