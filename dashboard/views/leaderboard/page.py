"""The leaderboard: its finding first, then metrics side by side, run by run, and how their rankings agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.http.paths import question_path, run_path
from clueline.dashboard.registry.keys import Margin, default_columns, lead_columns, metric_names
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.views import CONVENTION_KEYS, Cited, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import difference_menu, filter_keys, several
from clueline.dashboard.ui.figure import figure
from clueline.dashboard.ui.html import controls, data, folded, heading, note, page_link, side_by_side
from clueline.dashboard.ui.messages import nothing_selected
from clueline.dashboard.ui.published_values import printed_metrics, published_menu, published_note
from clueline.dashboard.ui.quizbowl import draw_text
from clueline.dashboard.ui.runs import RunStyle, highlighted_runs, run_style
from clueline.dashboard.ui.text import CURVE_NAMES, brackets, percent, short
from clueline.dashboard.views.leaderboard import sections
from clueline.dashboard.views.leaderboard.table import NAMES, board_table, not_shown, sorted_rows
from clueline.dashboard.views.leaderboard.view import AGREEMENT, LEADERBOARD, WHICH_H, cited_leaderboard
from clueline.dashboard.views.question.figures import clues_figure, confidence_table
from clueline.data.plurals import counted
from clueline.queries.engine.primary_metric import primary_of
from clueline.queries.engine.ranked_metric_rows import ValuePair
from clueline.queries.findings import EarlyMistake, Finding, finding_on, findings, told_metric
from clueline.queries.leaderboard import Leaderboard, LeaderboardRow, leaderboard
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.published_values import published
from clueline.queries.question import question as question_query
from clueline.queries.rankings import TAG, release_dates
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import Choice, Flag, Kind, MetricList, allowed
from clueline.queries.selection.view_parameters_base import NoParameters, named_key

FINDINGS = serve(
    "finding",
    findings,
    NoParameters,
    """What the leaderboard says first: the surest early mistake where people played; with votes, who is more certain than
        people; of forecasts, the best and the worst calibration; else the largest gap between confidence and accuracy. `shown`
        says whether a test supports it.""",
    unused=(*CONVENTION_KEYS, "failed", "undisputed", "primary"),
)
OVERCONFIDENCE = "overconfidence"
MAX_MEANING = 80  # characters of the sentence in the heading; a longer one is in the column's tooltip
STORY_HEIGHT = 220  # pixels


def finding_section(
    finding: Finding | None, board: Leaderboard, style: RunStyle, request: PageRequest[Any]
) -> html.Section | None:
    """Return the finding; None where there is none. The board needs its metric, accuracy and confidence, with intervals."""
    if finding is None:
        return None
    if finding.mistake is not None:
        return _early_mistake(finding.mistake, request)
    rows = {row.run: row for row in board.rows}
    if finding.run not in rows:
        return None
    metric = CATALOGUE[finding.metric or OVERCONFIDENCE]
    title, about = _gap(finding, rows, style.names) if finding.about == "gap" else _spread(finding, rows, style.names)
    if finding.metric == OVERCONFIDENCE:
        picture = sections.confidence_gap(board, style)
    else:
        worded = metric.worded(request.facets.forecasts)
        picture = figure(
            "finding",
            sections.metric_figure(board, worded, style),
            f"{worded.name} of each run, with 95 % intervals",
            sections.metrics_table(board.rows, [worded], worded.name, style),
        )
    upload = page_link("add your model", href=f"/upload?{urlencode({'dataset': request.selection.dataset})}")
    surest = ("See its surest wrong answers", request.link("/wrong", run=finding.run))
    title_of_link, target = ("See its reliability", request.link("/reliability")) if request.facets.forecasts else surest
    see = page_link(title_of_link, href=target, class_name="quiet")
    return _story(title, [note(about), html.P([see, " or ", upload, "."], className="next")], picture)


def _story(title: str, text: Sequence[Component | None], picture: html.Figure) -> html.Section:
    return html.Section([html.H2(title), html.Div(list(text)), picture], className="story")


def _gap(finding: Finding, rows: Mapping[str, LeaderboardRow], names: Mapping[str, str]) -> tuple[str, str]:
    """The sentence on the run that is farthest from 0, and how sure it is."""
    row, value = rows[finding.run], finding.value or 0.0
    questions = f" over {counted(row.metrics[finding.metric or OVERCONFIDENCE].questions, 'question')}"
    together = " for all runs together" if finding.runs > 1 else ""
    interval = "" if finding.low is None else f", 95 % interval{together} {brackets(finding.low, finding.high)}"
    chosen = f"the largest such gap of {counted(finding.runs, 'run')}" if finding.runs > 1 else "its only run"
    if finding.metric == OVERCONFIDENCE:
        pair = ValuePair.from_cells(row.metrics, *sections.ACCURACY_AND_CONFIDENCE)
        right, stated = (percent(share, 0) for share in (pair.first, pair.second))
        if finding.shown:
            kind = "overconfident" if value > 0 else "underconfident"
            return (
                f"{names[finding.run]} is {kind} by {_points(abs(value))} points {_interval_in_points(finding)}{questions}",
                f"It states {stated} and is right {right}: {chosen}. The 95 % interval holds{together or ' for it alone'}.",
            )
        return (
            "No run is shown to be over- or underconfident",
            f"The largest gap is that of {names[finding.run]}, which states {stated} and is right {right}{questions}{interval}.",
        )
    if finding.shown:
        more = "less" if value > 0 else "more"
        words = (
            f"Its entropy is {short(abs(value))} nats {'above' if value > 0 else 'below'} that of the votes{questions}{interval}"
            f": {chosen}."
        )
        return f"{names[finding.run]} is {more} certain than people are", words
    return (
        "No run is shown to be more or less certain than people are",
        f"The largest difference of entropy is {short(value)} nats, of {names[finding.run]}{questions}{interval}.",
    )


def _points(share: float | None) -> str:
    return short(None if share is None else 100 * share, 0)


def _interval_in_points(finding: Finding) -> str:
    """The interval of the size of an over- or underconfidence."""
    if finding.low is None or finding.high is None:
        return ""
    ends = (finding.low, finding.high) if (finding.value or 0.0) > 0 else (-finding.high, -finding.low)
    return brackets(*ends, _points)


def _spread(finding: Finding, rows: Mapping[str, LeaderboardRow], names: Mapping[str, str]) -> tuple[str, str]:
    """The sentence on the best and the worst run, and how sure it is."""
    key = finding.metric or ""
    best = finding.best or finding.run
    errors = f"Calibration errors of {short(rows[best].metrics[key].value)} and {short(finding.value)}"
    if finding.shown:
        return f"{names[best]} is calibrated best, {names[finding.run]} worst", f"{errors}, of {counted(finding.runs, 'run')}."
    return (
        f"{counted(finding.runs, 'run')} are not shown to differ in calibration",
        f"{errors}, of {names[best]} and {names[finding.run]}, could be chance.",
    )


def _early_mistake(mistake: EarlyMistake, request: PageRequest[Any]) -> html.Section:
    """The surest wrong guess before people knew, on its question with the cursor at the mistake."""
    # A question has its responses whatever filters there are, so its answer under another filter is the same.
    selection = request.selection.without_filters("questions").without_filters("clues")
    question = service().ask(question_query, selection, mistake.question_id, None, (), ())
    style = run_style(request.facets, question.runs, [mistake.run])
    path = f"{question_path(question.dataset, question.question_id)}?{urlencode({'clue': mistake.clue})}"
    sure = percent(mistake.confidence, 0)
    others = "every run is wrong" if mistake.wrong == mistake.runs else f"{mistake.wrong} of {mistake.runs} runs are wrong"
    upload = page_link("add your model", href=f"/upload?{urlencode({'dataset': question.dataset})}")
    heard = [part for clue in question.clues[: mistake.clue + 1] for part in (*draw_text(clue.text or ""), " ")]
    text = [
        html.Blockquote(heard),
        html.P(
            [
                f"After clue {mistake.clue + 1} of {mistake.clues}, {style.names[mistake.run]} answers ",
                html.Q(mistake.guess),
                f". {others[0].upper()}{others[1:]} here, and no human team has been right yet. By the end, "
                f"{mistake.right:,} of {counted(mistake.teams, 'team')} answered it.",
                f" Nobody stated where {mistake.unstated:,} of these plays ended." if mistake.unstated else "",
            ]
        ),
        html.P(
            [
                page_link("Walk through this question", href=path, class_name="quiet"),
                " ",
                page_link("All answers sure and wrong before people", href=request.link("/wrong"), class_name="quiet"),
                " or ",
                upload,
                ".",
            ],
            className="next",
        ),
    ]
    picture = figure(
        "early-mistake",
        clues_figure(question, style, mistake.clue, "team_share", STORY_HEIGHT),
        "● correct, × incorrect; heavy steps: " + CURVE_NAMES["team_share"],
        confidence_table(question, style.names, "team_share"),
        style.legend([mistake.run], "People" if question.human else ""),
    )
    return _story(f"{sure} sure, and wrong, before any of {counted(mistake.teams, 'team')} knew", text, picture)


# Scores of a run that always states confidence 0.
ZERO_CONFIDENCE_SCORES = {"calscore": "0.5", "calscore_weighted": "0.5", "grace_mce": "0.5", "net_score": "0"}
TABLES = tuple(table.key for table in published().tables)


@dataclass(frozen=True)
class RowOrder(Kind[str]):
    """A metric or a name, with a leading ``-`` for the reverse order."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        """See ``Kind``."""
        allowed(
            key, texts[0].removeprefix("-"), ["", *NAMES, *CATALOGUE], facets, "The leaderboard cannot be sorted by {value!r}."
        )
        return texts[0]


MAX_RUNS = 12  # with more in the table, the figure of ranks is folded away


class LeaderboardPage(PageParameters, frozen=True):
    """Columns, order, shading, and published figures."""

    sort: Annotated[
        str,
        RowOrder(
            "a metric, `model` or `elicitation`, with a leading `-` for the reverse order; by default the first column that ranks"
        ),
    ] = ""
    heat: Annotated[bool, Flag("`0`: better values are not shaded")] = True
    which_h: Annotated[bool, Flag("`1`: CalScore and its ranks by each human curve are shown")] = False
    published: Annotated[
        str, Choice("a table of published figures to show", TABLES, "There is no published table {value!r}.", blank=True)
    ] = ""
    metrics: Annotated[
        tuple[Metric, ...], MetricList("the columns; by default four, the primary metric first", dataset_default=lead_columns)
    ] = ()
    margin: Margin = None


def _table(request: PageRequest[LeaderboardPage]) -> Cited[Any]:
    """The table as papers cite it, in the order of the page."""
    metrics = request.parameters.metrics

    def ordered(rows: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
        first = (key for key in (metric.key for metric in metrics if metric.direction != "none") if rows and _has(rows, key))
        sort = request.parameters.sort or next(first, _primary(request).key)
        return [row for at in (True, False) for row in sorted_rows([row for row in rows if row.ranked == at], sort, metrics)]

    return replace(cited_leaderboard(metrics), order=ordered)


@page(
    "/", "Leaderboard", LeaderboardPage, name="leaderboard", place="Overview", order=1, table=_table,
    views=(LEADERBOARD, FINDINGS, AGREEMENT, WHICH_H),
    filters=(*filter_keys(), "people", "human", "binning", "t", "cluster", "failed", "grading", "primary"),
    common=True, lists_unranked=True,
)  # fmt: skip
def draw(request: PageRequest[LeaderboardPage]) -> Sequence[Component | None]:
    """Draw the finding, the table, what is missing from it, ranks across metrics, and their agreement."""
    chosen, sort, margin = request.parameters.metrics, request.parameters.sort, request.parameters.margin
    primary, few, many = _primary(request), lead_columns(request.facets), default_columns(request.facets)
    is_short = tuple(metric.key for metric in chosen) == few
    across = tuple(CATALOGUE[key].worded(request.facets.forecasts) for key in many) if is_short else chosen
    reference, heat = request.parameters.published, request.parameters.heat
    columns = tuple(dict.fromkeys((primary, *chosen))) if request.selection.primary else chosen
    if is_short and reference:  # the columns that the printed table has stand above it
        columns = tuple(dict.fromkeys((*chosen, *printed_metrics(reference))))
    told = told_metric(request.facets.kind)
    needed = (metric.worded(request.facets.forecasts) for metric in (*sections.ACCURACY_AND_CONFIDENCE, primary, told))
    shown_or_told = tuple(dict.fromkeys((*columns, *needed)))
    metrics = tuple(dict.fromkeys((*shown_or_told, *across)))  # of the others, only ranks are shown
    board = service().ask(leaderboard, request.selection, metrics, shown_or_told, margin)
    if not board.rows:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "Leaderboard")]
    # Without people, the finding is read from this board, so that nothing is computed twice.
    finding = FINDINGS.ask(request).finding if request.facets.human_teams else finding_on(board, request.facets.kind)
    told_gap = finding is not None and finding.metric == OVERCONFIDENCE  # then the finding has its figure
    shown = [metric for metric in columns if _has(board.rows, metric.key)]
    ranked = [metric for metric in across if metric.direction != "none" and _has(board.rows, metric.key)]
    sort = sort or next((metric.key for metric in shown if metric.direction != "none"), primary.key)
    by, dated = CATALOGUE.get(sort.removeprefix("-"), primary), named_key("tag", TAG) in request.facets.values
    focus = request.parameters.focus or (finding.run if finding else "")
    style = run_style(request.facets, board.rows, highlighted_runs(request, by, focus=focus))
    board.rows, unranked = (sorted_rows([row for row in board.rows if row.ranked == at], sort, metrics) for at in (True, False))
    crowded = len(board.rows) + len(unranked) > MAX_RUNS
    several_ranks = len(board.rows) > 1 and len(ranked) > 1
    pair = request.link("/", metrics="ID")  # the leaderboard by two metrics
    keys = [("metrics", ",".join(metric.key for metric in shown)), ("intervals", "1")]
    csv = service().access.address_of_view("/api/v1/leaderboard.csv", [*request.selection.pairs(), *keys])

    return [
        finding_section(finding, board, style, request),
        heading(
            "Leaderboard",
            f"{request.facets.title}: {counted(len(board.rows), 'run')} over {_questions(board, by)}{_meaning(sort, metrics)}",
            html.Button(
                f"All {len(many)} columns" if is_short else f"Only {len(few)} columns",
                className="quiet columns",
                **data(set=f"metrics={','.join(many) if is_short else ''}"),
            ),
        ),
        board_table(
            board,
            unranked,
            shown,
            request.selection,
            sort,
            style.colours,
            reference,
            heat,
            lambda run: request.link(run_path(run), dataset=None),
            {run for run, _ in request.facets.human_collections},
        ),
        html.Div(
            [
                sections.board_note(board, style.names, margin, _zero_confidence_scores(shown)),
                html.Button(
                    "Hide shading" if heat else "Show shading",
                    className="quiet",
                    title="Better values are shaded darker",
                    **data(set=f"heat={'0' if heat else ''}"),
                ),
                html.A("CSV", href=csv, className="quiet", title="This table with its intervals"),
            ],
            className="below",
        ),
        controls(
            several(
                "metrics",
                "Columns",
                metric_names(CATALOGUE.values(), request.facets),
                [metric.key for metric in chosen],
                "Default columns",
                default=few,
            ),
            difference_menu("margin", "Equal if they differ by less than", margin)
            if sum(row.ranked for row in board.rows) > 1
            else None,
            published_menu(reference),
        ),
        published_note(reference, shown, _link_to_common(request, board)),
        not_shown(board, [metric for metric in chosen if metric not in shown]) if board.rows else None,
        side_by_side(
            sections.rankings(board, ranked, style) if several_ranks and not crowded else None,
            sections.confidence_gap(board, style) if not (request.facets.forecasts or told_gap) else None,
            wide_left=True,
        ),
        folded("Ranks by each metric", sections.rankings(board, ranked, style)) if several_ranks and crowded else None,
        _which_h(request, style) if len(board.rows) > 1 and request.facets.has_teams else None,
        folded("Do the metrics rank the runs alike?", sections.rank_agreement(board, ranked, pair)) if several_ranks else None,
        sections.release_dates_section(service().ask(release_dates, request.selection, by), by, style) if dated else None,
    ]


def _which_h(request: PageRequest[LeaderboardPage], style: RunStyle) -> Component:
    """Return ranks of CalScore by each human curve, or a button for them: they take four more boards to compute."""
    title = "Which h decides the ranks of CalScore?"
    if not request.parameters.which_h:
        return html.Button(title, className="quiet", **data(set="which_h=1"))
    return folded(title, sections.which_h_section(WHICH_H.ask(request), style.names), unfolded=True)


def _link_to_common(request: PageRequest[LeaderboardPage], board: Leaderboard) -> Component | None:
    """Return a link to the board on the questions that all runs answered; None if it is that, or all answered the same."""
    every = {row.questions for row in board.rows} | {cell.questions for row in board.rows for cell in row.metrics.values()}
    if request.selection.common is not None or len(every - {0}) < 2:
        return None
    return page_link(
        "Measure these runs in the same way", href=request.link("/", common="1", published=request.parameters.published)
    )


def _questions(board: Leaderboard, metric: Metric) -> str:
    """The questions that the metric which orders the runs is over, such as "89 of 120 questions"."""
    questions = board.questions if board.common is None else board.common
    cells = [cell for row in board.rows if (cell := row.metrics.get(metric.key))]
    counts = {cell.questions for cell in cells if cell.value is not None}
    if len(counts) != 1 or max(counts) >= questions:
        return counted(questions, "question")
    return f"{counts.pop():,} of {counted(questions, 'question')}"


def _primary(request: PageRequest[LeaderboardPage]) -> Metric:
    return primary_of(request.selection, request.facets)


def _has(rows: Sequence[LeaderboardRow], key: str) -> bool:
    return any(row.metrics[key].value is not None for row in rows)


def _meaning(sort: str, metrics: Sequence[Metric]) -> str:
    """What the metric that sorts the runs says."""
    metric = next((metric for metric in metrics if metric.key == sort.removeprefix("-")), None)
    if metric is None:
        return ""
    sentence = metric.words.partition(". ")[0].rstrip(".")
    if sentence[1:2].islower():  # no acronym, such as ECE
        sentence = sentence[0].lower() + sentence[1:]
    return f", by {metric.name}{f': {sentence}' if len(sentence) <= MAX_MEANING else ''}"


def _zero_confidence_scores(shown: Sequence[Metric]) -> str:
    """The score of a run that never commits itself: a baseline for metrics that penalise bad guesses."""
    scores = [f"{score} in {metric.name}" for metric in shown if (score := ZERO_CONFIDENCE_SCORES.get(metric.key))]
    return f"A run that always states confidence 0 scores {' and '.join(scores)}, whatever it answers." if scores else ""
