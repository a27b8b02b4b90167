"""Intervals of buzzing outcomes, and the test of whether teams differ; ``tests/statistics`` simulates both."""

import numpy as np
import pytest
from scipy.stats import chi2

from queries.buzzing import Rules, buzz_curves, threshold_explorer
from queries.metrics.kernels.team_buzzes import equal_teams_test
from queries.selection import Selection


def test_the_test_of_teams_is_that_of_its_definition():
    """Two groups of teams that never meet, and a team that hears a question twice, against the pseudo-inverse covariance."""
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
    explorer = threshold_explorer(bundled, selection.replace(questions=("lit-01",), category=()), Rules(threshold=0.1))
    assert all(run.intervals == {} for run in explorer.runs), "a single question has no interval"


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
    return f"no clear difference between the teams in how often they are right: p = {p:.2f}"
