"""Simulated tournaments and buzz outcomes with a known truth, and how often claims about them hold."""

import numpy as np

from clueline.queries.buzzing.thresholds import mean_interval
from clueline.queries.engine.bootstrap import LEVEL, SIGNIFICANCE
from clueline.queries.engine.units import Units
from clueline.queries.metrics.kernels.team_buzzes import equal_teams_test
from tests.helpers.simulation import Measurement


def tournament(random, teams, questions, skill):
    """Simulate a tournament. In each round, teams are paired at random and hear the same question; at most one per room is right.

    Args:
        random: a random number generator.
        teams: number of teams, even.
        questions: number of questions.
        skill: added to the chance that a team knows an answer, shape (teams,).

    Returns:
        Question, team and whether it was right, each of shape (questions * teams,).
    """
    question, team, right = [], [], []
    for number in range(questions):
        order = random.permutation(teams).reshape(-1, 2)
        knows = random.random(order.shape) < np.clip(random.beta(2, 2) + skill[order], 0, 1)
        first = np.where(knows.all(axis=1), random.integers(0, 2, len(order)), knows.argmax(axis=1))
        won = np.zeros(order.shape)
        won[np.arange(len(order)), first] = knows.any(axis=1)
        question += [number] * teams
        team += order.ravel().tolist()
        right += won.ravel().tolist()
    return np.array(question), np.array(team), np.array(right)


def equal_teams(boards, seed, sizes=((4, 30), (12, 20), (16, 60))):
    """Measure how often equally good teams are found to differ."""
    for teams, questions in sizes:
        random = np.random.default_rng((seed, teams, questions))
        p_values = np.array([equal_teams_test(*tournament(random, teams, questions, np.zeros(teams))) for _ in range(boards)])
        setting = f"{teams} teams in rooms of two, {questions} questions"
        yield Measurement("equal teams: p < .05", setting, SIGNIFICANCE, (p_values < SIGNIFICANCE).mean(), boards, "test")


def outcome_intervals(boards, seed, sizes=(30, 60, 200)):
    """Measure how often the interval of a run's wins contains the true share.

    Four in ten questions are never won; the others are mostly won.
    """
    for questions in sizes:
        random, covered = np.random.default_rng((seed, questions)), 0
        places = np.arange(questions)
        units = Units.single(places)
        for _ in range(boards):
            values = np.where(random.random(questions) < 0.4, 0.0, random.beta(2, 1, questions))
            low, high = mean_interval(values, places, units, 0.0, 1.0)
            covered += low <= 0.6 * 2 / 3 <= high
        yield Measurement("interval of wins against people", f"{questions} questions", LEVEL, covered / boards, boards)
