"""P(buzz | correct) and P(buzz | incorrect): whether players buzz when they know, and hold back when they do not."""

from __future__ import annotations

import numpy as np
import polars as pl

from data.store import Snapshot
from queries.buzzing.buzz_inputs import NO_LOGPROBS, NO_PEOPLE, BuzzingData, RunBuzzing, read_buzzing
from queries.buzzing.buzz_parameters import Rules
from queries.buzzing.clues_and_team_buzzes import ClueTable
from queries.buzzing.results import BuzzRates, RunBuzzRates, TeamBuzzRates
from queries.metrics.kernels.buzzing import conditional_buzzes, survey_score
from queries.metrics.kernels.team_buzzes import upper_half
from queries.selection import Selection, number

NUMBERS = RunBuzzRates.__struct_fields__[4:]
GIVEN = ("given_correct", "given_incorrect")
NO_GUESS = "no guess was {kind} before or at the buzz"
UNKNOWN_GUESSES = "what a team would have answered before it buzzed is not recorded"


def buzz_rates(snapshot: Snapshot, selection: Selection, rules: Rules) -> BuzzRates:
    """Return how often each run and each group of teams buzzes when right and when wrong.

    The groups of people are all teams, and the halves by survey score: above the median or not. Their rates are means over teams.
    Clues count as heard up to and including the buzz or, without a buzz, up to the clue in which the question ended for the
    team. The survey score is a mean over the questions heard.
    """
    return rates_of(read_buzzing(snapshot, selection, rules))


def rates_of(data: BuzzingData) -> BuzzRates:
    """Return the rates of data that has been read."""
    if data.missing:
        return BuzzRates(data.missing, [], [])
    return BuzzRates(None, [_run(player) for player in data.runs], _teams(data.clue_table))


def _run(player: RunBuzzing) -> RunBuzzRates:
    rates = RunBuzzRates(player.run.run, player.run.model, player.run.elicitation, {})
    if player.buzzes is None:
        rates.missing = dict.fromkeys(NUMBERS, f"no threshold: {NO_PEOPLE if player.scored else NO_LOGPROBS}")
        return rates
    counts = conditional_buzzes(player.question, player.correct, player.buzzes)
    question, at = player.question[player.buzzes], player.at[player.buzzes]
    score = survey_score(
        player.clue_table.share_heard(question, at - player.clue_table.first[question]), player.correct[player.buzzes]
    )
    rates.threshold = player.threshold
    rates.given_correct, rates.given_incorrect = number(counts.given_correct), number(counts.given_incorrect)
    rates.seen_correct, rates.seen_incorrect = counts.seen_correct, counts.seen_incorrect
    rates.buzz_rate = len(player.buzzes) / (counts.seen_correct + counts.seen_incorrect)
    rates.survey_score = float(score.sum()) / len(player.questions)
    for name, kind in (("given_correct", "correct"), ("given_incorrect", "incorrect")):
        if getattr(rates, name) is None:
            rates.missing[name] = NO_GUESS.format(kind=kind)
    return rates


def _teams(clue_table: ClueTable) -> list[TeamBuzzRates]:
    teams = _rates_by_team(clue_table)
    people = teams.filter(team_kind="human")
    upper = upper_half(people["survey_score"].to_numpy())
    groups = [("people", people), ("upper half", people.filter(upper)), ("lower half", people.filter(~upper))]
    guessing = clue_table.guesses is not None
    rows = [_group(name, "human", part, guessing) for name, part in groups]
    return rows + [_group(row["team"][0], "model", row, False) for row in teams.filter(team_kind="model").iter_slices(1)]


def _rates_by_team(clue_table: ClueTable) -> pl.DataFrame:
    """Return a row per team: rates of buzzes per clue heard, survey score and, where known, P(buzz | correct or incorrect)."""
    teams = clue_table.teams
    question = teams["question"].to_numpy()
    buzzed = teams["word"].is_not_null().to_numpy()
    words = clue_table.words[question]
    heard = np.minimum(teams["heard_words"].cast(pl.Float64).fill_null(np.inf).to_numpy(), words).astype(np.int64)
    # The clue that holds the last word heard.
    ended = clue_table.first_reaching(question, np.maximum(heard, 1)) - clue_table.first[question]
    clue = np.where(buzzed, teams["clue"].fill_null(0).to_numpy(), ended)
    correct = teams["correct"].cast(pl.Float64).fill_null(0.0).to_numpy()
    score = np.where(buzzed, survey_score(clue_table.share_heard(question, clue), correct), 0.0)
    rows = teams.select("team", "team_kind").with_columns(
        seen=pl.Series(clue + 1.0),
        buzz=pl.Series(buzzed.astype(float)),
        correct=pl.Series(correct * buzzed),
        score=pl.Series(score),
    )
    by_team = (
        rows.group_by("team_kind", "team")
        .agg(
            buzz_rate=pl.col("buzz").sum() / pl.col("seen").sum(),
            correct_rate=pl.col("correct").sum() / pl.col("seen").sum(),
            incorrect_rate=(pl.col("buzz") - pl.col("correct")).sum() / pl.col("seen").sum(),
            survey_score=pl.col("score").mean(),
        )
        .sort("team_kind", "team")
    )
    return by_team.join(_given_guesses(clue_table), on="team", how="left", maintain_order="left")


def _given_guesses(clue_table: ClueTable) -> pl.DataFrame:
    """Return P(buzz | correct) and P(buzz | incorrect) of each player of a human collection, by the same kernel as for runs."""
    given: dict[str, list[str | float | None]] = {"team": [], "given_correct": [], "given_incorrect": []}
    if clue_table.guesses is not None:
        buzzed = clue_table.teams.filter(pl.col("clue").is_not_null()).select("team", "question", "clue", buzzes=True)
        buzzed = buzzed.with_columns(pl.col("clue").cast(pl.Int64))
        guesses = clue_table.guesses.join(buzzed, on=["team", "question", "clue"], how="left", maintain_order="left")
        for (team,), part in guesses.partition_by("team", as_dict=True, maintain_order=True).items():
            buzzes = np.flatnonzero(part["buzzes"].fill_null(value=False).to_numpy())
            counts = conditional_buzzes(part["question"].to_numpy(), part["correct"].to_numpy(), buzzes)
            given["team"].append(str(team))
            given["given_correct"].append(number(counts.given_correct))
            given["given_incorrect"].append(number(counts.given_incorrect))
    return pl.DataFrame(given, schema={"team": pl.String, "given_correct": pl.Float64, "given_incorrect": pl.Float64})


def _group(name: str, kind: str, teams: pl.DataFrame, guessing: bool) -> TeamBuzzRates:
    rates = ("buzz_rate", "correct_rate", "incorrect_rate", "survey_score")
    # A player without any correct guess has no P(buzz | correct) and is left out of its mean; likewise for incorrect guesses.
    given = {key: None if (known := teams[key].drop_nulls()).is_empty() else float(known.to_numpy().mean()) for key in GIVEN}
    unknown = [key for key, value in given.items() if value is None]
    missing = {key: NO_GUESS.format(kind=key.removeprefix("given_")) if guessing else UNKNOWN_GUESSES for key in unknown}
    if teams.is_empty():
        missing |= dict.fromkeys(rates, NO_PEOPLE if name != "upper half" else "no team is above the median")
    means = {rate: None if teams.is_empty() else float(teams[rate].to_numpy().mean()) for rate in rates}
    return TeamBuzzRates(name, kind, len(teams), **given, **means, missing=missing)
