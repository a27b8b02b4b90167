"""What buzzing claims about teams and outcomes, in simulations where the truth is known and on the bundled data."""

import numpy as np
import pytest
from scipy.stats import chi2

from queries.buzzing import Rules, buzz_curves, threshold_explorer
from queries.buzzing.thresholds import mean_interval
from queries.metrics.kernels.opponents import equal_teams_test
from queries.selection import Selection


def rooms_of_two(chance, teams, questions, skill):
    """A tournament: in each round, teams are paired by lot and hear the same question; the better one is right more often."""
    question, team, right = [], [], []
    for number in range(questions):
        known = chance.beta(2, 2)
        order = chance.permutation(teams).reshape(-1, 2)
        knows = chance.random(order.shape) < np.clip(known + skill[order], 0, 1)
        first = np.where(knows.all(axis=1), chance.integers(0, 2, len(order)), knows.argmax(axis=1))
        won = np.zeros(order.shape)
        won[np.arange(len(order)), first] = knows.any(axis=1)
        question += [number] * teams
        team += order.ravel().tolist()
        right += won.ravel().tolist()
    return np.array(question), np.array(team), np.array(right)


@pytest.mark.parametrize(("teams", "questions"), [(4, 30), (12, 20), (16, 60)])
def test_equal_teams_are_told_apart_one_time_in_twenty(teams, questions):
    chance = np.random.default_rng(13)
    p_values = np.array([equal_teams_test(*rooms_of_two(chance, teams, questions, np.zeros(teams))) for _ in range(600)])
    assert 0.03 <= (p_values < 0.05).mean() <= 0.07
    assert 0.43 <= (p_values < 0.5).mean() <= 0.57


def test_different_teams_are_told_apart():
    chance, skill = np.random.default_rng(7), np.linspace(-0.3, 0.3, 12)
    p_values = [equal_teams_test(*rooms_of_two(chance, 12, 60, skill)) for _ in range(60)]
    assert np.mean(np.array(p_values) < 0.05) > 0.95


def test_the_test_of_teams_is_that_of_its_definition():
    """Two groups of teams that never meet, and a team that hears a question twice; by the pseudo-inverse of the covariance."""
    chance = np.random.default_rng(5)
    question = np.repeat(np.arange(40), 5)
    team = np.concatenate([chance.permutation(8)[:5] + 8 * (number % 2) for number in range(40)])
    team[0] = team[1]
    right = (chance.random(200) < 0.5).astype(float)
    excess, covariance = np.zeros(16), np.zeros((16, 16))
    for number in range(40):
        at = question == number
        p, times = right[at].mean(), np.bincount(team[at], minlength=16).astype(float)
        excess += np.bincount(team[at], right[at] - p, 16)
        covariance += p * (1 - p) * 5 / 4 * (np.diag(times) - np.outer(times, times) / 5)
    assert np.linalg.matrix_rank(covariance) == 14
    expected = chi2.sf(excess @ np.linalg.pinv(covariance) @ excess, 14)
    assert equal_teams_test(question, team, right) == pytest.approx(expected, rel=1e-6)


def test_some_teams_cannot_be_compared():
    alone = np.arange(5), np.zeros(5, int), np.array([1, 0, 1, 1, 0])
    assert np.isnan(equal_teams_test(*alone))
    assert np.isnan(equal_teams_test(np.zeros(0, int), np.zeros(0, int), np.zeros(0)))
    nobody_right = np.repeat([0, 1], 2), np.array([0, 1, 0, 1]), np.zeros(4)
    assert np.isnan(equal_teams_test(*nobody_right))


@pytest.mark.parametrize("questions", [30, 60, 200])
def test_intervals_of_outcomes_cover(questions):
    """Shares of wins of one question are anything from 0 to 1, and often 0."""
    chance, covered = np.random.default_rng(questions), []
    for _ in range(400):
        values = np.where(chance.random(questions) < 0.4, 0.0, chance.beta(2, 1, questions))
        low, high = mean_interval(values, np.arange(questions), questions, 0.0, 1.0)
        covered.append(low <= 0.6 * 2 / 3 <= high)
    assert 0.92 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("few", [True, False])
def test_outcomes_lie_in_their_intervals(bundled, few):
    selection = Selection("pyramid", category=("Arts",) if few else ())
    for rules in (Rules(), Rules(curve="dataset", threshold=0.4)):
        for run in threshold_explorer(bundled, selection, rules).runs:
            assert set(run.intervals) == {"expected_wins", "score", "win", "loss"}
            for name, ends in run.intervals.items():
                value = getattr(run.outcome, name)
                assert ends.low <= value <= ends.high, name
                assert ends.low < ends.high or value == 0, name
    one = threshold_explorer(bundled, selection.replace(questions=("lit-01",), category=()), Rules(threshold=0.1))
    assert all(run.intervals == {} for run in one.runs), "a single question has no interval"


def test_quartiles_are_shown_where_teams_differ(bundled, snapshot):
    for store, dataset in ((bundled, "pyramid"), (snapshot, "relay")):
        curves = buzz_curves(store, Selection(dataset), Rules())
        quartiles = [curve for curve in curves.curves if curve.kind == "human" and curve.name != "people"]
        assert len(quartiles) == 4 and curves.teams_p is not None
        shown = [curve.missing is None or "no team is in this" in curve.missing for curve in quartiles]
        assert shown == [curves.teams_p < 0.05] * 4
        if curves.teams_p >= 0.05:
            assert all(curve.missing == _alike(curves.teams_p) for curve in quartiles)


def _alike(p):
    return f"the teams cannot be told apart by how often they are right: p = {p:.2f}"
