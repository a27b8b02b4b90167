"""Two runs side by side, on the questions that both answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from dash.development.base_component import Component

from clueline.dashboard.http.paths import address
from clueline.dashboard.registry.composed import selected_runs
from clueline.dashboard.registry.keys import Margin, Metrics, WantedDifference, default_metric, known_run, metric_names
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import Column, Table, column, columns, fields, with_interval
from clueline.dashboard.registry.views import NOTHING_TO_CITE, RUN_KEYS, Cited, paired, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import filter_keys, menu, several
from clueline.dashboard.ui.html import controls, heading, items_query
from clueline.dashboard.ui.messages import nothing_selected, pair_notice
from clueline.dashboard.ui.runs import run_colours, run_names
from clueline.dashboard.ui.text import distinct_short_names
from clueline.dashboard.views.compare import sections
from clueline.data.plurals import counted
from clueline.queries.compare import Comparison, Difference, compare, comparison, comparisons, question_differences
from clueline.queries.engine.common_questions import coverage
from clueline.queries.engine.equivalence import Equivalence
from clueline.queries.engine.primary_metric import primary_of
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import METRICS, Metric
from clueline.queries.power import MetricPower, power
from clueline.queries.selection.parameter_kinds import BadRequest, MetricChoice, MetricList
from clueline.queries.selection.view_parameters_base import Parameters

MAX_IN_MENU = 48  # characters of a name in a menu


class CompareKeys(Parameters, frozen=True):
    """Which two runs are compared, by which metrics, and which difference does not matter."""

    a: Annotated[str, known_run("id of the first of two runs to compare")]
    b: Annotated[str, known_run("id of the second of two runs to compare")]
    metrics: Metrics = METRICS
    margin: Margin = None


class PairsKeys(Parameters, frozen=True):
    """Which runs are compared, and by which metrics."""

    a: Annotated[str | None, known_run("id of a run to compare with all others; by default every pair of runs")] = None
    metrics: Metrics = METRICS


class PowerKeys(CompareKeys, frozen=True):
    """Which two runs are compared, on which metrics, and which difference should be detectable."""

    d: WantedDifference = None


def _rows(comparison: Comparison) -> list[tuple[Comparison, str, Difference]]:
    return [(comparison, key, difference) for key, difference in comparison.metrics.items()]


DIFFERENCES = (
    column("a", lambda row: row[0].a.run),
    column("b", lambda row: row[0].b.run),
    *columns("questions", at=0),
    column("metric", lambda row: row[1]),
    column("value_a", lambda row: row[2].a),
    column("value_b", lambda row: row[2].b),
    *with_interval(fields(Difference, at=2, without=("a", "b", "margin")), "difference"),
)


def _with_margin(answer: object, keys: CompareKeys) -> tuple[Column, ...]:
    def in_margin(name: str) -> Column:
        return column(f"margin_{name}", lambda row: getattr(row[2].margin, name, None))

    return (*DIFFERENCES, *map(in_margin, Equivalence.__struct_fields__ if keys.margin is not None else ()))


COMPARE = serve(
    "compare",
    compare,
    CompareKeys,
    """Two runs on the questions that both answered: paired differences a - b with intervals and p-values, and those
        questions. Of more than 1,000 questions, single ones have no values of metrics such as AUROC that are no function of
        sums. With a `margin`, also whether the runs are `equal`, `different` or `undecided`.""",
    Table("The differences as CSV, a row per metric.", _rows, _with_margin),
    unused=(*RUN_KEYS, "undisputed"),
)
PAIRS = serve(
    "pairs",
    comparisons,
    PairsKeys,
    """Differences of every pair of runs or, with `a`, of that run and each other run, with p-values adjusted for all pairs
        (Holm) and, except for the primary metric, for all other metrics.""",
    Table(
        "The same as CSV, a row per pair of runs and metric.",
        rows=lambda answer: [row for pair in answer.comparisons for row in _rows(pair)],
        columns=DIFFERENCES,
    ),
    unused=("undisputed",),
)
POWER = serve(
    "power",
    power,
    PowerKeys,
    """How large a difference between two runs their common questions show with 80 % power (p < 0.05), how many questions a
        difference `d` needs, how many it takes to show that runs are equal within a `margin` or differ by as much, and what
        other numbers of questions would show.""",
    Table(
        "The same as CSV, a row per metric, without the curve over numbers of questions.",
        rows=lambda answer: answer.metrics,
        columns=fields(MetricPower, without=("curve",)),
    ),
    unused=(*RUN_KEYS, "undisputed", "primary"),
)


RANKED = tuple(metric for metric in METRICS if metric.direction != "none")
PER_QUESTION = tuple(metric for metric in RANKED if metric.single)
# Replicates of metrics over sorted pairs, which are not sums, take a hundred times as long as all others together. They are
# shown only on request.
DEFAULT_METRICS = tuple(metric for metric in RANKED if metric.pairs is None)


class ComparePage(PageParameters, frozen=True):
    """The two runs, and the metrics by which they are compared."""

    a: Annotated[str, known_run("the first run; the first of the selection by default", blank=True)] = ""
    b: Annotated[str, known_run("the second run; the next of the selection by default", blank=True)] = ""
    metric: Annotated[
        Metric,
        MetricChoice(
            "the metric by which single questions are compared",
            PER_QUESTION,
            "Questions have no metric {value!r} to compare.",
            dataset_default=default_metric,
        ),
    ] = PER_QUESTION[0]
    metrics: Annotated[
        tuple[Metric, ...],
        MetricList(
            "the metrics of the table; by default, all except those over sorted pairs",
            RANKED,
            "There is no metric {value!r} to compare runs by.",
        ),
    ] = DEFAULT_METRICS
    d: WantedDifference = None
    margin: Margin = None


def _table(request: PageRequest[ComparePage]) -> Cited[Any]:
    runs = _runs(request)
    if len(runs) < 2:
        raise BadRequest(NOTHING_TO_CITE, "A comparison needs two runs; this selection has fewer.", "run")
    (a, b), metrics = _chosen(request), request.parameters.metrics
    primary = primary_of(request.selection, request.facets)
    return Cited(
        COMPARE, CompareKeys(a, b, metrics), ("metric", "value_a", "value_b", "difference", "p_value", "p_holm"), metrics,
        interval=f"{paired(primary)} {runs[a]} is run {a}, {runs[b]} is run {b}.",
        headings={"a": str(runs[a]), "b": str(runs[b])},
    )  # fmt: skip


def _chosen(request: PageRequest[ComparePage]) -> tuple[str, str]:
    """Both runs of the address; by default the first two of the selection. Raise ``BadRequest`` for an unknown or equal run."""
    runs = list(_runs(request))
    chosen = []
    for key, standard in zip(("a", "b"), _unnamed(request, runs), strict=True):
        run = getattr(request.parameters, key) or standard
        if run and run not in runs:
            raise BadRequest("unknown_value", f"There is no run {run!r} in this selection.", key, runs)
        chosen.append(run)
    if runs and chosen[0] == chosen[1]:
        raise BadRequest("unknown_value", "A run cannot be compared with itself.", "b", [run for run in runs if run != chosen[0]])
    return chosen[0], chosen[1]


@page(
    "/compare", "Compare", ComparePage, place="Compare", order=1, table=_table, check=_chosen,
    views=(COMPARE, PAIRS, POWER),
    filters=(*filter_keys("questions", "clues"), "people", "human", "binning", "t", "cluster", "failed", "grading", "primary"),
)  # fmt: skip
def draw(request: PageRequest[ComparePage]) -> Sequence[Component | None]:
    """Draw every question as a dot, the difference in each metric with its uncertainty, wins by category, and power."""
    runs = _runs(request)
    if len(runs) < 2:
        return [nothing_selected(request.path, request.selection, "pairs of runs", request.facets, "Compare")]
    (a, b), metric, shown = _chosen(request), request.parameters.metric, request.parameters.metrics
    result = service().ask(comparison, request.selection, a, b, shown)
    questions = service().ask(question_differences, request.selection, a, b, metric)
    colours = run_colours(request.facets, (a, b))
    tones = (colours.own[a], colours.own[b])
    names = sections.headed(runs[a], runs[b])
    standard = default_metric(request.facets)
    metrics = metric_names(PER_QUESTION, request.facets)
    unnamed = _unnamed(request, list(runs))
    named_metrics = [row.key for row in shown] if request.texts.get("metrics") else []
    return [
        heading(
            "Compare",
            f"{request.facets.title}: where {names[0]} and {names[1]} differ; "
            f"{counted(result.questions, 'question')} answered by both",
        ),
        _other_questions(request),
        controls(
            menu("a", "First run", *_choices(runs, request.parameters.a, unnamed[0], request.parameters.b)),
            menu("b", "Second run", *_choices(runs, request.parameters.b, unnamed[1], request.parameters.a)),
            menu("metric", "Question by question", metrics, metric.key, default=standard),
            several("metrics", "Metrics", metric_names(RANKED, request.facets), named_metrics, "Default metrics"),
        ),
        sections.questions_section(questions, metric, names, tones, items_query(focus=(a, b), question="ID")),
        sections.furthest_apart(metric, names, *_by_difference(request, a, b, metric)) if questions.questions else None,
        sections.metric_differences(result, shown, names, tones) if result.questions > 1 else None,
        sections.differences_table(result, shown, names, tones),
        sections.wins_table(questions.wins, metric, names, tones),
        _power(request, a, b, metric),
    ]


def _power(request: PageRequest[ComparePage], a: str, b: str, metric: Metric) -> Component | None:
    """What the questions can show by a metric, and whether the runs are equal within the margin of the address."""
    selection, d, margin = request.selection, request.parameters.d, request.parameters.margin
    analysis = service().ask(power, selection, a, b, [metric], d, margin)
    compared = None if margin is None else service().ask(comparison, selection, a, b, [metric], margin).metrics[metric.key]
    return sections.power_section(analysis.metrics[0], metric, compared.margin if compared else None)


def _other_questions(request: PageRequest[ComparePage]) -> Component | None:
    """A notice that the leaderboard counts other questions; None if the address says which ones count."""
    if request.selection.common is not None:
        return None
    pairs = [*request.selection.pairs(), *((key, text) for key, texts in request.texts.items() for text in texts)]
    return pair_notice(service().ask(coverage, request.selection), request.path, pairs)


def _by_difference(request: PageRequest[ComparePage], a: str, b: str, metric: Metric) -> tuple[str, str]:
    """Addresses of the list of questions by the difference of both runs, in descending and in ascending order."""
    pairs = request.selection.on_runs((a, b)).pairs()
    key = [("metric", metric.key)] if metric.key != default_metric(request.facets) else []
    descending, ascending = (address("/questions", [*pairs, *key, ("sort", f"{sign}{metric.key}:{a}-{b}")]) for sign in ("-", ""))
    return descending, ascending


def _runs(request: PageRequest[ComparePage]) -> dict[str, str]:
    """Names of the runs that can be compared, by run id; those of the selection come first."""
    named = [run for run in (request.parameters.a, request.parameters.b) if run in request.facets.withdrawn]
    # A withdrawn run is selected only if it is named, and then the others must be named too.
    runs = (*(run for run, _, _ in request.facets.runs), *named) if named else ()
    result = service().ask(leaderboard, request.selection.on_runs(runs).replace(common=False), ())
    names = run_names(row for row in result.rows if row.answered)
    selected = selected_runs(request.selection)
    return {run: names[run] for run in sorted(names, key=lambda run: run not in selected)}


def _unnamed(request: PageRequest[ComparePage], runs: list[str]) -> tuple[str, str]:
    """The runs that apply if the address leaves out either key: the first, and the next; neither is the other key's run."""
    a, b = request.parameters.a, request.parameters.b
    first = next((run for run in runs if run != b), "")
    second = next((run for run in runs if run != (a or first)), "")
    return first, second


def _choices(runs: dict[str, str], named: str, standard: str, other: str) -> tuple[dict[str, str], str]:
    """Values and names of the runs that a key can name, and the current value.

    A key in the address stays there, even if it names the standard run, because that can change with the other key.
    """
    labels = zip(runs, distinct_short_names([*runs.values()], MAX_IN_MENU), strict=True)
    choices = {run: label for run, label in labels if run != other}
    return {"" if run == standard and not named else run: name for run, name in choices.items()}, named
