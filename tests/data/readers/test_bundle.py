"""Bundles that are as they should be: every format and packing, what is worked out, and importing again."""

import json
import shutil
import zipfile

import polars as pl
import pytest

from data.importing.checks import sentences
from data.importing.report import Refused
from data.importing.seed import seed
from data.store import open_store
from data.store.withdrawal import withdraw
from tests.helpers import bundle_factory as bundles

PEOPLE = {
    "exposures": """question_id,match_id,team,team_kind,heard_words,ended_by
q1,m1,Ash,human,8,Birch
q1,m1,Birch,human,8,Birch
q1,m2,Robot,model,,
q2,m1,Ash,human,,
""",
    "buzzes": """question_id,match_id,team,word,correct,guess
q1,m1,Birch,7,true,Paris
q1,m2,Robot,16,false,Lyon
q2,m1,Ash,3,0,Ganges
""",
}


def rows(store, sql):
    return store.snapshot().rows(sql)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "toy"


# -- formats ---------------------------------------------------------------------------------------------------------

TEXTS = {"questions": bundles.QUESTIONS, "clues": bundles.CLUES, "responses": bundles.RESPONSES, **PEOPLE}


@pytest.fixture(scope="module")
def as_csv(tmp_path_factory):
    """What a store holds after the plain CSV bundle."""
    root = tmp_path_factory.mktemp("plain")
    store = open_store(root / "store", threads=1)
    bundles.put(store, bundles.write(root / "toy", **TEXTS), model="m")
    return bundles.content(store)


ENDINGS = ["csv", "csv.gz", "csv.zst", "jsonl", "jsonl.gz", "jsonl.zst", "parquet"]


@pytest.mark.parametrize(
    ("ending", "packed"),
    [(ending, "folder") for ending in ENDINGS] + [("csv.gz", "zip"), ("jsonl", "zip of a folder"), ("parquet", "zip")],
)
def test_formats_and_packings_hold_the_same(store, folder, as_csv, ending, packed):
    bundles.write(folder, questions=None, clues=None)
    for name, text in TEXTS.items():
        place = folder / "responses" / f"run.{ending}" if name == "responses" else folder / f"{name}.{ending}"
        place.write_bytes(bundles.in_format(text, ending))
    path = folder
    if packed != "folder":
        base = folder if packed == "zip" else folder.parent
        path = folder.parent / "upload"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(base))
            if packed == "zip of a folder":
                archive.writestr("__MACOSX/toy/._questions.csv", b"what macOS adds")
    bundles.put(store, path, model="m")
    stored = bundles.content(store)
    stored["runs"] = [tuple(str(v).replace(ending, "csv").replace("upload/", "toy/") for v in row) for row in stored["runs"]]
    assert stored == as_csv | {"runs": [tuple(map(str, row)) for row in as_csv["runs"]]}


@pytest.mark.parametrize(("delimiter", "ends"), [(";", "\n"), ("\t", "\r\n"), (",", "\r"), (";", "mixed"), (",", "mixed")])
def test_other_delimiters_and_line_ends(store, folder, as_csv, delimiter, ends):
    def written(text):
        lines = [delimiter.join(f'"{cell}"' for cell in line.split(",")) for line in text.splitlines()]
        if ends == "mixed":
            return "".join(line + ("\r\n" if index % 2 else "\n") for index, line in enumerate(lines))
        return ends.join(lines)

    bundles.put(store, bundles.write(folder, **{name: written(text) for name, text in TEXTS.items()}), model="m")
    assert bundles.content(store) == as_csv


def test_mixed_line_ends_of_json_lines(store, folder, as_csv):
    bundles.write(folder, **TEXTS | {"responses": None})
    lines = bundles.in_format(bundles.RESPONSES, "jsonl").decode().splitlines()
    (folder / "responses" / "run.jsonl").write_text("\n".join([lines[0] + "\r", "", *lines[1:], "  ", ""]), newline="")
    bundles.put(store, folder, model="m")
    assert bundles.content(store)["responses"] == as_csv["responses"]


def test_a_byte_order_mark_is_no_part_of_a_name(store, folder, as_csv):
    marked = {name: text.encode("utf-8-sig") for name, text in TEXTS.items()}
    bundles.put(store, bundles.write(folder, "\ufeff" + json.dumps(bundles.FACTS), **marked), model="m")
    assert bundles.content(store) == as_csv


def test_columns_in_any_order_with_others_between(store, folder, as_csv):
    frame = pl.read_csv(bundles.RESPONSES.encode()).with_columns(reasoning=pl.lit('a, "b"\nc'), **{"": pl.lit(1)})
    bundles.write(folder, **TEXTS | {"responses": frame.select(reversed(frame.columns)).write_csv()})
    bundles.put(store, folder, model="m")
    assert bundles.content(store)["responses"] == as_csv["responses"]


