"""Kernels against plain definitions, against scikit-learn and at the ends of their range."""

import itertools
import math
from statistics import linear_regression

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import linregress, rankdata
from sklearn.isotonic import IsotonicRegression

from clueline.data import sufficient_statistics
from clueline.data.human_curves import CURVES
from clueline.data.sufficient_statistics import BIN_COLUMNS, pooled
from clueline.queries.engine.ranked_metric_rows import ranks
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.metrics.axioms import value_of_items
from clueline.queries.metrics.kernels import bins, calibration_tests, per_question, sorted_items
from clueline.queries.metrics.kernels import isotonic_regression as isotonic
from clueline.queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from clueline.queries.metrics.kernels.bounds import auroc_bounds
from clueline.queries.metrics.metric import ATTEMPTED_ITEMS
from tests.helpers import reference_metrics as reference
from tests.helpers.examples import TIMES, examples

MANY = examples(60)
SOME = examples(30)  # in tests that run this many examples on every metric
STANDARD = Conventions()
# Metrics of confidence and correctness. Those of whole distributions are tested in engine/test_distribution_statistics.py.
ITEM_METRICS = [metric for metric in METRICS if metric.level == "item" and "whole distribution" not in metric.needs]
BINNINGS = ["width10", "width10r", "width10+1", "mass3", "mass15"]

CONFIDENCE = st.sampled_from([0.0, 0.05, 0.1, 0.15, 0.3, 0.1 + 0.2, 0.35, 0.7, 0.9, 1.0]) | st.floats(0, 1)
# Values nearer to 1 are left out: the sum of 1 - y is a difference of sums and would be lost in rounding.
CORRECT = st.sampled_from([0.0, 1.0]) | st.floats(0, 0.99, allow_subnormal=False)
PAIRS = st.lists(st.tuples(CONFIDENCE, CORRECT), min_size=1, max_size=40)
CONVENTIONS = st.builds(
    Conventions,
    binning=st.sampled_from(BINNINGS),
    beta=st.just(1.0) | st.floats(0.01, 100),
    t=st.sampled_from([0.0, 0.3, 0.5, 0.9]),
)
OF_FIRST_ITEMS = {"aurc", "e_aurc", "augrc", "prr"}  # each is a mean over the first k of N items, which depends a little on N
EACH_ITEM_METRIC = pytest.mark.parametrize("metric", ITEM_METRICS, ids=lambda metric: metric.key)


def as_one_question(pairs):
    return [reference.Answered([(c, y, None) for c, y in pairs])]


def as_questions(pairs):
    """Every item as a question of its own."""
    return [reference.Answered([(c, y, None)], fold=index % bins.FOLDS) for index, (c, y) in enumerate(pairs)]


def by_definition(metric, pairs, conventions=STANDARD):
    questions = as_questions(pairs) if metric.cross_fitted else as_one_question(pairs)
    return reference.METRICS[metric.key](questions, conventions)


# -- items and bins ----------------------------------------------------------------------------------------------------


@EACH_ITEM_METRIC
@SOME
@given(pairs=PAIRS, conventions=CONVENTIONS)
def test_a_metric_is_what_its_definition_says(metric, pairs, conventions):
    expected, number = by_definition(metric, pairs, conventions), value_of_items(metric, pairs, conventions)
    assert number == pytest.approx(expected, abs=1e-11, nan_ok=True)
    assert metric.low <= number <= metric.high or math.isnan(number)


@EACH_ITEM_METRIC
def test_a_metric_keeps_its_range_where_sums_nearly_cancel(metric):
    pairs = [(0.9, 1 - 2**-50), *((0.1 * index % 1, 1.0) for index in range(20))]
    assert metric.low <= value_of_items(metric, pairs) <= metric.high


