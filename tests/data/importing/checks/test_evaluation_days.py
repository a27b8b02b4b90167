"""When runs were evaluated: from columns, names of files and logs, and never a part of an elicitation or of a name."""

import json
from datetime import datetime

import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.query_to_file import exporter
from clueline.queries.datasets import bundle
from clueline.queries.runs import run as run_facts
from clueline.queries.selection import read_facets, read_selection
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows

NIGHTS = ("2026-05-01", "2026-05-02", "2026-05-03")
RUNS = "select elicitation, strftime(evaluated_at, '%Y-%m-%d %H:%M:%S') as at, items from runs order by evaluated_at, position"
DAYS = "select r.elicitation, t.value from runs r join tags t using (run) where tag = 'date' order by 2"


def put_questions(store, folder):
    bundles.put_bundle(store, folder)


@pytest.fixture
def put(prefilled, tmp_path):
    """Import a file of this text into a store that has the questions of the toy dataset."""
    store = prefilled(put_questions)

    def put(text, name="nightly.csv", **options):
        return bundles.put_file(store, tmp_path / name, text, **{"dataset": "toy", "model": "m"} | options)

    put.store, put.folder = store, tmp_path
    return put


def answers(column, times):
    """Return a file in which every clue is answered once for each time; a time is a function of the number of the row."""
    clues = [("q1", 0), ("q1", 1), ("q1", 2), ("q2", 0), ("q2", 1)]
    lines = [
        f"{question},{clue},Nile,{0.1 * (night + 1):g},{time(n)}"
        for night, time in enumerate(times)
        for n, (question, clue) in enumerate(clues)
    ]
    return "\n".join([f"question_id,clue,guess,confidence,{column}", *lines]) + "\n"


@pytest.mark.parametrize("column", ["date", "eval_date", "timestamp", "evaluated_at", "created", "created_at", "runDate"])
def test_a_column_of_days_gives_runs_their_days(put, column):
    put(answers(column, [lambda n, night=night: night for night in NIGHTS]))
    assert rows(put.store, RUNS) == [("verbalized", f"{night} 00:00:00", 5) for night in NIGHTS]
    assert rows(put.store, DAYS) == [("verbalized", night) for night in NIGHTS]
    assert rows(put.store, "select * from response_attributes") == []


def test_many_times_of_one_night_are_one_run(put):
    """Three nights of five answers, each with a time of its own, one of them over midnight."""
    starts = ["2026-05-01T22:59:30Z", "2026-05-02T23:59:58+00:00", "2026-05-04 01:00:00"]
    times = [
        lambda n, start=start: datetime.fromisoformat(start).replace(tzinfo=None).isoformat()[:17] + f"{10 * n:02}"
        for start in starts
    ]
    times[1] = lambda n: f"2026-05-02T23:59:5{5 + n}Z" if n < 3 else f"2026-05-03T00:00:0{n}Z"
    put(answers("timestamp", times))
    assert [(at, items) for _, at, items in rows(put.store, RUNS)] == [
        ("2026-05-01 22:59:00", 5), ("2026-05-02 23:59:55", 5), ("2026-05-04 01:00:00", 5),
    ]  # fmt: skip


def test_a_run_that_took_two_days_is_one(put):
    put(answers("timestamp", [lambda n: f"2026-05-0{1 + n // 3}T12:00:00"]))
    assert rows(put.store, RUNS) == [("verbalized", "2026-05-01 12:00:00", 5)]


@pytest.mark.parametrize(
    ("column", "cells"),
    [("date", ["1789-07-14"] * 5), ("date", ["2003-01-01", "2009-05-05", "2011-01-01", "2015-02-02", "2020-01-01"]),
     ("timestamp", ["0.3", "0.5", "0.7", "0.8", "0.9"]), ("date", ["spring"] * 5), ("year", ["2026-05-01"] * 5)],
)  # fmt: skip
def test_what_is_no_day_of_an_evaluation_stays_an_attribute(put, column, cells):
    put(answers(column, [lambda n: cells[n]]))
    assert rows(put.store, RUNS) == [("verbalized", None, 5)]
    assert rows(put.store, "select distinct attribute from response_attributes") == [(column,)]


def test_a_time_that_cannot_be_read_is_refused(put):
    with pytest.raises(Refused, match="value 'soon': is no time"):
        put(answers("evaluated_at", [lambda n: "soon"]))


def test_a_row_that_does_not_say_its_day_is_refused(put):
    text = answers("date", [lambda n: "2026-05-01", lambda n: "2026-05-02" if n else ""])
    with pytest.raises(Refused, match="when was this answered"):
        put(text)


def test_a_day_is_part_of_the_identity_and_the_time_is_not(put):
    """The same answers of another night are another run, and those of another time of the night the same."""
    first, later, next_day = (
        put(answers("timestamp", [lambda n, time=time: time]), name=f"{name}.csv")
        for name, time in (("a", "2026-05-01T01:00:00"), ("b", "2026-05-01T03:00:00"), ("c", "2026-05-02T01:00:00"))
    )
    assert later.stored == first.runs and next_day.stored == []
    assert first.warnings == next_day.warnings == []
    assert [at for _, at, _ in rows(put.store, RUNS)] == ["2026-05-01 01:00:00", "2026-05-02 01:00:00"]