def test_files_that_are_no_part_of_a_bundle_are_named(store, folder):
    bundles.write(folder, buzz="question_id\n", README__md="hello", responses__txt="")
    (folder / "responses" / "run.xlsx").write_bytes(b"PK")
    report = bundles.put(store, folder)
    assert report.warnings == ["toy: no part of a bundle, left alone: buzz.csv, responses/run.xlsx"]


# -- clues -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("He was born in St. Louis. He died in London.", ["He was born in St. Louis.", "He died in London."]),
        ("D. H. Lawrence wrote it. Who?", ["D. H. Lawrence wrote it.", "Who?"]),
        ("In Washington, D.C. it rains. It pours!", ["In Washington, D.C. it rains.", "It pours!"]),
        (
            "Dr. Rieux met Mrs. Dalloway at 3.14 p.m. today. Name him.",
            ["Dr. Rieux met Mrs. Dalloway at 3.14 p.m. today.", "Name him."],
        ),
        ("One sentence without an end", ["One sentence without an end"]),
        ('She said "Stop." Then she left.', ['She said "Stop."', "Then she left."]),
    ],
)
def test_sentences(text, split):
    assert sentences(text) == split


def test_clues_are_the_sentences_where_none_are_given(store, folder):
    questions = "question_id,text\nq1,The poet of St. Louis. A friend of D. H. Lawrence. He wrote this.\nq2,   \nq3,\n"
    bundles.put(store, bundles.write(folder, questions=questions, clues=None))
    assert rows(store, "select question_id, clue, text, word_end, char_end, revealed from clues order by all") == [
        ("q1", 0, "The poet of St. Louis.", 5, 22, 5 / 14),
        ("q1", 1, "A friend of D. H. Lawrence.", 11, 50, 11 / 14),
        ("q1", 2, "He wrote this.", 14, 65, 1.0),
        ("q2", 0, "   ", 1, 3, 1.0),
        ("q3", 0, None, 1, 0, 1.0),
    ]
    assert rows(store, "select clues from questions order by position") == [(3,), (1,), (1,)]


@pytest.mark.parametrize("kind", ["single", "votes"])
def test_other_kinds_are_not_cut(store, folder, kind):
    bundles.put(
        store,
        bundles.write(folder, bundles.FACTS | {"kind": kind}, questions="question_id,text\nq1,One. Two.\n", clues=None),
    )
    assert rows(store, "select clue, text from clues") == [(0, "One. Two.")]


def test_words_are_counted_where_the_file_does_not(store, folder):
    clues = "\n".join(line.rpartition(",")[0] for line in bundles.CLUES.splitlines())
    bundles.put(store, bundles.write(folder, clues=clues))
    assert rows(store, "select word_end from clues order by question_id, clue") == [(5,), (10,), (16,), (4,), (8,)]
    (text,) = rows(store, "select text from questions where question_id = 'q1'")[0]
    ends = [end for (end,) in rows(store, "select char_end from clues where question_id = 'q1' order by clue")]
    assert [text[:end].rsplit(" ", 1)[1] for end in ends] == ["tower", "Seine", "France"]


def test_clues_that_state_only_their_ends_cut_the_text(store, folder):
    questions = "question_id,text\nq1,one two  three\tfour five\nq2,six seven\n"
    clues = "question_id,clue,word_end\nq1,1,4\nq1,0,1\nq1,2,5\nq2,0,9\n"
    bundles.put(store, bundles.write(folder, questions=questions, clues=clues))
    assert rows(store, "select text, word_end, char_end from clues order by question_id, clue") == [
        ("one", 1, 3), ("two three four", 4, 18), ("five", 5, 23), ("six seven", 9, 9),
    ]  # fmt: skip
    assert rows(store, "select text from questions order by position") == [("one two three four five",), ("six seven",)]


# -- people ----------------------------------------------------------------------------------------------------------


def test_people(store, folder):
    report = bundles.put(store, bundles.write(folder, **PEOPLE))
    assert report.lines[2:] == ["dataset toy: 4 exposures imported", "dataset toy: 3 buzzes imported"]
    assert rows(store, "select question_id, match_id, team, team_kind, word, clue, correct, guess from buzzes order by all") == [
        ("q1", "m1", "Birch", "human", 7, 1, True, "Paris"),
        ("q1", "m2", "Robot", "model", 16, 2, False, "Lyon"),
        ("q2", "m1", "Ash", "human", 3, 0, False, "Ganges"),
    ]
    assert rows(store, "select question_id, team, heard_words, ended_by from exposures order by all") == [
        ("q1", "Ash", 8, "Birch"), ("q1", "Birch", 8, "Birch"), ("q1", "Robot", None, None), ("q2", "Ash", None, None),
    ]  # fmt: skip


