"""What the leaderboard claims about its runs: which may be best, and which are equal to the first one within a margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html

from dashboard.components.controls import difference_menu
from data.plurals import counted
from queries.engine.equivalence import Equivalence
from queries.leaderboard import Leaderboard, LeaderboardRow
from queries.metrics import CATALOGUE
from queries.selection.parameter_kinds import format_number

MAX_NAMED = 6  # runs that a sentence names
ALL_OF_THEM = "With 95 % confidence, every run that is truly best is among these"


def claims_section(board: Leaderboard, names: Mapping[str, str], margin: float | None) -> html.Div:
    """Return which runs may be best by the primary metric, and which are equal to the first one.

    Args:
        board: leaderboard, its ranked rows in any order, with intervals.
        names: display name of each run, by run id.
        margin: the difference that does not matter; None where none is stated.
    """
    primary = CATALOGUE[board.primary]
    ranked = [row for row in board.rows if row.ranked]
    best = [row for row in ranked if row.metrics[primary.key].may_be_best]
    compared = [(row, cell) for row in ranked if (cell := row.metrics[primary.key].margin) is not None]
    return html.Div(
        [
            html.P(
                [
                    f"May be best by {primary.name}, the primary metric here: ",
                    html.Span(_named(best, names), title=ALL_OF_THEM),
                    ".",
                ],
                className="note",
            )
            if best
            else None,
            html.P(_within_margin(compared, names, margin, primary.name), className="note")
            if compared and margin is not None
            else None,
            html.Div([difference_menu("margin", "Equal if they differ by less than", margin)], className="controls")
            if len(ranked) > 1
            else None,
        ]
    )


def adjustment(board: Leaderboard) -> str:
    """Say for what the letters are adjusted."""
    others = counted(board.other_metrics, "other metric")
    return f"adjusted for all pairs of runs and, except by {CATALOGUE[board.primary].name}, for all {others} of this dataset"


def _within_margin(
    compared: Sequence[tuple[LeaderboardRow, Equivalence]], names: Mapping[str, str], margin: float, metric: str
) -> str:
    verdicts: dict[str, list[LeaderboardRow]] = {}
    for board_row, equivalence in compared:
        verdicts.setdefault(equivalence.verdict or f"undefined, because {equivalence.undefined}", []).append(board_row)
    parts = [f"{verdict}: {_named(rows, names)}" for verdict, rows in verdicts.items()]
    first = names[compared[0][1].against]
    return f"Compared with {first} by {metric}, with a margin of {format_number(margin)}: {'; '.join(parts)}."


def _named(rows: Sequence[LeaderboardRow], names: Mapping[str, str]) -> str:
    more = len(rows) - MAX_NAMED
    return ", ".join(names[row.run] for row in rows[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
