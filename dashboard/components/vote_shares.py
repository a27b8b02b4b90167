"""The shares of a question's classes: what people voted, and what each run gives."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import DASH, short
from dashboard.components.run_names_and_colours import RunColours, legend, named
from dashboard.components.table import row, table
from dashboard.figures.question_votes import votes_figure
from dashboard.highlighted_runs import MAX_HIGHLIGHTED
from data.plurals import counted
from queries.question import Question


def vote_shares(question: Question, names: Mapping[str, str], colours: RunColours) -> html.Figure:
    """Return the distributions of people and runs, as a figure and a table.

    Args:
        question: question with votes.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    votes = question.votes
    assert votes is not None
    rows = [row("People", *(short(share) for share in votes.shares), "")]
    rows += [
        row(
            named(colours.get(run.run), names[run.run]),
            *(map(short, run.shares) if run.shares else [DASH] * len(votes.classes)),
            short(run.metrics["dist_ce"]),
        )
        for run in question.runs
    ]
    few = all(run.run in colours for run in question.runs)
    without = any(run.shares is None for run in question.runs)
    return figure(
        "votes",
        votes_figure(question, names, colours),
        f"Bars: the shares of {counted(sum(votes.votes), 'human vote')}. Dots: the share that each run gives the class"
        + ("" if few else f", grey if more than {MAX_HIGHLIGHTED} runs are shown")
        + (". Runs without a full distribution have no dots" if without else ""),
        table(["", *votes.classes, "DistCE"], rows, "Shares of the classes"),
        legend([run.run for run in question.runs if run.shares], names, colours, "People"),
    )
