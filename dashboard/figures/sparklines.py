"""A small figure of one question for its row in the list: each run's confidence clue by clue, and what people knew.

It is drawn by the cell renderer ``QuestionSparklines`` of ``assets/dashAgGridComponentFunctions.js``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.components.numbers import short
from dashboard.figures.style import INK, PlotlyJson
from data.plurals import counted
from queries.sparklines import QuestionSparklines

WIDTH, HEIGHT = 92, 26  # pixels
LEFT, RIGHT, EDGE = 1, 4, 4  # pixels of the margins; dots need room
MAX_POINTS = 46  # points of a line: more than one per two pixels would not be visible


def spark_figure(spark: QuestionSparklines, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson | None:
    """Return the paths of the lines, the dots at their ends and a text equivalent; None if there is nothing to draw.

    Args:
        spark: sparklines of the question.
        names, colours: names and colours of the runs that are drawn, by run id.
    """
    drawn = {run: line for run, line in spark.runs.items() if run in colours}
    if not drawn and spark.people is None:
        return None
    words = []
    lines = []
    for run, colour in colours.items():
        line = drawn.get(run)
        if line is None:
            continue
        points = [(_x(at), _y(c)) for at, c in _thinned(line.revealed, line.confidence)]
        right = line.correct >= 0.5
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        lines.append({"path": path, "colour": colour, "x": points[-1][0], "y": points[-1][1], "right": right})
        ends = f"{short(line.confidence[0], 2)} to {short(line.confidence[-1], 2)}"
        words.append(f"{names[run]} {ends}, {'right' if right else 'wrong'} at the last")
    clues = max((len(line.revealed) for line in drawn.values()), default=0)
    people = None
    if spark.people is not None:
        steps = [f"H{_x(at)} V{_y(h)}" for at, h in _thinned(spark.people.revealed, spark.people.h)]
        people = {"path": f"M{_x(0)} {_y(0)} {' '.join(steps)}", "colour": INK}
        words.append(f"people {short(spark.people.h[0], 2)} to {short(spark.people.h[-1], 2)}")
        clues = max(clues, len(spark.people.h))
    label = f"Confidence over {counted(clues, 'clue')}: {'; '.join(words)}"
    return {"width": WIDTH, "height": HEIGHT, "runs": lines, "people": people, "label": label}


def _thinned(at: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    """Points of a line, thinned evenly if there are too many; the first and last stay."""
    last = len(at) - 1
    picked = range(last + 1) if last < MAX_POINTS else [round(index * last / (MAX_POINTS - 1)) for index in range(MAX_POINTS)]
    return [(at[index], values[index]) for index in picked]


def _x(revealed: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * revealed, 1)


def _y(value: float) -> float:
    return round(EDGE + (HEIGHT - 2 * EDGE) * (1 - value), 1)
