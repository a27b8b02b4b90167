"""Sections of the leaderboard: confidence against accuracy, rankings, their agreement, and release dates, with their figures."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import partial

import numpy as np
from dash import html
from dash.development.base_component import Component

from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.figure import CLEAR, PlotlyJson, agreement_figure, dots, drawn, figure, lines, segments
from clueline.dashboard.ui.html import items_query, note
from clueline.dashboard.ui.runs import RunStyle
from clueline.dashboard.ui.table import Cell, Columns, PageColumn, columns_by, html_table, interval, second_note
from clueline.dashboard.ui.text import CURVE_LABELS, CURVE_NAMES, brackets, distinct_short_names, enumerated, short
from clueline.dashboard.views.leaderboard.view import AGREEMENT, RELEASE_DATES
from clueline.data.plurals import counted
from clueline.queries.engine.equivalence import Equivalence
from clueline.queries.engine.ranked_metric_rows import ValuePair
from clueline.queries.leaderboard import Leaderboard, LeaderboardRow
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.rankings import DatedRun, ReleaseDates, rank_correlations
from clueline.queries.selection.parameter_kinds import format_number
from clueline.queries.which_h import WhichH

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
        "Bars below the values are their 95 % intervals. Runs that share a letter are not shown to differ (",
        html.Span(
            "adjusted p ≥ 0.05",
            title=f"Adjusted for all pairs of runs and, except by {primary.name}, for all "
            f"{counted(board.other_metrics, 'other metric')}",
        ),
        "). ",
    ]
    if best:
        parts += [f"May be best by {primary.name}: ", html.Span(_named(best, names), title=ALL_OF_THEM), ". "]
    if board.contradictions:
        turned = [f"{counted(pairs, 'pair')} by {CATALOGUE[key].name}" for key, pairs in board.contradictions.items()]
        parts.append(f"In the other order on what both runs answered: {enumerated(turned, MAX_NAMED, ', ')}. ")
    if compared and margin is not None:
        parts.append(f"{_within_margin(compared, names, margin)} ")
    return note([*parts, baselines])


def _within_margin(compared: Sequence[tuple[LeaderboardRow, Equivalence]], names: Mapping[str, str], margin: float) -> str:
    verdicts: dict[str, list[LeaderboardRow]] = {}
    for board_row, equivalence in compared:
        verdicts.setdefault(equivalence.verdict or f"undefined, because {equivalence.undefined}", []).append(board_row)
    parts = [f"{verdict}: {_named(rows, names)}" for verdict, rows in verdicts.items()]
    first = names[compared[0][1].against]
    return f"Compared with {first} by the primary metric, with a margin of {format_number(margin)}: {'; '.join(parts)}."


def _named(rows: Sequence[LeaderboardRow], names: Mapping[str, str]) -> str:
    return enumerated([names[row.run] for row in rows], MAX_NAMED)


ACCURACY_AND_CONFIDENCE = (CATALOGUE["accuracy_scored"], CATALOGUE["mean_confidence"])


def confidence_gap(board: Leaderboard, style: RunStyle) -> html.Figure:
    """Return the figure and its table, the most overconfident run first. The board needs ``ACCURACY_AND_CONFIDENCE``."""
    rows = [row for row in board.rows if row.metrics["accuracy_scored"].value is not None]
    rows.sort(key=_confidence_above_accuracy, reverse=True)
    return figure(
        "gap",
        gap_figure(rows, style),
        "Confidence against accuracy, the most overconfident run first. Thin lines: 95 % intervals",
        metrics_table(rows, ACCURACY_AND_CONFIDENCE, "Confidence and accuracy", style),
    )


def _confidence_above_accuracy(row: LeaderboardRow) -> float:
    accuracy, confidence = (row.metrics[metric.key].value or 0.0 for metric in ACCURACY_AND_CONFIDENCE)
    return confidence - accuracy


def metrics_table(rows: Sequence[LeaderboardRow], metrics: Sequence[Metric], label: str, style: RunStyle) -> html.Div:
    """Return the values of some metrics with their intervals, a row per run."""
    columns = [
        column
        for metric in metrics
        for column in (
            PageColumn(metric.name, partial(_part, metric.key, "value")),
            PageColumn(f"{metric.name}, 95 % interval", partial(_interval, metric.key), number=True),
        )
    ]
    return html_table([style.column(), *columns], rows, label)


def _interval(key: str, run: LeaderboardRow) -> str | None:
    return brackets(run.metrics[key].low, run.metrics[key].high) or None


def _part(key: str, part: str, run: LeaderboardRow) -> float | None:
    return getattr(run.metrics[key], part)  # type: ignore[no-any-return]


def rank_agreement(board: Leaderboard, ranked: Sequence[Metric], link: str) -> html.Figure:
    """Return Kendall's tau-b between the rankings by each metric, as a figure and a table."""
    # The page already has the values that /api/v1/agreement would read.
    values = {metric.key: np.array([run.metrics[metric.key].value for run in board.rows], dtype=float) for metric in ranked}
    agreed = rank_correlations(ranked, values)
    return figure(
        "agreement",
        agreement_figure(agreed, ranked, link),
        "Kendall's tau-b between rankings: 1 is the same order, −1 the opposite",
        html_table(
            [PageColumn("Metric", "a"), PageColumn("Metric", "b"), PageColumn("tau-b", "tau"), "runs"],
            agreed,
            "Agreement of rankings",
            declared=AGREEMENT.tables[0],
        ),
    )