@pytest.mark.parametrize(("word", "clue"), [(0, 0), (4, 0), (5, 1), (9, 1), (10, 2), (15, 2), (16, 2)])
def test_a_buzz_is_in_the_first_clue_that_ends_after_it(store, folder, word, clue):
    bundles.put(store, bundles.write(folder, buzzes=f"question_id,match_id,team,word,correct\nq1,m,Ash,{word},yes\n"))
    assert rows(store, "select clue, correct from buzzes") == [(clue, True)]


def test_a_buzz_implies_an_exposure(store, folder):
    exposures = "question_id,match_id,team,team_kind\nq2,m9,Robot,model\n"
    buzzes = "question_id,match_id,team,word,correct\nq1,m1,Ash,1,false\nq1,m1,Robot,2,false\n"
    report = bundles.put(store, bundles.write(folder, exposures=exposures, buzzes=buzzes))
    assert report.repaired == {"buzzes without an exposure, taken to have heard the question": 2}
    assert rows(store, "select question_id, team, team_kind, heard_words from exposures order by all") == [
        ("q1", "Ash", "human", None), ("q1", "Robot", "model", None), ("q2", "Robot", "model", None),
    ]  # fmt: skip


VOTED = {"dataset": "voted", "kind": "votes", "classes": ["yes", "maybe", "no"]}
VOTES = "question_id,class,votes\nv1,no,2\nv1,yes,2\nv1,maybe,1\nv2,maybe,5\nv3,no,0\n"


def test_votes_settle_the_answer(store, folder):
    questions = "question_id,answer\nv1,\nv2,no\nv3,\n"
    bundles.put(store, bundles.write(folder, VOTED, questions=questions, clues=None, votes=VOTES))
    assert rows(store, "select question_id, answer from questions order by 1") == [("v1", "yes"), ("v2", "no"), ("v3", None)]
    assert rows(store, "select class, votes from votes where question_id = 'v1' order by 1") == [
        ("maybe", 1),
        ("no", 2),
        ("yes", 2),
    ]


def test_votes_may_come_later_and_runs_with_them(store, folder):
    questions = "question_id,answer\nv1,\nv2,no\n"
    bundles.put(store, bundles.write(folder, VOTED, questions=questions, clues=None))
    votes = VOTES.replace("v3,no,0\n", "")
    run = 'question_id,options\nv1,"[0.5, 0.25, 0.25]"\nv2,"[0.5, 0.25, 0.25]"\n'
    bundles.put(store, bundles.write(folder, VOTED, questions=questions, clues=None, votes=votes, responses=run), model="m")
    assert rows(store, "select question_id, answer from questions order by 1") == [("v1", "yes"), ("v2", "no")]
    assert rows(store, "select question_id, guess, correct, graded from responses order by 1") == [
        ("v1", "yes", 1.0, "answer"), ("v2", "yes", 0.0, "answer"),
    ]  # fmt: skip


# -- importing again -------------------------------------------------------------------------------------------------


def test_the_same_again_changes_nothing(store, folder):
    bundles.put(store, bundles.write(folder, **TEXTS), model="m")
    version, stored = store.version(), bundles.content(store)
    report = bundles.put(store, folder, model="m")
    assert (store.version(), bundles.content(store)) == (version, stored)
    assert report.lines[1:] == [
        "dataset toy: 2 questions, already there",
        f"run {report.runs[0]} (m, verbalized, toy): 5 items of 2 questions, already there",
    ]
    assert report.warnings == []


def test_rows_in_another_order_are_the_same(store, folder):
    def turned(text):
        header, *lines = text.splitlines()
        return "\n".join([header, *reversed(lines)])

    bundles.put(store, bundles.write(folder, **TEXTS), model="m")
    version = store.version()
    first = rows(store, "select run from runs")
    report = bundles.put(store, bundles.write(folder, **{name: turned(text) for name, text in TEXTS.items()}), model="m")
    assert (store.version(), [(run,) for run in report.runs]) == (version, first)


