"""The QANTA challenge: packets, run files and plays."""

import json

import pytest

from clueline.data.importing.report import Refused
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import grades, rows
from tests.helpers.qanta_files import NAME, PACKETS, PLAYS, output, run_lines, tossup, write_challenge

CLUES = "select question_id, clue, text, word_end from clues order by all"
RESPONSES = "select question_id, clue, guess, confidence, correct from responses order by all"
CUT = [
    ("AbC", 0, "This city [image]", 3), ("AbC", 1, "[delay] is tall.", 6), ("AbC", 2, "Name it now please.", 10),
    ("XyZ", 0, "Who is this old [image]", 5), ("XyZ", 1, "man?", 6),
]  # fmt: skip


@pytest.fixture
def write(tmp_path):
    return lambda **parts: write_challenge(tmp_path / "challenge", **parts)


def put_challenge(store, folder):
    bundles.put(store, write_challenge(folder / "challenge"))


def test_packets_plays_and_runs_are_read(tried, write):
    """Clues end where the runs were asked, files of one name are one run, and plays are matches of one team."""
    report = tried(write())
    assert report.formats == ["qanta"]
    assert tried.rows(CLUES) == CUT
    assert tried.rows("select dataset, question_id, answer, category from questions order by position") == [
        ("qanta", "AbC", "<b>_Rome_</b>", None), ("qanta", "XyZ", "<b>Bob</b>", "History"),
    ]  # fmt: skip
    assert tried.rows("select model, elicitation, items, questions from runs") == [("ann/big-model", "system", 5, 2)]
    assert tried.rows(RESPONSES)[:2] == [("AbC", 0, "Rome", 0.3, 1.0), ("AbC", 1, "Rome", 0.6, 1.0)]
    assert tried.rows("select question_id, team, word, clue, correct from buzzes order by all") == [
        ("AbC", "Play AbC-1", 4, 1, True), ("AbC", "Play AbC-2", 6, 2, False), ("XyZ", "Play XyZ-2", 0, 0, True),
    ]  # fmt: skip
    assert tried.rows("select question_id, team, heard_words, ended_by, end_stated from exposures order by all") == [
        ("AbC", "Play AbC-1", 5, "Play AbC-1", True), ("AbC", "Play AbC-2", 7, None, True),
        ("AbC", "Play AbC-3", None, None, False),
        ("XyZ", "Play XyZ-1", 4, "the other side", True), ("XyZ", "Play XyZ-2", 1, "Play XyZ-2", True),
    ]  # fmt: skip
    assert report.repaired == {"plays whose end is not stated; they count as heard to the end, without a buzz": 1}
    assert tried.rows("from left_out_plays") == []


def test_sentences_are_clues_until_a_run_has_come(store, write):
    folder = write()
    bundles.put(store, folder / "packet1_final/tossup.json", folder / "packet2_final/tossup/data.json", folder / "plays.csv")
    assert rows(store, CLUES) == [
        ("AbC", 0, "This city [image] [delay] is tall.", 6), ("AbC", 1, "Name it now please.", 10),
        ("XyZ", 0, "Who is this old [image] man?", 6),
    ]  # fmt: skip
    people = rows(store, "select question_id, team, word, correct from buzzes order by all")
    report = bundles.put(store, *sorted((folder / "out").rglob("*.jsonl")))
    assert "dataset qanta: 2 questions recut: their clues end where the runs were asked" in report.lines
    assert rows(store, CLUES) == CUT
    assert rows(store, "select question_id, team, word, correct from buzzes order by all") == people
    assert rows(store, "select question_id, clue from buzzes order by team") == [("AbC", 1), ("AbC", 2), ("XyZ", 0)]
    assert len(rows(store, RESPONSES)) == 5


def test_the_same_again_changes_nothing_and_more_runs_fit(prefilled, tmp_path):
    store, folder = prefilled(put_challenge), tmp_path / "challenge"
    before = bundles.content(store)
    bundles.put(store, folder)
    bundles.put(store, folder / "packet1_final/tossup.json", folder / "packet2_final/tossup/data.json")
    assert bundles.content(store) == before
    bundles.put_file(store, tmp_path / "tossup__hf__20260101_120000__bob__small.jsonl", run_lines(1, guess="Oslo", correct=0))
    assert rows(store, "select model, questions from runs order by 1") == [("ann/big-model", 2), ("bob/small", 1)]


def test_the_file_name_gives_owner_and_system(tried, write):
    models = {
        "tossup__20260101_120000__ann__m": "ann/m", "tossup__20260101__120000__ann__m-1.5_b": "ann/m-1.5_b",
        "tossup__hf__20260101_120000__ben__m": "ben/m", "tossup__docker__2026__ann_b__m_n": "ann_b/m_n",
        "tossup__frontier__20260811_q4_cpu__pool__Lag-S-2.1": "pool/Lag-S-2.1",
    }  # fmt: skip
    tried(write(runs={f"{name}.jsonl": run_lines(1, guess=name) for name in models}))
    assert dict(tried.rows("select distinct guess, model from responses join runs using (run)")) == models


