"""Answer or abstain: what the answers of each run are worth, at every cost of a wrong one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dash import html
from dash.development.base_component import Component

from dashboard.registry.keys import FirstCurve, SecondCurve
from dashboard.registry.pages import PageParameters, PageRequest, page
from dashboard.registry.tables import Table, parts
from dashboard.registry.views import serve
from dashboard.service import service
from dashboard.ui.controls import filter_keys, menu
from dashboard.ui.figure import Names, figure
from dashboard.ui.messages import nothing_selected
from dashboard.ui.runs import RunStyle, highlighted_runs, run_names, run_style
from dashboard.ui.section import controls, heading, note, section
from dashboard.ui.text import percent
from dashboard.views.decide.figures import (
    AT_COVERAGE,
    AT_T,
    cost_slider,
    coverage_figure,
    decisions_table,
    difference_figure,
    difference_table,
    figure_over_t,
    state,
    verdict,
)
from dashboard.views.leaderboard.view import cited_leaderboard
from data.plurals import counted
from queries.decide import Decisions, PeopleDecisions, decide
from queries.metrics import CATALOGUE, Conventions
from queries.selection.view_parameters_base import Parameters


class DecideKeys(Parameters, frozen=True):
    """Which two runs are compared."""

    a: FirstCurve = ""
    b: SecondCurve = ""


def _rows(answer: Decisions) -> Iterator[tuple[object, ...]]:
    for run in answer.runs:
        curves = (
            run.murphy, run.answered, run.risk, run.best_threshold, run.net_score.values, run.net_score.low, run.net_score.high,
            run.best_score.values, run.best_score.low, run.best_score.high,
        )  # fmt: skip
        for t, *values in zip(answer.thresholds[:-1], *(curve[: len(answer.thresholds) - 1] for curve in curves), strict=True):
            yield run.run, run.model, run.elicitation, t, *values
    if answer.people:
        net = answer.people.net_score
        for t, *earned in zip(answer.thresholds[:-1], net.values, net.low, net.high, strict=False):
            yield None, "people", None, t, *[None] * 4, *earned, *[None] * 3


DECIDE = serve(
    "decide",
    decide,
    DecideKeys,
    """Answer or abstain, at each t from 0 to 1: Murphy curves and net scores, the share answered and its risk, risk by
        coverage, the best threshold, and what thresholds chosen so on other questions earn; AURC, AUGRC, PRR and accuracy
        at coverage; the difference of two runs with a simultaneous band over all t; and people's net scores.""",
    Table(
                "The curves as CSV, a row per run and t below 1. Rows for people have a blank `run`.",
                rows=_rows,
                columns=parts(
                    "run", "model", "elicitation", "t", "murphy", "answered", "risk", "best_threshold", "net_score",
                    "net_score_low", "net_score_high", "best_score", "best_score_low", "best_score_high",
                ),
            ),
)  # fmt: skip


def people_note(people: PeopleDecisions) -> html.P | None:
    """Say what the line of people is, and how far it can be compared with those of runs."""
    return note(
        f"People: {counted(people.teams, 'human team')} heard a question {people.heard:,} times and buzzed right in "
        f"{percent(people.right, 0)} and wrong in {percent(people.wrong, 0)}. Their line is what these buzzes would earn. It "
        "compares only roughly: a team decides once per question, and at another cost might have buzzed differently."
    )


def net_section(result: Decisions, style: RunStyle, t: float) -> html.Section:
    """Return the net scores of runs and people over t."""
    curves = {run.run: run.net_score.values for run in result.runs}
    drawn = figure_over_t(result, curves, style, t, "net score per item", people=result.people)
    legend = style.legend([run.run for run in result.runs], "People, at their buzzes (dotted)" if result.people else "")
    title = "Net score per item over t: right answers earn 1, wrong ones cost t/(1 \u2212 t), silence earns 0. Higher is better"
    return section("Net score", figure("net", drawn, title, style.table(drawn, "Net score by t", AT_T), legend))