@pytest.mark.parametrize(
    "change",
    [
        {"questions": bundles.QUESTIONS.replace("Nile", "Niger")},
        {"questions": bundles.QUESTIONS + "q3,Rome,Places\n"},
        {"questions": bundles.QUESTIONS.replace("q2,Nile,Places", "q2,Nile,Rivers")},
        {"clues": bundles.CLUES.replace("of iron", "of steel")},
        {"clues": bundles.CLUES.replace(",10\n", ",9\n")},
        {"facts": bundles.FACTS | {"kind": "single"}},
        {"facts": bundles.FACTS | {"classes": ["a", "b"]}},
    ],
)
def test_other_questions_are_refused(store, folder, change):
    bundles.put(store, bundles.write(folder))
    version, stored = store.version(), bundles.content(store)
    with pytest.raises(Refused) as refused:
        bundles.put(store, bundles.write(folder, **change))
    problem = refused.value.problems[0]
    assert problem.file == "toy/dataset.json"
    assert problem.reason == ("dataset 'toy' is there with other questions, and runs may depend on them")
    assert (store.version(), bundles.content(store)) == (version, stored)
    bundles.put(store, folder, dataset="another")
    assert rows(store, "select dataset from datasets order by position") == [("toy",), ("another",)]


def test_other_facts_are_kept_unless_replaced(store, folder):
    bundles.put(store, bundles.write(folder))
    version = store.version()
    renamed = bundles.write(folder, bundles.FACTS | {"title": "Renamed", "licence": "CC0"})
    report = bundles.put(store, renamed)
    assert report.warnings == [
        "dataset toy is there with another title, licence, and keeps it; replacing the dataset would take over what the file says"
    ]
    assert store.version() == version
    bundles.put(store, renamed, replace=True)
    assert rows(store, "select title, licence, position from datasets") == [("Renamed", "CC0", 0)]
    assert len(rows(store, "from questions")) == 2


def test_replaced_questions_keep_the_runs_that_fit(store, folder):
    partial = "\n".join(bundles.RESPONSES.splitlines()[:4])
    bundles.put(store, bundles.write(folder, responses=bundles.RESPONSES, **PEOPLE), model="whole")
    bundles.put(store, bundles.write(folder, responses=partial), model="partial")
    q3 = {"questions": bundles.QUESTIONS.replace("q2,Nile", "q3,Rome"), "clues": bundles.CLUES.replace("q2", "q3")}
    report = bundles.put(store, bundles.write(folder, **q3), replace=True)
    assert report.lines[1] == "dataset toy: 2 questions replaced"
    assert rows(store, "select model, withdrawn_at is null, missing_questions from runs order by position") == [
        ("whole", False, 0), ("partial", True, 1),
    ]  # fmt: skip
    assert len(rows(store, "from responses")) == 8  # withdrawn is not erased
    assert rows(store, "select distinct question_id from buzzes") == [("q1",)]
    assert rows(store, "select distinct question_id from exposures") == [("q1",)]
    assert rows(store, "select distinct question_id from curves") == [("q1",)]
    assert bundles.put(store, bundles.write(folder, **q3)).lines[1] == "dataset toy: 2 questions, already there"


def test_replaced_clues_move_the_buzzes(store, folder):
    bundles.put(store, bundles.write(folder, **PEOPLE))
    bundles.put(store, bundles.write(folder, clues=bundles.CLUES.replace(",5\n", ",8\n")), replace=True)
    assert rows(store, "select clue from buzzes where team = 'Birch'") == [(0,)]
    assert rows(store, "select list(team_share order by clue) from curves where question_id = 'q1'") == [([0.5, 0.5, 0.5],)]


def test_replaced_answers_grade_the_runs_again(store, folder):
    bundles.put(store, bundles.write(folder, responses=bundles.RESPONSES), model="graded")
    stated = bundles.table([row | {"correct": 0} for row in bundles.records(bundles.RESPONSES)])
    bundles.put(store, bundles.write(folder, responses=stated), model="stated")
    bundles.put(store, bundles.write(folder, questions=bundles.QUESTIONS.replace("Paris [", "Rome [")), replace=True)
    sql = "select list(correct order by clue) from responses join runs using (run) where question_id = 'q1' and model = '{}'"
    assert rows(store, sql.format("graded")) == [([1.0, 0.0, 0.0],)]
    assert rows(store, sql.format("stated")) == [([0.0, 0.0, 0.0],)]
    assert rows(
        store, "select s.correct from statistics s join runs using (run) where model = 'graded' and question_id = 'q1'"
    ) == [(1.0,)]
    no_answer = bundles.QUESTIONS.replace("Paris [accept City of Light; prompt on France]", "")
    bundles.put(store, bundles.write(folder, questions=no_answer), replace=True)
    assert rows(store, "select model, withdrawn_at is null from runs order by 1") == [("graded", False), ("stated", True)]


