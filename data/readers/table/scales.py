"""Which scale numbers of a confidence are on: from 0 to 1, percent, ten points or another round maximum. In doubt it is asked."""

from __future__ import annotations

from collections.abc import Sequence

from clueline.data.importing.column_mapping import SCALES
from clueline.data.readers.table.columns import SURELY_PERCENT, Column
from clueline.data.readers.table.guessing import Guessing
from clueline.data.readers.table.names import has_word
from clueline.data.store.answer_states import SCORES

PERCENT = 100
SURELY_OF_100 = 50  # percentages of which none exceeds this could also be on a scale of fewer points
OF_PERCENT = frozenset({"percent", "percentage", "percentages", "pct", "perc", "prozent", "pourcentage"})
MAX_LEAST = 0.01  # share of confidences below one percent from which percentages are probably shares


def ask_for_scale(state: Guessing, column: Column) -> None:
    """Ask which scale the numbers of a column are on, unless they show it or it is stated."""
    if column.name in state.result.scales:
        return
    if state.stated.percent:
        _note_small_percentages(state, column)
    elif column.scale == "none" and column.is_numeric:
        state.ask(f"{range_of(column)}: these are neither probabilities nor percentages", SCORES, [column])
    elif column.scale == "unclear" and _are_explained(state, column):
        return
    elif column.scale == "unclear" and column.points:
        _ask_for_points(state, column)
    elif column.scale != "unit" and _is_mixed(column):
        state.ask(_mixed(column), columns=[column], hint="percent")
    elif column.scale == "unclear" or (column.scale == "percent" and not _is_surely_percent(column)):
        _ask_which(state, column)


def range_of(column: Column) -> str:
    """Say from where to where the numbers of a column run."""
    return f"its numbers run from {min(column.numbers):g} to {max(column.numbers):g}" if column.numbers else ""


def _are_explained(state: Guessing, column: Column) -> bool:
    """Whether the analyst says what the numbers mean, as those of points."""
    return any(text.lower() in state.stated.words and text != column.filler for text in column.distinct)


def _plain(column: Column) -> list[float]:
    """Return the numbers without a percent sign, and without one that stands for a missing confidence."""
    without = Column(column.name, [text for text in column.present if "%" not in text and text != column.filler])
    return without.numbers


def _is_mixed(column: Column) -> bool:
    """Whether there are shares as well as numbers that could only be percentages."""
    numbers = _plain(column)
    return any(0 < value < 1 for value in numbers) and max(numbers) > SURELY_PERCENT


def _mixed(column: Column) -> str:
    numbers = _plain(column)
    below = sum(value <= 1 for value in numbers)
    least, mean = min(value for value in numbers if value > 0), sum(numbers) / len(numbers) / PERCENT
    return (
        f"{range_of(column)}, and {below:,} of {len(numbers):,} are at most 1: are all of these percentages? Then {least:g} "
        f"means {least:g} %, and the mean is {mean:.3g}. If some are shares, write a percent sign after each percentage"
    )


def _is_surely_percent(column: Column) -> bool:
    named, signed = has_word(column.name, OF_PERCENT) or "%" in column.name, any("%" in text for text in column.present)
    return named or signed or max(_plain(column), default=0) > SURELY_OF_100


def _ask_for_points(state: Guessing, column: Column) -> None:
    top = next(top for top in SCALES if top >= max(column.numbers))
    shares = f"as the role {SCALES[top]}, each means its share of {top}, and as certainty, only their order counts"
    reason = f"{range_of(column)}, as on a scale: which probability does each mean? {shares[0].upper()}{shares[1:]}"
    state.ask(reason, columns=[column], hint="words", choices=[f"{point}=?" for point in column.points])


def _ask_which(state: Guessing, column: Column) -> None:
    numbers = _plain(column)
    tops = _tops(numbers)
    means = ", ".join(f"{sum(numbers) / len(numbers) / top:.3g} of {top}" for top in tops)
    state.ask(
        f"{range_of(column)}: on which scale? Their mean is {means}", (*(SCALES[top] for top in tops), "certainty"), [column]
    )


def _tops(numbers: Sequence[float]) -> list[int]:
    """Return the maxima of the scales that numbers can be on, the likeliest first.

    >>> _tops([1.0, 8.56]), _tops([3.0, 5.0]), _tops([1.0, 50.0])
    ([10, 100], [5, 10, 100], [50, 100])
    """
    greatest = max(numbers)
    first = next((top for top in SCALES if top >= greatest), PERCENT)
    return [*dict.fromkeys([first, *(top for top in (10, PERCENT) if top >= greatest)])]


def _note_small_percentages(state: Guessing, column: Column) -> None:
    """Say so if confidences that are stated to be percentages may be shares."""
    numbers = [value for value in _plain(column) if 0 < value < 1]
    if numbers and len(numbers) >= MAX_LEAST * len(column.numbers):
        few = f"{len(numbers):,} of these percentages are below 1 %: {numbers[0]:g} was read as {numbers[0]:g} %"
        state.result.notes.append(f"{column.name}: {few}")
