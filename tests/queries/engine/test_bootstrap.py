"""Bootstrap replicates against metrics of data written out in full, intervals against NumPy, Holm's adjustment against counts."""

import math
import random
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from clueline.queries.engine import bootstrap
from clueline.queries.engine.bootstrap import (
    MAX_CLUSTERS,
    Draws,
    can_be_pooled,
    item_replicates,
    percentile_interval,
    pooled_items,
    question_clusters,
    resampling_weights,
)
from clueline.queries.engine.gather import gather
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.engine.multiple_comparisons import holm
from clueline.queries.engine.primary_metric import RankedMetrics
from clueline.queries.engine.ranked_metric_rows import metric_cells
from clueline.queries.engine.rows import SortedItems
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.selection import Selection, number
from tests.helpers.examples import examples
from tests.helpers.paths import ROOT
from tests.helpers.simulated_evidence import evidence_of, repeated, simulated
from tests.helpers.small_store import write_relay

RELAY = Selection("relay", common=False)  # each run on its own questions
MANY = examples(100)


# -- weights and clusters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 12, 300, 5000])
def test_each_replicate_draws_as_many_clusters_as_there_are(count):
    drawn = resampling_weights(count)
    assert drawn.shape == (1000, count)
    assert (drawn.sum(axis=1, dtype=int) == count).all()


def test_weights_are_those_of_drawing_with_replacement():
    drawn = resampling_weights(50).astype(float)
    assert drawn.mean(axis=0) == pytest.approx(1, abs=6 * math.sqrt((1 - 1 / 50) / 1000))
    assert drawn.var() == pytest.approx(1 - 1 / 50, rel=0.03)
    # How often a question is drawn 0, 1, 2, 3 or more times is binomial. Questions of a replicate are only weakly dependent.
    chances = [math.comb(50, k) * 0.02**k * 0.98 ** (50 - k) for k in range(4)]
    seen = [(drawn == k).sum() for k in range(4)]
    expected = np.array([*chances, 1 - sum(chances)]) * drawn.size
    assert ((np.array([*seen, drawn.size - sum(seen)]) - expected) ** 2 / expected).sum() < chi2.ppf(0.999, 4)
    together = np.corrcoef(drawn.T)[np.triu_indices(50, 1)]
    assert together.mean() == pytest.approx(-1 / 49, abs=0.003)
    assert np.abs(together).max() < 0.2


@pytest.mark.parametrize("questions", [0, 1000, 1001, 7500, 12_345])
def test_clusters_are_of_nearly_one_size(questions):
    clusters = question_clusters(questions)
    sizes = np.bincount(clusters)
    assert (len(clusters), len(sizes)) == (questions, min(questions, 1000))
    assert questions == 0 or sizes.max() - sizes.min() <= 1
    assert (clusters == np.arange(questions)).all() == (questions <= 1000)  # otherwise assigned at random


def test_intervals_over_clusters_agree_with_questions(monkeypatch):
    truth, ends = simulated(8, 900, seed=4), []
    for clusters in (300, 1000):
        monkeypatch.setattr(bootstrap, "MAX_CLUSTERS", clusters)
        question_clusters.cache_clear()
        assert len(np.unique(question_clusters(900))) == min(clusters, 900)
        evidence = evidence_of(truth)
        ends.append([percentile_interval(evidence.replicates(CATALOGUE[key]))[:2] for key in ("brier", "calscore", "auroc")])
    grouped, single = ends
    for (low, high), (other_low, other_high) in zip(grouped, single, strict=True):
        # An end found by 1000 replicates is off by about 5 % of the width; 300 clusters give a spread to 1 / sqrt(600) = 4 %.
        width = other_high - other_low
        assert (high - low) / width == pytest.approx(1, abs=0.2)
        assert ((high - low) / width).mean() == pytest.approx(1, abs=0.04)
        assert np.abs(low - other_low).max() < 0.2 * width.min()
        assert np.abs(high - other_high).max() < 0.2 * width.min()


# -- replicates --------------------------------------------------------------------------------------------------------

