"""The structs that the buzzing queries return. ``missing`` gives the reason for each number that is None."""

from __future__ import annotations

import msgspec

from queries.engine.run_pairs import RunName


class ThresholdOutcome(msgspec.Struct):
    """The outcome of a threshold over the questions that a run answered.

    Attributes:
        threshold: the run buzzes at the first clue whose score is strictly above it.
        correct, incorrect: number of buzzes; a graded correctness counts with its value in [0, 1].
        revealed: mean fraction of the question revealed at the buzz, in (0, 1].
        expected_wins: mean over questions of pi(f) x [correct at the buzz], 0 without a buzz.
        score: expected points per question against a human team drawn at random from those that heard it, in [-5, 10].
        win: chance of winning a question against such a team by being the first to answer correctly, in [0, 1].
        loss: chance that the team answers correctly and the run did not do so before, in [0, 1]. Nobody wins the rest.
        unsure: part of ``win`` that rests on teams whose question was ended by others before the buzz, in [0, 1].
    """

    threshold: float | None
    optimal: bool
    buzzes: int | None = None
    no_buzz: int | None = None
    correct: float | None = None
    incorrect: float | None = None
    accuracy: float | None = None
    revealed: float | None = None
    expected_wins: float | None = None
    score: float | None = None
    win: float | None = None
    loss: float | None = None
    unsure: float | None = None


class OutcomeInterval(msgspec.Struct):
    """A 95 % interval over questions at a fixed threshold. It ignores that the threshold may be chosen on the same questions."""

    low: float
    high: float


class Optimum(msgspec.Struct):
    """Where expected wins are highest: at every tau with ``threshold`` <= tau < ``until``, and perhaps at higher ones too.

    ``until`` is None where there is no upper end. ``open_below`` says that every lower threshold is as good.
    """

    threshold: float
    until: float | None
    open_below: bool
    expected_wins: float


class ThresholdCurve(msgspec.Struct):
    """Values by threshold: step functions, constant from one of ``thresholds`` up to the next.

    If there are more than 400 ``steps``, only some are listed, each with its exact values; the optimum is always among them.
    """

    steps: int
    thresholds: list[float]
    expected_wins: list[float] | None
    score: list[float] | None
    win: list[float] | None


class RunThresholds(RunName):
    """The threshold explorer of a run; ``outcome`` is at the threshold in use. ``missing`` has reasons by the name of a number.

    ``heard`` of its questions were heard by a human team, and ``unscored`` of its answers have no score on the scale.
    ``no_interval`` says why a value of ``intervals`` has none, by name.
    """

    questions: int
    heard: int
    items: int
    unscored: int
    outcome: ThresholdOutcome
    intervals: dict[str, OutcomeInterval]
    optimum: Optimum | None
    curve: ThresholdCurve | None
    missing: dict[str, str]
    no_interval: dict[str, str]


class BestThresholds(msgspec.Struct):
    """The best threshold of each run that has one, by the id of the run."""

    thresholds: dict[str, float]


class ThresholdExplorer(msgspec.Struct):
    """The threshold explorer. Some run has a score on each of ``scales``. ``human_curve`` is None under the polynomial."""

    scale: str
    scales: list[str]
    curve: str
    human_curve: str | None
    missing: str | None
    runs: list[RunThresholds]


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
    Only a human collection has it, whose players guess at every clue.
    """

    revealed: float
    right: float | None
    questions: int
    left_out: int
    buzz_accuracy: float | None
    buzzes: int
    missing: dict[str, str]
    accuracy: float | None = None


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
    ``survey_score`` is in [-5, 20), the rates are in [0, 1].
    """

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


class BuzzRates(msgspec.Struct):
    """P(buzz | correct) and P(buzz | incorrect). GRACE sec. 5.1, fig. 6."""

    missing: str | None
    runs: list[RunBuzzRates]
    teams: list[TeamBuzzRates]


class Buzz(msgspec.Struct):
    """Answer of ``/api/v1/buzz``."""

    data_version: str
    selection: dict[str, list[str]]
    questions: int
    missing: str | None
    explorer: ThresholdExplorer
    curves: BuzzCurves
    accuracy: FractionAccuracy
    habits: BuzzRates