@SOME
@given(parts=st.lists(st.lists(st.tuples(CONFIDENCE, CORRECT), max_size=9), max_size=6), count=st.integers(1, 12))
def test_bins_of_equal_mass_of_parts_are_those_of_each(parts, count):
    confidence, correct = np.array([pair for part in parts for pair in part], float).reshape(-1, 2).T
    edges = bins.mass_bins(confidence, correct, count, [len(part) for part in parts])
    for name, totals in zip(BIN_COLUMNS, edges, strict=True):
        assert totals.shape == (len(parts), count), name
    for index, part in enumerate(parts):
        alone = bins.mass_bins(*np.array(part, float).reshape(-1, 2).T, count)
        assert [totals[index].tolist() for totals in edges] == [totals.tolist() for totals in alone]
        assert alone[0].tolist() == [len(cell) for cell in np.array_split(np.arange(len(part)), count)]


def plain(kernel, confidence, correct):
    """Apply a kernel of (confidence, correctness) pairs to items in any order, each with weight 1."""
    order = np.argsort(confidence, kind="stable")
    return kernel(confidence[order], correct[order], ItemWeights.equal(len(order)))[..., 0]


DEGENERATE = {
    "nothing": [],
    "one item": [(0.7, 1)],
    "one item over and over": [(0.7, 0)] * 7,
    "all correct": [(0.2, 1), (0.62, 1)],
    "none correct": [(0.2, 0), (0.62, 0)],
    "one confidence throughout": [(0.3, 1), (0.3, 0), (0.3, 0), (0.3, 0)],
    "confidence 0 throughout": [(0, 1), (0, 0)],
    "confidence 1 throughout": [(1, 1), (1, 0)],
    "sure of the wrong ones only": [(1, 0), (0, 1)],
    "perfect": [(1, 1), (0, 0)],
    "probabilities met exactly": [(0.25, 0.25), (0.75, 0.75)],
}
ALIKE = {"brier_skill", "macro_ce", "auroc", "correlation", "prr"}  # undefined where all items are equally correct
UNDEFINED = {
    "nothing": {metric.key for metric in ITEM_METRICS},
    "one item": ALIKE | {"ece_debiased"},
    **dict.fromkeys(("one item over and over", "all correct", "none correct"), ALIKE),
    **{case: {"correlation"} for case in DEGENERATE if case.endswith("throughout")},
    "probabilities met exactly": {"ece_debiased"},
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_items(case):
    pairs = DEGENERATE[case]
    values = {metric.key: value_of_items(metric, pairs) for metric in ITEM_METRICS}
    assert {key for key, number in values.items() if math.isnan(number)} == UNDEFINED.get(case, set())
    assert values == pytest.approx({metric.key: by_definition(metric, pairs) for metric in ITEM_METRICS}, abs=1e-14, nan_ok=True)


def test_many_items():
    # 700 distinct items, each repeated 300 times, have the values of the 700, which exact sums give. Long runs use 2 million.
    confidence = np.random.default_rng(7).permutation(np.arange(700) / 699)
    correct = (np.random.default_rng(8).random(700) < 0.8 * confidence).astype(float)
    pairs = np.column_stack([confidence, correct])
    many = np.repeat(pairs, 300 * TIMES, axis=0)
    sums = pooled(*many.T)
    sums[ATTEMPTED_ITEMS] = sums["items"]
    for metric in ITEM_METRICS:
        if metric.cross_fitted:
            continue  # needs questions: tested below
        expected = reference.METRICS[metric.key](as_one_question(pairs), STANDARD)
        number = value_of_items(metric, many) if metric.pairs else float(metric.value(sums, STANDARD))
        assert number == pytest.approx(expected, abs=1e-3 if metric.key in OF_FIRST_ITEMS else 1e-9), metric.key
    by_mass = float(
        CATALOGUE["ece"].value(dict(zip(BIN_COLUMNS, bins.mass_bins(*many.T, 10), strict=True)), Conventions("mass10"))
    )
    assert by_mass == pytest.approx(reference.ece(as_one_question(pairs), Conventions("mass10")), abs=1e-9)


# -- consistency bands -------------------------------------------------------------------------------------------------


def test_correlated_items_widen_the_band():
    random = np.random.default_rng(3)
    confidence, sizes = np.repeat(random.random(60), 5).round(2), np.full(60, 5)
    alone = (random.random(300) < confidence).astype(float)
    together = (np.repeat(random.random(60), 5) < confidence).astype(float)  # all clues of a question right, or none
    assert isotonic.question_correlation(confidence, alone, sizes) < 0.1
    assert isotonic.question_correlation(confidence, together, sizes) > 0.7
    narrow, wide = (isotonic.consistency_band(confidence, correct, sizes, 7) for correct in (alone, together))
    assert (wide[2] - wide[1]).mean() > 1.4 * (narrow[2] - narrow[1]).mean()


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.8, 0.99), (0.95, 0.99)])
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_the_correlation_of_questions_is_that_of_the_draws(low, high, shared):
    """Also where errors are rare, and for a run that is overconfident throughout."""
    random = np.random.default_rng(9)
    sizes, estimates = np.full(300, 5), []
    for _ in range(20):
        confidence = random.uniform(low, high, 1500)
        normal = math.sqrt(shared) * np.repeat(random.normal(size=300), 5) + math.sqrt(1 - shared) * random.normal(size=1500)
        estimates.append(isotonic.question_correlation(confidence, (normal < ndtri(confidence)).astype(float), sizes))
    assert np.mean(estimates) == pytest.approx(shared, abs=0.09)
    correct = (random.random(1500) < confidence - 0.15).astype(float)
    assert isotonic.question_correlation(confidence, correct, sizes) < 0.3


