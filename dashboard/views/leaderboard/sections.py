"""Sections of the leaderboard: claims about runs, an early mistake, confidence against accuracy, rankings and release dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import urlencode

import numpy as np
from dash import html
from dash.development.base_component import Component

from dashboard.http.paths import question_path
from dashboard.ui.controls import difference_menu
from dashboard.ui.figure import agreement_figure, figure
from dashboard.ui.html import page_link
from dashboard.ui.numbers import CURVE_NAMES, short
from dashboard.ui.quizbowl import draw_text
from dashboard.ui.runs import RunColours, legend, run_column, run_names
from dashboard.ui.section import controls, note, side_by_side
from dashboard.ui.table import Columns, PageColumn, html_table, interval
from dashboard.views.leaderboard.figures import gap_figure, ranks_figure, release_dates_figure
from dashboard.views.leaderboard.view import AGREEMENT, RELEASE_DATES
from dashboard.views.question.figures import clues_figure, confidence_table
from data.plurals import counted
from queries.confident_early_mistake import EarlyMistake
from queries.engine.equivalence import Equivalence
from queries.leaderboard import Leaderboard, LeaderboardRow
from queries.metrics import CATALOGUE, Metric
from queries.question import Question
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
        "Each value has its rank next to it and its 95 % interval below. Runs that share a letter are not shown to differ "
        f"(p ≥ 0.05, adjusted for all pairs of runs and, except by {primary.name}, the primary metric here, for all "
        f"{counted(board.other_metrics, 'other metric')}). "
    ]
    if best:
        parts += ["By the primary metric, these may be best: ", html.Span(_named(best, names), title=ALL_OF_THEM), ". "]
    if compared and margin is not None:
        parts.append(f"{_within_margin(compared, names, margin)} ")
    return note([*parts, baselines])


def margin_menu(board: Leaderboard, margin: float | None) -> html.Div | None:
    """Return the menu for the difference that does not matter; None with fewer than two ranked runs."""
    if sum(row.ranked for row in board.rows) < 2:
        return None
    return controls(difference_menu("margin", "Equal if they differ by less than", margin))


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


def early_mistake_story(mistake: EarlyMistake, question: Question, colours: RunColours) -> html.Section:
    """Return the story in words, the figure of the question with the cursor at the mistake, and what to do next."""
    names = run_names(question.runs)
    path = f"{question_path(question.dataset, question.question_id)}?{urlencode({'clue': mistake.clue})}"
    sure, known = f"{mistake.confidence:.0%}".replace("%", " %"), f"{mistake.known:.0%}".replace("%", " %")
    others = "every run is wrong" if mistake.wrong == mistake.runs else f"{mistake.wrong} of {mistake.runs} runs are wrong"
    return html.Section(
        [
            html.H2(f"{sure} sure, and wrong, before anybody knew"),
            html.Blockquote([part for clue in question.clues[: mistake.clue + 1] for part in (*draw_text(clue.text or ""), " ")]),
            html.P(
                [
                    f"After clue {mistake.clue + 1} of {mistake.clues}, {names[mistake.run]} answers ",
                    html.Q(mistake.guess),
                    f" with {sure} confidence. {others[0].upper()}{others[1:]} here, and no human team has been right yet. ",
                    f"By the end, {known} of the teams are right.",
                ]
            ),
            figure(
                "early-mistake",
                clues_figure(question, names, colours, mistake.clue),
                "Confidence clue by clue: ● correct, × incorrect; heavy steps: " + CURVE_NAMES[question.drawn_curve],
                confidence_table(question, names),
                legend([run.run for run in question.runs], names, colours, "People" if question.human else ""),
            ),
            html.P(
                [
                    page_link("Walk through this question", href=path, class_name="quiet"),
                    " with the arrow keys, or ",
                    page_link("add your model", href=f"/upload?{urlencode({'dataset': question.dataset})}"),
                    " and see where it is sure and wrong.",
                ],
                className="next",
            ),
        ],
        className="story",
    )


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


def rankings(board: Leaderboard, ranked: Sequence[Metric], names: Mapping[str, str], colours: RunColours) -> html.Div:
    """Return the ranks of the runs by each metric, and Kendall's tau-b between the metrics, as figures and tables.

    Runs are drawn in the order of the board.
    """
    # The page already has the values that /api/v1/agreement would read.
    values = {metric.key: np.array([run.metrics[metric.key].value for run in board.rows], dtype=float) for metric in ranked}
    agreed = rank_correlations(ranked, values)
    ranks = [
        PageColumn(metric.label, partial(_part, metric.key, "rank"), lambda rank: short(rank, 1), number=True)
        for metric in ranked
    ]
    return side_by_side(
        figure(
            "ranks",
            ranks_figure(board, ranked, names, colours),
            "Rank by each metric, best on top; bars: ranks in 95 % of replicates, for each run by itself",
            html_table([run_column(names, colours), *ranks], board.rows, "Ranks"),
            legend([row.run for row in board.rows], names, colours),
        ),
        figure(
            "agreement",
            agreement_figure(agreed, ranked),
            "Kendall's tau-b between rankings: 1 is the same order, −1 the opposite",
            html_table(
                [PageColumn("Metric", "a"), PageColumn("Metric", "b"), PageColumn("tau-b", "tau"), "runs"],
                agreed,
                "Agreement of rankings",
                declared=AGREEMENT.tables[0],
            ),
        ),
        wide_left=True,
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
