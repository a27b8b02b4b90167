"""Overconfidence of each question against its difficulty, a panel per run."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.figures.run_labels_and_lines import Names
from dashboard.figures.small_multiples import panel_axes, panels
from dashboard.figures.style import FAINT, INK, OTHERS, PlotlyJson, plain
from queries.hard_easy_effect import HardEasyFit


def hard_easy_figure(runs: Sequence[HardEasyFit], names: Names, colours: Names, link: str, gap: str) -> PlotlyJson:
    """Draw a panel per run: a dot per question, the fitted line and its interval.

    Args:
        runs: fits, one per panel.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        link: address of a question, with ``ID`` in place of its id; a click on a dot opens it.
        gap: what the vertical axis shows.
    """
    data: list[PlotlyJson] = []
    for place, run in enumerate(runs):
        axes, colour = panel_axes(place), colours.get(run.run, OTHERS)
        x = [at.difficulty for at in run.line]
        data.append({
            "type": "scatter", "mode": "markers", "meta": {"run": run.run, "link": link}, **axes,
            "x": [point.difficulty for point in run.points], "y": [point.overconfidence for point in run.points],
            "marker": {"size": 4, "color": colour, "opacity": 0.35}, "customdata": [point.question_id for point in run.points],
            "text": [plain(point.question_id) for point in run.points],
            "hovertemplate": f"%{{text}}<br>difficulty %{{x:.3f}}<br>{gap} %{{y:.3f}}<extra></extra>",
        })  # fmt: skip
        edge = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip", "line": {"width": 0, "color": FAINT}, **axes}
        data.append({**edge, "y": [at.low for at in run.line]})
        data.append({**edge, "y": [at.high for at in run.line], "fill": "tonexty", "fillcolor": "var(--band)"})
        data.append({
            "type": "scatter", "mode": "lines", "x": x, "y": [at.overconfidence for at in run.line], **axes,
            "line": {"color": INK, "width": 2}, "hovertemplate": "line at %{x:.2f}: %{y:.3f}<extra></extra>",
        })  # fmt: skip
    return panels(
        data,
        [names[run.run] for run in runs],
        x={"title": "difficulty", "range": [0, 1], "dtick": 0.25, "tickformat": ".2~f"},
        y={
            "title": gap,
            "range": [-1.05, 1.05],
            "dtick": 0.5,
            "tickformat": ".2~f",
            "zeroline": True,
            "zerolinecolor": FAINT,
        },
    )
