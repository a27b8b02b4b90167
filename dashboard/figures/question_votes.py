"""The votes on one question, class by class, and the share that each run gives each class."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.figures.style import INK, OTHERS, PlotlyJson, axis, layout, plain
from dashboard.name_shortening import distinct_short_names
from queries.question import Question

ROW = 40  # pixels of a class, at least; more with many runs
DOT = 7  # pixels between the dots of two runs, at least
MAX_CLASS_NAME_LENGTH = 28  # characters


def votes_figure(question: Question, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    """Draw a row per class: a bar for its share of the votes, and a column of dots for the share that each run gives it.

    Args:
        question: question with votes.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    votes = question.votes
    assert votes is not None
    runs = [run for run in question.runs if run.shares is not None]
    places = list(range(len(votes.classes)))
    step = 0.7 / max(len(runs), 4)
    data: list[PlotlyJson] = [
        {
            "type": "bar", "orientation": "h", "name": "People", "x": votes.shares, "y": places, "width": 0.86,
            "marker": {"color": "var(--band)", "line": {"color": INK, "width": 1.5}}, "customdata": votes.votes,
            "hovertemplate": "people: %{customdata:,} votes (%{x:.1%})<extra></extra>",
        }
    ]  # fmt: skip
    for number, run in enumerate(runs):
        colour = colours.get(run.run, OTHERS)
        shift = (number - (len(runs) - 1) / 2) * step
        data.append({
            "type": "scatter", "mode": "markers", "name": plain(names[run.run]), "meta": run.run, "cliponaxis": False,
            "x": run.shares, "y": [place + shift for place in places], "marker": {"size": 8, "color": colour},
            "hovertemplate": "%{fullData.name}: %{x:.3f}<extra></extra>",
        })  # fmt: skip
    row = max(ROW, round(DOT * len(runs) / 0.7))
    return {
        "data": data,
        "layout": layout(
            row * len(places) + 60,
            xaxis=axis("share", range=[0, 1.01], dtick=0.25, tickformat=".2~f"),
            yaxis=axis(
                range=[len(places) - 0.5, -0.5], tickvals=places, showgrid=False, tickfont={"size": 12, "color": INK},
                ticktext=[plain(name) for name in distinct_short_names(votes.classes, MAX_CLASS_NAME_LENGTH)],
            ),
        ),
    }  # fmt: skip