def test_a_simultaneous_band_contains_the_pointwise_one():
    random = np.random.default_rng(4)
    confidence = random.random(200).round(1)
    correct = (random.random(200) < confidence).astype(float)
    bands = [isotonic.consistency_band(confidence, correct, np.full(100, 2), 7, simultaneous=both) for both in (False, True)]
    (where, low, high), (same, lower, higher) = bands
    assert where.tolist() == same.tolist() and (lower <= low + 0.01).all() and (higher >= high - 0.01).all()
    assert (higher - lower).mean() > 1.2 * (high - low).mean()
    assert (np.diff(lower) >= 0).all() and (np.diff(higher) >= 0).all()


@pytest.mark.parametrize(("items", "digits", "apart"), [(300, 4, 250), (2000, 1, 11), (6000, 4, 1001)])
def test_consistency_band_covers_calibrated_runs(items, digits, apart):
    """Compare with a simulation item by item: where most confidences are distinct, where few are, and where very many are."""
    random = np.random.default_rng(items)
    confidence = np.round(random.beta(2, 1, items), digits)
    assert len(np.unique(confidence)) >= apart or digits == 1
    where, low, high = isotonic.consistency_band(
        confidence, (random.random(items) < confidence).astype(float), np.ones(items, int), 7
    )
    assert len(where) <= 201 and (np.diff(where) > 0).all() and (low <= high).all()
    assert (np.diff(low) >= 0).all() and (np.diff(high) >= 0).all()
    curves = [
        IsotonicRegression(out_of_bounds="clip").fit(confidence, random.random(items) < confidence).predict(where)
        for _ in range(300)
    ]
    expected = np.quantile(curves, [0.05, 0.95], axis=0)
    thick = np.searchsorted(np.sort(confidence), where) > 20  # at the ends, single items decide the curve
    off = np.abs(np.stack([low, high]) - expected)[:, thick]
    assert off.max() < 0.06 and off.mean() < 0.015


