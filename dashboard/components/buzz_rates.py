"""How often runs and people buzz, given a correct or an incorrect guess."""

from __future__ import annotations

from dash import html

from dashboard.components.figure import figure
from dashboard.components.html_attributes import data
from dashboard.components.numbers import DASH, short
from dashboard.components.run_names_and_colours import RunColours, run_cell
from dashboard.components.table import table
from dashboard.figures.buzz_curves_and_rates import buzz_rates_figure
from dashboard.figures.run_labels_and_lines import Names
from dashboard.figures.style import INK
from data.plurals import counted
from queries.buzzing.results import BuzzRates, TeamBuzzRates

RATES = (("buzz_rate", "Buzzes per clue"), ("survey_score", "Survey score"))


def buzz_rates(rates: BuzzRates, names: Names, colours: RunColours) -> html.Section:
    """Return P(buzz | correct), P(buzz | incorrect) and what follows from them, as a figure and a table.

    Args:
        rates: rates of runs and people.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    people = [team for team in rates.teams if team.kind == "human" and team.teams]
    note = (
        "How often a run buzzes when its guess is correct, and when it is not, clue by clue up to the first buzz. The further "
        "apart, the better it knows what it knows. "
    )
    known = any(team.given_correct is not None or team.given_incorrect is not None for team in people)
    if known:
        note += (
            "People are the players of a human collection, who guessed at every clue and said where they would buzz. Their rows "
            "are means over players."
        )
    elif people:
        note += (
            "For people these rates are unknown: what a team would have answered before it buzzed is not recorded. Their correct "
            "and incorrect buzzes per clue heard are lower bounds."
        )
    else:
        note += "No human team heard these questions."
    rows = [
        html.Tr(
            [
                run_cell(names[run.run], colours.get(run.run)),
                *(
                    html.Td(short(getattr(run, key)), className="number", title=run.missing.get(key, ""), **data(key=key))
                    for key in ("given_correct", "given_incorrect", *(key for key, _ in RATES))
                ),
            ],
            **data(run=run.run),
        )
        for run in rates.runs
    ]
    rows += [_team_row(team) for team in rates.teams if team.teams]
    head = ["Who", "P(buzz | correct)", "P(buzz | incorrect)", *(label for _, label in RATES)]
    return html.Section(
        [
            html.H2("Buzzing when right, holding back when wrong"),
            html.P(note, className="note"),
            figure(
                "habits",
                buzz_rates_figure(rates, names, colours),
                "○ given a correct guess, × given an incorrect one"
                + ("; ▶ ▷ people, lower bounds" if people and not known else ""),
            ),
            table(head, rows, "Buzz rates", "habits"),
        ],
        className="habits-section",
    )


def _team_row(team: TeamBuzzRates) -> html.Tr:
    """Mean rates of several teams; lower bounds if what they would have answered is not recorded."""
    human = team.kind == "human"
    name = {"people": "People, all"}.get(team.name, f"People, {team.name}") if human else f"{team.name} (model)"
    mean = f"; a mean over {counted(team.teams, 'team')}"
    bounds = [
        html.Td(
            short(chance) if chance is not None else DASH if rate is None else f"≥ {short(rate)}",
            className="number",
            title=team.missing.get(key, "") + mean,
        )
        for key, chance, rate in (
            ("given_correct", team.given_correct, team.correct_rate),
            ("given_incorrect", team.given_incorrect, team.incorrect_rate),
        )
    ]
    values = [html.Td(short(getattr(team, key)), className="number", title=team.missing.get(key, "")) for key, _ in RATES]
    return html.Tr([run_cell(name, INK if human else None), *bounds, *values])
