"""Thresholds: expected wins, the best ones, and buzzpoints of a question."""

from __future__ import annotations

from typing import ClassVar

import msgspec
import numpy as np

from clueline.data.store import Snapshot
from clueline.queries.buzzing.inputs import (
    NO_LOGPROBS,
    NO_PEOPLE,
    BuzzingData,
    RunBuzzing,
    people_curve,
    read_buzzing,
    representative_threshold,
)
from clueline.queries.buzzing.parameters import Rules
from clueline.queries.engine.bootstrap import percentile_interval, resample
from clueline.queries.engine.inference import SMALL_SAMPLE, jackknife_t_interval
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.selected_answers import selected_responses, selection_clauses
from clueline.queries.engine.units import Units, read_units_at, too_few_units
from clueline.queries.metrics.kernels.arrays import Floats, Ints, ratio
from clueline.queries.metrics.kernels.buzzing import buzzpoints_at, possible_buzzpoints
from clueline.queries.metrics.kernels.team_buzzes import NEG, TOSSUP, expected_points
from clueline.queries.selection import Selection

SCORE = {"confidence": "confidence", "logprob": "token_logprobs"}
MAX_STEPS = 400  # steps of a curve that are listed, apart from the optimum


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
        second: values without plays of people whose end nobody stated, if they differ; see ``plays_of_people``. Where no
            threshold was asked for, it is then the best one for these.
    """

    SECOND: ClassVar = ("threshold", "expected_wins", "score", "win", "loss", "unsure")

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
    second: dict[str, float] = {}


class OutcomeInterval(msgspec.Struct):
    """A 95 % interval over questions at a fixed threshold. It ignores that the threshold may be chosen on the same questions."""

    low: float
    high: float


class Optimum(msgspec.Struct):
    """Where expected wins are highest: at every tau with ``threshold`` <= tau < ``until``, and perhaps at higher ones too.

    ``until`` is None where there is no upper end. ``open_below`` says that every lower threshold is as good. For ``second``, see
    ``plays_of_people``.
    """

    SECOND: ClassVar = ("threshold", "expected_wins")

    threshold: float
    until: float | None
    open_below: bool
    expected_wins: float
    second: dict[str, float] = {}


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

    ``heard`` of its questions were heard by a human team, and ``unscored`` of its answers have no score on the scale. Numbers of
    buzzes are over ``questions``, expected wins over ``counted`` of them, and what compares with teams over those ``heard``;
    ``second`` has these two without plays of people whose end nobody stated, if they differ.
    ``no_interval`` says why a value of ``intervals`` has none, by name.
    """

    SECOND: ClassVar = ("counted", "heard")

    questions: int
    counted: int
    heard: int
    items: int
    unscored: int
    outcome: ThresholdOutcome
    intervals: dict[str, OutcomeInterval]
    optimum: Optimum | None
    curve: ThresholdCurve | None
    missing: dict[str, str]
    no_interval: dict[str, str]
    second: dict[str, int] = msgspec.field(default_factory=dict)


class ThresholdExplorer(msgspec.Struct):
    """The threshold explorer. Some run has a score on each of ``scales``. ``human_curve`` is None under the polynomial."""

    scale: str
    scales: list[str]
    curve: str
    human_curve: str | None
    missing: str | None
    runs: list[RunThresholds]


def best_thresholds(snapshot: Snapshot, selection: Selection, rules: Rules) -> dict[str, float]:
    """Return each run's best threshold, as in the explorer. Runs without one, or with a threshold by the rules, are left out."""
    players = {player.run.run: player for player in read_buzzing(snapshot, selection, rules).runs}
    return {
        run: player.threshold
        for run, player in players.items()
        if player.buzzes is not None and player.threshold is not None and rules.threshold_of(run) is None
    }


def threshold_explorer(snapshot: Snapshot, data: BuzzingData, selection: Selection, rules: Rules) -> ThresholdExplorer:
    """Return buzzes, expected wins by threshold with their optimum, system score and win probability of each run.

    Expected wins are a mean over the questions that a run answered. Where they depend on people, only questions that a human
    team heard count. Under ``curve=dataset``, pi is 1 - h at the clue of the buzz, where h is the dataset's curve of teams unless
    ``human`` names another curve.
    """
    human = people_curve(snapshot, selection)
    units = read_units_at(snapshot, selection, data.positions)
    return ThresholdExplorer(
        scale=rules.scale,
        scales=_scales(snapshot, selection) if data.runs else [],
        curve=rules.curve,
        human_curve=human if rules.curve == "dataset" else None,
        missing=data.missing,
        runs=[_run(player, units) for player in data.runs],
    )


