"""Models: the runs of each on all datasets, and names that are probably one model's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from clueline.data.store import Snapshot, once_per_snapshot
from clueline.data.store.models import (
    DATED,
    KnownModel,
    NoSuchModel,
    SeveralModels,
    distinct_pairs,
    find_model,
    known_models,
    proposals,
)
from clueline.data.store.run_tags import LABEL
from clueline.queries.across import Across, AcrossCell
from clueline.queries.compare import Comparisons, Difference
from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.metrics import Metric
from clueline.queries.rankings import TAG, read_date
from clueline.queries.run_names import RunParts
from clueline.queries.selection.parameter_kinds import BadRequest


class Model(msgspec.Struct):
    """A model that has runs. ``names`` are those that its runs have, as files state them; the others are facts, None if unset.

    ``model`` is its name or, where the reader sees several models of this name, the name with a dataset of each in brackets.
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
    known = known_models(snapshot)
    counts = _run_counts(snapshot)
    return Models([_described(model, counts) for model in known], proposals(known, distinct_pairs(snapshot.connection)))


@once_per_snapshot
def labels_of_models(snapshot: Snapshot) -> dict[tuple[str, str], str]:
    """Return the label of the model of each dataset and name that runs of the snapshot have."""
    return {(node.dataset, node.name): model.label for model in known_models(snapshot) for node in model.nodes}


def _run_counts(snapshot: Snapshot) -> dict[tuple[str, str], int]:
    """Return the number of runs that are not withdrawn by name and dataset."""
    rows = snapshot.rows("select model, dataset, count(*) from runs where withdrawn_at is null group by 1, 2")
    return {(name, dataset): count for name, dataset, count in rows}


def _described(model: KnownModel, counts: Mapping[tuple[str, str], int]) -> Model:
    own = {node: counts[node] for node in model.nodes if node in counts}
    return Model(
        model=model.label,
        names=model.names,
        organisation=model.fact("organisation"),
        released=model.fact("released"),
        sizes=model.fact("sizes"),
        notes=model.fact("notes"),
        runs=sum(own.values()),
        datasets=sorted({node.dataset for node in own}),
    )


def model(snapshot: Snapshot, name: str) -> Model:
    """Return a model by its label, its name or one of its names.

    Raises ``BadRequest`` if no run that the snapshot shows has it, or if several models do.
    """
    try:
        return _described(find_model(known_models(snapshot), name), _run_counts(snapshot))
    except SeveralModels as error:
        message = f"Several models are called {name!r}. Say which: {', '.join(error.labels)}."
        raise BadRequest("several_models", message, "model", error.labels) from None
    except NoSuchModel:
        message = f"There is no model {name!r}; /api/v1/models lists them."
        raise BadRequest("unknown_model", message, "model", status=404) from None


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


def model_runs(
    about: Model, metric: Metric, version: str, result: Across | None, model_of: Mapping[tuple[str, str], str]
) -> ModelAcross:
    """Return the runs of a model among all runs on its datasets; None if it has no runs that count.

    ``model_of`` is the model of each dataset and name.
    """
    runs = [
        ModelRun(column.dataset, column.title, row.model, row.elicitation, cell)
        for row in (result.rows if result else ())
        for column in (result.datasets if result else ())
        if model_of.get((column.dataset, row.model)) == about.model and (cell := row.cells.get(column.dataset)) is not None
    ]
    return ModelAcross(version, about, metric.key, sorted(runs, key=lambda run: 2 if run.cell.place is None else run.cell.place))


def dataset_with_most_runs(result: ModelAcross) -> str:
    """Return the dataset on which a model has most runs, the first of several; blank without any."""
    counts = Counter(run.dataset for run in result.runs)
    return max(result.about.datasets, key=lambda dataset: counts[dataset], default="")


Verdict = Literal["baseline", "better", "worse", "different", "not shown to differ", "not compared"]


class Version(RunName):
    """A run of a model at a day, YYYY-MM-DD, compared with the baseline on the questions that both answered.

    ``difference`` is the run's value minus that of the baseline, with a 95 % interval. ``p_value`` is two-sided, and adjusted for
    all runs that are compared and, unless it is the primary one, for the other metrics. ``verdict`` is ``different`` instead of
    ``better`` or ``worse`` by a metric that ranks no runs, and ``not compared`` without a test.
    """

    day: str
    value: float | None
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    p_value: float | None
    verdict: Verdict


