"""The human curves: examples worked by hand, and an exact count team by team."""

from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.data import human_curves
from clueline.data.store import create_schema
from tests.helpers.examples import examples

# Ends of the clues in words; teams as (kind, words heard or None for all, word of the buzz or None, correct); then the curves
# buzz_share, team_share, survival, release_share.
HAND = {
    "everybody waits": ([5, 10], [("human", None, None, None)] * 2, [0, 0], [0, 0], [0, 0], [0, 0]),
    "one of two knows at once": (
        [5, 10], [("human", None, 0, True), ("human", None, None, None)],
        [1, 1], [1 / 2, 1 / 2], [1 / 2, 1 / 2], [1, 1],
    ),
    # GRACE sec. 4.1: 1 right of 2 buzzes by the first clue, 2 of 3 by the second; of four teams.
    "right and wrong": (
        [5, 10, 15],
        [("human", None, 1, True), ("human", None, 4, False), ("human", None, 9, True), ("human", None, None, None)],
        [1 / 2, 2 / 3, 2 / 3], [1 / 4, 1 / 2, 1 / 2], [1 / 4, 1 / 2, 1 / 2], [1 / 3, 2 / 3, 2 / 3],
    ),
    # Two rooms of two teams. In one, Ash is right in clue 0, which ends it for Birch; in the other, Cedar in clue 1, for Oak.
    # F = 1/4 with S = 3/4; two are left at risk, one is right: F = 1/4 + 3/4 * 1/2 = 5/8, where team_share cannot pass 1/2.
    "opponents are censored": (
        [5, 10, 15],
        [("human", 3, 2, True), ("human", 3, None, None), ("human", 8, 7, True), ("human", 8, None, None)],
        [1, 1, 1], [1 / 4, 1 / 2, 1 / 2], [1 / 4, 5 / 8, 5 / 8], [1 / 2, 1, 1],
    ),
    # A wrong buzz in clue 0 takes a chance away for good: S = 1/2, then F = 1/2 * 1/1.
    "an incorrect buzz competes": (
        [5, 10], [("human", None, 0, False), ("human", None, 6, True)],
        [0, 1 / 2], [0, 1 / 2], [0, 1 / 2], [0, 1 / 2],
    ),
    "at the end is the last clue": ([5, 10], [("human", None, 10, True)], [0, 1], [0, 1], [0, 1], [0, 1]),
    "nobody is left at risk": (
        [5, 10, 15], [("human", 5, None, None), ("human", 4, 1, True)],
        [1, 1, 1], [1 / 2] * 3, [1 / 2] * 3, [1, 1, 1],
    ),
    "models are no people": (
        [5, 10], [("model", None, 0, True), ("model", None, 6, False), ("human", None, 6, True), ("human", None, None, None)],
        [0, 1], [0, 1 / 2], [0, 1 / 2], [0, 1],
    ),
    "only models": ([5, 10], [("model", None, 0, True)], None, None, None, None),
    "heard nothing": ([5, 10], [("human", 0, None, None), ("human", None, 7, True)], [0, 1], [0, 1 / 2], [0, 1], [0, 1]),
}  # fmt: skip


EMPTY = duckdb.connect(config={"threads": 1})  # which examples fill one after the other
create_schema(EMPTY)


def derived(questions):
    """Return the curves that the table holds for questions of (clue ends, teams), by question."""
    connection = EMPTY.cursor()
    connection.execute("delete from clues; delete from exposures; delete from buzzes")
    for index, (ends, teams) in enumerate(questions):
        for clue, end in enumerate(ends):
            connection.execute("insert into clues values ('d', $q, $c, '', $e, 0, 1)", {"q": str(index), "c": clue, "e": end})
        for team, (kind, heard, word, correct) in enumerate(teams):
            place = {"q": str(index), "m": f"m{team // 2}", "t": f"t{team}", "k": kind}
            connection.execute("insert into exposures values ('d', $q, $m, $t, $k, $h, null, true)", place | {"h": heard})
            if word is not None:
                clue = next((c for c, end in enumerate(ends) if end > word), len(ends) - 1)
                values = place | {"w": word, "c": clue, "y": correct}
                connection.execute("insert into buzzes values ('d', $q, $m, $t, $k, $w, $c, $y, null)", values)
    human_curves.derive(connection, "d")
    rows = connection.execute("select * exclude (dataset) from curves order by question_id, clue").fetchall()
    return {q: [row[1:] for row in rows if row[0] == str(q)] for q in range(len(questions))}


def exact(ends, teams):
    """Return the curves by their definitions, team by team, in fractions."""
    people = []
    for kind, heard, word, correct in teams:
        if kind != "human":
            continue
        if word is None:
            left = len(ends) - 1 if heard is None else next((c for c, end in enumerate(ends) if end >= heard), len(ends) - 1)
            people.append((left, None))
        else:
            people.append((next((c for c, end in enumerate(ends) if end > word), len(ends) - 1), correct))
    if not people:
        return []
    rows, incidence, surviving = [], Fraction(0), Fraction(1)
    buzzes = sum(correct is not None for _, correct in people)
    for clue in range(len(ends)):
        so_far = [correct for left, correct in people if correct is not None and left <= clue]
        at_risk = sum(left >= clue for left, _ in people)
        now = [correct for left, correct in people if left == clue and correct is not None]
        if at_risk:
            incidence += surviving * Fraction(sum(now), at_risk)
            surviving *= 1 - Fraction(len(now), at_risk)
        share = Fraction(sum(so_far), len(so_far)) if so_far else Fraction(0)
        of_all = Fraction(sum(so_far), buzzes) if buzzes else Fraction(0)
        rows.append((clue, len(people), share, Fraction(sum(so_far), len(people)), incidence, of_all))
    return rows


@pytest.mark.parametrize("case", HAND)
def test_curves_worked_by_hand(case):
    ends, teams, *curves = HAND[case]
    rows = derived([(ends, teams)])[0]
    if curves[0] is None:
        assert rows == []
    else:
        count = sum(kind == "human" for kind, *_ in teams)
        assert [row[:2] for row in rows] == [(clue, count) for clue in range(len(ends))]
        assert [list(curve) for curve in list(zip(*rows, strict=True))[2:]] == [
            pytest.approx(curve, abs=1e-15) for curve in curves
        ]


@st.composite
def question(draw):
    ends = sorted(draw(st.sets(st.integers(1, 30), min_size=1, max_size=6)))
    word = st.integers(0, ends[-1])
    waits = st.tuples(st.sampled_from(["human", "human", "model"]), st.none() | word, st.none(), st.none())
    buzzes = st.tuples(st.sampled_from(["human", "human", "model"]), st.none() | word, word, st.booleans())
    return ends, draw(st.lists(st.one_of(waits, buzzes), max_size=9))


@examples(40, derandomize=True)
@given(st.lists(question(), min_size=1, max_size=5))
def test_curves_agree_with_an_exact_count(questions):
    for (ends, teams), rows in zip(questions, derived(questions).values(), strict=True):
        wanted = exact(ends, teams)
        assert [row[:2] for row in rows] == [row[:2] for row in wanted]
        assert [x for row in rows for x in row[2:]] == pytest.approx([float(x) for row in wanted for x in row[2:]], abs=1e-12)


def test_deriving_again_replaces_one_dataset(tmp_path):
    connection = duckdb.connect()
    create_schema(connection)
    connection.execute("insert into curves values ('other', 'q', 0, 1, 0, 0, 0, 0), ('d', 'gone', 0, 1, 0, 0, 0, 0)")
    human_curves.derive(connection, "d")
    assert connection.execute("select dataset from curves").fetchall() == [("other",)]
