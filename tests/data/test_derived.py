"""The statistics that ingest sums in arrays against those that pages sum in SQL: digit for digit."""

import duckdb
import numpy as np
import pytest

from data.importing import run_statistics
from data.statistics import BIN_COLUMNS, BINS_USED, COLUMNS, CURVE_SUMS, select_sql
from data.store.generations import create_schema
from data.sums import Exact


@pytest.fixture(scope="module", params=["stated", "graded as probabilities"])
def connection(request):
    """Five runs, of which some are larger than a piece; a third of the questions has no curve."""
    made = duckdb.connect(config={"threads": 2})
    create_schema(made)
    correct = "round(random())" if request.param == "stated" else "random()"
    made.execute("select setseed(0.25)")
    made.execute(f"""
        insert into responses select 'r' || (i % 5), 'd', 'q' || (i // 35), (i // 5) % 7, null,
            case when random() < 0.1 then 1 when random() < 0.1 then 0 when random() < 0.3 then round(random(), 1)
                when random() < 0.1 then random() * 1e-9 else random() end,
            {correct}, 'file', null, null, null
        from range(7000) t(i) where i % 5 <> 4 or i < 50 order by random()""")
    made.execute("""insert into curves select distinct 'd', 'q' || (i // 7), i % 7, 3, random(), random(), random()
        from range(1400) t(i) where (i // 7) % 3 > 0""")
    return made


@pytest.fixture(params=[400_000, 1400, 300, 5])
def piece(request, monkeypatch):
    monkeypatch.setattr(run_statistics, "PIECE", request.param)
    monkeypatch.setattr(run_statistics, "IN_ORDER", request.param)
    monkeypatch.setattr(run_statistics, "WRITTEN", 100)
    monkeypatch.setattr(run_statistics, "HANDED", 30)
    return request.param


def test_the_same_digits_as_in_sql(connection, piece):
    if piece > 5:  # it reads anew for each piece
        run_statistics.derive(connection, "d")
        compare(connection, "from responses")


@pytest.mark.parametrize("left_out", [(), ("r1",), ("r0", "r4"), ("r0", "r1", "r2", "r3")])
def test_arrived_responses_have_the_same_digits(connection, piece, left_out):
    """Questions and runs are numbered in an order that is not theirs; some runs, and a whole dataset, are not to be stored."""
    connection.execute("delete from statistics")
    connection.execute("create or replace temp table runs_here as select 4 - n as n, 'r' || n as run, 'd' as dataset "
                       "from range(5) t(n) where run not in (select unnest($left))", {"left": list(left_out)})  # fmt: skip
    connection.execute("insert into runs_here values (5, 'other', 'e')")
    connection.execute("""create or replace temp table asked_here as
        select (row_number() over (order by md5(question_id)) - 1)::integer as n, 'd' as dataset, question_id, 7 as clues
        from (select distinct question_id from responses)""")
    connection.execute("""create or replace temp table arrived_here as
        select (row_number() over (order by answerer, q.n, clue) - 1) as row, answerer, q.n as question, clue, confidence, correct
        from (select *, 4 - run[2:]::integer as answerer from responses union all
            select *, 5 from responses where run = 'r2') join asked_here q using (question_id) order by row""")
    run_statistics.derive_arrived(connection, "d", run_statistics.Arrived("arrived_here", "runs_here", "asked_here"))
    compare(connection, f"from responses where run not in {(*left_out, '')}")


def compare(connection, responses):
    connection.execute(f"create or replace temp table wanted as {select_sql(responses)}")
    counts = connection.execute("select (select count(*) from wanted), (select count(*) from statistics)").fetchall()[0]
    assert counts[0] == counts[1] > 0
    exact = [name for name in (*COLUMNS, BINS_USED, *BIN_COLUMNS) if not name.endswith("_reward")]
    counted = ", ".join(f"count(*) filter (w.{name} is distinct from s.{name})" for name in exact)
    differing = connection.execute(f"""select {counted}
        from wanted w full join statistics s using (run, dataset, question_id)""").fetchall()[0]
    assert dict(zip(exact, differing, strict=True)) == dict.fromkeys(exact, 0)
    # Of rewards, the terms are running sums of floats.
    for name in (name for name in CURVE_SUMS if name.endswith("_reward")):
        assert connection.execute(f"""select count(*) from wanted w full join statistics s using (run, dataset, question_id)
            where (w.{name} is null) <> (s.{name} is null) or abs(w.{name} - s.{name}) > 1e-14""").fetchall() == [(0,)]


def test_exact_sums_are_sums_of_whole_numbers():
    """Against Python's integers: numbers near 0 and 1, and of either sign."""
    chance = np.random.default_rng(5)
    values = np.concatenate(
        [chance.random(500), -chance.random(500), 2.0 ** -chance.integers(0, 90, 500).astype(float), [0, 1, -1]]
    )
    chance.shuffle(values)
    starts = np.sort(chance.choice(np.arange(1, len(values)), 60, replace=False))
    starts = np.append(0, starts).astype(np.int64)
    total = Exact.of(values).total(starts)
    ends = np.append(starts[1:], len(values))
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        wanted = sum(round(float(value) * 2**80) for value in values[start:end])
        assert int(total.high[index]) * 2**40 + int(total.low[index]) == wanted
        assert total.floats()[index] == pytest.approx(wanted / 2**80, rel=1e-15, abs=1e-30)


def test_sums_become_the_floats_that_duckdb_makes_of_them():
    """Of whole numbers of every size and sign, many digits and few, and near to what a word or a float can hold."""
    chance = np.random.default_rng(6)
    whole = [
        sign * ((int(chance.integers(0, 2**62)) * 2**40 + int(chance.integers(0, 2**40))) >> down >> zeros << zeros)
        for sign in (1, -1) for down in range(0, 100, 3) for zeros in (0, 5, 10, 11, 12, 30, 45) for _ in range(8)
    ]  # fmt: skip
    whole += [sign * 2**power + by for sign in (1, -1) for power in range(100) for by in (-2048, -1, 0, 1, 1024, 2047, 2048)]
    with duckdb.connect() as connection:
        wanted = [connection.execute(f"select '{number}'::hugeint::double").fetchall()[0][0] / 2.0**80 for number in whole]
    for few in (slice(None), slice(None, None, 7)):  # those that need both words make it slow, so that there are two ways
        high, low = (np.array(part, np.int64) for part in zip(*(divmod(number, 2**40) for number in whole[few]), strict=True))
        assert Exact(high, low).floats().tolist() == wanted[few]
    for number, float_of in zip(whole, wanted, strict=True):  # each by itself; the lower half may hold more than 40 digits
        high, low = divmod(number, 2**40)
        borrowed = min(1000, high) if high > 0 else 0
        assert Exact(np.array([high - borrowed]), np.array([low + borrowed * 2**40])).floats().tolist() == [float_of]
    assert Exact(np.array([], np.int64), np.array([], np.int64)).floats().tolist() == []
