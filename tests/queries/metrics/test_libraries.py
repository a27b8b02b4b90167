"""Metrics against libraries that compute the same. Those that need torch are in ``test_torch_libraries.py``."""

import numpy as np
import pytest
import scoringrules
from model_diagnostics.calibration import compute_bias
from model_diagnostics.scoring import SquaredError, decompose
from scipy.special import expit
from scipy.stats import hmean, mannwhitneyu, pearsonr
from sklearn.metrics import accuracy_score, d2_brier_score, log_loss, mean_absolute_error
from sklearn.utils.class_weight import compute_sample_weight

from clueline.data.sufficient_statistics import pooled
from clueline.queries.metrics import CATALOGUE, Conventions

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
def test_other_libraries_have_the_same_values(answers):
    confidence, correct = answers
    right, wrong = confidence[correct == 1], confidence[correct == 0]
    over, under = (1 - mean_absolute_error(correct, confidence, sample_weight=correct == side) for side in (0, 1))
    balanced = compute_sample_weight("balanced", correct)
    for key, expected in {
        "overconfidence": compute_bias(y_obs=correct, y_pred=confidence)["bias_mean"].item(),
        "brier": scoringrules.brier_score(correct, confidence).mean(),
        "correlation": pearsonr(*answers).statistic,
        "auroc": mannwhitneyu(right, wrong).statistic / len(right) / len(wrong),
        "macro_ce": mean_absolute_error(correct, confidence, sample_weight=balanced),
        "r_over": over,
        "r_under": under,
        "hmr": hmean([over, under]),
        "accuracy": accuracy_score(correct, np.ones(400)),
        "log_score": log_loss(correct, np.clip(confidence, 1e-6, 1 - 1e-6)),
        "brier_skill": d2_brier_score(correct, confidence),
    }.items():
        assert computed(key, answers) == pytest.approx(expected, **EXACT), key


def test_grace_mce_by_scipys_logistic_function(answers):
    confidence, correct = answers
    sign = (2 * correct - 1) * confidence
    sums = {"items": np.full(100, 4.0), "sign_confidence": sign.reshape(100, 4).sum(axis=1)}
    metric = CATALOGUE["grace_mce"]
    totals = {name: part.sum() for name, part in metric.contributions(sums, STANDARD).items()}
    squeezed = (expit(sign.reshape(100, 4).mean(axis=1)) - expit(-1)) / (expit(1) - expit(-1))
    assert float(metric.value(totals, STANDARD)) == pytest.approx((1 - squeezed).mean(), **EXACT)
