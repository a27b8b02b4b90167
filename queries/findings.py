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
        value, low, high: the metric of ``run``, with the ends of its 95 % interval, which holds for all ranked runs together.
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
    intervals = {row.run: simultaneous_interval(cell, metric, len(cells)) for row, cell in cells}
    supported = [(row, cell) for row, cell in cells if leaves_out_zero(intervals[row.run])]
    too_sure = [(row, cell) for row, cell in supported if ((cell.value or 0.0) > 0) == (metric.key == "overconfidence")]
    if not cells:
        return None
    row, cell = max(too_sure or supported or cells, key=lambda pair: abs(pair[1].value or 0.0))
    low, high = intervals[row.run] or (None, None)
    return Finding("gap", row.run, metric.key, None, cell.value, low, high, bool(supported), len(cells))


def _spread(board: Leaderboard, metric: Metric) -> Finding | None:
    """The best and the worst run, which differ if they share no letter."""
    cells = sorted(_cells(board, metric), key=lambda pair: pair[1].rank or 0.0)
    if len(cells) < 2:
        return None
    (best, first), (worst, last) = cells[0], cells[-1]
    differ = bool(first.letters and last.letters) and set(first.letters or ()).isdisjoint(last.letters or ())
    low, high = simultaneous_interval(last, metric, len(cells)) or (None, None)
    return Finding("spread", worst.run, metric.key, best.run, last.value, low, high, differ, len(cells))


def _cells(board: Leaderboard, metric: Metric) -> Sequence[tuple[LeaderboardRow, MetricCell]]:
    rows = [(row, row.metrics[metric.key]) for row in board.rows if row.ranked]
    return [(row, cell) for row, cell in rows if cell.value is not None]


def simultaneous_interval(cell: MetricCell, metric: Metric, runs: int) -> tuple[float, float] | None:
    """Return an interval that holds the metric of a run with 95 % confidence although it was chosen among several.

    Both halves of its own 95 % interval are widened to the level 1 - .05 / ``runs`` (Bonferroni), as if the metric were normally
    distributed, within its range. None without an interval.

    Example:
        >>> simultaneous_interval(MetricCell(0.1, None, 9, low=0.05, high=0.2), CATALOGUE["overconfidence"], 1)
        (0.05, 0.2)
        >>> low, high = simultaneous_interval(MetricCell(0.1, None, 9, low=0.05, high=0.2), CATALOGUE["overconfidence"], 20)
        >>> round(low, 3), round(high, 3)
        (0.023, 0.254)
    """
    if cell.value is None or cell.low is None or cell.high is None:
        return None
    normal = NormalDist()
    wider = normal.inv_cdf(1 - (1 - LEVEL) / (2 * runs)) / normal.inv_cdf((1 + LEVEL) / 2)
    low, high = cell.value - wider * (cell.value - cell.low), cell.value + wider * (cell.high - cell.value)
    return max(low, metric.low), min(high, metric.high)


def leaves_out_zero(interval: tuple[float, float] | None) -> bool:
    """Return whether an interval with a width shows that a metric is not 0."""
    return interval is not None and interval[0] < interval[1] and not interval[0] <= 0 <= interval[1]
