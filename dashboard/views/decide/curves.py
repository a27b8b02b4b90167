"""Net scores and Murphy curves over the threshold, and risk by coverage."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.ui.figure import (
    Names,
    figure,
)
from dashboard.ui.runs import RunColours, legend
from dashboard.views.decide.figures import coverage_figure, difference_figure, murphy_figure, net_figure
from dashboard.views.decide.slider import coverage_table, curve_table, difference_table, verdict
from data.plurals import counted
from queries.decide import Decisions, PeopleDecisions


def people_note(people: PeopleDecisions) -> html.P:
    """Say what the line of people is, and how far it can be compared with those of runs."""
    return html.P(
        f"People: {counted(people.teams, 'human team')} that heard a question {people.heard:,} times and buzzed right in "
        f"{people.right:.0%} and wrong in {people.wrong:.0%} of these. People state no confidence. Their line shows what these "
        "same buzzes would earn at each cost; at another cost they might have buzzed differently. A run is asked at every clue, "
        "a team decides once per question, and a question that others ended counts as not answered: the two compare only "
        "roughly.",
        className="note",
    )


def net_section(result: Decisions, names: Names, colours: RunColours, t: float) -> html.Section:
    """Return the net scores of runs and people over t."""
    runs = [run.run for run in result.runs]
    return html.Section(
        [
            html.H2("Net score"),
            figure(
                "net",
                net_figure(result, names, colours, t),
                "Net score per item over t: right answers earn 1, wrong ones cost t/(1 \u2212 t), silence earns 0. Higher is "
                "better",
                curve_table(result, names, "net_score"),
                legend(runs, names, colours, "People, at their buzzes (dotted)" if result.people else ""),
            ),
        ],
        className="section",
    )


def murphy_section(
    result: Decisions, names: Names, menus: Sequence[Component], chosen_here: bool, colours: RunColours, t: float
) -> html.Section:
    """Return the Murphy curves of all runs, and the difference of two with its band.

    ``menus`` choose these two; ``chosen_here`` is as in ``verdict``.
    """
    runs = [run.run for run in result.runs]
    parts: list[Component] = [
        html.H2("Murphy curves"),
        figure(
            "murphy",
            murphy_figure(result, names, colours, t),
            "Mean elementary score over t; lower is better. The area below a line is the run's Brier score. A run whose line is "
            "below another's throughout scored better here, whatever a wrong answer costs",
            curve_table(result, names, "murphy"),
            legend(runs, names, colours),
        ),
    ]
    if result.difference:
        difference = result.difference
        parts += [
            html.Div(list(menus), className="controls"),
            verdict(difference, names, chosen_here),
            figure(
                "murphy-difference",
                difference_figure(difference, result.thresholds, t),
                f"{names[difference.a.run]} minus {names[difference.b.run]}, on the {counted(difference.questions, 'question')} "
                "that both answered: below 0 the first is better. The band covers the whole curve with 95 % confidence. Any two "
                "curves meet near 0 and 1",
                difference_table(difference),
            ),
        ]
    return html.Section(parts, className="section")


def coverage_section(result: Decisions, names: Names, colours: RunColours, t: float, *, forecasts: bool) -> html.Section:
    """Return risk and accuracy over the share of items answered. ``forecasts``: whether answers are forecasts."""
    runs = [run.run for run in result.runs]
    captions = {
        False: "Share of errors among the most confident items (risk), over the share answered. Lower is better",
        True: "Accuracy of the most confident items, over the share answered. Higher is better",
    }
    if forecasts:
        captions = {
            False: "Mean outcome of the less likely side of the surest forecasts (risk), over their share. Lower is better",
            True: "Mean outcome of the likelier side of the surest forecasts, over their share. Higher is better",
        }
    return html.Section(
        [
            html.H2("Coverage"),
            *(
                figure(
                    "accuracy-coverage" if accuracy else "risk-coverage",
                    coverage_figure(result, names, colours, t, accuracy=accuracy, forecasts=forecasts),
                    f"{captions[accuracy]}. \u25cf the share with confidence above t",
                    coverage_table(result, names, accuracy=accuracy),
                    legend(runs, names, colours),
                )
                for accuracy in (False, True)
            ),
        ],
        className="section",
    )


HEIGHT, AXIS = 320, 60  # pixels of a figure, and of the space below and above its axis