class Versions(msgspec.Struct):
    """Answer of ``/api/v1/versions/<model>``: the runs on one dataset by day; ``dated_by`` says what gives the days."""

    data_version: str
    model: str
    dataset: str
    title: str
    metric: str
    baseline: str
    dated_by: str
    runs: list[Version]


def _date_in_name(part: RunParts) -> str:
    suffix = DATED.search(part.model)
    digits = "".join(filter(str.isdigit, suffix[1])) if suffix else ""
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"


DAYS: dict[str, Callable[[RunParts], str]] = {  # what can give the day of a run
    "tag date": lambda part: part.facts.get("date", ""),
    f"tag {TAG}": lambda part: part.facts.get(TAG, ""),
    LABEL: lambda part: part.label,
    "name": _date_in_name,
    "import": lambda part: part.imported_at[:10],
}


def days_of_runs(parts: Mapping[str, RunParts]) -> tuple[str, dict[str, str]]:
    """Return the days of runs, YYYY-MM-DD, and which of ``DAYS`` gives them: the first that all have and that differs.

    >>> parts = {day: RunParts("opus-20250901", "verbalized", day, {}, "2026-01-01 10:00") for day in ("2025-10", "2025-11")}
    >>> days_of_runs(parts)
    ('label', {'2025-10': '2025-10-16', '2025-11': '2025-11-16'})
    """
    by_source: dict[str, dict[str, str]] = {}
    for source, stated in DAYS.items():
        known = {run: read_date(stated(part)) for run, part in parts.items()}
        by_source[source] = {run: day.isoformat() for run, day in known.items() if day is not None}
    fit = (source for source, days in by_source.items() if len(days) == len(parts) and len({*days.values()}) > 1)
    chosen = next(fit, "import")
    return chosen, by_source[chosen]


def baseline_of(runs: Sequence[ModelRun], days: Mapping[str, str], every: Sequence[ModelRun], wanted: str) -> str:
    """Return the run that the others are compared with: the wanted one, or the first by day if none or that of another dataset.

    ``every`` are the runs of the model on all datasets. Raises ``BadRequest`` if the wanted run is not among them.
    """
    if wanted in days:
        return wanted
    if wanted and wanted not in {run.cell.run for run in every}:
        raise BadRequest("unknown_value", f"The model has no run {wanted!r}.", "baseline", [*days])
    return min(runs, key=lambda run: days[run.cell.run]).cell.run


def versions(
    result: ModelAcross,
    runs: Sequence[ModelRun],
    metric: Metric,
    dated_by: str,
    days: Mapping[str, str],
    baseline: str,
    tests: Comparisons,
) -> Versions:
    """Return the runs of a model on one dataset by their ``days``, compared with the baseline, run ``a`` of ``tests``."""
    differences = {pair.b.run: pair.metrics[metric.key] for pair in tests.comparisons}
    rows = []
    for run in sorted(runs, key=lambda run: days[run.cell.run]):
        test = differences.get(run.cell.run)
        gap, low, high = (None, None, None) if test is None else (test.difference, test.low, test.high)
        own = (run.cell.run, run.model, run.elicitation, days[run.cell.run], run.cell.value, run.cell.low, run.cell.high)
        turned, turned_low, turned_high = (None if value is None else 0.0 - value for value in (gap, high, low))
        verdict: Verdict = "baseline" if run.cell.run == baseline else _verdict(test, run.cell.run)
        rows.append(Version(*own, turned, turned_low, turned_high, None if test is None else test.p_holm, verdict))
    return Versions(result.data_version, result.about.model, runs[0].dataset, runs[0].title, metric.key, baseline, dated_by, rows)


def _verdict(test: Difference | None, run: str) -> Verdict:
    if test is None or test.p_holm is None:
        return "not compared"
    if test.p_holm >= SIGNIFICANCE:
        return "not shown to differ"
    if test.better is None:
        return "different"
    return "better" if test.better == run else "worse"
