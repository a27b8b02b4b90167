"""Metrics of bins against netcal and torchmetrics, which need torch: ``make test-libraries`` runs them in .venv-bench."""

import math

import numpy as np
import pytest

from clueline.data.sufficient_statistics import BIN_COLUMNS, pooled
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.metrics.kernels import bins
from clueline.queries.metrics.kernels.arrays import ratio

REASON = "not installed here; `make test-libraries` brings torch"
netcal = pytest.importorskip("netcal.metrics", reason=f"netcal is {REASON}")
torch = pytest.importorskip("torch", reason=f"torch is {REASON}")
torchmetrics = pytest.importorskip("torchmetrics.functional.classification", reason=f"torchmetrics is {REASON}")

EXACT = {"abs": 1e-12, "rel": 0}


def totals(confidence, correct, binning="width10"):
    sums = pooled(confidence, correct)
    if binning.startswith("mass"):
        return dict(zip(BIN_COLUMNS, bins.mass_bins(confidence, correct, int(binning[4:])), strict=True))
    return sums


def result(key, answers, binning="width10"):
    metric = CATALOGUE[key]
    if metric.pairs:
        return metric.of_pairs(*answers)
    return float(metric.value(totals(*answers, binning), Conventions(binning=binning)))


@pytest.fixture(params=range(5))
def answers(request):
    """600 items, some of confidence 1 but none at an edge between bins: the libraries differ there, see the last tests."""
    chance = np.random.default_rng(request.param)
    confidence = chance.random(600)
    confidence[:20] = 1.0
    return confidence, (chance.random(600) < confidence**2).astype(float)


def of_torch(answers, function, **options):
    confidence, correct = answers
    return float(function(torch.tensor(confidence), torch.tensor(correct.astype(int)), **options))


def test_netcal_has_the_same_ece_and_maximum(answers):
    confidence, correct = answers
    assert result("ece", answers) == pytest.approx(netcal.ECE(10).measure(confidence, correct), **EXACT)
    assert result("max_ce", answers) == pytest.approx(netcal.MCE(10).measure(confidence, correct), **EXACT)


def test_netcals_mean_over_bins_is_that_of_our_gaps(answers):
    confidence, correct = answers
    for empty in (confidence < 2, (confidence < 0.2) | (confidence >= 0.3)):  # all items; none in the third bin
        sums = pooled(confidence[empty], correct[empty])
        items, stated, right = (bins.fold_bins(sums[name], "width10") for name in BIN_COLUMNS)
        gaps = np.abs(ratio(stated - right, items))
        assert np.nanmean(gaps) == pytest.approx(netcal.ACE(10).measure(confidence[empty], correct[empty]), **EXACT)


@pytest.mark.parametrize("count", [3, 15])
def test_netcal_has_the_same_bins_of_equal_mass(count):
    # Their bounds are quantiles between items, so bins agree where the items divide evenly and none are tied.
    chance = np.random.default_rng(count)
    confidence = chance.random(40 * count)
    correct = (chance.random(40 * count) < confidence).astype(float)
    for key, metric in {"ece": netcal.ECE, "max_ce": netcal.MCE}.items():
        expected = metric(count, equal_intervals=False).measure(confidence, correct)
        assert result(key, (confidence, correct), f"mass{count}") == pytest.approx(expected, **EXACT), key


def test_torchmetrics_has_the_same_ece_maximum_and_reliability(answers):
    # Its bins are half-open, and confidence 1 has a bin of its own: our width10+1.
    error = torchmetrics.binary_calibration_error
    assert result("ece", answers, "width10+1") == pytest.approx(of_torch(answers, error, n_bins=10, norm="l1"), **EXACT)
    assert result("max_ce", answers, "width10+1") == pytest.approx(of_torch(answers, error, n_bins=10, norm="max"), **EXACT)
    squares = of_torch(answers, error, n_bins=10, norm="l2")
    assert math.sqrt(result("reliability", answers, "width10+1")) == pytest.approx(squares, **EXACT)


def test_torchmetrics_has_the_same_auroc(answers):
    # torchmetrics 1.9 sums the area in single precision, whatever the input type.
    assert result("auroc", answers) == pytest.approx(of_torch(answers, torchmetrics.binary_auroc), abs=1e-6)


def test_confidence_1_is_where_the_libraries_differ():
    # In one bin with 0.95 the gaps -0.95 and 1 cancel; in bins of their own they do not.
    answers = np.array([0.95, 1.0]), np.array([1.0, 0.0])
    one_bin, two_bins = abs(1.95 - 1) / 2, (0.05 + 1) / 2
    assert result("ece", answers) == pytest.approx(one_bin)
    assert netcal.ECE(10).measure(*answers) == pytest.approx(one_bin)
    assert result("ece", answers, "width10+1") == pytest.approx(two_bins)
    assert of_torch(answers, torchmetrics.binary_calibration_error, n_bins=10, norm="l1") == pytest.approx(two_bins)


def test_edges_of_bins_are_where_the_libraries_differ():
    # Their edge is 3 times the float 0.1, a little above 0.3, so 0.3 falls into the bin below. We put it in the bin above.
    # There it joins a right answer of 0.35: abs(0.65 - 1) / 2. In bins of their own: (0.3 + 0.65) / 2.
    answers = np.array([0.3, 0.35]), np.array([0.0, 1.0])
    one_bin, two_bins = 0.175, 0.475
    assert result("ece", answers) == pytest.approx(one_bin)
    assert netcal.ECE(10).measure(*answers) == pytest.approx(two_bins)
    assert of_torch(answers, torchmetrics.binary_calibration_error, n_bins=10, norm="l1") == pytest.approx(two_bins)
