"""Intervals and tests of evidence, against the same evidence with each question left out."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from clueline.queries.engine import inference
from clueline.queries.engine.bootstrap import MAX_CLUSTERS, REPLICATES, SMOOTH_REPLICATES, percentile_interval
from clueline.queries.engine.evidence import OUTLINE
from clueline.queries.engine.gather import gather
from clueline.queries.engine.intervals_and_difference_tests import (
    difference_errors,
    difference_interval,
    difference_tests,
    metric_intervals,
)
from clueline.queries.engine.primary_metric import RankedMetrics
from clueline.queries.engine.ranked_metric_rows import metric_cells
from clueline.queries.engine.units import Units
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.selection import Selection
from tests.helpers.simulated_evidence import evidence_of, simulated

RELAY = Selection("relay", common=False)  # each run on its own questions
BINNINGS = ("width10", "width10r", "width10+1", "mass3")


@pytest.mark.parametrize("binning", BINNINGS)
def test_pseudo_values_are_those_of_leaving_each_question_out(snapshot, binning):
    evidence = gather(snapshot, RELAY.replace(conventions=Conventions(binning)), METRICS)
    left_out = [evidence.select_rows(evidence.places != question) for question in range(evidence.selected)]
    for metric in METRICS:
        if metric.cross_fitted and binning == "mass3":
            continue  # its bins stay those of all the data
        pseudo_values, values = evidence.pseudo_values(metric), evidence.values(metric)
        counts = evidence.questions_with(metric)
        without = [dict(zip((run.run for run in kept.runs), kept.values(metric), strict=True)) for kept in left_out]
        for index, run in enumerate(evidence.runs):
            answered = evidence.places[evidence.starts[index] : evidence.ends[index]]
            defined = np.isfinite(pseudo_values[:, index])
            assert set(np.flatnonzero(defined)) <= set(answered)
            for question in np.flatnonzero(defined):
                expected = counts[index] * values[index] - (counts[index] - 1) * without[question].get(run.run, math.nan)
                assert pseudo_values[question, index] == pytest.approx(expected, abs=1e-9), (metric.key, run.model, question)


def test_groups_of_one_question_give_its_pseudo_values():
    evidence = evidence_of(simulated(2, 80, seed=3))
    for metric in METRICS:
        if metric.needs_items(evidence.conventions) or not evidence.statistics.keys() >= {*metric.reads(evidence.conventions)}:
            continue
        expected = evidence.pseudo_values(metric)
        by_cluster = evidence.pseudo_values(metric, by_cluster=True)
        assert by_cluster == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True), metric.key


def test_errors_from_groups_are_those_from_questions():
    evidence = evidence_of(simulated(2, 6 * MAX_CLUSTERS, seed=4))
    for key in ("brier", "ece", "ece_debiased", "hmr", "calscore"):
        errors, questions = difference_errors(evidence, CATALOGUE[key])
        expected, _ = inference.difference_errors(evidence.pseudo_values(CATALOGUE[key]))
        assert errors[0, 1] == pytest.approx(expected[0, 1], rel=0.1), key  # 2 % is the noise of 1,000 groups
        assert questions[0, 1] == 6 * MAX_CLUSTERS


def test_a_run_with_few_questions_has_its_own_interval():
    evidence = evidence_of(simulated(2, 200, seed=5))
    rows = (evidence.run_of_rows == 1) | (evidence.places < 40)
    both, few = evidence.select_rows(rows), evidence.select_rows((evidence.run_of_rows == 0) & rows)
    for key, method, replicates in (
        ("brier", "extra question", REPLICATES),
        ("hmr", "extra question", SMOOTH_REPLICATES),
        ("hard_easy_slope", "jackknife", 0),
    ):
        together, alone = metric_intervals(both, CATALOGUE[key]), metric_intervals(few, CATALOGUE[key])
        assert (together.low[0], together.high[0]) == pytest.approx((alone.low[0], alone.high[0]))
        assert together.methods == (method, "bootstrap")
        assert together.replicates.tolist() == [replicates, REPLICATES]


def test_a_distance_of_few_questions_may_be_0():
    evidence = evidence_of(simulated(2, 40, seed=1))  # calibrated runs
    intervals = metric_intervals(evidence, CATALOGUE["ece"])
    assert intervals.low.tolist() == [0, 0] and (evidence.values(CATALOGUE["ece"]) > 0.1).all()


@pytest.mark.parametrize("binning", BINNINGS)
def test_residuals_add_up_to_confidence_less_correctness(snapshot, binning):
    evidence = gather(snapshot, RELAY.replace(conventions=Conventions(binning)), METRICS)
    for metric in METRICS:
        if not metric.distance or "votes" in metric.needs:
            continue
        residuals, items = evidence.residuals(metric)
        expected = [np.subtract(*map(np.sum, evidence.items_of(index))) for index in range(len(evidence.runs))]
        assert residuals.sum(axis=(0, 2)) == pytest.approx(expected, abs=1e-9)
        assert items.sum(axis=1) == pytest.approx(evidence.total(OUTLINE)["items"])


def test_slopes_of_few_questions_have_jackknife_intervals():
    evidence, metric = evidence_of(simulated(3, 20, seed=1)), CATALOGUE["hard_easy_slope"]
    intervals = metric_intervals(evidence, metric)
    low, high = inference.jackknife_t_interval(evidence.values(metric), evidence.pseudo_values(metric))
    assert (intervals.low, intervals.high) == (pytest.approx(low, abs=1e-11), pytest.approx(high, abs=1e-11))
    assert (intervals.replicates.tolist(), set(intervals.methods)) == ([0, 0, 0], {"jackknife"})


def test_few_errors_among_many_questions_need_an_extra_question():
    confidence, correct, human = simulated(2, 200, seed=2)
    correct[0] = np.where(np.arange(200)[:, None] < inference.FEW_OUTCOMES - 1, 0.0, 1.0)
    evidence = evidence_of((confidence, np.where(np.isnan(confidence), np.nan, correct), human))
    for key in ("brier", "accuracy", "auroc", "calscore", "uncertainty"):
        assert metric_intervals(evidence, CATALOGUE[key]).methods == ("extra question", "bootstrap")
    assert metric_intervals(evidence, CATALOGUE["hard_easy_slope"]).methods == ("jackknife", "bootstrap")
    assert metric_intervals(evidence, CATALOGUE["ece"]).methods == ("calibration test", "calibration test")


def test_many_questions_have_percentile_intervals():
    evidence = evidence_of(simulated(3, 210, seed=2))
    for key in ("brier", "accuracy", "hmr", "auroc"):
        low, high, counts = percentile_interval(evidence.replicates(CATALOGUE[key]))
        intervals = metric_intervals(evidence, CATALOGUE[key])
        assert (intervals.low.tolist(), intervals.high.tolist()) == (low.tolist(), high.tolist())
        assert intervals.replicates.tolist() == counts.tolist()


@pytest.mark.parametrize("binning", BINNINGS)
@pytest.mark.parametrize("questions", [25, 90])
def test_distance_intervals_contain_the_value(binning, questions):
    evidence = evidence_of(simulated(2, questions, seed=3, shift=-1.5), Conventions(binning))
    for metric in METRICS:
        if metric.distance and "votes" not in metric.needs and not metric.no_interval:
            values, (low, high, *_) = evidence.values(metric), metric_intervals(evidence, metric)
            assert (low >= 0).all() and (low <= values + 1e-12).all() and (values <= high + 1e-12).all(), metric.key
            if metric.key in ("ece", "ks"):
                assert (low > 0).all(), "these runs are far from calibrated"


def test_the_debiased_ece_has_the_interval_of_the_ece():
    evidence = evidence_of(simulated(2, 70, seed=4))
    plain, other = (metric_intervals(evidence, CATALOGUE[key]) for key in ("ece", "ece_debiased"))
    assert (plain.low.tolist(), plain.high.tolist()) == (other.low.tolist(), other.high.tolist())


def test_tests_of_all_runs_are_those_of_each_pair():
    evidence = evidence_of(simulated(4, 80, seed=5))
    for key in ("brier", "ece", "auroc", "ks", "calscore"):
        metric = CATALOGUE[key]
        p_values = difference_tests(evidence, metric)
        for a in range(4):
            for b in range(a):
                pair = evidence.select_rows(np.isin(np.repeat(np.arange(4), 80), [a, b]))
                assert p_values[a, b] == p_values[b, a] == pytest.approx(difference_tests(pair, metric)[0, 1], rel=1e-6)
        assert np.isnan(np.diag(p_values)).all()


def test_a_run_does_not_differ_from_its_copy():
    arrays = simulated(1, 40, seed=6)
    evidence = evidence_of([np.concatenate([part, part]) for part in arrays])
    for key in ("brier", "ece", "auroc", "hmr", "hard_easy_slope"):
        assert difference_tests(evidence, CATALOGUE[key])[0, 1] == 1
        assert np.isnan(difference_interval(evidence, CATALOGUE[key], 0, 1)[:2]).all(), "there is no variation to see"


@pytest.mark.parametrize("wrong", [0, 1])
def test_runs_with_few_errors_could_differ_on_another_question(wrong):
    correct = (np.arange(100) >= wrong).astype(float)
    confidence, correct = (np.stack([part] * 2)[..., None] for part in (np.linspace(0.6, 1, 100), correct))
    evidence = evidence_of((confidence, correct, 0 * correct))
    for key in ("accuracy", "brier", "overconfidence", "net_score", *(("auroc", "hmr") if wrong else ())):
        low, high, _ = difference_interval(evidence, CATALOGUE[key], 0, 1)
        assert low == pytest.approx(-high) and low < 0 and difference_tests(evidence, CATALOGUE[key])[0, 1] == 1, key


@pytest.mark.parametrize(("wrong", "other", "discordant"), [(9, 1, 0.0215), (7, 1, 0.0703), (6, 0, 0.0312)])
def test_accuracies_with_few_errors_are_tested_as_by_mcnemar(wrong, other, discordant):
    """One-sided exact probabilities, doubled, of the questions that only one run got right."""
    places = np.arange(60)
    correct = np.stack([places >= wrong, ~((places >= 20) & (places < 20 + other))]).astype(float)[..., None]
    evidence = evidence_of((0.9 + 0 * correct, correct, 0 * correct))
    assert difference_tests(evidence, CATALOGUE["accuracy"])[0, 1] == pytest.approx(discordant, abs=0.02)


@pytest.mark.parametrize(
    ("questions", "shift"), [(4, 2.0), (5, 2.0), (6, 2.0), (20, 0.0), (20, 1.0), (45, 0.6), (90, 0.0), (90, 1.0), (200, 0.5)]
)
def test_intervals_and_p_values_agree(questions, shift):
    """An interval leaves out 0 if and only if p < 0.05."""
    parts = [simulated(3, questions, seed=questions, shift=moved) for moved in (0.0, shift)]
    evidence = evidence_of([np.concatenate(columns) for columns in zip(*parts, strict=True)])
    rejected = 0
    for key in ("ece", "ks", "corp_mcb", "accuracy", "auroc", "hmr", "brier", "overconfidence", "net_score", "mean_confidence"):
        metric = CATALOGUE[key]
        p_values = difference_tests(evidence, metric)
        for a, b in combinations(range(6), 2):
            low, high, _ = difference_interval(evidence, metric, a, b)
            if not math.isnan(low):
                assert (p_values[a, b] < 0.05) == (low > 0 or high < 0), (key, a, b)
                rejected += p_values[a, b] < 0.05
    assert not rejected or questions > 5
    assert rejected or shift < 1 or questions < 20


@pytest.mark.parametrize("sizes", [[36] * 21, [60, 30, 20, 15, 12, 10, 9, 8, 7, 6] + [2] * 50, [40] * 4])
def test_intervals_and_p_values_agree_over_clusters(sizes):
    unit = np.repeat(np.arange(len(sizes)), sizes)
    parts = [simulated(3, len(unit), seed=len(sizes), shift=moved) for moved in (0.0, 0.4)]
    evidence = evidence_of([np.concatenate(columns) for columns in zip(*parts, strict=True)])
    keys = np.array([f"cluster {index}" for index in range(len(sizes))], dtype=object)
    evidence = replace(evidence, clustered=Units("packet", keys, unit))
    rejected = 0
    for key in ("ece", "accuracy", "auroc", "hmr", "brier", "overconfidence"):
        p_values = difference_tests(evidence, CATALOGUE[key])
        for a, b in combinations(range(6), 2):
            low, high, _ = difference_interval(evidence, CATALOGUE[key], a, b)
            assert (p_values[a, b] < 0.05) == (low > 0 or high < 0), (key, a, b)
            rejected += p_values[a, b] < 0.05
    assert (rejected > 0) == (len(sizes) > 5)


def test_few_clusters_have_jackknife_intervals():
    unit = np.repeat(np.arange(21), 10)
    evidence = evidence_of(simulated(2, 210, seed=1))
    keys = np.array([f"cluster {index}" for index in range(21)], dtype=object)
    evidence = replace(evidence, clustered=Units("packet", keys, unit))
    for key in ("brier", "auroc", "net_score", "mean_confidence"):
        metric = CATALOGUE[key]
        intervals = metric_intervals(evidence, metric)
        ends = inference.jackknife_t_interval(evidence.values(metric), evidence.pseudo_values(metric))
        assert intervals.methods == ("jackknife", "jackknife")
        # Questions have one to six clues, so that the effective number of clusters is a little below 21.
        for end, expected in zip((intervals.low, intervals.high), ends, strict=True):
            assert end == pytest.approx(expected, abs=0.03 * (intervals.high - intervals.low).max()), key


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("questions", [30, 90, 300])
@pytest.mark.parametrize("shift", [0.0, -0.7])
def test_lower_ends_obey_the_triangle_inequality(questions, shift, clustered):
    """They are in the population, by the triangle inequality: an interval must not say less than that of the other."""
    evidence = evidence_of(simulated(6, questions, seed=questions, shift=shift))
    if clustered:
        keys = np.array([f"cluster {index}" for index in range(questions // 3)], dtype=object)
        evidence = replace(evidence, clustered=Units("packet", keys, np.arange(questions) // 3))
    bias = metric_intervals(evidence, CATALOGUE["overconfidence"])
    least = np.maximum(np.maximum(bias.low, -bias.high), 0.0)
    for key in ("ece", "ks", "ks_sequential", "ece_debiased"):
        ends = metric_intervals(evidence, CATALOGUE[key])
        assert (ends.low >= least).all() and (ends.low < ends.high).all(), key
    assert (least > 0).any() or questions == 30


def test_the_largest_gap_has_neither_intervals_nor_tests():
    """It can be that of a bin of two items, which says little about where the largest gap of the run is."""
    chance = np.random.default_rng(4)
    confidence = np.where(np.arange(200) < 198, 0.5 + 0.5 * chance.random(200), 0.15)
    correct = (chance.random(200) < confidence).astype(float)
    other = np.where(np.arange(200) < 198, confidence, 0.72)
    stated, right = np.stack([confidence, other]), np.stack([np.where(np.arange(200) < 198, correct, 1.0)] * 2)
    evidence = evidence_of((stated[..., None], right[..., None], 0 * stated[..., None]))
    metric = CATALOGUE["max_ce"]
    assert np.argmax(evidence.values(metric)) == 0 and evidence.values(metric)[0] == pytest.approx(0.85)
    errors, counts = difference_errors(evidence, metric)
    assert inference.t_test(np.subtract(*evidence.values(metric)), errors[0, 1], counts[0, 1]) < 0.001, "the jackknife's"
    intervals = metric_intervals(evidence, metric)
    assert np.isnan([intervals.low, intervals.high]).all() and not intervals.replicates.any()
    assert np.isnan(difference_interval(evidence, metric, 0, 1)[:2]).all()
    assert np.isnan(difference_tests(evidence, metric)).all()
    cells = metric_cells(metric, evidence, intervals=True, tested=RankedMetrics(metric, 5), margin=0.1)
    for cell in cells:
        assert cell.value is not None and "few answers" in cell.no_interval
        assert (cell.low, cell.rank_low, cell.letters, cell.may_be_best) == (None,) * 4
    assert [cell.margin and cell.margin.undefined for cell in cells] == [metric.no_interval, None]
