"""The statistics that an import stores batch by batch equal those of all items at once, digit for digit."""

import duckdb
import numpy as np
import polars as pl
import pytest

from clueline.data.human_curves import CURVES
from clueline.data.store import Snapshot, create_schema, run_statistics
from clueline.data.store.files import StoreFiles
from clueline.data.store.run_files import Objects, stored_objects
from clueline.data.sufficient_statistics import BIN_COLUMNS, BINS_USED, COLUMNS, Items, bin_sums, sums
from tests.helpers.run_tables import add_questions, add_responses, with_runs


@pytest.fixture(scope="module", params=["stated", "graded as probabilities"])
def stored(request, tmp_path_factory):
    """Five runs, some of them larger than a batch. A third of the questions have no curve, and a sixth of the calls failed."""
    made = duckdb.connect(config={"threads": 2})
    create_schema(made)
    objects = Objects(StoreFiles(tmp_path_factory.mktemp("objects")))
    correct = "round(random())" if request.param == "stated" else "random()"
    made.execute("select setseed(0.25)")
    add_questions(made, "select distinct 'd' as dataset, 'q' || (i // 7) as question_id, 7 as clues from range(700) t(i)")
    add_responses(made, objects, f"""
        select 'r' || (i % 5) as run, 'd' as dataset, 'q' || (i // 35) as question_id, ((i // 5) % 7)::integer as clue,
            case when random() < 0.1 then 1 when random() < 0.1 then 0 when random() < 0.3 then round(random(), 1)
                when random() < 0.1 then random() * 1e-9 else random() end as confidence,
            {correct} as correct, 'file' as graded, i % 13 = 0 or i // 35 % 10 = 9 as failed
        from range(3500) t(i) where i % 5 <> 4 or i < 50""")  # fmt: skip
    made.execute("""insert into curves by name
        select distinct 'd' as dataset, 'q' || (i // 7) as question_id, i % 7 as clue, 3 as teams,
            random() as buzz_share, random() as release_share, random() as team_share, random() as survival
        from range(700) t(i) where (i // 7) % 3 > 0""")
    return made, objects


@pytest.mark.parametrize(
    ("batch", "left_out"),
    [(400_000, ("r0", "r4")), (150, ("r1",)), (150, ("r0", "r1", "r2", "r3")), (700, ()), (21, ("r0", "r2", "r3"))],
)
def test_statistics_of_some_runs(monkeypatch, stored, batch, left_out):
    monkeypatch.setattr(run_statistics, "BATCH", batch)
    connection, objects = stored
    connection.execute("delete from objects where kind = 'statistics'")
    run_statistics.derive(connection, objects, "d", [run for run in ("r4", "r2", "r0", "r1", "r3") if run not in left_out])
    compare(connection, objects, left_out)


def test_statistics_of_all_runs_replace_those_before(stored):
    connection, objects = stored
    for _ in range(2):
        run_statistics.derive(connection, objects, "d")
    assert connection.execute("select count(*), count(distinct run) from objects where kind = 'statistics'").fetchall() == [
        (5, 5)
    ]
    compare(connection, objects)


def test_answers_to_removed_questions_are_left_out(stored):
    connection, objects = stored
    connection.execute("begin")
    connection.execute("delete from questions where question_id = 'q3'; update questions set clues = 2 where question_id = 'q4'")
    connection.execute("""update questions q set position = n.position from (
        select question_id, (row_number() over (order by position) - 1)::integer as position from questions) n
        where n.question_id = q.question_id""")
    run_statistics.derive(connection, objects, "d")
    statistics = objects.relation("statistics", stored_objects(connection, "statistics", dataset="d"))
    rows = connection.execute(f"""select question_id, max(items) from {statistics} join questions q using (position)
        where question_id in ('q2', 'q3', 'q4') group by 1 order by 1""").fetchall()
    connection.execute("rollback")
    assert [name for name, _ in rows] == ["q2", "q4"]
    assert rows[0][1] > 2 >= rows[1][1]


def compare(connection, objects, left_out=()):
    tables = with_runs(Snapshot("", connection, objects=objects))
    rows = tables.frame(
        f"""select r.run, r.dataset, r.question_id, r.confidence, r.correct, {", ".join(CURVES)}
        from responses r left join curves using (dataset, question_id, clue)
        where run not in {(*left_out, "")} and not failed order by r.run, r.question_id, r.clue""",
    )
    keys = ["run", "dataset", "question_id"]
    starts = np.flatnonzero((rows.select(keys).to_struct() != rows.select(keys).to_struct().shift()).fill_null(True).to_numpy())
    items = Items(
        rows["confidence"].to_numpy(),
        rows["correct"].to_numpy(),
        np.append(starts, len(rows)),
        {name: rows[name].fill_null(np.nan).to_numpy() for name in CURVES},
    )
    columns = {name: pl.Series(values).fill_nan(None) for name, values in sums(items).items()}
    expected = rows[starts].select(keys).with_columns(**columns, **bin_sums(items).to_columns())
    stored = tables.frame("from statistics order by run, question_id").select(expected.columns)
    assert 0 < len(expected) < len(rows)
    assert {*expected.columns} == {*keys, *COLUMNS, BINS_USED, *BIN_COLUMNS}
    assert stored.equals(expected, null_equal=True)