def test_a_run_with_another_name_needs_its_model(store, write):
    folder = write(runs={"mine.jsonl": run_lines(1)})
    assert [problem.hint for problem in bundles.refusal(store, folder).problems] == ["model"]
    bundles.put(store, folder, model="Mine")
    assert rows(store, "select model from runs") == [("Mine",)]


def test_failed_calls_are_no_answers(tried, write):
    lines = json.dumps({"qid": "t-AbC", "run_outputs": [output(3, "ERROR", 0, 0), output(10)]})
    tried(write(runs={NAME: lines}))
    assert tried.rows("select clue, guess, failed from responses order by all") == [(0, None, True), (1, "Rome", False)]


def test_both_gradings_of_the_same_outputs_are_kept(store, write):
    texts = {
        f"Packet {packet}/{name}/{NAME}": run_lines(packet, **more)
        for packet in (1, 2)
        for name, more in {"Tossup": {}, "Tossup_pedant": {"correct": 0}}.items()
    }
    report = bundles.put(store, write(runs=texts))
    assert rows(store, "select distinct correct from responses") == [(1.0,)]
    (run,) = report.runs
    snapshot = store.snapshot().with_grading("pedant")
    assert snapshot.rows(f"select correct, graded, count(*) from {snapshot.responses([run])} group by all") == [(0.0, "file", 5)]
    (warning,) = [warning for warning in report.warnings if "another grading" in warning]
    assert "2 files" in warning and "kept as 'pedant'" in warning and "Tossup_pedant" in warning


def files(folder, name="Tossup", packets=(1, 2), **more):
    return write_challenge(folder, {}, {f"Packet {p}/{name}/{NAME}": run_lines(p, **more) for p in packets}, None)


@pytest.mark.parametrize(
    ("first", "second", "name"), [("Tossup", "Tossup_pedant", "pedant"), ("Tossup_pedant", "Tossup", "tossup")]
)
def test_a_later_grading_belongs_to_the_same_run(store, write, tmp_path, first, second, name):
    bundles.put(store, write(runs={}))
    (run,) = bundles.put(store, files(tmp_path / "first", first)).runs
    later = files(tmp_path / "later", second, correct=0)
    report = bundles.put(store, later)
    assert (report.runs, report.gradings) == ([run], [(run, name)])
    assert report.warnings == [f"run {run} has these answers already: the grades are added to it as {name!r}"]
    assert (grades(store, run), grades(store, run, name)) == ([1.0] * 5, [0.0] * 5)
    before = bundles.content(store)
    assert bundles.put(store, later).gradings == [] and bundles.content(store) == before


def test_some_gradings_of_an_import_can_be_stored_already(store, write, tmp_path):
    bundles.put(store, write(runs={}))
    (run,) = bundles.put(store, files(tmp_path / "first", "Tossup_pedant", correct=0)).runs
    files(tmp_path / "both", "Tossup_pedant", correct=0)
    both = files(tmp_path / "both")
    report = bundles.put(store, both)
    assert (report.runs, report.gradings) == ([run], [(run, "tossup")])
    assert report.lines[-1].endswith("already there, gets the grading 'tossup', with the grades of 'pedant' as 'imported'")
    assert (grades(store, run), grades(store, run, "tossup")) == ([0.0] * 5, [1.0] * 5)


def test_a_file_without_a_folder_is_another_grading(prefilled, tmp_path):
    store = prefilled(put_challenge)
    (tmp_path / NAME).write_text(run_lines(1, correct=0) + run_lines(2, correct=0))
    assert [name for _, name in bundles.put(store, tmp_path / NAME).gradings] == ["other"]


def test_outputs_that_differ_are_no_second_grading(tried, write):
    runs = {f"a/{NAME}": run_lines(1), f"b/{NAME}": run_lines(1, guess="Oslo")}
    with pytest.raises(Refused, match="different outputs for 1 of these questions"):
        tried(write(runs=runs))


def test_runs_asked_at_other_positions_are_refused(prefilled, tmp_path):
    store = prefilled(put_challenge)
    (path := tmp_path / "tossup__2026__bob__small.jsonl").write_text(run_lines(1, {"AbC": (3, 7, 10)}))
    assert "asked after 7 tokens, where no clue of the question ends" in str(bundles.refusal(store, path))


def test_runs_on_later_packets_cut_their_questions(store, write, tmp_path):
    bundles.put(store, write(runs={f"out/{NAME}": run_lines(1)}))
    bundles.put_file(store, tmp_path / "tossup__2026__bob__small.jsonl", run_lines(2))
    assert rows(store, CLUES) == CUT
    assert rows(store, "select model, questions, missing_questions, withdrawn_at from runs order by 1") == [
        ("ann/big-model", 1, 1, None), ("bob/small", 1, 1, None),
    ]  # fmt: skip
    assert rows(store, "select count(*) from exposures") == [(5,)]


