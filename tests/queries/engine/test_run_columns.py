"""Columns of statistics in memory: zeros that are not stored, subsets of rows, and how runs are put together."""

import numpy as np
import polars as pl
import pytest

from clueline.data.store import open_store
from clueline.data.sufficient_statistics import BIN_COLUMNS, BINS_USED, Bins
from clueline.queries.engine import run_columns
from clueline.queries.engine.run_columns import bin_columns, dense, sum_by_place
from clueline.queries.metrics.counted_answers import BUZZED
from tests.helpers.bundle_factory import put, table, write
from tests.helpers.run_tables import with_runs


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


def test_rows_are_in_the_order_of_questions(snapshot):
    runs = [run for (run,) in snapshot.rows("select run from runs where dataset = 'relay' order by position")]
    stored = with_runs(snapshot)
    for positions in run_columns.row_positions(snapshot, "relay", runs):
        assert (np.diff(positions) > 0).all()
    for name, columns in run_columns.statistic_columns(snapshot, "relay", runs, ["items", "confidence"]).items():
        for run, column in zip(runs, columns, strict=True):
            sql = f"""select s.{name} from statistics s join questions q using (dataset, question_id)
                where run = $run order by q.position"""
            assert column.tolist() == [value for (value,) in stored.rows(sql, {"run": run})]


def test_items_are_in_the_order_of_questions(tmp_path):
    """Some runs have failed calls, others do not. The ids of the questions sort in another order than the questions."""
    store = open_store(tmp_path / "store", threads=1)
    ids = ["q3", "q10", "q1", "é", "Q2"]
    questions = table([{"question_id": name, "answer": "Nile"} for name in ids])
    clues = [{"question_id": name, "clue": clue, "text": "a river", "word_end": 2 * clue + 2} for name in ids for clue in (0, 1)]
    generator, rows = np.random.default_rng(3), []
    for model, answered, broken in (("all", ids, 0), ("some", ids[1:4], 0), ("failing", ids, 3)):
        answers = [
            {"question_id": name, "clue": clue, "guess": "Nile", "confidence": round(generator.random(), 3), "failed": 0}
            for name in generator.permutation(answered)
            for clue in (1, 0)
        ]
        for answer in answers[:broken]:
            answer |= {"guess": "", "confidence": "", "failed": 1}
        rows += [answer | {"model": model} for answer in answers]
    put(store, write(tmp_path / "toy", questions=questions, clues=table(clues), responses=table(rows)))
    snapshot = store.snapshot()
    runs = [run for (run,) in snapshot.rows("select run from runs order by position")]
    for failed, counted in ((False, BUZZED), (True, BUZZED.including_failed())):
        for run, items in zip(runs, run_columns.run_items(snapshot, "toy", runs, counted), strict=True):
            sql = f"""select q.position, p.clue, coalesce(p.confidence, 0) from {snapshot.responses([run])} p
                join questions q using (dataset, question_id) where not p.failed or {failed} order by q.position, p.clue"""
            positions = np.repeat(items.positions, np.diff(items.first)).tolist()
            assert list(zip(positions, items.clue.tolist(), items.confidence.tolist(), strict=True)) == snapshot.rows(sql)