def _scales(snapshot: Snapshot, selection: Selection) -> list[str]:
    with_clauses, parameters = selection_clauses(selection)
    given = ", ".join(f"bool_or({score} is not null)" for score in SCORE.values())
    responses = selected_responses(snapshot, selection, parameters)
    rows = snapshot.rows(f"{with_clauses} select {given} from ({responses})", parameters)
    return [scale for scale, has_score in zip(SCORE, rows[0], strict=True) if has_score]


def _run(player: RunBuzzing, units: Units) -> RunThresholds:
    heard = int(player.heard.sum())
    missing = {}
    if not player.scored:
        missing["threshold"] = NO_LOGPROBS
    elif player.optimum is None:
        missing["optimum"] = NO_PEOPLE
        if player.threshold is None:
            missing["threshold"] = f"{NO_PEOPLE}: there is no best threshold; choose one"
    if not player.counted:
        missing["expected_wins"] = NO_PEOPLE
    if not heard:
        missing |= dict.fromkeys(("score", "win", "loss", "unsure"), NO_PEOPLE)
    outcome = _outcome(player, heard)
    if outcome.threshold is None:
        also = [name for name in ThresholdOutcome.__struct_fields__ if name not in ("threshold", "optimal")]
        missing |= dict.fromkeys(also, missing["threshold"])
    elif not outcome.buzzes:
        missing |= dict.fromkeys(("accuracy", "revealed"), "no score is above the threshold")
    intervals, no_interval = _intervals(player, units)
    return RunThresholds(
        *player.run,
        questions=len(player.questions),
        counted=player.counted,
        heard=heard,
        items=len(player.score),
        unscored=int(np.isnan(player.score).sum()),
        outcome=outcome,
        intervals=intervals,
        optimum=_optimum(player),
        curve=_curve(player, heard) if player.scored else None,
        missing=missing,
        no_interval={name: reason for name, reason in no_interval.items() if name not in missing},
    )


def _outcome(player: RunBuzzing, heard: int) -> ThresholdOutcome:
    """Compute the outcome from the buzzes themselves, not from the curve, which adds up differences."""
    optimal = player.rules.threshold_of(player.run.run) is None
    if player.buzzes is None or player.threshold is None:
        return ThresholdOutcome(None, optimal)
    at, correct, opponents = player.at[player.buzzes], player.correct[player.buzzes], player.clue_table.opponents
    right, count = float(correct.sum()), len(correct)
    people = opponents.people[
        player.clue_table.first[player.questions]
    ]  # without a buzz, the team wins if it ever answers correctly
    buzzed = np.isin(player.questions, player.question[player.buzzes], assume_unique=True)
    loss = float(np.nansum(people[~buzzed])) + float(
        np.nansum(correct * (1 - opponents.first[at]) + (1 - correct) * people[buzzed])
    )
    return ThresholdOutcome(
        threshold=player.threshold,
        optimal=optimal,
        buzzes=count,
        no_buzz=len(player.questions) - count,
        correct=right,
        incorrect=float((1 - correct).sum()),
        accuracy=right / count if count else None,
        revealed=float(player.clue_table.revealed[at].mean()) if count else None,
        expected_wins=_mean(player.wins[player.buzzes], player.counted),
        score=_mean(expected_points(opponents, correct, at), heard),
        win=_mean(correct * opponents.first[at], heard),
        loss=loss / heard if heard else None,
        unsure=_mean(correct * opponents.unsure[at], heard),
    )


def _intervals(player: RunBuzzing, units: Units) -> tuple[dict[str, OutcomeInterval], dict[str, str]]:
    """Return intervals of the means in ``_outcome``, by the bootstrap over units or, of few units, the jackknife; or why not."""
    if player.buzzes is None:
        return {}, {}
    opponents, questions, rows = player.clue_table.opponents, player.questions, player.buzzes
    at, correct = player.at[rows], player.correct[rows]
    place = np.searchsorted(questions, player.question[rows])

    def of_questions(worth: Floats, otherwise: Floats | float = 0.0) -> Floats:
        """Return the value of each question: that of its buzz, or ``otherwise`` without a buzz."""
        values = np.broadcast_to(otherwise, len(questions)).astype(float)
        values[place] = worth
        return values

    known = opponents.people[player.clue_table.first[questions]]
    loss = correct * (1 - opponents.first[at]) + (1 - correct) * known[place]
    everything = np.ones(len(questions), dtype=bool)
    means = {
        "expected_wins": (
            of_questions(player.wins[rows]), everything if player.rules.curve == "polynomial" else player.heard, 0.0, 1.0
        ),
        "score": (of_questions(expected_points(opponents, correct, at)), player.heard, float(NEG), float(TOSSUP)),
        "win": (of_questions(correct * opponents.first[at]), player.heard, 0.0, 1.0),
        "loss": (of_questions(loss, known), player.heard, 0.0, 1.0),
    }  # fmt: skip
    intervals, reasons = {}, {}
    for name, (values, counted, low, high) in means.items():
        few = too_few_units(len(np.unique(units.of_questions[questions[counted]])), int(counted.sum()))
        if few:
            reasons[name] = few
        else:
            intervals[name] = OutcomeInterval(
                *mean_interval(np.nan_to_num(values[counted]), questions[counted], units, low, high)
            )
    return intervals, reasons


