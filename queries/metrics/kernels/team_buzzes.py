"""Kernels of people beside a player: who comes first in a room, how buzzes add up along a question, and groups of teams."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import chdtrc

from queries.metrics.kernels.arrays import Floats, ratio

Ints = NDArray[np.int64]
TOSSUP, NEG = 10.0, -5.0  # points of a correct buzz, and of an incorrect one before the end


class Opponents(NamedTuple):
    """What a buzz at the end of each clue meets, against a team drawn evenly from those that heard the question.

    Each of shape (clues,), in [0, 1], NaN where no team heard the question.

    Attributes:
        first: chance that a correct buzz wins the question.
        unpenalised: chance that an incorrect buzz there costs nothing.
        unsure: chance that the team's record breaks off before, so that nobody knows what it would have done. It is part of
            ``first``, as a team that had not answered; ``first - unsure`` is the pessimist's.
        people: chance that the team answers correctly at all.
    """

    first: Floats
    unpenalised: Floats
    unsure: Floats
    people: Floats


def meet_opponents(question: Ints, teams: Floats, correct: Floats, incorrect: Floats, late: Floats, left: Floats) -> Opponents:
    """Meet every team of a question at every one of its clues, by exact enumeration.

    The game is one tossup between the player and one team, which does what it did in its own match. The first correct
    answer wins 10 points and ends it; an incorrect one puts its giver out, and costs 5 points if it comes before the end
    and nobody has answered incorrectly before (one penalty per tossup, as quizbowl has it).

    A player buzzes when the words of its clue have been read: a team's buzz inside the clue comes before it, one at a later
    word after it. The end is the end of the last clue: there an incorrect answer costs nothing, and a team's buzz after the
    end comes at the same moment as the player's, so that either is first with chance 1/2.

    Args:
        question: number of each clue's question, never falling; clues of a question in order.
        teams: teams that heard the question.
        correct, incorrect: buzzes of its teams inside the clue, those after the end in the last one.
        late: of the correct ones, those after the end.
        left: teams without a buzz whose question was ended before the end of this clue, but not of the one before.
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
    """System score of buzzes: 10 for a correct buzz that comes first, -5 for an incorrect one before the end. GRACE sec. 4.

    Args:
        opponents: the teams, at every clue.
        correct: chance that each buzz is correct, in [0, 1], shape (n,).
        at: clue of each buzz, shape (n,).

    Returns:
        Expected points over the teams, in [-5, 10], shape (n,); NaN where no team heard the question.
    """
    return TOSSUP * correct * opponents.first[at] + NEG * (1 - correct) * (1 - opponents.unpenalised[at])


def cumulative_weight(revealed: Floats, weight: Floats, grid: Floats) -> Floats:
    """Total weight of the buzzes by each fraction of the question. GRACE fig. 4.

    Args:
        revealed: fraction of the question revealed at each buzz, in (0, 1], shape (n,).
        weight: of each buzz, shape (n,).
        grid: fractions, ascending, the last one at least every ``revealed``.

    Returns:
        shape of ``grid``.

    >>> cumulative_weight(np.array([0.2, 0.9]), np.array([1.0, 1.0]), np.array([0.0, 0.5, 1.0]))
    array([0., 1., 2.])
    """
    return np.cumsum(np.bincount(np.searchsorted(grid, revealed), weight, len(grid)))


def quartiles(total: ArrayLike) -> Ints:
    """Quartile of each team by its total of correct buzzes: 1 (fewest) to 4. As in the released analysis of GRACE.

    Cut at the percentiles 25, 50 and 75 (linear interpolation). A team on a cut belongs below it, so that equal totals are never
    separated. With few teams or many ties some quartile may be empty.

    Args:
        total: shape (teams,).

    Returns:
        shape (teams,).

    >>> quartiles([1, 2, 3, 4])
    array([1, 2, 3, 4])
    """
    totals = np.asarray(total, float)
    cuts = np.percentile(totals, [25, 50, 75]) if len(totals) else np.zeros(3)
    return np.searchsorted(cuts, totals) + 1


def equal_teams_test(question: Ints, team: Ints, right: ArrayLike) -> float:
    """Whether teams differ in how often they are right: p-value of the generalised Cochran-Mantel-Haenszel test.

    Under its hypothesis, those that are right on a question are drawn by lot from the teams that heard it. The teams' totals
    then have known means and covariances, and their distance from the means is a chi-squared.

    Args:
        question, team: of each team and question heard, numbered from 0, shape (n,).
        right: whether the team was right, shape (n,).

    Returns:
        In [0, 1]; NaN where no question tells teams apart, such as with a single team.

    Source:
        Landis, Heyman & Koch 1978; Agresti, Categorical Data Analysis, sec. 8.4.

    Two teams, of which the first alone is right on each of ten questions:

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
    telling = spread[question] > 0  # on other questions all teams were right, or none
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

    # The covariance has one direction without spread for each group of teams that no question joins to another.
    size = len(question) + len(teams)
    edges = sparse.coo_array((np.ones(len(row)), (row, column + len(question))), shape=(size, size))
    groups = sparse.csgraph.connected_components(edges, directed=False, return_labels=False)
    operator = sparse.linalg.LinearOperator((len(teams), len(teams)), matvec=covariance, dtype=float)
    solution, _ = sparse.linalg.minres(operator, excess, rtol=1e-12)
    return float(chdtrc(len(teams) - groups, excess @ solution))


def upper_half(score: ArrayLike) -> NDArray[np.bool_]:
    """Whether each player is above the median score. Those at the median are in the lower half.

    Args:
        score: shape (players,).

    Returns:
        shape (players,).
    """
    scores = np.asarray(score, float)
    return scores > np.median(scores) if len(scores) else np.zeros(0, bool)


def _running(values: Floats, question: Ints) -> Floats:
    """Cumulative sum within each question, of whole numbers."""
    total = np.cumsum(values)
    starts = np.searchsorted(question, question)
    return total - (total - values)[starts]
