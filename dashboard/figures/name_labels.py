"""Names in figures: long ones shortened in the middle, and those of lines beside their ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from string import ascii_letters, digits

from dashboard.figures.style import OTHERS, PlotlyJson, plain

WORD = f"{ascii_letters}{digits}."  # characters of one word of a name
LONGEST = 40  # characters of a name in a table or above a panel
LONGEST_LABEL = 24  # characters of a name beside a line
LONGEST_ROW = 30  # characters of a name beside a row of a figure
CHARACTER = 6.2  # pixels of one in a label
LINE = 14  # pixels between two labels


def shortened(name: str, longest: int = LONGEST_LABEL) -> str:
    """A name of at most so many characters: of a longer one, its beginning and its end.

    >>> shortened("organisation/family-instruct-70b-preview", 20)
    'organisat…0b-preview'
    """
    if len(name) <= longest:
        return name
    end = longest // 2
    return f"{name[: longest - end - 1].rstrip()}…{name[-end:].lstrip()}"


def fitting(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Names no longer than there is room. Of those that ``shortened`` does not tell apart, what comes after the characters that
    they begin with together, from a word's beginning; or their ends, where only these tell them apart.

    >>> fitting(["maker/model-12-instruct", "maker/model-37-instruct"], 12)
    ['…12-instruct', '…37-instruct']
    """
    cuts = [shortened(name, longest) for name in names]
    for cut in set(cuts):
        alike = {name for name, other in zip(names, cuts, strict=True) if other == cut}
        if len(alike) < 2:
            continue
        shared = sum(1 for _ in takewhile(lambda characters: len(set(characters)) == 1, zip(*alike, strict=False)))
        start = len(names[cuts.index(cut)][:shared].rstrip(WORD))
        room = longest - 1
        kept = {name: name[start:][:room] for name in alike}
        if len(set(kept.values())) < len(alike):
            kept = {name: name[-room:] for name in alike}
        cuts = [f"…{kept[name]}" if name in alike else short for name, short in zip(names, cuts, strict=True)]
    return cuts


def run_labels(names: Mapping[str, str], runs: Sequence[str], longest: int = LONGEST_LABEL) -> dict[str, str]:
    """Run id to its name as a label of a figure.

    Args:
        names: run id to what it is called.
        runs: those that are labelled.
        longest: characters of a label.
    """
    return dict(zip(runs, map(plain, fitting([names[run] for run in runs], longest)), strict=True))


def run_line(colours: Mapping[str, str], run: str) -> PlotlyJson:
    """How the line of a run is drawn: in its colour, or thin and grey."""
    return {"color": colours[run], "width": 2.2} if run in colours else {"color": OTHERS, "width": 0.8}


def grey_first(runs: Sequence[str], colours: Mapping[str, str]) -> list[str]:
    """Runs in the order to draw, so that lines in colour are above those in grey."""
    return sorted(runs, key=lambda run: run in colours)


def end_labels(
    ends: Sequence[tuple[str, float, str]],
    bottom: float,
    top: float,
    height: float,
    axes: Mapping[str, str] | None = None,
    x: float | None = None,
) -> list[PlotlyJson]:
    """Annotations beside the right ends of lines, moved apart where these meet. Narrow screens leave them out
    (``assets/figure_painting.js``): there the legend names the lines.

    Args:
        ends: of each line its label, its last value and its colour.
        bottom, top: the ends of the y axis; ``bottom`` may be the greater one.
        height: of the axis in pixels.
        axes: of a panel; those of the figure by default.
        x: where the labels begin, on the axis; by default right of the plot.
    """
    axes = axes or {"xaxis": "x", "yaxis": "y"}
    pixels = [height * (value - bottom) / (top - bottom) for _, value, _ in ends]  # above the lower edge
    order = sorted(range(len(ends)), key=lambda index: pixels[index])
    placed: dict[int, float] = {}
    floor = float(-LINE)
    for number, index in enumerate(order):
        ceiling = height - LINE * (len(order) - 1 - number)
        floor = max(floor + LINE, min(pixels[index], ceiling))
        placed[index] = floor
    where = {"xref": f"{axes['xaxis']} domain", "x": 1, "xshift": 6} if x is None else {"xref": axes["xaxis"], "x": x}
    return [
        {
            "name": "end-label", "text": text, **where, "y": bottom + placed[index] / height * (top - bottom),
            "yref": axes["yaxis"], "xanchor": "left", "yanchor": "middle", "showarrow": False,
            "font": {"size": 11, "color": colour},
        }
        for index, (text, _, colour) in enumerate(ends)
    ]  # fmt: skip


def label_margin(labels: Sequence[str]) -> PlotlyJson:
    """The margin of a figure with room for labels on its right."""
    return {"l": 8, "r": 14 + round(CHARACTER * max(map(len, labels), default=0)), "t": 16, "b": 8}