MIN_DATES = 2  # fewer dates make no figure


def release_dates_section(result: ReleaseDates, metric: Metric, style: RunStyle) -> html.Section | None:
    """Return the metric of each run at the release date of its model; None with fewer than two dates."""
    runs = [run for run in result.runs if run.value is not None]
    if len({run.day for run in runs}) < MIN_DATES:
        return None
    columns: Columns = [
        style.column(),
        "released",
        PageColumn(metric.name, "value"),
        interval(),
        PageColumn("Best so far", "best_so_far", lambda best: "yes" if best else ""),
    ]
    left_out = [f"{counted(result.undated, 'run has', 'runs have')} no tag “released”"] if result.undated else []
    left_out += [f"{style.names[run]} has “{text}”, which is not a date" for run, text in result.unreadable.items()]
    return html.Section(
        [
            html.H2("By release date"),
            figure(
                "release-dates",
                release_dates_figure(runs, metric, style),
                f"{metric.name} of each run at the release date of its model, with its 95 % interval"
                + (". The line is the best so far" if metric.ranks else ""),
                html_table(columns, runs, f"{metric.name} by release date", declared=RELEASE_DATES.tables[0]),
                style.legend([run.run for run in runs]),
            ),
            note(f"Left out: {'; '.join(left_out)}. See docs/importing.md.") if left_out else None,
        ],
        id="release-dates",
    )


ROW, MORE = 20, 14  # pixels per run or rank, and for each further line of the longest name
LINE = 28  # characters of a name on one line
MAX_NAME_LENGTH = 60  # characters of a name
MAX_SPACED_RUNS = 16  # with more runs, each name has one line, as close as lines of text
DENSE_ROW = 14  # pixels per run in that case


def gap_figure(rows: Sequence[LeaderboardRow], style: RunStyle) -> PlotlyJson:
    """Draw a dumbbell per run: a filled dot at its accuracy, a ring at its mean confidence, each with its interval.

    The rows need ``accuracy_scored`` and ``mean_confidence``, which are of the same answers.
    """
    dense = len(rows) > MAX_SPACED_RUNS
    texts = distinct_short_names([style.names[row.run] for row in rows], LINE if dense else MAX_NAME_LENGTH)
    labels = [fig.plain(text) if dense else _lines(text) for text in texts]
    breaks = max((label.count("<br>") for label in labels), default=0)
    pairs = [ValuePair.from_cells(row.metrics, *ACCURACY_AND_CONFIDENCE) for row in rows]
    accuracy, confidence = [pair.first for pair in pairs], [pair.second for pair in pairs]
    shades = [style.colour(row.run) for row in rows]
    places = [*range(len(rows))]

    def marks(metric: Metric, name: str, colour: object, mark: PlotlyJson, moved: float) -> list[PlotlyJson]:
        cells = [row.metrics[metric.key] for row in rows]
        drawn_at = [place + moved for place in places]
        ends = ((at, cell.low, cell.high) for at, cell in zip(drawn_at, cells, strict=True))
        hover = [[style.plain(row.run), brackets(cell.low, cell.high)] for row, cell in zip(rows, cells, strict=True)]
        return [
            segments(ends, 1, fig.MUTED),
            dots(
                [cell.value for cell in cells], places, f"%{{customdata[0]}}<br>{name.lower()} %{{x:.3f}} %{{customdata[1]}}",
                colour, 11, mark, name=name, customdata=hover, cliponaxis=False,
                meta={"items": [items_query(focus=row.run) for row in rows]},
            ),
        ]  # fmt: skip

    rings = {"line": {"color": shades, "width": 2.5}}
    data = [
        segments(zip(places, accuracy, confidence, strict=True), 3),
        *marks(ACCURACY_AND_CONFIDENCE[0], "Accuracy", shades, {}, BESIDE),
        *marks(ACCURACY_AND_CONFIDENCE[1], "Mean confidence", CLEAR, rings, -BESIDE),
    ]
    return drawn(
        data,
        (DENSE_ROW if dense else ROW + MORE * breaks) * len(rows) + 64,
        fig.axis("● accuracy  ○ confidence", range=[0, 1], dtick=0.2),
        fig.row_axis(labels, tickfont={"size": 10.5 if dense else 12, "color": fig.INK}),
    )


