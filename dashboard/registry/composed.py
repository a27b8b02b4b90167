"""Queries composed of several cached ones: question lists, questions with buzzpoints, and many datasets at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from clueline.dashboard.service import service
from clueline.data.importing.seed import SAMPLES
from clueline.queries.across import OVERCONFIDENCE, Across, AcrossDiagram, AcrossDiagrams, Rows, across, run_groups, shown_runs
from clueline.queries.buzzing import Rules, best_thresholds
from clueline.queries.compare import comparisons
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions, Metric
from clueline.queries.models import (
    ModelAcross,
    Versions,
    baseline_of,
    dataset_with_most_runs,
    days_of_runs,
    labels_of_models,
    model,
    model_runs,
    versions,
)
from clueline.queries.question import Question, question
from clueline.queries.questions import QuestionOrder, QuestionPage, ordered_questions, question_details, question_page
from clueline.queries.reliability import reliability
from clueline.queries.run_names import run_parts
from clueline.queries.runs import selected_runs as runs_of_selection
from clueline.queries.selection import Selection
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.view_parameters_base import named_key


def question_order(selection: Selection, sort: str) -> QuestionOrder:
    """Return the questions of a selection in order; a blank ``sort`` is the order of the dataset.

    The order is cached once for all choices of runs, because these change it only if the selection is restricted to common
    questions.
    """
    if not selection.common:
        selection = selection.without_filters("runs")
    return service().ask(ordered_questions, selection, sort or "position")


def selected_runs(selection: Selection) -> list[str]:
    """Return ids of the runs that pass the filters of a selection; see ``queries.runs.selected_runs``."""
    return service().ask(runs_of_selection, selection)


def question_list(
    selection: Selection, metrics: Sequence[Metric], sort: str, limit: int = 100, cursor: str | None = None
) -> QuestionPage:
    """Return one page of the question list, with ``limit`` questions, 1 to 1000.

    A blank ``sort`` is the order of the dataset. ``cursor`` is ``next`` of the previous page; None for the first page. Raises
    ``BadRequest`` if the sort key, the limit or the cursor is invalid.
    """
    return question_page(
        question_order(selection, sort),
        lambda question_ids: service().ask(question_details, selection, question_ids, metrics),
        limit,
        cursor,
    )


def question_with_buzzpoints(
    selection: Selection, facets: Facets, question_id: str, rules: Rules, metrics: tuple[Metric, ...] = METRICS
) -> Question:
    """Return one question, with the buzzpoint of each run if its dataset reveals questions clue by clue.

    Without a threshold in the rules, each run buzzes at its best threshold over the questions of the selection, as on the Buzz
    page. ``metrics`` are those of each run.
    """
    if facets.kind != "incremental" or facets.longest < 2:
        return service().ask(question, selection, question_id, None, (), metrics)
    best: tuple[tuple[str, float], ...] = ()
    if rules.threshold is None:
        best = tuple(service().ask(best_thresholds, selection, rules).items())
    return service().ask(question, selection, question_id, rules, best, metrics)


def across_datasets(
    metric: Metric, datasets: Sequence[str], rows: Rows, conventions: Conventions, failed: bool, pool: str = ""
) -> Across:
    """Return a metric of each model on each dataset that has runs and that the reader may read.

    Without ``datasets``, all are shown. For ``rows`` see ``queries.across``. ``failed`` says whether failed calls count. ``pool``
    is the tag by which runs are pooled; blank for none.

    The leaderboard of each dataset is cached separately. So an import to one dataset does not affect the others, and if computing
    all of them takes too long, the next request continues where this one stopped. Raises ``BadRequest`` if there is no such
    dataset, or no run of these datasets has the tag.
    """
    measured = _datasets_with_runs(datasets)
    metrics = tuple(dict.fromkeys((metric.key, OVERCONFIDENCE.key)))
    tags = tags_of(measured)
    if pool and pool not in tags:
        raise BadRequest("unknown_value", f"No run of these datasets has a tag {pool!r}.", "tag", tags)
    boards, pooled, names = {}, {}, model_of()
    for facet in measured:
        selection = _shown_selection(facet, rows, conventions, failed)
        boards[facet.dataset] = service().ask(leaderboard, selection, [CATALOGUE[key] for key in metrics], True)
        if pool and named_key("tag", pool) in facet.values:
            pooled[facet.dataset] = service().ask(run_groups, selection, pool, metric)
    return across(measured, boards, metric, rows, service().snapshot().version, names, pool, pooled)


def across_diagrams(datasets: Sequence[str], rows: Rows, conventions: Conventions, failed: bool) -> AcrossDiagrams:
    """Return the reliability diagram of each run that ``across_datasets`` shows, as on its dataset's page. Same arguments.

    Raises ``BadRequest`` if there is no such dataset.
    """
    diagrams = [
        AcrossDiagram(facet.dataset, run.run, run.model, run.elicitation, run.bins)
        for facet in _datasets_with_runs(datasets)
        for run in service().ask(reliability, _shown_selection(facet, rows, conventions, failed)).runs
    ]
    return AcrossDiagrams(service().snapshot().version, conventions.binning, diagrams)


def model_of() -> dict[tuple[str, str], str]:
    """Return the model of each dataset and name that runs have which the reader may read."""
    return labels_of_models(service().snapshot())


def model_across(name: str, metric: Metric, conventions: Conventions, failed: bool) -> ModelAcross:
    """Return a metric and the overconfidence of each run of a model, as on the leaderboards; arguments as ``across_datasets``.

    Raises ``BadRequest`` if there is no such model.
    """
    about = service().ask(model, name)
    result = across_datasets(metric, about.datasets, "runs", conventions, failed) if about.datasets else None
    return model_runs(about, metric, service().snapshot().version, result, model_of())


def model_versions(
    name: str, metric: Metric, conventions: Conventions, failed: bool, on: str = "", baseline: str = ""
) -> Versions:
    """Return the runs of a model on one dataset by day, each compared with a baseline.

    A blank ``on`` is the dataset with most runs of the model, and a blank ``baseline`` its first run there. The other arguments
    are those of ``across_datasets``. Raises ``BadRequest`` if the model has no run there, or the baseline is no run of it.
    """
    result = model_across(name, metric, conventions, failed)
    on = on or dataset_with_most_runs(result)
    own = {run.cell.run: run for run in result.runs if run.dataset == on}
    if not own:
        known = sorted({run.dataset for run in result.runs})
        raise BadRequest("unknown_value", f"{result.about.model!r} has no run on dataset {on!r}.", "on", known)
    parts = service().recall(run_parts, on).runs
    in_order = [own[run] for run in parts if run in own]  # of import
    dated_by, days = days_of_runs({run: parts[run] for run in parts if run in own})
    start = baseline_of(in_order, days, result.runs, baseline)
    facet = service().facets(on)
    selection = _shown_selection(facet, "runs", conventions, failed).replace(run=tuple(own))
    tests = service().ask(comparisons, selection, start, [metric])
    return versions(result, in_order, metric, dated_by, days, start, tests)


def _datasets_with_runs(datasets: Sequence[str]) -> list[Facets]:
    """Return the facets of these datasets, without those that have no runs.

    If none is named, they are all without the bundled samples or, if there are no others, the samples that share a model.
    """
    known = list(service().snapshot().states)
    for dataset in datasets:
        if dataset not in known:
            raise BadRequest("unknown_value", f"There is no dataset {dataset!r}.", "datasets", known)
    facets = [service().facets(dataset) for dataset in known if not datasets or dataset in datasets]
    with_runs = [facet for facet in facets if facet.runs]
    if datasets:
        return with_runs
    answered = Counter(model for facet in with_runs for model in {model for _, model, _ in facet.runs})
    shared = [facet for facet in with_runs if any(answered[model] > 1 for _, model, _ in facet.runs)]
    return [facet for facet in with_runs if facet.dataset not in SAMPLES] or shared or with_runs


def _shown_selection(facets: Facets, rows: Rows, conventions: Conventions, failed: bool) -> Selection:
    """Return the selection of a dataset's runs that pages of many datasets show."""
    runs = shown_runs(facets, rows, model_of())
    every_run = len(runs) == len(facets.runs)
    return Selection(
        facets.dataset,
        run=() if every_run else runs,
        nights=every_run and bool(facets.superseded),
        conventions=replace(conventions, head_to_head=facets.head_to_head, forecasts=facets.forecasts),
        failed=failed and not facets.forecasts,
    )


def tags_of(facets: Sequence[Facets]) -> list[str]:
    """Return the sorted names of the tags that runs of these datasets have."""
    prefix = named_key("tag", "")
    return sorted({key.removeprefix(prefix) for facet in facets for key in facet.values if key.startswith(prefix)})
