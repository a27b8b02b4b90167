"""P(buzz | correct) and P(buzz | incorrect): whether players buzz when they know, and hold back when they do not."""

from __future__ import annotations

import numpy as np
import polars as pl

from data.store import Snapshot
from queries.buzzing.clues import ClueTable
from queries.buzzing.results import BuzzRates, RunBuzzRates, TeamBuzzRates
from queries.buzzing.rules import Rules
from queries.buzzing.runs import NO_LOGPROBS, NO_PEOPLE, BuzzingData, RunBuzzing, read_buzzing
from queries.metrics.kernels.buzzing import conditional_buzzes, survey_score
from queries.metrics.kernels.opponents import upper_half
from queries.selection import Selection, number

NUMBERS = RunBuzzRates.__struct_fields__[4:]
UNKNOWN_GUESSES = "what a team would have answered before it buzzed is not recorded"


def buzz_rates(snapshot: Snapshot, selection: Selection, rules: Rules) -> BuzzRates:
    """Of each run, and of people: all, and the halves by survey score (above the median or not), each a mean over teams.

    A clue counts as heard up to the first buzz inclusive; without a buzz, up to the clue in which the question ended for the
    team. The survey score is a mean over the questions heard.
    """
    return of_play(read_buzzing(snapshot, selection, rules))


def of_play(found: BuzzingData) -> BuzzRates:
    """The same, of what is read already."""
    if found.missing:
        return BuzzRates(found.missing, [], [])
    return BuzzRates(None, [_run(said) for said in found.runs], _teams(found.board))


def _run(said: RunBuzzing) -> RunBuzzRates:
    told = RunBuzzRates(said.run.run, said.run.model, said.run.elicitation, {})
    if said.buzzes is None:
        told.missing = dict.fromkeys(NUMBERS, f"no threshold: {NO_PEOPLE if said.scored else NO_LOGPROBS}")
        return told
    found = conditional_buzzes(said.question, said.correct, said.buzzes)
    question, at = said.question[said.buzzes], said.at[said.buzzes]
    score = survey_score(said.board.share_heard(question, at - said.board.first[question]), said.correct[said.buzzes])
    told.threshold = said.threshold
    told.given_correct, told.given_incorrect = number(found.given_correct), number(found.given_incorrect)
    told.seen_correct, told.seen_incorrect = found.seen_correct, found.seen_incorrect
    told.buzz_rate = len(said.buzzes) / (found.seen_correct + found.seen_incorrect)
    told.survey_score = float(score.sum()) / len(said.questions)
    for name, kind in (("given_correct", "correct"), ("given_incorrect", "incorrect")):
        if getattr(told, name) is None:
            told.missing[name] = f"no guess was {kind} before or at the buzz"
    return told


def _teams(board: ClueTable) -> list[TeamBuzzRates]:
    each = _each_team(board)
    people = each.filter(team_kind="human")
    upper = upper_half(people["survey_score"].to_numpy())
    groups = [("people", people), ("upper half", people.filter(upper)), ("lower half", people.filter(~upper))]
    found = [_group(name, "human", part) for name, part in groups]
    return found + [_group(row["team"][0], "model", row) for row in each.filter(team_kind="model").iter_slices(1)]


def _each_team(board: ClueTable) -> pl.DataFrame:
    """Per team: buzzes, correct and incorrect ones, per clue heard, and the survey score per question heard."""
    teams = board.teams
    question = teams["question"].to_numpy()
    buzzed = teams["word"].is_not_null().to_numpy()
    words = board.words[question]
    heard = np.minimum(teams["heard_words"].cast(pl.Float64).fill_null(np.inf).to_numpy(), words).astype(np.int64)
    # The clue that holds the last word heard.
    ended = board.first_reaching(question, np.maximum(heard, 1)) - board.first[question]
    clue = np.where(buzzed, teams["clue"].fill_null(0).to_numpy(), ended)
    correct = teams["correct"].cast(pl.Float64).fill_null(0.0).to_numpy()
    score = np.where(buzzed, survey_score(board.share_heard(question, clue), correct), 0.0)
    rows = teams.select("team", "team_kind").with_columns(
        seen=pl.Series(clue + 1.0),
        buzz=pl.Series(buzzed.astype(float)),
        correct=pl.Series(correct * buzzed),
        score=pl.Series(score),
    )
    return (
        rows.group_by("team_kind", "team")
        .agg(
            buzz_rate=pl.col("buzz").sum() / pl.col("seen").sum(),
            correct_rate=pl.col("correct").sum() / pl.col("seen").sum(),
            incorrect_rate=(pl.col("buzz") - pl.col("correct")).sum() / pl.col("seen").sum(),
            survey_score=pl.col("score").mean(),
        )
        .sort("team_kind", "team")
    )


def _group(name: str, kind: str, teams: pl.DataFrame) -> TeamBuzzRates:
    rates = ("buzz_rate", "correct_rate", "incorrect_rate", "survey_score")
    missing = dict.fromkeys(("given_correct", "given_incorrect"), UNKNOWN_GUESSES)
    if teams.is_empty():
        missing |= dict.fromkeys(rates, NO_PEOPLE if name != "upper half" else "no team is above the median")
    means = {rate: None if teams.is_empty() else float(teams[rate].to_numpy().mean()) for rate in rates}
    return TeamBuzzRates(name, kind, len(teams), None, None, **means, missing=missing)
