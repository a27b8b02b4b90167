"""What the leaderboard claims about its runs: which may be best, and which are equal to the first one within a margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.controls import difference_menu
from data.plurals import counted
from queries.engine.equivalence import Equivalence
from queries.leaderboard import Leaderboard, LeaderboardRow
from queries.metrics import CATALOGUE
from queries.selection.parameter_kinds import format_number

MAX_NAMED = 6  # runs that a sentence names
ALL_OF_THEM = "With 95 % confidence, every run that is truly best is among these"


def board_note(board: Leaderboard, names: Mapping[str, str], margin: float | None, baselines: str) -> html.P:
    """Return the paragraph below the table: what its cells show, and what its ranked runs can be said to be.

    Args:
        board: leaderboard, its ranked rows in any order, with intervals.
        names: display name of each run, by run id.
        margin: the difference that does not matter; None where none is stated.
        baselines: a sentence on what a trivial run would score; can be empty.
    """
    primary = CATALOGUE[board.primary]
    ranked = [row for row in board.rows if row.ranked]
    best = [row for row in ranked if row.metrics[primary.key].may_be_best]
    compared = [(row, cell) for row in ranked if (cell := row.metrics[primary.key].margin) is not None]
    parts: list[str | Component] = [
        "Each value has its rank next to it and its 95 % interval below. Runs that share a letter are not shown to differ "
        f"(p ≥ 0.05, adjusted for all pairs of runs and, except by {primary.name}, the primary metric here, for all "
        f"{counted(board.other_metrics, 'other metric')}). "
    ]
    if best:
        parts += ["By the primary metric, these may be best: ", html.Span(_named(best, names), title=ALL_OF_THEM), ". "]
    if compared and margin is not None:
        parts.append(f"{_within_margin(compared, names, margin)} ")
    return html.P([*parts, baselines], className="note")


def margin_menu(board: Leaderboard, margin: float | None) -> html.Div | None:
    """Return the menu for the difference that does not matter; None with fewer than two ranked runs."""
    if sum(row.ranked for row in board.rows) < 2:
        return None
    return html.Div([difference_menu("margin", "Equal if they differ by less than", margin)], className="controls")


def _within_margin(compared: Sequence[tuple[LeaderboardRow, Equivalence]], names: Mapping[str, str], margin: float) -> str:
    verdicts: dict[str, list[LeaderboardRow]] = {}
    for board_row, equivalence in compared:
        verdicts.setdefault(equivalence.verdict or f"undefined, because {equivalence.undefined}", []).append(board_row)
    parts = [f"{verdict}: {_named(rows, names)}" for verdict, rows in verdicts.items()]
    first = names[compared[0][1].against]
    return f"Compared with {first} by the primary metric, with a margin of {format_number(margin)}: {'; '.join(parts)}."


def _named(rows: Sequence[LeaderboardRow], names: Mapping[str, str]) -> str:
    more = len(rows) - MAX_NAMED
    return ", ".join(names[row.run] for row in rows[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
