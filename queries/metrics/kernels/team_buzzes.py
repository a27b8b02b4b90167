"""Kernels that compare a player with human teams: who buzzes first, cumulative buzzes along a question, and groups of teams."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import chdtrc

from clueline.queries.metrics.kernels.arrays import Floats, Ints, ratio

TOSSUP, NEG = 10.0, -5.0  # points of a correct buzz, and of an incorrect one before the end


class Opponents(NamedTuple):
    """Outcome probabilities of a buzz at the end of each clue, against a random team that heard the question.

    Each array has shape (clues,) and values in [0, 1], NaN where no team heard the question.

    Attributes:
        first: probability that a correct buzz wins the question.
        unpenalised: probability that an incorrect buzz costs nothing.
        unsure: probability that the team's record ends before the buzz, so that it is unknown what the team would have done.
            ``first`` includes it, as if the team had not answered; ``first - unsure`` is the pessimistic version.
        people: probability that the team answers correctly at any time.
    """

    first: Floats
    unpenalised: Floats
    unsure: Floats
    people: Floats


def opponent_probabilities(
    question: Ints, teams: Floats, correct: Floats, incorrect: Floats, late: Floats, left: Floats
) -> Opponents:
    """Compute the outcome of a buzz at each clue against every team that heard the question, by exact enumeration.

    The game is one tossup between the player and one team, which does what it did in its own match. The first correct answer
    wins 10 points and ends the tossup. An incorrect answer locks its giver out, and costs 5 points if it comes before the end and
    nobody has answered incorrectly before (one penalty per tossup, as in quizbowl).

    A player buzzes once the words of its clue have been read: a team's buzz inside the clue comes before the player's, a buzz at
    a later word after it. The question ends with its last clue. There an incorrect answer costs nothing, and a team's buzz after
    the end coincides with the player's, so that either is first with probability 1/2.

    Args:
        question: number of each clue's question, non-decreasing; clues of a question in order. Arrays have shape (clues,).
        teams: number of teams that heard the question of each clue.
        correct, incorrect: number of buzzes of these teams inside each clue. Buzzes after the end count in the last clue.
        late: number of the correct buzzes that came after the end.
        left: number of teams without a buzz whose question was ended during each clue.
    """
    ends = np.flatnonzero(np.diff(question, append=-1))
    last = np.zeros(len(question), bool)
    last[ends] = True
    right, buzzed = _running(correct, question), _running(correct + incorrect, question)
    return Opponents(
        first=ratio(teams - right + late / 2, teams),
        unpenalised=np.where(last & (teams > 0), 1.0, ratio(buzzed, teams)),
        unsure=ratio(_running(left, question), teams),
        people=ratio(right[ends][np.searchsorted(question[ends], question)], teams),
    )


def expected_points(opponents: Opponents, correct: Floats, at: Ints) -> Floats:
    """Compute the system score of buzzes: 10 for a correct buzz that comes first, -5 for an incorrect one before the end.

    Source: GRACE sec. 4. ``correct`` is a probability, and ``at`` the index of the clue of each buzz, shape (n,). Points are
    expected over the teams, in [-5, 10], shape (n,); NaN where no team heard the question.
    """
    return TOSSUP * correct * opponents.first[at] + NEG * (1 - correct) * (1 - opponents.unpenalised[at])


def cumulative_weight(revealed: Floats, weight: Floats, grid: Floats) -> Floats:
    """Compute the total weight of the buzzes up to each fraction of the question. GRACE fig. 4.

    ``revealed``, shape (n,), is the fraction at each buzz, at most the last one of the ascending ``grid``, shape (m,).

    >>> cumulative_weight(np.array([0.2, 0.9]), np.array([1.0, 1.0]), np.array([0.0, 0.5, 1.0]))
    array([0., 1., 2.])
    """
    return np.cumsum(np.bincount(np.searchsorted(grid, revealed), weight, len(grid)))


def quartiles(total: ArrayLike) -> Ints:
    """Assign each team to a quartile by its total of correct buzzes, as in the released analysis of GRACE.

    The cuts are the 25th, 50th and 75th percentiles (linear interpolation). A team on a cut belongs below it, so equal totals are
    never separated. With few teams or many ties, a quartile, from 1 (fewest) to 4, can be empty.

    >>> quartiles([1, 2, 3, 4])
    array([1, 2, 3, 4])
    """
    totals = np.asarray(total, float)
    cuts = np.percentile(totals, [25, 50, 75]) if len(totals) else np.zeros(3)
    return np.searchsorted(cuts, totals) + 1


def equal_teams_test(question: Ints, team: Ints, right: ArrayLike) -> float:
    """Test whether teams differ in how often they are right, by the generalised Cochran-Mantel-Haenszel test.

    Under the null hypothesis, the teams that are right on a question are a random sample of the teams that heard it. The teams'
    totals then have known means and covariances, and their squared distance from the means is approximately chi-squared.
    Pairs of a team and a question it heard have shape (n,), both numbered from 0. The p-value is NaN if no question distinguishes
    teams, for example with a single team. Source: Landis, Heyman & Koch 1978; Agresti, Categorical Data Analysis, sec. 8.4.

    Two teams, where only the first is right on each of ten questions:

    >>> teams, questions = np.tile([0, 1], 10), np.repeat(np.arange(10), 2)
    >>> round(equal_teams_test(questions, teams, teams == 0), 4)
    0.0016
    """
    right = np.asarray(right, float)
    if not len(team):
        return float("nan")
    heard, total = np.bincount(question).astype(float), np.bincount(question, right)
    share = np.divide(total, heard, out=np.zeros_like(total), where=heard > 0)
    spread = np.divide(share * (1 - share) * heard, heard - 1, out=np.zeros_like(total), where=heard > 1)
    telling = spread[question] > 0  # on the other questions, all teams were right or none was
    if not telling.any():
        return float("nan")
    question, row = np.unique(question[telling], return_inverse=True)
    teams, column = np.unique(team[telling], return_inverse=True)
    spread, heard = spread[question], heard[question]
    seats = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(len(question), len(teams)))
    excess = np.bincount(column, right[telling] - share[question][row])
    own = seats.T @ spread

    def covariance(x: Floats) -> Floats:
        values: Floats = own * x - seats.T @ (spread / heard * (seats @ x))
        return values

    # The covariance is singular in one direction for each group of teams that no question connects to another group.
    size = len(question) + len(teams)
    edges = sparse.coo_array((np.ones(len(row)), (row, column + len(question))), shape=(size, size))
    groups = sparse.csgraph.connected_components(edges, directed=False, return_labels=False)
    operator = sparse.linalg.LinearOperator((len(teams), len(teams)), matvec=covariance, dtype=float)
    solution, _ = sparse.linalg.minres(operator, excess, rtol=1e-12)
    return float(chdtrc(len(teams) - groups, excess @ solution))


def upper_half(score: ArrayLike) -> NDArray[np.bool_]:
    """Check whether each player's score is above the median. Players at the median belong to the lower half."""
    scores = np.asarray(score, float)
    return scores > np.median(scores) if len(scores) else np.zeros(0, bool)


def _running(values: Floats, question: Ints) -> Floats:
    """Return the cumulative sum of whole numbers within each question."""
    total = np.cumsum(values)
    starts = np.searchsorted(question, question)
    return total - (total - values)[starts]