def mean_interval(values: Floats, places: Ints, units: Units, low: float, high: float) -> tuple[float, float]:
    """Return the 95 % interval of a mean over questions, by the methods of ``queries.engine.intervals_and_difference_tests``.

    The questions are in at least two units; ``places`` are theirs among all selected ones. A jackknife interval is cut off at
    ``low`` and ``high``.
    """
    unit = np.unique(units.of_questions[places], return_inverse=True)[1]
    sizes = np.bincount(unit)
    if len(sizes) < SMALL_SAMPLE:
        mean, sums = values.mean(), np.bincount(unit, values)
        without = (values.sum() - sums) / (len(values) - sizes)
        pseudo_values = values if units.are_questions else len(sizes) * mean - (len(sizes) - 1) * without
        ends = jackknife_t_interval(np.asarray(mean), pseudo_values)
        return max(float(ends[0]), low), min(float(ends[1]), high)
    columns = np.stack([values, np.ones(len(values))], axis=-1)
    totals = resample(units.drawn[places], np.zeros(len(values), np.int64), 1, units.drawn_from, columns)[:, 0]
    (first,), (last,), _ = percentile_interval(ratio(totals[:, :1], totals[:, 1:]))
    return float(first), float(last)


def _mean(values: Floats, count: int) -> float | None:
    """Return the sum of some values, NaN counting as 0, divided by a number of questions; None for no questions."""
    return float(np.nansum(values)) / count if count else None


def _optimum(player: RunBuzzing) -> Optimum | None:
    best = player.optimum
    if best is None:
        return None
    threshold = representative_threshold(best)
    from_buzzes = player.wins[player.passing.rows[(player.passing.low <= threshold) & (threshold < player.passing.high)]]
    return Optimum(
        threshold=threshold,
        until=best.high if np.isfinite(best.high) else None,
        open_below=bool(np.isinf(best.low)),
        expected_wins=float(np.nansum(from_buzzes)) / player.counted,
    )


def _curve(player: RunBuzzing, heard: int) -> ThresholdCurve:
    thresholds, totals = player.steps
    listed = np.arange(len(thresholds))
    if len(listed) > MAX_STEPS:
        listed = np.round(np.linspace(0, len(thresholds) - 1, MAX_STEPS)).astype(np.int64)
        if player.optimum is not None:
            listed = np.union1d(listed, np.searchsorted(thresholds, player.optimum.low))
    shown = thresholds[listed]
    if np.isinf(shown[0]):  # log-probabilities have no lowest threshold: show one that everything passes
        shown[0] = shown[1] - 1 if len(shown) > 1 else 0.0
    wins, score, win = (totals[listed] / np.array([player.counted or 1, heard or 1, heard or 1])).T.tolist()
    return ThresholdCurve(
        steps=len(thresholds),
        thresholds=shown.tolist(),
        expected_wins=wins if player.counted else None,
        score=score if heard else None,
        win=win if heard else None,
    )


class Buzzpoint(msgspec.Struct):
    """Where a run buzzes: at the first clue, counted from 0, whose score is strictly above its threshold; None if there is none.

    ``best`` says that no threshold was asked for and it is the run's best one on the selection.
    """

    threshold: float | None
    best: bool
    clue: int | None
    missing: str | None


def buzzpoint(clue: Ints, score: Floats, threshold: float | None, best: float | None = None) -> Buzzpoint:
    """Return the buzzpoint of a run in one question.

    Answers are in order of their clues, shape (answers,); unknown scores are NaN. ``best`` is used if no threshold was asked for.
    It must come from more questions than this one: a threshold that is best on one question says nothing about the run.

    Example:
        >>> buzzpoint(np.array([0, 1, 2]), np.array([0.2, 0.6, 0.9]), threshold=0.5)
        Buzzpoint(threshold=0.5, best=False, clue=1, missing=None)
    """
    used = best if threshold is None else threshold
    scored = bool(np.isfinite(score).any())
    if used is None or not scored:
        return Buzzpoint(None, False, None, "this selection has no best threshold: choose one" if scored else NO_LOGPROBS)
    passing = possible_buzzpoints(np.zeros(len(score), np.int64), score)
    first = clue[buzzpoints_at(passing, used)]
    return Buzzpoint(used, threshold is None, int(first[0]) if len(first) else None, None)
