"""Games in QBJ, and their packets."""

import json

import pytest

from clueline.data.importing.report import Refused
from clueline.data.readers.shared.quizbowl_games import NO_POSITION, SECOND_BUZZ
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows
from tests.helpers.qbj_games import GAME, PACKET, buzz, match, question, write_games

BUZZES = "select question_id, word, clue, correct from buzzes order by all"


@pytest.fixture
def write(tmp_path):
    return lambda *args, **games: write_games(tmp_path / "open", *args, **games)


def test_packets_and_games_become_a_dataset(tried, write):
    tried(write())
    assert tried.rows("select dataset, question_id, answer, category, subcategory from questions order by position") == [
        ("open", "Packet 1/1", "<b><u>Paris</u></b>", None, None), ("open", "Packet 1/2", "Nile", "Geography", "Rivers"),
        ("open", "Packet 1/3", "<b>Dead</b> Sea", "Geography", "Seas"),
    ]  # fmt: skip
    assert tried.rows("select clue, text, word_end from clues where question_id = 'Packet 1/1' order by 1") == [
        (0, "This old\u00a0city (“SIT-ee”) is tall.", 4), (1, "(*) Name it now.", 7),
    ]  # fmt: skip
    assert tried.rows(BUZZES) == [("Packet 1/1", 2, 0, False), ("Packet 1/1", 4, 1, True), ("Packet 1/2", 4, 0, False)]
    heard = "select question_id, heard_words, count(*), count(ended_by) from exposures group by all order by all"
    assert tried.rows(heard) == [("Packet 1/1", 5, 2, 2), ("Packet 1/2", None, 2, 0)]


def test_teams_have_pseudonyms_unless_names_are_kept(store, write):
    path = write()
    bundles.put(store, path)
    assert not any(name in str(bundles.content(store)) for name in ("Oak A", "Elm", "Pat Doe"))
    bundles.put(store, path, dataset="named", names=True)
    assert rows(store, "select distinct team from exposures where dataset = 'named' order by 1") == [("Elm",), ("Oak A",)]
    assert "Pat Doe" not in str(bundles.content(store))


def test_the_same_again_changes_nothing_and_more_games_fit(store, write, tmp_path):
    path = write()
    bundles.put(store, path)
    before = bundles.content(store)
    bundles.put(store, path)
    assert bundles.content(store) == before
    text = json.dumps(match(question(1, buzz("Fir", 6, 10)), question(3), teams=("Fir", "Oak A")))
    bundles.put_file(store, tmp_path / "later.qbj", text, dataset="open")
    assert rows(store, "select count(distinct team), count(distinct match_id) from exposures") == [(3, 2)]
    assert (("Packet 1/1", 6, 1, True)) in rows(store, BUZZES)


def test_files_can_come_one_by_one(tried, write):
    folder = write()
    tried(folder / "Packet 1.json", folder / "game.qbj", dataset="open")
    assert len(tried.rows(BUZZES)) == 3


def test_a_replacement_counts_as_heard(tried, write):
    report = tried(write(game=match(question(1, buzz("Elm", 1, 10), tossup=1, replacement=3))))
    assert tried.rows(BUZZES) == [("Packet 1/3", 1, 0, True)]
    assert tried.rows("select distinct question_id from exposures") == [("Packet 1/3",)]
    assert report.repaired == {"tossups that were thrown out; their replacements count as heard": 1}


def test_a_serialised_tournament_refers_to_its_objects(tried, write):
    game = {
        "type": "Match", "id": "m1", "packets": "packet_1", "match_teams": [{"team": {"$ref": "t1"}}, {"team": {"$ref": "t2"}}],
        "match_questions": [{"$ref": "q1"}],
    }  # fmt: skip
    objects = [
        {"type": "Tournament", "name": "Open", "phases": [{"rounds": [{"matches": [{"$ref": "m1"}]}]}]}, game,
        {"type": "Team", "id": "t1", "name": "Oak"}, {"type": "Team", "id": "t2", "name": "Elm"},
        {"type": "AnswerType", "id": "ten", "value": 10},
        {"id": "q1"} | question(2, buzz("x", 1, 10) | {"team": {"$ref": "t2"}, "result": {"$ref": "ten"}}),
    ]  # fmt: skip
    tried(write(tournament={"version": "2.1", "objects": objects}))
    assert tried.rows(BUZZES) == [("Packet 1/2", 1, 0, True)]


def test_buzzes_are_repaired_by_rules(tried, write):
    buzzes = [buzz("Elm", 9, 0), buzz("Elm", 2, 0), buzz("Oak A", 3, 10), buzz("Oak A", 3, 10), buzz("Elm", None, 0)]
    report = tried(write(game=match(question(2, *buzzes))))
    assert tried.rows(BUZZES) == [("Packet 1/2", 2, 0, False), ("Packet 1/2", 3, 0, True)]
    assert sum(report.repaired.values()) == 4
    left_out = "select question_id, reason, sum(plays) from left_out_plays group by all order by 2"
    assert tried.rows(left_out) == [("Packet 1/2", NO_POSITION, 1), ("Packet 1/2", SECOND_BUZZ, 1)]


@pytest.mark.parametrize(
    ("packets", "game"),
    [
        ({"Packet 1": PACKET}, GAME | {"packets": None}),
        ({"Round 1": PACKET, "Round 2": PACKET}, GAME | {"packets": None, "_round": 2}),
        ({"packet-1": PACKET, "x": PACKET}, GAME), ({"Packet 1": PACKET}, GAME | {"packets": ["Packet 1"]}),
        (None, {"version": "2.1", "objects": [{"type": "Tournament", "phases": [{"rounds": [{"matches": [GAME]}]}]}]}),
    ],
)  # fmt: skip
def test_games_are_found_with_their_packets(tried, write, packets, game):
    tried(write(packets, game=game))
    assert len(tried.rows(BUZZES)) == 3


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        (GAME | {"packets": "Packet 9"}, "open/game.qbj, column packets, value 'Packet 9': which packet was read?"),
        (
            match(question(4)),
            "open/game.qbj, question 4, column question_number, value '4': packet 'Packet 1' has no such tossup",
        ),
        (match(question(1), teams=("Elm", "Elm")), "open/game.qbj: a game needs two teams"),
        (match(question(1, buzz("Fir", 1, 10))), "open/game.qbj, question 1, column team, value 'Fir'"),
    ],
)
def test_bad_games_are_named(store, write, game, reason):
    assert reason in str(bundles.refusal(store, write(game=game)))


def test_a_game_that_cannot_be_read_is_refused(tried, write):
    folder = write()
    (folder / "game.qbj").write_text(json.dumps(GAME), encoding="utf-16")
    with pytest.raises(Refused, match=r"open/game.qbj: this is not a JSON document in UTF-8"):
        tried(folder)


def test_games_without_questions_are_refused(store, write):
    path = write() / "game.qbj"
    for dataset, reason in ((None, "which dataset"), ("open", "import their packets")):
        with pytest.raises(Refused, match=reason):
            bundles.put(store, path, dataset=dataset)
    path.write_text("{")
    with pytest.raises(Refused, match="JSON"):
        bundles.put(store, path, form="qbj", dataset="open")
