"""Plays without a buzz of which nobody stated the end count as heard to the end. Values have a second one without them."""

import pytest

from clueline.data.store import open_store
from clueline.data.store.errors import NeedsMigration
from clueline.data.store.migrations import m0019_unstated_ends
from clueline.data.store.snapshot import STATED_ENDS
from clueline.queries.selection import read_facets, read_selection
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.reference_people import with_people
from tests.helpers.bundle_factory import FACTS, PEOPLE, put, refusal, rows, write
from tests.helpers.qanta_files import write_challenge

# Of AbC (ten tokens), one play is right at the fifth token, one wrong at the seventh, and three ended nobody knows where. Of XyZ
# (six tokens), one play was right at once, and the other side ended another one at the fourth token.
PLAYS = (
    "packet,nano,reveal_fraction,correct,censored\n1,AbC,0.4,1,0\n1,AbC,0.6,0,0\n1,AbC,1.0,0,1\n1,AbC,1,0,1\n1,AbC,1.0,1,1\n"
    "2,XyZ,0.5,0,1\n2,XyZ,0.0,1,0\n"
)
CURVES = "select question_id, teams, team_share, survival from curves order by question_id, clue"


def challenge(importing, folder):
    store = open_store(folder / "store")
    put(store, write_challenge(folder / "challenge", plays=PLAYS))
    return store


@pytest.fixture
def played(prefilled):
    return prefilled(challenge)


def values(snapshot, question):
    return [row[1:] for row in snapshot.rows(CURVES) if row[0] == question]


def test_they_count_as_heard_to_the_end_and_the_second_reading_lacks_them(played):
    every = played.snapshot()
    stated = every.with_people("qanta", STATED_ENDS)
    assert values(every, "AbC") == [(5, 0.0, 0.0), (5, 0.2, 0.2), (5, 0.2, 0.2)], "at risk until the end"
    assert values(stated, "AbC") == [(2, 0.0, 0.0), (2, 0.5, 0.5), (2, 0.5, 0.5)]
    assert values(every, "XyZ") == values(stated, "XyZ") == [(2, 0.5, 0.5), (2, 0.5, 0.5)]
    difficulties = "select question_id, difficulty from questions order by 1"
    assert every.rows(difficulties) == [("AbC", 0.8), ("XyZ", 0.5)]
    assert stated.rows(difficulties) == [("AbC", 0.5), ("XyZ", 0.5)]
    assert every.rows("select count(*) from exposures") == [(7,)] and stated.rows("select count(*) from exposures") == [(4,)]


HEARD = "question_id,match_id,team,heard_words,end_stated\n"
RACE = f"{HEARD}q1,m1,Ash,,false\nq1,m1,Birch,4,true\nq1,m2,Ash,,false\n"
BUZZES = "question_id,match_id,team,word,correct\nq1,m1,Birch,3,true\n"


def test_anothers_buzz_in_the_same_match_ends_a_play(empty, tmp_path):
    """Also if the buzz is imported later. The play is then in both readings; the same again changes nothing."""
    folder = write(tmp_path / "toy", exposures=RACE, buzzes=None)
    put(empty, folder)
    heard = "select match_id, heard_words, ended_by from exposures where team = 'Ash' order by 1"
    assert rows(empty, heard) == [("m1", None, None), ("m2", None, None)]
    write(tmp_path / "toy", exposures=RACE, buzzes=BUZZES)
    for _ in range(2):
        put(empty, folder)
        assert rows(empty, heard) == [("m1", 4, "Birch"), ("m2", None, None)]
    stated = empty.snapshot().with_people("toy", STATED_ENDS)
    assert stated.rows("select match_id, team from exposures order by all") == [("m1", "Ash"), ("m1", "Birch")]


def test_a_team_that_buzzed_is_in_both_readings(empty, tmp_path):
    put(
        empty,
        write(
            tmp_path / "toy",
            exposures=f"{HEARD}q1,m1,Ash,,false\n",
            buzzes="question_id,match_id,team,word,correct\nq1,m1,Ash,3,true\n",
        ),
    )
    assert empty.snapshot().with_people("toy", STATED_ENDS).rows("select team from exposures") == [("Ash",)]


def test_another_end_of_a_stored_play_is_refused(empty, tmp_path):
    put(empty, write(tmp_path / "toy", exposures=RACE, buzzes=BUZZES))
    other = write(tmp_path / "other", exposures=RACE.replace("q1,m2,Ash,,false", "q1,m2,Ash,,true"), buzzes=BUZZES)
    assert "the store holds different values" in str(refusal(empty, other))


def test_an_address_can_ask_for_the_second_reading_where_there_is_one(played, tmp_path):
    put(played, write(tmp_path / "toy", exposures=RACE, buzzes=BUZZES.replace("Birch", "Ash")))
    put(played, write(tmp_path / "other", facts=FACTS | {"dataset": "other"}, **PEOPLE))
    snapshot = played.snapshot()

    def read(dataset):
        return read_selection([("dataset", dataset), ("people", STATED_ENDS)], lambda name: read_facets(snapshot, name))

    assert [read_facets(snapshot, name).unstated_ends for name in ("qanta", "toy", "other")] == [3, 1, 0]
    assert with_people(snapshot, "qanta", read("qanta").people).people == STATED_ENDS
    with pytest.raises(BadRequest, match="no human collection 'stated-ends'"):
        read("other")


def test_a_store_with_such_plays_is_not_reverted(played):
    def refuse(connection):
        with pytest.raises(NeedsMigration):
            m0019_unstated_ends.revert(connection)
        connection.execute("delete from exposures where not end_stated")

    def undo(connection):
        m0019_unstated_ends.revert(connection)
        m0019_unstated_ends.migrate(connection, None)

    played.write(refuse)
    played.write(undo)
    assert rows(played, "select count(*) filter (end_stated), count(*) from exposures") == [(4, 4)]
