"""Runs graded by a judge that errs: what a reviewed random sample says about means over all answers."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.html_attributes import data
from dashboard.components.links import page_link
from dashboard.components.numbers import short
from dashboard.components.table import row, table
from data.plurals import counted
from queries.metrics import CATALOGUE
from queries.reviewed_samples import MeanEstimate, ReviewedRun, ReviewedRuns, ReviewSample

MAX_NAMED = 3  # runs that the notice above a page names
NOTE = (
    "Estimated from all answers, graded by the judge, and the drawn ones, graded by a person (prediction-powered inference). "
    "Corrections of other answers count only for themselves."
)


def judge_notice(result: ReviewedRuns, link: str) -> html.Aside | None:
    """Say which runs are graded by a judge that errs, and by how much; None if no sample is reviewed.

    Args:
        result: the runs of the page's selection.
        link: address of the page of gradings.
    """
    runs = [run for run in result.runs if run.means]
    if not runs:
        return None
    parts = [
        f"{run.model} · {run.elicitation} is graded by a judge that {_error(run)}: {_estimate('accuracy', run.means['accuracy'])}"
        for run in runs
    ]
    more = f"; and {len(parts) - MAX_NAMED} more runs" if len(parts) > MAX_NAMED else ""
    text = f"{'; '.join(parts[:MAX_NAMED])}{more}. Other values on this page are by the grading in force. "
    return html.Aside(
        html.Div([html.Strong("Judges err. "), text, page_link("All estimates", href=link)]),
        className="banner",
        role="note",
    )


def review_section(sample: ReviewSample, run: ReviewedRun | None, waiting: str) -> list[Component]:
    """Return what is known from a random sample of a run's answers: how far its review is, and the estimates.

    Args:
        sample: the answers drawn.
        run: the estimates; None without a sample.
        waiting: address of the list of answers that wait for review.
    """
    if run is None or sample.questions is None or sample.at is None:
        return []
    drawn = (
        f"{counted(sample.size, 'answer')} of {counted(sample.questions, 'question')} drawn at random for review by {sample.by}, "
        f"{sample.at[:10]} {sample.at[11:16]} UTC, with seed {sample.seed}; {sample.reviewed:,} reviewed. "
    )
    left = sample.size - sample.reviewed
    links: Sequence[Component] = [page_link(f"Review {left:,} more", href=waiting)] if left else []
    parts: list[Component] = [html.P([drawn, *links], className="note")]
    if run.missing:
        return [*parts, html.P(f"No estimates yet: {run.missing}.", className="note")]
    rows = [
        row(CATALOGUE[key].name, short(mean.judged), short(mean.value), f"{short(mean.low)} to {short(mean.high)}")
        for key, mean in run.means.items()
    ]
    head = ["Metric", "By the judge alone", "Estimate", "95 % interval"]
    return [
        *parts,
        html.P([html.Strong(f"Graded by a judge that {_error(run)}. "), NOTE], className="note"),
        table(head, rows, "Means estimated from a reviewed sample"),
    ]


def draw_button(run: str) -> html.Div:
    """Return the place where ``assets/gradings.js`` puts the controls that draw answers for review."""
    return html.Div(className="review-draw grade-note", **data(run=run))


def _error(run: ReviewedRun) -> str:
    assert run.judge_error is not None
    return f"errs about {short(100 * run.judge_error, 0)} %" if run.judge_error else "erred on no reviewed answer"


def _estimate(key: str, mean: MeanEstimate) -> str:
    value, low, high, judged = (short(number) for number in (mean.value, mean.low, mean.high, mean.judged))
    return f"{CATALOGUE[key].name.lower()} {value} ({low} to {high}) instead of {judged}"