@pytest.mark.parametrize(("digits", "simultaneous"), [(1, False), (2, False), (2, True)])
def test_the_large_sample_band_agrees_with_single_items(monkeypatch, digits, simultaneous):
    """Draw right answers by confidence and item by item: both bands are known to about 6 % of their width."""
    random = np.random.default_rng(digits)
    sizes = np.full(1500, 4)
    confidence = np.round(random.random(sizes.sum()), digits)
    normal = math.sqrt(0.5) * (np.repeat(random.normal(size=len(sizes)), 4) + random.normal(size=sizes.sum()))
    correct = (normal < ndtri(confidence)).astype(float)
    bands = []
    for many in (len(confidence) - 1, len(confidence)):
        monkeypatch.setattr(isotonic, "LARGE_SAMPLE", many)
        bands.append(isotonic.consistency_band(confidence, correct, sizes, 7, simultaneous))
    (where, low, high), (same, lower, higher) = bands
    width = (higher - lower).mean()
    assert where.tolist() == same.tolist()
    assert (high - low).mean() / width == pytest.approx(1, abs=0.06)
    assert np.abs(low - lower).mean() < 0.06 * width and np.abs(high - higher).mean() < 0.06 * width


@pytest.mark.parametrize("rows", [1, 2, 64, 130])
def test_isotonic_fits_are_those_of_scikit_learn(rows):
    """One by one and together. Cover places without weight (also at the start of a row), whole rows without weight, and ties."""
    random = np.random.default_rng(rows)
    weights = random.integers(0, 4, (rows, 30)).astype(float)
    weights[random.random(rows) < 0.1] = 0
    totals = np.round(weights * random.random((rows, 30)), 1)
    expected = np.zeros_like(totals)
    for row in range(rows):
        kept = weights[row] > 0
        if kept.any():
            fitted = IsotonicRegression().fit(
                np.flatnonzero(kept), totals[row][kept] / weights[row][kept], sample_weight=weights[row][kept]
            )
            before = np.flatnonzero(kept)[np.maximum(np.cumsum(kept) - 1, 0)]
            expected[row] = np.where(np.cumsum(kept) > 0, fitted.predict(before), 0)
        assert isotonic.isotonic(totals[row], weights[row]) == pytest.approx(expected[row], abs=1e-12)
    assert isotonic.isotonic(totals, weights) == pytest.approx(expected, abs=1e-12)
    deep = isotonic.isotonic(np.stack([totals, totals]), np.stack([weights, weights]))
    assert deep.shape == (2, rows, 30)
    assert deep[1] == pytest.approx(expected, abs=1e-12)
    assert isotonic.isotonic(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)
    assert isotonic.isotonic(np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)


def test_corp_of_weighted_items_is_that_of_repeated_ones():
    random = np.random.default_rng(9)
    confidence, correct = np.sort(np.round(random.random(40), 1)), random.integers(0, 2, 40).astype(float)
    times = random.integers(0, 4, (40, 3))
    together = isotonic.corp(confidence, correct, ItemWeights(np.arange(40), times.astype(float)))
    for number, of_items in enumerate(times.T):
        repeated = np.repeat(confidence, of_items), np.repeat(correct, of_items)
        expected = isotonic.corp(*repeated, ItemWeights.equal(of_items.sum()))
        assert together[:, number] == pytest.approx(expected[:, 0], abs=1e-12)


def test_without_any_confidence_the_auroc_can_be_anything():
    assert auroc_bounds(np.zeros(0), np.zeros(0), np.array([0.0, 1.0, 1.0])) == (0, 1)


@pytest.mark.parametrize(
    ("outcomes", "kuiper", "ks"), [((1, 1), 0.48, 0.48), ((1, 0), 0.64, 0.64), ((0, 1), 1, 1), ((0, 0), 0.48, 0.48)]
)
def test_p_values_of_two_answers_are_those_of_four_outcomes(outcomes, kuiper, ks):
    # Cumulative residuals are 0.6, 1 with probability 0.24; 0.6, 0 with 0.16; -0.4, 0 with 0.36; -0.4, -1 with 0.24.
    tests = calibration_tests.calibration_tests(np.array([0.4, 0.6]), np.array(outcomes, float), np.array([0, 1]), 2, 1)
    assert (tests.kuiper, tests.ks) == pytest.approx((kuiper, ks), abs=0.06)  # four standard errors of 1,000 draws