BESIDE = 0.18  # rows between a mark and its interval, so that those of accuracy and confidence can be told apart


def _lines(name: str) -> str:
    """A name wrapped into lines, so that the figure has room on a small screen; long words are not broken."""
    lines = textwrap.wrap(name, LINE, break_long_words=False, break_on_hyphens=False)
    return " <br>".join(fig.plain(line) for line in lines) or fig.plain(name)  # the space before each break keeps words separate


def metric_figure(board: Leaderboard, metric: Metric, style: RunStyle) -> PlotlyJson:
    """Draw a dot per ranked run with its 95 % interval, in the order of the board's rows. The board needs intervals."""
    rows = [(row.run, row.metrics[metric.key]) for row in board.rows if row.ranked and row.metrics[metric.key].value is not None]
    cells = [(cell.value, cell.low, cell.high) for _, cell in rows]
    runs = [run for run, _ in rows]
    items = [items_query(focus=run) for run in runs]
    return fig.interval_rows([style.names[run] for run in runs], cells, metric.name, list(map(style.colour, runs)), items)


MAX_HEIGHT = 440  # pixels


def rankings(board: Leaderboard, metrics: Sequence[Metric], style: RunStyle) -> html.Figure:
    """Return the rank of each run by each metric, as dots and as a table. Runs are in the order of the board.

    A line through the dots of a run appears while it is pointed at. The board needs intervals.
    """
    height = max(260, min(ROW * len(board.rows) + 100, MAX_HEIGHT))
    places = [*range(len(metrics))]

    def trace(row: LeaderboardRow) -> PlotlyJson:
        cells, colour = [row.metrics[metric.key] for metric in metrics], style.colour(row.run)
        named = zip(metrics, cells, strict=True)
        values = ["" if cell.value is None else f"{metric.name} = {cell.value:.3f}" for metric, cell in named]
        ranks = [brackets(cell.rank_low, cell.rank_high, "{:.3g}".format) for cell in cells]
        return style.trace(
            row.run, places, [cell.rank for cell in cells], "%{customdata[0]}<br>rank %{y:.1~f} %{customdata[1]}",
            mode="lines+markers", connectgaps=True, line={"color": colour, "width": 0}, cliponaxis=False,
            marker={"size": 11 if row.run in style.colours else 5, "color": colour},
            customdata=[list(pair) for pair in zip(values, ranks, strict=True)],
        )  # fmt: skip

    by_metric = fig.axis(
        tickvals=places, ticktext=[fig.plain(metric.label).replace(" ", "<br>", 1) for metric in metrics], gridwidth=1,
        tickfont={"size": 11, "color": fig.INK}, range=[-0.4, len(metrics) - 0.6],
        autotickangles=[0, -30, -90],  # to the left, where there is room for the last label
    )  # fmt: skip
    by_rank = {"range": [len(board.rows) + 0.6, 0.4], "dtick": 1 if len(board.rows) <= 12 else 5, "tick0": 0, "showgrid": False}
    ranks = [
        PageColumn(metric.label, partial(_part, metric.key, "rank"), lambda rank: short(rank, 1), number=True)
        for metric in metrics
    ]
    return figure(
        "ranks",
        drawn([trace(row) for row in style.grey_first(board.rows)], height, by_metric, fig.axis("rank", **by_rank)),
        "Rank by each metric, best on top. Point at a dot to follow its run",
        html_table([style.column(), *ranks], board.rows, "Ranks"),
    )


