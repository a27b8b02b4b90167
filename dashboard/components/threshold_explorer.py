"""Expected wins over the threshold of each run, a slider per run, and the outcomes at these thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.figure import figure
from dashboard.components.links import page_link
from dashboard.components.run_names_and_colours import RunColours, legend
from dashboard.components.threshold_outcomes import curve_table, outcomes_table
from dashboard.components.threshold_sliders import MAX_SLIDERS, no_sliders, span, threshold_rows, threshold_rule
from dashboard.figures.thresholds import wins_figure
from queries.buzzing import ThresholdExplorer


def threshold_explorer_section(
    explorer: ThresholdExplorer,
    names: Mapping[str, str],
    colours: RunColours,
    given: Sequence[str],
    scale: str,
    questions: str,
) -> html.Section:
    """Return the section.

    Args:
        explorer: threshold explorer with the runs.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        given: thresholds as the address states them.
        scale: scale as the address states it.
        questions: address of the first question, at the same thresholds.
    """
    drawable = [run for run in explorer.runs if run.curve is not None]
    valued = [run for run in drawable if run.curve and run.curve.expected_wins is not None]
    few = len(explorer.runs) <= MAX_SLIDERS
    ends = span(explorer, drawable)
    parts: list[Component | None] = [html.H2("Thresholds"), html.P(threshold_rule(explorer, names), className="note")]
    if valued:
        parts.append(
            figure(
                "wins",
                wins_figure(valued, names, colours, explorer.scale, ends, few),
                "Expected wins over the threshold. ◇ best threshold" + (", ● threshold in use" if few else ""),
                curve_table(valued, names),
                legend([run.run for run in valued], names, colours),
            )
        )
    else:
        why = [run.missing.get("optimum", run.missing.get("threshold", "")) for run in explorer.runs]
        reason = "; ".join(dict.fromkeys(filter(None, why)))
        parts.append(html.P(f"There are no expected wins to draw: {reason}.", className="note"))
    if few:
        parts.append(threshold_rows(explorer, drawable, names, colours, given, scale) if drawable else None)
    else:
        parts.append(html.Div(no_sliders(len(explorer.runs), bool(given)), className="note"))
    parts.append(outcomes_table(explorer, names, colours))
    parts.append(html.P(page_link("Where each run buzzes, question by question", href=questions), className="note"))
    return html.Section(parts, className="explorer")
