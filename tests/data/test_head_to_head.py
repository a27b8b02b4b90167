"""Teams that play head to head: at most one team of a room can be right, so difficulty is counted by rooms."""

import pytest

from tests.helpers.bundle_factory import FACTS, put, write

EXPOSURES = "question_id,match_id,team,heard_words,ended_by\n"
BUZZES = "question_id,match_id,team,word,correct\n"
# Two rooms of two teams. q1 is answered in both, which ends it for the others; q2 in the second room, at its end.
ROOMS = EXPOSURES + ("q1,a,Ash,,\nq1,a,Oak,4,Ash\nq1,b,Elm,,\nq1,b,Yew,8,Elm\nq2,a,Ash,,\nq2,a,Oak,,\nq2,b,Elm,,\nq2,b,Yew,,\n")
RIGHT = BUZZES + "q1,a,Ash,3,true\nq1,b,Elm,7,true\nq2,a,Oak,1,false\nq2,b,Yew,8,true\n"
# Exposures, buzzes, and the difficulty of both questions, by what keeps teams from playing head to head.
OTHERS = {
    "not-ended": (ROOMS.replace("4,Ash", ",").replace("8,Elm", ","), RIGHT, [0.5, 0.75]),
    "two-were-right": (ROOMS, RIGHT + "q2,b,Elm,8,true\n", [0.5, 0.5]),
    "rooms-of-one": (EXPOSURES + "q1,a,Ash,,\nq1,b,Elm,6,Yew\nq2,a,Ash,,\n", BUZZES + "q1,a,Ash,5,true\n", [0.5, 1.0]),
}


def facts(store, dataset):
    """Return whether teams played head to head, and how difficult the questions are."""
    rows = store.snapshot().rows(
        "select difficulty, difficulty_source from questions where dataset = $d order by question_id", {"d": dataset}
    )
    return store.snapshot().rows("select head_to_head from datasets where dataset = $d", {"d": dataset}), rows


def test_difficulty_is_counted_by_rooms_or_teams(store, tmp_path):
    bundles = {"toy": (ROOMS, RIGHT, []), **OTHERS}
    put(store, *(
        write(tmp_path / name, FACTS | {"dataset": name}, exposures=exposures, buzzes=buzzes)
        for name, (exposures, buzzes, _) in bundles.items()
    ))  # fmt: skip
    assert facts(store, "toy") == ([(True,)], [(0.0, "rooms"), (0.5, "rooms")])
    shares = store.snapshot().rows(
        "select max(team_share), max(survival) from curves where dataset = 'toy' group by question_id order by question_id"
    )
    assert shares[0] == (0.5, pytest.approx(0.625)), "the share of teams stops at 1/2"
    for name, (_, _, difficulty) in OTHERS.items():
        assert facts(store, name) == ([(False,)], [(value, "human") for value in difficulty]), name


def test_people_can_come_later(toy, folder):
    assert facts(toy, "toy")[0] == [(False,)]
    put(toy, write(folder, exposures=ROOMS, buzzes=RIGHT))
    assert facts(toy, "toy")[0] == [(True,)]