def which_h_section(result: WhichH, names: Mapping[str, str]) -> html.Div:
    """Return CalScore of each ranked run by each human curve, with the ranks, and which runs are first by each."""
    cells = {(cell.run, cell.curve): cell for cell in result.cells}

    def by_curve(curve: str, run: str) -> Cell:
        cell = cells[run, curve]
        rank = html.Span(f" {short(cell.rank, 1).removesuffix('.0')}", className="rank") if cell.rank else None
        second = second_note(cell.second.get("value"), questions=cell.second.get("questions"))
        return Cell([short(cell.value), rank, second], cell.missing)

    headings = {
        curve: html.Span(f"{CURVE_LABELS[curve]}{' (used)' if curve == result.used else ''}", title=CURVE_NAMES[curve])
        for curve in result.first
    }
    runs = list(dict.fromkeys(cell.run for cell in result.cells))
    columns = [PageColumn("Run", lambda run: names[run]), *columns_by(headings, by_curve)]
    return html.Div([note(which_h_words(result, names)), html_table(columns, runs, "CalScore by each h", "board which-h")])


def which_h_words(result: WhichH, names: Mapping[str, str]) -> str:
    """Say whether the choice of h decides which run is first, or the order of the others."""
    if result.same_order is None:
        return "With fewer than two runs there is no ranking."
    if result.same_order:
        return "All four human curves rank the runs alike."
    curves: dict[tuple[str, ...], list[str]] = {}
    for curve, first in result.first.items():
        curves.setdefault(tuple(first), []).append(CURVE_LABELS[curve])
    if len(curves) == 1:
        return "The first run is the same by all four human curves, but the order of the others is not."
    leaders = [f"{enumerated([names[run] for run in first], 3)} by {enumerated(by, 4)}" for first, by in curves.items()]
    return f"The choice of h decides which run is first: {'; '.join(leaders)}."


HEIGHT = 340  # pixels
ROOM = 0.08  # space before the first date, as a share of the span of dates; after the last there is three times as much


def release_dates_figure(runs: list[DatedRun], metric: Metric, style: RunStyle) -> PlotlyJson:
    """Draw a dot per run at its date, with its interval, and a stepped line through the best so far. Each run needs a value."""
    by_id = {run.run: run for run in runs}
    labels = style.labels([run for run in by_id if run in style.colours])
    data: list[PlotlyJson] = []
    best = [run for run in runs if run.best_so_far]
    if best:
        days, values = [*(run.day for run in best), runs[-1].day], [*(run.value for run in best), best[-1].value]
        data.append(lines(days, values, line={"color": fig.FAINT, "width": 2, "shape": "hv"}, name="Best so far"))
    for run in style.grey_first(runs):
        colour = style.colour(run.run)
        shown = {"thickness": 1.5, "width": 3, "visible": run.low is not None}
        data.append(dots(
            [run.day], [run.value], "%{fullData.name}<br>%{customdata}: %{y:.3f}", colour, 9, meta=run.run,
            name=style.plain(run.run), showlegend=run.run in style.colours, cliponaxis=False, customdata=[run.released],
            error_y=fig.whiskers([run.value], [run.low], [run.high], colour, **shown),
        ))  # fmt: skip
    ends = [value for run in runs for value in (run.value, run.low, run.high)]
    # They have the same name as the labels of lines, so that a narrow screen leaves them out too.
    annotations = [
        {
            "name": "end-label", "x": by_id[run].day, "y": by_id[run].value, "text": label, "showarrow": False,
            "xanchor": "left", "xshift": 8, "font": {"size": 11, "color": fig.INK},
        }
        for run, label in labels.items()
    ]  # fmt: skip
    dates = fig.axis("release date", type="date", range=_range(runs), tickfont={"size": 11, "color": fig.MUTED})
    return drawn(data, HEIGHT, dates, fig.axis(fig.plain(metric.name), range=fig.padded(ends)), annotations=annotations)


def _range(runs: list[DatedRun]) -> list[str]:
    """The range of the date axis, with more room at the end for the names."""
    first, last = (date.fromisoformat(run.day) for run in (runs[0], runs[-1]))
    span = max((last - first).days, 60)
    return [(first - timedelta(ROOM * span)).isoformat(), (last + timedelta(3 * ROOM * span)).isoformat()]
