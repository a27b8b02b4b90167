"""The buzzes of the GRACE tournaments in the form of the release: an encrypted zip of packets, with placeholders for texts."""

import json
from collections import defaultdict

import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from tests.helpers.encrypted_zips import encrypted_zip


@pytest.fixture(scope="module")
def imported(store, released, tmp_path_factory):
    tossups = {}
    for row in released:
        key = (row["packet"], row["question"])
        text = " ".join(f"word{n}{'.' if n % 20 == 19 else ''}".capitalize() for n in range(int(row["words"])))
        tossup = tossups.setdefault(
            key,
            {"tossup_index": row["question"], "category": row["category"], "question": text, "answer": "?", "position": []},
        )
        tossup["position"].append({row["word"]: f"[{row['team']}, {'+' if row['correct'] == '1' else '-'}]"})
    packets = defaultdict(list)
    for (packet, _), tossup in tossups.items():
        packets[f"packet{packet}_buzzpoints.json"].append(tossup)
    path = tmp_path_factory.mktemp("grace") / "release.zip"
    path.write_bytes(encrypted_zip({name: json.dumps(tossups).encode() for name, tossups in packets.items()}, "sesame"))
    report = import_paths(store, [path], ImportOptions(password="sesame"))
    assert report.formats == ["grace"] and not report.repaired
    return store.snapshot()


def test_counts(imported):
    sql = "select team_kind, correct, count(*), count(distinct team) from buzzes group by all order by all"
    assert [row[:3] for row in imported.rows(sql)] == [
        ("human", False, 292), ("human", True, 1079), ("model", False, 110), ("model", True, 268),
    ]  # fmt: skip
    teams = "select team_kind, count(distinct team), count(*) from exposures group by 1 order by 1"
    assert imported.rows(teams) == [("human", 17, 20 * 123), ("model", 3, 20 * 27)]
    ids = "select count(*), count(distinct split_part(question_id, '/', 2)) from questions"
    assert imported.rows(ids) == [(240, 239)]
    assert imported.rows("select count(distinct category) from questions") == [(6,)]


def test_teams_hear_only_packets_they_buzzed_in(imported, released):
    heard = imported.rows("select split_part(question_id, '/', 1), team, count(*) from exposures group by all")
    assert {row[:2] for row in heard} == {(row["packet"], row["team"]) for row in released}
    assert {row[2] for row in heard} == {20}  # questions of a packet


def test_buzzes_are_at_their_words(imported, released):
    stored = imported.rows("select question_id, team, word, correct from buzzes")
    assert sorted(stored) == sorted(
        (f"{row['packet']}/{row['question']}", row["team"], int(row["word"]), row["correct"] == "1") for row in released
    )
    lengths = dict(imported.rows("select question_id, max(word_end) from clues group by 1"))
    assert {f"{row['packet']}/{row['question']}": int(row["words"]) for row in released} == lengths
