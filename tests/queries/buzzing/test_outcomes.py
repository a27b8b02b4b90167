"""Intervals of outcomes, outcomes by category, and the test of whether teams differ; ``tests/statistics`` simulates promises."""

import numpy as np
import pytest
from scipy.stats import chi2

from clueline.queries.buzzing import Rules, buzz, category_outcomes
from clueline.queries.metrics.kernels.team_buzzes import equal_teams_test
from clueline.queries.selection import Selection

PYRAMID = Selection("pyramid")


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
        for run in buzz(bundled, selection, rules).explorer.runs:
            assert set(run.intervals) == {"expected_wins", "score", "win", "loss"}
            for name, ends in run.intervals.items():
                value = getattr(run.outcome, name)
                assert ends.low <= value <= ends.high, name
                assert ends.low < ends.high or value == 0, name
    explorer = buzz(bundled, selection.replace(questions=("lit-01",), category=()), Rules(threshold=0.1)).explorer
    assert all(run.intervals == {} for run in explorer.runs), "a single question has no interval"


def test_quartiles_are_shown_where_teams_differ(bundled, snapshot):
    for store, dataset in ((bundled, "pyramid"), (snapshot, "relay")):
        curves = buzz(store, Selection(dataset), Rules()).curves
        quartiles = [curve for curve in curves.curves if curve.kind == "human" and curve.name != "people"]
        assert len(quartiles) == 4 and curves.teams_p is not None
        shown = [curve.missing is None or "no team is in this" in curve.missing for curve in quartiles]
        assert shown == [curves.teams_p < 0.05] * 4
        if curves.teams_p >= 0.05:
            assert all(curve.missing == _alike(curves.teams_p) for curve in quartiles)


def _alike(p):
    return f"no clear difference between the teams in how often they are right: p = {p:.2f}"


# -- correct and incorrect buzzes by category ------------------------------------------------------------------------------


def test_people_are_counted_by_category(bundled):
    people = next(group for group in category_outcomes(bundled, PYRAMID, Rules()).groups if group.kind == "human")
    rows = bundled.rows(
        """select q.category, count(*), count(*) filter (b.correct), count(*) filter (not b.correct)
        from exposures e join questions q using (dataset, question_id)
        left join buzzes b using (dataset, question_id, match_id, team)
        where e.dataset = 'pyramid' and e.team_kind = 'human' group by 1 order by 1"""
    )
    assert [(part.category, part.heard, part.correct, part.incorrect) for part in people.categories] == rows
    for part in people.categories:
        assert part.ratio == (pytest.approx(part.correct / part.incorrect) if part.incorrect else None)


@pytest.mark.parametrize("rules", [Rules(), Rules(threshold=0.3)])
def test_runs_buzz_as_their_thresholds_say(bundled, rules):
    """By category, the counts are those of the threshold explorer on that category at the same threshold."""
    result = category_outcomes(bundled, PYRAMID, rules)
    runs = [group for group in result.groups if group.kind == "run"]
    whole = buzz(bundled, PYRAMID, rules).explorer.runs
    assert [(group.name, group.threshold) for group in runs] == [(run.run, run.outcome.threshold) for run in whole]
    for group, run in zip(runs, whole, strict=True):
        for name in ("correct", "incorrect"):
            assert sum(getattr(part, name) for part in group.categories) == getattr(run.outcome, name)
    at = Rules(threshold=runs[0].threshold)
    for part in runs[0].categories:
        (run, *_) = buzz(bundled, PYRAMID.replace(category=(part.category,)), at).explorer.runs
        assert (run.questions, run.outcome.correct, run.outcome.incorrect) == (part.heard, part.correct, part.incorrect)


def test_a_dataset_not_asked_clue_by_clue_has_no_categories(bundled):
    result = category_outcomes(bundled, Selection("lifeeval"), Rules())
    assert result.missing and (result.categories, result.groups) == ([], [])
