"""The statistics that import stores batch by batch: digit for digit those of all items at once."""

import duckdb
import numpy as np
import polars as pl
import pytest

from data.human_curves import CURVES
from data.importing import run_statistics
from data.polars_frames import frame
from data.statistics import BIN_COLUMNS, BINS_USED, COLUMNS, Items, bin_sums, sums
from data.store import create_schema


@pytest.fixture(scope="module", params=["stated", "graded as probabilities"])
def connection(request):
    """Five runs, of which some are larger than a batch; a third of the questions has no curve, a seventh of the calls failed."""
    made = duckdb.connect(config={"threads": 2})
    create_schema(made)
    correct = "round(random())" if request.param == "stated" else "random()"
    made.execute("select setseed(0.25)")
    made.execute(f"""
        insert into responses by name select 'r' || (i % 5) as run, 'd' as dataset, 'q' || (i // 35) as question_id,
            (i // 5) % 7 as clue,
            case when random() < 0.1 then 1 when random() < 0.1 then 0 when random() < 0.3 then round(random(), 1)
                when random() < 0.1 then random() * 1e-9 else random() end as confidence,
            {correct} as correct, 'file' as graded, i % 13 = 0 or i // 35 % 10 = 9 as failed
        from range(3500) t(i) where i % 5 <> 4 or i < 50 order by random()""")
    made.execute("""insert into curves by name
        select distinct 'd' as dataset, 'q' || (i // 7) as question_id, i % 7 as clue, 3 as teams,
            random() as buzz_share, random() as release_share, random() as team_share, random() as survival
        from range(700) t(i) where (i // 7) % 3 > 0""")
    return made


@pytest.fixture(params=[400_000, 700, 150, 5])
def batch(request, monkeypatch):
    monkeypatch.setattr(run_statistics, "BATCH", request.param)
    monkeypatch.setattr(run_statistics, "ORDERED_BATCH", request.param)
    monkeypatch.setattr(run_statistics, "WRITTEN", 100)
    monkeypatch.setattr(run_statistics, "CHUNK", 30)
    return request.param


def test_derived_statistics(connection, batch):
    if batch > 5:  # one query for each batch
        run_statistics.derive(connection, "d")
        compare(connection)


@pytest.mark.parametrize("left_out", [(), ("r1",), ("r0", "r4"), ("r0", "r1", "r2", "r3")])
def test_statistics_of_new_responses(connection, batch, left_out):
    """Questions and runs are numbered in an order that is not theirs; some runs, and a whole dataset, are not to be stored."""
    connection.execute("delete from statistics")
    connection.execute("create or replace temp table numbered_runs as select 4 - n as n, 'r' || n as run, 'd' as dataset "
                       "from range(5) t(n) where run not in (select unnest($left))", {"left": list(left_out)})  # fmt: skip
    connection.execute("insert into numbered_runs values (5, 'other', 'e')")
    connection.execute("""create or replace temp table numbered_questions as
        select (row_number() over (order by md5(question_id)) - 1)::integer as n, 'd' as dataset, question_id, 7 as clues
        from (select distinct question_id from responses)""")
    connection.execute("""create or replace temp table new_responses as
        select (row_number() over (order by run_number, q.n, clue) - 1) as row, run_number, q.n as question_number, clue,
            confidence, correct, failed
        from (select *, 4 - run[2:]::integer as run_number from responses union all
            select *, 5 from responses where run = 'r2') join numbered_questions q using (question_id) order by row""")
    run_statistics.derive_new(
        connection, "d", run_statistics.NumberedResponses("new_responses", "numbered_runs", "numbered_questions")
    )
    compare(connection, left_out)


def compare(connection, left_out=()):
    rows = frame(
        connection,
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
    stored = frame(connection, "from statistics order by run, question_id").select(expected.columns)
    assert 0 < len(expected) < len(rows)
    assert {*expected.columns} == {*keys, *COLUMNS, BINS_USED, *BIN_COLUMNS}
    assert stored.equals(expected, null_equal=True)
