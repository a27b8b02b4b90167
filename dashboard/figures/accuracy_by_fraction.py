"""Accuracy of runs and people as a question is revealed."""

from __future__ import annotations

from dashboard.figures.run_labels_and_lines import Names, end_labels, label_margin, run_labels, run_line
from dashboard.figures.style import INK, PlotlyJson, axis, layout, plain
from queries.buzzing import FractionAccuracy

AXIS = 60  # pixels below and above the axis of accuracy


def revealed_figure(accuracies: FractionAccuracy, names: Names, colours: Names) -> PlotlyJson:
    """Draw accuracy at 20, 40, 60, 80 and 100 % of the question: a line per run, people in the colour of the text.

    Args:
        accuracies: accuracies of runs and people.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    data = [
        {
            "type": "scatter", "mode": "lines+markers", "name": plain(names[run.run]), "meta": run.run,
            "x": [at.revealed for at in run.fractions], "y": [at.accuracy for at in run.fractions],
            "line": run_line(colours, run.run), "marker": {"size": 7 if run.run in colours else 3},
            "showlegend": run.run in colours,
            "customdata": [at.questions for at in run.fractions],
            "hovertemplate": "%{fullData.name}<br>accuracy %{y:.3f} at %{x:.0%}, %{customdata:,} questions<extra></extra>",
        }
        for run in sorted(accuracies.runs, key=lambda run: run.run in colours)
    ]  # fmt: skip
    for teams in accuracies.teams:
        if teams.kind != "human":
            continue
        guessing = any(at.accuracy is not None for at in teams.fractions)  # a human collection, with a guess at every clue
        data.append({
            "type": "scatter", "mode": "lines+markers",
            "name": "People" if guessing else "Human teams that have answered correctly",
            "x": [at.revealed for at in teams.fractions],
            "y": [at.accuracy if guessing else at.right for at in teams.fractions],
            "line": {"color": INK, "width": 2.5}, "marker": {"size": 7, "symbol": "diamond"},
            "hovertemplate": ("people: accuracy" if guessing else "human teams right") + " by %{x:.0%}: %{y:.3f}<extra></extra>",
        })  # fmt: skip
    ends = [(run.run, run.fractions[-1].accuracy) for run in accuracies.runs if run.run in colours and run.fractions]
    labels = run_labels(names, [run for run, _ in ends])
    last = [(labels[run], value, colours[run]) for run, value in ends if value is not None]
    return {
        "data": data,
        "layout": layout(
            320,
            margin=label_margin(list(labels.values())),
            annotations=end_labels(last, 0, 1.02, 320 - AXIS),
            xaxis=axis("share of the question revealed", range=[0.15, 1.04], tickvals=[0.2, 0.4, 0.6, 0.8, 1], tickformat=".0%"),
            yaxis=axis("accuracy", range=[0, 1.02], dtick=0.25, tickformat=".2~f"),
        ),
    }
