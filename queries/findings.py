"""The finding of a selection: one true sentence about its runs, which the page that opens a dataset begins with."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

import msgspec

from clueline.data.dataset_kinds import FORECAST
from clueline.data.human_curves import UNSTATED_END
from clueline.data.store import Snapshot
from clueline.queries.engine.primary_metric import has_people
from clueline.queries.engine.ranked_metric_rows import MetricCell
from clueline.queries.engine.selected_answers import selected_responses, selection_clauses
from clueline.queries.leaderboard import Leaderboard, LeaderboardRow, leaderboard
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.selection import Selection

LEVEL = 0.95
MIN_TEAMS = 5  # fewer teams say little of what people know
GAP = {"votes": CATALOGUE["ent_ce"], FORECAST: CATALOGUE["ece"]}  # by kind of dataset
About = Literal["early_mistake", "gap", "spread"]


class EarlyMistake(msgspec.Struct):
    """A confident wrong guess at a clue, counted from 0, by which no human team had answered correctly.

    After this clue, ``runs`` guessed, ``wrong`` of them wrongly. Of the ``teams`` that heard the question, ``right`` were right
    in the end, and ``unstated`` ended without a buzz where nobody stated.
    """

    question_id: str
    clue: int
    clues: int
    run: str
    model: str
    elicitation: str
    guess: str
    confidence: float
    wrong: int
    runs: int
    teams: int
    right: int
    unstated: int = 0


class Finding(msgspec.Struct):
    """What is said first of the runs of a selection.

    Attributes:
        about: ``early_mistake``, where people played: the surest wrong guess before any team was right, with its details in
            ``mistake``. ``gap``: the run whose ``metric`` is farthest from 0, on the side of too much
            certainty if any run is; overconfidence or, with votes, the entropy gap.
            ``spread``, of forecasts: the runs with the best and the worst ``metric``.
        run: the run that it names; with ``spread``, the worst.
        best: with ``spread``, the best run; else None.
        value, low, high: the metric of ``run``, with the ends of its 95 % interval.
        shown: whether a test supports it at 5 %, adjusted for the choice among the ranked runs. If not, the sentence says so.
        runs: the number of ranked runs.
    """

    about: About
    run: str
    metric: str | None = None
    best: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    shown: bool = True
    runs: int = 1
    mistake: EarlyMistake | None = None


class Findings(msgspec.Struct):
    """The finding of a selection; None without ranked runs, or where its metric is undefined."""

    data_version: str
    finding: Finding | None


def findings(snapshot: Snapshot, selection: Selection) -> Findings:
    """Return what is said first of the runs of a selection."""
    return Findings(snapshot.version, _finding(snapshot, selection))


def _finding(snapshot: Snapshot, selection: Selection) -> Finding | None:
    if has_people(snapshot, selection.dataset):
        mistake = surest_early_mistake(snapshot, selection)
        if mistake is not None:
            return Finding("early_mistake", mistake.run, mistake=mistake)
    kinds = snapshot.rows("select kind from datasets where dataset = $d", {"d": selection.dataset})
    kind = kinds[0][0] if kinds else ""
    return finding_on(leaderboard(snapshot, selection, [told_metric(kind)], True), kind)


def told_metric(kind: str) -> Metric:
    """Return the metric that the finding of a kind of dataset is about, where nobody made an early mistake."""
    return GAP.get(kind, CATALOGUE["overconfidence"])


def finding_on(board: Leaderboard, kind: str) -> Finding | None:
    """Return the finding on a leaderboard with the metric of ``told_metric`` and intervals; None where there is none."""
    metric = told_metric(kind)
    return _spread(board, metric) if kind == FORECAST else _gap(board, metric)


def surest_early_mistake(snapshot: Snapshot, selection: Selection) -> EarlyMistake | None:
    """Return the most confident early mistake of a selection; None where there is none, or no people played.

    Only questions that at least ``MIN_TEAMS`` teams heard, and some answered correctly in the end, are considered. Questions that
    at least half of the teams answered correctly come first, because people could know them. Ties go to the earlier question and
    clue. Guesses on which the gradings of a run differ are left out: another grading may call them right.
    """
    with_clauses, parameters = selection_clauses(selection)
    responses = selected_responses(snapshot, selection, parameters, mark_disputed=True)
    rows = snapshot.frame(
        f"""{with_clauses},
        answers as (select * from ({responses})),
        known as (
            select dataset, question_id, max(team_share) as share, max(clue) + 1 as clues, max(teams) as teams from curves
            where dataset = $story_dataset group by all having share > 0 and max(teams) >= $min_teams
        ),
        surest as (
            select p.* from answers p
            join curves h using (dataset, question_id, clue) join known using (dataset, question_id)
            join chosen_questions q using (question_id)
            where p.correct = 0 and not p.disputed and h.team_share = 0
            order by share >= 0.5 desc, p.confidence desc, q.position, clue limit 1
        )
        select s.question_id, s.clue, k.clues, s.run, r.model, r.elicitation, coalesce(s.guess, '') as guess, s.confidence,
            (select count(distinct run) from answers a where a.question_id = s.question_id and a.clue = s.clue and correct = 0)
                as wrong,
            (select count(distinct run) from answers a where a.question_id = s.question_id and a.clue = s.clue) as runs,
            k.teams, round(k.share * k.teams)::integer as right,
            (select count(*) from exposures e where e.dataset = s.dataset and e.question_id = s.question_id
                and e.team_kind = 'human' and {UNSTATED_END}) as unstated
        from surest s join known k using (dataset, question_id) join chosen_runs r using (run)""",
        parameters | {"story_dataset": selection.dataset, "min_teams": MIN_TEAMS},
    ).to_dicts()
    return EarlyMistake(**rows[0]) if rows else None


def _gap(board: Leaderboard, metric: Metric) -> Finding | None:
    """The run farthest from 0 among those whose metric is shown not to be 0, too sure ones first; without any, among all."""
    cells = _cells(board, metric)
    supported = [(row, cell) for row, cell in cells if differs_from_zero(cell, len(cells))]
    too_sure = [(row, cell) for row, cell in supported if ((cell.value or 0.0) > 0) == (metric.key == "overconfidence")]
    if not cells:
        return None
    row, cell = max(too_sure or supported or cells, key=lambda pair: abs(pair[1].value or 0.0))
    return Finding("gap", row.run, metric.key, None, cell.value, cell.low, cell.high, bool(supported), len(cells))


def _spread(board: Leaderboard, metric: Metric) -> Finding | None:
    """The best and the worst run, which differ if they share no letter."""
    cells = sorted(_cells(board, metric), key=lambda pair: pair[1].rank or 0.0)
    if len(cells) < 2:
        return None
    (best, first), (worst, last) = cells[0], cells[-1]
    differ = bool(first.letters and last.letters) and set(first.letters or ()).isdisjoint(last.letters or ())
    return Finding("spread", worst.run, metric.key, best.run, last.value, last.low, last.high, differ, len(cells))


def _cells(board: Leaderboard, metric: Metric) -> Sequence[tuple[LeaderboardRow, MetricCell]]:
    rows = [(row, row.metrics[metric.key]) for row in board.rows if row.ranked]
    return [(row, cell) for row, cell in rows if cell.value is not None]


def differs_from_zero(cell: MetricCell, runs: int) -> bool:
    """Return whether a metric is shown not to be 0, where the run was chosen among several.

    The half of its 95 % interval on the side of 0 is widened to the level 1 - .05 / ``runs`` (Bonferroni), as if the metric were
    normally distributed. False without an interval.

    Example:
        >>> differs_from_zero(MetricCell(0.1, 0.01, None, low=0.005, high=0.2), 1)
        True
        >>> differs_from_zero(MetricCell(0.1, 0.01, None, low=0.005, high=0.2), 20)
        False
    """
    if cell.value is None or cell.low is None or cell.high is None:
        return False
    normal = NormalDist()
    wider = normal.inv_cdf(1 - (1 - LEVEL) / (2 * runs)) / normal.inv_cdf((1 + LEVEL) / 2)
    reach = cell.value - cell.low if cell.value > 0 else cell.high - cell.value
    return abs(cell.value) > wider * reach > 0