def test_p_values_of_shares_are_those_of_flipped_signs():
    # The score is 0.02 + 0.06, or 0.06 - 0.02 with other signs; cumulative residuals are -0.1, 0.2 or 0.1, 0.4.
    tests = calibration_tests.calibration_tests(np.array([0.4, 0.6]), np.array([0.3, 0.9]), np.array([0, 1]), 2, 1)
    assert (tests.spiegelhalter, tests.kuiper, tests.ks) == (pytest.approx(0.5, abs=0.06), 1, 1)


def test_corp_sees_a_small_miscalibration():
    # 1e-7 off at 0.5. Its square would be lost in the difference of two scores.
    assert plain(isotonic.corp, np.full(4, 0.5 + 1e-7), np.array([0.0, 1, 0, 1]))[0] == pytest.approx(1e-14, rel=1e-6, abs=0)


# -- debiased ECE ------------------------------------------------------------------------------------------------------


def folds_of(gaps):
    """``ece_cross_fitted`` of questions with one item each; ``gaps`` has shape (questions, bins)."""
    gaps = np.asarray(gaps, float)
    totals = bins.fold_totals(gaps, *np.ones((3, len(gaps))), np.arange(len(gaps)) % bins.FOLDS)
    by_fold = totals["gaps_by_fold"].reshape(bins.FOLDS, -1)
    return float(bins.ece_cross_fitted(by_fold, totals["items_by_fold"]))


def test_any_two_folds_are_equally_often_in_opposite_halves():
    apart = (bins.HALVES[:, :, None] != bins.HALVES[:, None, :]).sum(axis=0)
    assert bins.HALVES.shape == (15, 16) and (bins.HALVES.sum(axis=1) == 8).all()
    assert (apart[~np.eye(16, dtype=bool)] == 8).all()


def test_folds_are_random_and_reproducible():
    names = [f"q{index:04}" for index in range(10_000)]
    folds = bins.question_folds(names)
    sizes = np.bincount(folds, minlength=16)
    assert len(sizes) == 16 and ((sizes - 625) ** 2 / 625).sum() < 45  # the 99.99 % point of chi-squared with 15 degrees
    assert bins.question_folds(names[5:7]).tolist() == folds[5:7].tolist()
    assert bins.question_folds(["Paris", "Nile"]).tolist() == [13, 1]


@pytest.mark.parametrize(
    ("gaps", "error"),
    [
        (np.full((64, 1), 0.3), 0.3),  # a gap that both halves share is counted whole
        (np.tile([[0.3, -0.2]], (64, 1)) / 2, 0.25),
        ([[-0.4], [0.9]], -(0.4 + 0.9) / 2),  # each of the halves takes the sign of the other
        ([[0.4, 0.0], [0.0, 0.9]], (0.4 + 0.9) / 2),  # a half without items in a bin has the sign of its total there
        ([[0.4, 0.1]], math.nan),  # one question has no halves
        (np.zeros((0, 2)), math.nan),
    ],
    ids=range(6),
)
def test_gaps_of_halves(gaps, error):
    assert folds_of(gaps) == pytest.approx(error, abs=1e-12, nan_ok=True)


# -- pairs -------------------------------------------------------------------------------------------------------------


def test_ks_in_order_keeps_the_order_of_ties():
    confidence = np.full(4, 0.5)
    assert plain(sorted_items.ks_sequential, confidence, np.array([1.0, 1, 0, 0])) == 0.25
    assert plain(sorted_items.ks_sequential, confidence, np.array([1.0, 0, 1, 0])) == 0.125
    assert plain(sorted_items.ks, confidence, np.array([1.0, 1, 0, 0])) == 0