def test_people_may_come_later(store, folder):
    bundles.put(store, bundles.write(folder, responses=bundles.RESPONSES), model="m")
    run = rows(store, "select run from runs")
    assert rows(store, "from curves") == []
    assert (
        rows(store, "select team_share_reward, difficulty_source from statistics join questions using (question_id)")
        == [(None, "runs")] * 2
    )
    report = bundles.put(store, bundles.write(folder, **PEOPLE))
    assert rows(store, "select run from runs") == run
    assert "dataset toy: 2 questions, already there" in report.lines
    assert rows(store, "select * exclude (dataset, question_id) from curves where question_id = 'q1' order by clue") == [
        (0, 2, 0.0, 0.0, 0.0, 0.0), (1, 2, 1.0, 0.5, 0.5, 1.0), (2, 2, 1.0, 0.5, 0.5, 1.0),
    ]  # fmt: skip
    assert rows(store, "select question_id, difficulty, difficulty_source from questions order by 1") == [
        ("q1", 0.5, "human"),
        ("q2", 1.0, "human"),
    ]
    assert all(reward is not None for (reward,) in rows(store, "select team_share_reward from statistics"))


def test_people_are_added_to_and_not_changed(store, folder):
    bundles.put(store, bundles.write(folder, **PEOPLE))
    version = store.version()
    more = {
        name: text + line
        for (name, text), line in zip(PEOPLE.items(), ["q2,m3,Oak,human,,\n", "q2,m3,Oak,4,true,Nile\n"], strict=True)
    }
    bundles.put(store, bundles.write(folder, **more))
    assert store.version() != version
    assert len(rows(store, "from exposures")) == 5
    other = {"buzzes": more["buzzes"].replace("Birch,7,true", "Birch,6,true")}
    with pytest.raises(Refused, match="says something else of the same question, match, team"):
        bundles.put(store, bundles.write(folder, **other))
    bundles.put(store, bundles.write(folder, **PEOPLE | other), replace=True)
    assert rows(store, "select word from buzzes where team = 'Birch'") == [(6,)]
    assert len(rows(store, "from exposures")) == 5  # Oak buzzed
    bundles.put(store, bundles.write(folder, **PEOPLE), replace=True)
    assert len(rows(store, "from buzzes")) == 3
    assert len(rows(store, "from exposures")) == 4


def test_votes_are_replaced_when_told(store, folder):
    files = {"facts": VOTED, "questions": "question_id\nv1\n", "clues": None}
    bundles.put(store, bundles.write(folder, **files, votes="question_id,class,votes\nv1,yes,3\n"))
    changed = bundles.write(folder, **files, votes="question_id,class,votes\nv1,no,3\n")
    more = bundles.write(folder.parent / "more", **files, votes="question_id,class,votes\nv1,yes,4\n")
    with pytest.raises(Refused, match="says something else of the same question, class"):
        bundles.put(store, more)
    bundles.put(store, changed, replace=True)
    assert rows(store, "select class, votes, answer from votes join questions using (question_id)") == [("no", 3, "no")]


# -- runs ------------------------------------------------------------------------------------------------------------


def test_what_went_in_is_there_as_it_was(store, folder):
    texts = ["  Paris ", 'a "b", c', "zwei\r\nZeilen", "\u6771\u4eac \U0001f5fc", "x" * 100_000]
    confidences = [0.1 + 0.2, 5e-324, 1 / 3, 0.0, 1.0]
    places = [("q1", 0), ("q1", 1), ("q1", 2), ("q2", 0), ("q2", 1)]
    frame = pl.DataFrame(
        {
            "question_id": [q for q, _ in places], "clue": [c for _, c in places], "guess": texts, "confidence": confidences,
            "correct": [True, False, True, False, True], "token_logprobs": [[-0.1, -0.0], [-1e-300], None, [-700.0], [0.0]],
            "options": ['{"a":0.25,"b":0.75}', None, '{"b":1,"a":0}', '{"a":0.9995}', None],
        },
        schema_overrides={"token_logprobs": pl.List(pl.Float64)},
    )  # fmt: skip
    path = folder.parent / "run.parquet"
    frame.write_parquet(path)
    bundles.put(store, bundles.write(folder))
    bundles.put(store, path, dataset="toy", model="m")
    assert rows(
        store,
        """select question_id, clue, guess, confidence, correct, graded, token_logprobs, options, option_names from responses
        order by question_id, clue""",
    ) == [
        ("q1", 0, texts[0], confidences[0], 1.0, "file", [-0.1, -0.0], [0.25, 0.75], ["a", "b"]),
        ("q1", 1, texts[1], confidences[1], 0.0, "file", [-1e-300], None, None),
        ("q1", 2, texts[2], confidences[2], 1.0, "file", None, [1.0, 0.0], ["b", "a"]),
        ("q2", 0, texts[3], confidences[3], 0.0, "file", [-700.0], [0.9995], ["a"]),
        ("q2", 1, texts[4], confidences[4], 1.0, "file", [0.0], None, None),
    ]


