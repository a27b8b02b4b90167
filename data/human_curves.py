"""The human curves h_t: the share of people who know a question's answer by each clue."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl

from clueline.data.duckdb_and_polars import execute_with, frame
from clueline.data.ragged_arrays import Floats

CURVES = ("buzz_share", "release_share", "team_share", "survival")
TEAM_CURVES = ("team_share", "survival")  # whose increments are probabilities that a team answers correctly at a clue


def human_curves(correct: Floats, incorrect: Floats, ended: Floats, teams: Floats) -> dict[str, Floats]:
    """Compute ``CURVES``, each of shape (..., T), in [0, 1], non-decreasing (``buzz_share`` need not be), from counts.

    ``buzz_share`` (GRACE sec. 4.1): correct buzzes up to t / all buzzes up to t, 0 before the first buzz.
    ``release_share`` (GRACE's released code): correct buzzes up to t / all buzzes of the question, 0 if there are none.
    ``team_share`` (GRACE sec. 4.3, app. L, M): teams right by t / teams that heard the question.
    ``survival``: Aalen-Johansen cumulative incidence of a correct buzz, an incorrect one as the competing event, censored where
    the opponent's answer ended the question. With n_t teams at risk (neither buzzed nor ended before t), d_t correct and w_t
    incorrect first buzzes: F_t = F_{t-1} + S_{t-1} d_t / n_t, S_t = S_{t-1} (1 - (d_t + w_t) / n_t).

    The counts have shape (..., T): teams whose correct or incorrect buzz fell in clue t, and teams that did not buzz and for
    which the question ended in clue t. ``teams`` heard the question, shape (...,), at least 1. Of four teams, one buzzes
    correctly at each clue, and one incorrectly at the first:

    >>> curves = human_curves(np.array([1.0, 1.0]), np.array([1.0, 0.0]), np.zeros(2), np.array(4.0))
    >>> curves["buzz_share"].round(3), curves["release_share"].round(3), curves["team_share"]
    (array([0.5  , 0.667]), array([0.333, 0.667]), array([0.25, 0.5 ]))
    """
    right, wrong = np.cumsum(correct, axis=-1), np.cumsum(incorrect, axis=-1)
    buzzes = right + wrong
    buzz_share = np.divide(right, buzzes, out=np.zeros_like(right), where=buzzes > 0)
    all_buzzes = np.broadcast_to(buzzes[..., -1:], right.shape)
    release_share = np.divide(right, all_buzzes, out=np.zeros_like(right), where=all_buzzes > 0)
    team_share = right / teams[..., None]

    left = np.cumsum(correct + incorrect + ended, axis=-1)
    at_risk = teams[..., None] - _shift(left, 0.0)
    hazard = np.divide(correct, at_risk, out=np.zeros_like(right), where=at_risk > 0)
    leaving = np.divide(correct + incorrect, at_risk, out=np.zeros_like(right), where=at_risk > 0)
    surviving = _shift(np.cumprod(1.0 - leaving, axis=-1, dtype=np.float64), 1.0)
    survival = np.cumsum(surviving * hazard, axis=-1)
    return dict(zip(CURVES, (buzz_share, release_share, team_share, survival), strict=True))


def _shift(values: Floats, first: float) -> Floats:
    return np.concatenate([np.full_like(values[..., :1], first), values[..., :-1]], axis=-1)


# Counts of teams for each clue of each question that a human team heard. A team without a buzz leaves after the clue that
# contains the last word it heard. A team that buzzed without an exposure of its own was given one at import.
COUNTS = """
with heard as (
    select e.dataset, e.question_id, e.match_id, e.team, e.heard_words, b.clue as buzz_clue, b.correct
    from exposures e
    left join buzzes b using (dataset, question_id, match_id, team)
    where e.team_kind = 'human' and e.dataset = $dataset
), left_at as (
    select h.question_id, h.correct,
        coalesce(h.buzz_clue, min(c.clue) filter (c.word_end >= h.heard_words), max(c.clue)) as clue
    from heard h join clues c on c.dataset = $dataset and c.question_id = h.question_id
    group by h.question_id, h.match_id, h.team, h.correct, h.buzz_clue
), counted as (
    select question_id, clue, count(*) filter (correct) as correct, count(*) filter (not correct) as incorrect,
        count(*) filter (correct is null) as ended
    from left_at group by all
), teams as (select question_id, sum(correct + incorrect + ended) as teams from counted group by all)
select c.question_id, c.clue, t.teams::double as teams, coalesce(n.correct, 0)::double as correct,
    coalesce(n.incorrect, 0)::double as incorrect, coalesce(n.ended, 0)::double as ended
from clues c join teams t using (question_id) left join counted n using (question_id, clue)
where c.dataset = $dataset
order by c.question_id, c.clue
"""


# A room is a question and match with the human teams that heard it.
ROOMS = """
select e.question_id, e.match_id, count(*) as teams, count(*) filter (b.correct) as teams_right,
    bool_or(e.ended_by is not null) as ended
from exposures e left join buzzes b using (dataset, question_id, match_id, team)
where e.dataset = $dataset and e.team_kind = 'human' group by all
"""
# Of a row e of exposures: whether the team did not buzz, and nobody stated where the question ended for it. Then it counts as
# heard to the end.
UNSTATED_END = """(not e.end_stated and e.heard_words is null and not exists (
    from buzzes b
    where b.dataset = e.dataset and b.question_id = e.question_id and b.match_id = e.match_id and b.team = e.team))"""
# Why earlier versions left such plays of QANTA out, as the table ``left_out_plays`` says.
UNSTATED_LEFT_OUT = "plays that were broken off at an unknown word (censored, with the fraction 1.0)"
# If another team's correct buzz ended the question in the same match, it ended there.
ENDED_BY_OTHERS = f"""
update exposures e set heard_words = least(ending.word + 1, ending.words), ended_by = ending.team
from (
    select question_id, match_id, min(word) as word, arg_min(team, word) as team, any_value(words) as words
    from buzzes join (select dataset, question_id, max(word_end) as words from clues group by all) using (dataset, question_id)
    where dataset = $dataset and correct group by all
) ending
where e.dataset = $dataset and {UNSTATED_END}
    and e.question_id = ending.question_id and e.match_id = ending.match_id and e.team <> ending.team
"""
# Whether teams played head to head: most rooms have several teams, a correct answer ended a question for others, and no room has
# two teams that were right. The share of teams that were right is then at most 1/2 in a room of two.
HEAD_TO_HEAD = f"""
select coalesce(count(*) filter (teams > 1) > count(*) / 2 and bool_or(ended) and max(teams_right) <= 1, false) from ({ROOMS})
"""


def derive(connection: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Recompute and store the human curves of a dataset, and whether its teams played head to head.

    Plays whose end nobody stated, but which a buzz of another team ended, are first given that end.
    """
    connection.execute(ENDED_BY_OTHERS, {"dataset": dataset})
    connection.execute(f"update datasets set head_to_head = ({HEAD_TO_HEAD}) where dataset = $dataset", {"dataset": dataset})
    derive_curves(connection, dataset)


def derive_curves(connection: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Recompute and store the human curves of a dataset."""
    connection.execute("delete from curves where dataset = $dataset", {"dataset": dataset})
    counts = frame(connection, COUNTS, {"dataset": dataset})
    if counts.is_empty():
        return
    # Questions of different length share one padded matrix: (questions, longest T).
    question = counts["question_id"].rle_id().to_numpy()
    first = np.searchsorted(question, question)
    cells = (question, np.arange(len(question)) - first)
    shape = (question[-1] + 1, int(cells[1].max()) + 1)

    def padded(column: str) -> Floats:
        matrix = np.zeros(shape)
        matrix[cells] = counts[column].to_numpy()
        return matrix

    teams = counts["teams"].to_numpy()[np.unique(first)]
    curves = human_curves(padded("correct"), padded("incorrect"), padded("ended"), teams)
    computed = {name: pl.Series(curve[cells]) for name, curve in curves.items()}
    execute_with(
        connection,
        counts.select("question_id", "clue", "teams").with_columns(**computed),
        f"""insert into curves by name
        select $dataset as dataset, question_id, clue, teams::integer as teams, {", ".join(CURVES)} from given""",
        {"dataset": dataset},
    )
