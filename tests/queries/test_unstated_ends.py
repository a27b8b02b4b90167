"""Plays without a buzz of which nobody stated the end count as heard to the end. Values have a second one without them."""

import json

import pytest

from clueline.data.store import open_store
from clueline.data.store.errors import NeedsMigration
from clueline.data.store.migrations import m0019_unstated_ends
from clueline.data.store.snapshot import STATED_ENDS
from clueline.queries.breakdown import breakdown
from clueline.queries.buzzing import Rules, accuracy_by_fraction, buzz
from clueline.queries.compare import comparison
from clueline.queries.decide import decide
from clueline.queries.engine.plays_of_people import APART, Plays
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.question import question
from clueline.queries.questions import question_details
from clueline.queries.selection import Selection, read_facets, read_selection
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.reference_people import with_people
from tests.helpers.bundle_factory import FACTS, PEOPLE, put, put_file, refusal, rows, write
from tests.helpers.qanta_files import PACKETS, output, run_lines, tossup, write_challenge

# Of AbC (ten tokens), one play is right at the fifth token, one wrong at the seventh, and three ended nobody knows where. Of XyZ
# (six tokens), one play was right at once, and the other side ended another one at the fourth token.
PLAYS = (
    "packet,nano,reveal_fraction,correct,censored\n1,AbC,0.4,1,0\n1,AbC,0.6,0,0\n1,AbC,1.0,0,1\n1,AbC,1,0,1\n1,AbC,1.0,1,1\n"
    "2,XyZ,0.5,0,1\n2,XyZ,0.0,1,0\n"
)
METRICS_OF_PEOPLE = [CATALOGUE["calscore"], CATALOGUE["calscore2"]]
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


def test_plays_count_as_heard_and_the_second_reading_lacks_them(played):
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


def test_an_address_can_ask_for_the_second_reading(played, tmp_path):
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


def measured(store):
    return store.snapshot(), Selection("qanta", conventions=Conventions(human="team_share"))


def test_values_that_rest_on_people_have_second_ones(played):
    snapshot, selection = measured(played)
    every, others = (
        leaderboard(played.snapshot().with_people("qanta", people), selection, METRICS_OF_PEOPLE).rows[0].metrics
        for people in ("", STATED_ENDS)
    )
    board = leaderboard(snapshot, selection, [*METRICS_OF_PEOPLE, CATALOGUE["brier"]], intervals=True)
    assert board.plays == Plays(7, 3)
    for metric in METRICS_OF_PEOPLE:
        cell = board.rows[0].metrics[metric.key]
        assert cell.value == every[metric.key].value and cell.low is not None
        assert cell.second == {"value": others[metric.key].value} and abs(cell.value - cell.second["value"]) > APART
    assert board.rows[0].metrics["brier"].second == {}


def test_teams_right_by_the_end_of_a_question(played):
    """Of AbC 1 of 5, of XyZ 1 of 2; without the three plays 1 of 2 of each."""
    snapshot, selection = measured(played)
    answer = accuracy_by_fraction(snapshot, selection)
    end = answer.teams[0].fractions[-1]
    assert (end.right, end.questions, end.second) == (pytest.approx(0.35), 2, {"right": 0.5})
    assert answer.teams[0].fractions[0].second == {}, "before anybody buzzed, both are the same"
    rows = {row.question_id: row for row in question_details(snapshot, selection, ("AbC", "XyZ"), ())}
    assert (rows["AbC"].people, rows["AbC"].difficulty, rows["AbC"].heard) == (0.2, 0.8, 5)
    assert rows["AbC"].second == {"heard": 2, "people": 0.5, "difficulty": 0.5, "h": 0.5} and rows["XyZ"].second == {}


def test_expected_wins_against_both_readings(played):
    """A run that is right at the fifth token of AbC, where 1 of 5 or 1 of 2 teams know it, and at the fifth of XyZ (1 of 2)."""
    rules = Rules(threshold=0.55, curve="dataset")
    answer = buzz(*measured(played), rules)
    outcome = answer.explorer.runs[0].outcome
    assert answer.plays == Plays(7, 3)
    assert outcome.expected_wins == pytest.approx((0.8 + 0.5) / 2)
    assert outcome.second["expected_wins"] == pytest.approx((0.5 + 0.5) / 2)