CONVENTIONS = [
    Conventions("width10"),
    Conventions("width10r"),
    Conventions("width10+1", "team_share", 2.0),
    Conventions("mass3", "survival"),
    Conventions("mass15", "buzz_share", 0.5),
]
FEW = {
    "whole": RELAY,
    "revealed": RELAY.replace(revealed=(0.3, 0.8)),
    "spans": Selection("spans", common=False, cluster="question"),
}
SOME = (0, 7, 999)


@pytest.mark.parametrize(
    ("selection", "conventions"),
    [
        *(("whole", settings) for settings in CONVENTIONS),
        *((name, CONVENTIONS[k]) for name in ("revealed", "spans") for k in (2, 3)),
    ],
    ids=str,
)
def test_a_replicate_is_the_metric_of_the_data_written_out(snapshot, selection, conventions):
    evidence = gather(snapshot, FEW[selection].replace(conventions=conventions), METRICS)
    drawn = resampling_weights(evidence.selected)
    assert len(evidence.runs) > 1
    for metric in METRICS:
        replicates = evidence.replicates(metric)
        assert replicates.shape == (1000, len(evidence.runs))
        if metric.cross_fitted and conventions.mass_bins:
            continue  # its bins are those of the data, not of the replicate
        for r in SOME:
            copies = drawn[r][evidence.places].astype(int)
            assert copies.max() > 1
            written_out = repeated(evidence, copies)
            expected = dict(zip((run.run for run in written_out.runs), written_out.values(metric), strict=True))
            expected = [expected.get(run.run, math.nan) for run in evidence.runs]
            assert replicates[r] == pytest.approx(expected, abs=1e-12, nan_ok=True), (metric.key, r)


@pytest.mark.parametrize("at_once", [1, 400])
def test_replicates_do_not_depend_on_how_many_are_in_memory(snapshot, monkeypatch, at_once):
    selection = RELAY.replace(conventions=Conventions("mass3"), model=("plain", "partial"))
    metrics = [metric for metric in METRICS if metric.pairs or metric.key == "ece"]
    expected = {metric.key: gather(snapshot, selection, metrics).replicates(metric) for metric in metrics}
    monkeypatch.setattr(bootstrap, "AT_ONCE", at_once)
    for metric in metrics:
        replicates = gather(snapshot, selection, metrics).replicates(metric)
        assert replicates == pytest.approx(expected[metric.key], abs=1e-12, nan_ok=True), metric.key


def test_replicates_of_a_run_do_not_depend_on_other_runs(snapshot, offered):
    everybody = gather(snapshot, RELAY, METRICS)
    for index, (run, *_) in [*enumerate(offered["relay"].runs)][::3]:
        alone = gather(snapshot, RELAY.replace(run=(run,)), METRICS)
        for metric in METRICS:
            expected = everybody.replicates(metric)[:, index]
            assert alone.replicates(metric)[:, 0] == pytest.approx(expected, abs=1e-12, nan_ok=True), metric.key


def test_selected_rows_equal_evidence_gathered_for_them(snapshot):
    names = ("r01", "r04", "r05", "r10")
    selection = RELAY.replace(conventions=Conventions("mass3"))
    whole = gather(snapshot, selection, METRICS)
    kept = whole.select_rows(np.isin(whole.questions.astype(str), names))
    gathered = gather(snapshot, selection.replace(questions=names), METRICS)
    assert kept.runs == gathered.runs
    assert kept.questions.tolist() == gathered.questions.tolist()
    for metric in METRICS:
        assert kept.values(metric) == pytest.approx(gathered.values(metric), abs=1e-12, nan_ok=True), metric.key
        assert kept.per_question(metric) == pytest.approx(gathered.per_question(metric), abs=1e-12, nan_ok=True)
        assert kept.questions_with(metric).tolist() == gathered.questions_with(metric).tolist()
    nothing = whole.select_rows(np.zeros(len(whole.questions), bool))
    assert (nothing.runs, nothing.values(CATALOGUE["ece"]).shape) == ((), (0,))
    assert all(nothing.replicates(metric).shape == (1000, 0) for metric in METRICS)


# -- intervals ---------------------------------------------------------------------------------------------------------


