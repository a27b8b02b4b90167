"""The leaderboard and the statistics behind it against reference code over the raw rows."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.data.sufficient_statistics import BIN_COLUMNS, STATISTICS
from clueline.queries.engine import distribution_statistics
from clueline.queries.engine.evidence import values_of_groups
from clueline.queries.engine.gather import gather
from clueline.queries.engine.run_columns import dense
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.metrics.metric import ATTEMPTED_ITEMS, NET_REWARD, Metric
from clueline.queries.selection import Selection
from tests.helpers import reference_metrics as reference
from tests.helpers.examples import examples
from tests.helpers.strategies import selections

RELAY = Selection("relay", common=False)  # each run on its own questions
VOTES = [metric for metric in METRICS if "whole distribution" in metric.needs]
# Metrics of each dataset, and how exact they are.
DATASETS = {"relay": (METRICS, 1e-10), "spans": (METRICS, 1e-10), "polls": (VOTES, 1e-12), "quiz": (VOTES, 1e-12)}


def known(number):
    return None if math.isnan(number) else number


def loss(metric, value):
    if value is None or metric.direction == "none":
        return None
    value = max(value, metric.floor)
    return {"lower": value, "higher": -value, "zero": abs(value)}[metric.direction]


@pytest.fixture(scope="module")
def stored(snapshot, rows, offered, polled, polled_rows, polled_offered):
    """The store of each dataset, its rows for the reference code, and its facets."""
    played = {dataset: (snapshot, rows[dataset], offered[dataset]) for dataset in rows}
    return played | {dataset: (polled, polled_rows[dataset], polled_offered[dataset]) for dataset in polled_rows}


@examples(60)
@given(data=st.data(), dataset=st.sampled_from([*DATASETS]))
def test_leaderboard_matches_reference(stored, data, dataset):
    snapshot, rows, facets = stored[dataset]
    metrics, exact = DATASETS[dataset]
    selection = data.draw(selections(facets))
    board = leaderboard(snapshot, selection, metrics)
    answered = {run["run"]: rows.answered(selection, run["run"]) for run in rows.kept_runs(selection)}
    answered = {run: list(questions.values()) for run, questions in answered.items() if questions}

    assert [row.run for row in board.rows] == list(answered)
    assert board.questions == len(rows.kept_questions(selection))
    for row in board.rows:
        assert row.questions == len(answered[row.run])
        assert row.items == sum(len(question.items) for question in answered[row.run])
    for metric in metrics:
        cells = [row.metrics[metric.key] for row in board.rows]
        expected = [known(reference.METRICS[metric.key](answered[run], selection.conventions)) for run in answered]
        assert [cell.value for cell in cells] == [
            value if value is None else pytest.approx(value, abs=exact) for value in expected
        ]
        assert all(cell.value is None or metric.low <= cell.value <= metric.high for cell in cells), metric.key
        assert [cell.questions for cell in cells] == [
            reference.used(metric.key, answered[run], selection.conventions) for run in answered
        ]
        assert [cell.missing for cell in cells] == [metric.undefined if value is None else None for value in expected]
        assert [cell.rank for cell in cells] == reference.ranks([loss(metric, value) for value in expected])


@examples(40)
@given(data=st.data(), dataset=st.sampled_from([*DATASETS]))
def test_metric_per_question_matches_reference(stored, data, dataset):
    snapshot, rows, facets = stored[dataset]
    metrics, exact = DATASETS[dataset]
    selection = data.draw(selections(facets))
    evidence = gather(snapshot, selection, metrics)
    ends = np.append(evidence.starts, len(evidence.questions))[1:]
    for metric in metrics:
        if metric.binned and selection.conventions.mass_bins and dataset == "quiz":
            continue  # its items lie in the bins of the whole selection
        values = evidence.per_question(metric)
        for run, start, end in zip(evidence.runs, evidence.starts, ends, strict=True):
            answered = rows.answered(selection, run.run)
            assert evidence.questions[start:end].tolist() == list(answered)
            expected = [reference.METRICS[metric.key]([question], selection.conventions) for question in answered.values()]
            assert values[start:end] == pytest.approx(expected, abs=exact, nan_ok=True), metric.key


# -- single facts, readable --------------------------------------------------------------------------------------------


def board_by_model(snapshot, selection, *metrics):
    board = leaderboard(snapshot, selection, [CATALOGUE[key] for key in metrics])
    return {(row.model, row.elicitation): row for row in board.rows}


def test_rows_come_in_order_of_import_without_withdrawn_runs(snapshot):
    assert list(board_by_model(snapshot, RELAY)) == [
        ("plain", "verbalized"), ("twin", "verbalized"), ("plain", "logit"), ("partial", "verbalized"),
        ("unheard", "verbalized"), ("sure", "verbalized"),
    ]  # fmt: skip


def test_a_withdrawn_run_is_included_when_named(snapshot, offered):
    board = leaderboard(snapshot, RELAY.replace(run=offered["relay"].withdrawn), METRICS)
    assert [row.model for row in board.rows] == ["gone"]


@pytest.mark.parametrize("binning", ["width10", "width10r", "mass15"])
def test_an_empty_selection_has_no_rows(snapshot, binning):
    of_binning = RELAY.replace(conventions=Conventions(binning))
    unanswered = of_binning.replace(model=("unheard",), category=("History",))
    assert leaderboard(snapshot, unanswered, METRICS, intervals=True).rows == []
    selection = of_binning.replace(q="no such text")
    board = leaderboard(snapshot, selection, METRICS, intervals=True)
    assert (board.questions, board.rows) == (0, [])
    evidence = gather(snapshot, selection, METRICS)
    for metric in METRICS:
        assert evidence.values(metric).shape == (0,)
        assert evidence.per_question(metric).shape == (0,)
        assert evidence.questions_with(metric).shape == (0,)


def test_the_result_names_its_selection_and_version(snapshot):
    board = leaderboard(snapshot, RELAY.replace(category=("History", "Science"), revealed=(0.25, 1.0)), [])
    assert board.data_version == snapshot.version
    assert board.selection == {
        "dataset": ["relay"], "category": ["History", "Science"], "revealed": ["0.25..1"], "common": ["0"],
    }  # fmt: skip


@pytest.mark.parametrize("dataset", ["relay", "spans"])
def test_the_net_score_at_its_usual_threshold_needs_no_items(snapshot, dataset):
    metric, selection = CATALOGUE["net_score"], Selection(dataset, common=False)
    stored = gather(snapshot, selection, [metric])
    assert stored.rows.items is None
    nearby = gather(snapshot, selection.replace(conventions=Conventions(t=np.nextafter(0.5, 1))), [metric])
    assert nearby.rows.items is not None and not (nearby.rows.items.confidence == np.nextafter(0.5, 1)).any()
    assert stored.values(metric) == pytest.approx(nearby.values(metric), abs=1e-12)


def test_statistics_of_all_clues_match_the_stored_ones(snapshot):
    every_clue = RELAY.replace(revealed=(1e-9, 1.0))
    stored, computed = (gather(snapshot, selection, METRICS) for selection in (RELAY, every_clue))
    assert {*stored.sums} <= {*STATISTICS, *distribution_statistics.COLUMNS, "difficulty", NET_REWARD, ATTEMPTED_ITEMS}
    for name, values in stored.sums.items():
        assert values == pytest.approx(computed.sums[name], abs=1e-12, nan_ok=True), name
    assert {*BIN_COLUMNS} <= {*stored.rows.binned} <= {*BIN_COLUMNS, *distribution_statistics.COLUMNS}
    for name, column in stored.rows.binned.items():
        assert dense(column) == pytest.approx(dense(computed.rows.binned[name]), abs=1e-12), name


# -- item kernels by group ---------------------------------------------------------------------------------------------

KERNELS = [metric for metric in METRICS if metric.pairs is not None]
SIZES = (1, 1, 3, 1, 40, 3, 1, 3)


@pytest.mark.parametrize("metric", KERNELS, ids=lambda metric: metric.key)
def test_each_group_has_the_value_it_has_alone(metric):
    """Groups of one item are often identical, and the second group of three is the first one in another order."""
    chance = np.random.default_rng(7)
    confidence = chance.choice([0.25, 0.5, 1.0], sum(SIZES))
    correct = chance.choice([0.0, 1.0], sum(SIZES))
    cuts = np.append(0, np.cumsum(SIZES)).tolist()
    confidence[cuts[5] : cuts[6]], correct[cuts[5] : cuts[6]] = confidence[2:5][::-1], correct[2:5][::-1]
    groups = [(confidence[a:b], correct[a:b]) for a, b in pairwise(cuts)]
    values = metric.select_part(values_of_groups(metric, groups))
    alone = [metric.of_pairs(*group) for group in groups]
    np.testing.assert_array_equal(values, alone)


def test_identical_groups_are_computed_once(monkeypatch):
    sizes, metric = [], KERNELS[0]
    of_kernel = Metric.kernel_values
    monkeypatch.setattr(Metric, "kernel_values", lambda self, c, y: sizes.append(len(c)) or of_kernel(self, c, y))
    values_of_groups(metric, [(np.array([c]), np.array([y])) for c, y in ((0.5, 1.0), (0.5, 1.0), (1.0, 1.0), (0.5, 0.0))])
    assert sizes == [1, 1, 1]
