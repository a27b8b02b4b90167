"""Metrics against libraries that compute the same. Those that need torch are in ``test_torch_libraries.py``."""

import numpy as np
import pytest
import scoringrules
from model_diagnostics.calibration import compute_bias
from model_diagnostics.scoring import SquaredError, decompose
from scipy.optimize import isotonic_regression
from scipy.special import expit
from scipy.stats import hmean, linregress, mannwhitneyu, pearsonr
from sklearn.metrics import accuracy_score, d2_brier_score, log_loss, mean_absolute_error
from sklearn.utils.class_weight import compute_sample_weight

from data.sufficient_statistics import pooled
from queries.metrics import CATALOGUE, Conventions
from queries.metrics.kernels.bootstrap_weighted_totals import ItemWeights
from queries.metrics.kernels.isotonic_regression import corp

EXACT = {"abs": 1e-12, "rel": 0}
STANDARD = Conventions()


@pytest.fixture(params=[(seed, digits) for seed in range(3) for digits in (1, 2, 15)], ids=str)
def answers(request):
    """Confidence and correctness of 400 items, with many ties, some or none."""
    seed, digits = request.param
    chance = np.random.default_rng(seed)
    confidence = chance.random(400).round(digits)
    return confidence, (chance.random(400) < confidence**2).astype(float)


def computed(key, answers):
    metric = CATALOGUE[key]
    return float(metric.of_pairs(*answers) if metric.pairs else metric.value(pooled(*answers), STANDARD))


def test_model_diagnostics_decomposes_the_brier_score_alike(answers):
    confidence, correct = answers
    parts = decompose(y_obs=correct, y_pred=confidence, scoring_function=SquaredError(), functional="mean")
    for key, column in {
        "corp_mcb": "miscalibration", "corp_dsc": "discrimination", "corp_unc": "uncertainty", "uncertainty": "uncertainty",
        "brier": "score",
    }.items():  # fmt: skip
        assert computed(key, answers) == pytest.approx(parts[column].item(), **EXACT), key


def test_model_diagnostics_decomposes_scores_of_probabilities(answers):
    confidence, correct = answers
    share = 0.8 * correct + 0.1 * (confidence > 0.5)  # correctness as a probability
    parts = decompose(y_obs=share, y_pred=confidence, scoring_function=SquaredError(), functional="mean")
    own = (share * (1 - share)).mean()  # the term that our Brier score adds, the same for any confidence
    for key, expected in {
        "corp_mcb": parts["miscalibration"].item(),
        "corp_dsc": parts["discrimination"].item(),
        "corp_unc": parts["uncertainty"].item() + own,
        "brier": parts["score"].item() + own,
    }.items():
        assert computed(key, (confidence, share)) == pytest.approx(expected, **EXACT), key


@pytest.mark.filterwarnings("ignore:the string cache:DeprecationWarning")  # raised by polars, through model-diagnostics 1.5
def test_model_diagnostics_bias_is_overconfidence(answers):
    confidence, correct = answers
    assert computed("overconfidence", answers) == pytest.approx(
        compute_bias(y_obs=correct, y_pred=confidence)["bias_mean"].item(), **EXACT
    )


def test_scoringrules_scores_alike(answers):
    confidence, correct = answers
    assert computed("brier", answers) == pytest.approx(scoringrules.brier_score(correct, confidence).mean(), **EXACT)


def test_scipy_correlates_alike(answers):
    assert computed("correlation", answers) == pytest.approx(pearsonr(*answers).statistic, **EXACT)


def test_scipys_rank_sum_is_auroc(answers):
    confidence, correct = answers
    right, wrong = confidence[correct == 1], confidence[correct == 0]
    assert computed("auroc", answers) == pytest.approx(mannwhitneyu(right, wrong).statistic / len(right) / len(wrong), **EXACT)


def test_corp_matches_scipys_isotonic_regression(answers):
    confidence, correct = answers
    distinct, place = np.unique(confidence, return_inverse=True)
    weights = np.bincount(place).astype(float)
    fit = isotonic_regression(np.bincount(place, correct) / weights, weights=weights).x[place]
    assert len(distinct) == len(weights)
    order = np.argsort(confidence, kind="stable")
    (mcb,), (dsc,) = corp(confidence[order], correct[order], ItemWeights.equal(len(order)))
    assert mcb == pytest.approx(((confidence - correct) ** 2).mean() - ((fit - correct) ** 2).mean(), **EXACT)
    assert dsc == pytest.approx(((fit - correct.mean()) ** 2).mean(), **EXACT)


def test_scipys_line_has_the_slope_of_the_hard_easy_effect(answers):
    # Each item is a question of one clue; some have unknown difficulty.
    confidence, correct = answers
    difficulty = np.where(np.arange(400) % 7, 1 - confidence**0.5, np.nan)
    sums = {"items": np.ones(400), "confidence": confidence, "correct": correct, "difficulty": difficulty}
    metric = CATALOGUE["hard_easy_slope"]
    totals = {name: part.sum() for name, part in metric.contributions(sums, STANDARD).items()}
    known = np.isfinite(difficulty)
    expected = linregress(difficulty[known], (confidence - correct)[known]).slope
    assert float(metric.value(totals, STANDARD)) == pytest.approx(expected, **EXACT)


def test_rewards_and_macro_ce_match_scikit_learn_errors(answers):
    confidence, correct = answers
    balanced = compute_sample_weight("balanced", correct)
    over = 1 - mean_absolute_error(correct, confidence, sample_weight=correct == 0)
    under = 1 - mean_absolute_error(correct, confidence, sample_weight=correct == 1)
    assert computed("macro_ce", answers) == pytest.approx(
        mean_absolute_error(correct, confidence, sample_weight=balanced), **EXACT
    )
    assert computed("r_over", answers) == pytest.approx(over, **EXACT)
    assert computed("r_under", answers) == pytest.approx(under, **EXACT)
    assert computed("hmr", answers) == pytest.approx(hmean([over, under]), **EXACT)


def test_scikit_learn_has_the_same_accuracy_and_skill(answers):
    confidence, correct = answers
    assert computed("accuracy", answers) == pytest.approx(accuracy_score(correct, np.ones(400)), **EXACT)
    skill = 1 - computed("brier", answers) / computed("uncertainty", answers)
    assert skill == pytest.approx(d2_brier_score(correct, confidence), **EXACT)


def test_scikit_learn_has_the_same_log_score(answers):
    confidence, correct = answers
    expected = log_loss(correct, np.clip(confidence, 1e-6, 1 - 1e-6))
    assert computed("log_score", answers) == pytest.approx(expected, **EXACT)
    assert computed("brier_skill", answers) == pytest.approx(d2_brier_score(correct, confidence), **EXACT)


def test_grace_mce_by_scipys_logistic_function(answers):
    confidence, correct = answers
    sign = (2 * correct - 1) * confidence
    sums = {"items": np.full(100, 4.0), "sign_confidence": sign.reshape(100, 4).sum(axis=1)}
    metric = CATALOGUE["grace_mce"]
    totals = {name: part.sum() for name, part in metric.contributions(sums, STANDARD).items()}
    squeezed = (expit(sign.reshape(100, 4).mean(axis=1)) - expit(-1)) / (expit(1) - expit(-1))
    assert float(metric.value(totals, STANDARD)) == pytest.approx((1 - squeezed).mean(), **EXACT)