def test_several_runs_in_one_file(store, folder):
    text = bundles.table(
        [
            row | {"model": model, "elicitation": elicitation}
            for model, elicitation in (("zeta", "logit"), ("alpha", ""), ("zeta", "verbalized"))
            for row in bundles.records(bundles.RESPONSES)
            if model == "zeta" or row["question_id"] == "q2"
        ]
    )
    report = bundles.put(store, bundles.write(folder, responses=text), elicitation="said", by="somebody")
    assert rows(
        store,
        "select position, model, elicitation, items, questions, missing_questions, imported_by, file_name from runs order by 1",
    ) == [
        (0, "zeta", "logit", 5, 2, 0, "somebody", "toy/responses/run.csv"),
        (1, "alpha", "said", 2, 1, 1, "somebody", "toy/responses/run.csv"),
        (2, "zeta", "verbalized", 5, 2, 0, "somebody", "toy/responses/run.csv"),
    ]
    assert report.runs == [run for (run,) in rows(store, "select run from runs order by position")]
    assert f"run {report.runs[1]} (alpha, said, toy): 2 items of 1 questions imported; 1 questions not answered" in report.lines


def test_a_run_exists_once_whatever_its_file_is_called(store, folder, tmp_path):
    bundles.put(store, bundles.write(folder, responses=bundles.RESPONSES), model="m")
    version, run = store.version(), rows(store, "select run, sha256[:16] from runs")[0]
    assert run[0] == run[1]
    for name in ("again.csv", "again.jsonl"):
        (tmp_path / name).write_bytes(bundles.in_format(bundles.RESPONSES, name.partition(".")[2]))
        assert bundles.put(store, tmp_path / name, dataset="toy", model="m").runs == [run[0]]
    assert store.version() == version
    for options in ({"model": "m2"}, {"model": "m", "elicitation": "logit"}):
        assert bundles.put(store, tmp_path / "again.csv", dataset="toy", **options).runs != [run[0]]
    assert len(rows(store, "from runs")) == 3


def test_a_withdrawn_run_is_not_put_back_by_importing_it(store, folder):
    bundles.put(store, bundles.write(folder, responses=bundles.RESPONSES), model="m")
    withdraw(store, *bundles.put(store, folder, model="m").runs, by=None)
    assert bundles.put(store, folder, model="m").lines[-1].endswith("already there, but withdrawn")


