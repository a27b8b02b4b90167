"""The threshold explorer: what comes of each threshold of each run."""

from __future__ import annotations

import numpy as np

from data.store import Snapshot
from queries.buzzing.clues import PEOPLE_CURVE
from queries.buzzing.results import Optimum, RunThresholds, ThresholdCurve, ThresholdExplorer, ThresholdOutcome
from queries.buzzing.rules import Rules
from queries.buzzing.runs import NO_LOGPROBS, NO_PEOPLE, BuzzingData, RunBuzzing, read_buzzing, representative_threshold
from queries.engine.select import chosen, kept_responses
from queries.metrics.kernels.arrays import Floats
from queries.metrics.kernels.opponents import expected_points
from queries.selection import Selection

SCORE = {"confidence": "confidence", "logprob": "token_logprobs"}
MOST_STEPS = 400  # listed of a curve


def threshold_explorer(snapshot: Snapshot, selection: Selection, rules: Rules) -> ThresholdExplorer:
    """Buzzpoints, expected wins over the threshold with their optimum, system score and win probability of each run.

    Expected wins are a mean over the questions that a run answered; where they depend on people, over those that a human team
    heard, too. Under ``curve=dataset``, pi is 1 - h at the clue of the buzz, h being the share of teams
    unless ``human`` says otherwise.
    """
    return of_play(snapshot, read_buzzing(snapshot, selection, rules), selection, rules)


def of_play(snapshot: Snapshot, found: BuzzingData, selection: Selection, rules: Rules) -> ThresholdExplorer:
    """The same, of what is read already."""
    human = selection.conventions.human or PEOPLE_CURVE
    return ThresholdExplorer(
        scale=rules.scale,
        scales=_scales(snapshot, selection) if found.runs else [],
        curve=rules.curve,
        human_curve=human if rules.curve == "dataset" else None,
        missing=found.missing,
        runs=[_run(said) for said in found.runs],
    )


def _scales(snapshot: Snapshot, selection: Selection) -> list[str]:
    """Those on which some run has a score."""
    with_clauses, parameters = chosen(selection)
    given = ", ".join(f"bool_or({score} is not null)" for score in SCORE.values())
    found = snapshot.rows(f"{with_clauses} select {given} from ({kept_responses(selection, parameters)})", parameters)
    return [scale for scale, there in zip(SCORE, found[0], strict=True) if there]


def _run(said: RunBuzzing) -> RunThresholds:
    heard = int(said.heard.sum())
    missing = {}
    if not said.scored:
        missing["threshold"] = NO_LOGPROBS
    elif said.optimum is None:
        missing["optimum"] = NO_PEOPLE
        if said.threshold is None:
            missing["threshold"] = f"{NO_PEOPLE}: there is no best threshold; give one"
    if not said.counted:
        missing["expected_wins"] = NO_PEOPLE
    if not heard:
        missing |= dict.fromkeys(("score", "win", "loss", "unsure"), NO_PEOPLE)
    outcome = _outcome(said, heard)
    if outcome.threshold is None:
        also = [name for name in ThresholdOutcome.__struct_fields__ if name not in ("threshold", "optimal")]
        missing |= dict.fromkeys(also, missing["threshold"])
    elif not outcome.buzzes:
        missing |= dict.fromkeys(("accuracy", "revealed"), "no score is above the threshold")
    return RunThresholds(
        run=said.run.run, model=said.run.model, elicitation=said.run.elicitation, questions=len(said.questions), heard=heard,
        items=len(said.score), unscored=int(np.isnan(said.score).sum()), outcome=outcome, optimum=_optimum(said),
        curve=_curve(said, heard) if said.scored else None, missing=missing,
    )  # fmt: skip


def _outcome(said: RunBuzzing, heard: int) -> ThresholdOutcome:
    """Computed from the buzzes themselves, not from the curve, which adds up differences."""
    optimal = said.rules.of(said.run.run) is None
    if said.buzzes is None or said.threshold is None:
        return ThresholdOutcome(None, optimal)
    at, correct, met = said.at[said.buzzes], said.correct[said.buzzes], said.board.room
    right, count = float(correct.sum()), len(correct)
    people = met.people[said.board.first[said.questions]]  # without a buzz, the team wins if it ever answers correctly
    buzzed = np.isin(said.questions, said.question[said.buzzes], assume_unique=True)
    loss = float(np.nansum(people[~buzzed])) + float(np.nansum(correct * (1 - met.first[at]) + (1 - correct) * people[buzzed]))
    return ThresholdOutcome(
        threshold=said.threshold,
        optimal=optimal,
        buzzes=count,
        no_buzz=len(said.questions) - count,
        correct=right,
        incorrect=float((1 - correct).sum()),
        accuracy=right / count if count else None,
        revealed=float(said.board.revealed[at].mean()) if count else None,
        expected_wins=_mean(said.wins[said.buzzes], said.counted),
        score=_mean(expected_points(met, correct, at), heard),
        win=_mean(correct * met.first[at], heard),
        loss=loss / heard if heard else None,
        unsure=_mean(correct * met.unsure[at], heard),
    )


def _mean(values: Floats, count: int) -> float | None:
    """Mean over so many questions of what there is; NaN is a question that does not count."""
    return float(np.nansum(values)) / count if count else None


def _optimum(said: RunBuzzing) -> Optimum | None:
    found = said.optimum
    if found is None:
        return None
    threshold = representative_threshold(found)
    from_buzzes = said.wins[said.passing.rows[(said.passing.low <= threshold) & (threshold < said.passing.high)]]
    return Optimum(
        threshold=threshold,
        until=found.high if np.isfinite(found.high) else None,
        open_below=bool(np.isinf(found.low)),
        expected_wins=float(np.nansum(from_buzzes)) / said.counted,
    )


def _curve(said: RunBuzzing, heard: int) -> ThresholdCurve:
    thresholds, totals = said.steps
    kept = np.arange(len(thresholds))
    if len(kept) > MOST_STEPS:
        kept = np.round(np.linspace(0, len(thresholds) - 1, MOST_STEPS)).astype(np.int64)
        if said.optimum is not None:
            kept = np.union1d(kept, np.searchsorted(thresholds, said.optimum.low))
    shown = thresholds[kept]
    if np.isinf(shown[0]):  # log-probabilities have no lowest threshold: one that lets everything pass
        shown[0] = shown[1] - 1 if len(shown) > 1 else 0.0
    wins, score, win = (totals[kept] / np.array([said.counted or 1, heard or 1, heard or 1])).T.tolist()
    return ThresholdCurve(
        steps=len(thresholds),
        thresholds=shown.tolist(),
        expected_wins=wins if said.counted else None,
        score=score if heard else None,
        win=win if heard else None,
    )