def test_packets_of_later_rounds_are_added(store, tmp_path):
    first, second = (
        write_challenge(tmp_path / str(n), {n: PACKETS[n]}, plays="".join(PLAYS.splitlines(True)[k] for k in kept))
        for n, kept in ((1, (0, 1, 2)), (2, (0, 4, 5)))
    )
    bundles.put(store, first)
    assert "dataset qanta: 1 question added to its 1" in bundles.put(store, second).lines
    assert rows(store, CLUES) == CUT
    assert rows(store, "select question_id from questions order by position") == [("AbC",), ("XyZ",)]
    assert (
        rows(store, "select model, questions, missing_questions, withdrawn_at from runs") == [("ann/big-model", 1, 1, None)] * 2
    )
    assert rows(store, "select question_id, count(*) from exposures group by 1 order by 1") == [("AbC", 2), ("XyZ", 2)]
    before = bundles.content(store)
    bundles.put(store, first)  # which lacks the second packet
    assert bundles.content(store) == before


def test_packets_that_change_stored_questions_are_refused(store, tmp_path):
    bundles.put(store, write_challenge(tmp_path / "first", {1: PACKETS[1]}, plays=None))
    edited = [PACKETS[1][0] | {"answerline": "<b>Oslo</b>"}, *PACKETS[2]]
    before = bundles.content(store)
    with pytest.raises(Refused, match="stored with different questions, and runs may depend on them"):
        bundles.put(store, write_challenge(tmp_path / "edited", {2: edited}, runs={}, plays=None))
    assert bundles.content(store) == before


def test_positions_in_an_edited_text_are_scaled(tried, write):
    plays = "packet,nano,reveal_fraction,correct,censored\n1,AbC,0.44067797,1,0\n"
    report = tried(write(runs={NAME: run_lines(1, {"AbC": (7, 13, 20)})}, plays=plays))
    ends = tried.rows("select word_end from clues where question_id = 'AbC' order by clue")
    assert ends == [(4,), (6,), (10,)]
    assert tried.rows("select word from buzzes") == [(4,)]
    texts = " ".join(report.warnings)
    assert "1 question has fewer tokens than were read" in texts and "1 question was edited after play" in texts


def test_tokens_have_no_white_space_of_their_own(tried, write):
    """A packet can have no tokens at all."""
    tokens = [{"content": "a  b", "position": 1, "type": "text"}, {"content": "", "position": 0}]
    without = {"qid": "set-01-3", "question": "See <multimodal type='img' hash='a b'> <b>this</b> one.", "answerline": "x"}
    tried(write(packets={1: [tossup("t-AbC", "x y", tokens=tokens)], 2: [without]}, runs={}, plays=""))
    assert tried.rows(CLUES) == [("AbC", 0, "[media] a\u00a0b", 2), ("set-01-3", 0, "See [media] this one.", 4)]


def test_rows_of_other_questions_are_counted(tried, write):
    report = tried(write(packets={1: PACKETS[1]}, runs={NAME: run_lines(1) + run_lines(2)}, plays=PLAYS))
    assert [*report.skipped.values()] == [{"not a question of this dataset": 2}]
    assert any("2 plays of questions that the dataset does not have" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"runs": {NAME: '{"qid": 1, "run_outputs": []}\n'}}, f"{NAME}, line 1, value"),
        ({"runs": {NAME: run_lines(1) + '{"qid": \n'}}, f"{NAME}, line 2, value"),
        ({"runs": {NAME: run_lines(1) * 2}}, "this question is in the file already"),
        ({"runs": {NAME: run_lines(1, {"AbC": (0, 10)})}}, "line 1, column token_position, value '0'"),
        ({"runs": {NAME: run_lines(1, {"AbC": (3,)}).replace("0.3", "30")}}, "output 1, column confidence, value '30'"),
        ({"packets": {1: [{"qid": "t-AbC", "answerline": "x"}]}, "runs": {}}, "tossup 1: a tossup needs a qid and a question"),
        ({"plays": PLAYS + "1,AbC,1.5,1,0\n"}, "plays.csv, line 7, column reveal_fraction, value '1.5'"),
        ({"plays": PLAYS + "1,AbC,soon,1,0\n"}, "plays.csv, line 7, column reveal_fraction, value 'soon'"),
        ({"packets": {1: PACKETS[1]}, "runs": {NAME: run_lines(2)}, "plays": ""}, "none of the outputs of ann/big-model"),
    ],
)  # fmt: skip
def test_bad_files_are_named(store, write, parts, reason):
    assert reason in str(bundles.refusal(store, write(**parts)))


def test_runs_and_plays_need_their_questions(store, write):
    folder = write()
    for path in (folder / "plays.csv", *folder.rglob(NAME)):
        assert [problem.hint for problem in bundles.refusal(store, path).problems] == ["dataset"]
