"""Columns of statistics in memory: what is not written because it is 0, what is taken of it, and how runs come together."""

import numpy as np
import polars as pl
import pytest

from data.statistics import BIN_COLUMNS, BINS_USED, Bins
from queries.engine import run_columns
from queries.engine.run_columns import bin_columns, dense, sum_by_place


@pytest.fixture
def bins():
    used = pl.Series([0b1, 0b100_0000_0010, 0b111_1111_1111], dtype=pl.Int16)
    lists = [[1.0], [2.0, 3.0], list(range(4, 15))]
    column = pl.Series(lists, dtype=pl.List(pl.Float64))
    return Bins.from_columns(pl.DataFrame({BINS_USED: used} | dict.fromkeys(BIN_COLUMNS, column)))


WHOLE = [[1, *[0] * 10], [0, 2, *[0] * 8, 3], list(range(4, 15))]


def written_out(bins):
    (column, *others) = (dense(column).tolist() for column in bin_columns(bins).values())
    assert others == [column, column]
    return column


def test_bins_are_spread_over_all_of_them(bins):
    assert written_out(bins) == WHOLE


@pytest.mark.parametrize("rows", [[], [1], [0, 2], [0, 1, 2]], ids=str)
def test_bins_of_some_rows(bins, rows):
    assert written_out(bins.take(np.array(rows, dtype=np.int64))) == [WHOLE[row] for row in rows]


def test_bins_of_several_runs(bins):
    parts = [bins.take(np.array([1])), bins.take(np.array([], dtype=np.int64)), bins]
    assert written_out(Bins.concatenate(parts)) == [WHOLE[1], *WHOLE]
    assert written_out(Bins.concatenate([])) == []


@pytest.mark.parametrize("shape", [(5,), (5, 2), (5, 2, 3), (5, 0)], ids=str)
def test_columns_are_added_up_by_place(shape):
    column = np.random.default_rng(1).random(shape)
    sums = sum_by_place(column, np.array([2, 0, 2, 2, 0]), 4)
    assert sums.shape == (4, *shape[1:])
    for place, rows in enumerate(([1, 4], [], [0, 2, 3], [])):
        assert sums[place] == pytest.approx(column[rows].sum(axis=0))


def test_sparse_columns_are_added_up_as_if_written_out(bins):
    for column in bin_columns(bins).values():
        places = np.array([3, 1, 3])
        assert sum_by_place(column, places, 4).tolist() == sum_by_place(dense(column), places, 4).tolist()


def test_rows_are_put_in_the_order_of_questions(snapshot):
    runs = [run for (run,) in snapshot.rows("select run from runs where dataset = 'relay' order by position")]
    expected = {name: run_columns.statistic_columns(snapshot, "relay", runs, name) for name in ("items", "confidence")}
    placed = run_columns.row_orders(snapshot, "relay", runs)
    for name, values in expected.items():
        for run, place, column in zip(runs, placed, values, strict=True):
            sql = f"""select s.{name} from statistics s join questions q using (dataset, question_id)
                where run = $run order by q.position"""
            assert column.tolist() == [value for (value,) in snapshot.rows(sql, {"run": run})]
            assert (np.diff(place.positions) > 0).all()


def test_rows_out_of_order_are_put_in_it():
    order = np.random.default_rng(3).permutation(1000)
    table = pl.DataFrame({"value": order})
    assert run_columns.in_order(table, np.argsort(order))["value"].to_list() == list(range(1000))
    assert run_columns.in_order(table, np.arange(1000)) is table
