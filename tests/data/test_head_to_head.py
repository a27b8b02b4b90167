"""Teams that play head to head: at most one team of a room can be right, so difficulty is counted by rooms."""

import pytest

from tests.helpers.bundle_factory import put, write

EXPOSURES = "question_id,match_id,team,heard_words,ended_by\n"
BUZZES = "question_id,match_id,team,word,correct\n"
# Two rooms of two teams. q1 is answered in both, which ends it for the others; q2 in the second room, at its end.
ROOMS = EXPOSURES + ("q1,a,Ash,,\nq1,a,Oak,4,Ash\nq1,b,Elm,,\nq1,b,Yew,8,Elm\nq2,a,Ash,,\nq2,a,Oak,,\nq2,b,Elm,,\nq2,b,Yew,,\n")
RIGHT = BUZZES + "q1,a,Ash,3,true\nq1,b,Elm,7,true\nq2,a,Oak,1,false\nq2,b,Yew,8,true\n"


def facts(store):
    rows = store.snapshot().rows("select question_id, difficulty, difficulty_source from questions order by 1")
    return store.snapshot().rows("select head_to_head from datasets")[0][0], rows


def test_difficulty_is_counted_by_rooms(store, tmp_path):
    put(store, write(tmp_path / "toy", exposures=ROOMS, buzzes=RIGHT))
    assert facts(store) == (True, [("q1", 0.0, "rooms"), ("q2", 0.5, "rooms")])
    shares = store.snapshot().rows("select max(team_share), max(survival) from curves group by question_id order by question_id")
    assert shares[0] == (0.5, pytest.approx(0.625)), "the share of teams stops at 1/2"


@pytest.mark.parametrize(
    ("exposures", "buzzes", "difficulty"),
    [
        # No question was ended by another team.
        (ROOMS.replace("4,Ash", ",").replace("8,Elm", ","), RIGHT, [0.5, 0.75]),
        # Two teams of a room were right, so they did not play for the same question.
        (ROOMS, RIGHT + "q2,b,Elm,8,true\n", [0.5, 0.5]),
        # Rooms of one team.
        (EXPOSURES + "q1,a,Ash,,\nq1,b,Elm,6,Yew\nq2,a,Ash,,\n", BUZZES + "q1,a,Ash,5,true\n", [0.5, 1.0]),
    ],
)
def test_otherwise_difficulty_is_counted_by_teams(store, tmp_path, exposures, buzzes, difficulty):
    put(store, write(tmp_path / "toy", exposures=exposures, buzzes=buzzes))
    head_to_head, rows = facts(store)
    assert not head_to_head and [row[1:] for row in rows] == [(value, "human") for value in difficulty]


def test_people_can_come_later(store, tmp_path):
    put(store, write(tmp_path / "toy"))
    assert not facts(store)[0]
    put(store, write(tmp_path / "toy", exposures=ROOMS, buzzes=RIGHT))
    assert facts(store)[0]
