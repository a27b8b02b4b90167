"""The finding that the leaderboard begins with: one sentence, one picture that proves it, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from dashboard.http.paths import question_path
from dashboard.registry.pages import PageRequest
from dashboard.registry.views import serve
from dashboard.service import service
from dashboard.ui.figure import figure
from dashboard.ui.html import page_link
from dashboard.ui.quizbowl import draw_text
from dashboard.ui.runs import RunStyle, run_style
from dashboard.ui.section import note
from dashboard.ui.text import CURVE_NAMES, percent, short
from dashboard.views.leaderboard.sections import confidence_gap, metric_figure, metrics_table
from dashboard.views.question.figures import clues_figure, confidence_table
from data.plurals import counted
from queries.findings import EarlyMistake, Finding, findings
from queries.leaderboard import Leaderboard, LeaderboardRow
from queries.metrics import CATALOGUE
from queries.question import question as question_query
from queries.selection.view_parameters_base import NoParameters

FINDINGS = serve(
    "finding",
    findings,
    NoParameters,
    """What the leaderboard says first: the surest early mistake where people played; with votes, who is more certain than
        people; of forecasts, the best and the worst calibration; else the largest gap between confidence and accuracy. `shown`
        says whether a test supports it.""",
)
OVERCONFIDENCE = "overconfidence"
STORY_HEIGHT = 280  # pixels


def draws_gap(finding: Finding | None) -> bool:
    """Return whether the picture of a finding is confidence against accuracy."""
    return finding is not None and finding.metric == OVERCONFIDENCE


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
    if draws_gap(finding):
        picture = confidence_gap(board, style)
    else:
        worded = metric.worded(request.facets.forecasts)
        picture = figure(
            "finding",
            metric_figure(board, worded, style),
            f"{worded.name} of each run, with 95 % intervals",
            metrics_table(board, [worded], worded.name, style),
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
    interval = "" if finding.low is None else f", 95 % interval {short(finding.low)} to {short(finding.high)}"
    chosen = f"the largest such gap of {counted(finding.runs, 'run')}" if finding.runs > 1 else "its only run"
    if finding.metric == OVERCONFIDENCE:
        stated, right = (percent(row.metrics[key].value, 0) for key in ("mean_confidence", "accuracy"))
        if finding.shown:
            return (
                f"{names[finding.run]} states {stated} and is right {right}",
                f"A gap of {short(value)}{interval}: {chosen}. More than 0 is overconfidence, less is underconfidence.",
            )
        return (
            "No run is shown to be over- or underconfident",
            f"The largest gap is that of {names[finding.run]}, which states {stated} and is right {right}{interval}.",
        )
    if finding.shown:
        more = "less" if value > 0 else "more"
        words = (
            f"Its entropy is {short(abs(value))} nats {'above' if value > 0 else 'below'} that of the votes{interval}: {chosen}."
        )
        return f"{names[finding.run]} is {more} certain than people are", words
    return (
        "No run is shown to be more or less certain than people are",
        f"The largest difference of entropy is {short(value)} nats, of {names[finding.run]}{interval}.",
    )


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
    sure, known = percent(mistake.confidence, 0), percent(mistake.known, 0)
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
                f"{known} of the teams answered it; the steps allow for those whom another team forestalled.",
            ]
        ),
        html.P([page_link("Walk through this question", href=path, class_name="quiet"), " or ", upload, "."], className="next"),
    ]
    picture = figure(
        "early-mistake",
        clues_figure(question, style, mistake.clue, STORY_HEIGHT),
        "Confidence clue by clue: ● correct, × incorrect; heavy steps: " + CURVE_NAMES[question.drawn_curve],
        confidence_table(question, style.names),
        style.legend([mistake.run], "People" if question.human else ""),
    )
    return _story(f"{sure} sure, and wrong, before anybody knew", text, picture)