def test_a_run_without_a_day_beside_another_says_so(put):
    put(bundles.RESPONSES)
    report = put(bundles.RESPONSES.replace("0.25", "0.3"), name="again.csv")
    assert "Nothing says when it was evaluated" in report.warnings[-1]
    tagged = put(bundles.RESPONSES.replace("0.25", "0.4"), name="third.csv", tags=(("date", "2026-05-01"),))
    assert rows(put.store, DAYS) == [("verbalized", "2026-05-01")]
    assert "Nothing says" not in "".join(tagged.warnings)


def test_the_name_of_a_file_says_the_day(put):
    report = put(bundles.RESPONSES, name="nightly-2026-05-01.csv")
    assert rows(put.store, RUNS) == [("verbalized", "2026-05-01 00:00:00", 5)]
    assert "nightly-2026-05-01.csv: answered on 2026-05-01, by the name of the file" in report.lines


def test_the_day_in_the_name_of_a_model_is_none_of_a_run(put):
    put(bundles.RESPONSES, name="gpt-4o-2024-08-06.csv", model="gpt-4o-2024-08-06")
    assert rows(put.store, RUNS) == [("verbalized", None, 5)]


def foreign(times, column="timestamp"):
    lines = [f"q{n},Which river {n}?,Nile,Nile,0.{1 + n + night},yes,m,{at}" for night, at in enumerate(times) for n in range(4)]
    return "\n".join([f"id,question,gold,prediction,confidence,correct,model,{column}", *lines]) + "\n"


@pytest.mark.parametrize(("column", "options"), [("date", {}), ("timestamp", {}), ("when", {"columns": (("date", "when"),)})])
def test_tables_of_other_projects_have_days(store, tmp_path, column, options):
    bundles.put_file(store, tmp_path / "nightly.csv", foreign(NIGHTS, column), **options)
    assert rows(store, RUNS) == [("verbalized", f"{night} 00:00:00", 4) for night in NIGHTS]


def test_nightly_files_are_of_one_dataset_and_dated(store, tmp_path):
    for night, number in zip(NIGHTS, range(3), strict=True):
        text = foreign([""], "note").replace("0.1", f"0.1{number}")
        bundles.put_file(store, tmp_path / f"trivia_{night}.csv", text)
    assert rows(store, "select dataset, strftime(evaluated_at, '%Y-%m-%d') from runs order by 2") == [
        ("trivia", night) for night in NIGHTS
    ]


@pytest.mark.parametrize(
    ("name", "elicitation"),
    [("confidence", "verbalized"), ("Stated confidence", "verbalized"), ("conf", "verbalized"), ("p_true", "p_true"),
     ("token_prob", "token"), ("belief", "belief")],
)  # fmt: skip
def test_names_of_writers_are_one_vocabulary(store, tmp_path, name, elicitation):
    bundles.put_file(store, tmp_path / "table.csv", foreign([""], "note").replace("confidence", name, 1))
    ((stored, stated),) = rows(store, "select elicitation, stated_elicitation from runs")
    assert (stored, stated) == (elicitation, None if name == elicitation else name)
    facets = read_facets(store.snapshot(), "table")
    assert read_selection([("elicitation", name)], lambda _: facets).elicitation == (elicitation,), "an earlier link"


def test_two_names_of_one_writer_stay_apart(store, tmp_path):
    header, *lines = foreign([""], "conf").splitlines()
    text = "\n".join([header, *(f"{line}0.{n}5" for n, line in enumerate(lines, 5))]) + "\n"
    bundles.put_file(store, tmp_path / "table.csv", text)
    assert {way for (way,) in rows(store, "select elicitation from runs")} == {"confidence", "conf"}


def test_an_export_keeps_days_names_and_ids(put, tmp_path):
    """Of three nights, two of which have tags and corrections of their own."""
    put(answers("timestamp", [lambda n, night=night: f"{night}T10:20:30.5" for night in NIGHTS]), elicitation="conf")
    before = rows(put.store, "select run, elicitation, stated_elicitation, evaluated_at from runs order by evaluated_at")
    tags = rows(put.store, "select run, tag, value from tags order by all")
    folder = tmp_path / "export"
    (folder / "responses").mkdir(parents=True)
    with exporter(put.store) as opened:
        parts = bundle(opened.snapshot, "toy", "csv")
        (folder / "dataset.json").write_text(json.dumps(parts.facts), encoding="utf-8")
        for name, table in parts.tables.items():
            opened.write(table, "csv", folder / f"{name}.csv")
    again = open_store(tmp_path / "again", threads=1)
    import_paths(again, [folder], ImportOptions())
    assert rows(again, "select run, elicitation, stated_elicitation, evaluated_at from runs order by evaluated_at") == before
    assert rows(again, "select run, tag, value from tags order by all") == tags
    assert run_facts(again.snapshot(), before[0][0]).evaluated_at == "2026-05-01T10:20:30.500000Z"
