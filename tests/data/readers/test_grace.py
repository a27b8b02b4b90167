"""The GRACE release: packets, encrypted or not."""

import json

import pytest

from clueline.data.readers.shared.quizbowl_games import SECOND_BUZZ
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows
from tests.helpers.encrypted_zips import encrypted_zip
from tests.helpers.grace_packets import PACKETS, write_packets


@pytest.fixture
def release(tmp_path):
    return write_packets(tmp_path / "release")


def content(store):
    return [
        rows(store, f"select * from {table} order by all")
        for table in ("buzzes", "exposures", "clues", "questions where dataset = 'grace'")
    ]


def test_a_release_is_read_whole(store, release):
    report = bundles.put(store, release)
    assert rows(store, "select question_id, clue, text, word_end from clues where question_id = '3/128' order by clue") == [
        ("3/128", 0, "He came from St. Louis.", 5), ("3/128", 1, "D. H. Lawrence (“LAW-rence”) knew him.", 11),
    ]  # fmt: skip
    assert rows(store, "select question_id, answer, category, subcategory from questions order by position") == [
        ("3/128", "Ann", "Literature", "Other Lit"), ("3/exh-1", "Bob", "Geo/CE", "Geo/CE"),
        ("10/128", "Cid", "History", "Euro Hist"), ("10/2", "Dora", "RMPSS", "Social Science"),
    ]  # fmt: skip

    assert rows(store, "select question_id, team, team_kind, word, clue, correct from buzzes order by all") == [
        ("10/128", "H1", "human", 1, 0, True), ("10/128", "M2", "model", 4, 0, False),
        ("3/128", "H1", "human", 10, 1, True), ("3/128", "H17", "human", 4, 0, False), ("3/128", "M1", "model", 5, 1, True),
    ]  # fmt: skip
    assert rows(store, "select team, team_kind, count(*), count(heard_words) from exposures group by all order by all") == [
        ("H1", "human", 4, 0), ("H17", "human", 2, 0), ("M1", "model", 2, 0), ("M2", "model", 2, 0),
    ]  # fmt: skip
    assert report.repaired == {
        "buzzes past the end of the question, moved to its end": 1,
        f"left out: {SECOND_BUZZ}": 1,
    }
    assert rows(store, "from left_out_plays") == [("grace", "3/128", "packet 3", SECOND_BUZZ, 1)]
    (warning,) = report.warnings
    assert "a team that buzzed in a packet counts as having heard all its questions" in warning
    heard = "select split_part(question_id, '/', 1), team, count(*) from exposures group by all order by all"
    assert rows(store, heard) == [("10", "H1", 2), ("10", "M2", 2), ("3", "H1", 2), ("3", "H17", 2), ("3", "M1", 2)]
    curves = "select distinct question_id, teams from curves order by 1"
    assert rows(store, curves) == [("10/128", 1), ("10/2", 1), ("3/128", 2), ("3/exh-1", 2)]


def test_a_zip_is_the_same_as_a_folder(store, release, tmp_path):
    bundles.put(store, release)
    members = {f"all/packet{n}_buzzpoints.json": json.dumps(p).encode() for n, p in PACKETS.items()}
    path = tmp_path / "release.zip"
    path.write_bytes(encrypted_zip(members | {"__MACOSX/all/._packet3_buzzpoints.json": b"\0"}, "sesame"))
    before = content(store)
    report = bundles.put(store, path, password="sesame")
    assert content(store) == before
    assert "dataset grace: 4 questions, already there" in report.lines


def test_packets_can_come_one_by_one(tried, release):
    together = sorted(release.iterdir(), key=lambda path: len(path.name))
    report = tried(*together)
    assert tried.rows("select count(*), count(distinct team) from exposures") == [(10, 4)]
    assert report.formats == ["grace", "grace"]


@pytest.mark.parametrize(
    ("position", "words"),
    [
        ([{"2": "[H1, -]"}, {"4": "[H2, +]"}], [2, 4]), ({"2": ["[H1, -]", "[H2, +]"]}, [2, 2]), ({"4": "[h1, +]"}, [4]),
        ([{"2": ["[H1,-]"], "3": "[H2, +]"}], [2, 3]), ([], []), ({}, []),
    ],
)  # fmt: skip
def test_positions_are_lists_or_maps(tried, tmp_path, position, words):
    tried(write_packets(tmp_path / "in", {1: [PACKETS[3][0] | {"position": position}]}))
    assert [word for (word,) in tried.rows("select word from buzzes order by team")] == words


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"position": [{"x": "[H1, +]"}]}, "tossup 1, column position, value 'x: [H1, +]'"),
        ({"position": [{"1": "[H1, ?]"}]}, "tossup 1, column position, value '1: [H1, ?]'"),
        ({"position": "soon"}, "tossup 1, column position"),
        ({"question": " "}, "tossup 1: needs a tossup_index and a question"),
        ({"tossup_index": None}, "tossup 1: needs a tossup_index and a question"),
    ],
)
def test_bad_rows_are_named(store, tmp_path, change, reason):
    refused = bundles.refusal(store, write_packets(tmp_path / "in", {1: [PACKETS[3][0] | change, PACKETS[3][1]]}))
    assert any(reason in str(problem) for problem in refused.problems), list(map(str, refused.problems))


@pytest.mark.parametrize("text", ["", "{", '{"a": 1}', "[]", "[1]", '[{"tossup_index": 1}]'])
def test_a_file_that_is_no_packet_is_refused(store, tmp_path, text):
    folder = write_packets(tmp_path / "in")
    (folder / "packet5_buzzpoints.json").write_text(text)
    refused = bundles.refusal(store, folder)
    assert [problem.file for problem in refused.problems] == ["in/packet5_buzzpoints.json"]


def test_unpaired_surrogates_are_replaced(tried, tmp_path):
    tossup = PACKETS[3][0] | {"question": "Who is \ud800 this?", "answer": "An\udc00n", "category": "\ud800"}
    tried(write_packets(tmp_path / "in", {1: [tossup]}))
    assert tried.rows("select text, answer from questions") == [("Who is ? this?", "An?n")]
