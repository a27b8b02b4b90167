"""Plays of people that no human curve contains: their numbers are stored, shown beside the curves, exported and replaced.

Earlier versions left out plays of QANTA of which nobody stated where they ended.
"""

import pytest

from clueline.data.human_curves import UNSTATED_LEFT_OUT, derive
from clueline.data.store import open_store
from clueline.data.store.errors import NeedsMigration
from clueline.data.store.migrations import m0014_left_out_plays
from clueline.queries.buzzing import Rules, buzz
from clueline.queries.question import question
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import put, rows
from tests.helpers.bundle_factory import write as write_bundle
from tests.helpers.qanta_files import PLAYS, write_challenge

# Of AbC, two plays are left out besides the one of PLAYS; of XyZ, every play is.
PLAYED = PLAYS.replace("2,XyZ,0.5,0,1\n2,XyZ,0.0,1,0\n", "1,AbC,1,0,1\n1,AbC,1.0,1,1\n2,XyZ,1.0,0,1\n")
# What an earlier version stored of these files.
AS_BEFORE = f"""
insert into left_out_plays select dataset, question_id, match_id, '{UNSTATED_LEFT_OUT}', 1 from exposures where not end_stated;
delete from exposures where not end_stated"""
WHY = "this curve has no such play"
COUNTED = "question_id,match_id,reason,plays\n"


def challenge(importing, folder):
    store = open_store(folder / "store")
    put(store, write_challenge(folder / "challenge", plays=PLAYED))

    def leave_out(connection):
        connection.execute(AS_BEFORE)
        derive(connection, "qanta")

    store.write(leave_out)
    return store


@pytest.fixture
def played(prefilled):
    return prefilled(challenge)


def test_a_question_and_the_curves_say_how_many_plays_they_lack(played):
    snapshot = played.snapshot()
    first, second = (question(snapshot, Selection("qanta"), name) for name in ("AbC", "XyZ"))
    assert first.left_out_plays == {UNSTATED_LEFT_OUT: 3} and first.human.teams == 2
    assert second.left_out_plays == {UNSTATED_LEFT_OUT: 1} and second.human is None
    for selection, plays in ((Selection("qanta"), 4), (Selection("qanta", questions=("XyZ",)), 1)):
        assert buzz(snapshot, selection, Rules()).curves.left_out_plays == {UNSTATED_LEFT_OUT: plays}


def test_importing_again_counts_the_plays_once(played, tmp_path):
    again = write_challenge(tmp_path / "again", plays=PLAYED)
    put(played, write_bundle(tmp_path / "toy", left_out_plays=f'{COUNTED}q1,m1,"{UNSTATED_LEFT_OUT}",2\n'))
    for _ in range(2):
        put(played, again)
        counted = rows(played, "select question_id, count(*) from exposures where not end_stated group by 1 order by 1")
        assert counted == [("AbC", 3), ("XyZ", 1)]
        assert rows(played, "select dataset, plays from left_out_plays") == [("toy", 2)], "those of other datasets stay"
    assert question(played.snapshot(), Selection("qanta"), "AbC").human.teams == 5


def test_a_bundle_that_replaces_another_replaces_the_numbers(empty, tmp_path):
    for plays in ("q1,m1,{},2\nq2,m1,{},1\n", "q2,m1,{},5\n"):
        folder = write_bundle(tmp_path / "toy", left_out_plays=COUNTED + plays.replace("{}", WHY))
        put(empty, folder, replace=True)
    assert rows(empty, "select question_id, plays from left_out_plays") == [("q2", 5)]


def test_a_human_collection_has_none(empty, tmp_path):
    """The plays that were left out are not of the people of a collection."""
    answers = "question_id,clue,guess,confidence,sample,buzz\nq1,0,Rome,0.5,Ann,true\nq1,0,Paris,0.5,Bob,false\n"
    folder = write_bundle(tmp_path / "toy", left_out_plays=f"{COUNTED}q1,m1,{WHY},2\n", responses=answers)
    (run,) = put(empty, folder, respondents=True, model="People", elicitation="verbalized").runs
    snapshot = empty.snapshot()
    assert snapshot.rows("select count(*) from left_out_plays") == [(1,)]
    assert snapshot.with_people("toy", run).rows("select count(*) from left_out_plays") == [(0,)]


def test_a_store_with_such_plays_is_not_reverted(played):
    def undo(connection):
        with pytest.raises(NeedsMigration):
            m0014_left_out_plays.revert(connection)
        connection.execute("delete from left_out_plays")
        m0014_left_out_plays.revert(connection)
        m0014_left_out_plays.migrate(connection, None)

    played.write(undo)
