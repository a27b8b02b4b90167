"""Results of the queries of buzzing. ``missing`` gives the reason for each number that is None."""

from __future__ import annotations

import msgspec


class ThresholdOutcome(msgspec.Struct):
    """What comes of a threshold, over the questions that a run answered.

    Attributes:
        threshold: buzz at the first clue whose score is above it, strictly.
        optimal: whether it is the run's optimum, because the address names none.
        buzzes, no_buzz: questions with and without a buzz.
        correct, incorrect: of the buzzes; a graded correctness counts with its value.
        accuracy: correct / buzzes.
        revealed: mean fraction of the question revealed at the buzz.
        expected_wins: mean over questions of pi(f) x [correct at the buzz], 0 without a buzz.
        score: points per question against a human team of it.
        win: chance to win a question against such a team, by answering it correctly first.
        loss: chance that the team answers it correctly and the run did not come before; the rest is won by neither.
        unsure: part of ``win`` that rests on teams whose question was ended by others before the buzz.
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
    """A 95 % interval over questions, at the threshold as it is: that it may have been chosen on these questions is not in it."""

    low: float
    high: float


class Optimum(msgspec.Struct):
    """Where expected wins are greatest: at every tau with ``threshold`` <= tau < ``until``, and it may be elsewhere too.

    ``until`` is None where there is no end, ``open_below`` says that every lower threshold does as well.
    """

    threshold: float
    until: float | None
    open_below: bool
    expected_wins: float


class ThresholdCurve(msgspec.Struct):
    """Values over the threshold: step functions, constant from one of ``thresholds`` up to the next.

    ``steps`` is the number of all steps; where more than are listed, those listed are some of them, each with its exact
    values, the optimum among them.
    """

    steps: int
    thresholds: list[float]
    expected_wins: list[float] | None
    score: list[float] | None
    win: list[float] | None


class RunThresholds(msgspec.Struct):
    """The threshold explorer of a run.

    ``heard``: of its questions, those that a human team heard; ``unscored``: answers without a score on the scale; ``intervals``:
    of ``expected_wins``, ``score``, ``win`` and ``loss``, none from a single question.
    """

    run: str
    model: str
    elicitation: str
    questions: int
    heard: int
    items: int
    unscored: int
    outcome: ThresholdOutcome
    intervals: dict[str, OutcomeInterval]
    optimum: Optimum | None
    curve: ThresholdCurve | None
    missing: dict[str, str]


class BestThresholds(msgspec.Struct):
    """The best threshold of each run that has one, by its id."""

    thresholds: dict[str, float]


class ThresholdExplorer(msgspec.Struct):
    """The threshold explorer.

    ``scales``: those on which some of its runs have a score; ``human_curve``: h in pi = 1 - h, None under the polynomial.
    """

    scale: str
    scales: list[str]
    curve: str
    human_curve: str | None
    missing: str | None
    runs: list[RunThresholds]


class BuzzCurve(msgspec.Struct):
    """Correct and incorrect buzzes by each fraction of the question, per question heard.

    Attributes:
        name: ``people`` (all of them), ``Q1`` (fewest correct buzzes) to ``Q4``, a model team, or a run's id.
        kind: ``human``, ``model`` (a model that played as a team) or ``run``.
        teams: how many.
        heard: questions heard, counted once for each team and match.
    """

    name: str
    kind: str
    teams: int
    heard: int
    correct: list[float] | None
    incorrect: list[float] | None
    missing: str | None


class BuzzCurves(msgspec.Struct):
    """Cumulative buzzes over fractions of the question. GRACE fig. 4.

    ``teams_p`` is the p-value of the test that all human teams are right as often as each other, None where it cannot be
    computed. From 0.05 on, quartiles are missing.
    """

    missing: str | None
    teams_p: float | None
    revealed: list[float]
    curves: list[BuzzCurve]


class AtFraction(msgspec.Struct):
    """Accuracy by a fraction of the question; ``left_out``: questions that have no clue (or no team) to judge by."""

    revealed: float
    accuracy: float | None
    questions: int
    left_out: int
    missing: str | None


class PeopleAtFraction(msgspec.Struct):
    """People by a fraction of the question.

    Attributes:
        right: mean over questions of the share of its teams that have answered correctly.
        accuracy: mean over questions of the share of people whose guess at the last clue by then is correct; only of a human
            collection, whose players guess at every clue.
        buzz_accuracy: correct buzzes / buzzes so far.
    """

    revealed: float
    right: float | None
    questions: int
    left_out: int
    buzz_accuracy: float | None
    buzzes: int
    missing: dict[str, str]
    accuracy: float | None = None


class RunAccuracy(msgspec.Struct):
    """Accuracy of a run by fraction revealed."""

    run: str
    model: str
    elicitation: str
    fractions: list[AtFraction]


class TeamsAccuracy(msgspec.Struct):
    """Teams by fraction revealed: all ``people``, or one model that played as a team."""

    name: str
    kind: str
    fractions: list[PeopleAtFraction]


class FractionAccuracy(msgspec.Struct):
    """Accuracy by fraction revealed. GRACE fig. 5, table 2."""

    missing: str | None
    runs: list[RunAccuracy]
    teams: list[TeamsAccuracy]


class RunBuzzRates(msgspec.Struct):
    """How often a run buzzes when its guess is correct, and when not. ``survey_score``: mean over questions, 0 without a buzz."""

    run: str
    model: str
    elicitation: str
    missing: dict[str, str]
    threshold: float | None = None
    given_correct: float | None = None
    given_incorrect: float | None = None
    seen_correct: float | None = None
    seen_incorrect: float | None = None
    buzz_rate: float | None = None
    survey_score: float | None = None


class TeamBuzzRates(msgspec.Struct):
    """How often teams buzz per clue heard, a mean over teams.

    ``given_correct`` and ``given_incorrect`` are P(buzz | correct) and P(buzz | incorrect): means over the players of a human
    collection who had such guesses. What other teams thought before they buzzed is not recorded, so that they are missing.
    ``correct_rate`` and ``incorrect_rate`` (buzzes of the kind per clue heard) are the least that they can be.
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
