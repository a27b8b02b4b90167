"""One run: where it came from, its metrics and ranks, its reliability, and its worst questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from textwrap import shorten

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.http.paths import address, run_path
from clueline.dashboard.registry.composed import question_list
from clueline.dashboard.registry.keys import DEFAULT_METRICS, default_metric
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import filter_keys
from clueline.dashboard.ui.html import heading, page_link, section, side_by_side
from clueline.dashboard.ui.messages import disputed_mark, nothing_selected, withdrawn_banner
from clueline.dashboard.ui.quizbowl import question_column, without_markup
from clueline.dashboard.ui.runs import run_style
from clueline.dashboard.ui.table import Cell, Content, PageColumn, html_table, over_note, second_note
from clueline.dashboard.ui.text import brackets, short
from clueline.dashboard.views.leaderboard.view import LEADERBOARD, cited_leaderboard
from clueline.dashboard.views.metrics import BEST
from clueline.dashboard.views.questions.page import QUESTIONS
from clueline.dashboard.views.reliability.page import RELIABILITY, reliability_diagrams
from clueline.dashboard.views.runs import provenance
from clueline.data.plurals import counted
from clueline.data.store.run_tags import LABEL
from clueline.queries.engine.ranked_metric_rows import MetricCell
from clueline.queries.engine.reliability_diagrams import DEFAULT_BAND
from clueline.queries.leaderboard import LeaderboardRow, leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Metric
from clueline.queries.questions import QuestionRow
from clueline.queries.reliability import reliability
from clueline.queries.runs import RunFacts
from clueline.queries.runs import run as run_query


def metrics_and_ranks_table(row: LeaderboardRow, metrics: Sequence[Metric], ranked: int) -> html.Section:
    """Return a row per metric that the run has: value, interval, rank.

    The row needs intervals; ``ranked`` is the number of ranked runs.
    """
    rows = [(metric, row.metrics[metric.key]) for metric in metrics if row.metrics[metric.key].value is not None]

    def interval(pair: tuple[Metric, MetricCell]) -> Cell:
        cell = pair[1]
        return Cell(
            brackets(cell.low, cell.high) or None, f"No interval, because {cell.no_interval}" if cell.no_interval else None
        )

    def value(pair: tuple[Metric, MetricCell]) -> Cell:
        cell = pair[1]
        second = second_note(cell.second.get("value"), questions=cell.second.get("questions"))
        return Cell([short(cell.value), over_note(cell.questions, row.questions), second])

    def place(pair: tuple[Metric, MetricCell]) -> Cell:
        """A mark for where a rank lies between the first and the last."""
        rank = pair[1].rank
        at = None if rank is None or ranked < 2 else f"{100 * (rank - 1) / (ranked - 1):.0f}%"
        return Cell("" if at is None else html.Span(className="standing", style={"--at": at}), kind="place")

    columns = [
        PageColumn("Metric", lambda pair: Cell(page_link(pair[0].name, href=f"/metrics#{pair[0].key}"), pair[0].words)),
        PageColumn("Value", value, number=True),
        PageColumn("95 % interval", interval, number=True),
        PageColumn("Better", lambda pair: BEST[pair[0].direction]),
        PageColumn("Place", place),
        PageColumn("Rank", lambda pair: pair[1].rank, lambda rank: f"{round(rank, 1):g} of {ranked}", number=True),
        PageColumn(
            "95 % of replicates",
            lambda pair: brackets(pair[1].rank_low, pair[1].rank_high, lambda rank: f"{round(rank, 1):g}"),
            number=True,
        ),
    ]
    return section(
        "Metrics and ranks",
        "Place: the dot is on the left for the best run, on the right for the last."
        if row.ranked
        else "Not ranked: the run answered too few of the questions.",
        html_table(columns, rows, "Metrics of the run"),
    )


SNIPPET = 110  # characters of a question


def worst_questions(
    questions: Sequence[QuestionRow], metric: Metric, run: str, link: Callable[[str], str], *, quizbowl: bool
) -> html.Section | None:
    """Return a row per question, in the order of ``questions``; None if there are none."""
    plain = without_markup if quizbowl else str
    answered = [question for question in questions if question.runs.get(run, {}).get(metric.key) is not None]
    if not answered:
        return None

    def value(question: QuestionRow) -> Content:
        return [short(question.runs[run][metric.key]), disputed_mark() if run in question.disputed else None]

    columns = [
        question_column(link, quizbowl),
        PageColumn("Text", lambda question: Cell(shorten(plain(question.text or ""), SNIPPET, placeholder="…"), kind="guess")),
        PageColumn("Category", lambda question: question.category or ""),
        PageColumn("Difficulty", "difficulty", lambda value: short(value, 2), number=True),
        PageColumn(metric.label, value, number=True),
    ]
    title = f"Worst questions by {metric.name}"
    return section(title, html_table(columns, answered, "Worst questions"), class_name="section worst")


WORST = 12  # questions that are listed
# Metrics over sorted pairs are left out: their intervals take as long as those of all others together.
QUICK = {metric.key: metric for metric in METRICS if metric.direction != "none" and metric.pairs is None}
SHOWN = tuple(QUICK[key] for key in dict.fromkeys([*DEFAULT_METRICS, *QUICK]) if key in QUICK)  # the usual ones first


def _facts(request: PageRequest[PageParameters]) -> RunFacts:
    """Provenance of the run that the path names. Raise ``BadRequest`` if there is none."""
    return service().ask(run_query, request.item or "")


@page(
    "/runs", "Run", PageParameters, name="run", place="Data", table=lambda request: cited_leaderboard(SHOWN), check=_facts,
    views=(LEADERBOARD, RELIABILITY, QUESTIONS),
    filters=(*filter_keys("questions", "clues"), "people", "human", "binning", "t", "cluster", "failed", "grading", "undisputed"),
)  # fmt: skip
def draw(request: PageRequest[PageParameters]) -> Sequence[Component | None]:
    """Draw the run's provenance, its metrics and ranks, its reliability diagram and its worst questions."""
    facts = _facts(request)
    everyone = request.selection.without_filters("runs")
    if facts.run in request.facets.superseded:  # it is among the others where every night counts
        everyone = everyone.replace(nights=True)
    alone = everyone.on_runs((facts.run,))
    board = service().ask(leaderboard, alone if facts.withdrawn_at else everyone, SHOWN, True)
    row = next((row for row in board.rows if row.run == facts.run), None)
    heading = _heading(request, facts)
    if row is None:
        return [*heading, provenance(facts), nothing_selected(run_path(facts.run), request.selection, "answers", request.facets)]
    style = run_style(request.facets, [row], [facts.run])
    diagram = service().ask(reliability, alone, DEFAULT_BAND).runs
    ranked = sum(other.ranked for other in board.rows)
    metric = CATALOGUE[default_metric(request.facets)]
    shown = tuple(metric.worded(request.facets.forecasts) for metric in SHOWN)
    better = "" if metric.direction == "higher" else "-"
    page = question_list(alone, (metric,), f"{better}{metric.key}:{facts.run}", limit=WORST)

    link = partial(request.question_link, pin=[facts.run], sort=f"{better}{metric.key}:{facts.run}")
    return [
        *heading,
        provenance(facts),
        side_by_side(
            metrics_and_ranks_table(row, shown, ranked),
            reliability_diagrams(diagram, style, {}, None, DEFAULT_BAND, forecasts=request.facets.forecasts) if diagram else None,
            wide_left=True,
        ),
        worst_questions(page.questions, metric, facts.run, link, quizbowl=request.facets.quizbowl),
    ]


def _heading(request: PageRequest[PageParameters], facts: RunFacts) -> list[Component | None]:
    filters = [pair for pair in request.selection.without_filters("runs").pairs() if pair[0] != "dataset"]
    dataset = ("dataset", facts.dataset)
    links = [
        page_link("Reliability", href=address("/reliability", [dataset, *filters, ("run", facts.run)])),
        page_link("Compare", href=address("/compare", [dataset, *filters, ("a", facts.run)])),
        page_link("Questions", href=address("/questions", [dataset, *filters, ("run", facts.run)])),
        page_link("Grades", href=address("/gradings", [dataset, *filters, ("graded_run", facts.run)])),
    ]
    return [
        withdrawn_banner(facts) if facts.withdrawn_at else None,
        heading(
            " · ".join([facts.model, *([facts.tags[LABEL]] if LABEL in facts.tags else [])]),
            f"Confidence: {facts.elicitation}. {counted(facts.items, 'answer')} to {counted(facts.questions, 'question')} "
            f"of {request.facets.title}. How good it is, how it ranks, and what it gets most wrong.",
            html.P(links, className="links"),
            crumbs=page_link(f"{request.facets.title} leaderboard", href=address("/", [dataset, *filters])),
        ),
    ]
