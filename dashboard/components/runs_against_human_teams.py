"""How runs fare against the human teams that heard the same questions."""

from __future__ import annotations

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import percent
from dashboard.components.run_names_and_colours import RunColours, named
from dashboard.components.table import row, table
from dashboard.components.threshold_outcomes import interval_text
from dashboard.figures.run_labels_and_lines import Names
from dashboard.figures.thresholds import outcomes_figure
from queries.buzzing import ThresholdExplorer
from queries.buzzing.results import RunThresholds

COLUMNS = ("Run", "Wins", "95 % interval", "Uncertain wins", "Neither", "People win", "95 % interval", "Questions")


def against_teams(explorer: ThresholdExplorer, names: Names, colours: RunColours) -> html.Section:
    """Return how often each run wins, loses or does neither against a human team, as a figure and a table.

    Args:
        explorer: threshold explorer with the runs.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    played = [run for run in explorer.runs if run.outcome.win is not None]
    title = html.H2("Against the human teams")
    if not played:
        why = next((run.missing["win"] for run in explorer.runs if "win" in run.missing), "")
        without = html.P(f"There is no win probability: {why}.", className="note")
        return html.Section([title, without], className="rooms")
    note = (
        "One question against one human team, drawn at random from those that heard it, which does what it did in its own "
        "match. A run wins by answering correctly first, and loses if the team answers correctly and the run has not. "
        "Intervals are over questions, with the threshold fixed."
    )
    if any(run.outcome.unsure for run in played):
        note += (
            " Hatched: wins over teams whose question others ended before the run buzzed. What these teams would have done is "
            "not recorded; they count as not having answered."
        )
    rows = [row(named(colours.get(run.run), names[run.run]), *_outcome(run), f"{run.heard:,}") for run in played]
    return html.Section(
        [
            title,
            html.P(note, className="note"),
            figure(
                "rooms",
                outcomes_figure(played, names, colours),
                "Share of questions. In the run's colour: won by the run (hatched: uncertain); light: won by neither; in the "
                "colour of the text: won by people",
                table(COLUMNS, rows, "Against the human teams"),
            ),
        ],
        className="rooms",
    )


def _outcome(run: RunThresholds) -> tuple[str, ...]:
    outcome = run.outcome
    assert outcome.win is not None and outcome.loss is not None
    neither = 1 - outcome.win - outcome.loss
    win, loss = (interval_text(run, name, percent) for name in ("win", "loss"))
    return percent(outcome.win), win, percent(outcome.unsure), percent(neither), percent(outcome.loss), loss