def test_intervals_are_numpy_quantiles_of_defined_replicates():
    chance = np.random.default_rng(1)
    replicates = chance.normal(size=(1000, 4)) * [1, 0.01, 100, 1]
    replicates[::3, 1] = math.nan
    replicates[5:, 2] = math.nan
    replicates[:, 3] = math.nan
    low, high, counts = percentile_interval(replicates)
    assert counts.tolist() == [1000, 666, 5, 0]
    for column, count in enumerate(counts[:3]):
        defined = replicates[np.isfinite(replicates[:, column]), column]
        assert len(defined) == count
        assert [low[column], high[column]] == pytest.approx(np.quantile(defined, [0.025, 0.975]), abs=1e-12)
    assert math.isnan(low[3]) and math.isnan(high[3])


def test_rounding_does_not_show_in_an_interval():
    low, high, _ = percentile_interval(np.full((1000, 2), [-1e-17, 0.1 + 0.2]))
    assert [*low, *high] == [0, 0.3, 0, 0.3]
    assert math.copysign(1, low[0]) == 1


def test_cells_with_several_questions_have_intervals(snapshot):
    plainly = leaderboard(snapshot, RELAY, METRICS)
    board = leaderboard(snapshot, RELAY, METRICS, intervals=True)
    evidence = gather(snapshot, RELAY, METRICS)
    fields = ("low", "high", "rank_low", "rank_high", "replicates", "letters")
    for metric in METRICS:
        intervals = metric_intervals(evidence, metric)
        for index, (row, other) in enumerate(zip(board.rows, plainly.rows, strict=True)):
            cell, without = row.metrics[metric.key], other.metrics[metric.key]
            assert (cell.value, cell.missing, cell.rank) == (without.value, without.missing, without.rank)
            assert [getattr(without, name) for name in fields] == [None] * 6
            if cell.value is None or cell.questions < 2:
                assert [getattr(cell, name) for name in fields] == [None] * 6
                continue
            expected = [number(intervals.low[index]), number(intervals.high[index]), intervals.replicates[index]]
            if expected[0] is None:
                expected[2] = None
            assert [cell.low, cell.high, cell.replicates] == expected
            assert cell.letters is None, "these runs answered different questions"
            if metric.no_interval:
                assert (cell.rank_low, cell.rank_high) == (None, None)
            elif metric.direction == "none":
                assert (cell.rank, cell.rank_low, cell.rank_high) == (None, None, None)
            else:
                assert 1 <= cell.rank_low <= cell.rank_high <= len(board.rows)


@pytest.mark.parametrize("questions", [("r05",), ("r05", "r10")])
def test_a_single_question_has_no_interval(snapshot, questions):
    board = leaderboard(snapshot, RELAY.replace(questions=questions), METRICS, intervals=True)
    intervals = {
        (row.model, key): cell for row in board.rows for key, cell in row.metrics.items() if cell.questions == 1 and cell.value
    }
    # Of r05 and r10, "unheard" answered only the second, and people heard only the first.
    assert {("unheard", "brier"), ("plain", "calscore")} & {*intervals}
    for cell in intervals.values():
        assert (cell.low, cell.high, cell.rank_low, cell.rank_high, cell.replicates, cell.letters) == (None,) * 6
    assert all((row.metrics["brier"].low is None) == (row.questions == 1) for row in board.rows)


