"""What is said first of the runs of a selection is true, and says whether a test supports it."""

from functools import cache

import numpy as np
import pytest

from clueline.queries.engine.ranked_metric_rows import MetricCell, metric_cells
from clueline.queries.findings import findings, leaves_out_zero, simultaneous_interval, surest_early_mistake
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.question import question
from clueline.queries.questions import ordered_questions
from clueline.queries.selection import Selection
from tests.helpers.simulated_evidence import evidence_of
from tests.helpers.simulation import board

OVERCONFIDENCE = CATALOGUE["overconfidence"]
MIN_TEAMS = "clueline.queries.findings.MIN_TEAMS"


def plain_search(snapshot, selection):
    best = None
    for name in ordered_questions(snapshot, selection).questions:
        shown = question(snapshot, selection, name)
        if shown.human is None or not shown.human.team_share[-1]:
            continue
        for run in shown.runs:
            for answer in run.clues:
                if not answer.failed and answer.correct == 0 and shown.human.team_share[answer.clue] == 0:
                    rank = (shown.human.team_share[-1] >= 0.5, answer.confidence)
                    if best is None or rank > best[0]:
                        guesses = [other for each in shown.runs for other in each.clues if other.clue == answer.clue]
                        wrong = sum(other.correct == 0 for other in guesses)
                        best = rank, name, answer.clue, run.run, answer.guess, wrong, len(guesses)
    return best


def test_the_surest_mistake_is_that_of_a_plain_search(snapshot, monkeypatch):
    monkeypatch.setattr(MIN_TEAMS, 1)
    selection = Selection(dataset="relay")
    surest = surest_early_mistake(snapshot, selection)
    rank, name, clue, _, _, wrong, runs = plain_search(snapshot, selection)
    assert (surest.right / surest.teams >= 0.5, surest.confidence) == rank
    people = question(snapshot, selection, name).human
    assert (surest.teams, surest.right) == (people.teams, sum(buzz.correct for buzz in people.buzzes))
    assert (surest.question_id, surest.clue, surest.wrong, surest.runs) == (name, clue, wrong, runs)
    assert surest_early_mistake(snapshot, Selection(dataset="spans")) is None, "without people there is none"


def test_few_teams_make_no_headline(snapshot, monkeypatch):
    selection = Selection(dataset="relay")
    teams = max(teams for (teams,) in snapshot.rows("select teams from curves where dataset = 'relay' and team_share > 0"))
    for at_least, told in ((teams, True), (teams + 1, False)):
        monkeypatch.setattr(MIN_TEAMS, at_least)
        assert (surest_early_mistake(snapshot, selection) is not None) == told


def test_where_people_played_it_is_the_surest_early_mistake(bundled):
    finding = findings(bundled, Selection("pyramid")).finding
    assert finding.about == "early_mistake" and finding.run == finding.mistake.run
    assert finding.mistake.confidence > 0.9 and finding.mistake.wrong > 0


@pytest.mark.parametrize(("dataset", "key", "side"), [("lifeeval", "overconfidence", 1), ("tone", "ent_ce", -1)])
def test_elsewhere_it_is_the_run_that_is_most_too_sure(bundled, dataset, key, side):
    finding = findings(bundled, Selection(dataset)).finding
    cells = {row.run: row.metrics[key] for row in leaderboard(bundled, Selection(dataset), [CATALOGUE[key]], True).rows}
    assert finding.about == "gap" and finding.metric == key and finding.shown
    assert side * finding.value == max(side * cell.value for cell in cells.values())
    cell = cells[finding.run]
    assert finding.value == cell.value and finding.low < cell.low < cell.high < finding.high, "for all runs together"
    assert findings(bundled, Selection(dataset, model=("nobody",))).finding is None


@pytest.mark.parametrize(("low", "high"), [(None, None), (0.0, 0.0), (-0.1, 0.3)])
def test_an_interval_that_holds_0_shows_nothing(low, high):
    assert not leaves_out_zero(simultaneous_interval(MetricCell(0.1, None, 9, low=low, high=high), OVERCONFIDENCE, 1))


@pytest.mark.parametrize("runs", [1, 10])
def test_calibrated_runs_are_rarely_called_overconfident(runs):
    """In 4,000 boards of calibrated runs, the share with a claim is at most .05, up to noise."""
    chance = np.random.default_rng(7)
    confidence = chance.uniform(0.3, 1, (4000, runs, 200))
    errors = confidence - (chance.random(confidence.shape) < confidence)
    means, reach = errors.mean(-1), 1.96 * errors.std(-1, ddof=1) / np.sqrt(200)
    claims, named = 0, 0
    for mean, half in zip(means, reach, strict=True):
        cells = [MetricCell(m, None, 200, low=m - r, high=m + r) for m, r in zip(mean.tolist(), half.tolist(), strict=True)]
        intervals = [simultaneous_interval(cell, OVERCONFIDENCE, runs) for cell in cells]
        claims += any(leaves_out_zero(interval) for interval in intervals)
        low, high = intervals[int(np.abs(mean).argmax())]
        named += low <= 0 <= high
    assert claims / 4000 < 0.06 and named / 4000 > 0.94
    assert runs == 1 or np.mean(np.abs(means).max(axis=1) <= reach[np.arange(4000), np.abs(means).argmax(axis=1)]) < 0.7


@pytest.mark.parametrize("questions", [30, 300])
def test_the_interval_of_the_largest_gap_holds(questions):
    """Of twelve equally good runs; the interval of that run alone would be false on a third of the boards and more."""
    random, alone, together = np.random.default_rng(3), 0, 0
    for _ in range(60):
        confidence, correct = board(random, 12, questions, 1, 0.3)
        evidence = evidence_of((confidence, correct, np.zeros_like(correct)))
        cells = metric_cells(OVERCONFIDENCE, evidence, intervals=True)
        largest = max(cells, key=lambda cell: abs(cell.value))
        low, high = simultaneous_interval(largest, OVERCONFIDENCE, 12)
        truth = _true_gap()
        together += low <= truth <= high
        alone += largest.low <= truth <= largest.high
    assert together >= 57 - 3 and alone < together


@cache
def _true_gap():
    confidence, correct = board(np.random.default_rng(1), 1, 400_000, 1, 0.3)
    return float((confidence - correct).mean())
