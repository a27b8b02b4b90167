"""A LifeEval question: when such a person dies, by the life table, and the span each run bets on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.figures.style import FAINT, INK, MUTED, OTHERS, PlotlyJson, axis, downwards, layout, padded, plain
from queries.question import Question, RunResponses

ROW = 24  # pixels per run


def lifespan_figure(question: Question, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    """Draw bars of the probability of death by age; below, each run's guess with the span of the radius around it.

    The bars within the span add up to the run's y. A run with several answers has a dot for each, without a span.

    Args:
        question: question with a lifespan.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    life = question.lifespan
    assert life is not None and question.radius is not None
    guesses = [(run, [number for answer in run.clues if (number := _number(answer.guess)) is not None]) for run in question.runs]
    rows = [(run, numbers) for run, numbers in guesses if numbers]
    labels = [plain(names[run.run]) for run, _ in rows]
    bars = {
        "type": "bar", "x": [age + 0.5 for age in life.ages], "y": life.probability, "width": 1, "marker": {"color": FAINT},
        "customdata": life.ages, "hovertemplate": "dies at %{customdata}: %{y:.2%}<extra></extra>", "name": "Life table",
    }  # fmt: skip
    spans = [
        {
            "type": "scatter", "yaxis": "y2", "name": plain(names[run.run]), "meta": run.run,
            **_guesses(run, numbers, question.radius, plain(names[run.run]), colours.get(run.run, OTHERS)),
        }
        for run, numbers in rows
    ]  # fmt: skip
    height = 200 + ROW * len(rows) + 50
    split = (ROW * len(rows) + 10) / height
    first = question.minimum_age or 0
    return {
        "data": [bars, *spans],
        "layout": layout(
            height,
            bargap=0,
            xaxis=axis("age at death", range=[max(first - 3, -1), 121], anchor="y2", showgrid=True),
            yaxis=axis("probability", domain=[split + 0.04, 1], range=padded(life.probability, zero=True), tickformat=".0%"),
            yaxis2=axis(
                domain=[0, split], type="category", range=downwards(len(rows)), showgrid=False,
                tickfont={"size": 12, "color": INK}, categoryorder="array", categoryarray=labels,
            ),
            shapes=[{"type": "line", "xref": "x", "yref": "paper", "x0": first, "x1": first, "y0": 0, "y1": 1,
                     "line": {"color": MUTED, "width": 1, "dash": "dot"}}],
        ),
    }  # fmt: skip


def _guesses(run: RunResponses, guesses: Sequence[float], radius: int, label: str, colour: str) -> PlotlyJson:
    """The guesses of a run in its row: a single one with the span of the radius, or several without."""
    if len(guesses) > 1:
        return {
            "mode": "markers", "x": [*guesses], "y": [label] * len(guesses),
            "marker": {"size": 9, "color": colour, "opacity": 0.55, "line": {"color": INK, "width": 1}},
            "hovertemplate": "%{y}<br>guess %{x:g}<extra></extra>",
        }  # fmt: skip
    (guess,) = guesses
    return {
        "mode": "lines+markers", "x": [guess - radius, guess, guess + radius], "y": [label] * 3,
        "line": {"color": colour, "width": 5},
        "marker": {"size": [0, 11, 0], "color": colour, "line": {"color": INK, "width": 1}},
        "hovertemplate": _hover(run, guess, radius),
    }  # fmt: skip


def _hover(run: RunResponses, guess: float, radius: int) -> str:
    words = f"guess {guess:g}, within {radius} years<br>says {run.clues[0].confidence:.1%}, true {run.clues[0].correct:.1%}"
    return f"%{{y}}<br>{words}<extra></extra>"


def _number(guess: str | None) -> float | None:
    try:
        return float(guess or "")
    except ValueError:
        return None
