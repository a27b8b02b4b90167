"""Slices: every run by category, the parts of a dataset where a run does worse, and questions that all runs get wrong."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component

from dashboard.registry.cited import RESAMPLED, Cited
from dashboard.registry.keys import known_run, metric_names
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.controls import menu
from dashboard.ui.filters import filter_keys
from dashboard.ui.html import address, question_path
from dashboard.ui.messages import nothing_selected
from dashboard.ui.published_values import parts_menu, published_parts
from dashboard.ui.runs import RunColours, run_colours, run_names
from dashboard.views.slices.sections import parts_section, slices_section, unsolved_section
from dashboard.views.slices.view import SLICES, SlicesKeys
from data.plurals import counted
from queries.breakdown import BREAKDOWN_FIELDS, Breakdown, breakdown, breakdown_fields, unsolved
from queries.engine.bootstrap import SIGNIFICANCE
from queries.engine.question_difficulties import FROM_RUNS
from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE, METRICS, Metric
from queries.published_values import published
from queries.selection.facets import Facets
from queries.selection.parameter_kinds import BadRequest, Choice, MetricChoice
from queries.selection.view_parameters_base import split_key
from queries.slices import DIFFICULTY, MIN_QUESTIONS, SLICE_FIELDS, Slice, Slices, slices

PATH = "/slices"
DEFAULT_METRIC = "overconfidence"
TABLES = tuple(table.key for table in published().tables if table.by == "category")
RANKED = tuple(metric for metric in METRICS if metric.direction != "none" and metric.key != "hard_easy_slope")


OF_ALL_RUNS = (
    "Difficulty comes from all runs in this table. Each run's own answers are among them, so it looks worse where difficulty is "
    "high. The parts below are made of the answers of other models."
)
UNTESTED = (
    " Response attributes divide the first table but are not tested: a question can be in several of their parts, and the tests "
    "assume that it is in one only."
)


def default_division(facets: Facets) -> str:
    """Return the key that divides a dataset's questions by default."""
    return next((by for by in breakdown_fields(facets) if len(facets.values.get(by, ())) > 1), "difficulty")


class SlicesPage(PageParameters, frozen=True):
    """Metric, reference, division of the first table, and published figures."""

    metric: Annotated[
        Metric,
        MetricChoice(
            "the metric by which parts of the selection are compared; `overconfidence` by default",
            RANKED,
            "Parts cannot be compared by {value!r}.",
        ),
    ] = CATALOGUE[DEFAULT_METRIC]
    against: Annotated[str, known_run("the run that others are compared with; each with itself by default", blank=True)] = ""
    by: Annotated[
        str,
        Choice(
            f"what divides the questions of the first table: {', '.join(f'`{key}`' for key in BREAKDOWN_FIELDS)}, or an "
            "attribute such as `attr.language`; by default the first that the dataset has",
            breakdown_fields,
            blank=True,
            dataset_default=default_division,
        ),
    ] = BREAKDOWN_FIELDS[0]
    published: Annotated[
        str,
        Choice(
            "a table of published figures by category to show",
            TABLES,
            "There is no published table {value!r} by category.",
            blank=True,
        ),
    ] = ""


def draw(request: PageRequest[SlicesPage]) -> Sequence[Component | None]:
    """Draw every run in every part; the parts where each is worse or better; and the questions that no run answered correctly.

    Parts with a significant difference are listed, then the largest differences of the others.
    """
    metric, runs = request.parameters.metric, _runs(request)
    if not runs:
        return [nothing_selected(PATH, request.selection, "answers", request.facets, "Slices")]
    against = _against(request)
    result: Slices = service().ask(slices, request.selection, metric, against)
    colours = run_colours(request.facets, list(runs))
    metrics = metric_names(RANKED, request.facets, DEFAULT_METRIC)
    link = partial(_link, request)
    than = f"than {runs[against]} there" if against else "than itself on the whole selection"
    more, less = ("Higher", "Lower") if metric.direction == "zero" else ("Worse", "Better")
    return [
        html.Div(
            [
                html.H1("Slices"),
                html.P(
                    f"{request.facets.title}: each run by category, and where it does worse than elsewhere; "
                    f"{counted(result.tested, 'part of a run', 'parts of runs')} tested",
                    className="lead",
                ),
            ],
            className="heading",
        ),
        html.Div(
            [
                menu("metric", "Metric", metrics, "" if metric.key == DEFAULT_METRIC else metric.key),
                menu("against", "Compared with", {"": "Itself on the whole", **runs}, against or ""),
                *_division(request),
                parts_menu(request.parameters.published, _by(request)),
            ],
            className="controls",
        ),
        _every_run(request, runs, colours),
        html.P(OF_ALL_RUNS, className="note")
        if _by(request) == DIFFICULTY and request.facets.difficulty_source == FROM_RUNS
        else None,
        published_parts(request.parameters.published, metric) if request.parameters.published else None,
        slices_section(f"{more} {than}", [part for part in result.slices if part.difference > 0], metric, runs, colours, link),
        slices_section(f"{less} {than}", [part for part in result.slices if part.difference <= 0], metric, runs, colours, link),
        html.P(result.untested, className="note") if result.untested and against else None,
        html.P(
            "Parts are categories, radii, thirds of difficulty, pairs of these, and values of attributes, with at least "
            f"{MIN_QUESTIONS} questions. Those with p < {SIGNIFICANCE}, adjusted for all that were tested, are significant. "
            "The others have the largest differences, which may be due to chance. /api/v1/slices lists all."
            + (UNTESTED if request.facets.response_attributes else ""),
            className="note",
        ),
        unsolved_section(
            service().ask(unsolved, request.selection), runs, colours, partial(_question, request),
            service().access.address_of_view("/api/v1/unsolved.csv", request.selection.pairs()), quizbowl=request.facets.quizbowl,
        ),
    ]  # fmt: skip