def test_digits_are_the_same_in_another_process(snapshot, tmp_path):
    """Files with their rows in another order are imported and measured there, and clusters are drawn."""
    write_relay(tmp_path / "relay")
    for name in ("exposures.csv", "buzzes.csv", "clues.csv", *(f"responses/{index}.csv" for index in range(7))):
        header, *lines = (tmp_path / "relay" / name).read_text(encoding="utf-8").splitlines(keepends=True)
        shuffled = random.Random(name).sample(lines, len(lines))
        assert shuffled != lines
        (tmp_path / "relay" / name).write_text("".join([header, *shuffled]), encoding="utf-8")
    selection = RELAY.replace(model=("plain", "twin", "partial", "unheard", "sure"), conventions=Conventions("mass3"))
    code = f"""
import sys
from pathlib import Path
import msgspec
from clueline.data.importing import ingest
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.engine.bootstrap import question_clusters
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import METRICS, Conventions
from clueline.queries.metrics.counted_answers import CountedAnswers
from clueline.queries.selection import Selection, number

store = open_store(sys.argv[1] + "/store")
ingest.import_paths(store, [Path(sys.argv[1], "relay")], ImportOptions())
rows = leaderboard(store.snapshot(), {selection!r}, METRICS, True).rows
sys.stdout.write(msgspec.json.encode([rows, question_clusters(12_345).tolist()]).decode())
"""
    elsewhere = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, check=True, capture_output=True, text=True)
    rows = leaderboard(snapshot, selection, METRICS, True).rows
    assert len(rows) == 6 and elsewhere.stdout == msgspec.json.encode([rows, question_clusters(12_345).tolist()]).decode()


# -- Holm's adjustment -------------------------------------------------------------------------------------------------


@MANY
@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=12), st.randoms(use_true_random=False))
def test_holm_is_between_none_and_bonferroni(p_values, chance):
    p = np.array(p_values, float)
    adjusted, known = holm(p), np.isfinite(p)
    assert (np.isfinite(adjusted) == known).all()
    assert (adjusted[known] >= p[known]).all() and (adjusted[known] <= np.minimum(p[known] * known.sum(), 1)).all()
    order = np.array(chance.sample(range(len(p)), len(p)), int)
    assert holm(p[order]) == pytest.approx(adjusted[order], abs=0, nan_ok=True)
    assert (np.diff(adjusted[known][np.argsort(p[known], kind="stable")]) >= 0).all()
    for level in (0.01, 0.05, 0.3):  # step down: reject in order while p <= level / number of tests left
        rejected = 0
        while rejected < known.sum() and np.sort(p[known])[rejected] * (known.sum() - rejected) <= level:
            rejected += 1
        assert (adjusted[known] <= level).sum() == rejected


# -- ranks -------------------------------------------------------------------------------------------------------------


def test_rank_intervals_and_letters_of_simulated_runs():
    # Three runs over 400 questions: two of equal quality, one far worse.
    alike, worse = simulated(2, 400, seed=9), simulated(1, 400, seed=10, shift=-2.0)
    evidence = evidence_of([np.concatenate(both) for both in zip(alike, worse, strict=True)])
    cells = metric_cells(CATALOGUE["brier"], evidence, True, RankedMetrics(CATALOGUE["brier"], 30))
    assert [(cell.rank_low, cell.rank_high, cell.letters) for cell in cells] == [(1, 2, [1]), (1, 2, [1]), (3, 3, [2])]
    assert [cell.may_be_best for cell in cells] == [True, True, False]


# -- many items -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [key for key, metric in CATALOGUE.items() if metric.pairs])
@pytest.mark.parametrize("decimals", [1, 4])
def test_many_items_have_the_same_interval(key, decimals):
    chance = np.random.default_rng(1)
    confidence = np.round(chance.random(6_000), decimals)
    correct = (chance.random(6_000) < 0.1 + 0.7 * confidence).astype(float)
    metric, row = CATALOGUE[key], np.arange(6_000) // 4
    draws = Draws("questions", question_clusters(1_500), MAX_CLUSTERS)
    order = np.argsort(confidence, kind="stable")
    items = SortedItems(row[order], confidence[order], correct[order])
    parts = [metric.pairs(items.confidence, items.correct, part) for part in draws.item_weights(items.row)]
    one_by_one = np.concatenate(parts, axis=-1)
    if can_be_pooled(metric, correct):
        pooled = pooled_items(items, draws)
        values = pooled.replicates(metric) + (metric.kernel_values(confidence, correct) - pooled.values(metric))[..., None]
    else:
        values = item_replicates(metric, items, draws)
    ends, exact = (np.quantile(metric.select_part(part), [0.025, 0.975]) for part in (values, one_by_one))
    np.testing.assert_allclose(ends, exact, atol=0.1 * (exact[1] - exact[0]) + 1e-12)
