"""Buzz curves, accuracy by the fraction revealed, and how often a buzz follows a correct guess."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import msgspec
import numpy as np
import polars as pl

from clueline.data.store import Snapshot
from clueline.queries.buzzing.inputs import NO_LOGPROBS, NO_PEOPLE, BuzzingData, ClueTable, RunBuzzing, stream_buzzing
from clueline.queries.buzzing.parameters import Rules
from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.engine.plays_of_people import with_second_values
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.metrics.kernels.arrays import Floats
from clueline.queries.metrics.kernels.buzzing import conditional_buzzes, latest_responses, survey_score
from clueline.queries.metrics.kernels.team_buzzes import cumulative_weight, equal_teams_test, quartiles, upper_half
from clueline.queries.selection import Selection, number


class BuzzCurve(msgspec.Struct):
    """Correct and incorrect buzzes up to each fraction of the question, per question heard.

    ``name`` is ``people`` (all of them), ``Q1`` (fewest correct buzzes) to ``Q4``, a model that played as a team, or a run's id.
    Questions heard are counted once for each team and match. Buzzes are per question heard, by each fraction of
    ``BuzzCurves.revealed``, and never fall.
    """

    name: str
    kind: str
    teams: int
    heard: int
    correct: list[float] | None
    incorrect: list[float] | None
    missing: str | None


class BuzzCurves(msgspec.Struct):
    """Cumulative buzzes by fraction of the question. GRACE fig. 4.

    ``revealed`` are the fractions, from 0 to 1. ``teams_p`` is the p-value of the test that all human teams are right equally
    often, None where it cannot be computed. If it is None, or 0.05 or more, the quartiles are missing. ``left_out_plays`` is the
    number of plays or buzzes of people that no curve contains, by what they are and why.
    """

    missing: str | None
    teams_p: float | None
    revealed: list[float]
    curves: list[BuzzCurve]
    left_out_plays: dict[str, int]


GRID = np.arange(51) / 50  # fractions of the question
NO_TEAM_DIFFERENCE = "no clear difference between the teams in how often they are right: {p}"


def buzz_curves(data: BuzzingData) -> BuzzCurves:
    """Return correct and incorrect buzzes up to each fraction of the question, per question heard.

    A team's buzz at word w comes when w + 1 words have been heard, and a buzz after the end when all have been heard. A run's
    buzz comes at the end of its clue. Teams of a group are pooled: all their buzzes, divided by the questions that they heard.
    Teams are put into quartiles by their number of correct buzzes on the questions of the selection, but not where a test does
    not show that teams differ (``equal_teams_test``), because quartiles of pure chance would fan out as well.
    """
    if data.missing:
        return BuzzCurves(data.missing, None, GRID.tolist(), [], {})
    (_, _, people), *teams = data.clue_table.groups()
    right = people["correct"].fill_null(False).to_numpy()
    teams_p = equal_teams_test(people["question"].to_numpy(), people["team"].rank("dense").to_numpy() - 1, right)
    models = (_teams(data.clue_table, name, kind, part, "") for name, kind, part in teams)
    curves = [*_people(data.clue_table, people, teams_p), *models, *(_run(player) for player in data.runs)]
    return BuzzCurves(None, number(teams_p), GRID.tolist(), curves, data.clue_table.left_out_plays)


def _people(clue_table: ClueTable, teams: pl.DataFrame, teams_p: float) -> list[BuzzCurve]:
    everybody = _teams(clue_table, "people", "human", teams, NO_PEOPLE)
    total = teams.group_by("team").agg(pl.col("correct").cast(pl.Int64).sum()).sort("team")
    group = total.with_columns(pl.Series("quartile", quartiles(total["correct"].to_numpy())))
    quartile = teams.join(group.select("team", "quartile"), on="team", how="left", maintain_order="left")["quartile"]
    parts = {f"Q{part}": teams.filter(quartile == part) for part in (1, 2, 3, 4)}
    if teams.is_empty() or teams_p < SIGNIFICANCE:
        why = NO_PEOPLE if teams.is_empty() else "no team is in this quartile"
        return [everybody, *(_teams(clue_table, name, "human", part, why) for name, part in parts.items())]
    why = NO_TEAM_DIFFERENCE.format(p=f"p = {teams_p:.2f}" if np.isfinite(teams_p) else "too little data to tell")
    empty = (BuzzCurve(name, "human", part["team"].n_unique(), len(part), None, None, why) for name, part in parts.items())
    return [everybody, *empty]


def _teams(clue_table: ClueTable, name: str, kind: str, teams: pl.DataFrame, if_none: str) -> BuzzCurve:
    buzzes = teams.filter(pl.col("word").is_not_null())
    right = buzzes["correct"].to_numpy().astype(float)
    return _curve(name, kind, teams["team"].n_unique(), len(teams), revealed_at(clue_table, buzzes), right, if_none)


def revealed_at(clue_table: ClueTable, buzzes: pl.DataFrame) -> Floats:
    """Return the fraction of the question that had been heard at each buzz of a team, in (0, 1], shape (buzzes,)."""
    words = clue_table.words[buzzes["question"].to_numpy()]
    revealed: Floats = np.minimum(buzzes["word"].to_numpy() + 1, words) / words
    return revealed


def _run(player: RunBuzzing) -> BuzzCurve:
    if player.buzzes is None:
        reason = NO_PEOPLE if player.scored else NO_LOGPROBS
        return BuzzCurve(player.run.run, "run", 1, len(player.questions), None, None, f"no threshold: {reason}")
    revealed = player.clue_table.revealed[player.at[player.buzzes]]
    return _curve(player.run.run, "run", 1, len(player.questions), revealed, player.correct[player.buzzes], "")


def _curve(name: str, kind: str, teams: int, heard: int, revealed: Floats, correct: Floats, if_none: str) -> BuzzCurve:
    if not heard:
        return BuzzCurve(name, kind, teams, heard, None, None, if_none)
    right, wrong = cumulative_weight(revealed, correct, GRID) / heard, cumulative_weight(revealed, 1 - correct, GRID) / heard
    return BuzzCurve(name, kind, teams, heard, right.tolist(), wrong.tolist(), None)


class AtFraction(msgspec.Struct):
    """Mean correctness of the latest answers by a fraction. ``left_out`` questions were answered, but at no clue by then."""

    revealed: float
    accuracy: float | None
    questions: int
    left_out: int
    missing: str | None


class PeopleAtFraction(msgspec.Struct):
    """Teams by a fraction of the question, with reasons for missing numbers by their names.

    ``right`` is a mean over questions of the share of teams that have answered correctly, ``buzz_accuracy`` correct buzzes /
    buzzes so far. ``accuracy`` is a mean over questions of the share of people whose guess at the last clue by then is correct.
    Only a human collection has it, whose players guess at every clue. For ``second``, see ``plays_of_people``.
    """

    SECOND: ClassVar = ("right", "questions")

    revealed: float
    right: float | None
    questions: int
    left_out: int
    buzz_accuracy: float | None
    buzzes: int
    missing: dict[str, str]
    accuracy: float | None = None
    second: dict[str, float] = {}


class RunAccuracy(RunName):
    """Accuracy of a run by fraction of the question revealed."""

    fractions: list[AtFraction]


class TeamsAccuracy(msgspec.Struct):
    """Teams by fraction of the question revealed: all ``people``, or one model that played as a team."""

    name: str
    kind: str
    fractions: list[PeopleAtFraction]


class FractionAccuracy(msgspec.Struct):
    """Accuracy by fraction of the question revealed. GRACE fig. 5, table 2."""

    missing: str | None
    runs: list[RunAccuracy]
    teams: list[TeamsAccuracy]


MARKS = [k / 5 for k in range(1, 6)]


def accuracy_by_fraction(snapshot: Snapshot, selection: Selection) -> FractionAccuracy:
    """Return the accuracy at the last clue that ends by 20, 40, 60, 80 and 100 % of the question.

    For a run, it is the last clue that the run answered and the selection keeps: an answer stands until there is another one.
    Questions without such a clue are left out and counted. Teams do not guess at every clue. Their counterpart is the share of
    teams that have answered correctly by then, on the questions that a team heard. Players of a human collection do guess at
    every clue: they also have an accuracy like that of runs, averaged over the players of each question.
    """
    answer = accuracy_of(*stream_buzzing(snapshot, selection, Rules()))
    return with_second_values(snapshot, selection, answer, accuracy_by_fraction)


def accuracy_of(data: BuzzingData, runs: Iterable[RunBuzzing]) -> FractionAccuracy:
    """Return the accuracy of data that has been read, with its runs."""
    if data.missing:
        return FractionAccuracy(data.missing, [], [])
    groups = data.clue_table.groups()
    return FractionAccuracy(
        None,
        [RunAccuracy(*player.run, _run_by_fraction(player)) for player in runs],
        [TeamsAccuracy(name, kind, _teams_by_fraction(data.clue_table, part, kind == "human")) for name, kind, part in groups],
    )


def _run_by_fraction(player: RunBuzzing) -> list[AtFraction]:
    revealed = player.clue_table.revealed[player.at]
    marks = []
    for mark in MARKS:
        rows = latest_responses(player.question, revealed, mark)
        accuracy = float(player.correct[rows].mean()) if len(rows) else None
        reason = None if len(rows) else "no answered clue of these questions ends by then"
        marks.append(AtFraction(mark, accuracy, len(rows), len(player.questions) - len(rows), reason))
    return marks


def _accuracy(clue_table: ClueTable, mark: float) -> float | None:
    """Return the mean over questions of the share of players whose latest guess by then is correct; None without guesses."""
    guesses = clue_table.guesses
    if guesses is None or guesses.is_empty():
        return None
    question = guesses["question"].to_numpy()
    player = guesses["team"].rle_id().cast(pl.Int64).to_numpy()
    revealed = clue_table.revealed[clue_table.first[question] + guesses["clue"].to_numpy()]
    rows = latest_responses(player * len(clue_table.first) + question, revealed, mark)
    if not len(rows):
        return None
    right = np.bincount(question[rows], guesses["correct"].to_numpy()[rows], len(clue_table.first))
    players = np.bincount(question[rows], minlength=len(clue_table.first))
    return float((right[players > 0] / players[players > 0]).mean())


def _teams_by_fraction(clue_table: ClueTable, teams: pl.DataFrame, is_human: bool) -> list[PeopleAtFraction]:
    buzzes = teams.filter(pl.col("word").is_not_null())
    question, at = buzzes["question"].to_numpy(), revealed_at(clue_table, buzzes)
    correct = buzzes["correct"].to_numpy().astype(float)
    heard = np.bincount(teams["question"].to_numpy(), minlength=len(clue_table.first))
    was_heard = heard > 0
    marks = []
    for mark in MARKS:
        by_then = at <= mark
        right = np.bincount(question[by_then], correct[by_then], len(clue_table.first))
        count = int(by_then.sum())
        marks.append(
            PeopleAtFraction(
                revealed=mark,
                right=float((right[was_heard] / heard[was_heard]).mean()) if was_heard.any() else None,
                questions=int(was_heard.sum()),
                left_out=int((~was_heard).sum()),
                buzz_accuracy=float(correct[by_then].mean()) if count else None,
                buzzes=count,
                accuracy=_accuracy(clue_table, mark) if is_human else None,
                missing=({} if was_heard.any() else {"right": NO_PEOPLE})
                | ({} if count else {"buzz_accuracy": "nobody has buzzed by then"}),
            )
        )
    return marks


class RunBuzzRates(RunName):
    """How often a run buzzes when its guess is correct, and when it is not: P(buzz | correct) and P(buzz | incorrect).

    ``seen_correct`` and ``seen_incorrect`` are numbers of clues seen with such a guess; a graded correctness counts with its
    value. ``buzz_rate`` is per clue seen. ``survey_score`` is a mean over questions; a question without a buzz counts 0.
    """

    missing: dict[str, str]
    threshold: float | None = None
    given_correct: float | None = None
    given_incorrect: float | None = None
    seen_correct: float | None = None
    seen_incorrect: float | None = None
    buzz_rate: float | None = None
    survey_score: float | None = None


class TeamBuzzRates(msgspec.Struct):
    """How often teams buzz per clue heard, as means over teams.

    ``given_correct`` and ``given_incorrect`` are P(buzz | correct) and P(buzz | incorrect): means over the players of a human
    collection who had such guesses. They are missing for other teams, because what these thought before they buzzed is not
    recorded. ``correct_rate`` and ``incorrect_rate`` (buzzes of each kind per clue heard) are lower bounds of them.
    ``survey_score`` is in [-5, 20), the rates are in [0, 1]. For ``second``, see ``plays_of_people``.
    """

    SECOND: ClassVar = ("buzz_rate", "correct_rate", "incorrect_rate", "survey_score")

    name: str
    kind: str
    teams: int
    given_correct: float | None
    given_incorrect: float | None
    buzz_rate: float | None
    correct_rate: float | None
    incorrect_rate: float | None
    survey_score: float | None
    missing: dict[str, str]
    second: dict[str, float] = {}


class BuzzRates(msgspec.Struct):
    """P(buzz | correct) and P(buzz | incorrect). GRACE sec. 5.1, fig. 6."""

    missing: str | None
    runs: list[RunBuzzRates]
    teams: list[TeamBuzzRates]


NUMBERS = RunBuzzRates.__struct_fields__[4:]
GIVEN = ("given_correct", "given_incorrect")
NO_GUESS = "no guess was {kind} before or at the buzz"
UNKNOWN_GUESSES = "what a team would have answered before it buzzed is not recorded"


def buzz_rates(data: BuzzingData) -> BuzzRates:
    """Return how often each run and each group of teams buzzes when right and when wrong.

    The groups of people are all teams, and the halves by survey score: above the median or not. Their rates are means over teams.
    Clues count as heard up to and including the buzz or, without a buzz, up to the clue in which the question ended for the
    team. The survey score is a mean over the questions heard.
    """
    if data.missing:
        return BuzzRates(data.missing, [], [])
    return BuzzRates(None, [_run_rates(player) for player in data.runs], _team_rates(data.clue_table))


def _run_rates(player: RunBuzzing) -> RunBuzzRates:
    rates = RunBuzzRates(*player.run, {})
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


def _team_rates(clue_table: ClueTable) -> list[TeamBuzzRates]:
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
    return TeamBuzzRates(
        name,
        kind,
        len(teams),
        given["given_correct"],
        given["given_incorrect"],
        means["buzz_rate"],
        means["correct_rate"],
        means["incorrect_rate"],
        means["survey_score"],
        missing,
    )