def test_a_question_has_both_curves(played):
    snapshot, selection = measured(played)
    asked = question(snapshot, selection, "AbC")
    assert (asked.human.teams, asked.human.unstated, asked.difficulty) == (5, 3, 0.8)
    assert asked.human.team_share == [0.0, 0.2, 0.2] and asked.human.second["team_share"] == [0.0, 0.5, 0.5]
    assert "buzz_share" not in asked.human.second, "it does not depend on who never buzzed"
    assert asked.second == {"difficulty": 0.5} and asked.runs[0].second["calscore"] != asked.runs[0].metrics["calscore"]
    assert question(snapshot, selection, "XyZ").human.second == {}


def test_both_values_are_of_the_same_questions(played):
    """A filter on a difficulty that follows from people selects the same questions for both."""
    snapshot, selection = measured(played)
    hard = selection.replace(difficulty=(0.7, 1.0))
    answer = accuracy_by_fraction(snapshot, hard).teams[0].fractions[-1]
    assert (answer.right, answer.second, answer.questions) == (0.2, {"right": 0.5}, 1)


def test_without_such_plays_nothing_is_second(played):
    snapshot, selection = measured(played)
    board = leaderboard(snapshot.with_people("qanta", STATED_ENDS), selection, METRICS_OF_PEOPLE)
    assert board.plays is None and all(not cell.second for cell in board.rows[0].metrics.values())
    of_other_question = leaderboard(snapshot, selection.replace(questions=("XyZ",)), METRICS_OF_PEOPLE)
    assert of_other_question.plays is None


def test_parts_pairs_and_peoples_decisions_have_second_values(played, tmp_path):
    put_file(played, tmp_path / "tossup__2026__bob__small.jsonl", run_lines(1, guess="Oslo", correct=0))
    snapshot, selection = measured(played)
    board = leaderboard(snapshot, selection.replace(questions=("AbC",)), METRICS_OF_PEOPLE)
    first, other = (row.run for row in board.rows)
    seconds = [row.metrics["calscore"].second["value"] for row in board.rows]
    compared = comparison(snapshot, selection, first, other, METRICS_OF_PEOPLE).metrics["calscore"].second
    assert (compared["a"], compared["b"]) == pytest.approx(seconds)
    assert compared["difference"] == pytest.approx(seconds[0] - seconds[1])
    parts = {part.value: part for part in breakdown(snapshot, selection, "category", METRICS_OF_PEOPLE).parts}
    assert [row.metrics["calscore"].second["value"] for row in parts[None].rows] == pytest.approx(seconds[:1]), "bob took no part"
    assert all(not row.metrics["calscore"].second for row in parts["History"].rows), "all of its plays have an end"
    people = decide(snapshot, selection).people
    assert (people.right, people.wrong, people.heard, people.unstated) == pytest.approx((2 / 7, 1 / 7, 7, 3))
    assert people.second == pytest.approx({"right": 2 / 4, "wrong": 1 / 4})


def test_a_second_value_says_its_questions_if_they_are_others(played, tmp_path):
    """Nobody stated where the only play of a further question ended, so the second value lacks this question."""
    further = {2: [*PACKETS[2], tossup("advvqa-t-Quo", "Who hears this one? Name it.")]}
    plays = "packet,nano,reveal_fraction,correct,censored\n2,Quo,1.0,0,1\n"
    put(played, write_challenge(tmp_path / "further", packets=further, plays=plays, runs={}))
    answers = json.dumps({"qid": "t-Quo", "run_outputs": [output(3), output(6)]})
    put_file(played, tmp_path / "tossup__2026__bob__small.jsonl", run_lines(1) + run_lines(2) + answers + "\n")
    snapshot, selection = measured(played)
    (run,) = (row for row in leaderboard(snapshot, selection, METRICS_OF_PEOPLE).rows if row.model == "bob/small")
    cell = run.metrics["calscore"]
    assert (cell.questions, cell.second["questions"]) == (3, 2)
    end = accuracy_by_fraction(snapshot, selection).teams[0].fractions[-1]
    assert (end.right, end.questions) == (pytest.approx((0.2 + 0.5 + 0) / 3), 3)
    assert end.second == {"right": 0.5, "questions": 2}
    thresholds = next(row for row in buzz(snapshot, selection, Rules(curve="dataset")).explorer.runs if row.model == "bob/small")
    assert (thresholds.counted, thresholds.heard, thresholds.second) == (3, 3, {"counted": 2, "heard": 2})