def murphy_section(
    result: Decisions, menus: Sequence[Component], chosen_here: bool, style: RunStyle, names: Names, t: float
) -> html.Section:
    """Return the Murphy curves of all runs, and the difference of two with its band.

    ``menus`` choose these two, and ``names`` are theirs, too; ``chosen_here`` is as in ``verdict``.
    """
    drawn = figure_over_t(result, {run.run: run.murphy for run in result.runs}, style, t, "mean elementary score", zero=True)
    title = (
        "Mean elementary score over t; lower is better. The area below a line is the Brier score. A line below another "
        "throughout is better whatever a wrong answer costs"
    )
    legend = style.legend([run.run for run in result.runs])
    parts: list[Component] = [figure("murphy", drawn, title, style.table(drawn, "Murphy curves", AT_T), legend)]
    if difference := result.difference:
        title = (
            f"{names[difference.a.run]} minus {names[difference.b.run]}, on the {counted(difference.questions, 'question')} that "
            "both answered: below 0 the first is better. The band covers the whole curve with 95 % confidence"
        )
        drawn = difference_figure(difference, result.thresholds, t)
        shown = figure("murphy-difference", drawn, title, difference_table(difference))
        parts += [controls(*menus), verdict(difference, names, chosen_here), shown]
    return section("Murphy curves", *parts)


def coverage_section(result: Decisions, style: RunStyle, t: float, *, forecasts: bool) -> html.Section:
    """Return risk and accuracy over the share of items answered. ``forecasts``: whether answers are forecasts."""
    risk = "Share of errors among the most confident items (risk), over the share answered. Lower is better"
    right = "Accuracy of the most confident items, over the share answered. Higher is better"
    if forecasts:
        risk = "Mean outcome of the less likely side of the surest forecasts (risk), over their share. Lower is better"
        right = "Mean outcome of the likelier side of the surest forecasts, over their share. Higher is better"
    figures = []
    for name, caption, accuracy in (("risk-coverage", risk, False), ("accuracy-coverage", right, True)):
        drawn = coverage_figure(result, style, t, accuracy=accuracy, forecasts=forecasts)
        text = style.table(drawn, f"{'Accuracy' if accuracy else 'Errors'} by share answered", AT_COVERAGE)
        title = f"{caption}. \u25cf the share with confidence above t"
        figures.append(figure(name, drawn, title, text, style.legend([run.run for run in result.runs])))
    return section("Coverage", *figures)


CITED = tuple(CATALOGUE[key] for key in ("net_score", "accuracy", "accuracy_at_80", "aurc", "augrc", "prr"))


class DecidePage(PageParameters, frozen=True):
    """The two runs that are compared."""

    a: FirstCurve = ""
    b: SecondCurve = ""


@page(
    "/decide", "Decide", DecidePage, place="When to answer", order=1, table=lambda request: cited_leaderboard(CITED),
    filters=("run", *filter_keys(), "people", "cluster", "failed", "grading"), common=True,
)  # fmt: skip
def draw(request: PageRequest[DecidePage]) -> Sequence[Component | None]:
    """Draw the slider for the cost, the table that follows it, curves over t and coverage, and two runs compared."""
    a, b = request.parameters.a, request.parameters.b
    # The result has every t, so that moving the slider needs no new request.
    conventions = replace(request.selection.conventions, t=Conventions().t)
    result: Decisions = service().ask(decide, request.selection.replace(conventions=conventions), a, b)
    if not result.runs:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "Answer or abstain")]
    t = request.selection.conventions.t
    style = run_style(request.facets, result.runs, highlighted_runs(request, CATALOGUE["brier"]))
    compared = [result.difference.a, result.difference.b] if result.difference else []
    every = run_names(compared) | dict(style.names)
    return [
        heading(
            "Answer or abstain",
            f"{request.facets.title}: what it is worth to answer only when a run is confident enough; "
            f"{counted(len(result.runs), 'run')}",
        ),
        cost_slider(t),
        decisions_table(result, style, t, forecasts=request.facets.forecasts),
        people_note(result.people) if result.people else None,
        net_section(result, style, t),
        murphy_section(result, _menus(request, every), not (a and b), style, every, t),
        coverage_section(result, style, t, forecasts=request.facets.forecasts),
        state(result),
    ]


def _menus(request: PageRequest[DecidePage], names: dict[str, str]) -> list[Component]:
    a, b = request.parameters.a, request.parameters.b
    first = {"": "Best by Brier", **{run: name for run, name in names.items() if run != b}}
    second = {"": "Next best by Brier", **{run: name for run, name in names.items() if run != a}}
    return [menu("a", "First run", first, a), menu("b", "Second run", second, b)]
