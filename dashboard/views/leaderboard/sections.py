"""Sections of the leaderboard: claims about runs, an early mistake, confidence against accuracy, rankings and release dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from dash import html
from dash.development.base_component import Component

from dashboard.ui.controls import difference_menu
from dashboard.ui.figure import agreement_figure, figure
from dashboard.ui.numbers import short
from dashboard.ui.runs import RunColours, legend, run_column
from dashboard.ui.section import note
from dashboard.ui.table import Columns, PageColumn, html_table, interval
from dashboard.views.leaderboard.figures import gap_figure, ranks_figure, release_dates_figure
from dashboard.views.leaderboard.view import AGREEMENT, RELEASE_DATES
from data.plurals import counted
from queries.engine.equivalence import Equivalence
from queries.leaderboard import Leaderboard, LeaderboardRow
from queries.metrics import CATALOGUE, Metric
from queries.rankings import ReleaseDates, rank_correlations
from queries.selection.parameter_kinds import format_number

MAX_NAMED = 6  # runs that a sentence names
ALL_OF_THEM = "With 95 % confidence, every run that is truly best is among these"


def board_note(board: Leaderboard, names: Mapping[str, str], margin: float | None, baselines: str) -> html.P | None:
    """Return the paragraph below the table: what its cells show, and what its ranked runs can be said to be.

    The board needs intervals. ``baselines`` is a sentence on what a trivial run would score, or blank.
    """
    primary = CATALOGUE[board.primary]
    ranked = [row for row in board.rows if row.ranked]
    best = [row for row in ranked if row.metrics[primary.key].may_be_best]
    compared = [(row, cell) for row in ranked if (cell := row.metrics[primary.key].margin) is not None]
    parts: list[str | Component] = [
        "Each value has its 95 % interval below; the sorted column has ranks and letters. Runs that share a letter are "
        "not shown to differ (p ≥ 0.05, adjusted for all pairs of runs and, except by "
        f"{primary.name}, the primary metric here, for all {counted(board.other_metrics, 'other metric')}). "
    ]
    if best:
        parts += ["By the primary metric, these may be best: ", html.Span(_named(best, names), title=ALL_OF_THEM), ". "]
    if compared and margin is not None:
        parts.append(f"{_within_margin(compared, names, margin)} ")
    return note([*parts, baselines])


def margin_menu(board: Leaderboard, margin: float | None) -> Component | None:
    """Return the menu for the difference that does not matter; None with fewer than two ranked runs."""
    if sum(row.ranked for row in board.rows) < 2:
        return None
    return difference_menu("margin", "Equal if they differ by less than", margin)


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


ACCURACY_AND_CONFIDENCE = (CATALOGUE["accuracy"], CATALOGUE["mean_confidence"])


def confidence_gap(board: Leaderboard, names: Mapping[str, str], colours: RunColours) -> html.Figure:
    """Return the figure and its table. The board needs ``ACCURACY_AND_CONFIDENCE``."""
    return figure(
        "gap",
        gap_figure(board, names, colours),
        "Confidence against accuracy: a ring to the right of its dot means overconfidence, to the left underconfidence",
        metrics_table(board, ACCURACY_AND_CONFIDENCE, "Confidence and accuracy", names, colours),
    )


def metrics_table(
    board: Leaderboard, metrics: Sequence[Metric], label: str, names: Mapping[str, str], colours: RunColours
) -> html.Div:
    """Return the values of some metrics, a row per run."""
    columns = [PageColumn(metric.name, partial(_part, metric.key, "value")) for metric in metrics]
    return html_table([run_column(names, colours), *columns], board.rows, label)


def _part(key: str, part: str, run: LeaderboardRow) -> float | None:
    return getattr(run.metrics[key], part)  # type: ignore[no-any-return]


def rankings(board: Leaderboard, ranked: Sequence[Metric], names: Mapping[str, str], colours: RunColours) -> html.Figure:
    """Return the ranks of the runs by each metric, as a figure and a table. Runs are in the order of the board."""
    ranks = [
        PageColumn(metric.label, partial(_part, metric.key, "rank"), lambda rank: short(rank, 1), number=True)
        for metric in ranked
    ]
    return figure(
        "ranks",
        ranks_figure(board, ranked, names, colours),
        "Rank by each metric, best on top. Point at a dot to follow its run",
        html_table([run_column(names, colours), *ranks], board.rows, "Ranks"),
    )


def rank_agreement(board: Leaderboard, ranked: Sequence[Metric]) -> html.Figure:
    """Return Kendall's tau-b between the rankings by each metric, as a figure and a table."""
    # The page already has the values that /api/v1/agreement would read.
    values = {metric.key: np.array([run.metrics[metric.key].value for run in board.rows], dtype=float) for metric in ranked}
    agreed = rank_correlations(ranked, values)
    return figure(
        "agreement",
        agreement_figure(agreed, ranked),
        "Kendall's tau-b between rankings: 1 is the same order, −1 the opposite",
        html_table(
            [PageColumn("Metric", "a"), PageColumn("Metric", "b"), PageColumn("tau-b", "tau"), "runs"],
            agreed,
            "Agreement of rankings",
            declared=AGREEMENT.tables[0],
        ),
    )


MIN_DATES = 2  # fewer dates make no figure


def release_dates_section(
    result: ReleaseDates, metric: Metric, names: Mapping[str, str], colours: RunColours
) -> html.Section | None:
    """Return the metric of each run at the release date of its model; None with fewer than two dates."""
    runs = [run for run in result.runs if run.value is not None]
    if len({run.day for run in runs}) < MIN_DATES:
        return None
    columns: Columns = [
        run_column(names, colours),
        "released",
        PageColumn(metric.name, "value"),
        interval(),
        PageColumn("Best so far", "best_so_far", lambda best: "yes" if best else ""),
    ]
    left_out = [f"{counted(result.undated, 'run has', 'runs have')} no tag “released”"] if result.undated else []
    left_out += [f"{names[run]} has “{text}”, which is not a date" for run, text in result.unreadable.items()]
    return html.Section(
        [
            html.H2("By release date"),
            figure(
                "release-dates",
                release_dates_figure(runs, metric, names, colours),
                f"{metric.name} of each run at the release date of its model, with its 95 % interval"
                + (". The line is the best so far" if metric.ranks else ""),
                html_table(columns, runs, f"{metric.name} by release date", declared=RELEASE_DATES.tables[0]),
                legend([run.run for run in runs], names, colours),
            ),
            note(f"Left out: {'; '.join(left_out)}. See docs/importing.md.") if left_out else None,
        ],
        id="release-dates",
    )