@MANY
@given(pairs=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_correlation_needs_both_to_vary(pairs):
    confidence, correct = np.array(pairs).T
    for constant in (0.0, 1.0, 0.1, 0.7, 1 / 3):
        assert math.isnan(plain(sorted_items.correlation, np.full(len(pairs), constant), correct))
        assert math.isnan(plain(sorted_items.correlation, confidence, np.full(len(pairs), constant)))


@pytest.mark.parametrize("step", [1e-3, 1e-7, 1e-11, 2**-50])
def test_correlation_of_confidences_that_lie_close_together(step):
    confidence = 0.875 + step * np.array([0, 1, 2, 3] * 50)
    correct = np.array([0.0, 1, 0, 1] * 50)
    exact = reference.correlation(
        [reference.Answered([(c, y, None) for c, y in zip(confidence, correct, strict=True)])], STANDARD
    )
    assert plain(sorted_items.correlation, confidence, correct) == pytest.approx(exact, abs=1e-12)
    assert exact == pytest.approx(math.sqrt(0.2), abs=0.3)


# -- questions ---------------------------------------------------------------------------------------------------------


@MANY
@given(x=st.floats(-1, 1))
def test_r_is_the_logistic_function_stretched_to_its_ends(x):
    assert per_question.unit_logistic(x) == pytest.approx(reference.r(x), abs=1e-12)


@MANY
@given(clues=st.lists(st.tuples(CONFIDENCE, st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_calscore_and_its_relatives(clues):
    answered = [reference.Answered([(c, y, {"buzz_share": h}) for c, y, h in clues])]
    weighted = np.array(sum((1 - h) * (2 * y - 1) * c for c, y, h in clues))
    weight = np.array(sum(1 - h for _, _, h in clues))
    sign_confidence = np.array(sum((2 * y - 1) * c for c, y, _ in clues))
    items = np.array(float(len(clues)))
    scores = {
        reference.calscore: per_question.calscore(weighted, items),
        reference.calscore_weighted: per_question.calscore_weighted(weighted, weight),
        reference.grace_mce: per_question.grace_mce(sign_confidence, items),
    }
    for definition, score in scores.items():
        if definition == reference.calscore_weighted and weight < 1e-6:
            continue  # people know nearly everything: what remains of 1 - h is rounding
        assert score == pytest.approx(definition(answered, STANDARD), abs=1e-9, nan_ok=True), definition
        assert -1e-15 <= score <= 1 + 1e-15


@pytest.mark.parametrize(
    "weighted, weight, expected",
    [
        (0.0, 0.0, math.nan),
        (math.nan, math.nan, math.nan),  # nobody heard the question
        (1.1e-16, 1.1e-16, math.nan),  # h is 1 except for rounding
        (-2.2e-16, -2.2e-16, math.nan),  # h exceeds 1 by rounding
        (0.0, 0.5, 0.5),
        (0.5, 0.5, 0.0),
        (-0.5, 0.5, 1.0),
        (0.5 + 1e-16, 0.5, 0.0),
        (-1e-6, 1e-6, 1.0),
    ],
)
def test_normalised_calscore_is_missing_without_weights(weighted, weight, expected):
    assert per_question.calscore_weighted(np.array(weighted), np.array(weight)) == pytest.approx(expected, abs=0, nan_ok=True)


@MANY
@given(confidence=st.lists(CONFIDENCE, min_size=1, max_size=12))
def test_buzz_mass_is_the_chance_of_buzzing_first_at_each_clue(confidence):
    mass = per_question.buzz_mass(confidence)
    forced = [*confidence[:-1], 1.0]
    assert mass == pytest.approx([c * math.prod(1 - before for before in forced[:t]) for t, c in enumerate(forced)])
    assert mass.sum() == pytest.approx(1)
    assert (mass >= 0).all()


@MANY
@given(
    points=st.lists(st.tuples(st.integers(0, 100), st.floats(-1, 1)), min_size=2, max_size=30).filter(lambda p: len(dict(p)) > 1)
)
def test_slope_is_that_of_least_squares(points):
    x, y = np.array(points, float).T / [[100], [1]]
    fitted = per_question.slope(np.array(float(len(x))), x.sum(), y.sum(), (x * x).sum(), (x * y).sum())
    assert fitted == pytest.approx(linear_regression(x.tolist(), y.tolist()).slope, abs=1e-9)


def slope_error(x, y):
    metric = CATALOGUE["hard_easy_slope_se"]
    x, y = np.array(x, float), np.array(y, float)
    sums = {"items": np.ones(len(x)), "confidence": y, "correct": np.zeros(len(x)), "difficulty": x}
    totals = {name: part.sum() for name, part in metric.contributions(sums, STANDARD).items()}
    return float(metric.value(totals, STANDARD))


@MANY
@given(points=st.lists(st.tuples(st.integers(0, 100), st.floats(-1, 1)), min_size=3, max_size=30))
def test_the_error_of_the_slope_is_that_of_scipy(points):
    x, y = np.array(points, float).T / [[100], [1]]
    if len(set(x.tolist())) > 1:
        if len(set(y.tolist())) > 1:  # scipy returns no number for a flat line
            assert slope_error(x, y) == pytest.approx(linregress(x, y).stderr, rel=1e-6, abs=1e-5)  # scipy rounds near a line
        assert slope_error(x, y) == pytest.approx(exact_slope_error(x, y), abs=1e-10)


def exact_slope_error(x, y):
    answered = [reference.Answered([(b, 0.0, None)], a) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return reference.hard_easy_slope_se(answered, STANDARD)


@pytest.mark.parametrize("count", [3, 4, 10, 808, 20000])
@pytest.mark.parametrize("slope", [0.3, -0.7, 1.0])
def test_points_on_a_line_leave_no_error(count, slope):
    x = np.random.default_rng(count).random(count)
    assert slope_error(x, 0.2 + slope * x - slope / 3) == pytest.approx(0, abs=1e-10)


def test_an_error_needs_three_points_and_some_spread():
    assert math.isnan(slope_error([0.1, 0.9], [0.3, 0.4]))
    assert math.isnan(slope_error([0.3] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]))
    assert math.isnan(slope_error([], []))


@pytest.mark.parametrize("x", [[], [0.3], [0.1, 0.1, 0.1], [0.7] * 50], ids=str)
def test_there_is_no_slope_where_difficulty_does_not_vary(x):
    x = np.array(x, float)
    assert math.isnan(per_question.slope(np.array(float(len(x))), x.sum(), x.sum(), (x * x).sum(), (x * x).sum()))


HEARD, KNOWN = (0.25, 0.75), (1.0, 1.0)  # human curves of two clues
# Questions as (difficulty, human curve or None, [(confidence, correctness) of each clue]).
OF_QUESTIONS = {
    "nothing": [],
    "one question of one item": [(0.3, HEARD, [(0.7, 1)])],
    "one question": [(0.3, HEARD, [(0.2, 1), (0.6, 0)])],
    "all correct": [(d, HEARD, [(0.2, 1), (0.6, 1)]) for d in (0.2, 0.8)],
    "none correct": [(d, HEARD, [(0.2, 0), (0.6, 0)]) for d in (0.2, 0.8)],
    "one confidence throughout": [(d, HEARD, [(0.5, 0), (0.5, 1)]) for d in (0.2, 0.8)],
    "confidence 0 throughout": [(d, HEARD, [(0, 0), (0, 1)]) for d in (0.2, 0.8)],
    "confidence 1 throughout": [(d, HEARD, [(1, 0), (1, 1)]) for d in (0.2, 0.8)],
    "right on the easy one, wrong on the hard one": [(0.2, HEARD, [(0.2, 1), (0.6, 1)]), (0.8, HEARD, [(0.2, 0), (0.6, 0)])],
    "people know at once": [(0.2, KNOWN, [(0.2, 1), (0.6, 1)])],
    "nobody heard it, nobody knows how hard it is": [(None, None, [(0.2, 1), (0.6, 1)])] * 2,
}


def statistics_of(questions):
    """Return the statistics of the questions, as arrays over questions."""
    columns = []
    for _, curve, pairs in questions:
        confidence, correct = np.array(pairs, float).reshape(-1, 2).T
        h = np.array(curve[: len(pairs)] if curve else [math.nan] * len(pairs), float)
        items = sufficient_statistics.Items(confidence, correct, np.array([0, len(pairs)]), dict.fromkeys(CURVES, h))
        columns.append(sufficient_statistics.sums(items, sufficient_statistics.STATISTICS))
    sums = {
        name: np.concatenate([np.empty(0), *(column[name] for column in columns)]) for name in sufficient_statistics.STATISTICS
    }
    return sums | {
        "difficulty": np.array([math.nan if statistics[0] is None else statistics[0] for statistics in questions], float)
    }


@pytest.mark.parametrize("case", OF_QUESTIONS)
def test_degenerate_questions(case):
    sums = statistics_of(OF_QUESTIONS[case])
    answered = [
        reference.Answered(
            [(c, y, dict.fromkeys(CURVES, curve[clue]) if curve else None) for clue, (c, y) in enumerate(pairs)], difficulty
        )
        for difficulty, curve, pairs in OF_QUESTIONS[case]
    ]
    for metric in METRICS:
        if metric.level == "question":
            contributions = metric.contributions({name: sums[name] for name in metric.reads(STANDARD)}, STANDARD)
            number = float(metric.value({name: part.sum(axis=0) for name, part in contributions.items()}, STANDARD))
            expected = reference.METRICS[metric.key](answered, STANDARD)
            assert number == pytest.approx(expected, abs=1e-14, nan_ok=True), metric.key


@pytest.mark.parametrize(
    "loss, expected",
    [
        ([], []),
        ([math.nan, 0.1, math.inf, 0.2], [math.nan, 1, math.nan, 2]),
        ([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, 0.1], [2.5, 2.5, 1]),  # the same sum in another order
        ([0.1, 0.1 + 1e-9], [1, 2]),
    ],
)
def test_ranks(loss, expected):
    assert ranks(np.array(loss, float)) == pytest.approx(expected, nan_ok=True)


@MANY
@given(st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, math.nan]) | st.floats(0, 1), min_size=6, max_size=6), min_size=1))
def test_ranks_are_those_of_scipy(losses):
    losses = np.round(losses, 9)  # differences that scipy distinguishes and we do not are tested above
    assert ranks(losses) == pytest.approx(np.array([rankdata(loss, nan_policy="omit") for loss in losses]), nan_ok=True)


def test_the_inflation_by_clusters_is_that_of_its_definition():
    draw_from = np.random.default_rng(4)
    for rare in (0.5, 0.02):
        cluster = draw_from.permuted(np.repeat(np.arange(7), 4))
        residual, spread, chances = draw_from.normal(size=28), draw_from.random(28), rare * draw_from.random(28)
        pairs = [(i, j) for i, j in itertools.permutations(range(28), 2) if cluster[i] == cluster[j]]
        observed = 1 + sum(residual[i] * residual[j] for i, j in pairs) / min(sum(residual**2), sum(spread**2))
        largest = 1 + sum(spread[i] * spread[j] for i, j in pairs) / sum(spread**2)
        expected = sum(chances[cluster == c].mean() for c in range(7))
        least = 1 + (largest - 1) * min(1, 2 / expected)
        assert calibration_tests.inflation(residual, spread, chances, cluster, 7) == pytest.approx(max(1, observed, least))