def test_times_are_utc(store, folder, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    bundles.put(store, bundles.write(folder, responses=bundles.RESPONSES), model="m")
    assert rows(store, "select abs(epoch(imported_at) - epoch(now())) < 600 from runs") == [(True,)]


def test_confidences_in_percent(store, folder):
    text = bundles.RESPONSES.replace("0.25", "25").replace("0.5", "50").replace("0.75", "7.5e1").replace(",1\n", ",100\n")
    bundles.put(store, bundles.write(folder, responses=text), model="m", percent=True)
    assert [c for (c,) in rows(store, "select confidence from responses order by question_id, clue")] == [
        0.25,
        0.5,
        1.0,
        0.0,
        0.75,
    ]


def test_a_folder_of_runs_to_a_dataset_that_is_there(store, folder, tmp_path):
    bundles.put(store, bundles.write(folder))
    paths = []
    for model in ("b", "a"):
        paths.append(tmp_path / f"{model}.csv")
        paths[-1].write_text(bundles.table([row | {"model": model} for row in bundles.records(bundles.RESPONSES)]))
    bundles.put(store, *paths, dataset="toy")
    assert rows(store, "select model, file_name from runs order by position") == [("b", "b.csv"), ("a", "a.csv")]


def test_a_bundle_and_a_run_of_its_questions_in_one_import(store, folder, tmp_path):
    run = tmp_path / "run.csv"
    run.write_text(bundles.RESPONSES)
    bundles.put(store, bundles.write(folder), run, dataset="toy", model="m")
    assert rows(store, "select model, questions from runs") == [("m", 2)]


@pytest.mark.parametrize(
    "name",
    [
        "run[1].csv",
        "run*.csv",
        "run?.csv",
        "run {a,b} 'q' \"d\" %20.csv",
        "$path.csv",
        "run.csv.gz",
        "confidence=0/run[1].parquet",
    ],
)
def test_names_that_mean_something_elsewhere(store, folder, tmp_path, name):
    bundles.put(store, bundles.write(folder))
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    text = "question_id,clue,confidence,guess\nq1,0,0.25,right\n"
    path.write_bytes(bundles.in_format(text, "parquet" if name.endswith("parquet") else "csv"))
    for other in (tmp_path / "run1.csv", path.parent / "run1.parquet"):
        other.write_bytes(bundles.in_format(text.replace("right", "wrong"), other.suffix[1:]))
    bundles.put(store, path, dataset="toy", model="m")
    assert rows(store, "select guess, confidence from responses") == [("right", 0.25)]


# -- confidence from elsewhere ---------------------------------------------------------------------------------------

SINGLE = {"dataset": "single", "kind": "single"}
ONE = "question_id,answer\ns1,yes\n"


def answered(store, folder, text, facts=SINGLE, **options):
    """The one response to the one question."""
    report = bundles.put(
        store, bundles.write(folder, facts, questions=ONE, clues=None, responses=text), **{"model": "m"} | options
    )
    columns = ("guess", "confidence", "correct", "graded", "options", "option_names", "elicitation")
    stored = rows(store, f"select {', '.join(columns)} from responses join runs using (run)")
    return dict(zip(columns, stored[0], strict=True)), report.warnings


def test_token_logprobs_give_the_mean_probability(store, folder):
    stored, _ = answered(store, folder, 'question_id,guess,token_logprobs\ns1,yes,"[-0.5, -1, 0]"\n')
    assert stored["confidence"] == pytest.approx((0.6065306597126334 + 0.36787944117144233 + 1) / 3, abs=1e-15)
    assert stored["elicitation"] == "token"


CLASSES = SINGLE | {"classes": ["no", "yes", "maybe"]}


@pytest.mark.parametrize(
    ("facts", "guess", "options", "shares", "names", "confidence", "warned"),
    [
        (SINGLE, "yes", '{"yes": 0.25, "no": 0.75}', [0.25, 0.75], ["yes", "no"], 0.25, False),
        (SINGLE, "", '{"yes": 0.25, "no": 0.75}', [0.25, 0.75], ["yes", "no"], 0.75, False),
        (SINGLE, "", '{"yes": 2, "no": 6}', [0.25, 0.75], ["yes", "no"], 0.75, True),
        (SINGLE, "yes", '{"yes": 0.25, "no": 0.7509}', [0.25, 0.7509], ["yes", "no"], 0.25, False),
        (SINGLE, "yes", '{"yes": 0.25, "no": 0.7512}', [0.25 / 1.0012, 0.7512 / 1.0012], ["yes", "no"], 0.25 / 1.0012, True),
        (SINGLE, "yes", '{"yes": 1.0005}', [1.0], ["yes"], 1.0, True),
        (SINGLE, "yes", '{"yes": 0.25, "no": 0.75, "else": null}', [0.25, 0.75], ["yes", "no"], 0.25, False),
        (CLASSES, "yes", '{"yes": 0.25, "no": 0.75}', [0.75, 0.25, 0.0], None, 0.25, False),
        (CLASSES, "", "[0.25, 0.5, 0.25]", [0.25, 0.5, 0.25], None, 0.5, False),
        (CLASSES, "no", "[1, 2, 1]", [0.25, 0.5, 0.25], None, 0.25, True),
    ],
)  # fmt: skip
def test_options(store, folder, facts, guess, options, shares, names, confidence, warned):
    stored, warnings = answered(store, folder, bundles.table([{"question_id": "s1", "guess": guess, "options": options}]), facts)
    assert (stored["options"], stored["confidence"]) == (pytest.approx(shares, rel=1e-15), pytest.approx(confidence, rel=1e-15))
    assert stored["option_names"] == names
    assert stored["guess"] == (guess or ("no" if facts is SINGLE else "yes"))
    assert warnings == (["1 distributions in `options` did not sum to 1 and were normalised"] if warned else [])


def test_options_as_lists_and_structs_of_parquet(store, folder):
    bundles.write(folder, CLASSES, questions=ONE, clues=None)
    pl.DataFrame({"question_id": ["s1"], "options": [[0.25, 0.5, 0.25]]}).write_parquet(folder / "responses" / "list.parquet")
    pl.DataFrame(
        {"question_id": ["s1"], "options": [{"no": 0.25, "yes": 0.75, "maybe": None}], "model": ["other"]}
    ).write_parquet(folder / "responses" / "struct.parquet")
    bundles.put(store, folder, model="m")
    assert rows(store, "select options from responses join runs using (run) order by model") == [
        ([0.25, 0.5, 0.25],),
        ([0.25, 0.75, 0.0],),
    ]


def test_a_stated_confidence_goes_before_options(store, folder):
    text = bundles.table(
        [{"question_id": "s1", "guess": "perhaps", "confidence": 0.125, "options": '{"yes": 1}', "token_logprobs": "[-1]"}]
    )
    stored, _ = answered(store, folder, text)
    assert (stored["guess"], stored["confidence"], stored["elicitation"]) == ("perhaps", 0.125, "verbalized")


@pytest.mark.parametrize(("stated", "correct"), [("TRUE", 1.0), ("no", 0.0), ("0.5", 0.5), ("1", 1.0)])
def test_stated_correctness(store, folder, stated, correct):
    stored, _ = answered(store, folder, f"question_id,guess,confidence,correct\ns1,whatever,0.5,{stated}\n")
    assert (stored["correct"], stored["graded"]) == (correct, "file")


def test_stated_correctness_of_some_rows_only(store, folder):
    text = "question_id,clue,guess,confidence,correct\nq1,0,Rome,0.5,1\nq1,1,Rome,0.5,\n"
    bundles.put(store, bundles.write(folder, responses=text), model="m")
    assert rows(store, "select correct, graded from responses order by clue") == [(1.0, "file"), (0.0, "answer")]


def test_the_life_table_grades_lifeeval(store, folder):
    facts = {"dataset": "spans", "kind": "lifeeval"}
    questions = "question_id,sex,minimum_age,radius\na,male,30,1\nb,male,30,20\nc,female,65,5\nd,female,65,5\ne,male,30,5\n"
    responses = "question_id,guess,confidence\na,78,0.5\nb, 78.0 ,0.5\nc,86,0.5\nd,,0.5\ne,error,0.5\n"
    bundles.put(store, bundles.write(folder, facts, questions=questions, clues=None, responses=responses), model="m")
    grades = rows(store, "select correct, graded from responses order by question_id")
    assert [graded for _, graded in grades] == ["table"] * 4 + ["failed"]
    assert [correct for correct, _ in grades] == pytest.approx([0.053226, 0.860209, 0.409616, 0, 0], abs=1e-6)
    difficulty = [d for (d,) in rows(store, "select difficulty from questions order by question_id")]
    assert all(0 < d < 1 for d in difficulty) and difficulty[2] == difficulty[3]
    assert rows(store, "select distinct difficulty_source from questions") == [("given",)]


def test_one_file_of_lifeeval_as_released(store, tmp_path):
    questions = tmp_path / "questions.csv"
    questions.write_text(
        "Question Prompt,Confidence Prompt,True Lifespan,Question ID\nHow old?,How sure?,74,0\nHow old?,How sure?,74,525\n"
    )
    answers = tmp_path / "answers.csv"
    answers.write_text("Answer,Confidence,Question ID\n76,0.25,525\nold,0.5,0\n")
    bundles.put(store, questions)
    report = bundles.put(store, answers, model="m")
    assert rows(store, "select question_id, sex, minimum_age, radius, text from questions order by position") == [
        ("0", "male", 0, 1, "How old? How sure?"), ("525", "female", 30, 5, "How old? How sure?"),
    ]  # fmt: skip
    assert rows(store, "select question_id, guess, confidence, failed from responses order by question_id desc") == [
        ("525", "76", 0.25, False), ("0", None, 0.0, True),
    ]  # fmt: skip
    assert rows(store, "select items, questions, missing_questions, failed from runs") == [(1, 1, 1, 1)]
    assert json.loads(rows(store, "select skipped from runs")[0][0]) == {"answer is not a number": 1}
    assert report.lines[-1].endswith(
        "1 items of 1 questions imported; 1 questions not answered; 1 rows skipped: answer is not a number; 1 failed calls"
    )


# -- the bundled datasets --------------------------------------------------------------------------------------------


def test_an_empty_store_is_seeded(store, folder, tmp_path):
    shutil.copytree(bundles.write(folder), tmp_path / "bundled")
    assert "dataset toy: 2 questions imported" in seed(store, [tmp_path / "bundled"]).lines
    other = bundles.write(tmp_path / "mine", bundles.FACTS | {"dataset": "mine"})
    bundles.put(store, other)
    assert rows(store, "select dataset from datasets order by position") == [("toy",), ("mine",)]


def test_a_store_with_data_is_not_seeded(store, folder, tmp_path):
    bundles.put(store, bundles.write(tmp_path / "mine", bundles.FACTS | {"dataset": "mine"}))
    version = store.version()
    assert seed(store, [bundles.write(folder)]).lines == []
    assert store.version() == version
    assert rows(store, "select dataset from datasets") == [("mine",)]


def test_seeded_questions_may_be_imported_again(store, folder):
    seed(store, [bundles.write(folder)])
    assert bundles.put(store, folder).lines[1] == "dataset toy: 2 questions, already there"
