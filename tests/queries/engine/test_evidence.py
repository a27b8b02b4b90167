"""The leaderboard and the statistics behind it against reference code over the raw rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.sufficient_statistics import BIN_COLUMNS, BINS_USED, ITEM_SUMS, STATISTICS, pooled
from queries.engine import distribution_statistics
from queries.engine.gather import gather
from queries.engine.run_columns import dense
from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE, METRICS, Conventions
from queries.metrics.metric import ATTEMPTED_ITEMS, NET_REWARD
from queries.selection import Selection
from tests.helpers import reference_metrics as reference
from tests.helpers.examples import examples
from tests.helpers.run_tables import with_runs
from tests.helpers.strategies import selections

RELAY = Selection("relay", common=False)  # each run on its own questions
DATASETS = st.sampled_from(["relay", "spans"])


def known(number):
    return None if math.isnan(number) else number


def loss(metric, value):
    if value is None or metric.direction == "none":
        return None
    value = max(value, metric.floor)
    return {"lower": value, "higher": -value, "zero": abs(value)}[metric.direction]


@examples(40)
@given(data=st.data(), dataset=DATASETS)
def test_leaderboard_matches_reference(snapshot, rows, offered, data, dataset):
    selection = data.draw(selections(offered[dataset]))
    board = leaderboard(snapshot, selection, METRICS)
    answered = {run["run"]: rows[dataset].answered(selection, run["run"]) for run in rows[dataset].kept_runs(selection)}
    answered = {run: list(questions.values()) for run, questions in answered.items() if questions}

    assert [row.run for row in board.rows] == list(answered)
    assert board.questions == len(rows[dataset].kept_questions(selection))
    for row in board.rows:
        assert row.questions == len(answered[row.run])
        assert row.items == sum(len(question.items) for question in answered[row.run])
    for metric in METRICS:
        cells = [row.metrics[metric.key] for row in board.rows]
        expected = [known(reference.METRICS[metric.key](answered[run], selection.conventions)) for run in answered]
        assert [cell.value for cell in cells] == [
            value if value is None else pytest.approx(value, abs=1e-10) for value in expected
        ]
        assert [cell.questions for cell in cells] == [
            reference.used(metric.key, answered[run], selection.conventions) for run in answered
        ]
        assert [cell.missing for cell in cells] == [metric.undefined if value is None else None for value in expected]
        assert [cell.rank for cell in cells] == reference.ranks([loss(metric, value) for value in expected])


@examples(30)
@given(data=st.data(), dataset=DATASETS)
def test_metric_per_question_matches_reference(snapshot, rows, offered, data, dataset):
    selection = data.draw(selections(offered[dataset]))
    evidence = gather(snapshot, selection, METRICS)
    ends = np.append(evidence.starts, len(evidence.questions))[1:]
    for metric in METRICS:
        values = evidence.per_question(metric)
        for run, start, end in zip(evidence.runs, evidence.starts, ends, strict=True):
            answered = rows[dataset].answered(selection, run.run)
            assert evidence.questions[start:end].tolist() == list(answered)
            expected = [reference.METRICS[metric.key]([question], selection.conventions) for question in answered.values()]
            assert values[start:end] == pytest.approx(expected, abs=1e-10, nan_ok=True), metric.key


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


def test_runs_with_the_same_items_tie(snapshot):
    rows = board_by_model(snapshot, RELAY, "brier", "ece", "hmr", "overconfidence", "accuracy")
    plain, twin = rows["plain", "verbalized"], rows["twin", "verbalized"]
    for key, cell in plain.metrics.items():
        assert cell.rank == twin.metrics[key].rank
        assert cell.rank % 1 == 0.5


def test_overconfidence_ranks_by_distance_from_0(snapshot):
    rows = board_by_model(snapshot, RELAY, "overconfidence", "mean_confidence", "pct_rounded").values()
    by_rank = sorted(rows, key=lambda row: row.metrics["overconfidence"].rank)
    distances = [abs(row.metrics["overconfidence"].value) for row in by_rank]
    assert distances == pytest.approx(sorted(distances))
    assert min(row.metrics["overconfidence"].value for row in rows) < 0 < max(row.metrics["overconfidence"].value for row in rows)
    assert all(row.metrics[key].rank is None for row in rows for key in ("mean_confidence", "pct_rounded"))


def test_missing_values_have_reasons_and_counts(snapshot):
    rows = board_by_model(snapshot, RELAY, "calscore", "brier")
    unheard, plain = rows["unheard", "verbalized"].metrics, rows["plain", "verbalized"].metrics
    assert (unheard["calscore"].value, unheard["calscore"].questions, unheard["calscore"].rank) == (None, 0, None)
    assert unheard["calscore"].missing == "no human team heard any of these questions"
    assert (unheard["brier"].missing, unheard["brier"].questions) == (None, 2)
    assert (plain["calscore"].missing, plain["calscore"].questions) == (None, 9)  # nobody heard the other three
    assert plain["brier"].questions == 12


def test_metrics_of_order_are_missing_where_nothing_is_wrong(snapshot):
    cells = board_by_model(snapshot, RELAY, "macro_ce", "auroc", "correlation", "brier")["sure", "verbalized"].metrics
    assert {key: cell.missing for key, cell in cells.items()} == {
        "macro_ce": "either nothing is correct or nothing is incorrect",
        "auroc": "there is no correct item to compare with an incorrect one",
        "correlation": "confidence or correctness does not vary",
        "brier": None,
    }
    assert [cells[key].value for key in ("macro_ce", "auroc", "correlation")] == [None] * 3


def test_calscore2_keeps_team_share_under_buzz_share(snapshot):
    def values(human):
        board = leaderboard(snapshot, RELAY.replace(conventions=Conventions(human=human)), [CATALOGUE["calscore2"]])
        return [row.metrics["calscore2"].value for row in board.rows]

    assert values("buzz_share") == values("team_share") == values(None)
    assert values("survival") != values(None)


def test_no_normalised_calscore_where_people_know_all_clues(snapshot, rows):
    first = RELAY.replace(revealed=(0.0, 0.3))
    assert rows["relay"].curves["r03", 0]["buzz_share"] == 1 > rows["relay"].curves["r03", 1]["buzz_share"]
    evidence = gather(snapshot, first, METRICS)
    missing = np.isnan(evidence.per_question(CATALOGUE["calscore_weighted"]))
    assert {*evidence.questions[missing]} == {"r03", "r09", "r10", "r11"} < {*evidence.questions}  # nobody heard the others
    board = leaderboard(snapshot, first.replace(questions=("r03",)), [CATALOGUE["calscore_weighted"], CATALOGUE["calscore"]])
    assert board.rows
    for cells in (row.metrics for row in board.rows):
        assert (cells["calscore_weighted"].value, cells["calscore_weighted"].questions) == (None, 0)
        assert cells["calscore_weighted"].missing == CATALOGUE["calscore_weighted"].undefined
        assert cells["calscore"].value == 0.5  # all weights are 0, and eq. 1 takes the mean


def test_a_run_that_is_always_right_and_sure_of_it(snapshot):
    cells = board_by_model(snapshot, RELAY, "brier", "ece", "r_over", "hmr", "accuracy")["sure", "verbalized"].metrics
    assert {key: cell.value for key, cell in cells.items()} == {"brier": 0, "ece": 0, "r_over": 1, "hmr": 1, "accuracy": 1}


@pytest.mark.parametrize("binning", ["width10", "width10r", "mass15"])
def test_an_empty_selection_has_no_rows(snapshot, binning):
    selection = RELAY.replace(q="no such text", conventions=Conventions(binning))
    board = leaderboard(snapshot, selection, METRICS)
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


def test_stored_statistics_match_raw_pairs(snapshot, rows):
    for kept in with_runs(snapshot).frame("select * from statistics").to_dicts():
        answers = [
            answer
            for (run, question, _), answer in rows[kept["dataset"]].responses.items()
            if (run, question) == (kept["run"], kept["question_id"])
        ]
        sums = pooled([answer["confidence"] for answer in answers], [answer["correct"] for answer in answers])
        assert sums.keys() == {*ITEM_SUMS, *BIN_COLUMNS}
        used = np.flatnonzero(sums["bin_items"])
        assert kept[BINS_USED] == sum(2 ** int(k) for k in used)
        for name, total in sums.items():
            assert kept[name] == pytest.approx((total[used] if name in BIN_COLUMNS else total).tolist(), abs=1e-12), name


@pytest.mark.parametrize("dataset", ["relay", "spans"])
def test_the_net_score_at_its_usual_threshold_needs_no_items(snapshot, dataset):
    metric, selection = CATALOGUE["net_score"], Selection(dataset, common=False)
    stored = gather(snapshot, selection, [metric])
    assert stored.item_arrays is None
    nearby = gather(snapshot, selection.replace(conventions=Conventions(t=np.nextafter(0.5, 1))), [metric])
    assert nearby.item_arrays is not None and not (nearby.item_arrays[0] == np.nextafter(0.5, 1)).any()
    assert stored.values(metric) == pytest.approx(nearby.values(metric), abs=1e-12)


def test_statistics_of_all_clues_match_the_stored_ones(snapshot):
    every_clue = RELAY.replace(revealed=(1e-9, 1.0))
    stored, computed = (gather(snapshot, selection, METRICS) for selection in (RELAY, every_clue))
    assert {*stored.sums} <= {*STATISTICS, *distribution_statistics.COLUMNS, "difficulty", NET_REWARD, ATTEMPTED_ITEMS}
    for name, values in stored.sums.items():
        assert values == pytest.approx(computed.sums[name], abs=1e-12, nan_ok=True), name
    assert {*BIN_COLUMNS} <= {*stored.binned} <= {*BIN_COLUMNS, *distribution_statistics.COLUMNS}
    for name, column in stored.binned.items():
        assert dense(column) == pytest.approx(dense(computed.binned[name]), abs=1e-12), name