def _by(request: PageRequest[SlicesPage]) -> str:
    return request.parameters.by or default_division(request.facets)


def _division(request: PageRequest[SlicesPage]) -> list[Component]:
    """The control for what divides the questions; an empty list if there is no choice."""
    default = default_division(request.facets)
    fields = breakdown_fields(request.facets)
    offered = [by for by in fields if by == "difficulty" or len(request.facets.values.get(by, ())) > 1]
    if len(offered) < 2:
        return []
    names = {"" if by == default else by: split_key(by)[1] or by for by in offered}
    return [menu("by", "Table by", names, "" if _by(request) == default else _by(request))]


def _every_run(request: PageRequest[SlicesPage], runs: dict[str, str], colours: RunColours) -> Component:
    """The metric of every run in every part, the best run first."""
    by, metric = _by(request), request.parameters.metric
    result: Breakdown = service().ask(breakdown, request.selection, by, [metric], True)
    rows = [row for row in service().ask(leaderboard, request.selection, (metric,)).rows if row.ranked]
    rows.sort(key=lambda row: rank if (rank := row.metrics[metric.key].rank) is not None else len(rows) + 1)
    whole = {row.run: row.metrics[metric.key] for row in rows}
    return parts_section(result, whole, metric, runs, colours, lambda value: request.link("/", **{by: value}))


def _question(request: PageRequest[SlicesPage], question_id: str) -> str:
    """Address of a question's page."""
    return request.link(question_path(request.selection.dataset, question_id), dataset=None)


def _link(request: PageRequest[SlicesPage], part: Slice) -> str:
    """Address of the reliability diagram of the run on this part."""
    pairs = [pair for pair in request.selection.without_filters("runs").pairs() if pair[0] not in part.filters]
    return address("/reliability", [*pairs, ("run", part.run), *part.filters.items()])


def _runs(request: PageRequest[SlicesPage]) -> dict[str, str]:
    return run_names(row for row in service().ask(leaderboard, request.selection, ()).rows if row.ranked)


def _against(request: PageRequest[SlicesPage]) -> str | None:
    """The run that others are compared with; None for each with itself. Raise ``BadRequest`` if the selection lacks it."""
    run, runs = request.parameters.against, _runs(request)
    if run and run not in runs:
        raise BadRequest("unknown_value", f"There is no run {run!r} in this selection.", "against", list(runs))
    return run or None


def _table(request: PageRequest[SlicesPage]) -> Cited[Any]:
    metric, against = request.parameters.metric, _against(request)
    tested: Slices = service().ask(slices, request.selection, metric, against)
    attributes = sorted({key for part in tested.slices for key in part.filters} - {*SLICE_FIELDS})
    numbers = ("questions", "value", "reference", "difference", "p_adjusted")
    columns = (*SLICE_FIELDS, *attributes, "model", "elicitation", *numbers)
    return Cited(SLICES, SlicesKeys(metric, against), columns, (metric,), interval=RESAMPLED)


PAGE = register(
    Page(
        name="slices", path=PATH, title="Slices", place=65, draw=draw, table=_table, parameters=SlicesPage, check=_against,
        filters=(*filter_keys(), "people", "human", "binning", "t", "cluster", "failed", "grading", "undisputed"), common=True,
    )
)  # fmt: skip
